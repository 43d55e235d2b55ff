/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers for tests of refused calls: a node, and memory that a refused call may not write. Each
 * call is a call of libmlx5 in which one field was changed to a value that libibverbs and libmlx5
 * never send. The adapter must refuse the call with the kernel's errno, and must create no object.
 * So at the end the test can destroy all objects that the call has named.
 */
#ifndef SOFTHCA_REFUSALS_H
#define SOFTHCA_REFUSALS_H

#include <sys/mman.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "raw_ioctl.h"
#include "softhca_edit.h"
#include "softhca_node.h"

#define N(a)      (sizeof(a) / sizeof((a)[0]))
#define NO_HANDLE 0xffffff
#define PAGE      4096u

#define WRITE(call, w, cmd, edits)                                                                 \
	refuses(call, w, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, cmd, edits, N(edits))
#define EXTENDED(cmd) (IB_USER_VERBS_CMD_FLAG_EXTENDED | (cmd))

/* The objects that calls name, and memory that a refused call may not write. */
struct world {
	struct node n;
	enum kind kind;
	bool streams;
	uint8_t *pages;
	uint64_t xrcd; /* handle of the XRC domain */
	/*
	 * Addresses: memory at `none` cannot be accessed, memory at `ro` is read-only, `last` is
	 * the address of the last 64 accessible bytes.
	 */
	uint64_t none, ro, last;
	struct ibv_qp *qp;
	struct ibv_wq *wq;
};

static inline struct world
world_open(void)
{
	struct world w = {.n = node_open(255)};

	w.pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(w.pages != MAP_FAILED);
	CHECK_EQ(mprotect(w.pages + PAGE, PAGE, PROT_READ), 0);
	CHECK_EQ(mprotect(w.pages + 2 * PAGE, PAGE, PROT_NONE), 0);
	w.last = (uintptr_t)w.pages + PAGE - 64;
	w.ro = (uintptr_t)w.pages + PAGE;
	w.none = (uintptr_t)w.pages + 2 * PAGE;
	editor.object = UVERBS_OBJECT_QP;
	editor.method = UVERBS_METHOD_QP_CREATE;
	editor.spy = UVERBS_ATTR_CREATE_QP_XRCD_HANDLE;
	CHECK(node_may(&w.n, K_XRC_RECV));
	editor.spy = 0;
	w.xrcd = editor.spied;
	return w;
}

static inline void
world_close(struct world *w)
{
	node_close(&w->n);
	CHECK_EQ(munmap(w->pages, 3 * PAGE), 0);
}

static inline bool
is_ethernet(void)
{
	const char *layer = getenv("SOFTHCA_LINK_LAYER");

	return layer == NULL || strcmp(layer, "infiniband") != 0;
}

#endif
