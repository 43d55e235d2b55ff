/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arming and completion channels, as in ibv_req_notify_cq(3) and ibv_get_cq_event(3): each arming
 * makes one event, there is no event without an arming, and no event is lost between a poll and a
 * sleep. The arming doorbells are compared with those of libmlx5. Asynchronous events, as in
 * ibv_get_async_event(3).
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "hwq_async.h"
#include "hwq_cancel.h"
#include "hwq_emu.h"
#include "hwq_event.h"

static struct hwq_dev *dev;

/* Two connected QPs, each with its own CQ. Both CQs are on one channel. */
struct channel_pair {
	struct hwq_domain *domain;
	struct hwq_channel *channel;
	struct hwq_cq *cq[2];
	struct hwq_qp *qp[2];
};

static void
channel_pair_create(struct channel_pair *r, bool non_blocking)
{
	struct hwq_qp_conf conf = {.sq_wr = 64, .rq_wr = 64};
	unsigned int i;

	if (hwq_domain_create(dev, &r->domain) != 0 || hwq_channel_create(dev, &r->channel) != 0)
		EMU_DIE("a channel");
	for (i = 0; i < 2; i++)
		if (hwq_cq_create_on(r->domain, hwq_qp_cqe_needed(&conf), r->channel, &r->cq[i]) !=
				0 ||
			hwq_qp_create(r->domain, r->cq[i], &conf, &r->qp[i]) != 0)
			EMU_DIE("queues on a channel");
	twin_connect(r->qp[0], r->qp[1]);
	if (non_blocking && fcntl(r->channel->fd, F_SETFL, O_NONBLOCK) != 0)
		EMU_DIE("O_NONBLOCK");
}

static void
channel_pair_destroy(struct channel_pair *r)
{
	unsigned int i;

	CHECK_EQ(hwq_channel_destroy(r->channel), -EBUSY, "destroying a channel in use");
	for (i = 0; i < 2; i++)
		if (hwq_qp_destroy(r->qp[i]) != 0 || hwq_cq_destroy(r->cq[i]) != 0)
			EMU_DIE("destroying queues");
	if (hwq_channel_destroy(r->channel) != 0 || hwq_domain_destroy(r->domain) != 0)
		EMU_DIE("destroying a channel");
}

static void
post_nop(struct hwq_qp *qp)
{
	if (hwq_wqe_nop(&qp->sq, HWQ_WQE_SIGNALED) != 1)
		EMU_DIE("full");
	hwq_sq_ring(&qp->sq);
}

/* Consumes all completions. Returns their number. */
static unsigned int
take(struct hwq_cq *cq, struct hwq_qp *qp)
{
	struct hwq_cqe rec[16];
	unsigned int i, n, sum = 0;

	while ((n = hwq_cq_poll(cq, rec, 16)) != 0) {
		for (i = 0; i < n; i++) {
			if (hwq_cqe_is_recv((uint8_t)(rec[i].opcode << 4)))
				hwq_rq_complete(&qp->rq, rec[i].wqe_counter);
			else
				hwq_sq_complete(&qp->sq, rec[i].wqe_counter);
		}
		sum += n;
	}
	return sum;
}

/* Checks that the next event is of this CQ, and acknowledges it. */
static void
expect_event(struct channel_pair *r, struct hwq_cq *cq, const char *when)
{
	struct hwq_cq *got = NULL;

	emu_pump();
	CHECK(hwq_channel_get_event(r->channel, &got) == 0 && got == cq, "no event of it: %s",
		when);
	if (got != NULL)
		hwq_cq_ack_events(got, 1);
}

static void
expect_none(struct channel_pair *r, const char *when)
{
	struct hwq_cq *got = NULL;

	emu_pump();
	CHECK_EQ(hwq_channel_get_event(r->channel, &got), -EAGAIN, when);
}

