/* SPDX-License-Identifier: BSD-3-Clause */
/* Creation and destruction of queue pairs: ibv_create_qp_ex(3), mlx5dv_create_qp(3). */
#include "uverbs_qp.h"

#include <errno.h>
#include <linux/capability.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "call.h"
#include "capability.h"
#include "caps.h"
#include "mapped.h"
#include "uverbs_srq.h"
#include "uverbs_xrcd.h"

/*
 * Flags that all types accept. The flags for scattering allow the device to scatter data into CQEs;
 * this adapter does not.
 */
#define CREATE_FLAGS                                                                               \
	(MLX5_QP_FLAG_UAR_PAGE_INDEX | MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_ALLOW_SCATTER_CQE)
/*
 * The creation flags that the ABI defines. create_flags_of() returns the flags that a type accepts.
 */
#define CREATE_ATTR_FLAGS                                                                          \
	(IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK | IB_UVERBS_QP_CREATE_SCATTER_FCS |          \
		IB_UVERBS_QP_CREATE_CVLAN_STRIPPING | IB_UVERBS_QP_CREATE_PCI_WRITE_END_PADDING |  \
		IB_UVERBS_QP_CREATE_SQ_SIG_ALL)
#define QPT_DRIVER 0xff /* IBV_QPT_DRIVER: the flags select one of the vendor's types */
#define WQEBB      64U

/* ---------------------------------------------------------------- checks */

static int
check_cap(const struct softhca_config *cfg, const struct ib_uverbs_qp_cap *cap)
{
	if (cap->max_send_wr > cfg->max_qp_wr || cap->max_recv_wr > cfg->max_qp_wr ||
		cap->max_send_sge > cfg->max_sge || cap->max_recv_sge > cfg->max_sge)
		return -EINVAL;
	return 0;
}

/* Checks the buffer of a queue, in the program's memory. */
static int
check_queue(uint64_t addr, uint64_t len)
{
	if (addr % WQEBB != 0)
		return -EINVAL;
	return len != 0 && !memory_is_mapped(addr, len, true) ? -EFAULT : 0;
}

/*
 * Checks the buffers. One buffer has receive WQEs followed by send WQEs; a raw QP has two buffers.
 * softhca_qp_create() checks that the numbers of WQEs are powers of two.
 */
static int
check_buffers(const struct softhca_config *cfg, enum softhca_qp_type type,
	const struct mlx5_ib_create_qp *req)
{
	uint64_t sq_len = (uint64_t)req->sq_wqe_count * WQEBB, rq_len = 0;
	int rc = 0;

	if (req->sq_wqe_count > cfg->max_qp_wr || req->rq_wqe_count > cfg->max_qp_wr)
		return -EINVAL;
	if (req->rq_wqe_count != 0 && (req->rq_wqe_shift < 4 || req->rq_wqe_shift > 9))
		return -EINVAL;
	if (req->rq_wqe_count != 0)
		rq_len = (uint64_t)req->rq_wqe_count << req->rq_wqe_shift;
	if (req->db_addr % 8 != 0)
		return -EINVAL;
	if (type == SOFTHCA_QP_RAW)
		rc = check_queue(req->sq_buf_addr, sq_len);
	else
		rq_len += sq_len;
	if (rc == 0)
		rc = check_queue(req->buf_addr, rq_len);
	if (rc == 0 && !memory_is_mapped(req->db_addr, 8, true))
		rc = -EFAULT;
	return rc;
}

/* True if QPs of this type send: then they have a UAR page and their own queues. */
static bool
type_sends(enum softhca_qp_type type)
{
	return type != SOFTHCA_QP_XRC_RECV && type != SOFTHCA_QP_DCT;
}

