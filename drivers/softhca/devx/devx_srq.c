/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues of firmware commands: RMPs, and XRQs without tag matching. An XRQ may have
 * a CQ of its own.
 *
 * Bit offsets as UCX and DPDK send them (mlx5_ifc.h: rmpc, xrqc, wq). Memory is always a umem of
 * the program: devx_qp.c.
 */
#include "devx_srq.h"

#include <errno.h>

#include "devx.h"
#include "devx_cq.h"
#include "devx_umem.h"

enum {
	CMD_CREATE_XRQ = 0x717,
	CMD_QUERY_XRQ = 0x719,
	CMD_ARM_XRQ = 0x71a,
	CMD_CREATE_RMP = 0x90c,
	CMD_MODIFY_RMP = 0x90d,
	CMD_QUERY_RMP = 0x90f
};

/* The context of an RMP: bit offsets. */
enum {
	RMP_IN_AT = 0x100,
	RMP_STATE = 0x08, /* 4 bits; 1 is ready */
	/* 1 bit: WQEs begin with their data segments, without a segment before them */
	RMP_BARE = 0x20,
	RMP_WQ = 0x180,
	RMP_LEN = 0x780,
	RMP_MODIFY_MASK = 0x80, /* 64 bits; bit 0: the limit */
	RMP_READY = 1
};

/* The context of an XRQ: bit offsets. */
enum {
	XRQ_AT = 0x80,
	XRQ_STATE = 0x00,      /* 4 bits */
	XRQ_TOPOLOGY = 0x14,   /* 4 bits; 0: without tags */
	XRQ_OFFLOAD = 0x1c,    /* 4 bits */
	XRQ_USER_INDEX = 0x28, /* 24 bits */
	XRQ_CQN = 0x48,        /* 24 bits; 0: receives use the CQ of the QP */
	XRQ_WQ = 0x400,
	XRQ_LEN = 0xa00,
	ARM_LIMIT = 0x70, /* 16 bits */
	XRQ_GOOD = 0
};

/* The context of a work queue: bit offsets. */
enum {
	WQ_TYPE = 0x00,        /* 4 bits */
	WQ_LIMIT = 0x30,       /* 16 bits */
	WQ_PD = 0x48,          /* 24 bits */
	WQ_DBR_ADDR = 0x80,    /* 64 bits */
	WQ_LOG_STRIDE = 0x10c, /* 4 bits: log2 of bytes */
	WQ_LOG_SIZE = 0x11b,   /* 5 bits */
	WQ_DBR_UMEM_ID = 0x140,
	WQ_UMEM_ID = 0x160,
	WQ_UMEM_OFFSET = 0x180,
	WQ_LIST = 0,
	WQ_CYCLIC = 1
};

#define MAX_LOG_STRIDE 9 /* 512 bytes, the value of the capability max_rq_desc_sz */

struct object_devx_srq {
	struct object_srq srq;
	struct object_umem *buf, *dbr;
	struct softhca_srq_attr attr; /* attributes at creation */
	bool xrq;
};

struct object_srq *
devx_find_srq(struct softhca_ctx *ctx, uint32_t number)
{
	for (uint32_t i = 1; i < ctx->n_objects; i++) {
		struct object *obj = object_find(ctx, NULL, i);
		struct object_srq *srq = (struct object_srq *)obj;

		if (obj != NULL && (obj->cls == &srq_class || obj->cls == &devx_srq_class) &&
			srq->xrcd == NULL && softhca_srq_number(srq->srq) == number)
			return srq;
	}
	return NULL;
}

/* ---------------------------------------------------------------- creation */

