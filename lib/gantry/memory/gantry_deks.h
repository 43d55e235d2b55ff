/* SPDX-License-Identifier: BSD-3-Clause */
/* The DEKs of an engine, from its creation to its end. gantry_crypto.h has the calls between. */
#ifndef GANTRY_DEKS_H
#define GANTRY_DEKS_H

#include "gantry_dek.h"

struct hwq_dev_caps;

/* GANTRY_CRYPTO_*: what the device has, for gantry_info. */
uint32_t gantry_deks_caps(const struct hwq_dev_caps *caps);

/* Control thread. */
void gantry_deks_init(struct gantry_deks *deks);
/* Destroys all DEKs, and logs out. No queue is left. 0; or what the device said: call again. Control thread. */
int gantry_deks_end(struct gantry_deks *deks);
/* Frees what is left. Control thread. */
void gantry_deks_fini(struct gantry_deks *deks);

#endif
