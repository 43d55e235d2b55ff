/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts that are closed while they have objects: the adapter must destroy all of these objects.
 *
 * Each context of this test creates as many objects of each kind as the adapter allows. So a
 * context can create its objects only if all objects of the previous context were destroyed. An
 * object that another object names must be destroyed after the other object.
 */
#include <fcntl.h>

#include "softhca_devx_side.h"

#define ROUNDS 4
#define PAGE   4096

static char memory[PAGE + 1];

/*
 * A function of the leak sanitizer, if there is one. libmlx5 leaks its own part of these objects:
 * these leaks are not reported.
 */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

/* Makes a call that must fail, because the settings allow no further object of the kind. */
#define expect_limit(call)                                                                         \
	do {                                                                                       \
		errno = 0;                                                                         \
		CHECK((call) == NULL);                                                             \
		CHECK_EQ(errno, ENOSPC);                                                           \
	} while (0)

static struct ibv_cq *
make_queues(struct ibv_context *ctx, struct ibv_pd *pd)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 16, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(pd, &srq_attr);
	struct ibv_qp_init_attr qp_attr = {.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 16, .max_send_sge = 1}};
	struct ibv_wq_init_attr wq_attr = {.wq_type = IBV_WQT_RQ,
		.max_wr = 16,
		.max_sge = 1,
		.pd = pd,
		.cq = cq};
	struct ibv_wq *wq = cq != NULL ? ibv_create_wq(ctx, &wq_attr) : NULL;
	struct ibv_rwq_ind_table_init_attr table_attr = {.log_ind_tbl_size = 0, .ind_tbl = &wq};

	CHECK(cq != NULL);
	CHECK(srq != NULL);
	CHECK(ibv_create_qp(pd, &qp_attr) != NULL);
	CHECK(wq != NULL);
	CHECK(ibv_create_rwq_ind_table(ctx, &table_attr) != NULL);
	expect_limit(ibv_create_cq(ctx, 16, NULL, NULL, 0));
	expect_limit(ibv_create_qp(pd, &qp_attr));
	expect_limit(ibv_create_wq(ctx, &wq_attr));
	expect_limit(ibv_create_rwq_ind_table(ctx, &table_attr));
	return cq;
}

static void
make_keys(struct ibv_context *ctx, struct ibv_pd *pd)
{
	struct mlx5dv_mkey_init_attr mkey_attr = {.pd = pd,
		.max_entries = 4,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE};
	struct mlx5dv_dek_init_attr dek_attr = {.key_size = MLX5DV_CRYPTO_KEY_SIZE_128,
		.key_purpose = MLX5DV_CRYPTO_KEY_PURPOSE_AES_XTS,
		.pd = pd,
		.key = {1}, /* the two halves of an AES-XTS key must differ */
		.comp_mask = MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN};
	struct ibv_device_attr_ex limits;
	struct ibv_dm *dm;

	CHECK_EQ(ibv_query_device_ex(ctx, NULL, &limits), 0);
	dm = ibv_alloc_dm(ctx, &(struct ibv_alloc_dm_attr){.length = limits.max_dm_size});
	CHECK(dm != NULL);
	CHECK(ibv_reg_dm_mr(pd, dm, 0, PAGE, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE) !=
		NULL);
	errno = 0;
	CHECK(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE) == NULL);
	CHECK_EQ(errno, EINVAL); /* EINVAL: longer than the setting max_mr_size */
	CHECK(ibv_reg_mr(pd, memory, PAGE, IBV_ACCESS_LOCAL_WRITE) != NULL);
	expect_limit(ibv_reg_mr(pd, memory, PAGE, IBV_ACCESS_LOCAL_WRITE));
	CHECK(ibv_alloc_mw(pd, IBV_MW_TYPE_2) != NULL);
	CHECK(mlx5dv_create_mkey(&mkey_attr) != NULL);
	CHECK(mlx5dv_dek_create(ctx, &dek_attr) != NULL);
}

