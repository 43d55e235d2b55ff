/* SPDX-License-Identifier: BSD-3-Clause */
/* Twins of keys and DEKs: see hwq_twin_key.h. */
#include "hwq_twin_key.h"

/* ------------------------------------------------------------------ keys and DEKs */

void
key_create(struct twin_pair *p, struct key *k, enum key_kind kind, uint16_t entries)
{
	bool sign = kind == KEY_SIGN || kind == KEY_BOTH,
	     crypt = kind == KEY_CRYPT || kind == KEY_BOTH;
	struct mlx5dv_mkey_init_attr attr = {.pd = twin_dev->pd,
		.max_entries = entries,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				MLX5DV_MKEY_INIT_ATTR_FLAGS_UPDATE_TAG |
				(sign ? MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE : 0) |
				(crypt ? MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO : 0)};
	struct hwq_mkey_conf conf = {.n = 1,
		.max_entries = entries,
		.flags = HWQ_MKEY_UPDATE_VARIANT | (sign ? HWQ_MKEY_SIG : 0) |
			 (crypt ? HWQ_MKEY_CRYPTO : 0)};
	int ret = hwq_mkey_pool_create(p->twin.domain, &conf, &k->pool);

	if (ret != 0)
		EMU_DIE("a key of kind %d: %s", kind, strerror(-ret));
	k->ours = hwq_mkey_get(k->pool);
	k->theirs = mlx5dv_create_mkey(&attr);
	if (k->theirs == NULL)
		EMU_DIE("libmlx5's key of kind %d: %s", kind, strerror(errno));
	k->mem_psv = k->wire_psv = 0;
}

void
key_destroy(struct key *k)
{
	CHECK_EQ(mlx5dv_destroy_mkey(k->theirs), 0, "destroying libmlx5's key");
	hwq_mkey_put(k->ours);
	CHECK_EQ(hwq_mkey_pool_destroy(k->pool), 0, "destroying a key");
}

void
dek_create(struct twin_pair *p, struct dek *d)
{
	struct mlx5dv_dek_init_attr attr = {.key_size = twin_one_in(2) ? MLX5DV_CRYPTO_KEY_SIZE_128
								       : MLX5DV_CRYPTO_KEY_SIZE_256,
		.has_keytag = twin_one_in(2),
		.key_purpose = MLX5DV_CRYPTO_KEY_PURPOSE_AES_XTS,
		.pd = twin_dev->pd,
		.comp_mask = MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN};
	struct hwq_dek_conf conf = {.key_size = attr.key_size, .has_keytag = attr.has_keytag};
	int ret;

	/* The two AES keys of a DEK must differ. */
	conf.key[0] = attr.key[0] = 0x5a;
	ret = hwq_dek_pool_create(p->twin.domain, 1, &conf, &d->pool);
	if (ret != 0)
		EMU_DIE("a DEK: %s", strerror(-ret));
	d->ours = hwq_dek_get(d->pool, 0);
	d->theirs = mlx5dv_dek_create(twin_dev->ctx, &attr);
	if (d->theirs == NULL)
		EMU_DIE("libmlx5's DEK: %s", strerror(errno));
	d->their_id = 0;
}

void
dek_destroy(struct dek *d)
{
	CHECK_EQ(mlx5dv_dek_destroy(d->theirs), 0, "destroying libmlx5's DEK");
	hwq_dek_put(d->ours);
	CHECK_EQ(hwq_dek_pool_destroy(d->pool), 0, "destroying a DEK");
}

/* ------------------------------------------------------------------ signature attributes */

/* Sometimes makes a field invalid. */
static void
spoil_domain(struct domain *d)
{
	switch (twin_draw(8)) {
	case 0:
		d->d.sig_type = 2 + twin_draw(3);
		break;
	case 1:
		d->d.block_size = 5 + twin_draw(300);
		break;
	case 2:
		d->d.comp_mask = 1ull << twin_draw(64);
		break;
	case 3:
		d->dif.bg = (uint16_t)twin_random();
		break;
	case 4:
		d->dif.bg_type = 2 + twin_draw(3);
		break;
	case 5:
		d->dif.flags = (uint16_t)twin_random();
		break;
	case 6:
		d->crc.type = 3 + twin_draw(3);
		break;
	default:
		d->crc.seed = twin_random();
		break;
	}
}

static void
draw_domain(struct domain *d)
{
	static const uint64_t ones[] = {UINT32_MAX, UINT32_MAX, UINT64_MAX};

	memset(d, 0, sizeof(*d));
	d->d.block_size = twin_draw(5);
	d->d.sig_type = twin_draw(2) == 0 ? MLX5DV_SIG_TYPE_CRC : MLX5DV_SIG_TYPE_T10DIF;
	d->dif = (struct mlx5dv_sig_t10dif){.bg_type = twin_draw(2),
		.bg = twin_one_in(2) ? 0 : 0xffff,
		.app_tag = (uint16_t)twin_random(),
		.ref_tag = (uint32_t)twin_random(),
		.flags = (uint16_t)twin_draw(8)};
	d->crc.type = twin_draw(3);
	d->crc.seed = twin_one_in(2) ? 0 : ones[d->crc.type];
}

void
point_domain(struct domain *d)
{
	if (d->d.sig_type == MLX5DV_SIG_TYPE_CRC)
		d->d.sig.crc = &d->crc;
	else
		d->d.sig.dif = &d->dif;
}

