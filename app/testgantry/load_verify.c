/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Verifies the operations of the mix one after the other. A batch has as many descriptors as may be
 * in flight.
 */
#include "load_verify.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "job.h"
#include "report.h"

#define MOST_MESSAGES 64 /* most messages in a batch that consume receives */
/* longest wait for the receive of a message whose sender has a completion already */
#define PATIENCE_NS (10 * NSEC_PER_S)

/*
 * A batch: descriptors of one operation that are verified together. Each changes different memory.
 */
struct batch {
	const struct load_op *op;
	uint32_t most; /* largest number of descriptors; length of the arrays */
	uint32_t n;
	uint32_t *desc;  /* numbers of the descriptors */
	uint64_t *value; /* values of the counters before the operation */
	uint64_t *result;
	struct gantry_recv_comp *received; /* [most]: completions of receives, in their order */
	uint32_t n_received;
};

static int
refuse(const struct batch *b, const char *what)
{
	error_print("%s: %s", b->op->name, what);
	return -1;
}

/* Prints that a byte is wrong. len: bytes of the operation; at: offset of the byte. Returns -1. */
static int
refuse_byte(const struct batch *b, uint64_t len, uint64_t at, uint8_t is, uint8_t should)
{
	error_print("%s: byte %" PRIu64 " of %" PRIu64 " is 0x%02x and should be 0x%02x",
		b->op->name, at, len, is, should);
	return -1;
}

/* ------------------------------------------------------------------ what is changed */

/* Returns the slot in which descriptor i changes bytes. *len: bytes of the slot. */
static uint8_t *
slot_of(const struct load_lane *l, uint32_t i, size_t *len)
{
	const enum load_to to = load_ops[l->op[i]].to;

	if (to == TO_PEER) {
		*len = l->slot[SLOT_OF_PEER].len;
		return lane_slot(l->target, l->place[i], SLOT_OF_PEER);
	}
	*len = l->slot[SLOT_DESTINATION].len;
	return lane_slot(l, to == TO_LAYOUT ? l->base_place[i] : l->place[i], SLOT_DESTINATION);
}

static void
prepare(const struct load_lane *l, struct batch *b, uint32_t k)
{
	const uint32_t i = b->desc[k];
	uint8_t *slot;
	size_t len;

	if (b->op->to == TO_COUNTER) {
		b->value[k] = *lane_counter(l, i);
		if (b->op->op == GANTRY_OP_COMPARE_SWAP) {
			l->desc[i].arg[0] = b->value[k];
			l->desc[i].arg[1] = b->value[k] + 1;
		}
	} else if (b->op->to != TO_RECEIVE) {
		slot = slot_of(l, i, &len);
		memset(slot, LOAD_POISON, len);
	}
}

/*
 * Compares the bytes that descriptor i moved with the bytes at `at`, or at lane_to() if `at` is
 * NULL. Then fills the compared destination with LOAD_POISON again.
 */
static int
compare_bytes(const struct load_lane *l, const struct batch *b, uint32_t i, uint8_t *at)
{
	const uint64_t all = l->shared->point.value[AXIS_SIZE];
	uint64_t len, from_len, k;
	const uint8_t *from;
	uint8_t *to;

	for (uint64_t done = 0; done < all; done += len) {
		from = lane_from(l, i, done, &from_len);
		len = all - done;
		to = at != NULL ? at + done : lane_to(l, i, done, &len);
		len = RTE_MIN(len, from_len);
		for (k = 0; memcmp(from, to, len) != 0 && from[k] == to[k]; k++)
			;
		if (from[k] != to[k])
			return refuse_byte(b, all, done + k, to[k], from[k]);
		memset(to, LOAD_POISON, len);
	}
	return 0;
}

/*
 * Checks the bytes of the slot that the operation must not change. The bytes that it changes
 * contain LOAD_POISON again, so each byte of the slot must be LOAD_POISON.
 */
static int
compare_rest(const struct batch *b, const uint8_t *slot, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (slot[i] != LOAD_POISON)
			return refuse(b, "it has changed bytes that are not its own");
	return 0;
}

static int
compare_counter(const struct load_lane *l, const struct batch *b, uint32_t k)
{
	const uint64_t now = *lane_counter(l, b->desc[k]);

	if (now == b->value[k] + 1 && b->result[k] == b->value[k])
		return 0;
	error_print("%s: the counter is %" PRIu64 ", and the result %" PRIu64
		    ": they should be %" PRIu64 " and %" PRIu64,
		b->op->name, now, b->result[k], b->value[k] + 1, b->value[k]);
	return -1;
}

