/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DC peers and DC targets: opens and closes them, and judges the messages between them.
 *
 * Each queue has a target and two DC peers: the first DC peer reaches the queue's own target, the
 * second DC peer reaches the target of the next queue. So two initiators send to each target.
 * Receives of a target complete in any order, so messages and receives are matched at the end of a
 * round: each receive that has data needs a message, and each message that was certainly sent needs
 * a receive.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

/* Largest number of messages that a target gets in one round. */
#define LOG        512
#define POSTED_MAX (LOG - 2 * RECV_DEPTH)

/* The contents of a receive that got a message. */
struct arrival {
	uint8_t op;
	uint32_t imm;
	uint64_t len;
	uint8_t bytes[RECV_LEN];
};

struct target {
	struct side *side;
	uint16_t peer;
	struct gantry_addr addr;
	bool open;
	bool hurt;     /* the target will be closed and opened again, or is being closed */
	bool may_fail; /* a message was drawn that this target refuses */
	uint8_t *memory;
	struct receive recv[RECV_SLOTS];
	uint64_t posted, came;
	unsigned int n_round; /* receives posted in this round */
	uint64_t credits;     /* receives for which no message is drawn yet */
	struct message sent[LOG];
	struct arrival arrived[LOG];
	unsigned int n_sent, n_arrived;
};

/*
 * Short timeouts and few retries: messages are lost only by faults and by targets that are closed.
 */
static struct gantry_path
path(void)
{
	return (struct gantry_path){.mask = GANTRY_PATH_TIMEOUT | GANTRY_PATH_RETRIES,
		.timeout = run.pumped ? 4 : 8,
		.retries = 2};
}

/* ------------------------------------------------------------------ targets and peers */

static void
target_open(struct target *t)
{
	const struct gantry_peer_conf conf = {.transport = GANTRY_TRANSPORT_DC_TARGET,
		.recv_depth = RECV_DEPTH,
		.path = path()};

	if (!carried_out(gantry_peer_open(t->side->q, &conf, &t->peer, &t->addr),
		    "gantry_peer_open of a target"))
		return;
	CHECK(t->peer < MODEL_PEERS);
	t->open = true;
	t->hurt = t->may_fail = false;
	t->credits = t->n_sent = t->n_arrived = t->n_round = 0;
}

/*
 * Marks the target, and all links whose DC peers reach it: their descriptors may fail from now on.
 */
static void
hurt(struct target *t)
{
	unsigned int i;

	t->hurt = true;
	for (i = 0; i < RTE_DIM(run.dc_link); i++)
		if (run.dc_link[i].end[0].target == t)
			run.dc_link[i].hurt = true;
}

/*
 * True if a descriptor in flight uses the target's peer number, which breaks a rule of
 * gantry_desc.h.
 */
static bool
is_named(const struct target *t)
{
	const struct side *s = t->side;
	uint64_t i;

	for (i = s->settled; i < s->made; i++)
		if (s->record[i % HISTORY].desc.peer == t->peer)
			return true;
	return false;
}

/*
 * Closes a target. Initiators may still be sending to the target. Its posted receives are flushed.
 */
static void
target_close(struct target *t)
{
	int ret;

	if (!t->open)
		return;
	hurt(t);
	t->credits = 0;
	ret = gantry_peer_close(t->side->q, t->peer);
	if ((ret == -EBUSY && is_named(t)) || !carried_out(ret, "gantry_peer_close of a target"))
		return;
	t->open = false;
	side_take_until(t->side, &t->came, &t->posted);
	if (t->came != t->posted)
		side_fail(t->side, NULL, "target %u: %llu receives were posted, %llu came back",
			t->peer, (unsigned long long)t->posted, (unsigned long long)t->came);
}

static void
peer_open(struct link *l)
{
	struct end *e = &l->end[0];
	const struct gantry_peer_conf conf = {.transport = GANTRY_TRANSPORT_DC,
		.depth = 64,
		.path = path()};

	if (!e->target->open || e->target->hurt)
		return;
	if (!e->open && !carried_out(gantry_peer_open(e->side->q, &conf, &e->peer, NULL),
				"gantry_peer_open of a DC peer"))
		return;
	CHECK(e->peer < MODEL_PEERS);
	e->open = true;
	end_tell(e);
	if (!carried_out(gantry_peer_connect(e->side->q, e->peer, &e->target->addr),
		    "gantry_peer_connect of a DC peer"))
		return;
	e->connected = true;
	l->hurt = false;
	end_tell(e);
}

