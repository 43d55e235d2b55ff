/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks completions and responses, only with the bytes in memory and the model. */
#include "play.h"

void
slot_fail(const struct slot *s, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "seed %llu, life %llu, round %llu: ", (unsigned long long)play.seed,
		(unsigned long long)play.lives, (unsigned long long)play.rounds);
	if (s != NULL) {
		const struct model *m = &s->model;

		fprintf(stderr,
			"%s %llu, link %d, %llu bytes, kinds %d and %d, blocks %u and %u, %u buffers%s, "
			"%u parts%s%s, wrong part %u in block %u, status %u (%s), responses %u good, %u bad: ",
			s->is_copy ? "copy"
			: m->reads ? "READ"
				   : "WRITE",
			(unsigned long long)s->number,
			s->link != NULL ? (int)(s->link - play.link) : -1,
			(unsigned long long)s->data_len, m->mem.kind, m->wire.kind, m->mem.block,
			m->wire.block, s->txn.n_data, s->txn.pi.len != 0 ? " and signatures" : "",
			s->txn.n_parts, s->encrypts ? ", encrypted" : "",
			play.hard ? ", connections fail" : "", s->error.part, s->error.block,
			s->status, s->completed ? gantry_status_name(s->status) : "none yet",
			s->n_good, s->n_bad);
	}
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	fflush(NULL);
	_exit(1);
}

/* ------------------------------------------------------------------ bytes */

static void
side_judge(const struct slot *s, const struct side *side, const char *name)
{
	uint32_t i;

	if (memcmp(side->area, side->image, side->used + MAX_GAP) == 0)
		return;
	for (i = 0; side->area[i] == side->image[i]; i++)
		;
	slot_fail(s, "%s byte %u is 0x%02x, not 0x%02x", name, i, side->area[i], side->image[i]);
}

static struct side *
goes_to(struct slot *s)
{
	return !s->is_copy && s->model.reads ? &s->local : &s->remote;
}

/* Checks that all bytes have arrived, and that all other bytes are unchanged. */
static void
judge_arrived(struct slot *s)
{
	if (s->is_copy || s->txn.n_parts != 0)
		side_overlay(goes_to(s), s->arrives);
	side_judge(s, &s->local, "local");
	side_judge(s, &s->remote, "remote");
}

/*
 * Checks that bytes outside the destination are unchanged. Bytes of the destination are not
 * checked, because a lost device may still write them.
 */
static void
judge_others(struct slot *s)
{
	static bool goes_there[AREA_LEN];
	struct side *to = goes_to(s), *from = to == &s->local ? &s->remote : &s->local;
	uint32_t i;

	side_judge(s, from, "source");
	memset(goes_there, 0, to->used + MAX_GAP);
	for (i = 0; i < to->n; i++)
		memset(goes_there + to->extent[i].at, 1, to->extent[i].len);
	for (i = 0; i < to->used + MAX_GAP; i++)
		if (!goes_there[i] && to->area[i] != to->image[i])
			slot_fail(s, "byte %u, where nothing goes, is 0x%02x, not 0x%02x", i,
				to->area[i], to->image[i]);
}

/* ------------------------------------------------------------------ responses */

static struct slot *
find(uint64_t number)
{
	unsigned int i;

	for (i = 0; i < N_SLOTS; i++)
		if (play.slot[i].busy && play.slot[i].number == number)
			return &play.slot[i];
	return NULL;
}

/*
 * When a response arrives, the bytes of its transaction must be complete, because the initiator may
 * use them.
 */
static void
judge_response(struct slot *s, const struct message *m, uint32_t len)
{
	const struct gantry_txn_response *r = m->good != 0 ? &s->txn.good : &s->txn.bad;
	const struct message *text = m->good != 0 ? &s->good : &s->bad;

	if (len != r->len || memcmp(m, text, len) != 0)
		slot_fail(s, "a response is not what was to be sent");
	if (s->n_good + s->n_bad != 0)
		slot_fail(s, "a second response");
	if (m->good != 0) {
		s->n_good++;
		play.good++;
		if (s->error.part != 0)
			slot_fail(s, "a good response for bad data");
		judge_arrived(s);
	} else {
		s->n_bad++;
		play.bad++;
		if (s->error.part == 0)
			slot_fail(s, "a bad response for good data");
	}
	if (s->must != 0)
		slot_fail(s, "a response of a transaction that must be refused");
	judge_release(s);
}

