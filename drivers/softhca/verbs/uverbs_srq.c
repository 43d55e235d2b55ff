/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues, and the XRC domains that some of them are in. */
#include "uverbs_srq.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "raw.h"

/* ---------------------------------------------------------------- XRC domains */

/*
 * Opens of one file share a domain (ibv_open_xrcd(3)). The file is held open here, so that its inode
 * is not given to another one while the domain lives.
 */
struct xrc_domain {
	struct xrc_domain *next;
	struct softhca_dev *dev;
	uint32_t number, refs;
	int file; /* -1: shared with nobody; the inode below is 0, which no file has */
	dev_t st_dev;
	ino_t st_ino;
};

static pthread_mutex_t domains_lock = PTHREAD_MUTEX_INITIALIZER;
static struct xrc_domain *domains;
static uint32_t last_number;

uint32_t
xrc_domain_number(const struct xrc_domain *domain)
{
	return domain->number;
}

static struct xrc_domain *
domain_find(const struct softhca_dev *dev, const struct stat *st)
{
	for (struct xrc_domain *d = domains; d != NULL; d = d->next)
		if (d->dev == dev && d->st_dev == st->st_dev && d->st_ino == st->st_ino)
			return d;
	return NULL;
}

/* domains_lock held. file: a descriptor that becomes the domain's, or -1. */
static struct xrc_domain *
domain_new(struct softhca_dev *dev, int file, const struct stat *st)
{
	struct xrc_domain *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->dev = dev;
	d->number = ++last_number; /* 0 is no domain */
	d->refs = 1;
	d->file = file;
	if (file >= 0) {
		d->st_dev = st->st_dev;
		d->st_ino = st->st_ino;
	}
	d->next = domains;
	domains = d;
	return d;
}

/* The domain of a file. EAGAIN and EINVAL as ibv_open_xrcd(3) says. */
static int
domain_open(struct softhca_dev *dev, int fd, uint32_t oflags, struct xrc_domain **out)
{
	struct stat st;
	int file;

	if (fd == -1) {
		*out = domain_new(dev, -1, NULL);
		return *out != NULL ? 0 : -ENOMEM;
	}
	if (raw_fstat(fd, &st) != 0)
		return -EBADF;
	*out = domain_find(dev, &st);
	if (*out != NULL) {
		if ((oflags & O_EXCL) != 0)
			return -EINVAL;
		(*out)->refs++;
		return 0;
	}
	if ((oflags & O_CREAT) == 0)
		return -EAGAIN;
	file = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (file < 0)
		return -errno;
	*out = domain_new(dev, file, &st);
	if (*out == NULL) {
		close(file);
		return -ENOMEM;
	}
	return 0;
}

void
xrc_domain_put(struct xrc_domain *domain)
{
	struct xrc_domain **link = &domains;

	pthread_mutex_lock(&domains_lock);
	if (--domain->refs != 0) {
		pthread_mutex_unlock(&domains_lock);
		return;
	}
	while (*link != domain)
		link = &(*link)->next;
	*link = domain->next;
	pthread_mutex_unlock(&domains_lock);
	if (domain->file >= 0)
		close(domain->file);
	free(domain);
}

int
uverbs_open_xrcd(struct uverbs_call *call)
{
	const struct ib_uverbs_open_xrcd *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct ib_uverbs_open_xrcd_resp resp = {0};
	struct object_xrcd *xrcd;
	int rc;

	if ((req->oflags & ~(uint32_t)(O_CREAT | O_EXCL)) != 0)
		return -EINVAL;
	rc = object_create(call->ctx, OBJ_XRCD, sizeof(*xrcd), &xrcd);
	if (rc != 0)
		return rc;
	pthread_mutex_lock(&domains_lock);
	rc = domain_open(call->ctx->dev, (int)req->fd, req->oflags, &xrcd->domain);
	pthread_mutex_unlock(&domains_lock);
	if (rc != 0) {
		object_forget(call->ctx, &xrcd->obj);
		return rc;
	}
	resp.xrcd_handle = xrcd->obj.handle;
	rc = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (rc != 0)
		(void)object_destroy(call->ctx, &xrcd->obj, NULL);
	return rc;
}

static int
close_xrcd(struct uverbs_call *call)
{
	return object_destroy(call->ctx, call->values[0].obj, NULL);
}

/* ---------------------------------------------------------------- SRQs */

#define MAX_SGE 31 /* of the largest WQE, 512 bytes */

struct srq_size {
	uint32_t n, log_stride;
};

/* The kernel's sizes: one entry more than asked for, and both numbers up to powers of two. */
static struct srq_size
srq_size(uint32_t max_wr, uint32_t max_sge)
{
	struct srq_size size = {.n = 1, .log_stride = 5};

	while (size.n < max_wr + 1)
		size.n *= 2;
	while ((1u << size.log_stride) < 16 + 16 * max_sge)
		size.log_stride++;
	return size;
}

