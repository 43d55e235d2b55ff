/* SPDX-License-Identifier: BSD-3-Clause */
/* The receive WQEs of a QP. Unless a comment says otherwise, the caller holds qp->recv. */
#ifndef SOFTHCA_RQ_H
#define SOFTHCA_RQ_H

#include "run.h"
#include "sg.h"

/* True if receives are posted. Needs no lock. */
bool rq_has_work(const struct softhca_qp *qp);
/*
 * True if a receive is posted. If the doorbell record counts more WQEs than the queue has, the QP
 * fails.
 */
bool rq_is_ready(struct run *run, struct softhca_qp *qp);
/*
 * Gathers `need` bytes of memory of the oldest receive: of run->responder.from, which is held from
 * now on, or of the QP's own queue. SYN_RNR: no receive is posted; SYN_LOC_PROT: its memory is not
 * writable; SYN_LOC_LEN: it is too short. The receive is not used up.
 */
enum wire_syndrome rq_peek(struct run *run, struct softhca_qp *qp, uint64_t need, struct sg *sg);
#endif
