/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the RDMA devices in the machine's own sysfs. */
#include "sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "raw.h"

bool
sysfs_read_line(const char *path, char *buf, size_t len)
{
	int fd = raw_open(path, O_RDONLY | O_CLOEXEC, 0);
	ssize_t n = fd >= 0 ? read(fd, buf, len - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return false;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return true;
}

/*
 * Checks the PCI id: vendor Mellanox, Connect-IB or a later device. A subfunction is recognised by
 * the bus name of its driver.
 */
bool
sysfs_is_mlx5(const char *root, const char *ibdev)
{
	char path[PATH_MAX], modalias[256];
	unsigned int vendor, device;

	snprintf(path, sizeof(path), "%s/class/infiniband/%s/device/modalias", root, ibdev);
	if (!sysfs_read_line(path, modalias, sizeof(modalias)))
		return strncmp(ibdev, "mlx5_", 5) == 0;
	if (sscanf(modalias, "pci:v%8xd%8x", &vendor, &device) == 2)
		return vendor == 0x15b3 && device >= 0x1011;
	return strstr(modalias, "mlx5") != NULL;
}

int
sysfs_for_each_uverbs(const char *root, sysfs_visitor *visit, void *arg)
{
	char path[PATH_MAX], ibdev[128];
	struct dirent *entry;
	DIR *dir;
	int rc = 0;

	snprintf(path, sizeof(path), "%s/class/infiniband_verbs", root);
	dir = raw_opendir(path);
	if (dir == NULL)
		return 0;
	while (rc == 0 && (entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, "uverbs", 6) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/class/infiniband_verbs/%s/ibdev", root,
			entry->d_name);
		if (sysfs_read_line(path, ibdev, sizeof(ibdev)))
			rc = visit(root, entry->d_name, ibdev, arg);
	}
	closedir(dir);
	return rc;
}

struct found_name {
	char *name;
	size_t len;
};

static int
visit_mlx5(const char *root, const char *uverbs, const char *ibdev, void *arg)
{
	struct found_name *found = arg;

	if (!sysfs_is_mlx5(root, ibdev))
		return 0;
	snprintf(found->name, found->len, "%s", ibdev);
	return 1;
}

bool
sysfs_find_mlx5(const char *root, char *name, size_t len)
{
	struct found_name found = {name, len};

	return sysfs_for_each_uverbs(root, visit_mlx5, &found) != 0;
}

static bool has_others;

static int
visit_number(const char *root, const char *uverbs, const char *ibdev, void *arg)
{
	unsigned int *next = arg, n;

	if (sscanf(uverbs, "uverbs%u", &n) == 1 && n >= *next)
		*next = n + 1;
	has_others = has_others || !sysfs_is_mlx5(root, ibdev);
	return 0;
}

unsigned int
sysfs_next_uverbs(const char *root)
{
	unsigned int next = 0;

	has_others = false;
	(void)sysfs_for_each_uverbs(root, visit_number, &next);
	return next;
}

bool
sysfs_has_others(void)
{
	return has_others;
}
