/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The emulated adapter's CQs beyond polling, through stock libibverbs and libmlx5: resizing with
 * work under way, moderated events, and clocks.
 */
#include "softhca_pair.h"

static void
post_send(struct pair *p, uint64_t id)
{
	struct ibv_sge sge = {(uintptr_t)p->client.buf, 8, p->client.mr->lkey};
	struct ibv_send_wr wr = {.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {(uintptr_t)p->server.buf, p->server.mr->rkey}};
	struct ibv_send_wr *bad;

	pair_publish(&p->client);
	CHECK_EQ(ibv_post_send(p->client.qp, &wr, &bad), 0);
}

/* Posts n writes, and returns when all have completed. No completion is polled. */
static void
complete(struct pair *p, uint64_t first, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		post_send(p, first + i);
	/* Resizing waits for all doorbells that were rung; events need a moment. */
	for (unsigned int i = 0; i < 10; i++)
		pair_run();
}

static void
expect(struct ibv_cq *cq, uint64_t first, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		uint64_t end = pair_now_ms() + 10000;
		struct ibv_wc wc;
		int got;

		while ((got = ibv_poll_cq(cq, 1, &wc)) == 0 && pair_now_ms() < end)
			pair_run();
		CHECK_EQ(got, 1);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ(wc.wr_id, first + i);
	}
}

/* Completions from before and after a resize come in order, for a larger and for a smaller CQ. */
static void
resize_keeps_all(struct pair *p)
{
	static const int sizes[] = {100, 9, 1000, 7, 30, 4000, 15};
	uint64_t id = 65500; /* a number of this program's own count */

	for (unsigned int round = 0; round < 200; round++) {
		unsigned int before = round % 7, after = round % 4;

		complete(p, id, before);
		CHECK_EQ(ibv_resize_cq(p->client.cq, sizes[round % 7]), 0);
		CHECK(p->client.cq->cqe >= sizes[round % 7]);
		for (unsigned int i = 0; i < after; i++)
			post_send(p, id + before + i);
		expect(p->client.cq, id, before + after);
		id += before + after;
	}
}

static void
case_resize(void)
{
	struct pair p;

	pair_init(&p, &(struct pair_opts){.cqe = 20});
	resize_keeps_all(&p);
	pair_fini(&p);
}

static void
case_resize_128(void)
{
	struct pair p;

	CHECK_EQ(setenv("MLX5_CQE_SIZE", "128", 1), 0);
	pair_init(&p, &(struct pair_opts){.cqe = 20});
	CHECK_EQ(unsetenv("MLX5_CQE_SIZE"), 0);
	CHECK_EQ(p.client.cqe_len, 128);
	resize_keeps_all(&p);
	pair_fini(&p);
}

/* ibv_resize_cq(3) fails with EINVAL and changes nothing. */
static void
case_resize_refused(void)
{
	struct pair p;

	pair_init(&p, &(struct pair_opts){.cqe = 15});
	complete(&p, 1, 5);
	CHECK_EQ(ibv_resize_cq(p.client.cq, 3), EINVAL);
	CHECK_EQ(ibv_resize_cq(p.client.cq, 7), 0);
	expect(p.client.cq, 1, 5);
	/* A full CQ has no room for the entry that marks the end of the old buffer. */
	complete(&p, 6, 8);
	CHECK_EQ(ibv_resize_cq(p.client.cq, 100), EINVAL);
	expect(p.client.cq, 6, 8);
	CHECK_EQ(ibv_resize_cq(p.client.cq, 100), 0);
	complete(&p, 14, 50);
	expect(p.client.cq, 14, 50);
	CHECK_EQ(ibv_resize_cq(p.client.cq, 5000000), EINVAL);
	complete(&p, 64, 1);
	expect(p.client.cq, 64, 1);
	pair_fini(&p);
}

/*
 * Checks the first half of an entry of 128 bytes: zeros if padding was asked for, else unchanged.
 */
static void
check_half(bool padded)
{
	struct pair_opts opts = {.cqe = 7, .padded = padded};
	struct pair p;

	CHECK_EQ(setenv("MLX5_CQE_SIZE", "128", 1), 0);
	pair_init(&p, &opts);
	CHECK_EQ(unsetenv("MLX5_CQE_SIZE"), 0);
	CHECK_EQ(p.client.cqe_len, 128);
	for (unsigned int i = 0; i < p.client.n_cqe; i++)
		memset(p.client.cqes + (size_t)i * 128, 0xa5, 64);
	complete(&p, 1, 3);
	expect(p.client.cq, 1, 3);
	for (unsigned int i = 0; i < p.client.n_cqe * 128; i++)
		if (i % 128 < 64)
			CHECK_EQ(p.client.cqes[i], padded && i / 128 < 3 ? 0 : 0xa5);
	pair_fini(&p);
}

static void
case_padding(void)
{
	check_half(true);
	check_half(false);
}

/* ---------------------------------------------------------------- moderation */

static bool
has_event(struct pair *p, unsigned int ms)
{
	struct pollfd fd = {.fd = p->client.channel->fd, .events = POLLIN};
	uint64_t end = pair_now_ms() + ms;
	struct ibv_cq *cq;
	void *context;

	do {
		pair_run();
		if (poll(&fd, 1, 0) == 1) {
			CHECK_EQ(ibv_get_cq_event(p->client.channel, &cq, &context), 0);
			CHECK(cq == p->client.cq);
			ibv_ack_cq_events(cq, 1);
			return true;
		}
	} while (pair_now_ms() < end);
	return false;
}

