/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws work requests for UMR, windows, signatures, PSVs and encryption, for the fuzzer of queues.
 */
#include <string.h>

#include "fuzz_wqe.h"

#define STRIDED_OP 0x400 /* opcode of a repeat block */
#define LAYOUT_AT  8     /* number of 16-byte units before the layout */

#define ACCESS_ALL                                                                                 \
	(MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_ATOMIC |                                               \
		MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE |                                  \
		MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ |                                   \
		MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_WRITE)
#define MASK_LAYOUT                                                                                \
	(MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN | MLX5_WQE_UMR_CTRL_MKEY_MASK_START_ADDR |                \
		MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE |                                   \
		MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ |                                   \
		MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE |                                  \
		MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC | MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE)
#define BSF_ENABLED (1u << 30)

/*
 * A BSF that starts with the basic structure. mlx5dv.h does not have it: this layout is struct
 * mlx5_bsf of libmlx5 44, providers/mlx5/wqe.h.
 */
enum {
	BSF_UNITS = 4,
	BSF_WIRE_PSV = 8,
	BSF_MEM_PSV = 12,
	BSF_WIRE_DIF = 32,
	BSF_MEM_DIF = 48,
	/* struct mlx5_crypto_bsf, in the same header. */
	CRYPTO_KIND = 1,
	CRYPTO_ORDER = 1,
	CRYPTO_STANDARD = 3,
	CRYPTO_RAW_LEN = 4,
	CRYPTO_UNIT = 8,
	CRYPTO_TWEAK = 16,
	CRYPTO_DEK = 32,
	CRYPTO_KEYTAG = 40
};

struct umr {
	struct mlx5_wqe_umr_ctrl_seg *ctrl;
	struct mlx5_wqe_mkey_context_seg *mkc;
	uint64_t mask, len;
	unsigned int units;
};

static struct umr
begin(struct fuzz_wqe *q, struct softhca_mkey *mkey)
{
	struct umr u = {.ctrl = (void *)wqe_more(q, 3)};

	u.mkc = (void *)wqe_more(q, 4);
	q->imm = softhca_mkey_key(mkey);
	return u;
}

static void
end(struct fuzz_wqe *q, struct umr *u, uint32_t qpn, uint32_t key)
{
	u->ctrl->flags = MLX5_WQE_UMR_CTRL_FLAG_INLINE;
	u->units = (u->units + 3) & ~3u;
	if (one_in(12))
		u->units += 4 * (1 + (unsigned int)rnd(one_in(2) ? 4 : 16000));
	u->ctrl->klm_octowords = htobe16((uint16_t)u->units);
	if (u->units > FUZZ_UNITS)
		/* More translation entries than the key has, so the WQE must fail. */
		wqe_claims(q, UINT16_MAX);
	if (u->units != 0)
		wqe_claims(q, LAYOUT_AT + u->units + be16toh(u->ctrl->bsf_octowords));
	u->ctrl->mkey_mask = htobe64(u->mask);
	u->mkc->access_flags = one_in(4) ? (uint8_t)rnd(256) : ACCESS_ALL;
	u->mkc->qpn_mkey = htobe32(qpn << 8 | (key & 0xff));
	u->mkc->len = htobe64(u->len);
}

/* ---- layouts */

/* Draws the target of an entry: a region, another key, or the key itself. */
static void
some_target(const struct fuzz_world *w, __be32 *key, __be64 *va)
{
	uint32_t k = wqe_some_key(w);

	*key = htobe32(k);
	*va = htobe64(wqe_some_va(w, k));
}

static void
put_list(const struct fuzz_world *w, struct fuzz_wqe *q, struct umr *u)
{
	u->units = 1 + (unsigned int)rnd(one_in(8) ? 40 : 6);
	for (unsigned int i = 0; i < ((u->units + 3) & ~3u); i++) {
		struct mlx5_wqe_umr_klm_seg *klm = (void *)wqe_more(q, 1);
		uint32_t len = one_in(3) ? 512u << rnd(4) : wqe_some_len();

		if (i >= u->units)
			continue; /* this entry is padding */
		klm->byte_count = htobe32(len);
		some_target(w, &klm->mkey, &klm->address);
		u->len += len;
	}
}

