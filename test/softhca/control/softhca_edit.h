/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes one attribute of calls of stock libibverbs and libmlx5 before the calls reach the
 * adapter. The program defines ioctl(2) for libibverbs, exports it (export_dynamic), and passes
 * each call on to the adapter.
 *
 *   refuses(call, arg, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, 0, edits, n):
 *        libmlx5's unchanged call succeeds. With each edit the call fails with the edit's errno,
 *        and creates no object.
 *
 * Expected values: the kernel's drivers/infiniband/core/uverbs_*.c and hw/mlx5/{qp,cq,srq}.c.
 */
#ifndef SOFTHCA_EDIT_H
#define SOFTHCA_EDIT_H

#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl.h>

#include "check.h"

#define EDIT_ATTRS 32

enum edit_how {
	SET,  /* writes `width` bytes at offset `at` of the attribute */
	PLUS, /* adds to the number of `width` bytes at offset `at` of the attribute */
	DROP, /* removes the attribute */
	/* sets or adds the attribute: a handle, a file descriptor, or a number of `width` bytes */
	HAS,
	LEN, /* sets the attribute's length */
	OUT, /* sets the address in the attribute */
};

struct edit {
	enum edit_how how;
	uint16_t attr, at;
	uint8_t width;
	uint64_t value;
	int err;
};

#define SET_IN(attr, type, field, value, err)                                                      \
	{                                                                                          \
		SET, attr, offsetof(type, field), sizeof(((type *)0)->field), value, err           \
	}
#define PLUS_IN(attr, type, field, value, err)                                                     \
	{                                                                                          \
		PLUS, attr, offsetof(type, field), sizeof(((type *)0)->field), value, err          \
	}

struct edit_call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[EDIT_ATTRS];
};

/*
 * The edit, and the calls to which the edit applies: calls of this method of this object. write_cmd
 * is compared only if the method is INVOKE_WRITE: then the number of the write() command must also
 * be equal.
 */
static struct {
	const struct edit *edit;
	uint16_t object, method;
	uint64_t write_cmd;
	unsigned int done;
	/*
	 * These two fields are used even if no edit is set. spy: the id of an attribute. spied: the
	 * value of this attribute in the last call, for example a handle that libibverbs does not
	 * show.
	 */
	uint16_t spy;
	uint64_t spied;
	/*
	 * Used even if no edit is set: the function is called with a copy of each call, and may
	 * change the copy. The copy is passed on.
	 */
	void (*look)(int fd, struct edit_call *call);
} editor;

static int
edit_pass(int fd, unsigned long request, void *arg)
{
	static int (*real)(int, unsigned long, ...);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "ioctl");
	return real(fd, request, arg);
}

/*
 * Sends a copy of a call to the adapter, and copies the answer back: handles, file descriptors and
 * written bytes.
 */
static int
edit_pass_copy(int fd, struct ib_uverbs_ioctl_hdr *hdr, struct edit_call *c)
{
	int rc = edit_pass(fd, RDMA_VERBS_IOCTL, c);

	for (unsigned int i = 0; i < hdr->num_attrs; i++) {
		hdr->attrs[i].data = c->attrs[i].data;
		hdr->attrs[i].flags = c->attrs[i].flags;
	}
	return rc;
}

static struct ib_uverbs_attr *
edit_find(struct edit_call *c, uint16_t id)
{
	for (unsigned int i = 0; i < c->hdr.num_attrs; i++)
		if (c->attrs[i].attr_id == id)
			return &c->attrs[i];
	return NULL;
}

static bool
edit_is_of(struct edit_call *c)
{
	struct ib_uverbs_attr *cmd;

	if (c->hdr.object_id != editor.object || c->hdr.method_id != editor.method)
		return false;
	if (editor.object != UVERBS_OBJECT_DEVICE || editor.method != UVERBS_METHOD_INVOKE_WRITE)
		return true;
	cmd = edit_find(c, UVERBS_ATTR_WRITE_CMD);
	return cmd != NULL && cmd->data == editor.write_cmd;
}

