/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workers with rings of receives and rings of completions of receives. The main lcore sends from
 * its own queue. In this test sleeping lcores do not poll by time, because that would hide a lost
 * wake-up.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_ring.h>

#include <softhca.h>

#include <gantry_loop.h>
#include <gantry_sleep.h>
#include <gantry_worker.h>

#include "gantry_arena.h"

#define PIECE 64

#ifdef GANTRY_ALLOC_LIBC
#define GOAL 500 /* few messages, because sanitizers are slow */
#else
#define GOAL 4000
#endif

/*
 * A worker with rings of receives, and a queue that sends messages to the worker over two
 * connections.
 */
static struct gantry_worker *w;
static struct gantry_queue *sender;
static uint16_t to[2], from[2];

static void
begin(enum gantry_idle idle, uint32_t ring_size, uint16_t recv_depth)
{
	const struct gantry_worker_conf conf = {.queue.depth = 16,
		.recv_ring_size = ring_size,
		.idle = idle};
	const struct gantry_peer_conf peer = {.recv_depth = recv_depth};
	struct gantry_addr near, far;
	unsigned int k;

	CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), 0);
	sender = env_queue(g, 64);
	CHECK_EQ(gantry_worker_start(w), 0);
	for (k = 0; k < 2; k++) {
		CHECK_EQ(gantry_peer_open(sender, NULL, &to[k], &near), 0);
		CHECK_EQ(gantry_peer_open(gantry_worker_queue(w), &peer, &from[k], &far), 0);
		CHECK_EQ(gantry_peer_connect(sender, to[k], &far), 0);
		CHECK_EQ(gantry_peer_connect(gantry_worker_queue(w), from[k], &near), 0);
	}
}

/* Takes n completions of receives from the worker's ring. */
static void
take(struct gantry_recv_comp *comp, uint32_t n)
{
	uint64_t end = env_patience();
	uint32_t got = 0;

	while (got < n) {
		got += gantry_recv_dequeue_burst(w, comp + got, n - got);
		sched_yield();
		CHECK(rte_get_timer_cycles() < end);
	}
}

