/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving a WQE's data between memory lists, and converting it where keys have signatures. */
#ifndef SOFTHCA_MOVE_H
#define SOFTHCA_MOVE_H

#include "rare.h"

/* keycrypto.c: sg_move() for lists of any kind, among them those that wait for the cipher. */
enum sg_end crypto_move(struct key_use *use, const struct sg *dst, const struct sg *src);
/*
 * keycrypto.c: replaces a list by a copy of what it names, in plain memory. False: it is not there,
 * or no memory.
 */
bool key_use_fetch(struct key_use *use, struct sg *sg);
/* keysig.c: converts what has arrived for keys with signatures. len: bytes that were moved. */
enum sg_end sig_after_move(struct key_use *use, uint64_t len);

/* Moves the data of a work request, then does what their keys ask for. */
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
