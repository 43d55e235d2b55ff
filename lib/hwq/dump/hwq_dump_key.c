/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes work requests on keys as text: UMRs with their layouts, signatures and encryption,
 * SET_PSV, and CQEs of wrong signatures. Tags of encryption keys are secret, so they are not
 * written.
 */
#include "hwq_dump_key.h"

#include <string.h>

#include "hwq_umr.h"
#include "hwq_wire_bsf.h"

/* ------------------------------------------------------------------ UMR control, key context */

/* Writes the names of the set bits. Set bits without a name follow as a number. */
static void
dump_bits(struct text *t, uint64_t value, const char *const *names, const uint64_t *bits, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if ((value & bits[i]) != 0)
			hwq_text_add(t, " %s", names[i]);
		value &= ~bits[i];
	}
	if (value != 0)
		hwq_text_add(t, " 0x%llx", (unsigned long long)value);
}

static void
dump_umr_ctrl(struct text *t, const struct mlx5_wqe_umr_ctrl_seg *umr)
{
	static const char *const flags[] = {"INLINE", "CHECK_FREE", "TRANSLATION_OFFSET",
		"CHECK_QPN"};
	static const uint64_t flag_bits[] = {MLX5_WQE_UMR_CTRL_FLAG_INLINE,
		MLX5_WQE_UMR_CTRL_FLAG_CHECK_FREE, MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET,
		MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN};
	static const char *const masks[] = {"LEN", "START", "SIG_ERR", "BSF", "VARIANT", "QPN",
		"LW", "RR", "RW", "ATOMIC", "FREE"};
	static const uint64_t mask_bits[] = {MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN,
		MLX5_WQE_UMR_CTRL_MKEY_MASK_START_ADDR, MLX5_WQE_UMR_CTRL_MKEY_MASK_SIG_ERR,
		MLX5_WQE_UMR_CTRL_MKEY_MASK_BSF_ENABLE, MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY,
		MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN, MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE,
		MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ,
		MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE,
		MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC, MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE};

	hwq_text_add(t, "  umr flags");
	dump_bits(t, umr->flags, flags, flag_bits, 4);
	hwq_text_add(t, " layout %u bsf %u sets", be16toh(umr->klm_octowords),
		be16toh(umr->bsf_octowords));
	dump_bits(t, be64toh(umr->mkey_mask), masks, mask_bits, 11);
	hwq_text_add(t, "\n");
}

static void
dump_context(struct text *t, const struct mlx5_wqe_mkey_context_seg *key)
{
	static const char *const rights[] = {"LW", "RR", "RW", "ATOMIC"};
	static const uint64_t right_bits[] = {MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_WRITE,
		MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ,
		MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE,
		MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_ATOMIC};
	uint32_t qpn_variant = be32toh(key->qpn_mkey), flags = be32toh(key->flags_pd);

	hwq_text_add(t,
		"  key%s qpn 0x%06x variant 0x%02x start 0x%llx len %llu errors %u%s rights",
		key->free & MLX5_WQE_MKEY_CONTEXT_FREE ? " FREE" : "", qpn_variant >> 8,
		qpn_variant & 0xff, (unsigned long long)be64toh(key->start_addr),
		(unsigned long long)be64toh(key->len), flags >> HWQ_MKC_SIG_ERR_SHIFT & 1,
		flags & HWQ_MKC_BSF_ENABLE ? " BSF" : "");
	dump_bits(t, key->access_flags, rights, right_bits, 4);
	hwq_text_add(t, "\n");
}

/* ------------------------------------------------------------------ layouts */

static void
dump_klm(struct text *t, const uint8_t *at)
{
	struct mlx5_wqe_umr_klm_seg klm;

	memcpy(&klm, at, sizeof(klm));
	hwq_text_add(t, "  klm addr 0x%016llx len %u key 0x%08x\n",
		(unsigned long long)be64toh(klm.address), be32toh(klm.byte_count),
		be32toh(klm.mkey));
}

