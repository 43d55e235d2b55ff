/* SPDX-License-Identifier: BSD-3-Clause */
/* Which WQEs copy between two regions, and the keys and addresses that they name. */
#ifndef GANTRY_COPY_H
#define GANTRY_COPY_H

#include "gantry_region_tree.h"
#include "gantry_work.h"

/*
 * Makes *w a copy on the own connection, whose src and dst are addresses in these regions. mmo: DMA MMO
 * copies between host memory, else RDMA.
 *
 * A DMA MMO copies on the PCI bus (mlx5dv_wr_post(3)), where device memory is not. So RDMA copies that. It also
 * copies memory on demand: of the WQEs of an RC queue, the kernel (mlx5_ib, odp.c) serves the page faults of sends,
 * RDMA and atomics. Such memory is then on the remote side, because it is always open to that; other memory may not be.
 */
static inline void
gantry_copy_between(struct gantry_work *w, const struct gantry_region *src,
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
