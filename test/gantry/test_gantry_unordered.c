/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unordered queues: descriptors complete when their operations finish, and in order on each
 * connection. To delay a peer, the test stops the peer's send queue and resumes it later.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_log.h>

#include <hwq_cancel.h>
#include <softhca.h>

#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_event.h"
#include "gantry_queue.h"
#include "gantry_worker.h"

#include "gantry_arena.h"

#define DEPTH 16

/*
 * An unordered queue with two connections to itself. Descriptors use the peers pa and pb, which are
 * one end of each connection.
 */
static struct gantry_queue *q;
static uint16_t pa, pa_end, pb, pb_end;

static void
begin(void)
{
	const struct gantry_queue_conf conf = {.depth = DEPTH,
		.unordered = true,
		.deadline_ms = GANTRY_NO_DEADLINE};

	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	env_connect(q, &pa, q, &pa_end);
	env_connect(q, &pb, q, &pb_end);
	arena_reset(1);
}

static void
end(void)
{
	CHECK_EQ(softhca_faults_left(), 0);
	env_queue_done(q);
}

static struct gantry_desc
fenced(struct gantry_desc d)
{
	d.flags |= GANTRY_DESC_FENCE;
	return d;
}

static struct gantry_conn *
conn_of(uint16_t peer)
{
	return &q->conn[gantry_queue_peer_conn(q, peer)];
}

/* The next WQE of the peer's connection stops its send queue. */
static void
hold(uint16_t peer)
{
	char line[80];

	snprintf(line, sizeof(line), "sq_drained qp=%u", conn_of(peer)->qp->qpn);
	CHECK_EQ(softhca_fault(line), 0);
}

static void
let_go(uint16_t peer)
{
	while (hwq_qp_state(conn_of(peer)->qp) != IBV_QPS_SQD)
		CHECK_EQ(env_poll(q, NULL, 0), 0);
	CHECK_EQ(hwq_qp_resume(conn_of(peer)->qp), 0);
}

static void
submit(const struct gantry_desc *desc, uint16_t n)
{
	CHECK_EQ(gantry_submit(q, desc, n), n);
}

/* Checks that nothing completes, however often the queue is polled. */
static void
nothing_comes(void)
{
	struct gantry_comp comp;
	uint32_t i;

	for (i = 0; i < 300; i++)
		CHECK_EQ(env_poll(q, &comp, 1), 0);
}

/* Checks that the next completions have these cookies, in any order, and status GANTRY_OK. */
static void
these_come(const uint32_t *cookie, uint32_t n)
{
	struct gantry_comp comp[64];
	uint64_t seen = 0, want = 0;
	uint32_t i;

	env_collect(q, comp, n);
	for (i = 0; i < n; i++) {
		CHECK_EQ(comp[i].status, GANTRY_OK);
		seen |= RTE_BIT64(comp[i].cookie);
		want |= RTE_BIT64(cookie[i]);
	}
	CHECK_EQ(seen, want);
}

#define THESE_COME(...)                                                                            \
	these_come((const uint32_t[]){__VA_ARGS__}, RTE_DIM(((const uint32_t[]){__VA_ARGS__})))

/* ------------------------------------------------------------------ order */

static void
a_slow_peer_holds_nobody_back(void)
{
	const struct gantry_desc desc[6] = {arena_write(0, 0), arena_copy(1), arena_write(2, 2),
		arena_copy(3), arena_write(4, 0), arena_write(5, 2)};

	begin();
	CHECK(pa == 0 && pb == 2);
	hold(pa);
	submit(desc, 6);
	THESE_COME(1, 2, 3, 5);
	nothing_comes();
	CHECK_EQ(gantry_in_flight(q), 2);
	CHECK_EQ(env_stats(q).submitted, 6);
	CHECK_EQ(env_stats(q).completed, 4);
	CHECK(!arena_is_moved(0) && !arena_is_moved(4));
	let_go(pa);
	THESE_COME(0, 4);
	CHECK_EQ(gantry_in_flight(q), 0);
	CHECK_EQ(env_stats(q).completed, 6);
	end();
}

/*
 * Descriptors of random lengths and operations on random connections: on each connection they must
 * complete in order.
 */
