/* SPDX-License-Identifier: BSD-3-Clause */
/* Work: a checked descriptor, on its way into WQEs. */
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

	/* A bit beside one of the kinds above: it goes to a DC peer, which each WQE names. */
	GANTRY_WORK_DC = 1 << 7,
};

/* The layout that one side of the work has. That side's addresses are offsets in the key. */
enum gantry_work_layout {
	GANTRY_WORK_NO_LAYOUT = 0,
	GANTRY_WORK_SRC_LAYOUT, /* src_key is to be the key's number */
	GANTRY_WORK_DST_LAYOUT, /* dst_key */
};

/* A checked descriptor: addresses with keys, and the connection that carries it. */
struct gantry_work {
	uint64_t src;
	uint64_t dst;
	uint64_t len; /* bytes that no WQE carries yet */
	/* Operands of an atomic; arg[0] is the pattern of a fill. Of lists: gantry_sg_piece(). */
	uint64_t arg[2];
	/* What the slot keeps for gantry_finish(): its completion's `result` until then. */
	uint64_t kept;
	uint32_t src_key;
	uint32_t dst_key;
	uint16_t conn;   /* index in gantry_queue::conn; GANTRY_CONN_NONE: the CPU carries it */
	uint8_t kind;    /* enum gantry_work_kind */
	uint8_t carrier; /* enum gantry_carrier: of a copy; else GANTRY_CARRIER_USUAL */
	bool done;       /* every WQE is written */
	bool solicited;  /* GANTRY_DESC_SOLICITED */
	uint8_t layout;  /* enum gantry_work_layout */
	uint8_t flags;   /* HWQ_WQE_*: of each WQE */
	uint8_t copy;    /* of fills and pieces of lists: the kind of their WQEs */
	bool no_inline;  /* the CPU cannot read src */
	uint16_t key;    /* if there is a layout: number in gantry_keys */
	uint16_t peer;   /* of GANTRY_WORK_DC: number in gantry_queue::peer */
	uint32_t imm;    /* immediate data, or the key to invalidate; in the CPU's byte order */
	uint32_t finish; /* GANTRY_FINISH_*: what gantry_finish() has to do, see gantry_finish.h */
};

/* The work goes to a DC peer. */
static inline void
gantry_work_set_dc(struct gantry_work *w, uint16_t peer)
{
	w->kind |= GANTRY_WORK_DC;
	w->peer = peer;
}

/* True: every WQE of the work is written. */
static inline bool
gantry_work_is_done(const struct gantry_work *w)
{
	return w->done;
}

/*
 * Makes *w a copy on the own connection, whose src and dst are addresses in these regions. mmo: DMA MMO
 * copies between host memory, else RDMA.
 *
 * A DMA MMO copies on the PCI bus (mlx5dv_wr_post(3)), where device memory is not. So RDMA copies that. It also
 * copies memory on demand: of the WQEs of an RC queue, the kernel (mlx5_ib, odp.c) serves the page faults of sends,
 * RDMA and atomics. Such memory is then on the remote side, because it is always open to that; other memory may not be.
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
