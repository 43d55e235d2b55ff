/* SPDX-License-Identifier: BSD-3-Clause */
/* Work requests that are nearly right, for every type of queue. */
#ifndef FUZZ_WQE_H
#define FUZZ_WQE_H

#include "fuzz_world.h"

struct fuzz_wqe {
	uint8_t bytes[1024];
	unsigned int ds;         /* 16-byte units that the control segment will say */
	unsigned int posted_ds;  /* of which so many are written: the rest stays as the ring is */
	unsigned int claimed_ds; /* units that its own lengths claim: more than ds must not do */
	uint8_t opcode, opmod;
	uint32_t imm;
	bool full, lied, must_fail; /* no room for all; a false length; never to complete well */
};

/* One for that queue: right, or with a few things wrong. */
void wqe_make(const struct fuzz_world *w, unsigned int queue, struct fuzz_wqe *q);
/* A data segment, as a send or a receive has it. */
void wqe_some_data(const struct fuzz_world *w, uint8_t seg[16]);

/* fuzz_umr.c: layouts, windows, signatures. */
void wqe_umr(const struct fuzz_world *w, struct fuzz_wqe *q, uint32_t qpn);
void wqe_set_psv(const struct fuzz_world *w, struct fuzz_wqe *q);

/* n units of 16 bytes more, zeros; the last ones again where it is full. */
uint8_t *wqe_more(struct fuzz_wqe *q, unsigned int n);
/* A length in it claims that it has so many units. */
void wqe_claims(struct fuzz_wqe *q, unsigned int units);

/* Whether the three below give what will do, mostly, or anything. */
void wqe_be_tame(bool on);
uint32_t wqe_some_key(const struct fuzz_world *w);
/* An address that the key may have, mostly. */
uint64_t wqe_some_va(const struct fuzz_world *w, uint32_t key);
uint32_t wqe_some_len(void);

#endif
