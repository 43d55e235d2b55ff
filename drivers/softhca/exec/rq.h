/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receive WQEs of a QP. The caller of each function holds qp->recv, unless a comment says
 * otherwise.
 */
#ifndef SOFTHCA_RQ_H
#define SOFTHCA_RQ_H

#include "run.h"
#include "sg.h"

/* True if receives are posted. The caller needs no lock. */
bool rq_has_work(const struct softhca_qp *qp);
/*
 * True if a receive is posted. If the doorbell record counts more WQEs than the queue can hold, the
 * QP fails.
 */
bool rq_is_ready(struct run *run, struct softhca_qp *qp);
/*
 * Gathers `need` bytes of the memory of the oldest receive. The receive is taken from the SRQ
 * run->responder.from, which is held from now on, or from the QP's own queue. Returns SYN_OK;
 * SYN_RNR if no receive is posted; SYN_LOC_PROT if its memory is not writable; or SYN_LOC_LEN if it
 * is too short. The receive is not used up.
 */
enum wire_syndrome rq_peek(struct run *run, struct softhca_qp *qp, uint64_t need, struct sg *sg);
/*
 * Gathers `need` bytes of the memory of n data segments of a receive of the SRQ, as rq_peek() does.
 */
enum wire_syndrome rq_gather_srq(struct run *run, struct softhca_srq *srq, const uint8_t *seg,
	unsigned int n, uint64_t need, struct sg *sg);

#endif
