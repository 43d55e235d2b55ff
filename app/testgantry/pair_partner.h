/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The target in another process, as the initiator sees it: pair_sig.h.
 *
 *     partner_connect -> (partner_begin -> partner_look ... -> partner_end)* -> partner_done
 *
 * Only the main lcore calls these functions. Functions that return int print the error when they
 * return -1, unless a signal came.
 */
#ifndef TESTGANTRY_PAIR_PARTNER_H
#define TESTGANTRY_PAIR_PARTNER_H

#include "pair_talk.h"
#include "sig_ends.h"
#include "sig_phase.h"

/** Connects the initiator to the target, in each mode that the target has. */
int partner_connect(struct talk *t, struct sig_ends *ends);

/**
 * Prepares the target for a phase. damaged: corrupted blocks are stored. new_key: with --encrypt,
 * the disk gets a new key.
 */
int partner_begin(struct talk *t, const struct sig_phase *p, bool damaged, bool new_key);

/** Checks whether the target's process still lives. */
int partner_look(struct talk *t);

/**
 * Ends a phase, and takes the target's results and its counters. blocks: the blocks that were
 * stored, `stride` bytes from one to the next.
 */
int partner_end(struct talk *t, struct sig_phase *p, const uint8_t *blocks, uint32_t block_size,
	uint32_t stride, struct gantry_stats *stats);

/** Sends TALK_DONE, and waits for the target's TALK_DONE. */
int partner_done(struct talk *t);

#endif
