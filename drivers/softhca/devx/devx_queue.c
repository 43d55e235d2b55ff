/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues and queue pairs that the program lays out itself: by firmware commands, in
 * memory that it registered for them.
 *
 * Offsets in bits, as rdma-core's tests send them (NVIDIA "Ethernet Adapters Programming Manual").
 */
#include <errno.h>

#include "caps.h"
#include "devx.h"
#include "devx_qp.h"
#include "uverbs.h"

enum {
	CMD_CREATE_CQ = 0x400,
	CMD_QUERY_CQ = 0x402,
	CMD_CREATE_QP = 0x500
};

/* A completion queue's context, where all commands have it. */
enum {
	CQC_AT = 0x80,
	CQC_LEN = 0x200,
	CQC_DBR_UMEM_VALID = 0x06,
	CQC_CQE_SZ = 0x08,      /* 3 bits: 0 is 64 bytes, 1 is 128, 2 is 128 written whole */
	CQC_CC = 0x0b,          /* collapsed: one entry, written again and again */
	CQC_OI = 0x0e,          /* ignore overrun */
	CQC_COMPRESSION = 0x11, /* 1 bit */
	CQC_DBR_UMEM_ID = 0x20, /* 32 bits */
	CQC_LOG_SIZE = 0x63,    /* 5 bits */
	CQC_UAR_PAGE = 0x68,    /* 24 bits */
	CQC_PERIOD = 0x84,      /* 12 bits: us, of moderation */
	CQC_MAX_COUNT = 0x90,   /* 16 bits */
	CQC_EQN = 0xb8,         /* 8 bits */
	CQC_CONSUMER = 0x148,   /* 24 bits */
	CQC_PRODUCER = 0x168,   /* 24 bits */
	CQC_DBR_ADDR = 0x1c0,   /* 64 bits: with a umem, the offset in it */
	IN_CQ_UMEM_OFFSET = 0x280,
	IN_CQ_UMEM_ID = 0x2c0,
	IN_CQ_UMEM_VALID = 0x2e0,
	IN_CQ_END = 0x880
};

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

/* A piece of user memory that the device will write: its place in the process. */
static int
find_memory(struct softhca_ctx *ctx, uint32_t id, uint64_t offset, uint64_t len, uint32_t align,
	uint32_t bit, struct object_umem **umem, void **at)
{
	*umem = object_find(ctx, OBJ_UMEM, id);
	if (*umem == NULL || !(*umem)->writable)
		return DEVX_REFUSE(DEVX_BAD_RES, bit);
	if (offset > (*umem)->len || len > (*umem)->len - offset ||
		((*umem)->addr + offset) % align != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, bit);
	*at = (void *)(uintptr_t)((*umem)->addr + offset);
	return 0;
}

/* ---------------------------------------------------------------- completion queues */

static int
check_cq(struct uverbs_call *call, const uint8_t *in, const uint8_t *cqc)
{
	uint32_t eqn = devx_get(cqc, CQC_EQN, 8);
	uint32_t entries = 1U << devx_get(cqc, CQC_LOG_SIZE, 5);

	if (devx_get(cqc, CQC_CC, 1) != 0 || devx_get(cqc, CQC_COMPRESSION, 1) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, CQC_AT + CQC_CC);
	if (devx_get(cqc, CQC_CQE_SZ, 3) > 2)
		return DEVX_REFUSE(DEVX_BAD_PARAM, CQC_AT + CQC_CQE_SZ);
	if (entries - 1 > call->ctx->dev->cfg->max_cqe)
		return DEVX_REFUSE(DEVX_BAD_PARAM, CQC_AT + CQC_LOG_SIZE);
	if (eqn == 0 || eqn > CAPS_COMP_VECTORS)
		return DEVX_REFUSE(DEVX_BAD_RES, CQC_AT + CQC_EQN);
	/* Memory by physical address is not for programs. */
	if (devx_get(in, IN_CQ_UMEM_VALID, 1) == 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_CQ_UMEM_VALID);
	if (devx_get(cqc, CQC_DBR_UMEM_VALID, 1) == 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, CQC_AT + CQC_DBR_UMEM_VALID);
	return 0;
}

