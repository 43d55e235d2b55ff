/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work queues and their indirection tables: ibv_create_wq(3), ibv_modify_wq(3),
 * ibv_create_rwq_ind_table(3). Rules: the kernel's uverbs_std_types_wq.c, uverbs_cmd.c and
 * drivers/infiniband/hw/mlx5/qp.c.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "call.h"
#include "caps.h"
#include "event.h"
#include "hca.h"
#include "mapped.h"
#include "uverbs_cq.h"
#include "uverbs_pd.h"

#define WQ_FLAGS                                                                                   \
	(IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING | IB_UVERBS_WQ_FLAGS_SCATTER_FCS |                     \
		IB_UVERBS_WQ_FLAGS_DELAY_DROP | IB_UVERBS_WQ_FLAGS_PCI_WRITE_END_PADDING)

/* The bits of enum ibv_wq_attr_mask. */
enum {
	ATTR_STATE = 1,
	ATTR_CURR_STATE = 2,
	ATTR_FLAGS = 4,
	ATTR_ALL = ATTR_STATE | ATTR_CURR_STATE | ATTR_FLAGS
};

struct object_wq {
	struct object obj;
	struct softhca_wq *wq;
	struct object_pd *pd;
	struct object_cq *cq;
	struct event_source event;
};

/* An indirection table: work queues by index. A work queue may be at several indices. */
struct object_wq_table {
	struct object obj;
	uint32_t n;
	struct object_wq *wqs[];
};

static uint32_t
limit(const struct softhca_config *cfg)
{
	return cfg->max_qp;
}

/* ---------------------------------------------------------------- creation and end */

static int
check_wq(struct uverbs_call *call, const struct mlx5_ib_create_wq *req)
{
	const struct softhca_config *cfg = call->ctx->dev->cfg;
	uint64_t flags = call_in_u64(call, UVERBS_ATTR_CREATE_WQ_FLAGS);

	/* The kernel returns this error if there is no Ethernet port. */
	if (cfg->link_layer != SOFTHCA_LINK_ETHERNET)
		return -EOPNOTSUPP;
	if (call_in_u64(call, UVERBS_ATTR_CREATE_WQ_TYPE) != IB_UVERBS_WQT_RQ ||
		(flags & ~(uint64_t)WQ_FLAGS) != 0)
		return -EINVAL;
	/* Offloads, WQEs of several strides, and WQEs with a signature are not emulated. */
	if (flags != 0 || req->comp_mask != 0 || req->flags != 0)
		return -EOPNOTSUPP;
	if (call_in_u32(call, UVERBS_ATTR_CREATE_WQ_MAX_WR) > cfg->max_qp_wr ||
		req->rq_wqe_count == 0 || (req->rq_wqe_count & (req->rq_wqe_count - 1)) != 0 ||
		req->rq_wqe_count > cfg->max_qp_wr || req->rq_wqe_shift < 4 ||
		req->rq_wqe_shift > 9 || req->buf_addr == 0 || req->buf_addr % 64 != 0 ||
		req->db_addr % 8 != 0)
		return -EINVAL;
	if (!memory_is_mapped(req->buf_addr, (uint64_t)req->rq_wqe_count << req->rq_wqe_shift,
		    true) ||
		!memory_is_mapped(req->db_addr, 8, true))
		return -EFAULT;
	return 0;
}

/* Returns both sizes as requested to the program, as the kernel does. */
static int
answer_wq(struct uverbs_call *call, const struct object_wq *wq)
{
	const struct mlx5_ib_create_wq_resp mlx5 = {.response_length = sizeof(uint32_t)};
	uint32_t max_wr = call_in_u32(call, UVERBS_ATTR_CREATE_WQ_MAX_WR);
	uint32_t max_sge = call_in_u32(call, UVERBS_ATTR_CREATE_WQ_MAX_SGE);
	uint32_t number = softhca_wq_number(wq->wq);
	int rc;

	call_attr(call, UVERBS_ATTR_CREATE_WQ_HANDLE)->data = wq->obj.handle;
	rc = call_out(call, UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, &max_wr, sizeof(max_wr));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, &max_sge, sizeof(max_sge));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, &number, sizeof(number));
	return rc != 0 ? rc : call_out(call, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
}

static int
make_wq(struct uverbs_call *call, struct object_wq *wq, const struct mlx5_ib_create_wq *req)
{
	const struct softhca_wq_attr attr = {
		.dbrec = (_Atomic uint32_t *)(uintptr_t)req->db_addr,
		.n_wqe = req->rq_wqe_count,
		.uidx = req->user_index,
		.cq = wq->cq->cq,
		.event = &wq->event,
	};

	return softhca_wq_create(call->ctx->dev, &attr, &wq->wq);
}

