/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The emulated adapter's data path through stock libibverbs and libmlx5: every operation; waiting,
 * errors and flushes; draining and restarting of queues.
 */
#include <pthread.h>

#include "softhca_pair.h"

static uint64_t
next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void
fill(uint8_t *p, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)next_random(&seed);
}

/* Posts one request by ibv_post_send(3). */
static int
post(struct pair_end *e, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	pair_publish(e);
	return ibv_post_send(e->qp, wr, &bad);
}

static struct ibv_sge
sge(const struct pair_end *e, uint32_t offset, uint32_t len)
{
	return (struct ibv_sge){(uintptr_t)e->buf + offset, len, e->mr->lkey};
}

static void
send_one(struct pair *p, uint32_t len, unsigned int flags)
{
	struct ibv_sge s = sge(&p->client, 0, len);
	struct ibv_send_wr wr = {.wr_id = 1,
		.sg_list = &s,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = flags};

	CHECK_EQ(post(&p->client, &wr), 0);
}

static void
case_send(void)
{
	struct pair p;
	struct ibv_wc wc;

	pair_init(&p, NULL);
	for (uint32_t len = 0; len < 5000; len = len * 3 + 1) {
		fill(p.client.buf, len, len);
		pair_post_recv(&p.server, 100 + len, 4096, 8000);
		send_one(&p, len, IBV_SEND_SIGNALED);
		wc = pair_wait(&p.client);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ(wc.opcode, IBV_WC_SEND);
		CHECK_EQ(wc.wr_id, 1);
		wc = pair_wait(&p.server);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ(wc.opcode, IBV_WC_RECV);
		CHECK_EQ(wc.byte_len, len);
		CHECK_EQ(wc.wr_id, 100 + len);
		CHECK_EQ(wc.qp_num, p.server.qp->qp_num);
		CHECK_EQ(wc.wc_flags, 0);
		CHECK(memcmp(p.server.buf + 4096, p.client.buf, len) == 0);
	}
	pair_fini(&p);
}

static void
case_immediate(void)
{
	struct pair p;
	struct ibv_wc wc;
	struct ibv_sge s;
	struct ibv_send_wr wr = {.sg_list = &s,
		.num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(0x01020304)};

	pair_init(&p, NULL);
	s = sge(&p.client, 0, 300);
	fill(p.client.buf, 300, 5);
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	pair_post_recv(&p.server, 1, 4096, 300);
	CHECK_EQ(post(&p.client, &wr), 0);
	CHECK_EQ(pair_wait(&p.client).opcode, IBV_WC_SEND);
	wc = pair_wait(&p.server);
	CHECK_EQ(wc.opcode, IBV_WC_RECV);
	CHECK_EQ(wc.wc_flags, IBV_WC_WITH_IMM);
	CHECK_EQ(wc.imm_data, htobe32(0x01020304));

	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.wr.rdma.remote_addr = (uintptr_t)p.server.buf + 9000;
	wr.wr.rdma.rkey = p.server.mr->rkey;
	pair_post_recv(&p.server, 2, 0, 0); /* a receive without memory */
	CHECK_EQ(post(&p.client, &wr), 0);
	CHECK_EQ(pair_wait(&p.client).opcode, IBV_WC_RDMA_WRITE);
	wc = pair_wait(&p.server);
	CHECK_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK_EQ(wc.byte_len, 300);
	CHECK_EQ(wc.wr_id, 2);
	CHECK_EQ(wc.imm_data, htobe32(0x01020304));
	CHECK(memcmp(p.server.buf + 9000, p.client.buf, 300) == 0);
	pair_fini(&p);
}