/* Returns the type in the flags of mlx5dv_create_qp(3) for IBV_QPT_DRIVER, or -errno. */
static int
find_dc_type(uint32_t flags, uint32_t *known)
{
	*known |= MLX5_QP_FLAG_TYPE_DCT | MLX5_QP_FLAG_TYPE_DCI;
	switch (flags & (MLX5_QP_FLAG_TYPE_DCT | MLX5_QP_FLAG_TYPE_DCI)) {
	case MLX5_QP_FLAG_TYPE_DCT:
		return SOFTHCA_QP_DCT;
	case MLX5_QP_FLAG_TYPE_DCI:
		*known |= MLX5_QP_FLAG_DCI_STREAM;
		return SOFTHCA_QP_DCI;
	default:
		return -EINVAL;
	}
}

/* Returns the type that the call requests, or -errno. *known: the flags that this type accepts. */
static int
find_type(struct uverbs_call *call, const struct mlx5_ib_create_qp *req, uint32_t *known)
{
	uint64_t type = call_in_u64(call, UVERBS_ATTR_CREATE_QP_TYPE);

	*known = CREATE_FLAGS;
	switch (type) {
	case SOFTHCA_QP_RC:
	case SOFTHCA_QP_UC:
	case SOFTHCA_QP_UD:
	case SOFTHCA_QP_XRC_SEND:
	case SOFTHCA_QP_XRC_RECV:
		return (int)type;
	case SOFTHCA_QP_RAW:
		if (!has_capability(CAP_NET_RAW)) /* as in the kernel: packet(7) */
			return -EPERM;
		if (call->ctx->dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET)
			return (int)type;
		return -EOPNOTSUPP;
	case QPT_DRIVER:
		if (call->ctx->dev->cfg->dc == 0)
			return -EOPNOTSUPP;
		return find_dc_type(req->flags, known);
	default:
		return -EOPNOTSUPP;
	}
}

/*
 * Checks that the call has the objects that a type needs, and no other objects:
 * ibv_create_qp_ex(3), mlx5dv_create_qp(3).
 */
static int
check_names(struct uverbs_call *call, enum softhca_qp_type type)
{
	const struct object_srq *srq = call_obj(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE);
	bool pd = call_has(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE);
	bool scq = call_has(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE);
	bool rcq = call_has(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE);
	bool xrcd = call_has(call, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE);

	if (type == SOFTHCA_QP_XRC_RECV)
		return xrcd && srq == NULL ? 0 : -EINVAL;
	if (!pd || !scq || xrcd)
		return -EINVAL;
	if (type == SOFTHCA_QP_XRC_SEND)
		return srq == NULL ? 0 : -EINVAL;
	if (!rcq || (type == SOFTHCA_QP_DCT && srq == NULL) ||
		(type == SOFTHCA_QP_RAW && srq != NULL))
		return -EINVAL;
	return srq == NULL || srq->cq == NULL ? 0 : -EINVAL; /* no type of QP can use an XRC SRQ */
}

static int
check_streams(const struct mlx5_ib_create_qp *req)
{
	if ((req->flags & MLX5_QP_FLAG_DCI_STREAM) == 0)
		return 0;
	if (req->dci_streams.log_num_concurent > CAPS_DCI_LOG_MAX ||
		req->dci_streams.log_num_errored > CAPS_DCI_LOG_MAX)
		return -EINVAL;
	return 0;
}

/*
 * Returns the creation flags that a type accepts. A program may block the loopback of multicast,
 * because there is no multicast.
 */
static uint32_t
create_flags_of(enum softhca_qp_type type)
{
	uint32_t flags = IB_UVERBS_QP_CREATE_SQ_SIG_ALL;

	if (type == SOFTHCA_QP_UD || type == SOFTHCA_QP_RAW)
		flags |= IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	return flags;
}

