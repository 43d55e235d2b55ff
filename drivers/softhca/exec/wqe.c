/* SPDX-License-Identifier: BSD-3-Clause */
/* Gathers the memory of a WQE's data segments, and logs a WQE that breaks the rules. */
#include "wqe.h"

#include "asker.h"
#include "gather.h"
#include "violation.h"

/* Gathers inline data. They lie in the ring of WQEBBs and may wrap. */
static bool
gather_inline(struct run *run, const uint8_t *data, uint32_t len, struct sg *sg)
{
	uint64_t to_end = (uint64_t)(run->qp->sq + run->qp->sq_mask + 1 - data);

	if (len <= to_end)
		return sg_push(&run->use, sg, (void *)(uintptr_t)data, len);
	return sg_push(&run->use, sg, (void *)(uintptr_t)data, to_end) &&
	       sg_push(&run->use, sg, run->qp->sq, len - to_end);
}

/*
 * Gathers an inline segment. Returns its number of 16-byte units, or 0 if the data are too long for
 * the WQE or must not be inline in this WQE.
 */
static unsigned int
gather_inline_seg(struct run *run, const struct wqe *wqe, unsigned int ds, uint32_t len,
	struct sg *sg)
{
	unsigned int units = (INLINE_DATA + len + WQE_SEG - 1) / WQE_SEG;

	run->use.vendor = VEN_SEGMENT;
	if (wqe->op->access != 0 || units > wqe->ds - ds)
		return 0;
	return gather_inline(run, wqe_seg(run, wqe, ds) + INLINE_DATA, len, sg) ? units : 0;
}

/*
 * Gathers an inline segment. Returns false unless it is the only data segment from unit `first` on
 * and does not wrap.
 */
static bool
gather_inline_alone(const struct run *run, const struct wqe *wqe, unsigned int first, struct sg *sg)
{
	const uint8_t *seg = wqe_seg(run, wqe, first);
	const uint32_t field = get_be32(seg + DATA_LEN), len = field & ~DATA_INLINE;

	if ((field & DATA_INLINE) == 0 || wqe->op->access != 0 ||
		(INLINE_DATA + len + WQE_SEG - 1) / WQE_SEG != wqe->ds - first ||
		INLINE_DATA + len > (uint64_t)(run->qp->sq + run->qp->sq_mask + 1 - seg))
		return false;
	sg_set(sg, (void *)(uintptr_t)(seg + INLINE_DATA), len);
	return true;
}

unsigned int
wqe_gather_at(struct run *run, const struct wqe *wqe, unsigned int first, struct sg *sg)
{
	unsigned int ds = first;

	if (first < wqe->ds && gather_inline_alone(run, wqe, first, sg))
		return SYN_OK;
	sg_clear(sg);
	while (ds < wqe->ds) {
		const uint8_t *seg = wqe_seg(run, wqe, ds);
		uint32_t len = get_be32(seg + DATA_LEN);
		unsigned int units = 1;

		if ((len & DATA_INLINE) != 0) {
			units = gather_inline_seg(run, wqe, ds, len & ~DATA_INLINE, sg);
			if (units == 0)
				return SYN_QP_OP;
		} else if (!key_gather(&run->use, &run->seen[wqe->op->access], run->lanes,
				   get_be32(seg + DATA_LKEY), run->qp->pdn, wqe->op->access,
				   get_be64(seg + DATA_VA), wqe_data_len(seg), sg)) {
			return asker_miss_memory(run, wqe->op, sg);
		}
		ds += units;
	}
	run->use.vendor = VEN_LENGTH;
	return sg->len > RC_MAX_MESSAGE ? SYN_LOC_LEN : SYN_OK;
}

void
wqe_report(const struct softhca_qp *qp, const struct wqe *wqe, enum wire_vendor why,
	uint16_t posted)
{
	if (why == VEN_WQE_INDEX)
		violation("QP 0x%x: the WQE at WQEBB 0x%x has index 0x%x", qp->number, qp->sq_ci,
			wqe_index(wqe));
	else if (why == VEN_WQE_QPN)
		violation("QP 0x%x: WQE 0x%x names QP 0x%x", qp->number, qp->sq_ci, wqe_qpn(wqe));
	else if (why == VEN_WQE_DS)
		violation("QP 0x%x: WQE 0x%x has DS %u, with %u WQEBBs posted", qp->number,
			qp->sq_ci, wqe->ds, posted);
}
