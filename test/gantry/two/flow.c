/* SPDX-License-Identifier: BSD-3-Clause */
/* One queue: submits descriptors, judges completions, and updates the model. */
#include <stdarg.h>
#include <time.h>

#include "two.h"

/* Statuses of descriptors that were not carried out, not even in part. */
#define NOT_RUN MODEL_BIT(GANTRY_BAD_PEER)
/* Statuses of descriptors to a party that has died. */
#define LOST                                                                                       \
	(MODEL_BIT(GANTRY_UNREACHABLE) | MODEL_BIT(GANTRY_FLUSHED) | MODEL_BIT(GANTRY_BAD_PEER))
/* Statuses of descriptors of a connection that a refused descriptor has stopped. */
#define BEHIND (LOST | MODEL_BIT(GANTRY_QP_EVENT) | MODEL_BIT(GANTRY_REMOTE_ERROR))

uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

static struct record *
record_of(struct flow *f, uint64_t i)
{
	return &f->record[i % HISTORY];
}

/* ------------------------------------------------------------------ failures */

static void
print_record(const struct flow *f, uint64_t i)
{
	const struct record *r = &f->record[i % HISTORY];
	const struct gantry_desc *d = &r->desc;

	fprintf(stderr,
		"  %llu: op %u flags %u link %d layout %u reads %+lld writes %+lld len %llu imm 0x%x "
		"arg 0x%llx 0x%llx:",
		(unsigned long long)i, d->op, d->flags, r->link, d->layout,
		(long long)(r->read.addr - (uintptr_t)f->model.mem),
		(long long)(r->wrote.addr - (uintptr_t)f->model.mem), (unsigned long long)d->len,
		d->imm, (unsigned long long)d->arg[0], (unsigned long long)d->arg[1]);
	if (i >= f->put)
		fprintf(stderr, " drawn");
	else if (!r->done)
		fprintf(stderr, " in flight");
	else
		fprintf(stderr, " [%s]", gantry_status_name(r->status));
	fprintf(stderr, "%s%s\n", r->refused_there ? ", refused there" : "",
		r->after_death ? ", submitted after the death" : "");
}

void
flow_fail(const struct flow *f, const char *format, ...)
{
	const struct board *b = f->party->board;
	uint64_t i = f->settled > 16 ? f->settled - 16 : 0;
	va_list args;

	fflush(stdout);
	fprintf(stderr, "\nround with seed %llu (the %u.), party %u, queue %u, dead %u: ",
		(unsigned long long)b->seed, f->party->round, f->party->n, f->i, b->dead);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nhurt links:");
	for (unsigned int k = 0; k < LINKS; k++)
		if (link_is_hurt(f, k))
			fprintf(stderr, " %u", k);
	fprintf(stderr, "\nthe last operations of the queue, addresses from its arena on:\n");
	for (; i < f->made && i < f->settled + 16; i++)
		print_record(f, i);
	fflush(NULL);
	_exit(1);
}

/* ------------------------------------------------------------------ drawing */

static bool
meet(struct model_range a, struct model_range b)
{
	return a.addr < b.addr + b.len && b.addr < a.addr + a.len;
}

/* True if a descriptor in flight uses the same memory in a conflicting way. */
static bool
conflicts(struct flow *f, const struct record *r)
{
	uint64_t i;

	for (i = f->settled; i < f->made; i++) {
		const struct record *o = record_of(f, i);

		if (meet(r->wrote, o->wrote) || meet(r->wrote, o->read) || meet(r->read, o->wrote))
			return true;
	}
	return false;
}

static void
draw_one(struct flow *f)
{
	struct record *r = record_of(f, f->made);

	deal(f, r);
	r->read = model_span(&f->model, &r->desc, false);
	if (!r->refused_there)
		r->wrote = model_span(&f->model, &r->desc, true);
	if (model_takes_receive(r->desc.op))
		r->sent = message_note(f, r->link, &r->desc);
	if (r->sent == NULL && model_takes_receive(r->desc.op)) {
		memset(r, 0, sizeof(*r));
		r->link = -1;
		r->desc.op = GANTRY_OP_NOP;
	}
	if (r->sent != NULL && r->link == DC_LINK)
		r->desc.imm = r->sent->imm;
	if (conflicts(f, r))
		r->desc.flags |= GANTRY_DESC_FENCE;
	if (r->refused_there)
		link_of(f, r->link)->hurt[f->party->n] = true;
	r->desc.cookie = f->made++ * 0x10001 + 7;
}

void
flow_draw(struct flow *f, unsigned int n)
{
	for (; n != 0 && f->made < f->goal && f->made < f->settled + WINDOW; n--)
		draw_one(f);
}

/* ------------------------------------------------------------------ judging */

