/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Firmware commands on queue pairs: transitions between states, and queries.
 *
 * Bit offsets as in the commands of libmlx5 44 and of rdma-core's tests (NVIDIA "Ethernet Adapters
 * Programming Manual").
 */
#include <errno.h>
#include <string.h>

#include "caps.h"
#include "devx.h"
#include "devx_qpc.h"
#include "qp_mask.h"
#include "uverbs_qp.h"
#include "uverbs_srq.h"

enum {
	CMD_RST2INIT = 0x502,
	CMD_INIT2RTR = 0x503,
	CMD_RTR2RTS = 0x504,
	CMD_RTS2RTS = 0x505,
	CMD_SQERR2RTS = 0x506,
	CMD_2ERR = 0x507,
	CMD_2RST = 0x50a,
	CMD_QUERY = 0x50b,
	CMD_INIT2INIT = 0x50e
};

/* States, with the numbers of verbs (enum ibv_qp_state). */
enum {
	STATE_RESET,
	STATE_INIT,
	STATE_RTR,
	STATE_RTS,
	STATE_SQE = 5,
	STATE_ERR
};

/* MTUs, with the numbers of verbs (enum ibv_mtu). */
enum {
	MTU_256 = 1,
	MTU_4096 = 5
};

enum {
	ACCESS_WRITE = 2,
	ACCESS_READ = 4,
	ACCESS_ATOMIC = 8
};

/* Fields of the transitions that are not in the queue pair's context. */
enum {
	IN_EXT = 0x40,             /* 1 bit: the command has the fields IN_EXT_* */
	IN_OPT_MASK = 0x80,        /* 32 bits */
	IN_OPT_MASK_95_64 = 0x840, /* 32 bits */
	IN_OPT_MASK_63_32 = 0x860, /* 32 bits */
	IN_EXT_MMO = 0x882,
	IN_EXT_STREAM = 0x890, /* 16 bits */
	IN_EXT_END = 0x8a0,
	OPT_RRE = 1 << 1,
	OPT_RAE = 1 << 2,
	OPT_RWE = 1 << 3,
	OPT_PKEY_INDEX = 1 << 4,
	OPT_QKEY = 1 << 5,
	OPT_RNR_TIMER = 1 << 6,
	OPT_DRAIN_SIGERR = 1 << 11,
	OPT_LAG_PORT = 1 << 15,
	OPT_63_32_STREAM = 1 << 0,
	OPT_63_32_UDP_SPORT = 1 << 2,
	OPT_63_32_MMO = 1 << 3,
	IN_QPC_END = QPC_AT + QPC_LEN
};

/*
 * The attributes that a transition changes. They are collected until the whole command has been
 * checked.
 */
struct change {
	struct softhca_qp_attr attr;
	uint32_t mask;
};

static int
apply(struct object_qp *qp, const struct change *c)
{
	return devx_refuse_errno(softhca_qp_modify(qp->qp, &c->attr, c->mask), QPC_AT + QPC_STATE);
}

/*
 * Checks that the command has the object's number. mlx5_ib refuses a command on a queue pair if the
 * object is a queue pair that the firmware does not know (devx_is_valid_obj_id() of the kernel).
 */
static int
check_number(const struct object_qp *qp, const uint8_t *in)
{
	if (qp->type == SOFTHCA_QP_RAW || qp->type == SOFTHCA_QP_DCT ||
		bits_get(in, DEVX_NUMBER, 24) != softhca_qp_number(qp->qp))
		return -EINVAL;
	return 0;
}

/* Returns the present attributes, including the state. */
static struct softhca_qp_attr
now(struct object_qp *qp)
{
	struct softhca_qp_attr attr;
	uint32_t hw_sq_bb;

	softhca_qp_query(qp->qp, &attr, &hw_sq_bb);
	return attr;
}

