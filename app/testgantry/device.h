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
 * Creates an engine on the device o->device, with the settings of conf. Returns 0, or -1 with the
 * error printed.
 */
int device_open(const struct options *o, struct gantry_conf conf, struct gantry **engine);

/** device_open() with the copy path and the policy of the options. */
int device_open_for_copies(const struct options *o, struct gantry **engine);

#endif
