/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections that get no CQEs: events of the device, and deadlines. Every descriptor must
 * complete.
 *
 * Cases with short deadlines run only if the test itself runs the adapter (SOFTHCA_THREADS=0). Then
 * a deadline passes only while the adapter has no WQE to execute.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_log.h>

#include <softhca.h>

#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_queue.h"
#include "gantry_recover.h"
#include "gantry_watch.h"
#include "gantry_worker.h"

#include "gantry_arena.h"

#define LONG     (UINT64_C(1) << 18) /* length of a long copy */
#define N_PIECES 16
#define SHORT_MS 20

/* ------------------------------------------------------------------ helpers */

static struct gantry_queue *
queue_of(struct gantry *engine, uint32_t deadline_ms, uint32_t replays)
{
	const struct gantry_queue_conf conf = {.depth = 64,
		.replays = replays,
		.deadline_ms = deadline_ms};
	struct gantry_queue *q;

	CHECK_EQ(gantry_queue_create(engine, &conf, &q), 0);
	return q;
}

static void
arm(const char *line)
{
	CHECK_EQ(softhca_fault(line), 0);
}

static void
pump(void)
{
	while (softhca_pump() != 0)
		;
}

/*
 * Submits n descriptors in one call and collects their completions, which must have the cookies 0,
 * 1, ... in order.
 */
static void
submit_all(struct gantry_queue *q, const struct gantry_desc *desc, struct gantry_comp *comp,
	uint32_t n)
{
	uint32_t i;

	CHECK_EQ(gantry_submit(q, desc, n), n);
	env_collect(q, comp, n);
	for (i = 0; i < n; i++) {
		CHECK_EQ(comp[i].cookie, desc[i].cookie);
		CHECK_EQ(comp[i].zero, 0);
	}
	CHECK_EQ(gantry_in_flight(q), 0);
	CHECK_EQ(q->outstanding, 0);
}

/* Checks that copies work after the event. */
static void
check_copies_work(struct gantry_queue *q)
{
	struct gantry_desc desc[N_PIECES];
	struct gantry_comp comp[N_PIECES];
	uint32_t round, i;

	for (round = 0; round < 10; round++) {
		arena_reset(1000 + round);
		for (i = 0; i < N_PIECES; i++)
			desc[i] = arena_copy(i);
		submit_all(q, desc, comp, N_PIECES);
		for (i = 0; i < N_PIECES; i++)
			CHECK(comp[i].status == GANTRY_OK && arena_is_moved(i));
	}
}

/* ------------------------------------------------------------------ copies */

/* Copies that the event stops are executed again, and all copies complete with the same status. */
static void
events_do_not_fail_copies(void)
{
	static const char *const faults[] = {"qp_fatal", "cq_overrun", "sq_drained"};
	struct gantry_desc desc[N_PIECES];
	struct gantry_comp comp[N_PIECES];
	uint32_t f, at, i;
	char line[80];

	for (f = 0; f < RTE_DIM(faults); f++) {
		struct gantry_queue *q = queue_of(g, 0, 0);
		uint32_t n_recoveries = 0;

		for (at = 1; at <= N_PIECES; at += 5) {
			arena_reset(at);
			snprintf(line, sizeof(line), "%s op=%u", faults[f], at);
			arm(line);
			for (i = 0; i < N_PIECES; i++)
				desc[i] = arena_copy(i);
			desc[8].flags = GANTRY_DESC_FENCE;
			submit_all(q, desc, comp, N_PIECES);
			CHECK_EQ(softhca_faults_left(), 0);
			for (i = 0; i < N_PIECES; i++)
				CHECK(comp[i].status == GANTRY_OK && arena_is_moved(i));
			n_recoveries += strcmp(faults[f], "sq_drained") != 0;
			CHECK_EQ(env_stats(q).recoveries, n_recoveries);
		}
		check_copies_work(q);
		env_queue_done(q);
	}
}

/*
 * When the event comes, the long copy is posted in part, because it has more WQEs than the ring.
 * The copy must still complete with the right bytes.
 */
static void
a_long_copy_survives_events(void)
{
	static const char *const faults[] = {"qp_fatal op=5", "cq_overrun op=70",
		"sq_drained op=9"};
	struct gantry_queue *q = queue_of(g, 0, 0);
	const uint64_t len = LONG;
	struct gantry_desc desc[2];
	struct gantry_comp comp[2];
	uint32_t i;

	q->conn[GANTRY_CONN_OWN].max_len = LONG / 300;

	for (i = 0; i < RTE_DIM(faults); i++) {
		arena_reset(i);
		arm(faults[i]);
		desc[0] = env_copy(src, dst, len);
		desc[1] = arena_copy(0);
		desc[1].flags = GANTRY_DESC_FENCE;
		submit_all(q, desc, comp, 2);
		CHECK(comp[0].status == GANTRY_OK && comp[1].status == GANTRY_OK);
		CHECK(memcmp(src, dst, len) == 0);
		CHECK_EQ(softhca_faults_left(), 0);
	}
	env_queue_done(q);
}

static void
a_copy_that_is_not_carried_out_again_tells_of_the_event(void)
{
	static const char *const faults[] = {"qp_fatal op=3", "cq_overrun op=3"};
	struct gantry_desc desc[6];
	struct gantry_comp comp[6];
	uint32_t f, i;

	for (f = 0; f < RTE_DIM(faults); f++) {
		struct gantry_queue *q = queue_of(g, 0, GANTRY_NO_REPLAYS);

		arena_reset(f);
		arm(faults[f]);
		for (i = 0; i < 6; i++)
			desc[i] = arena_copy(i);
		submit_all(q, desc, comp, 6);
		for (i = 0; i < 6; i++) {
			/*
			 * After qp_fatal, the CQEs still show which copies were done. After
			 * cq_overrun there are no CQEs, so no copy is known to be done.
			 */
			CHECK_EQ(comp[i].status, f == 0 && i < 2 ? GANTRY_OK : GANTRY_QP_EVENT);
			CHECK_EQ(comp[i].syndrome, 0);
			CHECK_EQ(arena_is_moved(i), i < 2);
		}
		check_copies_work(q);
		env_queue_done(q);
	}
}

/*
 * If the device stops the QP again after each repair, the engine must give up after as many repairs
 * as the setting allows.
 */
static void
copies_are_carried_out_again_for_events_as_often_as_it_is_set(void)
{
	struct gantry_queue *q = queue_of(g, 0, 2);
	struct gantry_desc desc[4];
	struct gantry_comp comp[4];
	uint32_t i;

	arm("cq_overrun times=3");
	for (i = 0; i < 4; i++)
		desc[i] = arena_copy(i);
	submit_all(q, desc, comp, 4);
	CHECK_EQ(softhca_faults_left(), 0);
	for (i = 0; i < 4; i++)
		CHECK_EQ(comp[i].status, GANTRY_QP_EVENT);
	CHECK_EQ(env_stats(q).replays, 8);
	CHECK_EQ(env_stats(q).recoveries, 3);
	check_copies_work(q);
	env_queue_done(q);
}

/* Each call that a repair makes is refused once or several times. */
static void
a_repair_after_an_event_is_tried_again(void)
{
	static const char *const calls[] = {"modify_qp op=1", "modify_qp op=2", "modify_qp op=3",
		"modify_qp op=5", "destroy_qp op=1", "destroy_cq op=1", "create_cq op=1",
		"create_qp op=1"};
	struct gantry_queue *q = queue_of(g, 0, 0);
	struct gantry_desc desc[N_PIECES];
	struct gantry_comp comp[N_PIECES];
	uint32_t k, i, times;
	char line[80];

	for (k = 0; k < RTE_DIM(calls); k++) {
		for (times = 1; times <= 3; times += 2) {
			arena_reset(k);
			arm("cq_overrun op=4");
			snprintf(line, sizeof(line), "refuse call=%s errno=%d times=%u", calls[k],
				k % 2 == 0 ? EINTR : ENOMEM, times);
			arm(line);
			for (i = 0; i < N_PIECES; i++)
				desc[i] = arena_copy(i);
			submit_all(q, desc, comp, N_PIECES);
			CHECK_EQ(softhca_faults_left(), 0);
			for (i = 0; i < N_PIECES; i++)
				CHECK(comp[i].status == GANTRY_OK && arena_is_moved(i));
		}
	}
	check_copies_work(q);
	/*
	 * A send queue that the device stopped is resumed, after three calls for this were refused.
	 */
	arm("sq_drained op=2");
	arm("refuse call=modify_qp errno=4 times=3");
	submit_all(q, desc, comp, N_PIECES);
	CHECK_EQ(softhca_faults_left(), 0);
	for (i = 0; i < N_PIECES; i++)
		CHECK_EQ(comp[i].status, GANTRY_OK);
	env_queue_done(q);
}

