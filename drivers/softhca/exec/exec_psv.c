/* SPDX-License-Identifier: BSD-3-Clause */
/* SET_PSV: the work request that sets the running state of a signature (mlx5dv_wr_post(3)). */
#include "order.h"
#include "psv.h"
#include "requester.h"

static void
psv_set(void *psv, uint64_t transient)
{
	atomic_store_explicit(&((struct softhca_psv *)psv)->transient, transient,
		memory_order_relaxed);
}

unsigned int
exec_set_psv(struct run *run, const struct wqe *wqe)
{
	const uint8_t *seg = wqe_seg(run, wqe, PSV_UNIT);
	struct softhca_psv *psv =
		psv_find(run->lanes, get_be32(seg + PSV_INDEX) & 0xffffff, run->qp->pdn);
	uint64_t transient;

	if (psv == NULL)
		return requester_refuse(run, VEN_SIG_PSV, SYN_LOC_PROT);
	transient = get_be64(seg + PSV_TRANSIENT);
	if (!order_delay(run, psv_set, psv, transient))
		psv_set(psv, transient);
	return SYN_OK;
}
