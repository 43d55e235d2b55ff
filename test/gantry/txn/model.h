/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a transaction does to bytes, computed by gantry_txn.h and test/gantry/txn/reference.h. This
 * model shares no code with the engine or the adapter.
 */
#ifndef TXN_MODEL_H
#define TXN_MODEL_H

#include <gantry.h>

#include "reference.h"

/* A transaction, which reads the bytes of one domain and writes those of the other domain. */
struct model {
	struct ref_sig mem, wire;
	bool reads;
	uint8_t check; /* bits of the signature's bytes, as in mlx5dv_wr_set_mkey_sig_block(3) */
	uint8_t copy;
};

void model_init(struct model *m, const struct gantry_profile_conf *conf,
	const struct gantry_txn *txn);

/*
 * model_in() returns the domain from which the bytes come, model_out() the domain to which they go.
 */
static inline const struct ref_sig *
model_in(const struct model *m)
{
	return m->reads ? &m->wire : &m->mem;
}

static inline const struct ref_sig *
model_out(const struct model *m)
{
	return m->reads ? &m->mem : &m->wire;
}

/*
 * Returns the granularity of a profile's data in bytes: every transaction has whole blocks and
 * whole data units.
 */
uint32_t model_step(const struct gantry_profile_conf *conf);

/* Returns the number of bytes that `data` bytes of data occupy in a domain, with signatures. */
uint64_t model_len(const struct ref_sig *sig, uint64_t data);

/* Writes data with their correct signatures. */
void model_lay(const struct ref_sig *sig, const uint8_t *data, uint64_t len, uint8_t *out);

/*
 * Converts the incoming bytes, and stores the result to `out`. Returns the first error; its part is
 * 0 if there is no error.
 */
struct gantry_sig_error model_run(const struct model *m, const uint8_t *in, uint64_t data,
	uint8_t *out);

#endif
