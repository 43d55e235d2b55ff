/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs hold, for those who ask by RDMA netlink: rdma-resource(8).
 *
 *   a file: | how many slots were used | slot | slot | ...    one for each context, PD, CQ, ...
 *             ^ the process that opens the adapter maps it, and writes      ^
 *             ^ that process, or a child of it, maps it, and reads          ^
 *
 * So a child sees what its parent holds, and the parent does nothing for it. A slot is taken,
 * changed and given back without a lock, also between a parent and its child by fork(2), which
 * share the file. A reader may see a slot of which one number is new and another is old.
 */
#ifndef SOFTHCA_RESOURCE_H
#define SOFTHCA_RESOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca.h"

/* The kernel's enum rdma_restrack_type has the same kinds, and cm_ids and counters. */
enum resource_type {
	RESOURCE_NONE,
	RESOURCE_PD,
	RESOURCE_CQ,
	RESOURCE_QP,
	RESOURCE_MR,
	RESOURCE_CTX,
	RESOURCE_SRQ,
	RESOURCE_N_TYPES
};

#define RESOURCE_NO_ID UINT32_MAX

/* One of them: a line of `rdma res show`. Ids count from 0, for each type. */
struct resource {
	_Atomic uint32_t type; /* enum resource_type; RESOURCE_NONE: not shown yet, or free */
	_Atomic uint32_t taken;
	_Atomic uint32_t dev, pid, id;     /* the adapter's index, the process */
	_Atomic uint32_t users;            /* how many objects name it */
	_Atomic uint32_t ctx, pd, cq, srq; /* ids of those that it names, or RESOURCE_NO_ID */
	union {
		_Atomic uint32_t kind; /* of a QP or an SRQ: as verbs count their types */
		_Atomic uint32_t key;  /* of an MR */
		_Atomic uint32_t cqe;  /* of a CQ: how many completions it holds */
	};
	union {
		_Atomic uint64_t len; /* of an MR: bytes */
		struct softhca_qp_shown qp;
	};
};

/* -------------------------------------------------------------- the process that opens adapters */

/*
 * Makes the file, for the contexts that this process opens from now on. Where that fails, nobody
 * sees what the process holds.
 */
void resources_create(const char *path);
/* Takes a slot for an object of the adapter. NULL: none is free, or there is no file. */
struct resource *resource_take(uint32_t dev, enum resource_type type);
/* Shows it: the other numbers are there. NULL is allowed, here and below. */
void resource_show(struct resource *r, enum resource_type type);
void resource_give(struct resource *r);
/* Its id, or RESOURCE_NO_ID. */
uint32_t resource_id(const struct resource *r);
/* In a child of fork(): it sees what its parent holds, until it opens an adapter. */
void resources_fork_child(void);

/* ---------------------------------------------------------------- those who ask */

/*
 * Maps the file of another process, unless this process has its own. Where there is none, nothing
 * is held. One thread at a time may call it.
 */
void resources_look_at(const char *path);
/*
 * The next slot from *at on that holds such an object of the adapter, whose process lives; *at is
 * then the number behind it. NULL: there is none.
 */
const struct resource *resource_next(uint32_t dev, enum resource_type type, uint32_t *at);

static inline uint32_t
resource_get(const _Atomic uint32_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

static inline void
resource_set(_Atomic uint32_t *value, uint32_t to)
{
	atomic_store_explicit(value, to, memory_order_relaxed);
}

#endif
