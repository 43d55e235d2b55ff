/* SPDX-License-Identifier: BSD-3-Clause */
/* The ioctl: finds the method, checks each attribute, calls the handler, and writes new handles. */
#include "ioctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "call.h"
#include "copy.h"
#include "fault.h"
#include "fork_lock.h"

/* ---------------------------------------------------------------- attributes */

static bool
all_zero(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

/*
 * Copies an input into a buffer of at least spec->len bytes and fills the rest of the buffer with
 * zeros.
 */
static int
take_input(const struct attr_spec *spec, const struct ib_uverbs_attr *attr, struct attr_value *v)
{
	size_t known = spec->len == ATTR_ANY_LEN ? attr->len : spec->len;
	size_t room = attr->len > known ? attr->len : known;

	v->bytes = calloc(1, room < 8 ? 8 : room);
	if (v->bytes == NULL)
		return -ENOMEM;
	v->len = attr->len;
	if (attr->len <= sizeof(attr->data)) {
		memcpy(v->bytes, &attr->data, attr->len);
	} else {
		int rc = copy_in(v->bytes, attr->data, attr->len);

		if (rc != 0)
			return rc;
	}
	if (attr->len > known && !all_zero(v->bytes + known, attr->len - known))
		return -EOPNOTSUPP;
	return 0;
}

static int
take_attr(struct uverbs_call *call, const struct attr_spec *spec, const struct ib_uverbs_attr *attr,
	struct attr_value *v)
{
	if (v->present || (spec->kind != ATTR_ENUM && attr->attr_data.reserved != 0))
		return -EINVAL;
	v->present = true;
	v->slot = attr - call->attrs;
	v->data = attr->data;
	switch (spec->kind) {
	case ATTR_IN:
		return attr->len < spec->min_len ? -EINVAL : take_input(spec, attr, v);
	case ATTR_ENUM:
		if (attr->attr_data.enum_data.elem_id >= spec->len)
			return -EOPNOTSUPP;
		v->data = attr->attr_data.enum_data.elem_id;
		return attr->len != 0 || attr->attr_data.enum_data.reserved != 0 ? -EINVAL : 0;
	case ATTR_OUT:
		v->len = attr->len;
		return attr->len < spec->min_len ? -EINVAL : 0;
	case ATTR_OBJ:
		if (attr->len != 0 || attr->data > UINT32_MAX)
			return -EINVAL;
		v->obj = object_find(call->ctx, spec->cls, attr->data);
		return v->obj == NULL ? -ENOENT : 0;
	case ATTR_FD:
		if (attr->len != 0)
			return -EINVAL;
		return attr->data_s64 < 0 || attr->data_s64 > INT32_MAX ? -EBADF : 0;
	default:
		return attr->len != 0 ? -EINVAL : 0;
	}
}

static int
take_attrs(struct uverbs_call *call, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct ib_uverbs_attr *attr = &call->attrs[i];
		uint32_t s = 0;
		int rc;

		while (s < call->n_specs && call->specs[s].id != attr->attr_id)
			s++;
		if (s == call->n_specs) {
			if ((attr->flags & UVERBS_ATTR_F_MANDATORY) != 0)
				return -EPROTONOSUPPORT;
			continue;
		}
		rc = take_attr(call, &call->specs[s], attr, &call->values[s]);
		if (rc != 0)
			return rc;
	}
	for (uint32_t s = 0; s < call->n_specs; s++) {
		if (call->values[s].present)
			continue;
		if (!call->specs[s].optional)
			return -EINVAL;
		if (call->specs[s].kind == ATTR_IN) {
			uint16_t len = call->specs[s].len;

			call->values[s].bytes = calloc(1, len == ATTR_ANY_LEN ? 8 : len + 8);
			if (call->values[s].bytes == NULL)
				return -ENOMEM;
		}
	}
	return 0;
}

