/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's memory, from EAL's heap or from libc's. */
#include "gantry_alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_bitops.h>
#include <rte_common.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_ring.h>

#include "gantry_log_rate.h"

/* RING_F_EXACT_SZ: the ring takes n elements, not n - 1. */
#define RING_FLAGS (RING_F_SC_DEQ | RING_F_EXACT_SZ)

/* Returns the block. If the block is NULL, also writes a line of the log that says what to do. */
static void *
block_or_say(void *block, const char *name, size_t len, const char *from)
{
	if (block == NULL)
		LOG_RATED(gantry_log_rate_others(), ERR,
			"cannot allocate %zu bytes for %s: give %s more memory", len, name, from);
	return block;
}

void *
gantry_alloc(const char *name, size_t len, int socket)
{
	return block_or_say(gantry_alloc_if_free(name, len, socket), name, len,
		"EAL (-m, or huge pages)");
}

void *
gantry_alloc_near(const char *name, size_t len, int *socket)
{
	void *block = gantry_alloc_if_free(name, len, *socket);

	if (block != NULL)
		return block;
	*socket = GANTRY_ALLOC_ANY_SOCKET;
	return gantry_alloc(name, len, *socket);
}

void *
gantry_alloc_libc(size_t len)
{
	return block_or_say(calloc(1, len), "a struct", len, "the process");
}

/* Returns zeroed memory of libc that begins on a cache line, or NULL. */
static void *
lines(size_t len)
{
	void *block;

	/*
	 * aligned_alloc() takes only a length in whole cache lines. With posix_memalign(), a
	 * sanitizer sees the byte behind the block as free.
	 */
	if (posix_memalign(&block, RTE_CACHE_LINE_SIZE, len) != 0)
		return NULL;
	memset(block, 0, len);
	return block;
}

void *
gantry_alloc_libc_lines(size_t len)
{
	return block_or_say(lines(len), "a struct", len, "the process");
}

void
gantry_free_libc(void *block)
{
	free(block);
}

#ifdef GANTRY_ALLOC_LIBC

void *
gantry_alloc_if_free(const char *name, size_t len, int socket)
{
	return lines(len);
}

void
gantry_free(void *block)
{
	free(block);
}

int
gantry_alloc_ring(const char *name, uint32_t elem_len, uint32_t n, int socket,
	unsigned int producers, struct rte_ring **out)
{
	/* For RING_F_EXACT_SZ, rte_ring_init() rounds n up in the same way. */
	ssize_t len = rte_ring_get_memsize_elem(elem_len, rte_align32pow2(n + 1));
	struct rte_ring *ring;
	int ret;

	if (len < 0)
		return len;
	ring = gantry_alloc(name, len, socket);
	if (ring == NULL)
		return -ENOMEM;
	ret = rte_ring_init(ring, name, n, RING_FLAGS | producers);
	if (ret != 0) {
		gantry_free(ring);
		return ret;
	}
	*out = ring;
	return 0;
}

void
gantry_free_ring(struct rte_ring *ring)
{
	gantry_free(ring);
}

#else

void *
gantry_alloc_if_free(const char *name, size_t len, int socket)
{
	return rte_zmalloc_socket(name, len, RTE_CACHE_LINE_SIZE, socket);
}

void
gantry_free(void *block)
{
	rte_free(block);
}

int
gantry_alloc_ring(const char *name, uint32_t elem_len, uint32_t n, int socket,
	unsigned int producers, struct rte_ring **out)
{
	struct rte_ring *ring;

	ring = rte_ring_create_elem(name, elem_len, n, socket, RING_FLAGS | producers);
	if (ring == NULL) {
		LOG(ERR, "the ring %s of %u elements cannot be created: %s", name, n,
			rte_strerror(rte_errno));
		return -rte_errno;
	}
	*out = ring;
	return 0;
}

void
gantry_free_ring(struct rte_ring *ring)
{
	rte_ring_free(ring);
}

#endif
