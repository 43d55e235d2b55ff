/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and destroys engines and workers, and starts and stops the workers' lcores. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define ALLOW_EXPERIMENTAL_API /* the zero-copy calls of rte_ring */
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_ring.h>
#include <rte_ring_peek_zc.h>

#include "gantry_priv.h"

RTE_LOG_REGISTER(gantry_logtype, lib.gantry, INFO);

#define DEFAULT_RING_SIZE 1024
#define MAX_RING_SIZE     (1u << 20)
#define DEFAULT_BURST     32
#define MAX_BURST         256

/* ------------------------------------------------------------------ engine */

/* What lib/hwq says, as one of our lines. */
static void
log_line(const char *text)
{
	LOG(ERR, "%s", text);
}

/* Settles how copies are carried, and how much one WQE carries. */
static int
choose_copy_path(struct gantry *g, const struct hwq_dev_caps *caps, enum gantry_copy_path wish)
{
	bool has_mmo = caps->max_memcpy_len != 0;
	uint64_t limit;

	if (wish == GANTRY_COPY_MMO && !has_mmo) {
		LOG(ERR, "%s has no DMA MMO: choose copy path RDMA or AUTO", g->info.device);
		return -EOPNOTSUPP;
	}
	if (has_mmo && wish != GANTRY_COPY_RDMA) {
		g->info.copy_path = GANTRY_COPY_MMO;
		limit = caps->max_memcpy_len;
	} else {
		g->info.copy_path = GANTRY_COPY_RDMA;
		limit = caps->max_msg_len;
	}
	g->info.max_copy_len = RTE_MIN(limit, GANTRY_MAX_WQE_LEN);
	return 0;
}

int
gantry_create(const struct gantry_conf *conf, struct gantry **out)
{
	static const struct gantry_conf defaults;
	const struct hwq_dev_caps *caps;
	struct gantry *g;
	int ret;

	if (conf == NULL)
		conf = &defaults;
	if ((unsigned int)conf->copy_path > GANTRY_COPY_RDMA)
		return -EINVAL;
	g = rte_zmalloc("gantry", sizeof(*g), RTE_CACHE_LINE_SIZE);
	if (g == NULL)
		return -ENOMEM;
	TAILQ_INIT(&g->queues);
	TAILQ_INIT(&g->workers);

	hwq_log_set(log_line);
	ret = hwq_dev_open(conf->device, &g->dev);
	if (ret != 0) {
		LOG(ERR, "cannot open %s: %s",
			conf->device == NULL ? "an mlx5 device" : conf->device, strerror(-ret));
		goto free_engine;
	}
	caps = hwq_dev_caps(g->dev);
	g->info.device = hwq_dev_name(g->dev);
	g->info.numa_node = hwq_dev_numa_node(g->dev);
	g->max_msg_len = RTE_MIN(caps->max_msg_len, GANTRY_MAX_WQE_LEN);
	ret = choose_copy_path(g, caps, conf->copy_path);
	if (ret != 0)
		goto close_dev;
	ret = gantry_mem_dir_init(&g->mem);
	if (ret != 0)
		goto close_dev;

	LOG(INFO, "%s: copies by %s, at most %" PRIu64 " bytes a WQE", g->info.device,
		g->info.copy_path == GANTRY_COPY_MMO ? "DMA MMO" : "loopback RDMA write",
		g->info.max_copy_len);
	*out = g;
	return 0;

close_dev:
	hwq_dev_close(g->dev);
free_engine:
	rte_free(g);
	return ret;
}

int
gantry_destroy(struct gantry *g)
{
	if (!TAILQ_EMPTY(&g->queues) || !TAILQ_EMPTY(&g->workers) ||
		!gantry_mem_dir_is_empty(&g->mem))
		return -EBUSY;
	gantry_mem_dir_fini(&g->mem);
	hwq_dev_close(g->dev);
	rte_free(g);
	return 0;
}

void
gantry_info_get(const struct gantry *g, struct gantry_info *info)
{
	*info = g->info;
}

bool
gantry_is_busy(const struct gantry *g)
{
	const struct gantry_queue *q;

	if (g->running)
		return true;
	TAILQ_FOREACH(q, &g->queues, next)
		if (gantry_in_flight(q) != 0)
			return true;
	return false;
}

/* ------------------------------------------------------------------ workers */

/* One worker an lcore, over all engines: an lcore runs one function. */
static struct gantry_worker *worker_of_lcore[RTE_MAX_LCORE];

/* A ring of by-value elements with one producer and one consumer. */
static int
ring_create(const char *kind, unsigned int lcore_id, uint32_t esize, uint32_t size, int socket,
	struct rte_ring **out)
{
	char name[RTE_RING_NAMESIZE];
	struct rte_ring *r;

