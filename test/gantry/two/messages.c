/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of a queue, and receives for the messages of the other party. Before the sender sends a
 * message, it stores a description of the message in shared memory. When a message arrives, the
 * receiver compares it with this description. So the receiver can also check messages of a party
 * that has died.
 */
#include "two.h"

struct link *
link_of(const struct flow *f, unsigned int i)
{
	return &f->party->board->link[f->i][i];
}

bool
link_is_hurt(const struct flow *f, unsigned int i)
{
	const struct link *l = link_of(f, i);

	return l->hurt[f->party->n] || (i != DC_LINK && l->hurt[!f->party->n]);
}

struct sent *
message_note(struct flow *f, unsigned int link, const struct gantry_desc *d)
{
	struct way *w = &link_of(f, link)->way[f->party->n];
	struct sent *s = &w->sent[w->n_sent];

	if (w->n_sent == MESSAGES_MAX)
		return NULL;
	s->op = d->op;
	s->ok = s->heard = false;
	s->imm = link == DC_LINK ? w->n_sent : d->imm;
	s->at = d->len == 0 ? 0 : d->src - f->model.region[POOL].addr;
	s->len = d->len;
	w->n_sent++;
	return s;
}

void
receives_post(struct flow *f, bool all)
{
	unsigned int i, k;

	for (i = 0; i < LINKS; i++) {
		struct end *e = &f->end[i];

		while (e->posted - e->came < RECV_DEPTH && (all || check_random(&f->rng) % 2)) {
			struct gantry_recv recv = {.len = RECV_LEN};

			for (k = e->posted % RECV_DEPTH; e->is_posted[k];)
				k = (k + 1) % RECV_DEPTH;
			recv.cookie = k;
			recv.addr = (uintptr_t)(e->memory + k * (size_t)RECV_LEN);
			if (gantry_recv_post(f->q, e->target, &recv, 1) != 1)
				flow_fail(f, "gantry_recv_post() to %u", e->target);
			e->is_posted[k] = true;
			e->posted++;
		}
	}
}

static void
judge_message(struct flow *f, unsigned int link, const struct gantry_recv_comp *c)
{
	const unsigned int other = !f->party->n;
	struct way *w = &link_of(f, link)->way[other];
	unsigned int i = link == DC_LINK ? c->imm : w->n_heard;
	const uint8_t *pool = f->party->arena[other][f->i] + 2 * HALF_LEN;
	struct sent *s = &w->sent[i % MESSAGES_MAX];

	if (i >= w->n_sent || s->heard)
		flow_fail(f, "link %u: a message comes that was not sent, or comes twice: %u of %u",
			link, i, w->n_sent);
	if (c->op != s->op || c->len != s->len || (s->op != GANTRY_OP_SEND && c->imm != s->imm))
		flow_fail(f,
			"link %u, message %u: op %u len %llu imm 0x%x, but sent was op %u len %u "
			"imm 0x%x",
			link, i, c->op, (unsigned long long)c->len, c->imm, s->op, s->len, s->imm);
	if (s->op != GANTRY_OP_WRITE_IMM &&
		memcmp(f->end[link].memory + c->cookie * RECV_LEN, pool + s->at, s->len) != 0)
		flow_fail(f, "link %u, message %u: its bytes are wrong", link, i);
	s->heard = true;
	w->n_heard++;
	f->party->board->heard++;
}

static void
judge_receive(struct flow *f, const struct gantry_recv_comp *c)
{
	unsigned int link = 0;
	struct end *e;

	while (link < LINKS && f->end[link].target != c->peer)
		link++;
	if (link == LINKS)
		flow_fail(f, "a receive of peer %u", c->peer);
	e = &f->end[link];
	if (c->cookie >= RECV_DEPTH || !e->is_posted[c->cookie] ||
		(link != DC_LINK && c->cookie != e->came % RECV_DEPTH))
		flow_fail(f, "link %u: receive %llu comes, and %llu came before it", link,
			(unsigned long long)c->cookie, (unsigned long long)e->came);
	e->is_posted[c->cookie] = false;
	e->came++;
	if (c->status == GANTRY_OK)
		judge_message(f, link, c);
	else if ((c->status != GANTRY_FLUSHED && c->status != GANTRY_BAD_PEER) ||
		 (f->party->connected && f->party->board->dead == 0 && !link_is_hurt(f, link)))
		flow_fail(f, "link %u: a receive ends with [%s]", link,
			gantry_status_name(c->status));
}

void
receives_take(struct flow *f)
{
	struct gantry_recv_comp comp[32];
	unsigned int i, n = gantry_recv_poll(f->q, comp, RTE_DIM(comp));

	for (i = 0; i < n; i++)
		judge_receive(f, &comp[i]);
}

bool
receives_are_there(const struct flow *f)
{
	unsigned int i, k;

	for (i = 0; i < LINKS; i++) {
		const struct way *w = &link_of(f, i)->way[!f->party->n];

		for (k = 0; k < w->n_sent; k++)
			if (w->sent[k].ok && !w->sent[k].heard)
				return false;
	}
	return true;
}

void
messages_forget(struct flow *f)
{
	const unsigned int me = f->party->n;
	unsigned int i;

	for (i = 0; i < LINKS; i++) {
		struct link *l = link_of(f, i);

		l->hurt[me] = false;
		l->way[me].n_sent = 0;
		l->way[!me].n_heard = 0;
	}
}
