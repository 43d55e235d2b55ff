/* SPDX-License-Identifier: BSD-3-Clause */
/* Cancelling what is pending in a send queue that stands still, by the device's own index. */
#include "hwq_cancel.h"

#include <errno.h>
#include <string.h>

#include "hwq_log.h"
#include "hwq_verbs.h"
#include "hwq_verbs_ctl.h"

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

/* Opcode and modifier become a NOP's; index, length, and what was asked for stay. */
static void
make_nop(void *wqe)
{
	struct mlx5_wqe_ctrl_seg *ctrl = (struct mlx5_wqe_ctrl_seg *)wqe;

	ctrl->opmod_idx_opcode &= htobe32(0xffff00);
	ctrl->opmod_idx_opcode |= htobe32(MLX5_OPCODE_NOP);
}

static int
cancel_from(struct hwq_sq *sq, uint16_t index, uint64_t wr_id)
{
	int n = 0;

	while (index != sq->pi) {
		if (hwq_sq_wr_id(sq, index) == wr_id && !hwq_sq_is_fill(sq, index)) {
			make_nop(hwq_sq_at(sq, index));
			n++;
		}
		index = hwq_sq_end_of(sq, index, index & sq->mask);
	}
	return n;
}

int
hwq_qp_cancel_posted_send_wrs(struct hwq_qp *qp, uint64_t wr_id)
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
	/* The device is at, or between, what is known to be complete and what is posted. */
	if ((uint16_t)(sq->pi - hw.next) > hwq_sq_used_bb(sq)) {
		hwq_log("QP 0x%06x: the device is at WQE 0x%04x, and 0x%04x to 0x%04x are posted",
			qp->qpn, hw.next, sq->ci, sq->pi);
		return -EPROTO;
	}
	return cancel_from(sq, hw.next, wr_id);
}