static void
dump_pattern_entry(struct text *t, const uint8_t *at)
{
	struct mlx5_wqe_umr_repeat_ent_seg e;

	memcpy(&e, at, sizeof(e));
	hwq_text_add(t, "  entry addr 0x%016llx len %u stride %u key 0x%08x\n",
		(unsigned long long)be64toh(e.va), be16toh(e.byte_count), be16toh(e.stride),
		be32toh(e.memkey));
}

/*
 * Writes n units: KLMs, or a pattern's first unit and entries. Padding is written as KLMs or
 * entries.
 */
static void
dump_layout(struct text *t, const uint8_t *at, size_t n)
{
	struct mlx5_wqe_umr_repeat_block_seg head;
	size_t i;

	if (n == 0)
		return;
	memcpy(&head, at, sizeof(head));
	if (be32toh(head.op) != HWQ_UMR_OP_PATTERN) {
		for (i = 0; i < n; i++)
			dump_klm(t, at + i * HWQ_DS_LEN);
		return;
	}
	hwq_text_add(t, "  pattern of %u bytes, %u entries, repeated %u\n",
		be32toh(head.byte_count), be16toh(head.num_ent), be32toh(head.repeat_count));
	for (i = 1; i < n && i <= be16toh(head.num_ent); i++)
		dump_pattern_entry(t, at + i * HWQ_DS_LEN);
}

/* ------------------------------------------------------------------ signatures, encryption */

static const char *
block_size(uint8_t selector)
{
	static const char *const sizes[] = {[0] = "no size",
		[1] = "512",
		[2] = "520",
		[3] = "4096",
		[4] = "4160",
		[6] = "4048"};

	if (selector >= sizeof(sizes) / sizeof(sizes[0]) || sizes[selector] == NULL)
		return "unknown size";
	return sizes[selector];
}

static void
dump_sig_domain(struct text *t, const char *name, __be32 format_psv,
	const struct hwq_wire_bsf_dif *dif, uint8_t selector)
{
	static const struct {
		uint32_t format;
		const char *name;
	} crcs[] = {{HWQ_BSF_CRC32, "CRC32"}, {HWQ_BSF_CRC32C, "CRC32C"},
		{HWQ_BSF_CRC64_XP10, "CRC64_XP10"}};
	uint32_t word = be32toh(format_psv), format = word & 0xf0000000;
	size_t i;

	if (word == 0)
		return;
	hwq_text_add(t, "  %s blocks of %s psv 0x%06x ", name, block_size(selector),
		word & HWQ_BSF_PSV_MASK);
	if (word >> 24 == 0) {
		hwq_text_add(t, "T10-DIF %s app 0x%04x ref 0x%08x flags 0x%02x%s\n",
			dif->guard == HWQ_DIF_GUARD_CRC ? "CRC" : "checksum", be16toh(dif->app_tag),
			be32toh(dif->ref_tag), dif->flags,
			dif->seed & HWQ_DIF_SEED_ONES ? " seed ones" : "");
		return;
	}
	for (i = 0; i < 3 && crcs[i].format != format; i++)
		;
	hwq_text_add(t, "%s%s\n", i < 3 ? crcs[i].name : "unknown",
		word & HWQ_BSF_CRC_SEED_0 ? "" : " seed ones");
}

static void
dump_sig_bsf(struct text *t, const uint8_t *at)
{
	struct hwq_wire_sig_bsf bsf;
	bool same;

	memcpy(&bsf, at, sizeof(bsf));
	same = (bsf.size_same & HWQ_BSF_SAME_STRUCTURE) != 0;
	hwq_text_add(t, "  signature check 0x%02x", bsf.check_mask);
	if (same)
		hwq_text_add(t, " copy 0x%02x", bsf.wire);
	hwq_text_add(t, "\n");
	dump_sig_domain(t, "memory", bsf.mem_format_psv, &bsf.mem_dif, bsf.mem);
	dump_sig_domain(t, "wire", bsf.wire_format_psv, &bsf.wire_dif, same ? bsf.mem : bsf.wire);
}

