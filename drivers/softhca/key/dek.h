/* SPDX-License-Identifier: BSD-3-Clause */
/* Data encryption keys: the functions that the data path calls. */
#ifndef SOFTHCA_DEK_H
#define SOFTHCA_DEK_H

#include "crypto.h"
#include "lanes.h"

/* The AES key of a DEK. It never changes: a command that replaces it publishes a new struct. */
struct dek_key {
	struct xts *xts;
	bool has_keytag;
	uint8_t keytag[CRYPTO_KEYTAG_LEN];
};

/*
 * Finds the AES key of the DEK in a BSF, in a PD. Returns NULL if the DEK does not exist or has
 * another keytag. Call this inside a turn (turns.h): the result is valid until the turn ends.
 */
const struct dek_key *dek_find(struct softhca_lanes *lanes, const struct key_crypto *crypto,
	uint32_t pdn);

#endif
