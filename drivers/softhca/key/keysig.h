/* SPDX-License-Identifier: BSD-3-Clause */
/* Data that pass through a key with a signature, or a key that encrypts. */
#ifndef SOFTHCA_KEYSIG_H
#define SOFTHCA_KEYSIG_H

#include "key.h"
#include "sg.h"

/*
 * Appends a buffer for [off, off+len) of such a key to the list. The buffer of a read has the data
 * already; sig_after_move() converts the data of a write. For a key that only encrypts, a piece
 * that waits for the cipher is appended (keycrypto.h). need: IBV_ACCESS_* bits. False: use->vendor
 * is the reason.
 */
bool sig_walk(struct key_use *use, struct softhca_lanes *lanes, const struct key *key,
	uint32_t need, uint64_t off, uint64_t len, struct sg *sg);

#endif