static int
check_srq(struct uverbs_call *call, const struct mlx5_ib_create_srq *req)
{
	const struct softhca_config *cfg = call->ctx->dev->cfg;
	uint32_t max_wr = call_in_u32(call, UVERBS_ATTR_CREATE_SRQ_MAX_WR);
	uint32_t max_sge = call_in_u32(call, UVERBS_ATTR_CREATE_SRQ_MAX_SGE);
	uint64_t type = call_in_u64(call, UVERBS_ATTR_CREATE_SRQ_TYPE);
	bool xrc = type == IB_UVERBS_SRQT_XRC;
	struct srq_size size;

	if (type != IB_UVERBS_SRQT_BASIC && !xrc) /* matching of tags is not emulated */
		return -EOPNOTSUPP;
	if (call_has(call, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE) != xrc ||
		call_has(call, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE) != xrc)
		return -EINVAL;
	/* libmlx5 asks for as many segments as fit its WQEs, which may be more than a program may. */
	if (max_wr >= cfg->max_qp_wr || max_sge > MAX_SGE ||
		srq_size(max_wr, max_sge).log_stride > srq_size(max_wr, cfg->max_sge).log_stride)
		return -EINVAL;
	if (req->flags != 0 || req->reserved0 != 0 || req->reserved1 != 0 ||
		req->buf_addr % 64 != 0 || req->db_addr % 8 != 0)
		return -EINVAL;
	size = srq_size(max_wr, max_sge);
	if (!memory_is_mapped(req->buf_addr, (uint64_t)size.n << size.log_stride, true) ||
		!memory_is_mapped(req->db_addr, 4, true))
		return -EFAULT;
	return 0;
}

static int
make_srq(struct uverbs_call *call, struct object_srq *srq, const struct mlx5_ib_create_srq *req)
{
	struct srq_size size = srq_size(srq->max_wr, srq->max_sge);
	const struct softhca_srq_attr attr = {
		.pdn = srq->pd->pdn,
		.buf = (void *)(uintptr_t)req->buf_addr,
		.dbrec = (_Atomic uint32_t *)(uintptr_t)req->db_addr,
		.n_wqe = size.n,
		.log_stride = size.log_stride,
		.cq = srq->cq != NULL ? srq->cq->cq : NULL,
		.xrcdn = srq->xrcd != NULL ? xrc_domain_number(srq->xrcd->domain) : 0,
		.uidx = req->uidx,
		.event = &srq->event,
	};

	srq->max_wr = size.n - 1;
	return softhca_srq_create(call->ctx->dev, &attr, &srq->srq);
}

static int
answer_srq(struct uverbs_call *call, const struct object_srq *srq)
{
	struct mlx5_ib_create_srq_resp mlx5 = {.srqn = softhca_srq_number(srq->srq)};
	int rc;

	call_attr(call, UVERBS_ATTR_CREATE_SRQ_HANDLE)->data = srq->obj.handle;
	rc = call_out(call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &srq->max_wr, sizeof(srq->max_wr));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &srq->max_sge,
			sizeof(srq->max_sge));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, &mlx5.srqn,
			sizeof(mlx5.srqn));
	return rc != 0 ? rc : call_out(call, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
}

static int
create_srq(struct uverbs_call *call)
{
	const struct mlx5_ib_create_srq *req = call_in(call, UVERBS_ATTR_UHW_IN);
	struct event_file *async = NULL;
	struct object_srq *srq;
	int rc = check_srq(call, req);

	if (rc != 0)
		return rc;
	if (call_has(call, UVERBS_ATTR_CREATE_SRQ_EVENT_FD)) {
		async = ctx_find_file(call->ctx,
			call_attr(call, UVERBS_ATTR_CREATE_SRQ_EVENT_FD)->data, true);
		if (async == NULL)
			return -EBADF;
	}
	rc = object_create(call->ctx, OBJ_SRQ, sizeof(*srq), &srq);
	if (rc != 0)
		return rc;
	srq->pd = (void *)call_attr(call, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE)->obj;
	srq->cq = (void *)call_attr(call, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE)->obj;
	srq->xrcd = (void *)call_attr(call, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE)->obj;
	srq->max_wr = call_in_u32(call, UVERBS_ATTR_CREATE_SRQ_MAX_WR);
	srq->max_sge = call_in_u32(call, UVERBS_ATTR_CREATE_SRQ_MAX_SGE);
	srq->event.element = call_in_u64(call, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE);
	srq->event.async = event_file_get(async);
	rc = make_srq(call, srq, req);
	if (rc != 0) {
		event_file_put(srq->event.async);
		object_forget(call->ctx, &srq->obj);
		return rc;
	}
	object_use(&srq->pd->obj);
	if (srq->cq != NULL)
		object_use(&srq->cq->obj);
	if (srq->xrcd != NULL)
		object_use(&srq->xrcd->obj);
	rc = answer_srq(call, srq);
	if (rc != 0)
		(void)object_destroy(call->ctx, &srq->obj, NULL);
	return rc;
}

