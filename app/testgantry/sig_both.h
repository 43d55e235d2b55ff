/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The two ends of --mode sig. sig_ends.c opens and closes the ends. sig_phase.c runs the ends.
 */
#ifndef TESTGANTRY_SIG_BOTH_H
#define TESTGANTRY_SIG_BOTH_H

#include <assert.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gantry.h"
#include "job.h"
#include "options.h"
#include "report.h"
#include "sig_keys.h"

/** The message that the initiator sends. */
struct sig_request {
	uint64_t addr; /**< address of the blocks in the initiator's memory */
	uint32_t remote_key;
	uint32_t number; /**< number of the request in its phase */
	uint32_t block;  /**< number of the first block */
	uint16_t n;      /**< number of blocks */
	bool store;      /**< true: store the blocks; false: fetch the blocks */
};

/** The message that the target sends as its response. */
struct sig_response {
	uint32_t number; /**< number of the request */
	bool good;
};

#define N_MODES 2 /* number of connections: one with pipelining, one without */

/*
 * Seconds to wait for a response. If a connection is stuck, the engine fails it earlier, and logs
 * the reason.
 */
#define SIG_GIVE_UP_S 20
#define SIG_CLOSE_S   5 /* seconds to wait for transactions in flight when closing */

static_assert(GANTRY_TXN_PIPELINED == 1 && GANTRY_TXN_WAIT == N_MODES, "mode_index()");

/* Registered memory of one end. */
struct memory {
	uint8_t *base;
	size_t len;
	struct gantry_mem *mem;
};

/* One end. While a phase runs, only the end's lcore uses this struct; the main lcore waits. */
struct end {
	unsigned int lcore_id;
	struct gantry_queue *q;
	uint16_t peer[N_MODES];
	struct memory memory;
};

struct initiator {
	struct end end;
	/* buffers, each for SIG_ROUND_LEN bytes of data with the signatures of the wire */
	uint8_t *source[2], *fetched;
	struct sig_request *request;   /* requests of a phase */
	struct sig_response *response; /* [N_MODES * depth]: memory of each receive */
	/* [requests of a phase]: time at which the request was sent */
	uint64_t *begin_ns;
};

/* A transaction of the target, with the objects that it points to. */
struct slot {
	struct gantry_txn txn;
	struct gantry_sge blocks;
	struct gantry_txn_part part;
	struct sig_response good, bad;
};

struct target {
	struct end end;
	uint16_t profile;
	uint8_t *disk;
	/* [N_MODES * depth]: the request in the memory of each receive */
	struct sig_request *received;
	struct slot *slot;   /* [depth] */
	uint32_t *free_slot; /* stack of the numbers of unused slots */
	uint32_t n_free;
};

struct sig_ends {
	const struct options *opt;
	bool has_initiator, has_target; /* the ends that are in this process */
	struct gantry *engine;
	struct initiator initiator;
	struct target target;
	bool have[N_MODES];
	/* bytes of a block with its signature, on the wire and on the disk */
	uint32_t wire_len, disk_len;
	struct sig_key
		key[2];   /* with --encrypt: the present DEK, and the previous or the next DEK */
	bool present_key; /* index of the present DEK */
	/* Fields for the running phase. */
	struct sig_phase *phase;
	/*
	 * begun: number of phases that have begun. ended: number of ends that have finished the
	 * present phase. Both are accessed with release and acquire. EAL's calls also order these
	 * accesses, but ThreadSanitizer does not see this.
	 */
	atomic_uint begun, ended;
	/*
	 * wakes the main lcore when the phase is no longer busy, or when an end has finished the
	 * phase
	 */
	sem_t wake;
	/* Written by the initiator's lcore or by both lcores; both lcores read these fields. */
	atomic_bool may_end; /* written by the main lcore when it waits for the end of the phase */
	atomic_bool all_answered;
	atomic_bool failed;
	atomic_uint
		/*
		 * number of answered requests: written by the initiator's lcore, read by the main
		 * lcore
		 */
		answered;
};

/* Returns false if the phase must end early. */
static inline bool
ends_go_on(const struct sig_ends *e)
{
	return !atomic_load(&e->failed) && stop_signal == 0;
}

static inline uint32_t
mode_index(enum gantry_txn_mode mode)
{
	return mode - 1;
}

/*
 * Posts the receive with this number, which is also its cookie, to a connection. Returns 0, or -1
 * with the error printed if the receive was not accepted.
 */
int end_post_receive(const struct end *end, uint16_t peer, void *array, size_t size,
	uint64_t number);

#endif
