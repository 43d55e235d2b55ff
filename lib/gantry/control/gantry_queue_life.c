/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and destroys queues: slots, the doorbell domain, and the connection to itself. */
#include "gantry_trace.h" /* included before all other headers */

#include "gantry_queue_life.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <rte_bitops.h>
#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_lcore.h>

#include <hwq_event.h>

#include "gantry_alloc.h"
#include "gantry_conf_check.h"
#include "gantry_cpu.h"
#include "gantry_dc.h"
#include "gantry_engine.h"
#include "gantry_latency.h"
#include "gantry_log.h"
#include "gantry_path.h"
#include "gantry_process.h"
#include "gantry_queue.h"
#include "gantry_recv_ring.h"
#include "gantry_seen.h"

#define DEFAULT_DEPTH       512
#define MIN_DEPTH           2
#define DEFAULT_REPLAYS     3
#define MAX_REPLAYS         100
#define DEFAULT_PEERS       64
#define DEFAULT_DEADLINE_MS 10000
#define DEFAULT_KEYS        16
/* The smallest send queue, in WQEs. It is large enough that a split copy keeps the device busy. */
#define MIN_SQ_WR 64
/* The most log lines of each kind in a second about failures of one queue. */
#define LINES_A_SECOND 4

/*
 * Allocates the tables for max_peers peers. Returns 0 or -ENOMEM; peers_free() frees tables also
 * after an error.
 */
static int
peers_alloc(struct gantry_queue *q, uint32_t max_peers)
{
	uint32_t i;

	q->peer = gantry_alloc("gantry_peers", max_peers * sizeof(*q->peer), q->socket);
	q->free_peer =
		gantry_alloc("gantry_free_peers", max_peers * sizeof(*q->free_peer), q->socket);
	q->peer_more =
		gantry_alloc("gantry_peer_more", max_peers * sizeof(*q->peer_more), q->socket);
	if (q->peer == NULL || q->free_peer == NULL || q->peer_more == NULL)
		return -ENOMEM;
	/* The lowest number is on top of the stack. */
	for (i = 0; i < max_peers; i++)
		q->free_peer[i] = max_peers - 1 - i;
	q->n_free_peers = q->max_peers = max_peers;
	return 0;
}

/*
 * Destroys the addresses of DC peers. Returns 0 or the device's error. After an error, call this
 * function again.
 */
static int
peers_disconnect(struct gantry_queue *q)
{
	uint32_t i;
	int ret;

	for (i = 0; i < q->max_peers; i++) {
		if (q->peer_more[i].dc == NULL)
			continue;
		ret = gantry_dc_disconnect(q->peer_more[i].dc);
		if (ret != 0)
			return ret;
		q->peer_more[i].dc = NULL;
	}
	return 0;
}

static void
peers_free(struct gantry_queue *q)
{
	gantry_free(q->peer_more);
	gantry_free(q->free_peer);
	gantry_free(q->peer);
}

/* Chooses the settings of the queue's connections. Returns 0 or a negative errno of the device. */
static int
choose_path(struct gantry_queue *q)
{
	struct gantry *g = q->g;
	int ret;

	q->path = g->path;
	if (!g->ports_in_turn)
		return 0;
	ret = hwq_dev_next_port(g->dev, g->last_port, &q->path.port);
	if (ret == 0)
		g->last_port = q->path.port;
	return ret;
}

/* Creates the queue's connection to itself. After an error, parts of it may exist. */
static int
own_open(struct gantry_queue *q)
{
	struct gantry_conn *own = &q->conn[GANTRY_CONN_OWN];
	int ret;

	q->own_conf = (struct hwq_qp_conf){
		.sq_wr = q->sq_wr,
		.mmo = q->mmo,
		.path = gantry_path_to_hwq(&q->path),
	};
	ret = gantry_conn_open(own, q->domain, &q->own_conf, q->g->info.max_copy_len);
	if (ret != 0)
		return ret;
	hwq_qp_addr(own->qp, &q->own_addr);
	ret = gantry_conn_connect(own, &q->own_addr);
	if (ret != 0)
		return ret;
	q->saved = gantry_alloc("gantry_saved", (size_t)own->n_bb * HWQ_BB_LEN, q->socket);
	if (q->saved == NULL)
		return -ENOMEM;
	own->stream = &q->stream;
	gantry_shown_set(&own->state, GANTRY_CONN_READY);
	gantry_queue_note_usual(q);
	return 0;
}

/*
 * Creates the second connection of the queue to itself, for local transactions. After an error,
 * parts of it may exist.
 */
