/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Wrong signatures: a CQE reports an error, the key stores it, and the caller asks the key.
 *
 *     n = hwq_cq_poll(cq, cqe, N);
 *     if (cqe[i].opcode == MLX5_CQE_SIG_ERR)
 *         hwq_mkey_note_err(domain, &cqe[i]);        stores the error; no WQE has completed
 *     else
 *         ...                                        a completion of the transfer
 *     hwq_mkey_check(mkey, &err);                    after the transfer has completed
 *
 * The device reports one wrong signature of a key. It reports the next wrong signature only after
 * the key was configured again (hwq_wr_mkey_configure(), with or without setters). libmlx5 stores
 * the error inside ibv_poll_cq(3); with hwq the caller stores it, by hwq_mkey_note_err().
 *
 * Thread: only the owner of the domain calls the functions of this file.
 */
#ifndef HWQ_MKEY_CHECK_H
#define HWQ_MKEY_CHECK_H

#include "hwq_cqe.h"
#include "hwq_mkey.h"

/**
 * Stores a signature error in the key to which the CQE refers. An older error that hwq_mkey_check()
 * has not reported is lost.
 *
 * @param domain
 *   The domain of the key.
 * @param cqe
 *   A completion whose opcode is MLX5_CQE_SIG_ERR.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   The completion has another opcode.
 * @retval -ENOENT
 *   No pool of the domain has such a key with HWQ_MKEY_SIG: the key is the caller's own, or of
 *   another domain.
 */
HWQ_API int hwq_mkey_note_err(const struct hwq_domain *domain, const struct hwq_cqe *cqe);

/**
 * Tells whether hwq_mkey_check() will report an error.
 * @param mkey A key with HWQ_MKEY_SIG.
 * @return True if there is an error.
 */
static inline bool
hwq_mkey_has_err(const struct hwq_mkey *mkey)
{
	return mkey->sig->err_exists;
}

/**
 * Reports which signature was wrong in the data that passed through the key (mlx5dv_mkey_check(3)).
 * The key then forgets the error.
 *
 * @param mkey
 *   The key.
 * @param err_info
 *   Written on success. err_type MLX5DV_MKEY_NO_ERR: no signature was wrong, and the other fields
 *   have no meaning.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   The key was created without HWQ_MKEY_SIG. Or its error is of an unknown kind, or in a domain
 *   without signature; then the key keeps the error.
 */
HWQ_API int hwq_mkey_check(struct hwq_mkey *mkey, struct mlx5dv_mkey_err *err_info);

#endif