/* A poll without an array of completions must also notice events. */
static void
who_only_counts_hears_of_events(void)
{
	static const char *const faults[] = {"cq_overrun op=4", "sq_drained op=4", "qp_fatal op=4"};
	struct gantry_queue *q = queue_of(g, 0, 0);
	struct gantry_desc desc[N_PIECES];
	uint64_t end = env_patience();
	bool failed = false;
	uint32_t f, i, got;

	for (f = 0; f < RTE_DIM(faults); f++) {
		arena_reset(f);
		arm(faults[f]);
		for (i = 0; i < N_PIECES; i++)
			desc[i] = arena_copy(i);
		CHECK_EQ(gantry_submit(q, desc, N_PIECES), N_PIECES);
		for (got = 0; got < N_PIECES;) {
			env_pump();
			got += gantry_poll_good(q, N_PIECES, &failed);
			CHECK(!failed && rte_get_timer_cycles() < end);
			sched_yield();
		}
		CHECK_EQ(softhca_faults_left(), 0);
		for (i = 0; i < N_PIECES; i++)
			CHECK(arena_is_moved(i));
	}
	env_queue_done(q);
}

/*
 * While the queue has no QP, descriptors must wait. Meanwhile the engine checks their lengths
 * against the last send queue, because the new send queue will be as long.
 */
static void
descriptors_wait_while_there_is_no_qp(void)
{
	const struct gantry_block block = {.offset = 0, .len = 64, .skip = 64};
	const struct gantry_layout_conf layout = {.block = &block, .n = 1, .rounds = 4};
	/* A NOP of one unit, as its control segment in the PRM: opcode, DS. */
	static const uint8_t nop[16] = {[7] = 1};
	struct gantry_queue *q;
	struct gantry_desc desc[3] = {arena_copy(0), {.op = GANTRY_OP_GATHER, .len = 256},
		{.op = GANTRY_OP_RAW, .len = sizeof(nop), .peer = GANTRY_PEER_OWN}};
	struct gantry_comp comp[3];
	uint32_t i, n = 0;

	if (env_lacks(g, ENV_LAYOUTS))
		return;
	q = queue_of(g, 0, 0);
	arena_reset(1);
	CHECK_EQ(gantry_layout_create(g, &layout, &desc[1].layout), 0);
	desc[1].src = (uintptr_t)src;
	desc[1].dst = (uintptr_t)dst + 2 * piece;
	desc[2].src = (uintptr_t)nop;
	arm("cq_overrun");
	arm("refuse call=create_qp errno=12 times=4");
	CHECK_EQ(gantry_submit(q, desc, 1), 1);
	while (q->conn[GANTRY_CONN_OWN].qp != NULL) {
		env_pump();
		n += gantry_poll(q, comp, 3);
	}
	CHECK_EQ(n, 0);
	CHECK_EQ(gantry_submit(q, desc + 1, 2), 2);
	CHECK(q->conn[GANTRY_CONN_OWN].qp == NULL);
	env_collect(q, comp, 3);
	for (i = 0; i < 3; i++)
		CHECK_EQ(comp[i].status, GANTRY_OK);
	CHECK(arena_is_moved(0));
	for (i = 0; i < 4; i++)
		CHECK(memcmp(dst + 2 * piece + i * 64, src + i * 128, 64) == 0);
	CHECK_EQ(softhca_faults_left(), 0);
	CHECK_EQ(gantry_layout_destroy(g, desc[1].layout), 0);
	env_queue_done(q);
}

/*
 * One object of the queue cannot be created, and the device refuses to destroy the objects that
 * exist.
 */
static void
a_queue_that_could_not_be_made_leaves_nothing(void)
{
	static const char *const makes[] = {"create_qp", "modify_qp", "modify_qp op=3", "reg_mr"};
	static const char *const ends[] = {"destroy_cq", "destroy_qp", "dealloc_pd", "dereg_mr"};
	const struct gantry_queue_conf conf = {
		.prepare = GANTRY_PREPARE_FILL | GANTRY_PREPARE_LAYOUTS};
	struct gantry_queue *q;
	struct gantry *engine;
	char line[80];
	uint32_t i, k, tries, refused = 0;
	int ret;

	for (i = 0; i < RTE_DIM(makes); i++) {
		for (k = 0; k < RTE_DIM(ends); k++) {
			CHECK_EQ(gantry_create(NULL, &engine), 0);
			snprintf(line, sizeof(line), "refuse call=%s errno=12", makes[i]);
			arm(line);
			snprintf(line, sizeof(line), "refuse call=%s errno=16 times=2", ends[k]);
			arm(line);
			CHECK_EQ(gantry_queue_create(engine, &conf, &q), -ENOMEM);
			/* Objects that one call could not destroy are destroyed by a later call. */
			for (tries = 0; (ret = gantry_destroy(engine)) != 0; tries++)
				CHECK(ret == -EBUSY && tries < 2);
			refused += tries;
			softhca_faults_clear();
		}
	}
	/* The destruction of each kind of object was refused. */
	CHECK(refused >= 4);
}

/* ------------------------------------------------------------------ peers */

static void
an_event_of_a_peer_is_told(void)
{
	static const char *const faults[] = {"qp_fatal op=2", "cq_overrun op=2"};
	struct gantry_queue *q = queue_of(g, 0, 0);
	struct gantry_desc desc[6];
	struct gantry_comp comp[6];
	uint32_t f, i;
	uint16_t pa, pb;

	for (f = 0; f < RTE_DIM(faults); f++) {
		env_connect(q, &pa, q, &pb);
		arena_reset(f);
		for (i = 0; i < 5; i++)
			desc[i] = arena_write(i, pa);
		desc[5] = arena_copy(5);
		desc[5].flags = GANTRY_DESC_FENCE; /* waits until the writes have completed */
		arm(faults[f]);
		submit_all(q, desc, comp, 6);
		for (i = 0; i < 5; i++) {
			CHECK_EQ(comp[i].status, f == 0 && i < 1 ? GANTRY_OK : GANTRY_QP_EVENT);
			CHECK_EQ(comp[i].syndrome, 0);
			CHECK_EQ(arena_is_moved(i), i < 1);
		}
		CHECK(comp[5].status == GANTRY_OK && arena_is_moved(5));
		CHECK_EQ(env_do_one(q, arena_write(6, pa)), GANTRY_BAD_PEER);
		CHECK_EQ(env_stats(q).recoveries, 0);
		CHECK_EQ(gantry_peer_close(q, pa), 0);
		CHECK_EQ(gantry_peer_close(q, pb), 0);
	}
	/* A send queue that the device stopped loses no WQE. */
	env_connect(q, &pa, q, &pb);
	arena_reset(9);
	for (i = 0; i < 6; i++)
		desc[i] = arena_write(i, pa);
	arm("sq_drained op=3");
	submit_all(q, desc, comp, 6);
	for (i = 0; i < 6; i++)
		CHECK(comp[i].status == GANTRY_OK && arena_is_moved(i));
	env_queue_done(q);
}

/*
 * Posts receives to peer pa, and sends messages for the first half of the receives. The messages
 * have arrived, but no completion is polled.
 */
static void
deliver_half(struct gantry_queue *q, uint16_t pa, uint16_t pb, struct gantry_recv *recv, uint32_t n)
{
	struct gantry_desc send;
	uint32_t i;

	for (i = 0; i < n; i++)
		recv[i] = (struct gantry_recv){.cookie = i,
			.addr = (uintptr_t)dst + i * piece,
			.len = piece};
	CHECK_EQ(gantry_recv_post(q, pa, recv, n), n);
	for (i = 0; i < n / 2; i++) {
		send = (struct gantry_desc){.op = GANTRY_OP_SEND,
			.peer = pb,
			.src = (uintptr_t)src + i * piece,
			.len = piece};
		CHECK_EQ(env_do_one(q, send), GANTRY_OK);
	}
}

