/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of signatures that profiles can have. */
#ifndef GANTRY_PROFILES_H
#define GANTRY_PROFILES_H

#include <stdint.h>

struct hwq_dev_caps;

/*
 * Returns the kinds of signatures that the device has, as bits of enum gantry_sig_kind, for
 * gantry_info.
 */
uint32_t gantry_profile_kinds(const struct hwq_dev_caps *caps);

#endif
