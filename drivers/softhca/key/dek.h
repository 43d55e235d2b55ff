/* SPDX-License-Identifier: BSD-3-Clause */
/* Data encryption keys, as the data path finds them. */
#ifndef SOFTHCA_DEK_H
#define SOFTHCA_DEK_H

#include "crypto.h"
#include "lanes.h"

/* The key of a DEK. It never changes: a command that replaces it publishes another one. */
struct dek_key {
	struct xts *xts;
	bool has_keytag;
	uint8_t keytag[CRYPTO_KEYTAG_LEN];
};

/*
 * The key of the DEK that a BSF names, in a PD. NULL: there is no such DEK, or it has another
 * keytag. Inside a turn; it stays valid until the turn ends.
 */
const struct dek_key *dek_find(struct softhca_lanes *lanes, const struct key_crypto *crypto,
	uint32_t pdn);

#endif