static int
create_wq(struct uverbs_call *call)
{
	const struct mlx5_ib_create_wq *req = call_in(call, UVERBS_ATTR_UHW_IN);
	struct event_file *async;
	struct object_wq *wq;
	int rc = check_wq(call, req);

	if (rc == 0)
		rc = call_event_file(call, UVERBS_ATTR_CREATE_WQ_EVENT_FD, EVENT_ASYNC, &async);
	if (rc == 0)
		rc = object_create(call->ctx, &wq_class, &wq);
	if (rc != 0)
		return rc;
	wq->pd = call_obj(call, UVERBS_ATTR_CREATE_WQ_PD_HANDLE);
	wq->cq = call_obj(call, UVERBS_ATTR_CREATE_WQ_CQ_HANDLE);
	wq->event.element = call_in_u64(call, UVERBS_ATTR_CREATE_WQ_USER_HANDLE);
	wq->event.async = event_file_get(async);
	rc = make_wq(call, wq, req);
	if (rc != 0) {
		event_file_put(wq->event.async);
		object_forget(call->ctx, &wq->obj);
		return rc;
	}
	object_use(&wq->pd->obj);
	object_use(&wq->cq->obj);
	rc = answer_wq(call, wq);
	if (rc != 0)
		(void)object_destroy(call->ctx, &wq->obj, NULL);
	return rc;
}

static int
end_wq(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	struct object_wq *wq = (struct object_wq *)obj;

	softhca_wq_destroy(wq->wq);
	event_source_fini(&wq->event, &events->comp_read, &events->async_read);
	object_unuse(&wq->pd->obj);
	object_unuse(&wq->cq->obj);
	return 0;
}

static int
destroy_wq(struct uverbs_call *call)
{
	struct object *obj = call_obj(call, UVERBS_ATTR_DESTROY_WQ_HANDLE);
	struct object_events events = {0};
	int rc = object_destroy(call->ctx, obj, &events);

	if (rc != 0)
		return rc;
	return call_out(call, UVERBS_ATTR_DESTROY_WQ_RESP, &events.async_read,
		sizeof(events.async_read));
}

/* ---------------------------------------------------------------- states */

static int
modify_wq(struct uverbs_call *call)
{
	const uint32_t fixed =
		IB_UVERBS_WQ_FLAGS_CVLAN_STRIPPING | IB_UVERBS_WQ_FLAGS_PCI_WRITE_END_PADDING;
	const struct ib_uverbs_ex_modify_wq *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct object_wq *wq = object_find(call->ctx, &wq_class, req->wq_handle);
	struct mlx5_ib_modify_wq mlx5;
	uint32_t from, to;

	if (call_attr(call, UVERBS_ATTR_UHW_IN)->len < sizeof(mlx5) || wq == NULL ||
		req->attr_mask == 0 || req->attr_mask > ATTR_ALL)
		return -EINVAL;
	memcpy(&mlx5, call_in(call, UVERBS_ATTR_UHW_IN), sizeof(mlx5));
	if (mlx5.comp_mask != 0 || mlx5.reserved != 0)
		return -EOPNOTSUPP;
	from = (req->attr_mask & ATTR_CURR_STATE) != 0 ? req->curr_wq_state
						       : softhca_wq_state(wq->wq);
	to = (req->attr_mask & ATTR_STATE) != 0 ? req->wq_state : from;
	if (to > SOFTHCA_WQ_ERR)
		return -EINVAL;
	if ((req->attr_mask & ATTR_FLAGS) != 0 && (req->flags_mask & fixed) != 0)
		return -EOPNOTSUPP;
	return softhca_wq_modify(wq->wq, from, to);
}

/* ---------------------------------------------------------------- indirection tables */

static int
answer_table(struct uverbs_call *call, const struct object_wq_table *table)
{
	static _Atomic uint32_t last_number;
	const struct mlx5_ib_create_rwq_ind_tbl_resp mlx5 = {.response_length = sizeof(uint32_t)};
	const struct ib_uverbs_ex_create_rwq_ind_table_resp resp = {
		.response_length = sizeof(resp),
		.ind_tbl_handle = table->obj.handle,
		.ind_tbl_num = atomic_fetch_add(&last_number, 1) % 0xffffff + 1,
	};
	int rc = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));

	return rc != 0 ? rc : call_out(call, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
}

/*
 * Adds the queues of all handles to the table, which then uses them. Returns 0, or -EINVAL if a
 * handle is wrong; then the table uses no queue.
 */
static int
fill_table(struct uverbs_call *call, struct object_wq_table *table, const uint32_t *handles)
{
	for (uint32_t i = 0; i < table->n; i++) {
		table->wqs[i] = object_find(call->ctx, &wq_class, handles[i]);
		if (table->wqs[i] == NULL)
			return -EINVAL;
	}
	for (uint32_t i = 0; i < table->n; i++)
		object_use(&table->wqs[i]->obj);
	return 0;
}

