/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All memory that the engine allocates for itself. This file alone chooses where it comes from:
 * EAL's heap of a NUMA node, or libc's heap in builds with a sanitizer (GANTRY_ALLOC_LIBC), because
 * AddressSanitizer and LeakSanitizer do not see blocks in EAL's heap. Blocks that EAL's memory
 * callbacks allocate are libc's always.
 *
 * Control thread; or the owner of a queue, for what its first descriptors of a kind need. Every block
 * and ring begins on a cache line, is zeroed, and has one owner, who frees it.
 */
#ifndef GANTRY_ALLOC_H
#define GANTRY_ALLOC_H

#include <stddef.h>
#include <stdint.h>

struct rte_ring;

/* The socket of memory that no NUMA node is better for. */
#define GANTRY_ALLOC_ANY_SOCKET (-1)

/*
 * len bytes on the NUMA node `socket`; or NULL, and a line of the log. name: for EAL's heap dumps, and
 * for that line.
 */
void *gantry_alloc(const char *name, size_t len, int socket);

/* The same without a line: for a caller that can do without the memory. */
void *gantry_alloc_if_free(const char *name, size_t len, int socket);

/* Frees a block. NULL: nothing happens. */
void gantry_free(void *block);

/*
 * len zeroed bytes of libc's heap in every build; or NULL, and a line of the log. For what may be allocated or freed inside
 * EAL's memory callbacks: EAL's heap is locked there. Any thread.
 */
void *gantry_alloc_libc(size_t len);

/* The same from the beginning of a cache line on. All of it is written here, so not for what is large. */
void *gantry_alloc_libc_lines(size_t len);

void gantry_free_libc(void *block);

/*
 * As gantry_alloc(), if *socket has memory. Else *socket becomes GANTRY_ALLOC_ANY_SOCKET, and the
 * block is on any node. For what should be near something, but may be elsewhere.
 */
void *gantry_alloc_near(const char *name, size_t len, int *socket);

/*
 * A ring for n elements of elem_len bytes, with one consumer thread.
 * producers: RING_F_SP_ENQ, RING_F_MP_HTS_ENQ, or 0: several, as rte_ring_create() takes them.
 * 0; -EEXIST another ring has the name; -EINVAL; -ENOMEM.
 */
int gantry_alloc_ring(const char *name, uint32_t elem_len, uint32_t n, int socket,
	unsigned int producers, struct rte_ring **out);

void gantry_free_ring(struct rte_ring *ring);

#endif
