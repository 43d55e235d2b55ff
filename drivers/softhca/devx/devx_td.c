/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transport domains, and transport interfaces of senders (TIS), of firmware commands: DPDK's
 * drivers create them first. Send queues of firmware commands, which would use a TIS, are not
 * emulated. A raw QP of verbs has its own TIS, which commands on the QP change and query.
 *
 * Bit offsets as in the commands of DPDK and libmlx5 (mlx5_prm.h and mlx5_ifc.h: create_tis_in,
 * modify_tis_in, tisc).
 */
#include <errno.h>

#include "devx.h"
#include "lag.h"
#include "object.h"
#include "uverbs_qp.h"

enum {
	CMD_ALLOC_TD = 0x816,
	CMD_CREATE_TIS = 0x912,
	CMD_MODIFY_TIS = 0x913,
	CMD_QUERY_TIS = 0x915
};

enum {
	TIS_IN_AT = 0x100, /* offset of the context in CREATE_TIS and MODIFY_TIS */
	TIS_OUT_AT = 0x80,
	TIS_STRICT = 0x00,    /* 1 bit: strict_lag_tx_port_affinity */
	TIS_LAG_PORT = 0x04,  /* 4 bits: lag_tx_port_affinity */
	TIS_PRIO = 0x0c,      /* 4 bits */
	TIS_TD = 0x128,       /* 24 bits */
	TIS_UNDERLAY = 0x148, /* 24 bits */
	TIS_LEN = 0x500
};

/* The mask of MODIFY_TIS has 64 bits, of which only the last three are used. */
enum {
	TIS_MASK = 0x80,
	TIS_MASK_LOW = 0xa0,
	CHANGES_PRIO = 1 << 0,
	CHANGES_STRICT = 1 << 1,
	CHANGES_LAG_PORT = 1 << 2,
	CHANGES_ALL = CHANGES_PRIO | CHANGES_STRICT | CHANGES_LAG_PORT
};

/* A transport domain. Its number is its handle. */
struct object_td {
	struct object obj;
};

struct object_tis {
	struct object obj;
	struct object_td *td;
	struct tis tis;
};

static int
alloc_td(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct object_td *td;
	int rc = devx_refuse_errno(object_create(call->ctx, &devx_td_class, &td), 0);

	(void)in;
	if (rc != 0)
		return rc;
	bits_set(out, DEVX_NUMBER, 24, td->obj.handle);
	*obj = &td->obj;
	return 0;
}

/* Takes the fields that are in `changes` from a command's context. */
static int
take_context(const struct softhca_dev *dev, const uint8_t *in, uint32_t changes, struct tis *tis)
{
	const uint8_t *tisc = in + TIS_IN_AT / 8;
	uint32_t port = bits_get(tisc, TIS_LAG_PORT, 4);

	if ((changes & CHANGES_LAG_PORT) != 0) {
		if (!lag_has_port(dev, port))
			return DEVX_REFUSE(DEVX_BAD_PARAM, TIS_IN_AT + TIS_LAG_PORT);
		tis->lag_port = port;
	}
	if ((changes & CHANGES_STRICT) != 0)
		tis->strict = bits_get(tisc, TIS_STRICT, 1);
	if ((changes & CHANGES_PRIO) != 0)
		tis->prio = bits_get(tisc, TIS_PRIO, 4);
	return 0;
}

static void
write_context(uint8_t *out, const struct tis *tis)
{
	uint8_t *tisc = out + TIS_OUT_AT / 8;

	bits_set(tisc, TIS_STRICT, 1, tis->strict);
	bits_set(tisc, TIS_LAG_PORT, 4, tis->lag_port);
	bits_set(tisc, TIS_PRIO, 4, tis->prio);
}

static int
create_tis(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	const uint8_t *tisc = in + TIS_IN_AT / 8;
	struct object_td *td = object_find(call->ctx, &devx_td_class, bits_get(tisc, TIS_TD, 24));
	struct object_tis *tis;
	struct tis context = {0};
	int rc = 0;

	if (td == NULL)
		rc = DEVX_REFUSE(DEVX_BAD_RES, TIS_IN_AT + TIS_TD);
	if (rc == 0 && bits_get(tisc, TIS_UNDERLAY, 24) != 0)
		rc = DEVX_REFUSE(DEVX_BAD_PARAM, TIS_IN_AT + TIS_UNDERLAY);
	if (rc == 0)
		rc = take_context(call->ctx->dev, in, CHANGES_ALL, &context);
	if (rc == 0)
		rc = devx_refuse_errno(object_create(call->ctx, &devx_tis_class, &tis), 0);
	if (rc != 0)
		return rc;
	tis->td = td;
	tis->tis = context;
	object_use(&td->obj);
	bits_set(out, DEVX_NUMBER, 24, tis->obj.handle);
	*obj = &tis->obj;
	return 0;
}

