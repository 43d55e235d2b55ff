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

/**
 * Opens the device, and both ends with a connection for each mode. After a failure, the caller has
 * nothing to close.
 */
int ends_open(const struct options *o, struct sig_ends **ends);

/** Returns true if there is a connection for this mode, because the device supports the mode. */
bool ends_have(const struct sig_ends *ends, enum gantry_txn_mode mode);

/** Prints the name of the device, and the lcores of initiator and target. */
void ends_say(const struct sig_ends *ends);

/** Reads the target's counters. */
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