/* Checks the context of the work queue. at: the bit offset of this context in the command. */
static int
check_wq(const struct softhca_config *cfg, const uint8_t *in, uint32_t at,
	const struct softhca_srq_attr *attr)
{
	const uint8_t *wq = in + at / 8;

	if (bits_get(wq, WQ_TYPE, 4) > WQ_CYCLIC || (attr->bare && !attr->cyclic))
		return DEVX_REFUSE(DEVX_BAD_PARAM, at + WQ_TYPE);
	if (attr->log_stride < (attr->bare ? 4 : 5) || attr->log_stride > MAX_LOG_STRIDE)
		return DEVX_REFUSE(DEVX_BAD_PARAM, at + WQ_LOG_STRIDE);
	if (attr->n_wqe > cfg->max_qp_wr || attr->n_wqe > 32768)
		return DEVX_REFUSE(DEVX_BAD_PARAM, at + WQ_LOG_SIZE);
	if (bits_get(wq, WQ_LIMIT, 16) >= attr->n_wqe)
		return DEVX_REFUSE(DEVX_BAD_PARAM, at + WQ_LIMIT);
	return 0;
}

static int
find_memory(struct softhca_ctx *ctx, const uint8_t *in, uint32_t at, struct object_devx_srq *srq)
{
	const uint8_t *wq = in + at / 8;
	void *dbrec;
	int rc = umem_find(ctx,
		&(struct umem_range){bits_get(wq, WQ_UMEM_ID, 32), bits_get64(wq, WQ_UMEM_OFFSET),
			(uint64_t)srq->attr.n_wqe << srq->attr.log_stride, 64, at + WQ_UMEM_ID,
			false},
		&srq->buf, &srq->attr.buf);

	if (rc == 0)
		rc = umem_find(ctx,
			&(struct umem_range){bits_get(wq, WQ_DBR_UMEM_ID, 32),
				bits_get64(wq, WQ_DBR_ADDR), 4, 8, at + WQ_DBR_UMEM_ID, false},
			&srq->dbr, &dbrec);
	if (rc == 0)
		srq->attr.dbrec = dbrec;
	return rc;
}

/*
 * Makes the queue. at: the bit offset of the work queue's context. The caller has set the fields of
 * srq->attr that this context does not have.
 */
static int
make(struct uverbs_call *call, const uint8_t *in, uint32_t at, struct object_devx_srq *srq)
{
	const uint8_t *wq = in + at / 8;
	int rc;

	srq->attr.n_wqe = 1U << bits_get(wq, WQ_LOG_SIZE, 5);
	srq->attr.log_stride = bits_get(wq, WQ_LOG_STRIDE, 4);
	srq->attr.cyclic = bits_get(wq, WQ_TYPE, 4) == WQ_CYCLIC;
	srq->attr.event = &srq->srq.event;
	rc = check_wq(call->ctx->dev->cfg, in, at, &srq->attr);
	srq->srq.pd = pd_find_number(call->ctx, bits_get(wq, WQ_PD, 24));
	if (rc == 0 && srq->srq.pd == NULL)
		rc = DEVX_REFUSE(DEVX_BAD_RES, at + WQ_PD);
	if (rc == 0)
		rc = find_memory(call->ctx, in, at, srq);
	if (rc != 0)
		return rc;
	srq->attr.pdn = srq->srq.pd->pdn;
	rc = devx_refuse_errno(softhca_srq_create(call->ctx->dev, &srq->attr, &srq->srq.srq), at);
	if (rc == 0 && bits_get(wq, WQ_LIMIT, 16) != 0)
		(void)softhca_srq_arm(srq->srq.srq, bits_get(wq, WQ_LIMIT, 16));
	return rc;
}

static int
create(struct uverbs_call *call, const uint8_t *in, uint32_t at, struct object_devx_srq *srq,
	uint8_t *out, struct object **obj)
{
	int rc = make(call, in, at, srq);

	if (rc != 0) {
		object_forget(call->ctx, &srq->srq.obj);
		return rc;
	}
	object_use(&srq->srq.pd->obj);
	object_use(&srq->buf->obj);
	object_use(&srq->dbr->obj);
	if (srq->srq.cq != NULL)
		object_use(&srq->srq.cq->obj);
	bits_set(out, DEVX_NUMBER, 24, softhca_srq_number(srq->srq.srq));
	*obj = &srq->srq.obj;
	return 0;
}

