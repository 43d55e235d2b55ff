/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of a QP's state that several files need. */
#ifndef HWQ_QP_STATE_H
#define HWQ_QP_STATE_H

#include <stdbool.h>
#include <stdlib.h>

#include "hwq_cq_drop.h"
#include "hwq_qp.h"

/*
 * @return true if hwq created the QP. Otherwise false, after a log line that says what is refused,
 *   and what to call instead.
 */
bool hwq_qp_is_own(const struct hwq_qp *qp, const char *what, const char *instead);

/* Moves the QP from RESET to INIT. @return 0, or the error of ibv_modify_qp(3). */
int hwq_qp_to_init(struct hwq_qp *qp);

/* Forgets which WQEs were cancelled, because the queue is empty, or is being destroyed. */
static inline void
hwq_qp_forget_cancelled(struct hwq_qp *qp)
{
	free(qp->cancelled);
	qp->cancelled = NULL;
}

/* Drops the completions of a QP from its CQs. The QP makes no more CQEs. */
static inline void
hwq_qp_drop_cqes(struct hwq_qp *qp)
{
	if (qp->cq != NULL)
		hwq_cq_drop(qp->cq, qp->qpn, qp->srq);
	if (qp->rq.cq != NULL && qp->rq.cq != qp->cq)
		hwq_cq_drop(qp->rq.cq, qp->qpn, qp->srq);
}

/*
 * Empties both rings of a QP in RESET. libmlx5 has zeroed their doorbell records. The caller drops
 * the completions.
 */
static inline void
hwq_qp_empty_rings(struct hwq_qp *qp)
{
	hwq_sq_restart(&qp->sq);
	qp->rq.pi = qp->rq.ci = 0;
	hwq_qp_forget_cancelled(qp);
}

#endif
