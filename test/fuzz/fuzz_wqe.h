/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws work requests that are nearly valid, for queues of every type. */
#ifndef FUZZ_WQE_H
#define FUZZ_WQE_H

#include "fuzz_world.h"

struct fuzz_wqe {
	uint8_t bytes[1024];
	unsigned int ds; /* length by the control segment, in 16-byte units */
	/* units that are written to the ring; the rest of the ring is left as it is */
	unsigned int posted_ds;
	/* units that the WQE needs by its own lengths: more than ds must fail */
	unsigned int claimed_ds;
	uint8_t opcode, opmod;
	uint32_t imm;
	/* full: no room for all segments; lied: a length is false; must_fail: must not succeed */
	bool full, lied, must_fail;
};

/* Draws a WQE for that queue: valid, or with a few errors. */
void wqe_make(const struct fuzz_world *w, unsigned int queue, struct fuzz_wqe *q);
/* Draws a data segment of a send or a receive. */
void wqe_some_data(const struct fuzz_world *w, uint8_t seg[16]);

/* fuzz_umr.c: layouts, windows, signatures. */
void wqe_umr(const struct fuzz_world *w, struct fuzz_wqe *q, uint32_t qpn);
void wqe_set_psv(const struct fuzz_world *w, struct fuzz_wqe *q);

/* Adds n zeroed units of 16 bytes. If the WQE is full, returns its last n units again. */
uint8_t *wqe_more(struct fuzz_wqe *q, unsigned int n);
/* Notes that a length in the WQE needs so many units. */
void wqe_claims(struct fuzz_wqe *q, unsigned int units);

/* true: the three functions below draw mostly valid values. false: any values. */
void wqe_be_tame(bool on);
uint32_t wqe_some_key(const struct fuzz_world *w);
/* Mostly an address that the key covers. */
uint64_t wqe_some_va(const struct fuzz_world *w, uint32_t key);
uint32_t wqe_some_len(void);

#endif