void
dc_init(void)
{
	unsigned int i;

	run.target = calloc(run.n_sides, sizeof(*run.target));
	CHECK(run.target != NULL);
	for (i = 0; i < run.n_sides; i++) {
		run.target[i].side = &run.side[i];
		run.target[i].hurt = true;
		run.target[i].memory = (uint8_t *)run.recv_range.addr +
				       (2 * RTE_DIM(run.link) + i) * RECV_SLOTS * RECV_LEN;
	}
	for (i = 0; i < 2 * run.n_sides; i++) {
		struct link *l = &run.dc_link[i];
		struct side *s = &run.side[i / 2];

		*l = (struct link){.hurt = true};
		l->end[0].side = s;
		l->end[0].link = l;
		l->end[0].target = &run.target[(i / 2 + i % 2) % run.n_sides];
		CHECK(s->n_ends < SIDE_ENDS);
		s->end[s->n_ends++] = &l->end[0];
	}
}

void
dc_open(void)
{
	unsigned int i;

	for (i = 0; i < run.n_sides; i++)
		if (!run.target[i].open)
			target_open(&run.target[i]);
	for (i = 0; i < 2 * run.n_sides; i++)
		if (!run.dc_link[i].end[0].connected)
			peer_open(&run.dc_link[i]);
}

void
dc_close(bool all)
{
	unsigned int i;

	for (i = 0; i < run.n_sides; i++)
		if (all || run.target[i].hurt)
			target_close(&run.target[i]);
	for (i = 0; i < 2 * run.n_sides; i++)
		if (all || run.dc_link[i].hurt)
			end_close(&run.dc_link[i].end[0]);
}

void
dc_free(void)
{
	free(run.target);
}

bool
dc_is_whole(void)
{
	unsigned int i;

	for (i = 0; i < run.n_sides; i++)
		if (run.target[i].hurt)
			return false;
	for (i = 0; i < 2 * run.n_sides; i++)
		if (run.dc_link[i].hurt)
			return false;
	return true;
}

void
dc_change(void)
{
	struct link *l = &run.dc_link[chance(2 * run.n_sides)];

	if (chance(8) == 0) {
		target_close(l->end[0].target);
		return;
	}
	if (side_names_no_end(l->end[0].side))
		return;
	if (end_in_flight(&l->end[0], false) && !end_in_flight(&l->end[0], true))
		return;
	if (end_close(&l->end[0]))
		peer_open(l);
}

bool
dc_is_open(const struct side *s, uint16_t peer)
{
	return run.target[s->n].open && run.target[s->n].peer == peer;
}

/* ------------------------------------------------------------------ receives */

void
dc_post(struct side *s)
{
	struct target *t = &run.target[s->n];
	struct gantry_recv recv;
	unsigned int i;

	if (!t->open || t->hurt)
		return;
	for (i = 0; t->posted - t->came < RECV_DEPTH && t->n_round < POSTED_MAX; i++) {
		struct receive *r = &t->recv[i];

		if (r->out)
			continue;
		draw_receive(s, t->memory + i * RECV_LEN, &recv, r);
		if (!side_post(s, t->peer, &recv))
			break;
		r->out = true;
		t->posted++;
		t->n_round++;
		t->credits += r->refusals == 0;
	}
}

static struct receive *
find_receive(struct target *t, uint64_t cookie)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(t->recv); i++)
		if (t->recv[i].out && t->recv[i].cookie == cookie)
			return &t->recv[i];
	return NULL;
}

bool
dc_take_back(struct side *s, uint64_t cookie)
{
	struct target *t = &run.target[s->n];
	struct receive *r = find_receive(t, cookie);

	if (r == NULL)
		return false;
	r->out = false;
	t->posted--;
	return true;
}

