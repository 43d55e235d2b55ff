/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transport domains, and transport interfaces of senders (TIS), made by firmware commands: DPDK's drivers
 * ask for them first. Send queues by command, which would name a TIS, are not emulated.
 *
 * Offsets in bits, as DPDK sends them (mlx5_prm.h: create_tis_in, tisc).
 */
#include <errno.h>

#include "devx.h"
#include "object.h"

enum {
	CMD_ALLOC_TD = 0x816,
	CMD_CREATE_TIS = 0x912,
	CMD_QUERY_TIS = 0x915
};

enum {
	TIS_IN_AT = 0x100,
	TIS_OUT_AT = 0x80,
	TIS_PRIO = 0x0c,      /* 4 bits */
	TIS_TD = 0x128,       /* 24 bits */
	TIS_UNDERLAY = 0x148, /* 24 bits */
	TIS_LEN = 0x500
};

/* Its handle is its number. */
struct object_td {
	struct object obj;
};

struct object_tis {
	struct object obj;
	struct object_td *td;
	uint32_t prio;
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

static int
create_tis(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	const uint8_t *tisc = in + TIS_IN_AT / 8;
	struct object_td *td = object_find(call->ctx, &devx_td_class, bits_get(tisc, TIS_TD, 24));
	struct object_tis *tis;
	int rc = 0;

	if (td == NULL)
		rc = DEVX_REFUSE(DEVX_BAD_RES, TIS_IN_AT + TIS_TD);
	if (rc == 0 && bits_get(tisc, TIS_UNDERLAY, 24) != 0)
		rc = DEVX_REFUSE(DEVX_BAD_PARAM, TIS_IN_AT + TIS_UNDERLAY);
	if (rc == 0)
		rc = devx_refuse_errno(object_create(call->ctx, &devx_tis_class, &tis), 0);
	if (rc != 0)
		return rc;
	tis->td = td;
	tis->prio = bits_get(tisc, TIS_PRIO, 4);
	object_use(&td->obj);
	bits_set(out, DEVX_NUMBER, 24, tis->obj.handle);
	*obj = &tis->obj;
	return 0;
}

static int
query_tis(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	const struct object_tis *tis = (struct object_tis *)obj;
	uint8_t *tisc = out + TIS_OUT_AT / 8;

	(void)call;
	if (bits_get(in, DEVX_NUMBER, 24) != obj->handle)
		return -EINVAL;
	bits_set(tisc, TIS_PRIO, 4, tis->prio);
	bits_set(tisc, TIS_TD, 24, tis->td->obj.handle);
	return 0;
}

static int
end_td(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	(void)ctx;
	(void)obj;
	(void)events;
	return 0;
}

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
};

const struct object_class devx_td_class = {
	.name = "DEVX transport domain",
	.size = sizeof(struct object_td),
	.limit = limit_td,
	.end = end_td,
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
