/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Sets up initiator and target, and has them carry out a phase.
 */
#include "sig_ends.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_common.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "job.h"
#include "report.h"

#define N_MODES 2                     /* connections: pipelined, waiting */
#define GIVE_UP UINT64_C(60000000000) /* ns without a response */
#define APP_TAG 0x4754                /* of all blocks */

static_assert(GANTRY_TXN_PIPELINED == 1 && GANTRY_TXN_WAIT == N_MODES, "mode_index()");

/* Memory of one end, registered. */
struct memory {
	uint8_t *base;
	size_t len;
	struct gantry_mem *mem;
};

/* The lcore of an end reads what it needs here while a phase runs. The main lcore waits meanwhile. */
struct end {
	unsigned int lcore_id;
	struct gantry_queue *q;
	uint16_t peer[N_MODES];
	struct memory memory;
};

struct initiator {
	struct end end;
	uint8_t *source, *fetched;     /* SIG_ROUND_LEN each */
	struct sig_request *request;   /* of each request of a phase */
	struct sig_response *response; /* [N_MODES * depth]: of each receive */
	uint64_t *begin_ns;            /* of each request of a phase */
};

/* A transaction of the target, with all that it points to. */
struct slot {
	struct gantry_txn txn;
	struct gantry_sge blocks;
	struct gantry_txn_part part;
	struct sig_response good, bad;
};

struct target {
	struct end end;
	uint16_t profile;
	uint8_t *disk;
	struct sig_request *received; /* [N_MODES * depth]: of each receive */
	struct slot *slot;            /* [depth] */
	uint32_t *free_slot;          /* a stack of those that are in no transaction */
	uint32_t n_free;
};

struct sig_ends {
	const struct options *opt;
	struct gantry *engine;
	struct initiator initiator;
	struct target target;
	bool have[N_MODES];
	/* Of the phase that runs. Written by the initiator's lcore, or by both; read by both. */
	struct sig_phase *phase;
	atomic_bool all_answered;
	atomic_bool failed;
};

static uint32_t
mode_index(enum gantry_txn_mode mode)
{
	return mode - 1;
}

/* ------------------------------------------------------------------ both ends */

/* Ends the phase. */
static void
fail(struct sig_ends *e)
{
	atomic_store(&e->failed, true);
}

static bool
goes_on(struct sig_ends *e)
{
	return !atomic_load(&e->failed) && stop_signal == 0;
}

/* Gives a connection the receive of this number, which is its cookie. */
static int
post_receive(const struct end *end, uint16_t peer, void *array, size_t size, uint64_t number)
{
	const struct gantry_recv recv = {
		.cookie = number,
		.addr = (uintptr_t)array + number * size,
		.len = size,
	};

	if (gantry_recv_post(end->q, peer, &recv, 1) == 1)
		return 0;
	error_print("lcore %u: a connection takes no receives", end->lcore_id);
	return -1;
}

/* Takes a receive's completion. 1: there was one; 0: none; -1: it is an error, or has the wrong length. */
static int
receive(const struct end *end, size_t size, struct gantry_recv_comp *comp)
{
	if (gantry_recv_poll(end->q, comp, 1) == 0)
		return 0;
	if (comp->status == GANTRY_OK && comp->len == size)
		return 1;
	error_print("lcore %u: a receive of %" PRIu64 " bytes ended with: %s", end->lcore_id,
		comp->len, gantry_status_name(comp->status));
	return -1;
}

/* ------------------------------------------------------------------ the initiator */

