/* SPDX-License-Identifier: BSD-3-Clause */
/* The receive WQEs of a QP. The caller holds qp->recv, unless a call says otherwise. */
#ifndef SOFTHCA_RQ_H
#define SOFTHCA_RQ_H

#include "run.h"
#include "sg.h"

/* Receives are posted. Needs no lock. */
bool rq_has_work(const struct softhca_qp *qp);
/* A receive is posted. If the record counts more of them than the queue holds, the QP fails. */
bool rq_is_ready(struct run *run, struct softhca_qp *qp);
/*
 * The memory of the oldest receive, as far as `need` bytes: of run->responder.from, which is held
 * from now on, or of the QP's own queue. SYN_RNR: there is none; SYN_LOC_PROT: it may not be
 * written; SYN_LOC_LEN: it is too small. The receive stays.
 */
enum wire_syndrome rq_peek(struct run *run, struct softhca_qp *qp, uint64_t need, struct sg *sg);
#endif