static int
create_rmp(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	const uint8_t *rmpc = in + RMP_IN_AT / 8;
	struct object_devx_srq *srq;
	int rc = 0;

	if (bits_get(rmpc, RMP_STATE, 4) != RMP_READY)
		rc = DEVX_REFUSE(DEVX_BAD_PARAM, RMP_IN_AT + RMP_STATE);
	if (rc == 0)
		rc = devx_refuse_errno(object_create(call->ctx, &devx_srq_class, &srq), 0);
	if (rc != 0)
		return rc;
	srq->attr.bare = bits_get(rmpc, RMP_BARE, 1) != 0;
	return create(call, in, RMP_IN_AT + RMP_WQ, srq, out, obj);
}

static int
check_xrq(struct softhca_ctx *ctx, const uint8_t *xrqc)
{
	uint32_t cqn = bits_get(xrqc, XRQ_CQN, 24);

	if (bits_get(xrqc, XRQ_TOPOLOGY, 4) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, XRQ_AT + XRQ_TOPOLOGY);
	if (bits_get(xrqc, XRQ_OFFLOAD, 4) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, XRQ_AT + XRQ_OFFLOAD);
	if (cqn != 0 && devx_find_cq(ctx, cqn) == NULL)
		return DEVX_REFUSE(DEVX_BAD_RES, XRQ_AT + XRQ_CQN);
	return 0;
}

static int
create_xrq(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	const uint8_t *xrqc = in + XRQ_AT / 8;
	struct object_devx_srq *srq;
	int rc = check_xrq(call->ctx, xrqc);

	if (rc == 0)
		rc = devx_refuse_errno(object_create(call->ctx, &devx_srq_class, &srq), 0);
	if (rc != 0)
		return rc;
	srq->xrq = true;
	srq->srq.cq = devx_find_cq(call->ctx, bits_get(xrqc, XRQ_CQN, 24));
	srq->attr.cq = srq->srq.cq != NULL ? srq->srq.cq->cq : NULL;
	srq->attr.uidx = bits_get(xrqc, XRQ_USER_INDEX, 24);
	return create(call, in, XRQ_AT + XRQ_WQ, srq, out, obj);
}

static int
end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	struct object_devx_srq *srq = (struct object_devx_srq *)obj;
	int rc = softhca_srq_destroy(srq->srq.srq);

	(void)ctx;
	if (rc != 0)
		return rc;
	event_source_fini(&srq->srq.event, &events->comp_read, &events->async_read);
	object_unuse(&srq->srq.pd->obj);
	object_unuse(&srq->buf->obj);
	object_unuse(&srq->dbr->obj);
	if (srq->srq.cq != NULL)
		object_unuse(&srq->srq.cq->obj);
	return 0;
}

/* ---------------------------------------------------------------- limit and query */

/* Checks that the command has the object's number and kind. */
static int
check_number(const struct object_devx_srq *srq, const uint8_t *in, bool xrq)
{
	return srq->xrq == xrq && bits_get(in, DEVX_NUMBER, 24) == softhca_srq_number(srq->srq.srq)
		       ? 0
		       : -EINVAL;
}

static int
arm(const struct object_devx_srq *srq, uint32_t limit, uint32_t bit)
{
	return devx_refuse_errno(softhca_srq_arm(srq->srq.srq, limit), bit);
}

static int
modify_rmp(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	const struct object_devx_srq *srq = (struct object_devx_srq *)obj;
	int rc = check_number(srq, in, false);

	(void)call;
	(void)out;
	if (rc == 0 && bits_get64(in, RMP_MODIFY_MASK) != 1)
		rc = DEVX_REFUSE(DEVX_BAD_PARAM, RMP_MODIFY_MASK);
	if (rc == 0)
		rc = arm(srq, bits_get(in, RMP_IN_AT + RMP_WQ + WQ_LIMIT, 16),
			RMP_IN_AT + RMP_WQ + WQ_LIMIT);
	return rc;
}

