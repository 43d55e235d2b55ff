/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels of DEVX, and subscriptions to events: mlx5dv_devx_create_event_channel(3),
 * mlx5dv_devx_subscribe_devx_event(3), mlx5dv_devx_create_cmd_comp(3).
 *
 * A record is the subscription's cookie and, unless the channel omits data, the entry of the event
 * queue (struct mlx5_eqe of the kernel). In a channel without data, mlx5_ib keeps at most one
 * unread record for each subscription. Here each event makes a record.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "call.h"
#include "ctx_files.h"
#include "devx.h"
#include "devx_srq.h"
#include "raw.h"
#include "uverbs_qp.h"

#define MAX_EVENTS 16 /* maximum of events in one call: MAX_NUM_EVENTS of mlx5_ib */

/* Byte offsets in a record: the cookie, then an entry of an event queue. */
enum {
	EQE = 8,
	EQE_TYPE = EQE + 1,
	EQE_SUBTYPE = EQE + 3,
	EQE_CQ_ERR_CQN = EQE + 32,      /* 32 bits */
	EQE_CQ_ERR_SYNDROME = EQE + 43, /* 1 is overrun */
	EQE_PORT = EQE + 40,            /* port, in the upper half of the byte */
	/* 32 bits: number of a QP, an SRQ, a DCT, or a CQ with completions */
	EQE_NUMBER = EQE + 56,
	EQE_END = EQE + 64
};

enum {
	PORT_WENT_DOWN = 1,
	PORT_CAME_UP = 4
};

static_assert((int)EQE_END == EVENT_RECORD_MAX, "an entry fits a record");

/* ---------------------------------------------------------------- channels */

static int
add_file(struct uverbs_call *call, enum event_kind kind, uint16_t id)
{
	int fd, rc = ctx_add_file(call->ctx, kind, &fd);

	if (rc == 0)
		call_attr(call, id)->data = fd;
	return rc;
}

static int
alloc_events(struct uverbs_call *call)
{
	uint32_t flags = call_in_u32(call, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS);

	if ((flags & ~(uint32_t)MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA) != 0)
		return -EINVAL;
	return add_file(call, flags != 0 ? EVENT_COOKIES : EVENT_DEVX,
		MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE);
}

static int
alloc_answers(struct uverbs_call *call)
{
	return add_file(call, EVENT_ANSWERS, MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE);
}

/* ---------------------------------------------------------------- events and their sources */

/* True if mlx5_ib lets programs subscribe to this event of an object, or of the adapter. */
static bool
type_is_known(uint32_t type, bool of_object)
{
	static const uint8_t of_objects[] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x07, 0x10, 0x11,
		0x12, 0x13, 0x14, 0x18, 0x1c, 0x1d};

	if (!of_object)
		return type == DEVX_EVENT_PORT;
	for (size_t i = 0; i < ARRAY_SIZE(of_objects); i++)
		if (of_objects[i] == type)
			return true;
	return false;
}

/*
 * Returns the object's source of events, and sets *number to the object's number. Returns NULL if
 * the object has no events.
 */
static struct event_source *
source_of(struct object *obj, uint32_t *number)
{
	if (obj->cls == &devx_cq_class) {
		struct object_cq *cq = (struct object_cq *)obj;

		*number = softhca_cq_number(cq->cq);
		return &cq->event;
	}
	if (obj->cls == &devx_srq_class) {
		struct object_srq *srq = (struct object_srq *)obj;

		*number = softhca_srq_number(srq->srq);
		return &srq->event;
	}
	if (obj->cls == &devx_qp_class || obj->cls == &devx_dct_class) {
		struct object_qp *qp = (struct object_qp *)obj;

		*number = softhca_qp_number(qp->qp);
		return &qp->event;
	}
	return NULL;
}

static void
store_be32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

static void
write_event(struct event_subscription *s, uint32_t type, uint32_t number)
{
	s->type = type;
	s->record[EQE_TYPE] = (uint8_t)type;
	if (type != DEVX_EVENT_CQ_ERROR) {
		store_be32(s->record + EQE_NUMBER, number);
		return;
	}
	store_be32(s->record + EQE_CQ_ERR_CQN, number);
	s->record[EQE_CQ_ERR_SYNDROME] = 1;
}

/* ---------------------------------------------------------------- subscribing */

/* Duplicates the program's eventfd, so that the subscription has its own descriptor. */
static int
own_eventfd(struct event_subscription *s, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return -EBADF;
	s->eventfd = copy;
	return 0;
}

/* Returns 0, -EBADF if the descriptor does not exist, or -EINVAL if it is no eventfd. */
static int
check_eventfd(int fd)
{
	char path[32], name[32];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = raw_readlink(path, name, sizeof(name) - 1);
	if (n < 0)
		return -EBADF;
	name[n] = '\0';
	return strcmp(name, "anon_inode:[eventfd]") == 0 ? 0 : -EINVAL;
}