/* Pieces of random lengths on both sides: the result must equal a copy made by the test. */
static void
case_scatter_gather(void)
{
	struct pair p;
	uint64_t seed = 7;

	pair_init(&p, NULL);
	for (int round = 0; round < 300; round++) {
		struct ibv_sge from[4], to[4];
		struct ibv_recv_wr rwr = {.sg_list = to, .num_sge = 4}, *bad;
		struct ibv_send_wr wr = {.sg_list = from,
			.num_sge = 4,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED};
		uint8_t flat[8192];
		uint32_t len = 0, at = 0;

		fill(p.client.buf, PAIR_BUF, (uint64_t)round);
		for (uint32_t i = 0; i < 4; i++) {
			from[i] = sge(&p.client, i * 4096 + (uint32_t)next_random(&seed) % 64,
				(uint32_t)next_random(&seed) % 400);
			memcpy(flat + len, (void *)(uintptr_t)from[i].addr, from[i].length);
			len += from[i].length;
			to[i] = sge(&p.server, i * 4096, (uint32_t)next_random(&seed) % 300);
		}
		to[3].length = 4096;
		pair_publish(&p.server);
		CHECK_EQ(ibv_post_recv(p.server.qp, &rwr, &bad), 0);
		CHECK_EQ(post(&p.client, &wr), 0);
		CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
		CHECK_EQ(pair_wait(&p.server).byte_len, len);
		for (int i = 0; i < 4 && at < len; i++) {
			uint32_t n = to[i].length < len - at ? to[i].length : len - at;

			CHECK(memcmp((void *)(uintptr_t)to[i].addr, flat + at, n) == 0);
			at += n;
		}
	}
	pair_fini(&p);
}

/* Inline data of every length up to the maximum must arrive, over many laps of a small queue. */
static void
case_inline_and_wrap(void)
{
	struct pair p;
	uint8_t data[220];

	pair_init(&p, &(struct pair_opts){.max_send_wr = 8, .max_recv_wr = 8, .cqe = 31});
	for (uint32_t i = 0; i < 3000; i++) {
		uint32_t len = i % 221;
		struct ibv_sge s[2] = {{(uintptr_t)data, len / 3, 0},
			{(uintptr_t)data + len / 3, len - len / 3, 0}};
		struct ibv_send_wr wr = {.wr_id = i,
			.sg_list = s,
			.num_sge = 2,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_INLINE | (i % 3 == 0 ? IBV_SEND_SIGNALED : 0)};

		pair_post_recv(&p.server, i, 0, 220);
		fill(data, len, i);
		CHECK_EQ(post(&p.client, &wr), 0);
		CHECK_EQ(pair_wait(&p.server).byte_len, len);
		CHECK(memcmp(p.server.buf, data, len) == 0);
		if (i % 3 == 0)
			CHECK_EQ(pair_wait(&p.client).wr_id, i);
	}
	pair_fini(&p);
}