/* Makes both domains equal, but sometimes changes a detail. */
static void
draw_like(struct domain *wire, const struct domain *mem)
{
	struct domain other = *wire;

	*wire = *mem;
	if (twin_one_in(3))
		wire->dif.app_tag = other.dif.app_tag;
	if (twin_one_in(3))
		wire->dif.ref_tag = other.dif.ref_tag;
	if (twin_one_in(3))
		wire->dif.bg = other.dif.bg;
	if (twin_one_in(3))
		wire->crc.seed = 0;
	if (twin_one_in(6))
		wire->d.block_size = other.d.block_size;
}

void
draw_sig(struct sig *s, bool invalid)
{
	unsigned int which = (unsigned int)twin_draw(4);

	draw_domain(&s->mem);
	draw_domain(&s->wire);
	if (twin_one_in(2))
		draw_like(&s->wire, &s->mem);
	if (invalid && twin_one_in(50))
		spoil_domain(twin_one_in(2) ? &s->mem : &s->wire);
	point_domain(&s->mem);
	point_domain(&s->wire);
	s->attr = (struct mlx5dv_sig_block_attr){.mem = which != 0 ? &s->mem.d : NULL,
		.wire = which != 1 ? &s->wire.d : NULL,
		.check_mask = (uint8_t)twin_random(),
		.copy_mask = (uint8_t)twin_random()};
	if (!invalid)
		return;
	if (twin_one_in(6))
		s->attr.flags = MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK;
	if (twin_one_in(200))
		s->attr.flags = (uint32_t)twin_random();
	if (twin_one_in(200))
		s->attr.comp_mask = 1ull << twin_draw(64);
	if (twin_one_in(200))
		s->attr.mem = s->attr.wire = NULL;
}

/* ------------------------------------------------------------------ signature errors */

void
sig_cq_open(struct sig_cq *s)
{
	struct mlx5dv_obj obj;

	memset(s, 0, sizeof(*s));
	s->cq = ibv_create_cq(twin_dev->ctx, 15, NULL, NULL, 0);
	if (s->cq == NULL)
		EMU_DIE("a CQ: %s", strerror(errno));
	obj.cq.in = s->cq;
	obj.cq.out = &s->view;
	if (mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ) != 0 || s->view.cqe_size != 64)
		EMU_DIE("a CQ's entries");
}

void
sig_cq_close(struct sig_cq *s)
{
	CHECK_EQ(ibv_destroy_cq(s->cq), 0, "destroying a CQ");
}

static void
put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

/* The layout is struct mlx5_sig_err_cqe of the kernel's linux/mlx5/device.h. */
void
sig_draw_cqe(uint8_t cqe[64])
{
	static const uint16_t syndromes[] = {1u << 11, 1u << 12, 1u << 13, 7u << 11, 3u << 12, 0};
	uint16_t syndrome = syndromes[twin_draw(twin_one_in(8) ? 6 : 5)];
	unsigned int i;

	for (i = 0; i < 64; i++)
		cqe[i] = (uint8_t)twin_random();
	if (twin_one_in(4))
		syndrome |= (uint16_t)twin_draw(1u << 11);
	cqe[32] = (uint8_t)(syndrome >> 8);
	cqe[33] = (uint8_t)syndrome;
	/* signature of a block or of a transaction */
	cqe[34] = twin_one_in(12) ? (uint8_t)twin_draw(3) : 0;
	cqe[35] = (uint8_t)twin_draw(twin_one_in(12) ? 4 : 2); /* domain */
}

void
sig_tell(struct sig_cq *s, const uint8_t cqe[64], const struct key *k,
	const struct hwq_domain *domain)
{
	uint8_t *entry = (uint8_t *)s->view.buf + (size_t)(s->ci % s->view.cqe_cnt) * 64;
	struct mlx5_cqe64 bytes;
	struct hwq_cqe rec;
	struct ibv_wc wc;

	memcpy(&bytes, cqe, sizeof(bytes));
	bytes.op_own = (uint8_t)(MLX5_CQE_SIG_ERR << 4 | (s->ci / s->view.cqe_cnt & 1));
	put32((uint8_t *)&bytes + 36, k->theirs->lkey);
	memcpy(entry, &bytes, sizeof(bytes));
	s->ci++;
	CHECK_EQ(ibv_poll_cq(s->cq, 1, &wc), 0, "a signature error is no completion");
	put32((uint8_t *)&bytes + 36, k->ours->lkey);
	hwq_cqe_decode(&bytes, &rec);
	CHECK_EQ(hwq_mkey_note_err(domain, &rec), 0, "a signature error of our key");
}

bool
sig_check_both(const struct key *k)
{
	struct mlx5dv_mkey_err t, u;
	int their_ret, our_ret;

	memset(&t, 0x5a, sizeof(t));
	memset(&u, 0x5a, sizeof(u));
	their_ret = mlx5dv_mkey_check(k->theirs, &t);
	our_ret = hwq_mkey_check(k->ours, &u);
	CHECK(their_ret == -our_ret, "libmlx5 says %d of its key, hwq %d", their_ret, our_ret);
	CHECK(memcmp(&t, &u, sizeof(t)) == 0,
		"error %d at %llu: 0x%llx for 0x%llx; libmlx5's %d at %llu: 0x%llx for 0x%llx",
		u.err_type, (unsigned long long)u.err.sig.offset,
		(unsigned long long)u.err.sig.actual_value,
		(unsigned long long)u.err.sig.expected_value, t.err_type,
		(unsigned long long)t.err.sig.offset, (unsigned long long)t.err.sig.actual_value,
		(unsigned long long)t.err.sig.expected_value);
	return our_ret == 0 && u.err_type != MLX5DV_MKEY_NO_ERR;
}