static void
make_others(struct ibv_context *ctx, struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_xrcd_init_attr xrcd_attr = {.comp_mask = IBV_XRCD_INIT_ATTR_FD |
							    IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT};
	struct ibv_srq_init_attr_ex srq_attr = {.attr = {.max_wr = 16, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.cq = cq};
	struct ibv_ah_attr ah_attr = {.is_global = 1, .port_num = 1};
	uint32_t qpn;

	CHECK_EQ(ibv_query_gid(ctx, 1, 0, &ah_attr.grh.dgid), 0);
	CHECK(ibv_create_ah(pd, &ah_attr) != NULL);
	expect_limit(ibv_create_ah(pd, &ah_attr));
	srq_attr.xrcd = ibv_open_xrcd(ctx, &xrcd_attr);
	CHECK(srq_attr.xrcd != NULL);
	CHECK(ibv_create_srq_ex(ctx, &srq_attr) != NULL);
	expect_limit(ibv_create_srq_ex(ctx, &srq_attr));
	CHECK_EQ(mlx5dv_reserved_qpn_alloc(ctx, &qpn), 0);
	CHECK(mlx5dv_alloc_var(ctx, 0) != NULL);
}

static void
leave_verbs(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);

	CHECK(pd != NULL);
	expect_limit(ibv_alloc_pd(ctx));
	make_keys(ctx, pd);
	make_others(ctx, pd, make_queues(ctx, pd));
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
leave_devx(void)
{
	struct side s;

	side_init(&s);
	CHECK_EQ(ibv_close_device(s.ctx), 0);
	munmap(s.mem, MEM_LEN);
}

/*
 * Opens the adapter once more. This destroys the objects of closed contexts, and logs objects that
 * cannot be destroyed.
 */
static void
open_silently(void)
{
	int log = memfd_create("log", MFD_CLOEXEC), saved = dup(STDERR_FILENO);
	struct ibv_context *ctx;
	char text[4096] = "";

	CHECK(log >= 0 && saved >= 0 && dup2(log, STDERR_FILENO) == STDERR_FILENO);
	ctx = pair_open(0);
	CHECK(dup2(saved, STDERR_FILENO) == STDERR_FILENO);
	CHECK(pread(log, text, sizeof(text) - 1, 0) >= 0);
	fputs(text, stderr);
	CHECK(text[0] == '\0');
	close(log);
	close(saved);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
many_rounds(void (*leave)(void))
{
	if (__lsan_disable != NULL)
		__lsan_disable();
	for (int i = 0; i < ROUNDS; i++) {
		leave();
		open_silently();
	}
	if (__lsan_enable != NULL)
		__lsan_enable();
}

static void
case_verbs(void)
{
	many_rounds(leave_verbs);
}

static void
case_devx(void)
{
	many_rounds(leave_devx);
}

/*
 * The setting allows one PD, and a context that has one is closed. Another context must be able to
 * allocate a PD only when both files of the first context are closed, in any order: the device's
 * file and the async event file.
 */
static void
case_files(void)
{
	for (int async_stays = 0; async_stays < 2; async_stays++) {
		struct ibv_context *ctx = pair_open(0), *other;
		int stays = dup(async_stays ? ctx->async_fd : ctx->cmd_fd);
		struct ibv_pd *pd;

		CHECK(stays >= 0);
		CHECK(ibv_alloc_pd(ctx) != NULL);
		CHECK_EQ(ibv_close_device(ctx), 0);
		other = pair_open(0);
		expect_limit(ibv_alloc_pd(other));
		CHECK_EQ(ibv_close_device(other), 0);
		CHECK_EQ(close(stays), 0);
		other = pair_open(0);
		pd = ibv_alloc_pd(other);
		CHECK(pd != NULL);
		CHECK_EQ(ibv_dealloc_pd(pd), 0);
		CHECK_EQ(ibv_close_device(other), 0);
	}
}

static void
case_files_without_leaks(void)
{
	if (__lsan_disable != NULL)
		__lsan_disable();
	case_files();
	if (__lsan_enable != NULL)
		__lsan_enable();
}

static const struct check_case cases[] = {
	{"objects of verbs are destroyed with their context", case_verbs},
	{"objects of firmware commands are destroyed with their context", case_devx},
	{"a context is closed when neither its device nor its async file is open",
		case_files_without_leaks},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
