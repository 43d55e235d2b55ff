/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Runs a phase: initiator and target, each on its own lcore.
 */
#include "sig_phase.h"

#include <inttypes.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "report.h"
#include "sig_both.h"
#include "sig_guard.h"

/* ------------------------------------------------------------------ both ends */

/* Marks the phase as failed. */
static void
fail(struct sig_ends *e)
{
	atomic_store(&e->failed, true);
	sem_post(&e->wake);
}

/* Acquire: the fields that the main lcore wrote for this phase are visible from here on. */
static void
take_phase(struct sig_ends *e)
{
	atomic_load_explicit(&e->begun, memory_order_acquire); /* pairs with ends_begin() */
}

/* Release: the fields that this end wrote are visible to ends_end(). */
static void
give_back_phase(struct sig_ends *e)
{
	atomic_fetch_add_explicit(&e->ended, 1, memory_order_release); /* pairs with ends_end() */
	sem_post(&e->wake);
}

int
end_post_receive(const struct end *end, uint16_t peer, void *array, size_t size, uint64_t number)
{
	const struct gantry_recv recv = {
		.cookie = number,
		.addr = (uintptr_t)array + number * size,
		.len = size,
	};

	if (gantry_recv_post(end->q, peer, &recv, 1) == 1)
		return 0;
	error_print("lcore %u: a connection does not accept a receive", end->lcore_id);
	return -1;
}

/*
 * Takes the completion of a receive. Returns 1 if there was a completion, 0 if there was none, -1
 * if it has an error or a wrong length.
 */
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
		.addr = (uintptr_t)(p->store ? p->source : i->fetched) +
			(uint64_t)first * e->wire_len,
		.remote_key = gantry_mem_remote_key(i->end.memory.mem),
		.number = number,
		.block = p->first_block + first,
		.n = RTE_MIN(per_request, p->n_blocks - first),
		.store = p->store,
	};
	i->begin_ns[number] = now_ns();
	return gantry_submit(i->end.q, &desc, 1);
}

/* Takes a response. Returns as receive(). */
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
		result_answered(&e->phase->result[response->number])) {
		error_print("a response to request %u came that was not expected",
			response->number);
		return -1;
	}
	result = &e->phase->result[response->number];
	result->good = response->good;
	result->ns = now_ns() - i->begin_ns[response->number];
	/* Pairs with result_answered(). */
	atomic_store_explicit(&result->answered, true, memory_order_release);
	return end_post_receive(&i->end, comp.peer, i->response, sizeof(*response), comp.cookie) ==
			       0
		       ? 1
		       : -1;
}

/* Takes the completion of a request's SEND. Returns as receive(). */
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
is_late(uint64_t since_ns, uint32_t missing)
{
	if (now_ns() - since_ns < SIG_GIVE_UP_S * NSEC_PER_S)
		return false;
	error_print("no response came in %u s: the target has not answered %u requests",
		SIG_GIVE_UP_S, missing);
	return true;
}

/*
 * Keeps `depth` requests in flight until all requests are answered, then polls until ends_end().
 * Runs on the initiator's lcore.
 */
static int
initiator_run(void *arg)
{
	struct sig_ends *e = arg;
	struct initiator *i = &e->initiator;
	const uint64_t begin_ns = now_ns();
	uint64_t last_ns = begin_ns;
	uint32_t asked = 0, answered = 0;
	bool busy = true;
	int sent, n = 0;

	take_phase(e);
	while (n >= 0 && ends_go_on(e) && (busy || !atomic_load(&e->may_end))) {
		while (asked < e->phase->n_requests && asked - answered < e->opt->depth &&
			ask(e, asked) == 1)
			asked++;
		sent = take_sent(i);
		n = sent < 0 ? -1 : take_response(e);
		if (n > 0) {
			answered++;
			atomic_store_explicit(&e->answered, answered, memory_order_relaxed);
			last_ns = now_ns();
			if (answered == e->phase->n_requests)
				sem_post(&e->wake);
		} else if (n == 0 && sent == 0) {
			sched_yield(); /* the target's lcore may share this CPU */
			n = busy && is_late(last_ns, asked - answered) ? -1 : 0;
		}
		busy = answered < e->phase->n_requests || gantry_in_flight(i->end.q) != 0;
	}
	if (n < 0)
		fail(e);
	e->phase->ns = last_ns - begin_ns;
	atomic_store(&e->all_answered, true);
	give_back_phase(e);
	return 0;
}

