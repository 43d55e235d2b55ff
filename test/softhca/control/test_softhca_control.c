/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The emulated adapter's control half, through stock libibverbs and libmlx5: the devices that
 * discovery finds, the objects that cannot be destroyed while in use, and the calls that are
 * refused, with their errno. At the end, no object may exist.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "softhca.h"
#include "check.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static struct ibv_context *
open_adapter(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;

	CHECK(list != NULL && list[0] != NULL);
	ctx = ibv_open_device(list[0]);
	CHECK(ctx != NULL);
	ibv_free_device_list(list);
	return ctx;
}

static struct ibv_qp *
create_rc_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 2, .max_recv_sge = 2},
	};

	return ibv_create_qp(pd, &attr);
}

static unsigned int
count_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned int n = 0;
	char line[512];

	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f) != NULL)
		if (strstr(line, "memfd:softhca") != NULL)
			n++;
	fclose(f);
	return n;
}

/* ---------------------------------------------------------------- discovery */

static void
case_discovery(void)
{
	struct ibv_device **list;
	int n;

	CHECK(softhca_active());
	list = ibv_get_device_list(&n);
	CHECK(list != NULL);
	CHECK_EQ(n, 1);
	CHECK(strcmp(ibv_get_device_name(list[0]), "mlx5_0") == 0);
	CHECK_EQ(list[0]->node_type, IBV_NODE_CA);
	CHECK_EQ(list[0]->transport_type, IBV_TRANSPORT_IB);
	CHECK(ibv_get_device_guid(list[0]) != 0);
	CHECK(mlx5dv_is_supported(list[0]));
	ibv_free_device_list(list);
}

/*
 * The device must report the values of doc/softhca-reference.md. Vendor ID and part ID must be
 * those of a BlueField-3.
 */
