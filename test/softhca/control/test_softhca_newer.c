/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of newer kernels, which the libraries of newer rdma-core versions make: the speed of a
 * port, DMA handles, registering memory by REG_MR, and receives out of order. Object, method and
 * attribute numbers are those of the uapi header rdma/ib_user_ioctl_cmds.h of Linux 6.18.
 */
#include <sched.h>
#include <sys/mman.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "raw_ioctl.h"
#include "softhca_node.h"

#define DMAH_OBJECT 17
#define REG_MR      5 /* method of UVERBS_OBJECT_MR */

/* ---- the speed of a port */

static int
port_speed(struct node *n, uint64_t port, uint64_t *speed)
{
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_DEVICE, 7);

	raw_u64(&c, 0, port);
	raw_out(&c, 1, speed, sizeof(*speed));
	return raw_run(n->ctx->cmd_fd, &c);
}

/*
 * A port must report its speed in units of 100 Mbit/s, which follows from width and speed of
 * ibv_query_port(3): 4 lanes (2), NDR (128).
 */
static void
case_port_speed(void)
{
	struct node n = node_open(15);
	struct ibv_port_attr port;
	uint64_t speed = 0;

	CHECK_EQ(ibv_query_port(n.ctx, 1, &port), 0);
	CHECK_EQ(port.active_width, 2);
	CHECK_EQ(port.active_speed, 128);
	CHECK_EQ(port_speed(&n, 1, &speed), 0);
	CHECK_EQ(speed, 4000);
	CHECK_EQ(port_speed(&n, 0, &speed), EINVAL);
	CHECK_EQ(port_speed(&n, 2, &speed), EINVAL);
	node_close(&n);
}

/* ---- DMA handles */

#define NONE (-1)

struct dmah {
	int64_t cpu, ph;
	int mem;
};

static int
dmah_alloc(struct node *n, const struct dmah *want, uint32_t *handle)
{
	struct raw_ioctl c = raw_start(DMAH_OBJECT, 0);
	int rc;

	raw_handle(&c, 0, 0);
	if (want->cpu != NONE)
		raw_attr(&c, 1, 4, (uint64_t)want->cpu);
	if (want->mem != NONE)
		raw_attr(&c, 2, 0, 0)->attr_data.enum_data.elem_id = (uint8_t)want->mem;
	if (want->ph != NONE)
		raw_attr(&c, 3, 1, (uint64_t)want->ph);
	rc = raw_run(n->ctx->cmd_fd, &c);
	*handle = (uint32_t)c.attrs[0].data;
	return rc;
}

static int
dmah_free(struct node *n, uint32_t handle)
{
	struct raw_ioctl c = raw_start(DMAH_OBJECT, 1);

	raw_handle(&c, 0, handle);
	return raw_run(n->ctx->cmd_fd, &c);
}

/* Returns a CPU on which this process may run, or a CPU on which it may not run. */
static int64_t
some_cpu(bool allowed)
{
	cpu_set_t set;

	CHECK_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (!CPU_ISSET(i, &set) == !allowed)
			return i;
	return NONE;
}

static void
case_dmah(void)
{
	struct node n = node_open(15);
	const int64_t cpu = some_cpu(true);
	const struct {
		struct dmah want;
		int err;
	} calls[] = {
		{{cpu, 0, 0}, 0},
		{{cpu, 3, 1}, 0},
		{{NONE, 2, NONE}, 0},
		{{cpu, NONE, 0}, EINVAL},     /* no processing hints */
		{{cpu, 4, 0}, EINVAL},        /* processing hints of more than two bits */
		{{cpu, 0, NONE}, EINVAL},     /* a CPU, but no kind of memory */
		{{NONE, 0, 0}, EINVAL},       /* a kind of memory, but no CPU */
		{{cpu, 0, 2}, EOPNOTSUPP},    /* an unknown kind of memory */
		{{cpu, 0, 0xfe}, EOPNOTSUPP}, /* the same */
		{{0xffff, 0, 0}, EINVAL},     /* a CPU that does not exist */
		{{some_cpu(false), 0, 0}, EPERM},
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		uint32_t handle;

		CHECK_EQ(dmah_alloc(&n, &calls[i].want, &handle), calls[i].err);
		if (calls[i].err == 0) {
			CHECK_EQ(dmah_free(&n, handle), 0);
			CHECK_EQ(dmah_free(&n, handle), ENOENT);
		}
	}
	node_close(&n);
}

