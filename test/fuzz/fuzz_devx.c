/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Firmware commands for the fuzzer of control calls: see fuzz_calls.h. Fields are set by their bit
 * offset in the structures of the programming manual, as in test_softhca_devx.c.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "devx_bits.h"
#include "softhca.h"

#include "fuzz_calls.h"

#define CREATE_LEN 272
#define MODIFY_LEN 264
#define UMEM_LEN   16384
#define SQ_AT      4096 /* offset in the user memory, after the CQ */

unsigned long fuzz_devx_queues, fuzz_devx_aliases;

struct side {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	uint32_t pdn, eqn;
	uint8_t *mem, *records;
	struct mlx5dv_devx_umem *umem, *record_umem;
	struct mlx5dv_devx_uar *uar;
};

/* ---- queues created by changed commands */

static void
fill_cq(const struct side *s, uint8_t *in)
{
	devx_put(in, 0, 16, 0x400);
	devx_put(in, 0x80 + 0x06, 1, 1);
	devx_put(in, 0x80 + 0x20, 32, s->record_umem->umem_id);
	devx_put(in, 0x80 + 0x63, 5, 2 + (uint32_t)rnd(4));
	devx_put(in, 0x80 + 0x68, 24, s->uar->page_id);
	devx_put(in, 0x80 + 0xb8, 8, s->eqn);
	devx_put(in, 0x2c0, 32, s->umem->umem_id);
	devx_put(in, 0x2e0, 1, 1);
}

static void
fill_qp(const struct side *s, uint32_t cqn, uint8_t *in)
{
	devx_put(in, 0, 16, 0x500);
	devx_put(in, 0xc0 + 0x28, 24, s->pdn);
	devx_put(in, 0xc0 + 0x49, 4, 4);
	devx_put(in, 0xc0 + 0x4d, 3, (uint32_t)rnd(3));
	devx_put(in, 0xc0 + 0x51, 4, 2 + (uint32_t)rnd(4));
	devx_put(in, 0xc0 + 0x68, 24, s->uar->page_id);
	devx_put(in, 0xc0 + 0x3e8, 24, cqn);
	devx_put(in, 0xc0 + 0x4e8, 24, cqn);
	devx_put(in, 0xc0 + 0x520, 32, 8);
	devx_put(in, 0xc0 + 0x683, 1, 1);
	devx_put(in, 0xc0 + 0x720, 32, s->record_umem->umem_id);
	devx_put(in, 0x820, 32, SQ_AT);
	devx_put(in, 0x840, 32, s->umem->umem_id);
	devx_put(in, 0x860, 1, 1);
}

/*
 * Changes a size, an offset or a memory field: these fields decide where the adapter reads and
 * writes.
 */
static void
change(uint8_t *in, const uint16_t *bits, const uint8_t *widths, size_t n)
{
	size_t i = rnd(n);

	if (one_in(3)) /* the command stays unchanged */
		return;
	if (one_in(4)) /* changes any field except the opcode */
		mutate_field_be(in + 8, CREATE_LEN - 8);
	else
		devx_put(in, bits[i], widths[i], (uint32_t)(one_in(2) ? rnd_word() : rnd(40)));
}

static struct mlx5dv_devx_obj *
create_devx_cq(const struct side *s, uint32_t *cqn)
{
	static const uint16_t bits[] = {0x80 + 0x08, 0x80 + 0x63, 0x80 + 0x1e0, 0x2a0};
	static const uint8_t widths[] = {3, 5, 32, 32};
	uint8_t in[CREATE_LEN] = {0}, out[16] = {0};
	struct mlx5dv_devx_obj *cq;

	fill_cq(s, in);
	change(in, bits, widths, 4);
	cq = mlx5dv_devx_obj_create(s->ctx, in, sizeof(in), out, sizeof(out));
	*cqn = devx_get(out, 0x48, 24);
	return cq;
}

static struct mlx5dv_devx_obj *
create_devx_qp(const struct side *s, uint32_t cqn, uint32_t *qpn)
{
	static const uint16_t bits[] = {0xc0 + 0x49, 0xc0 + 0x4d, 0xc0 + 0x51, 0xc0 + 0x520, 0x820};
	static const uint8_t widths[] = {4, 3, 4, 32, 32};
	uint8_t in[CREATE_LEN] = {0}, out[16] = {0};
	struct mlx5dv_devx_obj *qp;

	fill_qp(s, cqn, in);
	change(in, bits, widths, 5);
	qp = mlx5dv_devx_obj_create(s->ctx, in, sizeof(in), out, sizeof(out));
	*qpn = devx_get(out, 0x48, 24);
	return qp;
}

