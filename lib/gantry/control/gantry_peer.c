/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue's connections to peers. */
#include "gantry_trace.h" /* included before all other headers */

#include <errno.h>
#include <string.h>

#include "gantry_addr.h"
#include "gantry_alloc.h"
#include "gantry_conf_check.h"
#include "gantry_dc.h"
#include "gantry_defer.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_path.h"
#include "gantry_process.h"
#include "gantry_queue.h"
#include "gantry_recv_ring.h"
#include "gantry_seen.h"
#include "gantry_target.h"
#include "gantry_txn_stop.h"
#include "gantry_worker.h"
#include "gantry_xlate.h"

/*
 * The most inline bytes of a WQE of one WQEBB that has a control segment and a remote address
 * segment.
 */
#define DEFAULT_INLINE 28
/* As DEFAULT_INLINE, for a SEND, which has no remote address segment. */
#define DEFAULT_REPLY 44

/* ------------------------------------------------------------------ the owner's steps */

/*
 * Calls of the device are slow, so the control thread makes them. Data that the queue's owner uses
 * is changed by the short steps below. gantry_worker_call() runs a step between two turns of a
 * worker.
 */
struct step {
	struct gantry_queue *q;
	uint16_t peer;
};

static int
owner_does(struct gantry_queue *q, int (*fn)(void *step), uint16_t peer)
{
	struct step step = {q, peer};

	return q->worker != NULL ? gantry_worker_call(q->worker, fn, &step) : fn(&step);
}

/* Lets descriptors use the peer from now on. */
static int
step_enter(void *arg)
{
	const struct step *step = arg;

	step->q->peer[step->peer].conn = GANTRY_CONN_PEER + step->peer;
	return 0;
}

/*
 * Checks whether the peer can be connected. Returns 0, -EISCONN if the peer is or was connected, or
 * -EIO if the device is lost.
 */
static int
step_check_open(void *arg)
{
	const struct step *step = arg;
	uint32_t conn = gantry_queue_peer_conn(step->q, step->peer);

	if (step->q->conn[conn].state == GANTRY_CONN_OPEN)
		return 0;
	return step->q->device_lost ? -EIO : -EISCONN;
}

static int
step_ready(void *arg)
{
	const struct step *step = arg;

	struct gantry_conn *c = &step->q->conn[gantry_queue_peer_conn(step->q, step->peer)];
	int ret = step_check_open(arg);

	if (ret != 0)
		return ret;
	gantry_shown_set(&c->state, c->txns != NULL ? GANTRY_CONN_TXN : GANTRY_CONN_READY);
	return 0;
}

/* Tells the owner that the queue's DC initiator exists. */
static int
step_dci(void *arg)
{
	const struct step *step = arg;

	gantry_shown_set(&step->q->conn[GANTRY_CONN_DCI].state, GANTRY_CONN_READY);
	step->q->dci.ready = true;
	return 0;
}

/* Lets descriptors use the DC peer from now on. */
static int
step_enter_dc(void *arg)
{
	const struct step *step = arg;

	gantry_shown_set(&step->q->peer[step->peer].to_dci, true);
	return 0;
}

/*
 * Returns true if a descriptor to the peer was accepted or deferred, and its completion is not
 * handed out yet.
 */
static bool
is_busy(const struct gantry_queue *q, uint16_t peer)
{
	const struct gantry_worker *w = q->worker;
	uint32_t conn = gantry_queue_conn_to(q, peer);
	/* A descriptor to a DC peer that is not connected waits in the queue's own stream. */
	const struct gantry_stream *s =
		conn == GANTRY_CONN_NONE ? &q->stream : q->conn[conn].stream;
	uint64_t seq = gantry_counter_get(&s->tail), head = gantry_counter_get(&s->head);

	/* The DC initiator's stream may be full of descriptors to other peers. */
	if (w != NULL && gantry_defer_has_peer(w->defer, peer))
		return true;
	/* A peer's own stream is also busy while it has completions that are not handed out. */
	if (s != &q->stream && conn != GANTRY_CONN_DCI)
		return seq != head;
	for (; seq != head; seq++) {
		const struct gantry_desc *d = gantry_stream_pend(s, seq);
		uint64_t where = s->where[seq & s->mask];

		/* `pend` has the whole descriptor until the descriptor is issued. */
		if (seq >= s->issue) {
			if (gantry_xlate_is_to_peer(d) && d->peer == peer)
				return true;
			continue;
		}
		/*
		 * Of an issued descriptor, only the connection is kept, in `where`. For descriptors
		 * on the DC initiator, `pend` also keeps the peer.
		 */
		if (conn != GANTRY_CONN_NONE && gantry_where_conn(where) == conn &&
			(conn != GANTRY_CONN_DCI || d->peer == peer))
			return true;
	}
	return false;
}