/* ------------------------------------------------------------------ the target */

static struct gantry_txn_tags
tags_of(enum gantry_sig_kind kind, uint32_t block)
{
	if (!sig_has_tags(kind))
		return (struct gantry_txn_tags){0};
	return (struct gantry_txn_tags){.ref_tag = block, .app_tag = SIG_APP_TAG};
}

/* The tweak of a block is its number. */
static struct gantry_txn_crypto
crypto_of(const struct sig_key *key, uint32_t block)
{
	const uint32_t number = rte_cpu_to_le_32(block);
	struct gantry_txn_crypto crypto = {0};

	if (key != NULL) {
		crypto.dek = key->id;
		memcpy(crypto.tweak, &number, sizeof(number));
	}
	return crypto;
}

/* Fills a slot with the transaction of a request. */
static void
fill_slot(const struct sig_ends *e, struct slot *s, const struct sig_request *r)
{
	uint32_t place = r->block % (SIG_ROUND_LEN / e->opt->block_size);

	s->good = (struct sig_response){.number = r->number, .good = true};
	s->bad = (struct sig_response){.number = r->number};
	s->blocks = (struct gantry_sge){
		.addr = (uintptr_t)e->target.disk + (uint64_t)place * e->disk_len,
		.len = (uint64_t)r->n * e->disk_len,
	};
	s->part = (struct gantry_txn_part){
		.addr = r->addr,
		.len = (uint64_t)r->n * e->wire_len,
		.remote_key = r->remote_key,
	};
	s->txn = (struct gantry_txn){
		.profile = e->target.profile,
		.op = r->store ? GANTRY_OP_READ : GANTRY_OP_WRITE,
		.data = &s->blocks,
		.n_data = 1,
		.part = &s->part,
		.n_parts = 1,
		.mem = tags_of(e->opt->guard, r->block),
		.wire = tags_of(e->opt->wire, r->block),
		.good = {.addr = (uintptr_t)&s->good, .len = sizeof(s->good)},
		.bad = {.addr = (uintptr_t)&s->bad, .len = sizeof(s->bad)},
		.crypto = crypto_of(e->phase->key, r->block),
	};
}

/* Checks a request: the initiator may be in another process. */
static int
check_request(const struct sig_ends *e, const struct sig_request *r)
{
	const struct sig_phase *p = e->phase;
	uint32_t per_request = e->opt->chunk_len / e->opt->block_size;
	uint32_t first = r->number * per_request;

	if (r->number < p->n_requests && r->store == p->store &&
		r->block == p->first_block + first &&
		r->n == RTE_MIN(per_request, p->n_blocks - first))
		return 0;
	error_print("request %u for %u blocks from block %u on came, which is not of this phase",
		r->number, r->n, r->block);
	return -1;
}

/* Takes a request, if a request has come and a slot is free. Returns as receive(). */
static int
take_request(struct sig_ends *e)
{
	struct target *t = &e->target;
	struct gantry_recv_comp comp;
	struct gantry_desc desc = {.op = GANTRY_OP_TXN};
	int n = t->n_free == 0 ? 0 : receive(&t->end, sizeof(*t->received), &comp);

	if (n <= 0)
		return n;
	if (check_request(e, &t->received[comp.cookie]) != 0)
		return -1;
	desc.cookie = t->free_slot[--t->n_free];
	fill_slot(e, &t->slot[desc.cookie], &t->received[comp.cookie]);
	desc.peer = comp.peer;
	desc.src = (uintptr_t)&t->slot[desc.cookie].txn;
	desc.len = (uint64_t)t->received[comp.cookie].n * e->opt->block_size;
	if (gantry_submit(t->end.q, &desc, 1) != 1) {
		error_print("the target's queue takes fewer transactions than its depth");
		return -1;
	}
	return end_post_receive(&t->end, comp.peer, t->received, sizeof(*t->received),
		       comp.cookie) == 0
		       ? 1
		       : -1;
}

