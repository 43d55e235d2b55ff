/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts data that pass through a key with the signature of a transaction. */
#ifndef SOFTHCA_KEYTXN_H
#define SOFTHCA_KEYTXN_H

#include "odp.h"
#include "sigafter.h"

/* As sig_walk(). The caller has set the key, its signature and the side in `a`. */
bool txn_walk(struct key_use *use, struct softhca_lanes *lanes, struct sig_after *a, uint32_t need,
	uint64_t off, uint64_t len, struct sg *sg);
/* For `wire` bytes that have arrived: checks the CRC, removes it, and stores the data. */
enum sg_end txn_after(struct key_use *use, struct sig_after *a, uint64_t wire);

#endif
