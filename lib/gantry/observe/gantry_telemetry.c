/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The answers to /gantry/... commands. DPDK's telemetry threads run this code. It reads counters
 * and, under the lock of gantry_seen.h, also fields that control threads write. It calls no
 * function of a device. It changes one thing only: whether a queue measures latencies
 * (gantry_latency.h).
 */
#include "gantry_telemetry.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#include "gantry_dpdk.h"
#include "gantry_engine.h"
#include "gantry_latency.h"
#include "gantry_log.h"
#include "gantry_mem.h"
#include "gantry_names.h"
#include "gantry_queue.h"
#include "gantry_recv_ring.h"
#include "gantry_seen.h"
#include "gantry_target.h"
#include "gantry_worker.h"

/*
 * The most elements of a list in one answer. "next" in the answer is the number with which the next
 * answer begins. Telemetry cuts an answer of more than 16 KiB.
 */
#define MAX_NUMBERS  512
#define MAX_LCORES   64
#define MAX_REGIONS  64
#define MAX_PEERS    64
#define MAX_FAILURES 8

/* The parameters of a command. */
struct request {
	struct gantry *g;       /* NULL if the command is about all engines */
	struct gantry_queue *q; /* NULL if the command is not about a queue */
	bool has_from;
	/* Number with which the list begins, or 1 for "on"; 0 if the parameter is not given. */
	uint64_t from;
};

/* ------------------------------------------------------------------ answers */

/*
 * Returns a dictionary to be added to another dictionary. Returns NULL if there is not enough
 * memory; the answer then lacks this part. A list of dictionaries is a dictionary with numbers as
 * keys, because DPDK 22.11 takes no array of dictionaries inside a dictionary.
 */
static struct rte_tel_data *
new_dict(void)
{
	struct rte_tel_data *d = rte_tel_data_alloc();

	if (d != NULL)
		rte_tel_data_start_dict(d);
	return d;
}

static struct rte_tel_data *
new_list(enum rte_tel_value_type type)
{
	struct rte_tel_data *d = rte_tel_data_alloc();

	if (d != NULL)
		rte_tel_data_start_array(d, type);
	return d;
}

static void
add(struct rte_tel_data *to, const char *name, struct rte_tel_data *d)
{
	if (d != NULL && (to == NULL || rte_tel_data_add_dict_container(to, name, d, 0) != 0))
		rte_tel_data_free(d);
}

static void
add_numbered(struct rte_tel_data *to, uint64_t number, struct rte_tel_data *d)
{
	char name[24];

	snprintf(name, sizeof(name), "%" PRIu64, number);
	add(to, name, d);
}

/* Adds 1 or 0, because telemetry has no type for truth values. */
static void
add_bool(struct rte_tel_data *d, const char *name, bool value)
{
	rte_tel_data_add_dict_int(d, name, value);
}

static void
add_hex(struct rte_tel_data *d, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	rte_tel_data_add_dict_string(d, name, text);
}

/*
 * Adds an array with one string for each line of the text. A line that is too long for a string of
 * telemetry is divided.
 */
static void
add_lines(struct rte_tel_data *d, const char *name, const char *text)
{
	struct rte_tel_data *list = new_list(RTE_TEL_STRING_VAL);
	char line[RTE_TEL_MAX_STRING_LEN];
	size_t len;

	for (; list != NULL && *text != '\0'; text += len + (text[len] == '\n')) {
		len = RTE_MIN(strcspn(text, "\n"), sizeof(line) - 1);
		memcpy(line, text, len);
		line[len] = '\0';
		rte_tel_data_add_array_string(list, line);
	}
	add(d, name, list);
}

/* ------------------------------------------------------------------ engines, queues */

static void
tell_engine(struct gantry *g, struct rte_tel_data *d)
{
	const struct gantry_queue *q;
	const struct gantry_info *info = &g->info;
	uint32_t n = 0;

	TAILQ_FOREACH(q, &g->queues, next)
		n += q->seen;
	rte_tel_data_add_dict_string(d, "device", info->device);
	rte_tel_data_add_dict_string(d, "copies_by",
		info->copy_path == GANTRY_COPY_MMO ? "mmo" : "rdma");
	rte_tel_data_add_dict_int(d, "numa_node", info->numa_node);
	rte_tel_data_add_dict_uint(d, "queues", n);
	rte_tel_data_add_dict_uint(d, "failures", gantry_failures_count(&g->failures));
	add_bool(d, "device_lost", atomic_load_explicit(&g->device_lost, memory_order_relaxed));
	add_hex(d, "ports_down", atomic_load_explicit(&g->ports_down, memory_order_relaxed));
}

