/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Opens and closes the initiator and the target.
 */
#include "sig_ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_bitops.h>
#include <rte_common.h>
#include <rte_lcore.h>

#include "device.h"
#include "job.h"
#include "lcores.h"
#include "pages_map.h"
#include "report.h"
#include "sig_both.h"
#include "sig_guard.h"
#include "sig_keys.h"
#include "sig_phase.h"

/* ------------------------------------------------------------------ memory */

static int
memory_create(struct memory *m, struct gantry *g, size_t len, unsigned int flags)
{
	uint8_t *base = pages_map(len);
	int rc;

	if (base == NULL) {
		error_print("no memory for %zu bytes of blocks", len);
		return -1;
	}
	m->base = base;
	m->len = len;
	rc = gantry_mem_register(g, base, len, flags, &m->mem);
	if (rc == 0)
		return 0;
	error_print("cannot register %zu bytes of blocks: %s; raise ulimit -l", len, strerror(-rc));
	return -1;
}

static void
memory_destroy(struct memory *m)
{
	/*
	 * If the memory cannot be unregistered, the device may still write to it. So the memory
	 * stays mapped.
	 */
	if (m->mem != NULL && gantry_mem_unregister(m->mem, 1000) != 0)
		return;
	if (m->base != NULL)
		munmap(m->base, m->len);
}

static int
create_initiator_memory(struct sig_ends *e)
{
	struct initiator *i = &e->initiator;
	uint32_t n_requests = SIG_ROUND_LEN / e->opt->block_size;
	size_t wire_len = (size_t)n_requests * e->wire_len;

	i->begin_ns = calloc(n_requests, sizeof(*i->begin_ns));
	if (i->begin_ns == NULL) {
		error_print("out of memory");
		return -1;
	}
	if (memory_create(&i->end.memory, e->engine,
		    (RTE_DIM(i->source) + 1) * wire_len + n_requests * sizeof(*i->request) +
			    N_MODES * e->opt->depth * sizeof(*i->response),
		    GANTRY_MEM_REMOTE_READ | GANTRY_MEM_REMOTE_WRITE) != 0)
		return -1;
	i->source[0] = i->end.memory.base;
	i->source[1] = i->source[0] + wire_len;
	i->fetched = i->source[1] + wire_len;
	i->request = (struct sig_request *)(i->fetched + wire_len);
	i->response = (struct sig_response *)(i->request + n_requests);
	return 0;
}

static int
create_target_memory(struct sig_ends *e)
{
	struct target *t = &e->target;
	size_t disk_len = (size_t)(SIG_ROUND_LEN / e->opt->block_size) * e->disk_len;

	t->slot = calloc(e->opt->depth, sizeof(*t->slot));
	t->free_slot = calloc(e->opt->depth, sizeof(*t->free_slot));
	if (t->slot == NULL || t->free_slot == NULL) {
		error_print("out of memory");
		return -1;
	}
	while (t->n_free < e->opt->depth) {
		t->free_slot[t->n_free] = t->n_free;
		t->n_free++;
	}
	if (memory_create(&t->end.memory, e->engine,
		    disk_len + N_MODES * e->opt->depth * sizeof(*t->received), 0) != 0)
		return -1;
	t->disk = t->end.memory.base;
	t->received = (struct sig_request *)(t->disk + disk_len);
	return 0;
}

static int
create_memory(struct sig_ends *e)
{
	if (e->has_initiator && create_initiator_memory(e) != 0)
		return -1;
	return e->has_target ? create_target_memory(e) : 0;
}

/* ------------------------------------------------------------------ connections */

/* Opens an end of a connection for this mode. Returns 0 or a negative errno. */
static int
open_end(struct sig_ends *e, struct end *end, enum gantry_txn_mode mode, struct gantry_addr *addr)
{
	const struct gantry_peer_conf conf = {
		.recv_depth = e->opt->depth,
		.txn = end == &e->target.end ? mode : GANTRY_TXN_NONE,
	};

	return gantry_peer_open(end->q, &conf, &end->peer[mode_index(mode)], addr);
}

