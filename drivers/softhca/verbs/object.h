/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the program holds by handle: contexts, and in each a table of objects.
 *
 *   struct softhca_ctx   one open of the character device
 *     +- memory: a memfd that the program maps; its UAR pages are doorbells
 *     +- objects by handle: each counts the objects that name it, and is busy until none does
 *     +- event files that the program was given
 *
 * All of it is under ctx->lock, one uverbs call at a time, except for creation and the search by
 * inode, which are under a lock of their own. The kernel's counterpart: ib_uverbs_file.
 */
#ifndef SOFTHCA_OBJECT_H
#define SOFTHCA_OBJECT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dev.h"
#include "hca.h"
#include "event.h"

#define CTX_PAGE              4096
#define CTX_MAX_UARS          2048
#define CTX_CORE_CLOCK_OFFSET 0x500000 /* (MLX5_IB_MMAP_CORE_CLOCK << 8) pages of 4 KiB */
#define CTX_CLOCK_INFO_OFFSET 0x700000 /* (MLX5_IB_MMAP_CLOCK_INFO << 8) pages of 4 KiB */
#define CTX_DM_OFFSET         0x800000 /* (MLX5_IB_MMAP_DEVICE_MEM << 8) pages of 4 KiB */
/* Page 0 of the UAR range stays unused, so that page id 0 is never valid. */
#define CTX_UAR_OFFSET (16 << 20)
#define CTX_BAR_LEN    (CTX_MAX_UARS * CTX_PAGE)

enum object_type {
	OBJ_NONE,
	OBJ_ANY = OBJ_NONE, /* in a search */
	OBJ_PD,
	OBJ_UAR,
	OBJ_MR,
	OBJ_MW, /* struct object_mr */
	OBJ_CQ,
	OBJ_QP,
	OBJ_AH,
	OBJ_SRQ,
	OBJ_XRCD,
	OBJ_DM, /* struct object_dm: dm.h */
	OBJ_WQ,
	OBJ_WQ_TABLE,
	OBJ_UMEM,
	/* Those that firmware commands make: object_is_devx(). */
	OBJ_DEVX_CQ,   /* struct object_devx_cq */
	OBJ_DEVX_QP,   /* struct object_devx_qp */
	OBJ_DEVX_MKEY, /* struct object_mr */
	OBJ_DEVX_QPNS, /* struct object_qpns */
	OBJ_DEVX_PSV,
	OBJ_DEVX_DEK,
	OBJ_N_TYPES
};

struct object {
	enum object_type type;
	uint32_t handle;
	uint32_t users; /* objects that name this one */
};

struct object_pd {
	struct object obj;
	uint32_t pdn;
};

struct object_uar {
	struct object obj;
	struct softhca_uar *uar;
	uint32_t page_id;
};

struct object_dm; /* device memory: dm.h */
struct dm_pool;

struct object_mr {
	struct object obj;
	struct object_pd *pd;
	struct object_dm *dm; /* NULL: the program's memory */
	struct softhca_mkey *mkey;
	struct softhca_mkey_attr attr;
};

struct object_psv {
	struct object obj;
	struct object_pd *pd;
	struct softhca_psv *psv;
};

struct object_dek {
	struct object obj;
	struct object_pd *pd;
	struct softhca_dek *dek;
};

struct object_cq {
	struct object obj;
	struct softhca_cq *cq;
	struct object_uar *uar;
	struct event_source event;
};

struct object_qp {
	struct object obj;
	struct softhca_qp *qp;
	enum softhca_qp_type type;
	struct object_pd *pd;
	struct object_cq *send_cq, *recv_cq;
	struct object_srq *srq;
	struct object_xrcd *xrcd;
	struct object_uar *uar; /* these, as the PD and the CQs: NULL where the type has none */
	struct event_source event;
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline;
	bool sig_all;
};

/* An XRC domain, which several opens of one file share: uverbs_srq.c. */
struct xrc_domain;

struct object_xrcd {
	struct object obj;
	struct xrc_domain *domain;
};

struct object_srq {
	struct object obj;
	struct softhca_srq *srq;
	struct object_pd *pd;
	struct object_cq *cq; /* XRC, as the domain; else NULL */
	struct object_xrcd *xrcd;
	struct event_source event;
	uint32_t max_wr, max_sge;
};

struct object_wq {
	struct object obj;
	struct softhca_wq *wq;
	struct object_pd *pd;
	struct object_cq *cq;
	struct event_source event;
};

/* Work queues by index; a queue may be in it more than once. */
struct object_wq_table {
	struct object obj;
	uint32_t n;
	struct object_wq *wqs[];
};

