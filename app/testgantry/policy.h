/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Policies: which carrier makes copies.
 */
#ifndef TESTGANTRY_POLICY_H
#define TESTGANTRY_POLICY_H

#include <stdbool.h>

#include "gantry.h"

/** Reads a policy from a file. 0, or -1 with the error printed. */
int policy_read(const char *path, struct gantry_policy *policy);

/** True if a rule of the policy names the carrier. */
bool policy_names(const struct gantry_policy *policy, enum gantry_carrier carrier);

#endif
