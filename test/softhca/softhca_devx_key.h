/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys by the firmware command CREATE_MKEY. Fields are set by their bit offset in the structures of
 * the programming manual (create_mkey_in, mkc, klm), not by the adapter's own tables.
 */
#ifndef SOFTHCA_DEVX_KEY_H
#define SOFTHCA_DEVX_KEY_H

#include "devx_bits.h"
#include "softhca_pair.h"

#define KEY_IN      272 /* bytes of a command that has no layout */
#define KEY_PARTS   64
#define KEY_VARIANT 0x42
#define MKC         0x80 /* bit offset of the key's context in the command */

enum key_mode {
	KEY_PAGES = 1,
	KEY_KLM = 2,
	KEY_KSM = 3
};

struct key_part {
	uint64_t va;
	uint32_t key, len;
};

/* A command, which the caller may change before it is sent. */
struct key_command {
	uint8_t bytes[KEY_IN + 16 * KEY_PARTS];
	size_t len;
	uint8_t status;
	uint32_t syndrome;
};

static inline void
key_put64(struct key_command *c, unsigned int bit, uint64_t value)
{
	devx_put(c->bytes, bit, 32, (uint32_t)(value >> 32));
	devx_put(c->bytes, bit + 32, 32, (uint32_t)value);
}

static inline uint32_t
key_pdn(struct ibv_pd *pd)
{
	struct mlx5dv_pd out;
	struct mlx5dv_obj obj = {.pd = {pd, &out}};

	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
	return out.pdn;
}

/*
 * Makes a command for a key of [start, start+len) with these rights (IBV_ACCESS_*), without a
 * layout.
 */
static inline struct key_command
key_command(struct ibv_pd *pd, enum key_mode mode, unsigned int access, uint64_t start,
	uint64_t len)
{
	struct key_command c = {.len = KEY_IN};

	devx_put(c.bytes, 0, 16, 0x200);
	devx_put(c.bytes, MKC + 0x16, 2, mode);
	devx_put(c.bytes, MKC + 0x15, 1, 1); /* lr */
	devx_put(c.bytes, MKC + 0x14, 1, (access & IBV_ACCESS_LOCAL_WRITE) != 0);
	devx_put(c.bytes, MKC + 0x13, 1, (access & IBV_ACCESS_REMOTE_READ) != 0);
	devx_put(c.bytes, MKC + 0x12, 1, (access & IBV_ACCESS_REMOTE_WRITE) != 0);
	devx_put(c.bytes, MKC + 0x11, 1, (access & IBV_ACCESS_REMOTE_ATOMIC) != 0);
	devx_put(c.bytes, MKC + 0x20, 24, 0xffffff);
	devx_put(c.bytes, MKC + 0x38, 8, KEY_VARIANT);
	devx_put(c.bytes, MKC + 0x68, 24, key_pdn(pd));
	key_put64(&c, MKC + 0x80, start);
	key_put64(&c, MKC + 0xc0, len);
	return c;
}

/* Adds a layout of n parts to the command. For KEY_KSM, all parts have the length 2^log_entity. */
static inline void
key_lay_out(struct key_command *c, const struct key_part *parts, uint32_t n,
	unsigned int log_entity)
{
	CHECK(n <= KEY_PARTS);
	devx_put(c->bytes, 0x300, 32, n);
	/* the number of units in WQEs is a multiple of four */
	devx_put(c->bytes, MKC + 0x1a0, 32, (n + 3) & ~3u);
	devx_put(c->bytes, MKC + 0x1db, 5, log_entity);
	for (uint32_t i = 0; i < n; i++) {
		unsigned int at = (KEY_IN + 16 * i) * 8;

		devx_put(c->bytes, at, 32, parts[i].len);
		devx_put(c->bytes, at + 32, 32, parts[i].key);
		key_put64(c, at + 64, parts[i].va);
	}
	c->len = KEY_IN + 16 * n;
}

/*
 * Sends the command. Sets *key to the new key. If the command is refused, returns NULL with errno,
 * status and syndrome set.
 */
static inline struct mlx5dv_devx_obj *
key_try(struct ibv_context *ctx, struct key_command *c, uint32_t *key)
{
	uint8_t out[16] = {0};
	struct mlx5dv_devx_obj *obj =
		mlx5dv_devx_obj_create(ctx, c->bytes, c->len, out, sizeof(out));

	c->status = out[0];
	c->syndrome = devx_get(out, 0x20, 32);
	*key = devx_get(out, 0x48, 24) << 8 | devx_get(c->bytes, MKC + 0x38, 8);
	return obj;
}

static inline struct mlx5dv_devx_obj *
key_make(struct ibv_context *ctx, struct key_command *c, uint32_t *key)
{
	struct mlx5dv_devx_obj *obj = key_try(ctx, c, key);

	CHECK(obj != NULL, "status 0x%x, syndrome 0x%x", c->status, c->syndrome);
	return obj;
}

#endif
