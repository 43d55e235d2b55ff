/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue's connections to peers. */
#include <errno.h>
#include <string.h>

#include "gantry_addr.h"
#include "gantry_alloc.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_path.h"
#include "gantry_queue.h"
#include "gantry_recv_ring.h"
#include "gantry_stream.h"
#include "gantry_worker.h"
#include "gantry_xlate.h"

/* Bytes that a WQE of one WQEBB holds behind the control and the remote address segment. */
#define DEFAULT_INLINE 28

/* ------------------------------------------------------------------ the owner's steps */

/*
 * The control thread makes all calls of the device, which are slow. What the owner uses is changed by
 * these short steps, which gantry_worker_call() has carried out between two turns of a worker.
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

/* Descriptors may name the peer from now on. */
static int
step_enter(void *arg)
{
	const struct step *step = arg;

	step->q->peer[step->peer].conn = GANTRY_CONN_PEER + step->peer;
	return 0;
}

static int
step_check_open(void *arg)
{
	const struct step *step = arg;
	uint32_t conn = gantry_queue_peer_conn(step->q, step->peer);

	return step->q->conn[conn].state == GANTRY_CONN_OPEN ? 0 : -EISCONN;
}

static int
step_ready(void *arg)
{
	const struct step *step = arg;

	step->q->conn[gantry_queue_peer_conn(step->q, step->peer)].state = GANTRY_CONN_READY;
	return 0;
}

/* True: a descriptor to the peer was accepted, and its completion is not handed out. */
static bool
is_busy(const struct gantry_queue *q, uint16_t peer)
{
	uint32_t conn = gantry_queue_peer_conn(q, peer);
	const struct gantry_stream *s = q->conn[conn].stream;
	uint64_t seq = gantry_counter_get(&s->tail), head = gantry_counter_get(&s->head);

	/* A stream of its own has also completions that are to be handed out. */
	if (s != &q->stream)
		return seq != head;
	for (; seq != head; seq++) {
		const struct gantry_desc *d = &s->pend[seq & s->mask];
		uint64_t where = s->where[seq & s->mask];

		/* Issued ones name their connection; of waiting ones the descriptor is kept. */
		if (seq < s->issue ? gantry_where_conn(where) == conn
				   : gantry_xlate_is_to_peer(d) && d->peer == peer)
			return true;
	}
	return false;
}

/* From now on no descriptor names the peer, and its connection is the control thread's. */
static int
step_leave(void *arg)
{
	const struct step *step = arg;

	const struct gantry_conn *c = &step->q->conn[gantry_queue_peer_conn(step->q, step->peer)];

	if (is_busy(step->q, step->peer) || c->done != c->posted)
		return -EBUSY;
	gantry_keys_forget(step->q, gantry_queue_peer_conn(step->q, step->peer));
	if (c->recv != NULL)
		gantry_recv_ring_leave(c->recv);
	step->q->peer[step->peer].conn = GANTRY_CONN_NONE;
	return 0;
}

/* The device uses the memory of the peer's receives no more. */
static int
step_flush(void *ring)
{
	gantry_recv_ring_flush(ring);
	return 0;
}

/* ------------------------------------------------------------------ the control thread's calls */

/* 0; or -EINVAL, and the log names the setting. */
static int
check_conf(const struct gantry_peer_conf *conf)
{
	if (conf->depth > GANTRY_MAX_DEPTH) {
		LOG(ERR, "gantry_peer_conf::depth is %u: 0 to %u are possible", conf->depth,
			GANTRY_MAX_DEPTH);
		return -EINVAL;
	}
	if (conf->recv_depth > GANTRY_MAX_DEPTH) {
		LOG(ERR, "gantry_peer_conf::recv_depth is %u: 0 to %u are possible",
			conf->recv_depth, GANTRY_MAX_DEPTH);
		return -EINVAL;
	}
	if (conf->transport != GANTRY_TRANSPORT_RC) {
		LOG(ERR, "gantry_peer_conf::transport is %d: GANTRY_TRANSPORT_RC is possible",
			(int)conf->transport);
		return -EINVAL;
	}
	return gantry_path_check(&conf->path);
}