static void
one_event_for_each_arming(void)
{
	struct hwq_cq *cq;
	struct hwq_qp *qp;
	struct channel_pair r;
	unsigned int i;

	channel_pair_create(&r, true);
	cq = r.cq[0];
	qp = r.qp[0];
	post_nop(qp);
	expect_none(&r, "not armed");
	CHECK_EQ(take(cq, qp), 1, "completions");
	for (i = 0; i < 300 && check_failures == 0; i++) {
		hwq_cq_arm(cq, false);
		expect_none(&r, "armed, and nothing completes");
		post_nop(qp);
		expect_event(&r, cq, "armed");
		post_nop(qp);
		expect_none(&r, "an event disarms the CQ");
		CHECK_EQ(take(cq, qp), 2, "completions");
		/* A completion that is unread at the time of arming must make an event. */
		post_nop(qp);
		emu_pump();
		hwq_cq_arm(cq, false);
		expect_event(&r, cq, "armed while a completion is unread");
		CHECK_EQ(take(cq, qp), 1, "completions");
		/* Arming twice must make one event. */
		hwq_cq_arm(cq, false);
		hwq_cq_arm(cq, false);
		post_nop(qp);
		expect_event(&r, cq, "armed twice");
		expect_none(&r, "one event");
		CHECK_EQ(take(cq, qp), 1, "completions");
	}
	/* Each of two CQs on one channel must make its own event. */
	hwq_cq_arm(r.cq[1], false);
	hwq_cq_arm(r.cq[0], false);
	post_nop(r.qp[1]);
	expect_event(&r, r.cq[1], "the second CQ");
	post_nop(r.qp[0]);
	expect_event(&r, r.cq[0], "the first CQ");
	channel_pair_destroy(&r);
}

static void
solicited_only(void)
{
	struct channel_pair r;
	unsigned int i;

	channel_pair_create(&r, true);
	for (i = 0; i < 3; i++) {
		CHECK(hwq_rq_post(&r.qp[1]->rq, 0, 0, 0), "posting");
		hwq_rq_ring(&r.qp[1]->rq);
	}
	hwq_cq_arm(r.cq[1], true);
	CHECK_EQ(hwq_wqe_one(&r.qp[0]->sq, MLX5_OPCODE_SEND, 0, 0, 0, 0, 0, 0, 0), 1, "WQEBBs");
	hwq_sq_ring(&r.qp[0]->sq);
	expect_none(&r, "the sender did not ask for it");
	CHECK_EQ(hwq_wqe_one(&r.qp[0]->sq, MLX5_OPCODE_SEND, 0, 0, 0, 0, 0, HWQ_WQE_SOLICITED, 0),
		1, "WQEBBs");
	hwq_sq_ring(&r.qp[0]->sq);
	expect_event(&r, r.cq[1], "the sender asked for it");
	CHECK_EQ(take(r.cq[1], r.qp[1]), 2, "completions");
	/* A failed completion must count as solicited. */
	hwq_cq_arm(r.cq[1], true);
	expect_none(&r, "armed");
	CHECK_EQ(hwq_qp_fail(r.qp[1]), 0, "to ERR");
	expect_event(&r, r.cq[1], "a flushed receive");
	CHECK_EQ(take(r.cq[1], r.qp[1]), 1, "completions");
	channel_pair_destroy(&r);
}

/* A CQ of libmlx5 that gets the same completions, for comparison. */
struct stock_channel {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct mlx5dv_cq view;
};

static void
stock_channel_create(struct stock_channel *s)
{
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_send_sge = 1}};
	struct mlx5dv_obj obj;

	memset(s, 0, sizeof(*s));
	s->channel = ibv_create_comp_channel(dev->ctx);
	s->cq = ibv_create_cq(dev->ctx, 100, NULL, s->channel, 0);
	if (s->channel == NULL || s->cq == NULL)
		EMU_DIE("libmlx5's CQ");
	attr.send_cq = attr.recv_cq = s->cq;
	s->qp = ibv_create_qp(dev->pd, &attr);
	obj.cq.in = s->cq;
	obj.cq.out = &s->view;
	if (s->qp == NULL || mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ) != 0)
		EMU_DIE("libmlx5's QP");
	stock_to_init(dev, s->qp);
	stock_connect(dev, s->qp, s->qp->qp_num);
}

static void
stock_channel_destroy(struct stock_channel *s)
{
	if (ibv_destroy_qp(s->qp) != 0 || ibv_destroy_cq(s->cq) != 0 ||
		ibv_destroy_comp_channel(s->channel) != 0)
		EMU_DIE("destroying libmlx5's CQ");
}

static void
stock_one_event(struct stock_channel *s)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED},
			   *bad;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *user;

	if (ibv_post_send(s->qp, &wr, &bad) != 0)
		EMU_DIE("posting");
	emu_pump();
	if (ibv_get_cq_event(s->channel, &cq, &user) != 0 || ibv_poll_cq(s->cq, 1, &wc) != 1)
		EMU_DIE("libmlx5's event");
	ibv_ack_cq_events(cq, 1);
}

