/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WQEs as libmlx5 writes them, of which one field is changed before they are executed.
 *
 * The scribe is a QP in SQD: libmlx5 writes WQEs to its send queue, and the adapter does not
 * execute them. A test copies a WQE from that queue, and posts it on another QP by
 * mlx5dv_wr_raw_wqe (mlx5dv_wr_post(3)).
 */
#ifndef SOFTHCA_SCRIBE_H
#define SOFTHCA_SCRIBE_H

#include "softhca_pair.h"

#define SCRIBE_BB 64

struct scribe_wqe {
	uint8_t bytes[1024];
};

/* Makes the pair's server the scribe. The server still answers requests of the client. */
static inline void
scribe_init(struct pair *p)
{
	CHECK_EQ(pair_modify(&p->server, IBV_QPS_SQD), 0);
}

/* Returns the index at which libmlx5 writes the next WQE. */
static inline uint16_t
scribe_here(const struct pair_end *e)
{
	return (uint16_t)be32toh(__atomic_load_n(&e->dbrec[MLX5_SND_DBR], __ATOMIC_RELAXED));
}

/*
 * Copies the first WQE with this opcode since index `from`, and sets its QPN to that of `runner`,
 * which will execute the WQE.
 */
static inline struct scribe_wqe
scribe_take(const struct pair_end *e, uint16_t from, uint8_t opcode, const struct pair_end *runner)
{
	struct mlx5dv_qp qp = {0};
	struct mlx5dv_obj obj = {.qp = {e->qp, &qp}};
	struct scribe_wqe w = {{0}};
	struct mlx5_wqe_ctrl_seg ctrl;
	uint32_t bb;

	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
	for (;; from = (uint16_t)(from + bb)) {
		CHECK(from != scribe_here(e));
		memcpy(&ctrl,
			(uint8_t *)qp.sq.buf + (size_t)(from & (qp.sq.wqe_cnt - 1)) * SCRIBE_BB,
			sizeof(ctrl));
		bb = ((be32toh(ctrl.qpn_ds) & 0x3f) + 3) / 4;
		CHECK(bb != 0 && bb * SCRIBE_BB <= sizeof(w.bytes));
		if ((be32toh(ctrl.opmod_idx_opcode) & 0xff) == opcode)
			break;
	}
	for (uint32_t i = 0; i < bb; i++)
		memcpy(w.bytes + (size_t)i * SCRIBE_BB,
			(uint8_t *)qp.sq.buf +
				(size_t)((from + i) & (qp.sq.wqe_cnt - 1)) * SCRIBE_BB,
			SCRIBE_BB);
	ctrl.qpn_ds = htobe32(runner->qp->qp_num << 8 | (be32toh(ctrl.qpn_ds) & 0x3f));
	ctrl.fm_ce_se |= MLX5_WQE_CTRL_CQ_UPDATE;
	memcpy(w.bytes, &ctrl, sizeof(ctrl));
	return w;
}

static inline void
scribe_set(struct scribe_wqe *w, size_t at, size_t len, uint64_t value)
{
	uint64_t be = htobe64(value << (64 - 8 * len));

	memcpy(w->bytes + at, &be, len);
}

static inline uint64_t
scribe_get(const struct scribe_wqe *w, size_t at, size_t len)
{
	uint64_t be = 0;

	memcpy(&be, w->bytes + at, len);
	return be64toh(be) >> (64 - 8 * len);
}

static inline enum ibv_wc_status
scribe_run(struct pair_end *e, const struct scribe_wqe *w)
{
	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_id = 5;
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	mlx5dv_wr_raw_wqe(e->dvx, w->bytes);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	return pair_wait(e).status;
}

#endif
