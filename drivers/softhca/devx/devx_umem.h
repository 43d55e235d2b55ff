/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * User memory (umem) for the queues and doorbell records of firmware commands:
 * mlx5dv_devx_umem_reg(3).
 */
#ifndef SOFTHCA_DEVX_UMEM_H
#define SOFTHCA_DEVX_UMEM_H

#include "object.h"

/* A user memory. Commands refer to it by its handle. */
struct object_umem {
	struct object obj;
	uint64_t addr, len;
	bool writable;
};

/* A range of user memory in a command. */
struct umem_range {
	uint32_t id;
	uint64_t offset, len;
	uint32_t align; /* alignment of the address, in bytes */
	uint32_t bit;   /* offset of the field with the id, for refusals */
	bool written;   /* the adapter writes to the range, so it must be writable */
};

/*
 * Finds the memory of a range, and its address in this process. Returns a value as in
 * devx_refuse.h.
 */
int umem_find(struct softhca_ctx *ctx, const struct umem_range *range, struct object_umem **umem,
	void **at);

#endif
