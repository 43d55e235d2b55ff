/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the PCI address of a device. In sysfs, `device` in the device's folder is a link to the
 * folder of the PCI function; the folder's name is the address. A subfunction has its own folder,
 * whose name is not an address.
 */
#include "hwq_pci.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct address {
	unsigned int domain, bus, device, function;
};

static bool
parse(const char *text, struct address *a)
{
	int end = -1;

	*a = (struct address){0};
	if (sscanf(text, "%8x:%2x:%2x.%1x%n", &a->domain, &a->bus, &a->device, &a->function,
		    &end) != 4) {
		a->domain = 0;
		end = -1;
		if (sscanf(text, "%2x:%2x.%1x%n", &a->bus, &a->device, &a->function, &end) != 3)
			return false;
	}
	return end >= 0 && text[end] == '\0';
}

bool
hwq_pci_is_address(const char *text)
{
	struct address a;

	return parse(text, &a);
}

bool
hwq_pci_is_of(const char *text, const struct ibv_device *device)
{
	char path[IBV_SYSFS_PATH_MAX + sizeof("/device")], link[PATH_MAX];
	struct address wanted, found;
	const char *name;
	ssize_t len;

	if (!parse(text, &wanted))
		return false;
	snprintf(path, sizeof(path), "%s/device", device->ibdev_path);
	len = readlink(path, link, sizeof(link) - 1);
	if (len < 0)
		return false;
	link[len] = '\0';
	name = strrchr(link, '/');
	return parse(name != NULL ? name + 1 : link, &found) && wanted.domain == found.domain &&
	       wanted.bus == found.bus && wanted.device == found.device &&
	       wanted.function == found.function;
}