static int
arm_xrq(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	const struct object_devx_srq *srq = (struct object_devx_srq *)obj;
	int rc = check_number(srq, in, true);

	(void)call;
	(void)out;
	return rc != 0 ? rc : arm(srq, bits_get(in, ARM_LIMIT, 16), ARM_LIMIT);
}

static void
write_wq(uint8_t *wq, const struct object_devx_srq *srq)
{
	bits_set(wq, WQ_TYPE, 4, srq->attr.cyclic ? WQ_CYCLIC : WQ_LIST);
	bits_set(wq, WQ_LIMIT, 16, softhca_srq_limit(srq->srq.srq));
	bits_set(wq, WQ_PD, 24, srq->srq.pd->pdn);
	bits_set(wq, WQ_LOG_STRIDE, 4, srq->attr.log_stride);
	bits_set(wq, WQ_LOG_SIZE, 5, (uint32_t)__builtin_ctz(srq->attr.n_wqe));
}

static int
query_rmp(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	const struct object_devx_srq *srq = (struct object_devx_srq *)obj;
	uint8_t *rmpc = out + RMP_IN_AT / 8;
	int rc = check_number(srq, in, false);

	(void)call;
	if (rc != 0)
		return rc;
	bits_set(rmpc, RMP_STATE, 4, RMP_READY);
	bits_set(rmpc, RMP_BARE, 1, srq->attr.bare);
	write_wq(rmpc + RMP_WQ / 8, srq);
	return 0;
}

static int
query_xrq(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	const struct object_devx_srq *srq = (struct object_devx_srq *)obj;
	uint8_t *xrqc = out + XRQ_AT / 8;
	int rc = check_number(srq, in, true);

	(void)call;
	if (rc != 0)
		return rc;
	bits_set(xrqc, XRQ_STATE, 4, XRQ_GOOD);
	bits_set(xrqc, XRQ_USER_INDEX, 24, srq->attr.uidx);
	bits_set(xrqc, XRQ_CQN, 24, srq->srq.cq != NULL ? softhca_cq_number(srq->srq.cq->cq) : 0);
	write_wq(xrqc + XRQ_WQ / 8, srq);
	return 0;
}

static uint32_t
limit(const struct softhca_config *cfg)
{
	return cfg->max_srq;
}

static const struct devx_create creates[] = {
	{CMD_CREATE_RMP, (RMP_IN_AT + RMP_LEN) / 8, create_rmp},
	{CMD_CREATE_XRQ, (XRQ_AT + XRQ_LEN) / 8, create_xrq},
};
static const struct devx_command commands[] = {
	{DEVX_MODIFIES, &devx_srq_class, CMD_MODIFY_RMP, (RMP_IN_AT + RMP_LEN) / 8, DEVX_HEADER,
		modify_rmp},
	{DEVX_MODIFIES, &devx_srq_class, CMD_ARM_XRQ, DEVX_HEADER, DEVX_HEADER, arm_xrq},
	{DEVX_QUERIES, &devx_srq_class, CMD_QUERY_RMP, DEVX_HEADER, (RMP_IN_AT + RMP_LEN) / 8,
		query_rmp},
	{DEVX_QUERIES, &devx_srq_class, CMD_QUERY_XRQ, DEVX_HEADER, (XRQ_AT + XRQ_LEN) / 8,
		query_xrq},
};

const struct object_class devx_srq_class = {
	.name = "DEVX SRQ",
	.size = sizeof(struct object_devx_srq),
	.limit = limit,
	.end = end,
	.by_devx = true,
	CLASS_CREATES(creates),
	CLASS_COMMANDS(commands),
};
