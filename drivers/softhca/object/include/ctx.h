/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A context: one open of the character device. The kernel's struct for it is ib_uverbs_file.
 *
 *   struct softhca_ctx
 *     +- a memfd: the program's descriptor refers to it, and the program maps it:
 *     |      5 MiB    page with the running clock
 *     |      7 MiB    page that relates that clock to wall-clock time
 *     |      8 MiB    device memory
 *     |     16 MiB    UAR pages (doorbells)
 *     +- objects, by handle
 *     +- event files
 *
 * ctx->lock protects the members that follow it: a context runs one uverbs call at a time.
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
/* The first page of the UAR range is unused: number 0 means no page. */
#define CTX_UAR_OFFSET (16 << 20)
#define CTX_BAR_LEN    (CTX_MAX_UARS * CTX_PAGE)
#define CTX_MEMFD_NAME "softhca"
/*
 * The type of a subscription to one event of a port: the port has become active (up) or has gone
 * down.
 */
#define CTX_PORT_EVENT(port, up) (DEVX_EVENT_PORT | (uint32_t)(port) << 8 | (uint32_t)(up) << 16)

struct dm_pool;
struct object;
struct resource;

struct softhca_ctx {
	struct softhca_dev *dev;
	dev_t st_dev; /* of the memfd: st_dev and st_ino identify the descriptors of this context */
	ino_t st_ino;

	/* Protected by the lock of the list of contexts: contexts.c. */
	struct softhca_ctx *next;
	uint32_t refs;
	/*
	 * Used while closed contexts are looked for: the program has a descriptor of this context.
	 */
	bool seen;

	pthread_mutex_t lock;
	bool dead;              /* fork() left this context to the parent: calls return EIO */
	bool opened;            /* GET_CONTEXT has been called */
	struct resource *shown; /* entry for rdma(8), set after GET_CONTEXT; or NULL */
	/* port of the bond that the next QP gets, advanced by each QP: lag_next_port() */
	uint32_t tx_port;
	uint8_t *bar;   /* device's mapping of the UAR pages */
	uint8_t *clock; /* device's mapping of the page with the running clock */
	uint8_t *dm;    /* device's mapping of device memory */
	struct dm_pool *dm_pool;
	uint8_t uar_used[CTX_MAX_UARS / 8];
	struct object **objects; /* objects, indexed by handle; no object has handle 0 */
	uint32_t n_objects, next_handle;
	struct event_file **files;
	uint32_t n_files;
	/* subscriptions to events of the adapter's ports, CTX_PORT_EVENT() */
	struct event_source events;
};

/*
 * Called after GET_CONTEXT. From now on rdma(8) shows the context. The caller holds the context's
 * lock.
 */
void ctx_show(struct softhca_ctx *ctx);

#endif