bool
dc_judge_receive(struct side *s, const struct gantry_recv_comp *c)
{
	struct target *t = &run.target[s->n];
	struct receive *r = find_receive(t, c->cookie);
	struct arrival *a;
	uint32_t may;

	if (r == NULL)
		return false;
	may = r->refusals != 0 ? r->refusals : MODEL_BIT(GANTRY_OK);
	if (t->hurt)
		may |= MODEL_BIT(GANTRY_FLUSHED) | MODEL_BIT(GANTRY_BAD_PEER);
	if (t->may_fail || run.hazards.recv)
		may |= MODEL_BIT(GANTRY_LOCAL_ERROR) | MODEL_BIT(GANTRY_FLUSHED);
	if (run.hazards.fatal)
		may |= MODEL_BIT(GANTRY_DEVICE_LOST) | MODEL_BIT(GANTRY_BAD_PEER);
	if (c->peer != t->peer || c->zero != 0 || c->zero2 != 0 ||
		(may & MODEL_BIT(c->status)) == 0)
		side_fail(s, NULL, "a receive of target %u: [%s], syndrome 0x%02x", c->peer,
			gantry_status_name(c->status), c->syndrome);
	s->digest = (s->digest ^ c->status ^ c->len << 8) * UINT64_C(0x100000001b3);
	r->out = false;
	t->came++;
	if (c->status != GANTRY_OK)
		return true;
	CHECK(t->n_arrived < LOG && (c->op == GANTRY_OP_WRITE_IMM || c->len <= RECV_LEN));
	a = &t->arrived[t->n_arrived++];
	*a = (struct arrival){.op = c->op, .imm = c->imm, .len = c->len};
	if (c->op != GANTRY_OP_WRITE_IMM)
		memcpy(a->bytes, r->at, c->len);
	return true;
}

uint64_t *
dc_credits(struct target *t)
{
	return &t->credits;
}

void
dc_sent(struct end *e, const struct record *r, bool sure)
{
	struct target *t = e->target;

	CHECK(t->n_sent < LOG);
	message_of(e->side, r, sure, &t->sent[t->n_sent++]);
}

/* ------------------------------------------------------------------ pairs */

/*
 * Pairs of an arrival and a message: for each arrival the index of its message, for each message
 * the index of its arrival; -1: not paired.
 */
struct pairs {
	const struct target *t;
	int of_message[LOG], of_arrival[LOG];
	bool seen[LOG];
};

static bool
may_be_pair(const struct target *t, unsigned int message, unsigned int arrival)
{
	const struct message *m = &t->sent[message];
	const struct arrival *a = &t->arrived[arrival];
	uint64_t at;

	return m->op == a->op && m->len == a->len && m->imm == a->imm &&
	       (m->op == GANTRY_OP_WRITE_IMM || model_bytes_are(a->bytes, m->bytes, m->len, &at));
}

/*
 * Finds a message for an arrival. A message that is paired already may be taken if its arrival can
 * be paired with another message.
 */
static bool
pair_arrival(struct pairs *p, unsigned int arrival)
{
	unsigned int i;

	for (i = 0; i < p->t->n_sent; i++) {
		if (p->seen[i] || !may_be_pair(p->t, i, arrival))
			continue;
		p->seen[i] = true;
		if (p->of_message[i] >= 0 && !pair_arrival(p, p->of_message[i]))
			continue;
		p->of_message[i] = arrival;
		return true;
	}
	return false;
}

static bool
pair_message(struct pairs *p, unsigned int message)
{
	unsigned int i;

	for (i = 0; i < p->t->n_arrived; i++) {
		if (p->seen[i] || !may_be_pair(p->t, message, i))
			continue;
		p->seen[i] = true;
		if (p->of_arrival[i] >= 0 && !pair_message(p, p->of_arrival[i]))
			continue;
		p->of_arrival[i] = message;
		return true;
	}
	return false;
}

/*
 * If all arrivals can be paired, and all messages that were certainly sent can be paired, then both
 * can be paired at the same time (Mendelsohn and Dulmage).
 */