/* Ends a case: closes the peers, which flushes the posted receives. */
static void
end_with(uint32_t flushed)
{
	struct gantry_recv_comp comp[64];
	uint32_t k;

	for (k = 0; k < 2; k++) {
		CHECK_EQ(gantry_peer_close(gantry_worker_queue(w), from[k]), 0);
		CHECK_EQ(gantry_peer_close(sender, to[k]), 0);
	}
	take(comp, flushed);
	for (k = 0; k < flushed; k++)
		CHECK_EQ(comp[k].status, GANTRY_FLUSHED);
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(gantry_recv_dequeue_burst(w, comp, 1), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
	env_queue_done(sender);
}

/* Receive number n: PIECE bytes at offset n % 256 * PIECE of dst. */
static struct gantry_recv
recv_of(uint64_t n)
{
	return (struct gantry_recv){.cookie = n,
		.addr = (uintptr_t)dst + n % 256 * PIECE,
		.len = PIECE};
}

/* Message number n: 1 to PIECE bytes of src. */
static struct gantry_desc
send_of(uint64_t n, uint32_t k)
{
	return (struct gantry_desc){.op = GANTRY_OP_SEND_IMM,
		.peer = to[k],
		.src = (uintptr_t)src + n % 1000,
		.len = 1 + n % PIECE,
		.imm = n};
}

static void
send_one(uint64_t n, uint32_t k)
{
	CHECK_EQ(env_do_one(sender, send_of(n, k)), GANTRY_OK);
}

/* Checks that message n has used receive n of connection k. */
static void
check_recv(const struct gantry_recv_comp *comp, uint64_t n, uint32_t k)
{
	CHECK_EQ(comp->cookie, n);
	CHECK_EQ(comp->status, GANTRY_OK);
	CHECK_EQ(comp->peer, from[k]);
	CHECK_EQ(comp->imm, n);
	CHECK_EQ(comp->len, 1 + n % PIECE);
	CHECK(memcmp(dst + n % 256 * PIECE, src + n % 1000, comp->len) == 0);
}

/* ------------------------------------------------------------------ cases */

/*
 * Random bursts of receives and messages on two connections, with pauses in which the lcore rests.
 * Each message must use the next receive of its connection.
 */
static void
exchange(enum gantry_idle idle)
{
	uint64_t seed = 3, put[2] = {0}, sent[2] = {0}, got[2] = {0}, end = env_patience();
	struct gantry_recv_comp comp[8];
	uint32_t i, k, n;

	begin(idle, 16, 8);
	while (got[0] + got[1] < GOAL) {
		k = check_random(&seed) % 2;
		/*
		 * Numbers of the second connection begin at 128, so its receives use the other half
		 * of dst.
		 */
		for (n = check_random(&seed) % 9; n != 0 && put[k] - got[k] < 8; n--) {
			struct gantry_recv r = recv_of(put[k] + 128 * k);

			put[k] += gantry_recv_enqueue_burst(w, from[k], &r, 1);
		}
		for (n = check_random(&seed) % 4; n != 0 && sent[k] < put[k]; n--)
			send_one(sent[k]++ + 128 * k, k);
		if (check_random(&seed) % 16 == 0)
			usleep(check_random(&seed) % 300);
		n = gantry_recv_dequeue_burst(w, comp, check_random(&seed) % 9);
		for (i = 0; i < n; i++) {
			k = comp[i].peer == from[1];
			check_recv(&comp[i], got[k]++ + 128 * k, k);
		}
		CHECK(rte_get_timer_cycles() < end);
	}
	for (k = 0; k < 2; k++)
		while (sent[k] < put[k])
			send_one(sent[k]++ + 128 * k, k);
	while (got[0] + got[1] < put[0] + put[1]) {
		take(comp, 1);
		k = comp[0].peer == from[1];
		check_recv(&comp[0], got[k]++ + 128 * k, k);
	}
	end_with(0);
}

static void
receives_complete_once_and_in_order(void)
{
	exchange(GANTRY_IDLE_SPIN);
	exchange(GANTRY_IDLE_SLEEP);
}

/*
 * Each ring has 8 entries, and 64 receives are posted. If the ring of completions is full,
 * completions must wait, and none may be lost.
 */
static void
full_rings_push_back_and_lose_nothing(void)
{
	static const enum gantry_idle idle[] = {GANTRY_IDLE_SPIN, GANTRY_IDLE_SLEEP};
	struct gantry_recv_comp comp[8];
	uint64_t end = env_patience();
	uint32_t i, k, n;

	for (k = 0; k < RTE_DIM(idle); k++) {
		begin(idle[k], 8, 64);
		for (n = 0; n < 64;) {
			struct gantry_recv r = recv_of(n);

			n += gantry_recv_enqueue_burst(w, from[0], &r, 1);
			CHECK(rte_get_timer_cycles() < end);
		}
		for (n = 0; n < 64; n++)
			send_one(n, 0);
		while (env_stats(gantry_worker_queue(w)).recv_done < 8)
			CHECK(rte_get_timer_cycles() < end);
		usleep(2000);
		CHECK_EQ(env_stats(gantry_worker_queue(w)).recv_done, 8);
		for (n = 0; n < 64; n += 4) {
			take(comp, 4);
			for (i = 0; i < 4; i++)
				check_recv(&comp[i], n + i, 0);
		}
		end_with(0);
	}
}

/*
 * Messages have arrived, but the ring of completions is full. Only the application can free
 * entries.
 */
static void
a_full_ring_lets_the_lcore_sleep(void)
{
	struct gantry_desc copy = env_copy(src, dst + 64 * PIECE, PIECE);
	uint64_t end = env_patience(), slept;
	struct gantry_recv_comp comp[16];
	struct gantry_comp done;
	uint32_t n, round;

	begin(GANTRY_IDLE_SLEEP, 8, 16);
	for (n = 0; n < 16;) {
		struct gantry_recv r = recv_of(n);

		n += gantry_recv_enqueue_burst(w, from[0], &r, 1);
		CHECK(rte_get_timer_cycles() < end);
	}
	for (n = 0; n < 8; n++)
		send_one(n, 0);
	while (env_stats(gantry_worker_queue(w)).recv_done < 8)
		CHECK(rte_get_timer_cycles() < end);
	/* The CQEs of these messages stay in the CQ, because the ring is full already. */
	for (; n < 16; n++)
		send_one(n, 0);
	/* A copy wakes the lcore, if it sleeps. After the copy the lcore sleeps again. */
	for (round = 0; round < 3; round++) {
		slept = gantry_loop_sleeps(1);
		CHECK_EQ(gantry_enqueue_burst(w, &copy, 1), 1);
		while (env_dequeue(w, &done, 1) == 0)
			CHECK(rte_get_timer_cycles() < end);
		while (gantry_loop_sleeps(1) == slept)
			CHECK(rte_get_timer_cycles() < end);
	}
	CHECK_EQ(env_stats(gantry_worker_queue(w)).recv_done, 8);
	take(comp, 16);
	for (n = 0; n < 16; n++)
		check_recv(&comp[n], n, 0);
	end_with(0);
}

/*
 * More receives than recv_depth are enqueued. The receives beyond recv_depth must wait in the ring
 * until earlier receives have completed.
 */
static void
receives_beyond_the_depth_wait(void)
{
	struct gantry_recv_comp comp[12];
	uint64_t end = env_patience();
	uint32_t n;

	begin(GANTRY_IDLE_SPIN, 16, 8);
	for (n = 0; n < 12; n++) {
		struct gantry_recv r = recv_of(n);

		CHECK_EQ(gantry_recv_enqueue_burst(w, from[0], &r, 1), 1);
	}
	while (env_stats(gantry_worker_queue(w)).recv_posted < 8)
		CHECK(rte_get_timer_cycles() < end);
	usleep(1000);
	CHECK_EQ(env_stats(gantry_worker_queue(w)).recv_posted, 8);
	for (n = 0; n < 12; n++)
		send_one(n, 0);
	take(comp, 12);
	for (n = 0; n < 12; n++)
		check_recv(&comp[n], n, 0);
	end_with(0);
}

static void
wrong_receives_complete_with_their_status(void)
{
	struct gantry_recv bad = recv_of(2), good = recv_of(0);
	struct gantry_recv_comp comp[4];

	begin(GANTRY_IDLE_SPIN, 16, 8);
	bad.zero = 1;
	CHECK_EQ(gantry_recv_enqueue_burst(w, 9, &good, 1), 1);
	CHECK_EQ(gantry_recv_enqueue_burst(w, from[0], &bad, 1), 1);
	CHECK_EQ(gantry_recv_enqueue_burst(w, from[0], &good, 1), 1);
	take(comp, 2);
	CHECK_EQ(comp[0].status + comp[1].status, GANTRY_BAD_PEER + GANTRY_BAD_FIELD);
	CHECK_EQ(comp[comp[1].status == GANTRY_BAD_PEER].peer, 9);
	CHECK_EQ(comp[comp[1].status == GANTRY_BAD_FIELD].cookie, 2);
	send_one(0, 0);
	take(comp, 1);
	check_recv(&comp[0], 0, 0);
	end_with(0);
}

/*
 * When the worker is stopped, posted receives stay posted, receives in the ring stay there, and a
 * message that arrives is kept.
 */
static void
stopping_keeps_receives(void)
{
	struct gantry_worker *none;
	struct gantry_recv_comp comp[8];
	struct gantry_recv r[8], back[8];
	struct gantry_worker_conf conf = {.recv_ring_size = 3};
	uint64_t end = env_patience();
	uint16_t peer[8];
	uint32_t n;

	CHECK_EQ(gantry_worker_create(g, 1, &conf, &none), -EINVAL);
	begin(GANTRY_IDLE_SPIN, 16, 4);
	for (n = 0; n < 8; n++)
		r[n] = recv_of(n);
	CHECK_EQ(gantry_recv_enqueue_burst(w, from[0], r, 8), 8);
	while (env_stats(gantry_worker_queue(w)).recv_posted < 4)
		CHECK(rte_get_timer_cycles() < end);
	CHECK_EQ(gantry_recv_reclaim_burst(w, peer, back, 8), 0);
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(gantry_worker_destroy(w), -EBUSY);
	send_one(0, 0);
	CHECK_EQ(gantry_recv_dequeue_burst(w, comp, 8), 0);
	/*
	 * Two receives are taken back from the ring, and the worker posts the other two when it is
	 * started again.
	 */
	CHECK_EQ(gantry_recv_reclaim_burst(w, peer, back, 2), 2);
	for (n = 0; n < 2; n++) {
		CHECK_EQ(peer[n], from[0]);
		CHECK(memcmp(&back[n], &r[4 + n], sizeof(r[0])) == 0);
	}
	CHECK_EQ(gantry_worker_start(w), 0);
	take(comp, 1);
	check_recv(&comp[0], 0, 0);
	for (n = 1; n < 4; n++)
		send_one(n, 0);
	take(comp, 3);
	CHECK_EQ(gantry_worker_stop(w), 0);
	/* The worker is stopped, so the control thread owns the queue. */
	send_one(6, 0);
	CHECK_EQ(gantry_recv_poll(gantry_worker_queue(w), comp, 8), 1);
	check_recv(&comp[0], 6, 0);
	CHECK_EQ(gantry_worker_destroy(w), -EBUSY);
	CHECK_EQ(gantry_worker_start(w), 0);
	end_with(1);
	/* A worker without rings of receives: the calls fail. */
	CHECK_EQ(gantry_worker_create(g, 1, NULL, &none), 0);
	CHECK_EQ(gantry_recv_enqueue_burst(none, 0, r, 1), 0);
	CHECK_EQ(gantry_recv_dequeue_burst(none, comp, 1), 0);
	CHECK_EQ(gantry_recv_reclaim_burst(none, peer, back, 1), 0);
	CHECK_EQ(gantry_worker_destroy(none), 0);
}

static atomic_bool is_held;

/*
 * Keeps the lcore between two calls of gantry_worker_turn(), until the worker's stop is requested.
 */
static int
hold(void *arg)
{
	atomic_store(&is_held, true);
	while ((atomic_load(&w->ask) & GANTRY_ASK_STOP) == 0)
		sched_yield();
	return 0;
}

static void *
hold_main(void *arg)
{
	return (void *)(intptr_t)gantry_worker_call(w, hold, arg);
}

/*
 * Several peers, and more messages than the lcore moves at once. When the worker has stopped, it
 * must be possible to take all completions.
 */
static void
a_stop_leaves_completions_in_the_ring_and_the_rest_to_its_peers(void)
{
	enum {
		N = 256
	};
	struct gantry_recv_comp comp[N + 1];
	struct gantry_recv r[N], back[N];
	uint64_t end = env_patience();
	uint16_t peer[N];
	pthread_t thread;
	uint32_t n, k;

	begin(GANTRY_IDLE_SPIN, 512, N);
	for (n = 0; n < N; n++)
		r[n] = recv_of(n);
	CHECK_EQ(gantry_recv_enqueue_burst(w, from[0], r, N), N);
	while (env_stats(gantry_worker_queue(w)).recv_posted < N)
		CHECK(rte_get_timer_cycles() < end);
	CHECK_EQ(pthread_create(&thread, NULL, hold_main, NULL), 0);
	while (!atomic_load(&is_held))
		sched_yield();
	for (n = 0; n < N; n++)
		send_one(n, 0);
	/* The messages have arrived, because their senders have the completions. */
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(gantry_recv_dequeue_burst(w, comp, N + 1), N);
	for (n = 0; n < N; n++)
		check_recv(&comp[n], n, 0);
	/*
	 * Receives that the worker has not taken from the ring are returned with the number of
	 * their peer.
	 */
	for (n = 0; n < N; n++)
		CHECK_EQ(gantry_recv_enqueue_burst(w, from[n % 3 == 1], &r[n], 1), 1);
	for (n = 0; n < N; n += k) {
		k = gantry_recv_reclaim_burst(w, peer + n, back + n, 30);
		CHECK_EQ(k, RTE_MIN(30u, N - n));
	}
	for (n = 0; n < N; n++) {
		CHECK_EQ(peer[n], from[n % 3 == 1]);
		CHECK(memcmp(&back[n], &r[n], sizeof(r[n])) == 0);
	}
	CHECK_EQ(gantry_recv_reclaim_burst(w, peer, back, 1), 0);
	CHECK_EQ(gantry_worker_start(w), 0);
	end_with(0);
}

static void *
enqueue_later(void *arg)
{
	while ((atomic_load(&w->ask) & GANTRY_ASK_STOP) == 0)
		sched_yield();
	/* In this time the lcore ends a call of gantry_worker_turn() that it has already begun. */
	usleep(100000);
	CHECK_EQ(gantry_recv_enqueue_burst(w, from[0], arg, 1), 1);
	return NULL;
}

/*
 * The worker's stop waits for a slow copy. Meanwhile a receive is enqueued: the worker must leave
 * it in the ring.
 */
static void
a_stopping_worker_takes_no_receives(void)
{
	struct gantry_desc copy = env_copy(src, dst, PIECE);
	struct gantry_recv r = recv_of(0), back;
	struct gantry_comp comp;
	pthread_t thread;
	uint16_t peer;

	begin(GANTRY_IDLE_SPIN, 16, 4);
	CHECK_EQ(softhca_fault("late ms=200"), 0);
	CHECK_EQ(gantry_enqueue_burst(w, &copy, 1), 1);
	while (env_stats(gantry_worker_queue(w)).submitted == 0)
		sched_yield();
	CHECK_EQ(pthread_create(&thread, NULL, enqueue_later, &r), 0);
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(env_stats(gantry_worker_queue(w)).recv_posted, 0);
	CHECK_EQ(gantry_recv_reclaim_burst(w, &peer, &back, 1), 1);
	CHECK_EQ(back.cookie, r.cookie);
	CHECK_EQ(gantry_dequeue_burst(w, &comp, 1), 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	CHECK_EQ(gantry_worker_start(w), 0);
	end_with(0);
}

/*
 * Receives of a DC target, which a sleeping lcore posts and completes. A target uses receives in
 * any order, so in this case only one message is in flight at a time.
 */
static void
a_dc_target_wakes_the_lcore(void)
{
	const struct gantry_worker_conf conf = {.recv_ring_size = 16, .idle = GANTRY_IDLE_SLEEP};
	const struct gantry_peer_conf target = {.transport = GANTRY_TRANSPORT_DC_TARGET,
		.recv_depth = 8};
	const struct gantry_peer_conf dc = {.transport = GANTRY_TRANSPORT_DC};
	struct gantry_recv_comp comp[8];
	struct gantry_addr addr;
	uint64_t n, seed = 5, posted = 0;

	if (env_lacks(g, ENV_DC))
		return;
	CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), 0);
	CHECK_EQ(gantry_worker_start(w), 0);
	sender = env_queue(g, 64);
	CHECK_EQ(gantry_peer_open(gantry_worker_queue(w), &target, &from[0], &addr), 0);
	CHECK_EQ(gantry_peer_open(sender, &dc, &to[0], NULL), 0);
	CHECK_EQ(gantry_peer_connect(sender, to[0], &addr), 0);
	for (n = 0; n < 4 * 64; n++) {
		for (; posted < n + 4; posted++) {
			struct gantry_recv r = recv_of(posted);

			CHECK_EQ(gantry_recv_enqueue_burst(w, from[0], &r, 1), 1);
		}
		/* During this pause the lcore falls asleep. */
		usleep(check_random(&seed) % 300);
		send_one(n, 0);
		take(comp, 1);
		CHECK_EQ(comp[0].status, GANTRY_OK);
		CHECK_EQ(comp[0].peer, from[0]);
		CHECK_EQ(comp[0].imm, n);
		CHECK_EQ(comp[0].len, 1 + n % PIECE);
		CHECK(comp[0].cookie < posted);
		CHECK(memcmp(dst + comp[0].cookie % 256 * PIECE, src + n % 1000, comp[0].len) == 0);
	}
	CHECK_EQ(gantry_peer_close(sender, to[0]), 0);
	CHECK_EQ(gantry_peer_close(gantry_worker_queue(w), from[0]), 0);
	take(comp, posted - n);
	for (n = 0; n < 3; n++)
		CHECK_EQ(comp[n].status, GANTRY_FLUSHED);
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(gantry_recv_dequeue_burst(w, comp, 1), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
	env_queue_done(sender);
}

/*
 * Tests the other two kinds of rings, and calls with more receives than the library copies at once.
 */
static void
receives_of_several_producers(void)
{
	static const enum gantry_producers kinds[] = {GANTRY_PRODUCERS_MP, GANTRY_PRODUCERS_MP_HTS};
	struct gantry_recv_comp comp[100];
	struct gantry_recv r[100];
	uint32_t i, n;

	for (n = 0; n < 100; n++)
		r[n] = recv_of(n);
	for (i = 0; i < RTE_DIM(kinds); i++) {
		const struct gantry_worker_conf conf = {.recv_ring_size = 64,
			.producers = kinds[i]};

		CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), 0);
		CHECK_EQ(gantry_recv_enqueue_burst(w, 7, r, 40), 40);
		CHECK_EQ(gantry_recv_enqueue_burst(w, 8, r + 40, 60), 24);
		CHECK_EQ(gantry_worker_start(w), 0);
		take(comp, 64);
		for (n = 0; n < 64; n++) {
			CHECK_EQ(comp[n].cookie, n);
			CHECK_EQ(comp[n].peer, n < 40 ? 7 : 8);
			CHECK_EQ(comp[n].status, GANTRY_BAD_PEER);
		}
		CHECK_EQ(gantry_worker_stop(w), 0);
		CHECK_EQ(gantry_worker_destroy(w), 0);
	}
}

