/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads numbers from text. */
#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
number_parse(const char *text, uint64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*value = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	return errno == 0 && *end == '\0';
}

size_t
hex_parse(const char *text, uint8_t *out, size_t max)
{
	unsigned int byte;
	size_t n = 0;

	for (; n < max && sscanf(text + 2 * n, "%2x", &byte) == 1; n++)
		out[n] = (uint8_t)byte;
	return n;
}