static void
case_write_and_read(void)
{
	struct pair p;
	struct ibv_sge s;
	struct ibv_send_wr wr = {.sg_list = &s, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_wc wc;

	pair_init(&p, NULL);
	wr.wr.rdma.rkey = p.server.mr->rkey;
	wr.wr.rdma.remote_addr = (uintptr_t)p.server.buf + 100;
	fill(p.client.buf, 30000, 3);
	wr.opcode = IBV_WR_RDMA_WRITE;
	s = sge(&p.client, 0, 30000);
	CHECK_EQ(post(&p.client, &wr), 0);
	wc = pair_wait(&p.client);
	CHECK_EQ(wc.opcode, IBV_WC_RDMA_WRITE);
	CHECK(memcmp(p.server.buf + 100, p.client.buf, 30000) == 0);
	wr.opcode = IBV_WR_RDMA_READ;
	s = sge(&p.client, 32768, 30000);
	wr.send_flags |= IBV_SEND_FENCE;
	CHECK_EQ(post(&p.client, &wr), 0);
	wc = pair_wait(&p.client);
	CHECK_EQ(wc.opcode, IBV_WC_RDMA_READ);
	CHECK_EQ(wc.byte_len, 30000);
	CHECK(memcmp(p.client.buf + 32768, p.client.buf, 30000) == 0);
	pair_fini(&p);
}

static void
atomic(struct pair *p, enum ibv_wr_opcode opcode, uint64_t compare_add, uint64_t swap)
{
	struct ibv_sge s = sge(&p->client, 0, 8);
	struct ibv_send_wr wr = {.sg_list = &s,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED};

	wr.wr.atomic.remote_addr = (uintptr_t)p->server.buf;
	wr.wr.atomic.rkey = p->server.mr->rkey;
	wr.wr.atomic.compare_add = compare_add;
	wr.wr.atomic.swap = swap;
	CHECK_EQ(post(&p->client, &wr), 0);
	CHECK_EQ(pair_wait(&p->client).status, IBV_WC_SUCCESS);
}

static void
case_atomics(void)
{
	struct pair p;
	uint64_t *there, *here;

	pair_init(&p, NULL);
	there = (uint64_t *)(void *)p.server.buf;
	here = (uint64_t *)(void *)p.client.buf;
	*there = 0x1122334455667788;
	atomic(&p, IBV_WR_ATOMIC_FETCH_AND_ADD, 0x10, 0);
	CHECK_EQ(*here, 0x1122334455667788);
	CHECK_EQ(*there, 0x1122334455667798);
	atomic(&p, IBV_WR_ATOMIC_CMP_AND_SWP, 0x1122334455667798, 42);
	CHECK_EQ(*here, 0x1122334455667798);
	CHECK_EQ(*there, 42);
	atomic(&p, IBV_WR_ATOMIC_CMP_AND_SWP, 41, 7);
	CHECK_EQ(*here, 42);
	CHECK_EQ(*there, 42);
	pair_fini(&p);
}

static void
memcpy_one(struct pair *p, uint32_t src, uint32_t dst, uint32_t len)
{
	struct ibv_qp_ex *x = p->client.qpx;

	pair_publish(&p->client);
	ibv_wr_start(x);
	x->wr_id = 3;
	x->wr_flags = IBV_SEND_SIGNALED;
	mlx5dv_wr_memcpy(p->client.dvx, p->client.mr->lkey, (uintptr_t)p->client.buf + dst,
		p->client.mr->lkey, (uintptr_t)p->client.buf + src, len);
	CHECK_EQ(ibv_wr_complete(x), 0);
}

static void
case_memcpy(void)
{
	struct pair p;
	struct ibv_wc wc;

	pair_init(&p, NULL);
	for (uint32_t len = 1; len < 30000; len = len * 2 + 1) {
		fill(p.client.buf, 30000, len);
		memcpy_one(&p, 0, 32768, len);
		wc = pair_wait(&p.client);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ(wc.opcode, IBV_WC_DRIVER3); /* MLX5DV_WC_MEMCPY: mlx5dv_wr_post(3) */
		CHECK(memcmp(p.client.buf + 32768, p.client.buf, len) == 0);
	}
	pair_fini(&p);
}

static void
case_unsignalled_error(void)
{
	struct pair p;
	struct ibv_sge s;
	struct ibv_send_wr wr = {.wr_id = 5,
		.sg_list = &s,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE};
	struct ibv_wc wc;

	pair_init(&p, NULL);
	wr.wr.rdma.remote_addr = (uintptr_t)p.server.buf;
	wr.wr.rdma.rkey = p.server.mr->rkey + 1;
	s = sge(&p.client, 0, 64);
	pair_post_recv(&p.client, 8, 0, 64);
	pair_post_recv(&p.server, 9, 0, 64);
	CHECK_EQ(post(&p.client, &wr), 0);
	wc = pair_wait(&p.client);
	CHECK_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(wc.wr_id, 5);
	wc = pair_wait(&p.client);
	CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(wc.wr_id, 8);
	wc = pair_wait(&p.server);
	CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(wc.wr_id, 9);
	/* Work posted later, on both queues, must also be flushed. */
	wr.wr_id = 6;
	CHECK_EQ(post(&p.client, &wr), 0);
	wc = pair_wait(&p.client);
	CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(wc.wr_id, 6);
	pair_post_recv(&p.client, 10, 0, 64);
	CHECK_EQ(pair_wait(&p.client).wr_id, 10);
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_QP_ACCESS_ERR);
	pair_fini(&p);
}

