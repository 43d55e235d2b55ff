/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of memory pieces, and copying between them. */
#ifndef SOFTHCA_SG_H
#define SOFTHCA_SG_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "use.h"

/*
 * The memory of SOFTHCA_DUMP_FILL_KEY: reads give zeros, writes are dropped (ibv_alloc_null_mr(3)).
 */
extern char key_sink[1];
#define SINK ((void *)key_sink)

#define SG_MAX 64 /* maximum of pieces without allocated memory, a power of two */

struct sg_piece {
	void *p;
	uint64_t len;
};

struct sg {
	uint64_t len;
	unsigned int n;
	/*
	 * KEY_RARE bits of the list's keys, and ACC_CIPHERED. 0: all pieces are plain memory. Only
	 * odp.c may access a list with ACC_ON_DEMAND, and only keycrypto.c a list with
	 * ACC_CIPHERED.
	 */
	uint32_t rare;
	struct sg_piece v[SG_MAX];
	struct sg_piece *big; /* all pieces, if n > SG_MAX; key_use_alloc() allocates them */
};

static inline const struct sg_piece *
sg_pieces(const struct sg *sg)
{
	return sg->n > SG_MAX ? sg->big : sg->v;
}

static inline void
sg_clear(struct sg *sg)
{
	sg->n = 0;
	sg->rare = 0;
	sg->len = 0;
}

static inline void
sg_set(struct sg *sg, void *p, uint64_t len)
{
	sg->v[0].p = p;
	sg->v[0].len = len;
	sg->n = 1;
	sg->rare = 0;
	sg->len = len;
}

/*
 * Makes room for one more piece. Returns false if there are too many pieces, or if memory is short.
 */
bool sg_grow(struct key_use *use, struct sg *sg);

static inline bool
sg_push(struct key_use *use, struct sg *sg, void *p, uint64_t len)
{
	struct sg_piece *v = sg->v;

	if (sg->n >= SG_MAX) {
		if (!sg_grow(use, sg))
			return false;
		v = sg->big;
	}
	v[sg->n].p = p;
	v[sg->n].len = len;
	sg->n++;
	sg->len += len;
	return true;
}

/*
 * Returns the only piece of a list if it is plain memory, which may be accessed at any time.
 * Otherwise returns NULL.
 */
static inline uint8_t *
sg_one_piece(const struct sg *sg)
{
	return sg->n == 1 && sg->rare == 0 && sg->v[0].p != SINK ? sg->v[0].p : NULL;
}

/* For piece_copy(): pieces of fewer bytes than COPY_TAIL, and pieces that overlap. */
void piece_copy_any(void *dst, const void *src, uint64_t len);

#define COPY_TAIL 8 /* bytes that piece_copy() stores last */

/*
 * Stores before it become visible before stores after it. On x86 only the compiler reorders stores.
 */
#if defined(__x86_64__) || defined(__i386__)
#define COPY_FENCE() atomic_signal_fence(memory_order_release)
#else
#define COPY_FENCE() atomic_thread_fence(memory_order_release)
#endif

/*
 * Copies a piece. Source and destination may overlap, because both are memory of the program.
 *
 * The last bytes are stored last, and once. Programs poll the last byte of a message, and may then
 * read the other bytes, or store to the polled byte. memmove(3) may store the first bytes last, and
 * some bytes twice.
 */
static inline void
piece_copy(void *dst, const void *src, uint64_t len)
{
	const uintptr_t apart = (uintptr_t)dst - (uintptr_t)src;
	uint64_t tail;

	if (__builtin_expect(dst == SINK || src == SINK || len < COPY_TAIL || apart < len ||
				     -apart < len,
		    0)) {
		piece_copy_any(dst, src, len);
		return;
	}
	memcpy(&tail, (const char *)src + len - COPY_TAIL, COPY_TAIL);
	memcpy(dst, src, len - COPY_TAIL);
	COPY_FENCE();
	memcpy((char *)dst + len - COPY_TAIL, &tail, COPY_TAIL);
}

void sg_copy_pieces(const struct sg *dst, const struct sg *src);
/* A byte of a list. */
struct sg_place {
	const struct sg_piece *v;
	uint64_t off; /* in the piece */
};

/* Finds the byte at `off`. The list must be longer than `off`. */
struct sg_place sg_find(const struct sg *sg, uint64_t off);
/*
 * Makes the list of the next `len` bytes of a list, of at most SG_MAX pieces, and moves the place
 * to its end. Returns the bytes of the new list, which may be fewer than len. The caller has
 * checked that the bytes lie in the list. Bytes of the new list must move at once, also with the
 * setting `reorder`.
 */
uint64_t sg_take(const struct sg *sg, struct sg_place *at, uint64_t len, struct sg *part);

/*
 * Copies src->len bytes from the source pieces to the destination pieces. dst->len must not be
 * smaller than src->len.
 */
static inline void
sg_copy(const struct sg *dst, const struct sg *src)
{
	if (dst->n == 1 && src->n == 1)
		piece_copy(dst->v[0].p, src->v[0].p, src->len);
	else
		sg_copy_pieces(dst, src);
}

#endif
