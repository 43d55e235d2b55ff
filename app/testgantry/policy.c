/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Reads policies from files.
 */
#include "policy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

int
policy_read(const char *path, struct gantry_policy *policy)
{
	char text[16384];
	FILE *f = fopen(path, "r");
	size_t n;
	int rc;

	if (f == NULL) {
		error_print("cannot open the policy %s: %s", path, strerror(errno));
		return -1;
	}
	n = fread(text, 1, sizeof(text), f);
	rc = ferror(f) ? -EIO : n == sizeof(text) ? -E2BIG : 0;
	fclose(f);
	if (rc == 0 && memchr(text, '\0', n) != NULL)
		rc = -EINVAL;
	if (rc == 0) {
		text[n] = '\0';
		rc = gantry_policy_parse(text, policy);
	}
	if (rc == 0)
		return 0;
	error_print("cannot read the policy %s: %s; testgantry --measure-policy FILE writes one",
		path, strerror(-rc));
	return -1;
}

bool
policy_names(const struct gantry_policy *policy, enum gantry_carrier carrier)
{
	for (uint32_t i = 0; i < policy->n; i++)
		if (policy->rule[i].carrier == carrier)
			return true;
	return false;
}