static int
txn_own_open(struct gantry_queue *q)
{
	struct gantry_conn *c = &q->conn[GANTRY_CONN_TXN_OWN];
	int ret;

	q->txns.own_conf = (struct hwq_qp_conf){
		.sq_wr = gantry_txns_sq_wr(&q->txns, 0),
		.path = gantry_path_to_hwq(&q->path),
	};
	ret = gantry_conn_open(c, q->domain, &q->txns.own_conf, q->g->max_msg_len);
	if (ret != 0)
		return ret;
	hwq_qp_addr(c->qp, &q->txns.own_addr);
	ret = gantry_conn_connect(c, &q->txns.own_addr);
	if (ret == 0)
		ret = gantry_txn_line_create(GANTRY_TXN_WAIT, q->socket, &c->txns);
	if (ret != 0)
		return ret;
	c->stream = &q->stream;
	gantry_shown_set(&c->state, GANTRY_CONN_TXN);
	return 0;
}

/* Creates the objects that transactions need. Returns 0 or a negative errno. */
static int
txns_open(struct gantry_queue *q, uint32_t n)
{
	int ret = gantry_txns_init(&q->txns, n);

	return ret == 0 ? txn_own_open(q) : ret;
}

/*
 * Creates the objects for the GANTRY_PREPARE_* bits in `what`. After an error, some of these
 * objects may exist.
 */
static int
prepare(struct gantry_queue *q, uint32_t what)
{
	int ret = 0;

	if ((what & GANTRY_PREPARE_FILL) != 0)
		ret = gantry_fill_init(&q->fill, q->g->dev, q->socket);
	if (ret == 0 && (what & GANTRY_PREPARE_LAYOUTS) != 0)
		ret = gantry_keys_init(&q->keys);
	return ret;
}

static uint8_t
replays_of(const struct gantry_queue_conf *conf)
{
	if (conf->replays == GANTRY_NO_REPLAYS)
		return 0;
	return conf->replays != 0 ? conf->replays : DEFAULT_REPLAYS;
}

/*
 * Returns the deadline in cycles of the time stamp counter, or UINT64_MAX if there is no deadline.
 */
static uint64_t
deadline_of(const struct gantry_queue_conf *conf)
{
	uint64_t ms = conf->deadline_ms != 0 ? conf->deadline_ms : DEFAULT_DEADLINE_MS;

	return ms == GANTRY_NO_DEADLINE ? UINT64_MAX : ms * (rte_get_tsc_hz() / 1000);
}

/* Creates the channel for events of the queue's CQs. Reading it never blocks. */
static int
channel_open(struct gantry_queue *q)
{
	int ret;

	ret = hwq_channel_create(q->g->dev, &q->channel);
	if (ret != 0)
		return ret;
	if (fcntl(q->channel->fd, F_SETFL, O_NONBLOCK) != 0)
		return -errno;
	q->domain->channel = q->channel;
	return 0;
}

/* ------------------------------------------------------------------ begin and end */

/*
 * Creates all objects of the device that the queue uses. After an error, some of these objects may
 * exist; queue_end() destroys them.
 */
static int
queue_begin(struct gantry_queue *q, bool events, uint32_t what)
{
	int ret;

	ret = choose_path(q);
	if (ret == 0)
		ret = hwq_domain_create(q->g->dev, &q->domain);
	q->keys.domain = q->txns.domain = q->domain;
	if (ret == 0 && events)
		ret = channel_open(q);
	if (ret == 0)
		ret = own_open(q);
	if (ret == 0)
		ret = prepare(q, what);
	return ret;
}

/*
 * Destroys all objects of the device that the queue has. Returns 0 or the device's error. After an
 * error, call this function again.
 */
static int
queue_end(struct gantry_queue *q)
{
	uint32_t i;
	int ret;

	for (i = GANTRY_CONN_OWN; i < GANTRY_CONN_PEER + q->max_peers; i++) {
		struct gantry_stream *s = q->conn[i].stream;

		if (q->conn[i].state == GANTRY_CONN_CLOSED)
			continue;
		gantry_recv_ring_free(q->conn[i].recv);
		q->conn[i].recv = NULL;
		ret = gantry_conn_close(&q->conn[i]);
		if (ret != 0)
			return ret;
		gantry_queue_stream_put(q, s);
	}
	ret = peers_disconnect(q);
	if (ret == 0)
		ret = gantry_cells_fini(&q->cells);
	if (ret == 0)
		ret = gantry_fill_fini(&q->fill);
	if (ret == 0)
		ret = gantry_keys_fini(&q->keys);
	if (ret == 0)
		ret = gantry_txns_fini(&q->txns);
	if (ret == 0 && q->channel != NULL)
		ret = hwq_channel_destroy(q->channel);
	if (ret != 0)
		return ret;
	q->channel = NULL;
	if (q->domain != NULL)
		ret = hwq_domain_destroy(q->domain);
	if (ret == 0)
		q->domain = NULL;
	return ret;
}

