/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gantry_cancel(): descriptors that wait in software are cancelled, descriptors in hardware are
 * not. The adapter runs only inside env_poll(), so each case knows which descriptors wait.
 */
#include <string.h>

#include <rte_common.h>
#include <rte_log.h>

#include <softhca.h>

#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_queue.h"

#include "gantry_arena.h"

#define N 12

static struct gantry_desc
copy_of(uint32_t i, uint64_t cookie)
{
	return WITH(arena_copy(i), cookie, cookie);
}

static void
check_comp(const struct gantry_comp *comp, const struct gantry_desc *d, enum gantry_status status)
{
	CHECK_EQ(comp->cookie, d->cookie);
	CHECK_EQ(comp->status, status);
	CHECK_EQ(comp->op, d->op);
	CHECK_EQ(comp->len, d->len);
	CHECK_EQ(comp->syndrome, 0);
	CHECK_EQ(comp->zero, 0);
	CHECK_EQ(comp->result, 0);
}

/*
 * Descriptor 4 is fenced, so descriptor 4 and all descriptors after it wait until the first poll.
 * gantry_cancel() must find the waiting descriptors by their cookies.
 */
static void
those_that_wait_are_cancelled_by_their_cookie(void)
{
	struct gantry_queue *q = env_queue(g, 32);
	struct gantry_desc desc[N];
	struct gantry_comp comp[N];
	uint64_t n_cancelled = 0;
	uint32_t cookie, i;

	for (cookie = 0; cookie < 4; cookie++) {
		arena_reset(cookie);
		for (i = 0; i < N; i++)
			desc[i] = copy_of(i, i % 3);
		desc[4].flags = GANTRY_DESC_FENCE;
		CHECK_EQ(gantry_submit(q, desc, N), N);
		/*
		 * Descriptor i has the cookie i % 3. The call cancels those of the descriptors 4 to
		 * 11 that have this cookie. No descriptor has cookie 3.
		 */
		CHECK_EQ(gantry_cancel(q, cookie), cookie == 3 ? 0 : cookie == 0 ? 2 : 3);
		CHECK_EQ(gantry_cancel(q, cookie), 0);
		CHECK_EQ(gantry_in_flight(q), N);
		env_collect(q, comp, N);
		for (i = 0; i < N; i++) {
			bool cancelled = i >= 4 && i % 3 == cookie;

			check_comp(&comp[i], &desc[i], cancelled ? GANTRY_CANCELLED : GANTRY_OK);
			CHECK_EQ(arena_is_moved(i), !cancelled);
			n_cancelled += cancelled;
		}
		CHECK_EQ(env_stats(q).by_status[GANTRY_CANCELLED], n_cancelled);
		CHECK_EQ(gantry_cancel(q, cookie), 0);
	}
	env_queue_done(q);
}

/*
 * Some of the cancelled descriptors break a rule. They must not be refused, because cancelled
 * descriptors are not checked.
 */
static void
all_that_wait_may_be_cancelled_whatever_they_are(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_desc desc[8];
	struct gantry_comp comp[8];
	uint32_t round, i;

	/*
	 * There are more rounds than slots, so slots are used again: the former content of a slot
	 * has no effect.
	 */
	for (round = 0; round < 5; round++) {
		arena_reset(round);
		for (i = 0; i < 7; i++)
			desc[i] = copy_of(i, i == 0 ? 1 : 2);
		desc[1].flags = desc[4].flags = GANTRY_DESC_FENCE;
		desc[2] = (struct gantry_desc){.op = GANTRY_OP_NOP, .cookie = 2};
		desc[3] = (struct gantry_desc){.op = 77, .cookie = 2, .len = 5};
		desc[5].flags = 0x8000;
		CHECK_EQ(gantry_submit(q, desc, 7), 7);
		CHECK_EQ(gantry_cancel(q, 2), 6);
		env_collect(q, comp, 7);
		for (i = 0; i < 7; i++) {
			check_comp(&comp[i], &desc[i], i == 0 ? GANTRY_OK : GANTRY_CANCELLED);
			CHECK_EQ(arena_is_moved(i), i == 0);
		}
	}
	env_queue_done(q);
}

