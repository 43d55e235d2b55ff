/* SPDX-License-Identifier: BSD-3-Clause */
/* The name of a device, for log lines. */
#include "hwq_dev.h"

#include <infiniband/verbs.h>

const char *
hwq_dev_name(const struct hwq_dev *dev)
{
	return ibv_get_device_name(dev->ctx->device);
}
