/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues that may not be made, changed or asked about: libmlx5's own calls with one field changed,
 * which libibverbs and libmlx5 never send. Each is refused with the kernel's errno, and leaves nothing
 * behind: all that the call named can be destroyed at the end.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "raw_ioctl.h"
#include "softhca_edit.h"
#include "softhca_node.h"

#define N(a)      (sizeof(a) / sizeof((a)[0]))
#define NO_HANDLE 0xffffff
#define PAGE      4096u

/* What calls work on: a node, and memory of which nothing, or nothing more, may be written. */
struct world {
	struct node n;
	enum kind kind;
	bool streams;
	uint8_t *pages;
	uint64_t xrcd;           /* its handle */
	uint64_t none, ro, last; /* cannot be touched; not be written; the last 64 bytes that can */
	struct ibv_qp *qp;
	struct ibv_wq *wq;
};

static struct world
world_open(void)
{
	struct world w = {.n = node_open(255)};

	w.pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(w.pages != MAP_FAILED);
	CHECK_EQ(mprotect(w.pages + PAGE, PAGE, PROT_READ), 0);
	CHECK_EQ(mprotect(w.pages + 2 * PAGE, PAGE, PROT_NONE), 0);
	w.last = (uintptr_t)w.pages + PAGE - 64;
	w.ro = (uintptr_t)w.pages + PAGE;
	w.none = (uintptr_t)w.pages + 2 * PAGE;
	editor.object = UVERBS_OBJECT_QP;
	editor.method = UVERBS_METHOD_QP_CREATE;
	editor.spy = UVERBS_ATTR_CREATE_QP_XRCD_HANDLE;
	CHECK(node_may(&w.n, K_XRC_RECV));
	editor.spy = 0;
	w.xrcd = editor.spied;
	return w;
}

static void
world_close(struct world *w)
{
	node_close(&w->n);
	CHECK_EQ(munmap(w->pages, 3 * PAGE), 0);
}

static bool
is_ethernet(void)
{
	const char *layer = getenv("SOFTHCA_LINK_LAYER");

	return layer == NULL || strcmp(layer, "infiniband") != 0;
}

/* ---- queue pairs */

static struct ibv_qp *
dci_with_streams(struct node *n)
{
	struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_DRIVER,
		.send_cq = n->scq,
		.recv_cq = n->rcq,
		.pd = n->pd,
		.cap = {.max_send_wr = 16, .max_send_sge = 1},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND};
	struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC |
						      MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS,
		.dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCI,
			.dci_streams = {.log_num_concurent = 2, .log_num_errored = 1}}};

	return mlx5dv_create_qp(n->ctx, &init, &dv);
}

static int
make_qp(void *arg)
{
	struct world *w = arg;
	struct ibv_qp *qp = w->streams ? dci_with_streams(&w->n) : node_try_qp(&w->n, w->kind);

	if (qp == NULL)
		return errno;
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	return 0;
}

#define IN(field, value, err)                                                                      \
	SET_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_create_qp, field, value, err)
#define CAP(field, value)                                                                          \
	SET_IN(UVERBS_ATTR_CREATE_QP_CAP, struct ib_uverbs_qp_cap, field, value, EINVAL)
#define REFUSED(w, kind_, edits)                                                                   \
	do {                                                                                       \
		(w)->kind = (kind_);                                                               \
		refuses(make_qp, w, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, 0, edits,           \
			N(edits));                                                                 \
	} while (0)

static void
case_qp_buffers(void)
{
	struct world w = world_open();
	const struct edit edits[] = {
		PLUS_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_create_qp, buf_addr, 8, EINVAL),
		IN(buf_addr, w.none, EFAULT),
		IN(buf_addr, w.ro, EFAULT),
		IN(buf_addr, w.last, EFAULT),
		PLUS_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_create_qp, db_addr, 4, EINVAL),
		IN(db_addr, w.none, EFAULT),
		IN(db_addr, w.ro, EFAULT),
		IN(sq_wqe_count, 3, EINVAL),
		IN(rq_wqe_count, 3, EINVAL),
		IN(rq_wqe_shift, 3, EINVAL),
		IN(rq_wqe_shift, 10, EINVAL),
		IN(rq_wqe_shift, 64, EINVAL),
	};
	const struct edit raw[] = {
		IN(sq_buf_addr, w.none, EFAULT),
		IN(sq_buf_addr, w.last, EFAULT),
		PLUS_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_create_qp, sq_buf_addr, 8, EINVAL),
		IN(buf_addr, w.none, EFAULT),
	};

	REFUSED(&w, K_RC, edits);
	if (is_ethernet() && node_may(&w.n, K_RAW))
		REFUSED(&w, K_RAW, raw);
	world_close(&w);
}

