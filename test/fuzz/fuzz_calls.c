/* SPDX-License-Identifier: BSD-3-Clause */
/* Control calls of verbs for the fuzzer of control calls: see fuzz_calls.h. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>

#include "fuzz_calls.h"
#include "qp_ready.h"
#include "raw_ioctl.h"

/*
 * Objects that other objects are created from: for example, a QP from a PD and a CQ. Each may be
 * NULL, because its own creation may have failed.
 */
struct stock {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_xrcd *xrcd;
	union ibv_gid gid;
};

static void
use_device(struct ibv_context *ctx)
{
	struct ibv_port_attr port;
	struct ibv_device_attr_ex dev;
	struct ibv_gid_entry gids[8];
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	struct mlx5dv_context dv = {.comp_mask = MLX5DV_CONTEXT_MASK_WR_MEMCPY_LENGTH};

	ibv_query_port(ctx, 1, &port);
	ibv_query_device_ex(ctx, NULL, &dev);
	ibv_query_gid_table(ctx, gids, 8, 0);
	ibv_query_rt_values_ex(ctx, &values);
	mlx5dv_query_device(ctx, &dv);
}

static void
use_memory(const struct stock *s)
{
	uint8_t *mem = fuzz_guarded(FUZZ_PAGE);
	struct ibv_mr *mr =
		ibv_reg_mr(s->pd, mem, FUZZ_PAGE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	struct ibv_mr *null = ibv_alloc_null_mr(s->pd);

	for (unsigned int type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		struct ibv_mw *mw = ibv_alloc_mw(s->pd, (enum ibv_mw_type)type);

		if (mw != NULL)
			ibv_dealloc_mw(mw);
	}
	if (null != NULL)
		ibv_dereg_mr(null);
	if (mr != NULL) {
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE);
		ibv_dereg_mr(mr);
	}
	/* `mem` is not freed, because a malformed call may have left it registered. */
}

/*
 * Calls of newer libraries, with the numbers of the uapi header rdma/ib_user_ioctl_cmds.h of Linux
 * 6.18.
 */
static void
use_newer(const struct stock *s)
{
	enum {
		DMAH = 17,
		DMAH_ALLOC = 0,
		DMAH_FREE = 1,
		PORT_SPEED = 7,
		REG_MR = 5
	};
	uint8_t *mem = fuzz_guarded(FUZZ_PAGE);
	struct raw_ioctl dmah = raw_start(DMAH, DMAH_ALLOC), end = raw_start(DMAH, DMAH_FREE);
	struct raw_ioctl mr = raw_start(UVERBS_OBJECT_MR, REG_MR);
	struct raw_ioctl dereg = raw_start(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY);
	struct raw_ioctl speed = raw_start(UVERBS_OBJECT_DEVICE, PORT_SPEED);
	uint32_t lkey, rkey;
	uint64_t mbps;

	raw_u64(&speed, 0, 1);
	raw_out(&speed, 1, &mbps, sizeof(mbps));
	raw_run(s->ctx->cmd_fd, &speed);
	raw_handle(&dmah, 0, 0);
	raw_attr(&dmah, 3, 1, 1);
	if (raw_run(s->ctx->cmd_fd, &dmah) != 0)
		return;
	raw_handle(&mr, 0, 0);
	raw_handle(&mr, 1, s->pd->handle);
	raw_handle(&mr, 2, (uint32_t)dmah.attrs[0].data);
	raw_u64(&mr, 3, (uintptr_t)mem);
	raw_u64(&mr, 4, (uintptr_t)mem);
	raw_u64(&mr, 5, FUZZ_PAGE);
	raw_u32(&mr, 6, IBV_ACCESS_LOCAL_WRITE);
	raw_out(&mr, 9, &lkey, sizeof(lkey));
	raw_out(&mr, 10, &rkey, sizeof(rkey));
	if (raw_run(s->ctx->cmd_fd, &mr) == 0) {
		raw_handle(&dereg, 0, (uint32_t)mr.attrs[0].data);
		raw_run(s->ctx->cmd_fd, &dereg);
	}
	raw_handle(&end, 0, (uint32_t)dmah.attrs[0].data);
	raw_run(s->ctx->cmd_fd, &end);
}