/*
 * A worker cannot be destroyed while a ring of receives is not empty: one ring has receives that
 * were not posted, the other ring has completions that were not taken.
 */
static void
a_worker_with_receives_in_a_ring_is_not_destroyed(void)
{
	const struct gantry_worker_conf conf = {.recv_ring_size = 4};
	struct gantry_recv recv = recv_of(0);
	struct gantry_recv_comp comp;
	uint16_t peer;

	CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), 0);
	CHECK_EQ(gantry_recv_enqueue_burst(w, 7, &recv, 1), 1);
	CHECK_EQ(gantry_worker_destroy(w), -EBUSY);
	CHECK_EQ(gantry_worker_start(w), 0);
	/* The lcore completes the receive with an error, because no such peer exists. */
	env_wait_ring(w->recv_out);
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(gantry_recv_reclaim_burst(w, &peer, &recv, 1), 0);
	CHECK_EQ(gantry_worker_destroy(w), -EBUSY);
	CHECK_EQ(gantry_recv_dequeue_burst(w, &comp, 1), 1);
	CHECK_EQ(gantry_worker_destroy(w), 0);
}

/*
 * gantry_worker_conf::producers must apply to the ring of descriptors and to the ring of receives.
 * The test checks the kind of the rings by functions of rte_ring.h, because a race of two producers
 * would show a wrong kind only by chance.
 */
