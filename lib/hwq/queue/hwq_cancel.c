/* SPDX-License-Identifier: BSD-3-Clause */
/* Cancels pending WQEs of a stopped send queue. WQEs from the device's index on are pending. */
#include "hwq_cancel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hwq_log.h"
#include "hwq_verbs.h"
#include "hwq_verbs_obj.h"

static int
modify(struct hwq_qp *qp, enum ibv_qp_state to, const char *how)
{
	struct ibv_qp_attr attr = {.qp_state = to};
	int ret = hwq_verbs_qp_modify(qp->qp, &attr, IBV_QP_STATE);

	if (ret != 0)
		hwq_log("%s the send queue of QP 0x%06x: %s", how, qp->qpn, strerror(-ret));
	return ret;
}

int
hwq_qp_stop(struct hwq_qp *qp)
{
	return modify(qp, IBV_QPS_SQD, "stopping");
}

int
hwq_qp_resume(struct hwq_qp *qp)
{
	return modify(qp, IBV_QPS_RTS, "resuming");
}

/* ------------------------------------------------------------------ marks */

/*
 * A mark contains the index of its WQE, so the mark becomes invalid when the device has passed that
 * index.
 */
#define MARK(index) (0x10000u | (index))

static bool
is_nop(const struct mlx5_wqe_ctrl_seg *ctrl)
{
	return (be32toh(ctrl->opmod_idx_opcode) & 0xff) == MLX5_OPCODE_NOP;
}

static bool
was_cancelled(const struct hwq_qp *qp, uint16_t index)
{
	const struct mlx5_wqe_ctrl_seg *ctrl =
		(const struct mlx5_wqe_ctrl_seg *)hwq_sq_at(&qp->sq, index);

	return qp->cancelled[index & qp->sq.mask] != 0 && is_nop(ctrl);
}

/*
 * Allocates memory for marks if needed, and clears the marks of WQEs that the device has passed.
 */
static int
prepare_marks(struct hwq_qp *qp, uint16_t next)
{
	struct hwq_sq *sq = &qp->sq;
	uint16_t pending = (uint16_t)(sq->pi - next);
	uint32_t i;

	if (qp->cancelled == NULL)
		qp->cancelled = calloc(hwq_sq_n_bb(sq), sizeof(*qp->cancelled));
	if (qp->cancelled == NULL)
		return -ENOMEM;
	for (i = 0; i < hwq_sq_n_bb(sq); i++)
		if ((uint16_t)(qp->cancelled[i] - next) >= pending)
			qp->cancelled[i] = 0;
	return 0;
}

/* ------------------------------------------------------------------ cancelling */

/*
 * Makes the WQE a NOP: opcode and modifier change; index, length and flags stay the same. A WQE
 * that was posted as a NOP is not changed, and gets no mark.
 */
static void
make_nop(struct hwq_qp *qp, uint16_t index)
{
	struct mlx5_wqe_ctrl_seg *ctrl = (struct mlx5_wqe_ctrl_seg *)hwq_sq_at(&qp->sq, index);

	if (is_nop(ctrl))
		return;
	ctrl->opmod_idx_opcode &= htobe32(0xffff00);
	ctrl->opmod_idx_opcode |= htobe32(MLX5_OPCODE_NOP);
	qp->cancelled[index & qp->sq.mask] = MARK(index);
}

/*
 * Cancels the pending WQEs with this wr_id. Returns -EINVAL, and cancels nothing, if a WQE with
 * this wr_id was cancelled before: such a WQE is earlier in the ring than the WQEs that were posted
 * since.
 */
static int
cancel_from(struct hwq_qp *qp, uint16_t index, uint64_t wr_id)
{
	struct hwq_sq *sq = &qp->sq;
	int n = 0;

	while (index != sq->pi) {
		if (hwq_sq_wr_id(sq, index) == wr_id) {
			if (was_cancelled(qp, index))
				return -EINVAL;
			if (!hwq_sq_is_fill(sq, index)) {
				make_nop(qp, index);
				n++;
			}
		}
		index = hwq_sq_end_of(sq, index, index & sq->mask);
	}
	return n;
}

/*
 * Asks the device for the first WQE that it has not begun. Allocates memory for the marks of
 * cancelled WQEs if needed.
 */
static int
find_next(struct hwq_qp *qp, uint16_t *next)
{
	struct hwq_sq *sq = &qp->sq;
	struct hwq_qp_hw hw;
	int ret;

	ret = hwq_verbs_qp_query_hw(qp->qp, &hw);
	if (ret != 0) {
		hwq_log("QP 0x%06x: asking for its next WQE: %s", qp->qpn, strerror(-ret));
		return ret;
	}
	if (hw.state != HWQ_QPC_SQ_DRAINED)
		return -EINVAL;
	/* The device's index must be between the oldest incomplete WQE and pi. */
	if ((uint16_t)(sq->pi - hw.next) > hwq_sq_used_bb(sq)) {
		hwq_log("QP 0x%06x: the device is at WQE 0x%04x, and 0x%04x to 0x%04x are posted",
			qp->qpn, hw.next, hwq_sq_ci(sq), sq->pi);
		return -EPROTO;
	}
	*next = (uint16_t)hw.next;
	return prepare_marks(qp, *next);
}

int
hwq_qp_cancel_posted_send_wrs(struct hwq_qp *qp, uint64_t wr_id)
{
	uint16_t next;
	int ret = find_next(qp, &next);

	return ret != 0 ? ret : cancel_from(qp, next, wr_id);
}

int
hwq_qp_cancel_wqes(struct hwq_qp *qp, const uint16_t *index, unsigned int n, bool *cancelled)
{
	struct hwq_sq *sq = &qp->sq;
	uint16_t next;
	int ret = find_next(qp, &next), n_cancelled = 0;
	unsigned int i;

	if (ret != 0)
		return ret;
	for (i = 0; i < n; i++) {
		cancelled[i] = (uint16_t)(index[i] - next) < (uint16_t)(sq->pi - next);
		if (!cancelled[i])
			continue;
		make_nop(qp, index[i]);
		n_cancelled++;
	}
	return n_cancelled;
}
