/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of adapters of this process: written once, then only read. */
#include "devices.h"

#include <stddef.h>

static struct softhca_dev *devices;
static unsigned int n_devices;

void
softhca_devices_set(struct softhca_dev *devs, unsigned int n)
{
	devices = devs;
	n_devices = n;
}

struct softhca_dev *
softhca_devices(unsigned int *n)
{
	*n = n_devices;
	return devices;
}