/* ---- REG_MR */

struct reg {
	uint64_t addr, iova, len;
	uint32_t access;
	int64_t dmah, fd; /* NONE: without this attribute */
	bool no_addr;
};

struct region {
	uint32_t handle, lkey, rkey;
};

static int
reg_mr(struct node *n, const struct reg *r, struct region *out)
{
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_MR, REG_MR);
	int rc;

	raw_handle(&c, 0, 0);
	raw_handle(&c, 1, n->pd->handle);
	if (r->dmah != NONE)
		raw_handle(&c, 2, (uint32_t)r->dmah);
	raw_u64(&c, 3, r->iova);
	if (!r->no_addr)
		raw_u64(&c, 4, r->addr);
	raw_u64(&c, 5, r->len);
	raw_u32(&c, 6, r->access);
	if (r->fd != NONE) {
		raw_attr(&c, 7, 0, (uint64_t)r->fd);
		raw_u64(&c, 8, 0);
	}
	raw_out(&c, 9, &out->lkey, sizeof(out->lkey));
	raw_out(&c, 10, &out->rkey, sizeof(out->rkey));
	rc = raw_run(n->ctx->cmd_fd, &c);
	out->handle = (uint32_t)c.attrs[0].data;
	return rc;
}

static int
dereg(struct node *n, uint32_t handle)
{
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY);

	raw_handle(&c, 0, handle);
	return raw_run(n->ctx->cmd_fd, &c);
}

/*
 * A region that REG_MR made moves data when it is named by its iova, with a DMA handle and without.
 */
static void
write_through(struct node *n, uint64_t iova, uint32_t rkey)
{
	struct ibv_qp *a = node_qp(n, K_RC), *b = node_qp(n, K_RC);
	struct ibv_sge sge = {(uintptr_t)n->buf, 64, n->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {iova, rkey}};
	struct ibv_send_wr *bad;

	node_connect(K_RC, n, a, n, b);
	n->buf[0]++;
	pair_publish_to(a, NULL);
	CHECK_EQ(ibv_post_send(a, &wr, &bad), 0);
	CHECK_EQ(node_wait(n->scq).status, IBV_WC_SUCCESS);
	CHECK_EQ(n->buf[8192], n->buf[0]);
	CHECK_EQ(ibv_destroy_qp(a), 0);
	CHECK_EQ(ibv_destroy_qp(b), 0);
}

static void
case_reg_mr(void)
{
	const uint32_t rw = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct node n = node_open(15);
	const uint64_t at = (uintptr_t)n.buf + 8192, page = at & 4095;
	const struct {
		struct reg r;
		int err;
	} wrong[] = {
		{{at, at, 0, rw, NONE, NONE, false}, EINVAL},
		/* the address and the iova have different offsets in their pages */
		{{at, at + 8, 64, rw, NONE, NONE, false}, EINVAL},
		{{at, at, 64, IBV_ACCESS_REMOTE_WRITE, NONE, NONE, false}, EINVAL},
		{{at, at, 64, 1u << 19, NONE, NONE, false}, EINVAL}, /* an unknown access right */
		{{4096, 4096, 64, rw, NONE, NONE, false}, EFAULT},
		{{at, at, 64, rw, 0xfff, NONE, false}, ENOENT},
		{{at, at, 64, rw, NONE, NONE, true}, EINVAL},
		/* The descriptor is no DMABUF. */
		{{at, at, 64, rw, NONE, n.ctx->cmd_fd, true}, EINVAL},
		/* Both a DMABUF and an address. */
		{{at, at, 64, rw, NONE, n.ctx->cmd_fd, false}, EINVAL},
	};
	const uint64_t iova = (UINT64_C(1) << 40) + page;
	struct reg good = {at, iova, 64, rw, NONE, NONE, false};
	struct region region;
	uint32_t handle;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_EQ(reg_mr(&n, &wrong[i].r, &region), wrong[i].err);
	CHECK_EQ(reg_mr(&n, &good, &region), 0);
	CHECK_EQ(region.lkey, region.rkey);
	write_through(&n, iova, region.rkey);
	CHECK_EQ(dereg(&n, region.handle), 0);
	/*
	 * The region uses its DMA handle until the region is destroyed. A DMA handle is refused for
	 * memory on demand.
	 */
	CHECK_EQ(dmah_alloc(&n, &(struct dmah){NONE, 1, NONE}, &handle), 0);
	good.dmah = handle;
	CHECK_EQ(reg_mr(&n, &good, &region), 0);
	write_through(&n, iova, region.rkey);
	CHECK_EQ(dmah_free(&n, handle), EBUSY);
	CHECK_EQ(dereg(&n, region.handle), 0);
	good.access |= IBV_ACCESS_ON_DEMAND;
	CHECK_EQ(reg_mr(&n, &good, &region), EOPNOTSUPP);
	CHECK_EQ(dmah_free(&n, handle), 0);
	node_close(&n);
}