/* Checks that the command has the QP's number, and that the QP's state is `from`. */
static int
check(struct object_qp *qp, const uint8_t *in, uint32_t from)
{
	int rc = check_number(qp, in);

	if (rc == 0 && now(qp).state != from)
		rc = DEVX_REFUSE(DEVX_BAD_QP_STATE, QPC_AT + QPC_STATE);
	return rc;
}

static int
init2init(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	struct object_qp *qp = (struct object_qp *)obj;
	uint32_t opt = bits_get(in, IN_OPT_MASK, 32), opt_32 = bits_get(in, IN_OPT_MASK_63_32, 32);
	struct change c = {.mask = 0};
	int rc = check(qp, in, STATE_INIT);

	(void)out;
	if (rc != 0)
		return rc;
	if ((opt & ~(uint32_t)OPT_DRAIN_SIGERR) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_OPT_MASK);
	if ((opt_32 & ~(uint32_t)OPT_63_32_MMO) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_OPT_MASK_63_32);
	if (bits_get(in, IN_OPT_MASK_95_64, 32) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_OPT_MASK_95_64);
	if ((opt & OPT_DRAIN_SIGERR) != 0) {
		c.mask |= SOFTHCA_QP_DRAIN_SIGERR;
		c.attr.drain_sigerr = bits_get(in, QPC_AT + QPC_DRAIN_SIGERR, 1);
	}
	if ((opt_32 & OPT_63_32_MMO) != 0) {
		if (bits_get(in, IN_EXT, 1) == 0 || softhca_max_memcpy(call->ctx->dev) == 0)
			return DEVX_REFUSE(DEVX_BAD_PARAM, IN_EXT);
		c.mask |= SOFTHCA_QP_MMO;
		c.attr.mmo = bits_get(in, IN_EXT_MMO, 1);
	}
	return apply(qp, &c);
}

/* Returns the bits of the optional mask that a transition accepts for bonded ports. */
static uint32_t
lag_options(struct uverbs_call *call)
{
	return call->ctx->dev->cfg->lag != 0 ? OPT_LAG_PORT : 0;
}

static int
check_lag_port(struct uverbs_call *call, const uint8_t *in)
{
	if (!lag_has_port(call->ctx->dev, bits_get(in, QPC_AT + QPC_LAG_PORT, 4)))
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_LAG_PORT);
	return 0;
}

/* If the command has succeeded (rc is 0), sets the bond's port for the QP. Returns rc. */
static int
take_lag_port(struct object_qp *qp, const uint8_t *in, int rc)
{
	if (rc == 0)
		qp->tis.lag_port = bits_get(in, QPC_AT + QPC_LAG_PORT, 4);
	return rc;
}

/*
 * RTS2RTS without the bond's port: changes the attributes in the masks, or moves a stream of a DCI
 * out of error. The QP stays in RTS.
 */
static int
rts2rts_path(struct object_qp *qp, const uint8_t *in)
{
	uint32_t opt_32 = bits_get(in, IN_OPT_MASK_63_32, 32);
	struct change c = {.mask = SOFTHCA_QP_UDP_SPORT,
		.attr = {.udp_sport = bits_get(in, QPC_AT + QPC_PATH + ADS_UDP_SPORT, 16)}};

	if (opt_32 == OPT_63_32_UDP_SPORT)
		return apply(qp, &c);
	if (opt_32 != OPT_63_32_STREAM || bits_get(in, IN_EXT, 1) == 0 ||
		softhca_qp_reset_stream(qp->qp, bits_get(in, IN_EXT_STREAM, 16)) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_OPT_MASK_63_32);
	return 0;
}

static int
rts2rts(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	struct object_qp *qp = (struct object_qp *)obj;
	uint32_t opt = bits_get(in, IN_OPT_MASK, 32);
	int rc = check(qp, in, STATE_RTS);

	(void)out;
	if (rc != 0)
		return rc;
	if ((opt & ~lag_options(call)) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_OPT_MASK);
	if (bits_get(in, IN_OPT_MASK_95_64, 32) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_OPT_MASK_95_64);
	if (opt != 0)
		rc = check_lag_port(call, in);
	/*
	 * If the command changes only the bond's port, rts2rts_path() is not called, because it has
	 * nothing to change.
	 */
	if (rc == 0 && (opt == 0 || bits_get(in, IN_OPT_MASK_63_32, 32) != 0))
		rc = rts2rts_path(qp, in);
	return opt != 0 ? take_lag_port(qp, in, rc) : rc;
}