static void
each_connection_completes_in_its_order(void)
{
	const uint32_t goal = 3000, max_len = 4000;
	uint32_t made[3] = {0}, put = 0, got = 0, next[3] = {0}, i, n;
	struct gantry_desc desc = {0};
	struct gantry_comp comp[8];
	uint64_t seed = 7;
	bool full = false;

	begin();
	while (got < goal) {
		while (put < goal && (full || check_random(&seed) % 8 != 0)) {
			if (!full) {
				uint32_t where = check_random(&seed) % 3;
				uint32_t k = check_random(&seed) % 32;

				desc = where == 0   ? arena_copy(k)
				       : where == 1 ? arena_write(k, pa)
						    : arena_write(k, pb);
				desc.len = 1 + check_random(&seed) % max_len;
				desc.flags = k == 0 ? GANTRY_DESC_FENCE : 0;
				if (k == 1)
					/* refused in order with the copies */
					desc.op = 99;
				if (k == 2)
					/* refused in the order of the connection that it names */
					desc.imm = 1;
				where = k == 1 ? 0 : where;
				desc.cookie = (uint64_t)where << 32 | made[where]++;
			}
			full = gantry_submit(q, &desc, 1) == 0;
			if (full)
				break;
			put++;
		}
		n = env_poll(q, comp, 1 + check_random(&seed) % 8);
		for (i = 0; i < n; i++) {
			uint32_t where = comp[i].cookie >> 32;

			CHECK_EQ((uint32_t)comp[i].cookie, next[where]);
			next[where]++;
			CHECK(comp[i].status == GANTRY_OK || comp[i].status == GANTRY_BAD_OP ||
				comp[i].status == GANTRY_BAD_FIELD);
		}
		got += n;
		CHECK_EQ(gantry_in_flight(q), put - got);
	}
	CHECK_EQ(env_stats(q).submitted, goal);
	CHECK_EQ(env_stats(q).completed, goal);
	end();
}

/*
 * Three connections have many completions each. Each poll is for one completion, and must take it
 * from the next connection.
 */
static void
polls_take_from_each_connection_in_turn(void)
{
	uint32_t from[3] = {0}, i;
	struct gantry_desc desc[12];
	struct gantry_comp comp;

	begin();
	for (i = 0; i < 12; i++)
		desc[i] = i < 4 ? arena_write(i, pa) : i < 8 ? arena_copy(i) : arena_write(i, pb);
	submit(desc, 12);
	while (q->outstanding != 0)
		env_poll(q, NULL, 0);
	for (i = 0; i < 12; i++) {
		CHECK_EQ(gantry_poll(q, &comp, 1), 1);
		from[comp.cookie / 4]++;
		if (i % 3 == 2)
			CHECK(from[0] == from[1] && from[1] == from[2]);
	}
	end();
}

/* ------------------------------------------------------------------ counting */

/*
 * gantry_poll_good() must do everything that a poll does, except that it leaves completions for
 * gantry_poll().
 */
static void
a_count_hands_nothing_out(void)
{
	const struct gantry_desc desc[4] = {arena_copy(0), arena_write(1, 0), fenced(arena_copy(2)),
		arena_write(3, 2)};
	struct gantry_desc bad = env_copy(broken, dst, piece);
	struct gantry_comp comp;
	bool failed;

	begin();
	submit(desc, 4);
	do {
		env_pump();
		failed = true;
		CHECK_EQ(gantry_poll_good(q, 8, &failed), 0);
		CHECK(!failed);
	} while (env_stats(q).wqes < 4 || q->outstanding != 0);
	CHECK_EQ(gantry_in_flight(q), 4);
	CHECK_EQ(env_stats(q).completed, 0);
	THESE_COME(0, 1, 2, 3);
	/* It also leaves completions of failed descriptors for gantry_poll(). */
	submit(&bad, 1);
	do {
		env_pump();
		CHECK_EQ(gantry_poll_good(q, 8, &failed), 0);
		CHECK(!failed);
	} while (env_stats(q).recoveries == 0);
	env_collect(q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_LOCAL_ERROR);
	end();
}

/* ------------------------------------------------------------------ fences */

/* A fenced copy must read the bytes that a write to a slow peer writes. */
static void
a_fence_waits_for_every_connection(void)
{
	struct gantry_desc desc[5] = {arena_write(0, 0), arena_copy(1),
		fenced(env_copy(dst, dst + 2 * piece, piece)), arena_write(3, 2), arena_copy(4)};

	begin();
	desc[2].cookie = 2;
	hold(pa);
	submit(desc, 3);
	/*
	 * Descriptors after the fence wait until the fenced descriptor starts, here on another
	 * connection.
	 */
	submit(desc + 3, 2);
	THESE_COME(1);
	nothing_comes();
	CHECK(!arena_is_moved(3) && !arena_is_moved(4));
	let_go(pa);
	THESE_COME(0, 2, 3, 4);
	CHECK(memcmp(dst + 2 * piece, src, piece) == 0);
	end();
}