void
judge_message(struct link *l, const struct gantry_recv_comp *comp)
{
	struct message *m = &l->message[comp->cookie];
	struct slot *s;

	CHECK(l->n_posted != 0);
	l->n_posted--;
	if (comp->status != GANTRY_OK) {
		CHECK(play.hard || l->closing, "a receive: %s", gantry_status_name(comp->status));
		l->hurt = true;
		return;
	}
	CHECK_EQ(comp->op, GANTRY_OP_SEND);
	CHECK(comp->len >= 16 && comp->len <= sizeof(*m));
	s = find(m->number);
	if (s == NULL || s->link != l)
		slot_fail(s, "a response of transaction %llu on link %d, which nobody waits for",
			(unsigned long long)m->number, (int)(l - play.link));
	judge_response(s, m, (uint32_t)comp->len);
}

/* ------------------------------------------------------------------ completions */

/*
 * Transactions must complete in the order of submission: to the queue or, if it is unordered, to
 * the connection.
 */
static void
judge_order(const struct slot *s)
{
	uint64_t *last = play.unordered && s->link != NULL ? &s->link->last : &play.last;

	if (s->number <= *last)
		slot_fail(s, "completed behind %llu", (unsigned long long)*last);
	if (!play.unordered && s->number != *last + 1)
		slot_fail(s, "completed right behind %llu", (unsigned long long)*last);
	*last = s->number;
}

static void
judge_details(struct slot *s)
{
	const struct gantry_sig_error *got = &s->txn.error, *want = &s->error;

	if (want->part == 0)
		slot_fail(s, "a signature is called wrong, and all are right");
	/* When a CQ overruns, completions are lost. */
	if (play.hard && s->txn.n_parts > 1 && got->block == GANTRY_SIG_BLOCK_UNKNOWN)
		s->txn.error.block = want->block;
	if (got->part != want->part || got->on_wire != want->on_wire || got->block != want->block ||
		got->expected != want->expected || got->actual != want->actual || got->zero != 0)
		slot_fail(s,
			"the error is part %u, %s, block %u, expected 0x%llx, actual 0x%llx; it must be "
			"part %u, %s, block %u, expected 0x%llx, actual 0x%llx",
			got->part, got->on_wire ? "wire" : "memory", got->block,
			(unsigned long long)got->expected, (unsigned long long)got->actual,
			want->part, want->on_wire ? "wire" : "memory", want->block,
			(unsigned long long)want->expected, (unsigned long long)want->actual);
	s->txn.error = s->before.error;
}

/* Statuses that are allowed on a connection that failed because of any fault. */
#define FAILED                                                                                     \
	(1u << GANTRY_LOCAL_ERROR | 1u << GANTRY_REMOTE_ACCESS | 1u << GANTRY_REMOTE_ERROR |       \
		1u << GANTRY_UNREACHABLE | 1u << GANTRY_FLUSHED | 1u << GANTRY_QP_EVENT |          \
		1u << GANTRY_TIMED_OUT | 1u << GANTRY_BAD_PEER)

/*
 * Statuses that are allowed after the device was lost: then, for instance, no new key can be
 * created.
 */
#define LOST (1u << GANTRY_DEVICE_LOST | 1u << GANTRY_NO_RESOURCES)

/*
 * A lost device refuses all calls, also before the engine gets the event of the loss. If the event
 * comes late, the engine may have failed a stopped connection before, because of the refused calls.
 */
#define GIVEN_UP (1u << GANTRY_TIMED_OUT | 1u << GANTRY_FLUSHED)

/* True if the device has refused too often to set up a queue's connection to itself. */
static bool
is_own_lost(const struct slot *s)
{
	if (s->link != NULL || s->status != GANTRY_DEVICE_LOST || !play.own_hurt)
		return false;
	play.own_lost = true;
	return true;
}