/*
 * Arming must write the words that libmlx5 writes. The adapter is not pumped here, so the test can
 * read these words.
 */
static void
the_words_of_libmlx5(void)
{
	struct stock_channel s;
	struct channel_pair r;
	unsigned int i;

	channel_pair_create(&r, true);
	stock_channel_create(&s);
	for (i = 0; i < 300 && check_failures == 0; i++) {
		unsigned int k;

		for (k = 0; k < 2; k++) {
			uint64_t doorbell;

			if (ibv_req_notify_cq(s.cq, k == 0) != 0)
				EMU_DIE("arming");
			hwq_cq_arm(r.cq[0], k == 0);
			memcpy(&doorbell, r.cq[0]->uar + MLX5_CQ_DOORBELL, sizeof(doorbell));
			CHECK_EQ(be32toh(r.cq[0]->dbrec[1]), be32toh(s.view.dbrec[1]), "the word");
			CHECK_EQ(be64toh(doorbell),
				(uint64_t)be32toh(s.view.dbrec[1]) << 32 | r.cq[0]->cqn,
				"the doorbell");
			CHECK(r.cq[0]->uar == s.view.cq_uar, "the doorbell's place");
			CHECK_EQ(be32toh(r.cq[0]->dbrec[0]), be32toh(s.view.dbrec[0]), "the index");
		}
		stock_one_event(&s);
		post_nop(r.qp[0]);
		expect_event(&r, r.cq[0], "armed");
		CHECK_EQ(take(r.cq[0], r.qp[0]), 1, "completions");
	}
	stock_channel_destroy(&s);
	channel_pair_destroy(&r);
}

/* ------------------------------------------------------------------ nothing is lost */

#define N_NAPS 3000

struct sender {
	struct hwq_domain *domain;
	struct hwq_cq *cq;
	struct hwq_qp *qp;
};

/*
 * A slow sender: it sends single messages, after pauses of different lengths. At most one message
 * is unread at a time.
 */
static _Atomic unsigned int n_seen;

static void
dawdle(uint64_t *rnd, unsigned int max)
{
	uint64_t k;

	for (k = check_random(rnd) % max; k != 0; k--)
		__asm__ volatile("" ::: "memory");
}

static void *
send_slowly(void *arg)
{
	struct sender *s = (struct sender *)arg;
	uint64_t rnd = 1;
	unsigned int i;

	for (i = 0; i < N_NAPS; i++) {
		while (atomic_load(&n_seen) < i)
			sched_yield();
		dawdle(&rnd, 512);
		while (hwq_wqe_one(&s->qp->sq, MLX5_OPCODE_SEND, 0, 0, 0, 0, 0, HWQ_WQE_SIGNALED,
			       0) != 1)
			take(s->cq, s->qp);
		hwq_sq_ring(&s->qp->sq);
	}
	return NULL;
}

/*
 * No event may be lost. With poll_again the steps are: arm, poll again, sleep, as hwq_event.h
 * requires. Otherwise they are: poll, arm, sleep. If a completion came between the poll and the
 * arming, the consumer index of the arming makes the device send an event.
 */
