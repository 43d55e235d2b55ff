/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The table of operations; parses and prints mixes.
 */
#include "load_op.h"

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "quote.h"
#include "report.h"

#define WEIGHT_MAX 1000

const struct load_op load_ops[LOAD_OPS] = {
	{"copy", GANTRY_OP_COPY, FROM_SOURCE, TO_DESTINATION, false,
		"a copy within this process's memory"},
	{"fill", GANTRY_OP_FILL, FROM_PATTERN, TO_DESTINATION, false,
		"fills memory with a pattern of 8 bytes"},
	{"sg", GANTRY_OP_COPY_SG, FROM_LIST, TO_LIST, false,
		"a copy from --sge pieces to --sge pieces"},
	{"gather", GANTRY_OP_GATHER, FROM_LAYOUT, TO_DESTINATION, false,
		"a copy from a layout of --sge pieces to one piece"},
	{"scatter", GANTRY_OP_SCATTER, FROM_SOURCE, TO_LAYOUT, false,
		"a copy from one piece to a layout of --sge pieces"},
	{"write", GANTRY_OP_WRITE, FROM_SOURCE, TO_PEER, false, "an RDMA write to a peer"},
	{"write-imm", GANTRY_OP_WRITE_IMM, FROM_SOURCE, TO_PEER, true,
		"an RDMA write that consumes a receive of the peer"},
	{"read", GANTRY_OP_READ, FROM_PEER, TO_DESTINATION, false, "an RDMA read from a peer"},
	{"send", GANTRY_OP_SEND, FROM_SOURCE, TO_RECEIVE, true, "a message to a receive of a peer"},
	{"atomic", GANTRY_OP_FETCH_ADD, FROM_NOTHING, TO_COUNTER, false,
		"adds 1 to 8 bytes of a peer"},
	{"cas", GANTRY_OP_COMPARE_SWAP, FROM_NOTHING, TO_COUNTER, false,
		"compares and swaps 8 bytes of a peer"},
	{"txn", GANTRY_OP_TXN, FROM_BLOCKS, TO_PEER, true,
		"a transaction: checks the signature of each block, writes the\n"
		"             data to a peer, and sends it a response of 16 bytes"},
};

/* A name that stands for several rows of load_ops[]. Each row gets the same part of the weight. */
static const struct {
	const char *name, *what;
	const char *rows[2];
} groups[] = {
	{"layouts", "gather and scatter, in equal numbers", {"gather", "scatter"}},
};

#define GROUP_ROWS 2

/* ------------------------------------------------------------------ facts of a row */

bool
load_op_has_peer(const struct load_op *op)
{
	return op->from == FROM_PEER || op->to >= TO_PEER;
}

bool
load_op_has_layout(const struct load_op *op)
{
	return op->from == FROM_LAYOUT || op->to == TO_LAYOUT;
}

bool
load_op_has_pieces(const struct load_op *op)
{
	return load_op_has_layout(op) || op->from == FROM_LIST;
}

bool
load_op_has_counter(const struct load_op *op)
{
	return op->to == TO_COUNTER;
}

bool
load_op_is_txn(const struct load_op *op)
{
	return op->op == GANTRY_OP_TXN;
}

bool
load_op_is_fill(const struct load_op *op)
{
	return op->op == GANTRY_OP_FILL;
}

bool
load_op_has_carrier(const struct load_op *op)
{
	return op->op == GANTRY_OP_COPY || op->op == GANTRY_OP_FILL || op->op == GANTRY_OP_COPY_SG;
}

bool
load_op_has_message(const struct load_op *op)
{
	return op->op == GANTRY_OP_WRITE || op->takes_receive;
}

bool
load_op_has_connection(const struct load_op *op)
{
	return load_op_has_peer(op) && !load_op_is_txn(op);
}

bool
load_op_takes_receive(const struct load_op *op)
{
	return op->takes_receive && !load_op_is_txn(op);
}

uint64_t
load_op_len(const struct load_op *op, uint64_t size)
{
	return op->to == TO_COUNTER ? sizeof(uint64_t) : size;
}

bool
load_mix_has(const struct load_mix *mix, bool (*is)(const struct load_op *op))
{
	for (int i = 0; i < LOAD_OPS; i++)
		if (mix->weight[i] != 0 && is(&load_ops[i]))
			return true;
	return false;
}

/* ------------------------------------------------------------------ mixes */

static uint32_t
common_divisor(uint32_t a, uint32_t b)
{
	return b == 0 ? a : common_divisor(b, a % b);
}

/* Divides the weights by their greatest common divisor, and computes their sum. */
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

/*
 * Adds the row called `name`, which has len characters. Returns NULL on success, otherwise the
 * error as text.
 */
static const char *
add_row(struct load_mix *mix, const char *name, size_t len, uint32_t weight)
{
	for (int i = 0; i < LOAD_OPS; i++) {
		if (strlen(load_ops[i].name) != len || memcmp(load_ops[i].name, name, len) != 0)
			continue;
		if (mix->weight[i] != 0)
			return "an operation is given twice";
		mix->weight[i] = weight;
		return NULL;
	}
	return "it names no operation";
}

/*
 * Adds "OP" or "OP=WEIGHT", which has len characters. Returns NULL on success, otherwise the error
 * as text.
 */
static const char *
add(struct load_mix *mix, const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len), *wrong = NULL;
	size_t name_len = equals != NULL ? (size_t)(equals - text) : len;
	unsigned long weight = 1;
	char *end;

	if (equals != NULL) {
		weight = equals[1] >= '0' && equals[1] <= '9' ? strtoul(equals + 1, &end, 10) : 0;
		if (weight == 0 || weight > WEIGHT_MAX || end != text + len)
			return "after = give a weight from 1 to 1000";
	}
	for (size_t g = 0; g < RTE_DIM(groups); g++) {
		if (strlen(groups[g].name) != name_len ||
			memcmp(groups[g].name, text, name_len) != 0)
			continue;
		for (int i = 0; wrong == NULL && i < GROUP_ROWS; i++)
			wrong = add_row(mix, groups[g].rows[i], strlen(groups[g].rows[i]), weight);
		return wrong;
	}
	/* Each row of a group gets one part of the weight; a single row gets GROUP_ROWS parts. */
	return add_row(mix, text, name_len, weight * GROUP_ROWS);
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
		fprintf(stderr, " %s,", load_ops[i].name);
	for (size_t g = 0; g < RTE_DIM(groups); g++)
		fprintf(stderr, " %s,", groups[g].name);
	fprintf(stderr, " as in copy or copy=3,write=1; --load help explains\n");
	return -1;
}

void
load_mix_print(const struct load_mix *mix, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (int i = 0; i < LOAD_OPS && len < size; i++) {
		if (mix->weight[i] == 0)
			continue;
		len += snprintf(text + len, size - len, "%s%s", len > 0 ? "," : "",
			load_ops[i].name);
		if (mix->weight[i] != 1 && len < size)
			len += snprintf(text + len, size - len, "=%u", mix->weight[i]);
	}
}

void
load_ops_print(FILE *f)
{
	for (int i = 0; i < LOAD_OPS; i++)
		fprintf(f, "  %-9s  %s\n", load_ops[i].name, load_ops[i].what);
	for (size_t g = 0; g < RTE_DIM(groups); g++)
		fprintf(f, "  %-9s  %s\n", groups[g].name, groups[g].what);
}
