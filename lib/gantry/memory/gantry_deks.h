/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates and destroys the table of an engine's DEKs, together with the engine. gantry_crypto.h has
 * the calls that add and retire DEKs.
 */
#ifndef GANTRY_DEKS_H
#define GANTRY_DEKS_H

#include "gantry_dek.h"

struct hwq_dev_caps;

/* Returns the GANTRY_CRYPTO_* bits of the device, for gantry_info. */
uint32_t gantry_deks_caps(const struct hwq_dev_caps *caps);

/* Prepares an empty table. Control thread. */
void gantry_deks_init(struct gantry_deks *deks);
/*
 * Destroys all DEKs, and logs out. The caller has destroyed all queues. Returns 0 or the device's
 * error. After an error, call this function again. Control thread.
 */
int gantry_deks_end(struct gantry_deks *deks);
/* Frees the memory of *deks. Control thread. */
void gantry_deks_fini(struct gantry_deks *deks);

#endif
