/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Makes the engine report a wrong result for one descriptor: number LIE_AT of those enqueued or
 * dequeued, or of the transactions submitted. It is preloaded into testgantry, which must notice the error.
 *
 *   LIE=skip    it is not executed, and completes with success
 *   LIE=short   its last byte is not moved
 *   LIE=long    one byte too many is moved
 *   LIE=wrong   its bytes come from one byte behind its source
 *   LIE=status  it completes with GANTRY_REMOTE_ACCESS
 *   LIE=order   it completes with the cookie of another one
 *   LIE=lost    its completion never comes
 *   LIE=blind   no signature is checked
 *   LIE=alarm   a transaction generates reference tags that begin with the wrong one
 *   LIE=shift   a transaction's bytes come from one byte behind their place
 *   LIE=full    every second time, the rings take nothing: this is allowed, and must do no harm
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "gantry.h"

typedef unsigned int enqueue_fn(struct gantry_worker *, const struct gantry_desc *, unsigned int);
typedef int profile_fn(struct gantry *, const struct gantry_profile_conf *, uint16_t *);
typedef uint16_t submit_fn(struct gantry_queue *, const struct gantry_desc *, uint16_t);
typedef unsigned int dequeue_fn(struct gantry_worker *, struct gantry_comp *, unsigned int);

static const char *lie = "";
static uint64_t lie_at;

__attribute__((constructor)) static void
read_environment(void)
{
	if (getenv("LIE") != NULL)
		lie = getenv("LIE");
	if (getenv("LIE_AT") != NULL)
		lie_at = strtoull(getenv("LIE_AT"), NULL, 10);
}

static void
twist(struct gantry_desc *d)
{
	if (strcmp(lie, "skip") == 0)
		*d = (struct gantry_desc){.op = GANTRY_OP_NOP, .cookie = d->cookie};
	else if (strcmp(lie, "short") == 0)
		d->len--;
	else if (strcmp(lie, "long") == 0)
		d->len++;
	else if (strcmp(lie, "wrong") == 0)
		d->src++;
}

GANTRY_API unsigned int
gantry_enqueue_burst(struct gantry_worker *w, const struct gantry_desc *desc, unsigned int n)
{
	enqueue_fn *next = (enqueue_fn *)dlsym(RTLD_NEXT, "gantry_enqueue_burst");
	static uint64_t n_enqueued, n_calls;
	struct gantry_desc twisted;
	unsigned int taken = 0;

	if (strcmp(lie, "full") == 0 && n_calls++ % 2 == 0)
		return n > 1 ? next(w, desc, n / 2) : 0;
	for (; taken < n; taken++) {
		twisted = desc[taken];
		if (n_enqueued == lie_at)
			twist(&twisted);
		if (next(w, &twisted, 1) == 0)
			break;
		n_enqueued++;
	}
	return taken;
}

GANTRY_API unsigned int
gantry_dequeue_burst(struct gantry_worker *w, struct gantry_comp *comp, unsigned int n)
{
	dequeue_fn *next = (dequeue_fn *)dlsym(RTLD_NEXT, "gantry_dequeue_burst");
	static uint64_t n_dequeued;

	if (n == 0 || next(w, comp, 1) == 0)
		return 0;
	if (n_dequeued++ != lie_at)
		return 1;
	if (strcmp(lie, "status") == 0)
		comp->status = GANTRY_REMOTE_ACCESS;
	if (strcmp(lie, "order") == 0)
		comp->cookie++;
	return strcmp(lie, "lost") != 0;
}

GANTRY_API int
gantry_profile_create(struct gantry *g, const struct gantry_profile_conf *conf, uint16_t *id)
{
	profile_fn *next = (profile_fn *)dlsym(RTLD_NEXT, "gantry_profile_create");
	struct gantry_profile_conf twisted = *conf;

	if (strcmp(lie, "blind") == 0)
		twisted.check = 0;
	return next(g, &twisted, id);
}

static void
twist_transaction(const struct gantry_desc *d)
{
	struct gantry_txn *txn = (struct gantry_txn *)(uintptr_t)d->src;

	if (strcmp(lie, "alarm") == 0)
		txn->mem.ref_tag++;
	else if (strcmp(lie, "shift") == 0)
		((struct gantry_txn_part *)(uintptr_t)txn->part)->addr++;
}

/* Several threads submit, but only one of them transactions. */
GANTRY_API uint16_t
gantry_submit(struct gantry_queue *q, const struct gantry_desc *desc, uint16_t n)
{
	submit_fn *next = (submit_fn *)dlsym(RTLD_NEXT, "gantry_submit");
	static uint64_t n_transactions;

	if (n > 0 && desc->op == GANTRY_OP_TXN && n_transactions++ == lie_at)
		twist_transaction(desc);
	return next(q, desc, n);
}