static void
judge_pairs(const struct target *t)
{
	static struct pairs p;
	unsigned int i;

	p.t = t;
	memset(p.of_message, -1, sizeof(p.of_message));
	memset(p.of_arrival, -1, sizeof(p.of_arrival));
	for (i = 0; i < t->n_arrived; i++) {
		memset(p.seen, 0, sizeof(p.seen));
		if (!pair_arrival(&p, i))
			side_fail(t->side, NULL,
				"target %u: a message arrived that was never sent: op %u len %llu "
				"imm 0x%x",
				t->peer, t->arrived[i].op, (unsigned long long)t->arrived[i].len,
				t->arrived[i].imm);
	}
	/*
	 * While a target is being closed, a message may arrive although its receive is flushed. So
	 * a message without a receive is allowed. With SOFTHCA_THREADS=0 it is not allowed, because
	 * the adapter does not run while the target is being closed.
	 */
	for (i = 0; i < t->n_sent && (t->open || run.pumped); i++) {
		memset(p.seen, 0, sizeof(p.seen));
		/*
		 * Messages that reach a target while the target is being closed are lost when its
		 * CQ is destroyed.
		 */
		if (t->sent[i].sure && !t->hurt && !pair_message(&p, i))
			side_fail(t->side, NULL,
				"target %u: a message was sent, and did not arrive: op %u len %llu "
				"imm 0x%x",
				t->peer, t->sent[i].op, (unsigned long long)t->sent[i].len,
				t->sent[i].imm);
	}
	run.messages += t->n_arrived;
}

/*
 * Takes all completions of receives that the device has written. A stopped worker moves as many of
 * these completions to its ring as the ring has free entries.
 */
static void
take_all(struct side *s)
{
	bool runs = s->w != NULL && !s->stopped;
	uint64_t before;

	do {
		before = s->recv_done;
		if (s->w != NULL && s->stopped)
			CHECK_EQ(gantry_worker_start(s->w), 0);
		if (s->w != NULL)
			CHECK_EQ(gantry_worker_stop(s->w), 0);
		s->stopped = s->w != NULL;
		side_take_receives(s);
	} while (s->recv_done != before);
	if (runs) {
		CHECK_EQ(gantry_worker_start(s->w), 0);
		s->stopped = false;
	}
}

void
dc_judge(void)
{
	unsigned int i, k;

	for (i = 0; i < run.n_sides; i++)
		take_all(&run.side[i]);
	for (i = 0; i < run.n_sides; i++) {
		struct target *t = &run.target[i];

		if (!run.hazards.lost && !run.hazards.fatal)
			judge_pairs(t);
		/*
		 * These faults may fail a receive later, or may use up a receive of which the test
		 * learns nothing. So the target must be closed.
		 */
		if (run.hazards.lost || run.hazards.recv || run.hazards.late)
			hurt(t);
		t->may_fail = false;
		t->credits = t->n_sent = t->n_arrived = t->n_round = 0;
		for (k = 0; k < RTE_DIM(t->recv); k++)
			t->credits += t->recv[k].out && t->recv[k].refusals == 0;
	}
}

/* ------------------------------------------------------------------ descriptors */

void
dc_will_fail(struct end *e, const struct record *r)
{
	e->target->may_fail |= r->is_message;
}

void
dc_failed(struct side *s)
{
	s->dc_failed = s->put;
}

uint32_t
dc_allowed(const struct side *s, const struct record *r)
{
	uint64_t i = (r->desc.cookie - 7) / 0x10001;
	uint32_t a = run.hazards.peer | run.hazards.dc;

	if (r->is_refused_there || r->is_lost_there)
		a |= MODEL_BIT(GANTRY_REMOTE_ACCESS) | MODEL_BIT(GANTRY_REMOTE_ERROR);
	if (!r->is_refused_there)
		a |= MODEL_BIT(GANTRY_OK);
	if (r->end->link->hurt || run.hazards.recv)
		a |= MODEL_BIT(GANTRY_UNREACHABLE) | MODEL_BIT(GANTRY_REMOTE_ERROR);
	/* A target that the device refused to destroy still exists, but has no receives. */
	if (r->end->link->hurt && run.hazards.refuse)
		a |= MODEL_BIT(GANTRY_TIMED_OUT);
	/*
	 * A failed descriptor stopped the initiator, which flushes the descriptors that were
	 * submitted until then.
	 */
	if (i < s->dc_failed)
		a |= MODEL_BIT(GANTRY_FLUSHED);
	/*
	 * The layout's key is configured through the queue's connection to itself, which may have
	 * failed.
	 */
	if (r->desc.layout != 0)
		a |= run.hazards.own;
	return a;
}