/* From ERR by RESET to RTS: no old work request may run. */
static void
case_restart(void)
{
	struct pair p;

	pair_init(&p, NULL);
	for (int round = 0; round < 20; round++) {
		struct ibv_wc wc;

		for (int i = 0; i < 1 + round % 7; i++) {
			pair_post_recv(&p.server, 1, 0, 4096);
			send_one(&p, 64, IBV_SEND_SIGNALED);
			CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
			CHECK_EQ(pair_wait(&p.server).status, IBV_WC_SUCCESS);
		}
		pair_post_recv(&p.server, 2, 0, 4096);
		CHECK_EQ(pair_modify(&p.client, IBV_QPS_ERR), 0);
		send_one(&p, 64, 0);
		CHECK_EQ(pair_wait(&p.client).status, IBV_WC_WR_FLUSH_ERR);
		CHECK_EQ(pair_modify(&p.server, IBV_QPS_ERR), 0);
		CHECK_EQ(pair_wait(&p.server).status, IBV_WC_WR_FLUSH_ERR);
		pair_post_recv(&p.server, 3, 0, 4096);
		CHECK_EQ(pair_wait(&p.server).wr_id, 3);
		CHECK_EQ(pair_modify(&p.client, IBV_QPS_RESET), 0);
		CHECK_EQ(pair_modify(&p.server, IBV_QPS_RESET), 0);
		pair_connect(&p, &p.client, p.server.qp->qp_num);
		pair_connect(&p, &p.server, p.client.qp->qp_num);
		CHECK(!pair_try_wait(&p.client, &wc, 0));
	}
	pair_fini(&p);
}

static void
query(struct pair_end *e, struct ibv_qp_attr *attr)
{
	struct ibv_qp_init_attr init;

	CHECK_EQ(ibv_query_qp(e->qp, attr, IBV_QP_STATE, &init), 0);
}

static int
to_sqd(struct pair_end *e, bool notify)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = notify};

	return ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
}

static void
case_sqd(void)
{
	struct pair p;
	struct ibv_qp_attr attr;

	pair_init(&p, NULL);
	/*
	 * No work request had started, so the queue must drain at once. Work posted now must wait.
	 */
	CHECK_EQ(to_sqd(&p.client, true), 0);
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_SQ_DRAINED);
	pair_post_recv(&p.server, 1, 0, 4096);
	pair_post_recv(&p.server, 2, 0, 4096);
	send_one(&p, 8, IBV_SEND_SIGNALED);
	pair_expect_none(&p.client);
	/* The responder of a QP in SQD must still answer. */
	pair_post_recv(&p.client, 3, 0, 4096);
	{
		struct ibv_sge s = sge(&p.server, 0, 8);
		struct ibv_send_wr wr = {.sg_list = &s,
			.num_sge = 1,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED};

		CHECK_EQ(post(&p.server, &wr), 0);
		CHECK_EQ(pair_wait(&p.server).status, IBV_WC_SUCCESS);
		CHECK_EQ(pair_wait(&p.client).opcode, IBV_WC_RECV);
	}
	query(&p.client, &attr);
	CHECK_EQ(attr.qp_state, IBV_QPS_SQD);
	CHECK_EQ(attr.sq_draining, 0);
	CHECK_EQ(pair_modify(&p.client, IBV_QPS_RTS), 0);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	CHECK_EQ(pair_wait(&p.server).wr_id, 1);
	/* If the program did not ask for an event, no event may be sent. */
	CHECK_EQ(to_sqd(&p.client, false), 0);
	CHECK_EQ(pair_async(&p, 10), -1);
	pair_fini(&p);
}

/*
 * Posts a write and then SENDs that have no receive, with one doorbell. Returns after the first
 * SEND was tried: the visit that completed the write also tries the SEND, and a query waits for the
 * end of the visit.
 */
static void
begin_to_wait(struct pair *p)
{
	struct ibv_sge s = sge(&p->client, 0, 8);
	struct ibv_send_wr wr[3] = {{.opcode = IBV_WR_RDMA_WRITE, .next = &wr[1]},
		{.opcode = IBV_WR_SEND, .next = &wr[2]}, {.opcode = IBV_WR_SEND}};
	struct ibv_qp_attr attr;

	for (unsigned int i = 0; i < 3; i++) {
		wr[i].sg_list = &s;
		wr[i].num_sge = 1;
		wr[i].send_flags = IBV_SEND_SIGNALED;
	}
	wr[0].wr.rdma.remote_addr = (uintptr_t)p->server.buf;
	wr[0].wr.rdma.rkey = p->server.mr->rkey;
	CHECK_EQ(post(&p->client, wr), 0);
	CHECK_EQ(pair_wait(&p->client).opcode, IBV_WC_RDMA_WRITE);
	query(&p->client, &attr);
}

