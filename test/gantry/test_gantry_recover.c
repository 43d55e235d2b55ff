/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery of the queue's connection to itself: which descriptors are executed again and how often,
 * repairs that the device refuses, and peers during a repair.
 */
#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_log.h>

#include <softhca.h>

#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_queue.h"

#include "gantry_arena.h"

#define N_PIECES 16

static struct gantry_queue *
queue_with_replays(uint32_t replays)
{
	const struct gantry_queue_conf conf = {.depth = 64, .replays = replays};
	struct gantry_queue *q;

	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	return q;
}

/* ------------------------------------------------------------------ replays */

static void
a_copy_is_carried_out_again_as_often_as_it_is_set(void)
{
	static const struct {
		uint32_t replays, n;
	} rows[] = {{0, 3}, {1, 1}, {2, 2}, {7, 7}, {GANTRY_NO_REPLAYS, 0}};
	struct gantry_desc desc[N_PIECES];
	struct gantry_comp comp[N_PIECES];
	uint32_t row, i;

	for (row = 0; row < RTE_DIM(rows); row++) {
		struct gantry_queue *q = queue_with_replays(rows[row].replays);
		uint32_t n_failed = rows[row].n + 1, n_replays = 0;

		/* Copies 0, 2, 4, ... fail. Each failure breaks the connection once. */
		arena_reset(row);
		for (i = 0; i < N_PIECES; i++)
			desc[i] = i % 2 == 0 ? arena_failing_copy(i) : arena_copy(i);
		CHECK_EQ(gantry_submit(q, desc, N_PIECES), N_PIECES);
		env_collect(q, comp, N_PIECES);
		for (i = 0; i < N_PIECES; i++) {
			bool flushed = i > 2 * (n_failed - 1), fails = i % 2 == 0;

			CHECK_EQ(comp[i].cookie, i);
			CHECK_EQ(comp[i].status, flushed ? GANTRY_FLUSHED
						 : fails ? GANTRY_LOCAL_ERROR
							 : GANTRY_OK);
			CHECK_EQ(comp[i].syndrome != 0, !flushed && fails);
			CHECK_EQ(comp[i].zero, 0);
			CHECK_EQ(arena_is_moved(i), !flushed && !fails);
		}
		/*
		 * After each failure the engine executes all later copies again, up to the allowed
		 * number of times: first all copies after copy 0, then all copies after copy 2, and
		 * so on.
		 */
		for (i = 0; i < rows[row].n; i++)
			n_replays += N_PIECES - 1 - 2 * i;
		CHECK_EQ(env_stats(q).replays, n_replays);
		CHECK_EQ(env_stats(q).recoveries, n_failed);
		/* The replays of the next copies are counted from 0 again. */
		desc[0] = arena_failing_copy(0);
		desc[1] = arena_copy(1);
		CHECK_EQ(gantry_submit(q, desc, 2), 2);
		env_collect(q, comp, 2);
		CHECK_EQ(comp[1].status, rows[row].n == 0 ? GANTRY_FLUSHED : GANTRY_OK);
		env_queue_done(q);
	}
}

static void
more_than_a_hundred_replays_are_refused(void)
{
	struct gantry_queue_conf conf = {.depth = 64, .replays = 101};
	struct gantry_queue *q;

	CHECK_EQ(gantry_queue_create(g, &conf, &q), -EINVAL);
	conf.replays = 100;
	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	env_queue_done(q);
}

/*
 * Copies that are executed again must be right even if their WQEs cross the end of the ring. So
 * each round begins at another index of the ring.
 */
