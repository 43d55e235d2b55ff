/* SPDX-License-Identifier: BSD-3-Clause */
/* One queue: submits descriptors, judges completions, and updates the model. */
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>

#include <rte_cycles.h>

#include "random.h"

/* Statuses of descriptors that were not executed, not even in part. */
#define NOT_RUN                                                                                    \
	(MODEL_BIT(GANTRY_BAD_OP) | MODEL_BIT(GANTRY_BAD_FIELD) | MODEL_BIT(GANTRY_BAD_CARRIER) |  \
		MODEL_BIT(GANTRY_BAD_LAYOUT) | MODEL_BIT(GANTRY_BAD_LENGTH) |                      \
		MODEL_BIT(GANTRY_BAD_ADDRESS) | MODEL_BIT(GANTRY_OVERLAP) |                        \
		MODEL_BIT(GANTRY_NOT_REGISTERED) | MODEL_BIT(GANTRY_NO_RESOURCES) |                \
		MODEL_BIT(GANTRY_READ_ONLY) | MODEL_BIT(GANTRY_BAD_PEER) |                         \
		MODEL_BIT(GANTRY_CANCELLED))
/* Statuses that a descriptor to a peer may have because another descriptor failed. */
#define BEHIND                                                                                     \
	(MODEL_BIT(GANTRY_FLUSHED) | MODEL_BIT(GANTRY_BAD_PEER) | MODEL_BIT(GANTRY_QP_EVENT) |     \
		MODEL_BIT(GANTRY_UNREACHABLE))

static struct record *
record_of(struct side *s, uint64_t i)
{
	return &s->record[i % HISTORY];
}

/* The cookie of the control thread's NOPs, which no other descriptor has. */
#define OWN_NOP UINT64_MAX

/* Returns the cookie of descriptor number i. */
static uint64_t
cookie_of(uint64_t i)
{
	return i * 0x10001 + 7;
}

static bool
meet(struct model_range a, struct model_range b)
{
	return a.addr < b.addr + b.len && b.addr < a.addr + a.len;
}

/* ------------------------------------------------------------------ failures */

static void
print_statuses(uint32_t statuses)
{
	unsigned int i;

	for (i = 0; i < GANTRY_STATUS_MAX; i++)
		if ((statuses & MODEL_BIT(i)) != 0)
			fprintf(stderr, " [%s]", gantry_status_name(i));
}

static void
print_record(const struct side *s, uint64_t i)
{
	const struct record *r = &s->record[i % HISTORY];
	const struct gantry_desc *d = &r->desc;
	uint64_t base = (uintptr_t)s->model.mem;

	fprintf(stderr,
		"  %llu: op %u flags %u peer %u layout %u src %+lld dst %+lld len %llu imm 0x%x arg "
		"0x%llx 0x%llx:",
		(unsigned long long)i, d->op, d->flags, d->peer, d->layout,
		(long long)(d->src - base), (long long)(d->dst - base), (unsigned long long)d->len,
		d->imm, (unsigned long long)d->arg[0], (unsigned long long)d->arg[1]);
	if (i >= s->put)
		fprintf(stderr, " drawn");
	else if (!r->done)
		fprintf(stderr, " in flight");
	else
		fprintf(stderr, " %s", gantry_status_name(r->status));
	fprintf(stderr, "; may be refused:");
	print_statuses(r->refusals);
	fprintf(stderr, "%s%s%s\n", r->may_run ? " may run" : "",
		r->is_refused_there ? ", refused there" : "", r->cancelled ? ", cancelled" : "");
}

/* Prints the latest operations that may have written a byte of the arena. */
static void
print_writers(const struct side *s, uint64_t at)
{
	const struct model_range byte = {(uintptr_t)s->model.mem + at, 1};
	uint64_t i;

	fprintf(stderr, "\nthese may have written byte %llu:\n", (unsigned long long)at);
	for (i = s->made > HISTORY ? s->made - HISTORY : 0; i < s->made; i++)
		if (meet(s->record[i % HISTORY].wrote, byte))
			print_record(s, i);
}

