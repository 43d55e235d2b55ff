/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings of connections: checks, defaults, and their form in lib/hwq. */
#ifndef GANTRY_PATH_H
#define GANTRY_PATH_H

#include <hwq_path.h>

#include "gantry.h"

/*
 * Checks a path. Returns 0; or -EINVAL, and logs the name of the setting. It does not check that
 * the device has the port and the GID.
 */
int gantry_path_check(const struct gantry_path *path);

/*
 * A path with the settings of `path`, and those of `other` where `path` gives none. A GID index
 * does not pass to another port. first: the port that `other` means by 0.
 */
struct gantry_path gantry_path_merge(const struct gantry_path *path,
	const struct gantry_path *other, uint8_t first);

/* The form of a checked path in lib/hwq. */
struct hwq_path gantry_path_to_hwq(const struct gantry_path *path);

#endif