/* ---------------------------------------------------------------- states */

/* The bits of the optional mask, and the attribute or right for each bit. */
static const struct {
	uint32_t opt, mask, access;
} options[] = {
	{OPT_RRE, M_ACCESS, ACCESS_READ},
	{OPT_RAE, M_ACCESS, ACCESS_ATOMIC},
	{OPT_RWE, M_ACCESS, ACCESS_WRITE},
	{OPT_PKEY_INDEX, M_PKEY_INDEX, 0},
	{OPT_QKEY, M_QKEY, 0},
	{OPT_RNR_TIMER, M_MIN_RNR_TIMER, 0},
};

/*
 * Takes attributes from the context, which is always complete. The firmware takes the attributes
 * that the transition needs, and those in the optional mask, which has one bit for each right.
 */
static int
apply_context(struct object_qp *qp, const uint8_t *in, uint32_t allowed, struct change *c)
{
	uint32_t opt = bits_get(in, IN_OPT_MASK, 32), named = 0, rights = 0;

	if ((opt & ~allowed) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_OPT_MASK);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if ((opt & options[i].opt) == 0)
			continue;
		named |= options[i].mask;
		rights |= options[i].access;
	}
	c->mask &= softhca_qp_needs(qp->qp, c->attr.state) | named;
	/* A DCI is never a responder, so it has no rights. */
	if (qp->type == SOFTHCA_QP_DCI)
		c->mask &= ~(uint32_t)(M_ACCESS | M_AV);
	else if ((c->mask & named & M_ACCESS) != 0)
		c->attr.access = (now(qp).access & ~rights) | (c->attr.access & rights);
	return apply(qp, c);
}

static uint32_t
context_access(const uint8_t *qpc)
{
	return (bits_get(qpc, QPC_RRE, 1) ? ACCESS_READ : 0) |
	       (bits_get(qpc, QPC_RWE, 1) ? ACCESS_WRITE : 0) |
	       (bits_get(qpc, QPC_RAE, 1) ? ACCESS_ATOMIC : 0);
}

static int
check_port(struct uverbs_call *call, const uint8_t *path)
{
	if (bits_get(path, ADS_PORT, 8) > call->ctx->dev->cfg->ports)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_PATH + ADS_PORT);
	if (bits_get(path, ADS_PKEY_INDEX, 16) >= caps_pkey_table_len(call->ctx->dev))
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_PATH + ADS_PKEY_INDEX);
	return 0;
}

static int
rst2init(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	struct object_qp *qp = (struct object_qp *)obj;
	const uint8_t *qpc = in + QPC_AT / 8, *path = qpc + QPC_PATH / 8;
	struct change c = {
		.mask = M_STATE | M_PKEY_INDEX | M_PORT | M_ACCESS | M_QKEY,
		.attr = {.state = STATE_INIT,
			.pkey_index = bits_get(path, ADS_PKEY_INDEX, 16),
			.port = bits_get(path, ADS_PORT, 8),
			.qkey = bits_get(qpc, QPC_QKEY, 32),
			.access = context_access(qpc)},
	};
	int rc = check(qp, in, STATE_RESET);

	(void)out;
	/*
	 * A queue pair counts only in the counters of its port, so it cannot use a counter set:
	 * devx_q_counter.c.
	 */
	if (rc == 0 && bits_get(qpc, QPC_COUNTER_SET, 8) != 0)
		rc = DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_COUNTER_SET);
	if (rc == 0 && c.attr.port == 0)
		rc = DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_PATH + ADS_PORT);
	if (rc == 0)
		rc = check_port(call, path);
	if (rc == 0)
		rc = check_lag_port(call, in);
	if (rc == 0)
		rc = apply_context(qp, in, 0, &c);
	return take_lag_port(qp, in, rc);
}

