/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts, builders and data setters of hwq_wr.h for the twins, inlined into the caller. */
#ifndef HWQ_TWIN_WR_H
#define HWQ_TWIN_WR_H

#include "hwq_twin.h"

/* Starts a batch for a QP of this type. */
static HWQ_INLINE void
twin_start(struct hwq_wr *wr, struct hwq_sq *sq, enum hwq_qp_type type)
{
	switch (type) {
	case HWQ_QP_UD:
		hwq_wr_start_ud(wr, sq);
		break;
	case HWQ_QP_XRC_SEND:
		hwq_wr_start_xrc(wr, sq);
		break;
	case HWQ_QP_DCI:
		hwq_wr_start_dc(wr, sq);
		break;
	case HWQ_QP_RAW_PACKET:
		hwq_wr_start_raw(wr, sq);
		break;
	default:
		hwq_wr_start(wr, sq);
		break;
	}
}

/* Calls a data setter. */
static HWQ_INLINE void
twin_hwq_data(struct hwq_wr *wr, enum twin_setter setter, const struct twin_data *d)
{
	struct hwq_sge sge[TWIN_MAX_SGE + 2];
	struct hwq_buf buf[TWIN_MAX_BUF];

	switch (setter) {
	case TWIN_SGE:
		hwq_wr_set_sge(wr, d->sge[0].lkey, d->sge[0].addr, d->sge[0].length);
		break;
	case TWIN_SGE_LIST:
		twin_hwq_lists(d, sge, buf);
		hwq_wr_set_sge_list(wr, d->n, sge);
		break;
	case TWIN_INLINE:
		hwq_wr_set_inline_data(wr, d->bytes, d->len);
		break;
	default:
		twin_hwq_lists(d, sge, buf);
		hwq_wr_set_inline_data_list(wr, d->n, buf);
		break;
	}
}

/* Calls a builder that takes data; setters must follow. */
static HWQ_INLINE void
twin_hwq_op(struct hwq_wr *wr, enum twin_code code, const struct twin_args *a)
{
	switch (code) {
	case TWIN_SEND:
		hwq_wr_send(wr);
		break;
	case TWIN_SEND_IMM:
		hwq_wr_send_imm(wr, a->imm);
		break;
	case TWIN_SEND_INV:
		hwq_wr_send_inv(wr, a->imm);
		break;
	case TWIN_WRITE:
		hwq_wr_rdma_write(wr, a->rkey, a->raddr);
		break;
	case TWIN_WRITE_IMM:
		hwq_wr_rdma_write_imm(wr, a->rkey, a->raddr, a->imm);
		break;
	case TWIN_READ:
		hwq_wr_rdma_read(wr, a->rkey, a->raddr);
		break;
	case TWIN_CMP_SWP:
		hwq_wr_atomic_cmp_swp(wr, a->rkey, a->raddr, a->operand[0], a->operand[1]);
		break;
	case TWIN_FETCH_ADD:
		hwq_wr_atomic_fetch_add(wr, a->rkey, a->raddr, a->operand[0]);
		break;
	}
}

#endif
