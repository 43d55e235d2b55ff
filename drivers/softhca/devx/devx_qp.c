/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs made by a firmware command, in memory that the program registered for them.
 *
 * Offsets in bits, as rdma-core's tests send them (NVIDIA "Ethernet Adapters Programming Manual").
 */
#include <errno.h>

#include "devx.h"
#include "devx_cq.h"
#include "devx_qpc.h"
#include "devx_umem.h"
#include "uverbs_qp.h"

#define CMD_CREATE_QP 0x500

enum {
	IN_QP_OPT_MASK = 0x80,
	IN_QP_UMEM_OFFSET = 0x800,
	IN_QP_UMEM_ID = 0x840,
	IN_QP_UMEM_VALID = 0x860,
	IN_QP_END = 0x880
};

enum {
	ST_RC = 0,
	RQ_REGULAR = 0,
	RQ_ZERO = 3
};

struct object_devx_qp {
	struct object_qp qp;
	struct object_umem *buf, *dbr;
};

static int
check(struct uverbs_call *call, const uint8_t *in, const uint8_t *qpc,
	const struct softhca_qp_init *init)
{
	const struct softhca_config *cfg = call->ctx->dev->cfg;
	uint32_t rq_type = bits_get(qpc, QPC_RQ_TYPE, 3);

	if (bits_get(in, IN_QP_OPT_MASK, 32) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_QP_OPT_MASK);
	if (bits_get(qpc, QPC_ST, 8) != ST_RC)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_ST);
	if (rq_type != RQ_REGULAR && rq_type != RQ_ZERO)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_RQ_TYPE);
	if (init->sq_bb > cfg->max_qp_wr)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_LOG_SQ_SIZE);
	if (init->rq_wqe > cfg->max_qp_wr)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_LOG_RQ_SIZE);
	if (init->log_rq_stride > 9)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_LOG_RQ_STRIDE);
	if (bits_get(in, IN_QP_UMEM_VALID, 1) == 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_QP_UMEM_VALID);
	if (bits_get(qpc, QPC_DBR_UMEM_VALID, 1) == 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_DBR_UMEM_VALID);
	return 0;
}

static int
find_parts(struct softhca_ctx *ctx, const uint8_t *qpc, struct object_qp *qp)
{
	qp->pd = pd_find_number(ctx, bits_get(qpc, QPC_PD, 24));
	qp->send_cq = devx_find_cq(ctx, bits_get(qpc, QPC_CQN_SND, 24));
	qp->recv_cq = devx_find_cq(ctx, bits_get(qpc, QPC_CQN_RCV, 24));
	qp->uar = uar_find_page(ctx, bits_get(qpc, QPC_UAR_PAGE, 24));
	if (qp->pd == NULL)
		return DEVX_REFUSE(DEVX_BAD_RES, QPC_AT + QPC_PD);
	if (qp->send_cq == NULL)
		return DEVX_REFUSE(DEVX_BAD_RES, QPC_AT + QPC_CQN_SND);
	if (qp->recv_cq == NULL)
		return DEVX_REFUSE(DEVX_BAD_RES, QPC_AT + QPC_CQN_RCV);
	if (qp->uar == NULL)
		return DEVX_REFUSE(DEVX_BAD_RES, QPC_AT + QPC_UAR_PAGE);
	return 0;
}

static int
find_memory(struct softhca_ctx *ctx, const uint8_t *in, struct object_devx_qp *qp,
	struct softhca_qp_init *init)
{
	const uint8_t *qpc = in + QPC_AT / 8;
	uint64_t len = (uint64_t)init->sq_bb * 64 + ((uint64_t)init->rq_wqe << init->log_rq_stride);
	void *dbrec;
	int rc;

	rc = umem_find(ctx,
		&(struct umem_range){bits_get(in, IN_QP_UMEM_ID, 32),
			bits_get64(in, IN_QP_UMEM_OFFSET), len, 64, IN_QP_UMEM_ID},
		&qp->buf, &init->buf);
	if (rc == 0)
		rc = umem_find(ctx,
			&(struct umem_range){bits_get(qpc, QPC_DBR_UMEM_ID, 32),
				bits_get64(qpc, QPC_DBR_ADDR), 8, 8, QPC_AT + QPC_DBR_UMEM_ID},
			&qp->dbr, &dbrec);
	if (rc == 0)
		init->dbrec = dbrec;
	return rc;
}

/* Finds the objects and the memory that the command names, and makes the queue pair. */
static int
make(struct softhca_ctx *ctx, const uint8_t *in, struct object_devx_qp *qp,
	struct softhca_qp_init *init)
{
	int rc = find_parts(ctx, in + QPC_AT / 8, &qp->qp);

	if (rc == 0)
		rc = find_memory(ctx, in, qp, init);
	if (rc != 0)
		return rc;
	init->pdn = qp->qp.pd->pdn;
	init->send_cq = qp->qp.send_cq->cq;
	init->recv_cq = qp->qp.recv_cq->cq;
	init->uar = qp->qp.uar->uar;
	init->event = &qp->qp.event;
	return devx_refuse_errno(softhca_qp_create(ctx->dev, init, &qp->qp.qp), QPC_AT);
}

static int
create(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	const uint8_t *qpc = in + QPC_AT / 8;
	bool has_sq = bits_get(qpc, QPC_NO_SQ, 1) == 0;
	bool has_rq = bits_get(qpc, QPC_RQ_TYPE, 3) == RQ_REGULAR;
	struct softhca_qp_init init = {
		.type = SOFTHCA_QP_RC,
		.sq_bb = has_sq ? 1U << bits_get(qpc, QPC_LOG_SQ_SIZE, 4) : 0,
		.rq_wqe = has_rq ? 1U << bits_get(qpc, QPC_LOG_RQ_SIZE, 4) : 0,
		.log_rq_stride = 4 + bits_get(qpc, QPC_LOG_RQ_STRIDE, 3),
		.uidx = bits_get(qpc, QPC_USER_INDEX, 24),
	};
	struct object_devx_qp *qp;
	int rc = check(call, in, qpc, &init);

	if (rc == 0)
		rc = devx_refuse_errno(object_create(call->ctx, &devx_qp_class, &qp), 0);
	if (rc != 0)
		return rc;
	rc = make(call->ctx, in, qp, &init);
	if (rc != 0) {
		object_forget(call->ctx, &qp->qp.obj);
		return rc;
	}
	qp->qp.type = SOFTHCA_QP_RC;
	qp_use_names(&qp->qp);
	object_use(&qp->buf->obj);
	object_use(&qp->dbr->obj);
	bits_set(out, DEVX_NUMBER, 24, softhca_qp_number(qp->qp.qp));
	*obj = &qp->qp.obj;
	return 0;
}

static int
end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	struct object_devx_qp *qp = (struct object_devx_qp *)obj;
	int rc = qp_end(ctx, obj, events);

	if (rc != 0)
		return rc;
	object_unuse(&qp->buf->obj);
	object_unuse(&qp->dbr->obj);
	return 0;
}

static const struct devx_create creates[] = {
	{CMD_CREATE_QP, IN_QP_END / 8, create},
};

const struct object_class devx_qp_class = {
	.name = "DEVX QP",
	.size = sizeof(struct object_devx_qp),
	.limit = qp_limit,
	.end = end,
	.by_devx = true,
	CLASS_CREATES(creates),
};
