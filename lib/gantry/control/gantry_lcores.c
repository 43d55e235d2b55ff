/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives lcores their workers, and starts and stops them. */
#include "gantry_trace.h" /* included before all other headers */

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include <rte_bitops.h>
#include <rte_common.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#include "gantry_alloc.h"
#include "gantry_conf_check.h"
#include "gantry_defer.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_loop.h"
#include "gantry_monitor.h"
#include "gantry_process.h"
#include "gantry_queue.h"
#include "gantry_queue_life.h"
#include "gantry_ring_end.h"
#include "gantry_seen.h"
#include "gantry_worker_recv.h"

#define DEFAULT_RING_SIZE 1024
#define DEFAULT_BURST     32
#define MAX_BURST         256

/* ------------------------------------------------------------------ workers */

/* The checks below return true if the value is possible. Otherwise they log the possible values. */
static bool
is_worker_lcore(unsigned int lcore_id)
{
	if (lcore_id < RTE_MAX_LCORE && rte_lcore_is_enabled(lcore_id) &&
		lcore_id != rte_get_main_lcore())
		return true;
	LOG(ERR,
		"lcore %u takes no worker: use an lcore of EAL (-l or --lcores) other than the main "
		"lcore, which is %u",
		lcore_id, rte_get_main_lcore());
	return false;
}

static bool
is_ring_size(const char *what, uint32_t size)
{
	if (rte_is_power_of_2(size) && size <= GANTRY_MAX_RING_SIZE)
		return true;
	LOG(ERR, "gantry_worker_conf::%s is %u: use a power of two, at most %u", what, size,
		GANTRY_MAX_RING_SIZE);
	return false;
}

static bool
is_at_most(const char *what, unsigned int value, unsigned int max)
{
	return gantry_is_at_most("gantry_worker_conf", what, value, max);
}

static bool
conf_is_valid(const struct gantry_worker_conf *conf, uint32_t ring_size)
{
	return GANTRY_IS_CLEAN("gantry_worker_conf", conf) &&
	       is_ring_size("ring_size", ring_size) &&
	       (conf->recv_ring_size == 0 ||
		       is_ring_size("recv_ring_size", conf->recv_ring_size)) &&
	       is_at_most("burst", conf->burst, MAX_BURST) &&
	       is_at_most("producers", conf->producers, GANTRY_PRODUCERS_MP_HTS) &&
	       is_at_most("idle", conf->idle, GANTRY_IDLE_MONITOR) &&
	       gantry_queue_conf_is_valid(&conf->queue);
}

/*
 * Producers of an MP ring wait for each other with relaxed loads. By the rules of C11, a consumer
 * may then read an element before its producer has written it; x86 and Arm order these accesses.
 * ThreadSanitizer uses the rules of C11 and reports a race. So under ThreadSanitizer producers
 * enqueue one after the other (HTS).
 */
static enum gantry_producers
producers_of(const struct gantry_worker_conf *conf)
{
#ifdef __SANITIZE_THREAD__
	if (conf->producers == GANTRY_PRODUCERS_MP)
		return GANTRY_PRODUCERS_MP_HTS;
#endif
	return conf->producers;
}

/* Creates a ring whose name in EAL consists of kind and number. */
static int
ring_create(const char *kind, unsigned int id, uint32_t elem_len, uint32_t n, int socket,
	unsigned int producers, struct rte_ring **out)
{
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "gantry_%s_%u", kind, id);
	return gantry_alloc_ring(name, elem_len, n, socket, producers, out);
}

static void
rings_free(struct gantry_worker *w)
{
	gantry_free_ring(w->recv_out);
	gantry_free_ring(w->recv_in);
	gantry_free_ring(w->out);
	gantry_free_ring(w->in);
}

/*
 * Creates the worker's rings. n: elements of the rings of descriptors. n_recv: elements of the
 * rings of receives, or 0 for no such rings.
 */
