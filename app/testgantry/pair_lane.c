/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Creates, connects and frees lanes, and hands descriptors and receives to a queue or a worker.
 */
#include "pair_lane.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include "lcore_queue.h"
#include "pages_map.h"
#include "report.h"

#define MIN_RING 1024

static_assert(sizeof(struct pair_chunk) == 32 && sizeof(struct pair_chunk) <= PAIR_CHUNK_LEN,
	"two processes agree on the bytes");
static_assert(sizeof(struct lane_address) == 80, "two processes agree on the bytes");

/* ------------------------------------------------------------------ create */

static int
create_queue(struct pair_lane *l, struct gantry *g)
{
	const struct gantry_queue_conf queue = {
		.depth = l->queue_depth,
		.deadline_ms = l->opt->give_up * 1000,
	};
	const struct gantry_worker_conf worker = {
		.queue = queue,
		/*
		 * A ring has room for all descriptors, completions and receives that a lane can
		 * have.
		 */
		.ring_size = RTE_MAX(MIN_RING, 2 * l->queue_depth),
		.recv_ring_size = RTE_MAX(MIN_RING, rte_align32pow2(2 * l->depth)),
		.burst = l->opt->burst,
		.idle = l->opt->idle,
	};
	int rc;

	rc = lcore_queue_create(g, l->lcore_id, l->opt->load.via == LOAD_VIA_INLINE, &worker,
		&l->worker, &l->q);
	if (rc == 0)
		return 0;
	if (!lcore_cannot_wait(rc))
		error_print("cannot give lcore %u a queue: %s", l->lcore_id, strerror(-rc));
	return -1;
}

static int
create_memory(struct pair_lane *l, struct gantry *g, unsigned int flags)
{
	int rc;

	l->slot_len =
		RTE_ALIGN_CEIL(PAIR_CHUNK_LEN + (size_t)l->opt->chunk_len, (size_t)PAIR_CHUNK_LEN);
	l->len = RTE_ALIGN_CEIL(l->depth * l->slot_len, (size_t)getpagesize());
	l->base = pages_map(l->len);
	if (l->base == NULL) {
		error_print("no memory for %zu bytes of buffers: lower --depth or --chunk", l->len);
		return -1;
	}
	rc = gantry_mem_register(g, l->base, l->len, flags, &l->mem);
	if (rc == 0)
		return 0;
	error_print("cannot register %zu bytes of buffers: %s; lower --depth or --chunk, or raise "
		    "ulimit -l",
		l->len, strerror(-rc));
	return -1;
}

/* Opens the connection of RC, or the target and the peer of DC. Returns 0 or a negative errno. */
static int
open_peers(struct pair_lane *l, struct gantry_addr *addr)
{
	const bool dc = l->opt->load.transport == GANTRY_TRANSPORT_DC;
	const struct gantry_peer_conf inbox = {
		.transport = dc ? GANTRY_TRANSPORT_DC_TARGET : GANTRY_TRANSPORT_RC,
		.recv_depth = l->depth,
	};
	const struct gantry_peer_conf peer = {.transport = GANTRY_TRANSPORT_DC};
	int rc = gantry_peer_open(l->q, &inbox, &l->inbox, addr);

	if (rc != 0)
		return rc;
	l->has_inbox = true;
	l->peer = l->inbox;
	if (!dc)
		return 0;
	rc = gantry_peer_open(l->q, &peer, &l->peer, NULL);
	l->has_peer = rc == 0;
	return rc;
}

int
pair_lane_create(struct pair_lane *l, struct gantry *g, const struct options *o,
	unsigned int lcore_id, unsigned int mem_flags, uint32_t recv_len,
	struct lane_address *address)
{
	int rc;

	*l = (struct pair_lane){
		.opt = o,
		.lcore_id = lcore_id,
		.depth = o->depth,
		.recv_len = recv_len,
		/*
		 * Each slot needs up to two descriptors: a READ, and the SEND_IMM of the slot's
		 * last use.
		 */
		.queue_depth = RTE_MIN(RTE_MAX(2u, rte_align32pow2(2 * o->depth)), 16384u),
	};
	if (create_queue(l, g) != 0 || create_memory(l, g, mem_flags) != 0)
		return -1;
	*address = (struct lane_address){
		.base = (uintptr_t)l->base,
		.remote_key = gantry_mem_remote_key(l->mem),
	};
	rc = open_peers(l, &address->addr);
	if (rc == 0)
		return 0;
	if (rc == -EOPNOTSUPP)
		error_print("--transport dc: this device has no DC: use --transport rc in both "
			    "processes");
	else
		error_print(
			"cannot open a connection on lcore %u: %s; the log lines above say more",
			lcore_id, strerror(-rc));
	return -1;
}

int
pair_lane_connect(struct pair_lane *l, const struct lane_address *far)
{
	int rc = gantry_peer_connect(l->q, l->peer, &far->addr);

	if (rc != 0) {
		error_print("cannot connect lcore %u to the other process: %s; the log lines above "
			    "say more",
			l->lcore_id, strerror(-rc));
		return -1;
	}
	l->far = *far;
	for (uint32_t slot = 0; slot < l->depth; slot++)
		if (pair_expect(l, slot) != 0)
			return -1;
	return 0;
}