static int
create_cq(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct softhca_ctx *ctx = call->ctx;
	const uint8_t *cqc = in + CQC_AT / 8;
	struct object_uar *uar = ctx_find_uar(ctx, devx_get(cqc, CQC_UAR_PAGE, 24));
	struct softhca_cq_attr attr = {.n_cqe = 1U << devx_get(cqc, CQC_LOG_SIZE, 5),
		.cqe_len = devx_get(cqc, CQC_CQE_SZ, 3) == 0 ? 64 : 128,
		.pad = devx_get(cqc, CQC_CQE_SZ, 3) == 2,
		.ignore_overrun = devx_get(cqc, CQC_OI, 1) != 0};
	struct object_umem *buf, *dbr;
	struct object_devx_cq *cq;
	void *dbrec;
	int rc = check_cq(call, in, cqc);

	if (rc == 0 && uar == NULL)
		rc = DEVX_REFUSE(DEVX_BAD_RES, CQC_AT + CQC_UAR_PAGE);
	if (rc == 0)
		rc = find_memory(ctx, devx_get(in, IN_CQ_UMEM_ID, 32),
			devx_get64(in, IN_CQ_UMEM_OFFSET), (uint64_t)attr.n_cqe * attr.cqe_len, 64,
			IN_CQ_UMEM_ID, &buf, &attr.buf);
	if (rc == 0)
		rc = find_memory(ctx, devx_get(cqc, CQC_DBR_UMEM_ID, 32),
			devx_get64(cqc, CQC_DBR_ADDR), 8, 8, CQC_AT + CQC_DBR_UMEM_ID, &dbr,
			&dbrec);
	if (rc == 0)
		rc = devx_refuse_errno(object_create(ctx, OBJ_DEVX_CQ, sizeof(*cq), &cq), 0);
	if (rc != 0)
		return rc;
	attr.dbrec = dbrec;
	attr.uar = uar->uar;
	attr.event = &cq->cq.event;
	rc = devx_refuse_errno(softhca_cq_create(ctx->dev, &attr, &cq->cq.cq), CQC_AT);
	if (rc != 0) {
		object_forget(ctx, &cq->cq.obj);
		return rc;
	}
	cq->cq.uar = uar;
	cq->buf = buf;
	cq->dbr = dbr;
	object_use(&uar->obj);
	object_use(&buf->obj);
	object_use(&dbr->obj);
	devx_set(out, DEVX_NUMBER, 24, softhca_cq_number(cq->cq.cq));
	*obj = &cq->cq.obj;
	return 0;
}

static int
query_cq(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	struct object_cq *cq = (struct object_cq *)obj;
	uint8_t *cqc = out + CQC_AT / 8;
	struct softhca_cq_attr attr;
	uint32_t pi, ci;

	(void)call;
	if (devx_get(in, DEVX_NUMBER, 24) != softhca_cq_number(cq->cq))
		return -EINVAL;
	softhca_cq_query(cq->cq, &attr, &pi, &ci);
	devx_set(cqc, CQC_CQE_SZ, 3, attr.cqe_len == 64 ? 0 : 1 + attr.pad);
	devx_set(cqc, CQC_OI, 1, attr.ignore_overrun);
	devx_set(cqc, CQC_LOG_SIZE, 5, (uint32_t)__builtin_ctz(attr.n_cqe));
	devx_set(cqc, CQC_UAR_PAGE, 24, cq->uar->page_id);
	devx_set(cqc, CQC_PERIOD, 12, attr.event_period_us);
	devx_set(cqc, CQC_MAX_COUNT, 16, attr.event_count);
	devx_set(cqc, CQC_CONSUMER, 24, ci);
	devx_set(cqc, CQC_PRODUCER, 24, pi);
	return 0;
}

/* ---------------------------------------------------------------- queue pairs */

static struct object_pd *
find_pd(struct softhca_ctx *ctx, uint32_t pdn)
{
	for (uint32_t i = 1; i < ctx->n_objects; i++) {
		struct object_pd *pd = object_find(ctx, OBJ_PD, i);

		if (pd != NULL && pd->pdn == pdn)
			return pd;
	}
	return NULL;
}

/* By its number: one of the verbs, or one that a command made. */
static struct object_cq *
find_cq(struct softhca_ctx *ctx, uint32_t number)
{
	for (uint32_t i = 1; i < ctx->n_objects; i++) {
		struct object *obj = object_find(ctx, OBJ_ANY, i);

		if (obj != NULL && (obj->type == OBJ_CQ || obj->type == OBJ_DEVX_CQ) &&
			softhca_cq_number(((struct object_cq *)obj)->cq) == number)
			return (struct object_cq *)obj;
	}
	return NULL;
}

static int
check_qp(struct uverbs_call *call, const uint8_t *in, const uint8_t *qpc,
	const struct softhca_qp_init *init)
{
	const struct softhca_config *cfg = call->ctx->dev->cfg;
	uint32_t rq_type = devx_get(qpc, QPC_RQ_TYPE, 3);

	if (devx_get(in, IN_QP_OPT_MASK, 32) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_QP_OPT_MASK);
	if (devx_get(qpc, QPC_ST, 8) != ST_RC)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_ST);
	if (rq_type != RQ_REGULAR && rq_type != RQ_ZERO)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_RQ_TYPE);
	if (init->sq_bb > cfg->max_qp_wr)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_LOG_SQ_SIZE);
	if (init->rq_wqe > cfg->max_qp_wr || init->log_rq_stride > 9)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_LOG_RQ_SIZE);
	if (devx_get(in, IN_QP_UMEM_VALID, 1) == 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_QP_UMEM_VALID);
	if (devx_get(qpc, QPC_DBR_UMEM_VALID, 1) == 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_DBR_UMEM_VALID);
	return 0;
}

