/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Reads policies from files.
 */
#define GANTRY_ALLOW_EXPERIMENTAL /* the text form of policies */

#include "policy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "quote.h"
#include "report.h"

static int
refuse(const char *path, const char *why)
{
	error_print("--policy: cannot use %s as a policy: %s; testgantry --measure-policy FILE "
		    "writes one",
		quote_name(path), why);
	return -1;
}

int
policy_read(const char *path, struct gantry_policy *policy)
{
	char text[16384];
	FILE *f = fopen(path, "r");
	char why[80];
	int error;
	size_t n;

	if (f == NULL)
		return refuse(path, strerror(errno));
	n = fread(text, 1, sizeof(text), f);
	error = ferror(f) ? errno : 0;
	fclose(f);
	if (error != 0)
		return refuse(path, strerror(error));
	if (memchr(text, '\0', n) != NULL)
		return refuse(path, "it is no text: it has zero bytes");
	if (n == sizeof(text)) {
		snprintf(why, sizeof(why), "it is longer than the %zu bytes that a policy can have",
			sizeof(text) - 1);
		return refuse(path, why);
	}
	text[n] = '\0';
	return gantry_policy_parse(text, policy) == 0 ? 0
						      : refuse(path, "the log line above says why");
}

bool
policy_names(const struct gantry_policy *policy, enum gantry_carrier carrier)
{
	for (uint32_t i = 0; i < policy->n; i++)
		if (policy->rule[i].carrier == carrier)
			return true;
	return false;
}