static void
answer_engines(const struct request *r, struct rte_tel_data *d)
{
	struct rte_tel_data *list = new_dict(), *e;
	struct gantry *g;

	RTE_SET_USED(r);
	for (g = gantry_seen_engine_from(0); g != NULL && (e = new_dict()) != NULL;
		g = gantry_seen_engine_from(g->id + 1)) {
		tell_engine(g, e);
		add_numbered(list, g->id, e);
	}
	add(d, "engines", list);
}

static void
answer_queues(const struct request *r, struct rte_tel_data *d)
{
	struct rte_tel_data *list = new_list(RTE_TEL_UINT_VAL);
	const struct gantry_queue *q;
	uint32_t n = 0;

	for (q = gantry_seen_queue_from(r->g, r->from);
		list != NULL && q != NULL && n < MAX_NUMBERS;
		q = gantry_seen_queue_from(r->g, q->id + 1), n++)
		rte_tel_data_add_array_uint(list, q->id);
	add(d, "queues", list);
	if (q != NULL)
		rte_tel_data_add_dict_uint(d, "next", q->id);
}

/*
 * Returns the number of elements in a ring. rte_ring_count() would read the indices with plain
 * loads, which is a data race here.
 */
static uint32_t
ring_count(const struct rte_ring *ring)
{
	uint32_t cons = __atomic_load_n(&ring->cons.tail, __ATOMIC_ACQUIRE);
	uint32_t prod = __atomic_load_n(&ring->prod.tail, __ATOMIC_RELAXED);

	return RTE_MIN(prod - cons, ring->capacity);
}

static void
tell_worker(const struct gantry_worker *w, struct rte_tel_data *d)
{
	static const char *const idle[] = {
		[GANTRY_IDLE_SPIN] = "spin",
		[GANTRY_IDLE_SLEEP] = "sleep",
		[GANTRY_IDLE_MONITOR] = "monitor",
	};

	rte_tel_data_add_dict_uint(d, "lcore", w->lcore_id);
	add_bool(d, "running", gantry_worker_is_running(w));
	rte_tel_data_add_dict_string(d, "idle", idle[w->idle]);
	rte_tel_data_add_dict_uint(d, "burst", w->burst);
	rte_tel_data_add_dict_uint(d, "ring_size", w->out->capacity);
	rte_tel_data_add_dict_uint(d, "descriptors_waiting",
		ring_count(w->in) / GANTRY_DESC_PIECES);
	rte_tel_data_add_dict_uint(d, "completions_waiting", ring_count(w->out));
}

static void
answer_queue(const struct request *r, struct rte_tel_data *d)
{
	const struct gantry_queue *q = r->q;
	struct gantry_stats stats;
	uint64_t in_flight;

	gantry_stats_get(q, &stats);
	/* `submitted` was read after `completed`, so the difference may exceed the depth. */
	in_flight = stats.submitted - stats.completed;
	if (!q->unordered)
		in_flight = RTE_MIN(in_flight, (uint64_t)q->stream.mask + 1);
	rte_tel_data_add_dict_uint(d, "queue", q->id);
	rte_tel_data_add_dict_uint(d, "engine", q->g->id);
	rte_tel_data_add_dict_string(d, "mode", q->worker != NULL ? "ring" : "inline");
	add_bool(d, "unordered", q->unordered);
	rte_tel_data_add_dict_uint(d, "depth", q->stream.mask + 1);
	rte_tel_data_add_dict_uint(d, "in_flight", in_flight);
	rte_tel_data_add_dict_uint(d, "receives_posted", stats.recv_posted - stats.recv_done);
	rte_tel_data_add_dict_int(d, "numa_node", q->socket);
	rte_tel_data_add_dict_string(d, "copies_by", gantry_name_carrier(q->choice.usual));
	rte_tel_data_add_dict_string(d, "state",
		gantry_name_conn_state(gantry_shown_get(&q->conn[GANTRY_CONN_OWN].state)));
	rte_tel_data_add_dict_uint(d, "peers", q->max_peers - q->n_free_peers);
	if (q->worker != NULL) {
		struct rte_tel_data *w = new_dict();

		if (w != NULL)
			tell_worker(q->worker, w);
		add(d, "worker", w);
	}
}