/*
 * Checks that the first half of the receives got its messages, and that the second half completes
 * with this status.
 */
static void
check_half(struct gantry_queue *q, uint16_t pa, uint32_t n, enum gantry_status others)
{
	struct gantry_recv_comp comp;
	uint32_t i;

	for (i = 0; i < n; i++) {
		while (gantry_recv_poll(q, &comp, 1) == 0)
			env_pump();
		CHECK_EQ(comp.cookie, i);
		CHECK_EQ(comp.peer, pa);
		CHECK_EQ(comp.status, i < n / 2 ? GANTRY_OK : others);
		CHECK_EQ(comp.op, i < n / 2 ? GANTRY_OP_SEND : 0);
		CHECK_EQ(comp.len, i < n / 2 ? piece : 0);
		CHECK_EQ(arena_is_moved(i), i < n / 2);
	}
	CHECK_EQ(gantry_recv_poll(q, &comp, 1), 0);
}

/*
 * The send queue's CQ fails, so the QP is reset without a CQE. Messages that have arrived before
 * the reset stay delivered.
 */
static void
what_a_peer_has_sent_arrives_whatever_fails_behind_it(void)
{
	enum {
		N = 8
	};
	const struct gantry_peer_conf conf = {.recv_depth = N};
	struct gantry_queue *q = queue_of(g, 0, 0);
	struct gantry_addr a, b;
	struct gantry_recv recv[N];
	uint16_t pa, pb;

	arena_reset(30);
	CHECK_EQ(gantry_peer_open(q, &conf, &pa, &a), 0);
	CHECK_EQ(gantry_peer_open(q, NULL, &pb, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, pa, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, pb, &a), 0);
	deliver_half(q, pa, pb, recv, N);
	arm("cq_overrun");
	CHECK_EQ(env_do_one(q, arena_write(N, pa)), GANTRY_QP_EVENT);
	check_half(q, pa, N, GANTRY_FLUSHED);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ ports */

static void
ports_without_a_link_are_told(void)
{
	struct gantry_info info = {0};

	gantry_info_get(g, &info);
	CHECK(info.ports_down == 0 && !info.device_lost);
	arm("port_down port=1");
	while (info.ports_down == 0) {
		pump();
		usleep(1000);
		gantry_info_get(g, &info);
	}
	CHECK_EQ(info.ports_down, 1);
	arm("port_up port=1");
	while (info.ports_down != 0) {
		pump();
		usleep(1000);
		gantry_info_get(g, &info);
	}
	CHECK(!info.device_lost);
}

/* ------------------------------------------------------------------ the device is lost */

/*
 * A second engine on the same device, with the same memory, for a case that makes the device fail.
 */
struct lost_engine {
	struct gantry *g;
	struct gantry_mem *src_mem, *dst_mem;
	struct gantry_queue *q;
	uint16_t pa, pb;
};

static void
lost_engine_create(struct lost_engine *e, uint32_t deadline_ms)
{
	CHECK_EQ(gantry_create(NULL, &e->g), 0);
	CHECK_EQ(gantry_mem_register(e->g, src, LONG, 0, &e->src_mem), 0);
	CHECK_EQ(gantry_mem_register(e->g, dst, LONG, GANTRY_MEM_REMOTE_WRITE, &e->dst_mem), 0);
	e->q = queue_of(e->g, deadline_ms, 0);
	env_connect(e->q, &e->pa, e->q, &e->pb);
}

static struct gantry_desc
write_of(const struct lost_engine *e, uint32_t i)
{
	struct gantry_desc d = arena_write(i, e->pa);

	d.remote_key = gantry_mem_remote_key(e->dst_mem);
	return d;
}

static struct gantry_desc
copy_by_cpu(uint64_t len)
{
	struct gantry_desc d = env_copy(src, dst, len);

	d.flags = GANTRY_DESC_BY_CPU;
	return d;
}

/*
 * The device has failed: checks that new descriptors are refused, and that everything can be
 * destroyed.
 */
static void
lost_engine_destroy(struct lost_engine *e)
{
	/*
	 * Memory that was not the destination of an earlier descriptor: the failed device may still
	 * write to destinations of earlier descriptors.
	 */
	uint8_t *last = (uint8_t *)src + LONG - 64, before[64];
	struct gantry_desc by_cpu = copy_by_cpu(64);
	uint8_t *page = env_map(4096);
	struct gantry_failure f;
	struct gantry_info info;
	struct gantry_mem *mem;
	unsigned int n_lost = 0, i;

	CHECK_EQ(env_do_one(e->q, arena_copy(1)), GANTRY_DEVICE_LOST);
	CHECK_EQ(env_do_one(e->q, write_of(e, 1)), GANTRY_DEVICE_LOST);
	memcpy(before, last, 64);
	CHECK(memcmp(src, last, 64) != 0);
	by_cpu.dst = (uintptr_t)last;
	CHECK_EQ(env_do_one(e->q, by_cpu), GANTRY_DEVICE_LOST);
	CHECK(memcmp(last, before, 64) == 0);
	CHECK_EQ(env_do_one(e->q, (struct gantry_desc){.op = GANTRY_OP_NOP}), GANTRY_OK);
	CHECK_EQ(env_do_one(e->q, (struct gantry_desc){.op = 77}), GANTRY_BAD_OP);
	gantry_info_get(e->g, &info);
	CHECK(info.device_lost);
	CHECK_EQ(gantry_mem_register(e->g, page, 4096, 0, &mem), -EIO);
	env_unmap(page, 4096);
	/* /gantry/errors shows this failure. */
	for (i = 0; gantry_failures_get(&e->g->failures, i, &f); i++)
		n_lost += f.status == GANTRY_DEVICE_LOST;
	CHECK(n_lost >= 1);
	env_queue_done(e->q);
	CHECK_EQ(gantry_mem_unregister(e->src_mem, 0), 0);
	CHECK_EQ(gantry_mem_unregister(e->dst_mem, 0), 0);
	CHECK_EQ(gantry_destroy(e->g), 0);
	softhca_faults_clear();
}

static void
everything_comes_back_when_the_device_is_lost(void)
{
	uint64_t len = RTE_MIN(g->info.max_copy_len * 300, LONG);
	struct gantry_desc desc[8];
	struct gantry_comp comp[8];
	struct lost_engine e;
	char line[40];
	uint32_t at, i;

	for (at = 1; at <= 6; at++) {
		lost_engine_create(&e, 0);
		arena_reset(at);
		for (i = 0; i < 3; i++)
			desc[i] = arena_copy(i);
		for (; i < 5; i++)
			desc[i] = write_of(&e, i);
		desc[5] = env_copy(src, dst, len); /* posted in part, if it needs several WQEs */
		desc[6] = write_of(&e, 6);
		desc[6].flags = GANTRY_DESC_FENCE;
		desc[7] = (struct gantry_desc){.op = GANTRY_OP_NOP};
		for (i = 5; i < 8; i++)
			desc[i].cookie = i;
		snprintf(line, sizeof(line), "device_fatal op=%u", at);
		arm(line);
		submit_all(e.q, desc, comp, 8);
		for (i = 0; i < 7; i++) {
			CHECK(comp[i].status == GANTRY_DEVICE_LOST || comp[i].status == GANTRY_OK);
			if (i < 5 && comp[i].status == GANTRY_OK)
				CHECK(arena_is_moved(i));
		}
		/* The fault acts before the device's operation number `at`. */
		CHECK_EQ(comp[6].status, GANTRY_DEVICE_LOST);
		CHECK_EQ(comp[7].status, GANTRY_OK);
		lost_engine_destroy(&e);
	}
}

static void
what_a_peer_has_sent_arrives_although_the_device_is_lost(void)
{
	enum {
		N = 8
	};
	const struct gantry_peer_conf conf = {.recv_depth = N};
	struct gantry_recv recv[N];
	struct gantry_addr a, b;
	struct lost_engine e;
	uint16_t pa, pb;

	arena_reset(31);
	lost_engine_create(&e, 0);
	CHECK_EQ(gantry_peer_open(e.q, &conf, &pa, &a), 0);
	CHECK_EQ(gantry_peer_open(e.q, NULL, &pb, &b), 0);
	CHECK_EQ(gantry_peer_connect(e.q, pa, &b), 0);
	CHECK_EQ(gantry_peer_connect(e.q, pb, &a), 0);
	deliver_half(e.q, pa, pb, recv, N);
	arm("device_fatal op=1");
	CHECK_EQ(env_do_one(e.q, arena_copy(N)), GANTRY_DEVICE_LOST);
	check_half(e.q, pa, N, GANTRY_DEVICE_LOST);
	lost_engine_destroy(&e);
}

/* The queue whose device is lost while a peer is being connected. */
static struct gantry_queue *lost_in_connect;

int __real_hwq_qp_connect(struct hwq_qp *qp, const struct hwq_addr *remote);
int __wrap_hwq_qp_connect(struct hwq_qp *qp, const struct hwq_addr *remote);
int
__wrap_hwq_qp_connect(struct hwq_qp *qp, const struct hwq_addr *remote)
{
	struct gantry_queue *q = lost_in_connect;

	lost_in_connect = NULL;
	if (q != NULL)
		gantry_recover_lose(q);
	return __real_hwq_qp_connect(qp, remote);
}

/* Receives of a peer that is not connected complete too, and the peer accepts no more receives. */
static void
receives_of_every_peer_end_when_the_device_is_lost(void)
{
	const struct gantry_peer_conf conf = {.recv_depth = 4};
	const struct gantry_recv recv[2] = {{.cookie = 0}, {.cookie = 1}};
	struct gantry_recv_comp comp;
	uint64_t end = env_patience();
	struct gantry_addr a;
	struct lost_engine e;
	uint16_t peer;
	uint32_t i;

	lost_engine_create(&e, 0);
	CHECK_EQ(gantry_peer_open(e.q, &conf, &peer, &a), 0);
	CHECK_EQ(gantry_recv_post(e.q, peer, recv, 2), 2);
	arm("device_fatal op=1");
	CHECK_EQ(env_do_one(e.q, arena_copy(1)), GANTRY_DEVICE_LOST);
	for (i = 0; i < 2; i++) {
		while (gantry_recv_poll(e.q, &comp, 1) == 0) {
			env_pump();
			CHECK(rte_get_timer_cycles() < end);
		}
		CHECK_EQ(comp.cookie, i);
		CHECK_EQ(comp.status, GANTRY_DEVICE_LOST);
	}
	CHECK_EQ(gantry_peer_connect(e.q, peer, &a), -EIO);
	CHECK_EQ(gantry_recv_post(e.q, peer, recv, 1), 1);
	CHECK_EQ(gantry_recv_poll(e.q, &comp, 1), 1);
	CHECK_EQ(comp.status, GANTRY_BAD_PEER);
	lost_engine_destroy(&e);

	lost_engine_create(&e, 0);
	CHECK_EQ(gantry_peer_open(e.q, &conf, &peer, &a), 0);
	lost_in_connect = e.q;
	CHECK_EQ(gantry_peer_connect(e.q, peer, &a), -EIO);
	CHECK_EQ(gantry_recv_post(e.q, peer, recv, 1), 1);
	CHECK_EQ(gantry_recv_poll(e.q, &comp, 1), 1);
	CHECK_EQ(comp.status, GANTRY_BAD_PEER);
	arm("device_fatal");
	while (!e.g->device_lost)
		env_pump();
	lost_engine_destroy(&e);
}

/* A queue that has only receives notices the loss when it is polled. */
static void
receives_end_when_the_device_of_an_idle_queue_is_lost(void)
{
	const struct gantry_peer_conf peer_conf = {.recv_depth = 4};
	const struct gantry_recv recv[2] = {{.cookie = 0}, {.cookie = 1}};

	for (uint32_t unordered = 0; unordered < 2; unordered++) {
		const struct gantry_queue_conf conf = {.depth = 16, .unordered = unordered != 0};
		struct gantry_recv_comp comp;
		struct gantry_comp none;
		struct gantry_addr addr;
		struct gantry_queue *q;
		struct lost_engine e;
		uint64_t end = env_patience();
		uint16_t peer;
		uint32_t n = 0;

		lost_engine_create(&e, 0);
		CHECK_EQ(gantry_queue_create(e.g, &conf, &q), 0);
		CHECK_EQ(gantry_peer_open(q, &peer_conf, &peer, &addr), 0);
		CHECK_EQ(gantry_recv_post(q, peer, recv, 2), 2);
		arm("device_fatal");
		while (n < 2) {
			env_pump();
			CHECK_EQ(gantry_poll(q, &none, 1), 0);
			if (gantry_recv_poll(q, &comp, 1) != 0) {
				CHECK_EQ(comp.cookie, n++);
				CHECK_EQ(comp.status, GANTRY_DEVICE_LOST);
			}
			CHECK(rte_get_timer_cycles() < end);
		}
		CHECK_EQ(gantry_queue_destroy(q), 0);
		lost_engine_destroy(&e);
	}
}

/*
 * The queue's connection to itself has failed, and the device is lost before a repair is tried. The
 * waiting descriptors must complete as lost.
 */
static void
what_waits_for_a_repair_comes_back_when_the_device_is_lost(void)
{
	struct gantry_desc desc[4];
	struct gantry_comp comp[4];
	struct lost_engine e;
	uint32_t i;

	lost_engine_create(&e, 0);
	for (i = 0; i < 4; i++)
		desc[i] = arena_copy(i);
	desc[3].flags = GANTRY_DESC_FENCE;
	arm("refuse call=modify_qp errno=5 times=1");
	arm("qp_fatal");
	CHECK_EQ(gantry_submit(e.q, desc, 4), 4);
	while (softhca_faults_left() != 0)
		CHECK_EQ(env_poll(e.q, comp, 4), 0);
	e.q->conn[GANTRY_CONN_OWN].repair_tsc = UINT64_MAX;
	CHECK_EQ(e.q->conn[GANTRY_CONN_OWN].state, GANTRY_CONN_BROKEN);
	arm("device_fatal");
	env_collect(e.q, comp, 4);
	for (i = 0; i < 4; i++) {
		CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[i].status, GANTRY_DEVICE_LOST);
	}
	CHECK_EQ(e.q->outstanding, 0);
	lost_engine_destroy(&e);
}

