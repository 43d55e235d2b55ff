/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Policies: checks them, prepares them for an owner, reads them from text and writes them as text.
 */
#include "gantry_policy.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gantry_conf_check.h"
#include "gantry_log.h"

/* The longest line of a policy's text, with the 0 at its end. */
#define LINE_LEN 256

static const char *const names[GANTRY_CARRIER_MAX] = {
	[GANTRY_CARRIER_USUAL] = "usual",
	[GANTRY_CARRIER_CPU] = "cpu",
	[GANTRY_CARRIER_MMO] = "mmo",
	[GANTRY_CARRIER_RDMA] = "rdma",
};

/* ------------------------------------------------------------------ policies of queues */

/* Checks the numbers in a policy. Returns 0, or logs why and returns -EINVAL. */
static int
check_numbers(const struct gantry_policy *policy)
{
	uint32_t i;

	if (!GANTRY_IS_CLEAN("gantry_policy", policy))
		return -EINVAL;
	if (policy->n > GANTRY_POLICY_MAX) {
		LOG(ERR, "a policy has %u rules: at most %d are possible", policy->n,
			GANTRY_POLICY_MAX);
		return -EINVAL;
	}
	for (i = 0; i < policy->n; i++) {
		if ((unsigned int)policy->rule[i].carrier < GANTRY_CARRIER_MAX)
			continue;
		LOG(ERR, "rule %u of a policy: %d is no carrier", i + 1,
			(int)policy->rule[i].carrier);
		return -EINVAL;
	}
	return 0;
}

int
gantry_policy_check(const struct gantry_info *info, const struct gantry_policy *policy)
{
	uint32_t i;
	int ret;

	if (policy == NULL)
		return 0;
	ret = check_numbers(policy);
	if (ret != 0)
		return ret;
	for (i = 0; i < policy->n; i++) {
		enum gantry_carrier carrier = policy->rule[i].carrier;

		if ((info->carriers & 1u << carrier) != 0)
			continue;
		LOG(ERR, "rule %u of a policy: this engine does not copy by %s: %s", i + 1,
			names[carrier],
			carrier == GANTRY_CARRIER_RDMA
				? "set gantry_conf::rdma_copies"
				: "it needs a device with DMA MMO, and gantry_conf::copy_path "
				  "other than RDMA");
		return -EOPNOTSUPP;
	}
	return 0;
}

void
gantry_choice_set(struct gantry_choice *c, const struct gantry_policy *policy)
{
	uint32_t i;

	c->policy = policy != NULL ? *policy : (struct gantry_policy){0};
	c->all = c->usual;
	for (i = 0; i < c->policy.n; i++)
		if (c->policy.rule[i].carrier != GANTRY_CARRIER_USUAL &&
			c->policy.rule[i].carrier != c->usual)
			c->all = GANTRY_CARRIER_MAX;
}

/* ------------------------------------------------------------------ policies as text */

/* Reads a number from 1 to max, or the word `any`, which means max. Returns 0 or -EINVAL. */
static int
parse_number(const char *word, uint64_t max, uint64_t *number)
{
	char *end;

	if (strcmp(word, "any") == 0) {
		*number = max;
		return 0;
	}
	if (!isdigit((unsigned char)word[0]))
		return -EINVAL;
	errno = 0;
	*number = strtoull(word, &end, 10);
	return errno != 0 || *end != '\0' || *number == 0 || *number > max ? -EINVAL : 0;
}

static int
parse_carrier(const char *word, enum gantry_carrier *carrier)
{
	int i;

	for (i = 0; i < GANTRY_CARRIER_MAX; i++) {
		if (strcmp(word, names[i]) != 0)
			continue;
		*carrier = i;
		return 0;
	}
	return -EINVAL;
}

/*
 * Reads one line, from which the comment was removed. Returns 1 and writes *rule, or returns 0 if
 * the line is empty, or -EINVAL.
 */
static int
parse_line(const char *line, struct gantry_policy_rule *rule)
{
	char in_flight[LINE_LEN], len[LINE_LEN], carrier[LINE_LEN], more;
	uint64_t number;
	int n = sscanf(line, "%255s %255s %255s %c", in_flight, len, carrier, &more);

	if (n <= 0)
		return 0;
	if (n != 3 || parse_number(in_flight, UINT32_MAX, &number) != 0 ||
		parse_number(len, UINT64_MAX, &rule->max_len) != 0 ||
		parse_carrier(carrier, &rule->carrier) != 0)
		return -EINVAL;
	rule->max_in_flight = number;
	return 1;
}

/*
 * Copies the line at *text to `line`, without its comment, and moves *text behind the line. Returns
 * false if the line is too long.
 */
static bool
next_line(const char **text, char *line)
{
	size_t len = strcspn(*text, "\n"), used = strcspn(*text, "#\n");
	const char *at = *text;

	*text += len + ((*text)[len] == '\n');
	if (used >= LINE_LEN)
		return false;
	memcpy(line, at, used);
	line[used] = '\0';
	return true;
}

int
gantry_policy_parse(const char *text, struct gantry_policy *out)
{
	struct gantry_policy policy = {0};
	struct gantry_policy_rule rule;
	char line[LINE_LEN];
	unsigned int number;
	int ret;

	for (number = 1; *text != '\0'; number++) {
		ret = next_line(&text, line) ? parse_line(line, &rule) : -EINVAL;
		if (ret < 0) {
			LOG(ERR,
				"line %u of a policy is not `IN-FLIGHT LENGTH CARRIER`, as in "
				"`16 4096 cpu`: numbers are 1 or more, or `any`; carriers are cpu, "
				"mmo, rdma, usual",
				number);
			return ret;
		}
		if (ret == 0)
			continue;
		if (policy.n == GANTRY_POLICY_MAX) {
			LOG(ERR,
				"line %u of a policy is one rule too many: at most %d are possible",
				number, GANTRY_POLICY_MAX);
			return -E2BIG;
		}
		policy.rule[policy.n++] = rule;
	}
	*out = policy;
	return 0;
}

/* Returns a number as text; the number max becomes `any`. buf: storage for the text. */
static const char *
number_text(char *buf, size_t size, uint64_t number, uint64_t max)
{
	if (number == max)
		return "any";
	snprintf(buf, size, "%" PRIu64, number);
	return buf;
}

int
gantry_policy_print(const struct gantry_policy *policy, char *text, size_t size)
{
	char in_flight[24], len[24];
	int n, used;
	uint32_t i;

	if (check_numbers(policy) != 0)
		return -EINVAL;
	used = snprintf(text, size,
		"# in flight up to, bytes up to, carrier: the first that fits\n");
	for (i = 0; i < policy->n; i++) {
		const struct gantry_policy_rule *r = &policy->rule[i];
		bool room = (size_t)used < size;

		n = snprintf(room ? text + used : NULL, room ? size - used : 0, "%s %s %s\n",
			number_text(in_flight, sizeof(in_flight), r->max_in_flight, UINT32_MAX),
			number_text(len, sizeof(len), r->max_len, UINT64_MAX), names[r->carrier]);
		used += n;
	}
	return used;
}
