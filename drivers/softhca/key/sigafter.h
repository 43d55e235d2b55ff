/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One use of a key with a signature: the buffers, and the conversion after the data have arrived.
 */
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
	uint64_t at; /* offset of the buffer in the list of destinations */
	uint64_t first, data;
	uint64_t wire_len, memory_len;
	/* data with the signatures of the wire domain, and of the memory domain */
	uint8_t *wire, *bytes;
	bool peer;                              /* the key is the responder's */
	const struct dek_key *dek;              /* DEK, if the key encrypts */
	uint64_t unit;                          /* number of the first data unit */
	struct softhca_psv *mem_psv, *wire_psv; /* NULL: the domain has no signature */
	struct psv_passed mem_passed, wire_passed;
	uint32_t crc_from; /* for a transaction: offset of the CRC on the wire */
};

/*
 * Allocates the buffers: wire_len bytes and, if `bytes` is NULL, memory_len bytes. Returns false if
 * memory is short.
 */
bool sig_alloc(struct key_use *use, struct sig_after *a);
/* Appends `a` to a list of the same struct key_use. */
void sig_append(struct sig_after **list, struct sig_after *a);
/*
 * Allocates the buffers, and appends the wire's buffer to the list. sig_after_move() converts the
 * data that arrive in it.
 */
bool sig_defer(struct key_use *use, struct sig_after *a, struct sg *sg);
/*
 * Returns the number of bytes that have arrived in the wire's buffer. moved: the number of bytes
 * that moved in the whole list.
 */
uint64_t sig_arrived(const struct sig_after *a, uint64_t moved);
/*
 * Reports an error. Further errors of the key are not reported until the program acknowledges the
 * error and configures the key again: libmlx5 counts errors from 1 on, and the configuration has
 * the lowest bit of this count.
 */
void sig_tell(struct key_use *use, const struct sig_after *a, bool memory,
	const struct sig_error *error);

#endif