/*
 * A failed device may still write to memory, and a copy by the CPU cannot wait for this. So the CPU
 * executes neither a copy after a fence nor the rest of a long copy.
 */
static void
the_cpu_copies_nothing_when_the_device_is_lost(void)
{
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	struct lost_engine e;

	lost_engine_create(&e, 0);
	arena_reset(1);
	desc[0] = arena_copy(3);
	desc[1] = WITH(copy_by_cpu(64), flags, GANTRY_DESC_BY_CPU | GANTRY_DESC_FENCE);
	desc[2] = copy_by_cpu(64);
	arm("device_fatal op=1");
	submit_all(e.q, desc, comp, 3);
	CHECK_EQ(comp[0].status, GANTRY_DEVICE_LOST);
	CHECK_EQ(comp[1].status, GANTRY_DEVICE_LOST);
	CHECK_EQ(comp[2].status, GANTRY_DEVICE_LOST);
	CHECK_EQ(dst[0], ENV_UNTOUCHED);
	lost_engine_destroy(&e);

	lost_engine_create(&e, 0);
	arena_reset(2);
	desc[0] = copy_by_cpu(LONG);
	CHECK_EQ(gantry_submit(e.q, desc, 1), 1);
	CHECK_EQ(dst[0], src[0]);
	arm("device_fatal");
	while (!e.g->device_lost)
		env_pump();
	/* Makes the next poll that returns 0 check for events. */
	e.q->empty_polls = UINT32_MAX;
	env_collect(e.q, comp, 1);
	CHECK_EQ(comp[0].status, GANTRY_DEVICE_LOST);
	CHECK_EQ(dst[LONG - 1], ENV_UNTOUCHED);
	lost_engine_destroy(&e);
}

