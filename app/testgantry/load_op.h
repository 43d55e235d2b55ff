/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The operations of a load, one row each, and mixes of them.
 */
#ifndef TESTGANTRY_LOAD_OP_H
#define TESTGANTRY_LOAD_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gantry.h"

/** What an operation reads. */
enum load_from {
	FROM_NOTHING,
	FROM_SOURCE,  /**< a place's source, in one piece */
	FROM_PEER,    /**< the same of the peer */
	FROM_LIST,    /**< a place's source, in pieces, which a list names */
	FROM_LAYOUT,  /**< the same, by a layout */
	FROM_PATTERN, /**< the lane's pattern of 8 bytes */
	FROM_BLOCKS,  /**< a place's blocks with signatures */
};

/** What it changes. */
enum load_to {
	TO_DESTINATION, /**< a place's destination, in one piece */
	TO_LIST,        /**< the same, in pieces, which a list names */
	TO_LAYOUT,      /**< the same, by a layout */
	TO_PEER,        /**< memory of the peer that is there for this place alone */
	TO_COUNTER,     /**< a counter of the peer */
	TO_RECEIVE,     /**< memory of the receive that the peer has posted */
};

/**
 * An operation of a load. Its descriptors, what it needs and how it is verified follow from the
 * row.
 */
struct load_op {
	const char *name; /**< of --load */
	enum gantry_op op;
	enum load_from from;
	enum load_to to;
	bool takes_receive; /**< of the peer */
	const char *what;
};

#define LOAD_OPS 12 /**< rows of load_ops[] */

extern const struct load_op load_ops[LOAD_OPS];

/** How often each row comes, in relation to the others: 0 is never. */
struct load_mix {
	uint16_t weight[LOAD_OPS];
	uint32_t sum; /**< of the weights, which have no common divisor; 0: no load */
};

/**
 * Reads a mix: "copy" or "copy=3,write=1". name: of the option, for messages. 0, or -1 with the
 * error printed.
 * @param mix written on success only.
 */
int load_mix_parse(const char *name, const char *text, struct load_mix *mix);

/**
 * Writes a mix as text that load_mix_parse() reads. size: of text; what does not fit is left out.
 */
void load_mix_print(const struct load_mix *mix, char *text, size_t size);

/** Prints the operations, one a line. */
void load_ops_print(FILE *f);

/** True if it needs a connection. */
bool load_op_has_peer(const struct load_op *op);

/** True if it has pieces. */
bool load_op_has_pieces(const struct load_op *op);

/** Bytes that it moves, where --size is this. */
uint64_t load_op_len(const struct load_op *op, uint64_t size);

/** True if an operation of the mix is one. */
bool load_mix_has(const struct load_mix *mix, bool (*is)(const struct load_op *op));

/* For load_mix_has(). */
bool load_op_has_connection(const struct load_op *op); /**< one that carries no transactions */
bool load_op_has_layout(const struct load_op *op);
bool load_op_has_counter(const struct load_op *op);
bool load_op_is_txn(const struct load_op *op);
bool load_op_is_fill(const struct load_op *op);
bool load_op_has_carrier(const struct load_op *op);   /**< GANTRY_DESC_BY_ may be given */
bool load_op_has_message(const struct load_op *op);   /**< the CPU may copy its data into the WQE */
bool load_op_takes_receive(const struct load_op *op); /**< of such a connection */

#endif
