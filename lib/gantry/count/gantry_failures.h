/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last failures of an engine, for those who look from outside.
 *
 *   owner of a queue, when something has failed         any thread
 *     gantry_failures_note()  ---> a ring ----------->    gantry_failures_get()
 *
 * The lock is held while one entry is copied. No path takes it on which nothing has failed.
 */
#ifndef GANTRY_FAILURES_H
#define GANTRY_FAILURES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Failures that are kept: a power of two. */
#define GANTRY_FAILURES_KEPT 32
/* The text of a WQE, with the 0 at its end. */
#define GANTRY_FAILURE_TEXT_LEN 512

/* gantry_failure::conn where no connection is known: the descriptor was refused. */
#define GANTRY_FAILURE_NO_CONN UINT32_MAX

struct gantry_failure {
	uint32_t queue;   /* gantry_queue::id */
	uint32_t conn;    /* index in gantry_queue::conn, or GANTRY_FAILURE_NO_CONN */
	uint8_t status;   /* enum gantry_status */
	uint8_t op;       /* enum gantry_op of the descriptor; 0: no descriptor has failed by it */
	uint8_t syndrome; /* of the CQE, else 0 */
	uint8_t vendor_syndrome;           /* of the CQE, else 0 */
	uint64_t cookie;                   /* of the descriptor, if op is not 0 */
	char wqe[GANTRY_FAILURE_TEXT_LEN]; /* the WQE, decoded, or "" */

	/* Written by gantry_failures_note(). */
	uint64_t times;   /* how often it came, one after the other */
	uint64_t time_ns; /* the last time: CLOCK_REALTIME */
};

struct gantry_failures {
	pthread_mutex_t lock;
	uint64_t n; /* number of the next one; 0 and up */
	struct gantry_failure kept[GANTRY_FAILURES_KEPT];
};

void gantry_failures_init(struct gantry_failures *f);
void gantry_failures_fini(struct gantry_failures *f);

/*
 * Notes a failure. One that is like the newest in all but the cookie and the WQE only counts in `times`: so a
 * program that submits the same mistake a million times drives no other failure out. Any thread; cold.
 */
void gantry_failures_note(struct gantry_failures *f, const struct gantry_failure *e);

/* How many failures there were, those that counted in `times` left out. Any thread. */
uint64_t gantry_failures_count(struct gantry_failures *f);

/* Copies failure `number`. False: it has not happened yet, or is no longer kept. Any thread. */
bool gantry_failures_get(struct gantry_failures *f, uint64_t number, struct gantry_failure *e);

#endif
