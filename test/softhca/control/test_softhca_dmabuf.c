/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DMABUF file descriptors of the adapter's own memory, and regions over them. ibv_reg_dmabuf_mr(3)
 * of stock libibverbs registers them. The test makes calls of newer library versions itself, with
 * the numbers of the uapi header rdma/ib_user_ioctl_cmds.h (rdma-core 65).
 *
 * Expected results: ibv_dm_export_dmabuf_fd(3), ibv_reg_dmabuf_mr(3), and the kernel's
 * uverbs_std_types_dmabuf.c and uverbs_std_types_mr.c.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "raw_ioctl.h"
#include "softhca_pair.h"

#define PAGE          4096
#define DMABUF_OBJECT 18
#define REG_MR        5       /* method of UVERBS_OBJECT_MR */
#define DM_OFFSET     8 << 20 /* (MLX5_IB_MMAP_DEVICE_MEM << 8) pages */

/*
 * Exports the memory that the program maps at this offset as a file descriptor. Returns 0 or the
 * errno.
 */
static int
export_at(struct ibv_context *ctx, uint64_t offset, int *fd)
{
	struct raw_ioctl c = raw_start(DMABUF_OBJECT, 0);
	int rc;

	raw_handle(&c, 0, 0);
	raw_u64(&c, 1, offset);
	rc = raw_run(ctx->cmd_fd, &c);
	*fd = rc == 0 ? (int)c.attrs[0].data : -1;
	return rc;
}

static struct ibv_dm *
make_dm(struct ibv_context *ctx, size_t len)
{
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &(struct ibv_alloc_dm_attr){.length = len});

	CHECK(dm != NULL);
	return dm;
}

/* Exports the device memory that begins at the first page of the adapter, as a file descriptor. */
static int
export_first(struct ibv_context *ctx)
{
	int fd;

	CHECK_EQ(export_at(ctx, DM_OFFSET, &fd), 0);
	CHECK(fd >= 0);
	return fd;
}

/* Posts a request of the client with a key. Returns the status of the completion. */
static enum ibv_wc_status
request(struct pair *p, enum ibv_wr_opcode op, const struct ibv_sge *local, uint32_t rkey,
	uint64_t remote)
{
	struct ibv_sge sge = *local;
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

static struct ibv_sge
client_bytes(struct pair *p, uint32_t at, uint32_t len)
{
	return (struct ibv_sge){(uintptr_t)p->client.buf + at, len, p->client.mr->lkey};
}

static void
expect_status(struct pair *p, enum ibv_wr_opcode op, struct ibv_mr *mr, uint64_t remote,
	enum ibv_wc_status want)
{
	struct ibv_sge sge = client_bytes(p, 8192, 8);

	CHECK_EQ(request(p, op, &sge, mr->rkey, remote), want);
}

static void
reconnect(struct pair *p)
{
	CHECK_EQ(pair_modify(&p->client, IBV_QPS_RESET), 0);
	CHECK_EQ(pair_modify(&p->server, IBV_QPS_RESET), 0);
	pair_connect(p, &p->client, p->server.qp->qp_num);
	pair_connect(p, &p->server, p->client.qp->qp_num);
}

/* ---- file descriptors of exported memory */

/*
 * Allocates a UAR page by a raw call, so that the page is really freed: libmlx5 keeps the pages
 * that it allocates. Returns the handle.
 */
static uint32_t
uar_alloc(struct ibv_context *ctx, uint64_t *offset)
{
	struct raw_ioctl c = raw_start(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC);
	uint32_t len, page;

	raw_handle(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, 0);
	raw_u32(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, MLX5DV_UAR_ALLOC_TYPE_NC);
	raw_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, offset, sizeof(*offset));
	raw_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &len, sizeof(len));
	raw_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &page, sizeof(page));
	CHECK_EQ(raw_run(ctx->cmd_fd, &c), 0);
	return (uint32_t)c.attrs[0].data;
}

static void
uar_free(struct ibv_context *ctx, uint32_t handle)
{
	struct raw_ioctl c = raw_start(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY);

	raw_handle(&c, MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, handle);
	CHECK_EQ(raw_run(ctx->cmd_fd, &c), 0);
}

