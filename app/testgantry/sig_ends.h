/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Opens and closes the two ends of --mode sig: an initiator that requests that blocks are stored or
 * fetched, and a target whose disk is in memory. Each end has its own lcore, memory and queue.
 *
 *     ends_open -> (ends_begin -> ends_end: sig_phase.h)* -> ends_close
 *
 * Only the main lcore calls these functions. Functions that return int print the error when they
 * return -1.
 */
#ifndef TESTGANTRY_SIG_ENDS_H
#define TESTGANTRY_SIG_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry.h"
#include "options.h"

struct sig_ends;

/** The ends that are in this process. */
enum which_ends {
	ENDS_BOTH,
	ENDS_INITIATOR, /**< the target is in another process */
	ENDS_TARGET,    /**< the initiator is in another process */
};

/**
 * Opens the device and the ends. With ENDS_BOTH also connects them, once for each mode. After a
 * failure, the caller has nothing to close.
 */
int ends_open(const struct options *o, enum which_ends which, struct sig_ends **ends);

/**
 * Opens a connection for this mode, if the other end is in another process. Returns 1, 0 if the
 * device lacks the mode, or -1. *addr: the address for the other process.
 */
int ends_open_peer(struct sig_ends *ends, enum gantry_txn_mode mode, struct gantry_addr *addr);

/** Connects the connection of ends_open_peer() to the other process, and posts its receives. */
int ends_connect_peer(struct sig_ends *ends, enum gantry_txn_mode mode,
	const struct gantry_addr *addr);

/** Returns true if there is a connection for this mode, because the device supports the mode. */
bool ends_have(const struct sig_ends *ends, enum gantry_txn_mode mode);

/** Prints the name of the device, and the lcores of the ends. */
void ends_say(const struct sig_ends *ends);

/** Reads the target's counters. The target is in this process. */
void ends_stats(const struct sig_ends *ends, struct gantry_stats *stats);

/**
 * Returns memory for the blocks to store: SIG_ROUND_LEN bytes of data, with the signatures of the
 * wire. There are two such buffers; i is 0 or 1.
 */
uint8_t *ends_source(const struct sig_ends *ends, uint32_t i);

/** Returns memory for fetched blocks, of the same length as a source. */
uint8_t *ends_fetched(const struct sig_ends *ends);

/** Returns the target's disk: blocks, each followed by its signature. */
uint8_t *ends_disk(const struct sig_ends *ends);

/** Closes everything. Returns 0, or -1 if the engine was still in use. */
int ends_close(struct sig_ends *ends);

#endif
