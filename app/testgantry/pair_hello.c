/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Compares the settings of two processes.
 */
#include "pair_hello.h"

#include <stdio.h>
#include <string.h>

#include "report.h"

/* Finds the line "NAME VALUE" with this name. Returns its value, or NULL. *len: bytes of it. */
static const char *
find(const char *text, const char *name, size_t name_len, size_t *len)
{
	while (*text != '\0') {
		if (strncmp(text, name, name_len) == 0 && text[name_len] == ' ') {
			*len = strcspn(text + name_len + 1, "\n");
			return text + name_len + 1;
		}
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return NULL;
}

static int
compare(const char *mine, const char *theirs)
{
	const char *value, *other;
	size_t name_len, len, other_len;

	for (; *mine != '\0'; mine = value + len + 1) {
		name_len = strcspn(mine, " ");
		value = find(mine, mine, name_len, &len);
		other = find(theirs, mine, name_len, &other_len);
		if (other != NULL && other_len == len && memcmp(value, other, len) == 0)
			continue;
		if (other == NULL) {
			other = "no value";
			other_len = strlen(other);
		}
		error_print("--%.*s: the other process has %.*s, and this process has %.*s: give "
			    "both the same",
			(int)name_len, mine, (int)other_len, other, (int)len, value);
		return -1;
	}
	return 0;
}

int
hello(struct talk *t, const char *mine)
{
	char theirs[HELLO_LEN];
	struct talk_frame f;

	if (talk_say(t, TALK_HELLO, mine, strlen(mine)) != 0 ||
		talk_wait(t, TALK_HELLO, SIZE_MAX, &f) != 0)
		return -1;
	snprintf(theirs, sizeof(theirs), "%.*s", (int)f.len, (const char *)f.data);
	return compare(mine, theirs);
}