/* ---- receives out of order */

/* Sends EX_MODIFY_QP to INIT, with the driver's data. */
static int
to_init(struct node *n, struct ibv_qp *qp, uint32_t comp_mask, uint8_t state)
{
	struct ib_uverbs_ex_modify_qp in = {.base = {.qp_handle = qp->handle,
						    .attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX |
								 IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
						    .qp_state = state,
						    .port_num = 1}};
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	struct ib_uverbs_ex_modify_qp_resp out;
	struct mlx5_ib_modify_qp_resp out5;
	uint32_t driver[4] = {comp_mask};

	if (qp->qp_type == IBV_QPT_RAW_PACKET)
		in.base.attr_mask = IBV_QP_STATE | IBV_QP_PORT;
	raw_attr(&c, UVERBS_ATTR_CORE_IN, sizeof(in), (uintptr_t)&in);
	raw_out(&c, UVERBS_ATTR_CORE_OUT, &out, sizeof(out));
	raw_u64(&c, UVERBS_ATTR_WRITE_CMD,
		IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_MODIFY_QP);
	raw_attr(&c, UVERBS_ATTR_UHW_IN, sizeof(driver), (uintptr_t)driver);
	raw_out(&c, UVERBS_ATTR_UHW_OUT, &out5, sizeof(out5));
	return raw_run(n->ctx->cmd_fd, &c);
}

static void
case_out_of_order(void)
{
	struct node n = node_open(15);
	struct ibv_qp *rc = node_qp(&n, K_RC), *raw;

	CHECK_EQ(to_init(&n, rc, 1 << 1, IBV_QPS_INIT), EOPNOTSUPP);
	CHECK_EQ(to_init(&n, rc, 1, IBV_QPS_RTR), EINVAL);
	CHECK_EQ(pair_state(rc), IBV_QPS_RESET);
	CHECK_EQ(to_init(&n, rc, 1, IBV_QPS_INIT), 0);
	CHECK_EQ(pair_state(rc), IBV_QPS_INIT);
	if (node_may(&n, K_RAW)) {
		raw = node_qp(&n, K_RAW);
		CHECK_EQ(to_init(&n, raw, 1, IBV_QPS_INIT), EOPNOTSUPP);
		CHECK_EQ(to_init(&n, raw, 0, IBV_QPS_INIT), 0);
		CHECK_EQ(ibv_destroy_qp(raw), 0);
	}
	CHECK_EQ(ibv_destroy_qp(rc), 0);
	node_close(&n);
}

/* ---- doorbell pages of virtio queues */

#define VAR_OBJECT (MLX5_IB_OBJECT_VAR)
#define VAR_FLAGS  0x1004 /* MLX5_IB_ATTR_VAR_OBJ_ALLOC_FLAGS */

