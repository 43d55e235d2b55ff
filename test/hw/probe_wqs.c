/* SPDX-License-Identifier: BSD-3-Clause */
/* Assumptions about states of work queues. */
#include "probe_work.h"

static int
move_wq(struct ibv_wq *wq, enum ibv_wq_state from, enum ibv_wq_state to)
{
	struct ibv_wq_attr attr = {.attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE,
		.wq_state = to,
		.curr_wq_state = from};

	return ibv_modify_wq(wq, &attr);
}

static void
wq_states(struct probe_answer *a)
{
	static const enum ibv_wq_state way[] = {IBV_WQS_RESET, IBV_WQS_RDY, IBV_WQS_ERR,
		IBV_WQS_RESET, IBV_WQS_RDY, IBV_WQS_RESET};
	struct node n = node_open(255);
	struct ibv_wq_init_attr init = {.wq_type = IBV_WQT_RQ,
		.max_wr = 4,
		.max_sge = 1,
		.pd = n.pd,
		.cq = n.rcq};
	struct ibv_wq *wq = ibv_create_wq(n.ctx, &init);
	int rc;

	if (wq == NULL) {
		probe_cannot(a, "the device makes no work queue: %s", strerror(errno));
		return;
	}
	for (size_t i = 0; i + 1 < sizeof(way) / sizeof(way[0]); i++) {
		rc = move_wq(wq, way[i], way[i + 1]);
		if (rc != 0) {
			probe_saw(a, false, "it does not go from state %d to state %d: %s", way[i],
				way[i + 1], strerror(rc));
			return;
		}
	}
	probe_saw(a, true, "it goes each of these ways");
}

const struct probe probe_wqs[] = {
	{"wq-states",
		"A work queue goes from RESET to RDY, from RDY to ERR, and from each to RESET.",
		"Gantry's engine makes no work queues; a program that restarts one, as DPDK's mlx5 driver does, is refused a step.",
		wq_states},
	{NULL},
};