static void
both_rings_are_for_as_many_producers_as_was_said(void)
{
	static const struct {
		enum gantry_producers producers;
		enum rte_ring_sync_type sync;
	} rows[] = {
		{GANTRY_PRODUCERS_ONE, RTE_RING_SYNC_ST},
#ifndef __SANITIZE_THREAD__
		{GANTRY_PRODUCERS_MP, RTE_RING_SYNC_MT},
#endif
		{GANTRY_PRODUCERS_MP_HTS, RTE_RING_SYNC_MT_HTS},
	};
	uint32_t i;

	for (i = 0; i < RTE_DIM(rows); i++) {
		const struct gantry_worker_conf conf = {.recv_ring_size = 4,
			.producers = rows[i].producers};

		CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), 0);
		CHECK_EQ(rte_ring_get_prod_sync_type(w->in), rows[i].sync);
		CHECK_EQ(rte_ring_get_prod_sync_type(w->recv_in), rows[i].sync);
		CHECK_EQ(gantry_worker_destroy(w), 0);
	}
}

/*
 * The device refuses at first to close the peer. Receives that are enqueued for the peer meanwhile
 * complete after the posted receives, even if they are more than recv_depth.
 */
static void
receives_for_a_peer_that_is_closed_keep_their_order(void)
{
	enum {
		POSTED = 4,
		N = 40
	};
	struct gantry_recv_comp comp[N];
	struct gantry_recv recv;
	uint32_t i;

	begin(GANTRY_IDLE_SPIN, 64, 8);
	for (i = 0; i < N; i++) {
		if (i == POSTED) {
			CHECK_EQ(softhca_fault("refuse call=destroy_qp errno=16"), 0);
			CHECK_EQ(gantry_peer_close(gantry_worker_queue(w), from[0]), -EBUSY);
		}
		recv = recv_of(i);
		CHECK_EQ(gantry_recv_enqueue_burst(w, from[0], &recv, 1), 1);
		while (i < POSTED && env_stats(gantry_worker_queue(w)).recv_posted != i + 1)
			sched_yield();
	}
	/* No receive completes before the device has stopped. */
	usleep(10000);
	CHECK_EQ(gantry_recv_dequeue_burst(w, comp, 1), 0);
	CHECK_EQ(gantry_peer_close(gantry_worker_queue(w), from[0]), 0);
	take(comp, N);
	for (i = 0; i < N; i++) {
		CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[i].peer, from[0]);
		CHECK_EQ(comp[i].status, i < POSTED ? GANTRY_FLUSHED : GANTRY_BAD_PEER);
	}
	/* From now on, no other completion comes before that of the next receive. */
	recv = recv_of(N);
	CHECK_EQ(gantry_recv_enqueue_burst(w, from[0], &recv, 1), 1);
	take(comp, 1);
	CHECK(comp[0].cookie == N && comp[0].status == GANTRY_BAD_PEER);
	CHECK_EQ(gantry_peer_close(gantry_worker_queue(w), from[1]), 0);
	for (i = 0; i < 2; i++)
		CHECK_EQ(gantry_peer_close(sender, to[i]), 0);
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
	env_queue_done(sender);
}

