/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow counters of firmware commands. On a card, rules of flow steering count packets in them.
 * There are no such rules here, so a counter stays 0.
 *
 * Bit offsets as in rdma-core's tests (tests/mlx5_prm_structs.py, AllocFlowCounterIn,
 * QueryFlowCounterIn).
 */
#include <errno.h>

#include "caps.h"
#include "devx.h"

#define CMD_ALLOC_FLOW_COUNTER 0x939
#define CMD_QUERY_FLOW_COUNTER 0x93b

enum {
	IN_BULK_LOG_SIZE = 0x73, /* 5 bits */
	IN_BULK = 0x78,          /* 8 bits: not 0 if more than one counter is requested */
	OUT_ID = 0x40,           /* 32 bits */
	QUERY_DUMP = 0xc1,       /* 1 bit: the answer is written to memory */
	QUERY_N = 0xc2,          /* 30 bits: number of counters of a bulk */
	QUERY_ID = 0xe0,         /* 32 bits */
	QUERY_END = 0x100,
	OUT_STATISTICS_END = 0x100 /* packets and octets, 64 bits each, after the header */
};

struct object_counter {
	struct object obj;
};

static int
alloc(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct object_counter *counter;
	int rc;

	if (bits_get(in, IN_BULK_LOG_SIZE, 5) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_BULK_LOG_SIZE);
	if (bits_get(in, IN_BULK, 8) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_BULK);
	rc = devx_refuse_errno(object_create(call->ctx, &devx_counter_class, &counter), 0);
	if (rc != 0)
		return rc;
	bits_set(out, OUT_ID, 32, counter->obj.handle);
	*obj = &counter->obj;
	return 0;
}

static int
query(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	(void)call;
	(void)out;
	if (bits_get(in, QUERY_ID, 32) != obj->handle)
		return -EINVAL;
	if (bits_get(in, QUERY_DUMP, 1) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QUERY_DUMP);
	if (bits_get(in, QUERY_N, 30) > 1)
		return DEVX_REFUSE(DEVX_BAD_PARAM, QUERY_N);
	return 0;
}

static uint32_t
limit(const struct softhca_config *cfg)
{
	(void)cfg;
	return CAPS_MAX_FLOW_COUNTERS;
}

static const struct devx_create creates[] = {
	{CMD_ALLOC_FLOW_COUNTER, DEVX_HEADER, alloc},
};
static const struct devx_command commands[] = {
	{DEVX_QUERIES, &devx_counter_class, CMD_QUERY_FLOW_COUNTER, QUERY_END / 8,
		OUT_STATISTICS_END / 8, query},
};

const struct object_class devx_counter_class = {
	.name = "flow counter",
	.size = sizeof(struct object_counter),
	.limit = limit,
	.by_devx = true,
	CLASS_CREATES(creates),
	CLASS_COMMANDS(commands),
};
