/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Sets up a lane (queue, connections, receives), and closes it.
 */
#include "load_lane.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include "lcore_queue.h"
#include "report.h"

/* seconds to wait for descriptors in flight: longer than the engine's deadline */
#define CLOSE_S 15
#define MOST_RECEIVES                                                                              \
	32768 /* most receives of a lane; a connection always has at least LEAST_RECEIVES */
#define LEAST_RECEIVES 16
#define RESPONSE_LEN   16

/* ------------------------------------------------------------------ what the mix needs */

static bool
mix_has(const struct load_lane *l, bool (*is)(const struct load_op *op))
{
	return load_mix_has(&l->shared->opt->load.mix, is);
}

static uint32_t
n_conns(const struct load_lane *l, bool (*is)(const struct load_op *op))
{
	return mix_has(l, is) ? l->shared->point.value[AXIS_PEERS] : 0;
}

/* Returns the number of receives for each connection that needs receives. */
static uint32_t
recv_depth(const struct load_lane *l)
{
	const uint64_t peers = l->shared->point.value[AXIS_PEERS];

	return RTE_MIN((uint64_t)l->depth,
		RTE_MAX(MOST_RECEIVES / peers, (uint64_t)LEAST_RECEIVES));
}

/*
 * Returns the number of receives for all connections from the previous lane: for messages, and for
 * the responses of transactions.
 */
static uint32_t
n_receives(const struct load_lane *l)
{
	return recv_depth(l) * (n_conns(l, load_op_takes_receive) + n_conns(l, load_op_is_txn));
}

/* ------------------------------------------------------------------ queue */

static int
create_queue(struct load_lane *l)
{
	const struct options *o = l->shared->opt;
	const uint32_t most = GANTRY_MAX_TXNS, receives = n_receives(l);
	const struct gantry_worker_conf conf = {
		.queue = {.depth = RTE_MAX(2u, rte_align32pow2(l->depth)),
			.unordered = o->load.unordered,
			.max_peers = 2 * (n_conns(l, load_op_has_connection) +
						 n_conns(l, load_op_is_txn)),
			.transactions = mix_has(l, load_op_is_txn) ? RTE_MIN(l->depth, most) : 0,
			.prepare = (mix_has(l, load_op_is_fill) ? GANTRY_PREPARE_FILL : 0) |
				   (mix_has(l, load_op_has_layout) ? GANTRY_PREPARE_LAYOUTS : 0)},
		.ring_size = o->ring_size,
		.burst = l->shared->point.value[AXIS_BURST],
		.recv_ring_size = receives != 0 ? rte_align32pow2(receives + 1) : 0,
		.idle = o->idle,
	};
	int rc;

	rc = lcore_queue_create(l->shared->engine, l->lcore_id, o->load.via == LOAD_VIA_INLINE,
		&conf, &l->worker, &l->queue);
	if (rc == 0)
		return 0;
	if (!lcore_cannot_wait(rc))
		error_print("cannot give lcore %u a queue: %s; the log lines above say more",
			l->lcore_id, strerror(-rc));
	return -1;
}

/*
 * Takes the receives that are not posted yet back from the worker's ring. Then takes the
 * completions of all other receives.
 */
static void
take_back_receives(struct load_lane *l)
{
	struct gantry_recv_comp comp[32];
	struct gantry_recv recv[32];
	uint16_t peer[32];

	while (l->worker != NULL &&
		gantry_recv_reclaim_burst(l->worker, peer, recv, RTE_DIM(recv)) > 0)
		;
	while (lane_poll_receives(l, comp, RTE_DIM(comp)) > 0 ||
		gantry_recv_poll(l->queue, comp, RTE_DIM(comp)) > 0)
		;
}

/*
 * Empties the worker's rings, or the queue. This is required before they are destroyed. The
 * descriptors of a worker have completed already.
 */
static void
take_back(struct load_lane *l)
{
	const uint64_t end_ns = now_ns() + CLOSE_S * NSEC_PER_S;
	struct gantry_comp comp[32];
	struct gantry_desc desc[32];
	uint32_t n;

	do {
		n = lane_poll(l, comp, RTE_DIM(comp));
		l->got += n;
	} while (n > 0 ||
		 (l->worker == NULL && gantry_in_flight(l->queue) != 0 && now_ns() < end_ns));
	while (l->worker != NULL && (n = gantry_reclaim_burst(l->worker, desc, RTE_DIM(desc))) > 0)
		l->put -= n;
}

int
lane_destroy_queue(struct load_lane *l)
{
	int rc;

	if (l->queue == NULL)
		return 0;
	take_back_receives(l);
	if (l->got != l->put) {
		error_print("lcore %u: %" PRIu64 " descriptors went out, %" PRIu64 " came back",
			l->lcore_id, l->put, l->got);
		return -1;
	}
	rc = l->worker != NULL ? gantry_worker_destroy(l->worker) : gantry_queue_destroy(l->queue);
	if (rc == 0)
		return 0;
	error_print("cannot close the queue of lcore %u: %s", l->lcore_id, strerror(-rc));
	return -1;
}

/* ------------------------------------------------------------------ connections */