static int
ask(struct sig_ends *e, uint32_t number)
{
	const struct sig_phase *p = e->phase;
	struct initiator *i = &e->initiator;
	uint32_t per_request = e->opt->chunk_len / e->opt->block_size;
	uint32_t first = number * per_request;
	struct sig_request *r = &i->request[number];
	const struct gantry_desc desc = {
		.op = GANTRY_OP_SEND,
		.peer = i->end.peer[mode_index(p->mode)],
		.src = (uintptr_t)r,
		.len = sizeof(*r),
	};

	*r = (struct sig_request){
		.addr = (uintptr_t)(p->store ? i->source : i->fetched) +
			(uint64_t)first * e->opt->block_size,
		.remote_key = gantry_mem_remote_key(i->end.memory.mem),
		.number = number,
		.block = p->first_block + first,
		.n = RTE_MIN(per_request, p->n_blocks - first),
		.store = p->store,
	};
	i->begin_ns[number] = now_ns();
	return gantry_submit(i->end.q, &desc, 1);
}

/* As receive(). */
static int
take_response(struct sig_ends *e)
{
	struct initiator *i = &e->initiator;
	struct gantry_recv_comp comp;
	const struct sig_response *response;
	struct sig_result *result;
	int n = receive(&i->end, sizeof(*response), &comp);

	if (n <= 0)
		return n;
	response = &i->response[comp.cookie];
	if (response->number >= e->phase->n_requests || i->begin_ns[response->number] == 0 ||
		e->phase->result[response->number].answered) {
		error_print("a response to request %u came that was not due", response->number);
		return -1;
	}
	result = &e->phase->result[response->number];
	result->answered = true;
	result->good = response->good;
	result->ns = now_ns() - i->begin_ns[response->number];
	return post_receive(&i->end, comp.peer, i->response, sizeof(*response), comp.cookie) == 0
		       ? 1
		       : -1;
}

/* Takes the completion of a request's SEND. As receive(). */
static int
take_sent(struct initiator *i)
{
	struct gantry_comp comp;

	if (gantry_poll(i->end.q, &comp, 1) == 0)
		return 0;
	if (comp.status == GANTRY_OK)
		return 1;
	error_print("a request's SEND failed: %s", gantry_status_name(comp.status));
	return -1;
}

static bool
is_late(uint64_t since_ns)
{
	if (now_ns() - since_ns < GIVE_UP)
		return false;
	error_print("no response came in 60 s");
	return true;
}

/* Keeps `depth` requests in flight until each is answered. On the initiator's lcore. */
static int
initiator_run(void *arg)
{
	struct sig_ends *e = arg;
	struct initiator *i = &e->initiator;
	uint64_t last_ns = now_ns();
	uint32_t asked = 0, answered = 0;
	int sent, n = 0;

	while (n >= 0 && goes_on(e) &&
		(answered < e->phase->n_requests || gantry_in_flight(i->end.q) != 0)) {
		while (asked < e->phase->n_requests && asked - answered < e->opt->depth &&
			ask(e, asked) == 1)
			asked++;
		sent = take_sent(i);
		n = sent < 0 ? -1 : take_response(e);
		if (n > 0) {
			answered++;
			last_ns = now_ns();
		} else if (n == 0 && sent == 0) {
			sched_yield(); /* the target's lcore may share this CPU */
			n = is_late(last_ns) ? -1 : 0;
		}
	}
	if (n < 0)
		fail(e);
	atomic_store(&e->all_answered, true);
	return 0;
}

/* ------------------------------------------------------------------ the target */

/* Makes a request a transaction. */
static void
fill_slot(const struct sig_ends *e, struct slot *s, const struct sig_request *r)
{
	uint32_t block_size = e->opt->block_size, stored_len = block_size + SIG_SIGNATURE_LEN;
	uint32_t place = r->block % (SIG_ROUND_LEN / block_size);

	s->good = (struct sig_response){.number = r->number, .good = true};
	s->bad = (struct sig_response){.number = r->number};
	s->blocks = (struct gantry_sge){
		.addr = (uintptr_t)e->target.disk + (uint64_t)place * stored_len,
		.len = (uint64_t)r->n * stored_len,
	};
	s->part = (struct gantry_txn_part){
		.addr = r->addr,
		.len = (uint64_t)r->n * block_size,
		.remote_key = r->remote_key,
	};
	s->txn = (struct gantry_txn){
		.profile = e->target.profile,
		.op = r->store ? GANTRY_OP_READ : GANTRY_OP_WRITE,
		.data = &s->blocks,
		.n_data = 1,
		.part = &s->part,
		.n_parts = 1,
		.mem = {.ref_tag = r->block, .app_tag = APP_TAG},
		.good = {.addr = (uintptr_t)&s->good, .len = sizeof(s->good)},
		.bad = {.addr = (uintptr_t)&s->bad, .len = sizeof(s->bad)},
	};
}