static void
answer_counters(const struct request *r, struct rte_tel_data *d)
{
	struct rte_tel_data *part;
	struct gantry_stats s;
	unsigned int i;

	gantry_stats_get(r->q, &s);
	rte_tel_data_add_dict_uint(d, "submitted", s.submitted);
	rte_tel_data_add_dict_uint(d, "completed", s.completed);
	rte_tel_data_add_dict_uint(d, "bytes", s.bytes);
	rte_tel_data_add_dict_uint(d, "doorbells", s.doorbells);
	rte_tel_data_add_dict_uint(d, "wqes", s.wqes);
	rte_tel_data_add_dict_uint(d, "cqes", s.cqes);
	rte_tel_data_add_dict_uint(d, "recv_posted", s.recv_posted);
	rte_tel_data_add_dict_uint(d, "recv_done", s.recv_done);
	rte_tel_data_add_dict_uint(d, "recoveries", s.recoveries);
	rte_tel_data_add_dict_uint(d, "replays", s.replays);
	rte_tel_data_add_dict_uint(d, "layout_hits", s.layout_hits);
	rte_tel_data_add_dict_uint(d, "layout_misses", s.layout_misses);
	rte_tel_data_add_dict_uint(d, "txn_opened", s.txn_opened);
	rte_tel_data_add_dict_uint(d, "txn_done", s.txn_done);
	rte_tel_data_add_dict_uint(d, "txn_stops", s.txn_stops);
	rte_tel_data_add_dict_uint(d, "txn_cancelled", s.txn_cancelled);
	part = new_dict();
	for (i = GANTRY_CARRIER_CPU; part != NULL && i < GANTRY_CARRIER_MAX; i++)
		rte_tel_data_add_dict_uint(part, gantry_name_carrier(i), s.copies[i]);
	add(d, "copies", part);
	part = new_dict();
	for (i = 0; part != NULL && i < GANTRY_STATUS_MAX; i++)
		rte_tel_data_add_dict_uint(part, gantry_name_status(i), s.by_status[i]);
	add(d, "by_status", part);
}

static void
answer_latency(const struct request *r, struct rte_tel_data *d)
{
	struct rte_tel_data *list = new_dict(), *e;
	struct gantry_latency latency;
	unsigned int op;

	if (r->has_from && gantry_latency_switch(r->q, r->from != 0) != 0)
		rte_tel_data_add_dict_string(d, "error", "there is no memory for the histograms");
	add_bool(d, "on", gantry_latency_is_on(r->q));
	for (op = 0; list != NULL && op < GANTRY_OP_MAX; op++) {
		gantry_latency_get(r->q, op, &latency);
		if (latency.count == 0)
			continue;
		e = new_dict();
		if (e == NULL)
			break;
		rte_tel_data_add_dict_uint(e, "count", latency.count);
		rte_tel_data_add_dict_uint(e, "p50_ns", latency.p50_ns);
		rte_tel_data_add_dict_uint(e, "p99_ns", latency.p99_ns);
		rte_tel_data_add_dict_uint(e, "max_ns", latency.max_ns);
		add(list, gantry_name_op(op), e);
	}
	add(d, "ops", list);
}

/* ------------------------------------------------------------------ lcores */

static void
answer_lcores(const struct request *r, struct rte_tel_data *d)
{
	struct rte_tel_data *list = new_dict(), *e;
	unsigned int lcore, n = 0;

	rte_tel_data_add_dict_uint(d, "cycles_per_second", rte_get_tsc_hz());
	for (lcore = r->from; lcore < RTE_MAX_LCORE; lcore++) {
		struct gantry_lcore_load load;

		gantry_lcore_load_get(lcore, &load);
		if (load.cycles == 0)
			continue;
		if (n++ == MAX_LCORES) {
			rte_tel_data_add_dict_uint(d, "next", lcore);
			break;
		}
		e = new_dict();
		if (e == NULL)
			break;
		rte_tel_data_add_dict_uint(e, "workers", load.workers);
		rte_tel_data_add_dict_uint(e, "cycles", load.cycles);
		rte_tel_data_add_dict_uint(e, "busy_cycles", load.busy_cycles);
		rte_tel_data_add_dict_uint(e, "sleeps", load.sleeps);
		add_numbered(list, lcore, e);
	}
	add(d, "lcores", list);
}

