/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Wrong signatures: a CQE tells of one, its key keeps it, and the caller asks the key.
 *
 *     n = hwq_cq_poll(cq, cqe, N);
 *     if (cqe[i].opcode == MLX5_CQE_SIG_ERR)
 *         hwq_mkey_note_err(domain, &cqe[i]);        the key keeps the error; no WQE completed
 *     else
 *         ...                                        a completion of the transfer
 *     hwq_mkey_check(mkey, &err);                    after the transfer has completed
 *
 * The device tells of one wrong signature of a key. It tells of the next one only after the key was
 * configured again (hwq_wr_mkey_configure(), with or without setters). libmlx5 does the first step inside
 * ibv_poll_cq(3); with hwq the caller does it.
 *
 * Thread: only the owner of the domain calls the functions of this file.
 */
#ifndef HWQ_MKEY_CHECK_H
#define HWQ_MKEY_CHECK_H

#include "hwq_cqe.h"
#include "hwq_mkey.h"

/**
 * Stores a signature error with the key that it names. An older error that hwq_mkey_check() has not
 * shown is lost.
 * @param cqe a completion whose opcode is MLX5_CQE_SIG_ERR.
 * @return 0; -EINVAL the completion has another opcode; -ENOENT no pool of the domain has such a key with
 *   HWQ_MKEY_SIG: the key is the caller's own, or of another domain.
 */
HWQ_API int hwq_mkey_note_err(const struct hwq_domain *domain, const struct hwq_cqe *cqe);

/** @return true if hwq_mkey_check() has an error to tell of. @param mkey with HWQ_MKEY_SIG. */
static inline bool
hwq_mkey_has_err(const struct hwq_mkey *mkey)
{
	return mkey->sig->err_exists;
}

/**
 * Tells which signature was wrong in the data that passed through the key. The key then forgets the error
 * (mlx5dv_mkey_check(3)).
 * @param err_info written on success. err_type MLX5DV_MKEY_NO_ERR: no signature was wrong, and the other
 *   fields have no meaning.
 * @return 0; -EINVAL the key was made without HWQ_MKEY_SIG; or its error is of a kind that is not known, or
 *   of a domain without signature: the key keeps the error then.
 */
HWQ_API int hwq_mkey_check(struct hwq_mkey *mkey, struct mlx5dv_mkey_err *err_info);

#endif