/*
 * A SEND that waits for a receive has started: SQD must be drained only when this SEND has ended.
 */
static void
case_sqd_drains(void)
{
	struct pair p;
	struct ibv_qp_attr attr;

	pair_init(&p, NULL);
	begin_to_wait(&p);
	pair_expect_none(&p.client);
	CHECK_EQ(to_sqd(&p.client, true), 0);
	CHECK_EQ(pair_async(&p, 10), -1);
	query(&p.client, &attr);
	CHECK_EQ(attr.sq_draining, 1);
	pair_post_recv(&p.server, 1, 0, 4096);
	pair_post_recv(&p.server, 2, 0, 4096);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_SQ_DRAINED);
	pair_expect_none(&p.client); /* the second SEND had not started */
	CHECK_EQ(pair_modify(&p.client, IBV_QPS_RTS), 0);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	pair_fini(&p);
}

static void
case_rnr(void)
{
	struct pair p;

	pair_init(&p, &(struct pair_opts){.rnr_retry = PAIR_ZERO});
	send_one(&p, 8, 0);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_RNR_RETRY_EXC_ERR);
	pair_fini(&p);

	/* test_softhca_waits checks the number of retries and the times between them. */
	pair_init(&p, &(struct pair_opts){.rnr_retry = 3, .min_rnr_timer = 20});
	send_one(&p, 8, 0);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_RNR_RETRY_EXC_ERR);
	pair_fini(&p);

	/*
	 * The SEND must be retried for ever, and the following work requests must run in order
	 * after it.
	 */
	pair_init(&p, NULL);
	send_one(&p, 8, IBV_SEND_SIGNALED);
	send_one(&p, 16, IBV_SEND_SIGNALED);
	pair_expect_none(&p.client);
	pair_post_recv(&p.server, 1, 0, 4096);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	CHECK_EQ(pair_wait(&p.server).byte_len, 8);
	pair_expect_none(&p.client);
	pair_post_recv(&p.server, 1, 0, 4096);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	CHECK_EQ(pair_wait(&p.server).byte_len, 16);
	pair_fini(&p);
}

static void
case_no_peer(void)
{
	struct pair p;

	pair_init(&p, &(struct pair_opts){.no_connect = true, .timeout = 8, .retry_cnt = 1});
	pair_connect(&p, &p.client, p.server.qp->qp_num);
	send_one(&p, 8, 0);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_RETRY_EXC_ERR);
	pair_fini(&p);

	/* The peer is destroyed while the client's work requests run. */
	pair_init(&p, &(struct pair_opts){.timeout = 8, .retry_cnt = 1});
	send_one(&p, 8, 0);
	pair_run();
	CHECK_EQ(ibv_destroy_qp(p.server.qp), 0);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_RETRY_EXC_ERR);
	pair_create_qp(&p, &p.server);
	pair_fini(&p);
}

static void
case_cq_overrun(void)
{
	struct pair p;
	int events[2];

	pair_init(&p, &(struct pair_opts){.cqe = 7, .own_uar = true});
	for (int i = 0; i < 9; i++)
		memcpy_one(&p, 0, 4096, 8);
	pair_run();
	events[0] = pair_async(&p, PAIR_PATIENCE_MS);
	events[1] = pair_async(&p, PAIR_PATIENCE_MS);
	CHECK(events[0] == IBV_EVENT_CQ_ERR || events[1] == IBV_EVENT_CQ_ERR);
	CHECK(events[0] == IBV_EVENT_QP_FATAL || events[1] == IBV_EVENT_QP_FATAL);
	pair_fini(&p);
}

static bool
channel_ready(struct pair_end *e, unsigned int ms)
{
	struct pollfd fd = {.fd = e->channel->fd, .events = POLLIN};
	uint64_t end = pair_now_ms() + ms;

	while (poll(&fd, 1, 0) != 1) {
		if (pair_now_ms() >= end)
			return false;
		pair_run();
	}
	return true;
}

