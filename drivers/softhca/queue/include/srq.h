/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues. */
#ifndef SOFTHCA_SRQ_H
#define SOFTHCA_SRQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca.h"
#include "spin.h"

/* A shared receive queue. `lock` protects the queue's WQEs and indices. */
struct softhca_srq {
	struct spin lock;
	uint16_t head; /* index of the WQE that the next receive takes */
	/* number of WQEs used up; free-running, as the counter in the doorbell record */
	uint16_t taken;
	uint32_t n, log_stride, limit;
	uint8_t *buf;
	_Atomic uint32_t *dbrec;
	bool cyclic, bare;
	bool failed; /* the list of WQEs is broken, so no receive can be taken from the SRQ */
	uint32_t number, pdn, xrcdn, uidx;
	struct softhca_cq *cq; /* for XRC and XRQ; otherwise NULL */
	struct softhca_dev *dev;
	void *event;
	atomic_uint users; /* number of QPs that use this SRQ */
} __attribute__((aligned(CACHE_LINE)));

/*
 * A receive that a long SEND from another process has taken. The first record of the SEND takes the
 * receive. The receive completes with the last record, or is flushed with the QP.
 */
struct srq_claim {
	struct srq_claim *next;
	uint64_t sender;    /* the connection on which the SEND comes: struct served */
	uint32_t srqn;      /* an SRQ of XRC may be destroyed before the receive completes */
	const uint8_t *seg; /* the data segments of the receive */
	unsigned int n;
	uint16_t index; /* as srq_take() returned it */
};

/* The caller of each of these functions holds srq->lock. */

bool srq_has_work(struct softhca_srq *srq);
/*
 * Returns the data segments of the oldest WQE and sets *n to their number. Returns NULL if no WQE
 * is posted.
 */
const uint8_t *srq_head(struct softhca_srq *srq, unsigned int *n);
/* Uses up the oldest WQE. Returns its index, or, in a cyclic queue, its number modulo 2^16. */
uint16_t srq_take(struct softhca_srq *srq);

#endif