static void
nothing_is_lost(bool poll_again)
{
	struct hwq_qp_conf conf = {.sq_wr = 64};
	unsigned int i, naps = 0;
	uint64_t rnd = 2;
	struct hwq_cqe rec;
	struct hwq_cq *got;
	struct sender s;
	struct channel_pair r;
	pthread_t thread;

	channel_pair_create(&r, false);
	if (hwq_domain_create(dev, &s.domain) != 0 ||
		hwq_cq_create(s.domain, hwq_qp_cqe_needed(&conf), &s.cq) != 0 ||
		hwq_qp_create(s.domain, s.cq, &conf, &s.qp) != 0 || hwq_qp_reset(r.qp[0]) != 0)
		EMU_DIE("a sender");
	twin_connect(s.qp, r.qp[0]);
	for (i = 0; i < 64; i++)
		CHECK(hwq_rq_post(&r.qp[0]->rq, 0, 0, 0), "posting");
	hwq_rq_ring(&r.qp[0]->rq);
	atomic_store(&n_seen, 0);
	if (pthread_create(&thread, NULL, send_slowly, &s) != 0)
		EMU_DIE("a thread");
	if (poll_again)
		hwq_cq_arm(r.cq[0], false);
	while (atomic_load(&n_seen) < N_NAPS) {
		struct pollfd fd = {.fd = r.channel->fd, .events = POLLIN};
		unsigned int n = take(r.cq[0], r.qp[0]);

		for (i = 0; i < n; i++)
			hwq_rq_post(&r.qp[0]->rq, 0, 0, 0);
		hwq_rq_ring(&r.qp[0]->rq);
		atomic_fetch_add(&n_seen, n);
		if (n != 0)
			continue;
		if (!poll_again) {
			/*
			 * In every second round the message arrives before the arming. Its
			 * completion is peeked but not consumed.
			 */
			while (naps % 2 == 0 && !hwq_cq_peek(r.cq[0], &rec))
				sched_yield();
			dawdle(&rnd, 512);
			hwq_cq_arm(r.cq[0], false);
		}
		if (poll(&fd, 1, CHECK_PATIENCE_MS) != 1)
			EMU_DIE("asleep after %u of %u messages: one was lost",
				atomic_load(&n_seen), N_NAPS);
		if (hwq_channel_get_event(r.channel, &got) != 0)
			EMU_DIE("an event");
		hwq_cq_ack_events(got, 1);
		naps++;
		if (poll_again)
			hwq_cq_arm(r.cq[0], false);
	}
	pthread_join(thread, NULL);
	printf("  %u messages, %u sleeps\n", N_NAPS, naps);
	/*
	 * Each event is for a message after the index of its arming. Without the second poll, the
	 * last message may cause a second event.
	 */
	CHECK(naps > 0 && naps <= (poll_again ? 2 : 1) * N_NAPS, "%u sleeps", naps);
	if (hwq_qp_destroy(s.qp) != 0 || hwq_cq_destroy(s.cq) != 0 ||
		hwq_domain_destroy(s.domain) != 0)
		EMU_DIE("destroying a sender");
	channel_pair_destroy(&r);
}

/* ------------------------------------------------------------------ asynchronous events */

static void
expect_no_async(const char *when)
{
	struct hwq_async event;

	emu_pump();
	CHECK_EQ(hwq_async_get(dev, &event), -EAGAIN, when);
}

/*
 * Checks that the next asynchronous event is of this kind and for this object, and acknowledges it.
 */
static void
expect_async(enum hwq_async_what what, struct hwq_qp *qp, struct hwq_cq *cq, unsigned int port,
	const char *name)
{
	struct hwq_async event;

	emu_pump();
	if (hwq_async_get(dev, &event) != 0)
		EMU_DIE("no event: %s", name);
	CHECK_EQ(event.what, what, name);
	CHECK(event.qp == qp, "the QP: %s", name);
	CHECK(event.cq == cq, "the CQ: %s", name);
	CHECK_EQ(event.port, port, name);
	CHECK(strcmp(event.name, name) == 0, "%s is called %s", name, event.name);
	if (event.qp != NULL)
		CHECK(hwq_qp_user(event.qp) == &qp->qpn, "what the QP is to its user: %s", name);
	if (event.cq != NULL)
		CHECK(hwq_cq_user(event.cq) == &cq->cqn, "what the CQ is to its user: %s", name);
	hwq_async_ack(&event);
}

static void
arm_fault(const char *line)
{
	if (softhca_fault(line) != 0)
		EMU_DIE("%s", line);
}

