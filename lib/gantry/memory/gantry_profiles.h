/* SPDX-License-Identifier: BSD-3-Clause */
/* The signatures that profiles can ask for. */
#ifndef GANTRY_PROFILES_H
#define GANTRY_PROFILES_H

#include <stdint.h>

struct hwq_dev_caps;

/* Bits of enum gantry_sig_kind: the kinds that the device has, for gantry_info. */
uint32_t gantry_profile_kinds(const struct hwq_dev_caps *caps);

#endif