void
side_fail(const struct side *s, const struct record *r, const char *format, ...)
{
	uint64_t first = s->got > 24 ? s->got - 24 : 0, last = RTE_MIN(s->got + 8, s->made), i;
	va_list args;

	fflush(stdout);
	if (r != NULL) {
		i = (r->desc.cookie - 7) / 0x10001;
		first = RTE_MIN(first, i);
		last = RTE_MAX(last, i + 1);
	}
	fprintf(stderr,
		"\nseed %llu, life %llu, round %llu, queue %s: ", (unsigned long long)run.seed,
		(unsigned long long)run.lives, (unsigned long long)run.rounds, s->name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nstatuses that faults allow for copies:");
	print_statuses(run.hazards.own);
	fprintf(stderr, "\nand for peers:");
	print_statuses(run.hazards.peer);
	for (i = 0; i < run.n_armed; i++)
		fprintf(stderr, "\nfault: %s", run.armed[i]);
	fprintf(stderr, "\nthe last operations of the queue, addresses from its arena on:\n");
	for (i = s->made > first + HISTORY ? s->made - HISTORY : first; i < last; i++)
		print_record(s, i);
	fflush(NULL);
	_exit(1);
}

/* ------------------------------------------------------------------ drawing */

static struct model_verdict
judge_by_rules(struct side *s, struct record *r)
{
	struct model_verdict v = model_refusals(&s->model, &r->desc);

	r->refusals |= v.broken | v.maybe;
	r->may_run |= v.broken == 0;
	return v;
}

/*
 * True if a descriptor in flight uses this memory in a conflicting way, or if the memory it uses is
 * not known.
 */
static bool
conflicts(struct side *s, const struct record *r)
{
	uint64_t i;

	for (i = s->settled; i < s->made; i++) {
		const struct record *o = record_of(s, i);

		if (meet(r->wrote, o->wrote) || meet(r->wrote, o->read) || meet(r->read, o->wrote))
			return true;
	}
	return false;
}

/*
 * True if the descriptor names memory that other queues have registered: the model of this queue
 * does not know that memory.
 */
static bool
names_memory_of_others(const struct side *s, const struct gantry_desc *d)
{
	const struct model_range src = {d->src, 1}, dst = {d->dst, 1};
	unsigned int i;

	for (i = 0; i <= run.n_sides; i++) {
		struct model_range other = run.recv_range;

		if (i < run.n_sides)
			other = (struct model_range){(uintptr_t)run.side[i].model.mem,
				run.side[i].model.len};
		/* A layout may have blocks below its base address. */
		other.addr -= 4096;
		other.len += 4096;
		if (i != s->n && (meet(src, other) || meet(dst, other)))
			return true;
	}
	return false;
}

/*
 * Addresses up to this number of bytes before and after device memory are translated to true
 * addresses, like addresses in device memory. No other memory lies there.
 */
#define BESIDE 256

static bool
is_device(const struct model *m, uint64_t addr)
{
	const struct model_region *r = &m->region[DEVICE];

	return addr - (r->addr - BESIDE) < r->len + 2 * BESIDE;
}

/*
 * True if the layout begins in device memory, and a part of it lies outside. The true addresses
 * outside may belong to other memory.
 */
static bool
juts_out(const struct model *m, const struct gantry_desc *d)
{
	const struct model_region *r = &m->region[DEVICE];
	bool to = d->op == GANTRY_OP_SCATTER || d->op == GANTRY_OP_READ;
	uint64_t base = to ? d->dst : d->src;

	return d->layout != 0 && base - (r->addr - 8192) < r->len + 8192 + BESIDE &&
	       base - r->addr > r->len - 4096;
}

/*
 * True if the model cannot follow the descriptor: its bytes would be undefined, or it would wait
 * for ever.
 */
static bool
is_beyond_the_model(struct side *s, const struct record *r)
{
	if (juts_out(&s->model, &r->desc))
		return true;
	if (names_memory_of_others(s, &r->desc) || (r->is_message && *end_credits(r->end) == 0))
		return true;
	if (meet(r->read, r->wrote) &&
		(r->desc.op == GANTRY_OP_WRITE || r->desc.op == GANTRY_OP_READ ||
			r->desc.op == GANTRY_OP_WRITE_IMM))
		return true;
	/*
	 * Few such descriptors are drawn, because each of them ends a connection or stops the DC
	 * initiator.
	 */
	return (r->is_refused_there ||
		       (r->end != NULL && r->end->target != NULL && r->end->link->hurt)) &&
	       check_random(&s->rng) % 16 != 0;
}

/*
 * Stores which memory a new descriptor uses, also for a descriptor that breaks a rule: its memory
 * may be registered while it is in flight.
 */
static void
note(struct side *s, struct record *r)
{
	struct model_verdict v;
	bool takes = model_takes_receive(r->desc.op);

	r->refusals = 0;
	r->may_run = r->cancelled = r->done = r->counted = r->is_message = false;
	r->is_refused_there = r->is_lost_there = false;
	r->read = r->wrote = (struct model_range){0, 0};
	v = judge_by_rules(s, r);
	r->end = model_is_to_peer(&r->desc) ? side_end(s, r->desc.peer) : NULL;
	if (!v.named)
		return;
	r->is_message = takes && r->end != NULL;
	r->is_refused_there =
		!model_remote_ok(&s->model, &r->desc) ||
		(takes && r->desc.op != GANTRY_OP_WRITE_IMM && r->desc.len > RECV_LEN);
	r->read = model_span(&s->model, &r->desc, false);
	/* If the peer refuses the descriptor, nothing is written at the peer. */
	if (!r->is_refused_there)
		r->wrote = model_span(&s->model, &r->desc, true);
}

/* Call it when the peer will refuse the descriptor, which ends an RC connection. */
static void
will_fail(const struct record *r)
{
	if (r->end->target != NULL)
		dc_will_fail(r->end, r);
	else
		r->end->link->hurt = true;
}

static void
draw_one(struct side *s)
{
	struct record *r = record_of(s, s->made);

	do {
		draw(s, r);
		note(s, r);
	} while (is_beyond_the_model(s, r));
	if (conflicts(s, r))
		r->desc.flags |= GANTRY_DESC_FENCE;
	if (r->is_refused_there && r->may_run)
		will_fail(r);
	if (r->is_message)
		--*end_credits(r->end);
	if (r->desc.op == GANTRY_OP_SEND_INV)
		keys_draw(r);
	r->desc.cookie = cookie_of(s->made++);
}

void
side_draw(struct side *s, unsigned int n)
{
	for (; n != 0 && s->made < s->settled + WINDOW; n--)
		draw_one(s);
}

/* Returns the true address for an address that may be in device memory. */
static uint64_t
true_addr(const struct model *m, uint64_t addr)
{
	if (m->device == NULL || !is_device(m, addr))
		return addr;
	return (uintptr_t)m->device + (addr - m->region[DEVICE].addr);
}

/* Returns the descriptor in the form in which it is submitted: with true addresses. */
static struct gantry_desc
with_true_addrs(const struct model *m, struct record *r)
{
	struct gantry_desc d = r->desc;
	unsigned int i;

	d.src = true_addr(m, d.src);
	d.dst = true_addr(m, d.dst);
	if (d.op != GANTRY_OP_COPY_SG)
		return d;
	for (i = 0; i < RTE_DIM(r->sge); i++) {
		r->put[i].addr = true_addr(m, r->sge[i].addr);
		r->put[i].len = r->sge[i].len;
	}
	d.src = (uintptr_t)r->put;
	d.dst = (uintptr_t)(r->put + 8);
	return d;
}

void
side_put(struct side *s)
{
	struct gantry_desc desc[64];
	unsigned int n = 0;

	for (; n < RTE_DIM(desc) && s->put + n < s->made; n++) {
		struct record *r = record_of(s, s->put + n);

		desc[n] = with_true_addrs(&s->model, r);
		r->put_tsc = rte_get_timer_cycles();
	}
	s->put += s->w != NULL ? gantry_enqueue_burst(s->w, desc, n) : gantry_submit(s->q, desc, n);
}

void
side_changed(struct side *s)
{
	uint64_t i;

	for (i = s->settled; i < s->made; i++) {
		struct record *r = record_of(s, i);

		if (r->done)
			continue;
		judge_by_rules(s, r);
		r->is_lost_there |= r->end != NULL && !model_remote_ok(&s->model, &r->desc);
		if (r->may_run && (r->is_refused_there || r->is_lost_there))
			will_fail(r);
	}
}

void
side_use_stopped(struct side *s, bool late)
{
	const struct gantry_desc nop = {.op = GANTRY_OP_NOP, .cookie = OWN_NOP};
	uint64_t end = env_patience();
	struct gantry_comp comp;

	if (gantry_submit(s->q, &nop, 1) != 1)
		side_fail(s, NULL, "the queue of a stopped worker is full");
	s->own_nops++;
	if (late) {
		s->own_nops_out++;
		return;
	}
	while (gantry_poll(s->q, &comp, 1) == 0)
		if (rte_get_timer_cycles() > end)
			side_fail(s, NULL, "a NOP of a stopped worker's queue does not come back");
	if (comp.cookie != OWN_NOP || comp.status != GANTRY_OK)
		side_fail(s, NULL, "the completion of a NOP is wrong");
}

void
side_cancel(struct side *s)
{
	struct record *r;
	uint32_t n;

	if (s->w != NULL || s->put == s->settled)
		return;
	r = record_of(s, s->settled + check_random(&s->rng) % (s->put - s->settled));
	n = gantry_cancel(s->q, r->desc.cookie);
	if (n > 1 || (n == 1 && (r->done || r->cancelled)))
		side_fail(s, r, "gantry_cancel() of %llu returns %u",
			(unsigned long long)r->desc.cookie, n);
	if (n == 0)
		return;
	r->cancelled = true;
	run.cancelled++;
}

/* ------------------------------------------------------------------ checking */

/* The statuses that a descriptor may complete with now. */
static uint32_t
allowed(const struct side *s, const struct record *r)
{
	uint32_t a = r->refusals;

	if (r->cancelled)
		return MODEL_BIT(GANTRY_CANCELLED);
	/* The connection may be down, and the model may not know this yet. */
	if (r->end != NULL &&
		(r->end->link->hurt || (run.hazards.peer != 0 && r->end->target == NULL)))
		a |= MODEL_BIT(GANTRY_BAD_PEER);
	if (run.hazards.fatal && r->desc.op != GANTRY_OP_NOP)
		a |= MODEL_BIT(GANTRY_DEVICE_LOST);
	if (eal_is_unsure(s, r))
		a |= MODEL_BIT(GANTRY_NOT_REGISTERED);
	if (!r->may_run)
		return a;
	if (r->desc.op == GANTRY_OP_NOP)
		return a | MODEL_BIT(GANTRY_OK);
	/*
	 * If memory of the list was removed after a part of the list was copied, the status may
	 * be GANTRY_LOCAL_ERROR.
	 */
	if (r->desc.op == GANTRY_OP_COPY_SG && (a & MODEL_BIT(GANTRY_NOT_REGISTERED)) != 0)
		a |= MODEL_BIT(GANTRY_LOCAL_ERROR);
	if (r->end == NULL) {
		a |= MODEL_BIT(GANTRY_OK) | run.hazards.own;
		/* A RAW WQE is not executed again, because the engine does not know its effect. */
		if (run.hazards.stops && r->desc.op == GANTRY_OP_RAW)
			a |= MODEL_BIT(GANTRY_FLUSHED) | MODEL_BIT(GANTRY_QP_EVENT);
		/*
		 * An earlier descriptor may have configured the layout's key. If the earlier
		 * descriptor is flushed and not executed again, neither is this descriptor.
		 */
		if (run.hazards.stops && r->desc.layout != 0)
			a |= MODEL_BIT(GANTRY_FLUSHED);
		return a;
	}
	if (r->end->target != NULL)
		return a | dc_allowed(s, r);
	if (r->is_refused_there || r->is_lost_there)
		a |= MODEL_BIT(GANTRY_REMOTE_ACCESS) | MODEL_BIT(GANTRY_REMOTE_ERROR);
	if (!r->is_refused_there && !r->end->failed)
		a |= MODEL_BIT(GANTRY_OK);
	if (r->end->link->hurt || run.hazards.peer != 0)
		a |= BEHIND | run.hazards.peer;
	return a;
}

/* Returns the oldest descriptor of the same connection that has not completed. */
static uint64_t
next_of(struct side *s, const struct end *e)
{
	uint64_t i = s->settled;

	while (record_of(s, i)->done || (s->unordered && record_of(s, i)->end != e))
		i++;
	return i;
}

static bool
is_atomic(const struct gantry_desc *d)
{
	return d->op == GANTRY_OP_COMPARE_SWAP || d->op == GANTRY_OP_FETCH_ADD;
}

/* The model processes completed descriptors, in the order of submission. */
static void
settle(struct side *s)
{
	for (; s->settled < s->put && record_of(s, s->settled)->done; s->settled++) {
		struct record *r = record_of(s, s->settled);
		bool sure = r->status == GANTRY_OK;
		bool ran = r->may_run && (NOT_RUN & MODEL_BIT(r->status)) == 0;

		if (r->counted && is_atomic(&r->desc))
			sure = model_word(&s->model, &r->desc, &r->result);
		if (r->desc.op == GANTRY_OP_SEND_INV)
			keys_use(r, ran);
		if (r->is_message)
			end_sent(r->end, r, ran && !r->is_refused_there, sure);
		if (ran && !r->is_refused_there &&
			!model_write(&s->model, &r->desc, sure, r->result))
			side_fail(s, r, "the result of %llu is 0x%llx",
				(unsigned long long)s->settled, (unsigned long long)r->result);
		s->digest = (s->digest ^ r->status ^ r->result << 8) * UINT64_C(0x100000001b3);
	}
}

static void
note_failure(struct side *s, struct record *r)
{
	if (r->end == NULL || ((NOT_RUN | MODEL_BIT(GANTRY_OK)) & MODEL_BIT(r->status)) != 0)
		return;
	if (r->end->target != NULL) {
		dc_failed(s);
		return;
	}
	r->end->failed = true;
	r->end->link->hurt = true;
	s->model.peer[r->end->peer].down = true;
	side_changed(s);
}

/*
 * True if `result` is possible: for an atomic, the old value; for refused memory, the side (source
 * or destination).
 */
static bool
result_is_possible(const struct gantry_desc *d, const struct gantry_comp *c)
{
	const bool is_atomic = d->op == GANTRY_OP_COMPARE_SWAP || d->op == GANTRY_OP_FETCH_ADD;
	const bool only_dst = d->op == GANTRY_OP_READ || d->op == GANTRY_OP_FILL;
	const bool both = d->op == GANTRY_OP_COPY || d->op == GANTRY_OP_COPY_SG;

	switch (c->status) {
	case GANTRY_OK:
		return c->result == 0 || is_atomic;
	case GANTRY_READ_ONLY:
		return c->result == GANTRY_SIDE_DST;
	case GANTRY_NOT_REGISTERED:
		if (d->layout != 0 || d->op == GANTRY_OP_TXN)
			return c->result == 0;
		if (both)
			return c->result == GANTRY_SIDE_SRC || c->result == GANTRY_SIDE_DST;
		return c->result == (only_dst ? GANTRY_SIDE_DST : GANTRY_SIDE_SRC);
	case GANTRY_LOCAL_ERROR:
		return c->result == 0 || (!is_atomic && (c->result == GANTRY_SIDE_SRC ||
								c->result == GANTRY_SIDE_DST));
	default:
		return c->result == 0;
	}
}

/* Counts what gantry_stats says about carriers and layouts. */
static void
note_carrier(struct side *s, const struct record *r)
{
	const struct gantry_desc *d = &r->desc;
	const bool ok = r->status == GANTRY_OK, ran = (NOT_RUN & MODEL_BIT(r->status)) == 0;
	enum gantry_carrier carrier = GANTRY_CARRIER_USUAL;

	if (d->layout != 0) {
		s->laid_out += ok;
		s->perhaps_laid_out++;
	}
	if (d->op != GANTRY_OP_COPY && d->op != GANTRY_OP_COPY_SG && d->op != GANTRY_OP_FILL)
		return;
	if ((d->flags & GANTRY_DESC_BY_CPU) != 0)
		carrier = GANTRY_CARRIER_CPU;
	else if ((d->flags & GANTRY_DESC_BY_MMO) != 0)
		carrier = GANTRY_CARRIER_MMO;
	else if ((d->flags & GANTRY_DESC_BY_RDMA) != 0)
		carrier = GANTRY_CARRIER_RDMA;
	s->carried[carrier] += ok;
	s->perhaps_carried += ran && !ok;
}

static void
judge(struct side *s, const struct gantry_comp *c)
{
	uint64_t i = (c->cookie - 7) / 0x10001;
	struct record *r = record_of(s, i);

	if (c->cookie == OWN_NOP && s->own_nops_out != 0 && c->status == GANTRY_OK &&
		c->op == GANTRY_OP_NOP) {
		s->own_nops_out--;
		return;
	}
	if (cookie_of(i) != c->cookie || i < s->settled || i >= s->put || r->done)
		side_fail(s, NULL, "a completion with cookie 0x%llx: nothing in flight has it",
			(unsigned long long)c->cookie);
	if (next_of(s, r->end) != i)
		side_fail(s, r, "%llu came before %llu", (unsigned long long)i,
			(unsigned long long)next_of(s, r->end));
	if (c->status >= GANTRY_STATUS_MAX || (allowed(s, r) & MODEL_BIT(c->status)) == 0)
		side_fail(s, r, "%llu came back with [%s], syndrome 0x%02x", (unsigned long long)i,
			gantry_status_name(c->status), c->syndrome);
	if (c->op != r->desc.op || c->len != r->desc.len || c->zero != 0 ||
		!result_is_possible(&r->desc, c) || (c->syndrome != 0 && c->status == GANTRY_OK))
		side_fail(s, r, "%llu: a field of its completion is wrong", (unsigned long long)i);
	r->done = true;
	r->status = c->status;
	r->result = c->result;
	s->got++;
	s->by_status[c->status]++;
	run.by_status[c->status]++;
	run.late += c->status == GANTRY_TIMED_OUT && run.n_armed == 0;
	if (c->status == GANTRY_OK) {
		s->bytes += c->len;
		run.by_op_ok[c->op]++;
	}
	note_carrier(s, r);
	note_failure(s, r);
}

/*
 * A thread of the adapter may wait for a CPU so long that a deadline passes. Descriptors that are
 * checked after that may have timed out.
 */
static void
look_at_deadlines(void)
{
	const uint64_t limit = rte_get_timer_hz() / 1000 * DEADLINE_MS * 9 / 10;
	unsigned int i;

	for (i = 0; !run.pumped && i < run.n_sides; i++) {
		struct side *s = &run.side[i];

		if (s->settled != s->put &&
			rte_get_timer_cycles() - record_of(s, s->settled)->put_tsc >= limit)
			fault_deadline_passed();
	}
}

/*
 * As side_take(), by gantry_poll_good(), which counts descriptors that succeeded. If it says that
 * the oldest descriptor has failed, the next completion must be that of this descriptor.
 */
static void
take_good(struct side *s, unsigned int n)
{
	struct gantry_comp comp;
	bool failed = true;

	replay_pump();
	n = gantry_poll_good(s->q, n, &failed);
	look_at_deadlines();
	if (s->unordered && (n != 0 || failed))
		side_fail(s, NULL, "gantry_poll_good() of an unordered queue returns %u", n);
	for (; n != 0; n--) {
		struct record *r = record_of(s, s->got);

		r->counted = true;
		comp = (struct gantry_comp){.cookie = cookie_of(s->got),
			.op = r->desc.op,
			.len = r->desc.len};
		judge(s, &comp);
	}
	if (!failed)
		return;
	if (gantry_poll(s->q, &comp, 1) != 1 || comp.status == GANTRY_OK)
		side_fail(s, NULL, "gantry_poll_good() tells of a failure that is not there");
	judge(s, &comp);
}

/* As env_poll(), but the engine has received all events before it polls. */
static unsigned int
poll_once(struct gantry_queue *q, struct gantry_comp *comp, unsigned int n)
{
	replay_pump();
	n = gantry_poll(q, comp, n);
	if (n == 0)
		sched_yield();
	return n;
}

void
side_take(struct side *s, unsigned int n)
{
	struct gantry_comp comp[64];
	unsigned int i;

	n = RTE_MIN(n, RTE_DIM(comp));
	if (s->w == NULL && check_random(&s->rng) % 4 == 0) {
		take_good(s, n);
		n = 0;
	}
	n = s->w != NULL ? env_dequeue(s->w, comp, n) : poll_once(s->q, comp, n);
	look_at_deadlines();
	for (i = 0; i < n; i++)
		judge(s, &comp[i]);
	settle(s);
	if (s->w == NULL && gantry_in_flight(s->q) != s->put - s->got)
		side_fail(s, NULL, "gantry_in_flight() is %u, not %llu", gantry_in_flight(s->q),
			(unsigned long long)(s->put - s->got));
}

static void
judge_counter(const struct side *s, const char *name, uint64_t got, uint64_t want)
{
	if (got != want)
		side_fail(s, NULL, "gantry_stats::%s is %llu, not %llu", name,
			(unsigned long long)got, (unsigned long long)want);
}

void
side_judge_bytes(struct side *s)
{
	uint64_t at;

	if (!model_judge(&s->model, &at)) {
		print_writers(s, at);
		side_fail(s, NULL, "byte %llu of the arena is 0x%02x, not 0x%02x (of %u values)",
			(unsigned long long)at, model_now(&s->model, at),
			s->model.byte[at].value[0], s->model.byte[at].n);
	}
}

static void
judge_range(const struct side *s, const char *name, uint64_t got, uint64_t least, uint64_t most)
{
	if (got < least || got > most)
		side_fail(s, NULL, "gantry_stats::%s is %llu, not from %llu to %llu", name,
			(unsigned long long)got, (unsigned long long)least,
			(unsigned long long)most);
}

/* Checks counters for which the model knows a lowest and a greatest value. */
static void
judge_ranges(const struct side *s, const struct gantry_stats *stats)
{
	uint64_t any = s->carried[GANTRY_CARRIER_USUAL] + s->perhaps_carried, sure = 0, sum = 0;
	unsigned int i;

	for (i = 0; i < GANTRY_CARRIER_MAX; i++) {
		sure += s->carried[i];
		sum += stats->copies[i];
		if (i != GANTRY_CARRIER_USUAL)
			judge_range(s, "copies[]", stats->copies[i], s->carried[i],
				s->carried[i] + any);
	}
	judge_range(s, "copies", sum, sure, sure + s->perhaps_carried);
	judge_counter(s, "copies[GANTRY_CARRIER_USUAL]", stats->copies[GANTRY_CARRIER_USUAL], 0);
	judge_range(s, "layout_hits + layout_misses", stats->layout_hits + stats->layout_misses,
		s->laid_out, s->perhaps_laid_out);
	judge_range(s, "doorbells", stats->doorbells, 0, stats->wqes);
	judge_counter(s, "txn_opened", stats->txn_opened, 0);
}

void
side_judge_counters(struct side *s)
{
	struct gantry_stats stats = env_stats(s->q);
	unsigned int i;

	s->by_status[GANTRY_OK] += s->own_nops;
	s->made_before += s->own_nops;
	s->own_nops = 0;
	judge_ranges(s, &stats);
	judge_counter(s, "submitted", stats.submitted, s->made + s->made_before);
	judge_counter(s, "completed", stats.completed, s->made + s->made_before);
	judge_counter(s, "bytes", stats.bytes, s->bytes);
	if (s->w == NULL) {
		judge_counter(s, "recv_posted", stats.recv_posted, s->recv_posted);
		judge_counter(s, "recv_done", stats.recv_done, s->recv_done);
	}
	/*
	 * Some receives of a worker are in a ring, and the queue does not count receives that were
	 * refused.
	 */
	if (stats.recv_posted > s->recv_posted || stats.recv_done > stats.recv_posted ||
		stats.recv_done + s->recv_refused < s->recv_done)
		side_fail(s, NULL, "gantry_stats: %llu receives posted, %llu done",
			(unsigned long long)stats.recv_posted, (unsigned long long)stats.recv_done);
	for (i = 0; i < GANTRY_STATUS_MAX; i++)
		judge_counter(s, gantry_status_name(i), stats.by_status[i], s->by_status[i]);
}
