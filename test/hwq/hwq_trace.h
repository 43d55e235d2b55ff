/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records the firmware commands of the program. The header defines ioctl(2), which libmlx5 calls.
 * So it sees the DEVX commands that create or query objects, and can refuse each of them with any
 * errno or status. hwq is linked statically. The linker wraps its calloc(3) and one of its verbs
 * calls (ld(1), --wrap), so these calls can fail, too. Include this header once in a program.
 */
#ifndef HWQ_TRACE_H
#define HWQ_TRACE_H

#include <dlfcn.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl.h>

#include "hwq_emu.h"

#define CMD_MAX  512
#define CMDS_MAX 16

/* -------------------------------------------------------------- between libmlx5 and the adapter */

static struct {
	bool on; /* true: count and record commands */
	unsigned int n, n_made, n_destroyed;
	uint8_t cmd[CMDS_MAX][CMD_MAX];
	uint16_t len[CMDS_MAX];
	uint8_t general[CMD_MAX]; /* the last command without an object */
	uint16_t general_len;
	uint8_t query[CMD_MAX]; /* the last query */
	uint16_t query_len;
	/*
	 * what happens to the next query: it is refused with this errno, or with EREMOTEIO and
	 * `status`; or `spoil` replaces the byte of its answer at offset spoil_at
	 */
	int query_errno;
	unsigned int spoil_at; /* 0: no byte is replaced */
	uint8_t spoil;
	/* number of the creation that is refused, or of the destruction with `destroys`; 0: none */
	unsigned int refuse_at;
	bool destroys;
	int refuse_errno;
	uint8_t status; /* status in the answer, if the errno is EREMOTEIO */
} trace;

static const struct ib_uverbs_attr *
attr_find(const struct ib_uverbs_ioctl_hdr *hdr, uint16_t id)
{
	for (unsigned int i = 0; i < hdr->num_attrs; i++)
		if (hdr->attrs[i].attr_id == id)
			return &hdr->attrs[i];
	EMU_DIE("a DEVX call without attribute 0x%x", id);
}

static void
record(const struct ib_uverbs_ioctl_hdr *hdr, uint16_t id, uint8_t *cmd, uint16_t *len)
{
	const struct ib_uverbs_attr *in = attr_find(hdr, id);

	if (in->len > CMD_MAX)
		EMU_DIE("a command of %u bytes", in->len);
	*len = in->len;
	memcpy(cmd, in->len <= 8 ? (const void *)&in->data : (const void *)(uintptr_t)in->data,
		in->len);
}

/* Returns true if the command is refused, and sets errno. */
static bool
refused(const struct ib_uverbs_ioctl_hdr *hdr, bool destroys)
{
	const struct ib_uverbs_attr *out;

	if (trace.destroys != destroys || trace.refuse_at == 0)
		return false;
	if ((destroys ? trace.n_destroyed : trace.n_made) + 1 != trace.refuse_at)
		return false;
	trace.refuse_at = 0;
	errno = trace.refuse_errno;
	if (errno != EREMOTEIO)
		return true;
	out = attr_find(hdr, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT);
	*(uint8_t *)(uintptr_t)out->data = trace.status;
	return true;
}

static int
pass(int fd, unsigned long request, void *arg)
{
	static int (*next)(int, unsigned long, ...);

	if (next == NULL)
		next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	return next(fd, request, arg);
}

/* Handles a query. */
static int
query(int fd, unsigned long request, struct ib_uverbs_ioctl_hdr *hdr)
{
	uint8_t *out =
		(uint8_t *)(uintptr_t)attr_find(hdr, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT)->data;
	int ret;

	record(hdr, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, trace.query, &trace.query_len);
	if (trace.query_errno != 0) {
		errno = trace.query_errno;
		*out = trace.status;
		trace.query_errno = 0;
		return -1;
	}
	ret = pass(fd, request, hdr);
	if (ret == 0 && trace.spoil_at != 0)
		out[trace.spoil_at] = trace.spoil;
	trace.spoil_at = 0;
	return ret;
}

__attribute__((visibility("default"))) int
ioctl(int fd, unsigned long request, ...)
{
	struct ib_uverbs_ioctl_hdr *hdr;
	bool makes, destroys;
	va_list ap;
	int ret;

	va_start(ap, request);
	hdr = va_arg(ap, void *);
	va_end(ap);
	if (trace.on && request == RDMA_VERBS_IOCTL && hdr->object_id == MLX5_IB_OBJECT_DEVX &&
		hdr->method_id == MLX5_IB_METHOD_DEVX_OTHER)
		record(hdr, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, trace.general, &trace.general_len);
	if (!trace.on || request != RDMA_VERBS_IOCTL || hdr->object_id != MLX5_IB_OBJECT_DEVX_OBJ)
		return pass(fd, request, hdr);
	makes = hdr->method_id == MLX5_IB_METHOD_DEVX_OBJ_CREATE;
	destroys = hdr->method_id == MLX5_IB_METHOD_DEVX_OBJ_DESTROY;
	if ((makes || destroys) && refused(hdr, destroys))
		return -1;
	if (makes)
		record(hdr, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, trace.cmd[trace.n_made % CMDS_MAX],
			&trace.len[trace.n_made % CMDS_MAX]);
	if (hdr->method_id == MLX5_IB_METHOD_DEVX_OBJ_QUERY)
		return query(fd, request, hdr);
	ret = pass(fd, request, hdr);
	if (ret == 0) {
		trace.n_made += makes;
		trace.n_destroyed += destroys;
	}
	return ret;
}

static void
trace_start(void)
{
	memset(&trace, 0, sizeof(trace));
	trace.on = true;
}

/* Number of allocations so far, and number of the allocation that fails; 0: none. */
static unsigned int n_callocs, fail_calloc_at;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

/*
 * The function has default visibility, because the linker also uses it for the sanitizers'
 * libraries.
 */
__attribute__((visibility("default"))) void *
__wrap_calloc(size_t n, size_t size)
{
	return ++n_callocs == fail_calloc_at ? NULL : __real_calloc(n, size);
}

/*
 * True: the call that returns the number of a PD must fail. No firmware command returns this
 * number, so the fields of `trace` cannot make the call fail.
 */
static bool fail_pdn;

int __real_hwq_verbs_pdn(struct ibv_pd *pd, uint32_t *pdn);
int __wrap_hwq_verbs_pdn(struct ibv_pd *pd, uint32_t *pdn);

int
__wrap_hwq_verbs_pdn(struct ibv_pd *pd, uint32_t *pdn)
{
	return fail_pdn ? -EPERM : __real_hwq_verbs_pdn(pd, pdn);
}

#endif
