/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What came of --mode sig, and the table of it.
 */
#ifndef TESTGANTRY_SIG_TABLE_H
#define TESTGANTRY_SIG_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "gantry.h"
#include "options.h"

/** How long requests of one kind took. */
struct samples {
	uint64_t *ns;
	size_t n, capacity;
};

/** What a row of the table of latencies is about. */
enum kind {
	STORE_GOOD,
	STORE_BAD,
	FETCH_GOOD,
	FETCH_BAD,
	N_KINDS,
};

/** Where blocks have signatures. */
enum place {
	DISK,
	WIRE,
	N_PLACES,
};

/** What came of transactions with corrupted blocks. */
struct found {
	uint64_t corrupted; /**< transactions */
	uint64_t detected;  /**< of them with the bad response, whose error names such a block */
	uint64_t missed;    /**< the others */
};

/** What came of one mode. */
struct tally {
	struct samples samples[N_KINDS];
	struct found found[N_PLACES];
	uint64_t ns;           /**< of all phases */
	uint64_t false_alarms; /**< bad responses to transactions without a corrupted block */
	uint64_t wrong;        /**< good responses with blocks or signatures that are wrong */
	uint64_t opened, done, stops, cancelled; /**< as in struct gantry_stats */
};

/** What came of all of it. */
struct sig_sum {
	struct tally tally[GANTRY_TXN_WAIT + 1]; /**< by enum gantry_txn_mode */
	uint64_t n_blocks;
	uint64_t corrupted[N_PLACES]; /**< of them */
	uint64_t n_keys;              /**< that blocks were encrypted with */
};

/** Adds a latency. 0, or -1 with the error printed. */
int sum_add(struct samples *samples, uint64_t ns);

/** Prints the table. Sorts the latencies. */
void sum_print(const struct options *o, struct sig_sum *sum);

void sum_free(struct sig_sum *sum);

#endif
