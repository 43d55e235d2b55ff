/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DC targets of firmware commands. A DCT accepts requests from its creation on.
 *
 * Bit offsets as in the commands of UCX (mlx5_ifc.h: dctc).
 */
#include <errno.h>

#include "caps.h"
#include "devx.h"
#include "devx_cq.h"
#include "devx_srq.h"
#include "qp_mask.h"
#include "uverbs_qp.h"

enum {
	CMD_CREATE_DCT = 0x710,
	CMD_QUERY_DCT = 0x713
};

enum {
	DCTC_AT = 0x80,
	DCTC_OFFLOAD = 0x18,    /* 4 bits */
	DCTC_USER_INDEX = 0x28, /* 24 bits */
	DCTC_CQN = 0x48,        /* 24 bits */
	DCTC_RRE = 0x6c,
	DCTC_RWE = 0x6d,
	DCTC_RAE = 0x6e,
	DCTC_MIN_RNR = 0x93,         /* 5 bits */
	DCTC_SRQN = 0xa8,            /* 24 bits */
	DCTC_PD = 0xc8,              /* 24 bits */
	DCTC_KEY = 0x100,            /* 64 bits */
	DCTC_MTU = 0x145,            /* 3 bits */
	DCTC_PORT = 0x148,           /* 8 bits; 0: port 1 */
	DCTC_PKEY_INDEX = 0x150,     /* 16 bits */
	DCTC_GID_INDEX = 0x168,      /* 8 bits */
	DCTC_HOP_LIMIT = 0x178,      /* 8 bits */
	DCTC_KEY_VIOLATIONS = 0x180, /* 32 bits */
	DCTC_LEN = 0x200,
	IN_END = DCTC_AT + 0x380
};

/*
 * States, MTUs and rights, with the numbers of verbs (enum ibv_qp_state, enum ibv_mtu, enum
 * ibv_access_flags).
 */
enum {
	STATE_INIT = 1,
	STATE_RTR = 2,
	MTU_256 = 1,
	MTU_4096 = 5,
	ACCESS_WRITE = 2,
	ACCESS_READ = 4,
	ACCESS_ATOMIC = 8
};

struct object_devx_dct {
	struct object_qp qp;
	uint64_t key;
};

/* ---------------------------------------------------------------- creation */

static int
check(struct uverbs_call *call, const uint8_t *dctc, uint32_t port)
{
	const struct softhca_dev *dev = call->ctx->dev;
	bool ethernet = dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET;
	uint32_t mtu = bits_get(dctc, DCTC_MTU, 3);
	struct ib_uverbs_gid_entry gid;

	if (dev->cfg->dc == 0)
		return DEVX_REFUSE(DEVX_BAD_OP, DEVX_OPCODE);
	if (bits_get(dctc, DCTC_OFFLOAD, 4) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DCTC_AT + DCTC_OFFLOAD);
	if (mtu < MTU_256 || mtu > MTU_4096)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DCTC_AT + DCTC_MTU);
	if (port > dev->cfg->ports)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DCTC_AT + DCTC_PORT);
	if (bits_get(dctc, DCTC_PKEY_INDEX, 16) >= caps_pkey_table_len(dev))
		return DEVX_REFUSE(DEVX_BAD_PARAM, DCTC_AT + DCTC_PKEY_INDEX);
	if (ethernet && caps_gid(dev, port, bits_get(dctc, DCTC_GID_INDEX, 8), &gid) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DCTC_AT + DCTC_GID_INDEX);
	return 0;
}

static int
find_parts(struct softhca_ctx *ctx, const uint8_t *dctc, struct object_qp *qp)
{
	qp->pd = pd_find_number(ctx, bits_get(dctc, DCTC_PD, 24));
	qp->recv_cq = devx_find_cq(ctx, bits_get(dctc, DCTC_CQN, 24));
	qp->srq = devx_find_srq(ctx, bits_get(dctc, DCTC_SRQN, 24));
	if (qp->pd == NULL)
		return DEVX_REFUSE(DEVX_BAD_RES, DCTC_AT + DCTC_PD);
	if (qp->recv_cq == NULL)
		return DEVX_REFUSE(DEVX_BAD_RES, DCTC_AT + DCTC_CQN);
	if (qp->srq == NULL)
		return DEVX_REFUSE(DEVX_BAD_RES, DCTC_AT + DCTC_SRQN);
	return 0;
}

/* Moves the target to RTR. In this state the target gets its number. */
static int
activate(struct uverbs_call *call, const uint8_t *dctc, struct object_qp *qp, uint32_t port)
{
	struct softhca_qp_attr attr = {.state = STATE_INIT,
		.port = (uint8_t)port,
		.pkey_index = (uint16_t)bits_get(dctc, DCTC_PKEY_INDEX, 16),
		.access = (bits_get(dctc, DCTC_RRE, 1) ? ACCESS_READ : 0) |
			  (bits_get(dctc, DCTC_RWE, 1) ? ACCESS_WRITE : 0) |
			  (bits_get(dctc, DCTC_RAE, 1) ? ACCESS_ATOMIC : 0),
		.path_mtu = bits_get(dctc, DCTC_MTU, 3),
		.min_rnr_timer = (uint8_t)bits_get(dctc, DCTC_MIN_RNR, 5),
		.is_global = call->ctx->dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET,
		.sgid_index = (uint8_t)bits_get(dctc, DCTC_GID_INDEX, 8),
		.hop_limit = (uint8_t)bits_get(dctc, DCTC_HOP_LIMIT, 8)};
	int rc = softhca_qp_modify(qp->qp, &attr, M_STATE | M_PKEY_INDEX | M_PORT | M_ACCESS);

	attr.state = STATE_RTR;
	if (rc == 0)
		rc = softhca_qp_modify(qp->qp, &attr,
			M_STATE | M_MIN_RNR_TIMER | M_AV | M_PATH_MTU);
	return devx_refuse_errno(rc, DCTC_AT);
}