static void
case_qp_sizes(void)
{
	struct world w = world_open();
	struct ibv_device_attr dev;

	CHECK_EQ(ibv_query_device(w.n.ctx, &dev), 0);
	{
		const uint32_t wr = (uint32_t)dev.max_qp_wr, sge = (uint32_t)dev.max_sge;
		const struct edit edits[] = {
			CAP(max_send_wr, wr + 1),
			CAP(max_recv_wr, wr + 1),
			CAP(max_send_sge, sge + 1),
			CAP(max_recv_sge, sge + 1),
			IN(sq_wqe_count, 2 * wr, EINVAL),
			IN(rq_wqe_count, 2 * wr, EINVAL),
			IN(sq_wqe_count, UINT32_C(1) << 31, EINVAL),
		};

		REFUSED(&w, K_RC, edits);
	}
	world_close(&w);
}

static void
case_qp_names(void)
{
	struct world w = world_open();
	const struct edit rc[] = {
		{DROP, UVERBS_ATTR_CREATE_QP_PD_HANDLE, .err = EINVAL},
		{DROP, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, .err = EINVAL},
		{DROP, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, .err = EINVAL},
		{HAS, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, .value = w.xrcd, .err = EINVAL},
		{HAS, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, .value = w.n.xrc_srq->handle,
			.err = EINVAL},
		{HAS, UVERBS_ATTR_CREATE_QP_PD_HANDLE, .value = NO_HANDLE, .err = ENOENT},
		{HAS, UVERBS_ATTR_CREATE_QP_PD_HANDLE, .value = w.n.scq->handle, .err = ENOENT},
		{HAS, UVERBS_ATTR_CREATE_QP_EVENT_FD, .value = 0xffff, .err = EBADF},
		{HAS, UVERBS_ATTR_CREATE_QP_EVENT_FD, .value = 0, .err = EBADF},
		IN(bfreg_index, NO_HANDLE, EINVAL),
	};
	const struct edit send[] = {
		{HAS, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, .value = w.n.srq->handle, .err = EINVAL},
		{DROP, UVERBS_ATTR_CREATE_QP_PD_HANDLE, .err = EINVAL},
	};
	const struct edit recv[] = {
		{HAS, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, .value = w.n.srq->handle, .err = EINVAL},
		{DROP, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, .err = EINVAL},
	};
	const struct edit dct[] = {
		{DROP, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, .err = EINVAL},
		{DROP, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, .err = EINVAL},
	};

	REFUSED(&w, K_RC, rc);
	REFUSED(&w, K_XRC_SEND, send);
	REFUSED(&w, K_XRC_RECV, recv);
	REFUSED(&w, K_DCT, dct);
	if (is_ethernet() && node_may(&w.n, K_RAW))
		refuses(make_qp, (w.kind = K_RAW, &w), UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, 0,
			send, N(send));
	world_close(&w);
}

