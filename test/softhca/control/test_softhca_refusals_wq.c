/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls on work queues, windows and doorbell pages that must be refused: creation and modification.
 */
#include "softhca_refusals.h"

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
	/* Each state of the ABI can follow RDY. */
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
		/* The table has more queues than the call's data contain. */
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

static int
make_ah(void *arg)
{
	struct world *w = arg;
	struct ibv_qp_attr attr = node_attr(&w->n, 0);
	struct ibv_ah *ah = ibv_create_ah(w->n.pd, &attr.ah_attr);

	if (ah == NULL)
		return errno;
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	return 0;
}

/* Each GID of the adapter has the MAC 02:53:48:00:00:01, also a GID in IPv4 form. */
static void
own_addresses(struct world *w)
{
	static const uint8_t mac[6] = {0x02, 0x53, 0x48, 0, 0, 1};

	for (int i = 0; i < 4; i++) {
		struct ibv_qp_attr attr = node_attr(&w->n, 0);
		struct mlx5dv_ah view = {0};
		struct mlx5dv_obj obj = {.ah = {.out = &view}};

		CHECK_EQ(ibv_query_gid(w->n.ctx, 1, i, &attr.ah_attr.grh.dgid), 0);
		obj.ah.in = ibv_create_ah(w->n.pd, &attr.ah_attr);
		CHECK(obj.ah.in != NULL);
		CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH), 0);
		CHECK_EQ(memcmp(view.av->rmac, mac, 6), 0);
		CHECK_EQ(ibv_destroy_ah(obj.ah.in), 0);
	}
}

/*
 * The MAC of a GID must be known: it is known for link-local GIDs, and for the adapter's own GIDs.
 */
static void
case_address_handles(void)
{
	struct world w = world_open();
	const struct edit edits[] = {
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_create_ah, pd_handle, NO_HANDLE,
			EINVAL),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_create_ah, pd_handle, w.n.scq->handle,
			EINVAL),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_create_ah, attr.port_num, 0, EINVAL),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_create_ah, attr.port_num, 2, EINVAL),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_create_ah, attr.grh.sgid_index, 200,
			EINVAL),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_create_ah, attr.is_global, 0, EINVAL),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_create_ah, attr.grh.dgid[0], 0xff,
			ENETUNREACH),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_create_ah, attr.grh.dgid[7], 1,
			ENETUNREACH),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_create_ah, attr.grh.dgid[11], 0xfe,
			ENETUNREACH),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_create_ah, attr.grh.dgid[12], 0xff,
			ENETUNREACH),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_create_ah, attr.grh.dgid[15], 0x77, 0),
		{OUT, UVERBS_ATTR_CORE_OUT, .value = 16, .err = EFAULT},
	};

	if (is_ethernet()) { /* libmlx5 asks the kernel for MACs only on Ethernet */
		WRITE(make_ah, &w, IB_USER_VERBS_CMD_CREATE_AH, edits);
		own_addresses(&w);
	}
	world_close(&w);
}

/* The test allocates pages by a raw call, because libmlx5 keeps the pages that it allocates. */
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
	{"an address handle needs a port, a GID and an address that exist", case_address_handles},
	{"windows need a protection domain, and pages a known type", case_windows_and_pages},
	{"calls on work queues are checked", case_wq},
};

int
main(int argc, char **argv)
{
	return check_main(cases, N(cases), argc, argv);
}
