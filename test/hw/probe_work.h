/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work requests that probes post and wait for, in addition to those of softhca_pair.h and
 * softhca_node.h.
 */
#ifndef PROBE_WORK_H
#define PROBE_WORK_H

#include "probe.h"
#include "softhca_node.h"

/*
 * Milliseconds to wait for an event that must occur, or to be sure that no event occurs. On a busy
 * machine the emulated adapter is slow.
 */
#define PROBE_PATIENCE_MS (softhca_active() ? CHECK_PATIENCE_MS : 5000)
#define PROBE_NOTHING_MS  100

/* Few retries with a short timeout of 4.096 us * 2^8. */
#define PROBE_SHORT_RETRIES .timeout = 8, .retry_cnt = 1

#define PROBE_LEN 64 /* length of a message */

/* Posts an RDMA write of PROBE_LEN bytes from the start of the end's memory. */
static inline void
probe_post_write(struct pair_end *e, uint32_t rkey, uint64_t to)
{
	struct ibv_sge sge = {(uintptr_t)e->buf, PROBE_LEN, e->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = to, .rkey = rkey}};
	struct ibv_send_wr *bad;

	pair_publish(e);
	CHECK_EQ(ibv_post_send(e->qp, &wr, &bad), 0);
}

/* The client writes to the start of the server's memory. Returns the status of the completion. */
static inline enum ibv_wc_status
probe_write(struct pair *p, uint32_t rkey, uint64_t to)
{
	probe_post_write(&p->client, rkey, to);
	return pair_wait(&p->client).status;
}

/* Returns the name of an asynchronous event, or a text that says that there was none. */
static inline const char *
probe_event_text(int event)
{
	return event < 0 ? "no event" : ibv_event_type_str((enum ibv_event_type)event);
}

/* Waits up to `ms` milliseconds for that event, and consumes events before it. */
static inline bool
probe_event_comes(struct ibv_context *ctx, int event, unsigned int ms)
{
	struct node n = {.ctx = ctx};
	struct ibv_async_event got;
	int type;

	do
		type = node_event(&n, &got, ms);
	while (type >= 0 && type != event);
	return type == event;
}

/* Stores an answer: whether the status is the assumed one. */
static inline void
probe_saw_status(struct probe_answer *a, enum ibv_wc_status got, enum ibv_wc_status assumed)
{
	probe_saw(a, got == assumed, "%s", ibv_wc_status_str(got));
}

/* Two ends, of which the first sends to the second. */
struct ends {
	struct node a, b;
	struct ibv_qp *from, *at;
	struct node_to to;
};

/* Takes both QPs to RTS, except that the receiver is taken to `state`. */
static inline void
ends_open(struct ends *e, enum kind kind, enum ibv_qp_state state, int n_recv_cqe)
{
	enum kind partner = node_partner(kind);
	struct ibv_qp_attr attr;

	e->a = node_open(255);
	e->b = node_open(n_recv_cqe);
	e->from = node_qp(&e->a, kind);
	e->at = node_qp(&e->b, partner);
	node_ready(&e->b, e->at, partner, e->from->qp_num, state);
	node_ready(&e->a, e->from, kind, e->at->qp_num, IBV_QPS_RTS);
	attr = node_attr(&e->a, 0);
	e->to = (struct node_to){.qpn = e->at->qp_num, .srqn = e->b.xrc_srqn};
	if (kind == K_UD || kind == K_DCI) {
		e->to.ah = ibv_create_ah(e->a.pd, &attr.ah_attr);
		CHECK(e->to.ah != NULL);
	}
}

#endif
