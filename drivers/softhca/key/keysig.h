/* SPDX-License-Identifier: BSD-3-Clause */
/* Data that go through a key with a signature, or a key that encrypts. */
#ifndef SOFTHCA_KEYSIG_H
#define SOFTHCA_KEYSIG_H

#include "key.h"
#include "sg.h"

/*
 * Appends to the list a buffer for [off, off+len) of such a key. Data to be read are in it already;
 * data to be written are converted by sig_after_move(). Of a key that only encrypts: a piece that
 * waits for the cipher (keycrypto.h). need: IBV_ACCESS_* bits. False: use->vendor says why.
 */
bool sig_walk(struct key_use *use, struct softhca_lanes *lanes, const struct key *key,
	uint32_t need, uint64_t off, uint64_t len, struct sg *sg);

#endif