/*
 * A DC peer is opened when the queue has already handled the loss, and the device has not refused
 * the calls. Descriptors to it must not wait for ever. This case sets the loss by itself.
 */
static void
a_dc_peer_that_is_opened_after_the_loss_is_lost_too(void)
{
	const struct gantry_peer_conf target = {.transport = GANTRY_TRANSPORT_DC_TARGET};
	const struct gantry_peer_conf dc = {.transport = GANTRY_TRANSPORT_DC};
	uint64_t end = env_patience();
	struct gantry_addr addr;
	struct gantry_desc d;
	struct gantry_comp comp;
	struct lost_engine e;
	uint16_t at, to;

	if (!env_is_pumped() || env_lacks(g, ENV_DC))
		return;
	lost_engine_create(&e, 0);
	atomic_store(&e.g->device_lost, true);
	while (!e.q->device_lost)
		CHECK_EQ(gantry_poll(e.q, &comp, 1), 0);
	CHECK_EQ(gantry_peer_open(e.q, &target, &at, &addr), 0);
	CHECK_EQ(gantry_peer_open(e.q, &dc, &to, NULL), 0);
	CHECK_EQ(gantry_peer_connect(e.q, to, &addr), 0);
	d = write_of(&e, 1);
	d.peer = to;
	CHECK_EQ(gantry_submit(e.q, &d, 1), 1);
	/* The adapter does not run, so no CQE comes. */
	while (gantry_poll(e.q, &comp, 1) == 0)
		CHECK(rte_get_timer_cycles() < end);
	CHECK_EQ(comp.status, GANTRY_DEVICE_LOST);
	atomic_store(&e.g->device_lost, false);
	arm("device_fatal");
	while (!e.g->device_lost)
		env_pump();
	lost_engine_destroy(&e);
}

/*
 * A worker without work must notice that the device is lost. gantry_worker_turn() checks the device
 * as rarely as gantry_poll() does.
 */
static void
a_worker_without_work_notices_that_the_device_is_lost(void)
{
	struct gantry_desc d = arena_copy(0);
	struct gantry_worker *w;
	struct lost_engine e;
	struct gantry_comp comp;
	uint32_t i;

	lost_engine_create(&e, 0);
	CHECK_EQ(gantry_worker_create(e.g, 1, NULL, &w), 0);
	CHECK(!gantry_worker_turn(w, false));
	CHECK(w->quiet);
	arm("device_fatal");
	while (!e.g->device_lost)
		env_pump();
	for (i = 0; i < 2 * GANTRY_WATCH_POLLS; i++)
		CHECK(!gantry_worker_turn(w, false));
	CHECK(w->q->device_lost);
	CHECK_EQ(gantry_enqueue_burst(w, &d, 1), 1);
	CHECK(gantry_worker_turn(w, false));
	CHECK(gantry_worker_turn(w, false));
	CHECK_EQ(gantry_dequeue_burst(w, &comp, 1), 1);
	CHECK_EQ(comp.status, GANTRY_DEVICE_LOST);
	CHECK_EQ(gantry_worker_destroy(w), 0);
	lost_engine_destroy(&e);
}

/* ------------------------------------------------------------------ deadlines: the test pumps */

static void
a_lost_completion_ends_by_its_deadline(void)
{
	struct gantry_queue *q = queue_of(g, SHORT_MS, 0);
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	uint32_t round, i;
	uint64_t start;

	for (round = 0; round < 3; round++) {
		arena_reset(round);
		for (i = 0; i < 3; i++)
			desc[i] = arena_copy(i);
		desc[2].flags = GANTRY_DESC_FENCE;
		/*
		 * Of the first two descriptors, only the second one asks for a CQE, and this CQE is
		 * lost.
		 */
		arm("drop op=2");
		start = rte_get_tsc_cycles();
		submit_all(q, desc, comp, 3);
		CHECK(rte_get_tsc_cycles() - start >= SHORT_MS * rte_get_tsc_hz() / 1000);
		/* The engine does not know that the first two descriptors were executed. */
		CHECK_EQ(comp[0].status, GANTRY_TIMED_OUT);
		CHECK_EQ(comp[1].status, GANTRY_TIMED_OUT);
		CHECK_EQ(comp[1].syndrome, 0);
		CHECK_EQ(comp[2].status, GANTRY_OK);
		CHECK(arena_is_moved(0) && arena_is_moved(1) && arena_is_moved(2));
		CHECK_EQ(env_stats(q).recoveries, round + 1);
	}
	check_copies_work(q);
	env_queue_done(q);
}

static void
a_lost_completion_of_a_peer_ends_by_its_deadline(void)
{
	struct gantry_queue *q = queue_of(g, SHORT_MS, 0);
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	uint16_t pa, pb;

	env_connect(q, &pa, q, &pb);
	arena_reset(1);
	desc[0] = arena_write(0, pa);
	desc[1] = arena_copy(1);
	desc[2] = arena_copy(2);
	desc[2].flags = GANTRY_DESC_FENCE;
	arm("drop op=1");
	/*
	 * Both connections share a UAR page. The peer's WQE must run first, so the adapter runs
	 * before other WQEs are posted.
	 */
	CHECK_EQ(gantry_submit(q, desc, 1), 1);
	pump();
	CHECK_EQ(softhca_faults_left(), 0);
	CHECK_EQ(gantry_submit(q, desc + 1, 2), 2);
	env_collect(q, comp, 3);
	CHECK_EQ(comp[0].status, GANTRY_TIMED_OUT);
	CHECK_EQ(comp[1].status, GANTRY_OK);
	CHECK_EQ(comp[2].status, GANTRY_OK);
	CHECK_EQ(q->outstanding, 0);
	CHECK_EQ(env_do_one(q, arena_write(3, pa)), GANTRY_BAD_PEER);
	CHECK_EQ(env_stats(q).recoveries, 0);
	CHECK_EQ(gantry_peer_close(q, pa), 0);
	CHECK_EQ(gantry_peer_close(q, pb), 0);
	check_copies_work(q);
	env_queue_done(q);
}

/*
 * The first WQE waits for a minute, and is flushed when the QP is moved to error. Only the
 * descriptor of this WQE may time out.
 */
static void
what_is_stuck_fails_alone(void)
{
	struct gantry_queue *q = queue_of(g, SHORT_MS, 0);
	struct gantry_desc desc[6];
	struct gantry_comp comp[6];
	uint16_t pa, pb;
	uint32_t i;

	arena_reset(1);
	for (i = 0; i < 6; i++)
		desc[i] = arena_copy(i);
	arm("late ms=60000 op=3");
	submit_all(q, desc, comp, 6);
	for (i = 0; i < 6; i++) {
		CHECK_EQ(comp[i].status, i == 2 ? GANTRY_TIMED_OUT : GANTRY_OK);
		CHECK_EQ(arena_is_moved(i), i != 2);
	}
	CHECK_EQ(env_stats(q).recoveries, 1);
	CHECK_EQ(env_stats(q).replays, 3);
	check_copies_work(q);

	env_connect(q, &pa, q, &pb);
	arena_reset(2);
	for (i = 0; i < 6; i++)
		desc[i] = arena_write(i, pa);
	arm("late ms=60000 op=3");
	submit_all(q, desc, comp, 6);
	for (i = 0; i < 6; i++) {
		CHECK_EQ(comp[i].status, i < 2    ? GANTRY_OK
					 : i == 2 ? GANTRY_TIMED_OUT
						  : GANTRY_FLUSHED);
		CHECK_EQ(arena_is_moved(i), i < 2);
	}
	env_queue_done(q);
}

/* The call that flushes or resets the QP is refused. */
static void
a_stuck_connection_whose_end_is_refused_ends(void)
{
	static const struct {
		const char *refusal;
		bool lost;
	} rows[] = {
		{"refuse call=modify_qp errno=5 times=1", false},
		{"refuse call=modify_qp errno=4 op=2 times=2", false},
		{"refuse call=modify_qp errno=5 times=4", false},
		{"refuse call=modify_qp errno=5 times=1000", true},
	};
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	uint32_t row, i;

	for (row = 0; row < RTE_DIM(rows); row++) {
		struct gantry_queue *q = queue_of(g, SHORT_MS, 0);

		for (i = 0; i < 3; i++)
			desc[i] = arena_copy(i);
		desc[2].flags = GANTRY_DESC_FENCE;
		arm("drop op=2");
		arm(rows[row].refusal);
		submit_all(q, desc, comp, 3);
		if (!rows[row].lost)
			CHECK_EQ(softhca_faults_left(), 0);
		softhca_faults_clear();
		CHECK_EQ(comp[0].status, GANTRY_TIMED_OUT);
		CHECK_EQ(comp[1].status, GANTRY_TIMED_OUT);
		CHECK_EQ(comp[2].status, rows[row].lost ? GANTRY_DEVICE_LOST : GANTRY_OK);
		env_queue_done(q);
	}
}

