/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads JSON one value after the other, and does not store the values. */
#include "json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PATH_MAX_LEN 256
#define DEPTH_MAX    32

struct json {
	char *at, *begin;
	char path[PATH_MAX_LEN];
	unsigned int depth;
	json_value_fn fn;
	void *arg;
	char *err;
	size_t err_len;
};

static int
wrong(struct json *j, const char *what)
{
	unsigned int line = 1;

	for (const char *p = j->begin; p < j->at; p++)
		line += *p == '\n';
	snprintf(j->err, j->err_len, "line %u: %s", line, what);
	return -EINVAL;
}

/* Skips blanks, and returns the next character. */
static char
next(struct json *j)
{
	j->at += strspn(j->at, " \t\r\n");
	return *j->at;
}

/*
 * Reads the characters of a string, in place. Only the escapes of a quotation mark and of a
 * backslash are decoded. Each other escape becomes '?': no name or number of a report has such an
 * escape.
 */
static int
read_string(struct json *j, char **text)
{
	char *from = j->at + 1, *to = from;

	*text = to;
	for (; *from != '"'; from++) {
		if ((unsigned char)*from < ' ') {
			j->at = from;
			return wrong(j, "a string does not end");
		}
		if (*from != '\\') {
			*to++ = *from;
			continue;
		}
		from++;
		if (*from == '\0' || strchr("\"\\/bfnrtu", *from) == NULL) {
			j->at = from;
			return wrong(j, "an unknown escape in a string");
		}
		*to++ = *from == '"' || *from == '\\' || *from == '/' ? *from : '?';
	}
	j->at = from + 1;
	*to = '\0';
	return 0;
}

/* Reads a number, true, false or null, up to the end of the value. */
static int
read_word(struct json *j)
{
	size_t n = strcspn(j->at, ",]} \t\r\n"), number = strspn(j->at, "+-.0123456789eE");
	char text[64];

	if (n == 0 || n >= sizeof(text) ||
		(n != number && strncmp(j->at, "true", n) != 0 && strncmp(j->at, "false", n) != 0 &&
			strncmp(j->at, "null", n) != 0))
		return wrong(j, "a value is missing or is not JSON");
	memcpy(text, j->at, n);
	text[n] = '\0';
	j->at += n;
	j->fn(j->arg, j->path, text);
	return 0;
}

static int read_value(struct json *j);

/* Reads a name, a colon and the value. */
static int
read_member(struct json *j)
{
	size_t len = strlen(j->path);
	char *name;
	int rc;

	if (next(j) != '"')
		return wrong(j, "a name in quotation marks is missing");
	rc = read_string(j, &name);
	if (rc != 0)
		return rc;
	if (len + strlen(name) + 2 > sizeof(j->path))
		return wrong(j, "a name is too long");
	snprintf(j->path + len, sizeof(j->path) - len, "%s%s", len == 0 ? "" : ".", name);
	if (next(j) != ':')
		return wrong(j, "a colon is missing");
	j->at++;
	rc = read_value(j);
	j->path[len] = '\0';
	return rc;
}

/* Reads the members of an object, or the values of an array. */
static int
read_many(struct json *j, char end)
{
	int rc = 0;

	if (++j->depth > DEPTH_MAX)
		return wrong(j, "too many levels");
	j->at++;
	if (next(j) == end) {
		j->at++;
		j->depth--;
		return 0;
	}
	for (;;) {
		rc = end == '}' ? read_member(j) : read_value(j);
		if (rc != 0)
			return rc;
		if (next(j) == end)
			break;
		if (*j->at != ',')
			return wrong(j, "a comma is missing");
		j->at++;
	}
	j->at++;
	j->depth--;
	return 0;
}

static int
read_value(struct json *j)
{
	char *text;
	int rc;

	switch (next(j)) {
	case '{':
		return read_many(j, '}');
	case '[':
		return read_many(j, ']');
	case '"':
		rc = read_string(j, &text);
		if (rc == 0)
			j->fn(j->arg, j->path, text);
		return rc;
	default:
		return read_word(j);
	}
}

int
json_read(char *text, json_value_fn fn, void *arg, char *err, size_t err_len)
{
	struct json j =
		{.at = text, .begin = text, .fn = fn, .arg = arg, .err = err, .err_len = err_len};
	int rc = read_value(&j);

	if (rc == 0 && next(&j) != '\0')
		rc = wrong(&j, "something follows the end");
	return rc;
}