/* ------------------------------------------------------------------ what is received */

/*
 * Returns the receive that descriptor i consumed: the first unused receive of its connection.
 * Returns NULL, with the error printed, if there is none.
 */
static const struct gantry_recv_comp *
take_received(const struct load_lane *l, struct batch *b, uint32_t i)
{
	const struct load_conns *c = load_op_is_txn(b->op) ? &l->txn_conns : &l->conns;
	const enum gantry_op op = load_op_is_txn(b->op) ? GANTRY_OP_SEND : b->op->op;

	for (uint32_t k = 0; k < b->n_received; k++) {
		struct gantry_recv_comp *r = &b->received[k];

		if (r->peer != c->far[i % c->n])
			continue;
		r->peer = UINT16_MAX; /* mark the receive as used: no peer has this number */
		if (r->status == GANTRY_OK && r->op == op && r->imm == l->desc[i].imm)
			return r;
		break;
	}
	refuse(b, "the peer's receive does not have the bytes that were sent");
	return NULL;
}

static int
compare_received(const struct load_lane *l, struct batch *b, uint32_t i)
{
	const struct load_inbox *in = &l->target->inbox;
	const struct gantry_recv_comp *r = take_received(l, b, i);
	uint8_t *slot;

	if (r == NULL)
		return -1;
	if (b->op->to != TO_RECEIVE)
		return 0;
	if (r->len != l->shared->point.value[AXIS_SIZE])
		return refuse(b, "the peer's receive has a wrong length");
	slot = in->base + r->cookie * in->slot_len;
	if (compare_bytes(l, b, i, slot) != 0)
		return -1;
	return compare_rest(b, slot, in->slot_len);
}

/* Posts again the receives that the batch consumed. */
static int
give_back_receives(struct load_lane *target, struct batch *b)
{
	for (uint32_t k = 0; k < b->n_received; k++)
		if (!lane_post(target, b->received[k].cookie))
			return refuse(b, "its receive could not be posted again");
	return 0;
}

/* ------------------------------------------------------------------ a batch */

static int
compare(const struct load_lane *l, struct batch *b, uint32_t k)
{
	const uint32_t i = b->desc[k];
	uint8_t *slot;
	size_t len;

	if (b->op->takes_receive && compare_received(l, b, i) != 0)
		return -1;
	if (b->op->to == TO_COUNTER)
		return compare_counter(l, b, k);
	if (b->op->to == TO_RECEIVE)
		return 0;
	slot = slot_of(l, i, &len);
	if (compare_bytes(l, b, i, NULL) != 0)
		return -1;
	return compare_rest(b, slot, len);
}

/*
 * Returns the index in the batch of the descriptor with this cookie. In an ordered queue it must be
 * the next descriptor. Returns b->n if there is no such descriptor.
 */
static uint32_t
find(const struct load_lane *l, const struct batch *b, uint64_t cookie, uint32_t number)
{
	uint32_t k = number;

	if (l->order.out != NULL)
		for (k = 0; k < b->n && b->desc[k] != cookie; k++)
			;
	return k < b->n && b->desc[k] == cookie ? k : b->n;
}

/* Takes the next completion, if there is one, and checks it. */
static int
take_completion(struct load_lane *l, struct batch *b, uint32_t *got)
{
	struct gantry_comp comp;
	uint32_t k;

	if (lane_poll(l, &comp, 1) == 0)
		return 0;
	l->got++;
	k = find(l, b, comp.cookie, (*got)++);
	if (k < b->n)
		b->result[k] = comp.result;
	if (comp.status == GANTRY_OK && k < b->n)
		return 0;
	error_print("%s failed while it was verified: %s", b->op->name,
		gantry_status_name(comp.status));
	return -1;
}

/*
 * Submits the batch. Waits for its completions, and for the completions of the receives that it
 * consumes.
 */
static int
carry_out(struct load_lane *l, struct batch *b)
{
	const uint32_t n_receives = b->op->takes_receive ? b->n : 0;
	uint64_t end_ns = UINT64_MAX;
	uint32_t put = 0, got = 0, n;

	b->n_received = 0;
	while (got < b->n || b->n_received < n_receives) {
		n = put < b->n ? lane_submit(l, b->desc[put], 1) : 0;
		put += n;
		l->put += n;
		if (take_completion(l, b, &got) != 0)
			return -1;
		b->n_received += lane_poll_receives(l->target, b->received + b->n_received,
			n_receives - b->n_received);
		sched_yield(); /* the thread that runs the queue may need this CPU */
		if (got < b->n)
			end_ns = now_ns() + PATIENCE_NS;
		else if (b->n_received < n_receives && now_ns() > end_ns)
			return refuse(b, "it has completed, but the peer has not received it");
	}
	return 0;
}

