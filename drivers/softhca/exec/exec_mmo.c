/* SPDX-License-Identifier: BSD-3-Clause */
/* DMA MMO memcpy: from one local key to another, without a peer (mlx5dv_wr_post(3), memcpy). */
#include "gather.h"
#include "requester.h"

enum mmo_seg {
	MMO_SEG_OPAQUE = 1,
	MMO_SEG_SRC = 2,
	MMO_SEG_DST = 3
};

/* Checks in this order: opcode modifier, size, the QP's permission, lengths. */
static unsigned int
mmo_check(struct run *run, const struct wqe *wqe, uint64_t len)
{
	if (wqe->opmod != MMO_OPMOD_DMA)
		return requester_refuse(run, VEN_WQE_OPCODE, SYN_QP_OP);
	if (wqe->ds != MMO_DS)
		return requester_refuse(run, VEN_WQE_DS, SYN_QP_OP);
	if (!run->qp->attr.mmo)
		return requester_refuse(run, VEN_MMO_OFF, SYN_QP_OP);
	if (len > run->lanes->dev->cfg->max_memcpy ||
		len != wqe_data_len(wqe_seg(run, wqe, MMO_SEG_DST)))
		return requester_refuse(run, VEN_LENGTH, SYN_LOC_LEN);
	return SYN_OK;
}

static bool
mmo_memory(struct run *run, const uint8_t *seg, uint32_t need, uint64_t len, struct sg *sg)
{
	sg_clear(sg);
	return key_gather(&run->use, run->lanes, get_be32(seg + DATA_LKEY), run->qp->pdn, need,
		get_be64(seg + DATA_VA), len, sg);
}

/* The device may write here what it has to say of the operation: the key must allow it. */
static bool
mmo_opaque_is_good(struct run *run, const struct wqe *wqe)
{
	const uint8_t *seg = wqe_seg(run, wqe, MMO_SEG_OPAQUE);
	struct sg sg;

	sg_clear(&sg);
	return key_gather(&run->use, run->lanes, get_be32(seg + MMO_OPAQUE_LKEY), run->qp->pdn,
		ACC_LOCAL_WRITE, get_be64(seg + MMO_OPAQUE_VA), MMO_OPAQUE_LEN, &sg);
}

unsigned int
exec_mmo(struct run *run, const struct wqe *wqe)
{
	const uint8_t *src_seg = wqe_seg(run, wqe, MMO_SEG_SRC);
	uint64_t len = wqe_data_len(src_seg);
	unsigned int syn = mmo_check(run, wqe, len);
	struct sg src, dst;

	if (syn != SYN_OK)
		return syn;
	if (!mmo_opaque_is_good(run, wqe))
		return SYN_LOC_PROT;
	if (!mmo_memory(run, src_seg, 0, len, &src) ||
		!mmo_memory(run, wqe_seg(run, wqe, MMO_SEG_DST), ACC_LOCAL_WRITE, len, &dst))
		return SYN_LOC_PROT;
	if (len > RUN_LONG_COPY)
		run_drop_cq(run);
	return key_use_move(&run->use, &dst, &src) == SG_MOVED ? SYN_OK : SYN_LOC_PROT;
}