static void
modify(struct mlx5dv_devx_obj *qp, uint32_t opcode, uint32_t qpn, uint8_t *in)
{
	uint8_t out[16] = {0};

	devx_put(in, 0, 16, opcode);
	devx_put(in, 0x48, 24, qpn);
	mlx5dv_devx_obj_modify(qp, in, MODIFY_LEN, out, sizeof(out));
}

/* Takes the QP from RESET to RTS, connected to itself. */
static void
connect_qp(struct mlx5dv_devx_obj *qp, uint32_t qpn)
{
	uint8_t init[MODIFY_LEN] = {0}, rtr[MODIFY_LEN] = {0}, rts[MODIFY_LEN] = {0};

	devx_put(init, 0xc0 + 0x490, 3, 7);
	devx_put(init, 0xc0 + 0xc0 + 0x128, 8, 1);
	modify(qp, 0x502, qpn, init);
	devx_put(rtr, 0xc0 + 0x40, 3, IBV_MTU_1024);
	devx_put(rtr, 0xc0 + 0xa8, 24, qpn);
	devx_put(rtr, 0xc0 + 0xc0 + 0x128, 8, 1);
	modify(qp, 0x503, qpn, rtr);
	devx_put(rts, 0xc0 + 0xc0 + 0x40, 5, 1);
	modify(qp, 0x504, qpn, rts);
}

/*
 * Posts as many WQEs as the ring holds, whatever its size: the adapter reads each WQE and flushes
 * it into the CQ.
 */
static void
use_queue(const struct side *s, struct mlx5dv_devx_obj *qp, uint32_t qpn)
{
	_Atomic uint32_t *records = (_Atomic uint32_t *)(void *)s->records;

	connect_qp(qp, qpn);
	rnd_bytes(s->mem, UMEM_LEN);
	for (unsigned int log = 0; log < 16; log++) {
		for (unsigned int i = 0; i < 4; i++)
			atomic_store(&records[i], htobe32(1u << log));
		memcpy((uint8_t *)s->uar->base_addr + 0x800, s->mem + SQ_AT, 8);
		for (unsigned int turns = 0; softhca_pump() != 0 && turns < 1000;)
			turns++;
	}
	fuzz_devx_queues++;
}

static void
use_queues(const struct side *s)
{
	uint32_t cqn, qpn;
	struct mlx5dv_devx_obj *cq = create_devx_cq(s, &cqn), *qp;

	if (cq == NULL)
		return;
	qp = create_devx_qp(s, cqn, &qpn);
	if (qp != NULL) {
		use_queue(s, qp, qpn);
		mlx5dv_devx_obj_destroy(qp);
	}
	mlx5dv_devx_obj_destroy(cq);
}

/* ---- the other commands */

static void
use_keys(const struct side *s)
{
	struct mlx5dv_mkey_init_attr attr = {.pd = s->pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE,
		.max_entries = 8};
	struct mlx5dv_mkey *mkey = mlx5dv_create_mkey(&attr);

	if (mkey != NULL)
		mlx5dv_destroy_mkey(mkey);
}

/* ---- keys of other functions of the card */

#define SECRET_AT  (0x100 / 8)
#define SECRET_LEN 32

static uint32_t
vhca_id(const struct side *s)
{
	uint8_t in[16] = {0}, out[16 + 0x100] = {0};

	devx_put(in, 0, 16, 0x100);
	devx_put(in, 0x30, 16, 1);
	mlx5dv_devx_general_cmd(s->ctx, in, sizeof(in), out, sizeof(out));
	return devx_get(out + 16, 0x30, 16);
}

/*
 * Allows and imports the key by changed commands. An alias exists only if its command has the
 * index, the function and the access key of the command that allowed the key last.
 */
