/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues. */
#ifndef SOFTHCA_SRQ_H
#define SOFTHCA_SRQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca.h"
#include "spin.h"

/* A shared receive queue. `lock` protects its WQEs and indices. */
struct softhca_srq {
	struct spin lock;
	uint16_t head;  /* index of the next WQE */
	uint16_t taken; /* WQEs used up; free running, as the counter in the record */
	uint32_t n, log_stride, limit;
	uint8_t *buf;
	_Atomic uint32_t *dbrec;
	bool cyclic, bare;
	bool failed; /* its list of WQEs is broken, so it has no more receives */
	uint32_t number, pdn, xrcdn, uidx;
	struct softhca_cq *cq; /* of XRC and XRQ; else NULL */
	struct softhca_dev *dev;
	void *event;
	atomic_uint users; /* QPs */
} __attribute__((aligned(CACHE_LINE)));

/* For all of these the caller holds srq->lock. */

bool srq_has_work(struct softhca_srq *srq);
/* The oldest WQE's data segments; *n is their number. NULL: no WQE is posted. */
const uint8_t *srq_head(struct softhca_srq *srq, unsigned int *n);
/* Uses up the oldest WQE. Returns its index or, of a cyclic queue, its number modulo 2^16. */
uint16_t srq_take(struct softhca_srq *srq);

#endif
