/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The times for which the adapter waits: for a receive, for a peer, for a moderated event, and for
 * a fault that has a time. The end of each wait is checked to the nanosecond, with a virtual clock.
 */
#include "softhca_clock.h"

#define MS UINT64_C(1000000)

static struct pair p;

static void
post_send(struct pair_end *e, uint64_t id)
{
	struct ibv_sge sge = {(uintptr_t)e->buf, 8, e->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	pair_publish(e);
	CHECK_EQ(ibv_post_send(e->qp, &wr, &bad), 0);
	clock_settle();
}

static uint8_t
or_zero(unsigned int v)
{
	return v == 0 ? PAIR_ZERO : (uint8_t)v;
}

/* ---- waiting for a receive (RNR) */

/*
 * The wait must depend on the receiver's timer, not on the sender's own timer, which is 491.52 ms
 * or 655.36 ms.
 */
static void
rnr_init(unsigned int retries, unsigned int timer)
{
	pair_init(&p, &(struct pair_opts){.rnr_retry = or_zero(retries),
			      .min_rnr_timer = timer == 31 ? PAIR_ZERO : 31,
			      .no_connect = true});
	pair_connect(&p, &p.client, p.server.qp->qp_num);
	p.opts.min_rnr_timer = or_zero(timer);
	pair_connect(&p, &p.server, p.client.qp->qp_num);
}

/*
 * Expects that the work request ends with the last refusal, `retries` delays after the first
 * refusal.
 */
static void
rnr_expect_end(unsigned int retries, uint64_t delay)
{
	struct ibv_wc wc;

	/* Time passes in steps, because a retry is counted only when the adapter runs. */
	for (unsigned int i = 1; i < retries; i++) {
		clock_pass(delay - 1);
		clock_expect_none(&p.client);
		clock_pass(1);
		clock_expect_none(&p.client);
	}
	wc = retries == 0 ? clock_expect_one(&p.client)
			  : clock_expect_at(&p.client, clock_ns + delay);
	CHECK_EQ(wc.status, IBV_WC_RNR_RETRY_EXC_ERR);
}

static void
case_rnr_retries(void)
{
	for (unsigned int retries = 0; retries < 7; retries++) {
		rnr_init(retries, 20);
		post_send(&p.client, 1);
		rnr_expect_end(retries, 10240000);
		pair_fini(&p);
	}
}

static void
case_rnr_timers(void)
{
	/* The delay of each min_rnr_timer, in units of 10 us: ibv_modify_qp(3). */
	static const uint32_t delays[32] = {65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96,
		128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
		16384, 24576, 32768, 49152};

	for (unsigned int timer = 0; timer < 32; timer++) {
		rnr_init(1, timer);
		post_send(&p.client, 1);
		rnr_expect_end(1, delays[timer] * UINT64_C(10000));
		pair_fini(&p);
	}
}

/*
 * A peer of another process cannot tell the sender of a new receive, or of a new connection. So the
 * message is sent again when a time has passed.
 */
static void
pass_until_sent_again(void)
{
	if (pair_is_loop())
		clock_pass(10240000);
}

/* After a message was received, the next message must have all its retries. */
static void
case_rnr_counts_anew(void)
{
	rnr_init(3, 20);
	post_send(&p.client, 1);
	clock_pass(10240000);
	clock_pass(10240000);
	clock_expect_none(&p.client);
	pair_post_recv(&p.server, 1, 0, 64);
	pass_until_sent_again();
	CHECK_EQ(clock_expect_one(&p.client).status, IBV_WC_SUCCESS);
	post_send(&p.client, 2);
	rnr_expect_end(3, 10240000);
	pair_fini(&p);
}

/* RESET must end a wait, and must clear all flags of the SEND. */
static void
case_rnr_reset(void)
{
	rnr_init(3, 20);
	CHECK_EQ(softhca_fault("drop"), 0);
	post_send(&p.client, 1);
	clock_pass(10240000);
	clock_pass(10240000);
	clock_expect_none(&p.client);
	CHECK_EQ(softhca_faults_left(), 0);
	CHECK_EQ(pair_modify(&p.client, IBV_QPS_RESET), 0);
	p.opts.min_rnr_timer = 31;
	pair_connect(&p, &p.client, p.server.qp->qp_num);
	post_send(&p.client, 2);
	rnr_expect_end(3, 10240000);
	pair_fini(&p);
	/*
	 * A fault is to hide the completion of the first SEND, but RESET ends this SEND. The
	 * completion of the next SEND must not be hidden.
	 */
	rnr_init(3, 20);
	CHECK_EQ(softhca_fault("drop"), 0);
	post_send(&p.client, 1);
	CHECK_EQ(pair_modify(&p.client, IBV_QPS_RESET), 0);
	pair_connect(&p, &p.client, p.server.qp->qp_num);
	pair_post_recv(&p.server, 1, 0, 64);
	post_send(&p.client, 2);
	CHECK_EQ(clock_expect_one(&p.client).wr_id, 2);
	pair_fini(&p);
}

static void
case_rnr_for_ever(void)
{
	rnr_init(7, 20);
	post_send(&p.client, 1);
	for (unsigned int i = 0; i < 100; i++) {
		clock_pass(1000 * MS);
		clock_expect_none(&p.client);
	}
	pair_post_recv(&p.server, 1, 0, 64);
	pass_until_sent_again();
	CHECK_EQ(clock_expect_one(&p.client).status, IBV_WC_SUCCESS);
	pair_fini(&p);
}

/*
 * ---- waiting for a peer: 4.096 us * 2^timeout * (retry_cnt + 1), at most the setting retry_max_ms
 * (doc/softhca-internals.md)
 */

static void
peer_init(unsigned int timeout, unsigned int retries)
{
	pair_init(&p, &(struct pair_opts){.no_connect = true,
			      .timeout = or_zero(timeout),
			      .retry_cnt = or_zero(retries)});
	pair_connect(&p, &p.client, p.server.qp->qp_num);
	post_send(&p.client, 1);
}

static void
case_absent_peer(void)
{
	static const struct {
		unsigned int timeout, retries;
		uint64_t ns;
	} waits[] = {
		{1, 0, 8192},
		{8, 0, 1048576},
		{8, 1, 2097152},
		{8, 7, 8388608},
		{14, 6, 469762048},
		{14, 7, 536870912},
		{31, 7, 70368744177664},
	};
	const uint64_t max = strtoull(getenv("SOFTHCA_RETRY_MAX_MS"), NULL, 10) * MS;

	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		const uint64_t ns = max != 0 && waits[i].ns > max ? max : waits[i].ns;

		peer_init(waits[i].timeout, waits[i].retries);
		CHECK_EQ(clock_expect_at(&p.client, clock_ns + ns).status, IBV_WC_RETRY_EXC_ERR);
		pair_fini(&p);
	}
}