static void
put_repeat(const struct fuzz_world *w, struct fuzz_wqe *q, struct umr *u)
{
	struct mlx5_wqe_umr_repeat_block_seg *block = (void *)wqe_more(q, 1);
	unsigned int n = 1 + (unsigned int)rnd(one_in(8) ? 20 : 3);
	uint32_t count = one_in(8) ? (uint32_t)rnd_word() : 1 + (uint32_t)rnd(20), total = 0;

	u->units = n + 1;
	for (unsigned int i = 0; i < ((u->units + 3) & ~3u) - 1; i++) {
		struct mlx5_wqe_umr_repeat_ent_seg *e = (void *)wqe_more(q, 1);
		uint16_t len = (uint16_t)(one_in(3) ? rnd(2000) : 1 + rnd(64));

		if (i >= n)
			continue;
		e->byte_count = htobe16(len);
		e->stride = htobe16((uint16_t)(one_in(2) ? len : rnd(300)));
		some_target(w, &e->memkey, &e->va);
		total += len;
	}
	block->byte_count = htobe32(one_in(16) ? total + 1 : total);
	block->op = htobe32(STRIDED_OP);
	block->repeat_count = htobe32(count);
	block->num_ent = htobe16((uint16_t)(one_in(16) ? rnd_word() : n));
	u->len = one_in(16) ? rnd_word() : (uint64_t)total * count;
}

/* ---- signatures */

static void
put_dif(uint8_t *p)
{
	p[0] = one_in(16) ? 0 : 0x80;
	rnd_bytes(p + 2, 6);
	p[8] = (uint8_t)(1 + rnd(2));
	p[9] = (uint8_t)rnd(16);
	p[13] = (uint8_t)rnd(256);
}

/* Draws T10-DIF, CRC32 or CRC32C, or 0 for a domain without a signature. */
static void
put_format(const struct fuzz_world *w, uint8_t *p, uint8_t *dif)
{
	static const uint8_t formats[] = {0x00, 0x20, 0x21, 0x40, 0x41};
	uint32_t psv = softhca_psv_number(w->psv[one_in(8) ? 0 : 1 + rnd(N_PSVS - 1)]);
	uint32_t word = htobe32((uint32_t)formats[rnd(sizeof(formats))] << 24 | psv);

	if (one_in(4))
		return;
	memcpy(p, &word, 4);
	put_dif(dif);
}

/* Enables BSFs, and adds a BSF. */
static uint8_t *
more_bsf(struct fuzz_wqe *q, struct umr *u)
{
	u->ctrl->bsf_octowords = htobe16((uint16_t)(be16toh(u->ctrl->bsf_octowords) + BSF_UNITS));
	u->mask |= MLX5_WQE_UMR_CTRL_MKEY_MASK_BSF_ENABLE;
	u->mkc->flags_pd = htobe32(BSF_ENABLED | (one_in(2) ? 1u << 26 : 0));
	return wqe_more(q, BSF_UNITS);
}

/* size: 2, or 3 if a BSF for encryption follows. */
static void
put_bsf(const struct fuzz_world *w, struct fuzz_wqe *q, struct umr *u, unsigned int size)
{
	uint8_t *bsf = more_bsf(q, u);

	bsf[0] = (uint8_t)(size << 6 | (one_in(2) ? 0x10 : 0));
	bsf[1] = (uint8_t)rnd(256);
	bsf[2] = (uint8_t)(1 + rnd(5));
	bsf[3] = (uint8_t)(1 + rnd(5));
	put_format(w, bsf + BSF_WIRE_PSV, bsf + BSF_WIRE_DIF);
	put_format(w, bsf + BSF_MEM_PSV, bsf + BSF_MEM_DIF);
	if (one_in(2))
		u->mask |= MLX5_WQE_UMR_CTRL_MKEY_MASK_SIG_ERR;
}

/* size: 2, or 3 if a BSF for a signature precedes. */
static void
put_crypto(const struct fuzz_world *w, struct fuzz_wqe *q, struct umr *u, unsigned int size)
{
	uint8_t *bsf = more_bsf(q, u);
	uint32_t raw_len = htobe32(one_in(8) ? (uint32_t)rnd(4096) : UINT32_MAX);
	uint32_t dek = htobe32(softhca_dek_number(w->dek[one_in(8) ? 0 : 1 + rnd(N_DEKS - 1)]));

	bsf[0] = (uint8_t)((one_in(16) ? rnd(4) : size) << 6 | CRYPTO_KIND);
	bsf[CRYPTO_ORDER] = (uint8_t)rnd(one_in(8) ? 256 : 4);
	bsf[CRYPTO_STANDARD] = one_in(32);
	memcpy(bsf + CRYPTO_RAW_LEN, &raw_len, sizeof(raw_len));
	bsf[CRYPTO_UNIT] = (uint8_t)(one_in(16) ? rnd(256) : 1 + rnd(6));
	rnd_bytes(bsf + CRYPTO_TWEAK, 16);
	memcpy(bsf + CRYPTO_DEK, &dek, sizeof(dek));
	rnd_bytes(bsf + CRYPTO_KEYTAG, 8);
}