static int
rings_create(struct gantry_worker *w, uint32_t n, uint32_t n_recv, int socket)
{
	static const unsigned int producers[] = {
		[GANTRY_PRODUCERS_ONE] = RING_F_SP_ENQ,
		[GANTRY_PRODUCERS_MP] = 0,
		[GANTRY_PRODUCERS_MP_HTS] = RING_F_MP_HTS_ENQ,
	};
	static atomic_uint n_created;
	unsigned int id = atomic_fetch_add(&n_created, 1);
	int ret;

	ret = ring_create("in", id, GANTRY_PIECE_LEN, n * GANTRY_DESC_PIECES, socket,
		producers[w->producers], &w->in);
	if (ret == 0)
		ret = ring_create("out", id, sizeof(struct gantry_comp), n, socket, RING_F_SP_ENQ,
			&w->out);
	if (ret == 0 && n_recv != 0)
		ret = ring_create("rin", id, sizeof(struct gantry_ring_recv), n_recv, socket,
			producers[w->producers], &w->recv_in);
	if (ret == 0 && n_recv != 0)
		ret = ring_create("rout", id, sizeof(struct gantry_recv_comp), n_recv, socket,
			RING_F_SP_ENQ, &w->recv_out);
	if (ret != 0)
		rings_free(w);
	return ret;
}

/*
 * Returns the NUMA node of a worker's memory if the caller gives none. It is the device's node,
 * because the device writes to this memory for each operation. An application can choose an lcore
 * near the device, but not a device near the lcore.
 */
static int
worker_socket(const struct gantry *g, unsigned int lcore_id)
{
	int of_lcore = rte_lcore_to_socket_id(lcore_id), of_device = g->info.numa_node;

	if (of_device < 0)
		return of_lcore;
	if (of_device != of_lcore)
		LOG(WARNING,
			"lcore %u is on NUMA node %d, and %s on node %d: every doorbell and every "
			"completion crosses nodes. Choose an lcore of node %d (rte_lcore_to_socket_id).",
			lcore_id, of_lcore, g->info.device, of_device, of_device);
	return of_device;
}

/* Shows in telemetry which lcore and worker have the queue. */
static void
name_lcore(struct gantry_worker *w, unsigned int lcore_id)
{
	gantry_seen_lock();
	w->q->lcore = lcore_id;
	w->q->worker = w;
	gantry_seen_unlock();
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
	if (!is_worker_lcore(lcore_id) || !conf_is_valid(conf, ring_size))
		return -EINVAL;

	if (conf->idle == GANTRY_IDLE_MONITOR && !gantry_monitor_is_possible()) {
		LOG(ERR, "this CPU cannot wait for a write to memory (on x86: \"waitpkg\" in "
			 "/proc/cpuinfo): use GANTRY_IDLE_SLEEP or GANTRY_IDLE_SPIN");
		return -ENOTSUP;
	}
	ret = gantry_process_check(g->pid);
	if (ret != 0)
		return ret;
	queue_conf = conf->queue;
	if ((queue_conf.mask & GANTRY_QUEUE_NUMA_NODE) == 0) {
		socket = worker_socket(g, lcore_id);
		w = gantry_alloc_near("gantry_worker", sizeof(*w), &socket);
	} else {
		socket = queue_conf.numa_node;
		w = gantry_alloc("gantry_worker", sizeof(*w), socket);
	}
	if (w == NULL)
		return -ENOMEM;
	if (socket >= 0) {
		queue_conf.mask |= GANTRY_QUEUE_NUMA_NODE;
		queue_conf.numa_node = socket;
	}
	w->g = g;
	w->lcore_id = lcore_id;
	w->burst = conf->burst != 0 ? conf->burst : DEFAULT_BURST;
	w->producers = producers_of(conf);
	w->idle = conf->idle;
	ret = rings_create(w, ring_size, conf->recv_ring_size, socket);
	if (ret != 0)
		goto free_worker;
	w->filled = w->in;
	ret = w->idle != GANTRY_IDLE_SPIN ? gantry_loop_prepare(w) : 0;
	if (ret != 0)
		goto free_rings;
	ret = gantry_queue_create_with(g, &queue_conf, w->idle == GANTRY_IDLE_SLEEP, &w->q);
	if (ret != 0)
		goto unprepare;
	ret = queue_conf.unordered ? gantry_defer_create(w->q, ring_size, &w->defer) : 0;
	if (ret != 0)
		goto give_queue_up;
	name_lcore(w, lcore_id);
	TAILQ_INSERT_TAIL(&g->workers, w, next);
	*out = w;
	return 0;

give_queue_up:
	gantry_queue_give_up(w->q);
unprepare:
	if (w->bell != NULL)
		gantry_loop_unprepare(w);
free_rings:
	rings_free(w);
free_worker:
	gantry_free(w);
	return ret;
}