static int
make(struct uverbs_call *call, const uint8_t *dctc, struct object_devx_dct *dct, uint32_t port)
{
	struct object_qp *qp = &dct->qp;
	int rc = find_parts(call->ctx, dctc, qp);

	if (rc != 0)
		return rc;
	dct->key = bits_get64(dctc, DCTC_KEY);
	qp->type = SOFTHCA_QP_DCT;
	qp->uidx = bits_get(dctc, DCTC_USER_INDEX, 24);
	rc = devx_refuse_errno(softhca_qp_create(call->ctx->dev,
				       &(struct softhca_qp_init){.type = SOFTHCA_QP_DCT,
					       .pdn = qp->pd->pdn,
					       .recv_cq = qp->recv_cq->cq,
					       .srq = qp->srq->srq,
					       .uidx = qp->uidx,
					       .dc_key = dct->key,
					       .event = &qp->event},
				       &qp->qp),
		DCTC_AT);
	if (rc != 0)
		return rc;
	rc = activate(call, dctc, qp, port);
	if (rc != 0)
		(void)softhca_qp_destroy(qp->qp);
	return rc;
}

static int
create(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	const uint8_t *dctc = in + DCTC_AT / 8;
	uint32_t port = bits_get(dctc, DCTC_PORT, 8);
	struct object_devx_dct *dct;
	int rc = check(call, dctc, port == 0 ? 1 : port);

	if (rc == 0)
		rc = devx_refuse_errno(object_create(call->ctx, &devx_dct_class, &dct), 0);
	if (rc != 0)
		return rc;
	rc = make(call, dctc, dct, port == 0 ? 1 : port);
	if (rc != 0) {
		object_forget(call->ctx, &dct->qp.obj);
		return rc;
	}
	qp_use_names(&dct->qp);
	bits_set(out, DEVX_NUMBER, 24, softhca_qp_number(dct->qp.qp));
	*obj = &dct->qp.obj;
	return 0;
}

/* ---------------------------------------------------------------- query */

/* Answers a query. A target is always active: state 0. */
static int
query(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	const struct object_devx_dct *dct = (struct object_devx_dct *)obj;
	const struct object_qp *qp = &dct->qp;
	uint8_t *dctc = out + DCTC_AT / 8;
	struct softhca_qp_attr attr;
	uint32_t hw_sq_bb;

	(void)call;
	if (bits_get(in, DEVX_NUMBER, 24) != softhca_qp_number(qp->qp))
		return -EINVAL;
	softhca_qp_query(qp->qp, &attr, &hw_sq_bb);
	bits_set(dctc, DCTC_USER_INDEX, 24, qp->uidx);
	bits_set(dctc, DCTC_CQN, 24, softhca_cq_number(qp->recv_cq->cq));
	bits_set(dctc, DCTC_RRE, 1, (attr.access & ACCESS_READ) != 0);
	bits_set(dctc, DCTC_RWE, 1, (attr.access & ACCESS_WRITE) != 0);
	bits_set(dctc, DCTC_RAE, 1, (attr.access & ACCESS_ATOMIC) != 0);
	bits_set(dctc, DCTC_MIN_RNR, 5, attr.min_rnr_timer);
	bits_set(dctc, DCTC_SRQN, 24, softhca_srq_number(qp->srq->srq));
	bits_set(dctc, DCTC_PD, 24, qp->pd->pdn);
	bits_set(dctc, DCTC_KEY, 32, (uint32_t)(dct->key >> 32));
	bits_set(dctc, DCTC_KEY + 32, 32, (uint32_t)dct->key);
	bits_set(dctc, DCTC_MTU, 3, attr.path_mtu);
	bits_set(dctc, DCTC_PORT, 8, attr.port);
	bits_set(dctc, DCTC_PKEY_INDEX, 16, attr.pkey_index);
	bits_set(dctc, DCTC_GID_INDEX, 8, attr.sgid_index);
	bits_set(dctc, DCTC_HOP_LIMIT, 8, attr.hop_limit);
	bits_set(dctc, DCTC_KEY_VIOLATIONS, 32, attr.dc_key_violations);
	return 0;
}

static const struct devx_create creates[] = {
	{CMD_CREATE_DCT, IN_END / 8, create},
};
static const struct devx_command commands[] = {
	{DEVX_QUERIES, &devx_dct_class, CMD_QUERY_DCT, DEVX_HEADER, (DCTC_AT + DCTC_LEN) / 8,
		query},
};

const struct object_class devx_dct_class = {
	.name = "DEVX DCT",
	.size = sizeof(struct object_devx_dct),
	.limit = qp_limit,
	.end = qp_end,
	.by_devx = true,
	CLASS_CREATES(creates),
	CLASS_COMMANDS(commands),
};
