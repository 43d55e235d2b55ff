/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The block signatures of mlx5dv_wr_set_mkey_sig_block(3): their expected bytes, their description
 * for libmlx5, and a key that can have signatures. ISA-L computes all guards except CRC64. For the
 * byte order of a CRC see doc/softhca-assumptions.md.
 */
#ifndef SOFTHCA_SIGNATURE_H
#define SOFTHCA_SIGNATURE_H

#include <isa-l.h>

#include "rfc1071.h"
#include "softhca_pair.h"

#define SIGNATURE_MAX_LEN 8

enum signature_kind {
	NONE,
	DIF_CRC,
	DIF_CSUM,
	CRC32,
	CRC32C,
	CRC64
};

struct signature {
	enum signature_kind kind;
	bool ones;    /* seed of the guard is all ones; otherwise zeros */
	uint16_t app; /* tags of T10-DIF: application tag, and reference tag of the first block */
	uint32_t ref;
};

static inline bool
signature_is_dif(enum signature_kind kind)
{
	return kind == DIF_CRC || kind == DIF_CSUM;
}

static inline uint32_t
signature_len(enum signature_kind kind)
{
	return kind == NONE ? 0 : signature_is_dif(kind) || kind == CRC64 ? 8 : 4;
}

/*
 * Computes CRC-64/NVME bit by bit, because Debian's ISA-L lacks it. test_signature_rules.c compares
 * it with published values.
 */
static inline uint64_t
signature_crc64(uint64_t crc, const uint8_t *p, uint32_t len)
{
	for (; len != 0; len--) {
		crc ^= *p++;
		for (int b = 0; b < 8; b++)
			crc = (crc >> 1) ^ (crc & 1 ? UINT64_C(0x9a6c9329ac4bc9b5) : 0);
	}
	return ~crc;
}

/* Returns the guard over one block. */
static inline uint64_t
signature_guard(const struct signature *s, const uint8_t *block, uint32_t len)
{
	switch (s->kind) {
	case DIF_CRC:
		return crc16_t10dif(s->ones ? 0xffff : 0, block, len);
	case DIF_CSUM:
		return (uint16_t)~sum16(s->ones ? 0xffff : 0, block, len);
	case CRC32:
		return crc32_gzip_refl(s->ones ? 0 : UINT32_MAX, block, len);
	case CRC64:
		return signature_crc64(s->ones ? UINT64_MAX : 0, block, len);
	default:
		CHECK_EQ(s->kind, CRC32C);
		return ~crc32_iscsi((uint8_t *)(uintptr_t)block, (int)len,
			s->ones ? UINT32_MAX : 0);
	}
}

/* Writes the signature of block i, which has signature_len() bytes. */
static inline void
signature_write(const struct signature *s, const uint8_t *block, uint32_t len, uint32_t i,
	uint8_t *out)
{
	uint64_t guard = signature_guard(s, block, len), le = htole64(guard);
	uint32_t ref = htobe32(s->ref + i);
	uint16_t be = htobe16((uint16_t)guard), app = htobe16(s->app);

	if (!signature_is_dif(s->kind)) {
		memcpy(out, &le, signature_len(s->kind));
		return;
	}
	memcpy(out, &be, 2);
	memcpy(out + 2, &app, 2);
	memcpy(out + 4, &ref, 4);
}

/* Writes n blocks. Each block is followed by its signature, if the kind is not NONE. */
static inline void
signature_lay(const struct signature *s, const uint8_t *data, uint32_t block_len, uint32_t n,
	uint8_t *out)
{
	for (uint32_t i = 0; i < n; i++) {
		memcpy(out, data, block_len);
		if (s->kind != NONE)
			signature_write(s, data, block_len, i, out + block_len);
		data += block_len;
		out += block_len + signature_len(s->kind);
	}
}

struct signature_domain {
	struct mlx5dv_sig_t10dif dif;
	struct mlx5dv_sig_crc crc;
	struct mlx5dv_sig_block_domain d;
};

