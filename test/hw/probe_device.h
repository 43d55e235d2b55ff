/* SPDX-License-Identifier: BSD-3-Clause */
/* The device that the probes use. */
#ifndef PROBE_DEVICE_H
#define PROBE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "probe.h"

struct probe_device {
	char name[IBV_SYSFS_NAME_MAX], fw[64], error[PROBE_SEEN_MAX];
	uint32_t part;
	bool emulated;
};

/*
 * Fills *d, memory of probe_share(), with facts of the device of that name; NULL: the first mlx5
 * device. Returns false, and prints to stderr what to do, if there is no such device, if its port
 * is not active, or if it is the emulated one and `rehearse` is not set.
 */
bool probe_device_choose(struct probe_device *d, const char *name, bool rehearse);

#endif
