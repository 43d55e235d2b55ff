/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings of connections: checks, defaults, and their form in lib/hwq. */
#ifndef GANTRY_PATH_H
#define GANTRY_PATH_H

#include <hwq_path.h>

#include "gantry.h"

/*
 * Checks a path. Returns 0, or logs the name of the setting and returns -EINVAL. The function does
 * not check whether the device has the port and the GID.
 */
int gantry_path_check(const struct gantry_path *path);

/*
 * Returns a path with the settings of `path`, and with those settings of `other` that `path` does
 * not have. The GID index of `other` is not used for another port. first: the port, if neither path
 * has a port.
 */
struct gantry_path gantry_path_merge(const struct gantry_path *path,
	const struct gantry_path *other, uint8_t first);

/* Returns a checked path in the form of lib/hwq. */
struct hwq_path gantry_path_to_hwq(const struct gantry_path *path);

#endif