	snprintf(name, sizeof(name), "gantry_%s_%u", kind, lcore_id);
	/* RING_F_EXACT_SZ: size elements fit, not size - 1. */
	r = rte_ring_create_elem(name, esize, size, socket,
		RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
	if (r == NULL)
		return -rte_errno;
	*out = r;
	return 0;
}

static bool
is_worker_lcore(unsigned int lcore_id)
{
	return lcore_id < RTE_MAX_LCORE && rte_lcore_is_enabled(lcore_id) &&
	       lcore_id != rte_get_main_lcore();
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
	w = rte_zmalloc_socket("gantry_worker", sizeof(*w), RTE_CACHE_LINE_SIZE, socket);
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
	rte_ring_free(w->out);
free_in:
	rte_ring_free(w->in);
free_worker:
	rte_free(w);
	return ret;
}

/* Pairs with the release at the end of gantry_worker_main(). */
static bool
is_running(const struct gantry_worker *w)
{
	return atomic_load_explicit(&w->running, memory_order_acquire);
}

int
gantry_worker_destroy(struct gantry_worker *w)
{
	int ret;

	if (is_running(w) || rte_ring_count(w->in) != 0 || rte_ring_count(w->out) != 0)
		return -EBUSY;
	w->q->of_worker = false;
	ret = gantry_queue_destroy(w->q);
	if (ret != 0) {
		w->q->of_worker = true;
		return ret;
	}
	TAILQ_REMOVE(&w->g->workers, w, next);
	worker_of_lcore[w->lcore_id] = NULL;
	rte_ring_free(w->out);
	rte_ring_free(w->in);
	rte_free(w);
	return 0;
}

struct gantry_queue *
gantry_worker_queue(struct gantry_worker *w)
{
	return w->q;
}

/* ------------------------------------------------------------------ start, stop */

/* Ends the workers that run, and waits for them. */
static void
stop_workers(struct gantry *g)
{
	struct gantry_worker *w;

	TAILQ_FOREACH(w, &g->workers, next)
		atomic_store_explicit(&w->stop, true, memory_order_relaxed);
	TAILQ_FOREACH(w, &g->workers, next) {
		while (is_running(w))
			sched_yield();
		/* The lcore may take a moment more to be free. */
		rte_eal_wait_lcore(w->lcore_id);
	}
}

static int
start_worker(struct gantry_worker *w)
{
	int ret;

	w->room = 0; /* known after the worker's first look at its ring */
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

/* ------------------------------------------------------------------ the rings' other ends */

static void
copy_desc(struct gantry_desc *dst, const struct gantry_desc *src, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		dst[i] = src[i];
}

static void
copy_comp(struct gantry_comp *dst, const struct gantry_comp *src, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		dst[i] = src[i];
}

unsigned int
gantry_enqueue_burst(struct gantry_worker *w, const struct gantry_desc *desc, unsigned int n)
{
	struct rte_ring_zc_data zc;

	n = rte_ring_enqueue_zc_burst_elem_start(w->in, sizeof(*desc), n, &zc, NULL);
	if (n == 0)
		return 0;
	copy_desc(zc.ptr1, desc, zc.n1);
	copy_desc(zc.ptr2, desc + zc.n1, n - zc.n1);
	rte_ring_enqueue_zc_elem_finish(w->in, n);
	return n;
}

unsigned int
gantry_dequeue_burst(struct gantry_worker *w, struct gantry_comp *comp, unsigned int n)
{
	struct rte_ring_zc_data zc;

	n = rte_ring_dequeue_zc_burst_elem_start(w->out, sizeof(*comp), n, &zc, NULL);
	if (n == 0)
		return 0;
	copy_comp(comp, zc.ptr1, zc.n1);
	copy_comp(comp + zc.n1, zc.ptr2, n - zc.n1);
	rte_ring_dequeue_zc_elem_finish(w->out, n);
	return n;
}

unsigned int
gantry_reclaim_burst(struct gantry_worker *w, struct gantry_desc *desc, unsigned int n)
{
	struct rte_ring_zc_data zc;

	if (is_running(w))
		return 0;
	n = rte_ring_dequeue_zc_burst_elem_start(w->in, sizeof(*desc), n, &zc, NULL);
	if (n == 0)
		return 0;
	copy_desc(desc, zc.ptr1, zc.n1);
	copy_desc(desc + zc.n1, zc.ptr2, n - zc.n1);
	rte_ring_dequeue_zc_elem_finish(w->in, n);
	return n;
}