/* Frees the memory of a queue whose objects of the device are destroyed. */
static void
queue_free(struct gantry_queue *q)
{
	gantry_log_rate_end(&q->lines.failed);
	gantry_log_rate_end(&q->lines.repaired);
	gantry_log_rate_end(&q->lines.down);
	gantry_latency_fini(q);
	gantry_region_view_fini(&q->view);
	peers_free(q);
	gantry_stream_fini(&q->stream);
	gantry_free(q->saved);
	gantry_free(q);
}

/*
 * Destroys a queue whose creation failed. If the device refuses, gantry_queues_end() tries again.
 */
static void
give_up(struct gantry_queue *q)
{
	if (queue_end(q) == 0)
		queue_free(q);
	else
		TAILQ_INSERT_TAIL(&q->g->unmade, q, next);
}

void
gantry_queue_give_up(struct gantry_queue *q)
{
	gantry_seen_hide_queue(q);
	gantry_seen_remove_queue(q);
	gantry_trace_queue_destroy(q->id, 0);
	give_up(q);
}

int
gantry_queues_end(struct gantry *g)
{
	struct gantry_queue *q;
	int ret;

	while ((q = TAILQ_FIRST(&g->unmade)) != NULL) {
		ret = queue_end(q);
		if (ret != 0)
			return ret;
		TAILQ_REMOVE(&g->unmade, q, next);
		queue_free(q);
	}
	return 0;
}

static bool
in_range(const char *what, uint32_t value, uint32_t max)
{
	return gantry_is_at_most("gantry_queue_conf", what, value, max);
}

static bool
is_depth(uint32_t depth)
{
	if (depth >= MIN_DEPTH && depth <= GANTRY_MAX_DEPTH && rte_is_power_of_2(depth))
		return true;
	LOG(ERR, "gantry_queue_conf::depth is %u: use a power of two, %u to %u", depth, MIN_DEPTH,
		GANTRY_MAX_DEPTH);
	return false;
}

static bool
is_node(const struct gantry_queue_conf *conf)
{
	if (conf->numa_node >= 0 && conf->numa_node < RTE_MAX_NUMA_NODES)
		return true;
	LOG(ERR, "gantry_queue_conf::numa_node is %d: 0 to %d are possible", conf->numa_node,
		RTE_MAX_NUMA_NODES - 1);
	return false;
}

bool
gantry_queue_conf_is_valid(const struct gantry_queue_conf *conf)
{
	return GANTRY_IS_CLEAN("gantry_queue_conf", conf) &&
	       gantry_mask_is_known("gantry_queue_conf", conf->mask, GANTRY_QUEUE_NUMA_NODE) &&
	       gantry_is_given("gantry_queue_conf", "numa_node", "GANTRY_QUEUE_NUMA_NODE",
		       (conf->mask & GANTRY_QUEUE_NUMA_NODE) != 0, conf->numa_node) &&
	       is_node(conf) && is_depth(conf->depth != 0 ? conf->depth : DEFAULT_DEPTH) &&
	       (conf->replays == GANTRY_NO_REPLAYS ||
		       in_range("replays", conf->replays, MAX_REPLAYS)) &&
	       in_range("layout_keys", conf->layout_keys, GANTRY_MAX_KEYS) &&
	       in_range("max_peers", conf->max_peers, GANTRY_MAX_PEERS) &&
	       in_range("transactions", conf->transactions, GANTRY_MAX_TXNS) &&
	       in_range("prepare", conf->prepare, GANTRY_PREPARE_FILL | GANTRY_PREPARE_LAYOUTS);
}

int
gantry_queue_create(struct gantry *g, const struct gantry_queue_conf *conf,
	struct gantry_queue **out)
{
	return gantry_queue_create_with(g, conf, false, out);
}

int
gantry_queue_create_with(struct gantry *g, const struct gantry_queue_conf *conf, bool events,
	struct gantry_queue **out)
{
	static const struct gantry_queue_conf defaults;
	struct gantry_queue *q;
	uint32_t depth, max_peers;
	size_t len;
	int socket, ret;

	if (conf == NULL)
		conf = &defaults;
	if (!gantry_queue_conf_is_valid(conf))
		return -EINVAL;
	depth = conf->depth != 0 ? conf->depth : DEFAULT_DEPTH;
	max_peers = conf->max_peers != 0 ? conf->max_peers : DEFAULT_PEERS;
	if (conf->transactions != 0 && g->info.sig_kinds == 0) {
		LOG(ERR, "%s has no block signatures: gantry_queue_conf::transactions must be 0",
			g->info.device);
		return -EOPNOTSUPP;
	}
	ret = gantry_policy_check(&g->info, conf->policy);
	if (ret == 0)
		ret = gantry_process_check(g->pid);
	if (ret != 0)
		return ret;