static int
moderate(struct pair *p, uint16_t count, uint16_t period)
{
	struct ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = {count, period}};

	return ibv_modify_cq(p->client.cq, &attr);
}

static void
case_moderate_count(void)
{
	struct pair p;

	pair_init(&p, NULL);
	CHECK_EQ(moderate(&p, 4, 0), 0);
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	complete(&p, 0, 3);
	CHECK(!has_event(&p, 20));
	complete(&p, 3, 1);
	CHECK(has_event(&p, 5000));
	expect(p.client.cq, 0, 4);
	/*
	 * The count starts anew with each arming, and includes completions that are already there.
	 */
	complete(&p, 4, 2);
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	CHECK(!has_event(&p, 20));
	complete(&p, 6, 2);
	CHECK(has_event(&p, 5000));
	expect(p.client.cq, 4, 4);
	/* Without moderation, each completion makes an event. A delayed event comes at once. */
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	complete(&p, 8, 1);
	CHECK(!has_event(&p, 20));
	CHECK_EQ(moderate(&p, 0, 0), 0);
	CHECK(has_event(&p, 5000));
	expect(p.client.cq, 8, 1);
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	complete(&p, 9, 1);
	CHECK(has_event(&p, 5000));
	expect(p.client.cq, 9, 1);
	pair_fini(&p);
}

static uint64_t
now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void
case_moderate_period(void)
{
	const uint64_t period_us = 4000;
	struct pair p;
	uint64_t start;

	pair_init(&p, NULL);
	CHECK_EQ(moderate(&p, 1000, (uint16_t)period_us), 0);
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	pair_run();
	start = now_ns(CLOCK_MONOTONIC);
	post_send(&p, 1);
	CHECK(has_event(&p, 5000));
	CHECK(now_ns(CLOCK_MONOTONIC) - start >= period_us * 1000);
	expect(p.client.cq, 1, 1);
	CHECK_EQ(moderate(&p, 1, 0x1000), EINVAL);
	pair_fini(&p);
}

/* ---------------------------------------------------------------- clocks */

static uint64_t
raw_clock(struct ibv_context *ctx)
{
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};

	CHECK_EQ(ibv_query_rt_values_ex(ctx, &values), 0);
	CHECK_EQ(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	return (uint64_t)values.raw_clock.tv_nsec;
}

/* Waits for a later time: it comes with the adapter's next turn. */
static uint64_t
later_clock(struct ibv_context *ctx, uint64_t last)
{
	uint64_t end = pair_now_ms() + 10000, clock;

	while ((clock = raw_clock(ctx)) <= last) {
		CHECK(clock == last && pair_now_ms() < end);
		pair_run();
	}
	return clock;
}

/* The clock is between the system's times from before and after the query. */
static void
case_clock(void)
{
	uint64_t before = now_ns(CLOCK_MONOTONIC), clock, last = 0;
	struct ibv_context *ctx = pair_open(0), *other = pair_open(0);

	for (unsigned int i = 0; i < 50; i++) {
		clock = later_clock(ctx, last);
		CHECK(clock >= before && clock <= now_ns(CLOCK_MONOTONIC));
		last = clock;
	}
	CHECK(raw_clock(other) >= before);
	/* Closing one context does not stop the clocks of others. */
	CHECK_EQ(ibv_close_device(other), 0);
	other = pair_open(0);
	later_clock(ctx, last);
	later_clock(other, last);
	CHECK_EQ(ibv_close_device(other), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* libmlx5 converts one clock to the other by the page that it mapped (mlx5dv_get_clock_info(3)). */
static void
case_timestamps(void)
{
	struct pair p;
	struct ibv_cq_ex *cq;
	uint64_t before[2], after[2];

	pair_init(&p, &(struct pair_opts){.extended = true});
	cq = p.client.cqx;
	before[0] = now_ns(CLOCK_MONOTONIC);
	before[1] = now_ns(CLOCK_REALTIME);
	post_send(&p, 1);
	for (uint64_t end = pair_now_ms() + 5000;
		ibv_start_poll(cq, &(struct ibv_poll_cq_attr){0}) == ENOENT;) {
		CHECK(pair_now_ms() < end);
		pair_run();
	}
	after[0] = now_ns(CLOCK_MONOTONIC);
	after[1] = now_ns(CLOCK_REALTIME);
	CHECK_EQ(cq->wr_id, 1);
	CHECK_EQ(cq->status, IBV_WC_SUCCESS);
	CHECK(ibv_wc_read_completion_ts(cq) >= before[0] &&
		ibv_wc_read_completion_ts(cq) <= after[0]);
	/*
	 * The clock page was read when the context was opened. The two clocks drift apart only a
	 * little.
	 */
	CHECK(ibv_wc_read_completion_wallclock_ns(cq) + 10000000 >= before[1] &&
		ibv_wc_read_completion_wallclock_ns(cq) <= after[1] + 10000000);
	ibv_end_poll(cq);
	pair_fini(&p);
}

static const struct check_case cases[] = {
	{"a CQ's size changes and no completion is lost", case_resize},
	{"a CQ's size changes with entries of 128 bytes, too", case_resize_128},
	{"an invalid size is refused and changes nothing", case_resize_refused},
	{"both halves of padded entries are written", case_padding},
	{"a moderated event comes with the last completion of the count", case_moderate_count},
	{"a moderated event comes when its period has passed", case_moderate_period},
	{"the adapter's clock runs in every context", case_clock},
	{"completions are stamped with both clocks", case_timestamps},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