/*
 * The step of the engine before which the test calls pump(): hwq_qp_fail() or hwq_qp_reset(). The
 * first refuse_fails calls of hwq_qp_fail() are refused.
 */
enum step {
	STEP_NONE,
	STEP_FAIL,
	STEP_RESET
};
static enum step pump_before;
static uint32_t refuse_fails;
/* True: hwq_qp_fail() succeeds and does nothing, as if the device were slow to flush. */
static bool slow_to_flush;

int __real_hwq_qp_fail(struct hwq_qp *qp);
int __wrap_hwq_qp_fail(struct hwq_qp *qp);
int
__wrap_hwq_qp_fail(struct hwq_qp *qp)
{
	if (refuse_fails != 0) {
		refuse_fails--;
		return -EIO;
	}
	if (pump_before == STEP_FAIL)
		pump();
	if (slow_to_flush)
		return 0;
	return __real_hwq_qp_fail(qp);
}

int __real_hwq_qp_reset(struct hwq_qp *qp);
int __wrap_hwq_qp_reset(struct hwq_qp *qp);
int
__wrap_hwq_qp_reset(struct hwq_qp *qp)
{
	if (pump_before == STEP_RESET)
		pump();
	return __real_hwq_qp_reset(qp);
}

/*
 * Either the sender and the receive both report that the message has arrived, or neither reports
 * it.
 */
static void
a_message_to_a_connection_that_ends_and_its_receive_agree(void)
{
	const struct gantry_peer_conf conf = {.recv_depth = 4,
		.path = {.mask = GANTRY_PATH_TIMEOUT | GANTRY_PATH_RETRIES,
			.timeout = 4,
			.retries = 2}};
	const struct gantry_desc send = {.op = GANTRY_OP_SEND_IMM, .imm = 77, .peer = 0};
	const struct gantry_recv receive = {.cookie = 5};
	enum step step;

	for (step = STEP_NONE; step <= STEP_RESET; step++) {
		struct gantry_queue *q = queue_of(g, SHORT_MS, 0), *from = env_queue(g, 64);
		struct gantry_desc d = send;
		struct gantry_recv_comp recv;
		struct gantry_addr a, b;
		struct gantry_comp comp;
		uint16_t pa, pb;

		CHECK_EQ(gantry_peer_open(q, &conf, &pa, &a), 0);
		CHECK_EQ(gantry_peer_open(from, &conf, &pb, &b), 0);
		CHECK_EQ(gantry_peer_connect(q, pa, &b), 0);
		CHECK_EQ(gantry_peer_connect(from, pb, &a), 0);
		CHECK_EQ(gantry_recv_post(q, pa, &receive, 1), 1);
		arm("drop op=1");
		d = arena_write(0, pa);
		CHECK_EQ(gantry_submit(q, &d, 1), 1);
		pump();
		d = send;
		d.peer = pb;
		CHECK_EQ(gantry_submit(from, &d, 1), 1);
		pump_before = step;
		refuse_fails = 1;
		/* In this loop the adapter runs only before the step pump_before of the engine. */
		while (gantry_poll(q, &comp, 1) == 0)
			;
		pump_before = STEP_NONE;
		CHECK_EQ(comp.status, GANTRY_TIMED_OUT);
		CHECK_EQ(refuse_fails, 0);
		CHECK_EQ(gantry_recv_poll(q, &recv, 1), 1);
		env_collect(from, &comp, 1);
		CHECK_EQ(comp.status, step == STEP_FAIL ? GANTRY_OK : GANTRY_UNREACHABLE);
		CHECK_EQ(recv.status, step == STEP_FAIL ? GANTRY_OK : GANTRY_FLUSHED);
		CHECK_EQ(recv.imm, step == STEP_FAIL ? 77 : 0);
		CHECK_EQ(recv.cookie, 5);
		env_queue_done(q);
		env_queue_done(from);
	}
}

/* Time in which the queue has no work must not count toward the deadline, however long it is. */
static void
a_queue_that_rests_is_not_stuck(void)
{
	struct gantry_queue *q = queue_of(g, SHORT_MS, 0);
	struct gantry_comp comp;
	uint32_t round, i;

	for (round = 0; round < 10; round++) {
		/* The queue is checked once while a WQE is outstanding. Then the WQE completes. */
		struct gantry_desc d = arena_copy(round);

		CHECK_EQ(gantry_submit(q, &d, 1), 1);
		for (i = 0; i < 2 * GANTRY_WATCH_POLLS; i++)
			CHECK_EQ(gantry_poll(q, &comp, 1), 0);
		env_collect(q, &comp, 1);
		CHECK_EQ(comp.status, GANTRY_OK);
		usleep(SHORT_MS * 1000);
		/* In some rounds the queue is polled while no descriptor is in flight. */
		for (i = 0; round % 5 == 0 && i < 10 * GANTRY_WATCH_POLLS; i++)
			CHECK_EQ(gantry_poll(q, &comp, 1), 0);
	}
	CHECK_EQ(env_stats(q).recoveries, 0);
	env_queue_done(q);
}

/*
 * Each WQE waits for half of the deadline: the connections are slow, and must not count as stuck.
 * Each late call of gantry_watch() counts as a quarter of the deadline. The first of three calls
 * only stores which WQEs are outstanding.
 */
static void
a_connection_that_goes_on_slowly_is_not_stuck(void)
{
	struct gantry_queue *q = queue_of(g, 0, 0);
	struct gantry_desc d[2];
	struct gantry_comp comp[2];
	uint16_t pa, pb;
	uint32_t round, i;

	env_connect(q, &pa, q, &pb);
	arena_reset(1);
	for (round = 0; round < N_PIECES / 2; round++) {
		d[0] = arena_copy(2 * round);
		d[1] = arena_write(2 * round + 1, pa);
		CHECK_EQ(gantry_submit(q, d, 2), 2);
		for (i = 0; i < 3; i++) {
			q->watch_tsc = 0;
			gantry_watch(q);
		}
		env_collect(q, comp, 2);
		for (i = 0; i < 2; i++)
			CHECK(comp[i].status == GANTRY_OK && arena_is_moved(2 * round + i));
	}
	CHECK_EQ(env_stats(q).recoveries, 0);
	env_queue_done(q);
}

/*
 * After a long pause of the process, the WQEs must not count as stuck at once: a call of
 * gantry_watch() counts as at most a quarter of the deadline.
 */
static void
a_process_that_stood_still_gives_the_device_time(void)
{
	struct gantry_queue *q = queue_of(g, SHORT_MS, 0);
	struct gantry_conn *own = &q->conn[GANTRY_CONN_OWN];
	struct gantry_desc d = arena_copy(0);
	struct gantry_comp comp;
	uint32_t i;

	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	gantry_watch(q);
	for (i = 0; i < 3; i++) {
		/* the previous call of gantry_watch() was longer ago than the deadline */
		q->watch_tsc = 0;
		gantry_watch(q);
		CHECK_EQ(own->state, GANTRY_CONN_READY);
	}
	q->watch_tsc = 0;
	gantry_watch(q);
	CHECK_EQ(own->state, GANTRY_CONN_FAILING);
	CHECK_EQ(q->outstanding, 2);
	env_collect(q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_TIMED_OUT);
	CHECK_EQ(q->outstanding, 0);
	check_copies_work(q);
	env_queue_done(q);
}

/*
 * The stuck WQE completes while the QP is moved to error, so no WQE is left to flush. The
 * descriptor must complete with GANTRY_OK.
 */
