/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong signatures: the key stores the error that a CQE reports until the caller asks for it. */
#include "hwq_mkey_check.h"

#include <errno.h>

#include "hwq_cq.h"

#define SYNDROMES_KNOWN (HWQ_SIG_SYNDROME_REFTAG | HWQ_SIG_SYNDROME_APPTAG | HWQ_SIG_SYNDROME_GUARD)
#define TYPE_BLOCK      0
#define DOMAIN_WIRE     0
#define DOMAIN_MEMORY   1

int
hwq_mkey_note_err(const struct hwq_domain *domain, const struct hwq_cqe *cqe)
{
	struct hwq_mkey *mkey;

	if (cqe->opcode != MLX5_CQE_SIG_ERR)
		return -EINVAL;
	mkey = hwq_mkey_find(domain, cqe->sig.mkey);
	if (mkey == NULL || mkey->sig == NULL)
		return -ENOENT;
	mkey->sig->err = (struct hwq_sig_err){
		.syndrome = cqe->sig.syndrome,
		.sig_type = cqe->sig.raw_type,
		.domain = cqe->sig.raw_domain,
		.expected = cqe->sig.expected,
		.actual = cqe->sig.actual,
		.offset = cqe->sig.offset,
	};
	mkey->sig->err_exists = true;
	mkey->sig->err_count++;
	mkey->sig->err_count_updated = true;
	return 0;
}

/* Number of bits of a domain's guard, which is in the upper bits of a 64-bit word. */
static unsigned int
guard_bits(const struct hwq_sig_domain *domain)
{
	if (domain->type == HWQ_SIG_T10DIF)
		return 16;
	return domain->crc.type == MLX5DV_SIG_CRC_TYPE_CRC64_XP10 ? 64 : 32;
}

/*
 * Reports the first wrong part of the signature, in libmlx5's order. Tags are values already; a
 * guard must be shifted.
 */
static void
decode(const struct hwq_sig_err *err, const struct hwq_sig_domain *domain,
	struct mlx5dv_mkey_err *out)
{
	struct mlx5dv_sig_err *sig = &out->err.sig;

	sig->offset = err->offset;
	sig->expected_value = err->expected;
	sig->actual_value = err->actual;
	if (err->syndrome & HWQ_SIG_SYNDROME_REFTAG) {
		out->err_type = MLX5DV_MKEY_SIG_BLOCK_BAD_REFTAG;
	} else if (err->syndrome & HWQ_SIG_SYNDROME_APPTAG) {
		out->err_type = MLX5DV_MKEY_SIG_BLOCK_BAD_APPTAG;
	} else {
		out->err_type = MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD;
		sig->expected_value = hwq_sig_guard(err->expected, guard_bits(domain));
		sig->actual_value = hwq_sig_guard(err->actual, guard_bits(domain));
	}
}

int
hwq_mkey_check(struct hwq_mkey *mkey, struct mlx5dv_mkey_err *err_info)
{
	struct hwq_mkey_sig *sig = mkey->sig;
	const struct hwq_sig_domain *domain;

	if (sig == NULL)
		return -EINVAL;
	if (!sig->err_exists) {
		err_info->err_type = MLX5DV_MKEY_NO_ERR;
		return 0;
	}
	if ((sig->err.syndrome & SYNDROMES_KNOWN) == 0 || sig->err.sig_type != TYPE_BLOCK ||
		(sig->err.domain != DOMAIN_WIRE && sig->err.domain != DOMAIN_MEMORY))
		return -EINVAL;
	domain = sig->err.domain == DOMAIN_WIRE ? &sig->block.wire : &sig->block.mem;
	if (domain->type == HWQ_SIG_NONE)
		return -EINVAL;
	decode(&sig->err, domain, err_info);
	sig->err_exists = false;
	return 0;
}
