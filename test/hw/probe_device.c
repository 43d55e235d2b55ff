/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the device, and checks that probes can run on it. */
#include "probe_device.h"

#include <stdio.h>
#include <string.h>

#include <infiniband/mlx5dv.h>

#include "probe_child.h"
#include "softhca.h"

/* Returns the device named d->name, or the first mlx5 device. */
static struct ibv_device *
find_device(struct ibv_device **devices, const struct probe_device *d)
{
	for (; devices != NULL && *devices != NULL; devices++)
		if (d->name[0] != '\0' ? strcmp(ibv_get_device_name(*devices), d->name) == 0
				       : mlx5dv_is_supported(*devices))
			return mlx5dv_is_supported(*devices) ? *devices : NULL;
	return NULL;
}

/* Runs in a child, because a process that looks for devices gets the emulated adapter. */
static void
look_at_device(void *shared)
{
	struct probe_device *d = shared;
	struct ibv_device *device = find_device(ibv_get_device_list(NULL), d);
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	struct ibv_context *ctx;

	d->emulated = softhca_active();
	if (device == NULL) {
		snprintf(d->error, sizeof(d->error),
			"there is no such mlx5 device here. ibv_devices lists the devices");
		return;
	}
	snprintf(d->name, sizeof(d->name), "%s", ibv_get_device_name(device));
	ctx = ibv_open_device(device);
	if (ctx == NULL || ibv_query_device(ctx, &attr) != 0 ||
		ibv_query_port(ctx, 1, &port) != 0) {
		snprintf(d->error, sizeof(d->error),
			"the device does not open: %m. May this user "
			"open /dev/infiniband/uverbs*?");
		return;
	}
	d->part = attr.vendor_part_id;
	snprintf(d->fw, sizeof(d->fw), "%s", attr.fw_ver);
	if (port.state != IBV_PORT_ACTIVE)
		snprintf(d->error, sizeof(d->error),
			"port 1 is %s. Connect it, or name another device by --device",
			ibv_port_state_str(port.state));
}

bool
probe_device_choose(struct probe_device *d, const char *name, bool rehearse)
{
	char why[PROBE_SEEN_MAX - 32];

	if (name != NULL)
		snprintf(d->name, sizeof(d->name), "%s", name);
	if (probe_child(look_at_device, d, why, sizeof(why)) != 0)
		snprintf(d->error, sizeof(d->error), "looking at the device: %s", why);
	if (d->emulated && !rehearse)
		snprintf(d->error, sizeof(d->error),
			"this machine has no mlx5 device. --rehearse asks the emulated one");
	if (d->error[0] == '\0')
		return true;
	fprintf(stderr, "hw_probe: %s\n", d->error);
	return false;
}
