/* SPDX-License-Identifier: BSD-3-Clause */
/* Work: a checked descriptor that is being turned into WQEs. */
#ifndef GANTRY_WORK_H
#define GANTRY_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "gantry_region_tree.h"

enum gantry_work_kind {
	GANTRY_WORK_MEMCPY,
	GANTRY_WORK_WRITE,
	GANTRY_WORK_READ,
	GANTRY_WORK_WRITE_IMM,
	GANTRY_WORK_SEND,
	GANTRY_WORK_SEND_IMM,
	GANTRY_WORK_SEND_INV,
	GANTRY_WORK_COMPARE_SWAP,
	GANTRY_WORK_FETCH_ADD,
	GANTRY_WORK_RAW,
	GANTRY_WORK_SG,
	GANTRY_WORK_FILL,

	/*
	 * A bit that is set together with one of the kinds above: the work goes to a DC peer, whose
	 * address is in each WQE.
	 */
	GANTRY_WORK_DC = 1 << 7,
};

/*
 * Tells whether the source or the destination has a layout. The addresses of the side with the
 * layout are offsets in the layout's key.
 */
enum gantry_work_layout {
	GANTRY_WORK_NO_LAYOUT = 0,
	GANTRY_WORK_SRC_LAYOUT, /* src_key will be the key of the layout */
	GANTRY_WORK_DST_LAYOUT, /* dst_key will be the key of the layout */
};

/* A checked descriptor: addresses with keys, and the connection that carries it. */
struct gantry_work {
	uint64_t src;
	uint64_t dst;
	uint64_t len; /* bytes that no WQE carries yet */
	/*
	 * For an atomic: its operands. For a fill: the pattern, in arg[0]. For a COPY_SG: its lists
	 * (gantry_sg_piece()).
	 */
	uint64_t arg[2];
	/*
	 * A value for gantry_finish(). Until gantry_finish() is called, the slot keeps this value
	 * as the `result` of its completion.
	 */
	uint64_t kept;
	uint32_t src_key;
	uint32_t dst_key;
	/* Index in gantry_queue::conn; GANTRY_CONN_NONE: the CPU carries out the work. */
	uint16_t conn;
	uint8_t kind;    /* enum gantry_work_kind */
	uint8_t carrier; /* enum gantry_carrier of a copy; otherwise GANTRY_CARRIER_USUAL */
	bool done;       /* all WQEs of the work are written */
	bool solicited;  /* the descriptor has GANTRY_DESC_SOLICITED */
	uint8_t layout;  /* enum gantry_work_layout */
	uint8_t flags;   /* flags HWQ_WQE_* of each WQE */
	uint8_t copy;    /* for fills and lists: enum gantry_work_kind of each WQE */
	bool no_inline;  /* the CPU cannot read src */
	uint16_t key;    /* if there is a layout: index of its key in gantry_keys */
	uint16_t peer;   /* if the work goes to a DC peer: index in gantry_queue::peer */
	uint32_t imm;    /* immediate data, or the key to invalidate, in the CPU's byte order */
	uint32_t finish; /* GANTRY_FINISH_*: what gantry_finish() has to do (gantry_finish.h) */
};

/* Directs the work to a DC peer. */
static inline void
gantry_work_set_dc(struct gantry_work *w, uint16_t peer)
{
	w->kind |= GANTRY_WORK_DC;
	w->peer = peer;
}

static inline bool
gantry_work_is_done(const struct gantry_work *w)
{
	return w->done;
}

/*
 * Makes *w a copy on the own connection. src and dst are the regions of the addresses in *w. mmo:
 * true: copies between host memory use DMA MMO; false: they use RDMA.
 *
 * DMA MMO copies on the PCI bus (mlx5dv_wr_post(3)), and does not reach device memory. So RDMA
 * copies to and from device memory. RDMA also copies memory on demand: for an RC queue, the kernel
 * (mlx5_ib, odp.c) handles the page faults of sends, RDMA and atomics only. RDMA gets device memory
 * and memory on demand as the remote side, because these two kinds always have remote rights. Other
 * memory may have none.
 */
static inline void
gantry_work_copy_between(struct gantry_work *w, const struct gantry_region *src,
	const struct gantry_region *dst, bool mmo)
{
	w->src_key = src->lkey;
	w->dst_key = dst->lkey;
	if (unlikely(gantry_region_is_rdma_s(src) && !gantry_region_is_rdma_s(dst))) {
		w->copy = GANTRY_WORK_READ;
		w->src_key = src->rkey;
	} else if (mmo && likely(!gantry_region_is_rdma_s(dst))) {
		w->copy = GANTRY_WORK_MEMCPY;
	} else {
		w->copy = GANTRY_WORK_WRITE;
		w->dst_key = dst->rkey;
	}
	w->src -= src->bias;
	w->dst -= dst->bias;
}

#endif