/*
 * Exports the context's first device memory as a file descriptor, and registers a region over it.
 */
static void
use_dmabuf(const struct stock *s)
{
	enum {
		DMABUF = 18,
		DMABUF_ALLOC = 0,
		DM_OFFSET = 8 << 20 /* offset at which the program maps device memory */
	};
	struct raw_ioctl export = raw_start(DMABUF, DMABUF_ALLOC);
	struct ibv_mr *mr;
	int fd;

	raw_handle(&export, 0, 0);
	raw_u64(&export, 1, DM_OFFSET);
	if (raw_run(s->ctx->cmd_fd, &export) != 0)
		return;
	fd = (int)export.attrs[0].data;
	mr = ibv_reg_dmabuf_mr(s->pd, 0, FUZZ_PAGE, 0, fd, IBV_ACCESS_LOCAL_WRITE);
	if (mr != NULL)
		ibv_dereg_mr(mr);
	close(fd);
}

static void
use_device_memory(const struct stock *s)
{
	struct ibv_dm *dm = ibv_alloc_dm(s->ctx, &(struct ibv_alloc_dm_attr){.length = 100});
	struct ibv_dm *same;
	struct ibv_mr *mr;

	if (dm == NULL)
		return;
	mr = ibv_reg_dm_mr(s->pd, dm, 4, 96, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	same = ibv_import_dm(s->ctx, dm->handle);
	mlx5dv_dm_map_op_addr(dm, 0);
	use_dmabuf(s);
	if (same != NULL)
		ibv_unimport_dm(same);
	if (mr != NULL)
		ibv_dereg_mr(mr);
	ibv_free_dm(dm);
}

static void
use_wqs(const struct stock *s)
{
	struct ibv_wq_init_attr init = {.wq_type = IBV_WQT_RQ,
		.max_wr = 4,
		.max_sge = 1,
		.pd = s->pd,
		.cq = s->cq};
	struct ibv_wq *wq = ibv_create_wq(s->ctx, &init);
	struct ibv_rwq_ind_table_init_attr entries = {.ind_tbl = &wq};
	struct ibv_rwq_ind_table *table;
	struct ibv_wq_attr attr = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY};

	if (wq == NULL)
		return;
	ibv_modify_wq(wq, &attr);
	attr.wq_state = IBV_WQS_ERR;
	ibv_modify_wq(wq, &attr);
	table = ibv_create_rwq_ind_table(s->ctx, &entries);
	if (table != NULL)
		ibv_destroy_rwq_ind_table(table);
	ibv_destroy_wq(wq);
}

static void
use_cqs(struct ibv_context *ctx)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_cq_init_attr_ex attr = {.cqe = 16,
		.channel = channel,
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP};
	struct mlx5dv_cq_init_attr dv = {.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE |
						      MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE,
		.cqe_comp_res_format = MLX5DV_CQE_RES_FORMAT_HASH,
		.cqe_size = 128};
	struct ibv_cq_ex *cq = mlx5dv_create_cq(ctx, &attr, &dv);
	struct ibv_modify_cq_attr moderate = {.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = {4, 10}};

	if (cq != NULL) {
		ibv_modify_cq(ibv_cq_ex_to_cq(cq), &moderate);
		ibv_resize_cq(ibv_cq_ex_to_cq(cq), 32);
		ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	}
	if (channel != NULL)
		ibv_destroy_comp_channel(channel);
}

static void
use_domains(const struct stock *s)
{
	struct ibv_td *td = ibv_alloc_td(s->ctx, &(struct ibv_td_init_attr){0});
	struct ibv_ah_attr ah_attr = {.is_global = 1,
		.port_num = 1,
		.grh = {.hop_limit = 1, .dgid = s->gid}};
	struct ibv_ah *ah = ibv_create_ah(s->pd, &ah_attr);
	struct mlx5dv_var *var = mlx5dv_alloc_var(s->ctx, 0);

	if (var != NULL)
		mlx5dv_free_var(var);
	if (ah != NULL)
		ibv_destroy_ah(ah);
	if (td != NULL)
		ibv_dealloc_td(td);
}