/* Names of events must equal those of ibv_event_type_str(3). */
static void
async_events(void)
{
	struct channel_pair r;
	unsigned int i;

	if (fcntl(hwq_async_fd(dev), F_SETFL, O_NONBLOCK) != 0)
		EMU_DIE("O_NONBLOCK");
	channel_pair_create(&r, true);
	for (i = 0; i < 2; i++) {
		CHECK(hwq_qp_user(r.qp[i]) == NULL && hwq_cq_user(r.cq[i]) == NULL, "at first");
		hwq_qp_set_user(r.qp[i], &r.qp[i]->qpn);
		hwq_cq_set_user(r.cq[i], &r.cq[i]->cqn);
	}
	expect_no_async("nothing happened");
	arm_fault("sq_drained");
	post_nop(r.qp[0]);
	expect_async(HWQ_ASYNC_SQ_DRAINED, r.qp[0], NULL, 0, "send queue drained");
	CHECK_EQ(take(r.cq[0], r.qp[0]), 0, "completions of a queue that stands still");
	CHECK_EQ(hwq_qp_resume(r.qp[0]), 0, "resuming");
	expect_no_async("resumed");
	CHECK_EQ(take(r.cq[0], r.qp[0]), 1, "completions");
	arm_fault("qp_fatal");
	post_nop(r.qp[1]);
	expect_async(HWQ_ASYNC_QP_FAILED, r.qp[1], NULL, 0, "local work queue catastrophic error");
	/* No second event may come, because the QP has neither a receive queue nor an SRQ. */
	expect_no_async("one event");
	arm_fault("port_down");
	expect_async(HWQ_ASYNC_PORT_DOWN, NULL, NULL, 1, "port error");
	arm_fault("port_down port=2");
	expect_async(HWQ_ASYNC_PORT_DOWN, NULL, NULL, 2, "port error");
	arm_fault("port_up port=2");
	expect_async(HWQ_ASYNC_PORT_UP, NULL, NULL, 2, "port active");
	arm_fault("port_up");
	expect_async(HWQ_ASYNC_PORT_UP, NULL, NULL, 1, "port active");
	arm_fault("cq_overrun");
	post_nop(r.qp[0]);
	expect_async(HWQ_ASYNC_CQ_FAILED, NULL, r.cq[0], 0, "CQ error");
	expect_async(HWQ_ASYNC_QP_FAILED, r.qp[0], NULL, 0, "local work queue catastrophic error");
	arm_fault("device_fatal");
	expect_async(HWQ_ASYNC_DEVICE_FAILED, NULL, NULL, 0, "local catastrophic error");
	expect_no_async("all is told");
	softhca_faults_clear();
	channel_pair_destroy(&r);
}

/*
 * If a queue refuses a request of its peer, the queue fails. Reasons: the rights of a key, or a
 * request that is not valid.
 */
static void
refused_requests(void)
{
	static uint8_t bytes[64] __attribute__((aligned(64)));
	struct channel_pair r;
	struct hwq_mr mr;
	unsigned int i;

	if (hwq_mr_register(dev, bytes, sizeof(bytes), HWQ_ACCESS_LOCAL_WRITE, &mr) != 0)
		EMU_DIE("registering");
	channel_pair_create(&r, true);
	hwq_qp_set_user(r.qp[1], &r.qp[1]->qpn);
	for (i = 0; i < 2; i++) {
		if (i == 0)
			CHECK_EQ(hwq_wqe_rdma_write(&r.qp[0]->sq, mr.rkey, (uintptr_t)bytes,
					 mr.lkey, (uintptr_t)bytes + 32, 8, 0),
				1, "a write to memory that peers may not write");
		else
			CHECK_EQ(hwq_wqe_atomic_fetch_add(&r.qp[0]->sq, mr.rkey,
					 (uintptr_t)bytes + 1, mr.lkey, (uintptr_t)bytes + 32, 1,
					 0),
				1, "an atomic of an odd address");
		hwq_sq_ring(&r.qp[0]->sq);
		expect_async(HWQ_ASYNC_QP_FAILED, r.qp[1], NULL, 0,
			i == 0 ? "local access violation work queue error"
			       : "invalid request local work queue error");
		expect_no_async("one event");
		take(r.cq[0], r.qp[0]);
		if (hwq_qp_reset(r.qp[0]) != 0 || hwq_qp_reset(r.qp[1]) != 0)
			EMU_DIE("resetting");
		twin_connect(r.qp[0], r.qp[1]);
	}
	channel_pair_destroy(&r);
	CHECK_EQ(hwq_mr_deregister(&mr), 0, "deregistering");
}

/*
 * Opens the device again, with the ports of the bit mask `down` down. Returns the port that the
 * device uses.
 */
static unsigned int
port_when_down(unsigned int down)
{
	struct hwq_dev *again;
	unsigned int port;

	if ((down & 1) != 0)
		arm_fault("port_down port=1");
	if ((down & 2) != 0)
		arm_fault("port_down port=2");
	if (hwq_dev_open(NULL, &again) != 0)
		EMU_DIE("opening");
	port = again->port.port;
	CHECK(again->port.has_gid && again->port.active_mtu != 0, "port %u", port);
	if (hwq_dev_close(again) != 0)
		EMU_DIE("closing");
	softhca_faults_clear();
	return port;
}

