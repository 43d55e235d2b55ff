/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the log lines of lib/hwq. */
#include "hwq_log.h"

#include <stdarg.h>
#include <stdio.h>

#include "hwq_atomic.h"

static void
line_to_stderr(const char *text)
{
	fprintf(stderr, "%s\n", text);
}

/* Read and written by any thread. */
static void (*log_line)(const char *text) = line_to_stderr;

void
hwq_log_to(void (*line)(const char *text))
{
	hwq_store_relaxed(&log_line, line != NULL ? line : line_to_stderr);
}

void
hwq_log(const char *fmt, ...)
{
	void (*line)(const char *text);
	char text[512];
	size_t used;
	va_list ap;

	used = (size_t)snprintf(text, sizeof(text), "hwq: ");
	va_start(ap, fmt);
	vsnprintf(text + used, sizeof(text) - used, fmt, ap);
	va_end(ap);
	line = hwq_load_relaxed(&log_line);
	line(text);
}