static void
case_device_values(void)
{
	struct ibv_context *ctx = open_adapter();
	struct ibv_device_attr_ex attr;
	struct mlx5dv_context dv = {.comp_mask = MLX5DV_CONTEXT_MASK_WR_MEMCPY_LENGTH};

	CHECK_EQ(ibv_query_device_ex(ctx, NULL, &attr), 0);
	CHECK_EQ(attr.orig_attr.vendor_id, 0x02c9);
	CHECK_EQ(attr.orig_attr.vendor_part_id, 41692);
	CHECK(strcmp(attr.orig_attr.fw_ver, "32.47.1088") == 0);
	CHECK_EQ(attr.orig_attr.phys_port_cnt, 1);
	CHECK_EQ(attr.orig_attr.atomic_cap, IBV_ATOMIC_HCA);
	CHECK_EQ(attr.orig_attr.max_srq, 16384);
	CHECK_EQ(attr.orig_attr.max_srq_wr, 32767);
	CHECK_EQ(attr.orig_attr.max_srq_sge, 31);
	CHECK_EQ(attr.orig_attr.max_mw, attr.orig_attr.max_mr);
	CHECK_EQ(attr.orig_attr.node_guid, ibv_get_device_guid(ctx->device));
	CHECK_EQ(mlx5dv_query_device(ctx, &dv), 0);
	CHECK((dv.comp_mask & MLX5DV_CONTEXT_MASK_WR_MEMCPY_LENGTH) != 0);
	CHECK_EQ(dv.max_wr_memcpy_length, 2 << 20);
	CHECK((dv.flags & MLX5DV_CONTEXT_FLAGS_CQE_V1) != 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
case_port_values(void)
{
	struct ibv_context *ctx = open_adapter();
	struct mlx5dv_port dv;
	struct ibv_port_attr port;
	__be16 pkey;

	CHECK_EQ(ibv_query_port(ctx, 1, &port), 0);
	CHECK_EQ(port.state, IBV_PORT_ACTIVE);
	CHECK_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	CHECK_EQ(port.active_mtu, IBV_MTU_4096);
	CHECK_EQ(port.pkey_tbl_len, 1);
	CHECK_EQ(ibv_query_pkey(ctx, 1, 0, &pkey), 0);
	CHECK_EQ(pkey, 0xffff);
	/* The adapter has no switch, so mlx5dv_query_port(3) must report no values. */
	memset(&dv, 0x5a, sizeof(dv));
	CHECK_EQ(mlx5dv_query_port(ctx, 1, &dv), 0);
	CHECK_EQ(dv.flags, 0);
	CHECK_EQ(mlx5dv_query_port(ctx, 0, &dv), EINVAL);
	CHECK_EQ(mlx5dv_query_port(ctx, 2, &dv), EINVAL);
	CHECK_EQ(ibv_query_port(ctx, 0, &port), EINVAL);
	CHECK_EQ(ibv_query_port(ctx, 2, &port), EINVAL);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
case_gids(void)
{
	struct ibv_context *ctx = open_adapter();
	struct ibv_gid_entry table[8], one;
	union ibv_gid gid;
	char text[INET6_ADDRSTRLEN];

	CHECK_EQ(ibv_query_gid_table(ctx, table, 8, 0), 4);
	CHECK_EQ(table[0].gid_type, IBV_GID_TYPE_ROCE_V1);
	CHECK_EQ(table[1].gid_type, IBV_GID_TYPE_ROCE_V2);
	CHECK(memcmp(&table[0].gid, &table[1].gid, 16) == 0);
	CHECK(memcmp(&table[2].gid, &table[3].gid, 16) == 0);
	CHECK(inet_ntop(AF_INET6, &table[1].gid, text, sizeof(text)) != NULL);
	CHECK(strncmp(text, "fe80::", 6) == 0);
	CHECK(inet_ntop(AF_INET6, &table[3].gid, text, sizeof(text)) != NULL);
	CHECK(strncmp(text, "::ffff:198.51.100.", 18) == 0);
	CHECK_EQ(ibv_query_gid_ex(ctx, 1, 3, &one, 0), 0);
	CHECK(memcmp(&one, &table[3], sizeof(one)) == 0);
	CHECK_EQ(ibv_query_gid_ex(ctx, 1, 4, &one, 0), ENODATA);
	CHECK_EQ(ibv_query_gid_ex(ctx, 1, 255, &one, 0), EINVAL);
	/* ibv_query_gid(3) has no error for an empty entry: the GID is all zeros. */
	CHECK_EQ(ibv_query_gid(ctx, 1, 200, &gid), 0);
	CHECK(gid.global.subnet_prefix == 0 && gid.global.interface_id == 0);
	CHECK(ibv_query_gid_table(ctx, table, 3, 0) == -EINVAL);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* ---------------------------------------------------------------- objects */

static void
case_busy(void)
{
	struct ibv_context *ctx = open_adapter();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 10, NULL, channel, 0);
	struct ibv_qp *qp = create_rc_qp(pd, cq);
	char buf[4096];
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);

	CHECK(pd != NULL && channel != NULL && cq != NULL && qp != NULL && mr != NULL);
	CHECK_EQ(ibv_destroy_comp_channel(channel), EBUSY);
	CHECK_EQ(ibv_destroy_cq(cq), EBUSY);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/*
 * A PD must not be freed while an object of any kind uses the PD. (Other tests do this with regions
 * and QPs.) A CQ and an XRC domain must not be destroyed while an XRC SRQ uses them.
 */
static void
case_busy_domains(void)
{
	struct ibv_context *ctx = open_adapter();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 10, NULL, NULL, 0);
	struct ibv_srq_init_attr basic = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_xrcd_init_attr domain = {.comp_mask = IBV_XRCD_INIT_ATTR_FD |
							 IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT};
	struct ibv_srq_init_attr_ex xrc = {.attr = {.max_wr = 4, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.cq = cq};
	struct mlx5dv_mkey_init_attr layout = {.pd = pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
		.max_entries = 4};
	struct ibv_ah_attr address = {.is_global = 1, .port_num = 1};
	struct mlx5dv_mkey *mkey;
	struct ibv_srq *srq;
	struct ibv_ah *ah;
	struct ibv_mw *mw;

	CHECK(pd != NULL && cq != NULL);
	CHECK_EQ(ibv_query_gid(ctx, 1, 0, &address.grh.dgid), 0);
	ah = ibv_create_ah(pd, &address);
	CHECK(ah != NULL);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	CHECK(mw != NULL);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	mkey = mlx5dv_create_mkey(&layout);
	CHECK(mkey != NULL);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(mlx5dv_destroy_mkey(mkey), 0);
	srq = ibv_create_srq(pd, &basic);
	CHECK(srq != NULL);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	xrc.xrcd = ibv_open_xrcd(ctx, &domain);
	CHECK(xrc.xrcd != NULL);
	srq = ibv_create_srq_ex(ctx, &xrc);
	CHECK(srq != NULL);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_destroy_cq(cq), EBUSY);
	CHECK_EQ(ibv_close_xrcd(xrc.xrcd), EBUSY);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	CHECK_EQ(ibv_close_xrcd(xrc.xrcd), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

#define MANY 16 /* length of the memory in pages */

/*
 * Re-registers a region, and checks whether its key stays the same: mlx5_ib_rereg_user_mr() of
 * Linux.
 */
static void
expect_rereg(struct ibv_mr *mr, int flags, void *addr, size_t len, int access, bool stays)
{
	uint32_t key = mr->lkey;

	CHECK_EQ(ibv_rereg_mr(mr, flags, NULL, addr, len, access), 0);
	CHECK_EQ(mr->lkey, mr->rkey);
	CHECK_EQ(mr->lkey == key, stays);
}

/*
 * The key of a re-registered region must be the same or another as with the kernel. The kernel
 * keeps the key if only certain access rights change, or if the key has enough entries for the new
 * pages. Otherwise the region gets a new key.
 */
static void
case_rereg_key(void)
{
	enum {
		MOVE = IBV_REREG_MR_CHANGE_TRANSLATION,
		RIGHTS = IBV_REREG_MR_CHANGE_ACCESS,
		WRITE = IBV_ACCESS_LOCAL_WRITE
	};
	struct ibv_context *ctx = open_adapter();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	size_t page = sysconf(_SC_PAGESIZE);
	char *buf =
		mmap(NULL, MANY * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, page, WRITE);

	CHECK(buf != MAP_FAILED && mr != NULL);
	expect_rereg(mr, RIGHTS, NULL, 0, WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		true);
	expect_rereg(mr, RIGHTS, NULL, 0, WRITE | IBV_ACCESS_RELAXED_ORDERING, true);
	expect_rereg(mr, RIGHTS, NULL, 0, WRITE | IBV_ACCESS_REMOTE_ATOMIC, true);
	expect_rereg(mr, RIGHTS, NULL, 0, WRITE, true);
	expect_rereg(mr, RIGHTS, NULL, 0, WRITE | IBV_ACCESS_MW_BIND, false);
	expect_rereg(mr, RIGHTS, NULL, 0, WRITE, false);
	/* a key has entries for at least four pages */
	expect_rereg(mr, MOVE, buf + page, 4 * page, 0, true);
	/* the range touches five pages */
	expect_rereg(mr, MOVE, buf + page / 2, 4 * page, 0, false);
	expect_rereg(mr, MOVE, buf, 8 * page, 0, true);
	expect_rereg(mr, MOVE, buf, page, 0, true);
	/* the key's number of entries has not changed */
	expect_rereg(mr, MOVE, buf, 8 * page, 0, true);
	expect_rereg(mr, MOVE, buf, 9 * page, 0, false);
	expect_rereg(mr, MOVE | RIGHTS, buf, MANY * page, WRITE | IBV_ACCESS_REMOTE_READ, true);
	expect_rereg(mr, MOVE | RIGHTS, buf, page, WRITE | IBV_ACCESS_REMOTE_ATOMIC, true);
	expect_rereg(mr, RIGHTS, NULL, 0, WRITE | IBV_ACCESS_ON_DEMAND, false);
	expect_rereg(mr, RIGHTS, NULL, 0, IBV_ACCESS_ON_DEMAND, true);
	expect_rereg(mr, MOVE, buf + page, page, 0, false);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
	munmap(buf, MANY * page);
}

static void
case_mr(void)
{
	struct ibv_context *ctx = open_adapter();
	struct ibv_pd *pd = ibv_alloc_pd(ctx), *other = ibv_alloc_pd(ctx);
	size_t page = sysconf(_SC_PAGESIZE);
	char *buf =
		mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct mlx5dv_devx_uar *uar;
	struct ibv_mr *mr;
	uint32_t key;

	CHECK(buf != MAP_FAILED && mprotect(buf + page, page, PROT_READ) == 0 &&
		munmap(buf + 2 * page, page) == 0);
	mr = ibv_reg_mr(pd, buf, page, IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr != NULL && mr->lkey == mr->rkey);
	key = mr->lkey;
	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), 0);
	CHECK_EQ(mr->lkey, key); /* the key must not change, because peers use it */
	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0), 0);
	CHECK_EQ(mr->lkey, key);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_dealloc_pd(other), EBUSY);
	CHECK_EQ(ibv_dereg_mr(mr), 0);

	/*
	 * Memory that the kernel cannot pin is refused with EFAULT. A read-only mapping can be
	 * registered without write access.
	 */
	mr = ibv_reg_mr(other, buf, 2 * page, 0);
	CHECK(mr != NULL && ibv_dereg_mr(mr) == 0);
	CHECK(ibv_reg_mr(other, buf, 2 * page, IBV_ACCESS_LOCAL_WRITE) == NULL && errno == EFAULT);
	CHECK(ibv_reg_mr(other, buf, 3 * page, 0) == NULL && errno == EFAULT);
	/* one page of the range is not mapped */
	CHECK(ibv_reg_mr(other, buf, 4 * page, 0) == NULL && errno == EFAULT);
	CHECK(ibv_reg_mr(other, buf, 0, 0) == NULL && errno == EINVAL);
	CHECK(ibv_reg_mr(other, buf, page, IBV_ACCESS_REMOTE_WRITE) == NULL && errno == EINVAL);
	CHECK(ibv_reg_mr(other, buf, SIZE_MAX, 0) == NULL && errno == EINVAL);
	errno = 0;
	CHECK(ibv_reg_mr(other, buf, page, IBV_ACCESS_ZERO_BASED) == NULL && errno == EOPNOTSUPP);
	/* A doorbell page is refused: the kernel does not pin memory of a device. */
	uar = mlx5dv_devx_alloc_uar(ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	CHECK(uar != NULL);
	errno = 0;
	CHECK(ibv_reg_mr(other, uar->base_addr, page, 0) == NULL && errno == EFAULT);
	mlx5dv_devx_free_uar(uar);
	CHECK_EQ(ibv_dealloc_pd(other), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
	munmap(buf, 2 * page);
	munmap(buf + 3 * page, page);
}

static void
case_sizes(void)
{
	struct ibv_context *ctx = open_adapter();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_device_attr attr;
	struct ibv_qp_attr qp_attr;
	struct ibv_qp_init_attr init;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	CHECK_EQ(ibv_query_device(ctx, &attr), 0);
	CHECK(ibv_create_cq(ctx, attr.max_cqe + 1, NULL, NULL, 0) == NULL && errno == EINVAL);
	CHECK(ibv_create_cq(ctx, 16, NULL, NULL, ctx->num_comp_vectors) == NULL && errno == EINVAL);
	cq = ibv_create_cq(ctx, 100, NULL, NULL, 0);
	CHECK(cq != NULL);
	CHECK_EQ(cq->cqe, 127);
	qp = create_rc_qp(pd, cq);
	CHECK(qp != NULL);
	CHECK_EQ(ibv_query_qp(qp, &qp_attr, IBV_QP_STATE | IBV_QP_CAP, &init), 0);
	CHECK_EQ(qp_attr.qp_state, IBV_QPS_RESET);
	CHECK_EQ(qp_attr.cap.max_recv_wr, 16);
	CHECK_EQ(init.qp_type, IBV_QPT_RC);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* ---------------------------------------------------------------- refused calls */

static void
case_refused(void)
{
	struct ibv_context *ctx = open_adapter();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex qp = {.send_cq = cq,
		.recv_cq = cq,
		.pd = pd,
		.source_qpn = 1,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_xrcd_init_attr xrcd = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS};
	struct ibv_qp_open_attr opened = {.comp_mask = IBV_QP_OPEN_ATTR_NUM |
						       IBV_QP_OPEN_ATTR_XRCD |
						       IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = 1,
		.qp_type = IBV_QPT_XRC_RECV};
	struct ibv_flow_attr flow = {.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(flow), .port = 1};
	struct mlx5dv_flow_match_parameters mask = {0};
	struct mlx5dv_flow_matcher_attr matcher = {.type = IBV_FLOW_ATTR_NORMAL,
		.match_mask = &mask};
	struct ibv_counters_init_attr counters = {0};
	uint8_t rate[64] = {0};
	struct ibv_qp *rc;

	CHECK(ibv_alloc_mw(pd, 3) == NULL && errno == EINVAL);
	qp.qp_type = IBV_QPT_UD;
	qp.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	qp.create_flags = IBV_QP_CREATE_SOURCE_QPN;
	CHECK(ibv_create_qp_ex(ctx, &qp) == NULL && errno == EOPNOTSUPP);
	/*
	 * Calls that are not emulated must fail: opening a QP of another process, flow steering,
	 * counters, pacing.
	 */
	xrcd.fd = -1;
	xrcd.oflags = O_CREAT;
	opened.xrcd = ibv_open_xrcd(ctx, &xrcd);
	CHECK(opened.xrcd != NULL);
	errno = 0;
	CHECK(ibv_open_qp(ctx, &opened) == NULL && errno == EOPNOTSUPP);
	CHECK_EQ(ibv_close_xrcd(opened.xrcd), 0);
	rc = create_rc_qp(pd, cq);
	CHECK(rc != NULL);
	errno = 0;
	CHECK(ibv_create_flow(rc, &flow) == NULL && errno == EOPNOTSUPP);
	errno = 0;
	CHECK(mlx5dv_create_flow_matcher(ctx, &matcher) == NULL && errno == EPROTONOSUPPORT);
	CHECK(ibv_create_counters(ctx, &counters) == NULL && errno == EPROTONOSUPPORT);
	CHECK(mlx5dv_pp_alloc(ctx, sizeof(rate), &rate, 0) == NULL && errno == EPROTONOSUPPORT);
	CHECK_EQ(ibv_destroy_qp(rc), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

struct raw_call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[4];
};

static int
raw(int fd, struct raw_call *call, uint16_t object, uint16_t method, uint16_t n)
{
	call->hdr.object_id = object;
	call->hdr.method_id = method;
	call->hdr.num_attrs = n;
	call->hdr.driver_id = 1; /* RDMA_DRIVER_MLX5 */
	if (call->hdr.length == 0)
		call->hdr.length = sizeof(call->hdr) + n * sizeof(call->attrs[0]);
	return ioctl(fd, RDMA_VERBS_IOCTL, call) == 0 ? 0 : errno;
}

/*
 * Calls with errors must be refused with the errno that the kernel's
 * drivers/infiniband/core/uverbs_ioctl.c returns.
 */
static void
case_bad_calls(void)
{
	struct ibv_context *ctx = open_adapter();
	struct raw_call call;
	uint32_t pdn = 0;
	int fd = ctx->cmd_fd;

#define ATTR(n, i, l, f, d)                                                                        \
	(call.attrs[n] = (struct ib_uverbs_attr){.attr_id = (i),                                   \
		 .len = (l),                                                                       \
		 .flags = (f),                                                                     \
		 .data = (d)})
#define RESET() (call = (struct raw_call){0})

	RESET();
	CHECK_EQ(raw(fd, &call, 0x7777, 0, 0), EPROTONOSUPPORT);
	RESET();
	CHECK_EQ(raw(fd, &call, UVERBS_OBJECT_PD, 0x99, 0), EPROTONOSUPPORT);
	RESET();
	call.hdr.length = 12345;
	CHECK_EQ(raw(fd, &call, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, 1), EINVAL);
	RESET();
	call.hdr.reserved1 = 1;
	CHECK_EQ(raw(fd, &call, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, 0), EPROTONOSUPPORT);
	RESET(); /* a required attribute is missing */
	CHECK_EQ(raw(fd, &call, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, 0), EINVAL);
	RESET();
	ATTR(0, UVERBS_ATTR_DESTROY_PD_HANDLE, 0, UVERBS_ATTR_F_MANDATORY, 4242);
	CHECK_EQ(raw(fd, &call, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, 1), ENOENT);
	RESET(); /* an unknown attribute: an error if it is mandatory, otherwise ignored */
	ATTR(0, UVERBS_ATTR_DESTROY_PD_HANDLE, 0, UVERBS_ATTR_F_MANDATORY, 4242);
	ATTR(1, 0x99, 0, UVERBS_ATTR_F_MANDATORY, 0);
	CHECK_EQ(raw(fd, &call, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, 2), ENOENT);
	RESET();
	ATTR(0, 0x99, 0, UVERBS_ATTR_F_MANDATORY, 0);
	CHECK_EQ(raw(fd, &call, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, 1), EPROTONOSUPPORT);
	RESET(); /* one attribute is present twice */
	ATTR(0, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 8, 0, 1);
	ATTR(1, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 8, 0, 1);
	CHECK_EQ(raw(fd, &call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, 2), EINVAL);
	RESET(); /* the input is too short, or at an unmapped address */
	ATTR(0, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 8, 0, 1);
	ATTR(1, UVERBS_ATTR_QUERY_PORT_RESP, 2, 0, (uintptr_t)&pdn);
	CHECK_EQ(raw(fd, &call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, 2), EINVAL);
	RESET();
	ATTR(0, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 8, 0, 1);
	ATTR(1, UVERBS_ATTR_QUERY_PORT_RESP, 64, 0, 0x10);
	CHECK_EQ(raw(fd, &call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, 2), EFAULT);
	RESET(); /* an old command whose answer does not fit, and commands that do not exist */
	ATTR(0, UVERBS_ATTR_WRITE_CMD, 8, 0, IB_USER_VERBS_CMD_QUERY_DEVICE);
	CHECK_EQ(raw(fd, &call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, 1), ENOSPC);
	RESET();
	ATTR(0, UVERBS_ATTR_WRITE_CMD, 8, 0, IB_USER_VERBS_CMD_ATTACH_MCAST);
	CHECK_EQ(raw(fd, &call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, 1), EOPNOTSUPP);
	RESET();
	ATTR(0, UVERBS_ATTR_WRITE_CMD, 8, 0, 5000);
	CHECK_EQ(raw(fd, &call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, 1), EINVAL);
	RESET(); /* a second GET_CONTEXT on one file */
	CHECK_EQ(raw(fd, &call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, 0), EINVAL);
	/*
	 * Wrong arguments of ioctl(2): the call is at an unmapped address, the ioctl number does
	 * not exist, the file is not open.
	 */
	CHECK(ioctl(fd, RDMA_VERBS_IOCTL, (void *)0x10) == -1 && errno == EFAULT);
	CHECK(ioctl(fd, RDMA_VERBS_IOCTL + 1, &call) == -1 && errno == ENOTTY);
	CHECK(ioctl(-1, RDMA_VERBS_IOCTL, &call) == -1 && errno == EBADF);
#undef ATTR
#undef RESET
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* ---------------------------------------------------------------- files */

static void
case_character_device(void)
{
	struct ibv_context *ctx = open_adapter();
	struct stat by_path, by_fd;
	int fd;

	CHECK_EQ(stat("/dev/infiniband/uverbs0", &by_path), 0);
	CHECK_EQ(fstat(ctx->cmd_fd, &by_fd), 0);
	CHECK(S_ISCHR(by_path.st_mode) && S_ISCHR(by_fd.st_mode));
	CHECK_EQ(by_path.st_rdev, by_fd.st_rdev);
	CHECK((fcntl(ctx->cmd_fd, F_GETFD) & FD_CLOEXEC) != 0);
	fd = open("/dev/infiniband/uverbs0", O_RDWR);
	CHECK(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0);
	close(fd);
	CHECK(open("/dev/infiniband/uverbs1", O_RDWR) == -1 && errno == ENOENT);
	CHECK(stat("/dev/infiniband/uverbs1", &by_path) == -1 && errno == ENOENT);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/*
 * A duplicate of the context's file descriptor must use the same context, as ibv_import_device(3)
 * requires.
 */
static void
case_import(void)
{
	struct ibv_context *ctx = open_adapter(), *imported;
	struct ibv_pd *pd = ibv_alloc_pd(ctx), *seen;

	imported = ibv_import_device(dup(ctx->cmd_fd));
	CHECK(imported != NULL);
	seen = ibv_import_pd(imported, pd->handle);
	CHECK(seen != NULL);
	ibv_unimport_pd(seen);
	CHECK_EQ(ibv_close_device(imported), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0); /* the first context still exists */
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
case_channels(void)
{
	struct ibv_context *ctx = open_adapter();
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_async_event async;
	struct pollfd p[2];
	struct ibv_cq *cq;
	void *context;

	CHECK(channel != NULL);
	cq = ibv_create_cq(ctx, 4, NULL, channel, 0);
	CHECK(cq != NULL && ibv_req_notify_cq(cq, 0) == 0);
	CHECK_EQ(fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK), 0);
	CHECK_EQ(fcntl(ctx->async_fd, F_SETFL, fcntl(ctx->async_fd, F_GETFL) | O_NONBLOCK), 0);
	p[0] = (struct pollfd){.fd = channel->fd, .events = POLLIN};
	p[1] = (struct pollfd){.fd = ctx->async_fd, .events = POLLIN};
	CHECK_EQ(poll(p, 2, 50), 0);
	CHECK(ibv_get_cq_event(channel, &cq, &context) == -1 && errno == EAGAIN);
	CHECK(ibv_get_async_event(ctx, &async) == -1 && errno == EAGAIN);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
cycle(bool destroy)
{
	struct ibv_context *ctx = open_adapter();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, channel, 0);
	struct ibv_qp *qp = create_rc_qp(pd, cq);
	static char buf[8192];
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);

	CHECK(pd != NULL && channel != NULL && cq != NULL && qp != NULL && mr != NULL);
	if (destroy) {
		CHECK_EQ(ibv_destroy_qp(qp), 0);
		CHECK_EQ(ibv_destroy_cq(cq), 0);
		CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
		CHECK_EQ(ibv_dereg_mr(mr), 0);
		CHECK_EQ(ibv_dealloc_pd(pd), 0);
	} else {
		/* libibverbs leaves the file open; the adapter has no leak here */
		close(channel->fd);
	}
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
many_cycles(bool destroy)
{
	unsigned int fds, mappings;

	cycle(true);
	cycle(true);
	fds = check_count_fds();
	mappings = count_mappings();
	for (int i = 0; i < 50; i++)
		cycle(destroy);
	cycle(true); /* the adapter notices a closed context when the next context is opened */
	CHECK_EQ(check_count_fds(), fds);
	CHECK(destroy ? count_mappings() == mappings : count_mappings() <= mappings + 51 * 4);
}

static void
case_cycles(void)
{
	many_cycles(true);
}

/* Functions of the leak sanitizer, if there is one. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

/*
 * Objects that were never destroyed leak memory of libmlx5 and of this program. These leaks are not
 * reported.
 */
static void
case_abandoned(void)
{
	if (__lsan_disable != NULL)
		__lsan_disable();
	many_cycles(false);
	if (__lsan_enable != NULL)
		__lsan_enable();
}

static void *
cycle_thread(void *arg)
{
	for (int i = 0; i < 10; i++)
		cycle(true);
	return NULL;
}

/*
 * Threads open and close contexts at the same time. This must work, although each opening of a
 * context looks for closed contexts.
 */
static void
case_parallel(void)
{
	pthread_t threads[4];

	for (size_t i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, cycle_thread, NULL), 0);
	for (size_t i = 0; i < 4; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

static uint64_t
next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 33;
}

/*
 * The calls that exist. For each attribute: its id, and its length or that it is a handle or a file
 * descriptor.
 */
enum {
	HANDLE = 0xffff,
	NEW = 0xfffe,
	FILE_ = 0xfffd
};

static const struct shape {
	uint16_t object, method;
	struct {
		uint16_t id, len;
	} attrs[15];
} shapes[] = {
	{0, 0, {{0, 64}, {1, 256}, {2, 8}, {0x1000, 64}, {0x1001, 128}}}, /* INVOKE_WRITE */
	{0, 2, {{0, 8}, {1, 64}}},
	{0, 4, {{0, 4}, {1, 8}, {0x1000, 128}}},
	{0, 5, {{0, 8}, {1, 4}, {2, 2048}, {3, 8}}},
	{0, 6, {{0, 4}, {1, 4}, {2, 4}, {3, 32}}},
	{1, 0, {{0, HANDLE}}},
	{1, 0x1000, {{0x1000, HANDLE}, {0x1001, 4}}},
	{3, 0, {{0, NEW}, {1, 4}, {2, 8}, {4, 4}, {6, 4}, {7, FILE_}, {0x1000, 32}, {0x1001, 8}}},
	{3, 1, {{0, HANDLE}, {1, 16}}},
	{4, 0,
		{{0, NEW}, {2, HANDLE}, {4, HANDLE}, {5, HANDLE}, {7, 8}, {8, 20}, {9, 8}, {13, 20},
			{14, 4}, {0x1000, 56}, {0x1001, 40}}},
	{4, 1, {{0, HANDLE}, {1, 8}}},
	{6, 0, {{0, HANDLE}}},
	{7, 1, {{0, HANDLE}}},
	{7, 3, {{0, HANDLE}, {1, 4}, {2, 4}, {3, 8}}},
	{0x10, 0, {{0, NEW}}},
	{0x1000, 0x1000, {{0x1000, 16}, {0x1001, 512}}},
	{0x1001, 0x1002, {{0x1000, HANDLE}, {0x1001, 512}, {0x1002, 16}}},
	{0x1001, 0x1003, {{0x1000, HANDLE}, {0x1001, 16}, {0x1002, 300}}},
	{0x1008, 0x1000, {{0x1000, NEW}, {0x1001, 8}, {0x1002, 8}, {0x1003, 4}, {0x1004, 4}}},
	{0x1008, 0x1001, {{0x1000, HANDLE}}},
};

#define RANDOM_AREA (1 << 16)

/*
 * The page after the area cannot be accessed: if a call accepted a range beyond the area, the write
 * would fault.
 */
static uint8_t *random_area;

static void
random_area_map(void)
{
	random_area = mmap(NULL, RANDOM_AREA + 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(random_area != MAP_FAILED);
	CHECK_EQ(mprotect(random_area + RANDOM_AREA, 4096, PROT_NONE), 0);
}

/* A word that probably has a meaning (a count, handle, command or pointer), or a random word. */
static uint64_t
likely_word(uint64_t *seed)
{
	static const uint32_t commands[] = {1, 3, 5, 9, 11, 17, 25, 26, 0x80000001};

	switch (next_random(seed) % 8) {
	case 0:
		return 0;
	case 1:
		return next_random(seed) % 12;
	case 2:
		return UINT64_C(1) << next_random(seed) % 16;
	case 3:
		return (uintptr_t)random_area + next_random(seed) % 16 * 4096;
	case 4:
		return commands[next_random(seed) % 9];
	case 5: /* two numbers of 32 bits */
		return (next_random(seed) % 16) << 32 | next_random(seed) % 16;
	case 6:
		/* CQEs of 64 bytes, and the flag for a doorbell page. */
		return UINT64_C(0x0400000000000040);
	default:
		return next_random(seed) << 33 | next_random(seed);
	}
}

static void
fill_attr(struct ib_uverbs_attr *attr, uint16_t id, uint16_t len, int async_fd, uint64_t *seed)
{
	attr->attr_id = id;
	attr->flags = next_random(seed) % 2;
	if (len == FILE_) {
		attr->data = async_fd;
	} else if (len == HANDLE || len == NEW) {
		attr->data = next_random(seed) % 32;
	} else {
		attr->len = len;
		attr->data = (uintptr_t)random_area + next_random(seed) % 4096 * 8;
		if (len <= 8 && next_random(seed) % 2 == 0)
			attr->data = likely_word(seed);
	}
	switch (next_random(seed) % 40) { /* sometimes changes one field */
	case 0:
		attr->data = likely_word(seed);
		break;
	case 1:
		attr->len = next_random(seed);
		break;
	case 2:
		attr->attr_id ^= 1U << next_random(seed) % 13;
		break;
	default:
		break;
	}
}

/*
 * Random calls that are nearly valid, with nearly valid contents. The adapter must not crash, and
 * each errno must be one of the ABI. Objects that such calls create are destroyed with the context.
 */
static void
case_random_calls(void)
{
	struct ibv_context *ctx = open_adapter();
	unsigned int good[ARRAY_LEN(shapes)] = {0};
	uint64_t seed = 42;

	random_area_map();
	for (int i = 0; i < 50000; i++) {
		const struct shape *shape = &shapes[next_random(&seed) % ARRAY_LEN(shapes)];
		struct {
			struct ib_uverbs_ioctl_hdr hdr;
			struct ib_uverbs_attr attrs[15];
		} call = {.hdr = {.driver_id = 1,
				  .object_id = shape->object,
				  .method_id = shape->method}};
		uint16_t n = 0;

		for (; n < 15 && (n == 0 || shape->attrs[n].len != 0); n++)
			fill_attr(&call.attrs[n], shape->attrs[n].id, shape->attrs[n].len,
				ctx->async_fd, &seed);
		call.hdr.num_attrs = n;
		call.hdr.length = sizeof(call.hdr) + n * sizeof(call.attrs[0]);
		for (int k = 0; k < 256; k++) {
			uint64_t word = likely_word(&seed);

			memcpy(random_area + next_random(&seed) % 4096 * 8, &word, sizeof(word));
		}
		if (ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, &call) == 0) {
			good[shape - shapes]++;
			if (shape->object == 0x10)
				close(call.attrs[0].data_s64);
			continue;
		}
		CHECK(errno == EPROTONOSUPPORT || errno == EINVAL || errno == EFAULT ||
			errno == ENOENT || errno == EBADF || errno == EOPNOTSUPP ||
			errno == ENOSPC || errno == EBUSY || errno == ENODATA ||
			errno == EREMOTEIO || errno == ENETUNREACH || errno == EMFILE);
	}
	/* Some calls must have succeeded: objects were created, named and destroyed. */
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
		printf("%s%u", i == 0 ? "(good: " : " ", good[i]);
	printf(") ");
	CHECK(good[0] > 20 && good[5] > 2 && good[18] > 0 && good[19] > 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
	munmap(random_area, RANDOM_AREA + 4096);
	cycle(true);
}

/* ---------------------------------------------------------------- fork */

static int
in_child(void (*run)(struct ibv_context *), struct ibv_context *ctx)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		alarm(CHECK_PATIENCE_MS / 1000);
		run(ctx);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

static void
child_uses_inherited(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;

	errno = 0;
	if (ibv_alloc_pd(ctx) != NULL || errno != EIO)
		_exit(1);
	/* In a child, queries of the device succeed, queries of ports do not. */
	if (ibv_query_device(ctx, &attr.orig_attr) != 0 || attr.orig_attr.max_qp != 16384 ||
		ibv_query_device_ex(ctx, NULL, &attr) != 0 || ibv_query_port(ctx, 1, &port) != EIO)
		_exit(2);
}

static inline void
child_opens_its_own(struct ibv_context *ctx)
{
	cycle(true);
}

static void
case_fork(void)
{
	struct ibv_context *ctx = open_adapter();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);

	CHECK_EQ(in_child(child_uses_inherited, ctx), 0);
/* ThreadSanitizer allows no new thread in a child, but the adapter would start a thread. */
#ifndef __SANITIZE_THREAD__
	CHECK_EQ(in_child(child_opens_its_own, ctx), 0);
#endif
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	cycle(true);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static const struct check_case cases[] = {
	{"discovery finds one mlx5 adapter", case_discovery},
	{"the device is a BlueField-3 with its limits", case_device_values},
	{"the port is active RoCE with one pkey", case_port_values},
	{"GIDs come as RoCE v1 and v2 and the rest of the table is empty", case_gids},
	{"objects that others name are busy", case_busy},
	{"domains that objects name are busy", case_busy_domains},
	{"regions are pinned, re-registered and refused as the kernel does", case_mr},
	{"a re-registered region keeps its key if the kernel allows it", case_rereg_key},
	{"sizes are checked and rounded as the kernel does", case_sizes},
	{"calls that are not emulated are refused", case_refused},
	{"bad calls get the kernel's errors and never a crash", case_bad_calls},
	{"the descriptor is a character device", case_character_device},
	{"an imported descriptor is the same context", case_import},
	{"reading an empty channel blocks or returns EAGAIN", case_channels},
	{"after opening and closing, nothing is left", case_cycles},
	{"after closing without destroying, nothing is left in the adapter", case_abandoned},
	{"threads open and close at the same time", case_parallel},
	{"random calls never crash", case_random_calls},
	{"a child of fork has its own adapter, not the parent's", case_fork},
};

int
main(int argc, char **argv)
{
	if (!softhca_active()) {
		printf("skipped: this machine has an mlx5 device\n");
		return CHECK_SKIP;
	}
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
