/* SPDX-License-Identifier: BSD-3-Clause */
/* Compare and swap, fetch and add: 8 bytes of the responder's memory in the host's byte order. */
#include "exec.h"

#define ATOMIC_UNITS 2 /* remote address, operands */
#define ATOMIC_LEN  8

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
		run->vendor = VEN_LENGTH;
		return SYN_LOC_LEN;
	}
	if (run->qp->attr.max_rd_atomic == 0) {
		run->vendor = VEN_NO_RD_ATOMIC;
		return SYN_QP_OP;
	}
	return SYN_OK;
}

static unsigned int
responder_misaligned(struct run *run)
{
	run->vendor = VEN_ALIGNMENT;
	responder_fail(run, run->peer, SYN_REM_INV_REQ);
	return SYN_REM_INV_REQ;
}

/* The responder's checks. An iova need not be aligned as its memory is: both must be. */
static unsigned int
atomic_target(struct run *run, const struct wqe *wqe, void **target)
{
	const uint8_t *raddr = wqe_seg(run, wqe, wqe->first);
	unsigned int syn;

	if (get_be64(raddr + RADDR_VA) % ATOMIC_LEN != 0)
		return responder_misaligned(run);
	syn = responder_memory(run, ACC_REMOTE_ATOMIC, raddr, ATOMIC_LEN, target);
	if (syn == SYN_OK)
		syn = responder_may_read(run);
	if (syn == SYN_OK && *target != SINK && (uintptr_t)*target % ATOMIC_LEN != 0)
		return responder_misaligned(run);
	return syn;
}

unsigned int
exec_atomic(struct run *run, const struct wqe *wqe)
{
	struct sg dst, src;
	uint64_t zero = 0, old;
	void *target;
	unsigned int syn = exec_gather(run, wqe, wqe->first + ATOMIC_UNITS, ACC_LOCAL_WRITE, &dst);

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
	old = atomic_apply(wqe, wqe_seg(run, wqe, wqe->first + 1), target == SINK ? &zero : target);
	sg_set(&src, &old, sizeof(old));
	run_copy(run, &dst, &src);
	run->byte_cnt = ATOMIC_LEN;
	return SYN_OK;
}
