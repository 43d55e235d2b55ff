/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An adapter without some features that real adapters have: no capability reports these features,
 * and calls that need them are refused. Expected values: libmlx5 and the kernel's mlx5_ib
 * (EOPNOTSUPP without DC; EINVAL for a context with DEVX, and EPROTONOSUPPORT for its methods).
 */
#include "check.h"
#include "softhca_pair.h"

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static bool
is_off(const char *setting)
{
	const char *value = getenv(setting);

	return value != NULL && strcmp(value, "0") == 0;
}

static void
start(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	CHECK(list != NULL && list[0] != NULL);
	ctx = ibv_open_device(list[0]);
	CHECK(ctx != NULL);
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	CHECK(pd != NULL && cq != NULL);
}

static void
end(void)
{
	CHECK_EQ(ibv_destroy_cq(cq) | ibv_dealloc_pd(pd) | ibv_close_device(ctx), 0);
}

static void
case_signatures(void)
{
	const bool has = !is_off("SOFTHCA_SIGNATURES") && !is_off("SOFTHCA_DEVX");
	struct mlx5dv_context dv = {.comp_mask = MLX5DV_CONTEXT_MASK_SIGNATURE_OFFLOAD};
	struct mlx5dv_mkey_init_attr attr = {.create_flags =
						     MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
						     MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE,
		.max_entries = 4};
	uint8_t psv[16] = {0x06, 0x00}, out[32];
	struct mlx5dv_devx_obj *obj;
	struct mlx5dv_pd number;
	struct mlx5dv_mkey *key;

	start();
	attr.pd = pd;
	CHECK_EQ(mlx5dv_query_device(ctx, &dv), 0);
	CHECK_EQ(dv.sig_caps.block_prot != 0, has);
	CHECK_EQ(dv.sig_caps.crc_type != 0, has);
	key = mlx5dv_create_mkey(&attr);
	CHECK_EQ(key != NULL, has);
	if (key != NULL)
		CHECK_EQ(mlx5dv_destroy_mkey(key), 0);
	/*
	 * libmlx5 itself refuses to create such keys, so the test also sends the adapter a command
	 * (CREATE_PSV, mlx5_ifc.h).
	 */
	CHECK_EQ(mlx5dv_init_obj(&(struct mlx5dv_obj){.pd = {pd, &number}}, MLX5DV_OBJ_PD), 0);
	psv[8] = 0x10 | (number.pdn >> 24 & 0xf);
	psv[9] = number.pdn >> 16;
	psv[10] = number.pdn >> 8;
	psv[11] = number.pdn;
	errno = 0;
	obj = mlx5dv_devx_obj_create(ctx, psv, sizeof(psv), out, sizeof(out));
	CHECK_EQ(obj != NULL, has);
	if (obj != NULL)
		CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	else
		CHECK_EQ(errno, is_off("SOFTHCA_DEVX") ? EPROTONOSUPPORT : EREMOTEIO);
	/* Other indirect keys need DEVX only. */
	attr.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT;
	key = mlx5dv_create_mkey(&attr);
	CHECK_EQ(key != NULL, !is_off("SOFTHCA_DEVX"));
	if (key != NULL)
		CHECK_EQ(mlx5dv_destroy_mkey(key), 0);
	end();
}

static struct ibv_qp *
create_qp(enum ibv_qp_type type, uint64_t mlx5_mask, uint32_t flags)
{
	struct ibv_qp_init_attr_ex attr = {.qp_type = type,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 4, .max_send_sge = 1},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
		.pd = pd};
	struct mlx5dv_qp_init_attr mlx5 = {.comp_mask = mlx5_mask,
		.create_flags = flags,
		.dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCI}};

	errno = 0;
	return mlx5dv_create_qp(ctx, &attr, &mlx5);
}

static void
expect_qp(struct ibv_qp *qp, bool has)
{
	CHECK_EQ(qp != NULL, has);
	if (qp != NULL)
		CHECK_EQ(ibv_destroy_qp(qp), 0);
	else
		CHECK_EQ(errno, EOPNOTSUPP);
}

