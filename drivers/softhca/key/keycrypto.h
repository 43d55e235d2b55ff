/* SPDX-License-Identifier: BSD-3-Clause */
/* Data that pass through a key that encrypts. */
#ifndef SOFTHCA_KEYCRYPTO_H
#define SOFTHCA_KEYCRYPTO_H

#include "odp.h"
#include "sigafter.h"

/*
 * Finds the DEK, and checks that the access fits the data units. memory_off, wire_off: its offsets
 * in both domains. False: use->vendor is the reason.
 */
bool crypto_begin(struct key_use *use, struct softhca_lanes *lanes, struct sig_after *a,
	uint64_t memory_off, uint64_t wire_off);
/*
 * If the key's cipher is on this side, ciphers the bytes in place. False: use->vendor is the
 * reason.
 */
bool crypto_pass(struct key_use *use, const struct sig_after *a, enum crypto_side side, bool out,
	uint8_t *bytes, uint64_t len);
/*
 * For keys without signatures. If source and destination are one piece of plain memory each, the
 * cipher works directly from one to the other: crypto_defer() appends a piece that waits for
 * key_use_move(), with the address `a`, and sets ACC_CIPHERED in the list. Else it appends a
 * buffer, and crypto_after() ciphers `len` bytes that have arrived there.
 */
bool crypto_defer(struct key_use *use, struct sig_after *a, bool out, struct sg *sg);
enum sg_end crypto_after(struct key_use *use, struct sig_after *a, uint64_t len);

#endif