/*
 * Lets no descriptor use the DC peer from now on. Descriptors to other DC peers may be in flight on
 * the initiator.
 */
static int
step_leave_dc(void *arg)
{
	const struct step *step = arg;

	if (is_busy(step->q, step->peer))
		return -EBUSY;
	gantry_shown_set(&step->q->peer[step->peer].to_dci, false);
	return 0;
}

/*
 * Lets no descriptor use the peer from now on. From then on only the control thread uses the peer's
 * connection.
 */
static int
step_leave(void *arg)
{
	const struct step *step = arg;

	struct gantry_conn *c = &step->q->conn[gantry_queue_peer_conn(step->q, step->peer)];

	if (is_busy(step->q, step->peer) || c->done != c->posted)
		return -EBUSY;
	gantry_keys_forget(&step->q->keys, gantry_queue_peer_conn(step->q, step->peer));
	if (c->txns != NULL)
		gantry_txn_stop_forget(step->q, c);
	gantry_conn_set_remove(&step->q->active, c - step->q->conn);
	if (c->recv != NULL)
		gantry_recv_ring_leave(c->recv);
	step->q->peer[step->peer].conn = GANTRY_CONN_NONE;
	return 0;
}

/* Flushes a peer's receives. Called when the device can no longer use their memory. */
static int
step_flush(void *ring)
{
	gantry_recv_ring_flush(ring);
	return 0;
}

/* ------------------------------------------------------------------ the control thread's calls */

/*
 * Changes the use of a peer. Telemetry may read the connection of an open peer. The stack free_peer
 * has only the numbers of free peers.
 */
static void
set_use(struct gantry_queue *q, uint16_t peer, enum gantry_peer_use use)
{
	gantry_seen_lock();
	q->peer[peer].use = use;
	if (use == GANTRY_PEER_OPEN)
		q->n_free_peers--;
	else if (use == GANTRY_PEER_FREE)
		q->free_peer[q->n_free_peers++] = peer;
	gantry_seen_unlock();
}

static bool
is_unused(const char *what, uint32_t value, const char *of)
{
	if (value == 0)
		return true;
	LOG(ERR, "gantry_peer_conf::%s is %u: a %s has none, so it must be 0", what, value, of);
	return false;
}

/*
 * Checks whether a peer can carry transactions. Returns 0, or logs what to do and returns a
 * negative errno.
 */
static int
check_txn(const struct gantry_queue *q, const struct gantry_peer_conf *conf)
{
	if (conf->txn == GANTRY_TXN_NONE)
		return 0;
	if ((unsigned int)conf->txn > GANTRY_TXN_WAIT) {
		LOG(ERR, "gantry_peer_conf::txn is %d: use a value of gantry_txn_mode",
			(int)conf->txn);
		return -EINVAL;
	}
	if (conf->transport != GANTRY_TRANSPORT_RC) {
		LOG(ERR,
			"gantry_peer_conf::txn: transactions need GANTRY_TRANSPORT_RC: libmlx5 configures "
			"signatures for RC only");
		return -EOPNOTSUPP;
	}
	if (q->txns.n == 0) {
		LOG(ERR, "gantry_peer_conf::txn: the queue was created without "
			 "gantry_queue_conf::transactions");
		return -EINVAL;
	}
	if (conf->txn == GANTRY_TXN_PIPELINED && !q->g->dev->own_ctx) {
		LOG(ERR,
			"gantry_peer_conf::txn: pipelining needs the device's events, which are the "
			"caller's with gantry_conf::ibv_ctx: use GANTRY_TXN_WAIT");
		return -EOPNOTSUPP;
	}
	return 0;
}

/*
 * Checks the settings of a peer. Returns 0, or logs the name of the wrong setting and returns
 * -EINVAL.
 */
