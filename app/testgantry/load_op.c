/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The table of operations, and the parser of mixes.
 */
#include "load_op.h"

#include <stdlib.h>
#include <string.h>

#include "quote.h"
#include "report.h"

#define WEIGHT_MAX 1000

const struct load_op load_ops[LOAD_OPS] = {
	{"copy", GANTRY_OP_COPY, FROM_SOURCE, TO_DESTINATION, "a copy in this process's memory"},
	{"write", GANTRY_OP_WRITE, FROM_SOURCE, TO_PEER, "an RDMA write to a peer"},
	{"read", GANTRY_OP_READ, FROM_PEER, TO_DESTINATION, "an RDMA read from a peer"},
};

static uint32_t
common_divisor(uint32_t a, uint32_t b)
{
	return b == 0 ? a : common_divisor(b, a % b);
}

/* Divides the weights by their greatest common divisor, and adds them up. */
static void
reduce(struct load_mix *mix)
{
	uint32_t divisor = 0;

	for (int i = 0; i < LOAD_OPS; i++)
		divisor = common_divisor(divisor, mix->weight[i]);
	for (int i = 0; i < LOAD_OPS; i++) {
		mix->weight[i] /= divisor;
		mix->sum += mix->weight[i];
	}
}

/* Adds "OP" or "OP=WEIGHT", which has len characters, to the mix. NULL, or what is wrong. */
static const char *
add(struct load_mix *mix, const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len);
	size_t name_len = equals != NULL ? (size_t)(equals - text) : len;
	unsigned long weight = 1;
	char *end;

	if (equals != NULL) {
		weight = equals[1] >= '0' && equals[1] <= '9' ? strtoul(equals + 1, &end, 10) : 0;
		if (weight == 0 || weight > WEIGHT_MAX || end != text + len)
			return "behind = stands a weight from 1 to 1000";
	}
	for (int i = 0; i < LOAD_OPS; i++) {
		if (strlen(load_ops[i].name) != name_len ||
			memcmp(load_ops[i].name, text, name_len) != 0)
			continue;
		if (mix->weight[i] != 0)
			return "an operation stands there twice";
		mix->weight[i] = weight;
		return NULL;
	}
	return "it names no operation";
}

int
load_mix_parse(const char *name, const char *text, struct load_mix *mix)
{
	struct load_mix parsed = {0};
	const char *at = text, *wrong;
	size_t len;

	do {
		len = strcspn(at, ",");
		wrong = add(&parsed, at, len);
		at += len;
	} while (wrong == NULL && *at++ == ',');
	if (wrong == NULL) {
		reduce(&parsed);
		*mix = parsed;
		return 0;
	}
	error_begin("--%s: %s is refused: %s: give one or more of", name, quote_value(text), wrong);
	for (int i = 0; i < LOAD_OPS; i++)
		fprintf(stderr, "%s %s", i == 0 ? "" : ",", load_ops[i].name);
	fprintf(stderr, ", as in copy or copy=3,write=1\n");
	return -1;
}

void
load_ops_print(FILE *f)
{
	for (int i = 0; i < LOAD_OPS; i++)
		fprintf(f, "  %-9s  %s\n", load_ops[i].name, load_ops[i].what);
}