/* ------------------------------------------------------------------ destroy */

/* While a worker stops, it waits for its descriptors. */
void
pair_lane_settle(struct pair_lane *l)
{
	const uint64_t end_ns = now_ns() + 2 * l->opt->give_up * NSEC_PER_S;
	struct gantry_comp comp;

	while (l->q != NULL && gantry_in_flight(l->q) != 0 && now_ns() < end_ns)
		gantry_poll(l->q, &comp, 1);
}

/* Empties the worker's rings. */
static void
empty_rings(struct pair_lane *l)
{
	struct gantry_recv_comp received;
	struct gantry_recv recv;
	struct gantry_comp comp;
	struct gantry_desc desc;
	uint16_t peer;

	while (gantry_dequeue_burst(l->worker, &comp, 1) == 1)
		;
	while (gantry_reclaim_burst(l->worker, &desc, 1) == 1)
		;
	while (gantry_recv_reclaim_burst(l->worker, &peer, &recv, 1) == 1)
		;
	while (gantry_recv_dequeue_burst(l->worker, &received, 1) == 1)
		;
}

int
pair_lane_close(struct pair_lane *l)
{
	struct gantry_recv_comp received;
	int rc;

	if (l->q == NULL)
		return 0;
	if (l->worker != NULL)
		empty_rings(l);
	if (l->has_peer)
		gantry_peer_close(l->q, l->peer);
	if (l->has_inbox)
		gantry_peer_close(l->q, l->inbox);
	while (gantry_recv_poll(l->q, &received, 1) == 1)
		;
	rc = l->worker != NULL ? gantry_worker_destroy(l->worker) : gantry_queue_destroy(l->q);
	l->q = NULL;
	l->worker = NULL;
	if (rc == 0)
		return 0;
	error_print("cannot close the queue of lcore %u: %s", l->lcore_id, strerror(-rc));
	return -1;
}

void
pair_lane_free(struct pair_lane *l)
{
	/*
	 * If the memory cannot be unregistered, the device may still write to it. So the memory
	 * stays mapped.
	 */
	if (l->mem != NULL && gantry_mem_unregister(l->mem, 1000) != 0)
		return;
	if (l->base != NULL)
		munmap(l->base, l->len);
	*l = (struct pair_lane){0};
}

/* ------------------------------------------------------------------ work */

int
pair_submit(struct pair_lane *l, const struct gantry_desc *desc, uint32_t n)
{
	uint32_t taken = l->worker != NULL ? gantry_enqueue_burst(l->worker, desc, n)
					   : gantry_submit(l->q, desc, n);

	l->out += taken;
	if (taken == n)
		return 0;
	error_print("lcore %u: the queue takes fewer descriptors than its depth", l->lcore_id);
	return -1;
}

static int
refuse(const struct pair_lane *l, const char *what, uint8_t status, uint8_t syndrome,
	uint8_t vendor_syndrome)
{
	error_print("lcore %u: %s with the other process ended with: %s (syndrome 0x%02x, vendor "
		    "syndrome 0x%02x)",
		l->lcore_id, what, gantry_status_name(status), syndrome, vendor_syndrome);
	return -1;
}

int
pair_poll(struct pair_lane *l, struct gantry_comp *comp)
{
	if ((l->worker != NULL ? gantry_dequeue_burst(l->worker, comp, 1)
			       : gantry_poll(l->q, comp, 1)) == 0)
		return 0;
	l->out--;
	if (comp->status == GANTRY_OK)
		return 1;
	return refuse(l, "an operation", comp->status, comp->syndrome, comp->vendor_syndrome);
}

int
pair_recv(struct pair_lane *l, struct gantry_recv_comp *comp)
{
	struct gantry_comp done;
	int n;

	if ((l->worker != NULL ? gantry_recv_dequeue_burst(l->worker, comp, 1)
			       : gantry_recv_poll(l->q, comp, 1)) == 0)
		return 0;
	l->posted--;
	if (comp->status == GANTRY_OK)
		return 1;
	/* A failed operation flushes all receives. Its own completion has the reason. */
	while ((n = pair_poll(l, &done)) == 1)
		;
	if (n < 0)
		return -1;
	return refuse(l, "a receive", comp->status, comp->syndrome, comp->vendor_syndrome);
}

int
pair_expect(struct pair_lane *l, uint32_t slot)
{
	const struct gantry_recv recv = {
		.cookie = slot,
		.addr = l->recv_len != 0 ? (uintptr_t)pair_slot_chunk(l, slot) : 0,
		.len = l->recv_len,
	};
	int n = l->worker != NULL ? (int)gantry_recv_enqueue_burst(l->worker, l->inbox, &recv, 1)
				  : gantry_recv_post(l->q, l->inbox, &recv, 1);

	if (n == 1) {
		l->posted++;
		return 0;
	}
	error_print("lcore %u: the connection does not accept a receive", l->lcore_id);
	return -1;
}
