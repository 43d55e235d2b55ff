/* SPDX-License-Identifier: BSD-3-Clause */
/* Syndromes of error CQEs: their texts, and the matching ibv_wc_status. */
#include <assert.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "hwq_cqe.h"

/* The public values must be those of the device. */
#define SAME(ours, theirs)                                                                         \
	static_assert((int)HWQ_SYNDROME_##ours == MLX5_CQE_SYNDROME_##theirs, #ours)
SAME(LOCAL_LENGTH, LOCAL_LENGTH_ERR);
SAME(LOCAL_QP_OP, LOCAL_QP_OP_ERR);
SAME(LOCAL_PROT, LOCAL_PROT_ERR);
SAME(WR_FLUSH, WR_FLUSH_ERR);
SAME(MW_BIND, MW_BIND_ERR);
SAME(BAD_RESP, BAD_RESP_ERR);
SAME(LOCAL_ACCESS, LOCAL_ACCESS_ERR);
SAME(REMOTE_INVAL_REQ, REMOTE_INVAL_REQ_ERR);
SAME(REMOTE_ACCESS, REMOTE_ACCESS_ERR);
SAME(REMOTE_OP, REMOTE_OP_ERR);
SAME(TRANSPORT_RETRY_EXC, TRANSPORT_RETRY_EXC_ERR);
SAME(RNR_RETRY_EXC, RNR_RETRY_EXC_ERR);
SAME(REMOTE_ABORTED, REMOTE_ABORTED_ERR);
#undef SAME

static const char *const syndromes[] = {
	[HWQ_SYNDROME_LOCAL_LENGTH] = "local length error",
	[HWQ_SYNDROME_LOCAL_QP_OP] = "local QP operation error",
	[HWQ_SYNDROME_LOCAL_PROT] = "local protection error",
	[HWQ_SYNDROME_WR_FLUSH] = "flushed",
	[HWQ_SYNDROME_MW_BIND] = "memory window bind error",
	[HWQ_SYNDROME_BAD_RESP] = "bad response",
	[HWQ_SYNDROME_LOCAL_ACCESS] = "local access error",
	[HWQ_SYNDROME_REMOTE_INVAL_REQ] = "remote invalid request",
	[HWQ_SYNDROME_REMOTE_ACCESS] = "remote access error",
	[HWQ_SYNDROME_REMOTE_OP] = "remote operation error",
	[HWQ_SYNDROME_TRANSPORT_RETRY_EXC] = "retries exceeded",
	[HWQ_SYNDROME_RNR_RETRY_EXC] = "RNR retries exceeded",
	[HWQ_SYNDROME_REMOTE_ABORTED] = "remote aborted",
};

const char *
hwq_syndrome_str(uint8_t syndrome)
{
	if (syndrome == 0)
		return "success";
	if (syndrome >= sizeof(syndromes) / sizeof(syndromes[0]) || syndromes[syndrome] == NULL)
		return "unknown syndrome";
	return syndromes[syndrome];
}

int
hwq_syndrome_status(uint8_t syndrome)
{
	static const uint8_t status[] = {
		[0] = IBV_WC_SUCCESS,
		[HWQ_SYNDROME_LOCAL_LENGTH] = IBV_WC_LOC_LEN_ERR,
		[HWQ_SYNDROME_LOCAL_QP_OP] = IBV_WC_LOC_QP_OP_ERR,
		[HWQ_SYNDROME_LOCAL_PROT] = IBV_WC_LOC_PROT_ERR,
		[HWQ_SYNDROME_WR_FLUSH] = IBV_WC_WR_FLUSH_ERR,
		[HWQ_SYNDROME_MW_BIND] = IBV_WC_MW_BIND_ERR,
		[HWQ_SYNDROME_BAD_RESP] = IBV_WC_BAD_RESP_ERR,
		[HWQ_SYNDROME_LOCAL_ACCESS] = IBV_WC_LOC_ACCESS_ERR,
		[HWQ_SYNDROME_REMOTE_INVAL_REQ] = IBV_WC_REM_INV_REQ_ERR,
		[HWQ_SYNDROME_REMOTE_ACCESS] = IBV_WC_REM_ACCESS_ERR,
		[HWQ_SYNDROME_REMOTE_OP] = IBV_WC_REM_OP_ERR,
		[HWQ_SYNDROME_TRANSPORT_RETRY_EXC] = IBV_WC_RETRY_EXC_ERR,
		[HWQ_SYNDROME_RNR_RETRY_EXC] = IBV_WC_RNR_RETRY_EXC_ERR,
		[HWQ_SYNDROME_REMOTE_ABORTED] = IBV_WC_REM_ABORT_ERR,
	};

	/*
	 * Syndrome 0 is success. For all other values that are not in the table, libmlx5 returns
	 * IBV_WC_GENERAL_ERR.
	 */
	if (syndrome >= sizeof(status) || (syndrome != 0 && status[syndrome] == 0))
		return IBV_WC_GENERAL_ERR;
	return status[syndrome];
}
