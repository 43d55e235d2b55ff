/* SPDX-License-Identifier: BSD-3-Clause */
/* The responder of compare-and-swap and fetch-and-add, on 8 bytes in the host's byte order. */
#include "odp.h"
#include "responder_fail.h"
#include "responder_memory.h"

#define ATOMIC_LEN 8

typedef uint64_t apply_fn(const struct message *m, uint64_t *target);

static uint64_t
apply_add(const struct message *m, uint64_t *target)
{
	return __atomic_fetch_add(target, m->swap_add, __ATOMIC_SEQ_CST);
}

static uint64_t
apply_compare_swap(const struct message *m, uint64_t *target)
{
	uint64_t old = m->compare;

	/*
	 * On failure `old` becomes the value in memory; on success `old` already equals that value.
	 */
	__atomic_compare_exchange_n(target, &old, m->swap_add, false, __ATOMIC_SEQ_CST,
		__ATOMIC_SEQ_CST);
	return old;
}

static unsigned int
misaligned(struct run *run)
{
	run->use.vendor = VEN_ALIGNMENT;
	return responder_fail(run, SYN_REM_INV_REQ);
}

/*
 * Finds the memory to change. Its iova and its address may be aligned differently; both must be
 * multiples of 8.
 */
static unsigned int
atomic_target(struct run *run, const struct message *m, struct sg *target)
{
	unsigned int syn;

	if (m->va % ATOMIC_LEN != 0)
		return misaligned(run);
	syn = responder_gather(run, m, ATOMIC_LEN, target);
	if (syn != SYN_OK)
		return syn;
	if (target->n != 1) {
		run->use.vendor = VEN_KEY_PIECES;
		return responder_refuse_memory(run, m);
	}
	if (target->v[0].p != SINK && (uintptr_t)target->v[0].p % ATOMIC_LEN != 0)
		return misaligned(run);
	return SYN_OK;
}

/*
 * Memory on demand has only loads and stores, no atomic operation. odp_lock makes the load and the
 * store one operation for all atomics of this adapter. IBV_ATOMIC_HCA promises no more than this.
 */
static bool
apply_on_demand(struct run *run, const struct message *m, apply_fn *apply, void *target,
	uint64_t *old)
{
	uint64_t value;

	if (!odp_load(&run->use, target, &value))
		return false;
	*old = apply(m, &value);
	return odp_store(target, *old, value);
}

static bool
atomic_run(struct run *run, const struct message *m, apply_fn *apply, const struct sg *target,
	uint64_t *old)
{
	struct softhca_lanes *lanes = run->responder.qp->dev->lanes;
	bool is_locked = atomic_load_explicit(&lanes->odp, memory_order_relaxed), is_there = true;
	void *p = target->v[0].p;
	uint64_t zero = 0;

	if (is_locked)
		spin_lock(&lanes->odp_lock);
	if ((target->rare & ACC_ON_DEMAND) != 0)
		is_there = apply_on_demand(run, m, apply, p, old);
	else
		*old = apply(m, p == SINK ? &zero : p);
	if (is_locked)
		spin_unlock(&lanes->odp_lock);
	return is_there;
}

static unsigned int
respond_atomic(struct run *run, const struct message *m, apply_fn *apply, struct answer *answer)
{
	struct sg target;
	unsigned int syn = atomic_target(run, m, &target);

	if (syn != SYN_OK)
		return syn;
	if (!atomic_run(run, m, apply, &target, &answer->old))
		return responder_refuse_memory(run, m);
	return SYN_OK;
}

unsigned int
respond_fetch_add(struct run *run, const struct message *m, struct answer *answer)
{
	return respond_atomic(run, m, apply_add, answer);
}

unsigned int
respond_compare_swap(struct run *run, const struct message *m, struct answer *answer)
{
	return respond_atomic(run, m, apply_compare_swap, answer);
}