static int
find_qp_parts(struct softhca_ctx *ctx, const uint8_t *qpc, struct object_qp *qp)
{
	qp->pd = find_pd(ctx, devx_get(qpc, QPC_PD, 24));
	qp->send_cq = find_cq(ctx, devx_get(qpc, QPC_CQN_SND, 24));
	qp->recv_cq = find_cq(ctx, devx_get(qpc, QPC_CQN_RCV, 24));
	qp->uar = ctx_find_uar(ctx, devx_get(qpc, QPC_UAR_PAGE, 24));
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
find_qp_memory(struct softhca_ctx *ctx, const uint8_t *in, struct object_devx_qp *qp,
	struct softhca_qp_init *init)
{
	const uint8_t *qpc = in + QPC_AT / 8;
	uint64_t len = (uint64_t)init->sq_bb * 64 + ((uint64_t)init->rq_wqe << init->log_rq_stride);
	void *dbrec;
	int rc;

	rc = find_memory(ctx, devx_get(in, IN_QP_UMEM_ID, 32), devx_get64(in, IN_QP_UMEM_OFFSET),
		len, 64, IN_QP_UMEM_ID, &qp->buf, &init->buf);
	if (rc == 0)
		rc = find_memory(ctx, devx_get(qpc, QPC_DBR_UMEM_ID, 32),
			devx_get64(qpc, QPC_DBR_ADDR), 8, 8, QPC_AT + QPC_DBR_UMEM_ID, &qp->dbr,
			&dbrec);
	if (rc == 0)
		init->dbrec = dbrec;
	return rc;
}

/* The half-made object has been found everything but the queue pair itself. */
static int
make_qp(struct softhca_ctx *ctx, const uint8_t *in, struct object_devx_qp *qp,
	struct softhca_qp_init *init)
{
	int rc = find_qp_parts(ctx, in + QPC_AT / 8, &qp->qp);

	if (rc == 0)
		rc = find_qp_memory(ctx, in, qp, init);
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
create_qp(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	const uint8_t *qpc = in + QPC_AT / 8;
	bool has_sq = devx_get(qpc, QPC_NO_SQ, 1) == 0;
	bool has_rq = devx_get(qpc, QPC_RQ_TYPE, 3) == RQ_REGULAR;
	struct softhca_qp_init init = {
		.type = SOFTHCA_QP_RC,
		.sq_bb = has_sq ? 1U << devx_get(qpc, QPC_LOG_SQ_SIZE, 4) : 0,
		.rq_wqe = has_rq ? 1U << devx_get(qpc, QPC_LOG_RQ_SIZE, 4) : 0,
		.log_rq_stride = 4 + devx_get(qpc, QPC_LOG_RQ_STRIDE, 3),
		.uidx = devx_get(qpc, QPC_USER_INDEX, 24),
	};
	struct object_devx_qp *qp;
	int rc = check_qp(call, in, qpc, &init);

	if (rc == 0)
		rc = devx_refuse_errno(object_create(call->ctx, OBJ_DEVX_QP, sizeof(*qp), &qp), 0);
	if (rc != 0)
		return rc;
	rc = make_qp(call->ctx, in, qp, &init);
	if (rc != 0) {
		object_forget(call->ctx, &qp->qp.obj);
		return rc;
	}
	qp->qp.type = SOFTHCA_QP_RC;
	object_use(&qp->qp.pd->obj);
	object_use(&qp->qp.send_cq->obj);
	object_use(&qp->qp.recv_cq->obj);
	object_use(&qp->qp.uar->obj);
	object_use(&qp->buf->obj);
	object_use(&qp->dbr->obj);
	devx_set(out, DEVX_NUMBER, 24, softhca_qp_number(qp->qp.qp));
	*obj = &qp->qp.obj;
	return 0;
}

const struct devx_create devx_queue_creates[] = {
	{CMD_CREATE_CQ, IN_CQ_END / 8, create_cq},
	{CMD_CREATE_QP, IN_QP_END / 8, create_qp},
	{.opcode = 0},
};
const struct devx_command devx_queue_modifies[] = {
	{.opcode = 0},
};
const struct devx_command devx_queue_queries[] = {
	{OBJ_DEVX_CQ, CMD_QUERY_CQ, DEVX_HEADER, (CQC_AT + CQC_LEN) / 8, query_cq},
	{OBJ_CQ, CMD_QUERY_CQ, DEVX_HEADER, (CQC_AT + CQC_LEN) / 8, query_cq},
	{.opcode = 0},
};
