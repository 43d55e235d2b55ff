/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The emulated adapter's own memory, through stock libibverbs and libmlx5: which context owns it,
 * the access rights of regions over it, and when it can be allocated again. Arguments that libmlx5
 * checks itself are tested by raw calls.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "raw_ioctl.h"
#include "softhca_pair.h"

#define PAGE     4096
#define DM_LOCAL ((unsigned int)(IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE))
#define DM_ALL   ((unsigned int)(PAIR_ALL | IBV_ACCESS_ZERO_BASED))
#define MEMIC    MLX5DV_DM_TYPE_MEMIC

static uint64_t
max_dm(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr;

	CHECK_EQ(ibv_query_device_ex(ctx, NULL, &attr), 0);
	CHECK(attr.max_dm_size >= 8 * PAGE && attr.max_dm_size % PAGE == 0);
	return attr.max_dm_size;
}

static struct ibv_dm *
make_dm(struct ibv_context *ctx, size_t len)
{
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &(struct ibv_alloc_dm_attr){.length = len});

	CHECK(dm != NULL);
	return dm;
}

static uint8_t *
address_of(struct ibv_dm *dm)
{
	struct mlx5dv_dm out = {0};
	struct mlx5dv_obj obj = {.dm = {dm, &out}};

	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_DM), 0);
	return out.buf;
}

/* Returns 0 or the errno. Memory that was allocated is freed again. */
static int
raw_alloc(struct ibv_context *ctx, uint64_t len, uint32_t log_align, uint64_t type)
{
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);
	struct ib_uverbs_attr *handle = raw_handle(&c, UVERBS_ATTR_ALLOC_DM_HANDLE, 0);
	uint64_t offset = 0;
	uint16_t page = 0;
	int rc;

	raw_u64(&c, UVERBS_ATTR_ALLOC_DM_LENGTH, len);
	raw_u32(&c, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, log_align);
	raw_u64(&c, MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, type);
	raw_out(&c, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, &offset, sizeof(offset));
	raw_out(&c, MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, &page, sizeof(page));
	rc = raw_run(ctx->cmd_fd, &c);
	if (rc == 0) {
		uint32_t made = handle->data;

		CHECK_EQ(offset % (1 << log_align), 0);
		c = raw_start(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE);
		raw_handle(&c, UVERBS_ATTR_FREE_DM_HANDLE, made);
		CHECK_EQ(raw_run(ctx->cmd_fd, &c), 0);
	}
	return rc;
}

static int
raw_reg(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, uint64_t len, uint32_t access)
{
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG);
	struct ib_uverbs_attr *handle = raw_handle(&c, UVERBS_ATTR_REG_DM_MR_HANDLE, 0);
	uint32_t lkey = 0, rkey = 0;
	int rc;

	raw_handle(&c, UVERBS_ATTR_REG_DM_MR_PD_HANDLE, pd->handle);
	raw_handle(&c, UVERBS_ATTR_REG_DM_MR_DM_HANDLE, dm->handle);
	raw_u64(&c, UVERBS_ATTR_REG_DM_MR_OFFSET, offset);
	raw_u64(&c, UVERBS_ATTR_REG_DM_MR_LENGTH, len);
	raw_u32(&c, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, access);
	raw_out(&c, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, &lkey, sizeof(lkey));
	raw_out(&c, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, &rkey, sizeof(rkey));
	rc = raw_run(pd->context->cmd_fd, &c);
	if (rc == 0) {
		uint32_t made = handle->data;

		CHECK(lkey != 0 && lkey == rkey);
		c = raw_start(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY);
		raw_handle(&c, UVERBS_ATTR_DESTROY_MR_HANDLE, made);
		CHECK_EQ(raw_run(pd->context->cmd_fd, &c), 0);
	}
	return rc;
}

/* Posts a request of the client with a key of the server. Returns the status of the completion. */
static enum ibv_wc_status
request(struct pair *p, enum ibv_wr_opcode op, uint32_t local, uint32_t len, uint32_t rkey,
	uint64_t remote)
{
	struct ibv_sge sge = {(uintptr_t)p->client.buf + local, len, p->client.mr->lkey};
	struct ibv_send_wr wr = {.opcode = op,
				   .sg_list = &sge,
				   .num_sge = 1,
				   .send_flags = IBV_SEND_SIGNALED,
				   .wr.rdma = {.remote_addr = remote, .rkey = rkey}},
			   *bad;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 3;
	}
	pair_publish(&p->client);
	CHECK_EQ(ibv_post_send(p->client.qp, &wr, &bad), 0);
	return pair_wait(&p->client).status;
}

