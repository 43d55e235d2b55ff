/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills in a probe's answer. */
#include "probe.h"

#include <stdarg.h>
#include <stdio.h>

void
probe_saw(struct probe_answer *answer, bool as_assumed, const char *seen, ...)
{
	va_list args;

	answer->result = as_assumed ? PROBE_AS_ASSUMED : PROBE_OTHERWISE;
	va_start(args, seen);
	vsnprintf(answer->seen, sizeof(answer->seen), seen, args);
	va_end(args);
}

void
probe_cannot(struct probe_answer *answer, const char *why, ...)
{
	va_list args;

	answer->result = PROBE_CANNOT;
	va_start(args, why);
	vsnprintf(answer->seen, sizeof(answer->seen), why, args);
	va_end(args);
}
