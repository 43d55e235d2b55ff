/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The UAR pages that the adapter checks for doorbells in a turn, which is one call of
 * softhca_pump(). A page that had no doorbell for a long time is "resting": not every turn checks
 * it. An idle adapter must serve a resting page at once, a busy adapter within a limited time, and
 * no page may be forgotten. The test pumps the adapter, so that turns can be counted, and uses a
 * virtual clock.
 */
#include "hwq_emu.h"
#include "virtual_clock.h"

#define N_RESTING  200
#define REST_TURNS 2000 /* more turns than a page needs until it rests */
/*
 * The maximum wait: doc/softhca-internals.md promises at most 1 us for each resting page, and the
 * adapter reads the clock in every 8th turn.
 */
#define WAIT_US_MAX (N_RESTING + 8)

static struct hwq_dev *dev;
/* libmlx5 puts two thread domains on one page, so `spare` shares the page of the busy queue. */
static struct twin busy, spare, resting[N_RESTING];

static void
nop(struct twin *t)
{
	CHECK(hwq_wqe_nop(&t->qp->sq, HWQ_WQE_SIGNALED) == 1, "a NOP fits");
	hwq_sq_ring(&t->qp->sq);
}

static bool
done(struct twin *t)
{
	struct hwq_cqe cqe = {0};

	if (hwq_cq_poll(t->cq, &cqe, 1) == 0)
		return false;
	CHECK_EQ(cqe.syndrome, 0, "the NOP's syndrome");
	hwq_sq_complete(&t->qp->sq, cqe.wqe_counter);
	return true;
}

/* Runs a turn in which the busy queue has a work request, which must be served. */
static void
busy_turn(void)
{
	nop(&busy);
	CHECK(softhca_pump() != 0, "the busy queue's doorbell is seen");
	CHECK(done(&busy), "the busy queue's NOP completes in the turn");
}

static void
let_rest(void)
{
	for (unsigned int i = 0; i < REST_TURNS; i++)
		busy_turn();
}

static void
case_idle_adapter(void)
{
	for (unsigned int i = 0; i < N_RESTING; i++) {
		nop(&resting[i]);
		CHECK(softhca_pump() != 0, "an idle adapter serves a page that rested");
		CHECK(done(&resting[i]), "the NOP completes in one turn");
	}
	CHECK_EQ(softhca_pump(), 0, "then the adapter is idle");
}

static void
case_all_at_once(void)
{
	let_rest();
	for (unsigned int i = 0; i < N_RESTING; i++)
		nop(&resting[i]);
	CHECK(softhca_pump() >= N_RESTING, "one turn of an idle adapter serves all pages");
	for (unsigned int i = 0; i < N_RESTING; i++)
		CHECK(done(&resting[i]), "a NOP of each page");
}

/*
 * A busy adapter must serve a resting page within the promised time. In this test each turn takes a
 * microsecond, so each turn may check one resting page.
 */
static void
case_busy_adapter(void)
{
	unsigned int total = 0, n = 0;

	let_rest();
	for (unsigned int i = 0; i < N_RESTING; i += 7) {
		unsigned int us = 0;

		nop(&resting[i]);
		do {
			busy_turn();
			clock_ns += 1000;
		} while (!done(&resting[i]) && ++us < 10 * WAIT_US_MAX);
		CHECK(us <= WAIT_US_MAX, "a page waits for %u us", us);
		total += us;
		n++;
	}
	/* A turn must not check all resting pages. */
	CHECK(total / n >= N_RESTING / 4, "pages wait for %u us on average", total / n);
}

/*
 * If a control call concerns a resting page, the next turn must serve this page, even if the
 * adapter is busy.
 */
static void
case_attention(void)
{
	struct hwq_cqe cqe = {0};

	let_rest();
	CHECK(hwq_wqe_nop(&resting[3].qp->sq, HWQ_WQE_SIGNALED) == 1, "posted");
	/* Only the doorbell record is written: without a doorbell, the WQE must not run. */
	hwq_store_release(&resting[3].qp->sq.dbrec[MLX5_SND_DBR], htobe32(resting[3].qp->sq.pi));
	CHECK_EQ(hwq_qp_fail(resting[3].qp), 0, "into error");
	busy_turn();
	CHECK_EQ(hwq_cq_poll(resting[3].cq, &cqe, 1), 1, "flushed in the next turn");
	CHECK_EQ(cqe.syndrome, MLX5_CQE_SYNDROME_WR_FLUSH_ERR, "as flushed");
}

int
main(int argc, char **argv)
{
	struct hwq_qp_conf conf = {.sq_wr = 4};

	emu_setting(argv, "SOFTHCA_THREADS", "0");
	dev = emu_open();
	twin_create(dev, &conf, &busy);
	twin_connect_self(&busy);
	twin_create(dev, &conf, &spare);
	for (unsigned int i = 0; i < N_RESTING; i++) {
		twin_create(dev, &conf, &resting[i]);
		twin_connect_self(&resting[i]);
	}
	let_rest();
	RUN("an idle adapter serves a resting page at once", case_idle_adapter());
	RUN("an idle adapter serves all resting pages in one turn", case_all_at_once());
	RUN("a busy adapter serves a resting page within the promised time", case_busy_adapter());
	RUN("a control call on a resting page is served in the next turn", case_attention());
	for (unsigned int i = 0; i < N_RESTING; i++)
		twin_destroy(&resting[i]);
	twin_destroy(&spare);
	twin_destroy(&busy);
	CHECK_EQ(hwq_dev_close(dev), 0, "close");
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
