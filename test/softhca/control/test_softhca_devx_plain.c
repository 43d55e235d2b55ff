/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects that consist of a number only, created by firmware commands as DPDK sends them when it
 * starts: protection and transport domains, TISes, counters. Fields are set by their bit offset in
 * the structures of the programming manual.
 */
#include <errno.h>

#include "softhca_devx_key.h"

enum {
	HDR = 16,
	TIS_IN = 32 + 160,
	TIS_OUT = 16 + 160,
	Q_OUT = 256,
	PSV_OUT = 32,
	Q_COUNTERS = 255
};

enum status {
	OK = 0,
	BAD_PARAM = 3,
	BAD_RES = 5,
	NO_RES = 0x0f
};

struct made {
	struct mlx5dv_devx_obj *obj;
	enum status status;
	uint32_t syndrome;
	uint8_t out[PSV_OUT];
};

static struct made
make(struct ibv_context *ctx, uint16_t opcode, uint8_t *in, size_t len)
{
	struct made made = {.obj = NULL};

	devx_put(in, 0, 16, opcode);
	made.obj = mlx5dv_devx_obj_create(ctx, in, len, made.out, sizeof(made.out));
	made.status = (enum status)made.out[0];
	made.syndrome = devx_get(made.out, 0x20, 32);
	CHECK_EQ(made.obj != NULL, made.status == OK);
	CHECK(made.obj != NULL || errno == EREMOTEIO, "errno %d", errno);
	return made;
}

/* Sends a command that consists of a header with one field. */
static struct made
make_plain(struct ibv_context *ctx, uint16_t opcode, unsigned int bit, unsigned int width,
	uint32_t value)
{
	uint8_t in[HDR] = {0};

	devx_put(in, bit, width, value);
	return make(ctx, opcode, in, sizeof(in));
}

static struct made
make_tis(struct ibv_context *ctx, uint32_t td, uint32_t prio, uint32_t underlay)
{
	uint8_t in[TIS_IN] = {0};

	devx_put(in, 0x100 + 0x0c, 4, prio);
	devx_put(in, 0x100 + 0x128, 24, td);
	devx_put(in, 0x100 + 0x148, 24, underlay);
	return make(ctx, 0x912, in, sizeof(in));
}

static void
expect_refusal(struct made made, enum status status, uint32_t bit)
{
	CHECK_EQ(made.status, status);
	CHECK_EQ(made.syndrome, 0x10000 + bit);
}