/*
 * Changes bytes of an attribute. Up to 8 bytes are stored in the attribute itself; longer data
 * belong to the caller, so they are copied first.
 */
static void
edit_bytes(struct ib_uverbs_attr *attr, const struct edit *e, uint8_t copy[512])
{
	uint8_t *bytes = (uint8_t *)&attr->data;
	uint64_t v = 0;

	if (attr->len > 8) {
		CHECK(attr->len <= 512);
		memcpy(copy, (void *)(uintptr_t)attr->data, attr->len);
		attr->data = (uintptr_t)copy;
		bytes = copy;
	}
	CHECK(e->at + e->width <= attr->len);
	if (e->how == PLUS)
		memcpy(&v, bytes + e->at, e->width);
	v += e->value;
	memcpy(bytes + e->at, &v, e->width);
}

static void
edit_apply(struct edit_call *c, const struct edit *e, uint8_t copy[512])
{
	struct ib_uverbs_attr *attr = edit_find(c, e->attr);

	if (e->how == HAS && attr == NULL) {
		CHECK(c->hdr.num_attrs < EDIT_ATTRS);
		attr = &c->attrs[c->hdr.num_attrs++];
		*attr = (struct ib_uverbs_attr){.attr_id = e->attr,
			.len = e->width,
			.flags = UVERBS_ATTR_F_MANDATORY};
		c->hdr.length += sizeof(*attr);
	}
	CHECK(attr != NULL);
	switch (e->how) {
	case DROP:
		*attr = c->attrs[--c->hdr.num_attrs];
		c->hdr.length -= sizeof(*attr);
		break;
	case HAS:
	case OUT:
		attr->data = e->value;
		break;
	case LEN:
		attr->len = (uint16_t)e->value;
		break;
	default:
		edit_bytes(attr, e, copy);
	}
	editor.done++;
}

__attribute__((visibility("default"))) int
ioctl(int fd, unsigned long request, ...)
{
	struct ib_uverbs_ioctl_hdr *hdr;
	uint8_t copy[512];
	struct edit_call c;
	va_list ap;

	va_start(ap, request);
	hdr = va_arg(ap, void *);
	va_end(ap);
	if ((editor.edit == NULL && editor.spy == 0 && editor.look == NULL) ||
		request != RDMA_VERBS_IOCTL || hdr->num_attrs > EDIT_ATTRS)
		return edit_pass(fd, request, hdr);
	memcpy(&c, hdr, hdr->length);
	if (editor.look != NULL) {
		editor.look(fd, &c);
		return edit_pass_copy(fd, hdr, &c);
	}
	if (!edit_is_of(&c))
		return edit_pass(fd, request, hdr);
	if (editor.spy != 0) {
		CHECK(edit_find(&c, editor.spy) != NULL);
		editor.spied = edit_find(&c, editor.spy)->data;
		return edit_pass(fd, request, hdr);
	}
	edit_apply(&c, editor.edit, copy);
	return edit_pass(fd, request, &c);
}

/*
 * Tests the edits on `call`. `call` returns 0 or the errno; if it succeeds, it destroys the objects
 * that it has created.
 */
static inline void
refuses(int (*call)(void *), void *arg, uint16_t object, uint16_t method, uint64_t write_cmd,
	const struct edit *edits, size_t n)
{
	CHECK_EQ(call(arg), 0);
	for (size_t i = 0; i < n; i++) {
		int err;

		editor.edit = &edits[i];
		editor.object = object;
		editor.method = method;
		editor.write_cmd = write_cmd;
		editor.done = 0;
		err = call(arg);
		editor.edit = NULL;
		CHECK(editor.done != 0);
		if (err != edits[i].err) {
			fprintf(stderr, "object 0x%x, method 0x%x, edit %zu: %d, not %d\n", object,
				method, i, err, edits[i].err);
			exit(1);
		}
	}
	CHECK_EQ(call(arg), 0);
}

#endif
