/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts and logs violations of the queue protocol. */
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
	 * A faulty program may violate a rule at every doorbell. After 64 lines, a violation is
	 * logged only if the number of violations is a power of two.
	 */
	if (n > 64 && (n & (n - 1)) != 0)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	softhca_log("%s", text);
}