/* The statuses that a descriptor may complete with now. */
static uint32_t
allowed(const struct flow *f, const struct record *r, uint64_t i)
{
	uint32_t a = MODEL_BIT(GANTRY_OK);

	if (r->link < 0)
		return a;
	if (r->refused_there)
		a = MODEL_BIT(GANTRY_REMOTE_ACCESS) | MODEL_BIT(GANTRY_REMOTE_ERROR);
	if (r->after_death || f->end[r->link].failed)
		a &= ~MODEL_BIT(GANTRY_OK);
	if (f->party->board->dead != 0)
		a |= LOST;
	if (r->link == DC_LINK)
		return i < f->dc_failed ? a | MODEL_BIT(GANTRY_FLUSHED) : a;
	if (link_is_hurt(f, r->link))
		a |= BEHIND;
	/* These two statuses mean that an earlier descriptor of the connection has failed. */
	else if (!f->end[r->link].failed)
		a &= ~(MODEL_BIT(GANTRY_FLUSHED) | MODEL_BIT(GANTRY_BAD_PEER));
	return a;
}

static void
note_failure(struct flow *f, const struct record *r)
{
	const uint64_t ns = now_ns() - r->put_ns;

	if (r->status == GANTRY_UNREACHABLE && ns < RETRIES_NS)
		flow_fail(f, "an error comes %llu us after the descriptor, before all retries",
			(unsigned long long)ns / 1000);
	if (r->link != DC_LINK)
		f->end[r->link].failed = true;
	else
		f->dc_failed = f->put;
}

/* Returns the oldest descriptor of the same connection that has not completed. */
static uint64_t
next_of(struct flow *f, const struct record *r)
{
	uint64_t i = f->settled;

	while (record_of(f, i)->done || (f->i == 1 && record_of(f, i)->link != r->link))
		i++;
	return i;
}

static void
judge(struct flow *f, const struct gantry_comp *c)
{
	uint64_t i = (c->cookie - 7) / 0x10001;
	struct record *r = record_of(f, i);
	struct board *b = f->party->board;
	bool atomic = c->op == GANTRY_OP_COMPARE_SWAP || c->op == GANTRY_OP_FETCH_ADD;

	if (i * 0x10001 + 7 != c->cookie || i < f->settled || i >= f->put || r->done)
		flow_fail(f, "a completion with cookie 0x%llx: nothing in flight has it",
			(unsigned long long)c->cookie);
	if (next_of(f, r) != i)
		flow_fail(f, "%llu came before %llu", (unsigned long long)i,
			(unsigned long long)next_of(f, r));
	if (c->status >= GANTRY_STATUS_MAX || (allowed(f, r, i) & MODEL_BIT(c->status)) == 0)
		flow_fail(f, "%llu came back with [%s], syndrome 0x%02x", (unsigned long long)i,
			gantry_status_name(c->status), c->syndrome);
	if (c->op != r->desc.op || c->len != r->desc.len || (!atomic && c->result != 0))
		flow_fail(f, "%llu: a field of its completion is wrong", (unsigned long long)i);
	r->done = true;
	r->status = c->status;
	r->result = c->result;
	f->got++;
	b->by_status[c->status]++;
	if (c->status != GANTRY_OK) {
		note_failure(f, r);
		return;
	}
	b->by_op[c->op]++;
	b->bytes += c->len;
	if (r->sent != NULL)
		r->sent->ok = true;
}

/* The model processes completed descriptors, in the order of submission. */
static void
settle(struct flow *f)
{
	for (; f->settled < f->put && record_of(f, f->settled)->done; f->settled++) {
		const struct record *r = record_of(f, f->settled);

		f->party->board->settled[f->party->n]++;
		if (r->refused_there || (NOT_RUN & MODEL_BIT(r->status)) != 0)
			continue;
		if (!model_write(&f->model, &r->desc, r->status == GANTRY_OK, r->result))
			flow_fail(f, "the result of %llu is 0x%llx", (unsigned long long)f->settled,
				(unsigned long long)r->result);
	}
}

static void
put(struct flow *f)
{
	struct gantry_desc desc[32];
	unsigned int n = 0, i;

	for (; n < RTE_DIM(desc) && f->put + n < f->made; n++) {
		struct record *r = record_of(f, f->put + n);

		desc[n] = r->desc;
		r->put_ns = now_ns();
		r->after_death = f->party->board->dead == 2;
	}
	i = gantry_submit(f->q, desc, n);
	f->put += i;
}

void
flow_turn(struct flow *f)
{
	struct gantry_comp comp[64];
	unsigned int i, n;

	put(f);
	n = env_poll(f->q, comp, RTE_DIM(comp));
	for (i = 0; i < n; i++)
		judge(f, &comp[i]);
	settle(f);
	if (gantry_in_flight(f->q) != f->put - f->got)
		flow_fail(f, "gantry_in_flight() is %u, not %llu", gantry_in_flight(f->q),
			(unsigned long long)(f->put - f->got));
}

void
flow_judge(struct flow *f)
{
	struct model_range byte = {0, 1};
	uint64_t at, i;

	if (model_judge(&f->model, &at))
		return;
	byte.addr = (uintptr_t)f->model.mem + at;
	fprintf(stderr, "\nthese may have written byte %llu:\n", (unsigned long long)at);
	for (i = f->made > HISTORY ? f->made - HISTORY : 0; i < f->made; i++)
		if (meet(record_of(f, i)->wrote, byte))
			print_record(f, i);
	flow_fail(f, "byte %llu of the arena is 0x%02x, not 0x%02x (of %u values)",
		(unsigned long long)at, model_now(&f->model, at), f->model.byte[at].value[0],
		f->model.byte[at].n);
}