/* Opens both ends of a connection for this mode. Returns 0 or a negative errno. */
static int
connect_mode(struct sig_ends *e, enum gantry_txn_mode mode)
{
	struct end *i = &e->initiator.end, *t = &e->target.end;
	uint32_t m = mode_index(mode);
	struct gantry_addr i_addr, t_addr;
	int rc = open_end(e, t, mode, &t_addr);

	if (rc == 0)
		rc = open_end(e, i, mode, &i_addr);
	if (rc == 0)
		rc = gantry_peer_connect(t->q, t->peer[m], &i_addr);
	if (rc == 0)
		rc = gantry_peer_connect(i->q, i->peer[m], &t_addr);
	e->have[m] = rc == 0;
	return rc;
}

static int
post_receives(struct sig_ends *e, enum gantry_txn_mode mode)
{
	struct initiator *i = &e->initiator;
	struct target *t = &e->target;
	uint32_t m = mode_index(mode), first = m * e->opt->depth;

	for (uint32_t k = first; k < first + e->opt->depth; k++) {
		if (e->has_initiator && end_post_receive(&i->end, i->end.peer[m], i->response,
						sizeof(*i->response), k) != 0)
			return -1;
		if (e->has_target && end_post_receive(&t->end, t->end.peer[m], t->received,
					     sizeof(*t->received), k) != 0)
			return -1;
	}
	return 0;
}

/* Prints the reason why the ends cannot be connected. Returns -1. */
static int
refuse_connection(int rc)
{
	error_print("cannot connect initiator and target: %s; the log lines above say more",
		strerror(-rc));
	return -1;
}

static int
create_connections(struct sig_ends *e)
{
	int rc;

	for (enum gantry_txn_mode mode = GANTRY_TXN_PIPELINED; mode <= GANTRY_TXN_WAIT; mode++) {
		rc = connect_mode(e, mode);
		if (rc == -EOPNOTSUPP && mode == GANTRY_TXN_PIPELINED)
			continue;
		if (rc != 0)
			return refuse_connection(rc);
		if (post_receives(e, mode) != 0)
			return -1;
	}
	return 0;
}

int
ends_open_peer(struct sig_ends *e, enum gantry_txn_mode mode, struct gantry_addr *addr)
{
	struct end *end = e->has_target ? &e->target.end : &e->initiator.end;
	int rc = open_end(e, end, mode, addr);

	if (rc == -EOPNOTSUPP && mode == GANTRY_TXN_PIPELINED)
		return 0;
	return rc == 0 ? 1 : refuse_connection(rc);
}

int
ends_connect_peer(struct sig_ends *e, enum gantry_txn_mode mode, const struct gantry_addr *addr)
{
	struct end *end = e->has_target ? &e->target.end : &e->initiator.end;
	uint32_t m = mode_index(mode);
	int rc = gantry_peer_connect(end->q, end->peer[m], addr);

	if (rc != 0)
		return refuse_connection(rc);
	e->have[m] = true;
	return post_receives(e, mode);
}

/* ------------------------------------------------------------------ open and close */

static int
choose_lcores(struct sig_ends *e)
{
	const unsigned int needed = 1 + e->has_initiator + e->has_target;
	unsigned int lcore_id = rte_get_next_lcore(-1, 1, 0);

	if (rte_lcore_count() < needed) {
		error_print("too few lcores: EAL has %u, and --mode sig needs %u, %s: give %s "
			    "before '--'",
			rte_lcore_count(), needed,
			needed == 3 ? "a main, an initiator's and a target's"
				    : "a main and a worker lcore",
			lcores_option(needed));
		return -1;
	}
	if (e->has_initiator) {
		e->initiator.end.lcore_id = lcore_id;
		lcore_id = rte_get_next_lcore(lcore_id, 1, 0);
	}
	if (e->has_target)
		e->target.end.lcore_id = lcore_id;
	return 0;
}

static struct gantry_sig_domain
domain_of(const struct options *o, enum gantry_sig_kind kind)
{
	return (struct gantry_sig_domain){
		.kind = kind,
		.block_size = kind != GANTRY_SIG_NONE ? o->block_size : 0,
		.flags = sig_has_tags(kind) ? GANTRY_SIG_REF_REMAP : 0,
	};
}

