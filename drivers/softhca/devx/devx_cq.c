/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues of firmware commands, in memory that the program has registered.
 *
 * Bit offsets as in the commands of rdma-core's tests (NVIDIA "Ethernet Adapters Programming
 * Manual"). The queue's memory is always a umem of the program. mlx5_ib sets the bits for this in
 * each command (devx_set_umem_valid() of the kernel), so this file does not check these bits.
 */
#include "devx_cq.h"

#include <errno.h>

#include "caps.h"
#include "devx.h"
#include "devx_umem.h"
#include "mapped.h"

#define CMD_CREATE_CQ 0x400
#define CMD_QUERY_CQ  0x402

/*
 * A completion queue's context is at offset CQC_AT in every command. The names below are offsets in
 * the context.
 */
enum {
	CQC_AT = 0x80,
	CQC_LEN = 0x200,
	CQC_CQE_SZ = 0x08,      /* 3 bits: 0 is 64 bytes, 1 is 128, 2 is 128 with padding */
	CQC_CC = 0x0b,          /* 1 bit: the CQ has only one entry (collapsed) */
	CQC_OI = 0x0e,          /* 1 bit: ignore overrun */
	CQC_COMPRESSION = 0x11, /* 1 bit */
	CQC_MINI_FORMAT = 0x12, /* 2 bits: 0 hash, 1 checksum, 3 checksum and stride index */
	CQC_ZIP_LAYOUT = 0x1e,  /* 2 bits: 0 is the layout that queue/cq_zip.c writes */
	CQC_DBR_UMEM_ID = 0x20, /* 32 bits */
	CQC_LOG_SIZE = 0x63,    /* 5 bits */
	CQC_UAR_PAGE = 0x68,    /* 24 bits */
	CQC_PERIOD = 0x84,      /* 12 bits: period of moderation in us */
	CQC_MAX_COUNT = 0x90,   /* 16 bits: count of moderation */
	CQC_EQN = 0xb8,         /* 8 bits */
	CQC_CONSUMER = 0x148,   /* 24 bits */
	CQC_PRODUCER = 0x168,   /* 24 bits */
	CQC_DBR_ADDR = 0x1c0,   /* 64 bits; with a umem: offset in the umem */
	IN_CQ_UMEM_OFFSET = 0x280,
	IN_CQ_UMEM_ID = 0x2c0,
	IN_CQ_END = 0x880
};

struct object_devx_cq {
	struct object_cq cq;
	struct object_umem *buf, *dbr;
};

struct object_cq *
devx_find_cq(struct softhca_ctx *ctx, uint32_t number)
{
	for (uint32_t i = 1; i < ctx->n_objects; i++) {
		struct object *obj = object_find(ctx, NULL, i);

		if (obj != NULL && (obj->cls == &cq_class || obj->cls == &devx_cq_class) &&
			softhca_cq_number(((struct object_cq *)obj)->cq) == number)
			return (struct object_cq *)obj;
	}
	return NULL;
}

static int
check(struct uverbs_call *call, const uint8_t *cqc)
{
	uint32_t eqn = bits_get(cqc, CQC_EQN, 8);
	uint32_t entries = 1U << bits_get(cqc, CQC_LOG_SIZE, 5);

	if (bits_get(cqc, CQC_CC, 1) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, CQC_AT + CQC_CC);
	if (bits_get(cqc, CQC_MINI_FORMAT, 2) == 2)
		return DEVX_REFUSE(DEVX_BAD_PARAM, CQC_AT + CQC_MINI_FORMAT);
	if (bits_get(cqc, CQC_ZIP_LAYOUT, 2) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, CQC_AT + CQC_ZIP_LAYOUT);
	if (bits_get(cqc, CQC_CQE_SZ, 3) > 2)
		return DEVX_REFUSE(DEVX_BAD_PARAM, CQC_AT + CQC_CQE_SZ);
	if (entries - 1 > call->ctx->dev->cfg->max_cqe)
		return DEVX_REFUSE(DEVX_BAD_PARAM, CQC_AT + CQC_LOG_SIZE);
	if (eqn == 0 || eqn > CAPS_COMP_VECTORS)
		return DEVX_REFUSE(DEVX_BAD_RES, CQC_AT + CQC_EQN);
	return 0;
}

