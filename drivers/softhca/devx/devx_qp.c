/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs of firmware commands, in memory that the program has registered.
 *
 * Bit offsets as in the commands of rdma-core's tests (NVIDIA "Ethernet Adapters Programming
 * Manual"). The queues' memory is always a umem of the program. mlx5_ib sets the bits for this in
 * the command (devx_set_umem_valid() of the kernel), so this file does not check these bits.
 */
#include <errno.h>

#include "caps.h"
#include "devx.h"
#include "devx_cq.h"
#include "devx_qpc.h"
#include "devx_srq.h"
#include "devx_umem.h"
#include "mapped.h"
#include "uverbs_qp.h"

#define CMD_CREATE_QP 0x500

enum {
	IN_QP_EXT = 0x40, /* 1 bit: the command has the fields IN_QP_EXT_* */
	IN_QP_OPT_MASK = 0x80,
	IN_QP_UMEM_OFFSET = 0x800,
	IN_QP_UMEM_ID = 0x840,
	IN_QP_END = 0x880,
	IN_QP_EXT_MMO = 0x882,
	IN_QP_EXT_END = 0x8a0
};

struct object_devx_qp {
	struct object_qp qp;
	/* umems of the queues and of the doorbell record; NULL if the QP has none */
	struct object_umem *buf, *dbr;
};

/* ---------------------------------------------------------------- the command's fields */

static bool
has_sq(const uint8_t *qpc)
{
	return bits_get(qpc, QPC_NO_SQ, 1) == 0;
}

/*
 * True if the QP has this type of receive queue. A DCI receives no messages, so the receive queue
 * in the command for a DCI is ignored: UCX sets an SRQ or a receive queue there.
 */
static bool
has_rq_type(const uint8_t *qpc, enum devx_rq_type type)
{
	return bits_get(qpc, QPC_ST, 8) != QPC_ST_DCI && bits_get(qpc, QPC_RQ_TYPE, 3) == type;
}

static bool
has_rq(const uint8_t *qpc)
{
	return has_rq_type(qpc, QPC_RQ_REGULAR);
}

static bool
has_srq(const uint8_t *qpc)
{
	return has_rq_type(qpc, QPC_RQ_SRQ);
}

/* Returns the QP type of a service, or 0 if commands cannot create QPs of this service. */
static enum softhca_qp_type
type_of(uint32_t service)
{
	static const enum softhca_qp_type types[] = {[QPC_ST_RC] = SOFTHCA_QP_RC,
		[QPC_ST_UC] = SOFTHCA_QP_UC,
		[QPC_ST_UD] = SOFTHCA_QP_UD,
		[QPC_ST_DCI] = SOFTHCA_QP_DCI};

	return service < ARRAY_SIZE(types) ? types[service] : 0;
}

/*
 * True if the send queue has no doorbell record: only its doorbells announce how many WQEs are
 * posted.
 */
static bool
has_no_record(const uint8_t *qpc)
{
	return has_sq(qpc) && bits_get(qpc, QPC_SEND_DBR_MODE, 2) == QPC_DBR_NONE_EXT;
}

static int
check_streams(const uint8_t *qpc, enum softhca_qp_type type)
{
	uint32_t streams = bits_get(qpc, QPC_LOG_STREAMS, 5);
	uint32_t errored = bits_get(qpc, QPC_LOG_ERRORED, 5);

	if (streams > CAPS_DCI_LOG_MAX || (streams != 0 && type != SOFTHCA_QP_DCI))
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_LOG_STREAMS);
	if (errored > CAPS_DCI_LOG_MAX || (errored != 0 && streams == 0))
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_LOG_ERRORED);
	return 0;
}

