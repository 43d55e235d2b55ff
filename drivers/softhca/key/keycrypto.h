/* SPDX-License-Identifier: BSD-3-Clause */
/* Ciphers data that pass through a key that encrypts. */
#ifndef SOFTHCA_KEYCRYPTO_H
#define SOFTHCA_KEYCRYPTO_H

#include "odp.h"
#include "sigafter.h"

/*
 * Finds the DEK, and checks that the access meets the conditions for data units. memory_off,
 * wire_off: the offsets of the access in both domains. Returns false if the DEK does not exist or a
 * condition is not met: use->vendor is the reason.
 */
bool crypto_begin(struct key_use *use, struct softhca_lanes *lanes, struct sig_after *a,
	uint64_t memory_off, uint64_t wire_off);
/*
 * If the cipher of the key is on this side, ciphers the bytes in place. Returns false on failure:
 * use->vendor is the reason.
 */
bool crypto_pass(struct key_use *use, const struct sig_after *a, enum crypto_side side, bool out,
	uint8_t *bytes, uint64_t len);
/*
 * These functions are for keys without signatures. If the source and the destination are each one
 * piece of plain memory, the cipher works directly from one to the other. For this, crypto_defer()
 * appends a piece that waits for key_use_move(): its address is `a`, and the list gets
 * ACC_CIPHERED. Otherwise crypto_defer() appends a buffer. crypto_after() ciphers `len` bytes that
 * have arrived.
 */
bool crypto_defer(struct key_use *use, struct sig_after *a, bool out, struct sg *sg);
enum sg_end crypto_after(struct key_use *use, struct sig_after *a, uint64_t len);

#endif
