/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The operations of a load, one row each, and mixes of them.
 */
#ifndef TESTGANTRY_LOAD_OP_H
#define TESTGANTRY_LOAD_OP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "gantry.h"

/** What an operation reads. */
enum load_from {
	FROM_NOTHING,
	FROM_SOURCE, /**< a place's source, in one piece */
	FROM_PEER,   /**< the peer's source */
};

/** What it changes. */
enum load_to {
	TO_DESTINATION, /**< a place's destination, in one piece */
	TO_PEER,        /**< memory of the peer that is there for this place alone */
};

/** An operation of a load. Its descriptors, what it needs and how it is verified follow from the row. */
struct load_op {
	const char *name; /**< of --load */
	enum gantry_op op;
	enum load_from from;
	enum load_to to;
	const char *what;
};

#define LOAD_OPS 3 /**< rows of load_ops[] */

extern const struct load_op load_ops[LOAD_OPS];

/** True if it needs a connection. */
static inline bool
load_op_has_peer(const struct load_op *op)
{
	return op->from == FROM_PEER || op->to == TO_PEER;
}

/** How often each row comes, in relation to the others: 0 is never. */
struct load_mix {
	uint16_t weight[LOAD_OPS];
	uint32_t sum; /**< of the weights, which have no common divisor; 0: no load */
};

/**
 * Reads a mix: "copy" or "copy=3,write=1". name: of the option, for messages. 0, or -1 with the error printed.
 * @param mix written on success only.
 */
int load_mix_parse(const char *name, const char *text, struct load_mix *mix);

/** Prints the operations, one a line. */
void load_ops_print(FILE *f);

#endif
