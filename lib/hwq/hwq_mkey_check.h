/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Wrong signatures: from the CQE that tells of one to its key, and to the caller who asks.
 *
 *     n = hwq_cq_poll(cq, cqe, N);
 *     if (cqe[i].opcode == MLX5_CQE_SIG_ERR)
 *         hwq_mkey_note_err(domain, &cqe[i]);        the key has an error now; no WQE completed
 *     else
 *         ...                                        the transfer itself went well, or not
 *     hwq_mkey_check(mkey, &err);                    once the transfer has completed
 *
 * The device tells of one wrong signature of a key, then of none until the key is configured again
 * (hwq_wr_mkey_configure(), with or without setters). libmlx5 does the first step inside its
 * ibv_poll_cq(3); here it is the caller's, as all CQEs are.
 *
 * Thread: the owner of the domain, and no other.
 */
#ifndef HWQ_MKEY_CHECK_H
#define HWQ_MKEY_CHECK_H

#include "hwq_cqe.h"
#include "hwq_mkey.h"

/**
 * Takes a CQE of MLX5_CQE_SIG_ERR to the key that it names, in the place of what that key had not
 * told yet.
 * @return 0; -EINVAL another kind of CQE; -ENOENT no pool of the domain has a key of that number
 *   with HWQ_MKEY_SIG: it is the caller's own, or of another domain.
 */
HWQ_API int hwq_mkey_note_err(const struct hwq_domain *domain, const struct hwq_cqe *cqe);

/**
 * What was wrong with the data that passed through the key, and forgets it (mlx5dv_mkey_check(3)).
 * @param err_info err_type is MLX5DV_MKEY_NO_ERR where nothing was; the rest counts if it is not.
 * @return 0; -EINVAL a key without HWQ_MKEY_SIG; or an error that is not known here, or of a domain
 *   that has no signature: the key keeps it.
 */
HWQ_API int hwq_mkey_check(struct hwq_mkey *mkey, struct mlx5dv_mkey_err *err_info);

#endif