static int
create(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct softhca_ctx *ctx = call->ctx;
	const uint8_t *cqc = in + CQC_AT / 8;
	struct object_uar *uar = uar_find_page(ctx, bits_get(cqc, CQC_UAR_PAGE, 24));
	struct softhca_cq_attr attr = {.n_cqe = 1U << bits_get(cqc, CQC_LOG_SIZE, 5),
		.cqe_len = bits_get(cqc, CQC_CQE_SZ, 3) == 0 ? 64 : 128,
		.pad = bits_get(cqc, CQC_CQE_SZ, 3) == 2,
		.ignore_overrun = bits_get(cqc, CQC_OI, 1) != 0,
		.compress = bits_get(cqc, CQC_COMPRESSION, 1) != 0};
	struct object_umem *buf, *dbr;
	struct object_devx_cq *cq;
	void *dbrec;
	int rc = check(call, cqc);

	if (rc == 0 && uar == NULL)
		rc = DEVX_REFUSE(DEVX_BAD_RES, CQC_AT + CQC_UAR_PAGE);
	if (rc == 0)
		rc = umem_find(ctx,
			&(struct umem_range){bits_get(in, IN_CQ_UMEM_ID, 32),
				bits_get64(in, IN_CQ_UMEM_OFFSET),
				(uint64_t)attr.n_cqe * attr.cqe_len, 64, IN_CQ_UMEM_ID, true},
			&buf, &attr.buf);
	if (rc == 0)
		rc = umem_find(ctx,
			&(struct umem_range){bits_get(cqc, CQC_DBR_UMEM_ID, 32),
				bits_get64(cqc, CQC_DBR_ADDR), 8, 8, CQC_AT + CQC_DBR_UMEM_ID},
			&dbr, &dbrec);
	/*
	 * The program writes the doorbell record, and the adapter writes a mark into the second
	 * word of this record. So the record must be writable.
	 */
	if (rc == 0 && !memory_is_mapped((uintptr_t)dbrec, 8, true))
		rc = DEVX_REFUSE(DEVX_BAD_RES, CQC_AT + CQC_DBR_UMEM_ID);
	if (rc == 0)
		rc = devx_refuse_errno(object_create(ctx, &devx_cq_class, &cq), 0);
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
	bits_set(out, DEVX_NUMBER, 24, softhca_cq_number(cq->cq.cq));
	*obj = &cq->cq.obj;
	return 0;
}

static int
query(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	struct object_cq *cq = (struct object_cq *)obj;
	uint8_t *cqc = out + CQC_AT / 8;
	struct softhca_cq_attr attr;
	uint32_t pi, ci;

	(void)call;
	if (bits_get(in, DEVX_NUMBER, 24) != softhca_cq_number(cq->cq))
		return -EINVAL;
	softhca_cq_query(cq->cq, &attr, &pi, &ci);
	bits_set(cqc, CQC_CQE_SZ, 3, attr.cqe_len == 64 ? 0 : 1 + attr.pad);
	bits_set(cqc, CQC_OI, 1, attr.ignore_overrun);
	bits_set(cqc, CQC_COMPRESSION, 1, attr.compress);
	bits_set(cqc, CQC_LOG_SIZE, 5, (uint32_t)__builtin_ctz(attr.n_cqe));
	bits_set(cqc, CQC_UAR_PAGE, 24, cq->uar->page_id);
	bits_set(cqc, CQC_PERIOD, 12, attr.event_period_us);
	bits_set(cqc, CQC_MAX_COUNT, 16, attr.event_count);
	bits_set(cqc, CQC_CONSUMER, 24, ci);
	bits_set(cqc, CQC_PRODUCER, 24, pi);
	return 0;
}

static int
end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	struct object_devx_cq *cq = (struct object_devx_cq *)obj;
	int rc = cq_end(ctx, obj, events);

	if (rc != 0)
		return rc;
	object_unuse(&cq->buf->obj);
	object_unuse(&cq->dbr->obj);
	return 0;
}

static const struct devx_create creates[] = {
	{CMD_CREATE_CQ, IN_CQ_END / 8, create},
};
static const struct devx_command commands[] = {
	{DEVX_QUERIES, &devx_cq_class, CMD_QUERY_CQ, DEVX_HEADER, (CQC_AT + CQC_LEN) / 8, query},
	{DEVX_QUERIES, &cq_class, CMD_QUERY_CQ, DEVX_HEADER, (CQC_AT + CQC_LEN) / 8, query},
};

const struct object_class devx_cq_class = {
	.name = "DEVX CQ",
	.size = sizeof(struct object_devx_cq),
	.limit = cq_limit,
	.end = end,
	.by_devx = true,
	CLASS_CREATES(creates),
	CLASS_COMMANDS(commands),
};