/* ------------------------------------------------------------------ memory */

/*
 * Lists regions from the highest address down, because gantry_region_overlap() finds the highest
 * region below `end`.
 */
static void
answer_memory(const struct request *r, struct rte_tel_data *d)
{
	struct rte_tel_data *list = new_dict(), *e;
	struct gantry_region_dir *dir = &r->g->regions;
	const struct gantry_region *region;
	uint64_t end = r->has_from ? r->from : UINT64_MAX;
	uint32_t n = 0;

	pthread_mutex_lock(&dir->lock);
	rte_tel_data_add_dict_uint(d, "registrations", r->g->n_mems);
	rte_tel_data_add_dict_uint(d, "regions", r->g->n_regions);
	rte_tel_data_add_dict_uint(d, "bytes", r->g->mem_len);
	while ((region = gantry_region_overlap(dir, 0, end)) != NULL) {
		unsigned int flags = region->mem->flags;
		char address[24];

		if (n++ == MAX_REGIONS) {
			rte_tel_data_add_dict_uint(d, "next", end);
			break;
		}
		end = region->addr;
		e = new_dict();
		if (e == NULL)
			break;
		rte_tel_data_add_dict_uint(e, "bytes", region->len);
		add_bool(e, "read_only", (flags & GANTRY_MEM_READ_ONLY) != 0);
		add_bool(e, "remote_write", (flags & GANTRY_MEM_REMOTE_WRITE) != 0);
		add_bool(e, "remote_read", (flags & GANTRY_MEM_REMOTE_READ) != 0);
		add_bool(e, "remote_atomic", (flags & GANTRY_MEM_REMOTE_ATOMIC) != 0);
		add_bool(e, "relaxed", (flags & GANTRY_MEM_RELAXED) != 0);
		snprintf(address, sizeof(address), "0x%" PRIx64, region->addr);
		add(list, address, e);
	}
	pthread_mutex_unlock(&dir->lock);
	add(d, "list", list);
}

/* ------------------------------------------------------------------ peers */

/* Adds peer i, which is open. It stays open while the caller has the lock of gantry_seen.h. */
static void
tell_peer(const struct gantry_queue *q, uint32_t i, struct rte_tel_data *d)
{
	const struct gantry_conn *c = &q->conn[GANTRY_CONN_PEER + i];
	unsigned int transport = q->peer_more[i].transport;

	rte_tel_data_add_dict_string(d, "transport", gantry_name_transport(transport));
	if (transport == GANTRY_TRANSPORT_DC) {
		unsigned int dci = gantry_shown_get(&q->conn[GANTRY_CONN_DCI].state);
		bool connected = gantry_shown_get(&q->peer[i].to_dci);

		/* All DC peers use the initiator's connection, so they have its state. */
		rte_tel_data_add_dict_string(d, "state",
			gantry_name_conn_state(connected ? dci : (unsigned int)GANTRY_CONN_OPEN));
		return;
	}
	rte_tel_data_add_dict_string(d, "state",
		gantry_name_conn_state(gantry_shown_get(&c->state)));
	if (transport == GANTRY_TRANSPORT_RC) {
		add_hex(d, "qpn", c->qp->qpn);
		rte_tel_data_add_dict_uint(d, "wqes", c->n_bb);
	}
	rte_tel_data_add_dict_uint(d, "recv_depth", c->recv != NULL ? c->recv->depth : 0);
}

static void
answer_peers(const struct request *r, struct rte_tel_data *d)
{
	struct rte_tel_data *list = new_dict(), *e;
	const struct gantry_queue *q = r->q;
	uint64_t i;
	uint32_t n = 0;

	for (i = r->from; i < q->max_peers; i++) {
		if (q->peer[i].use == GANTRY_PEER_FREE)
			continue;
		if (n++ == MAX_PEERS) {
			rte_tel_data_add_dict_uint(d, "next", i);
			break;
		}
		e = new_dict();
		if (e == NULL)
			break;
		if (q->peer[i].use == GANTRY_PEER_OPEN)
			tell_peer(q, i, e);
		else
			rte_tel_data_add_dict_string(e, "state", "closing");
		add_numbered(list, i, e);
	}
	add(d, "peers", list);
}

