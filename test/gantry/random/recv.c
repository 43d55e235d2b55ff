/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives of connections, posted by calls of the queue's owner or through the rings of a worker.
 */
#include <sched.h>

#include <rte_cycles.h>

#include "random.h"

/* ------------------------------------------------------------------ posting */

void
draw_receive(struct side *s, uint8_t *at, struct gantry_recv *recv, struct receive *r)
{
	*r = (struct receive){.cookie = check_random(&s->rng), .at = at};
	*recv = (struct gantry_recv){
		.cookie = r->cookie,
		.addr = (uintptr_t)r->at,
		.len = RECV_LEN,
	};
	switch (check_random(&s->rng) % 128) {
	case 0:
		recv->zero = 1;
		r->refusals = MODEL_BIT(GANTRY_BAD_FIELD);
		break;
	case 1:
		recv->len = 0;
		r->refusals = MODEL_BIT(GANTRY_BAD_FIELD);
		break;
	case 2:
		recv->len = UINT64_MAX - 1;
		r->refusals = MODEL_BIT(GANTRY_BAD_LENGTH);
		break;
	case 3:
		recv->addr = 0;
		r->refusals = MODEL_BIT(GANTRY_NOT_REGISTERED);
		break;
	case 4:
		recv->addr = (uintptr_t)&run;
		r->refusals = MODEL_BIT(GANTRY_NOT_REGISTERED);
		break;
	}
}

bool
side_post(struct side *s, uint16_t peer, const struct gantry_recv *recv)
{
	int n = s->w != NULL ? (int)gantry_recv_enqueue_burst(s->w, peer, recv, 1)
			     : gantry_recv_post(s->q, peer, recv, 1);

	/* A post to a worker may be refused, because its ring may be full. */
	if (n != 1 && !(n == 0 && s->w != NULL))
		side_fail(s, NULL, "gantry_recv_post() to %u: %d", peer, n);
	s->recv_posted += n;
	return n == 1;
}

void
end_post(struct end *e)
{
	struct gantry_recv recv;
	struct receive *r;

	if (!e->open || !e->connected || e->target != NULL || e->link->hurt)
		return;
	while (e->posted - e->came < RECV_DEPTH && e->posted - e->matched < RECV_SLOTS) {
		r = &e->recv[e->posted % RECV_SLOTS];
		draw_receive(e->side, e->memory + e->posted % RECV_SLOTS * RECV_LEN, &recv, r);
		if (!side_post(e->side, e->peer, &recv))
			break;
		e->posted++;
		if (r->refusals == 0)
			e->other->credits++;
	}
}

/* ------------------------------------------------------------------ judging */

/* Stores that receive i of e got the message m. */
static void
judge_message(struct end *e, uint64_t i, const struct message *m)
{
	const struct gantry_recv_comp *c = &e->comp[i % RECV_SLOTS];
	uint64_t at;

	if (c->op != m->op || c->len != m->len || c->imm != m->imm)
		side_fail(e->side, NULL,
			"receive %llu of peer %u: op %u len %llu imm 0x%x, but sent was op %u len "
			"%llu imm 0x%x",
			(unsigned long long)i, e->peer, c->op, (unsigned long long)c->len, c->imm,
			m->op, (unsigned long long)m->len, m->imm);
	if (m->op != GANTRY_OP_WRITE_IMM &&
		!model_bytes_are(e->recv[i % RECV_SLOTS].at, m->bytes, m->len, &at))
		side_fail(e->side, NULL, "receive %llu of peer %u: byte %llu is wrong",
			(unsigned long long)i, e->peer, (unsigned long long)at);
	run.messages++;
}

/* Matches messages and receives, in their order. */
static void
match(struct end *e)
{
	struct end *o = e->other;

	for (; e->n_taken < e->n_arrived && o->n_heard < o->n_sent; e->n_taken++, o->n_heard++)
		if (!run.hazards.lost)
			judge_message(e, e->arrived[e->n_taken % RECV_SLOTS],
				&o->sent[o->n_heard % RTE_DIM(o->sent)]);
	e->matched = e->n_taken < e->n_arrived ? e->arrived[e->n_taken % RECV_SLOTS] : e->came;
}

void
message_of(struct side *s, const struct record *r, bool sure, struct message *m)
{
	*m = (struct message){.sure = sure,
		.op = r->desc.op,
		.imm = r->desc.op == GANTRY_OP_SEND ? 0 : r->desc.imm,
		.len = r->desc.len};
	if (m->op != GANTRY_OP_WRITE_IMM)
		model_read(&s->model, &r->desc, m->bytes);
}

uint64_t *
end_credits(struct end *e)
{
	return e->target != NULL ? dc_credits(e->target) : &e->credits;
}

void
end_sent(struct end *e, const struct record *r, bool ran, bool sure)
{
	if (!ran) {
		*end_credits(e) += !r->is_refused_there;
		return;
	}
	if (e->target != NULL) {
		dc_sent(e, r, sure);
		return;
	}
	CHECK(e->n_sent - e->n_heard < RTE_DIM(e->sent));
	message_of(e->side, r, sure, &e->sent[e->n_sent++ % RTE_DIM(e->sent)]);
	match(e->other);
}