int
gantry_peer_open(struct gantry_queue *q, const struct gantry_peer_conf *conf, uint16_t *peer,
	struct gantry_addr *addr)
{
	static const struct gantry_peer_conf defaults;
	struct hwq_qp_conf qp_conf = {.sq_wr = q->sq_wr};
	struct gantry_recv_ring *ring = NULL;
	struct gantry_stream *s;
	struct hwq_addr hwq;
	struct gantry_conn *c;
	uint16_t i;
	int ret;

	if (conf == NULL)
		conf = &defaults;
	ret = check_conf(conf);
	if (ret != 0)
		return ret;
	if (q->n_free_peers == 0)
		return -ENOSPC;
	i = q->free_peer[q->n_free_peers - 1];
	c = &q->conn[GANTRY_CONN_PEER + i];
	/* What an earlier open that failed could not give back. */
	ret = c->state == GANTRY_CONN_CLOSED ? 0 : gantry_conn_close(c);
	if (ret == 0)
		ret = gantry_cells_init(&q->cells, q->g->dev, GANTRY_ALLOC_ANY_SOCKET);
	if (ret != 0)
		return ret;
	qp_conf.max_inline = conf->max_inline != 0 ? conf->max_inline - 1 : DEFAULT_INLINE;
	if (conf->depth != 0)
		qp_conf.sq_wr = RTE_MIN(conf->depth, hwq_dev_caps(q->g->dev)->max_qp_wr);
	qp_conf.path = gantry_path_merge(&conf->path, &q->path);
	ret = gantry_stream_of_peer(q, conf->depth, &s);
	if (ret != 0)
		return ret;
	qp_conf.rq_wr = conf->recv_depth;
	if (conf->recv_depth != 0) {
		ret = gantry_recv_ring_create(conf->recv_depth, i, q->socket, &ring);
		if (ret != 0) {
			gantry_stream_put(q, s);
			return ret;
		}
	}
	ret = gantry_conn_open(c, q->domain, &qp_conf, q->g->max_msg_len);
	if (ret != 0) {
		gantry_recv_ring_free(ring);
		LOG(ERR, "cannot open a peer connection: %s", strerror(-ret));
		gantry_stream_put(q, s);
		return ret;
	}
	if (ring != NULL) {
		ring->conn = c;
		c->recv = ring;
	}
	c->stream = s;
	q->n_free_peers--;
	q->peer[i].use = GANTRY_PEER_OPEN;
	owner_does(q, step_enter, i);
	hwq_qp_addr(c->qp, &hwq);
	gantry_addr_pack(GANTRY_TRANSPORT_RC, &hwq, addr);
	*peer = i;
	return 0;
}

int
gantry_peer_connect(struct gantry_queue *q, uint16_t peer, const struct gantry_addr *addr)
{
	struct hwq_addr remote;
	int ret;

	if (peer >= q->max_peers || q->peer[peer].use != GANTRY_PEER_OPEN)
		return -EINVAL;
	ret = gantry_addr_unpack(addr, GANTRY_TRANSPORT_RC, &remote);
	if (ret == 0)
		ret = owner_does(q, step_check_open, peer);
	if (ret == 0)
		ret = gantry_conn_connect(&q->conn[GANTRY_CONN_PEER + peer], &remote);
	return ret == 0 ? owner_does(q, step_ready, peer) : ret;
}

int
gantry_peer_close(struct gantry_queue *q, uint16_t peer)
{
	struct gantry_recv_ring *ring;
	struct gantry_conn *c;
	struct gantry_stream *s;
	int ret = 0;

	if (peer >= q->max_peers || q->peer[peer].use == GANTRY_PEER_FREE)
		return -EINVAL;
	c = &q->conn[GANTRY_CONN_PEER + peer];
	if (q->peer[peer].use == GANTRY_PEER_OPEN)
		ret = owner_does(q, step_leave, peer);
	if (ret != 0)
		return ret;
	q->peer[peer].use = GANTRY_PEER_CLOSING;
	s = c->stream;
	ring = c->recv;
	ret = gantry_conn_close(c);
	if (ring != NULL && c->qp == NULL) {
		c->recv = NULL;
		if (q->worker != NULL)
			gantry_worker_call(q->worker, step_flush, ring);
		else
			step_flush(ring);
	}
	if (ret != 0)
		return ret;
	gantry_stream_put(q, s);
	q->peer[peer].use = GANTRY_PEER_FREE;
	q->free_peer[q->n_free_peers++] = peer;
	return 0;
}
