/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on QPs that must be refused: creation, modification and queries. */
#include "softhca_refusals.h"

/* ---- queue pairs */

/* Creates a QP of this type. Returns 0 or the errno. */
static int
make_qp(void *arg)
{
	struct world *w = arg;
	struct ibv_qp *qp = w->streams ? node_try_dc(&w->n, K_DCI, 1) : node_try_qp(&w->n, w->kind);

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

	if (!is_ethernet()) {
		struct ibv_qp *none = node_try_qp(&w.n, K_RAW);

		CHECK(none == NULL && (errno == EOPNOTSUPP || errno == EPERM));
	}
	REFUSED(&w, K_RC, edits);
	w.streams = true;
	REFUSED(&w, K_DCI, streams);
	world_close(&w);
}

/*
 * If the answer cannot be written, the QP is destroyed, and the objects that it named are not in
 * use.
 */
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

/* ---- states */

static int
to_init(void *arg)
{
	struct world *w = arg;
	struct ibv_qp_attr attr = node_attr(&w->n, 0);
	int err;

	attr.qp_state = IBV_QPS_INIT;
	err = ibv_modify_qp(w->qp, &attr, IBV_QP_STATE | qp_need(w->kind, IBV_QPS_INIT));
	if (err == 0)
		CHECK_EQ(node_move(w->qp, IBV_QPS_RESET), 0);
	CHECK_EQ(pair_state(w->qp), IBV_QPS_RESET);
	return err;
}

/* Makes the transition from RESET to RESET. */
static int
to_reset(void *arg)
{
	struct world *w = arg;
	int err = node_move(w->qp, IBV_QPS_RESET);

	CHECK_EQ(pair_state(w->qp), IBV_QPS_RESET);
	return err;
}

/* INIT to RTR. For a DCT the longer command is used, whose answer has the DCT's number. */
static int
to_rtr(void *arg)
{
	struct world *w = arg;
	struct ibv_qp_attr attr = node_attr(&w->n, 0);
	struct ibv_qp *qp = node_qp(&w->n, w->kind);
	const struct edit *edit = editor.edit;
	int err;

	editor.edit = NULL; /* for a DCT, this command also does the transition to INIT */
	node_ready(&w->n, qp, w->kind, 0, IBV_QPS_INIT);
	editor.edit = edit;
	attr.ah_attr.is_global = is_ethernet();
	attr.qp_state = IBV_QPS_RTR;
	err = ibv_modify_qp(qp, &attr, IBV_QP_STATE | qp_need(w->kind, IBV_QPS_RTR));
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
	/* On Ethernet, a path must have a GID. */
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

/* In RTS a query must return each attribute that was set (ibv_query_qp(3)). */
static void
case_query(void)
{
	struct world w = world_open();

	for (int all = 0; all < 2; all++) {
		struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
			.send_cq = w.n.scq,
			.recv_cq = w.n.rcq,
			.sq_sig_all = all,
			.cap = {.max_send_wr = 16,
				.max_recv_wr = 8,
				.max_send_sge = 3,
				.max_recv_sge = 2}};
		struct ibv_qp *qp = ibv_create_qp(w.n.pd, &init);
		struct ibv_qp_attr set = node_attr(&w.n, 0xabcdef), got;
		struct ibv_qp_init_attr was;

		CHECK(qp != NULL);
		set.rq_psn |= 0x5a000000; /* PSNs have 24 bits */
		set.sq_psn |= 0x5a000000;
		set.timeout = 14;
		set.retry_cnt = 6;
		set.rnr_retry = 5;
		set.min_rnr_timer = 12;
		set.ah_attr.is_global = is_ethernet();
		set.ah_attr.dlid = 0x4321;
		set.ah_attr.grh.sgid_index = 1;
		for (enum ibv_qp_state s = IBV_QPS_INIT; s <= IBV_QPS_RTS; s++) {
			set.qp_state = s;
			CHECK_EQ(ibv_modify_qp(qp, &set, IBV_QP_STATE | qp_need(K_RC, s)), 0);
		}
		memset(&got, 0x5a, sizeof(got));
		memset(&was, 0x5a, sizeof(was));
		CHECK_EQ(ibv_query_qp(qp, &got, 0x1fffff, &was), 0);
		CHECK_EQ(got.qp_state, IBV_QPS_RTS);
		CHECK_EQ(got.cur_qp_state, IBV_QPS_RTS);
		CHECK_EQ(got.path_mtu, IBV_MTU_1024);
		CHECK_EQ(got.qkey, 0);
		CHECK_EQ(got.rq_psn, 0x123456);
		CHECK_EQ(got.sq_psn, 0x654321);
		CHECK_EQ(got.dest_qp_num, 0xabcdef);
		CHECK_EQ(got.qp_access_flags, set.qp_access_flags);
		CHECK_EQ(got.pkey_index, 0);
		CHECK_EQ(got.sq_draining, 0);
		CHECK_EQ(got.max_rd_atomic, 4);
		CHECK_EQ(got.max_dest_rd_atomic, 8);
		CHECK_EQ(got.min_rnr_timer, 12);
		CHECK_EQ(got.port_num, 1);
		CHECK_EQ(got.timeout, 14);
		CHECK_EQ(got.retry_cnt, 6);
		CHECK_EQ(got.rnr_retry, 5);
		CHECK_EQ(got.cap.max_recv_wr, 8);
		CHECK(got.cap.max_send_sge >= 3);
		CHECK_EQ(got.ah_attr.is_global, is_ethernet());
		CHECK_EQ(got.ah_attr.dlid, 0x4321);
		CHECK_EQ(got.ah_attr.sl, 3);
		CHECK_EQ(got.ah_attr.port_num, 1);
		CHECK_EQ(got.ah_attr.grh.sgid_index, 1);
		CHECK_EQ(got.ah_attr.grh.hop_limit, 33);
		CHECK_EQ(memcmp(&got.ah_attr.grh.dgid, &set.ah_attr.grh.dgid, 16), 0);
		CHECK_EQ(was.sq_sig_all, all);
		CHECK_EQ(was.qp_type, IBV_QPT_RC);
		CHECK_EQ(ibv_destroy_qp(qp), 0);
	}
	world_close(&w);
}

static const struct check_case cases[] = {
	{"a queue pair's buffers are aligned, mapped and writable to their last byte",
		case_qp_buffers},
	{"a queue pair is no larger than the device allows", case_qp_sizes},
	{"a queue pair must name the objects that its type needs, and no others", case_qp_names},
	{"a queue pair with an unknown flag, or with a flag of another type, is refused",
		case_qp_flags},
	{"if the answer cannot be written, the object is destroyed", case_answers},
	{"an attribute out of its range leaves a queue pair in its state", case_modify},
	{"a query returns each attribute that was set", case_query},
};

int
main(int argc, char **argv)
{
	return check_main(cases, N(cases), argc, argv);
}
