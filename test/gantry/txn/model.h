/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The effect of a transaction on bytes, by gantry_txn.h and test/gantry/txn/reference.h. This model
 * shares no code with the engine or the adapter.
 */
#ifndef TXN_MODEL_H
#define TXN_MODEL_H

#include <gantry.h>

#include "reference.h"

/* One transaction, as it passes bytes from one domain to the other. */
struct model {
	struct ref_sig mem, wire;
	bool reads;
	uint8_t check; /* bits of the signature's bytes, as in mlx5dv_wr_set_mkey_sig_block(3) */
	uint8_t copy;
};

void model_init(struct model *m, const struct gantry_profile_conf *conf,
	const struct gantry_txn *txn);

/* The domain from which the bytes come, and the other one. */
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
 * The data of every transaction of a profile are a multiple of this many bytes: whole blocks, and
 * whole data units.
 */
uint32_t model_step(const struct gantry_profile_conf *conf);

/* Bytes that `data` bytes of data take in a domain, with signatures. */
uint64_t model_len(const struct ref_sig *sig, uint64_t data);

/* Writes data with signatures, as they come in when nothing is wrong. */
void model_lay(const struct ref_sig *sig, const uint8_t *data, uint64_t len, uint8_t *out);

/*
 * Passes the bytes that come in on to `out`. Returns the first error; if there is none, its part is
 * 0.
 */
struct gantry_sig_error model_run(const struct model *m, const uint8_t *in, uint64_t data,
	uint8_t *out);

#endif