static int
check_conf(const struct gantry_peer_conf *conf)
{
	bool possible =
		gantry_is_at_most("gantry_peer_conf", "depth", conf->depth, GANTRY_MAX_DEPTH) &&
		gantry_is_at_most("gantry_peer_conf", "recv_depth", conf->recv_depth,
			GANTRY_MAX_DEPTH) &&
		GANTRY_IS_CLEAN("gantry_peer_conf", conf) &&
		gantry_mask_is_known("gantry_peer_conf", conf->mask, GANTRY_PEER_MAX_INLINE) &&
		gantry_is_given("gantry_peer_conf", "max_inline", "GANTRY_PEER_MAX_INLINE",
			(conf->mask & GANTRY_PEER_MAX_INLINE) != 0, conf->max_inline);

	switch (conf->transport) {
	case GANTRY_TRANSPORT_RC:
		break;
	case GANTRY_TRANSPORT_DC:
		possible = possible && is_unused("recv_depth", conf->recv_depth, "DC peer");
		break;
	case GANTRY_TRANSPORT_DC_TARGET:
		possible = possible && is_unused("depth", conf->depth, "DC target") &&
			   is_unused("mask", conf->mask, "DC target");
		break;
	default:
		LOG(ERR, "gantry_peer_conf::transport is %d: use a value of gantry_transport",
			(int)conf->transport);
		possible = false;
	}
	return possible ? gantry_path_check(&conf->path) : -EINVAL;
}

/* Returns the settings of an RC peer's QP. */
static struct hwq_qp_conf
rc_conf(const struct gantry_queue *q, const struct gantry_peer_conf *conf)
{
	const bool txn = conf->txn != GANTRY_TXN_NONE;
	struct gantry_path path = gantry_path_merge(&conf->path, &q->path, q->g->dev->port.port);
	struct hwq_qp_conf qp_conf = {
		.sq_wr = q->sq_wr,
		.max_inline = txn ? DEFAULT_REPLY : DEFAULT_INLINE,
		.rq_wr = conf->recv_depth,
		.sig_pipelining = conf->txn == GANTRY_TXN_PIPELINED,
		.path = gantry_path_to_hwq(&path),
	};

	if ((conf->mask & GANTRY_PEER_MAX_INLINE) != 0)
		qp_conf.max_inline = conf->max_inline;
	if (txn)
		qp_conf.sq_wr = gantry_txns_sq_wr(&q->txns, conf->depth);
	else if (conf->depth != 0)
		qp_conf.sq_wr = RTE_MIN(conf->depth, hwq_dev_caps(q->g->dev)->max_qp_wr);
	return qp_conf;
}

/* Logs what to do, and returns ret. */
static int
rc_error(const struct gantry_peer_conf *conf, int ret)
{
	if (ret == -EOPNOTSUPP && conf->txn == GANTRY_TXN_PIPELINED)
		LOG(ERR, "the device has no signature pipelining: use GANTRY_TXN_WAIT");
	else
		LOG(ERR, "cannot open a peer connection: %s", strerror(-ret));
	return ret;
}

/* Creates the QP, the stream and the receives of RC peer i, and writes its address to *own. */
static int
open_rc(struct gantry_queue *q, uint16_t i, const struct gantry_peer_conf *conf,
	struct gantry_dest *own)
{
	struct gantry_conn *c = &q->conn[GANTRY_CONN_PEER + i];
	const struct hwq_qp_conf qp_conf = rc_conf(q, conf);
	struct gantry_recv_ring *ring = NULL;
	struct gantry_txn_line *line = NULL;
	struct gantry_stream *s;
	int ret;

	ret = gantry_queue_stream_for(q, conf->depth, &s);
	if (ret != 0)
		return ret;
	if (conf->recv_depth != 0) {
		ret = gantry_recv_ring_create(conf->recv_depth, i, q->socket, &ring);
		if (ret != 0) {
			gantry_queue_stream_put(q, s);
			return ret;
		}
	}
	if (conf->txn != GANTRY_TXN_NONE)
		ret = gantry_txn_line_create(conf->txn, q->socket, &line);
	if (ret == 0)
		ret = gantry_conn_open(c, q->domain, &qp_conf, q->g->max_msg_len);
	if (ret != 0) {
		gantry_free(line);
		gantry_recv_ring_free(ring);
		gantry_queue_stream_put(q, s);
		return rc_error(conf, ret);
	}
	c->txns = line;
	if (ring != NULL) {
		ring->conn = c;
		c->recv = ring;
	}
	c->stream = s;
	c->place = gantry_conn_place_of(c - q->conn);
	own->transport = GANTRY_TRANSPORT_RC;
	hwq_qp_addr(c->qp, &own->hwq);
	return 0;
}

