/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on SRQs and XRC domains that must be refused: creation, modification and queries. */
#include <sys/resource.h>
#include <sys/stat.h>

#include "softhca_refusals.h"

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

/*
 * An inode number belongs to a file system: root directories of two file systems often have the
 * same inode number.
 */
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

/*
 * The domain needs a file descriptor. If no descriptor is free, the call must create no domain, and
 * a later call must create it.
 */
static void
no_descriptor(struct world *w)
{
	int file = memfd_create("c", MFD_CLOEXEC), next = dup(file);
	struct rlimit limit, few;
	struct ibv_xrcd *xrcd;

	CHECK(file >= 0 && next >= 0 && close(next) == 0);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = (struct rlimit){.rlim_cur = (rlim_t)next, .rlim_max = limit.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	CHECK_EQ(open_domain(w->n.ctx, file, O_CREAT, &xrcd), EMFILE);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK_EQ(open_domain(w->n.ctx, file, 0, &xrcd), EAGAIN);
	CHECK_EQ(open_domain(w->n.ctx, file, O_CREAT | O_EXCL, &xrcd), 0);
	CHECK_EQ(ibv_close_xrcd(xrcd), 0);
	close(file);
}

/*
 * A file must identify one XRC domain of one adapter. Another file, or another adapter, must have
 * another domain.
 */
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
	no_descriptor(&w);
	close(null);
	close(fd_b);
	close(fd_a);
	world_close(&w);
	CHECK_EQ(ibv_close_device(other), 0);
}

static const struct check_case cases[] = {
	{"a shared receive queue's fields are each checked", case_srq},
	{"calls on shared receive queues are checked", case_srq_calls},
	{"an XRC domain belongs to one file and one adapter", case_domains},
};

int
main(int argc, char **argv)
{
	return check_main(cases, N(cases), argc, argv);
}
