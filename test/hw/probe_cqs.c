/* SPDX-License-Identifier: BSD-3-Clause */
/* Assumptions about completion queues: overrun, arming, moderation, timestamps. */
#include "probe_work.h"

/* ---- overrun */

#define SMALL_CQ 15 /* number of CQEs that fit; the CQ is rounded up to a power of two */
#define TOO_MANY 40

static void
cq_full_qp(struct probe_answer *a)
{
	struct pair p;
	bool came;

	pair_init(&p, &(struct pair_opts){.cqe = SMALL_CQ});
	for (int i = 0; i < TOO_MANY; i++)
		probe_post_write(&p.client, p.server.mr->rkey, (uintptr_t)p.server.buf);
	came = probe_event_comes(p.ctx, IBV_EVENT_QP_FATAL, PROBE_PATIENCE_MS);
	probe_saw(a, came && pair_state(p.client.qp) == IBV_QPS_ERR, "%s, state %d",
		came ? "the event came" : "no such event", pair_state(p.client.qp));
}

#define RECV_CQ 4 /* number of CQEs in the receiver's CQ */

/* Opens a receiver with a CQ of RECV_CQ CQEs and an SRQ with more receives. */
static void
small_ends_open(struct ends *e, enum kind kind)
{
	ends_open(e, kind, IBV_QPS_RTS, RECV_CQ - 1);
	for (int i = 0; i < RECV_CQ + 4; i++)
		node_recv_of(&e->b, e->at, node_partner(kind), 0);
}

/* Sends until the receiver's CQ has failed. */
static void
overrun(struct ends *e, enum kind kind)
{
	struct ibv_wc wc;

	for (int i = 0; i < RECV_CQ + 1; i++) {
		node_send(&e->a, e->from, kind, &e->to, false);
		if (!node_try_wait(e->a.scq, &wc, PROBE_PATIENCE_MS) || wc.status != 0)
			break;
	}
}

static void
cq_full_dct(struct probe_answer *a)
{
	struct ends e;
	bool came;

	small_ends_open(&e, K_DCI);
	overrun(&e, K_DCI);
	came = probe_event_comes(e.b.ctx, IBV_EVENT_QP_FATAL, PROBE_PATIENCE_MS);
	probe_saw(a, came, "%s", came ? "the event came" : "no IBV_EVENT_QP_FATAL");
}

static void
cq_full_xrc(struct probe_answer *a)
{
	struct ends e;
	bool early, came;

	small_ends_open(&e, K_XRC_SEND);
	overrun(&e, K_XRC_SEND);
	early = probe_event_comes(e.b.ctx, IBV_EVENT_QP_FATAL, PROBE_NOTHING_MS);
	node_send(&e.a, e.from, K_XRC_SEND, &e.to, false);
	came = probe_event_comes(e.b.ctx, IBV_EVENT_QP_FATAL, PROBE_PATIENCE_MS);
	probe_saw(a, !early && came, "%s",
		early  ? "it fails before the next request"
		: came ? "it fails at the next request"
		       : "it does not fail");
}

/* ---- events */

/* Posts a write of the client and waits until it has completed. The CQE stays in the CQ. */
static void
complete_unseen(struct pair *p)
{
	const uint32_t slot = p->client.polled & (p->client.n_cqe - 1);
	const uint8_t *op_own = p->client.cqes + (size_t)slot * p->client.cqe_len + 63;
	uint64_t end = pair_now_ms() + PROBE_PATIENCE_MS;

	probe_post_write(&p->client, p->server.mr->rkey, (uintptr_t)p->server.buf);
	/* While the slot is not written, its opcode is the invalid one that libmlx5 stored. */
	while (__atomic_load_n(op_own, __ATOMIC_ACQUIRE) >> 4 == MLX5_CQE_INVALID) {
		CHECK(pair_now_ms() < end);
		pair_run();
	}
}

/* Waits up to `ms` milliseconds for an event of the client's CQ. */
static bool
event_comes(struct pair *p, unsigned int ms)
{
	struct pollfd fd = {.fd = p->client.channel->fd, .events = POLLIN};
	uint64_t end = pair_now_ms() + ms;

	while (poll(&fd, 1, 0) != 1) {
		if (pair_now_ms() >= end)
			return false;
		pair_run();
	}
	return true;
}

/* If the device has no moderation, stores the answer and returns false. */
static bool
moderate(struct probe_answer *a, struct pair *p, uint16_t count, uint16_t period_us)
{
	struct ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = {.cq_count = count, .cq_period = period_us}};
	int rc;

	pair_init(p, NULL);
	rc = ibv_modify_cq(p->client.cq, &attr);
	if (rc != 0)
		probe_cannot(a, "the device does not moderate events: %s", strerror(rc));
	return rc == 0;
}

