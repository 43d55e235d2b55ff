/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The talk of two processes over their stream: short frames with addresses, keys, options, names of
 * files, and results. The bytes of files go by RDMA, not by the stream.
 *
 *     talk_create -> (talk_say, talk_look, talk_wait)* -> (talk_fail) -> talk_end
 *
 * A frame has a header of 12 bytes: the letters GTRY, the version of the exchange, the type, and
 * the length of the content. All numbers are little endian. Each end sends a frame at least every
 * second, so that the other end notices if the process is stopped.
 *
 * Only the main lcore calls these functions. Functions that return int print the error when they
 * return -1, unless a signal came.
 */
#ifndef TESTGANTRY_PAIR_TALK_H
#define TESTGANTRY_PAIR_TALK_H

#include <stddef.h>
#include <stdint.h>

#include "pair_stream.h"

#define TALK_VERSION 1
#define TALK_MAX     (16u << 10) /**< most bytes of a frame's content */

enum talk_type {
	TALK_PING = 1, /**< no content: the process is alive */
	TALK_ERROR,    /**< a text: the reason why the process ends */
	TALK_HELLO,    /**< a text: the settings that must be equal */
	TALK_LANE,     /**< struct lane_address: one end of a connection */
	TALK_READY,    /**< the connections are open, and receives are posted */
	TALK_FILE,     /**< struct pair_file and a name: a file will come */
	TALK_DIGEST,   /**< struct pair_digest: all chunks of a file were sent */
	/** struct pair_digest: a file is verified and was renamed to its final name */
	TALK_VERIFIED,
	TALK_MODE,       /**< struct pair_mode: one end of a connection for transactions */
	TALK_PHASE,      /**< struct pair_phase: transactions will come */
	TALK_PHASE_DONE, /**< struct pair_plain: all transactions of the phase are answered */
	TALK_RESULTS,    /**< array of struct pair_result: the target's results of a phase */
	TALK_JUDGED,     /**< struct pair_judged: the target's counters in a phase */
	TALK_DONE,       /**< all work is done */
};

struct talk_frame {
	enum talk_type type;
	uint32_t len;
	const uint8_t *data; /**< the content, valid until the next call for this talk */
};

struct talk;

/** Takes over a stream. give_up_s: seconds until a silent process counts as dead. */
int talk_create(struct stream *stream, uint32_t give_up_s, struct talk **talk);

/** Sends a frame. @return 0 or -1. */
int talk_say(struct talk *t, enum talk_type type, const void *data, size_t len);

/** Takes the next frame that is no ping. @return 1, 0 if no frame has come, or -1. */
int talk_look(struct talk *t, struct talk_frame *f);

/** Waits for a frame of any type. @return 0 or -1. */
int talk_wait_any(struct talk *t, struct talk_frame *f);

/**
 * Waits for a frame of this type and length. len: bytes of the content; SIZE_MAX: any number.
 * @return 0 or -1.
 */
int talk_wait(struct talk *t, enum talk_type type, size_t len, struct talk_frame *f);

/** Checks the type and the length of a frame. @return 0 or -1. */
int talk_check(const struct talk_frame *f, enum talk_type type, size_t len);

/**
 * Sends the reason why this process ends, once, and only if the other process still lives. After
 * this call only talk_end() is possible.
 */
void talk_fail(struct talk *t, const char *error);

/** Closes the stream. */
void talk_end(struct talk *t);

#endif