static bool
has_elements(const struct rte_ring *ring)
{
	return ring != NULL && rte_ring_count(ring) != 0;
}

int
gantry_worker_destroy(struct gantry_worker *w)
{
	int ret = gantry_process_check(w->g->pid);

	if (ret != 0)
		return ret;
	if (gantry_worker_is_running(w) || has_elements(w->in) || has_elements(w->out) ||
		has_elements(w->recv_in) || has_elements(w->recv_out))
		return -EBUSY;
	name_lcore(w, LCORE_ID_ANY);
	ret = gantry_queue_destroy(w->q);
	if (ret != 0) {
		name_lcore(w, w->lcore_id);
		return ret;
	}
	TAILQ_REMOVE(&w->g->workers, w, next);
	if (w->bell != NULL)
		gantry_loop_unprepare(w);
	gantry_defer_free(w->defer);
	rings_free(w);
	gantry_free(w);
	return 0;
}

struct gantry_queue *
gantry_worker_queue(struct gantry_worker *w)
{
	return w->q;
}

/* ------------------------------------------------------------------ start, stop */

int
gantry_worker_start(struct gantry_worker *w)
{
	int ret = gantry_process_check(w->g->pid);
	uint32_t in_flight, room;

	if (ret != 0)
		return ret;
	if (gantry_worker_is_running(w))
		return -EALREADY;
	in_flight = gantry_in_flight(w->q);
	room = gantry_ring_room(w->out);
	if (in_flight > room) {
		LOG(ERR,
			"queue %u has %u descriptors in flight, and the ring of completions has %u free "
			"elements: call gantry_poll() or gantry_dequeue_burst() before the worker starts",
			w->q->id, in_flight, room);
		return -ENOBUFS;
	}
	ret = gantry_loop_add(w);
	if (ret != 0)
		return ret;
	w->g->running++;
	gantry_trace_worker_start(w->q->id, w->lcore_id);
	return 0;
}

/* Waits until a worker that was asked to stop has stopped. */
static void
stopped(struct gantry_worker *w)
{
	gantry_loop_remove(w);
	w->g->running--;
	gantry_trace_worker_stop(w->q->id, w->lcore_id);
}

int
gantry_worker_stop(struct gantry_worker *w)
{
	int ret = gantry_process_check(w->g->pid);

	if (ret != 0)
		return ret;
	if (!gantry_worker_is_running(w))
		return -EALREADY;
	gantry_loop_ask(w);
	stopped(w);
	return 0;
}

/*
 * Asks all workers to stop before it waits for the first worker, so that all workers finish their
 * descriptors at the same time.
 */
static void
stop_list(struct gantry_worker *first)
{
	struct gantry_worker *w;

	for (w = first; w != NULL; w = w->next_to_stop)
		gantry_loop_ask(w);
	for (w = first; w != NULL; w = w->next_to_stop) {
		stopped(w);
	}
}

int
gantry_start(struct gantry *g)
{
	struct gantry_worker *w, *started = NULL;
	int ret;

	TAILQ_FOREACH(w, &g->workers, next) {
		ret = gantry_worker_start(w);
		if (ret == -EALREADY)
			continue;
		if (ret != 0) {
			stop_list(started);
			return ret;
		}
		w->next_to_stop = started;
		started = w;
	}
	return started != NULL || TAILQ_EMPTY(&g->workers) ? 0 : -EALREADY;
}

int
gantry_stop(struct gantry *g)
{
	struct gantry_worker *w, *running = NULL;
	int ret = gantry_process_check(g->pid);

	if (ret != 0)
		return ret;
	TAILQ_FOREACH(w, &g->workers, next) {
		if (!gantry_worker_is_running(w))
			continue;
		w->next_to_stop = running;
		running = w;
	}
	if (running == NULL)
		return -EALREADY;
	stop_list(running);
	return 0;
}
