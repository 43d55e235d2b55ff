/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions by which a handler reads attributes and writes answers. */
#include "call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctx_files.h"
#include "copy.h"

struct attr_value *
call_attr(struct uverbs_call *call, uint16_t id)
{
	for (uint32_t i = 0; i < call->n_specs; i++)
		if (call->specs[i].id == id)
			return &call->values[i];
	abort(); /* the handler has a bug: it may use only the attributes in its method's list */
}

bool
call_has(struct uverbs_call *call, uint16_t id)
{
	return call_attr(call, id)->present;
}

void *
call_obj(struct uverbs_call *call, uint16_t id)
{
	return call_attr(call, id)->obj;
}

const void *
call_in(struct uverbs_call *call, uint16_t id)
{
	return call_attr(call, id)->bytes;
}

uint32_t
call_in_u32(struct uverbs_call *call, uint16_t id)
{
	uint32_t v;

	memcpy(&v, call_in(call, id), sizeof(v));
	return v;
}

uint64_t
call_in_u64(struct uverbs_call *call, uint16_t id)
{
	uint64_t v;

	memcpy(&v, call_in(call, id), sizeof(v));
	return v;
}

int
call_event_file(struct uverbs_call *call, uint16_t id, enum event_kind kind,
	struct event_file **file)
{
	*file = NULL;
	if (!call_has(call, id))
		return 0;
	*file = ctx_find_file(call->ctx, call_attr(call, id)->data, kind);
	return *file != NULL ? 0 : -EBADF;
}

int
call_out(struct uverbs_call *call, uint16_t id, const void *src, size_t len)
{
	static const uint8_t zeros[256];
	struct attr_value *v = call_attr(call, id);
	uint16_t flags;
	int rc;

	if (!v->present)
		return 0;
	if (len > v->len)
		len = v->len;
	rc = copy_out(v->data, src, len);
	while (rc == 0 && len < v->len) {
		size_t n = v->len - len < sizeof(zeros) ? v->len - len : sizeof(zeros);

		rc = copy_out(v->data + len, zeros, n);
		len += n;
	}
	if (rc != 0)
		return rc;
	flags = call->attrs[v->slot].flags | UVERBS_ATTR_F_VALID_OUTPUT;
	return copy_out((uintptr_t)&call->user->attrs[v->slot].flags, &flags, sizeof(flags));
}

int
call_destroy(struct uverbs_call *call)
{
	return object_destroy(call->ctx, call->values[0].obj, NULL);
}