/* Returns how many bytes of a block are encrypted as one data unit; 0: none. */
static uint32_t
unit_len(const struct sig_ends *e)
{
	return e->opt->encrypt == ENCRYPT_NONE   ? 0
	       : e->opt->encrypt == ENCRYPT_DATA ? e->opt->block_size
						 : e->disk_len;
}

/* Checks that the device can encrypt what --encrypt asks for. */
static int
check_crypto(const struct sig_ends *e)
{
	struct gantry_info info;

	if (e->opt->encrypt == ENCRYPT_NONE)
		return 0;
	gantry_info_get(e->engine, &info);
	if (info.crypto == 0) {
		error_print(
			"--encrypt: %s does not encrypt: name one that does by --device, or let "
			"the emulated one do so: SOFTHCA_CRYPTO=plaintext in the environment",
			info.device);
		return -1;
	}
	if ((info.crypto & GANTRY_CRYPTO_WRAPPED) != 0) {
		error_print(
			"--encrypt: %s takes wrapped keys, but testgantry has none: use a device "
			"that takes keys in plaintext; the emulated one does so with "
			"SOFTHCA_CRYPTO=plaintext in the environment",
			info.device);
		return -1;
	}
	if ((info.crypto & GANTRY_CRYPTO_SINGLE) != 0 &&
		e->opt->chunk_len / e->opt->block_size * e->disk_len > unit_len(e)) {
		error_print("--encrypt: with %s a transaction has one data unit, without signature "
			    "on the disk: use --chunk %u, and with --encrypt data --guard none",
			info.device, e->opt->block_size);
		return -1;
	}
	return 0;
}

static int
create_engine(struct sig_ends *e)
{
	if (device_open(e->opt, (struct gantry_conf){0}, &e->engine) != 0)
		return -1;
	return e->has_target ? check_crypto(e) : 0;
}

static int
create_queues(struct sig_ends *e)
{
	const struct gantry_queue_conf plain = {
		.depth = RTE_MAX(2u, rte_align32pow2(e->opt->depth)),
		.deadline_ms = options_pair(e->opt) ? e->opt->give_up * 1000 : 0,
	};
	const struct gantry_queue_conf with_txns = {
		.depth = plain.depth,
		.deadline_ms = plain.deadline_ms,
		.transactions = e->opt->depth,
	};
	const struct gantry_profile_conf profile = {
		.mem = domain_of(e->opt, e->opt->guard),
		.wire = domain_of(e->opt, e->opt->wire),
		.crypto = {.domain =
				   unit_len(e) != 0 ? GANTRY_ENCRYPTED_MEM : GANTRY_ENCRYPTED_NONE,
			.unit_size = unit_len(e),
			.sig_over_ciphertext = e->opt->encrypt == ENCRYPT_DATA &&
					       e->opt->guard != GANTRY_SIG_NONE},
		.check = GANTRY_SIG_ALL,
	};
	int rc = 0;

	if (e->has_target)
		rc = gantry_profile_create(e->engine, &profile, &e->target.profile);
	if (rc == 0 && e->has_initiator)
		rc = gantry_queue_create(e->engine, &plain, &e->initiator.end.q);
	if (rc == 0 && e->has_target)
		rc = gantry_queue_create(e->engine, &with_txns, &e->target.end.q);
	if (rc == 0)
		return 0;
	error_print("cannot prepare transactions: %s; the log lines above say more", strerror(-rc));
	return -1;
}

int
ends_open(const struct options *o, enum which_ends which, struct sig_ends **ends)
{
	struct sig_ends *e = calloc(1, sizeof(*e));

	if (e == NULL) {
		error_print("out of memory");
		return -1;
	}
	sem_init(&e->wake, 0, 0);
	e->opt = o;
	e->has_initiator = which != ENDS_TARGET;
	e->has_target = which != ENDS_INITIATOR;
	e->wire_len = o->block_size + sig_len(o->wire);
	e->disk_len = o->block_size + sig_len(o->guard);
	if (choose_lcores(e) == 0 && create_engine(e) == 0 && create_queues(e) == 0 &&
		create_memory(e) == 0 && (which != ENDS_BOTH || create_connections(e) == 0) &&
		(o->encrypt == ENCRYPT_NONE || !e->has_target || keys_renew(e) == 0)) {
		*ends = e;
		return 0;
	}
	ends_close(e);
	return -1;
}