/* Checks all parts of the call. Returns the type, or -errno. */
static int
check_create(struct uverbs_call *call, const struct mlx5_ib_create_qp *req)
{
	const struct softhca_config *cfg = call->ctx->dev->cfg;
	uint32_t flags = call_in_u32(call, UVERBS_ATTR_CREATE_QP_FLAGS), known;
	int rc, type = find_type(call, req, &known);

	if (type < 0)
		return type;
	if ((flags & ~(uint32_t)CREATE_ATTR_FLAGS) != 0)
		return -EINVAL;
	if (call_has(call, UVERBS_ATTR_CREATE_QP_SOURCE_QPN) ||
		(flags & ~create_flags_of(type)) != 0)
		return -EOPNOTSUPP;
	if ((req->flags & ~known) != 0 || req->ece_options != 0 ||
		(type_sends(type) && (req->flags & MLX5_QP_FLAG_UAR_PAGE_INDEX) == 0))
		return -EINVAL;
	rc = check_cap(cfg, call_in(call, UVERBS_ATTR_CREATE_QP_CAP));
	if (rc == 0)
		rc = check_names(call, type);
	if (rc == 0)
		rc = check_streams(req);
	if (rc == 0 && type_sends(type))
		rc = check_buffers(cfg, type, req);
	return rc != 0 ? rc : type;
}

/* ---------------------------------------------------------------- creation */

static struct softhca_cq *
cq_of(const struct object_cq *cq)
{
	return cq != NULL ? cq->cq : NULL;
}

static int
make(struct uverbs_call *call, struct object_qp *qp, const struct mlx5_ib_create_qp *req)
{
	struct softhca_qp_init init = {
		.type = qp->type,
		.pdn = qp->pd != NULL ? qp->pd->pdn : 0,
		.send_cq = cq_of(qp->send_cq),
		.recv_cq = cq_of(qp->recv_cq),
		.srq = qp->srq != NULL ? qp->srq->srq : NULL,
		.xrcdn = qp->xrcd != NULL ? xrcd_number(qp->xrcd) : 0,
		.uidx = req->uidx,
		.sig_all = qp->sig_all,
		.event = &qp->event,
		.shown = qp->obj.shown != NULL ? &qp->obj.shown->qp : NULL,
	};

	if (qp->type == SOFTHCA_QP_DCT)
		init.dc_key = req->access_key;
	if (qp->type == SOFTHCA_QP_XRC_SEND)
		init.recv_cq = init.send_cq; /* the QP receives no messages */
	if (type_sends(qp->type)) {
		init.uar = qp->uar->uar;
		init.buf = (void *)(uintptr_t)req->buf_addr;
		init.dbrec = (_Atomic uint32_t *)(uintptr_t)req->db_addr;
		init.sq_bb = req->sq_wqe_count;
		init.rq_wqe = qp->srq != NULL ? 0 : req->rq_wqe_count;
		init.log_rq_stride = req->rq_wqe_shift;
	}
	if (qp->type == SOFTHCA_QP_RAW)
		init.sq_buf = (void *)(uintptr_t)req->sq_buf_addr;
	if ((req->flags & MLX5_QP_FLAG_DCI_STREAM) != 0) {
		init.streams = true;
		init.log_errored = req->dci_streams.log_num_errored;
	}
	qp->uidx = init.uidx;
	qp->sq_bb = init.sq_bb;
	qp->rq_wqe = init.rq_wqe;
	qp->log_rq_stride = init.log_rq_stride;
	return softhca_qp_create(call->ctx->dev, &init, &qp->qp);
}

static int
answer(struct uverbs_call *call, struct object_qp *qp)
{
	const struct ib_uverbs_qp_cap *cap = call_in(call, UVERBS_ATTR_CREATE_QP_CAP);
	struct mlx5_ib_create_qp_resp mlx5 = {.tisn = qp_tis_number(qp)};
	uint32_t qpn = softhca_qp_number(qp->qp);
	int rc;

	if (mlx5.tisn != 0)
		mlx5.comp_mask = MLX5_IB_CREATE_QP_RESP_MASK_TISN;
	call_attr(call, UVERBS_ATTR_CREATE_QP_HANDLE)->data = qp->obj.handle;
	rc = call_out(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, cap, sizeof(*cap));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qpn, sizeof(qpn));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
	return rc;
}