static void
what_completes_after_all_is_done(void)
{
	struct gantry_queue *q = queue_of(g, 0, 0);
	struct gantry_conn *c;
	struct gantry_desc d;
	struct gantry_comp comp;
	uint16_t pa, pb;

	env_connect(q, &pa, q, &pb);
	arena_reset(1);
	d = arena_copy(0);
	c = &q->conn[GANTRY_CONN_OWN];
	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	c->state = GANTRY_CONN_FAILING;
	gantry_queue_note_usual(q);
	q->outstanding++;
	env_collect(q, &comp, 1);
	CHECK(comp.status == GANTRY_OK && arena_is_moved(0));
	CHECK_EQ(env_do_one(q, arena_copy(1)), GANTRY_OK);
	CHECK_EQ(q->outstanding, 0);
	CHECK_EQ(env_stats(q).recoveries, 1);

	d = arena_write(2, pa);
	c = &q->conn[q->peer[pa].conn];
	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	c->state = GANTRY_CONN_FAILING;
	q->outstanding++;
	env_collect(q, &comp, 1);
	CHECK(comp.status == GANTRY_OK && arena_is_moved(2));
	CHECK_EQ(env_do_one(q, arena_write(3, pa)), GANTRY_BAD_PEER);
	CHECK_EQ(q->outstanding, 0);
	env_queue_done(q);
}

/*
 * When its connection is flushed, only a part of the long write is posted. The write must complete
 * only after the flush.
 */
static void
a_split_write_waits_for_the_flush(void)
{
	struct gantry_queue *q = queue_of(g, SHORT_MS, 0);
	uint64_t end = env_patience();
	struct gantry_desc d;
	struct gantry_conn *c;
	struct gantry_comp comp;
	uint16_t pa, pb;

	env_connect(q, &pa, q, &pb);
	c = &q->conn[q->peer[pa].conn];
	c->max_len = 64;
	d = arena_write(0, pa);
	d.len = LONG;
	arm("late ms=60000 op=3");
	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	slow_to_flush = true;
	while (c->state != GANTRY_CONN_FAILING) {
		CHECK_EQ(env_poll(q, &comp, 1), 0);
		CHECK(rte_get_timer_cycles() < end);
	}
	CHECK_EQ(env_poll(q, &comp, 1), 0);
	slow_to_flush = false;
	CHECK_EQ(hwq_qp_fail(c->qp), 0);
	env_collect(q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_TIMED_OUT);
	env_queue_done(q);
}

/* Otherwise a later stop of the repaired connection would count as a failure by an event. */
static void
events_from_before_a_repair_are_forgotten(void)
{
	struct gantry_queue *q = queue_of(g, GANTRY_NO_DEADLINE, 0);
	struct gantry_conn *c = &q->conn[GANTRY_CONN_OWN];
	struct gantry_desc d = arena_copy(0);
	uint64_t end = env_patience();
	struct gantry_comp comp;

	arm("refuse call=modify_qp errno=5 times=1");
	arm("qp_fatal");
	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	do {
		CHECK_EQ(env_poll(q, &comp, 1), 0);
		if (c->state == GANTRY_CONN_BROKEN)
			c->repair_tsc = UINT64_MAX; /* not before the event has come */
		CHECK(rte_get_timer_cycles() < end);
	} while (c->state != GANTRY_CONN_BROKEN || atomic_load(&c->events) == 0);
	c->repair_tsc = 0;
	env_collect(q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	CHECK_EQ(env_stats(q).recoveries, 1);
	CHECK_EQ(atomic_load(&c->events), 0);
	env_queue_done(q);
}

static void
without_a_deadline_nothing_is_given_up(void)
{
	struct gantry_queue *q = queue_of(g, GANTRY_NO_DEADLINE, 0);
	struct gantry_desc d = arena_copy(0);
	struct gantry_comp comp;
	uint32_t i;

	arm("drop");
	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	for (i = 0; i < 10 * GANTRY_WATCH_POLLS; i++) {
		q->watch_tsc = 0;
		CHECK_EQ(env_poll(q, &comp, 1), 0);
	}
	CHECK_EQ(softhca_faults_left(), 0);
	q->deadline_tsc = 1000;
	env_collect(q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_TIMED_OUT);
	env_queue_done(q);
}

/*
 * Every stuck peer must be found: one call of gantry_watch() must set gantry_conn::watched, which
 * is 0 before, for all connections with outstanding WQEs.
 */
static void
every_peer_that_is_stuck_is_watched(void)
{
	struct gantry_queue *q = queue_of(g, GANTRY_NO_DEADLINE, 0);
	struct gantry_comp comp[2];
	struct gantry_desc d[2];
	uint16_t peer[2];
	uint32_t i;

	env_connect(q, &peer[0], q, &peer[1]);
	arena_reset(1);
	for (i = 0; i < 2; i++) {
		d[i] = arena_write(i, peer[i]);
		arm("drop op=1");
		CHECK_EQ(gantry_submit(q, &d[i], 1), 1);
		pump();
		CHECK_EQ(softhca_faults_left(), 0);
	}
	for (i = 0; i < 2 * GANTRY_WATCH_POLLS; i++)
		CHECK_EQ(env_poll(q, comp, 2), 0);
	for (i = 0; i < 2; i++)
		CHECK(q->conn[gantry_queue_peer_conn(q, peer[i])].watched != 0);
	q->deadline_tsc = 1000;
	env_collect(q, comp, 2);
	for (i = 0; i < 2; i++)
		CHECK_EQ(comp[i].status, GANTRY_TIMED_OUT);
	env_queue_done(q);
}

/*
 * Reads the kernel's status of the thread with this name: proc_pid_status(5). The kernel cuts the
 * name to 15 bytes.
 */
static void
the_thread_of_events_blocks_all_signals(void)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *e;
	unsigned int found = 0;

	CHECK(dir != NULL);
	while ((e = readdir(dir)) != NULL) {
		char path[300], line[128];
		bool is_ours = false;
		FILE *status;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		status = fopen(path, "r");
		while (status != NULL && fgets(line, sizeof(line), status) != NULL) {
			uint64_t blocked;

			is_ours |= strncmp(line, "Name:\tgantry-event", 18) == 0;
			if (!is_ours || sscanf(line, "SigBlk: %" SCNx64, &blocked) != 1)
				continue;
			/*
			 * Bit n is signal n + 1. SIGKILL and SIGSTOP cannot be blocked, and libc
			 * uses 32 and 33.
			 */
			CHECK_EQ(blocked | 1u << (SIGKILL - 1) | 1u << (SIGSTOP - 1) |
					 UINT64_C(3) << 31,
				UINT64_MAX);
			found++;
		}
		if (status != NULL)
			fclose(status);
	}
	closedir(dir);
	CHECK_EQ(found, 1);
}

static void
the_default_deadline_is_ten_seconds(void)
{
	struct gantry_queue *q = queue_of(g, 0, 0);

	CHECK_EQ(q->deadline_tsc, 10000 * (rte_get_tsc_hz() / 1000));
	env_queue_done(q);
}

/* ------------------------------------------------------------------ workers: the device runs */

/* gantry_stop() must return, and every descriptor must have completed, whatever the device does. */
static void
workers_stop_whatever_the_device_does(void)
{
	static const char *const faults[] = {"cq_overrun op=7", "sq_drained op=7", "qp_fatal op=7",
		"drop op=8", "device_fatal op=7"};
	struct gantry_worker_conf conf = {.queue = {.depth = 64, .deadline_ms = 500}};
	struct gantry_desc desc[N_PIECES];
	struct gantry_comp comp[N_PIECES];
	uint32_t f, i, n;

	for (f = 0; f < 2 * RTE_DIM(faults); f++) {
		bool lossless = f / 2 < 3;
		struct gantry_worker *w;
		struct lost_engine e;

		/* Without a deadline, only events can end descriptors. */
		conf.queue.deadline_ms = lossless ? GANTRY_NO_DEADLINE : 500;
		conf.idle = f % 2 == 0 ? GANTRY_IDLE_SPIN : GANTRY_IDLE_SLEEP;
		lost_engine_create(&e, 0);
		CHECK_EQ(gantry_worker_create(e.g, 1, &conf, &w), 0);
		for (i = 0; i < N_PIECES; i++) {
			desc[i] = arena_copy(i);
			if (i % 8 == 0)
				desc[i].flags = GANTRY_DESC_FENCE;
		}
		arm(faults[f / 2]);
		CHECK_EQ(gantry_start(e.g), 0);
		CHECK_EQ(gantry_enqueue_burst(w, desc, N_PIECES), N_PIECES);
		do
			n = env_dequeue(w, comp, N_PIECES);
		while (n == 0);
		CHECK_EQ(gantry_stop(e.g), 0);
		n += gantry_dequeue_burst(w, comp + n, N_PIECES - n);
		n += gantry_reclaim_burst(w, desc, N_PIECES - n);
		CHECK_EQ(n, N_PIECES);
		for (i = 0; lossless && i < N_PIECES; i++)
			CHECK_EQ(comp[i].status, GANTRY_OK);
		CHECK_EQ(gantry_worker_destroy(w), 0);
		softhca_faults_clear();
		arm("device_fatal");
		lost_engine_destroy(&e);
	}
}

