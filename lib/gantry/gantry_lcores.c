/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives lcores their workers, and starts and stops them. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>

#include <rte_common.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#include "gantry_alloc.h"
#include "gantry_engine.h"
#include "gantry_queue.h"
#include "gantry_worker.h"

#define DEFAULT_RING_SIZE 1024
#define MAX_RING_SIZE     (1u << 20)
#define DEFAULT_BURST     32
#define MAX_BURST         256

/* ------------------------------------------------------------------ workers */

/* One worker an lcore, over all engines: an lcore runs one function. */
static struct gantry_worker *worker_of_lcore[RTE_MAX_LCORE];

static bool
is_worker_lcore(unsigned int lcore_id)
{
	return lcore_id < RTE_MAX_LCORE && rte_lcore_is_enabled(lcore_id) &&
	       lcore_id != rte_get_main_lcore();
}

/* A worker's ring; EAL knows it by kind and lcore. */
static int
ring_create(const char *kind, unsigned int lcore_id, uint32_t elem_len, uint32_t n, int socket,
	struct rte_ring **out)
{
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "gantry_%s_%u", kind, lcore_id);
	return gantry_alloc_ring(name, elem_len, n, socket, out);
}

int
gantry_worker_create(struct gantry *g, unsigned int lcore_id, const struct gantry_worker_conf *conf,
	struct gantry_worker **out)
{
	static const struct gantry_worker_conf defaults;
	struct gantry_queue_conf queue_conf;
	struct gantry_worker *w;
	uint32_t ring_size;
	int socket, ret;

	if (conf == NULL)
		conf = &defaults;
	ring_size = conf->ring_size != 0 ? conf->ring_size : DEFAULT_RING_SIZE;
	if (!is_worker_lcore(lcore_id) || !rte_is_power_of_2(ring_size) ||
		ring_size > MAX_RING_SIZE || conf->burst > MAX_BURST)
		return -EINVAL;
	if (worker_of_lcore[lcore_id] != NULL)
		return -EBUSY;

	queue_conf = conf->queue;
	if (queue_conf.socket == 0)
		queue_conf.socket = rte_lcore_to_socket_id(lcore_id) + 1;
	socket = queue_conf.socket - 1;
	w = gantry_alloc("gantry_worker", sizeof(*w), socket);
	if (w == NULL)
		return -ENOMEM;
	w->g = g;
	w->lcore_id = lcore_id;
	w->burst = conf->burst != 0 ? conf->burst : DEFAULT_BURST;
	ret = ring_create("in", lcore_id, sizeof(struct gantry_desc), ring_size, socket, &w->in);
	if (ret != 0)
		goto free_worker;
	ret = ring_create("out", lcore_id, sizeof(struct gantry_comp), ring_size, socket, &w->out);
	if (ret != 0)
		goto free_in;
	ret = gantry_queue_create(g, &queue_conf, &w->q);
	if (ret != 0)
		goto free_out;
	w->q->of_worker = true;
	worker_of_lcore[lcore_id] = w;
	TAILQ_INSERT_TAIL(&g->workers, w, next);
	*out = w;
	return 0;

free_out:
	gantry_free_ring(w->out);
free_in:
	gantry_free_ring(w->in);
free_worker:
	gantry_free(w);
	return ret;
}

int
gantry_worker_destroy(struct gantry_worker *w)
{
	int ret;

	if (gantry_worker_is_running(w) || rte_ring_count(w->in) != 0 ||
		rte_ring_count(w->out) != 0)
		return -EBUSY;
	w->q->of_worker = false;
	ret = gantry_queue_destroy(w->q);
	if (ret != 0) {
		w->q->of_worker = true;
		return ret;
	}
	TAILQ_REMOVE(&w->g->workers, w, next);
	worker_of_lcore[w->lcore_id] = NULL;
	gantry_free_ring(w->out);
	gantry_free_ring(w->in);
	gantry_free(w);
	return 0;
}

struct gantry_queue *
gantry_worker_queue(struct gantry_worker *w)
{
	return w->q;
}

/* ------------------------------------------------------------------ start, stop */

/* Tells every worker to stop, and waits until each lcore is free. */
static void
stop_workers(struct gantry *g)
{
	struct gantry_worker *w;

	TAILQ_FOREACH(w, &g->workers, next)
		atomic_store_explicit(&w->stop, true, memory_order_relaxed);
	TAILQ_FOREACH(w, &g->workers, next) {
		while (gantry_worker_is_running(w))
			sched_yield();
		/* The worker has ended; its lcore still has to return from it. */
		rte_eal_wait_lcore(w->lcore_id);
	}
}

static int
start_worker(struct gantry_worker *w)
{
	int ret;

	w->room = 0; /* until the worker has looked at its ring */
	atomic_store_explicit(&w->running, true, memory_order_relaxed);
	/* Pairs with the acquire in gantry_worker_main(). */
	atomic_store_explicit(&w->stop, false, memory_order_release);
	ret = rte_eal_remote_launch(gantry_worker_main, w, w->lcore_id);
	if (ret != 0)
		atomic_store_explicit(&w->running, false, memory_order_relaxed);
	return ret;
}

int
gantry_start(struct gantry *g)
{
	struct gantry_worker *w;
	int ret;

	if (g->running)
		return -EALREADY;
	TAILQ_FOREACH(w, &g->workers, next)
		if (rte_eal_get_lcore_state(w->lcore_id) != WAIT)
			return -EBUSY;
	TAILQ_FOREACH(w, &g->workers, next) {
		ret = start_worker(w);
		if (ret != 0) {
			stop_workers(g);
			return ret;
		}
	}
	g->running = true;
	return 0;
}

int
gantry_stop(struct gantry *g)
{
	if (!g->running)
		return -EALREADY;
	stop_workers(g);
	g->running = false;
	return 0;
}
