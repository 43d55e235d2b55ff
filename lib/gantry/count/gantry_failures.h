/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last failures of an engine, for telemetry.
 *
 *   owner of a queue, when something has failed         any thread
 *     gantry_failures_note()  ---> a ring ----------->    gantry_failures_get()
 *
 * A lock of the ring is held while one entry is copied. Only the functions of this file take this
 * lock.
 */
#ifndef GANTRY_FAILURES_H
#define GANTRY_FAILURES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The number of failures that the ring keeps: a power of two. */
#define GANTRY_FAILURES_KEPT 32
/* Bytes of the text of a WQE, with the 0 at its end. */
#define GANTRY_FAILURE_TEXT_LEN 512

/* The value of gantry_failure::conn if a descriptor was refused before a connection was chosen. */
#define GANTRY_FAILURE_NO_CONN UINT32_MAX

struct gantry_failure {
	uint32_t queue;   /* gantry_queue::id of the queue */
	uint32_t conn;    /* index in gantry_queue::conn, or GANTRY_FAILURE_NO_CONN */
	uint8_t status;   /* enum gantry_status */
	uint8_t op;       /* enum gantry_op of the failed descriptor; 0: no descriptor failed */
	uint8_t syndrome; /* syndrome of the CQE; 0 without a CQE */
	uint8_t vendor_syndrome;           /* vendor syndrome of the CQE; 0 without a CQE */
	uint64_t cookie;                   /* if op is not 0: cookie of the descriptor */
	char wqe[GANTRY_FAILURE_TEXT_LEN]; /* text of the failed WQE, or "" */

	/* Written by gantry_failures_note(). */
	uint64_t times;   /* how often the failure occurred in a row */
	uint64_t time_ns; /* time of the last occurrence, by CLOCK_REALTIME */
};

struct gantry_failures {
	pthread_mutex_t lock;
	uint64_t n; /* number of the next failure; the first failure has number 0 */
	struct gantry_failure kept[GANTRY_FAILURES_KEPT];
};

void gantry_failures_init(struct gantry_failures *f);
void gantry_failures_fini(struct gantry_failures *f);

/*
 * Stores a failure. A failure that differs from the newest failure only in its cookie or WQE
 * replaces the newest failure, and adds 1 to `times`. So a program that repeats one mistake a
 * million times does not push other failures out of the ring. Any thread; cold.
 */
void gantry_failures_note(struct gantry_failures *f, const struct gantry_failure *e);

/*
 * Returns the number of failures. Repetitions, which `times` counts, are not included. Any thread.
 */
uint64_t gantry_failures_count(struct gantry_failures *f);

/*
 * Copies the failure with this number. Returns false if there is no such failure yet, or the ring
 * no longer keeps it. Any thread.
 */
bool gantry_failures_get(struct gantry_failures *f, uint64_t number, struct gantry_failure *e);

#endif