/*
 * Returns the end to which this receive was posted. The peer number does not tell it, because
 * another end may have got this number since.
 */
static struct end *
end_of(struct side *s, const struct gantry_recv_comp *c)
{
	unsigned int i;

	for (i = 0; i < s->n_ends; i++) {
		struct end *e = s->end[i];

		if (e->came < e->posted && e->recv[e->came % RECV_SLOTS].cookie == c->cookie)
			return e;
	}
	side_fail(s, NULL, "a receive with cookie 0x%llx of peer %u, status [%s]: it is not next",
		(unsigned long long)c->cookie, c->peer, gantry_status_name(c->status));
}

static void
judge_receive(struct side *s, const struct gantry_recv_comp *c)
{
	const struct receive *r;
	struct end *e;
	uint32_t may;

	s->recv_done++;
	s->recv_refused += c->status == GANTRY_BAD_PEER;
	if (dc_judge_receive(s, c))
		return;
	e = end_of(s, c);
	r = &e->recv[e->came % RECV_SLOTS];
	may = r->refusals;
	if (may == 0)
		may = MODEL_BIT(GANTRY_OK);
	if (run.hazards.recv || run.hazards.peer != 0 || e->link->hurt)
		may |= MODEL_BIT(GANTRY_FLUSHED) | MODEL_BIT(GANTRY_LOCAL_ERROR) |
		       MODEL_BIT(GANTRY_BAD_PEER);
	if (run.hazards.fatal)
		may |= MODEL_BIT(GANTRY_DEVICE_LOST);
	if (c->peer != e->peer || c->zero != 0 || c->zero2 != 0 ||
		(may & MODEL_BIT(c->status)) == 0)
		side_fail(s, NULL, "receive %llu of peer %u: [%s], syndrome 0x%02x",
			(unsigned long long)e->came, c->peer, gantry_status_name(c->status),
			c->syndrome);
	e->comp[e->came % RECV_SLOTS] = *c;
	s->digest = (s->digest ^ c->status ^ c->len << 8) * UINT64_C(0x100000001b3);
	if (c->status == GANTRY_OK)
		e->arrived[e->n_arrived++ % RECV_SLOTS] = e->came;
	else if (r->refusals == 0)
		e->link->hurt = true;
	e->came++;
	match(e);
}

/*
 * Takes up to n completions of receives. A worker's completions come from its ring; while the
 * worker is stopped, they also come from its queue.
 */
static unsigned int
take(struct side *s, struct gantry_recv_comp *comp, unsigned int n)
{
	unsigned int got = 0;

	if (s->w != NULL)
		got = gantry_recv_dequeue_burst(s->w, comp, n);
	if (got < n && (s->w == NULL || s->stopped))
		got += gantry_recv_poll(s->q, comp + got, n - got);
	return got;
}

void
side_take_receives(struct side *s)
{
	struct gantry_recv_comp comp[16];
	unsigned int i, n;

	do {
		n = take(s, comp, RTE_DIM(comp));
		for (i = 0; i < n; i++)
			judge_receive(s, &comp[i]);
	} while (n == RTE_DIM(comp));
}

/* ------------------------------------------------------------------ the end */

/*
 * Checks a receive that was taken from a closed end. Receives in the ring were posted after all
 * other receives of their end.
 */
static void
take_back(struct side *s, uint64_t cookie)
{
	unsigned int i;
	uint64_t k;

	for (i = 0; i < s->n_ends; i++) {
		struct end *e = s->end[i];

		for (k = e->came; !e->open && k < e->posted; k++)
			if (e->recv[k % RECV_SLOTS].cookie == cookie) {
				e->posted--;
				return;
			}
	}
	side_fail(s, NULL, "gantry_recv_reclaim_burst() returns cookie 0x%llx, which is nobody's",
		(unsigned long long)cookie);
}

static void
reclaim(struct side *s)
{
	struct gantry_recv recv[64];
	uint16_t peer[RTE_DIM(recv)];
	unsigned int n = gantry_recv_reclaim_burst(s->w, peer, recv, RTE_DIM(recv)), i;

	for (i = 0; i < n; i++) {
		if (s->model.peer[peer[i]].open || dc_is_open(s, peer[i])) {
			CHECK_EQ(gantry_recv_enqueue_burst(s->w, peer[i], &recv[i], 1), 1);
			continue;
		}
		s->recv_posted--;
		if (!dc_take_back(s, recv[i].cookie))
			take_back(s, recv[i].cookie);
	}
}

void
side_take_until(struct side *s, const uint64_t *came, const uint64_t *posted)
{
	uint64_t end = env_patience();

	side_take_receives(s);
	while (*came != *posted && s->w != NULL && rte_get_timer_cycles() < end) {
		if (s->stopped)
			reclaim(s);
		sched_yield();
		side_take_receives(s);
	}
}