static int
check_ext(const struct softhca_dev *dev, const uint8_t *in, size_t len)
{
	if (bits_get(in, IN_QP_EXT, 1) == 0)
		return 0;
	if (len < IN_QP_EXT_END / 8)
		return DEVX_REFUSE(DEVX_BAD_INP_LEN, 0);
	if (bits_get(in, IN_QP_EXT_MMO, 1) != 0 && softhca_max_memcpy(dev) == 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_QP_EXT_MMO);
	return 0;
}

static int
check(struct uverbs_call *call, const uint8_t *in, const struct softhca_qp_init *init)
{
	const struct softhca_config *cfg = call->ctx->dev->cfg;
	const uint8_t *qpc = in + QPC_AT / 8;
	uint32_t rq_type = bits_get(qpc, QPC_RQ_TYPE, 3);

	if (bits_get(in, IN_QP_OPT_MASK, 32) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_QP_OPT_MASK);
	if (init->type == 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_ST);
	if (rq_type != QPC_RQ_REGULAR && rq_type != QPC_RQ_ZERO && rq_type != QPC_RQ_SRQ)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_RQ_TYPE);
	if (init->sq_bb > cfg->max_qp_wr)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_LOG_SQ_SIZE);
	if (init->rq_wqe > cfg->max_qp_wr)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_LOG_RQ_SIZE);
	if (bits_get(qpc, QPC_SEND_DBR_MODE, 2) > QPC_DBR_NONE_EXT)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_SEND_DBR_MODE);
	if (init->log_rq_stride > 9)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_LOG_RQ_STRIDE);
	return check_streams(qpc, init->type);
}

/*
 * ---------------------------------------------------------------- objects that the command names
 */

/*
 * Finds a CQ. If needed is true, the queue exists and must have a CQ. Otherwise the CQ number may
 * be 0.
 */
static int
find_cq(struct softhca_ctx *ctx, const uint8_t *qpc, uint32_t bit, bool needed,
	struct object_cq **cq)
{
	uint32_t number = bits_get(qpc, bit, 24);

	*cq = devx_find_cq(ctx, number);
	if (*cq == NULL && (needed || number != 0))
		return DEVX_REFUSE(DEVX_BAD_RES, QPC_AT + bit);
	return 0;
}

/*
 * Finds the objects to which the context refers. A QP without queue memory and without doorbells is
 * never visited, so it needs no UAR page.
 */
static int
find_parts(struct softhca_ctx *ctx, const uint8_t *qpc, struct object_qp *qp)
{
	bool queues = has_sq(qpc) || has_rq(qpc), srq = has_srq(qpc);
	int rc;

	qp->pd = pd_find_number(ctx, bits_get(qpc, QPC_PD, 24));
	if (qp->pd == NULL)
		return DEVX_REFUSE(DEVX_BAD_RES, QPC_AT + QPC_PD);
	rc = find_cq(ctx, qpc, QPC_CQN_SND, has_sq(qpc), &qp->send_cq);
	if (rc == 0)
		rc = find_cq(ctx, qpc, QPC_CQN_RCV, has_rq(qpc) || srq, &qp->recv_cq);
	if (rc != 0)
		return rc;
	if (srq)
		qp->srq = devx_find_srq(ctx, bits_get(qpc, QPC_SRQN, 24));
	if (srq && qp->srq == NULL)
		return DEVX_REFUSE(DEVX_BAD_RES, QPC_AT + QPC_SRQN);
	qp->uar = uar_find_page(ctx, bits_get(qpc, QPC_UAR_PAGE, 24));
	if (qp->uar == NULL && (queues || bits_get(qpc, QPC_UAR_PAGE, 24) != 0))
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

	if (len == 0)
		return 0;
	rc = umem_find(ctx,
		&(struct umem_range){bits_get(in, IN_QP_UMEM_ID, 32),
			bits_get64(in, IN_QP_UMEM_OFFSET), len, 64, IN_QP_UMEM_ID, false},
		&qp->buf, &init->buf);
	if (rc != 0 || (init->no_send_record && init->rq_wqe == 0))
		return rc; /* no queue of this QP uses a doorbell record */
	rc = umem_find(ctx,
		&(struct umem_range){bits_get(qpc, QPC_DBR_UMEM_ID, 32),
			bits_get64(qpc, QPC_DBR_ADDR), 8, 8, QPC_AT + QPC_DBR_UMEM_ID, false},
		&qp->dbr, &dbrec);
	if (rc != 0)
		return rc;
	init->dbrec = dbrec;
	/* The device only reads this doorbell record, so the program need not make it writable. */
	init->dbrec_is_fixed = !qp->dbr->writable && !memory_is_mapped((uintptr_t)dbrec, 8, true);
	return 0;
}

