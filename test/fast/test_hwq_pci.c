/* SPDX-License-Identifier: BSD-3-Clause */
/* PCI addresses as names of devices: they are compared with links of the form that sysfs has. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hwq_pci.h"

#include "check.h"

/* Returns whether `text` is the name of a device whose folder in sysfs has this link. */
static bool
is_linked(const char *target, const char *text)
{
	struct ibv_device device = {0};
	char link[sizeof(device.ibdev_path) + 16];
	bool is_of;

	snprintf(device.ibdev_path, sizeof(device.ibdev_path), "/tmp/test_hwq_pci.XXXXXX");
	CHECK(mkdtemp(device.ibdev_path) != NULL, "a folder");
	snprintf(link, sizeof(link), "%s/device", device.ibdev_path);
	if (target != NULL)
		CHECK_EQ(symlink(target, link), 0, "a link");
	is_of = hwq_pci_is_of(text, &device);
	unlink(link);
	rmdir(device.ibdev_path);
	return is_of;
}

static void
addresses_of_links(void)
{
	static const char link[] = "../../../0000:03:0a.1";

	CHECK(is_linked(link, "0000:03:0a.1"), "the address");
	CHECK(is_linked(link, "03:0a.1"), "the short form");
	CHECK(is_linked(link, "3:A.1"), "fewer digits");
	CHECK(!is_linked(link, "0001:03:0a.1"), "another domain");
	CHECK(!is_linked(link, "04:0a.1"), "another bus");
	CHECK(!is_linked(link, "03:0b.1"), "another device");
	CHECK(!is_linked(link, "03:0a.0"), "another function");
	CHECK(!is_linked(link, "03:0a.1x"), "no address");
	CHECK(is_linked("../../0001:03:0a.1", "0001:03:0a.1"), "a domain");
	CHECK(!is_linked("../../0001:03:0a.1", "03:0a.1"), "the short form is of domain 0");
	CHECK(!is_linked("../../0000:03:0a.1/mlx5_core.sf.4", "03:0a.1"), "a subfunction");
	CHECK(!is_linked(NULL, "03:0a.1"), "no link");
}

int
main(void)
{
	addresses_of_links();
	CHECK(hwq_pci_is_address("0000:03:00.0"));
	CHECK(hwq_pci_is_address("03:00.0"));
	CHECK(!hwq_pci_is_address("mlx5_0"));
	CHECK(!hwq_pci_is_address("03:00"));
	CHECK(!hwq_pci_is_address(""));
	return 0;
}