/*
 * Two fenced descriptors on two connections, each after a descriptor that waits. Descriptors that
 * were submitted before a fenced descriptor and wait on another connection must complete before the
 * fenced descriptor starts.
 */
static void
fences_of_several_connections_start_in_their_order(void)
{
	struct gantry_desc desc[6] = {
		arena_write(0, 0),         /* waits, because its peer is stopped */
		fenced(arena_copy(1)),     /* waits for descriptor 0 */
		arena_write(2, 2),         /* waits for the fence of descriptor 1 */
		fenced(arena_write(3, 0)), /* reads the bytes of 2 */
		fenced(arena_copy(4)),     /* reads the bytes of 3 */
		fenced(arena_write(5, 2)), /* reads the bytes of 4 */
	};
	struct gantry_comp comp[6];
	uint32_t i;

	begin();
	for (i = 3; i < 6; i++)
		desc[i].src = (uintptr_t)dst + (i - 1) * piece;
	hold(pa);
	submit(desc, 6);
	nothing_comes();
	CHECK_EQ(env_stats(q).wqes, 1);
	let_go(pa);
	env_collect(q, comp, 6);
	for (i = 0; i < 6; i++)
		CHECK_EQ(comp[i].status, GANTRY_OK);
	CHECK(arena_is_moved(0) && arena_is_moved(1) && arena_is_moved(2));
	for (i = 3; i < 6; i++)
		CHECK(memcmp(dst + i * piece, src + 2 * piece, piece) == 0);
	end();
}

/*
 * Two fenced descriptors wait, each of them first on its connection. A descriptor between them must
 * wait for the first one, also if the queue looks at the connection of the second one last.
 */
static void
the_first_of_several_fences_delays_descriptors(void)
{
	const struct gantry_desc desc[4] = {
		arena_write(0, 0),         /* waits, because its peer is stopped */
		fenced(arena_write(1, 0)), /* waits for descriptor 0 */
		arena_copy(2),             /* waits for the fence of descriptor 1 */
		fenced(arena_write(3, 2)), /* waits for all of them */
	};

	begin();
	hold(pa);
	submit(desc, 4);
	nothing_comes();
	CHECK_EQ(env_stats(q).wqes, 1);
	let_go(pa);
	THESE_COME(0, 1, 2, 3);
	end();
}

/*
 * New descriptors are submitted all the time, and each can complete only after the next was
 * submitted. So some descriptor is always in flight. The fenced descriptor must still start: while
 * it waits, no later descriptor may start.
 */
static void
a_fence_is_not_put_off_for_ever(void)
{
	struct gantry_desc desc[2] = {arena_write(0, 0), fenced(arena_copy(40))};
	uint16_t next = 0, last;
	bool started = false;
	struct gantry_comp comp;
	uint32_t k;

	begin();
	hold(pa);
	submit(desc, 2);
	for (k = 1; !started; k++) {
		CHECK(k < 20);
		last = next;
		next = last == pa ? pb : pa;
		hold(next);
		desc[0] = arena_write(k, next);
		submit(desc, 1);
		let_go(last);
		env_collect(q, &comp, 1);
		CHECK_EQ(comp.cookie, k - 1);
		started = conn_of(next)->posted == conn_of(next)->done;
	}
	THESE_COME(40);
	let_go(next);
	THESE_COME(k - 1);
	end();
}

/* ------------------------------------------------------------------ windows, peers, cancelling */

static void
a_full_connection_accepts_no_more_and_others_do(void)
{
	struct gantry_desc desc[DEPTH + 3];
	struct gantry_comp comp[DEPTH + 2];
	uint32_t i;

	begin();
	hold(pa);
	for (i = 0; i < DEPTH + 1; i++)
		desc[i] = arena_write(i, pa);
	desc[DEPTH + 1] = arena_copy(DEPTH + 1);
	/* The array's descriptors are accepted in order. */
	CHECK_EQ(gantry_submit(q, desc, DEPTH + 2), DEPTH);
	CHECK_EQ(gantry_submit(q, desc + DEPTH, 2), 0);
	submit(desc + DEPTH + 1, 1);
	THESE_COME(DEPTH + 1);
	for (i = 0; i < DEPTH; i++)
		desc[i] = arena_copy(i);
	submit(desc, DEPTH);
	env_collect(q, comp, DEPTH);
	let_go(pa);
	env_collect(q, comp, DEPTH);
	for (i = 0; i < DEPTH; i++)
		CHECK_EQ(comp[i].cookie, i);
	end();
}

/*
 * A connection must accept as many descriptors as its depth. gantry_peer_conf::depth is rounded to
 * a power of two; 0 means the depth of the queue. The peer's send queue is stopped.
 */