static void
take_event(struct pair_end *e)
{
	struct ibv_cq *cq;
	void *context;

	CHECK_EQ(ibv_get_cq_event(e->channel, &cq, &context), 0);
	CHECK(cq == e->cq);
	ibv_ack_cq_events(cq, 1);
}

static void
case_arming(void)
{
	struct pair p;

	pair_init(&p, NULL);
	for (int round = 0; round < 10; round++) {
		CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
		CHECK_EQ(ibv_req_notify_cq(p.server.cq, 1), 0);
		CHECK(!channel_ready(&p.client, 3));
		pair_post_recv(&p.server, 1, 0, 4096);
		pair_post_recv(&p.server, 2, 0, 4096);
		send_one(&p, 8, IBV_SEND_SIGNALED);
		CHECK(channel_ready(&p.client, 5000));
		take_event(&p.client);
		CHECK(!channel_ready(&p.server, 3));
		send_one(&p, 8, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
		CHECK(channel_ready(&p.server, 5000));
		take_event(&p.server);
		CHECK(!channel_ready(&p.client, 3)); /* one event for each arming */
		for (int i = 0; i < 2; i++) {
			CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
			CHECK_EQ(pair_wait(&p.server).status, IBV_WC_SUCCESS);
		}
	}
	/*
	 * A failed completion must also make the event of solicited completions:
	 * ibv_req_notify_cq(3).
	 */
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 1), 0);
	CHECK_EQ(ibv_req_notify_cq(p.server.cq, 1), 0);
	pair_post_recv(&p.server, 1, 0, 4);
	send_one(&p, 8, IBV_SEND_SIGNALED);
	CHECK(channel_ready(&p.client, PAIR_PATIENCE_MS));
	CHECK(channel_ready(&p.server, PAIR_PATIENCE_MS));
	take_event(&p.client);
	take_event(&p.server);
	pair_fini(&p);
}

/* Arming must consider the completions that the program has not read yet: ibv_req_notify_cq(3). */
static void
case_arming_looks_back(void)
{
	struct pair p;

	pair_init(&p, NULL);
	for (unsigned int i = 0; i < 4; i++)
		pair_post_recv(&p.server, i, 0, 4096);
	send_one(&p, 8, IBV_SEND_SIGNALED);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	/* The server's completion is there, but it is not solicited, so it must make no event. */
	CHECK_EQ(ibv_req_notify_cq(p.server.cq, 1), 0);
	CHECK(!channel_ready(&p.server, 3));
	CHECK_EQ(ibv_req_notify_cq(p.server.cq, 0), 0);
	CHECK(channel_ready(&p.server, 5000));
	take_event(&p.server);
	/* A solicited completion is followed by an unsolicited completion. */
	send_one(&p, 8, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
	send_one(&p, 8, IBV_SEND_SIGNALED);
	for (unsigned int i = 0; i < 2; i++)
		CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_req_notify_cq(p.server.cq, 1), 0);
	CHECK(channel_ready(&p.server, 5000));
	take_event(&p.server);
	/*
	 * A completion that was read must make no event. The completion after it is not solicited.
	 */
	for (unsigned int i = 0; i < 2; i++)
		CHECK_EQ(pair_wait(&p.server).status, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_req_notify_cq(p.server.cq, 1), 0);
	CHECK(!channel_ready(&p.server, 3));
	CHECK_EQ(pair_wait(&p.server).status, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_req_notify_cq(p.server.cq, 0), 0);
	CHECK(!channel_ready(&p.server, 3));
	send_one(&p, 8, IBV_SEND_SIGNALED);
	CHECK(channel_ready(&p.server, 5000));
	take_event(&p.server);
	pair_fini(&p);
}

/*
 * Each attribute that ibv_modify_qp(3) lists as needed must be needed. Unknown attributes must be
 * refused.
 */
