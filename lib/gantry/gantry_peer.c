/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue's connections to peers. */
#include <errno.h>
#include <string.h>

#include "gantry_alloc.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_queue.h"
#include "gantry_xlate.h"

/* Bytes that a WQE of one WQEBB holds behind the control and the remote address segment. */
#define DEFAULT_INLINE 28

/* The bytes of a gantry_addr. */
struct peer_addr {
	char magic[8];
	struct hwq_addr hwq;
	uint8_t zero[24];
};

static_assert(sizeof(struct peer_addr) == sizeof(struct gantry_addr), "plain bytes, all of them");

static const char peer_magic[8] = "gantry1";

/* The connection of an open peer, or NULL. */
static struct gantry_conn *
peer_conn(struct gantry_queue *q, uint16_t peer)
{
	uint32_t conn = gantry_queue_peer_conn(q, peer);

	return conn == GANTRY_CONN_NONE ? NULL : &q->conn[conn];
}

int
gantry_peer_open(struct gantry_queue *q, const struct gantry_peer_conf *conf, uint16_t *peer,
	struct gantry_addr *addr)
{
	static const struct gantry_peer_conf defaults;
	struct hwq_qp_conf qp_conf;
	struct peer_addr out = {0};
	struct gantry_conn *c;
	uint16_t i;
	int ret;

	if (conf == NULL)
		conf = &defaults;
	qp_conf = (struct hwq_qp_conf){
		.sq_wr = q->sq_wr,
		.max_inline = conf->max_inline != 0 ? conf->max_inline - 1 : DEFAULT_INLINE,
	};
	for (i = 0; i < GANTRY_MAX_PEERS; i++)
		if (peer_conn(q, i) == NULL)
			break;
	if (i == GANTRY_MAX_PEERS)
		return -ENOSPC;
	c = &q->conn[GANTRY_CONN_PEER + i];
	ret = gantry_cells_init(&q->cells, q->g->dev, GANTRY_ALLOC_ANY_SOCKET);
	if (ret != 0)
		return ret;
	ret = gantry_conn_open(c, q->domain, &qp_conf, q->g->max_msg_len);
	if (ret != 0) {
		LOG(ERR, "cannot open a peer connection: %s", strerror(-ret));
		return ret;
	}
	c->stream = &q->stream;
	q->peer[i].conn = GANTRY_CONN_PEER + i;
	memcpy(out.magic, peer_magic, sizeof(out.magic));
	hwq_qp_addr(c->qp, &out.hwq);
	memcpy(addr, &out, sizeof(*addr));
	*peer = i;
	return 0;
}

int
gantry_peer_connect(struct gantry_queue *q, uint16_t peer, const struct gantry_addr *addr)
{
	struct gantry_conn *c = peer_conn(q, peer);
	struct peer_addr remote;
	int ret;

	memcpy(&remote, addr, sizeof(remote));
	if (c == NULL || memcmp(remote.magic, peer_magic, sizeof(peer_magic)) != 0)
		return -EINVAL;
	if (c->state != GANTRY_CONN_OPEN)
		return -EISCONN;
	ret = hwq_qp_connect(c->qp, &remote.hwq);
	if (ret != 0)
		return ret;
	c->state = GANTRY_CONN_READY;
	return 0;
}

/* True: a descriptor to the peer was accepted, and its completion is not handed out. */
static bool
peer_is_busy(const struct gantry_queue *q, uint16_t peer)
{
	const struct gantry_stream *s = &q->stream;
	uint64_t seq = gantry_counter_get(&s->tail), head = gantry_counter_get(&s->head);
	uint32_t conn = gantry_queue_peer_conn(q, peer);

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

int
gantry_peer_close(struct gantry_queue *q, uint16_t peer)
{
	struct gantry_conn *c = peer_conn(q, peer);

	if (c == NULL)
		return -EINVAL;
	if (peer_is_busy(q, peer))
		return -EBUSY;
	gantry_conn_close(c);
	q->peer[peer].conn = GANTRY_CONN_NONE;
	return 0;
}
