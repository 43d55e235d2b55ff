/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The loop of a lane. The descriptors are made in advance, so the loop is the same for all
 * operations.
 */
#include <sched.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "load_lane.h"

typedef unsigned __int128 uint128_t;

#define COMPS 64
/* iterations without work before the thread yields the CPU, which another thread may need */
#define IDLE_TURNS 256

uint32_t
lane_submit(struct load_lane *l, uint32_t at, uint32_t n)
{
	if (l->worker != NULL)
		return gantry_enqueue_burst(l->worker, &l->desc[at], n);
	return gantry_submit(l->queue, &l->desc[at], n);
}

uint32_t
lane_poll(struct load_lane *l, struct gantry_comp *comp, uint32_t n)
{
	if (l->worker != NULL)
		return gantry_dequeue_burst(l->worker, comp, n);
	return gantry_poll(l->queue, comp, n);
}

void
lane_begin(struct load_lane *l, uint64_t start_tsc, uint64_t stop_tsc, uint64_t total,
	uint32_t number, uint32_t among)
{
	l->start_tsc = start_tsc;
	l->last_tsc = start_tsc;
	l->stop_tsc = stop_tsc;
	l->total = total;
	l->rate = l->shared->point.value[AXIS_RATE];
	if (l->rate == 0)
		return;
	l->due_tsc = start_tsc + (number + 1) * rte_get_tsc_hz() / l->rate;
	l->due_part = (number + 1) * rte_get_tsc_hz() % l->rate;
	l->step_tsc = among * rte_get_tsc_hz() / l->rate;
	l->step_part = among * rte_get_tsc_hz() % l->rate;
}

bool
lane_has_ended(const struct load_lane *l)
{
	return l->got == l->total;
}

static bool
is_due(const struct load_lane *l, uint64_t now)
{
	return l->due_tsc < now || (l->due_tsc == now && l->due_part == 0);
}

/* Advances the due time by one step. */
static void
next_due(struct load_lane *l)
{
	l->due_tsc += l->step_tsc;
	l->due_part += l->step_part;
	if (l->due_part >= l->rate) {
		l->due_part -= l->rate;
		l->due_tsc++;
	}
}

/*
 * Records the first failure, and stops all lanes. what: the failed operation, or a sentence if
 * status is GANTRY_OK.
 */
static void
fail(struct load_lane *l, const char *what, uint8_t status, uint8_t syndrome,
	uint8_t vendor_syndrome)
{
	if (l->failure.what == NULL) {
		l->failure.what = what;
		l->failure.status = status;
		l->failure.syndrome = syndrome;
		l->failure.vendor_syndrome = vendor_syndrome;
	}
	atomic_store_explicit(&l->shared->stop, true, memory_order_relaxed);
}

static void
fail_op(struct load_lane *l, uint32_t at, const struct gantry_comp *c)
{
	fail(l,
		c->status == GANTRY_OK ? "completions came in a wrong order"
				       : load_ops[l->op[at]].name,
		c->status, c->syndrome, c->vendor_syndrome);
}

/* Records completions that come in the order of submission. */
static void
note_in_order(struct load_lane *l, const struct gantry_comp *comp, uint32_t n, uint64_t now)
{
	uint32_t at = l->got_at;

	for (uint32_t i = 0; i < n; i++) {
		if (unlikely(comp[i].status != GANTRY_OK || comp[i].cookie != at))
			fail_op(l, at, &comp[i]);
		else
			load_hist_add(&l->hist[l->op[at]], now - l->begin[at]);
		at = at + 1 == l->n_desc ? 0 : at + 1;
	}
	l->got_at = at;
}

/* Records completions that come in the order of each stream. */
static void
note_in_streams(struct load_lane *l, const struct gantry_comp *comp, uint32_t n, uint64_t now)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t at = RTE_MIN(comp[i].cookie, l->n_desc - UINT64_C(1));
		uint32_t *expected = &l->order.expected[l->order.stream[at]];

		if (unlikely(comp[i].status != GANTRY_OK || comp[i].cookie != *expected ||
			     !l->order.out[at])) {
			fail_op(l, at, &comp[i]);
			continue;
		}
		load_hist_add(&l->hist[l->op[at]], now - l->begin[at]);
		*expected = l->order.next[at];
		l->order.out[at] = false;
	}
	for (; l->order.span > 0 && !l->order.out[l->got_at]; l->order.span--)
		l->got_at = l->got_at + 1 == l->n_desc ? 0 : l->got_at + 1;
}

static uint32_t
take(struct load_lane *l)
{
	struct gantry_comp comp[COMPS];
	uint32_t n = lane_poll(l, comp, RTE_DIM(comp));
	uint64_t now;

	if (n == 0)
		return 0;
	now = rte_rdtsc();
	if (l->order.out != NULL)
		note_in_streams(l, comp, n, now);
	else
		note_in_order(l, comp, n, now);
	l->got += n;
	l->last_tsc = now;
	atomic_store_explicit(&l->shown_got, l->got, memory_order_release);
	return n;
}

/* Returns how many descriptors may be submitted next. The depth is not considered here. */
static uint64_t
most_next(const struct load_lane *l)
{
	uint64_t n = RTE_MIN(l->burst, l->n_desc - l->put_at);

	if (l->order.out != NULL)
		n = RTE_MIN(n, l->n_places - l->order.span);
	return RTE_MIN(n, l->total - l->put);
}