static void
case_transitions(void)
{
	static const struct {
		enum ibv_qp_state from, to;
		int need;
	} steps[] = {
		{IBV_QPS_RESET, IBV_QPS_INIT,
			IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
		{IBV_QPS_INIT, IBV_QPS_RTR,
			IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER},
		{IBV_QPS_RTR, IBV_QPS_RTS,
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT |
				IBV_QP_RNR_RETRY | IBV_QP_TIMEOUT},
	};
	struct pair p;
	struct ibv_qp_attr attr = {.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.ah_attr = {.is_global = 1, .port_num = 1}};

	pair_init(&p, &(struct pair_opts){.no_connect = true});
	CHECK_EQ(ibv_query_gid(p.ctx, 1, 0, &attr.ah_attr.grh.dgid), 0);
	for (int i = 0; i < 3; i++) {
		attr.qp_state = IBV_QPS_RTS;
		if (i < 2)
			CHECK_EQ(ibv_modify_qp(p.client.qp, &attr, IBV_QP_STATE | steps[2].need),
				EINVAL);
		attr.qp_state = IBV_QPS_SQD;
		CHECK_EQ(ibv_modify_qp(p.client.qp, &attr, IBV_QP_STATE), EINVAL);
		attr.qp_state = steps[i].to;
		for (int bit = 1; bit < 1 << 21; bit <<= 1)
			if (steps[i].need & bit)
				CHECK_EQ(ibv_modify_qp(p.client.qp, &attr,
						 IBV_QP_STATE | (steps[i].need & ~bit)),
					EINVAL);
		CHECK_EQ(ibv_modify_qp(p.client.qp, &attr,
				 IBV_QP_STATE | steps[i].need | IBV_QP_QKEY),
			EINVAL);
		query(&p.client, &attr);
		CHECK_EQ(attr.qp_state, steps[i].from);
		attr.port_num = 1;
		attr.path_mtu = IBV_MTU_1024;
		attr.ah_attr.is_global = 1;
		attr.ah_attr.port_num = 1;
		CHECK_EQ(ibv_query_gid(p.ctx, 1, 0, &attr.ah_attr.grh.dgid), 0);
		attr.qp_state = steps[i].to;
		CHECK_EQ(ibv_modify_qp(p.client.qp, &attr, IBV_QP_STATE | steps[i].need), 0);
	}
	/* A wrong current state must be refused; then the QP moves back through ERR. */
	attr.qp_state = IBV_QPS_RTS;
	attr.cur_qp_state = IBV_QPS_SQD;
	CHECK_EQ(ibv_modify_qp(p.client.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), EINVAL);
	attr.cur_qp_state = IBV_QPS_RTS;
	CHECK_EQ(ibv_modify_qp(p.client.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), 0);
	CHECK_EQ(pair_modify(&p.client, IBV_QPS_ERR), 0);
	CHECK_EQ(pair_modify(&p.client, IBV_QPS_RTS), EINVAL);
	CHECK_EQ(pair_modify(&p.client, IBV_QPS_SQD), EINVAL);
	CHECK_EQ(pair_modify(&p.client, IBV_QPS_RESET), 0);
	pair_fini(&p);
}

/*
 * The two ends of a connection are on two adapters: each adapter must check its own keys and PDs.
 */
static void
case_two_adapters(void)
{
	const char *devices = getenv("SOFTHCA_DEVICES");
	struct pair a, b;
	struct ibv_sge s;
	struct ibv_send_wr wr = {.sg_list = &s, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED};

	if (devices == NULL || strcmp(devices, "2") != 0)
		return;
	pair_init(&a, &(struct pair_opts){.no_connect = true});
	pair_init(&b, &(struct pair_opts){.no_connect = true, .device = 1});
	pair_connect(&a, &a.client, b.server.qp->qp_num);
	pair_connect(&b, &b.server, a.client.qp->qp_num);
	fill(a.client.buf, 4096, 1);
	s = sge(&a.client, 0, 4096);
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.wr.rdma.remote_addr = (uintptr_t)b.server.buf;
	wr.wr.rdma.rkey = b.server.mr->rkey;
	CHECK_EQ(post(&a.client, &wr), 0);
	CHECK_EQ(pair_wait(&a.client).status, IBV_WC_SUCCESS);
	CHECK(memcmp(a.client.buf, b.server.buf, 4096) == 0);
	pair_post_recv(&b.server, 4, 8192, 4096);
	wr.opcode = IBV_WR_SEND;
	CHECK_EQ(post(&a.client, &wr), 0);
	CHECK_EQ(pair_wait(&a.client).status, IBV_WC_SUCCESS);
	CHECK_EQ(pair_wait(&b.server).byte_len, 4096);
	CHECK(memcmp(a.client.buf, b.server.buf + 8192, 4096) == 0);
	/* The key belongs to the sender's adapter, so the other adapter has no such key. */
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.wr.rdma.rkey = a.server.mr->rkey;
	wr.wr.rdma.remote_addr = (uintptr_t)a.server.buf;
	CHECK_EQ(post(&a.client, &wr), 0);
	CHECK_EQ(pair_wait(&a.client).status, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(pair_async(&b, PAIR_PATIENCE_MS), IBV_EVENT_QP_ACCESS_ERR);
	pair_fini(&a);
	pair_fini(&b);
}

/*
 * Several threads post on their own queues, with their own UARs or a shared UAR, while other queues
 * are created and destroyed.
 */
struct soak {
	struct pair p;
	unsigned int rounds;
	uint64_t seed;
};

static void *
soak_main(void *arg)
{
	struct soak *s = arg;
	struct pair *p = &s->p;

	for (unsigned int i = 0; i < s->rounds; i++) {
		uint32_t len = (uint32_t)next_random(&s->seed) % 4096;

		fill(p->client.buf, len, i);
		pair_post_recv(&p->server, i, 8192, 4096);
		send_one(p, len, IBV_SEND_SIGNALED);
		CHECK_EQ(pair_wait(&p->client).status, IBV_WC_SUCCESS);
		CHECK_EQ(pair_wait(&p->server).byte_len, len);
		CHECK(memcmp(p->server.buf + 8192, p->client.buf, len) == 0);
	}
	return NULL;
}

static void
soak(bool own_uar)
{
	enum {
		N = 4
	};
	struct soak s[N];
	pthread_t threads[N];

	memset(s, 0, sizeof(s));
	for (int i = 0; i < N; i++) {
		pair_init(&s[i].p, &(struct pair_opts){.own_uar = own_uar});
		s[i].rounds = pair_is_pumped() ? 3000 : 500;
		s[i].seed = (uint64_t)i + 1;
		CHECK_EQ(pthread_create(&threads[i], NULL, soak_main, &s[i]), 0);
	}
	for (int i = 0; i < 20; i++) {
		struct pair other;

		pair_init(&other, &(struct pair_opts){.own_uar = own_uar});
		pair_post_recv(&other.server, 1, 0, 64);
		send_one(&other, 64, 0); /* this SEND has not ended yet if the lane is slow */
		pair_fini(&other);
	}
	for (int i = 0; i < N; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i < N; i++)
		pair_fini(&s[i].p);
}

static void
case_soak_shared(void)
{
	soak(false);
}

static void
case_soak_own(void)
{
	soak(true);
}

static void
case_no_violations(void)
{
	CHECK_EQ(softhca_violations(), 0);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"a SEND may have any length", case_send},
		{"immediate data arrive", case_immediate},
		{"lists scatter and gather", case_scatter_gather},
		{"inline data arrive, in many laps of the queue", case_inline_and_wrap},
		{"RDMA writes and reads move their bytes", case_write_and_read},
		{"atomics change the memory and return its old value", case_atomics},
		{"a DMA MMO memcpy copies", case_memcpy},
		{"unsignalled work that fails or is flushed completes", case_unsignalled_error},
		{"a queue pair goes from ERR through RESET to RTS, again and again", case_restart},
		{"SQD stops the queue, and RTS restarts it", case_sqd},
		{"SQD waits for work that has started", case_sqd_drains},
		{"a SEND without a receive is retried", case_rnr},
		{"requests to an absent peer fail, also if it is destroyed meanwhile",
			case_no_peer},
		{"a CQ that is overrun fails its queue pairs", case_cq_overrun},
		{"events come for all completions, or for solicited ones", case_arming},
		{"arming counts completions that were not read", case_arming_looks_back},
		{"transitions need the attributes of the manual page", case_transitions},
		{"two adapters can be connected", case_two_adapters},
		{"threads use queues that share pages", case_soak_shared},
		{"threads use queues that have their own pages", case_soak_own},
		{"stock libmlx5 breaks no rule of the queues", case_no_violations},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
