/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The results of --mode sig, and their table.
 */
#ifndef TESTGANTRY_SIG_TABLE_H
#define TESTGANTRY_SIG_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "gantry.h"
#include "options.h"
#include "sig_damage.h"

/** Latencies of requests of one kind. */
struct samples {
	uint64_t *ns;
	size_t n, capacity;
};

/** The kind of a row in the table of latencies. */
enum kind {
	STORE_GOOD,
	STORE_BAD,
	FETCH_GOOD,
	FETCH_BAD,
	N_KINDS,
};

/** Counts of transactions with corrupted blocks. */
struct found {
	uint64_t corrupted; /**< number of transactions with a corrupted block */
	/** transactions with a bad response whose error names a corrupted block */
	uint64_t detected;
	uint64_t missed; /**< all other transactions with a corrupted block */
};

/** Results of one mode. */
struct tally {
	struct samples samples[N_KINDS];
	struct found found[N_PLACES];
	uint64_t ns;           /**< time of all phases */
	uint64_t false_alarms; /**< bad responses to transactions without a corrupted block */
	uint64_t wrong;        /**< good responses whose blocks or signatures are wrong */
	uint64_t opened, done, stops, cancelled; /**< as the counters of struct gantry_stats */
};

/** Results of the whole run. */
struct sig_sum {
	struct tally tally[GANTRY_TXN_WAIT + 1]; /**< indexed by enum gantry_txn_mode */
	uint64_t n_blocks;
	uint64_t corrupted[N_PLACES]; /**< number of corrupted blocks */
	uint64_t n_keys;              /**< DEKs that were used */
};

/** Adds a latency. Returns 0, or -1 with the error printed. */
int sum_add(struct samples *samples, uint64_t ns);

/** Prints the table. Sorts the latencies. */
void sum_print(const struct options *o, struct sig_sum *sum);

void sum_free(struct sig_sum *sum);

#endif
