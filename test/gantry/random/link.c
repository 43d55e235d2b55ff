/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections that come and go, and the receives at their ends. */
#include <errno.h>

#include "random.h"

/* ------------------------------------------------------------------ connections */

void
link_init(struct link *l, struct side *a, struct side *b)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct end *e = &l->end[i];

		e->side = i == 0 ? a : b;
		e->link = l;
		e->other = &l->end[1 - i];
		e->memory = (uint8_t *)run.recv_range.addr +
			    ((l - run.link) * 2 + i) * RECV_SLOTS * RECV_LEN;
		CHECK(e->side->n_ends < SIDE_ENDS);
		e->side->end[e->side->n_ends++] = e;
	}
}

struct end *
side_end(struct side *s, uint16_t peer)
{
	unsigned int i;

	for (i = 0; i < s->n_ends; i++)
		if (s->end[i]->open && s->end[i]->peer == peer)
			return s->end[i];
	return NULL;
}

/* True: the call was carried out. Only where faults refuse calls may it not be. */
static bool
carried_out(int ret, const char *call)
{
	CHECK(ret == 0 || run.hazards.refuse, "%s: %d", call, ret);
	run.refused_calls += ret != 0;
	return ret == 0;
}

/* What is known of the end's number has changed. */
static void
tell(struct end *e)
{
	e->side->model.peer[e->peer] =
		(struct model_peer){.open = e->open, .connected = e->connected};
	side_changed(e->side);
}

void
link_open(struct link *l)
{
	/* Retries end soon: nothing is lost but by faults. */
	const struct gantry_path path = {.timeout = run.pumped ? 4 : 8, .retries = 3};
	struct gantry_addr addr[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct end *e = &l->end[i];
		const struct gantry_peer_conf conf = {
			.depth = 32 << i,
			.recv_depth = e->side->w == NULL ? RECV_DEPTH : 0,
			.path = path,
		};

		CHECK(!e->open);
		if (!carried_out(gantry_peer_open(e->side->q, &conf, &e->peer, &addr[i]),
			    "gantry_peer_open")) {
			l->hurt = true;
			return;
		}
		CHECK(e->peer < MODEL_PEERS);
		e->open = true;
		e->failed = e->connected = false;
		e->posted = e->came = e->matched = e->n_arrived = e->n_taken = 0;
		e->credits = e->n_sent = e->n_heard = 0;
		tell(e);
	}
	for (i = 0; i < 2; i++) {
		struct end *e = &l->end[i];

		if (!carried_out(gantry_peer_connect(e->side->q, e->peer, &addr[1 - i]),
			    "gantry_peer_connect")) {
			l->hurt = true;
			return;
		}
		e->connected = true;
	}
	l->hurt = false;
	tell(&l->end[0]);
	tell(&l->end[1]);
}

/* The side has descriptors in flight to this end; sure: the engine cannot think otherwise. */
static bool
in_flight(const struct end *e, bool sure)
{
	const struct side *s = e->side;
	uint64_t i;

	for (i = s->settled; i < s->made; i++) {
		const struct record *r = &s->record[i % HISTORY];

		/* Of one that the model has not followed, the message is not known yet. */
		if (r->end != e || (sure && r->done))
			continue;
		if (!sure || (i < s->put && s->w == NULL && r->refusals == 0 && !r->cancelled))
			return true;
	}
	return false;
}

/* All receives have come back, and each message that was sent for sure has met its receive. */
static void
judge_end(struct end *e)
{
	const struct end *o = e->other;

	if (e->came != e->posted)
		side_fail(e->side, NULL, "peer %u: %llu receives were posted, %llu came back",
			e->peer, (unsigned long long)e->posted, (unsigned long long)e->came);
	if (run.hazards.lost)
		return;
	if (e->n_taken != e->n_arrived)
		side_fail(e->side, NULL, "peer %u: a message arrived that was never sent", e->peer);
	if (o->n_heard != o->n_sent && o->sent[o->n_heard % RTE_DIM(o->sent)].sure)
		side_fail(o->side, NULL, "peer %u: a message was sent, and did not arrive",
			o->peer);
}

/* Closes one end. False: try again later. */
static bool
end_close(struct end *e)
{
	/* Descriptors that are refused, because the connection is down, are not in flight to it. */
	bool may_be_down = e->link->hurt || run.hazards.peer != 0;
	bool must = !may_be_down && in_flight(e, true);
	int ret;

	if (!e->open)
		return true;
	ret = gantry_peer_close(e->side->q, e->peer);
	if (must) {
		if (ret != -EBUSY)
			side_fail(e->side, NULL, "gantry_peer_close() of %u: %d, not -EBUSY",
				e->peer, ret);
		return false;
	}
	if (ret == -EBUSY && in_flight(e, false))
		return false;
	if (!carried_out(ret, "gantry_peer_close")) {
		/* "The peer takes no descriptors and keeps its number." */
		e->connected = false;
		e->link->hurt = true;
		tell(e);
		return false;
	}
	e->open = e->connected = false;
	e->link->hurt = true;
	tell(e);
	return true;
}

