/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of memory pieces, and copying between them. */
#ifndef SOFTHCA_SG_H
#define SOFTHCA_SG_H

#include <stdint.h>
#include <string.h>

#include "use.h"

/*
 * The memory of SOFTHCA_DUMP_FILL_KEY: reads give zeros, writes are dropped (ibv_alloc_null_mr(3)).
 */
extern char key_sink[1];
#define SINK ((void *)key_sink)

#define SG_MAX 64 /* a power of two */

struct sg_piece {
	void *p;
	uint64_t len;
};

struct sg {
	uint64_t len;
	unsigned int n;
	/*
	 * KEY_RARE bits of its keys, and ACC_CIPHERED; 0: plain memory. Only odp.c may access a
	 * list with ACC_ON_DEMAND, only keycrypto.c one with ACC_CIPHERED.
	 */
	uint32_t rare;
	struct sg_piece v[SG_MAX];
	struct sg_piece *big; /* all pieces, if n > SG_MAX; from key_use_alloc() */
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

/* Makes room for one more piece. False: too many pieces, or no memory. */
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

/* The piece of a list with one piece that may be accessed at any time; else NULL. */
static inline uint8_t *
sg_one_piece(const struct sg *sg)
{
	return sg->n == 1 && sg->rare == 0 && sg->v[0].p != SINK ? sg->v[0].p : NULL;
}

/* Source and destination may overlap in one buffer of the program. */
static inline void
piece_copy(void *dst, const void *src, uint64_t len)
{
	if (dst == SINK)
		return;
	if (src == SINK)
		memset(dst, 0, len);
	else
		memmove(dst, src, len);
}

void sg_copy_pieces(const struct sg *dst, const struct sg *src);

/* Copies src->len bytes from source pieces to destination pieces. dst->len >= src->len. */
static inline void
sg_copy(const struct sg *dst, const struct sg *src)
{
	if (dst->n == 1 && src->n == 1)
		piece_copy(dst->v[0].p, src->v[0].p, src->len);
	else
		sg_copy_pieces(dst, src);
}

#endif
