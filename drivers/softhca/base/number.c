/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads numbers from text. */
#include "number.h"

#include <ctype.h>
#include <errno.h>
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