void
link_close(struct link *l)
{
	unsigned int i;

	l->hurt = true;
	for (i = 0; i < 2; i++)
		if (!end_close(&l->end[i]))
			return;
	/* Receives of both ends come back now, and what they had to say has been heard. */
	for (i = 0; i < 2; i++)
		side_take_receives(l->end[i].side);
	for (i = 0; i < 2; i++)
		judge_end(&l->end[i]);
}

/* True: a descriptor in flight names a peer that is not open. */
static bool
names_no_end(const struct side *s)
{
	uint64_t i;

	for (i = s->settled; i < s->made; i++) {
		const struct record *r = &s->record[i % HISTORY];

		if (!r->done && r->end == NULL && model_is_to_peer(&r->desc))
			return true;
	}
	return false;
}

void
link_change(struct link *l)
{
	unsigned int i;

	/* A number that is nobody's must not become the new connection's. */
	if (names_no_end(l->end[0].side) || names_no_end(l->end[1].side))
		return;
	for (i = 0; i < 2; i++) {
		if (!in_flight(&l->end[i], false))
			continue;
		if (in_flight(&l->end[i], true))
			end_close(&l->end[i]);
		return;
	}
	link_close(l);
	if (!l->end[0].open && !l->end[1].open)
		link_open(l);
}

/* ------------------------------------------------------------------ receives */

/* Mostly good ones; some that break a rule. */
static void
draw_receive(struct end *e, struct gantry_recv *recv, struct receive *r)
{
	*r = (struct receive){
		.cookie = check_random(&e->side->rng),
		.at = e->memory + e->posted % RECV_SLOTS * RECV_LEN,
	};
	*recv = (struct gantry_recv){
		.cookie = r->cookie,
		.addr = (uintptr_t)r->at,
		.len = RECV_LEN,
	};
	switch (check_random(&e->side->rng) % 128) {
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

void
end_post(struct end *e)
{
	struct gantry_recv recv;
	struct receive *r;
	int ret;

	if (!e->open || !e->connected || e->side->w != NULL || e->link->hurt)
		return;
	while (e->posted - e->came < RECV_DEPTH && e->posted - e->matched < RECV_SLOTS) {
		r = &e->recv[e->posted % RECV_SLOTS];
		draw_receive(e, &recv, r);
		ret = gantry_recv_post(e->side->q, e->peer, &recv, 1);
		if (ret != 1)
			side_fail(e->side, NULL, "gantry_recv_post() to %u: %d", e->peer, ret);
		e->posted++;
		e->side->recv_posted++;
		if (r->refusals == 0)
			e->other->credits++;
	}
}

/* Receive i of e has the message m. */
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

/* Messages and receives meet in their order. */
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
end_sent(struct end *e, const struct record *r, bool ran, bool sure)
{
	struct message *m = &e->sent[e->n_sent % RTE_DIM(e->sent)];

	if (!ran) {
		e->credits += !r->is_refused_there;
		return;
	}
	CHECK(e->n_sent - e->n_heard < RTE_DIM(e->sent));
	*m = (struct message){.sure = sure,
		.op = r->desc.op,
		.imm = r->desc.op == GANTRY_OP_SEND ? 0 : r->desc.imm,
		.len = r->desc.len};
	if (m->op != GANTRY_OP_WRITE_IMM)
		model_read(&e->side->model, &r->desc, m->bytes);
	e->n_sent++;
	match(e->other);
}

/* The end whose receive this is. Its number may be another one's by now. */
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
	struct end *e = end_of(s, c);
	const struct receive *r = &e->recv[e->came % RECV_SLOTS];
	uint32_t may = r->refusals;

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
	s->recv_done++;
	s->digest = (s->digest ^ c->status ^ c->len << 8) * UINT64_C(0x100000001b3);
	if (c->status == GANTRY_OK)
		e->arrived[e->n_arrived++ % RECV_SLOTS] = e->came;
	else if (r->refusals == 0)
		e->link->hurt = true;
	e->came++;
	match(e);
}

void
side_take_receives(struct side *s)
{
	struct gantry_recv_comp comp[16];
	uint16_t i, n;

	if (s->w != NULL)
		return;
	do {
		n = gantry_recv_poll(s->q, comp, RTE_DIM(comp));
		for (i = 0; i < n; i++)
			judge_receive(s, &comp[i]);
	} while (n == RTE_DIM(comp));
}