static uint32_t
in_flight(const struct end *end)
{
	return end->q != NULL ? gantry_in_flight(end->q) : 0;
}

static void
poll_end(const struct end *end)
{
	struct gantry_comp comp;

	if (end->q != NULL)
		gantry_poll(end->q, &comp, 1);
}

/* After a failed phase, waits for transactions in flight. */
static int
drain(struct sig_ends *e)
{
	const struct end *i = &e->initiator.end, *t = &e->target.end;
	const uint64_t end_ns = now_ns() + SIG_CLOSE_S * NSEC_PER_S;

	while (in_flight(i) + in_flight(t) != 0) {
		if (now_ns() > end_ns) {
			error_print("%u sends of the initiator and %u transactions of the target "
				    "did not complete in %u s: they are abandoned",
				in_flight(i), in_flight(t), SIG_CLOSE_S);
			return -1;
		}
		poll_end(i);
		poll_end(t);
	}
	return 0;
}

/* Closes an end. name: the end's name, for messages. */
static int
close_end(struct end *end, const char *name)
{
	struct gantry_recv_comp received;
	int rc;

	if (end->q == NULL)
		return 0;
	/*
	 * A queue with posted receives cannot be destroyed. Closing its connections returns the
	 * receives.
	 */
	for (uint32_t m = 0; m < N_MODES; m++)
		gantry_peer_close(end->q, end->peer[m]);
	while (gantry_recv_poll(end->q, &received, 1) != 0)
		;
	rc = gantry_queue_destroy(end->q);
	if (rc == 0)
		return 0;
	error_print("cannot close the queue of the %s: %s", name, strerror(-rc));
	return -1;
}

int
ends_close(struct sig_ends *e)
{
	int rc = drain(e);

	rc |= close_end(&e->initiator.end, "initiator");
	rc |= close_end(&e->target.end, "target");
	if (e->target.profile != 0)
		gantry_profile_destroy(e->engine, e->target.profile);
	rc |= keys_end(e);
	memory_destroy(&e->initiator.end.memory);
	memory_destroy(&e->target.end.memory);
	if (e->engine != NULL && gantry_destroy(e->engine) != 0) {
		error_print("the engine was still in use when it was closed");
		rc = -1;
	}
	free(e->initiator.begin_ns);
	free(e->target.slot);
	free(e->target.free_slot);
	free(e);
	return rc;
}

/* ------------------------------------------------------------------ access */

bool
ends_have(const struct sig_ends *e, enum gantry_txn_mode mode)
{
	return e->have[mode_index(mode)];
}

void
ends_say(const struct sig_ends *e)
{
	struct gantry_info info;

	gantry_info_get(e->engine, &info);
	if (e->has_initiator && e->has_target)
		printf("device %s: lcore %u is the initiator, lcore %u the target\n", info.device,
			e->initiator.end.lcore_id, e->target.end.lcore_id);
	else if (e->has_initiator)
		printf("device %s: lcore %u is the initiator, the other process the target\n",
			info.device, e->initiator.end.lcore_id);
	else
		printf("device %s: lcore %u is the target, the other process the initiator\n",
			info.device, e->target.end.lcore_id);
	fflush(stdout);
}

void
ends_stats(const struct sig_ends *e, struct gantry_stats *stats)
{
	gantry_stats_get(e->target.end.q, stats);
}

uint8_t *
ends_source(const struct sig_ends *e, uint32_t i)
{
	return e->initiator.source[i];
}

uint8_t *
ends_fetched(const struct sig_ends *e)
{
	return e->initiator.fetched;
}

uint8_t *
ends_disk(const struct sig_ends *e)
{
	return e->target.disk;
}
