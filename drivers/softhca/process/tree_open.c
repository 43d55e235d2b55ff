/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a file of a tree as the kernel would: checks access, and writes current values. */
#include "tree_open.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "caps.h"
#include "counters.h"
#include "devices.h"
#include "log.h"
#include "netdev.h"
#include "raw.h"
#include "tree.h"

/*
 * ---------------------------------------------------------------- features that are not emulated
 */

static void
say_once(atomic_bool *said, const char *what)
{
	if (!atomic_exchange(said, true))
		softhca_log("%s", what);
}

/* True for the files of an adapter that libibumad uses (management datagrams). */
static bool
is_umad(const char *name)
{
	return strncmp(name, "/dev/infiniband/umad", 20) == 0 ||
	       strncmp(name, "/dev/infiniband/issm", 20) == 0 ||
	       strcmp(name, "/sys/class/infiniband_mad/abi_version") == 0;
}

static int
refuse_what_is_missing(const struct path_place *place)
{
	static atomic_bool said_umad;

	if (is_umad(place->name) && raw_access(place->real, F_OK) != 0)
		say_once(&said_umad,
			"management datagrams (umad) are not emulated: perfquery, sminfo "
			"and other programs that send them cannot work here");
	return 0; /* the kernel answers ENOENT */
}

/* ---------------------------------------------------------------- current values */

/*
 * Returns the adapter of a name below class/infiniband, and sets *port and *attribute, the rest of
 * the name. Returns NULL if the name is not below a port of an adapter.
 */
static const struct softhca_dev *
port_of(const char *name, unsigned int *port, const char **attribute)
{
	const char *at = strstr(name, "/infiniband/mlx5_");
	unsigned int index, n;
	int used = 0;
	const struct softhca_dev *devs = softhca_devices(&n);

	if (at == NULL || sscanf(at, "/infiniband/mlx5_%u/ports/%u/%n", &index, port, &used) != 2 ||
		used == 0 || index >= n)
		return NULL;
	*attribute = at + used;
	return &devs[index];
}

/* Prints a counter of the process that made the tree, which is this process or its parent. */
static bool
print_counter(const struct softhca_dev *dev, unsigned int port, const char *name, char *text,
	size_t len)
{
	char path[PATH_MAX];
	uint64_t value;

	snprintf(path, sizeof(path), "%s/counters", tree_path());
	if (!counters_read(path, dev->index, port, name, &value))
		return false;
	snprintf(text, len, "%" PRIu64 "\n", value);
	return true;
}

/*
 * Prints the value of a file that changes, in the kernel's format. Returns false if the file does
 * not change.
 */
static bool
print_value(const char *name, char *text, size_t len)
{
	struct ib_uverbs_query_port_resp_ex resp;
	const struct softhca_dev *dev;
	const char *attribute;
	unsigned int port;

	dev = port_of(name, &port, &attribute);
	if (dev == NULL || caps_query_port(dev, port, &resp) != 0)
		return false;
	if (strncmp(attribute, "counters/", 9) == 0)
		return print_counter(dev, port, attribute + 9, text, len);
	if (strncmp(attribute, "hw_counters/", 12) == 0)
		return print_counter(dev, port, attribute + 12, text, len);
	if (!tree_is_own())
		return false;
	if (strcmp(attribute, "state") == 0)
		snprintf(text, len, "%s\n", resp.legacy_resp.state == 4 ? "4: ACTIVE" : "1: DOWN");
	else if (strcmp(attribute, "phys_state") == 0)
		snprintf(text, len, "%s\n",
			resp.legacy_resp.phys_state == 5 ? "5: LinkUp" : "3: Disabled");
	else
		return false;
	return true;
}

int
tree_text(const char *text, char path[TREE_TEXT_PATH])
{
	int copy = memfd_create("softhca", MFD_CLOEXEC);

	if (copy < 0)
		return -1;
	snprintf(path, TREE_TEXT_PATH, "/proc/self/fd/%d", copy);
	if (raw_write(copy, text, strlen(text)) == (ssize_t)strlen(text) &&
		raw_access(path, F_OK) == 0)
		return copy;
	close(copy);
	return -1;
}

/*
 * Replaces the file by a copy that has the present value. If the copy cannot be made, the program
 * gets the tree's file, which has the value of a new adapter.
 */
static void
replace_by_value(struct path_place *place, int *fd)
{
	char text[64], copy_path[TREE_TEXT_PATH];

	if (!print_value(place->name, text, sizeof(text)))
		return;
	*fd = tree_text(text, copy_path);
	if (*fd >= 0)
		strcpy(place->real, copy_path);
}

/* ---------------------------------------------------------------- open */

static int
open_for_writing(const struct path_place *place, int flags)
{
	struct stat st;

	if ((flags & O_TMPFILE) == O_TMPFILE)
		return -EOPNOTSUPP;
	if (raw_stat(place->real, &st) != 0)
		return (flags & O_CREAT) != 0 ? -EACCES : 0;
	return S_ISREG(st.st_mode) ? -EACCES : 0;
}

/*
 * True if the kernel would refuse to read this file: the entry of the GID table is empty, or its
 * network interface does not exist any more (print_ndev in drivers/infiniband/core/sysfs.c).
 */
static bool
has_lost_netdev(const char *name)
{
	char netdev[NETDEV_NAME_MAX];
	const char *attribute;
	const struct softhca_dev *dev;
	unsigned int port;

	dev = port_of(name, &port, &attribute);
	return dev != NULL && strncmp(attribute, "gid_attrs/ndevs/", 16) == 0 &&
	       netdev_of(dev, port, netdev) == 0;
}

int
tree_open(struct path_place *place, int flags, int *fd)
{
	static atomic_bool said_config;
	const char *base = strrchr(place->name, '/');
	struct stat st;

	*fd = -1;
	if (place->kind != PATH_TREE)
		return refuse_what_is_missing(place);
	if ((flags & O_PATH) != 0)
		return 0;
	if ((flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0)
		return open_for_writing(place, flags);
	if (strcmp(base, "/config") == 0) {
		say_once(&said_config,
			"the PCI configuration space is not emulated: lspci shows only the "
			"adapter's ids, and mstflint and setpci cannot work here");
		return -EPERM;
	}
	if (strstr(place->name, "/gid_attrs/") != NULL && raw_stat(place->real, &st) == 0 &&
		S_ISREG(st.st_mode) && (st.st_size == 0 || has_lost_netdev(place->name)))
		return -EINVAL;
	replace_by_value(place, fd);
	return 0;
}