/*
 * The device refuses at first to close two peers. A receive that is enqueued for one of them
 * meanwhile belongs to this peer, and completes when this peer is closed.
 */
static void
receives_for_several_closing_peers_keep_their_peer(void)
{
	struct gantry_queue *rq;
	struct gantry_recv_comp comp[3];
	struct gantry_recv recv;
	uint32_t i, k;

	begin(GANTRY_IDLE_SPIN, 64, 8);
	rq = gantry_worker_queue(w);
	for (i = 0; i < 4; i++) {
		recv = recv_of(i);
		CHECK_EQ(gantry_recv_enqueue_burst(w, from[i % 2], &recv, 1), 1);
		while (env_stats(rq).recv_posted != i + 1)
			sched_yield();
	}
	CHECK_EQ(softhca_fault("refuse call=destroy_qp errno=16 times=2"), 0);
	for (k = 0; k < 2; k++)
		CHECK_EQ(gantry_peer_close(rq, from[k]), -EBUSY);
	for (; i < 6; i++) {
		recv = recv_of(i);
		CHECK_EQ(gantry_recv_enqueue_burst(w, from[i % 2], &recv, 1), 1);
	}
	env_wait_empty(w->recv_in);
	/* The peer that is closed last is the first of the two whose receives complete. */
	for (k = 2; k-- > 0;) {
		CHECK_EQ(gantry_peer_close(rq, from[k]), 0);
		take(comp, 3);
		for (i = 0; i < 3; i++) {
			CHECK_EQ(comp[i].peer, from[k]);
			CHECK_EQ(comp[i].cookie, 2 * i + k);
			CHECK_EQ(comp[i].status, i < 2 ? GANTRY_FLUSHED : GANTRY_BAD_PEER);
		}
		CHECK_EQ(gantry_recv_dequeue_burst(w, comp, 1), 0);
	}
	for (k = 0; k < 2; k++)
		CHECK_EQ(gantry_peer_close(sender, to[k]), 0);
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
	env_queue_done(sender);
}

