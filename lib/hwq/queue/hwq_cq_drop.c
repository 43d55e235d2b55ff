/* SPDX-License-Identifier: BSD-3-Clause */
/* Drops the completions of a queue pair that no longer exists. */
#include "hwq_cq_drop.h"

#include <string.h>

/* Moves an entry to a later position; the owner bit must be that of the new position's lap. */
static void
cq_move(struct hwq_cq *cq, uint32_t from, uint32_t to)
{
	struct mlx5_cqe64 *dst = (struct mlx5_cqe64 *)(uintptr_t)hwq_cq_entry(cq, to);
	uint8_t owner = (to >> cq->log_n) & MLX5_CQE_OWNER_MASK;

	memcpy(dst, hwq_cq_entry(cq, from), sizeof(*dst));
	dst->op_own = (uint8_t)((dst->op_own & ~MLX5_CQE_OWNER_MASK) | owner);
}

void
hwq_cq_drop(struct hwq_cq *cq, uint32_t qpn, struct hwq_srq *srq)
{
	uint32_t end = cq->ci, i, n_dropped = 0;

	while (end - cq->ci < cq->n_cqe && hwq_cq_is_ours(cq, end))
		end++;
	hwq_fence_owner_before_cqe();
	for (i = end; i != cq->ci; i--) {
		const struct mlx5_cqe64 *e = hwq_cq_entry(cq, i - 1);

		if ((be32toh(e->sop_drop_qpn) & 0xffffff) == qpn) {
			if (srq != NULL && hwq_cqe_is_recv(e->op_own))
				hwq_srq_complete(srq, be16toh(e->wqe_counter));
			n_dropped++;
		} else if (n_dropped != 0) {
			cq_move(cq, i - 1, i - 1 + n_dropped);
		}
	}
	hwq_cq_seek(cq, cq->ci + n_dropped);
	hwq_cq_publish(cq);
}
