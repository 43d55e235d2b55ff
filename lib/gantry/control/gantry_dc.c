/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates a queue's DC initiator, and the addresses of DC peers. */
#include "gantry_dc.h"

#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "gantry_alloc.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_path.h"

/*
 * A WQE to a DC peer has two WQEBBs. Behind the longest address, DEFAULT_INLINE bytes are left for
 * inline data.
 */
#define WQE_BB         2
#define DEFAULT_INLINE 44

/*
 * Returns true if the peer's value of a setting is 0 or equals the initiator's value. Otherwise
 * logs both values and returns false.
 */
static bool
is_same(const char *what, uint32_t asked, uint32_t has)
{
	if (asked == 0 || asked == has)
		return true;
	LOG(ERR,
		"gantry_peer_conf::%s is %u, but %u for the queue's first DC peer: DC peers share "
		"an initiator, so use the same value or 0",
		what, asked, has);
	return false;
}

/* As is_same(), for a setting that is used only if its bit is in the mask. */
static bool
is_same_given(const char *what, uint32_t bit, uint32_t mask, uint32_t asked, uint32_t first_mask,
	uint32_t has)
{
	if ((mask & bit) == 0 || ((first_mask & bit) != 0 && asked == has))
		return true;
	LOG(ERR,
		"gantry_peer_conf::%s is %u, but the queue's first DC peer has %s value: DC peers "
		"share an initiator, so use the same value or none",
		what, asked, (first_mask & bit) != 0 ? "another" : "no");
	return false;
}

#define SAME_IN_PATH(field, bit)                                                                   \
	is_same_given("path." #field, bit, a->mask, a->field, b->mask, b->field)

static int
check_same(const struct gantry_peer_conf *conf, const struct gantry_peer_conf *first)
{
	const struct gantry_path *a = &conf->path, *b = &first->path;

	if (is_same("depth", conf->depth, first->depth) &&
		is_same_given("max_inline", GANTRY_PEER_MAX_INLINE, conf->mask, conf->max_inline,
			first->mask, first->max_inline) &&
		is_same("path.port", a->port, b->port) && is_same("path.mtu", a->mtu, b->mtu) &&
		SAME_IN_PATH(gid_index, GANTRY_PATH_GID_INDEX) &&
		SAME_IN_PATH(timeout, GANTRY_PATH_TIMEOUT) &&
		SAME_IN_PATH(retries, GANTRY_PATH_RETRIES) &&
		SAME_IN_PATH(rnr_retries, GANTRY_PATH_RNR_RETRIES))
		return 0;
	return -EINVAL;
}

/* Creates the initiator's QP and CQ, and moves the QP to RTS. */
static int
dci_create(struct gantry_queue *q, struct gantry_conn *c)
{
	struct hwq_addr addr;
	int ret;

	ret = gantry_conn_open(c, q->domain, &q->dci.conf, q->g->max_msg_len);
	if (ret != 0)
		return ret;
	hwq_qp_addr(c->qp, &addr);
	q->dci.mtu = addr.mtu;
	ret = hwq_qp_ready(c->qp);
	if (ret != 0)
		gantry_conn_close(c);
	return ret;
}

int
gantry_dc_open(struct gantry_queue *q, const struct gantry_peer_conf *conf)
{
	struct gantry_conn *c = &q->conn[GANTRY_CONN_DCI];
	uint32_t most = hwq_dev_caps(q->g->dev)->max_qp_wr / WQE_BB;
	struct gantry_stream *s;
	int ret;

	if (q->dci.ready)
		return check_same(conf, &q->dci.first);
	/* An earlier call may have failed and left a QP or CQ that could not be destroyed. */
	ret = c->state == GANTRY_CONN_CLOSED ? 0 : gantry_conn_close(c);
	if (ret == 0)
		ret = gantry_queue_stream_for(q, conf->depth, &s);
	if (ret != 0)
		return ret;
	/*
	 * For issued descriptors, `pend` also keeps the number of the DC peer, which is_busy() in
	 * gantry_peer.c reads. So `pend` needs an element for each slot.
	 */
	ret = gantry_stream_let_all_wait(s, q->socket);
	if (ret != 0) {
		gantry_queue_stream_put(q, s);
		return ret;
	}
	q->dci.first = *conf;
	q->dci.first.path = gantry_path_merge(&conf->path, &q->path, q->g->dev->port.port);
	q->dci.conf = (struct hwq_qp_conf){
		.type = HWQ_QP_DCI,
		.sq_wr = RTE_MIN(conf->depth != 0 ? conf->depth : q->sq_wr, most),
		.max_inline = (conf->mask & GANTRY_PEER_MAX_INLINE) != 0 ? conf->max_inline
									 : DEFAULT_INLINE,
		.path = gantry_path_to_hwq(&q->dci.first.path),
	};
	ret = dci_create(q, c);
	if (ret != 0) {
		LOG(ERR, "cannot create a DC initiator: %s%s", strerror(-ret),
			ret == -EOPNOTSUPP ? ": without DC, use GANTRY_TRANSPORT_RC" : "");
		gantry_queue_stream_put(q, s);
		return ret;
	}
	c->stream = s;
	c->place = gantry_conn_place_of(GANTRY_CONN_DCI);
	return 0;
}

int
gantry_dc_connect(const struct gantry_queue *q, const struct gantry_dest *to, uint8_t traffic_class,
	struct gantry_dc_peer **out)
{
	struct hwq_path path = q->dci.conf.path;
	struct gantry_dc_peer *dc;
	int ret;

	if (to->hwq.mtu != q->dci.mtu) {
		LOG(ERR,
			"the DC target has an MTU of %u bytes, and the queue's DC initiator %u: set "
			"gantry_path::mtu to the same at both ends",
			128u << to->hwq.mtu, 128u << q->dci.mtu);
		return -EINVAL;
	}
	dc = gantry_alloc("gantry_dc_peer", sizeof(*dc), q->socket);
	if (dc == NULL)
		return -ENOMEM;
	path.traffic_class = traffic_class;
	ret = hwq_ah_create_on(q->g->dev, &path, &to->hwq, &dc->ah);
	if (ret != 0) {
		gantry_free(dc);
		return ret;
	}
	hwq_dc_dest_set(&dc->dest, &dc->ah, rte_be_to_cpu_32(to->hwq.qpn), to->dc_key);
	*out = dc;
	return 0;
}

int
gantry_dc_disconnect(struct gantry_dc_peer *dc)
{
	int ret = hwq_ah_destroy(&dc->ah);

	if (ret == 0)
		gantry_free(dc);
	return ret;
}