static int
verify_batch(struct load_lane *l, struct batch *b, uint64_t *verified)
{
	struct load_inbox *in = &l->target->inbox;

	if (b->op->to == TO_RECEIVE)
		memset(in->base, LOAD_POISON, in->n * in->slot_len);
	for (uint32_t k = 0; k < b->n; k++)
		prepare(l, b, k);
	if (carry_out(l, b) != 0)
		return -1;
	for (uint32_t k = 0; k < b->n; k++)
		if (compare(l, b, k) != 0)
			return -1;
	*verified += b->n;
	b->n = 0;
	if (give_back_receives(l->target, b) != 0)
		return -1;
	return stop_signal == 0 ? 0 : JOB_STOPPED;
}

/* ------------------------------------------------------------------ an operation */

static uint32_t
most_at_once(const struct load_lane *l, const struct load_op *op)
{
	const uint64_t layouts = l->shared->point.value[AXIS_LAYOUTS];

	if (op->takes_receive)
		return RTE_MIN(l->depth, (uint32_t)MOST_MESSAGES);
	return op->to == TO_LAYOUT ? RTE_MIN(l->depth, layouts) : l->depth;
}

/*
 * Verifies one operation, in batches, with the first n_places descriptors: each place occurs once
 * among them.
 */
static int
verify_op(struct load_lane *l, struct batch *b, uint64_t *verified)
{
	int rc = 0;

	b->most = most_at_once(l, b->op);
	for (uint32_t i = 0; rc == 0 && i < l->n_places; i++) {
		if (&load_ops[l->op[i]] != b->op)
			continue;
		b->desc[b->n++] = i;
		if (b->n == b->most)
			rc = verify_batch(l, b, verified);
	}
	return rc == 0 && b->n != 0 ? verify_batch(l, b, verified) : rc;
}

/* Checks the counters that the measured operations have changed. */
static int
check_counters(const struct load_lane *l, const struct load_op *op)
{
	uint64_t sum = 0;

	if (op->op != GANTRY_OP_FETCH_ADD || l->shared->opt->load.mix.weight[op - load_ops] == 0)
		return 0;
	for (uint32_t p = 0; p < l->n_places; p++)
		sum += ((uint64_t *)lane_slot(l->target, p, SLOT_COUNTER))[op - load_ops];
	if (sum == l->hist[op - load_ops].n)
		return 0;
	error_print("the peer's counters add up to %" PRIu64 " after %" PRIu64 " times %s", sum,
		l->hist[op - load_ops].n, op->name);
	return -1;
}

static int
check_received(const struct load_lane *l)
{
	const uint64_t end_ns = now_ns() + PATIENCE_NS;
	uint64_t sent = 0;

	for (int i = 0; i < LOAD_OPS; i++)
		sent += load_ops[i].takes_receive ? l->hist[i].n : 0;
	while (l->target->inbox.received < sent && now_ns() < end_ns)
		if (lane_receive(l->target) == 0)
			sched_yield();
	if (l->target->inbox.received == sent)
		return 0;
	error_print("%" PRIu64 " messages were sent, and the peer has received %" PRIu64, sent,
		l->target->inbox.received);
	return -1;
}

int
load_verify(struct load_lane *l, uint64_t *verified)
{
	struct batch b = {
		.desc = calloc(l->depth, sizeof(b.desc[0])),
		.value = calloc(l->depth, sizeof(b.value[0])),
		.result = calloc(l->depth, sizeof(b.result[0])),
		.received = calloc(l->depth, sizeof(b.received[0])),
	};
	int rc = check_received(l);

	if (b.desc == NULL || b.value == NULL || b.result == NULL || b.received == NULL) {
		error_print("out of memory");
		rc = -1;
	}
	for (b.op = load_ops; rc == 0 && b.op < load_ops + LOAD_OPS; b.op++) {
		rc = check_counters(l, b.op);
		if (rc == 0)
			rc = verify_op(l, &b, verified);
	}
	free(b.received);
	free(b.result);
	free(b.value);
	free(b.desc);
	return rc;
}
