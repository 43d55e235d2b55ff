/* SPDX-License-Identifier: BSD-3-Clause */
/* SET_PSV: the work request that sets the running state of a signature (mlx5dv_wr_post(3)). */
#include "psv.h"
#include "requester.h"

unsigned int
exec_set_psv(struct run *run, const struct wqe *wqe)
{
	const uint8_t *seg = wqe_seg(run, wqe, PSV_UNIT);
	struct softhca_psv *psv =
		psv_find(run->lanes, get_be32(seg + PSV_INDEX) & 0xffffff, run->qp->pdn);

	if (psv == NULL)
		return requester_refuse(run, VEN_SIG_PSV, SYN_LOC_PROT);
	atomic_store_explicit(&psv->transient, get_be64(seg + PSV_TRANSIENT), memory_order_relaxed);
	return SYN_OK;
}
