/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posts the work of twins through hwq, as a user's program does: a batch is one function from start
 * to complete, with the handle on its stack and all of hwq_wr.h inlined. The type of QP is a
 * constant, so the test covers the code that the compiler generates for each start function.
 *
 * A program that includes this header defines twin_hwq_own(), for its own builders and setters. It
 * posts by a function that calls twin_batch() for each of its types:
 *
 *     return p->conf.type == HWQ_QP_UD ? twin_batch(p, w, n, abort, HWQ_QP_UD) : ...
 */
#ifndef HWQ_TWIN_POST_H
#define HWQ_TWIN_POST_H

#include "hwq_twin_wr.h"

/* Calls a builder of the program, and its setters. */
static HWQ_INLINE void twin_hwq_own(struct hwq_wr *wr, const struct twin_work *w,
	enum hwq_qp_type type);

/* Calls any builder, and its setters. */
static HWQ_INLINE void
twin_hwq(struct twin_pair *p, struct hwq_wr *wr, const struct twin_work *w, enum hwq_qp_type type)
{
	const struct twin_copy *c = TWIN_OWN(w, const struct twin_copy);
	uint8_t wqe[TWIN_RAW_LEN];

	switch (w->builder->common) {
	case TWIN_NOP:
		hwq_wr_nop(wr);
		break;
	case TWIN_RAW_WQE:
		hwq_wr_raw_wqe(wr, twin_raw_for(w, p->twin.qp->qpn, wqe));
		break;
	case TWIN_MEMCPY:
		hwq_wr_memcpy(wr, c->dst_lkey, c->dst, c->src.lkey, c->src.addr, c->len);
		break;
	case TWIN_LOCAL_INV:
		hwq_wr_local_inv(wr, TWIN_OWN(w, const struct twin_inv)->rkey);
		break;
	default:
		twin_hwq_own(wr, w, type);
		break;
	}
}

/*
 * Posts a batch of n work requests. Returns the result of hwq_wr_complete(), or 0 if the batch is
 * aborted. type is a constant: the pair's type, or a type with the same start function.
 */
static HWQ_INLINE int
twin_batch(struct twin_pair *p, const struct twin_work *w, unsigned int n, bool abort,
	enum hwq_qp_type type)
{
	struct hwq_wr wr;
	unsigned int i;

	twin_start(&wr, &p->twin.qp->sq, type);
	for (i = 0; i < n; i++) {
		wr.wr_id = (uintptr_t)&w[i];
		wr.wr_flags = twin_hwq_flags(w[i].flags);
		twin_hwq(p, &wr, &w[i], type);
	}
	twin_totals.posted++;
	twin_totals.folded += __builtin_constant_p(wr.transport);
	if (!abort)
		return hwq_wr_complete(&wr);
	hwq_wr_abort(&wr);
	return 0;
}

#endif