static void
use_alias(const struct side *s, uint32_t index)
{
	uint8_t allow[64] = {0}, create[80] = {0}, want[80], out[80] = {0};
	const uint32_t vhca = vhca_id(s);
	struct mlx5dv_devx_obj *alias;

	devx_put(allow, 0, 16, 0xb16);
	devx_put(allow, 0x90, 16, 0xff01);
	devx_put(allow, 0xa0, 32, index);
	rnd_bytes(allow + SECRET_AT, SECRET_LEN);
	mlx5dv_devx_general_cmd(s->ctx, allow, sizeof(allow), out, sizeof(out));
	devx_put(create, 0, 16, 0xa00);
	devx_put(create, 0x30, 16, 0xff01);
	devx_put(create, 0x60, 1, 1);
	devx_put(create, 0x80, 16, vhca);
	devx_put(create, 0xa0, 32, index);
	memcpy(create + SECRET_AT, allow + SECRET_AT, SECRET_LEN);
	devx_put(create, 0x200, 32, s->pdn);
	memcpy(want, create, sizeof(want));
	if (!one_in(4))
		mutate_field_be(create + 8, sizeof(create) - 8);
	alias = mlx5dv_devx_obj_create(s->ctx, create, sizeof(create), out, sizeof(out));
	if (alias == NULL)
		return;
	/*
	 * Malformed copies of the ALLOW command may have allowed other keys with the same access
	 * key, so the index may differ. It has 24 bits.
	 */
	if (memcmp(create + SECRET_AT, want + SECRET_AT, SECRET_LEN) != 0 ||
		devx_get(create, 0x80, 16) != vhca || devx_get(create, 0xa0, 8) != 0)
		FUZZ_DIE("an alias of VHCA 0x%x, index 0x%x, which was not allowed",
			(unsigned int)devx_get(create, 0x80, 16),
			(unsigned int)devx_get(create, 0xa0, 32));
	fuzz_devx_aliases++;
	/* A changed ALLOW, which must not reach beyond the key. */
	mutate_field_be(allow + 8, sizeof(allow) - 8);
	mlx5dv_devx_general_cmd(s->ctx, allow, sizeof(allow), out, sizeof(out));
	mlx5dv_devx_obj_destroy(alias);
}

static void
use_aliases(const struct side *s)
{
	uint8_t in[CREATE_LEN] = {0}, out[16] = {0};
	struct mlx5dv_devx_obj *key;

	devx_put(in, 0, 16, 0x200);
	devx_put(in, 0x80 + 0x14, 2, 3);
	devx_put(in, 0x80 + 0x16, 2, 1);
	devx_put(in, 0x80 + 0x20, 24, 0xffffff);
	devx_put(in, 0x80 + 0x68, 24, s->pdn);
	devx_put(in, 0x80 + 0xe0, 32, UMEM_LEN);
	devx_put(in, 0x320, 32, s->umem->umem_id);
	key = mlx5dv_devx_obj_create(s->ctx, in, sizeof(in), out, sizeof(out));
	if (key == NULL)
		return;
	for (unsigned int i = 0; i < 40; i++)
		use_alias(s, devx_get(out, 0x48, 24));
	mlx5dv_devx_obj_destroy(key);
}

static void
use_commands(const struct side *s)
{
	static const uint16_t commands[] = {0x100, 0x200, 0x400, 0x402, 0x500, 0x50b, 0x50e, 0x600,
		0xa00, 0xb00, 0xb16};
	uint8_t in[CREATE_LEN], out[512];

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct mlx5dv_devx_obj *obj;

		memset(in, 0, sizeof(in));
		devx_put(in, 0, 16, commands[i]);
		devx_put(in, 0x30, 16, (uint32_t)rnd(70));
		mutate_field_be(in + 8, sizeof(in) - 8);
		mlx5dv_devx_general_cmd(s->ctx, in, sizeof(in), out, sizeof(out));
		obj = mlx5dv_devx_obj_create(s->ctx, in, sizeof(in), out, sizeof(out));
		if (obj != NULL)
			mlx5dv_devx_obj_destroy(obj);
	}
}

void
calls_of_devx(struct ibv_context *ctx)
{
	struct side s = {.ctx = ctx, .pd = ibv_alloc_pd(ctx)};
	struct mlx5dv_pd dvpd;
	struct mlx5dv_obj obj = {.pd = {s.pd, &dvpd}};

	if (s.pd == NULL)
		return;
	mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD);
	s.pdn = dvpd.pdn;
	s.mem = fuzz_guarded(UMEM_LEN);
	s.records = fuzz_guarded(16);
	s.umem = mlx5dv_devx_umem_reg(ctx, s.mem, UMEM_LEN, IBV_ACCESS_LOCAL_WRITE);
	s.record_umem = mlx5dv_devx_umem_reg(ctx, s.records, 16, IBV_ACCESS_LOCAL_WRITE);
	s.uar = mlx5dv_devx_alloc_uar(ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	mlx5dv_devx_query_eqn(ctx, 0, &s.eqn);
	if (s.umem != NULL && s.record_umem != NULL && s.uar != NULL)
		for (unsigned int i = 0; i < 40; i++)
			use_queues(&s);
	if (s.umem != NULL)
		use_aliases(&s);
	use_keys(&s);
	use_commands(&s);
	if (s.uar != NULL)
		mlx5dv_devx_free_uar(s.uar);
	if (s.umem != NULL)
		mlx5dv_devx_umem_dereg(s.umem);
	if (s.record_umem != NULL)
		mlx5dv_devx_umem_dereg(s.record_umem);
	ibv_dealloc_pd(s.pd);
}