static void
arm(struct pair *p)
{
	CHECK_EQ(ibv_req_notify_cq(p->client.cq, 0), 0);
}

static void
armed_unseen(struct probe_answer *a)
{
	struct pair p;
	bool came;

	pair_init(&p, NULL);
	complete_unseen(&p);
	arm(&p);
	came = event_comes(&p, PROBE_PATIENCE_MS);
	probe_saw(a, came, "%s", came ? "the event came" : "no event");
}

static void
moderation_unseen(struct probe_answer *a)
{
	struct pair p;
	bool early, came;

	if (!moderate(a, &p, 2, 0))
		return;
	complete_unseen(&p);
	arm(&p);
	early = event_comes(&p, PROBE_NOTHING_MS);
	probe_post_write(&p.client, p.server.mr->rkey, (uintptr_t)p.server.buf);
	came = event_comes(&p, PROBE_PATIENCE_MS);
	probe_saw(a, !early && came, "%s",
		early  ? "an event for the first of two"
		: came ? "an event for the second of two"
		       : "no event for the second of two");
}

#define PERIOD_US 4000
#define TRIES     500 /* number of tries: on a busy machine some events are late, but not all */

/* Acknowledges the event that was received. */
static void
take_event(struct pair *p)
{
	struct ibv_cq *cq;
	void *context;

	CHECK_EQ(ibv_get_cq_event(p->client.channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
}

static uint64_t
us_since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)((now.tv_sec - from->tv_sec) * 1000000 +
			  (now.tv_nsec - from->tv_nsec) / 1000);
}

/*
 * Arms the CQ and posts a write. Returns the microseconds from the post to the write's event, or 0
 * without an event. Consumes the CQE and the event.
 */