static void
case_descriptor(void)
{
	struct ibv_context *ctx = pair_open(0), *other = pair_open(0);
	struct ibv_dm *dm = make_dm(ctx, PAGE + 100), *second = make_dm(ctx, 64);
	struct mlx5dv_var *var = mlx5dv_alloc_var(ctx, 0);
	uint64_t uar_at;
	uint32_t uar = uar_alloc(ctx, &uar_at);
	int fd[4];

	CHECK(var != NULL);
	CHECK_EQ(export_at(ctx, DM_OFFSET, &fd[0]), 0);
	CHECK_EQ(lseek(fd[0], 0, SEEK_END), 2 * PAGE); /* the file has all pages of the object */
	CHECK_EQ(fcntl(fd[0], F_GETFD), FD_CLOEXEC);
	CHECK_EQ(export_at(ctx, (DM_OFFSET) + 2 * PAGE, &fd[1]), 0);
	CHECK_EQ(lseek(fd[1], 0, SEEK_END), PAGE);
	CHECK_EQ(export_at(ctx, uar_at, &fd[2]), 0);
	CHECK_EQ(lseek(fd[2], 0, SEEK_END), PAGE);
	CHECK_EQ(export_at(ctx, var->mmap_off, &fd[3]), 0);
	CHECK_EQ(lseek(fd[3], 0, SEEK_END), PAGE);
	for (int i = 0; i < 4; i++) {
		errno = 0;
		CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd[i], 0) == MAP_FAILED);
		CHECK_EQ(errno, EINVAL);
		CHECK(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd[i], 0) == MAP_FAILED);
		CHECK_EQ(errno, EINVAL);
		CHECK(write(fd[i], "x", 1) < 0);
		CHECK_EQ(close(fd[i]), 0);
	}
	/*
	 * Refused: an offset that is not the first page of an object, an offset without an object,
	 * an object of another context, and an object that was destroyed.
	 */
	CHECK_EQ(export_at(ctx, (DM_OFFSET) + PAGE, &fd[0]), EINVAL);
	CHECK_EQ(export_at(ctx, (DM_OFFSET) + 3 * PAGE, &fd[0]), EINVAL);
	CHECK_EQ(export_at(ctx, 0, &fd[0]), EINVAL);
	CHECK_EQ(export_at(ctx, UINT64_MAX, &fd[0]), EINVAL);
	CHECK_EQ(export_at(other, DM_OFFSET, &fd[0]), EINVAL);
	uar_free(ctx, uar);
	CHECK_EQ(export_at(ctx, uar_at, &fd[0]), EINVAL);
	mlx5dv_free_var(var);
	CHECK_EQ(ibv_free_dm(second), 0);
	CHECK_EQ(export_at(ctx, (DM_OFFSET) + 2 * PAGE, &fd[0]), EINVAL);
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(ibv_close_device(other), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* ---- regions */

/* Changes the access rights by REREG_MR. libibverbs would refuse this itself. Returns the errno. */
static int
raw_rereg(struct ibv_mr *mr, uint32_t access)
{
	struct ib_uverbs_rereg_mr in = {.mr_handle = mr->handle,
		.flags = IBV_REREG_MR_CHANGE_ACCESS,
		.access_flags = access};
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	struct ib_uverbs_rereg_mr_resp out;

	raw_attr(&c, UVERBS_ATTR_WRITE_CMD, sizeof(uint64_t), IB_USER_VERBS_CMD_REREG_MR);
	raw_attr(&c, UVERBS_ATTR_CORE_IN, sizeof(in), (uintptr_t)&in);
	raw_out(&c, UVERBS_ATTR_CORE_OUT, &out, sizeof(out));
	return raw_run(mr->context->cmd_fd, &c);
}

/*
 * Requests that name the region by its iova must move its data. The region's first byte must be the
 * byte of the file at the given offset.
 */
static void
case_region(void)
{
	const unsigned int offset = 64, len = PAGE;
	const uint64_t iova = (UINT64_C(7) << 32) + offset;
	struct ibv_sge sge;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	uint64_t word;
	struct pair p;
	int fd;

	pair_init(&p, NULL);
	dm = make_dm(p.ctx, 2 * PAGE);
	fd = export_first(p.ctx);
	mr = ibv_reg_dmabuf_mr(p.pd, offset, len, iova, fd, PAIR_ALL);
	CHECK(mr != NULL);
	CHECK_EQ(close(fd), 0); /* the region keeps the memory in use */
	for (unsigned int i = 0; i < len; i++)
		p.client.buf[i] = (uint8_t)(i * 11 + i / 256);
	sge = client_bytes(&p, 0, len);
	CHECK_EQ(request(&p, IBV_WR_RDMA_WRITE, &sge, mr->rkey, iova), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_memcpy_from_dm(p.client.buf + 8192, dm, offset, len), 0);
	CHECK_EQ(memcmp(p.client.buf + 8192, p.client.buf, len), 0);
	sge = client_bytes(&p, 16384, 32);
	CHECK_EQ(request(&p, IBV_WR_RDMA_READ, &sge, mr->rkey, iova + 100), IBV_WC_SUCCESS);
	CHECK_EQ(memcmp(p.client.buf + 16384, p.client.buf + 100, 32), 0);
	CHECK_EQ(ibv_memcpy_to_dm(dm, offset + 8, &(uint64_t){40}, 8), 0);
	expect_status(&p, IBV_WR_ATOMIC_FETCH_AND_ADD, mr, iova + 8, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_memcpy_from_dm(&word, dm, offset + 8, 8), 0);
	CHECK_EQ(word, 43);
	/* A SEND with the local key sends the region's bytes. */
	sge = (struct ibv_sge){iova + 8, 8, mr->lkey};
	CHECK_EQ(request(&p, IBV_WR_RDMA_WRITE, &sge, p.server.mr->rkey, (uintptr_t)p.server.buf),
		IBV_WC_SUCCESS);
	CHECK_EQ(memcmp(p.server.buf, &word, 8), 0);
	/*
	 * Reads the region's last bytes, and then the bytes after the region, which also belong to
	 * the file.
	 */
	expect_status(&p, IBV_WR_RDMA_READ, mr, iova + len - 8, IBV_WC_SUCCESS);
	expect_status(&p, IBV_WR_RDMA_READ, mr, iova + len - 7, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(raw_rereg(mr, 0), EINVAL);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	pair_fini(&p);
}

/*
 * Another context, of another adapter if there is one, must be able to use the memory through the
 * file descriptor until the memory is freed.
 */
static void
case_other_context(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_dm *dm = make_dm(ctx, PAGE);
	int fd = export_first(ctx);
	struct ibv_mr *mr[2];
	uint8_t got[8];
	struct pair p;

	pair_init(&p, &(struct pair_opts){.device = getenv("SOFTHCA_DEVICES") != NULL});
	for (int i = 0; i < 2; i++) {
		mr[i] = ibv_reg_dmabuf_mr(p.pd, 0, PAGE, 0, fd, PAIR_ALL);
		CHECK(mr[i] != NULL);
	}
	memset(p.client.buf + 8192, 0x6b, 8);
	expect_status(&p, IBV_WR_RDMA_WRITE, mr[0], 24, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_memcpy_from_dm(got, dm, 24, 8), 0);
	CHECK_EQ(memcmp(got, p.client.buf + 8192, 8), 0);
	CHECK_EQ(ibv_dereg_mr(mr[0]), 0);
	expect_status(&p, IBV_WR_RDMA_READ, mr[1], 24, IBV_WC_SUCCESS);
	/* The memory can be freed while regions use it; then requests to these regions fail. */
	CHECK_EQ(ibv_free_dm(dm), 0);
	dm = make_dm(ctx, PAGE); /* the same page, for another owner */
	expect_status(&p, IBV_WR_RDMA_WRITE, mr[1], 24, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(ibv_memcpy_from_dm(got, dm, 24, 8), 0);
	CHECK_EQ(memcmp(got, (uint8_t[8]){0}, 8), 0);
	errno = 0;
	CHECK(ibv_reg_dmabuf_mr(p.pd, 0, PAGE, 0, fd, PAIR_ALL) == NULL);
	CHECK_EQ(errno, ENODEV);
	reconnect(&p);
	CHECK_EQ(request(&p, IBV_WR_RDMA_WRITE, &(struct ibv_sge){24, 8, mr[1]->lkey},
			 p.server.mr->rkey, (uintptr_t)p.server.buf),
		IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(ibv_dereg_mr(mr[1]), 0);
	CHECK_EQ(close(fd), 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	pair_fini(&p);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* The memory of a closed context must be free when the next context is opened. */
static void
case_closed(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_mr *mr;
	struct ibv_dm *dm = make_dm(ctx, PAGE);
	struct pair p;
	int fd;

	pair_init(&p, NULL);
	fd = export_first(ctx);
	mr = ibv_reg_dmabuf_mr(p.pd, 0, PAGE, 0, fd, PAIR_ALL);
	CHECK(mr != NULL);
	expect_status(&p, IBV_WR_RDMA_READ, mr, 0, IBV_WC_SUCCESS);
	/* A new export forgets closed file descriptors, but not those that a region uses. */
	CHECK_EQ(close(fd), 0);
	fd = export_first(ctx);
	CHECK_EQ(ibv_close_device(ctx), 0);
	free(dm); /* libmlx5's object, and the mapping */
	CHECK_EQ(ibv_close_device(pair_open(0)), 0);
	expect_status(&p, IBV_WR_RDMA_READ, mr, 0, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(close(fd), 0);
	pair_fini(&p);
}

/* ---- what is refused */

static void
case_refused(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_dm *dm = make_dm(ctx, 100);
	struct mlx5dv_devx_uar *uar = mlx5dv_devx_alloc_uar(ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	int fd = export_first(ctx), of_uar, file = memfd_create("file", 0), closed = dup(file);
	const struct {
		uint64_t offset, len, iova;
		int fd, access, err;
	} calls[] = {
		{0, PAGE, 0, fd, PAIR_ALL, 0}, /* the whole page */
		{PAGE - 1, 1, PAGE - 1, fd, 0, 0},
		{0, 64, 0, fd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING, 0},
		{0, PAGE + 1, 0, fd, PAIR_ALL, EINVAL},
		{PAGE - 1, 2, PAGE - 1, fd, 0, EINVAL},
		{PAGE, 1, 0, fd, 0, EINVAL},
		{(uint64_t)-1, 2, (uint64_t)-1, fd, 0, EINVAL},
		{0, 0, 0, fd, 0, EINVAL},
		/* the address and the iova have different offsets in their pages */
		{0, 64, 64, fd, 0, EINVAL},
		{0, 64, 0, fd, IBV_ACCESS_REMOTE_WRITE, EINVAL},
		{0, 64, 0, fd, IBV_ACCESS_REMOTE_ATOMIC, EINVAL},
		{0, 64, 0, fd, PAIR_ALL | IBV_ACCESS_MW_BIND, EINVAL},
		{0, 64, 0, fd, PAIR_ALL | IBV_ACCESS_ON_DEMAND, EINVAL},
		{0, 64, 0, fd, PAIR_ALL | IBV_ACCESS_ZERO_BASED, EINVAL},
		{0, 64, 0, file, 0, EINVAL}, /* a file that is not a DMABUF */
		{0, 64, 0, ctx->cmd_fd, 0, EINVAL},
		{0, 64, 0, closed, 0, EBADF},
		{0, 64, 0, -1, 0, EBADF},
	};

	CHECK(pd != NULL && uar != NULL && file >= 0 && closed >= 0);
	CHECK_EQ(ftruncate(file, PAGE), 0);
	CHECK_EQ(close(closed), 0);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct ibv_mr *mr;

		errno = 0;
		mr = ibv_reg_dmabuf_mr(pd, calls[i].offset, calls[i].len, calls[i].iova,
			calls[i].fd, calls[i].access);
		CHECK_EQ(mr == NULL ? errno : 0, calls[i].err);
		CHECK(mr == NULL || ibv_dereg_mr(mr) == 0);
	}
	/* A region over a doorbell page would let a request write a doorbell: it is refused. */
	CHECK_EQ(export_at(ctx, (uint64_t)uar->mmap_off, &of_uar), 0);
	errno = 0;
	CHECK(ibv_reg_dmabuf_mr(pd, 0, 64, 0, of_uar, PAIR_ALL) == NULL);
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK_EQ(close(of_uar), 0);
	CHECK_EQ(close(file), 0);
	CHECK_EQ(close(fd), 0);
	mlx5dv_devx_free_uar(uar);
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* ---- the calls of newer libraries */

static int
reg_by_method(struct ibv_pd *pd, int fd, uint64_t len, const uint64_t *addr, bool offset,
	uint32_t *handle)
{
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_MR, REG_MR);
	uint32_t lkey = 0, rkey = 0;
	int rc;

	raw_handle(&c, 0, 0);
	raw_handle(&c, 1, pd->handle);
	raw_u64(&c, 3, 64);
	if (addr != NULL)
		raw_u64(&c, 4, *addr);
	raw_u64(&c, 5, len);
	raw_u32(&c, 6, PAIR_ALL);
	raw_attr(&c, 7, 0, (uint64_t)fd);
	if (offset)
		raw_u64(&c, 8, 64);
	raw_out(&c, 9, &lkey, sizeof(lkey));
	raw_out(&c, 10, &rkey, sizeof(rkey));
	rc = raw_run(pd->context->cmd_fd, &c);
	*handle = (uint32_t)c.attrs[0].data;
	CHECK_EQ(lkey, rkey);
	CHECK_EQ(lkey != 0, rc == 0);
	return rc;
}

/*
 * Calls REG_DMABUF_MR with the driver's flags, as mlx5dv_reg_dmabuf_mr(3) of newer libraries does.
 */
static int
reg_with_flags(struct ibv_pd *pd, int fd, uint32_t flags, uint32_t *handle)
{
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
	uint32_t lkey = 0, rkey = 0;
	int rc;

	raw_handle(&c, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0);
	raw_handle(&c, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, pd->handle);
	raw_u64(&c, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, 0);
	raw_u64(&c, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, 64);
	raw_u64(&c, UVERBS_ATTR_REG_DMABUF_MR_IOVA, 0);
	raw_u32(&c, UVERBS_ATTR_REG_DMABUF_MR_FD, (uint32_t)fd);
	raw_u32(&c, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, PAIR_ALL);
	raw_u32(&c, 0x1000, flags);
	raw_out(&c, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &lkey, sizeof(lkey));
	raw_out(&c, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &rkey, sizeof(rkey));
	rc = raw_run(pd->context->cmd_fd, &c);
	*handle = (uint32_t)c.attrs[0].data;
	return rc;
}

static void
dereg(struct ibv_context *ctx, uint32_t handle)
{
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY);

	raw_handle(&c, UVERBS_ATTR_DESTROY_MR_HANDLE, handle);
	CHECK_EQ(raw_run(ctx->cmd_fd, &c), 0);
}

static void
case_newer(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_dm *dm = make_dm(ctx, PAGE);
	int fd = export_first(ctx);
	uint32_t handle;

	CHECK(pd != NULL);
	CHECK_EQ(reg_by_method(pd, fd, PAGE - 64, NULL, true, &handle), 0);
	dereg(ctx, handle);
	CHECK_EQ(reg_by_method(pd, fd, PAGE - 63, NULL, true, &handle), EINVAL);
	CHECK_EQ(reg_by_method(pd, fd, 64, NULL, false, &handle), EINVAL);
	CHECK_EQ(reg_by_method(pd, fd, 64, &(uint64_t){64}, true, &handle), EINVAL);
	CHECK_EQ(reg_with_flags(pd, fd, 0, &handle), 0);
	dereg(ctx, handle);
	CHECK_EQ(reg_with_flags(pd, fd, 1, &handle), EINVAL); /* flag: data direct */
	CHECK_EQ(close(fd), 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* ---- fork */

/*
 * In a child, the file descriptor refers to memory of the parent's adapter, which the child's
 * adapter cannot access.
 */
static void
case_fork(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_dm *dm = make_dm(ctx, PAGE);
	int fd = export_first(ctx), status;
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(pd, 0, PAGE, 0, fd, PAIR_ALL);
	pid_t child;

	CHECK(mr != NULL);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		struct ibv_context *own = pair_open(0);
		struct ibv_pd *own_pd = ibv_alloc_pd(own);
		bool right;

		errno = 0;
		right = own_pd != NULL &&
			ibv_reg_dmabuf_mr(own_pd, 0, PAGE, 0, fd, PAIR_ALL) == NULL &&
			errno == ENODEV;
		_exit(right ? 0 : 1);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_dmabuf_mr(pd, 0, PAGE, 0, fd, PAIR_ALL);
	CHECK(mr != NULL);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(close(fd), 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static const struct check_case cases[] = {
	{"a descriptor names the adapter's memory", case_descriptor},
	{"data move through a region over a descriptor", case_region},
	{"another context uses the memory until the memory is freed", case_other_context},
	{"closing a context frees its memory", case_closed},
	{"wrong regions are refused", case_refused},
	{"calls of newer libraries work", case_newer},
	{"a child of fork() uses the memory", case_fork},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
