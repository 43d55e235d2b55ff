/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts data that pass through a key with a signature, or through a key that encrypts. */
#ifndef SOFTHCA_KEYSIG_H
#define SOFTHCA_KEYSIG_H

#include "key.h"
#include "sg.h"

/*
 * Appends a buffer for [off, off+len) of such a key to the list. For a read, the buffer already has
 * the data; for a write, sig_after_move() converts the data. For a key that only encrypts, a piece
 * that waits for the cipher is appended (keycrypto.h). need: IBV_ACCESS_* bits. Returns false on
 * failure: use->vendor is the reason.
 */
bool sig_walk(struct key_use *use, struct softhca_lanes *lanes, const struct key *key,
	uint32_t need, uint64_t off, uint64_t len, struct sg *sg);

#endif