/* ------------------------------------------------------------------ failures */

static void
add_time(struct rte_tel_data *d, uint64_t ns)
{
	time_t seconds = ns / 1000000000;
	char text[48], date[32];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%03uZ", date, (unsigned int)(ns / 1000000 % 1000));
	rte_tel_data_add_dict_string(d, "time", text);
}

static void
add_conn(struct rte_tel_data *d, uint32_t conn)
{
	if (conn == GANTRY_FAILURE_NO_CONN)
		return;
	rte_tel_data_add_dict_string(d, "connection",
		conn == GANTRY_CONN_OWN       ? "own"
		: conn == GANTRY_CONN_DCI     ? "dc_initiator"
		: conn == GANTRY_CONN_TXN_OWN ? "local_transactions"
					      : "peer");
	if (conn >= GANTRY_CONN_PEER)
		rte_tel_data_add_dict_uint(d, "peer", conn - GANTRY_CONN_PEER);
}

static void
tell_failure(const struct gantry_failure *f, struct rte_tel_data *d)
{
	add_time(d, f->time_ns);
	rte_tel_data_add_dict_uint(d, "times", f->times);
	rte_tel_data_add_dict_uint(d, "queue", f->queue);
	add_conn(d, f->conn);
	rte_tel_data_add_dict_string(d, "status", gantry_name_status(f->status));
	if (f->op != 0) {
		rte_tel_data_add_dict_string(d, "op", gantry_name_op(f->op));
		rte_tel_data_add_dict_uint(d, "cookie", f->cookie);
	}
	add_hex(d, "syndrome", f->syndrome);
	add_hex(d, "vendor_syndrome", f->vendor_syndrome);
	add_lines(d, "wqe", f->wqe);
}

/* Lists failures from the newest to the oldest. */
static void
answer_failures(const struct request *r, struct rte_tel_data *d)
{
	struct gantry_failures *all = &r->g->failures;
	struct rte_tel_data *list = new_dict(), *e;
	uint64_t n = gantry_failures_count(all), end, number;
	struct gantry_failure f;

	rte_tel_data_add_dict_uint(d, "failures", n);
	end = r->has_from && r->from < n ? r->from + 1 : n;
	for (number = end; number-- > 0;) {
		if (!gantry_failures_get(all, number, &f))
			break;
		if (end - number > MAX_FAILURES) {
			rte_tel_data_add_dict_uint(d, "next", number);
			break;
		}
		e = new_dict();
		if (e == NULL)
			break;
		tell_failure(&f, e);
		add_numbered(list, number, e);
	}
	add(d, "list", list);
}

/* ------------------------------------------------------------------ commands */

/* The name of a parameter whose value is "on" or "off" instead of a number. */
#define SWITCH "on|off"

static const struct command {
	const char *name;
	enum {
		OF_ALL,
		OF_ENGINE,
		OF_QUEUE,
	} of; /* the object whose number is the first parameter */
	/*
	 * Name of the optional parameter: a number with which the list begins, or SWITCH; NULL: no
	 * such parameter.
	 */
	const char *from;
	const char *help;
	void (*answer)(const struct request *r, struct rte_tel_data *d);
} commands[] = {
	{"/gantry/engines", OF_ALL, NULL, "All engines, and their devices. No parameter",
		answer_engines},
	{"/gantry/queues", OF_ENGINE, "QUEUE",
		"Numbers of an engine's queues. Parameters: engine; number of the first queue (optional)",
		answer_queues},
	{"/gantry/queue", OF_QUEUE, NULL, "A queue, and its worker. Parameter: queue",
		answer_queue},
	{"/gantry/counters", OF_QUEUE, NULL, "Counters of a queue. Parameter: queue",
		answer_counters},
	{"/gantry/latency", OF_QUEUE, SWITCH,
		"Latencies on a queue. Parameters: queue; on: measure anew, or off (optional)",
		answer_latency},
	{"/gantry/lcores", OF_ALL, "LCORE",
		"Load of the lcores that run workers. Parameter: the first lcore (optional)",
		answer_lcores},
	{"/gantry/memory", OF_ENGINE, "ADDRESS",
		"Registered memory. Parameters: engine; address below which the list goes on (optional)",
		answer_memory},
	{"/gantry/peers", OF_QUEUE, "PEER",
		"Peers of a queue. Parameters: queue; the first peer (optional)", answer_peers},
	{"/gantry/errors", OF_ENGINE, "NUMBER",
		"Last failures, the newest first. Parameters: engine; number of the newest (optional)",
		answer_failures},
};