static void
dump_crypto_bsf(struct text *t, const uint8_t *at)
{
	static const char *const orders[] = {
		[HWQ_CRYPTO_WIRE_SIGNATURE] = "on the wire, with signatures",
		[HWQ_CRYPTO_MEMORY_SIGNATURE] = "in memory, with signatures",
		[HWQ_CRYPTO_RAW_WIRE] = "on the wire, data alone",
		[HWQ_CRYPTO_RAW_MEMORY] = "in memory, data alone",
	};
	struct hwq_wire_crypto_bsf bsf;
	size_t i;

	memcpy(&bsf, at, sizeof(bsf));
	hwq_text_add(t, "  encrypted: %s; units of %s dek 0x%06x tweak ",
		bsf.order < 4 ? orders[bsf.order] : "unknown", block_size(bsf.data_unit),
		be32toh(bsf.dek) & 0xffffff);
	for (i = 0; i < sizeof(bsf.tweak); i++)
		hwq_text_add(t, "%02x", bsf.tweak[i]);
	hwq_text_add(t, "\n");
}

/* ------------------------------------------------------------------ WQEs and CQEs */

size_t
hwq_dump_umr(struct text *t, const uint8_t *at, size_t left)
{
	size_t units = left / HWQ_DS_LEN, pos = HWQ_UMR_HEAD_DS - HWQ_UMR_CTRL_DS, n, i;
	struct mlx5_wqe_umr_ctrl_seg umr;
	struct mlx5_wqe_mkey_context_seg key;

	if (units < pos) {
		for (i = 0; i < units; i++)
			hwq_dump_hex(t, at + i * HWQ_DS_LEN);
		return units;
	}
	memcpy(&umr, at, sizeof(umr));
	memcpy(&key, at + sizeof(umr), sizeof(key));
	dump_umr_ctrl(t, &umr);
	dump_context(t, &key);
	n = be16toh(umr.klm_octowords);
	n = n < units - pos ? n : units - pos;
	dump_layout(t, at + pos * HWQ_DS_LEN, n);
	for (pos += n; pos + HWQ_BSF_DS <= units; pos += HWQ_BSF_DS) {
		if ((at[pos * HWQ_DS_LEN] & 0xf) == HWQ_BSF_TYPE_CRYPTO)
			dump_crypto_bsf(t, at + pos * HWQ_DS_LEN);
		else
			dump_sig_bsf(t, at + pos * HWQ_DS_LEN);
	}
	for (; pos < units; pos++)
		hwq_dump_hex(t, at + pos * HWQ_DS_LEN);
	return units;
}

void
hwq_dump_set_psv(struct text *t, const uint8_t *at)
{
	struct hwq_wire_set_psv seg;

	memcpy(&seg, at, sizeof(seg));
	hwq_text_add(t, "  psv 0x%06x signature 0x%016llx\n", be32toh(seg.index) & HWQ_BSF_PSV_MASK,
		(unsigned long long)be64toh(seg.transient));
}

void
hwq_dump_sig_err(struct text *t, const struct hwq_cqe_sig *sig)
{
	static const char *const kinds[] = {[HWQ_SIG_UNKNOWN] = "unknown kind",
		[HWQ_SIG_REFTAG] = "reference tag",
		[HWQ_SIG_APPTAG] = "application tag",
		[HWQ_SIG_GUARD] = "guard"};

	hwq_text_add(t, " of key 0x%08x: %s, in %s at %llu: 0x%llx for 0x%llx (syndrome 0x%04x)",
		sig->mkey, kinds[sig->kind], sig->memory ? "memory" : "the wire",
		(unsigned long long)sig->offset, (unsigned long long)sig->actual,
		(unsigned long long)sig->expected, sig->syndrome);
}