/* A TIS names a transport domain, which cannot be freed while the TIS exists. */
static void
case_tis(void)
{
	struct ibv_context *ctx = pair_open(0), *other = pair_open(0);
	struct made td = make_plain(ctx, 0x816, 0, 0, 0), td2 = make_plain(ctx, 0x816, 0, 0, 0);
	uint32_t tdn = devx_get(td.out, 0x48, 24), td2n = devx_get(td2.out, 0x48, 24);
	uint8_t in[HDR] = {0}, out[TIS_OUT], want[TIS_OUT] = {0};
	struct made tis = make_tis(ctx, td2n, 9, 0);

	CHECK(tdn != td2n);
	devx_put(in, 0, 16, 0x915);
	devx_put(in, 0x48, 24, devx_get(tis.out, 0x48, 24));
	devx_put(want, 0x80 + 0x0c, 4, 9);
	devx_put(want, 0x80 + 0x128, 24, td2n);
	memset(out, 0, sizeof(out));
	CHECK_EQ(mlx5dv_devx_obj_query(tis.obj, in, sizeof(in), out, sizeof(out)), 0);
	CHECK(check_bytes(out, want, sizeof(out), "QUERY_TIS"));
	devx_put(in, 0x48, 24, 0xffffff);
	CHECK(mlx5dv_devx_obj_query(tis.obj, in, sizeof(in), out, sizeof(out)) != 0);

	expect_refusal(make_tis(ctx, 0xffffff, 0, 0), BAD_RES, 0x228);
	expect_refusal(make_tis(ctx, devx_get(tis.out, 0x48, 24), 0, 0), BAD_RES, 0x228);
	/* a transport domain of another context */
	expect_refusal(make_tis(other, td2n, 0, 0), BAD_RES, 0x228);
	/* an underlay QP that does not exist */
	expect_refusal(make_tis(ctx, td2n, 0, 5), BAD_PARAM, 0x248);

	CHECK_EQ(mlx5dv_devx_obj_destroy(td2.obj), EBUSY);
	CHECK_EQ(mlx5dv_devx_obj_destroy(td.obj), 0);
	CHECK_EQ(mlx5dv_devx_obj_destroy(tis.obj), 0);
	CHECK_EQ(mlx5dv_devx_obj_destroy(td2.obj), 0);
	CHECK_EQ(ibv_close_device(other), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* Numbers of queue counter sets have 8 bits. Number 0 is never allocated. */
static void
case_queue_counters(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct made sets[Q_COUNTERS];
	bool seen[256] = {true};
	uint8_t in[32] = {0}, out[Q_OUT], want[Q_OUT] = {0};
	uint32_t id = 0;

	for (int i = 0; i < Q_COUNTERS; i++) {
		sets[i] = make_plain(ctx, 0x771, 0, 0, 0);
		id = devx_get(sets[i].out, 0x58, 8);
		CHECK(!seen[id], "set %u twice", id);
		seen[id] = true;
	}
	expect_refusal(make_plain(ctx, 0x771, 0, 0, 0), NO_RES, 0);
	devx_put(in, 0, 16, 0x773);
	devx_put(in, 0xf8, 8, id);
	memset(out, 0xff, sizeof(out));
	CHECK_EQ(mlx5dv_devx_obj_query(sets[Q_COUNTERS - 1].obj, in, sizeof(in), out, sizeof(out)),
		0);
	CHECK(check_bytes(out, want, sizeof(out), "QUERY_Q_COUNTER"));
	CHECK(mlx5dv_devx_obj_query(sets[0].obj, in, sizeof(in), out, sizeof(out)) != 0);
	/* A number that was freed is allocated again. */
	id = devx_get(sets[7].out, 0x58, 8);
	CHECK_EQ(mlx5dv_devx_obj_destroy(sets[7].obj), 0);
	sets[7] = make_plain(ctx, 0x771, 0, 0, 0);
	CHECK_EQ(devx_get(sets[7].out, 0x58, 8), id);
	for (int i = 0; i < Q_COUNTERS; i++)
		CHECK_EQ(mlx5dv_devx_obj_destroy(sets[i].obj), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/*
 * CREATE_PSV accepts a PD that a firmware command created. This PD cannot be freed while the PSV
 * exists.
 */
static void
case_pd(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *verbs = ibv_alloc_pd(ctx);
	struct made pd = make_plain(ctx, 0x800, 0, 0, 0), psv;
	uint32_t pdn = devx_get(pd.out, 0x48, 24);
	uint8_t in[HDR] = {0};

	CHECK(verbs != NULL && pdn != key_pdn(verbs));
	devx_put(in, 0x40, 4, 1);
	devx_put(in, 0x48, 24, pdn);
	psv = make(ctx, 0x600, in, sizeof(in));
	CHECK_EQ(psv.status, OK);
	CHECK_EQ(mlx5dv_devx_obj_destroy(pd.obj), EBUSY);
	CHECK_EQ(mlx5dv_devx_obj_destroy(psv.obj), 0);
	CHECK_EQ(mlx5dv_devx_obj_destroy(pd.obj), 0);
	expect_refusal(make(ctx, 0x600, in, sizeof(in)), BAD_RES, 0x48);
	CHECK_EQ(ibv_dealloc_pd(verbs), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* Closing a context destroys its objects in the right order, whichever object names which. */
static void
case_left(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct made td = make_plain(ctx, 0x816, 0, 0, 0), pd = make_plain(ctx, 0x800, 0, 0, 0);
	struct made tis = make_tis(ctx, devx_get(td.out, 0x48, 24), 0, 0);
	struct made set = make_plain(ctx, 0x771, 0, 0, 0);

	CHECK_EQ(ibv_close_device(ctx), 0);
	free(tis.obj);
	free(td.obj);
	free(pd.obj);
	free(set.obj);
}

static const struct check_case cases[] = {
	{"a TIS keeps its transport domain in use", case_tis},
	{"queue counters are created, queried and destroyed", case_queue_counters},
	{"a protection domain is created and destroyed", case_pd},
	{"closing a context destroys such objects", case_left},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