/* Takes the completion of a transaction. Returns as receive(). */
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

/* Answers requests until the initiator has all responses. Runs on the target's lcore. */
static int
target_run(void *arg)
{
	struct sig_ends *e = arg;
	int ended = 0, n = 0;

	take_phase(e);
	while (ended >= 0 && n >= 0 && ends_go_on(e) &&
		(!atomic_load(&e->all_answered) || gantry_in_flight(e->target.end.q) != 0)) {
		ended = take_end(e);
		n = take_request(e);
		if (ended == 0 && n == 0)
			sched_yield(); /* the initiator's lcore may share this CPU */
	}
	if (ended < 0 || n < 0)
		fail(e);
	give_back_phase(e);
	return 0;
}

void
ends_begin(struct sig_ends *e, struct sig_phase *phase)
{
	uint32_t per_request = e->opt->chunk_len / e->opt->block_size;

	phase->n_requests = (phase->n_blocks + per_request - 1) / per_request;
	phase->n_compared = 0;
	memset(phase->result, 0, phase->n_requests * sizeof(*phase->result));
	if (e->has_initiator)
		memset(e->initiator.begin_ns, 0,
			phase->n_requests * sizeof(*e->initiator.begin_ns));
	e->phase = phase;
	atomic_store(&e->may_end, false);
	atomic_store(&e->all_answered, false);
	atomic_store_explicit(&e->answered, 0, memory_order_relaxed);
	atomic_store_explicit(&e->ended, 0, memory_order_relaxed);
	while (sem_trywait(&e->wake) == 0)
		;
	atomic_fetch_add_explicit(&e->begun, 1, memory_order_release); /* pairs with take_phase() */
	if (e->has_target)
		rte_eal_remote_launch(target_run, e, e->target.end.lcore_id);
	if (e->has_initiator)
		rte_eal_remote_launch(initiator_run, e, e->initiator.end.lcore_id);
}

void
ends_all_answered(struct sig_ends *e)
{
	atomic_store(&e->all_answered, true);
}

void
ends_give_up(struct sig_ends *e)
{
	fail(e);
}

bool
ends_busy(const struct sig_ends *e, uint32_t *answered)
{
	*answered = atomic_load_explicit(&e->answered, memory_order_relaxed);
	return *answered < e->phase->n_requests && ends_go_on(e);
}

void
ends_nap(struct sig_ends *e, uint32_t us)
{
	const uint64_t end_ns = now_ns() + us * (NSEC_PER_S / 1000000);
	const struct timespec end = {end_ns / NSEC_PER_S, end_ns % NSEC_PER_S};

	sem_clockwait(&e->wake, CLOCK_MONOTONIC, &end);
}

/*
 * Sleeps on a semaphore, because rte_eal_wait_lcore() spins and could take CPU time from the
 * lcores.
 */
int
ends_end(struct sig_ends *e)
{
	const unsigned int n_ends = e->has_initiator + e->has_target;
	unsigned int lcores[] = {e->initiator.end.lcore_id, e->target.end.lcore_id};

	if (!e->has_initiator)
		lcores[0] = lcores[1];
	atomic_store(&e->may_end, true);
	/* Pairs with give_back_phase(). */
	while (atomic_load_explicit(&e->ended, memory_order_acquire) != n_ends)
		ends_nap(e, JOB_LOOK_MS * 1000);
	for (size_t i = 0; i < n_ends; i++) {
		while (rte_eal_get_lcore_state(lcores[i]) == RUNNING)
			sched_yield();
		rte_eal_wait_lcore(lcores[i]);
	}
	return ends_go_on(e) ? 0 : -1;
}
