/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mask bits of ibv_modify_qp(3), IBV_QP_*. They are defined here because the adapter does not
 * include verbs.h.
 */
#ifndef SOFTHCA_QP_MASK_H
#define SOFTHCA_QP_MASK_H

enum qp_mask {
	M_STATE = 1 << 0,
	M_CUR_STATE = 1 << 1,
	M_EN_SQD_NOTIFY = 1 << 2,
	M_ACCESS = 1 << 3,
	M_PKEY_INDEX = 1 << 4,
	M_PORT = 1 << 5,
	M_QKEY = 1 << 6,
	M_AV = 1 << 7,
	M_PATH_MTU = 1 << 8,
	M_TIMEOUT = 1 << 9,
	M_RETRY_CNT = 1 << 10,
	M_RNR_RETRY = 1 << 11,
	M_RQ_PSN = 1 << 12,
	M_MAX_RD_ATOMIC = 1 << 13,
	M_ALT_PATH = 1 << 14,
	M_MIN_RNR_TIMER = 1 << 15,
	M_SQ_PSN = 1 << 16,
	M_MAX_DEST_RD_ATOMIC = 1 << 17,
	M_PATH_MIG_STATE = 1 << 18,
	M_CAP = 1 << 19,
	M_DEST_QPN = 1 << 20
};

#endif
