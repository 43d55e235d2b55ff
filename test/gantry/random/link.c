/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections: opens and closes them, and judges their receives. */
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

bool
carried_out(int ret, const char *call)
{
	CHECK(ret == 0 || run.hazards.refuse, "%s: %d", call, ret);
	run.refused_calls += ret != 0;
	return ret == 0;
}

void
end_tell(struct end *e)
{
	e->side->model.peer[e->peer] =
		(struct model_peer){.open = e->open, .connected = e->connected};
	side_changed(e->side);
}

void
link_open(struct link *l)
{
	/* Short timeouts and few retries: messages are lost only by faults. */
	const struct gantry_path path = {.mask = GANTRY_PATH_TIMEOUT | GANTRY_PATH_RETRIES,
		.timeout = run.pumped ? 4 : 8,
		.retries = 2};
	struct gantry_addr addr[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct end *e = &l->end[i];
		const struct gantry_peer_conf conf = {
			.depth = 32 << i,
			.recv_depth = RECV_DEPTH,
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
		end_tell(e);
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
	end_tell(&l->end[0]);
	end_tell(&l->end[1]);
}

bool
end_in_flight(const struct end *e, bool sure)
{
	const struct side *s = e->side;
	uint64_t i;

	for (i = s->settled; i < s->made; i++) {
		const struct record *r = &s->record[i % HISTORY];

		/* If the model has not yet processed the descriptor, its message is not known. */
		if (r->end != e || (sure && r->done))
			continue;
		if (!sure || (i < s->put && s->w == NULL && r->refusals == 0 && !r->cancelled))
			return true;
	}
	return false;
}

/*
 * Checks that all receives have completed, and that each message that was certainly sent has its
 * receive.
 */
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

bool
end_close(struct end *e)
{
	/*
	 * If the connection may be down, its descriptors may have been refused. Then they are not
	 * in flight.
	 */
	bool may_be_down = e->link->hurt || run.hazards.peer != 0;
	bool must = !may_be_down && end_in_flight(e, true);
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
	if (ret == -EBUSY && end_in_flight(e, false))
		return false;
	if (!carried_out(ret, "gantry_peer_close")) {
		/* gantry.h: "The peer takes no descriptors and keeps its number." */
		e->connected = false;
		e->link->hurt = true;
		end_tell(e);
		return false;
	}
	e->open = e->connected = false;
	e->link->hurt = true;
	end_tell(e);
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
	/*
	 * The receives of both ends complete now: takes their completions. All completions that the
	 * device wrote were taken before.
	 */
	for (i = 0; i < 2; i++)
		side_take_until(l->end[i].side, &l->end[i].came, &l->end[i].posted);
	for (i = 0; i < 2; i++)
		judge_end(&l->end[i]);
}

bool
side_names_no_end(const struct side *s)
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

	/*
	 * A descriptor in flight may name a peer number that is not in use. A new connection must
	 * not get this number.
	 */
	if (side_names_no_end(l->end[0].side) || side_names_no_end(l->end[1].side))
		return;
	for (i = 0; i < 2; i++) {
		if (!end_in_flight(&l->end[i], false))
			continue;
		if (end_in_flight(&l->end[i], true))
			end_close(&l->end[i]);
		return;
	}
	link_close(l);
	if (!l->end[0].open && !l->end[1].open)
		link_open(l);
}