static void
case_qp_flags(void)
{
	struct world w = world_open();
	const struct edit edits[] = {
		IN(flags, MLX5_QP_FLAG_UAR_PAGE_INDEX | 1u << 30, EINVAL),
		IN(flags, MLX5_QP_FLAG_UAR_PAGE_INDEX | MLX5_QP_FLAG_TYPE_DCT, EINVAL),
		IN(flags, MLX5_QP_FLAG_UAR_PAGE_INDEX | MLX5_QP_FLAG_DCI_STREAM, EINVAL),
		IN(flags, 0, EINVAL),
		IN(ece_options, 1, EINVAL),
		{HAS, UVERBS_ATTR_CREATE_QP_FLAGS, 0, 4, IB_UVERBS_QP_CREATE_SCATTER_FCS,
			EOPNOTSUPP},
		{HAS, UVERBS_ATTR_CREATE_QP_FLAGS, 0, 4,
			IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK, EOPNOTSUPP},
		{HAS, UVERBS_ATTR_CREATE_QP_FLAGS, 0, 4, 1u << 30, EINVAL},
	};
	const struct edit streams[] = {
		IN(dci_streams.log_num_concurent, 200, EINVAL),
		IN(dci_streams.log_num_errored, 200, EINVAL),
	};

	REFUSED(&w, K_RC, edits);
	w.streams = true;
	REFUSED(&w, K_DCI, streams);
	world_close(&w);
}

/* The answer cannot be written: the queue pair is gone, and what it named is free. */
static void
case_answers(void)
{
	struct world w = world_open();
	const struct edit edits[] = {
		{OUT, UVERBS_ATTR_CREATE_QP_RESP_CAP, .value = w.ro, .err = EFAULT},
		{OUT, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, .value = w.none, .err = EFAULT},
		{OUT, UVERBS_ATTR_UHW_OUT, .value = w.none, .err = EFAULT},
	};

	REFUSED(&w, K_RC, edits);
	world_close(&w);
}

#undef IN
#undef CAP

/* ---- their states */

static int
to_init(void *arg)
{
	struct world *w = arg;
	struct ibv_qp_attr attr = node_attr(&w->n, 0);
	int err;

	attr.qp_state = IBV_QPS_INIT;
	err = ibv_modify_qp(w->qp, &attr, IBV_QP_STATE | node_need(w->kind, IBV_QPS_INIT));
	if (err == 0)
		CHECK_EQ(node_move(w->qp, IBV_QPS_RESET), 0);
	CHECK_EQ(node_state(w->qp), IBV_QPS_RESET);
	return err;
}

/* From RESET to RESET, and nothing more. */
static int
to_reset(void *arg)
{
	struct world *w = arg;
	int err = node_move(w->qp, IBV_QPS_RESET);

	CHECK_EQ(node_state(w->qp), IBV_QPS_RESET);
	return err;
}

/* From INIT to RTR; a DCT goes with the longer command, whose answer has its number. */
static int
to_rtr(void *arg)
{
	struct world *w = arg;
	struct ibv_qp_attr attr = node_attr(&w->n, 0);
	struct ibv_qp *qp = node_qp(&w->n, w->kind);
	const struct edit *edit = editor.edit;
	int err;

	editor.edit = NULL; /* a DCT takes the same command to INIT */
	node_ready(&w->n, qp, w->kind, 0, IBV_QPS_INIT);
	editor.edit = edit;
	attr.ah_attr.is_global = is_ethernet();
	attr.qp_state = IBV_QPS_RTR;
	err = ibv_modify_qp(qp, &attr, IBV_QP_STATE | node_need(w->kind, IBV_QPS_RTR));
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	return err;
}

static int
query_qp(void *arg)
{
	struct world *w = arg;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(w->qp, &attr, IBV_QP_STATE, &init);
}

#define IN(field, value, err)                                                                      \
	SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_modify_qp, field, value, err)
#define EX(field, value, err)                                                                      \
	SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_ex_modify_qp, field, value, err)
#define WRITE(call, w, cmd, edits)                                                                 \
	refuses(call, w, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, cmd, edits, N(edits))
#define EXTENDED(cmd) (IB_USER_VERBS_CMD_FLAG_EXTENDED | (cmd))