static void
case_queue_pairs(void)
{
	start();
	expect_qp(create_qp(IBV_QPT_DRIVER, MLX5DV_QP_INIT_ATTR_MASK_DC, 0), !is_off("SOFTHCA_DC"));
	/* With DEVX, libmlx5 requests the stop after a signature error when the QP goes to RTS. */
	expect_qp(create_qp(IBV_QPT_RC, MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
			  MLX5DV_QP_CREATE_SIG_PIPELINING),
		!is_off("SOFTHCA_SIG_PIPELINING"));
	expect_qp(create_qp(IBV_QPT_RC, 0, 0), true);
	end();
}

/*
 * Without memory on demand, no capability reports it, and regions on demand are refused. It is also
 * off if the kernel does not allow it.
 */
static void
case_on_demand(void)
{
	struct ibv_device_attr_ex caps;
	static uint8_t memory[4096];
	struct ibv_mr *mr;
	bool has;

	start();
	CHECK_EQ(ibv_query_device_ex(ctx, NULL, &caps), 0);
	has = caps.odp_caps.general_caps != 0;
	CHECK(!has || !is_off("SOFTHCA_ODP"));
	errno = 0;
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_ON_DEMAND);
	CHECK_EQ(mr != NULL, has);
	if (mr != NULL)
		CHECK_EQ(ibv_dereg_mr(mr), 0);
	else
		CHECK_EQ(errno, EOPNOTSUPP);
	end();
}

/* A setting of 8192 bytes must give two pages, which all contexts share; 0 must give no page. */
static void
case_device_memory(void)
{
	const char *setting = getenv("SOFTHCA_MAX_DM");
	const uint64_t max = setting == NULL ? 262144 : strtoull(setting, NULL, 0);
	struct ibv_alloc_dm_attr attr = {.length = max != 0 ? max : 64};
	struct ibv_device_attr_ex caps;
	struct ibv_dm *dm;

	start();
	CHECK_EQ(ibv_query_device_ex(ctx, NULL, &caps), 0);
	CHECK_EQ(caps.max_dm_size, max);
	dm = ibv_alloc_dm(ctx, &attr);
	CHECK_EQ(dm != NULL, max != 0);
	if (dm != NULL) {
		uint8_t bytes[64], want[64];

		memset(want, is_off("SOFTHCA_DM_ZEROED") ? 0x5a : 0, sizeof(want));
		CHECK_EQ(ibv_memcpy_from_dm(bytes, dm, max - sizeof(bytes), sizeof(bytes)), 0);
		CHECK(check_bytes(bytes, want, sizeof(bytes), "new device memory"));
		attr.length = 64;
		CHECK(ibv_alloc_dm(ctx, &attr) == NULL && errno == ENOMEM);
		CHECK_EQ(ibv_free_dm(dm), 0);
	}
	attr.length = max + 64;
	CHECK(ibv_alloc_dm(ctx, &attr) == NULL);
	end();
}

/*
 * An adapter without DEVX refuses a context that asks for DEVX; libmlx5 then opens a context
 * without DEVX.
 */
static void
case_devx(void)
{
	const bool has = !is_off("SOFTHCA_DEVX");
	struct mlx5dv_context_attr attr = {.flags = MLX5DV_CONTEXT_FLAGS_DEVX};
	uint8_t in[16] = {0x01, 0x00}, out[16 + 4096]; /* QUERY_HCA_CAP */
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *asked;

	CHECK(list != NULL && list[0] != NULL);
	asked = mlx5dv_open_device(list[0], &attr);
	CHECK_EQ(asked != NULL, has);
	if (asked != NULL)
		CHECK_EQ(ibv_close_device(asked), 0);
	else
		CHECK_EQ(errno, EINVAL);
	ibv_free_device_list(list);
	start();
	CHECK_EQ(mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, sizeof(out)),
		has ? 0 : EPROTONOSUPPORT);
	end();
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"signatures exist, or their keys are refused", case_signatures},
		{"DC and queues that stop exist, or are refused", case_queue_pairs},
		{"device memory is as long as the setting says", case_device_memory},
		{"DEVX exists, or is refused", case_devx},
		{"memory on demand exists, or is refused", case_on_demand},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