static const struct check_case cases[] = {
	{"receives complete once and in order", receives_complete_once_and_in_order},
	{"full rings accept no more, and lose nothing", full_rings_push_back_and_lose_nothing},
	{"a full ring lets the lcore sleep", a_full_ring_lets_the_lcore_sleep},
	{"receives beyond the depth wait", receives_beyond_the_depth_wait},
	{"wrong receives complete with their status", wrong_receives_complete_with_their_status},
	{"receives for a peer that is closed keep their order",
		receives_for_a_peer_that_is_closed_keep_their_order},
	{"receives for several closing peers keep their peer",
		receives_for_several_closing_peers_keep_their_peer},
	{"stopping keeps receives", stopping_keeps_receives},
	{"after a stop, completions are in the ring, and the rest comes back with the peers",
		a_stop_leaves_completions_in_the_ring_and_the_rest_to_its_peers},
	{"a stopping worker takes no receives", a_stopping_worker_takes_no_receives},
	{"a DC target wakes the lcore", a_dc_target_wakes_the_lcore},
	{"receives of several producers", receives_of_several_producers},
	{"both rings allow the configured number of producers",
		both_rings_are_for_as_many_producers_as_was_said},
	{"a worker with receives in a ring is not destroyed",
		a_worker_with_receives_in_a_ring_is_not_destroyed},
};

int
main(int argc, char **argv)
{
	env_init(1);
	gantry_sleep_ms = GANTRY_SLEEP_FOR_EVER;
	arena_create(NULL);
	return arena_run(cases, RTE_DIM(cases), argc, argv);
}
