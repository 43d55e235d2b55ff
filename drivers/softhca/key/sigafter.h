/* SPDX-License-Identifier: BSD-3-Clause */
/* One use of a key with a signature: its buffers, and what is done when its data have arrived. */
#ifndef SOFTHCA_SIGAFTER_H
#define SOFTHCA_SIGAFTER_H

#include "key.h"
#include "psv.h"
#include "sg.h"

struct sig_after {
	struct sig_after *next;
	const struct key *key;
	struct key_sig sig;
	struct sg memory;
	uint64_t at; /* offset of the buffer in the list that data fill */
	uint64_t first, data;
	uint64_t wire_len, memory_len;
	uint8_t *wire, *bytes;                  /* the data with what each domain has beside them */
	bool peer;                              /* of the responder's key */
	const struct dek_key *dek;              /* of a key that encrypts */
	uint64_t unit;                          /* the number of the first data unit */
	struct softhca_psv *mem_psv, *wire_psv; /* NULL: the domain has no signature */
	struct psv_passed mem_passed, wire_passed;
	uint32_t crc_from; /* of a transaction: where the CRC on the wire begins */
};

/* Makes the buffers of wire_len and, where `bytes` is NULL, memory_len bytes. False: no memory. */
bool sig_alloc(struct key_use *use, struct sig_after *a);
/* Appends it to a list of the same use. */
void sig_append(struct sig_after **list, struct sig_after *a);
/* Makes the buffers, and appends the wire's to the list: sig_after_move() converts what arrives. */
bool sig_defer(struct key_use *use, struct sig_after *a, struct sg *sg);
/* How many bytes have arrived in the wire's buffer, of `moved` bytes of the whole list. */
uint64_t sig_arrived(const struct sig_after *a, uint64_t moved);
/*
 * Tells an error. After one error is told, no more are told until the program configures the key
 * again and acknowledges the error: libmlx5 counts errors from 1 on, and the configuration carries
 * the lowest bit of that count.
 */
void sig_tell(struct key_use *use, const struct sig_after *a, bool memory,
	const struct sig_error *error);

#endif