static void
case_modify(void)
{
	struct world w = world_open();
	const struct edit init[] = {
		IN(qp_handle, NO_HANDLE, EINVAL),
		IN(qp_handle, w.n.scq->handle, EINVAL),
		PLUS_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_modify_qp, attr_mask, 1u << 21,
			EOPNOTSUPP),
		PLUS_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_modify_qp, attr_mask, 1u << 26,
			EOPNOTSUPP),
		IN(port_num, 2, EINVAL),
		IN(port_num, 0, EINVAL),
		IN(pkey_index, 0x7fff, EINVAL),
	};
	const struct edit anywhere[] = {
		IN(qp_state, 7, EINVAL),
		IN(qp_state, 0xff, EINVAL),
	};
	const struct edit rtr[] = {
		IN(dest.port_num, 2, EINVAL),
		IN(dest.port_num, 0, EINVAL),
		IN(path_mtu, 0, EINVAL),
		IN(path_mtu, 6, EINVAL),
		IN(max_dest_rd_atomic, 0xff, EINVAL),
	};
	/* A path needs a GID where the link is Ethernet. */
	const struct edit global[] = {
		IN(dest.is_global, 0, EINVAL),
		IN(dest.sgid_index, 200, EINVAL),
	};
	const struct edit dct[] = {
		PLUS_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_ex_modify_qp, base.attr_mask,
			1u << 31, EOPNOTSUPP),
		PLUS_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_ex_modify_qp, base.attr_mask,
			1u << 26, EOPNOTSUPP),
		EX(base.qp_handle, NO_HANDLE, EINVAL),
		EX(rate_limit, 1, EOPNOTSUPP),
		EX(reserved, 1, EOPNOTSUPP),
	};
	const struct edit query[] = {
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_query_qp, qp_handle, NO_HANDLE,
			EINVAL),
	};

	w.kind = K_RC;
	w.qp = node_qp(&w.n, K_RC);
	WRITE(to_init, &w, IB_USER_VERBS_CMD_MODIFY_QP, init);
	WRITE(to_reset, &w, IB_USER_VERBS_CMD_MODIFY_QP, anywhere);
	WRITE(query_qp, &w, IB_USER_VERBS_CMD_QUERY_QP, query);
	CHECK_EQ(ibv_destroy_qp(w.qp), 0);
	WRITE(to_rtr, &w, IB_USER_VERBS_CMD_MODIFY_QP, rtr);
	if (is_ethernet())
		WRITE(to_rtr, &w, IB_USER_VERBS_CMD_MODIFY_QP, global);
	w.kind = K_DCT;
	WRITE(to_rtr, &w, EXTENDED(IB_USER_VERBS_EX_CMD_MODIFY_QP), dct);
	world_close(&w);
}

#undef IN
#undef EX

/* ---- shared receive queues and XRC domains */

static int
make_srq(void *arg)
{
	struct world *w = arg;
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 15, .max_sge = 1}};
	struct ibv_srq *srq =
		w->kind == K_XRC_RECV ? node_xrc_srq(&w->n) : ibv_create_srq(w->n.pd, &init);

	if (srq == NULL)
		return errno;
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	return 0;
}

#define IN(field, value, err)                                                                      \
	SET_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_create_srq, field, value, err)

static void
case_srq(void)
{
	struct world w = world_open();
	struct ibv_device_attr dev;

	CHECK_EQ(ibv_query_device(w.n.ctx, &dev), 0);
	{
		const struct edit basic[] = {
			PLUS_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_create_srq, buf_addr, 8, EINVAL),
			IN(buf_addr, w.none, EFAULT),
			IN(buf_addr, w.ro, EFAULT),
			IN(buf_addr, w.last, EFAULT),
			PLUS_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_create_srq, db_addr, 4, EINVAL),
			IN(db_addr, w.none, EFAULT),
			IN(db_addr, w.ro, EFAULT),
			IN(flags, 1u << 30, EINVAL),
			IN(reserved0, 1, EINVAL),
			IN(reserved1, 1, EINVAL),
			{SET, UVERBS_ATTR_CREATE_SRQ_MAX_WR, 0, 4, (uint32_t)dev.max_srq_wr + 1,
				EINVAL},
			{SET, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 0, 4, 32, EINVAL},
			{SET, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 0, 4, 1u << 28, EINVAL},
			{SET, UVERBS_ATTR_CREATE_SRQ_TYPE, 0, 8, IB_UVERBS_SRQT_TM, EOPNOTSUPP},
			{HAS, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, .value = w.xrcd, .err = EINVAL},
			{HAS, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, .value = w.n.scq->handle,
				.err = EINVAL},
			{HAS, UVERBS_ATTR_CREATE_SRQ_EVENT_FD, .value = 0xffff, .err = EBADF},
			{OUT, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, .value = w.ro, .err = EFAULT},
		};
		const struct edit xrc[] = {
			{DROP, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, .err = EINVAL},
			{DROP, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, .err = EINVAL},
			{HAS, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, .value = NO_HANDLE, .err = ENOENT},
		};

		refuses(make_srq, &w, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, 0, basic,
			N(basic));
		w.kind = K_XRC_RECV;
		refuses(make_srq, &w, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, 0, xrc, N(xrc));
	}
	world_close(&w);
}