/* Allocates a page. The call writes the page's number to *page. */
static int
var_raw(struct node *n, uint32_t flags, uint32_t *page)
{
	struct raw_ioctl c = raw_start(VAR_OBJECT, MLX5_IB_METHOD_VAR_OBJ_ALLOC);
	uint64_t offset;
	uint32_t len;

	raw_handle(&c, MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE, 0);
	raw_out(&c, MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));
	raw_out(&c, MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH, &len, sizeof(len));
	raw_out(&c, MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID, page, sizeof(*page));
	raw_u32(&c, VAR_FLAGS, flags);
	return raw_run(n->ctx->cmd_fd, &c);
}

/*
 * Each allocated page must be a separate page, and must be all zeros at first. It must keep its
 * bytes until it is freed.
 */
static void
case_var(void)
{
	struct node n = node_open(15);
	struct mlx5dv_devx_uar *uar = mlx5dv_devx_alloc_uar(n.ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	struct mlx5dv_var *var[3];
	uint8_t *page[3];
	uint32_t number;

	CHECK(uar != NULL);
	for (int i = 0; i < 3; i++) {
		var[i] = mlx5dv_alloc_var(n.ctx, 0);
		CHECK(var[i] != NULL);
		CHECK_EQ(var[i]->length, 4096);
		CHECK(var[i]->page_id != uar->page_id);
		page[i] = mmap(NULL, var[i]->length, PROT_READ | PROT_WRITE, MAP_SHARED,
			n.ctx->cmd_fd, var[i]->mmap_off);
		CHECK(page[i] != MAP_FAILED);
		for (int b = 0; b < 4096; b++)
			CHECK_EQ(page[i][b], 0);
		memset(page[i], 0x41 + i, 4096);
	}
	for (int i = 0; i < 3; i++)
		CHECK_EQ(page[i][0x800], 0x41 + i);
	/* A page that was freed is allocated again, and is then all zeros. */
	munmap(page[1], 4096);
	mlx5dv_free_var(var[1]);
	var[1] = mlx5dv_alloc_var(n.ctx, 0);
	CHECK(var[1] != NULL);
	page[1] = mmap(NULL, 4096, PROT_READ, MAP_SHARED, n.ctx->cmd_fd, var[1]->mmap_off);
	CHECK(page[1] != MAP_FAILED && page[1][0x800] == 0);
	CHECK_EQ(var_raw(&n, 1, &number), EOPNOTSUPP);
	CHECK_EQ(var_raw(&n, 0, &number), 0);
	for (int i = 0; i < 3; i++) {
		munmap(page[i], 4096);
		mlx5dv_free_var(var[i]);
	}
	mlx5dv_devx_free_uar(uar);
	node_close(&n);
}

/*
 * A failed call must leave no page allocated: it must still be possible to allocate the last free
 * page.
 */
static void
case_var_pages_end(void)
{
	static struct mlx5dv_var *var[4096];
	struct node n = node_open(15);
	unsigned int all = 0;

	while (all < 4096 && (var[all] = mlx5dv_alloc_var(n.ctx, 0)) != NULL)
		all++;
	CHECK(all > 1000 && all < 4096 && errno == ENOSPC);
	mlx5dv_free_var(var[--all]);
	CHECK_EQ(var_raw(&n, 1, (uint32_t *)8), EOPNOTSUPP);
	CHECK_EQ(var_raw(&n, 0, (uint32_t *)8), EFAULT);
	var[all] = mlx5dv_alloc_var(n.ctx, 0);
	CHECK(var[all] != NULL);
	CHECK(mlx5dv_alloc_var(n.ctx, 0) == NULL && errno == ENOSPC);
	for (unsigned int i = 0; i <= all; i++)
		mlx5dv_free_var(var[i]);
	node_close(&n);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"a port reports its speed", case_port_speed},
		{"DMA handles are checked as the kernel does", case_dmah},
		{"a region is registered by a method, with a DMA handle or without", case_reg_mr},
		{"a receive queue may be out of order", case_out_of_order},
		{"doorbell pages of virtio queues are pages", case_var},
		{"a call that fails keeps no doorbell page", case_var_pages_end},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
