/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Aliases of keys of another function of the card. Offsets of fields are those of UCX
 * (dv/ib_mlx5_ifc.h: allow_other_vhca_access_in, alias_context) and Linux (mlx5_ifc.h), not those
 * of the adapter's own tables.
 */
#ifndef SOFTHCA_ALIAS_H
#define SOFTHCA_ALIAS_H

#include "softhca_devx_key.h"

#define ALLOW_IN     64
#define ALLOW_OUT    16
#define ALIAS_IN     80
#define ALIAS_OUT    80
#define ALIAS_SECRET 32

/* Status and syndrome of the last command. */
struct alias_answer {
	uint8_t status;
	uint32_t syndrome;
};

static inline uint32_t
alias_cap(struct ibv_context *ctx, unsigned int page, unsigned int bit, unsigned int width)
{
	uint8_t in[16] = {0}, out[16 + 0x100] = {0};

	devx_put(in, 0, 16, 0x100);
	devx_put(in, 0x30, 16, page << 1 | 1); /* current values */
	CHECK_EQ(mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, sizeof(out)), 0);
	return devx_get(out + 16, bit, width);
}

static inline uint32_t
alias_vhca(struct ibv_context *ctx)
{
	return alias_cap(ctx, 0, 0x30, 16);
}

static inline void
alias_put_allow(uint8_t in[ALLOW_IN], uint32_t index, const uint8_t secret[ALIAS_SECRET])
{
	memset(in, 0, ALLOW_IN);
	devx_put(in, 0, 16, 0xb16);
	devx_put(in, 0x90, 16, 0xff01);
	devx_put(in, 0xa0, 32, index);
	memcpy(in + 0x100 / 8, secret, ALIAS_SECRET);
}

/* Allows aliases of the key with this index. Returns 0, or an errno with the answer set. */
static inline int
alias_allow(struct ibv_context *ctx, uint32_t index, const uint8_t secret[ALIAS_SECRET],
	struct alias_answer *answer)
{
	uint8_t in[ALLOW_IN], out[ALLOW_OUT] = {0};
	int rc;

	alias_put_allow(in, index, secret);
	rc = mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, sizeof(out));
	*answer = (struct alias_answer){out[0], devx_get(out, 0x20, 32)};
	return rc;
}

static inline void
alias_put_create(uint8_t in[ALIAS_IN], uint32_t pdn, uint32_t vhca, uint32_t index,
	const uint8_t secret[ALIAS_SECRET])
{
	memset(in, 0, ALIAS_IN);
	devx_put(in, 0, 16, 0xa00);
	devx_put(in, 0x30, 16, 0xff01);
	devx_put(in, 0x60, 1, 1);
	devx_put(in, 0x80, 16, vhca);
	devx_put(in, 0xa0, 32, index);
	memcpy(in + 0x100 / 8, secret, ALIAS_SECRET);
	devx_put(in, 0x200, 32, pdn);
}

/*
 * Makes an alias. *key: its number with the variant 0, as UCX uses it for keys with any variant.
 * Returns NULL if the command is refused.
 */
static inline struct mlx5dv_devx_obj *
alias_make(struct ibv_pd *pd, uint32_t vhca, uint32_t owner_key, const uint8_t secret[ALIAS_SECRET],
	uint32_t *key, struct alias_answer *answer)
{
	uint8_t in[ALIAS_IN], out[ALIAS_OUT] = {0};
	struct mlx5dv_devx_obj *obj;

	alias_put_create(in, key_pdn(pd), vhca, owner_key >> 8, secret);
	obj = mlx5dv_devx_obj_create(pd->context, in, sizeof(in), out, sizeof(out));
	*answer = (struct alias_answer){out[0], devx_get(out, 0x20, 32)};
	if (obj == NULL)
		return NULL;
	CHECK_EQ(devx_get(out, 0x9d, 3), 0);
	*key = devx_get(out, 0x40, 32) << 8;
	return obj;
}

/* The status of an alias, by QUERY_GENERAL_OBJECT. */
static inline uint32_t
alias_status(struct mlx5dv_devx_obj *obj, uint32_t key)
{
	uint8_t in[16] = {0}, out[ALIAS_OUT] = {0};

	devx_put(in, 0, 16, 0xa02);
	devx_put(in, 0x30, 16, 0xff01);
	devx_put(in, 0x40, 32, key >> 8);
	CHECK_EQ(mlx5dv_devx_obj_query(obj, in, sizeof(in), out, sizeof(out)), 0);
	return devx_get(out, 0x9d, 3);
}

/* A key that its owner may allow, over [addr, addr + len). */
struct alias_owned {
	struct mlx5dv_devx_umem *umem; /* NULL: the key is a KSM over `mr` */
	struct ibv_mr *mr;
	struct mlx5dv_devx_obj *obj;
	uint32_t key;
};

/* Makes a key over DEVX user memory. */
static inline void
alias_own_direct(struct ibv_pd *pd, void *addr, size_t len, unsigned int access,
	struct alias_owned *own)
{
	struct key_command c = key_command(pd, KEY_PAGES, access, (uintptr_t)addr, len);

	*own = (struct alias_owned){
		.umem = mlx5dv_devx_umem_reg(pd->context, addr, len,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)};
	CHECK(own->umem != NULL);
	devx_put(c.bytes, 0x320, 32, own->umem->umem_id);
	own->obj = key_make(pd->context, &c, &own->key);
}

/* Makes a KSM of one entry over a registration. */
static inline void
alias_own_ksm(struct ibv_pd *pd, void *addr, size_t len, unsigned int access,
	struct alias_owned *own)
{
	struct key_command c = key_command(pd, KEY_KSM, access, (uintptr_t)addr, len);
	struct key_part part = {.va = (uintptr_t)addr};
	unsigned int log = 12;

	*own = (struct alias_owned){
		.mr = ibv_reg_mr(pd, addr, len, (int)access | IBV_ACCESS_LOCAL_WRITE)};
	CHECK(own->mr != NULL);
	part.key = own->mr->lkey;
	while (((size_t)1 << log) < len)
		log++;
	key_lay_out(&c, &part, 1, log);
	own->obj = key_make(pd->context, &c, &own->key);
}

/* Destroys the key. Its memory stays registered until alias_disown(). */
static inline void
alias_end_key(struct alias_owned *own)
{
	CHECK_EQ(mlx5dv_devx_obj_destroy(own->obj), 0);
	own->obj = NULL;
}

static inline void
alias_disown(struct alias_owned *own)
{
	if (own->obj != NULL)
		alias_end_key(own);
	if (own->umem != NULL)
		CHECK_EQ(mlx5dv_devx_umem_dereg(own->umem), 0);
	if (own->mr != NULL)
		CHECK_EQ(ibv_dereg_mr(own->mr), 0);
}

#endif