/* With timeout 0 the wait must have no limit (InfiniBand volume 1, 9.7.6.1.3). */
static void
case_absent_peer_for_ever(void)
{
	peer_init(0, 1);
	for (unsigned int i = 0; i < 10; i++) {
		clock_pass(10000 * MS);
		clock_expect_none(&p.client);
	}
	pair_connect(&p, &p.server, p.client.qp->qp_num);
	pair_post_recv(&p.server, 1, 0, 64);
	pass_until_sent_again();
	CHECK_EQ(clock_expect_one(&p.client).status, IBV_WC_SUCCESS);
	pair_fini(&p);
}

/* ---- waiting for a moderated event (ibv_modify_cq(3)) */

static unsigned int
take_events(void)
{
	struct pollfd fd = {.fd = p.client.channel->fd, .events = POLLIN};
	unsigned int n = 0;
	struct ibv_cq *cq;
	void *context;

	clock_settle();
	while (poll(&fd, 1, 0) == 1) {
		CHECK_EQ(ibv_get_cq_event(p.client.channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
		n++;
	}
	return n;
}

static void
moderate(uint16_t count, uint16_t period_us)
{
	struct ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = {count, period_us}};

	CHECK_EQ(ibv_modify_cq(p.client.cq, &attr), 0);
}

static void
complete(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		pair_post_recv(&p.server, 1, 0, 64);
		post_send(&p.client, i);
	}
}

