/* SPDX-License-Identifier: BSD-3-Clause */
/* Data that go through a key that encrypts. */
#ifndef SOFTHCA_KEYCRYPTO_H
#define SOFTHCA_KEYCRYPTO_H

#include "odp.h"
#include "sigafter.h"

/*
 * Finds the DEK, and checks that the use fits the data units. memory_off and wire_off: where it
 * begins on the two sides. False: use->vendor says why.
 */
bool crypto_begin(struct key_use *use, struct softhca_lanes *lanes, struct sig_after *a,
	uint64_t memory_off, uint64_t wire_off);
/*
 * Ciphers, in place, what stands on this side, if the cipher of the key does. False: use->vendor
 * says why.
 */
bool crypto_pass(struct key_use *use, const struct sig_after *a, enum crypto_side side, bool out,
	uint8_t *bytes, uint64_t len);
/*
 * Without signatures, the cipher goes straight from the source to the destination where both are
 * one piece of plain memory. crypto_defer() appends a piece that waits for key_use_move(): its
 * address is `a`, and the list gets ACC_CIPHERED. Else the piece gets a buffer, and crypto_after()
 * ciphers `len` bytes that have come into it.
 */
bool crypto_defer(struct key_use *use, struct sig_after *a, bool out, struct sg *sg);
enum sg_end crypto_after(struct key_use *use, struct sig_after *a, uint64_t len);

#endif
