/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Opens the device that the options name.
 */
#ifndef TESTGANTRY_DEVICE_H
#define TESTGANTRY_DEVICE_H

#include "gantry.h"
#include "options.h"

/**
 * Creates an engine on the device of o->device, and with *conf otherwise. 0, or -1 with the error
 * printed.
 */
int device_open(const struct options *o, struct gantry_conf conf, struct gantry **engine);

/** The same, with the copy path and the policy that the options name. */
int device_open_for_copies(const struct options *o, struct gantry **engine);

#endif