/* Closed loop: sets the begin time of the next burst, if the depth allows a whole burst. */
static void
stage(struct load_lane *l, uint64_t now)
{
	const uint64_t n = most_next(l);

	if (l->put - l->got + n > l->depth)
		return;
	for (uint32_t i = 0; i < n; i++)
		l->begin[l->put_at + i] = now;
	l->staged = n;
}

/*
 * Open loop: sets the begin time of due operations, at most of one burst, and at most as many as
 * the depth allows.
 */
static void
stage_due(struct load_lane *l, uint64_t now)
{
	const uint64_t n = RTE_MIN(most_next(l), l->depth - (l->put - l->got));

	while (l->staged < n && is_due(l, now)) {
		l->begin[l->put_at + l->staged++] = l->due_tsc;
		next_due(l);
	}
}

/*
 * Returns how many operations are due at `now`, counted from the next operation. The next operation
 * is due.
 */
static uint64_t
count_due(const struct load_lane *l, uint64_t now)
{
	/* The unit of these times is 1 / rate cycles, so that they are whole numbers. */
	const uint128_t since = (uint128_t)(now - l->due_tsc) * l->rate - l->due_part;
	const uint128_t step = (uint128_t)l->step_tsc * l->rate + l->step_part;

	return since / step + 1;
}

/* Ends the submission of new operations. Operations that are staged already are still submitted. */
static void
end(struct load_lane *l, uint64_t now)
{
	if (l->rate != 0 && is_due(l, now))
		l->unsent = RTE_MIN(count_due(l, now), l->total - l->put - l->staged);
	l->total = l->put + l->staged;
}

/* Stages the descriptors to submit next, unless staged descriptors are left. */
static void
choose(struct load_lane *l, uint64_t now)
{
	const bool stop = atomic_load_explicit(&l->shared->stop, memory_order_relaxed);
	const bool over = now >= l->stop_tsc || stop;

	if (l->staged != 0 || l->put == l->total)
		return;
	now = RTE_MIN(now, l->stop_tsc);
	if (l->rate != 0)
		stage_due(l, now);
	else if (!over)
		stage(l, now);
	if (over)
		end(l, now);
}

static uint32_t
give(struct load_lane *l, uint64_t now)
{
	uint32_t n;

	choose(l, now);
	if (l->staged == 0)
		return 0;
	n = lane_submit(l, l->put_at, l->staged);
	if (l->order.out != NULL) {
		memset(&l->order.out[l->put_at], true, n);
		l->order.span += n;
	}
	l->put_at += n;
	if (l->put_at == l->n_desc)
		l->put_at = 0;
	l->put += n;
	l->staged -= n;
	atomic_store_explicit(&l->shown_put, l->put, memory_order_relaxed);
	return n;
}

/* Posts receives for one peer. Returns false if not all were accepted. */
static bool
post(struct load_lane *l, uint16_t peer, const struct gantry_recv *recv, uint32_t n)
{
	if (l->worker != NULL)
		return gantry_recv_enqueue_burst(l->worker, peer, recv, n) == n;
	return gantry_recv_post(l->queue, peer, recv, n) == (int)n;
}

bool
lane_post(struct load_lane *l, uint32_t k)
{
	return post(l, l->inbox.peer[k], &l->inbox.recv[k], 1);
}

/*
 * Posts the receives of these completions again. Consecutive receives of one peer are posted by one
 * call. Returns false if not all were accepted.
 */
static bool
post_again(struct load_lane *l, const struct gantry_recv_comp *comp, uint32_t n)
{
	struct gantry_recv recv[COMPS];
	uint32_t first = 0;

	for (uint32_t i = 0; i < n; i++) {
		recv[i - first] = l->inbox.recv[comp[i].cookie];
		if (i + 1 < n && comp[i + 1].peer == comp[i].peer)
			continue;
		if (!post(l, comp[i].peer, recv, i + 1 - first))
			return false;
		first = i + 1;
	}
	return true;
}

uint32_t
lane_poll_receives(struct load_lane *l, struct gantry_recv_comp *comp, uint32_t n)
{
	if (l->worker != NULL)
		return gantry_recv_dequeue_burst(l->worker, comp, n);
	return gantry_recv_poll(l->queue, comp, n);
}

uint32_t
lane_receive(struct load_lane *l)
{
	struct gantry_recv_comp comp[COMPS];
	uint32_t n = lane_poll_receives(l, comp, RTE_DIM(comp));

	for (uint32_t i = 0; i < n; i++)
		if (unlikely(comp[i].status != GANTRY_OK))
			fail(l, "receive", comp[i].status, comp[i].syndrome,
				comp[i].vendor_syndrome);
	if (unlikely(!post_again(l, comp, n)))
		fail(l, "a receive could not be posted again", GANTRY_OK, 0, 0);
	l->inbox.received += n;
	return n;
}

void
lane_turn(struct load_lane *l)
{
	uint32_t n = take(l);

	if (l->inbox.n != 0)
		n += lane_receive(l);
	n += give(l, rte_rdtsc());
	if (n != 0)
		l->idle = 0;
	else if (++l->idle % IDLE_TURNS == 0)
		sched_yield();
}
