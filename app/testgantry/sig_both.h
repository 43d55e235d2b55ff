/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The two ends of --mode sig, for sig_ends.c, which opens them, and sig_phase.c, which runs them.
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

/** What the initiator sends. */
struct sig_request {
	uint64_t addr; /**< address of the blocks in the initiator's memory */
	uint32_t remote_key;
	uint32_t number; /**< number of the request in its phase */
	uint32_t block;  /**< number of the first block */
	uint16_t n;      /**< number of blocks */
	bool store;      /**< true: store; false: fetch */
};

/** What the target answers. */
struct sig_response {
	uint32_t number; /**< number of the request */
	bool good;
};

#define N_MODES 2 /* connections: one with pipelining, one without */

/* Seconds without a response. The engine gives up a stuck connection earlier, and logs why. */
#define SIG_GIVE_UP_S 20
#define SIG_CLOSE_S   5 /* seconds to wait for transactions in flight when closing */

static_assert(GANTRY_TXN_PIPELINED == 1 && GANTRY_TXN_WAIT == N_MODES, "mode_index()");

/* Registered memory of one end. */
struct memory {
	uint8_t *base;
	size_t len;
	struct gantry_mem *mem;
};

/* One end. While a phase runs, only the lcore of the end uses this struct; the main lcore waits. */
struct end {
	unsigned int lcore_id;
	struct gantry_queue *q;
	uint16_t peer[N_MODES];
	struct memory memory;
};

struct initiator {
	struct end end;
	/* SIG_ROUND_LEN bytes of data each, with the wire's signatures. */
	uint8_t *source[2], *fetched;
	struct sig_request *request;   /* of each request of a phase */
	struct sig_response *response; /* [N_MODES * depth]: of each receive */
	uint64_t *begin_ns;            /* of each request of a phase */
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
	struct sig_request *received; /* [N_MODES * depth]: of each receive */
	struct slot *slot;            /* [depth] */
	uint32_t *free_slot;          /* a stack of the slots that are not in use */
	uint32_t n_free;
};

struct sig_ends {
	const struct options *opt;
	struct gantry *engine;
	struct initiator initiator;
	struct target target;
	bool have[N_MODES];
	uint32_t wire_len, disk_len; /* bytes of a block with its signature */
	struct sig_key
		key[2];   /* with --encrypt: the present DEK, and the next or the previous one */
	bool present_key; /* index of the present one */
	/* For the running phase. */
	struct sig_phase *phase;
	/*
	 * Number of phases that the ends were given, and number of ends that have finished the
	 * present phase; with release and acquire. EAL orders this as well, but ThreadSanitizer
	 * does not see that.
	 */
	atomic_uint begun, ended;
	/* wakes the main lcore when the phase is no longer busy, or an end has finished it */
	sem_t wake;
	/* Written by the initiator's lcore or by both lcores; read by both. */
	atomic_bool may_end; /* written by the main lcore: it waits for the end of the phase */
	atomic_bool all_answered;
	atomic_bool failed;
	atomic_uint
		/* answered requests: written by the initiator's lcore, read by the main lcore */
		answered;
};

/* False: the phase must end early. */
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
 * Posts the receive with this number, which is its cookie, to a connection. -1: it was not
 * accepted; the error is printed.
 */
int end_post_receive(const struct end *end, uint16_t peer, void *array, size_t size,
	uint64_t number);

#endif
