/* SPDX-License-Identifier: BSD-3-Clause */
/* Grows lists of memory pieces, and copies between lists. */
#include "sg.h"

#include "key.h"

char key_sink[1];

#define SG_LIMIT (1u << 20) /* maximum of pieces of one message, a power of two */

bool
sg_grow(struct key_use *use, struct sg *sg)
{
	struct sg_piece *big;

	/*
	 * The capacity is n rounded up to a power of two. So there is a free piece unless n is a
	 * power of two.
	 */
	if ((sg->n & (sg->n - 1)) != 0)
		return true;
	use->vendor = VEN_KEY_PIECES;
	if (sg->n >= SG_LIMIT)
		return false;
	big = key_use_alloc(use, 2 * sg->n * sizeof(*big));
	if (big == NULL)
		return false;
	memcpy(big, sg_pieces(sg), sg->n * sizeof(*big));
	sg->big = big;
	return true;
}

/* Stores fewer than COPY_TAIL bytes: an aligned word at once, otherwise byte by byte. */
static void
copy_few(void *dst, const void *src, uint64_t len)
{
	volatile uint8_t *to = dst;
	uint8_t bytes[COPY_TAIL] = {0};
	uint32_t word;

	memcpy(bytes, src, len);
	memcpy(&word, bytes, sizeof(word));
	if (len == sizeof(word) && (uintptr_t)dst % sizeof(word) == 0)
		*(volatile uint32_t *)dst = word;
	else
		for (uint64_t i = 0; i < len; i++)
			to[i] = bytes[i];
}

void
piece_copy_any(void *dst, const void *src, uint64_t len)
{
	if (dst == SINK)
		return;
	if (src == SINK)
		memset(dst, 0, len);
	else if (len < COPY_TAIL)
		copy_few(dst, src, len);
	else
		memmove(dst, src, len);
}

static void *
piece_at(void *p, uint64_t off)
{
	return p == SINK ? SINK : (char *)p + off;
}

void
sg_copy_pieces(const struct sg *dst, const struct sg *src)
{
	uint64_t left = src->len, doff = 0, soff = 0;
	const struct sg_piece *dv = sg_pieces(dst), *sv = sg_pieces(src);
	unsigned int d = 0, s = 0;

	while (left != 0) {
		uint64_t n = dv[d].len - doff;

		if (n > sv[s].len - soff)
			n = sv[s].len - soff;
		if (n > left)
			n = left;
		piece_copy(piece_at(dv[d].p, doff), piece_at(sv[s].p, soff), n);
		left -= n;
		doff += n;
		soff += n;
		if (doff == dv[d].len) {
			d++;
			doff = 0;
		}
		if (soff == sv[s].len) {
			s++;
			soff = 0;
		}
	}
}

struct sg_place
sg_find(const struct sg *sg, uint64_t off)
{
	struct sg_place at = {.v = sg_pieces(sg), .off = off};

	for (; at.off >= at.v->len; at.v++)
		at.off -= at.v->len;
	return at;
}

uint64_t
sg_take(const struct sg *sg, struct sg_place *at, uint64_t len, struct sg *part)
{
	sg_clear(part);
	part->rare = sg->rare & ~(uint32_t)(ACC_LATER | ACC_LATER_RELAXED);
	while (len != 0 && part->n < SG_MAX) {
		const uint64_t left = at->v->len - at->off, n = left < len ? left : len;

		part->v[part->n].p = piece_at(at->v->p, at->off);
		part->v[part->n++].len = n;
		part->len += n;
		len -= n;
		at->off += n;
		if (at->off == at->v->len)
			*at = (struct sg_place){.v = at->v + 1};
	}
	return part->len;
}