static void
what_is_carried_out_again_may_go_around_the_rings_end(void)
{
	struct gantry_queue *q = queue_with_replays(0);
	struct gantry_desc desc[N_PIECES];
	struct gantry_comp comp[N_PIECES];
	uint32_t n_bb = hwq_sq_n_bb(q->conn[GANTRY_CONN_OWN].sq), round, i;

	desc[0] = arena_failing_copy(0);
	for (round = 0; round < n_bb; round += 3) {
		arena_reset(round);
		/* The repair of the previous round has set the ring's index to 0. */
		for (i = 0; i < round; i++)
			CHECK_EQ(env_do_one(q, arena_copy(1)), GANTRY_OK);
		arena_reset(round + 1);
		for (i = 1; i < N_PIECES; i++)
			desc[i] = arena_copy(i);
		CHECK_EQ(gantry_submit(q, desc, N_PIECES), N_PIECES);
		env_collect(q, comp, N_PIECES);
		for (i = 0; i < N_PIECES; i++) {
			CHECK_EQ(comp[i].status, i == 0 ? GANTRY_LOCAL_ERROR : GANTRY_OK);
			CHECK_EQ(arena_is_moved(i), i != 0);
		}
	}
	env_queue_done(q);
}

/* A fenced copy reads the bytes of a copy that must be executed again. */
static void
a_fenced_copy_waits_for_what_is_carried_out_again(void)
{
	struct gantry_queue *q = queue_with_replays(0);
	struct gantry_desc desc[3] = {arena_failing_copy(0), arena_copy(1),
		env_copy(dst + piece, dst + 2 * piece, piece)};
	struct gantry_comp comp[3];
	uint32_t round;

	desc[2].flags = GANTRY_DESC_FENCE;
	for (round = 0; round < 20; round++) {
		arena_reset(round);
		CHECK_EQ(gantry_submit(q, desc, 3), 3);
		env_collect(q, comp, 3);
		CHECK_EQ(comp[0].status, GANTRY_LOCAL_ERROR);
		CHECK_EQ(comp[1].status, GANTRY_OK);
		CHECK_EQ(comp[2].status, GANTRY_OK);
		CHECK(memcmp(dst + 2 * piece, src + piece, piece) == 0);
	}
	env_queue_done(q);
}

/* ------------------------------------------------------------------ repairs that are refused */

/*
 * A repair makes four calls of ibv_modify_qp(3): RESET, INIT, RTR, RTS. If the device refuses one
 * of these calls, the engine must try the repair again.
 */
static void
a_repair_that_is_refused_or_interrupted_is_tried_again(void)
{
	static const int errors[] = {EINTR, EAGAIN, ENOMEM, EIO};
	struct gantry_queue *q = queue_with_replays(0);
	struct gantry_desc desc[4] = {arena_copy(0), arena_failing_copy(1), arena_copy(2),
		arena_copy(3)};
	struct gantry_comp comp[4];
	uint32_t step, times, i, n = 0;
	char line[80];

	for (step = 1; step <= 4; step++) {
		for (times = 1; times <= 5; times += 2) {
			snprintf(line, sizeof(line),
				"refuse call=modify_qp errno=%d op=%u times=%u", errors[step - 1],
				step, times);
			CHECK_EQ(softhca_fault(line), 0);
			arena_reset(step);
			CHECK_EQ(gantry_submit(q, desc, 4), 4);
			env_collect(q, comp, 4);
			CHECK_EQ(softhca_faults_left(), 0);
			for (i = 0; i < 4; i++) {
				CHECK_EQ(comp[i].cookie, i);
				CHECK_EQ(comp[i].status, i == 1 ? GANTRY_LOCAL_ERROR : GANTRY_OK);
				CHECK_EQ(arena_is_moved(i), i != 1);
			}
			CHECK_EQ(env_stats(q).recoveries, ++n);
			CHECK_EQ(env_stats(q).replays, 2 * n);
		}
	}
	env_queue_done(q);
}

/* A copy waits until the repair succeeds. A slow machine only makes this time longer. */
static void
a_repair_is_tried_for_a_quarter_of_a_second(void)
{
	struct gantry_queue *q = queue_with_replays(0);
	struct gantry_desc desc[2] = {arena_failing_copy(0), arena_copy(1)};
	uint64_t start = rte_get_timer_cycles();
	struct gantry_comp comp[2];

	arena_reset(1);
	CHECK_EQ(softhca_fault("refuse call=modify_qp errno=5 times=1000"), 0);
	CHECK_EQ(gantry_submit(q, desc, 2), 2);
	env_collect(q, comp, 2);
	CHECK((rte_get_timer_cycles() - start) * 4 >= rte_get_timer_hz());
	softhca_faults_clear();
	CHECK_EQ(comp[0].status, GANTRY_LOCAL_ERROR);
	CHECK_EQ(comp[1].status, GANTRY_DEVICE_LOST);
	CHECK(!arena_is_moved(1));
	env_queue_done(q);
}