static int
destroy_srq(struct uverbs_call *call)
{
	struct object *obj = call_attr(call, UVERBS_ATTR_DESTROY_SRQ_HANDLE)->obj;
	struct ib_uverbs_destroy_srq_resp resp = {0};
	struct object_events events = {0};
	int rc = object_destroy(call->ctx, obj, &events);

	if (rc != 0)
		return rc;
	resp.events_reported = events.async_read;
	return call_out(call, UVERBS_ATTR_DESTROY_SRQ_RESP, &resp, sizeof(resp));
}

int
uverbs_modify_srq(struct uverbs_call *call)
{
	enum {
		LIMIT = 2
	}; /* IBV_SRQ_LIMIT */
	const struct ib_uverbs_modify_srq *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct object_srq *srq = object_find(call->ctx, OBJ_SRQ, req->srq_handle);

	if (srq == NULL)
		return -EINVAL;
	/* mlx5 does not resize: its driver answers EINVAL. */
	if ((req->attr_mask & ~(uint32_t)LIMIT) != 0)
		return -EINVAL;
	return (req->attr_mask & LIMIT) != 0 ? softhca_srq_arm(srq->srq, req->srq_limit) : 0;
}

int
uverbs_query_srq(struct uverbs_call *call)
{
	const struct ib_uverbs_query_srq *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct object_srq *srq = object_find(call->ctx, OBJ_SRQ, req->srq_handle);
	struct ib_uverbs_query_srq_resp resp;

	if (srq == NULL)
		return -EINVAL;
	resp = (struct ib_uverbs_query_srq_resp){
		.max_wr = srq->max_wr,
		.max_sge = srq->max_sge,
		.srq_limit = softhca_srq_limit(srq->srq),
	};
	return call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

static const struct attr_spec close_xrcd_attrs[] = {
	{UVERBS_ATTR_DESTROY_XRCD_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_XRCD},
};
static const struct attr_spec create_srq_attrs[] = {
	{UVERBS_ATTR_CREATE_SRQ_HANDLE, ATTR_NEW_OBJ, ATTR_REQUIRED},
	{UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_PD},
	{UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, ATTR_OBJ, ATTR_OPTIONAL, .type = OBJ_XRCD},
	{UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, ATTR_OBJ, ATTR_OPTIONAL, .type = OBJ_CQ},
	{UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{UVERBS_ATTR_CREATE_SRQ_MAX_WR, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{UVERBS_ATTR_CREATE_SRQ_MAX_SGE, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{UVERBS_ATTR_CREATE_SRQ_LIMIT, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{UVERBS_ATTR_CREATE_SRQ_TYPE, ATTR_IN, ATTR_REQUIRED, 1, 8},
	{UVERBS_ATTR_CREATE_SRQ_EVENT_FD, ATTR_FD, ATTR_OPTIONAL},
	{UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, ATTR_OUT, ATTR_REQUIRED, 4},
	{UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, ATTR_OUT, ATTR_REQUIRED, 4},
	{UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, ATTR_OUT, ATTR_OPTIONAL, 4},
	{UVERBS_ATTR_UHW_IN, ATTR_IN, ATTR_REQUIRED, offsetof(struct mlx5_ib_create_srq, uidx),
		sizeof(struct mlx5_ib_create_srq)},
	{UVERBS_ATTR_UHW_OUT, ATTR_OUT, ATTR_REQUIRED, 4},
};
static const struct attr_spec destroy_srq_attrs[] = {
	{UVERBS_ATTR_DESTROY_SRQ_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_SRQ},
	{UVERBS_ATTR_DESTROY_SRQ_RESP, ATTR_OUT, ATTR_REQUIRED,
		sizeof(struct ib_uverbs_destroy_srq_resp)},
};

const struct uverbs_method srq_methods[] = {
	{UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY, false, close_xrcd, close_xrcd_attrs,
		ARRAY_SIZE(close_xrcd_attrs)},
	{UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, false, create_srq, create_srq_attrs,
		ARRAY_SIZE(create_srq_attrs)},
	{UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, false, destroy_srq, destroy_srq_attrs,
		ARRAY_SIZE(destroy_srq_attrs)},
};
const uint32_t n_srq_methods = ARRAY_SIZE(srq_methods);