/* The period must count from the last event (linux/dim.h, DIM_CQ_PERIOD_MODE_START_FROM_EQE). */
static void
moderated_event_waits(uint16_t period_us)
{
	pair_init(&p, NULL);
	moderate(1000, period_us);
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	clock_pass(100 * MS);
	CHECK_EQ(take_events(), 0);
	complete(1);
	CHECK_EQ(take_events(), 1);
	clock_pass(100 * MS);
	CHECK_EQ(take_events(), 0);
	/*
	 * The CQ is armed again when a completion is already there and the last event is long ago:
	 * the event must be sent at once.
	 */
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	CHECK_EQ(take_events(), 1);
	/*
	 * The completion is made within the period: the event must wait until a whole period has
	 * passed since the last event.
	 */
	CHECK_EQ(clock_expect_one(&p.client).status, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	clock_pass(period_us * MS / 1000 - MS);
	complete(1);
	clock_pass(MS - 1);
	CHECK_EQ(take_events(), 0);
	clock_pass(1);
	CHECK_EQ(take_events(), 1);
	pair_fini(&p);
}

static void
case_moderate_period(void)
{
	moderated_event_waits(4000);
	/* The longest period. */
	moderated_event_waits(4095);
}

/*
 * A new count or period must send no event if the CQ is not armed, or has already sent its event.
 */
static void
case_moderate_unarmed(void)
{
	pair_init(&p, NULL);
	moderate(1, 0);
	complete(1);
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	CHECK_EQ(take_events(), 1);
	moderate(2, 4000);
	CHECK_EQ(take_events(), 0);
	complete(2);
	moderate(3, 2000);
	clock_pass(100 * MS);
	CHECK_EQ(take_events(), 0);
	pair_fini(&p);
}

/* With a count and a period, the event must be sent when the first of the two is reached. */
static void
case_moderate_both(void)
{
	pair_init(&p, NULL);
	moderate(3, 4000);
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	complete(1);
	CHECK_EQ(take_events(), 1);
	CHECK_EQ(clock_expect_one(&p.client).status, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	complete(2);
	CHECK_EQ(take_events(), 0);
	complete(1);
	CHECK_EQ(take_events(), 1);
	for (unsigned int i = 0; i < 3; i++)
		CHECK_EQ(clock_expect_one(&p.client).status, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	complete(2);
	clock_pass(4 * MS - 1);
	CHECK_EQ(take_events(), 0);
	clock_pass(1);
	CHECK_EQ(take_events(), 1);
	pair_fini(&p);
}

/* ---- waiting for a fault that has a time */

static void
fault(const char *line)
{
	CHECK_EQ(softhca_fault(line), 0);
}

static void
case_late(void)
{
	uint64_t start;

	pair_init(&p, NULL);
	fault("late ms=60 op=2");
	start = clock_ns;
	for (unsigned int i = 0; i < 3; i++)
		pair_post_recv(&p.server, i, 0, 64);
	post_send(&p.client, 1);
	post_send(&p.client, 2);
	post_send(&p.client, 3);
	CHECK_EQ(clock_expect_one(&p.client).wr_id, 1);
	CHECK_EQ(clock_expect_at(&p.client, start + 60 * MS).wr_id, 2);
	CHECK_EQ(clock_expect_one(&p.client).wr_id, 3);
	pair_fini(&p);
}

static void
case_late_receive(void)
{
	uint64_t start;

	pair_init(&p, NULL);
	fault("recv_late ms=60 op=2");
	start = clock_ns;
	for (unsigned int i = 0; i < 3; i++) {
		pair_post_recv(&p.server, i, 0, 64);
		post_send(&p.client, i);
	}
	CHECK_EQ(clock_expect_one(&p.server).wr_id, 0);
	CHECK_EQ(clock_expect_at(&p.server, start + 60 * MS).wr_id, 1);
	CHECK_EQ(clock_expect_one(&p.server).wr_id, 2);
	pair_fini(&p);
}

static int
async_event(void)
{
	struct pollfd fd = {.fd = p.ctx->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	clock_settle();
	if (poll(&fd, 1, 0) == 0)
		return -1;
	CHECK_EQ(ibv_get_async_event(p.ctx, &event), 0);
	ibv_ack_async_event(&event);
	return (int)event.event_type;
}

/*
 * In SQD, a work request that has begun must still end. A delayed work request has begun, so it
 * must end at its time.
 */
static void
case_late_in_sqd(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
	uint64_t start;

	pair_init(&p, NULL);
	fault("late ms=60 op=1");
	start = clock_ns;
	for (unsigned int i = 0; i < 2; i++) {
		pair_post_recv(&p.server, i, 0, 64);
		post_send(&p.client, i);
	}
	CHECK_EQ(ibv_modify_qp(p.client.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	/* A change of an attribute in SQD must not end the draining. */
	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	CHECK_EQ(ibv_modify_qp(p.client.qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS), 0);
	CHECK_EQ(async_event(), -1);
	CHECK_EQ(clock_expect_at(&p.client, start + 60 * MS).wr_id, 0);
	CHECK_EQ(async_event(), IBV_EVENT_SQ_DRAINED);
	clock_pass(60 * MS);
	clock_expect_none(&p.client);
	CHECK_EQ(pair_modify(&p.client, IBV_QPS_RTS), 0);
	CHECK_EQ(clock_expect_one(&p.client).wr_id, 1);
	pair_fini(&p);
}

static void
case_port_blinks(void)
{
	pair_init(&p, &(struct pair_opts){.timeout = 14, .retry_cnt = 6});
	fault("port_down ms=30 op=1");
	pair_post_recv(&p.server, 1, 0, 64);
	post_send(&p.client, 1);
	CHECK_EQ(async_event(), IBV_EVENT_PORT_ERR);
	clock_pass(30 * MS - 1);
	CHECK_EQ(async_event(), -1);
	clock_expect_none(&p.client);
	clock_pass(1);
	CHECK_EQ(async_event(), IBV_EVENT_PORT_ACTIVE);
	CHECK_EQ(clock_expect_one(&p.client).status, IBV_WC_SUCCESS);
	pair_fini(&p);
}

/* ---- the adapter's clock (ibv_query_rt_values_ex(3)) and the timestamps of completions */

static uint64_t
raw_clock(void)
{
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};

	CHECK_EQ(ibv_query_rt_values_ex(p.ctx, &values), 0);
	return (uint64_t)values.raw_clock.tv_nsec;
}

static void
case_clocks(void)
{
	struct ibv_cq_ex *cq;

	pair_init(&p, &(struct pair_opts){.extended = true});
	cq = p.client.cqx;
	for (unsigned int i = 0; i < 3; i++) {
		clock_pass(7 * MS + i);
		CHECK_EQ(raw_clock(), clock_ns);
		complete(1);
		CHECK_EQ(ibv_start_poll(cq, &(struct ibv_poll_cq_attr){0}), 0);
		CHECK_EQ(cq->status, IBV_WC_SUCCESS);
		CHECK_EQ(ibv_wc_read_completion_ts(cq), clock_ns);
		ibv_end_poll(cq);
	}
	pair_fini(&p);
}

static const struct check_case cases[] = {
	{"a refused SEND is retried rnr_retry times", case_rnr_retries},
	{"retries of a SEND follow each other after the receiver's min_rnr_timer", case_rnr_timers},
	{"each SEND has all its retries", case_rnr_counts_anew},
	{"RESET ends a wait", case_rnr_reset},
	{"rnr_retry 7 retries for ever", case_rnr_for_ever},
	{"an absent peer is given up after timeout and retry_cnt", case_absent_peer},
	{"timeout 0 waits for ever", case_absent_peer_for_ever},
	{"a moderated event comes a period after the last event", case_moderate_period},
	{"a moderated event comes by count or by period", case_moderate_both},
	{"moderation alone sends no event", case_moderate_unarmed},
	{"a late completion comes at the time of the fault", case_late},
	{"a late completion comes at the time of the fault in SQD too", case_late_in_sqd},
	{"a late receive comes at the time of the fault", case_late_receive},
	{"a port that is down for a moment is up again at the time of the fault", case_port_blinks},
	{"the adapter's clock is the system's, to the nanosecond", case_clocks},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
