/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All memory that the engine allocates for itself. Only this file chooses the source: EAL's heap of
 * a NUMA node, or libc's heap in builds with a sanitizer (GANTRY_ALLOC_LIBC), because
 * AddressSanitizer and LeakSanitizer do not see blocks in EAL's heap. Blocks that EAL's memory
 * callbacks allocate are always libc's.
 *
 * The control thread calls these functions. The owner of a queue calls them for objects that its
 * first descriptors of a kind need. Every block and ring begins on a cache line, is zeroed, and has
 * one owner, who frees it.
 */
#ifndef GANTRY_ALLOC_H
#define GANTRY_ALLOC_H

#include <stddef.h>
#include <stdint.h>

struct rte_ring;

/* A value of `socket`: the memory may be on any NUMA node. */
#define GANTRY_ALLOC_ANY_SOCKET (-1)

/*
 * Allocates len bytes on the NUMA node `socket`. If there is no memory, writes a line of the log
 * and returns NULL. name: the name of the block in this line, and in dumps of EAL's heap.
 */
void *gantry_alloc(const char *name, size_t len, int socket);

/*
 * As gantry_alloc(), but writes no line of the log. For callers that do not depend on the memory.
 */
void *gantry_alloc_if_free(const char *name, size_t len, int socket);

/* Frees a block. Does nothing if the block is NULL. */
void gantry_free(void *block);

/*
 * Allocates len zeroed bytes from libc's heap, in every build. If there is no memory, writes a line
 * of the log and returns NULL. For blocks that EAL's memory callbacks allocate or free: EAL's heap
 * is locked while a callback runs. Any thread.
 */
void *gantry_alloc_libc(size_t len);

/*
 * As gantry_alloc_libc(), but the block begins on a cache line. The call writes all bytes, so it is
 * not for large blocks.
 */
void *gantry_alloc_libc_lines(size_t len);

void gantry_free_libc(void *block);

/*
 * If the NUMA node *socket has memory, the call is as gantry_alloc(). Otherwise the block is on any
 * node, and *socket becomes GANTRY_ALLOC_ANY_SOCKET.
 */
void *gantry_alloc_near(const char *name, size_t len, int *socket);

/*
 * Creates a ring for n elements of elem_len bytes, with one consumer thread. producers: a flag of
 * rte_ring_create(): RING_F_SP_ENQ for one producer thread, RING_F_MP_HTS_ENQ or 0 for several.
 * Returns 0, -EINVAL, -ENOMEM, or -EEXIST if another ring has the name.
 */
int gantry_alloc_ring(const char *name, uint32_t elem_len, uint32_t n, int socket,
	unsigned int producers, struct rte_ring **out);

void gantry_free_ring(struct rte_ring *ring);

#endif