static void
when_the_own_connection_is_lost_peers_go_on(void)
{
	struct gantry_queue *q = queue_with_replays(0);
	struct gantry_desc desc[6];
	struct gantry_comp comp[6];
	uint16_t pa, pb;
	uint32_t i;

	env_connect(q, &pa, q, &pb);
	arena_reset(1);
	CHECK_EQ(softhca_fault("refuse call=modify_qp errno=5 times=1000"), 0);
	desc[0] = arena_failing_copy(0);
	desc[1] = arena_copy(1);
	desc[2] = arena_write(2, pa);
	desc[3] = arena_copy(3);
	desc[3].flags = GANTRY_DESC_FENCE;
	desc[4] = arena_write(4, pb);
	desc[5] = arena_copy(5);
	CHECK_EQ(gantry_submit(q, desc, 6), 6);
	env_collect(q, comp, 6);
	softhca_faults_clear();
	for (i = 0; i < 6; i++) {
		bool write = desc[i].op == GANTRY_OP_WRITE;

		CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[i].status, write    ? GANTRY_OK
					 : i == 0 ? GANTRY_LOCAL_ERROR
						  : GANTRY_DEVICE_LOST);
		CHECK_EQ(arena_is_moved(i), write);
	}
	CHECK_EQ(env_stats(q).recoveries, 0);
	CHECK_EQ(env_stats(q).replays, 0);
	/* The connection stays lost. Peers, a peer that is opened now, and rules still work. */
	for (i = 6; i < 10; i++) {
		CHECK_EQ(env_do_one(q, arena_copy(i)), GANTRY_DEVICE_LOST);
		CHECK_EQ(env_do_one(q, arena_write(i, i % 2 == 0 ? pa : pb)), GANTRY_OK);
		CHECK(arena_is_moved(i));
	}
	/* The CPU needs no connection. */
	for (; i < 12; i++) {
		struct gantry_desc d = arena_copy(i);

		d.flags = GANTRY_DESC_BY_CPU | (i % 2 == 0 ? 0 : GANTRY_DESC_FENCE);
		CHECK_EQ(env_do_one(q, d), GANTRY_OK);
		CHECK(arena_is_moved(i));
	}
	CHECK_EQ(gantry_peer_close(q, pa), 0);
	CHECK_EQ(gantry_peer_close(q, pb), 0);
	env_connect(q, &pa, q, &pb);
	CHECK_EQ(env_do_one(q, arena_write(12, pa)), GANTRY_OK);
	CHECK_EQ(env_do_one(q, (struct gantry_desc){.op = 77}), GANTRY_BAD_OP);
	CHECK_EQ(env_do_one(q, (struct gantry_desc){.op = GANTRY_OP_NOP}), GANTRY_OK);
	env_queue_done(q);
}

/*
 * While the connection is broken, descriptors to peers must continue. The test decides when the
 * engine tries the repair again.
 */
