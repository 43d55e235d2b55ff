/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs. */
#ifndef SOFTHCA_UVERBS_QP_H
#define SOFTHCA_UVERBS_QP_H

#include "event.h"
#include "hca.h"
#include "lag.h"
#include "object.h"
#include "uverbs_cq.h"
#include "uverbs_pd.h"
#include "uverbs_uar.h"

struct object_srq;
struct object_xrcd;

struct object_qp {
	struct object obj;
	struct softhca_qp *qp;
	enum softhca_qp_type type;
	/* Objects of the QP. A member is NULL if the QP's type has no such object. */
	struct object_pd *pd;
	struct object_cq *send_cq, *recv_cq;
	struct object_srq *srq;
	struct object_xrcd *xrcd;
	struct object_uar *uar;
	struct event_source event;
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline;
	bool sig_all;
	/*
	 * The rights that the program requested. uverbs_qp_modify.c decides which of them are
	 * granted.
	 */
	uint32_t access;
	uint8_t max_dest_rd_atomic;
	uint32_t uidx, sq_bb, rq_wqe, log_rq_stride; /* as struct softhca_qp_init */
	bool no_send_record;                         /* as struct softhca_qp_init */
	struct tis tis; /* own TIS of a raw QP; another QP has only lag_port, in its context */
};

/*
 * Returns the number of a raw QP's TIS, or 0 if the QP has no send queue. The number is the QP's
 * handle, because the numbers of TISes of firmware commands are handles, too.
 */
static inline uint32_t
qp_tis_number(const struct object_qp *qp)
{
	return qp->type == SOFTHCA_QP_RAW && qp->sq_bb != 0 ? qp->obj.handle : 0;
}

/* Calls object_use() for all objects to which a QP refers. qp_end() undoes this. */
void qp_use_names(struct object_qp *qp);
/*
 * Each object_class whose objects begin with a struct object_qp has these two functions as `end`
 * and `limit`.
 */
int qp_end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events);
uint32_t qp_limit(const struct softhca_config *cfg);

#endif