static uint64_t
time_of_event(struct pair *p)
{
	struct timespec from;
	uint64_t us;

	CHECK_EQ(ibv_req_notify_cq(p->client.cq, 0), 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	probe_post_write(&p->client, p->server.mr->rkey, (uintptr_t)p->server.buf);
	if (!event_comes(p, PROBE_PATIENCE_MS))
		return 0;
	us = us_since(&from);
	take_event(p);
	CHECK_EQ(pair_wait(&p->client).status, IBV_WC_SUCCESS);
	return us;
}

/*
 * After a long pause, the event must be raised at once. The smallest time of several tries counts.
 */
static void
moderation_first(struct probe_answer *a)
{
	struct pair p;
	uint64_t us = 1, least = UINT64_MAX;

	if (!moderate(a, &p, 100, PERIOD_US))
		return;
	for (int i = 0; i < TRIES && least >= PERIOD_US / 2 && us != 0; i++) {
		usleep(2 * PERIOD_US);
		us = time_of_event(&p);
		if (us != 0 && us < least)
			least = us;
	}
	probe_saw(a, least < PERIOD_US / 2,
		"after a pause the event came after %llu us, of a period of %d",
		(unsigned long long)least, PERIOD_US);
}

/*
 * At least one period must pass between the post of a write and the second of two consecutive
 * events.
 */
static void
second_event_waits(struct probe_answer *a, uint16_t count)
{
	struct timespec from;
	struct pair p;
	uint64_t first, us;

	if (!moderate(a, &p, count, PERIOD_US))
		return;
	clock_gettime(CLOCK_MONOTONIC, &from);
	first = time_of_event(&p);
	us = time_of_event(&p) == 0 ? 0 : us_since(&from);
	probe_saw(a, first != 0 && us >= PERIOD_US * 9 / 10,
		"the first of two events came after %llu us, the second after %llu us, of a period of %d",
		(unsigned long long)first, (unsigned long long)us, PERIOD_US);
}

static void
moderation_period(struct probe_answer *a)
{
	second_event_waits(a, 100);
}

static void
moderation_count_1(struct probe_answer *a)
{
	second_event_waits(a, 1);
}

static void
moderation_no_period(struct probe_answer *a)
{
	struct pair p;
	bool came;

	if (!moderate(a, &p, 2, 0))
		return;
	arm(&p);
	complete_unseen(&p);
	came = event_comes(&p, 2 * PROBE_NOTHING_MS);
	probe_saw(a, !came, "%s", came ? "an event for the first of two" : "no event");
}

/* ---- timestamps */

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * ticks: the timestamp of a write. after, before: the write was made after the time `after`, and
 * before the time `before`, in ns.
 */
struct stamp {
	uint64_t ticks, after, before;
};

static struct stamp
stamp(struct pair *p)
{
	struct ibv_poll_cq_attr attr = {0};
	uint64_t end = pair_now_ms() + PROBE_PATIENCE_MS;
	struct stamp s = {.after = now_ns()};

	probe_post_write(&p->client, p->server.mr->rkey, (uintptr_t)p->server.buf);
	while (ibv_start_poll(p->client.cqx, &attr) != 0) {
		CHECK(pair_now_ms() < end);
		pair_run();
	}
	s.ticks = ibv_wc_read_completion_ts(p->client.cqx);
	pair_observe(&p->client);
	ibv_end_poll(p->client.cqx);
	s.before = now_ns();
	return s;
}

#define GHZ_IN_KHZ 1000000

static void
timestamp_clock(struct probe_answer *a)
{
	struct ibv_device_attr_ex device;
	struct pair p;
	struct stamp first, second;
	uint64_t ticks, ns, least, most;

	pair_init(&p, &(struct pair_opts){.extended = true});
	CHECK_EQ(ibv_query_device_ex(p.ctx, NULL, &device), 0);
	if (device.hca_core_clock == 0) {
		probe_cannot(a, "the device does not tell the rate of its clock.");
		return;
	}
	first = stamp(&p);
	usleep(3 * PROBE_NOTHING_MS * 1000);
	second = stamp(&p);
	ticks = second.ticks - first.ticks;
	ns = (uint64_t)((double)ticks * GHZ_IN_KHZ / (double)device.hca_core_clock);
	least = second.after - first.before;
	most = second.before - first.after;
	/* The two clocks may differ by 1 %. */
	probe_saw(a, ns >= least / 100 * 99 && ns <= most / 100 * 101,
		"%llu periods of %llu kHz in %llu to %llu ns", (unsigned long long)ticks,
		(unsigned long long)device.hca_core_clock, (unsigned long long)least,
		(unsigned long long)most);
}

const struct probe probe_cqs[] = {
	{"cq-full-qp", "A full CQ puts its queue pairs in error with IBV_EVENT_QP_FATAL.",
		"Gantry's CQs have room for each completion; a program whose CQ is too small learns it by another event, or not at all.",
		cq_full_qp},
	{"cq-full-dct", "A full CQ puts its DCTs in error with IBV_EVENT_QP_FATAL.",
		"Gantry's CQs have room for each completion; a program's DC target with a CQ that is too small fails in another way.",
		cq_full_dct},
	{"cq-full-xrc", "An XRC target fails when the next request names an SRQ whose CQ is full.",
		"Gantry uses no XRC; a program's XRC target with a CQ that is too small fails at another time.",
		cq_full_xrc},
	{"armed-unseen",
		"An armed CQ that already holds unseen completions sends its event at once.",
		"A worker of Gantry with GANTRY_IDLE_SLEEP may sleep beside a completion until the next one comes: let it spin.",
		armed_unseen},
	{"timestamp-clock", "CQE timestamps count periods of hca_core_clock.",
		"A program that converts the timestamps of completions by that rate gets wrong times; Gantry reads none.",
		timestamp_clock},
	{"moderation-unseen",
		"When the program arms the CQ, moderation counts the completions that the program "
		"has not read. It then counts all later completions.",
		"Gantry sets no moderation; a program that does may wake later, or sleep beside completions.",
		moderation_unseen},
	{"moderation-first",
		"A completion that comes a period or more after the CQ's last event makes its event "
		"at once.",
		"Gantry sets no moderation; a program that does may wake later.", moderation_first},
	{"moderation-period",
		"A completion that comes less than a period after the CQ's last event makes its "
		"event when a period has passed since that event.",
		"Gantry sets no moderation; a program that does may wake earlier or later.",
		moderation_period},
	{"moderation-no-period", "A period of 0 sets no time limit.",
		"Gantry sets no moderation; a program that sets a count alone wakes earlier.",
		moderation_no_period},
	{"moderation-count-1",
		"With a count of 1 and a period other than 0, the event still waits until the "
		"period has passed.",
		"Gantry sets no moderation; a program that sets a count of 1 with a period wakes earlier.",
		moderation_count_1},
	{"resize-after-work",
		"RESIZE_CQ takes effect when all work requests whose doorbells rang before the "
		"call have run.",
		"Gantry resizes no CQ; only a program that resizes a CQ in use could see another order.",
		NULL, "a card has already run that work."},
	{NULL},
};