/* ---------------------------------------------------------------- creation and end */

/*
 * Finds the objects and the memory to which the command refers, and makes the queue pair. If the QP
 * has only one queue, the CQ of that queue is also set for the missing queue, which never completes
 * a WQE.
 */
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
	if (init->sq_bb != 0)
		init->send_cq = qp->qp.send_cq->cq;
	if (qp->qp.srq != NULL)
		init->srq = qp->qp.srq->srq;
	if (init->rq_wqe != 0 || init->srq != NULL)
		init->recv_cq = qp->qp.recv_cq->cq;
	if (init->send_cq == NULL)
		init->send_cq = init->recv_cq;
	if (init->recv_cq == NULL)
		init->recv_cq = init->send_cq;
	if (init->buf != NULL)
		init->uar = qp->qp.uar->uar;
	init->event = &qp->qp.event;
	return devx_refuse_errno(softhca_qp_create(ctx->dev, init, &qp->qp.qp), QPC_AT);
}

static void
keep_sizes(struct object_qp *qp, const struct softhca_qp_init *init)
{
	qp->type = init->type;
	qp->uidx = init->uidx;
	qp->sq_bb = init->sq_bb;
	qp->no_send_record = init->no_send_record;
	qp->rq_wqe = init->rq_wqe;
	qp->log_rq_stride = init->log_rq_stride;
}

static int
create(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	const uint8_t *qpc = in + QPC_AT / 8;
	struct softhca_qp_init init = {
		.type = type_of(bits_get(qpc, QPC_ST, 8)),
		.sq_bb = has_sq(qpc) ? 1U << bits_get(qpc, QPC_LOG_SQ_SIZE, 4) : 0,
		.rq_wqe = has_rq(qpc) ? 1U << bits_get(qpc, QPC_LOG_RQ_SIZE, 4) : 0,
		.log_rq_stride = 4 + bits_get(qpc, QPC_LOG_RQ_STRIDE, 3),
		.uidx = bits_get(qpc, QPC_USER_INDEX, 24),
		.no_send_record = has_no_record(qpc),
		.streams = bits_get(qpc, QPC_LOG_STREAMS, 5) != 0,
		.log_errored = bits_get(qpc, QPC_LOG_ERRORED, 5),
	};
	struct object_devx_qp *qp;
	int rc = check(call, in, &init);

	if (rc == 0)
		rc = check_ext(call->ctx->dev, in, devx_create_len(call));
	if (rc == 0)
		rc = devx_refuse_errno(object_create(call->ctx, &devx_qp_class, &qp), 0);
	if (rc != 0)
		return rc;
	init.mmo = bits_get(in, IN_QP_EXT, 1) != 0 && bits_get(in, IN_QP_EXT_MMO, 1) != 0;
	rc = make(call->ctx, in, qp, &init);
	if (rc != 0) {
		object_forget(call->ctx, &qp->qp.obj);
		return rc;
	}
	keep_sizes(&qp->qp, &init);
	qp_use_names(&qp->qp);
	if (qp->buf != NULL)
		object_use(&qp->buf->obj);
	if (qp->dbr != NULL)
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
	if (qp->buf != NULL)
		object_unuse(&qp->buf->obj);
	if (qp->dbr != NULL)
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
