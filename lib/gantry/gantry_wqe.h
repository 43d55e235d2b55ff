/* SPDX-License-Identifier: BSD-3-Clause */
/* What a checked descriptor asks of the hardware, and the WQE that each kind of work becomes. */
#ifndef GANTRY_WQE_H
#define GANTRY_WQE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include <hwq_wqe.h>

#include "gantry_conn.h"

enum gantry_wqe_kind {
	GANTRY_WQE_MEMCPY,
	GANTRY_WQE_WRITE,
	GANTRY_WQE_READ,
};

/* A checked descriptor: addresses with keys, and the connection that carries it. */
struct gantry_work {
	uint64_t src;
	uint64_t dst;
	uint64_t len; /* bytes; more than one WQE moves where it is to be split */
	uint32_t src_key;
	uint32_t dst_key;
	uint8_t conn; /* index in gantry_queue::conn */
	uint8_t kind; /* enum gantry_wqe_kind */
};

/*
 * Writes one WQE for the first len bytes of the work. Callers pass a constant `kind` where they
 * know it. Every WQE here is one WQEBB, so the ring's end needs no NOPs and `posted` counts WQEs
 * and WQEBBs alike. False: the send queue is full and nothing was written.
 */
static __rte_always_inline bool
gantry_wqe_put(struct gantry_conn *c, const struct gantry_work *w, uint8_t kind, uint32_t len)
{
	bool signal = (c->posted & c->signal_mask) == c->signal_mask;
	unsigned int flags = signal ? HWQ_WQE_SIGNALED : 0;
	int n;

	if (kind == GANTRY_WQE_MEMCPY)
		n = hwq_wqe_memcpy(c->sq, w->dst_key, w->dst, w->src_key, w->src, len, flags);
	else if (kind == GANTRY_WQE_WRITE)
		n = hwq_wqe_rdma_write(c->sq, w->dst_key, w->dst, w->src_key, w->src, len, flags);
	else
		n = hwq_wqe_rdma_read(c->sq, w->src_key, w->src, w->dst_key, w->dst, len, flags);
	if (unlikely(n <= 0))
		return false;
	c->posted++;
	return true;
}

#endif
