/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A context: one open of the character device. The kernel's counterpart is ib_uverbs_file.
 *
 *   struct softhca_ctx
 *     +- a memfd, which the descriptor of the program refers to and which the program maps:
 *     |      5 MiB    page with the running clock
 *     |      7 MiB    page with the relation of that clock to wall-clock time
 *     |      8 MiB    device memory
 *     |     16 MiB    UAR pages (doorbells)
 *     +- objects, by handle
 *     +- event files
 *
 * ctx->lock guards all that is below it in the struct: one uverbs call at a time runs on a context.
 */
#ifndef SOFTHCA_CTX_H
#define SOFTHCA_CTX_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dev.h"
#include "event.h"

#define CTX_PAGE              4096
#define CTX_MAX_UARS          2048
#define CTX_CORE_CLOCK_OFFSET 0x500000 /* (MLX5_IB_MMAP_CORE_CLOCK << 8) pages of 4 KiB */
#define CTX_CLOCK_INFO_OFFSET 0x700000 /* (MLX5_IB_MMAP_CLOCK_INFO << 8) pages of 4 KiB */
#define CTX_DM_OFFSET         0x800000 /* (MLX5_IB_MMAP_DEVICE_MEM << 8) pages of 4 KiB */
/* Page 0 of the UAR range stays unused: 0 is the number of no page. */
#define CTX_UAR_OFFSET (16 << 20)
#define CTX_BAR_LEN    (CTX_MAX_UARS * CTX_PAGE)
#define CTX_MEMFD_NAME "softhca"
/* The type of a subscription to a port that came up, or went down. */
#define CTX_PORT_EVENT(port, up) (DEVX_EVENT_PORT | (uint32_t)(port) << 8 | (uint32_t)(up) << 16)

struct dm_pool;
struct object;
struct resource;

struct softhca_ctx {
	struct softhca_dev *dev;
	dev_t st_dev; /* of the memfd: by its inode a descriptor is known to be this context */
	ino_t st_ino;

	/* Under the lock of the list of contexts: contexts.c. */
	struct softhca_ctx *next;
	uint32_t refs;
	bool seen; /* while closed contexts are looked for: a descriptor of this one was found */

	pthread_mutex_t lock;
	bool dead;              /* fork() left this context to the parent: calls get EIO */
	bool opened;            /* GET_CONTEXT has been called */
	struct resource *shown; /* since then; or NULL */
	uint32_t tx_port;       /* of the bond, counted on with each QP: lag_next_port() */
	uint8_t *bar;           /* the device's mapping of the UAR pages */
	uint8_t *clock;         /* the device's mapping of the page with the running clock */
	uint8_t *dm;            /* the device's mapping of device memory */
	struct dm_pool *dm_pool;
	uint8_t uar_used[CTX_MAX_UARS / 8];
	struct object **objects; /* by handle; no object has handle 0 */
	uint32_t n_objects, next_handle;
	struct event_file **files;
	uint32_t n_files;
	struct event_source events; /* of the adapter: subscriptions to CTX_PORT_EVENT() */
};

/* GET_CONTEXT was called: rdma(8) shows the context from now on. The caller holds its lock. */
void ctx_show(struct softhca_ctx *ctx);

#endif