static int
query_tis(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	const struct object_tis *tis = (struct object_tis *)obj;

	(void)call;
	if (bits_get(in, DEVX_NUMBER, 24) != obj->handle)
		return -EINVAL;
	write_context(out, &tis->tis);
	bits_set(out + TIS_OUT_AT / 8, TIS_TD, 24, tis->td->obj.handle);
	return 0;
}

static int
modify(struct uverbs_call *call, const uint8_t *in, struct tis *tis)
{
	uint32_t changes = bits_get(in, TIS_MASK_LOW, 32);

	if (bits_get(in, TIS_MASK, 32) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, TIS_MASK);
	if ((changes & ~(uint32_t)CHANGES_ALL) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, TIS_MASK_LOW);
	return take_context(call->ctx->dev, in, changes, tis);
}

static int
modify_tis(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	(void)out;
	if (bits_get(in, DEVX_NUMBER, 24) != obj->handle)
		return -EINVAL;
	return modify(call, in, &((struct object_tis *)obj)->tis);
}

/* ---------------------------------------------------------------- the TIS of a raw QP */

/*
 * Checks that the command has the number of the QP's own TIS. mlx5_ib refuses a command on another
 * TIS by this QP.
 */
static int
check_qp_tis(const struct object_qp *qp, const uint8_t *in)
{
	uint32_t number = qp_tis_number(qp);

	return number == 0 || bits_get(in, DEVX_NUMBER, 24) != number ? -EINVAL : 0;
}

static int
query_qp_tis(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	const struct object_qp *qp = (struct object_qp *)obj;
	int rc = check_qp_tis(qp, in);

	(void)call;
	if (rc == 0)
		write_context(out, &qp->tis);
	return rc;
}

static int
modify_qp_tis(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	struct object_qp *qp = (struct object_qp *)obj;
	int rc = check_qp_tis(qp, in);

	(void)out;
	return rc != 0 ? rc : modify(call, in, &qp->tis);
}

/* ---------------------------------------------------------------- ends and tables */

static int
end_tis(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	(void)ctx;
	(void)events;
	object_unuse(&((struct object_tis *)obj)->td->obj);
	return 0;
}

static uint32_t
limit_td(const struct softhca_config *cfg)
{
	return cfg->max_pd;
}

static uint32_t
limit_tis(const struct softhca_config *cfg)
{
	return cfg->max_qp;
}

static const struct devx_create td_creates[] = {
	{CMD_ALLOC_TD, DEVX_HEADER, alloc_td},
};
static const struct devx_create tis_creates[] = {
	{CMD_CREATE_TIS, (TIS_IN_AT + TIS_LEN) / 8, create_tis},
};
static const struct devx_command tis_commands[] = {
	{DEVX_QUERIES, &devx_tis_class, CMD_QUERY_TIS, DEVX_HEADER, (TIS_OUT_AT + TIS_LEN) / 8,
		query_tis},
	{DEVX_MODIFIES, &devx_tis_class, CMD_MODIFY_TIS, (TIS_IN_AT + TIS_LEN) / 8, DEVX_HEADER,
		modify_tis},
	{DEVX_QUERIES, &qp_class, CMD_QUERY_TIS, DEVX_HEADER, (TIS_OUT_AT + TIS_LEN) / 8,
		query_qp_tis},
	{DEVX_MODIFIES, &qp_class, CMD_MODIFY_TIS, (TIS_IN_AT + TIS_LEN) / 8, DEVX_HEADER,
		modify_qp_tis},
};

const struct object_class devx_td_class = {
	.name = "DEVX transport domain",
	.size = sizeof(struct object_td),
	.limit = limit_td,
	.by_devx = true,
	CLASS_CREATES(td_creates),
};

const struct object_class devx_tis_class = {
	.name = "DEVX TIS",
	.size = sizeof(struct object_tis),
	.limit = limit_tis,
	.end = end_tis,
	.by_devx = true,
	CLASS_CREATES(tis_creates),
	CLASS_COMMANDS(tis_commands),
};
