/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues. */
#ifndef SOFTHCA_SRQ_H
#define SOFTHCA_SRQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca.h"
#include "spin.h"

/* A shared receive queue. `lock` guards its WQEs and indices. */
struct softhca_srq {
	struct spin lock;
	uint16_t head;  /* index of the next WQE to use */
	uint16_t taken; /* WQEs used up; free running, counted as in the record */
	uint32_t n, log_stride, limit;
	uint8_t *buf;
	_Atomic uint32_t *dbrec;
	bool cyclic, bare;
	bool failed; /* its list of WQEs was broken: it gives no more receives */
	uint32_t number, pdn, xrcdn, uidx;
	struct softhca_cq *cq; /* XRC and XRQ, else NULL */
	struct softhca_dev *dev;
	void *event;
	atomic_uint users; /* QPs */
} __attribute__((aligned(CACHE_LINE)));

/* srq->lock held for all of these. */

bool srq_has_work(struct softhca_srq *srq);
/* The data segments of the oldest WQE, n of them; NULL: no WQE is posted. */
const uint8_t *srq_head(struct softhca_srq *srq, unsigned int *n);
/* Uses up the oldest WQE. Returns its index; of a cyclic queue, its number modulo 2^16. */
uint16_t srq_take(struct softhca_srq *srq);

#endif