/* Numbers that no queue pair gets: devx_qpn.c. */
struct object_qpns {
	struct object obj;
	uint32_t first;
};

struct object_ah {
	struct object obj;
	struct object_pd *pd;
};

/* Memory that firmware commands name: queues and doorbell records. Its number is its handle. */
struct object_umem {
	struct object obj;
	uint64_t addr, len;
	bool writable;
};

struct object_devx_cq {
	struct object_cq cq;
	struct object_umem *buf, *dbr;
};

struct object_devx_qp {
	struct object_qp qp;
	struct object_umem *buf, *dbr;
};

struct softhca_ctx {
	struct softhca_ctx *next;
	struct softhca_dev *dev;
	dev_t st_dev; /* of the memfd: how a descriptor is known to be ours */
	ino_t st_ino;
	pthread_mutex_t lock;
	uint32_t refs;  /* under the list's lock, as are seen and next */
	bool seen;      /* scratch of the search for closed contexts */
	bool dead;      /* inherited by fork(), or closed: every call gets EIO */
	bool opened;    /* GET_CONTEXT has been called */
	uint8_t *bar;   /* the device's mapping of the UAR pages */
	uint8_t *clock; /* and of the page with the running clock */
	uint8_t *dm;    /* and of device memory */
	struct dm_pool *dm_pool;
	uint8_t uar_used[CTX_MAX_UARS / 8];
	struct object **objects; /* by handle; handle 0 is never given out */
	uint32_t n_objects, next_handle;
	struct event_file **files;
	uint32_t n_files;
};

/* Opens the adapter: a descriptor, or -errno. flags: those of open(2); O_CLOEXEC is honoured. */
int ctx_open(struct softhca_dev *dev, int flags);
/* The context a descriptor belongs to, held until ctx_put(); NULL: it is not ours. */
struct softhca_ctx *ctx_get(int fd);
void ctx_put(struct softhca_ctx *ctx);
/* The adapter behind an inode, or NULL. For stat(2). */
struct softhca_dev *ctx_find_dev(dev_t st_dev, ino_t st_ino);
/* Around fork(2): nothing of ours is half-way, and the child starts afresh. */
void ctx_fork_prepare(void);
void ctx_fork_parent(void);
void ctx_fork_child(void);

/* Adds a zeroed object of `size` bytes. -ENOMEM, or -ENOSPC: the adapter has no more of them. */
int object_create(struct softhca_ctx *ctx, enum object_type type, size_t size, void *out);
/* The object of that type (or OBJ_ANY) behind a handle, or NULL. */
void *object_find(struct softhca_ctx *ctx, enum object_type type, uint32_t handle);
/* Takes a half-made object out again: its own fields are not looked at. */
void object_forget(struct softhca_ctx *ctx, struct object *obj);

static inline bool
object_is_devx(const struct object *obj)
{
	return obj->type >= OBJ_DEVX_CQ;
}

static inline void
object_use(struct object *obj)
{
	obj->users++;
}

static inline void
object_unuse(struct object *obj)
{
	obj->users--;
}

/* The last use of a domain gives its number back. */
void xrc_domain_put(struct xrc_domain *domain);
uint32_t xrc_domain_number(const struct xrc_domain *domain);

/* What the program read of an object's events, for the answer to its destruction. */
struct object_events {
	uint32_t comp_read, async_read;
};

/* Ends an object. -EBUSY: others name it. events may be NULL. */
int object_destroy(struct softhca_ctx *ctx, struct object *obj, struct object_events *events);

int ctx_add_file(struct softhca_ctx *ctx, bool is_async, int *fd);
/* The event file behind a descriptor of the program; NULL: not one of this context, or kind. */
struct event_file *ctx_find_file(struct softhca_ctx *ctx, int fd, bool is_async);

/* The UAR object with that page id, or NULL. */
struct object_uar *ctx_find_uar(struct softhca_ctx *ctx, uint32_t page_id);
/* A free page of the UAR range: its id, or -ENOSPC. */
int ctx_take_page(struct softhca_ctx *ctx);
void ctx_give_page(struct softhca_ctx *ctx, uint32_t page_id);

/* True where [addr, addr+len) is mapped in this process, and writable if asked. */
bool memory_is_mapped(uint64_t addr, uint64_t len, bool writable);

/* A protection domain's number: unique in the adapter. -ENOSPC. */
int pdn_take(struct softhca_dev *dev);
/* The context's protection domain of that number, or NULL. */
struct object_pd *ctx_find_pdn(struct softhca_ctx *ctx, uint32_t pdn);
void pdn_give(struct softhca_dev *dev, uint32_t pdn);

#endif
