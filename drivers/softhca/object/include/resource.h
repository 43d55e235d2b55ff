/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects that programs hold, for requests by RDMA netlink: rdma-resource(8).
 *
 *   a file: | number of used slots | slot | slot | ...    one slot for each context, PD, CQ, ...
 *             ^ the process that opens the adapter maps the file and writes it
 *             ^ that process, or a child of it, maps the file and reads it
 *
 * So a child sees its parent's objects, without help from the parent. A slot is taken, changed and
 * released without a lock, also if a parent and its child by fork(2) share the file. A reader may
 * see a slot in which some numbers are new and some are old.
 */
#ifndef SOFTHCA_RESOURCE_H
#define SOFTHCA_RESOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca.h"

/* The kernel's enum rdma_restrack_type has the same kinds, and one more: counters. */
enum resource_type {
	RESOURCE_NONE,
	RESOURCE_PD,
	RESOURCE_CQ,
	RESOURCE_QP,
	RESOURCE_MR,
	RESOURCE_CTX,
	RESOURCE_SRQ,
	RESOURCE_CM_ID,
	RESOURCE_N_TYPES
};

#define RESOURCE_NO_ID UINT32_MAX

/* What is shown of an id of the connection manager. */
struct resource_cm_id {
	_Atomic uint32_t state, ps, port, qpn; /* state: enum rdma_cm_state of the kernel */
	/* addresses: struct sockaddr_in or struct sockaddr_in6, word by word */
	_Atomic uint32_t src[7], dst[7];
};

/* One object: a line of `rdma res show`. Each type has its own ids, which start at 0. */
struct resource {
	/* enum resource_type; RESOURCE_NONE: the slot is free or not shown yet */
	_Atomic uint32_t type;
	_Atomic uint32_t taken;
	_Atomic uint32_t dev, pid, id; /* index of the adapter, process ID, id of the object */
	_Atomic uint32_t users;        /* number of objects that refer to this object */
	/* ids of the objects that this object refers to, or RESOURCE_NO_ID */
	_Atomic uint32_t ctx, pd, cq, srq;
	union {
		_Atomic uint32_t
			kind; /* for a QP, an SRQ or a CM_ID: type, with the numbers of verbs */
		_Atomic uint32_t key; /* for an MR: key */
		_Atomic uint32_t cqe; /* for a CQ: number of entries */
	};
	union {
		_Atomic uint64_t len; /* for an MR: bytes */
		struct softhca_qp_shown qp;
		struct resource_cm_id cm_id;
	};
};

/*
 * -------------------------------------------------------------- for the process that opens
 * adapters
 */

/*
 * Makes the file, for contexts that this process opens from now on. If the file cannot be made,
 * other processes do not see the objects of this process.
 */
void resources_create(const char *path);
/*
 * Takes a slot for an object of the adapter. Returns NULL if no slot is free or there is no file.
 */
struct resource *resource_take(uint32_t dev, enum resource_type type);
/*
 * Shows the object, whose other fields are set. r may be NULL here and in the following functions.
 */
void resource_show(struct resource *r, enum resource_type type);
void resource_give(struct resource *r);
/* Returns the object's id, or RESOURCE_NO_ID. */
uint32_t resource_id(const struct resource *r);
/*
 * Call this in a child of fork(). The child sees its parent's objects until the child opens an
 * adapter.
 */
void resources_fork_child(void);

/* ---------------------------------------------------------------- for readers */

/*
 * Maps the file of another process, unless this process has its own file. If that file does not
 * exist, that process holds no objects. Only one thread at a time may call this function.
 */
void resources_look_at(const char *path);
/*
 * Returns the next used slot, from number *at on, with an object of this type and adapter whose
 * process is alive. Sets *at to the number after it. Returns NULL if there is no such slot.
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