/*
 * Checks the limit of RDMA reads and atomics in flight. bit: the offset of the field, which has the
 * logarithm of the limit.
 */
static int
check_depth(struct uverbs_call *call, uint32_t depth, uint32_t bit)
{
	if (depth > call->ctx->dev->cfg->max_rd_atomic)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + bit);
	return 0;
}

/* Checks the fields of a connection to one peer. A loopback path needs no addresses. */
static int
check_connection(struct uverbs_call *call, const struct softhca_qp_attr *attr, uint32_t port)
{
	bool ethernet = call->ctx->dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET;
	struct ib_uverbs_gid_entry gid;

	if ((ethernet || attr->is_global) && !attr->loopback &&
		caps_gid(call->ctx->dev, port, attr->sgid_index, &gid) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_PATH + ADS_SGID_INDEX);
	return check_depth(call, attr->max_dest_rd_atomic, QPC_LOG_RRA_MAX);
}

/* Moves the QP to RTR. The port was set by RST2INIT: this command has the same port, or 0. */
static int
init2rtr(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	struct object_qp *qp = (struct object_qp *)obj;
	const uint8_t *qpc = in + QPC_AT / 8, *path = qpc + QPC_PATH / 8;
	bool ethernet = call->ctx->dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET;
	struct change c = {
		.mask = M_STATE | M_AV | M_PATH_MTU | M_DEST_QPN | M_RQ_PSN | M_MAX_DEST_RD_ATOMIC |
			M_MIN_RNR_TIMER | M_ACCESS | M_PKEY_INDEX | M_QKEY,
		.attr = {.state = STATE_RTR,
			.path_mtu = bits_get(qpc, QPC_MTU, 3),
			.dest_qpn = bits_get(qpc, QPC_REMOTE_QPN, 24),
			.rq_psn = bits_get(qpc, QPC_NEXT_RCV_PSN, 24),
			.max_dest_rd_atomic = 1U << bits_get(qpc, QPC_LOG_RRA_MAX, 3),
			.min_rnr_timer = bits_get(qpc, QPC_MIN_RNR, 5),
			.qkey = bits_get(qpc, QPC_QKEY, 32),
			.access = context_access(qpc),
			.pkey_index = bits_get(path, ADS_PKEY_INDEX, 16),
			.is_global = ethernet || bits_get(path, ADS_GRH, 1) != 0,
			.loopback = bits_get(path, ADS_LOOPBACK, 1) != 0,
			.dlid = bits_get(path, ADS_RLID, 16),
			.sgid_index = bits_get(path, ADS_SGID_INDEX, 8),
			.hop_limit = bits_get(path, ADS_HOP_LIMIT, 8),
			.traffic_class = bits_get(path, ADS_TCLASS, 8),
			.sl = bits_get(path, ADS_SL, 4)},
	};
	int rc = check(qp, in, STATE_INIT);
	bool named_port;

	(void)out;
	memcpy(c.attr.dgid, path + ADS_RGID / 8, sizeof(c.attr.dgid));
	memcpy(c.attr.dmac, path + ADS_RMAC / 8, sizeof(c.attr.dmac));
	if (rc == 0)
		rc = check_port(call, path);
	if (rc == 0 && (softhca_qp_needs(qp->qp, STATE_RTR) & M_AV) != 0)
		rc = check_connection(call, &c.attr, now(qp).port);
	if (rc == 0 && (softhca_qp_needs(qp->qp, STATE_RTR) & M_PATH_MTU) != 0 &&
		(c.attr.path_mtu < MTU_256 || c.attr.path_mtu > MTU_4096))
		rc = DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_MTU);
	named_port = (bits_get(in, IN_OPT_MASK, 32) & lag_options(call)) != 0;
	if (rc == 0 && named_port)
		rc = check_lag_port(call, in);
	if (rc == 0)
		rc = apply_context(qp, in,
			OPT_RRE | OPT_RAE | OPT_RWE | OPT_PKEY_INDEX | OPT_QKEY | lag_options(call),
			&c);
	return named_port ? take_lag_port(qp, in, rc) : rc;
}