/* Adds a subscription. fd: the program's eventfd, or -1. */
static int
add(struct event_source *src, struct event_subscription s, int fd)
{
	int rc = fd >= 0 ? own_eventfd(&s, fd) : 0;

	if (rc == 0)
		rc = event_source_subscribe(src, &s);
	if (rc != 0 && s.eventfd >= 0)
		close(s.eventfd);
	return rc;
}

/*
 * Subscribes to both events of each port: active and down. Each event of each port needs its own
 * subscription.
 */
static int
add_ports(struct softhca_ctx *ctx, struct event_subscription s, int fd)
{
	int rc = 0;

	s.record[EQE_TYPE] = DEVX_EVENT_PORT;
	for (uint32_t port = 1; port <= ctx->dev->cfg->ports && rc == 0; port++) {
		for (unsigned int up = 0; up < 2 && rc == 0; up++) {
			s.type = CTX_PORT_EVENT(port, up);
			s.record[EQE_SUBTYPE] = up ? PORT_CAME_UP : PORT_WENT_DOWN;
			s.record[EQE_PORT] = (uint8_t)(port << 4);
			rc = add(&ctx->events, s, fd);
		}
	}
	return rc;
}

static int
subscribe_to(struct uverbs_call *call, uint32_t type, const struct event_subscription *what, int fd)
{
	struct object *obj = call_obj(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE);
	struct event_subscription s = *what;
	struct event_source *src;
	uint32_t number;

	if (obj == NULL)
		return add_ports(call->ctx, s, fd);
	src = source_of(obj, &number);
	if (src == NULL)
		return 0;
	write_event(&s, type, number);
	return add(src, s, fd);
}

/*
 * Reads the target of the events from the call: *fd is the program's eventfd, or -1, and *s gets
 * the channel's file and the cookie.
 */
static int
read_target(struct uverbs_call *call, struct event_subscription *s, int *fd)
{
	bool eventfd = call_has(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM);
	uint64_t cookie = call_in_u64(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE);
	struct event_file *file;
	int rc = call_event_file(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, EVENT_COOKIES,
		&file);

	*s = (struct event_subscription){.eventfd = -1, .len = EQE};
	*fd = -1;
	if (rc != 0) {
		rc = call_event_file(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, EVENT_DEVX,
			&file);
		s->len = EQE_END;
	}
	if (rc != 0)
		return rc;
	if (eventfd && call_has(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE))
		return -EINVAL;
	memcpy(s->record, &cookie, sizeof(cookie));
	if (!eventfd) {
		s->file = file;
		return 0;
	}
	*fd = (int)call_in_u32(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM);
	return check_eventfd(*fd);
}

static int
subscribe(struct uverbs_call *call)
{
	const struct attr_value *v =
		call_attr(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST);
	const struct object *obj = call_obj(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE);
	uint16_t types[MAX_EVENTS];
	struct event_subscription s;
	int fd, rc;

	if (obj != NULL && !obj->cls->by_devx)
		return -ENOENT;
	rc = read_target(call, &s, &fd);
	if (rc != 0)
		return rc;
	if (v->len % sizeof(types[0]) != 0 || v->len > sizeof(types))
		return -EINVAL;
	memcpy(types, v->bytes, v->len);
	for (size_t i = 0; i < v->len / sizeof(types[0]); i++)
		if (!type_is_known(types[i], obj != NULL))
			return -EINVAL;
	for (size_t i = 0; i < v->len / sizeof(types[0]) && rc == 0; i++)
		rc = subscribe_to(call, types[i], &s, fd);
	return rc;
}

/* ---------------------------------------------------------------- the table */

static const struct attr_spec events_attrs[] = {
	{MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE, ATTR_NEW_FD, ATTR_REQUIRED},
	{MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, ATTR_IN, ATTR_REQUIRED, 4, 8},
};
static const struct attr_spec answers_attrs[] = {
	{MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE, ATTR_NEW_FD, ATTR_REQUIRED},
};
static const struct attr_spec subscribe_attrs[] = {
	{MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, ATTR_FD, ATTR_REQUIRED},
	{MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, ATTR_OBJ, ATTR_OPTIONAL, .cls = NULL},
	{MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, ATTR_IN, ATTR_REQUIRED, 2, ATTR_ANY_LEN},
	{MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM, ATTR_IN, ATTR_OPTIONAL, 4, 4},
	{MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, ATTR_IN, ATTR_OPTIONAL, 8, 8},
};

static const struct uverbs_method methods[] = {
	{MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC, false,
		alloc_events, events_attrs, ARRAY_SIZE(events_attrs)},
	{MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC, false,
		alloc_answers, answers_attrs, ARRAY_SIZE(answers_attrs)},
	{MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT, false, subscribe,
		subscribe_attrs, ARRAY_SIZE(subscribe_attrs)},
};

const struct object_class devx_event_class = {.name = "DEVX events", CLASS_METHODS(methods)};