/* Opens and connects both ends of one connection. Returns 0 or a negative errno. */
static int
connect_ends(struct load_lane *l, struct load_conns *c, enum gantry_txn_mode mode, bool receives)
{
	const struct load_conf *conf = &l->shared->opt->load;
	const bool dc = mode == GANTRY_TXN_NONE && conf->transport == GANTRY_TRANSPORT_DC;
	const struct gantry_peer_conf from = {
		.transport = dc ? GANTRY_TRANSPORT_DC : GANTRY_TRANSPORT_RC,
		.txn = mode,
		.mask = conf->max_inline != 0 ? GANTRY_PEER_MAX_INLINE : 0,
		.max_inline = conf->max_inline,
	};
	const struct gantry_peer_conf to = {
		.transport = dc ? GANTRY_TRANSPORT_DC_TARGET : GANTRY_TRANSPORT_RC,
		.recv_depth = receives ? recv_depth(l) : 0,
	};
	struct gantry_addr near_addr, far_addr;
	uint16_t near, far;
	int rc = gantry_peer_open(l->queue, &from, &near, &near_addr);

	if (rc != 0)
		return rc;
	rc = gantry_peer_open(l->target->queue, &to, &far, &far_addr);
	if (rc != 0) {
		gantry_peer_close(l->queue, near);
		return rc;
	}
	c->near[c->n] = near;
	c->far[c->n++] = far;
	rc = gantry_peer_connect(l->queue, near, &far_addr);
	if (rc == 0 && !dc)
		rc = gantry_peer_connect(l->target->queue, far, &near_addr);
	return rc;
}

/*
 * Creates n connections, either for transactions (pipelined if the device can) or for all other
 * operations. Returns 0, or -1 with the error printed.
 */
static int
create_conns(struct load_lane *l, struct load_conns *c, uint32_t n, bool txns)
{
	enum gantry_txn_mode mode = txns ? GANTRY_TXN_PIPELINED : GANTRY_TXN_NONE;
	const bool receives = txns || mix_has(l, load_op_takes_receive);
	int rc = 0;

	if (n == 0)
		return 0;
	c->near = calloc(n, sizeof(c->near[0]));
	c->far = calloc(n, sizeof(c->far[0]));
	if (c->near == NULL || c->far == NULL) {
		error_print("out of memory for %" PRIu32 " connections", n);
		return -1;
	}
	while (rc == 0 && c->n < n) {
		rc = connect_ends(l, c, mode, receives);
		if (rc == -EOPNOTSUPP && mode == GANTRY_TXN_PIPELINED) {
			mode = GANTRY_TXN_WAIT;
			rc = connect_ends(l, c, mode, receives);
		}
	}
	if (rc == 0)
		return 0;
	if (rc == -EOPNOTSUPP && !txns) {
		error_print("--transport dc: the device has no DC: use rc");
		return -1;
	}
	error_print("cannot connect lcore %u to lcore %u: %s; the log lines above say more",
		l->lcore_id, l->target->lcore_id, strerror(-rc));
	return -1;
}

/* Posts the target's receives for n connections, starting with receive *k. */
static int
post_receives(struct load_lane *target, const struct load_conns *c, uint64_t len, uint32_t *k)
{
	struct load_inbox *in = &target->inbox;

	for (uint32_t i = 0; i < c->n * recv_depth(target); i++, (*k)++) {
		in->peer[*k] = c->far[i % c->n];
		in->recv[*k] = (struct gantry_recv){
			.cookie = *k,
			.addr = (uintptr_t)in->base + *k * in->slot_len,
			.len = len,
		};
		if (lane_post(target, *k))
			continue;
		error_print("lcore %u does not accept its receives", target->lcore_id);
		return -1;
	}
	return 0;
}

int
lane_connect(struct load_lane *l, struct load_lane *target)
{
	const uint64_t size = l->shared->point.value[AXIS_SIZE];
	const uint64_t len = mix_has(l, load_op_takes_receive) ? size : 0;
	uint32_t k = 0;

	l->target = target;
	if (create_conns(l, &l->conns, n_conns(l, load_op_has_connection), false) != 0 ||
		create_conns(l, &l->txn_conns, n_conns(l, load_op_is_txn), true) != 0)
		return -1;
	if (n_receives(l) == 0)
		return 0;
	if (memory_create_inbox(target, n_receives(l), RTE_MAX(len, (uint64_t)RESPONSE_LEN)) != 0)
		return -1;
	if (len != 0 && post_receives(target, &l->conns, len, &k) != 0)
		return -1;
	return post_receives(target, &l->txn_conns, RESPONSE_LEN, &k);
}

static void
close_conns(struct load_lane *l, struct load_conns *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		gantry_peer_close(l->queue, c->near[i]);
		gantry_peer_close(l->target->queue, c->far[i]);
	}
	free(c->near);
	free(c->far);
	*c = (struct load_conns){0};
}

void
lane_disconnect(struct load_lane *l)
{
	if (l->queue == NULL)
		return;
	take_back(l);
	if (l->target == NULL)
		return;
	close_conns(l, &l->conns);
	close_conns(l, &l->txn_conns);
}

/* ------------------------------------------------------------------ open and close */

int
lane_open(struct load_lane *l, struct load_shared *shared, unsigned int lcore_id)
{
	*l = (struct load_lane){.shared = shared, .lcore_id = lcore_id};
	l->depth = shared->point.value[AXIS_DEPTH];
	l->burst = RTE_MIN(shared->point.value[AXIS_BURST], (uint64_t)l->depth);
	l->hist = calloc(LOAD_OPS, sizeof(l->hist[0]));
	if (l->hist != NULL)
		return create_queue(l);
	error_print("out of memory");
	return -1;
}

void
lane_close(struct load_lane *l)
{
	memory_destroy(l);
	lane_free(l);
	free(l->hist);
	*l = (struct load_lane){0};
}