/*
 * Telemetry sends no text for a callback that returns an error, so the answer is a dictionary with
 * the text.
 */
static void
refuse(struct rte_tel_data *d, const struct command *c, const char *why)
{
	static const char *const first[] = {
		[OF_ALL] = "",
		[OF_ENGINE] = ",ENGINE",
		[OF_QUEUE] = ",QUEUE",
	};
	static const char *const found[] = {
		[OF_ALL] = "",
		[OF_ENGINE] = "; /gantry/engines has their numbers",
		[OF_QUEUE] = "; /gantry/queues,ENGINE has their numbers",
	};
	char text[RTE_TEL_MAX_STRING_LEN];

	snprintf(text, sizeof(text), "%s: give %s%s%s%s%s%s", why, c->name, first[c->of],
		c->from != NULL ? "[," : "", c->from != NULL ? c->from : "",
		c->from != NULL ? "]" : "", found[c->of]);
	rte_tel_data_add_dict_string(d, "error", text);
}

/*
 * Reads the number at *p and moves *p behind it and its comma. Returns false if there is no number,
 * it has more than 19 digits, or nothing follows the comma.
 */
static bool
read_number(const char **p, uint64_t *value)
{
	static const char digits[] = "0123456789";
	size_t n = strspn(*p, digits);

	/* UINT64_MAX has 20 digits, so numbers of 19 digits do not overflow. */
	if (n == 0 || n > 19 || ((*p)[n] != '\0' && (*p)[n] != ','))
		return false;
	*value = strtoull(*p, NULL, 10);
	*p += n;
	if (**p == ',') {
		++*p;
		return **p != '\0';
	}
	return true;
}

/*
 * Reads the parameters. Returns NULL, or a text that says what is wrong with the parameters. The
 * caller has the lock of gantry_seen.h.
 */
static const char *
read_request(const struct command *c, const char *p, struct request *r)
{
	uint64_t id;

	if (p == NULL)
		p = "";
	if (c->of != OF_ALL) {
		if (*p == '\0')
			return "a number is missing";
		if (!read_number(&p, &id))
			return "not a number";
		if (id > UINT32_MAX)
			return "there is none of that number";
	}
	if (c->of == OF_ENGINE) {
		r->g = gantry_seen_engine_from(id);
		if (r->g == NULL || r->g->id != id)
			return "there is no such engine";
	} else if (c->of == OF_QUEUE) {
		for (r->g = gantry_seen_engine_from(0); r->g != NULL;
			r->g = gantry_seen_engine_from(r->g->id + 1)) {
			r->q = gantry_seen_queue_from(r->g, id);
			if (r->q != NULL && r->q->id == id)
				break;
		}
		if (r->g == NULL)
			return "there is no such queue";
	}
	if (*p == '\0')
		return NULL;
	if (c->from == NULL)
		return "too many parameters";
	r->has_from = true;
	if (strcmp(c->from, SWITCH) == 0) {
		r->from = strcmp(p, "on") == 0;
		return r->from != 0 || strcmp(p, "off") == 0 ? NULL : "neither on nor off";
	}
	if (!read_number(&p, &r->from))
		return "not a number";
	return *p == '\0' ? NULL : "too many parameters";
}

static int
answer(const char *cmd, const char *params, struct rte_tel_data *d)
{
	const struct command *c = commands;
	struct request r = {0};
	const char *why;

	while (strcmp(c->name, cmd) != 0)
		c++;
	rte_tel_data_start_dict(d);
	gantry_seen_lock();
	why = read_request(c, params, &r);
	if (why == NULL)
		c->answer(&r, d);
	else
		refuse(d, c, why);
	gantry_seen_unlock();
	return 0;
}

static void
register_all(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < RTE_DIM(commands); i++) {
		ret = rte_telemetry_register_cmd(commands[i].name, answer, commands[i].help);
		if (ret != 0)
			LOG(WARNING, "telemetry does not take %s: %s", commands[i].name,
				strerror(-ret));
	}
}

void
gantry_telemetry_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_all);
}