/* Takes a request, if there is one and a slot for it. As receive(). */
static int
take_request(struct sig_ends *e)
{
	struct target *t = &e->target;
	struct gantry_recv_comp comp;
	struct gantry_desc desc = {.op = GANTRY_OP_TXN};
	int n = t->n_free == 0 ? 0 : receive(&t->end, sizeof(*t->received), &comp);

	if (n <= 0)
		return n;
	desc.cookie = t->free_slot[--t->n_free];
	fill_slot(e, &t->slot[desc.cookie], &t->received[comp.cookie]);
	desc.peer = comp.peer;
	desc.src = (uintptr_t)&t->slot[desc.cookie].txn;
	desc.len = t->slot[desc.cookie].part.len;
	if (gantry_submit(t->end.q, &desc, 1) != 1) {
		error_print("the target's queue takes fewer transactions than its depth");
		return -1;
	}
	return post_receive(&t->end, comp.peer, t->received, sizeof(*t->received), comp.cookie) == 0
		       ? 1
		       : -1;
}

/* Takes the completion of a transaction. As receive(). */
static int
take_end(struct sig_ends *e)
{
	struct target *t = &e->target;
	struct sig_result *result;
	struct gantry_comp comp;
	const struct slot *s;

	if (gantry_poll(t->end.q, &comp, 1) == 0)
		return 0;
	s = &t->slot[comp.cookie];
	result = &e->phase->result[s->good.number];
	result->status = comp.status;
	result->error = s->txn.error;
	t->free_slot[t->n_free++] = comp.cookie;
	if (comp.status == GANTRY_OK || comp.status == GANTRY_SIG_ERROR)
		return 1;
	error_print("a transaction failed: %s (syndrome 0x%02x, vendor syndrome 0x%02x)",
		gantry_status_name(comp.status), comp.syndrome, comp.vendor_syndrome);
	return -1;
}

/* Answers requests until the initiator has all it waits for. On the target's lcore. */
static int
target_run(void *arg)
{
	struct sig_ends *e = arg;
	int ended = 0, n = 0;

	while (ended >= 0 && n >= 0 && goes_on(e) &&
		(!atomic_load(&e->all_answered) || gantry_in_flight(e->target.end.q) != 0)) {
		ended = take_end(e);
		n = take_request(e);
		if (ended == 0 && n == 0)
			sched_yield(); /* the initiator's lcore may share this CPU */
	}
	if (ended < 0 || n < 0)
		fail(e);
	return 0;
}

int
ends_phase(struct sig_ends *e, struct sig_phase *phase)
{
	uint32_t per_request = e->opt->chunk_len / e->opt->block_size;

	phase->n_requests = (phase->n_blocks + per_request - 1) / per_request;
	memset(phase->result, 0, phase->n_requests * sizeof(*phase->result));
	memset(e->initiator.begin_ns, 0, phase->n_requests * sizeof(*e->initiator.begin_ns));
	e->phase = phase;
	atomic_store(&e->all_answered, false);
	phase->ns = now_ns();
	rte_eal_remote_launch(target_run, e, e->target.end.lcore_id);
	rte_eal_remote_launch(initiator_run, e, e->initiator.end.lcore_id);
	rte_eal_wait_lcore(e->initiator.end.lcore_id);
	rte_eal_wait_lcore(e->target.end.lcore_id);
	phase->ns = now_ns() - phase->ns;
	return goes_on(e) ? 0 : -1;
}