/* ---- work requests */

static void
configure(const struct fuzz_world *w, struct fuzz_wqe *q)
{
	unsigned int i = (unsigned int)rnd(N_INDIRECT);
	struct umr u = begin(q, w->indirect[i]);

	u.mask = MASK_LAYOUT;
	if (one_in(2))
		put_list(w, q, &u);
	else
		put_repeat(w, q, &u);
	if (i >= N_INDIRECT - N_CRYPTO && !one_in(8)) {
		const bool sign = one_in(4);

		if (sign)
			put_bsf(w, q, &u, 3);
		put_crypto(w, q, &u, sign ? 3 : 2);
	} else if (i >= N_INDIRECT - 4 && !one_in(4)) {
		put_bsf(w, q, &u, 2);
	}
	end(q, &u, 0xffffff, q->imm);
}

uint32_t
wqe_long_key(const struct fuzz_world *w, struct fuzz_wqe *q, uint64_t *len)
{
	const unsigned int i = N_INDIRECT - 4 + (unsigned int)rnd(4);
	const struct fuzz_region *r = &w->rw[rnd(N_RW)];
	struct mlx5_wqe_umr_klm_seg *klm;
	struct umr u;

	memset(q, 0, sizeof(*q));
	q->ds = 1;
	q->opcode = MLX5_OPCODE_UMR;
	u = begin(q, w->indirect[i]);
	u.mask = MASK_LAYOUT;
	klm = (void *)wqe_more(q, 4);
	u.units = 1;
	u.len = *len = r->size & ~UINT64_C(4095);
	klm->byte_count = htobe32((uint32_t)u.len);
	klm->mkey = htobe32(softhca_mkey_key(r->mkey));
	klm->address = htobe64(r->va);
	if (i >= N_INDIRECT - N_CRYPTO)
		put_crypto(w, q, &u, 2);
	else
		put_bsf(w, q, &u, 2);
	end(q, &u, 0xffffff, q->imm);
	q->posted_ds = q->ds;
	return q->imm;
}

static void
bind_window(const struct fuzz_world *w, struct fuzz_wqe *q, uint32_t qpn)
{
	unsigned int i = (unsigned int)rnd(N_WINDOWS);
	const struct fuzz_region *r = &w->rw[rnd(N_RW)];
	struct umr u = begin(q, w->window[i]);
	struct mlx5_wqe_umr_klm_seg *klm = (void *)wqe_more(q, 4);
	uint32_t len = 1 + (uint32_t)rnd(one_in(8) ? 2 * r->size : r->size / 2);
	uint64_t va = one_in(8) ? wqe_some_va(w, 0) : r->va + rnd(r->size / 2);

	klm->byte_count = htobe32(len);
	klm->mkey = htobe32(softhca_mkey_key(r->mkey));
	klm->address = htobe64(va);
	u.units = 1;
	u.len = len;
	u.mask = MASK_LAYOUT | MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY | MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN;
	u.mkc->start_addr = htobe64(va);
	end(q, &u, i == 0 ? 0xffffff : qpn, (uint32_t)rnd(256));
}

static void
invalidate(const struct fuzz_world *w, struct fuzz_wqe *q)
{
	struct umr u =
		begin(q, one_in(2) ? w->window[rnd(N_WINDOWS)] : w->indirect[rnd(N_INDIRECT)]);

	u.mask = MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE;
	end(q, &u, 0xffffff, q->imm);
	u.ctrl->flags = one_in(2) ? MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN : 0;
	u.mkc->free = MLX5_WQE_MKEY_CONTEXT_FREE;
}

void
wqe_umr(const struct fuzz_world *w, struct fuzz_wqe *q, uint32_t qpn)
{
	switch (rnd(8)) {
	case 0:
		invalidate(w, q);
		break;
	case 1:
	case 2:
		bind_window(w, q, qpn);
		break;
	default:
		configure(w, q);
	}
	if (one_in(16))
		q->imm = wqe_some_key(w);
}

void
wqe_set_psv(const struct fuzz_world *w, struct fuzz_wqe *q)
{
	uint8_t *seg = wqe_more(q, 1);
	uint32_t number = htobe32(softhca_psv_number(w->psv[rnd(N_PSVS)]));

	memcpy(seg, &number, 4);
	rnd_bytes(seg + 8, 8);
}