static void
first_active_port(void)
{
	CHECK_EQ(port_when_down(0), 1, "both are active");
	CHECK_EQ(port_when_down(1), 2, "port 1 is down");
	CHECK_EQ(port_when_down(2), 1, "port 2 is down");
	CHECK_EQ(emu_log_lines, 0, "log lines");
	CHECK_EQ(port_when_down(3), 1, "both are down");
	CHECK_EQ(emu_log_lines, 1, "log lines");
	emu_log_lines = 0;
}

static void
expect_next_port(uint8_t after, unsigned int want, const char *when)
{
	uint8_t port = 0;

	CHECK_EQ(hwq_dev_next_port(dev, after, &port), 0, when);
	CHECK_EQ(port, want, when);
}

static void
ports_in_turn(void)
{
	CHECK_EQ(dev->port.port, 1, "the device's port");
	expect_next_port(0, 1, "the first turn");
	expect_next_port(1, 2, "after port 1");
	expect_next_port(2, 1, "after port 2");
	arm_fault("port_down port=1");
	expect_next_port(0, 2, "port 1 is down");
	expect_next_port(1, 2, "port 1 is down");
	expect_next_port(2, 2, "port 1 is down");
	arm_fault("port_down port=2");
	expect_next_port(1, 1, "both are down");
	softhca_faults_clear();
	arm_fault("port_down port=2");
	expect_next_port(1, 1, "port 2 is down");
	softhca_faults_clear();
}

/*
 * A queue pair must use the port of its path, with that port's address: the GID of the index in the
 * path, or hwq's choice if `index` is negative.
 */
static void
port_and_gid_of_a_path(int index)
{
	struct hwq_qp_conf conf = {.sq_wr = 4};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct hwq_addr addr;
	union ibv_gid gid;
	unsigned int port;
	struct twin t;

	for (port = 0; port <= 2; port++) {
		unsigned int want = port == 0 ? 1 : port;

		conf.path.port = (uint8_t)port;
		conf.path.mask = index >= 0 ? HWQ_PATH_GID_INDEX : 0;
		conf.path.gid_index = index >= 0 ? (uint16_t)index : 0;
		twin_create(dev, &conf, &t);
		twin_connect_self(&t);
		hwq_qp_addr(t.qp, &addr);
		CHECK(index < 0 || t.qp->port.gid_index == index, "GID %d", index);
		CHECK_EQ(ibv_query_gid(dev->ctx, (uint8_t)want, t.qp->port.gid_index, &gid), 0,
			"GID");
		check_bytes(addr.gid, gid.raw, 16, "GID of the port");
		CHECK_EQ(ibv_query_qp(t.qp->qp, &attr, IBV_QP_PORT | IBV_QP_AV, &init), 0, "query");
		CHECK_EQ(attr.port_num, want, "port");
		CHECK_EQ(attr.ah_attr.port_num, want, "port of the address");
		post_nop(t.qp);
		emu_pump();
		CHECK_EQ(take(t.cq, t.qp), 1, "completions");
		twin_destroy(&t);
	}
}

static void
port_of_a_path(void)
{
	int index;

	/* Each port has four GIDs: ibv_devinfo -v. */
	for (index = -1; index < 4; index++)
		port_and_gid_of_a_path(index);
}

int
main(int argc, char **argv)
{
	const char *threads = getenv("SOFTHCA_THREADS");
	bool pumped;

	(void)argc;
	if (threads == NULL)
		emu_setting(argv, "SOFTHCA_THREADS", "0");
	pumped = threads == NULL || strcmp(threads, "0") == 0;
	hwq_log_set(emu_count_log);
	dev = emu_open();
	if (pumped) {
		RUN("a device uses its first port that is active", first_active_port());
		RUN("a queue pair is on the port of its path", port_of_a_path());
		RUN("active ports take turns", ports_in_turn());
		RUN("each arming makes one event, and without arming there is none",
			one_event_for_each_arming());
		RUN("solicited events only, if asked for", solicited_only());
		RUN("arming writes the words that libmlx5 writes", the_words_of_libmlx5());
		RUN("asynchronous events name what failed", async_events());
		RUN("a refused request fails the queue that refused it", refused_requests());
	} else {
		RUN("arm, poll again, sleep: nothing is lost", nothing_is_lost(true));
		RUN("poll, arm, sleep: the index in the arming makes the event",
			nothing_is_lost(false));
	}
	if (hwq_dev_close(dev) != 0)
		EMU_DIE("closing");
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
