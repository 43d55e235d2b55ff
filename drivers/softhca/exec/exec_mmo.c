/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DMA MMO memcpy: copies from the memory of a local key to the memory of another local key, without
 * a peer (mlx5dv_wr_post(3), memcpy).
 */
#include <string.h>

#include "gather.h"
#include "requester.h"

/* The segments of a memcpy fill exactly one WQEBB, so no segment wraps. */
enum mmo_seg {
	MMO_SEG_OPAQUE = 1 * WQE_SEG,
	MMO_SEG_SRC = 2 * WQE_SEG,
	MMO_SEG_DST = 3 * WQE_SEG
};

_Static_assert(MMO_DS *WQE_SEG == WQEBB, "a memcpy is one WQEBB");
_Static_assert(MMO_OPAQUE_LKEY == DATA_LKEY && MMO_OPAQUE_VA == DATA_VA,
	"the opaque segment names its memory as a data segment does");

/* Checks the opcode modifier, the size, the QP's permission and the lengths, in this order. */
static inline unsigned int
mmo_check(struct run *run, const struct wqe *wqe, uint64_t len)
{
	if (wqe_opmod(wqe) != MMO_OPMOD_DMA)
		return requester_refuse(run, VEN_WQE_OPCODE, SYN_QP_OP);
	if (wqe->ds != MMO_DS)
		return requester_refuse(run, VEN_WQE_DS, SYN_QP_OP);
	if (!run->qp->attr.mmo && run->qp->dev->cfg->mmo_qp != 0)
		return requester_refuse(run, VEN_MMO_OFF, SYN_QP_OP);
	if (len > run->qp->dev->cfg->max_memcpy ||
		get_be32(wqe->seg0 + MMO_SEG_SRC + DATA_LEN) !=
			get_be32(wqe->seg0 + MMO_SEG_DST + DATA_LEN))
		return requester_refuse(run, VEN_LENGTH, SYN_LOC_LEN);
	return SYN_OK;
}

/* Returns the memory of a segment if it lies in the region that was found last; otherwise NULL. */
static inline void *
mmo_seen(const struct run *run, const uint8_t *seg, uint32_t need, uint64_t len, enum run_seen seen)
{
	return key_seen_memory(&run->seen[seen], get_be32(seg + DATA_LKEY), run->qp->pdn, need,
		get_be64(seg + DATA_VA), len);
}

static bool
mmo_memory(struct run *run, const uint8_t *seg, uint32_t need, uint64_t len, enum run_seen seen,
	struct sg *sg)
{
	sg_clear(sg);
	return key_gather(&run->use, &run->seen[seen], run->lanes, get_be32(seg + DATA_LKEY),
		run->qp->pdn, need, get_be64(seg + DATA_VA), len, sg);
}

/*
 * The slow path: a memcpy whose keys are not in the regions found last, are not plain regions, or
 * forbid the access.
 */
static unsigned int __attribute__((noinline))
mmo_any(struct run *run, const uint8_t *seg0, uint64_t len)
{
	struct sg src, dst;

	if (!mmo_memory(run, seg0 + MMO_SEG_OPAQUE, ACC_LOCAL_WRITE, MMO_OPAQUE_LEN, SEEN_OPAQUE,
		    &dst) ||
		!mmo_memory(run, seg0 + MMO_SEG_SRC, 0, len, SEEN_READ, &src) ||
		!mmo_memory(run, seg0 + MMO_SEG_DST, ACC_LOCAL_WRITE, len, SEEN_WRITE, &dst))
		return SYN_LOC_PROT;
	if (len > RUN_LONG_COPY)
		run_drop_cq(run);
	return key_use_move(&run->use, &dst, &src) == SG_MOVED ? SYN_OK : SYN_LOC_PROT;
}

unsigned int
exec_mmo(struct run *run, const struct wqe *wqe)
{
	const uint8_t *seg0 = wqe->seg0;
	uint64_t len = wqe_data_len(seg0 + MMO_SEG_SRC);
	unsigned int syn = mmo_check(run, wqe, len);
	void *src, *dst;

	if (syn != SYN_OK)
		return syn;
	/* The device may write a result to the opaque memory, so its key must allow writes. */
	if (mmo_seen(run, seg0 + MMO_SEG_OPAQUE, ACC_LOCAL_WRITE, MMO_OPAQUE_LEN, SEEN_OPAQUE) ==
		NULL)
		return mmo_any(run, seg0, len);
	src = mmo_seen(run, seg0 + MMO_SEG_SRC, 0, len, SEEN_READ);
	if (src == NULL)
		return mmo_any(run, seg0, len);
	dst = mmo_seen(run, seg0 + MMO_SEG_DST, ACC_LOCAL_WRITE, len, SEEN_WRITE);
	if (dst == NULL)
		return mmo_any(run, seg0, len);
	if (len > RUN_LONG_COPY)
		run_drop_cq(run);
	memmove(dst, src, len);
	return SYN_OK;
}