static int
rtr2rts(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	struct object_qp *qp = (struct object_qp *)obj;
	const uint8_t *qpc = in + QPC_AT / 8;
	struct change c = {
		.mask = M_STATE | M_TIMEOUT | M_RETRY_CNT | M_RNR_RETRY | M_SQ_PSN |
			M_MAX_RD_ATOMIC | M_ACCESS | M_MIN_RNR_TIMER | M_QKEY,
		.attr = {.state = STATE_RTS,
			.timeout = bits_get(qpc, QPC_PATH + ADS_ACK_TIMEOUT, 5),
			.retry_cnt = bits_get(qpc, QPC_RETRY_COUNT, 3),
			.rnr_retry = bits_get(qpc, QPC_RNR_RETRY, 3),
			.sq_psn = bits_get(qpc, QPC_NEXT_SEND_PSN, 24),
			.max_rd_atomic = 1U << bits_get(qpc, QPC_LOG_SRA_MAX, 3),
			.min_rnr_timer = bits_get(qpc, QPC_MIN_RNR, 5),
			.qkey = bits_get(qpc, QPC_QKEY, 32),
			.access = context_access(qpc)},
	};
	int rc = check(qp, in, STATE_RTR);

	(void)out;
	if (rc == 0 && (softhca_qp_needs(qp->qp, STATE_RTS) & M_MAX_RD_ATOMIC) != 0)
		rc = check_depth(call, c.attr.max_rd_atomic, QPC_LOG_SRA_MAX);
	return rc != 0 ? rc
		       : apply_context(qp, in,
				 OPT_RRE | OPT_RAE | OPT_RWE | OPT_RNR_TIMER | OPT_QKEY, &c);
}

/* Moves a UC or UD QP from SQE back to RTS: the send queue runs again after an error. */
static int
sqerr2rts(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	struct object_qp *qp = (struct object_qp *)obj;
	struct change c = {
		.mask = M_STATE | M_QKEY | M_ACCESS,
		.attr = {.state = STATE_RTS,
			.qkey = bits_get(in, QPC_AT + QPC_QKEY, 32),
			.access = context_access(in + QPC_AT / 8)},
	};
	int rc = check(qp, in, STATE_SQE);

	(void)call;
	(void)out;
	return rc != 0 ? rc : apply_context(qp, in, OPT_RWE | OPT_QKEY, &c);
}

/* Moves the QP from any state to ERR or RESET. */
static int
end_in(struct object *obj, const uint8_t *in, uint32_t state)
{
	struct object_qp *qp = (struct object_qp *)obj;
	struct change c = {.mask = M_STATE, .attr = {.state = state}};
	int rc = check_number(qp, in);

	if (rc == 0)
		rc = apply(qp, &c);
	if (rc == 0 && state == STATE_RESET)
		qp->tis.lag_port = 0;
	return rc;
}

static int
to_err(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	(void)call;
	(void)out;
	return end_in(obj, in, STATE_ERR);
}

static int
to_rst(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	(void)call;
	(void)out;
	return end_in(obj, in, STATE_RESET);
}

/* ---------------------------------------------------------------- query */

/* Returns the firmware's number of a state of verbs. SQD has two numbers: draining and drained. */
static uint32_t
firmware_state(const struct softhca_qp_attr *attr)
{
	enum {
		RST,
		INIT,
		RTR,
		RTS,
		SQER,
		SQ_DRAINED,
		ERR,
		SQ_DRAINING
	};
	static const uint8_t states[] = {RST, INIT, RTR, RTS, SQ_DRAINED, SQER, ERR};

	if (states[attr->state] == SQ_DRAINED && attr->sq_draining)
		return SQ_DRAINING;
	return states[attr->state];
}

