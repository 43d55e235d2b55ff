/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing model: completion times are those that the settings promise, worked out here by hand.
 * Pumped and polled without a pause, so that what is measured is the model and not a sleep.
 */
#include "softhca_pair.h"

/* Values large enough to stand out of a busy machine's noise. */
#define LATENCY_US    1000
#define ROUND_TRIP_US 20000
#define MBPS          80 /* 10 bytes a microsecond */

static struct pair p;

static uint64_t
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void
post_write(struct pair_end *from, struct pair_end *to, uint32_t len, unsigned int n)
{
	struct ibv_sge sge = {(uintptr_t)from->buf, len, from->mr->lkey};
	struct ibv_send_wr wr[32], *bad;

	for (unsigned int i = 0; i < n; i++) {
		wr[i] = (struct ibv_send_wr){.wr_id = i,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.next = i + 1 < n ? &wr[i + 1] : NULL,
			.wr.rdma = {(uintptr_t)to->buf + 32768, to->mr->rkey}};
	}
	CHECK_EQ(ibv_post_send(from->qp, wr, &bad), 0);
}

static void
wait_one(struct pair_end *e)
{
	struct ibv_wc wc;
	int n;

	do {
		softhca_pump();
		n = ibv_poll_cq(e->cq, 1, &wc);
	} while (n == 0);
	CHECK_EQ(n, 1);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
}

static bool late;

/* Never early. Late, once in a while, is the machine: see punctual(). */
static void
expect_us(uint64_t start, uint64_t want)
{
	uint64_t took = now_us() - start;

	CHECK(took >= want);
	if (took > want + want / 2 + 10000)
		late = true;
}

/* Of five tries one keeps to its times. */
static void
punctual(void (*run)(void))
{
	for (unsigned int i = 0; i < 5; i++) {
		late = false;
		run();
		if (!late)
			return;
	}
	CHECK(!late);
}

/* The i-th of n posted at once completes after i latencies, its bytes and one round trip. */
static void
burst(void)
{
	uint64_t start;

	pair_init(&p, NULL);
	start = now_us();
	post_write(&p.client, &p.server, 10, 30);
	for (unsigned int i = 1; i <= 30; i++) {
		wait_one(&p.client);
		expect_us(start, (uint64_t)i * LATENCY_US + 1 + ROUND_TRIP_US);
	}
	pair_fini(&p);
}

/* 20,000 bytes take 2 ms at 10 a microsecond: more than the latency, which overlaps. */
static void
bandwidth(void)
{
	uint64_t start;

	pair_init(&p, NULL);
	start = now_us();
	post_write(&p.client, &p.server, 20000, 20);
	for (unsigned int i = 1; i <= 20; i++) {
		wait_one(&p.client);
		expect_us(start, LATENCY_US + (uint64_t)i * 2000 + ROUND_TRIP_US);
	}
	pair_fini(&p);
}

/* Two queues have a latency each, and share the port. */
static void
two_queues(void)
{
	uint64_t start;

	pair_init(&p, NULL);
	start = now_us();
	post_write(&p.client, &p.server, 20000, 10);
	post_write(&p.server, &p.client, 20000, 10);
	for (unsigned int i = 1; i <= 10; i++) {
		wait_one(&p.client);
		wait_one(&p.server);
	}
	expect_us(start, LATENCY_US + 20 * 2000 + ROUND_TRIP_US);
	pair_fini(&p);
}

/* A copy inside the adapter has no wire. */
static void
local(void)
{
	uint64_t start;

	pair_init(&p, NULL);
	if (!pair_has_mmo(p.ctx)) {
		pair_fini(&p);
		return;
	}
	start = now_us();
	ibv_wr_start(p.client.qpx);
	for (unsigned int i = 0; i < 10; i++) {
		p.client.qpx->wr_id = i;
		p.client.qpx->wr_flags = IBV_SEND_SIGNALED;
		mlx5dv_wr_memcpy(p.client.dvx, p.client.mr->lkey, (uintptr_t)p.client.buf + 32768,
			p.client.mr->lkey, (uintptr_t)p.client.buf, 20000);
	}
	CHECK_EQ(ibv_wr_complete(p.client.qpx), 0);
	for (unsigned int i = 1; i <= 10; i++)
		wait_one(&p.client);
	expect_us(start, 10 * LATENCY_US);
	pair_fini(&p);
}

static void
case_burst(void)
{
	punctual(burst);
}

static void
case_bandwidth(void)
{
	punctual(bandwidth);
}

static void
case_two_queues(void)
{
	punctual(two_queues);
}

static void
case_local(void)
{
	punctual(local);
}

static const struct check_case cases[] = {
	{"a burst's operations follow each other by the latency, one round trip later", case_burst},
	{"data take their time on the port", case_bandwidth},
	{"queues share the port", case_two_queues},
	{"a copy inside the adapter takes no wire", case_local},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
