/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings of connections, from the public form to that of lib/hwq. */
#ifndef GANTRY_PATH_H
#define GANTRY_PATH_H

#include <hwq_path.h>

#include "gantry.h"

/*
 * Checks a path. 0; or -EINVAL, and the log names the setting. Whether the device has the port and
 * the GID is not looked at.
 */
int gantry_path_check(const struct gantry_path *path);

/*
 * A path, and what the other path has where it gives nothing. A GID index is not inherited by another
 * port. first: the port that is meant where `other` has 0.
 */
struct gantry_path gantry_path_merge(const struct gantry_path *path,
	const struct gantry_path *other, uint8_t first);

/* A path that was checked, as lib/hwq has it. */
struct hwq_path gantry_path_to_hwq(const struct gantry_path *path);

#endif
