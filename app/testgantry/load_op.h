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
	FROM_PEER,    /**< a place's source at the peer, in one piece */
	FROM_LIST,    /**< a place's source, in pieces, which a list names */
	FROM_LAYOUT,  /**< a place's source, in pieces, which a layout names */
	FROM_PATTERN, /**< the lane's pattern of 8 bytes */
	FROM_BLOCKS,  /**< a place's blocks with signatures */
};

/** What an operation changes. */
enum load_to {
	TO_DESTINATION, /**< a place's destination, in one piece */
	TO_LIST,        /**< a place's destination, in pieces, which a list names */
	TO_LAYOUT,      /**< a place's destination, in pieces, which a layout names */
	TO_PEER,        /**< memory of the peer that belongs to this place only */
	TO_COUNTER,     /**< a counter of the peer */
	TO_RECEIVE,     /**< memory of the receive that the peer has posted */
};

/**
 * An operation of a load. Its row decides its descriptors, what it needs, and how it is verified.
 */
struct load_op {
	const char *name; /**< of --load */
	enum gantry_op op;
	enum load_from from;
	enum load_to to;
	bool takes_receive; /**< it consumes a receive of the peer */
	const char *what;
};

#define LOAD_OPS 12 /**< rows of load_ops[] */

extern const struct load_op load_ops[LOAD_OPS];

/** How often each row comes, relative to the other rows; 0: never. */
struct load_mix {
	uint16_t weight[LOAD_OPS];
	uint32_t sum; /**< sum of the weights, which have no common divisor; 0: no load */
};

/**
 * Parses a mix: "copy" or "copy=3,write=1". name: the option's name, for messages. 0, or -1 with
 * the error printed.
 * @param mix written on success only.
 */
int load_mix_parse(const char *name, const char *text, struct load_mix *mix);

/**
 * Writes a mix as text that load_mix_parse() reads. size: bytes of text; the rest is cut off.
 */
void load_mix_print(const struct load_mix *mix, char *text, size_t size);

/** Prints the operations, one a line. */
void load_ops_print(FILE *f);

/** True if the operation needs a connection. */
bool load_op_has_peer(const struct load_op *op);

/** True if the operation has pieces. */
bool load_op_has_pieces(const struct load_op *op);

/** Bytes that the operation moves if --size is `size`. */
uint64_t load_op_len(const struct load_op *op, uint64_t size);

/** True if is() is true for an operation of the mix. */
bool load_mix_has(const struct load_mix *mix, bool (*is)(const struct load_op *op));

/* Functions for load_mix_has(). */
/** needs a connection without transactions */
bool load_op_has_connection(const struct load_op *op);
bool load_op_has_layout(const struct load_op *op);
bool load_op_has_counter(const struct load_op *op);
bool load_op_is_txn(const struct load_op *op);
bool load_op_is_fill(const struct load_op *op);
bool load_op_has_carrier(const struct load_op *op);   /**< GANTRY_DESC_BY_ may be given */
bool load_op_has_message(const struct load_op *op);   /**< the CPU may copy its data into the WQE */
bool load_op_takes_receive(const struct load_op *op); /**< needs a receive on such a connection */

#endif