/*
 * Creates DC target i, and writes its address to *own. A target has no stream, because descriptors
 * cannot be sent to it.
 */
static int
open_target(struct gantry_queue *q, uint16_t i, const struct gantry_peer_conf *conf,
	struct gantry_dest *own)
{
	struct gantry_conn *c = &q->conn[GANTRY_CONN_PEER + i];
	struct gantry_path path = gantry_path_merge(&conf->path, &q->path, q->g->dev->port.port);
	struct hwq_path hwq_path = gantry_path_to_hwq(&path);
	struct gantry_recv_ring *ring = NULL;
	int ret = 0;

	if (conf->recv_depth != 0)
		ret = gantry_recv_ring_create(conf->recv_depth, i, q->socket, &ring);
	if (ret != 0)
		return ret;
	ret = gantry_target_create(q->domain, &hwq_path, conf->recv_depth, q->socket, &c->target);
	if (ret != 0) {
		gantry_recv_ring_free(ring);
		if (c->target != NULL)
			gantry_shown_set(&c->state, GANTRY_CONN_CLOSING);
		return ret;
	}
	if (ring != NULL) {
		ring->conn = c;
		c->recv = ring;
	}
	c->stream = &q->stream;
	gantry_shown_set(&c->state, GANTRY_CONN_TARGET);
	own->transport = GANTRY_TRANSPORT_DC;
	hwq_dct_addr(c->target->dct, &own->hwq);
	own->dc_key = c->target->key;
	return 0;
}

/*
 * Opens a DC peer: creates the initiator, unless it exists. gantry_peer_connect() later gives the
 * address of the peer's target.
 */
static int
open_dc(struct gantry_queue *q, uint16_t i, const struct gantry_peer_conf *conf)
{
	int ret = gantry_dc_open(q, conf);

	if (ret != 0)
		return ret;
	if (!q->dci.ready)
		owner_does(q, step_dci, i);
	q->peer_more[i].traffic_class = (conf->path.mask & GANTRY_PATH_TRAFFIC_CLASS) != 0
						? conf->path.traffic_class
						: q->dci.conf.path.traffic_class;
	return 0;
}

int
gantry_peer_open(struct gantry_queue *q, const struct gantry_peer_conf *conf, uint16_t *peer,
	struct gantry_addr *addr)
{
	static const struct gantry_peer_conf defaults;
	struct gantry_dest own = {0};
	struct gantry_conn *c;
	uint16_t i;
	int ret;

	if (conf == NULL)
		conf = &defaults;
	ret = gantry_process_check(q->g->pid);
	if (ret == 0)
		ret = check_conf(conf);
	if (ret == 0)
		ret = check_txn(q, conf);
	if (ret != 0)
		return ret;
	if (q->n_free_peers == 0) {
		LOG(ERR,
			"queue %u has %u peers open, which is gantry_queue_conf::max_peers: close one",
			q->id, q->max_peers);
		return -ENOSPC;
	}
	i = q->free_peer[q->n_free_peers - 1];
	c = &q->conn[GANTRY_CONN_PEER + i];
	/* An earlier open may have failed and left a QP or CQ that could not be destroyed. */
	ret = c->state == GANTRY_CONN_CLOSED ? 0 : gantry_conn_close(c);
	if (ret == 0)
		ret = gantry_cells_init(&q->cells, q->g->dev, GANTRY_ALLOC_ANY_SOCKET);
	if (ret != 0)
		return ret;
	ret = conf->transport == GANTRY_TRANSPORT_RC   ? open_rc(q, i, conf, &own)
	      : conf->transport == GANTRY_TRANSPORT_DC ? open_dc(q, i, conf)
						       : open_target(q, i, conf, &own);
	if (ret != 0)
		return ret;
	q->peer_more[i].transport = conf->transport;
	set_use(q, i, GANTRY_PEER_OPEN);
	gantry_trace_peer_open(q->id, i, conf->transport);
	*peer = i;
	if (conf->transport == GANTRY_TRANSPORT_DC) {
		if (addr != NULL)
			memset(addr, 0, sizeof(*addr));
		return 0;
	}
	owner_does(q, step_enter, i);
	gantry_addr_pack(&own, addr);
	return 0;
}