static uint32_t
log2_down(uint32_t n)
{
	return n <= 1 ? 0 : 31 - __builtin_clz(n);
}

/*
 * Returns the service of a QP's packets. Both types of XRC have the same service; raw packets have
 * none.
 */
static uint32_t
service_of(enum softhca_qp_type type)
{
	switch (type) {
	case SOFTHCA_QP_UC:
		return QPC_ST_UC;
	case SOFTHCA_QP_UD:
		return QPC_ST_UD;
	case SOFTHCA_QP_XRC_SEND:
	case SOFTHCA_QP_XRC_RECV:
		return QPC_ST_XRC;
	case SOFTHCA_QP_DCI:
		return QPC_ST_DCI;
	default:
		return QPC_ST_RC;
	}
}

static uint32_t
rq_type_of(const struct object_qp *qp)
{
	if (qp->srq != NULL)
		return QPC_RQ_SRQ;
	return qp->rq_wqe != 0 ? QPC_RQ_REGULAR : QPC_RQ_ZERO;
}

static void
write_path(uint8_t *path, const struct softhca_qp_attr *attr)
{
	bits_set(path, ADS_PKEY_INDEX, 16, attr->pkey_index);
	bits_set(path, ADS_LOOPBACK, 1, attr->loopback);
	bits_set(path, ADS_GRH, 1, attr->is_global);
	bits_set(path, ADS_RLID, 16, attr->dlid);
	bits_set(path, ADS_ACK_TIMEOUT, 5, attr->timeout);
	bits_set(path, ADS_SGID_INDEX, 8, attr->sgid_index);
	bits_set(path, ADS_HOP_LIMIT, 8, attr->hop_limit);
	bits_set(path, ADS_TCLASS, 8, attr->traffic_class);
	bits_set(path, ADS_UDP_SPORT, 16, attr->udp_sport);
	bits_set(path, ADS_SL, 4, attr->sl);
	bits_set(path, ADS_PORT, 8, attr->port);
	memcpy(path + ADS_RGID / 8, attr->dgid, sizeof(attr->dgid));
	memcpy(path + ADS_RMAC / 8, attr->dmac, sizeof(attr->dmac));
}

/* Writes the fields of the queues, with the values at creation. */
static void
write_queues(uint8_t *qpc, const struct object_qp *qp)
{
	bits_set(qpc, QPC_ST, 8, service_of(qp->type));
	bits_set(qpc, QPC_NO_SQ, 1, qp->sq_bb == 0);
	bits_set(qpc, QPC_LOG_SQ_SIZE, 4, log2_down(qp->sq_bb));
	bits_set(qpc, QPC_LOG_RQ_SIZE, 4, log2_down(qp->rq_wqe));
	bits_set(qpc, QPC_LOG_RQ_STRIDE, 3, qp->rq_wqe != 0 ? qp->log_rq_stride - 4 : 0);
	bits_set(qpc, QPC_RQ_TYPE, 3, rq_type_of(qp));
	bits_set(qpc, QPC_SRQN, 24, qp->srq != NULL ? softhca_srq_number(qp->srq->srq) : 0);
	bits_set(qpc, QPC_SEND_DBR_MODE, 2, qp->no_send_record ? QPC_DBR_NONE_EXT : QPC_DBR_RECORD);
	bits_set(qpc, QPC_USER_INDEX, 24, qp->uidx);
	bits_set(qpc, QPC_PD, 24, qp->pd != NULL ? qp->pd->pdn : 0);
	bits_set(qpc, QPC_UAR_PAGE, 24, qp->uar != NULL ? qp->uar->page_id : 0);
	bits_set(qpc, QPC_CQN_SND, 24,
		qp->send_cq != NULL ? softhca_cq_number(qp->send_cq->cq) : 0);
	bits_set(qpc, QPC_CQN_RCV, 24,
		qp->recv_cq != NULL ? softhca_cq_number(qp->recv_cq->cq) : 0);
}