#undef IN

static int
arm_srq(void *arg)
{
	struct world *w = arg;

	return ibv_modify_srq(w->n.srq, &(struct ibv_srq_attr){.srq_limit = 1}, IBV_SRQ_LIMIT);
}

static int
query_srq(void *arg)
{
	struct world *w = arg;
	struct ibv_srq_attr attr;

	return ibv_query_srq(w->n.srq, &attr);
}

static void
case_srq_calls(void)
{
	const struct edit modify[] = {
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_modify_srq, srq_handle, NO_HANDLE,
			EINVAL),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_modify_srq, attr_mask, 4, EINVAL),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_modify_srq, attr_mask, 1, EINVAL),
	};
	const struct edit query[] = {
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_query_srq, srq_handle, NO_HANDLE,
			EINVAL),
	};
	struct world w = world_open();

	WRITE(arm_srq, &w, IB_USER_VERBS_CMD_MODIFY_SRQ, modify);
	WRITE(query_srq, &w, IB_USER_VERBS_CMD_QUERY_SRQ, query);
	world_close(&w);
}

static int
open_domain(struct ibv_context *ctx, int fd, int flags, struct ibv_xrcd **out)
{
	struct ibv_xrcd_init_attr init = {.fd = fd,
		.oflags = flags,
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS};

	*out = ibv_open_xrcd(ctx, &init);
	return *out != NULL ? 0 : errno;
}

static int
open_xrcd(void *arg)
{
	struct world *w = arg;
	struct ibv_xrcd *xrcd;
	int err = open_domain(w->n.ctx, -1, O_CREAT, &xrcd);

	if (err == 0)
		CHECK_EQ(ibv_close_xrcd(xrcd), 0);
	return err;
}

/* An inode's number is its file system's: the roots of two often have the same. */
static void
same_number(struct world *w)
{
	int proc = open("/proc", O_RDONLY | O_CLOEXEC), sys = open("/sys", O_RDONLY | O_CLOEXEC);
	struct stat a, b;
	struct ibv_xrcd *xrcd, *none;

	if (proc >= 0 && sys >= 0 && fstat(proc, &a) == 0 && fstat(sys, &b) == 0 &&
		a.st_ino == b.st_ino && a.st_dev != b.st_dev) {
		CHECK_EQ(open_domain(w->n.ctx, proc, O_CREAT, &xrcd), 0);
		CHECK_EQ(open_domain(w->n.ctx, sys, 0, &none), EAGAIN);
		CHECK_EQ(ibv_close_xrcd(xrcd), 0);
	}
	close(proc);
	close(sys);
}