static void
while_the_own_connection_is_broken_peers_go_on(void)
{
	struct gantry_queue *q = queue_with_replays(0);
	struct gantry_conn *own = &q->conn[GANTRY_CONN_OWN];
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	uint16_t pa, pb;
	uint32_t i;

	env_connect(q, &pa, q, &pb);
	arena_reset(1);
	CHECK_EQ(softhca_fault("refuse call=modify_qp errno=5 times=1"), 0);
	CHECK_EQ(env_do_one(q, arena_failing_copy(0)), GANTRY_LOCAL_ERROR);
	while (softhca_faults_left() != 0)
		CHECK_EQ(env_poll(q, comp, 1), 0);
	own->repair_tsc = UINT64_MAX;
	CHECK_EQ(own->state, GANTRY_CONN_BROKEN);
	CHECK_EQ(env_do_one(q, arena_write(1, pa)), GANTRY_OK);
	CHECK_EQ(env_do_one(q, (struct gantry_desc){.op = GANTRY_OP_NOP}), GANTRY_OK);
	CHECK_EQ(env_do_one(q, (struct gantry_desc){.op = GANTRY_OP_COPY}), GANTRY_BAD_LENGTH);
	/* Descriptors before a copy continue. Descriptors after the copy wait for it. */
	desc[0] = arena_write(2, pb);
	desc[1] = arena_copy(3);
	desc[2] = arena_write(4, pb);
	CHECK_EQ(gantry_submit(q, desc, 3), 3);
	env_collect(q, comp, 1);
	CHECK_EQ(comp[0].status, GANTRY_OK);
	for (i = 0; i < 1000; i++)
		CHECK_EQ(env_poll(q, comp, 1), 0);
	CHECK(arena_is_moved(2) && !arena_is_moved(3) && !arena_is_moved(4));
	CHECK_EQ(env_stats(q).recoveries, 0);
	own->repair_tsc = 0;
	env_collect(q, comp, 2);
	CHECK_EQ(comp[0].status, GANTRY_OK);
	CHECK_EQ(comp[1].status, GANTRY_OK);
	CHECK(arena_is_moved(3) && arena_is_moved(4));
	CHECK_EQ(env_stats(q).recoveries, 1);
	env_queue_done(q);
}

/* A fenced write must read the bytes of a copy that waits for the repair. */
static void
a_fence_waits_for_a_repair(void)
{
	struct gantry_queue *q = queue_with_replays(0);
	struct gantry_conn *own = &q->conn[GANTRY_CONN_OWN];
	struct gantry_desc desc[3] = {arena_failing_copy(0), arena_copy(1)};
	struct gantry_comp comp[3];
	uint16_t pa, pb;
	uint32_t i;

	env_connect(q, &pa, q, &pb);
	arena_reset(1);
	CHECK_EQ(softhca_fault("refuse call=modify_qp errno=5 times=1"), 0);
	desc[2] = arena_write(2, pa);
	desc[2].src = (uintptr_t)dst + piece;
	desc[2].flags = GANTRY_DESC_FENCE;
	CHECK_EQ(gantry_submit(q, desc, 2), 2);
	env_collect(q, comp, 1);
	while (softhca_faults_left() != 0)
		CHECK_EQ(env_poll(q, comp, 1), 0);
	own->repair_tsc = UINT64_MAX;
	CHECK_EQ(own->state, GANTRY_CONN_BROKEN);
	CHECK_EQ(gantry_submit(q, &desc[2], 1), 1);
	for (i = 0; i < 1000; i++)
		CHECK_EQ(env_poll(q, comp, 1), 0);
	CHECK(!arena_is_moved(2));
	own->repair_tsc = 0;
	env_collect(q, comp, 2);
	CHECK_EQ(comp[0].status, GANTRY_OK);
	CHECK_EQ(comp[1].status, GANTRY_OK);
	CHECK(memcmp(dst + 2 * piece, src + piece, piece) == 0);
	env_queue_done(q);
}

static const struct check_case cases[] = {
	{"a copy is executed again as often as the setting allows",
		a_copy_is_carried_out_again_as_often_as_it_is_set},
	{"more than a hundred replays are refused", more_than_a_hundred_replays_are_refused},
	{"copies that are executed again may cross the end of the ring",
		what_is_carried_out_again_may_go_around_the_rings_end},
	{"a fenced copy waits for copies that are executed again",
		a_fenced_copy_waits_for_what_is_carried_out_again},
	{"a repair that is refused or interrupted is tried again",
		a_repair_that_is_refused_or_interrupted_is_tried_again},
	{"a repair is tried for a quarter of a second",
		a_repair_is_tried_for_a_quarter_of_a_second},
	{"when the own connection is lost, peers continue to work",
		when_the_own_connection_is_lost_peers_go_on},
	{"while the own connection is broken, peers continue to work",
		while_the_own_connection_is_broken_peers_go_on},
	{"a fence waits for a repair", a_fence_waits_for_a_repair},
};

int
main(int argc, char **argv)
{
	env_init(0);
	arena_create(NULL);
	rte_log_set_level(gantry_logtype, RTE_LOG_EMERG);
	arena_break();
	return arena_run(cases, RTE_DIM(cases), argc, argv);
}