static int
query(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	struct object_qp *qp = (struct object_qp *)obj;
	uint8_t *qpc = out + QPC_AT / 8;
	struct softhca_qp_attr attr;
	uint32_t hw_sq_bb;
	int rc = check_number(qp, in);

	(void)call;
	if (rc != 0)
		return rc;
	softhca_qp_query(qp->qp, &attr, &hw_sq_bb);
	write_queues(qpc, qp);
	bits_set(qpc, QPC_STATE, 4, firmware_state(&attr));
	bits_set(qpc, QPC_LAG_PORT, 4, qp->tis.lag_port);
	bits_set(qpc, QPC_DRAIN_SIGERR, 1, attr.drain_sigerr);
	bits_set(qpc, QPC_MTU, 3, attr.path_mtu);
	bits_set(qpc, QPC_REMOTE_QPN, 24, attr.dest_qpn);
	write_path(qpc + QPC_PATH / 8, &attr);
	bits_set(qpc, QPC_LOG_SRA_MAX, 3, log2_down(attr.max_rd_atomic));
	bits_set(qpc, QPC_RETRY_COUNT, 3, attr.retry_cnt);
	bits_set(qpc, QPC_RNR_RETRY, 3, attr.rnr_retry);
	bits_set(qpc, QPC_NEXT_SEND_PSN, 24, attr.sq_psn);
	bits_set(qpc, QPC_LOG_RRA_MAX, 3, log2_down(attr.max_dest_rd_atomic));
	bits_set(qpc, QPC_RRE, 1, (attr.access & ACCESS_READ) != 0);
	bits_set(qpc, QPC_RWE, 1, (attr.access & ACCESS_WRITE) != 0);
	bits_set(qpc, QPC_RAE, 1, (attr.access & ACCESS_ATOMIC) != 0);
	bits_set(qpc, QPC_MIN_RNR, 5, attr.min_rnr_timer);
	bits_set(qpc, QPC_NEXT_RCV_PSN, 24, attr.rq_psn);
	bits_set(qpc, QPC_QKEY, 32, attr.qkey);
	bits_set(qpc, QPC_HW_SQ_WQEBB, 16, hw_sq_bb);
	return 0;
}

/*
 * The same commands work on queue pairs made by verbs and on queue pairs made by firmware commands.
 */
#define MODIFY(opcode, in_len, handler)                                                            \
	{DEVX_MODIFIES, &qp_class, opcode, in_len, DEVX_HEADER, handler},                          \
	{                                                                                          \
		DEVX_MODIFIES, &devx_qp_class, opcode, in_len, DEVX_HEADER, handler                \
	}

static const struct devx_command commands[] = {
	MODIFY(CMD_INIT2INIT, IN_EXT_END / 8, init2init),
	MODIFY(CMD_RTS2RTS, IN_EXT_END / 8, rts2rts),
	MODIFY(CMD_RST2INIT, IN_QPC_END / 8, rst2init),
	MODIFY(CMD_INIT2RTR, IN_QPC_END / 8, init2rtr),
	MODIFY(CMD_RTR2RTS, IN_QPC_END / 8, rtr2rts),
	MODIFY(CMD_SQERR2RTS, IN_QPC_END / 8, sqerr2rts),
	MODIFY(CMD_2ERR, DEVX_HEADER, to_err),
	MODIFY(CMD_2RST, DEVX_HEADER, to_rst),
	{DEVX_QUERIES, &qp_class, CMD_QUERY, DEVX_HEADER, IN_QPC_END / 8, query},
	{DEVX_QUERIES, &devx_qp_class, CMD_QUERY, DEVX_HEADER, IN_QPC_END / 8, query},
};

const struct object_class devx_qp_commands_class = {
	.name = "DEVX QP commands",
	CLASS_COMMANDS(commands),
};