static enum ibv_wc_status
request_once(enum ibv_wr_opcode op, uint32_t len, unsigned int access, uint64_t remote,
	bool other_pd)
{
	enum ibv_wc_status status;
	struct ibv_pd *pd2;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	struct pair p;

	pair_init(&p, NULL);
	pd2 = ibv_alloc_pd(p.ctx);
	CHECK(pd2 != NULL);
	dm = make_dm(p.ctx, 1024);
	mr = ibv_reg_dm_mr(other_pd ? pd2 : p.pd, dm, 256, 512, access);
	CHECK(mr != NULL);
	status = request(&p, op, 0, len, mr->rkey, remote);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(ibv_dealloc_pd(pd2), 0);
	pair_fini(&p);
	return status;
}

/* ---------------------------------------------------------------- allocation */

static void
case_limits(void)
{
	struct ibv_context *ctx = pair_open(0);
	uint64_t max = max_dm(ctx);
	uint32_t in[4] = {htobe32(0x100u << 16), htobe32(0xf << 1 | 1)}; /* QUERY_HCA_CAP */
	uint32_t out[4 + 1024] = {0};

	CHECK_EQ(ibv_free_dm(make_dm(ctx, max)), 0);
	CHECK_EQ(raw_alloc(ctx, max, 0, MEMIC), 0);
	CHECK_EQ(raw_alloc(ctx, 1, 0, MEMIC), 0);
	CHECK_EQ(raw_alloc(ctx, max + 1, 0, MEMIC), ENOMEM);
	CHECK_EQ(raw_alloc(ctx, UINT64_MAX, 0, MEMIC), ENOMEM);
	/*
	 * These lengths must be refused. If their number of pages were truncated to 32 bits, it
	 * would be 1, or the number of all pages.
	 */
	CHECK_EQ(raw_alloc(ctx, (UINT64_C(1) << 44) + 1, 0, MEMIC), ENOMEM);
	CHECK_EQ(raw_alloc(ctx, (UINT64_C(1) << 44) + max, 0, MEMIC), ENOMEM);
	CHECK_EQ(raw_alloc(ctx, 0, 0, MEMIC), EINVAL);
	CHECK_EQ(raw_alloc(ctx, 64, 12, MEMIC), 0);
	CHECK_EQ(raw_alloc(ctx, 64, 13, MEMIC), EINVAL);
	CHECK_EQ(raw_alloc(ctx, 64, UINT32_MAX, MEMIC), EINVAL);
	/*
	 * The answer of the firmware command has the same values: mlx5_ifc_device_mem_cap_bits of
	 * mlx5_ifc.h.
	 */
	CHECK_EQ(mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, sizeof(out)), 0);
	CHECK_EQ(be32toh(out[4]) >> 31, 1);
	CHECK_EQ(6 + (be32toh(out[5]) & 0xff), 12);
	CHECK_EQ(be32toh(out[8]), max);
	CHECK_EQ(be32toh(out[9]), max);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