static void
what_the_hardware_has_is_not_cancelled(void)
{
	struct gantry_queue *q = env_queue(g, 128);
	uint32_t n_bb = hwq_sq_n_bb(q->conn[GANTRY_CONN_OWN].sq), room = n_bb - 1, i;
	struct gantry_desc desc[128];
	struct gantry_comp comp[128];
	uint64_t max_len = q->conn[GANTRY_CONN_OWN].max_len;

	CHECK(room <= 127);
	arena_reset(1);
	/*
	 * The send queue has one free entry when the long copy begins, so the copy is issued in
	 * part.
	 */
	for (i = 0; i < room; i++)
		desc[i] = copy_of(i, 1);
	CHECK_EQ(gantry_submit(q, desc, room), room);
	CHECK_EQ(gantry_cancel(q, 1), 0);
	desc[0] = env_copy(src + ARENA_LEN / 2, dst + ARENA_LEN / 2, 3 * max_len);
	CHECK(desc[0].len <= ARENA_LEN / 2);
	desc[0].cookie = 1;
	CHECK_EQ(gantry_submit(q, desc, 1), 1);
	CHECK(q->stream.splitting);
	CHECK_EQ(gantry_cancel(q, 1), 0);
	env_collect(q, comp, room + 1);
	for (i = 0; i <= room; i++)
		CHECK_EQ(comp[i].status, GANTRY_OK);
	CHECK(memcmp(dst + ARENA_LEN / 2, src + ARENA_LEN / 2, desc[0].len) == 0);
	env_queue_done(q);
}

/* A fenced descriptor that was cancelled must not delay the descriptors after it. */
static void
a_cancelled_fence_holds_nothing_back(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_desc desc[3] = {copy_of(0, 0), copy_of(1, 1), copy_of(2, 2)};
	struct gantry_comp comp[3];

	arena_reset(1);
	desc[1].flags = GANTRY_DESC_FENCE;
	CHECK_EQ(gantry_submit(q, desc, 3), 3);
	CHECK_EQ(env_stats(q).wqes, 1);
	CHECK_EQ(gantry_cancel(q, 1), 1);
	/* The adapter does not run in this call, so the first copy is not done. */
	CHECK_EQ(gantry_poll(q, comp, 3), 0);
	CHECK_EQ(env_stats(q).wqes, 2);
	env_collect(q, comp, 3);
	check_comp(&comp[1], &desc[1], GANTRY_CANCELLED);
	check_comp(&comp[2], &desc[2], GANTRY_OK);
	env_queue_done(q);
}

/*
 * Copies that were submitted during a repair wait, and can be cancelled. The copies after the
 * failed copy are in hardware, and cannot be cancelled.
 */
static void
copies_that_wait_for_a_repair_are_cancelled(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_conn *own = &q->conn[GANTRY_CONN_OWN];
	struct gantry_desc desc[4] = {env_copy(broken, dst, piece), copy_of(1, 5), copy_of(2, 5),
		copy_of(3, 6)};
	struct gantry_comp comp[4];

	arena_reset(1);
	CHECK_EQ(softhca_fault("refuse call=modify_qp errno=5 times=1"), 0);
	CHECK_EQ(gantry_submit(q, desc, 2), 2);
	env_collect(q, comp, 1);
	CHECK_EQ(own->state, GANTRY_CONN_BROKEN);
	own->repair_tsc = UINT64_MAX;
	CHECK_EQ(gantry_submit(q, desc + 2, 2), 2);
	CHECK_EQ(gantry_cancel(q, 5), 1);
	CHECK_EQ(gantry_poll(q, comp, 4), 0);
	own->repair_tsc = 0;
	env_collect(q, comp + 1, 3);
	check_comp(&comp[1], &desc[1], GANTRY_OK);
	check_comp(&comp[2], &desc[2], GANTRY_CANCELLED);
	check_comp(&comp[3], &desc[3], GANTRY_OK);
	CHECK(arena_is_moved(1) && !arena_is_moved(2) && arena_is_moved(3));
	env_queue_done(q);
}

static const struct check_case cases[] = {
	{"waiting descriptors are cancelled by their cookie",
		those_that_wait_are_cancelled_by_their_cookie},
	{"all waiting descriptors can be cancelled, of every kind",
		all_that_wait_may_be_cancelled_whatever_they_are},
	{"descriptors in hardware are not cancelled", what_the_hardware_has_is_not_cancelled},
	{"a cancelled fence delays no descriptor", a_cancelled_fence_holds_nothing_back},
	{"copies that wait for a repair can be cancelled",
		copies_that_wait_for_a_repair_are_cancelled},
};

int
main(int argc, char **argv)
{
	env_init(0);
	arena_create(NULL);
	rte_log_set_level(gantry_logtype, RTE_LOG_EMERG);
	/* The length is small, so that a long copy becomes a few WQEs. */
	g->info.max_copy_len = 1024;
	piece = 64;
	arena_break();
	return arena_run(cases, RTE_DIM(cases), argc, argv);
}
