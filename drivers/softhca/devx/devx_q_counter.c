/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counter sets of queues, made by firmware commands. A queue pair cannot use such a set
 * (devx_qp_modify.c), so all counters stay 0.
 *
 * Bit offsets as in the commands of DPDK (mlx5_prm.h: alloc_q_counter_out, query_q_counter_out).
 */
#include <errno.h>

#include "caps.h"
#include "devx.h"
#include "object.h"

#define CMD_ALLOC_Q_COUNTER 0x771
#define CMD_QUERY_Q_COUNTER 0x773

enum {
	OUT_ID = 0x58,   /* 8 bits, in the answer */
	QUERY_ID = 0xf8, /* 8 bits */
	QUERY_END = 0x100,
	ANSWER_END = 0x800
};

struct object_q_counter {
	struct object obj;
	uint32_t id;
};

static bool
is_used(struct softhca_ctx *ctx, uint32_t id)
{
	for (uint32_t i = 1; i < ctx->n_objects; i++) {
		struct object_q_counter *counter = object_find(ctx, &devx_q_counter_class, i);

		if (counter != NULL && counter->id == id)
			return true;
	}
	return false;
}

/*
 * Allocates a set. Its number is never 0: set 0 belongs to the queue pairs that use no other set.
 */
static int
alloc(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct object_q_counter *counter;
	uint32_t id = 1;
	int rc;

	(void)in;
	while (id <= CAPS_MAX_Q_COUNTERS && is_used(call->ctx, id))
		id++;
	if (id > CAPS_MAX_Q_COUNTERS)
		return DEVX_REFUSE(DEVX_NO_RES, 0);
	rc = devx_refuse_errno(object_create(call->ctx, &devx_q_counter_class, &counter), 0);
	if (rc != 0)
		return rc;
	counter->id = id;
	bits_set(out, OUT_ID, 8, id);
	*obj = &counter->obj;
	return 0;
}

static int
query(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	(void)call;
	(void)out;
	return bits_get(in, QUERY_ID, 8) == ((struct object_q_counter *)obj)->id ? 0 : -EINVAL;
}

static const struct devx_create creates[] = {
	{CMD_ALLOC_Q_COUNTER, DEVX_HEADER, alloc},
};
static const struct devx_command commands[] = {
	{DEVX_QUERIES, &devx_q_counter_class, CMD_QUERY_Q_COUNTER, QUERY_END / 8, ANSWER_END / 8,
		query},
};

const struct object_class devx_q_counter_class = {
	.name = "DEVX Q counter",
	.size = sizeof(struct object_q_counter),
	.by_devx = true,
	CLASS_CREATES(creates),
	CLASS_COMMANDS(commands),
};
