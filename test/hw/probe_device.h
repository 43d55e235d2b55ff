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
 * Fills *d, which is memory of probe_share(), with properties of the device with that name, or of
 * the first mlx5 device if the name is NULL. Returns false, and prints to stderr what to do, if the
 * device does not exist, if its port is not active, or if it is the emulated adapter and `rehearse`
 * is false.
 */
bool probe_device_choose(struct probe_device *d, const char *name, bool rehearse);

#endif
