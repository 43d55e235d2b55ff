/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws work requests that are nearly valid, for queues of every type. */
#ifndef FUZZ_WQE_H
#define FUZZ_WQE_H

#include "fuzz_world.h"

struct fuzz_wqe {
	uint8_t bytes[1024];
	unsigned int ds; /* DS in the control segment: length in 16-byte units */
	/*
	 * Number of units that are written to the ring; the other units of the ring keep their
	 * contents.
	 */
	unsigned int posted_ds;
	/*
	 * Number of units that the WQE needs according to its own lengths. If this is more than ds,
	 * the WQE must fail.
	 */
	unsigned int claimed_ds;
	uint8_t opcode, opmod;
	uint32_t imm;
	/*
	 * full: not all segments fit; lied: a length is wrong; must_fail: the WQE must not succeed.
	 */
	bool full, lied, must_fail;
};

/* Draws a WQE for this queue: valid, or with a few errors. */
void wqe_make(const struct fuzz_world *w, unsigned int queue, struct fuzz_wqe *q);
/* Draws a data segment for a send or a receive. */
void wqe_some_data(const struct fuzz_world *w, uint8_t seg[16]);

/* fuzz_umr.c: layouts, windows, signatures. */
void wqe_umr(const struct fuzz_world *w, struct fuzz_wqe *q, uint32_t qpn);
void wqe_set_psv(const struct fuzz_world *w, struct fuzz_wqe *q);
/*
 * A UMR that gives a key with a signature or encryption one whole region. Returns the key; *len:
 * bytes of the region.
 */
uint32_t wqe_long_key(const struct fuzz_world *w, struct fuzz_wqe *q, uint64_t *len);

/* Appends n units of 16 bytes, all zero. If the WQE is full, returns its last n units again. */
uint8_t *wqe_more(struct fuzz_wqe *q, unsigned int n);
/* Records that a length in the WQE needs this number of units. */
void wqe_claims(struct fuzz_wqe *q, unsigned int units);

/* on: the three functions below draw mostly valid values; otherwise they draw any values. */
void wqe_be_tame(bool on);
uint32_t wqe_some_key(const struct fuzz_world *w);
/* Returns an address that, in most cases, the key covers. */
uint64_t wqe_some_va(const struct fuzz_world *w, uint32_t key);
uint32_t wqe_some_len(void);

#endif