static void
each_connection_has_a_depth_of_its_own(void)
{
	static const struct {
		uint32_t depth, room;
	} peers[] = {{0, DEPTH}, {1, 2}, {3, 4}, {4, 4}, {64, 64}};
	struct gantry_peer_conf conf = {0};
	struct gantry_addr addr, addr_end;
	struct gantry_desc desc[65];
	struct gantry_comp comp[64];
	uint16_t peer, peer_end;
	uint32_t i, k;

	for (i = 0; i < RTE_DIM(peers); i++) {
		begin();
		conf.depth = peers[i].depth;
		CHECK_EQ(gantry_peer_open(q, &conf, &peer, &addr), 0);
		CHECK_EQ(gantry_peer_open(q, NULL, &peer_end, &addr_end), 0);
		CHECK_EQ(gantry_peer_connect(q, peer, &addr_end), 0);
		CHECK_EQ(gantry_peer_connect(q, peer_end, &addr), 0);
		for (k = 0; k < RTE_DIM(desc); k++)
			desc[k] = arena_write(k, peer);
		hold(peer);
		CHECK_EQ(gantry_submit(q, desc, RTE_DIM(desc)), peers[i].room);
		nothing_comes();
		CHECK_EQ(gantry_submit(q, desc, 1), 0);
		CHECK_EQ(env_do_one(q, arena_copy(70)), GANTRY_OK);
		let_go(peer);
		env_collect(q, comp, peers[i].room);
		for (k = 0; k < peers[i].room; k++)
			CHECK(comp[k].cookie == k && comp[k].status == GANTRY_OK &&
				arena_is_moved(k));
		end();
	}
}

static void
a_peer_is_busy_until_its_completions_are_handed_out(void)
{
	struct gantry_desc bad = arena_write(1, 0);
	struct gantry_comp comp;

	begin();
	bad.imm = 1;
	submit(&bad, 1);
	CHECK_EQ(gantry_peer_close(q, pa), -EBUSY);
	CHECK_EQ(gantry_peer_close(q, pb), 0);
	env_collect(q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_BAD_FIELD);
	CHECK_EQ(gantry_peer_close(q, pa), 0);
	end();
}

/*
 * A descriptor waits for a fence. Meanwhile the peer that the descriptor names is opened: the
 * descriptor is still refused.
 */
static void
a_peer_that_was_not_open_is_refused_though_it_is_open_later(void)
{
	struct gantry_desc desc[3] = {arena_write(0, 0), fenced(arena_copy(1)), arena_write(2, 2)};
	struct gantry_comp comp[3];
	uint32_t i;

	begin();
	CHECK_EQ(gantry_peer_close(q, pb_end), 0);
	CHECK_EQ(gantry_peer_close(q, pb), 0);
	hold(pa);
	submit(desc, 3);
	env_connect(q, &pb, q, &pb_end);
	CHECK_EQ(pb, desc[2].peer);
	nothing_comes();
	let_go(pa);
	env_collect(q, comp, 3);
	for (i = 0; i < 3; i++)
		CHECK_EQ(comp[i].status, comp[i].cookie == 2 ? GANTRY_BAD_PEER : GANTRY_OK);
	CHECK_EQ(env_do_one(q, arena_write(3, pb)), GANTRY_OK);
	end();
}

static void
descriptors_of_all_connections_are_cancelled(void)
{
	struct gantry_desc desc[5] = {arena_write(0, 0), fenced(arena_copy(1)), arena_write(2, 2),
		arena_copy(3), arena_write(4, 0)};
	struct gantry_comp comp[5];
	uint32_t i;

	begin();
	hold(pa);
	for (i = 1; i < 5; i++)
		desc[i].cookie = 7;
	submit(desc, 5);
	CHECK_EQ(gantry_cancel(q, 7), 4);
	/* The fence has ended: new descriptors are executed. */
	desc[1] = arena_write(5, pb);
	for (i = 0; i < 3; i++)
		CHECK_EQ(env_poll(q, NULL, 0), 0);
	submit(&desc[1], 1);
	for (i = 0; i < 3; i++) {
		env_collect(q, comp, 1);
		CHECK_EQ(comp[0].status, comp[0].cookie == 7 ? GANTRY_CANCELLED : GANTRY_OK);
	}
	let_go(pa);
	env_collect(q, comp, 3);
	CHECK_EQ(env_stats(q).by_status[GANTRY_CANCELLED], 4);
	CHECK(arena_is_moved(0) && !arena_is_moved(1) && !arena_is_moved(2) && !arena_is_moved(3) &&
		!arena_is_moved(4) && arena_is_moved(5));
	end();
}