static void
judge_status(struct slot *s)
{
	uint32_t bit = 1u << s->status;

	if (s->cancelled != (s->status == GANTRY_CANCELLED))
		slot_fail(s, "it was %scancelled", s->cancelled ? "" : "not ");
	if (s->absent && (s->status == GANTRY_OK || s->status == GANTRY_SIG_ERROR))
		slot_fail(s, "its memory is not registered");
	if (s->must != 0 || s->cancelled || (s->may & bit) != 0) {
		if (!s->cancelled && s->status != s->must && (s->may & bit) == 0 &&
			!(play.hard && s->status == GANTRY_BAD_PEER) &&
			!(play.fatal && (LOST & bit) != 0) && !is_own_lost(s))
			slot_fail(s, "its status must be %s", gantry_status_name(s->must));
		/* No byte may have changed. */
		side_judge(s, &s->local, "local");
		side_judge(s, &s->remote, "remote");
	} else if (s->status == GANTRY_OK) {
		if (s->error.part != 0)
			slot_fail(s, "it is OK, and part %u of block %u is wrong", s->error.part,
				s->error.block);
		judge_arrived(s);
	} else if (s->status == GANTRY_SIG_ERROR) {
		judge_details(s);
		/* The bytes arrive, unless the connection has failed as well. */
		if (play.hard)
			judge_others(s);
		else
			judge_arrived(s);
	} else if (is_own_lost(s)) {
		judge_others(s);
	} else {
		if (!play.hard || ((play.fatal ? LOST | GIVEN_UP : FAILED) & bit) == 0)
			slot_fail(s, "nothing explains this status");
		if (s->link != NULL)
			s->link->hurt = true;
		judge_others(s);
	}
}

static void
note_met(const struct slot *s, bool wrong)
{
	play.met[s->model.reads][wrong][model_in(&s->model)->kind]++;
	if (s->encrypts)
		play.encrypted[s->model.reads][wrong][secret_comes_encrypted(s)]++;
}

void
judge_completion(const struct gantry_comp *comp)
{
	struct slot *s = find(comp->cookie);

	if (s == NULL || s->completed)
		slot_fail(s, "a completion of %llu, which nobody waits for",
			(unsigned long long)comp->cookie);
	s->completed = true;
	s->status = comp->status;
	CHECK_EQ(comp->op, s->is_copy ? GANTRY_OP_COPY : GANTRY_OP_TXN);
	CHECK_EQ(comp->zero, 0);
	/* The completion of a failed copy may name the side that failed. */
	if (!s->is_copy || comp->status == GANTRY_OK)
		CHECK_EQ(comp->result, 0);
	judge_order(s);
	judge_status(s);
	if (memcmp(&s->txn, &s->before, sizeof(s->txn)) != 0)
		slot_fail(s, "the engine has changed the transaction");
	play.settled++;
	play.by_status[s->status]++;
	if (s->is_copy)
		play.copies++;
	else if (s->status == GANTRY_OK || s->status == GANTRY_SIG_ERROR)
		note_met(s, s->status != GANTRY_OK);
	judge_release(s);
}

/*
 * Returns the number of responses that must arrive; -1 if it is unknown because the connection
 * failed.
 */
static int
responses(const struct slot *s)
{
	/* The device may still write to this memory, so no other transaction uses it. */
	if (play.fatal && s->status == GANTRY_DEVICE_LOST)
		return -1;
	if (s->link == NULL || s->must != 0 || s->cancelled || (s->may & 1u << s->status) != 0)
		return 0;
	if (s->status == GANTRY_OK)
		return s->txn.good.len != 0;
	/* The connection may have failed after the transaction, before the response arrived. */
	if (s->status == GANTRY_SIG_ERROR && (!play.hard || s->txn.bad.len == 0))
		return s->txn.bad.len != 0;
	return -1;
}

/* A slot becomes free when its completion has arrived and no further response can arrive. */
void
judge_release(struct slot *s)
{
	int n = (int)(s->n_good + s->n_bad);

	if (!s->completed || responses(s) > n)
		return;
	if (responses(s) == -1 && n == 0)
		return;
	if (responses(s) != -1 && responses(s) < n)
		slot_fail(s, "a response that was not to be sent");
	s->busy = false;
}

void
judge_link_closed(struct link *l)
{
	unsigned int i;

	for (i = 0; i < N_SLOTS; i++) {
		struct slot *s = &play.slot[i];

		if (!s->busy || s->link != l)
			continue;
		CHECK(s->completed);
		if (responses(s) != -1)
			slot_fail(s, "its response never came");
		s->busy = false;
	}
}
