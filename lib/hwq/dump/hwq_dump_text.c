/* SPDX-License-Identifier: BSD-3-Clause */
/* Appends text to the caller's buffer: see hwq_dump_text.h. */
#include "hwq_dump_text.h"

#include <stdarg.h>
#include <stdio.h>

#include "hwq_wire.h"

void
hwq_text_add(struct text *t, const char *fmt, ...)
{
	size_t skip = t->len < t->room ? t->len : t->room;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->room == skip ? NULL : t->at + skip, t->room - skip, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->len += (size_t)n;
}

void
hwq_dump_hex(struct text *t, const uint8_t *at)
{
	size_t i;

	hwq_text_add(t, "  hex  ");
	for (i = 0; i < HWQ_DS_LEN; i++)
		hwq_text_add(t, " %02x", at[i]);
	hwq_text_add(t, "\n");
}