case_types(void)
{
	struct ibv_context *ctx = pair_open(0);
	const uint8_t no_op[] = {2, 3, 31, 32, 33, 255};
	struct ibv_dm *dm = make_dm(ctx, 64);

	for (uint64_t type = 1; type < 5; type++) {
		struct mlx5dv_alloc_dm_attr dv = {.type = type};
		struct ibv_alloc_dm_attr attr = {.length = 64};

		CHECK_EQ(raw_alloc(ctx, 64, 0, type), EOPNOTSUPP);
		CHECK(mlx5dv_alloc_dm(ctx, &attr, &dv) == NULL);
	}
	/*
	 * Operation 0 is the increment, operation 1 is test-and-set. No other operation number is
	 * public, so all other numbers are refused.
	 */
	for (size_t i = 0; i < sizeof(no_op); i++) {
		errno = 0;
		CHECK(mlx5dv_dm_map_op_addr(dm, no_op[i]) == NULL);
		CHECK_EQ(errno, EOPNOTSUPP);
	}
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* Allocates each page separately. Filling one page must not change another page. */
static void
case_exclusive(void)
{
	struct ibv_context *ctx = pair_open(0), *other = pair_open(0);
	uint32_t n = max_dm(ctx) / PAGE;
	struct ibv_dm **dm = calloc(n, sizeof(*dm));

	CHECK(dm != NULL);
	for (uint32_t i = 0; i < n; i++) {
		dm[i] = make_dm(ctx, 64);
		memset(address_of(dm[i]), (int)i + 1, PAGE);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint8_t got[64];

		CHECK_EQ(ibv_memcpy_from_dm(got, dm[i], 0, 64), 0);
		for (size_t b = 0; b < sizeof(got); b++)
			CHECK_EQ(got[b], i + 1);
		CHECK_EQ(address_of(dm[i])[PAGE - 1], i + 1);
	}
	/* No page of the adapter is free, for any context. */
	CHECK_EQ(raw_alloc(ctx, 1, 0, MEMIC), ENOMEM);
	CHECK_EQ(raw_alloc(other, 1, 0, MEMIC), ENOMEM);
	CHECK_EQ(ibv_free_dm(dm[3]), 0);
	CHECK_EQ(raw_alloc(other, PAGE + 1, 0, MEMIC), ENOMEM);
	CHECK_EQ(raw_alloc(other, PAGE, 0, MEMIC), 0);
	/* Two free pages that are not adjacent do not suffice for an allocation of two pages. */
	CHECK_EQ(ibv_free_dm(dm[5]), 0);
	CHECK_EQ(raw_alloc(ctx, 2 * PAGE, 0, MEMIC), ENOMEM);
	CHECK_EQ(ibv_free_dm(dm[4]), 0);
	CHECK_EQ(raw_alloc(ctx, 3 * PAGE, 0, MEMIC), 0);
	for (uint32_t i = 0; i < n; i++)
		CHECK_EQ(i >= 3 && i <= 5 ? 0 : ibv_free_dm(dm[i]), 0);
	CHECK_EQ(raw_alloc(other, max_dm(ctx), 0, MEMIC), 0);
	free(dm);
	CHECK_EQ(ibv_close_device(other), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
case_zeroed(void)
{
	struct ibv_context *ctx = pair_open(0);
	uint64_t max = max_dm(ctx);

	for (int round = 0; round < 2; round++) {
		struct ibv_dm *dm = make_dm(ctx, max);
		uint8_t *p = address_of(dm);

		for (uint64_t i = 0; i < max; i++)
			CHECK_EQ(p[i], 0);
		memset(p, 0xa5, max);
		CHECK_EQ(ibv_free_dm(dm), 0);
	}
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* ---------------------------------------------------------------- regions */

static void
case_zero_based(void)
{
	struct ibv_mr *mr, *rest;
	struct ibv_dm *dm;
	uint64_t word;
	struct pair p;

	pair_init(&p, NULL);
	dm = make_dm(p.ctx, 1024);
	for (unsigned int i = 0; i < 1024; i++)
		p.client.buf[i] = (uint8_t)(i * 7 + i / 256);
	CHECK_EQ(ibv_memcpy_to_dm(dm, 0, p.client.buf, 1024), 0);
	mr = ibv_reg_dm_mr(p.pd, dm, 0, 1024, DM_ALL);
	rest = ibv_reg_dm_mr(p.pd, dm, 256, 768, DM_ALL);
	CHECK(mr != NULL && rest != NULL && mr->addr == NULL);

	/* Byte 16 of the second region is byte 272 of the device memory. */
	CHECK_EQ(request(&p, IBV_WR_RDMA_READ, 4096, 64, rest->rkey, 16), IBV_WC_SUCCESS);
	CHECK_EQ(memcmp(p.client.buf + 4096, p.client.buf + 272, 64), 0);
	CHECK_EQ(request(&p, IBV_WR_RDMA_WRITE, 0, 32, rest->rkey, 0), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_memcpy_from_dm(p.client.buf + 8192, dm, 256, 32), 0);
	CHECK_EQ(memcmp(p.client.buf + 8192, p.client.buf, 32), 0);
	CHECK_EQ(memcmp(address_of(dm) + 288, p.client.buf + 288, 32), 0);
	/* The program must read the result of the adapter's addition. */
	CHECK_EQ(ibv_memcpy_to_dm(dm, 8, &(uint64_t){40}, 8), 0);
	CHECK_EQ(request(&p, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, mr->rkey, 8), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_memcpy_from_dm(&word, dm, 8, 8), 0);
	CHECK_EQ(word, 43);
	CHECK_EQ(*(uint64_t *)p.client.buf, 40);
	/* A region over device memory cannot be moved to other memory. */
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, DM_LOCAL) != 0);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(ibv_dereg_mr(rest), 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	pair_fini(&p);
	CHECK_EQ(request_once(IBV_WR_RDMA_READ, 8, DM_ALL, 0, false), IBV_WC_SUCCESS);
}

/* A receive of the other QP must write to the device memory with the local key. */
static void
case_local(void)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr = {.wr_id = 5, .sg_list = &sge, .num_sge = 1}, *bad;
	struct ibv_send_wr swr = {.opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1}, *sbad;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	struct pair p;

	pair_init(&p, NULL);
	dm = make_dm(p.ctx, 100);
	mr = ibv_reg_dm_mr(p.pd, dm, 4, 96, DM_LOCAL);
	CHECK(mr != NULL);
	sge = (struct ibv_sge){32, 64, mr->lkey};
	pair_publish(&p.server);
	CHECK_EQ(ibv_post_recv(p.server.qp, &wr, &bad), 0);
	memset(p.client.buf, 0x77, 64);
	sge = (struct ibv_sge){(uintptr_t)p.client.buf, 64, p.client.mr->lkey};
	pair_publish(&p.client);
	CHECK_EQ(ibv_post_send(p.client.qp, &swr, &sbad), 0);
	CHECK_EQ(pair_wait(&p.server).status, IBV_WC_SUCCESS);
	CHECK_EQ(memcmp(address_of(dm) + 36, p.client.buf, 64), 0);
	CHECK_EQ(address_of(dm)[35], 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	pair_fini(&p);
}

static void
case_bounds(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_dm *dm = make_dm(ctx, 1000);

	CHECK(pd != NULL);
	CHECK_EQ(raw_reg(pd, dm, 0, 1000, DM_ALL), 0);
	CHECK_EQ(raw_reg(pd, dm, 999, 1, DM_ALL), 0);
	CHECK_EQ(raw_reg(pd, dm, 0, 1001, DM_ALL), EINVAL);
	CHECK_EQ(raw_reg(pd, dm, 999, 2, DM_ALL), EINVAL);
	CHECK_EQ(raw_reg(pd, dm, 1001, 0, DM_ALL), EINVAL);
	CHECK_EQ(raw_reg(pd, dm, UINT64_MAX, 2, DM_ALL), EINVAL);
	CHECK_EQ(raw_reg(pd, dm, 2, UINT64_MAX, DM_ALL), EINVAL);
	/* Mapped device memory cannot be pinned, so it cannot be registered as ordinary memory. */
	errno = 0;
	CHECK(ibv_reg_mr(pd, address_of(dm), 64, IBV_ACCESS_LOCAL_WRITE) == NULL);
	CHECK_EQ(errno, EFAULT);
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
	/*
	 * Requests to a region of 512 bytes: to its last byte, and to the byte after it, which is
	 * still device memory.
	 */
	CHECK_EQ(request_once(IBV_WR_RDMA_WRITE, 8, DM_ALL, 504, false), IBV_WC_SUCCESS);
	CHECK_EQ(request_once(IBV_WR_RDMA_WRITE, 8, DM_ALL, 505, false), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(request_once(IBV_WR_RDMA_READ, 8, DM_ALL, (uint64_t)-8, false),
		IBV_WC_REM_ACCESS_ERR);
}

static void
case_access(void)
{
	const unsigned int read_only = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_READ;
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_dm *dm = make_dm(ctx, 64);

	CHECK(pd != NULL);
	CHECK_EQ(raw_reg(pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED), 0);
	CHECK_EQ(raw_reg(pd, dm, 0, 64, DM_ALL | IBV_ACCESS_RELAXED_ORDERING), 0);
	CHECK_EQ(raw_reg(pd, dm, 0, 64, PAIR_ALL), EINVAL);
	CHECK_EQ(raw_reg(pd, dm, 0, 64, DM_ALL | IBV_ACCESS_MW_BIND), EINVAL);
	CHECK_EQ(raw_reg(pd, dm, 0, 64, DM_ALL | IBV_ACCESS_ON_DEMAND), EINVAL);
	CHECK_EQ(raw_reg(pd, dm, 0, 64, DM_ALL | IBV_ACCESS_HUGETLB), EINVAL);
	CHECK_EQ(raw_reg(pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_WRITE), EINVAL);
	CHECK_EQ(raw_reg(pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
	CHECK_EQ(request_once(IBV_WR_RDMA_READ, 8, read_only, 0, false), IBV_WC_SUCCESS);
	CHECK_EQ(request_once(IBV_WR_RDMA_WRITE, 8, read_only, 0, false), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(request_once(IBV_WR_RDMA_READ, 8, DM_LOCAL, 0, false), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(request_once(IBV_WR_RDMA_WRITE, 8, DM_ALL, 0, true), IBV_WC_REM_ACCESS_ERR);
}

/* ---------------------------------------------------------------- ends */

static void
case_busy(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_dm *dm = make_dm(ctx, 64);
	struct ibv_mr *mr = ibv_reg_dm_mr(pd, dm, 0, 64, DM_ALL);

	CHECK(mr != NULL);
	CHECK_EQ(ibv_free_dm(dm), EBUSY);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_memcpy_to_dm(dm, 0, &(uint32_t){1}, 4), 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/*
 * An imported DM object must be the same memory as the original. While the program maps this
 * memory, no other context may allocate it.
 */
static void
case_import(void)
{
	struct ibv_context *ctx = pair_open(0), *same = ibv_import_device(dup(ctx->cmd_fd));
	uint64_t max = max_dm(ctx);
	struct ibv_dm *dm = make_dm(ctx, 5000), *imported;
	uint32_t word = 0x12345678, got = 0;

	CHECK(same != NULL);
	errno = 0;
	CHECK(ibv_import_dm(same, dm->handle + 1) == NULL && errno == ENOENT);
	imported = ibv_import_dm(same, dm->handle);
	CHECK(imported != NULL);
	CHECK_EQ(ibv_memcpy_to_dm(dm, 4996, &word, 4), 0);
	CHECK_EQ(ibv_memcpy_from_dm(&got, imported, 4996, 4), 0);
	CHECK_EQ(got, word);
	CHECK(ibv_memcpy_from_dm(&got, imported, 5000, 4) != 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	/* The two mapped pages are the first ones, so all pages after them can be allocated. */
	CHECK_EQ(raw_alloc(ctx, max, 0, MEMIC), ENOMEM);
	CHECK_EQ(raw_alloc(ctx, max - 2 * PAGE, 0, MEMIC), 0);
	CHECK_EQ(ibv_memcpy_from_dm(&got, imported, 4996, 4), 0);
	CHECK_EQ(got, word);
	ibv_unimport_dm(imported);
	CHECK_EQ(raw_alloc(ctx, max, 0, MEMIC), 0);
	CHECK_EQ(ibv_close_device(same), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
case_abandoned(void)
{
	struct ibv_context *ctx = pair_open(0);
	uint64_t max = max_dm(ctx);
	struct ibv_dm *dm = make_dm(ctx, max);

	CHECK_EQ(munmap(address_of(dm), max), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
	free(dm);
	ctx = pair_open(0);
	CHECK_EQ(raw_alloc(ctx, max, 0, MEMIC), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/*
 * A child inherits its parent's context. Both processes have the same open file, so they have the
 * same device memory: memory that one process has allocated must not be given to the other process.
 */
static void
case_fork(void)
{
	struct ibv_context *ctx = pair_open(0);
	uint64_t max = max_dm(ctx);
	struct ibv_dm *dm = make_dm(ctx, max / 2);
	int status;
	pid_t pid;

	memset(address_of(dm), 0x11, max / 2);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		struct ibv_dm *mine = make_dm(ctx, max / 4);

		alarm(CHECK_PATIENCE_MS / 1000);
		memset(address_of(mine), 0x22, max / 4);
		CHECK_EQ(raw_alloc(ctx, max / 2, 0, MEMIC), ENOMEM);
		CHECK_EQ(ibv_free_dm(dm), EIO);
		CHECK(ibv_alloc_pd(ctx) == NULL && errno == EIO);
		_exit(0); /* a quarter of the memory is in use */
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	for (uint64_t i = 0; i < max / 2; i++)
		CHECK_EQ(address_of(dm)[i], 0x11);
	CHECK_EQ(raw_alloc(ctx, max / 2, 0, MEMIC), ENOMEM);
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(raw_alloc(ctx, max, 0, MEMIC), ENOMEM);
	CHECK_EQ(ibv_close_device(ctx), 0);
	ctx = pair_open(0);
	CHECK_EQ(raw_alloc(ctx, max, 0, MEMIC), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static const struct check_case cases[] = {
	{"lengths and alignments are limited as the queries say", case_limits},
	{"there is no steering memory, and no address for operations", case_types},
	{"allocations share no page, and the number of pages is limited", case_exclusive},
	{"memory is zeroed for each owner", case_zeroed},
	{"a region's first byte has address 0, wherever the region begins", case_zero_based},
	{"receives write to device memory by the local key", case_local},
	{"no access goes beyond a region, and no region beyond the memory", case_bounds},
	{"access flags and PD are checked, and impossible flags are refused", case_access},
	{"memory with a region over it is busy", case_busy},
	{"an import shares the memory, and keeps it in use", case_import},
	{"closing a context frees its memory", case_abandoned},
	{"a child of fork shares the memory, and frees only its own", case_fork},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