/*
 * Two workers share an lcore and have only receives in flight. A failure of the device wakes no
 * sleeping lcore, but the receives must complete.
 */
static void
receives_of_workers_end_when_the_device_is_lost(void)
{
	static const enum gantry_idle idle[] = {GANTRY_IDLE_SPIN, GANTRY_IDLE_SLEEP};
	const struct gantry_peer_conf peer_conf = {.recv_depth = 4};
	struct gantry_recv_comp comp[4];
	struct gantry_recv recv[4];
	struct gantry_worker *w[2];
	struct gantry_addr a, b;
	struct lost_engine e;
	uint32_t i, k, n;
	uint16_t pa, pb;

	for (i = 0; i < 4; i++)
		recv[i] = (struct gantry_recv){.cookie = i,
			.addr = (uintptr_t)dst + i * piece,
			.len = piece};
	for (k = 0; k < RTE_DIM(idle); k++) {
		const struct gantry_worker_conf conf = {.recv_ring_size = 16, .idle = idle[k]};

		arena_reset(32);
		lost_engine_create(&e, 0);
		for (i = 0; i < 2; i++) {
			CHECK_EQ(gantry_worker_create(e.g, 1, &conf, &w[i]), 0);
			CHECK_EQ(gantry_peer_open(gantry_worker_queue(w[i]), &peer_conf, &pa, &a),
				0);
			CHECK_EQ(gantry_peer_open(e.q, NULL, &pb, &b), 0);
			CHECK_EQ(gantry_peer_connect(gantry_worker_queue(w[i]), pa, &b), 0);
			CHECK_EQ(gantry_peer_connect(e.q, pb, &a), 0);
			CHECK_EQ(gantry_recv_enqueue_burst(w[i], pa, recv, 4), 4);
		}
		CHECK_EQ(gantry_start(e.g), 0);
		for (i = 0; i < 2; i++)
			while (env_stats(gantry_worker_queue(w[i])).recv_posted != 4)
				usleep(100);
		arm("device_fatal");
		for (i = 0; i < 2; i++) {
			for (n = 0; n < 4; usleep(100))
				n += gantry_recv_dequeue_burst(w[i], comp + n, 4 - n);
			for (n = 0; n < 4; n++) {
				CHECK_EQ(comp[n].cookie, n);
				CHECK_EQ(comp[n].status, GANTRY_DEVICE_LOST);
			}
		}
		CHECK_EQ(gantry_stop(e.g), 0);
		for (i = 0; i < 2; i++)
			CHECK_EQ(gantry_worker_destroy(w[i]), 0);
		lost_engine_destroy(&e);
	}
}

/* ------------------------------------------------------------------ main */

static const struct check_case cases[] = {
	{"events do not fail copies", events_do_not_fail_copies},
	{"a long copy survives events", a_long_copy_survives_events},
	{"a copy that is not executed again reports the event",
		a_copy_that_is_not_carried_out_again_tells_of_the_event},
	{"copies are executed again after events as often as the setting allows",
		copies_are_carried_out_again_for_events_as_often_as_it_is_set},
	{"a repair after an event is tried again", a_repair_after_an_event_is_tried_again},
	{"an owner that only counts completions notices events", who_only_counts_hears_of_events},
	{"a queue that cannot be created leaves nothing behind",
		a_queue_that_could_not_be_made_leaves_nothing},
	{"descriptors wait while there is no QP", descriptors_wait_while_there_is_no_qp},
	{"an event of a peer is reported", an_event_of_a_peer_is_told},
	{"messages that a peer has sent arrive, whatever fails after them",
		what_a_peer_has_sent_arrives_whatever_fails_behind_it},
	{"ports without a link are reported", ports_without_a_link_are_told},
	{"every descriptor completes when the device is lost",
		everything_comes_back_when_the_device_is_lost},
	{"messages that a peer has sent arrive, although the device is lost",
		what_a_peer_has_sent_arrives_although_the_device_is_lost},
	{"receives of every peer end when the device is lost",
		receives_of_every_peer_end_when_the_device_is_lost},
	{"receives end when the device of an idle queue is lost",
		receives_end_when_the_device_of_an_idle_queue_is_lost},
	{"descriptors that wait for a repair complete when the device is lost",
		what_waits_for_a_repair_comes_back_when_the_device_is_lost},
	{"the CPU copies nothing when the device is lost",
		the_cpu_copies_nothing_when_the_device_is_lost},
	{"a DC peer that is opened after the loss is lost too",
		a_dc_peer_that_is_opened_after_the_loss_is_lost_too},
	{"a worker without work notices that the device is lost",
		a_worker_without_work_notices_that_the_device_is_lost},
	{"the thread of events blocks all signals", the_thread_of_events_blocks_all_signals},
	{"the default deadline is ten seconds", the_default_deadline_is_ten_seconds},
};

static const struct check_case pumped_cases[] = {
	{"a lost completion ends by its deadline", a_lost_completion_ends_by_its_deadline},
	{"a lost completion of a peer ends by its deadline",
		a_lost_completion_of_a_peer_ends_by_its_deadline},
	{"only stuck descriptors fail", what_is_stuck_fails_alone},
	{"a stuck connection ends, even if calls to end it are refused",
		a_stuck_connection_whose_end_is_refused_ends},
	{"a message to a connection that ends has the same result as its receive",
		a_message_to_a_connection_that_ends_and_its_receive_agree},
	{"an idle queue is not stuck", a_queue_that_rests_is_not_stuck},
	{"a slow connection is not stuck", a_connection_that_goes_on_slowly_is_not_stuck},
	{"after the process stood still, the device gets time",
		a_process_that_stood_still_gives_the_device_time},
	{"descriptors that complete in the end are done", what_completes_after_all_is_done},
	{"a split write waits for the flush", a_split_write_waits_for_the_flush},
	{"events from before a repair are forgotten", events_from_before_a_repair_are_forgotten},
	{"without a deadline nothing is given up", without_a_deadline_nothing_is_given_up},
	{"every peer that is stuck is watched", every_peer_that_is_stuck_is_watched},
};

static const struct check_case worker_cases[] = {
	{"workers stop whatever the device does", workers_stop_whatever_the_device_does},
	{"receives of workers end when the device is lost",
		receives_of_workers_end_when_the_device_is_lost},
};

int
main(int argc, char **argv)
{
	bool pumped = env_is_pumped();
	struct check_case all[RTE_DIM(cases) + RTE_DIM(pumped_cases) + RTE_DIM(worker_cases)];
	uint32_t n = 0, i;

	env_init(1);
	arena_create(NULL);
	rte_log_set_level(gantry_logtype, RTE_LOG_EMERG);
	/*
	 * Cases that make the device fail come last, because the engine of the other cases also
	 * learns of the failure.
	 */
	for (i = 0; i < 7; i++)
		all[n++] = cases[i];
	all[n++] = cases[RTE_DIM(cases) - 1];
	for (i = 0; pumped && i < RTE_DIM(pumped_cases); i++)
		all[n++] = pumped_cases[i];
	for (i = 7; i < RTE_DIM(cases) - 1; i++)
		all[n++] = cases[i];
	for (i = 0; !pumped && i < RTE_DIM(worker_cases); i++)
		all[n++] = worker_cases[i];
	return arena_run(all, n, argc, argv);
}