	len = sizeof(*q) + (GANTRY_CONN_PEER + max_peers) * sizeof(q->conn[0]);
	if ((conf->mask & GANTRY_QUEUE_NUMA_NODE) == 0) {
		socket = g->info.numa_node;
		q = gantry_alloc_near("gantry_queue", len, &socket);
	} else {
		socket = conf->numa_node;
		q = gantry_alloc("gantry_queue", len, socket);
	}
	if (q == NULL)
		return -ENOMEM;
	q->g = g;
	q->socket = socket;
	q->lcore = LCORE_ID_ANY;
	TAILQ_INIT(&q->recv_rings);
	q->replays = replays_of(conf);
	q->keys.conn = q->conn;
	q->keys.view = &q->view;
	q->keys.layouts = &g->layouts;
	q->keys.socket = socket;
	q->keys.n = conf->layout_keys != 0 ? conf->layout_keys : DEFAULT_KEYS;
	q->txns.dev = g->dev;
	q->txns.socket = socket;
	q->txns.encrypts = g->info.crypto != 0;
	q->deadline_tsc = deadline_of(conf);
	q->lines = (struct gantry_queue_lines){
		.failed = {.about = "failed WQEs", .max = LINES_A_SECOND},
		.repaired = {.about = "repaired connections", .max = LINES_A_SECOND},
		.down = {.about = "connections that are stuck or down", .max = LINES_A_SECOND},
	};
	q->mmo = g->info.copy_path == GANTRY_COPY_MMO;
	q->cpu_left = GANTRY_CPU_CALL_LEN;
	q->choice.usual = q->mmo ? GANTRY_CARRIER_MMO : GANTRY_CARRIER_RDMA;
	gantry_choice_set(&q->choice, conf->policy != NULL ? conf->policy : &g->policy);
	q->sq_wr = RTE_MIN(RTE_MAX(depth, (uint32_t)MIN_SQ_WR), hwq_dev_caps(g->dev)->max_qp_wr);
	/*
	 * The slots of descriptors that need no hardware are on this connection. Its `done` makes
	 * these slots done.
	 */
	q->conn[GANTRY_CONN_NONE].done = GANTRY_WHERE_NOWHERE + 1;
	q->stream.row.conn = &q->conn[GANTRY_CONN_OWN];
	q->unordered = conf->unordered;
	q->any_order.fence = UINT64_MAX;
	TAILQ_INIT(&q->any_order.busy);
	gantry_region_view_init(&q->view, &g->regions);
	ret = gantry_stream_init(&q->stream, depth, depth, socket);
	if (ret == 0)
		ret = peers_alloc(q, max_peers);
	if (ret == 0)
		ret = queue_begin(q, events, conf->prepare);
	if (ret == 0 && conf->transactions != 0)
		ret = txns_open(q, conf->transactions);
	if (ret != 0) {
		LOG(ERR, "cannot create a queue of depth %u: %s", depth, strerror(-ret));
		give_up(q);
		return ret;
	}
	gantry_seen_add_queue(q);
	gantry_trace_queue_create(g->id, q->id, depth);
	*out = q;
	return 0;
}

/* Returns true if the queue may be destroyed. Otherwise logs what to do first. */
static bool
is_idle(const struct gantry_queue *q)
{
	const char *why = NULL;

	if (q->lcore != LCORE_ID_ANY)
		why = "it is a worker's: call gantry_worker_destroy()";
	else if (gantry_in_flight(q) != 0)
		why = "descriptors are in flight: call gantry_poll() until all have completed";
	else if (gantry_counter_get(&q->stats.recv_posted) !=
		 gantry_counter_get(&q->stats.recv_done))
		why = "receives are posted: close their peers, and call gantry_recv_poll()";
	if (why != NULL)
		LOG(ERR, "queue %u is not destroyed: %s", q->id, why);
	return why == NULL;
}

int
gantry_queue_destroy(struct gantry_queue *q)
{
	int ret = gantry_process_check(q->g->pid);

	if (ret != 0)
		return ret;
	if (!is_idle(q))
		return -EBUSY;
	gantry_seen_hide_queue(q);
	ret = queue_end(q);
	gantry_trace_queue_destroy(q->id, ret);
	if (ret != 0)
		return ret;
	gantry_seen_remove_queue(q);
	queue_free(q);
	return 0;
}