static void
use_srqs(const struct stock *s)
{
	struct ibv_srq_init_attr_ex xrc = {.attr = {8, 1, 0},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = s->pd,
		.xrcd = s->xrcd,
		.cq = s->cq};
	struct ibv_srq *srq = s->xrcd == NULL ? NULL : ibv_create_srq_ex(s->ctx, &xrc);
	struct ibv_srq_attr attr = {.srq_limit = 2};

	if (s->srq != NULL) {
		ibv_modify_srq(s->srq, &attr, IBV_SRQ_LIMIT);
		ibv_query_srq(s->srq, &attr);
	}
	if (srq != NULL)
		ibv_destroy_srq(srq);
}

/* ---- queue pairs */

static struct ibv_qp *
create_verbs_qp(const struct stock *s, enum kind kind)
{
	const enum mlx5dv_dc_type dc = kind == K_DCI   ? MLX5DV_DCTYPE_DCI
				       : kind == K_DCT ? MLX5DV_DCTYPE_DCT
						       : 0;
	const enum ibv_qp_type type = qp_type(kind);
	struct ibv_qp_init_attr_ex init = {.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = {8, 8, 2, 2, 64},
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = s->pd};
	struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr = {.dc_type = dc, .dct_access_key = 7}};

	if (type == IBV_QPT_XRC_RECV || type == IBV_QPT_XRC_SEND || dc != 0)
		init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
	if (type == IBV_QPT_XRC_RECV) {
		init = (struct ibv_qp_init_attr_ex){.qp_type = type,
			.comp_mask = IBV_QP_INIT_ATTR_XRCD,
			.xrcd = s->xrcd};
		return s->xrcd == NULL ? NULL : ibv_create_qp_ex(s->ctx, &init);
	}
	if (type != IBV_QPT_DRIVER)
		return ibv_create_qp_ex(s->ctx, &init);
	if (dc == MLX5DV_DCTYPE_DCT) {
		memset(&init.cap, 0, sizeof(init.cap));
		init.srq = s->srq;
	}
	return mlx5dv_create_qp(s->ctx, &init, &dv);
}

static void
use_qp(const struct stock *s, struct ibv_qp *qp, enum kind kind)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = 7,
		.path_mtu = IBV_MTU_1024,
		.timeout = 10,
		.dest_qp_num = qp->qp_num,
		.ah_attr = {.is_global = 1,
			.port_num = 1,
			.grh = {.hop_limit = 1, .dgid = s->gid}}};

	/* If a call fails, the next calls are still made. */
	for (; attr.qp_state <= IBV_QPS_RTS; attr.qp_state++)
		ibv_modify_qp(qp, &attr, IBV_QP_STATE | qp_need(kind, attr.qp_state));
	ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
	mlx5dv_modify_qp_udp_sport(qp, 50000);
	attr.qp_state = IBV_QPS_ERR;
	ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

static void
use_qps(const struct stock *s)
{
	for (enum kind kind = 0; kind < N_KINDS; kind++) {
		struct ibv_qp *qp = create_verbs_qp(s, kind);

		if (qp == NULL)
			continue;
		use_qp(s, qp, kind);
		ibv_destroy_qp(qp);
	}
}

void
calls_of_verbs(struct ibv_context *ctx)
{
	struct stock s = {.ctx = ctx, .pd = ibv_alloc_pd(ctx)};
	struct ibv_xrcd_init_attr xrcd = {.comp_mask =
						  IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT};

	if (s.pd == NULL)
		return;
	ibv_query_gid(ctx, 1, 0, &s.gid);
	s.cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	s.srq = ibv_create_srq(s.pd, &(struct ibv_srq_init_attr){.attr = {8, 1, 0}});
	s.xrcd = ibv_open_xrcd(ctx, &xrcd);
	use_device(ctx);
	use_memory(&s);
	use_newer(&s);
	use_device_memory(&s);
	use_cqs(ctx);
	use_domains(&s);
	use_srqs(&s);
	if (s.cq != NULL) {
		use_qps(&s);
		use_wqs(&s);
	}
	if (s.xrcd != NULL)
		ibv_close_xrcd(s.xrcd);
	if (s.srq != NULL)
		ibv_destroy_srq(s.srq);
	if (s.cq != NULL)
		ibv_destroy_cq(s.cq);
	ibv_dealloc_pd(s.pd);
}
