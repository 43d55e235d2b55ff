/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves the data of a WQE between lists of memory, and converts data that pass through keys with
 * signatures.
 */
#ifndef SOFTHCA_MOVE_H
#define SOFTHCA_MOVE_H

#include "rare.h"

/* keycrypto.c: as sg_move(), for lists of all kinds, including lists that wait for the cipher. */
enum sg_end crypto_move(struct key_use *use, const struct sg *dst, const struct sg *src);
/*
 * keycrypto.c: replaces a list by a copy of its data in plain memory. Returns false if the list's
 * memory does not exist, or if memory for the copy is short.
 */
bool key_use_fetch(struct key_use *use, struct sg *sg);
/*
 * keysig.c: converts data that have arrived and pass through keys with signatures. len: bytes that
 * have arrived.
 */
enum sg_end sig_after_move(struct key_use *use, uint64_t len);

/*
 * move.c: moves `len` bytes of a list, from the byte at `from_off` on, to the bytes of another list
 * from `to_off` on, without conversion. Both lists have no piece that waits for the cipher.
 */
enum sg_end move_part(struct key_use *use, const struct sg *to, uint64_t to_off,
	const struct sg *from, uint64_t from_off, uint64_t len);

/* Moves the data of a work request, then converts the data as their keys require. */
static inline enum sg_end __attribute__((warn_unused_result))
key_use_move(struct key_use *use, const struct sg *dst, const struct sg *src)
{
	enum sg_end end = SG_MOVED;

	if (__builtin_expect((dst->rare | src->rare) != 0, 0))
		end = crypto_move(use, dst, src);
	else
		sg_copy(dst, src);
	if (end == SG_MOVED && use->after != NULL)
		return sig_after_move(use, src->len);
	return end;
}

#endif
