/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes log lines. */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "raw.h"

/* A line is one write(2), so that lines of several processes do not mix. */
void
softhca_log(const char *fmt, ...)
{
	char line[1024] = "softhca: ";
	size_t at = strlen(line);
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line + at, sizeof(line) - at - 1, fmt, ap);
	va_end(ap);
	at += n < 0 ? 0 : (size_t)n;
	if (at > sizeof(line) - 2)
		at = sizeof(line) - 2;
	line[at] = '\n';
	while (raw_write(STDERR_FILENO, line, at + 1) < 0 && errno == EINTR)
		;
}