/* A file is one domain of one adapter: another file, or another adapter, has another. */
static void
case_domains(void)
{
	struct ibv_context *other = pair_open(1);
	struct world w = world_open();
	const struct edit edits[] = {
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_open_xrcd, oflags, O_CREAT | O_APPEND,
			EINVAL),
	};
	struct ibv_xrcd *a, *same, *none;
	int fd_a = memfd_create("a", MFD_CLOEXEC), fd_b = memfd_create("b", MFD_CLOEXEC);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	CHECK(fd_a >= 0 && fd_b >= 0 && null >= 0);
	WRITE(open_xrcd, &w, IB_USER_VERBS_CMD_OPEN_XRCD, edits);
	CHECK_EQ(open_domain(w.n.ctx, 0xffff, O_CREAT, &none), EBADF);
	CHECK_EQ(open_domain(w.n.ctx, fd_a, 0, &none), EAGAIN);
	CHECK_EQ(open_domain(w.n.ctx, fd_a, O_CREAT, &a), 0);
	CHECK_EQ(open_domain(w.n.ctx, fd_b, 0, &none), EAGAIN);
	CHECK_EQ(open_domain(w.n.ctx, null, 0, &none), EAGAIN);
	CHECK_EQ(open_domain(other, fd_a, 0, &none), EAGAIN);
	CHECK_EQ(open_domain(w.n.ctx, fd_a, O_CREAT | O_EXCL, &none), EINVAL);
	CHECK_EQ(open_domain(w.n.ctx, fd_a, 0, &same), 0);
	CHECK_EQ(ibv_close_xrcd(a), 0);
	CHECK_EQ(open_domain(w.n.ctx, fd_a, 0, &a), 0);
	CHECK_EQ(ibv_close_xrcd(a), 0);
	CHECK_EQ(ibv_close_xrcd(same), 0);
	CHECK_EQ(open_domain(w.n.ctx, fd_a, 0, &none), EAGAIN);
	same_number(&w);
	close(null);
	close(fd_b);
	close(fd_a);
	world_close(&w);
	CHECK_EQ(ibv_close_device(other), 0);
}

/* ---- completion queues */

static int
make_cq(void *arg)
{
	struct world *w = arg;
	struct ibv_comp_channel *channel = ibv_create_comp_channel(w->n.ctx);
	struct ibv_cq *cq = ibv_create_cq(w->n.ctx, 63, NULL, channel, 0);
	int err = cq == NULL ? errno : 0;

	if (cq != NULL)
		CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	return err;
}

#define IN(field, value, err)                                                                      \
	SET_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_create_cq, field, value, err)

static void
case_cq(void)
{
	struct world w = world_open();
	struct ibv_device_attr dev;

	CHECK_EQ(ibv_query_device(w.n.ctx, &dev), 0);
	{
		const struct edit edits[] = {
			PLUS_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_create_cq, buf_addr, 8, EINVAL),
			IN(buf_addr, w.none, EFAULT),
			IN(buf_addr, w.ro, EFAULT),
			IN(buf_addr, w.last, EFAULT),
			PLUS_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_create_cq, db_addr, 4, EINVAL),
			IN(db_addr, w.none, EFAULT),
			IN(db_addr, w.ro, EFAULT),
			IN(cqe_size, 32, EINVAL),
			IN(cqe_size, 256, EINVAL),
			IN(cqe_comp_en, 1, EOPNOTSUPP),
			IN(flags, MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX | 0x100, EOPNOTSUPP),
			/* Written whole are those of 128 bytes alone. */
			IN(flags,
				MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX |
					MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD,
				EOPNOTSUPP),
			IN(uar_page_index, 0xffff, EINVAL),
			{SET, UVERBS_ATTR_CREATE_CQ_CQE, 0, 4, 0, EINVAL},
			{SET, UVERBS_ATTR_CREATE_CQ_CQE, 0, 4, (uint32_t)dev.max_cqe + 1, EINVAL},
			{SET, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 0, 4, 0xffff, EINVAL},
			{HAS, UVERBS_ATTR_CREATE_CQ_FLAGS, .width = 4, .value = 1u << 30,
				.err = EINVAL},
			{HAS, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, .value = 0xffff, .err = EBADF},
			{HAS, UVERBS_ATTR_CREATE_CQ_EVENT_FD, .value = 0xffff, .err = EBADF},
			{OUT, UVERBS_ATTR_CREATE_CQ_RESP_CQE, .value = w.ro, .err = EFAULT},
			{OUT, UVERBS_ATTR_UHW_OUT, .value = w.ro, .err = EFAULT},
		};

		refuses(make_cq, &w, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, 0, edits, N(edits));
	}
	world_close(&w);
}

#undef IN

static int
resize_cq(void *arg)
{
	struct world *w = arg;

	return ibv_resize_cq(w->n.scq, w->n.scq->cqe == 255 ? 100 : 255);
}

static int
moderate_cq(void *arg)
{
	struct world *w = arg;

	return ibv_modify_cq(w->n.scq,
		&(struct ibv_modify_cq_attr){.attr_mask = IBV_CQ_ATTR_MODERATE,
			.moderate = {.cq_count = 1, .cq_period = 1}});
}

