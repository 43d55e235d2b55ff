/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Policies: rules that choose the carrier of a copy.
 */
#ifndef TESTGANTRY_POLICY_H
#define TESTGANTRY_POLICY_H

#include <stdbool.h>

#include "gantry.h"

/** Reads a policy from a file. Returns 0, or -1 with the error printed. */
int policy_read(const char *path, struct gantry_policy *policy);

/** Returns true if a rule of the policy names the carrier. */
bool policy_names(const struct gantry_policy *policy, enum gantry_carrier carrier);

#endif