/* ------------------------------------------------------------------ workers */

#define RING 256

static struct gantry_worker *
begin_worker(void)
{
	const struct gantry_worker_conf conf = {.queue.depth = DEPTH,
		.queue.unordered = true,
		.queue.deadline_ms = GANTRY_NO_DEADLINE,
		.ring_size = RING};
	struct gantry_worker *w;

	CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), 0);
	q = gantry_worker_queue(w);
	env_connect(q, &pa, q, &pa_end);
	env_connect(q, &pb, q, &pb_end);
	arena_reset(1);
	CHECK_EQ(gantry_worker_start(w), 0);
	return w;
}

static void
end_worker(struct gantry_worker *w)
{
	CHECK_EQ(softhca_faults_left(), 0);
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
}

/* As let_go(), but while the lcore polls the queue. */
static void
let_go_beside_worker(uint16_t peer)
{
	struct ibv_qp *qp = conn_of(peer)->qp->qp;
	struct ibv_qp_attr attr = {0};
	struct ibv_qp_init_attr init;

	while (attr.qp_state != IBV_QPS_SQD)
		CHECK_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	attr.qp_state = IBV_QPS_RTS;
	CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

/*
 * Takes n completions. Completions with a cookie below `middle` must come in order, and so must
 * those with other cookies.
 */
static void
take_two_orders(struct gantry_worker *w, uint32_t n, uint32_t middle, uint32_t next[2])
{
	uint64_t end = rte_get_timer_cycles() + 60 * rte_get_timer_hz();
	struct gantry_comp comp;

	while (n != 0) {
		CHECK(rte_get_timer_cycles() < end);
		if (gantry_dequeue_burst(w, &comp, 1) == 0)
			continue;
		CHECK_EQ(comp.status, GANTRY_OK);
		CHECK_EQ(comp.cookie, next[comp.cookie >= middle]++);
		CHECK(arena_is_moved(comp.cookie));
		n--;
	}
}

/*
 * Enqueues copies, and writes to a stopped peer: four times as many writes as the peer may have in
 * flight.
 */
static void
a_full_peer_does_not_stop_a_worker(void)
{
	enum {
		HELD = 4 * DEPTH
	};
	struct gantry_worker *w = begin_worker();
	struct gantry_desc d[2];
	struct gantry_comp comp;
	uint32_t next[2] = {0, HELD}, i;

	hold(pa);
	for (i = 0; i < HELD; i++) {
		d[0] = arena_write(i, pa);
		d[1] = i % 2 == 0 ? arena_copy(HELD + i) : arena_write(HELD + i, pb);
		/*
		 * Takes each completion before the next descriptors are enqueued, so that the order
		 * of completions is known.
		 */
		CHECK_EQ(gantry_enqueue_burst(w, d, 2), 2);
		take_two_orders(w, 1, HELD, next);
	}
	CHECK_EQ(next[0], 0);
	/*
	 * A fenced copy reads the bytes of the last write to the slow peer. Another copy follows.
	 */
	d[0] = fenced(env_copy(dst + (HELD - 1) * piece, dst + 2 * HELD * piece, piece));
	d[0].cookie = 1000;
	d[1] = arena_copy(2 * HELD + 1);
	CHECK_EQ(gantry_enqueue_burst(w, d, 2), 2);
	usleep(2000);
	CHECK_EQ(gantry_dequeue_burst(w, &comp, 1), 0);
	let_go_beside_worker(pa);
	take_two_orders(w, HELD, HELD, next);
	CHECK_EQ(next[0], HELD);
	for (i = 0; i < 2;)
		if (gantry_dequeue_burst(w, &comp, 1) == 1) {
			CHECK_EQ(comp.status, GANTRY_OK);
			CHECK_EQ(comp.cookie, i == 0 ? 1000 : 2 * HELD + 1);
			i++;
		}
	CHECK(memcmp(dst + 2 * HELD * piece, src + (HELD - 1) * piece, piece) == 0);
	CHECK_EQ(env_stats(q).submitted, 2 * HELD + 2);
	end_worker(w);
}

/* Calls gantry_worker_turn() in this thread. The worker is stopped. */
static void
turns(struct gantry_worker *w, unsigned int n)
{
	for (; n != 0; n--) {
		env_pump();
		gantry_worker_turn(w, false);
	}
}

/*
 * A fenced descriptor waits for a connection that is full. Descriptors after the fenced one must
 * wait, too.
 */
static void
a_fence_to_a_full_peer_holds_the_worker_back(void)
{
	struct gantry_worker *w = begin_worker();
	const struct gantry_desc more[3] = {fenced(arena_write(DEPTH, 0)), arena_copy(DEPTH + 1),
		arena_write(DEPTH + 2, 2)};
	struct gantry_desc d[DEPTH];
	uint32_t next[2] = {0}, i;
	struct gantry_comp comp;

	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK(pa == 0 && pb == 2);
	hold(pa);
	for (i = 0; i < DEPTH; i++)
		d[i] = arena_write(i, pa);
	CHECK_EQ(gantry_enqueue_burst(w, d, DEPTH), DEPTH);
	turns(w, 2);
	CHECK_EQ(env_stats(q).submitted, DEPTH);
	CHECK_EQ(gantry_enqueue_burst(w, more, 3), 3);
	turns(w, 300);
	CHECK_EQ(env_stats(q).submitted, DEPTH);
	CHECK_EQ(gantry_dequeue_burst(w, &comp, 1), 0);
	CHECK(!arena_is_moved(DEPTH + 1) && !arena_is_moved(DEPTH + 2));
	let_go(pa);
	CHECK_EQ(gantry_worker_start(w), 0);
	take_two_orders(w, DEPTH, RING, next);
	/* Takes the completions of the three descriptors, in any order. */
	for (i = 0; i < 3;) {
		if (env_dequeue(w, &comp, 1) == 0)
			continue;
		CHECK(comp.status == GANTRY_OK && comp.cookie >= DEPTH);
		CHECK(arena_is_moved(comp.cookie));
		i++;
	}
	end_worker(w);
}

/*
 * A worker must take at most as many descriptors as its ring of completions has elements, even if
 * most of these descriptors are deferred. Then the ring of descriptors becomes full.
 */
static void
a_worker_defers_no_more_than_it_has_room_for(void)
{
	struct gantry_worker *w = begin_worker();
	uint32_t next[2] = {0}, put = 0, refused = 0;
	struct gantry_desc d;

	CHECK_EQ(gantry_worker_stop(w), 0);
	hold(pa);
	while (refused < 50 && put <= 2 * RING) {
		d = arena_write(put, pa);
		if (gantry_enqueue_burst(w, &d, 1) == 1) {
			put++;
			continue;
		}
		refused++;
		turns(w, 1);
	}
	CHECK_EQ(put, 2 * RING);
	CHECK_EQ(env_stats(q).submitted, DEPTH);
	let_go(pa);
	CHECK_EQ(gantry_worker_start(w), 0);
	take_two_orders(w, put, put, next);
	end_worker(w);
}

/*
 * Descriptors that the worker has taken must be executed before the worker stops. The other
 * descriptors must stay in the ring.
 */
static void
a_stopping_worker_finishes_what_it_deferred(void)
{
	struct gantry_worker *w = begin_worker();
	struct gantry_desc d[100], back[RTE_DIM(d)];
	struct gantry_comp none;
	uint32_t round, i, n;

	for (i = 0; i < RTE_DIM(d); i++)
		d[i] = arena_write(i, pa);
	for (round = 0; round < 5; round++) {
		uint64_t before = env_stats(q).completed;
		uint32_t next[2] = {0};

		hold(pa);
		CHECK_EQ(gantry_enqueue_burst(w, d, RTE_DIM(d)), RTE_DIM(d));
		let_go_beside_worker(pa);
		CHECK_EQ(gantry_worker_stop(w), 0);
		n = env_stats(q).completed - before;
		CHECK(n >= DEPTH);
		take_two_orders(w, n, RING, next);
		CHECK_EQ(gantry_dequeue_burst(w, &none, 1), 0);
		CHECK_EQ(gantry_reclaim_burst(w, back, RTE_DIM(back)), RTE_DIM(d) - n);
		CHECK(memcmp(back, d + n, (RTE_DIM(d) - n) * sizeof(d[0])) == 0);
		CHECK_EQ(gantry_worker_start(w), 0);
	}
	end_worker(w);
}

static struct gantry_worker *
begin_idle_worker(void)
{
	const struct gantry_worker_conf conf = {.queue.depth = DEPTH, .ring_size = RING};
	struct gantry_worker *w;

	CHECK_EQ(gantry_worker_create(g, 2, &conf, &w), 0);
	CHECK_EQ(gantry_worker_start(w), 0);
	return w;
}

static void *
stop_all(void *arg)
{
	CHECK_EQ(gantry_stop(g), 0);
	return arg;
}

/* A worker that cannot finish does not delay the stop of another one, whichever is older. */
static void
all_workers_stop_at_the_same_time(void)
{
	for (unsigned int round = 0; round < 2; round++) {
		struct gantry_worker *idle = round == 0 ? begin_idle_worker() : NULL;
		struct gantry_worker *busy = begin_worker();
		struct gantry_desc d = arena_write(0, pa);
		uint64_t end = env_patience();
		uint32_t next[2] = {0};
		pthread_t thread;

		if (idle == NULL)
			idle = begin_idle_worker();
		hold(pa);
		CHECK_EQ(gantry_enqueue_burst(busy, &d, 1), 1);
		while (env_stats(q).submitted == 0)
			CHECK(rte_get_timer_cycles() < end);
		CHECK_EQ(pthread_create(&thread, NULL, stop_all, NULL), 0);
		while (gantry_worker_is_running(idle))
			CHECK(rte_get_timer_cycles() < end);
		CHECK(gantry_worker_is_running(busy));
		let_go_beside_worker(pa);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		take_two_orders(busy, 1, 1, next);
		CHECK_EQ(gantry_worker_destroy(idle), 0);
		CHECK_EQ(gantry_worker_destroy(busy), 0);
		CHECK_EQ(softhca_faults_left(), 0);
	}
}

/* ------------------------------------------------------------------ failures */

static void
failures_stay_with_their_connection(void)
{
	struct gantry_desc desc[8] = {arena_write(0, 0), arena_write(1, 0), arena_write(2, 2),
		env_copy(broken, dst + 3 * piece, piece), arena_copy(4), arena_write(5, 0),
		arena_write(6, 2), arena_copy(7)};
	static const uint8_t status[8] = {GANTRY_OK, GANTRY_REMOTE_ACCESS, GANTRY_OK,
		GANTRY_LOCAL_ERROR, GANTRY_OK, GANTRY_FLUSHED, GANTRY_OK, GANTRY_OK};
	struct gantry_comp comp[8];
	uint32_t i;

	begin();
	desc[1].remote_key ^= 0x7700;
	desc[3].cookie = 3;
	submit(desc, 8);
	env_collect(q, comp, 8);
	for (i = 0; i < 8; i++) {
		CHECK_EQ(comp[i].status, status[comp[i].cookie]);
		CHECK_EQ(comp[i].zero, 0);
		CHECK_EQ(arena_is_moved(comp[i].cookie), comp[i].status == GANTRY_OK);
	}
	CHECK_EQ(env_stats(q).recoveries, 1);
	CHECK_EQ(env_stats(q).replays, 2);
	CHECK_EQ(env_do_one(q, arena_write(8, pa)), GANTRY_BAD_PEER);
	CHECK_EQ(env_do_one(q, arena_write(8, pb)), GANTRY_OK);
	CHECK_EQ(env_do_one(q, arena_copy(9)), GANTRY_OK);
	end();
}

/*
 * A long write to one peer is posted part by part. A fenced descriptor to another peer must wait
 * until all parts are posted and done, also while no part is in the hardware.
 */
static void
a_fence_waits_for_the_rest_of_a_split_descriptor(void)
{
	struct gantry_desc d[3];
	struct gantry_comp comp[3];
	struct gantry_conn *a, *b;
	uint32_t got = 0;

	begin();
	a = conn_of(pa);
	b = conn_of(pb);
	a->max_len = 64;
	d[0] = arena_write(0, pb);
	d[1] = WITH(arena_write(1, pa), len, 64 * 4 * a->n_bb);
	d[2] = fenced(arena_write(200, pb));
	submit(d, 3);
	CHECK(gantry_stream_waits(a->stream));
	while (got < 3) {
		got += env_poll(q, comp + got, 3 - got);
		CHECK(b->posted == 1 || !gantry_stream_waits(a->stream));
	}
	for (got = 0; got < 3; got++)
		CHECK_EQ(comp[got].status, GANTRY_OK);
	CHECK(memcmp((uint8_t *)(uintptr_t)d[1].dst, (uint8_t *)(uintptr_t)d[1].src, d[1].len) ==
		0);
	end();
}

/*
 * The queue has one key for layouts. A long write from a layout to one peer is posted part by part,
 * and a write from the layout at another base, to another peer, needs the key. The key must not
 * change until the last part is posted.
 */
static void
a_split_descriptor_keeps_the_key_of_its_layout(void)
{
	enum {
		LEN = 64,
		ROUNDS = 512
	};
	const struct gantry_queue_conf conf = {.depth = DEPTH,
		.unordered = true,
		.layout_keys = 1,
		.deadline_ms = GANTRY_NO_DEADLINE};
	struct gantry_block block = {.len = LEN, .skip = LEN};
	const struct gantry_layout_conf layout_conf = {&block, 1, ROUNDS};
	struct gantry_desc d[3];
	struct gantry_comp comp[3];
	struct gantry_conn *a, *b;
	uint16_t layout;
	uint32_t got = 0, i;

	if (env_lacks(g, ENV_LAYOUTS))
		return;
	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	env_connect(q, &pa, q, &pa_end);
	env_connect(q, &pb, q, &pb_end);
	arena_reset(1);
	CHECK_EQ(gantry_layout_create(g, &layout_conf, &layout), 0);
	a = conn_of(pa);
	b = conn_of(pb);
	a->max_len = LEN;
	d[0] = arena_write(200, pb);
	d[1] = WITH(WITH(arena_write(0, pa), len, LEN * ROUNDS), layout, layout);
	d[2] = WITH(WITH(arena_write(0, pb), len, LEN * ROUNDS), layout, layout);
	d[0].dst += ARENA_LEN / 2;
	d[2].dst += ARENA_LEN / 4;
	d[2].src += LEN;
	submit(d, 3);
	CHECK(gantry_stream_waits(a->stream));
	while (got < 3) {
		got += env_poll(q, comp + got, 3 - got);
		CHECK(b->posted == 1 || !gantry_stream_waits(a->stream));
	}
	for (got = 0; got < 3; got++)
		CHECK_EQ(comp[got].status, GANTRY_OK);
	for (i = 0; i < ROUNDS; i++) {
		CHECK(memcmp((uint8_t *)(uintptr_t)d[1].dst + i * LEN,
			      (uint8_t *)(uintptr_t)d[1].src + 2 * i * LEN, LEN) == 0);
		CHECK(memcmp((uint8_t *)(uintptr_t)d[2].dst + i * LEN,
			      (uint8_t *)(uintptr_t)d[2].src + 2 * i * LEN, LEN) == 0);
	}
	end();
	CHECK_EQ(gantry_layout_destroy(g, layout), 0);
}

static const struct check_case cases[] = {
	{"a slow peer delays no other connection", a_slow_peer_holds_nobody_back},
	{"each connection completes in its order", each_connection_completes_in_its_order},
	{"polls take from each connection alternately", polls_take_from_each_connection_in_turn},
	{"counting takes no completions", a_count_hands_nothing_out},
	{"a fence waits for every connection", a_fence_waits_for_every_connection},
	{"a split descriptor keeps the key of its layout",
		a_split_descriptor_keeps_the_key_of_its_layout},
	{"a fence waits for the rest of a split descriptor",
		a_fence_waits_for_the_rest_of_a_split_descriptor},
	{"fences of several connections start in their order",
		fences_of_several_connections_start_in_their_order},
	{"the first of several fences delays descriptors",
		the_first_of_several_fences_delays_descriptors},
	{"a fence is not delayed for ever", a_fence_is_not_put_off_for_ever},
	{"a full connection accepts no more, but others do",
		a_full_connection_accepts_no_more_and_others_do},
	{"each connection has its own depth", each_connection_has_a_depth_of_its_own},
	{"a peer is busy until its completions are handed out",
		a_peer_is_busy_until_its_completions_are_handed_out},
	{"a peer that was not open is refused, even if it is open later",
		a_peer_that_was_not_open_is_refused_though_it_is_open_later},
	{"descriptors of all connections are cancelled",
		descriptors_of_all_connections_are_cancelled},
	{"failures affect only their connection", failures_stay_with_their_connection},
};

/* Cases for an adapter with a thread. */
static const struct check_case worker_cases[] = {
	{"a full peer does not stop a worker", a_full_peer_does_not_stop_a_worker},
	{"a fence to a full peer delays the worker", a_fence_to_a_full_peer_holds_the_worker_back},
	{"a worker defers no more than it has room for",
		a_worker_defers_no_more_than_it_has_room_for},
	{"a stopping worker finishes what it deferred",
		a_stopping_worker_finishes_what_it_deferred},
	{"all workers stop at the same time", all_workers_stop_at_the_same_time},
};

int
main(int argc, char **argv)
{
	struct check_case all[RTE_DIM(cases) + RTE_DIM(worker_cases)];
	uint32_t n = RTE_DIM(cases);

	memcpy(all, cases, sizeof(cases));
	if (!env_is_pumped()) {
		memcpy(all + n, worker_cases, sizeof(worker_cases));
		n += RTE_DIM(worker_cases);
	}
	env_init(2);
	arena_create(NULL);
	/*
	 * The engine must not learn that a send queue has stopped: in this test a stop by hold() is
	 * not a failure.
	 */
	gantry_event_stop(g);
	rte_log_set_level(gantry_logtype, RTE_LOG_EMERG);
	piece = 64;
	arena_break();
	return arena_run(all, n, argc, argv);
}