/* Shows the QP in rdma(8). In verbs, all types of a vendor have the same number. */
static void
show(struct object_qp *qp)
{
	struct resource *shown = qp->obj.shown;

	if (shown == NULL)
		return;
	resource_set(&shown->kind, qp->type < SOFTHCA_QP_DCI ? qp->type : QPT_DRIVER);
	if (qp->pd != NULL)
		resource_set(&shown->pd, resource_id(qp->pd->obj.shown));
	if (qp->srq != NULL)
		resource_set(&shown->srq, resource_id(qp->srq->obj.shown));
	object_show(&qp->obj);
}

static void
keep_cap(struct object_qp *qp, const struct ib_uverbs_qp_cap *cap,
	const struct mlx5_ib_create_qp *req)
{
	qp->max_send_wr = cap->max_send_wr;
	/* libmlx5 uses this value as the size of the receive queue */
	qp->max_recv_wr = req->rq_wqe_count;
	qp->max_send_sge = cap->max_send_sge;
	qp->max_recv_sge = cap->max_recv_sge;
	qp->max_inline = cap->max_inline_data;
}

/* Sets the objects to which a QP refers. A member is NULL if the call does not have this object. */
static void
take_names(struct uverbs_call *call, struct object_qp *qp)
{
	qp->pd = call_obj(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE);
	qp->send_cq = call_obj(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE);
	qp->recv_cq = call_obj(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE);
	qp->srq = call_obj(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE);
	qp->xrcd = call_obj(call, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE);
	qp->event.element = call_in_u64(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE);
}

void
qp_use_names(struct object_qp *qp)
{
	if (qp->pd != NULL)
		object_use(&qp->pd->obj);
	if (qp->send_cq != NULL)
		object_use(&qp->send_cq->obj);
	if (qp->recv_cq != NULL)
		object_use(&qp->recv_cq->obj);
	if (qp->srq != NULL)
		object_use(&qp->srq->obj);
	if (qp->xrcd != NULL)
		object_use(&qp->xrcd->obj);
	if (qp->uar != NULL)
		object_use(&qp->uar->obj);
}

static void
unuse_names(struct object_qp *qp)
{
	if (qp->pd != NULL)
		object_unuse(&qp->pd->obj);
	if (qp->send_cq != NULL)
		object_unuse(&qp->send_cq->obj);
	if (qp->recv_cq != NULL)
		object_unuse(&qp->recv_cq->obj);
	if (qp->srq != NULL)
		object_unuse(&qp->srq->obj);
	if (qp->xrcd != NULL)
		object_unuse(&qp->xrcd->obj);
	if (qp->uar != NULL)
		object_unuse(&qp->uar->obj);
}

static int
create(struct uverbs_call *call)
{
	const struct mlx5_ib_create_qp *req = call_in(call, UVERBS_ATTR_UHW_IN);
	uint32_t flags = call_in_u32(call, UVERBS_ATTR_CREATE_QP_FLAGS);
	struct event_file *async;
	struct object_uar *uar = NULL;
	struct object_qp *qp;
	int rc, type = check_create(call, req);

	if (type < 0)
		return type;
	if (type_sends(type)) {
		uar = uar_find_page(call->ctx, req->bfreg_index);
		if (uar == NULL)
			return -EINVAL;
	}
	rc = call_event_file(call, UVERBS_ATTR_CREATE_QP_EVENT_FD, EVENT_ASYNC, &async);
	if (rc == 0)
		rc = object_create(call->ctx, &qp_class, &qp);
	if (rc != 0)
		return rc;
	qp->type = type;
	take_names(call, qp);
	qp->uar = uar;
	qp->sig_all = (flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL) != 0;
	keep_cap(qp, call_in(call, UVERBS_ATTR_CREATE_QP_CAP), req);
	qp->event.async = event_file_get(async);
	rc = make(call, qp, req);
	if (rc != 0) {
		event_file_put(qp->event.async);
		object_forget(call->ctx, &qp->obj);
		return rc;
	}
	qp_use_names(qp);
	rc = answer(call, qp);
	if (rc != 0)
		(void)object_destroy(call->ctx, &qp->obj, NULL);
	else
		show(qp);
	return rc;
}

/* ---------------------------------------------------------------- end */

