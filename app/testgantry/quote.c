/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Quotes names in the form of ls --quoting-style=shell-escape.
 */
#include "quote.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* most characters that one byte needs, including the closing quote */
#define LONGEST_PIECE 12
/* on average, a byte needs at most 5 characters */
#define TEXT_LEN (5 * PATH_MAX + LONGEST_PIECE)

/*
 * Returns the length of the character at `at` if it is printable: ASCII or UTF-8, but no control
 * character. Otherwise returns 0.
 */
static size_t
shown_len(const unsigned char *at)
{
	uint32_t code;
	size_t n;

	if (at[0] < 0x80)
		return at[0] >= ' ' && at[0] != 0x7f;
	n = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	code = at[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	if (code < 0xa0 || (n == 3 && code < 0x800) || (n == 4 && code < 0x10000) ||
		(code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
		return 0;
	return n;
}

static bool
is_plain(const char *name)
{
	const unsigned char *at = (const unsigned char *)name;
	size_t n;

	for (; *at != '\0'; at += n) {
		n = shown_len(at);
		if (n == 0 || strchr(" !\"$&'()*;<=>?[\\^`|", *at) != NULL)
			return false;
	}
	return name[0] != '\0' && name[0] != '#' && name[0] != '~';
}

/*
 * Writes an unprintable byte as an escape that C and the shell know. Returns the length of the
 * escape.
 */
static size_t
escape(char *to, unsigned char byte)
{
	static const char letters[] = "abtnvfr"; /* letters[0] stands for '\a' */

	if (byte >= '\a' && byte <= '\r')
		return (size_t)sprintf(to, "\\%c", letters[byte - '\a']);
	return (size_t)sprintf(to, "\\%03o", byte);
}

const char *
quote_value(const char *value)
{
	static _Thread_local char texts[QUOTES][TEXT_LEN];
	static _Thread_local unsigned int next;
	const unsigned char *at = (const unsigned char *)value;
	char *text = texts[next++ % QUOTES], *to = text;
	const char *end = text + TEXT_LEN - LONGEST_PIECE;
	bool escaped = false;
	size_t n;

	*to++ = '\'';
	for (; *at != '\0' && to < end; at += n) {
		n = shown_len(at);
		if ((n == 0) != escaped)
			to += sprintf(to, "%s", escaped ? "''" : "'$'");
		escaped = n == 0;
		if (n == 0) {
			to += escape(to, *at);
			n = 1;
		} else if (*at == '\'') {
			to += sprintf(to, "'\\''");
		} else {
			memcpy(to, at, n);
			to += n;
		}
	}
	strcpy(to, *at == '\0' ? "'" : "'...");
	return text;
}

const char *
quote_name(const char *name)
{
	return is_plain(name) ? name : quote_value(name);
}