/* Writes new handles and descriptors into the program's attributes. */
static int
give_handles(struct uverbs_call *call)
{
	for (uint32_t s = 0; s < call->n_specs; s++) {
		struct attr_value *v = &call->values[s];
		enum attr_kind kind = call->specs[s].kind;
		int rc;

		if (!v->present || (kind != ATTR_NEW_OBJ && kind != ATTR_NEW_FD))
			continue;
		rc = copy_out((uintptr_t)&call->user->attrs[v->slot].data, &v->data,
			sizeof(v->data));
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* ---------------------------------------------------------------- the call */

static bool
is_devx(uint16_t object)
{
	return object == MLX5_IB_OBJECT_DEVX || object == MLX5_IB_OBJECT_DEVX_OBJ ||
	       object == MLX5_IB_OBJECT_DEVX_UMEM || object == MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD ||
	       object == MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD;
}

static const struct uverbs_method *
find_method(const struct softhca_config *cfg, uint16_t object, uint16_t method)
{
	const struct object_class *const *classes;
	uint32_t n;

	if (cfg->devx == 0 && is_devx(object))
		return NULL;
	classes = object_classes(&n);
	for (uint32_t c = 0; c < n; c++) {
		const struct object_class *cls = classes[c];

		for (uint32_t i = 0; i < cls->n_methods; i++)
			if (cls->methods[i].object == object && cls->methods[i].method == method)
				return &cls->methods[i];
	}
	return NULL;
}

/*
 * Returns the opcode of the firmware command in a call, which is its first 16 bits, or 0 if the
 * call has no command.
 */
static uint16_t
firmware_opcode(struct uverbs_call *call, const struct uverbs_method *method)
{
	const uint8_t *in;

	if (method->firmware == 0)
		return 0;
	in = call_in(call, method->firmware);
	return (uint16_t)(in[0] << 8 | in[1]);
}

/* Returns 0, or the -errno with which a fault on demand refuses this call. */
static int
refused(struct uverbs_call *call, const struct uverbs_method *method)
{
	bool is_write = method->object == UVERBS_OBJECT_DEVICE &&
			method->method == UVERBS_METHOD_INVOKE_WRITE;
	const struct fault_call asked = {method->object, method->method,
		firmware_opcode(call, method),
		is_write ? (int64_t)call_in_u64(call, UVERBS_ATTR_WRITE_CMD) : -1};

	fault_look(call->ctx->dev);
	return fault_refuses(call->ctx->dev, &asked);
}

/*
 * Frees the copies of the inputs. A firmware command is erased before, because it may contain a key
 * or a credential.
 */
static void
free_inputs(struct uverbs_call *call, const struct uverbs_method *method)
{
	for (uint32_t s = 0; s < call->n_specs; s++) {
		const struct attr_value *v = &call->values[s];

		if (method->firmware != 0 && v->bytes != NULL)
			explicit_bzero(v->bytes, v->len);
		free(v->bytes);
	}
}

static int
handle(struct uverbs_call *call, const struct uverbs_method *method, uint32_t n_attrs)
{
	int rc;

	fork_lock(&call->ctx->lock);
	if (call->ctx->dead && !method->after_fork)
		rc = -EIO;
	else if (!call->ctx->opened && !method->before_open)
		rc = -EINVAL;
	else
		rc = take_attrs(call, n_attrs);
	if (rc == 0 && !call->ctx->dead && fault_watches(WATCH_CALLS))
		rc = refused(call, method);
	if (rc == 0)
		rc = method->handler(call);
	if (rc == 0)
		rc = give_handles(call);
	fork_unlock(&call->ctx->lock);
	free_inputs(call, method);
	return rc;
}

int
uverbs_ioctl(struct softhca_ctx *ctx, void *user)
{
	struct uverbs_call call = {.ctx = ctx, .user = user};
	const struct uverbs_method *method;
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr *attrs;
	int rc;

	rc = copy_in(&hdr, (uintptr_t)user, sizeof(hdr));
	if (rc != 0)
		return rc;
	if (hdr.length > CTX_PAGE ||
		hdr.length != sizeof(hdr) + hdr.num_attrs * sizeof(hdr.attrs[0]))
		return -EINVAL;
	if (hdr.reserved1 != 0 || hdr.reserved2 != 0)
		return -EPROTONOSUPPORT;
	if (hdr.driver_id != RDMA_DRIVER_MLX5)
		return -EINVAL;
	method = find_method(ctx->dev->cfg, hdr.object_id, hdr.method_id);
	if (method == NULL)
		return -EPROTONOSUPPORT;
	attrs = calloc(hdr.num_attrs + 1, sizeof(*attrs));
	if (attrs == NULL)
		return -ENOMEM;
	rc = copy_in(attrs, (uintptr_t)((struct ib_uverbs_ioctl_hdr *)user)->attrs,
		hdr.num_attrs * sizeof(*attrs));
	if (rc == 0) {
		call.attrs = attrs;
		call.specs = method->specs;
		call.n_specs = method->n_specs;
		rc = handle(&call, method, hdr.num_attrs);
	}
	free(attrs);
	return rc;
}