int
qp_end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	struct object_qp *qp = (struct object_qp *)obj;
	int rc = softhca_qp_destroy(qp->qp);

	if (rc != 0)
		return rc;
	event_source_fini(&qp->event, &events->comp_read, &events->async_read);
	unuse_names(qp);
	return 0;
}

uint32_t
qp_limit(const struct softhca_config *cfg)
{
	return cfg->max_qp;
}

static int
destroy(struct uverbs_call *call)
{
	struct object *obj = call_obj(call, UVERBS_ATTR_DESTROY_QP_HANDLE);
	struct ib_uverbs_destroy_qp_resp resp = {0};
	struct object_events events = {0};
	int rc = object_destroy(call->ctx, obj, &events);

	if (rc != 0)
		return rc;
	resp.events_reported = events.async_read;
	return call_out(call, UVERBS_ATTR_DESTROY_QP_RESP, &resp, sizeof(resp));
}

/* ---------------------------------------------------------------- the table */

/*
 * The attributes of CREATE_QP. An indirection table is not in the list: a call with a table gets
 * EPROTONOSUPPORT.
 */
static const struct attr_spec create_attrs[] = {
	{UVERBS_ATTR_CREATE_QP_HANDLE, ATTR_NEW_OBJ, ATTR_REQUIRED},
	{UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, ATTR_OBJ, ATTR_OPTIONAL, .cls = &xrcd_class},
	{UVERBS_ATTR_CREATE_QP_PD_HANDLE, ATTR_OBJ, ATTR_OPTIONAL, .cls = &pd_class},
	{UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, ATTR_OBJ, ATTR_OPTIONAL, .cls = &srq_class},
	{UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, ATTR_OBJ, ATTR_OPTIONAL, .cls = &cq_class},
	{UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, ATTR_OBJ, ATTR_OPTIONAL, .cls = &cq_class},
	{UVERBS_ATTR_CREATE_QP_USER_HANDLE, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{UVERBS_ATTR_CREATE_QP_CAP, ATTR_IN, ATTR_REQUIRED, sizeof(struct ib_uverbs_qp_cap),
		sizeof(struct ib_uverbs_qp_cap)},
	{UVERBS_ATTR_CREATE_QP_TYPE, ATTR_IN, ATTR_REQUIRED, 1, 8},
	{UVERBS_ATTR_CREATE_QP_FLAGS, ATTR_IN, ATTR_OPTIONAL, 4, 8},
	{UVERBS_ATTR_CREATE_QP_SOURCE_QPN, ATTR_IN, ATTR_OPTIONAL, 4, 4},
	{UVERBS_ATTR_CREATE_QP_EVENT_FD, ATTR_FD, ATTR_OPTIONAL},
	{UVERBS_ATTR_CREATE_QP_RESP_CAP, ATTR_OUT, ATTR_REQUIRED, sizeof(struct ib_uverbs_qp_cap)},
	{UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, ATTR_OUT, ATTR_REQUIRED, 4},
	{UVERBS_ATTR_UHW_IN, ATTR_IN, ATTR_REQUIRED, offsetof(struct mlx5_ib_create_qp, uidx),
		sizeof(struct mlx5_ib_create_qp)},
	{UVERBS_ATTR_UHW_OUT, ATTR_OUT, ATTR_REQUIRED, 4},
};
static const struct attr_spec destroy_attrs[] = {
	{UVERBS_ATTR_DESTROY_QP_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &qp_class},
	{UVERBS_ATTR_DESTROY_QP_RESP, ATTR_OUT, ATTR_REQUIRED,
		sizeof(struct ib_uverbs_destroy_qp_resp)},
};

static const struct uverbs_method methods[] = {
	{UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, false, create, create_attrs,
		ARRAY_SIZE(create_attrs)},
	{UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, false, destroy, destroy_attrs,
		ARRAY_SIZE(destroy_attrs)},
};

const struct object_class qp_class = {
	.name = "QP",
	.resource = RESOURCE_QP,
	.size = sizeof(struct object_qp),
	.limit = qp_limit,
	.end = qp_end,
	CLASS_METHODS(methods),
};
