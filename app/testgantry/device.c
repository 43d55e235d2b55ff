/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Opens a device. On failure, prints which option caused it.
 */
#include "device.h"

#include <errno.h>
#include <string.h>

#include "policy.h"
#include "quote.h"
#include "report.h"

int
device_open(const struct options *o, struct gantry_conf conf, struct gantry **engine)
{
	const char *device = o->device[0] != '\0' ? quote_name(o->device) : "the mlx5 device";
	int rc;

	conf.device = o->device[0] != '\0' ? o->device : NULL;
	rc = gantry_create(&conf, engine);
	if (rc == 0)
		return 0;
	if (rc == -ENODEV && conf.device != NULL)
		error_print(
			"--device: there is no %s: give a name that ibv_devices lists, or a PCI address",
			device);
	else if (rc == -ENODEV)
		error_print("there is no mlx5 device: ibv_devices lists the devices");
	else if (rc == -EOPNOTSUPP && conf.policy != NULL && conf.policy->n != 0)
		error_print("--policy: %s cannot use %s: the log lines above say why; testgantry "
			    "--measure-policy FILE measures a policy for this device",
			device, quote_name(o->policy));
	else if (rc == -EOPNOTSUPP)
		error_print("--copy-path: %s lacks what %s needs: use --copy-path auto", device,
			conf.copy_path == GANTRY_COPY_MMO ? "mmo" : "rdma");
	else
		error_print("cannot open %s: %s; the log lines above say more", device,
			strerror(-rc));
	return -1;
}

int
device_open_for_copies(const struct options *o, struct gantry **engine)
{
	struct gantry_policy policy = {0};
	struct gantry_conf conf = {.copy_path = o->copy_path, .policy = &policy};

	if (o->policy[0] != '\0' && policy_read(o->policy, &policy) != 0)
		return -1;
	conf.rdma_copies = policy_names(&policy, GANTRY_CARRIER_RDMA);
	return device_open(o, conf, engine);
}