/* ------------------------------------------------------------------ memory */

static int
memory_create(struct memory *m, struct gantry *g, size_t len, unsigned int flags)
{
	void *base = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int rc;

	if (base == MAP_FAILED) {
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
	if (m->mem != NULL)
		gantry_mem_unregister(m->mem, 1000);
	if (m->base != NULL)
		munmap(m->base, m->len);
}

static int
create_memory(struct sig_ends *e)
{
	struct initiator *i = &e->initiator;
	struct target *t = &e->target;
	uint32_t n_requests = SIG_ROUND_LEN / e->opt->block_size;
	uint32_t n_receives = N_MODES * e->opt->depth;
	size_t disk_len = (size_t)n_requests * (e->opt->block_size + SIG_SIGNATURE_LEN);

	i->begin_ns = calloc(n_requests, sizeof(*i->begin_ns));
	t->slot = calloc(e->opt->depth, sizeof(*t->slot));
	t->free_slot = calloc(e->opt->depth, sizeof(*t->free_slot));
	if (i->begin_ns == NULL || t->slot == NULL || t->free_slot == NULL) {
		error_print("out of memory");
		return -1;
	}
	while (t->n_free < e->opt->depth) {
		t->free_slot[t->n_free] = t->n_free;
		t->n_free++;
	}
	if (memory_create(&i->end.memory, e->engine,
		    2 * (size_t)SIG_ROUND_LEN + n_requests * sizeof(*i->request) +
			    n_receives * sizeof(*i->response),
		    GANTRY_MEM_REMOTE_READ | GANTRY_MEM_REMOTE_WRITE) != 0 ||
		memory_create(&t->end.memory, e->engine,
			disk_len + n_receives * sizeof(*t->received), 0) != 0)
		return -1;
	i->source = i->end.memory.base;
	i->fetched = i->source + SIG_ROUND_LEN;
	i->request = (struct sig_request *)(i->fetched + SIG_ROUND_LEN);
	i->response = (struct sig_response *)(i->request + n_requests);
	t->disk = t->end.memory.base;
	t->received = (struct sig_request *)(t->disk + disk_len);
	return 0;
}

/* ------------------------------------------------------------------ connections */

/* Opens both ends of a connection for this mode. 0, a negative errno. */
static int
connect_mode(struct sig_ends *e, enum gantry_txn_mode mode)
{
	const struct gantry_peer_conf from = {.recv_depth = e->opt->depth};
	const struct gantry_peer_conf to = {.recv_depth = e->opt->depth, .txn = mode};
	struct end *i = &e->initiator.end, *t = &e->target.end;
	uint32_t m = mode_index(mode);
	struct gantry_addr i_addr, t_addr;
	int rc = gantry_peer_open(t->q, &to, &t->peer[m], &t_addr);

	if (rc == 0)
		rc = gantry_peer_open(i->q, &from, &i->peer[m], &i_addr);
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

	for (uint32_t k = first; k < first + e->opt->depth; k++)
		if (post_receive(&i->end, i->end.peer[m], i->response, sizeof(*i->response), k) !=
				0 ||
			post_receive(&t->end, t->end.peer[m], t->received, sizeof(*t->received),
				k) != 0)
			return -1;
	return 0;
}

static int
create_connections(struct sig_ends *e)
{
	int rc;

	for (enum gantry_txn_mode mode = GANTRY_TXN_PIPELINED; mode <= GANTRY_TXN_WAIT; mode++) {
		rc = connect_mode(e, mode);
		if (rc == -EOPNOTSUPP && mode == GANTRY_TXN_PIPELINED)
			continue;
		if (rc != 0) {
			error_print("cannot connect initiator and target: %s; the log lines above "
				    "say more",
				strerror(-rc));
			return -1;
		}
		if (post_receives(e, mode) != 0)
			return -1;
	}
	return 0;
}

/* ------------------------------------------------------------------ open and close */

static int
choose_lcores(struct sig_ends *e)
{
	if (rte_lcore_count() < 3) {
		error_print("too few lcores: EAL has %u, and --mode sig needs 3, a main, an "
			    "initiator's and a target's: -l 0-2, or on few CPUs --lcores "
			    "0@0,1@1,2@0, before '--'",
			rte_lcore_count());
		return -1;
	}
	e->initiator.end.lcore_id = rte_get_next_lcore(-1, 1, 0);
	e->target.end.lcore_id = rte_get_next_lcore(e->initiator.end.lcore_id, 1, 0);
	return 0;
}

static int
create_engine(struct sig_ends *e)
{
	const struct gantry_conf conf = {
		.device = e->opt->device[0] != '\0' ? e->opt->device : NULL,
	};
	const struct gantry_queue_conf plain = {
		.depth = RTE_MAX(2u, rte_align32pow2(e->opt->depth))};
	const struct gantry_queue_conf with_txns = {
		.depth = plain.depth,
		.transactions = e->opt->depth,
	};
	const struct gantry_profile_conf profile = {
		.mem = {.kind = e->opt->guard,
			.block_size = e->opt->block_size,
			.flags = GANTRY_SIG_REF_REMAP},
		.check = GANTRY_SIG_ALL,
	};
	int rc = gantry_create(&conf, &e->engine);

	if (rc == 0)
		rc = gantry_profile_create(e->engine, &profile, &e->target.profile);
	if (rc == 0)
		rc = gantry_queue_create(e->engine, &plain, &e->initiator.end.q);
	if (rc == 0)
		rc = gantry_queue_create(e->engine, &with_txns, &e->target.end.q);
	if (rc == 0)
		return 0;
	error_print("cannot open %s for transactions: %s; the log lines above say more",
		conf.device != NULL ? conf.device : "an mlx5 device", strerror(-rc));
	return -1;
}

int
ends_open(const struct options *o, struct sig_ends **ends)
{
	struct sig_ends *e = calloc(1, sizeof(*e));

	if (e == NULL) {
		error_print("out of memory");
		return -1;
	}
	e->opt = o;
	if (choose_lcores(e) == 0 && create_engine(e) == 0 && create_memory(e) == 0 &&
		create_connections(e) == 0) {
		*ends = e;
		return 0;
	}
	ends_close(e);
	return -1;
}

/* What a phase that did not end has left in flight ends at the latest when its connection is given up. */
static void
close_end(struct end *end)
{
	uint64_t end_ns = now_ns() + GIVE_UP;
	struct gantry_recv_comp received;
	struct gantry_comp comp;

	if (end->q == NULL)
		return;
	while (gantry_in_flight(end->q) != 0 && now_ns() < end_ns)
		gantry_poll(end->q, &comp, 1);
	/* A queue with receives is in use: they come back when their connections are closed. */
	for (uint32_t m = 0; m < N_MODES; m++)
		gantry_peer_close(end->q, end->peer[m]);
	while (gantry_recv_poll(end->q, &received, 1) != 0)
		;
	gantry_queue_destroy(end->q);
}

int
ends_close(struct sig_ends *e)
{
	struct end *const end[] = {&e->initiator.end, &e->target.end};
	int rc = 0;

	for (size_t i = 0; i < RTE_DIM(end); i++)
		close_end(end[i]);
	if (e->target.profile != 0)
		gantry_profile_destroy(e->engine, e->target.profile);
	for (size_t i = 0; i < RTE_DIM(end); i++)
		memory_destroy(&end[i]->memory);
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

/* ------------------------------------------------------------------ what they have */

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
	printf("device %s: lcore %u is the initiator, lcore %u the target\n", info.device,
		e->initiator.end.lcore_id, e->target.end.lcore_id);
}

uint8_t *
ends_source(const struct sig_ends *e)
{
	return e->initiator.source;
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