#define IN(field, value, err)                                                                      \
	SET_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_resize_cq, field, value, err)
#define EX(field, value, err)                                                                      \
	SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_ex_modify_cq, field, value, err)

static void
case_cq_calls(void)
{
	struct world w = world_open();
	const struct edit resize[] = {
		PLUS_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_resize_cq, buf_addr, 8, EINVAL),
		IN(buf_addr, w.none, EFAULT),
		IN(buf_addr, w.ro, EFAULT),
		IN(buf_addr, w.last, EFAULT),
		IN(cqe_size, 32, EINVAL),
		IN(reserved0, 1, EINVAL),
		IN(reserved1, 1, EINVAL),
		{LEN, UVERBS_ATTR_UHW_IN, .value = 12, .err = EINVAL},
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_resize_cq, cqe, 0, EINVAL),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_resize_cq, cq_handle, NO_HANDLE,
			EINVAL),
	};
	const struct edit modify[] = {
		EX(cq_handle, NO_HANDLE, EINVAL),
		EX(attr_mask, 0, EINVAL),
		EX(attr_mask, 2, EOPNOTSUPP),
		EX(reserved, 1, EINVAL),
	};

	WRITE(resize_cq, &w, IB_USER_VERBS_CMD_RESIZE_CQ, resize);
	WRITE(moderate_cq, &w, EXTENDED(IB_USER_VERBS_EX_CMD_MODIFY_CQ), modify);
	world_close(&w);
}

#undef IN
#undef EX

/* ---- work queues */

static int
move_wq(void *arg)
{
	struct world *w = arg;
	int err = ibv_modify_wq(w->wq,
		&(struct ibv_wq_attr){.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY});

	if (err == 0)
		CHECK_EQ(ibv_modify_wq(w->wq, &(struct ibv_wq_attr){.attr_mask = IBV_WQ_ATTR_STATE,
						      .wq_state = IBV_WQS_RESET}),
			0);
	return err;
}

static int
make_wq(void *arg)
{
	struct world *w = arg;
	struct ibv_wq_init_attr init = {.wq_type = IBV_WQT_RQ,
		.max_wr = 16,
		.max_sge = 1,
		.pd = w->n.pd,
		.cq = w->n.rcq};
	struct ibv_wq *wq = ibv_create_wq(w->n.ctx, &init);

	if (wq == NULL)
		return errno;
	CHECK_EQ(ibv_destroy_wq(wq), 0);
	return 0;
}

static int
to_ready(void *arg)
{
	struct world *w = arg;

	return ibv_modify_wq(w->wq,
		&(struct ibv_wq_attr){.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY});
}

static int
make_table(void *arg)
{
	struct world *w = arg;
	struct ibv_rwq_ind_table_init_attr init = {.log_ind_tbl_size = 0, .ind_tbl = &w->wq};
	struct ibv_rwq_ind_table *table = ibv_create_rwq_ind_table(w->n.ctx, &init);

	if (table == NULL)
		return errno;
	CHECK_EQ(ibv_destroy_rwq_ind_table(table), 0);
	return 0;
}

