/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last failures of an engine, for telemetry.
 *
 *   owner of a queue, when something has failed         any thread
 *     gantry_failures_note()  ---> a ring ----------->    gantry_failures_get()
 *
 * The lock is held while one entry is copied. Only failures and readers take it.
 */
#ifndef GANTRY_FAILURES_H
#define GANTRY_FAILURES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* How many failures are kept: a power of two. */
#define GANTRY_FAILURES_KEPT 32
/* Bytes of the text of a WQE, with the 0 at its end. */
#define GANTRY_FAILURE_TEXT_LEN 512

/* gantry_failure::conn if a descriptor was refused before a connection was chosen. */
#define GANTRY_FAILURE_NO_CONN UINT32_MAX

struct gantry_failure {
	uint32_t queue;   /* gantry_queue::id */
	uint32_t conn;    /* index in gantry_queue::conn, or GANTRY_FAILURE_NO_CONN */
	uint8_t status;   /* enum gantry_status */
	uint8_t op;       /* enum gantry_op of the failed descriptor; 0: no descriptor failed */
	uint8_t syndrome; /* of the CQE, else 0 */
	uint8_t vendor_syndrome;           /* of the CQE, else 0 */
	uint64_t cookie;                   /* of the descriptor, if op is not 0 */
	char wqe[GANTRY_FAILURE_TEXT_LEN]; /* the decoded WQE, or "" */

	/* Written by gantry_failures_note(). */
	uint64_t times;   /* how often it came in a row */
	uint64_t time_ns; /* the last time, by CLOCK_REALTIME */
};

struct gantry_failures {
	pthread_mutex_t lock;
	uint64_t n; /* number of the next failure; the first one is 0 */
	struct gantry_failure kept[GANTRY_FAILURES_KEPT];
};

void gantry_failures_init(struct gantry_failures *f);
void gantry_failures_fini(struct gantry_failures *f);

/*
 * Notes a failure. If only its cookie or its WQE differ from the newest failure, it replaces that
 * one and adds 1 to `times`. So a program that repeats one mistake a million times leaves the other
 * failures in the ring. Any thread; cold.
 */
void gantry_failures_note(struct gantry_failures *f, const struct gantry_failure *e);

/* The number of failures; repetitions, which `times` counts, are left out. Any thread. */
uint64_t gantry_failures_count(struct gantry_failures *f);

/*
 * Copies failure `number`. Returns false if it has not happened yet, or is no longer kept. Any
 * thread.
 */
bool gantry_failures_get(struct gantry_failures *f, uint64_t number, struct gantry_failure *e);

#endif
