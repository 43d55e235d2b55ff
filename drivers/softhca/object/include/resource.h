/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects that programs hold, for requests by RDMA netlink: rdma-resource(8).
 *
 *   a file: | number of used slots | slot | slot | ...    one slot for each context, PD, CQ, ...
 *             ^ the process that opens the adapter maps the file and writes it
 *             ^ that process, or a child of it, maps the file and reads it
 *
 * So a child sees its parent's objects, without help from the parent. A slot is taken, changed and
 * released without a lock, also between a parent and its child by fork(2), which share the file. A
 * reader may see a slot in which some numbers are new and others old.
 */
#ifndef SOFTHCA_RESOURCE_H
#define SOFTHCA_RESOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca.h"

/* The kernel's enum rdma_restrack_type has the same kinds, and also cm_ids and counters. */
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

/* One object: a line of `rdma res show`. Ids count from 0, for each type. */
struct resource {
	_Atomic uint32_t type; /* enum resource_type; RESOURCE_NONE: not shown yet, or free */
	_Atomic uint32_t taken;
	_Atomic uint32_t dev, pid, id; /* the adapter's index, the process */
	_Atomic uint32_t users;        /* number of objects that name this one */
	/* ids of the objects that this one names, or RESOURCE_NO_ID */
	_Atomic uint32_t ctx, pd, cq, srq;
	union {
		_Atomic uint32_t kind; /* of a QP or an SRQ: its type, with the numbers of verbs */
		_Atomic uint32_t key;  /* of an MR */
		_Atomic uint32_t cqe;  /* of a CQ: its number of entries */
	};
	union {
		_Atomic uint64_t len; /* of an MR: bytes */
		struct softhca_qp_shown qp;
	};
};

/*
 * -------------------------------------------------------------- for the process that opens
 * adapters
 */

/*
 * Makes the file, for contexts that this process opens from now on. If that fails, other processes
 * see none of its objects.
 */
void resources_create(const char *path);
/* Takes a slot for an object of the adapter. NULL: no slot is free, or there is no file. */
struct resource *resource_take(uint32_t dev, enum resource_type type);
/* Shows the object; its other fields are set. r: may be NULL, here and below. */
void resource_show(struct resource *r, enum resource_type type);
void resource_give(struct resource *r);
/* The object's id, or RESOURCE_NO_ID. */
uint32_t resource_id(const struct resource *r);
/* In a child of fork(): it sees its parent's objects until it opens an adapter. */
void resources_fork_child(void);

/* ---------------------------------------------------------------- for readers */

/*
 * Maps the file of another process, unless this process has its own. If that file does not exist,
 * no objects are held. One thread at a time may call it.
 */
void resources_look_at(const char *path);
/*
 * The next used slot, from *at on, with such an object of the adapter whose process is alive. *at
 * becomes the number after it. NULL: there is none.
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