static void
case_wq(void)
{
	struct world w = world_open();
	struct ibv_wq_init_attr init = {.wq_type = IBV_WQT_RQ,
		.max_wr = 16,
		.max_sge = 1,
		.pd = w.n.pd,
		.cq = w.n.rcq};
	const struct edit modify[] = {
		SET_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_modify_wq, comp_mask, 1, EOPNOTSUPP),
		SET_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_modify_wq, reserved, 1, EOPNOTSUPP),
		{LEN, UVERBS_ATTR_UHW_IN, .value = 4, .err = EINVAL},
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_ex_modify_wq, wq_handle, NO_HANDLE,
			EINVAL),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_ex_modify_wq, attr_mask, 9, EINVAL),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_ex_modify_wq, wq_state, 3, EINVAL),
	};
	/* From RDY, where each state of the ABI may follow. */
	const struct edit ready[] = {
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_ex_modify_wq, wq_state, 3, EINVAL),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_ex_modify_wq, wq_state, 0x10000,
			EINVAL),
	};
	const struct edit create[] = {
		{HAS, UVERBS_ATTR_CREATE_WQ_EVENT_FD, .value = 0xffff, .err = EBADF},
	};
	const struct edit table[] = {
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_ex_create_rwq_ind_table, comp_mask, 1,
			EOPNOTSUPP),
		/* More queues than it names. */
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_ex_create_rwq_ind_table,
			log_ind_tbl_size, 4, EINVAL),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_ex_create_rwq_ind_table,
			log_ind_tbl_size, 40, EINVAL),
	};

	w.wq = ibv_create_wq(w.n.ctx, &init);
	if (w.wq == NULL && !is_ethernet()) {
		CHECK_EQ(errno, EOPNOTSUPP);
		world_close(&w);
		return;
	}
	CHECK(w.wq != NULL);
	WRITE(move_wq, &w, EXTENDED(IB_USER_VERBS_EX_CMD_MODIFY_WQ), modify);
	WRITE(make_table, &w, EXTENDED(IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL), table);
	CHECK_EQ(to_ready(&w), 0);
	WRITE(to_ready, &w, EXTENDED(IB_USER_VERBS_EX_CMD_MODIFY_WQ), ready);
	refuses(make_wq, &w, UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE, 0, create, N(create));
	CHECK_EQ(ibv_destroy_wq(w.wq), 0);
	world_close(&w);
}

/* ---- windows and pages */

static int
make_mw(void *arg)
{
	struct world *w = arg;
	struct ibv_mw *mw = ibv_alloc_mw(w->n.pd, IBV_MW_TYPE_2);

	if (mw == NULL)
		return errno;
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	return 0;
}

/* libmlx5 keeps the pages that it is given: by hand, then. */
static int
make_uar(void *arg)
{
	struct world *w = arg;
	struct raw_ioctl c = raw_start(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC);
	struct raw_ioctl end = raw_start(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY);
	uint32_t len, id;
	uint64_t offset;
	int err;

	raw_handle(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, 0);
	raw_u64(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC);
	raw_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));
	raw_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &len, sizeof(len));
	raw_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &id, sizeof(id));
	err = raw_run(w->n.ctx->cmd_fd, &c);
	if (err != 0)
		return err;
	raw_handle(&end, MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, (uint32_t)c.attrs[0].data);
	CHECK_EQ(raw_run(w->n.ctx->cmd_fd, &end), 0);
	return 0;
}

static void
case_windows_and_pages(void)
{
	struct world w = world_open();
	const struct edit mw[] = {
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_alloc_mw, pd_handle, NO_HANDLE,
			EINVAL),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_alloc_mw, pd_handle, w.n.scq->handle,
			EINVAL),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_alloc_mw, mw_type, 3, EINVAL),
	};
	const struct edit uar[] = {
		{SET, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, 0, 8, 2, EOPNOTSUPP},
		{OUT, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, .value = w.ro, .err = EFAULT},
	};

	WRITE(make_mw, &w, IB_USER_VERBS_CMD_ALLOC_MW, mw);
	refuses(make_uar, &w, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, 0, uar, N(uar));
	world_close(&w);
}

static const struct check_case cases[] = {
	{"windows are of a domain, and pages of a known type", case_windows_and_pages},
	{"a queue pair's buffers are aligned, mapped and writable to their last byte",
		case_qp_buffers},
	{"a queue pair is no larger than the device allows", case_qp_sizes},
	{"a queue pair names what its type needs, and nothing else", case_qp_names},
	{"a queue pair with a flag that nobody knows, or another type's, is refused",
		case_qp_flags},
	{"an answer that cannot be written undoes what was made", case_answers},
	{"an attribute out of its range leaves a queue pair in its state", case_modify},
	{"a shared receive queue's fields are each checked", case_srq},
	{"calls on shared receive queues are checked", case_srq_calls},
	{"an XRC domain is one file's and one adapter's", case_domains},
	{"a completion queue's fields are each checked", case_cq},
	{"calls on completion queues are checked", case_cq_calls},
	{"calls on work queues are checked", case_wq},
};

int
main(int argc, char **argv)
{
	return check_main(cases, N(cases), argc, argv);
}
