/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples of latencies, and their histograms. */
#include "gantry_latency.h"

#include <errno.h>

#include <rte_cycles.h>

#include "gantry_alloc.h"
#include "gantry_engine.h"
#include "gantry_histogram.h"
#include "gantry_queue.h"
#include "gantry_seen.h"

enum {
	LATENCY_OFF,
	LATENCY_ANEW, /* measuring is on; the owner has to clear the histograms first */
	LATENCY_ON,
};

struct gantry_latencies {
	_Atomic uint32_t state; /* one of LATENCY_* */

	/* Used by the owner. */
	bool sampling;
	uint8_t op;      /* operation of the descriptor that is measured, once it is accepted */
	uint64_t seq;    /* sequence number of this descriptor in the stream */
	uint64_t began;  /* time stamp at the beginning of the call that accepts the descriptor */
	uint64_t looked; /* time stamp at the beginning of the owner's last call */
	/* Latencies of each operation, in cycles of the time stamp counter. */
	struct gantry_histogram of[GANTRY_OP_MAX];
};

/* ------------------------------------------------------------------ the owner */

static void
clear(struct gantry_latencies *l)
{
	uint32_t anew = LATENCY_ANEW, i;

	for (i = 0; i < GANTRY_OP_MAX; i++)
		gantry_histogram_clear(&l->of[i]);
	l->sampling = false;
	/* If another thread has switched measuring off meanwhile, the state stays LATENCY_OFF. */
	atomic_compare_exchange_strong_explicit(&l->state, &anew, LATENCY_ON, memory_order_relaxed,
		memory_order_relaxed);
}

static uint8_t
op_of(const struct gantry_stream *s, uint64_t seq)
{
	uint32_t slot = seq & s->mask;
	uint8_t op = seq < s->issue ? s->comp[slot].op : gantry_stream_pend(s, seq)->op;

	return op < GANTRY_OP_MAX ? op : 0;
}

static void
sample(struct gantry_latencies *l, const struct gantry_stream *s)
{
	uint64_t head = gantry_counter_get(&s->head), tail = gantry_counter_get(&s->tail);
	uint64_t now = rte_rdtsc();

	if (l->sampling && tail > l->seq) {
		gantry_histogram_add(&l->of[l->op], l->looked - l->began);
		l->sampling = false;
	}
	if (!l->sampling || head == l->seq) {
		/* Measures the next descriptor, which this call may accept. */
		l->sampling = true;
		l->seq = head;
		l->began = now;
	} else {
		l->op = op_of(s, l->seq);
	}
	l->looked = now;
}

__rte_cold bool
gantry_latency_look(struct gantry_queue *q)
{
	/* Pairs with the release in gantry_latency_switch(). */
	struct gantry_latencies *l = atomic_load_explicit(&q->latencies, memory_order_acquire);
	uint32_t state;

	if (l == NULL)
		return false;
	state = atomic_load_explicit(&l->state, memory_order_relaxed);
	if (state == LATENCY_OFF) {
		l->sampling = false;
		return false;
	}
	if (state == LATENCY_ANEW)
		clear(l);
	sample(l, &q->stream);
	return true;
}

/* ------------------------------------------------------------------ other threads */

int
gantry_latency_switch(struct gantry_queue *q, bool on)
{
	struct gantry_latencies *l = atomic_load_explicit(&q->latencies, memory_order_relaxed);
	struct gantry_region_dir *dir = &q->g->regions;
	uint64_t version;

	if (l == NULL && !on)
		return 0;
	if (l == NULL) {
		l = gantry_alloc_libc(sizeof(*l));
		if (l == NULL)
			return -ENOMEM;
		/* Pairs with the acquire in gantry_latency_look(). */
		atomic_store_explicit(&q->latencies, l, memory_order_release);
	}
	atomic_store_explicit(&l->state, on ? LATENCY_ANEW : LATENCY_OFF, memory_order_relaxed);
	/*
	 * Publishes a new version of the table of regions, with the same regions. So the next call
	 * of each owner calls gantry_latency_look().
	 */
	pthread_mutex_lock(&dir->lock);
	version = gantry_region_replace(dir, &(struct gantry_region_change){0});
	pthread_mutex_unlock(&dir->lock);
	if (version != 0)
		return 0;
	atomic_store_explicit(&l->state, LATENCY_OFF, memory_order_relaxed);
	return on ? -ENOMEM : 0;
}

bool
gantry_latency_is_on(const struct gantry_queue *q)
{
	const struct gantry_latencies *l =
		atomic_load_explicit(&q->latencies, memory_order_acquire);

	return l != NULL && atomic_load_explicit(&l->state, memory_order_relaxed) != LATENCY_OFF;
}

void
gantry_latency_fini(struct gantry_queue *q)
{
	gantry_free_libc(atomic_load_explicit(&q->latencies, memory_order_relaxed));
}

int
gantry_latency_set(struct gantry_queue *q, bool on)
{
	int ret;

	gantry_seen_lock();
	ret = gantry_latency_switch(q, on);
	gantry_seen_unlock();
	return ret;
}

static uint64_t
to_ns(uint64_t cycles)
{
	return (uint64_t)((double)cycles * 1e9 / (double)rte_get_tsc_hz());
}

void
gantry_latency_get(const struct gantry_queue *q, unsigned int op, struct gantry_latency *latency)
{
	const struct gantry_latencies *l =
		atomic_load_explicit(&q->latencies, memory_order_acquire);
	const struct gantry_histogram *h;

	*latency = (struct gantry_latency){0};
	if (l == NULL || op >= GANTRY_OP_MAX)
		return;
	h = &l->of[op];
	latency->count = gantry_histogram_count(h);
	latency->p50_ns = to_ns(gantry_histogram_percentile(h, 50));
	latency->p99_ns = to_ns(gantry_histogram_percentile(h, 99));
	latency->max_ns = to_ns(gantry_counter_get(&h->max));
}