/* Fills *d, which describes the signature to libmlx5. Returns NULL for the kind NONE. */
static inline const struct mlx5dv_sig_block_domain *
signature_domain(struct signature_domain *d, const struct signature *s,
	enum mlx5dv_block_size block, uint16_t dif_flags)
{
	static const enum mlx5dv_sig_crc_type crcs[] = {[CRC32] = MLX5DV_SIG_CRC_TYPE_CRC32,
		[CRC32C] = MLX5DV_SIG_CRC_TYPE_CRC32C,
		[CRC64] = MLX5DV_SIG_CRC_TYPE_CRC64_XP10};

	if (s->kind == NONE)
		return NULL;
	memset(d, 0, sizeof(*d));
	d->d.block_size = block;
	if (!signature_is_dif(s->kind)) {
		d->crc.type = crcs[s->kind];
		d->crc.seed = !s->ones ? 0 : s->kind == CRC64 ? UINT64_MAX : UINT32_MAX;
		d->d.sig_type = MLX5DV_SIG_TYPE_CRC;
		d->d.sig.crc = &d->crc;
		return &d->d;
	}
	d->dif.bg_type = s->kind == DIF_CRC ? MLX5DV_SIG_T10DIF_CRC : MLX5DV_SIG_T10DIF_CSUM;
	d->dif.bg = s->ones ? 0xffff : 0;
	d->dif.app_tag = s->app;
	d->dif.ref_tag = s->ref;
	d->dif.flags = dif_flags | MLX5DV_SIG_T10DIF_FLAG_REF_REMAP;
	d->d.sig_type = MLX5DV_SIG_TYPE_T10DIF;
	d->d.sig.dif = &d->dif;
	return &d->d;
}

/* Creates a key that can have signatures, over at most 4 pieces of memory. */
static inline struct mlx5dv_mkey *
signature_create_key(struct ibv_pd *pd)
{
	struct mlx5dv_mkey_init_attr attr = {.pd = pd,
		.max_entries = 4,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE};
	struct mlx5dv_mkey *mkey = mlx5dv_create_mkey(&attr);

	CHECK(mkey != NULL);
	return mkey;
}

/*
 * Posts the configuration of a key over n pieces of memory. If sig is NULL, the key's signatures do
 * not change.
 */
static inline void
signature_post_key(struct pair_end *e, struct mlx5dv_mkey *mkey, unsigned int access, uint16_t n,
	const struct ibv_sge *v, const struct mlx5dv_sig_block_attr *sig)
{
	struct mlx5dv_mkey_conf_attr conf = {0};

	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(e->dvx, mkey, sig != NULL ? 3 : 2, &conf);
	mlx5dv_wr_set_mkey_access_flags(e->dvx, access);
	mlx5dv_wr_set_mkey_layout_list(e->dvx, n, v);
	if (sig != NULL)
		mlx5dv_wr_set_mkey_sig_block(e->dvx, sig);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
}

/* Returns the error of the key, and clears it. */
static inline struct mlx5dv_mkey_err
signature_key_error(struct mlx5dv_mkey *mkey)
{
	struct mlx5dv_mkey_err err;

	CHECK_EQ(mlx5dv_mkey_check(mkey, &err), 0);
	return err;
}

/* Fills the data with a pattern, the client's memory with 11 and the server's memory with 22. */
static inline void
signature_paint(struct pair *p, uint8_t *data, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		data[i] = (uint8_t)(i * 13 + i / 100);
	memset(p->client.buf, 0x11, PAIR_BUF);
	memset(p->server.buf, 0x22, PAIR_BUF);
}

/* Expects these bytes, and that no byte after them was written since signature_paint(). */
static inline void
signature_expect(const uint8_t *buf, const uint8_t *want, uint32_t len, uint8_t paint)
{
	CHECK(memcmp(buf, want, len) == 0);
	for (uint32_t i = len; i < len + 64; i++)
		CHECK_EQ(buf[i], paint);
}

#endif