static int
create_table(struct uverbs_call *call)
{
	const struct ib_uverbs_ex_create_rwq_ind_table *req = call_in(call, UVERBS_ATTR_CORE_IN);
	uint32_t n =
		req->log_ind_tbl_size <= CAPS_LOG_MAX_WQ_TABLE ? 1U << req->log_ind_tbl_size : 0;
	struct object_wq_table *table;
	int rc;

	if (call->ctx->dev->cfg->link_layer != SOFTHCA_LINK_ETHERNET || req->comp_mask != 0)
		return -EOPNOTSUPP;
	if (n == 0 || call_attr(call, UVERBS_ATTR_CORE_IN)->len <
			      sizeof(*req) + n * sizeof(req->wq_handles[0]))
		return -EINVAL;
	rc = object_create_longer(call->ctx, &wq_table_class, n * sizeof(table->wqs[0]), &table);
	if (rc != 0)
		return rc;
	table->n = n;
	rc = fill_table(call, table, req->wq_handles);
	if (rc != 0) {
		object_forget(call->ctx, &table->obj);
		return rc;
	}
	rc = answer_table(call, table);
	if (rc != 0)
		(void)object_destroy(call->ctx, &table->obj, NULL);
	return rc;
}

static int
end_table(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	struct object_wq_table *table = (struct object_wq_table *)obj;

	for (uint32_t i = 0; i < table->n; i++)
		object_unuse(&table->wqs[i]->obj);
	return 0;
}

/* ---------------------------------------------------------------- the tables */

static const struct attr_spec create_attrs[] = {
	{UVERBS_ATTR_CREATE_WQ_HANDLE, ATTR_NEW_OBJ, ATTR_REQUIRED},
	{UVERBS_ATTR_CREATE_WQ_PD_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &pd_class},
	{UVERBS_ATTR_CREATE_WQ_CQ_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &cq_class},
	{UVERBS_ATTR_CREATE_WQ_USER_HANDLE, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{UVERBS_ATTR_CREATE_WQ_TYPE, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{UVERBS_ATTR_CREATE_WQ_EVENT_FD, ATTR_FD, ATTR_OPTIONAL},
	{UVERBS_ATTR_CREATE_WQ_MAX_WR, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{UVERBS_ATTR_CREATE_WQ_MAX_SGE, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{UVERBS_ATTR_CREATE_WQ_FLAGS, ATTR_IN, ATTR_REQUIRED, 4, 8},
	{UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, ATTR_OUT, ATTR_REQUIRED, 4},
	{UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, ATTR_OUT, ATTR_REQUIRED, 4},
	{UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, ATTR_OUT, ATTR_OPTIONAL, 4},
	{UVERBS_ATTR_UHW_IN, ATTR_IN, ATTR_REQUIRED,
		offsetof(struct mlx5_ib_create_wq, single_wqe_log_num_of_strides),
		sizeof(struct mlx5_ib_create_wq)},
	{UVERBS_ATTR_UHW_OUT, ATTR_OUT, ATTR_OPTIONAL, sizeof(struct mlx5_ib_create_wq_resp)},
};
static const struct attr_spec destroy_attrs[] = {
	{UVERBS_ATTR_DESTROY_WQ_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &wq_class},
	{UVERBS_ATTR_DESTROY_WQ_RESP, ATTR_OUT, ATTR_REQUIRED, 4},
};

static const struct uverbs_method wq_methods[] = {
	{UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE, false, create_wq, create_attrs,
		ARRAY_SIZE(create_attrs)},
	{UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_DESTROY, false, destroy_wq, destroy_attrs,
		ARRAY_SIZE(destroy_attrs)},
};
static const struct write_command wq_writes[] = {
	{WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_WQ), sizeof(struct ib_uverbs_ex_modify_wq), 0,
		modify_wq},
};

const struct object_class wq_class = {
	.name = "WQ",
	.size = sizeof(struct object_wq),
	.limit = limit,
	.end = end_wq,
	CLASS_METHODS(wq_methods),
	CLASS_WRITES(wq_writes),
};

static const struct attr_spec destroy_table_attrs[] = {
	{UVERBS_ATTR_DESTROY_RWQ_IND_TBL_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &wq_table_class},
};

static const struct uverbs_method table_methods[] = {
	{UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_METHOD_RWQ_IND_TBL_DESTROY, false, call_destroy,
		destroy_table_attrs, ARRAY_SIZE(destroy_table_attrs)},
};
static const struct write_command table_writes[] = {
	{WRITE_EX(IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL),
		sizeof(struct ib_uverbs_ex_create_rwq_ind_table),
		sizeof(struct ib_uverbs_ex_create_rwq_ind_table_resp), create_table},
};

const struct object_class wq_table_class = {
	.name = "indirection table",
	.size = sizeof(struct object_wq_table),
	.limit = limit,
	.end = end_table,
	CLASS_METHODS(table_methods),
	CLASS_WRITES(table_writes),
};
