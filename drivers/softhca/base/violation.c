/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting and logging what a program does wrong with its queues. */
#include "violation.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "dev.h"
#include "log.h"
#include "softhca.h"

static atomic_ulong n_violations;

unsigned long
softhca_violations(void)
{
	return atomic_load(&n_violations);
}

void
violation(const char *fmt, ...)
{
	unsigned long n = atomic_fetch_add(&n_violations, 1) + 1;
	char text[256];
	va_list ap;

	/*
	 * A broken program may break a rule at every doorbell: after 64 lines, only powers of two
	 * log.
	 */
	if (n > 64 && (n & (n - 1)) != 0)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	softhca_log("%s", text);
}