static int
connect_rc(struct gantry_queue *q, uint16_t peer, const struct gantry_dest *to)
{
	int ret = owner_does(q, step_check_open, peer);

	if (ret == 0)
		ret = gantry_conn_connect(&q->conn[GANTRY_CONN_PEER + peer], &to->hwq);
	return ret == 0 ? owner_does(q, step_ready, peer) : ret;
}

static int
connect_dc(struct gantry_queue *q, uint16_t i, const struct gantry_dest *to)
{
	struct gantry_peer_more *peer = &q->peer_more[i];
	int ret;

	if (peer->dc != NULL)
		return -EISCONN;
	ret = gantry_dc_connect(q, to, peer->traffic_class, &peer->dc);
	return ret == 0 ? owner_does(q, step_enter_dc, i) : ret;
}

static int
no_peer(const struct gantry_queue *q, uint16_t peer)
{
	LOG(ERR, "queue %u has no peer %u: use a number of gantry_peer_open()", q->id, peer);
	return -EINVAL;
}

int
gantry_peer_connect(struct gantry_queue *q, uint16_t peer, const struct gantry_addr *addr)
{
	int ret = gantry_process_check(q->g->pid);
	struct gantry_dest to;

	if (ret != 0)
		return ret;
	if (peer >= q->max_peers || q->peer[peer].use != GANTRY_PEER_OPEN)
		return no_peer(q, peer);
	to.transport = q->peer_more[peer].transport;
	if (to.transport == GANTRY_TRANSPORT_DC_TARGET) {
		LOG(ERR, "peer %u is a DC target: DC peers of other queues connect to it", peer);
		return -EINVAL;
	}
	ret = gantry_addr_unpack(addr, &to);
	if (ret != 0)
		return ret;
	ret = to.transport == GANTRY_TRANSPORT_RC ? connect_rc(q, peer, &to)
						  : connect_dc(q, peer, &to);
	if (ret == -EISCONN)
		LOG(ERR, "peer %u is or was connected: close it, and open another one", peer);
	gantry_trace_peer_connect(q->id, peer, ret);
	return ret;
}

/*
 * Closes the connection of a peer, or a target. The caller knows that no descriptor uses it.
 * Returns 0 or the device's error.
 */
static int
close_conn(struct gantry_queue *q, uint16_t peer)
{
	struct gantry_conn *c = &q->conn[GANTRY_CONN_PEER + peer];
	struct gantry_recv_ring *ring = c->recv;
	struct gantry_stream *s = c->stream;
	int ret;

	ret = gantry_conn_close(c);
	if (ring != NULL && gantry_conn_is_silent(c)) {
		c->recv = NULL;
		if (q->worker != NULL)
			gantry_worker_call(q->worker, step_flush, ring);
		else
			step_flush(ring);
	}
	if (ret == 0)
		gantry_queue_stream_put(q, s);
	return ret;
}

static int
close_dc(struct gantry_peer_more *peer)
{
	int ret = peer->dc == NULL ? 0 : gantry_dc_disconnect(peer->dc);

	if (ret == 0)
		peer->dc = NULL;
	return ret;
}

int
gantry_peer_close(struct gantry_queue *q, uint16_t peer)
{
	int ret = gantry_process_check(q->g->pid);
	bool is_dc;

	if (ret != 0)
		return ret;
	if (peer >= q->max_peers || q->peer[peer].use == GANTRY_PEER_FREE)
		return no_peer(q, peer);
	is_dc = q->peer_more[peer].transport == GANTRY_TRANSPORT_DC;
	if (q->peer[peer].use == GANTRY_PEER_OPEN)
		ret = owner_does(q, is_dc ? step_leave_dc : step_leave, peer);
	if (ret != 0)
		return ret;
	set_use(q, peer, GANTRY_PEER_CLOSING);
	ret = is_dc ? close_dc(&q->peer_more[peer]) : close_conn(q, peer);
	gantry_trace_peer_close(q->id, peer, ret);
	if (ret != 0)
		return ret;
	set_use(q, peer, GANTRY_PEER_FREE);
	return 0;
}
