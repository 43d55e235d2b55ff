/* SPDX-License-Identifier: BSD-3-Clause */
/* Compare and swap, fetch and add: 8 bytes of the responder's memory in the host's byte order. */
#include "exec.h"

#define ATOMIC_LEN 8

static uint64_t
atomic_apply(const struct wqe *wqe, const uint8_t *operands, uint64_t *target)
{
	uint64_t swap_add = get_be64(operands + ATOMIC_SWAP_ADD);
	uint64_t old = get_be64(operands + ATOMIC_COMPARE);

	if (wqe->opcode == OPC_ATOMIC_FA)
		return __atomic_fetch_add(target, swap_add, __ATOMIC_SEQ_CST);
	/* On failure the found value replaces `old`; on success the two are equal. */
	__atomic_compare_exchange_n(target, &old, swap_add, false, __ATOMIC_SEQ_CST,
		__ATOMIC_SEQ_CST);
	return old;
}

static unsigned int
atomic_check(struct run *run, const struct sg *dst)
{
	if (dst->len != ATOMIC_LEN) {
		run->use.vendor = VEN_LENGTH;
		return SYN_LOC_LEN;
	}
	if (run->qp->attr.max_rd_atomic == 0) {
		run->use.vendor = VEN_NO_RD_ATOMIC;
		return SYN_QP_OP;
	}
	return SYN_OK;
}

static unsigned int
responder_misaligned(struct run *run)
{
	run->use.vendor = VEN_ALIGNMENT;
	responder_fail(run, run->peer, SYN_REM_INV_REQ);
	return SYN_REM_INV_REQ;
}

/* The responder's checks. An iova need not be aligned as its memory is: both must be. */
static unsigned int
atomic_target(struct run *run, const struct wqe *wqe, struct sg *target)
{
	const uint8_t *raddr = wqe_seg(run, wqe, wqe->first);
	unsigned int syn;

	if (get_be64(raddr + RADDR_VA) % ATOMIC_LEN != 0)
		return responder_misaligned(run);
	syn = responder_gather(run, ACC_REMOTE_ATOMIC, raddr, ATOMIC_LEN, target);
	if (syn != SYN_OK)
		return syn;
	if (target->n != 1) {
		run->use.vendor = VEN_KEY_PIECES;
		return responder_refuse_memory(run);
	}
	syn = responder_may_read(run);
	if (syn == SYN_OK && target->v[0].p != SINK && (uintptr_t)target->v[0].p % ATOMIC_LEN != 0)
		return responder_misaligned(run);
	return syn;
}

/*
 * On demand the device cannot but load and store, with its other atomics locked out meanwhile: that
 * makes it atomic among what goes through this adapter, and IBV_ATOMIC_HCA promises no more.
 */
static bool
atomic_on_demand(struct run *run, const struct wqe *wqe, void *target, uint64_t *old)
{
	uint64_t value;

	if (!odp_load(&run->use, target, &value))
		return false;
	*old = atomic_apply(wqe, wqe_seg(run, wqe, wqe->first + 1), &value);
	return odp_store(target, *old, value);
}

static bool
atomic_run(struct run *run, const struct wqe *wqe, const struct sg *target, uint64_t *old)
{
	struct softhca_lanes *lanes = run->peer->dev->lanes;
	bool is_locked = atomic_load_explicit(&lanes->odp, memory_order_relaxed), is_there = true;
	void *p = target->v[0].p;
	uint64_t zero = 0;

	if (is_locked)
		spin_lock(&lanes->odp_lock);
	if (target->odp)
		is_there = atomic_on_demand(run, wqe, p, old);
	else
		*old = atomic_apply(wqe, wqe_seg(run, wqe, wqe->first + 1), p == SINK ? &zero : p);
	if (is_locked)
		spin_unlock(&lanes->odp_lock);
	return is_there;
}

unsigned int
exec_atomic(struct run *run, const struct wqe *wqe)
{
	struct sg dst, src, target;
	uint64_t old;
	unsigned int syn = exec_gather(run, wqe, &dst);

	if (syn == SYN_OK)
		syn = atomic_check(run, &dst);
	if (syn != SYN_OK)
		return syn;
	syn = run_hold_peer(run, wqe);
	if (syn != SYN_OK)
		return syn;
	syn = atomic_target(run, wqe, &target);
	if (syn != SYN_OK)
		return syn;
	if (!atomic_run(run, wqe, &target, &old))
		return responder_refuse_memory(run);
	sg_set(&src, &old, sizeof(old));
	run->byte_cnt = ATOMIC_LEN;
	return run_copy(run, &dst, &src) == SG_MOVED ? SYN_OK : SYN_LOC_PROT;
}
