/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The operations of a load, one table row for each, and mixes of operations.
 */
#ifndef TESTGANTRY_LOAD_OP_H
#define TESTGANTRY_LOAD_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gantry.h"

/** The memory that an operation reads. */
enum load_from {
	FROM_NOTHING,
	FROM_SOURCE,  /**< a place's source, in one piece */
	FROM_PEER,    /**< a place's source at the peer, in one piece */
	FROM_LIST,    /**< a place's source, in the pieces of a list */
	FROM_LAYOUT,  /**< a place's source, in the pieces of a layout */
	FROM_PATTERN, /**< the lane's pattern of 8 bytes */
	FROM_BLOCKS,  /**< a place's blocks with signatures */
};

/** The memory that an operation changes. */
enum load_to {
	TO_DESTINATION, /**< a place's destination, in one piece */
	TO_LIST,        /**< a place's destination, in the pieces of a list */
	TO_LAYOUT,      /**< a place's destination, in the pieces of a layout */
	TO_PEER,        /**< the slot of this place in the peer's memory */
	TO_COUNTER,     /**< the counter of this place at the peer */
	TO_RECEIVE,     /**< the memory of a receive that the peer has posted */
};

/**
 * A row of the table of operations. The row defines the operation's descriptors, what the operation
 * requires, and how it is verified.
 */
struct load_op {
	const char *name; /**< name of the operation in --load */
	enum gantry_op op;
	enum load_from from;
	enum load_to to;
	bool takes_receive; /**< the operation consumes a receive of the peer */
	const char *what;
};

#define LOAD_OPS 12 /**< number of rows in load_ops[] */

extern const struct load_op load_ops[LOAD_OPS];

/** How often each operation occurs, relative to the other operations; 0: never. */
struct load_mix {
	uint16_t weight[LOAD_OPS];
	uint32_t sum; /**< sum of the weights; the weights have no common divisor; 0: no load */
};

/**
 * Parses a mix: "copy" or "copy=3,write=1". name: the option's name, for messages. Returns 0, or -1
 * with the error printed.
 * @param mix Written on success only.
 */
int load_mix_parse(const char *name, const char *text, struct load_mix *mix);

/**
 * Writes a mix as text that load_mix_parse() reads. size: bytes of `text`; a longer result is
 * truncated.
 */
void load_mix_print(const struct load_mix *mix, char *text, size_t size);

/** Prints the operations, one line for each. */
void load_ops_print(FILE *f);

/** Returns true if the operation needs a connection to a peer. */
bool load_op_has_peer(const struct load_op *op);

/** Returns true if the operation has pieces. */
bool load_op_has_pieces(const struct load_op *op);

/** Returns how many bytes the operation moves if --size is `size`. */
uint64_t load_op_len(const struct load_op *op, uint64_t size);

/** Returns true if is() is true for at least one operation of the mix. */
bool load_mix_has(const struct load_mix *mix, bool (*is)(const struct load_op *op));

/* Predicates for load_mix_has(). */
/** true if the operation needs a connection without transactions */
bool load_op_has_connection(const struct load_op *op);
bool load_op_has_layout(const struct load_op *op);
bool load_op_has_counter(const struct load_op *op);
bool load_op_is_txn(const struct load_op *op);
bool load_op_is_fill(const struct load_op *op);
/** true if the descriptor may have a GANTRY_DESC_BY_ flag */
bool load_op_has_carrier(const struct load_op *op);
/** true if the CPU may copy the operation's data into the WQE */
bool load_op_has_message(const struct load_op *op);
/** true if the operation is no transaction, and consumes a receive that the peer has posted */
bool load_op_takes_receive(const struct load_op *op);

#endif
