/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files of a tree: the files that the kernel would show for the emulated adapters in /sys and
 * /dev/infiniband.
 *
 *   sys/devices/pci<DDDD>:00/<BDF>/       vendor, device, class, resource, ...; driver, subsystem
 *     infiniband/mlx5_<i>/                node_type, node_guid, ...; device, subsystem
 *       ports/<p>/                        lid, state, ...; gids, gid_attrs, pkeys, (hw_)counters
 *     net/<interface>                     a link to the machine's own: the setting `netdev`
 *     infiniband_verbs/uverbs<N>/         dev, ibdev, abi_version; device, subsystem
 *   sys/class/infiniband/mlx5_<i>         links to the above, and so are
 *   sys/bus/pci/devices/<BDF>             sys/class/infiniband_verbs/uverbs<N>,
 *                                         sys/bus/pci/drivers/mlx5_core/<BDF>,
 *                                         sys/dev/char/231:<minor>
 *   dev/infiniband/uverbs<N>
 *
 * For each of the machine's own entries, such a directory has a symbolic link to the entry's own
 * name. path.c takes such a link for the machine's file.
 *
 * Sources: the kernel's Documentation/ABI/stable/sysfs-class-infiniband, testing/sysfs-bus-pci, and
 * the values' formats in drivers/infiniband/core/sysfs.c, hw/mlx5/main.c and
 * drivers/pci/pci-sysfs.c.
 */
#include "tree_files.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "caps.h"
#include "cm.h"
#include "counters.h"
#include "devices.h"
#include "netdev.h"
#include "raw.h"
#include "sysfs.h"

#define PCI_VENDOR 0x15b3
/*
 * A PCI domain in which real machines have no devices. If this machine has a device in the domain,
 * the next domain is used.
 */
#define PCI_DOMAIN 0xca00
#define BOARD_ID   "SOFTHCA0000000001"

/* The state while a tree is made. After an error, further calls have no effect. */
struct making {
	const char *tree, *root;
	unsigned int domain, first_uverbs;
	int rc;
};

/* ---------------------------------------------------------------- files, links, directories */

static int
make_dirs(const char *tree, const char *path)
{
	char part[PATH_MAX];

	snprintf(part, sizeof(part), "%s", path);
	for (char *slash = part + strlen(tree) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		if (mkdir(part, 0755) != 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

/* Writes the path of a file in an existing directory of the tree. */
static bool
place(struct making *m, char path[PATH_MAX], const char *fmt, va_list ap)
{
	int n = snprintf(path, PATH_MAX, "%s/", m->tree);
	struct stat st;
	char *slash;

	if (n < PATH_MAX)
		n += vsnprintf(path + n, PATH_MAX - n, fmt, ap);
	if (m->rc == 0 && n >= PATH_MAX)
		m->rc = -ENAMETOOLONG;
	if (m->rc != 0)
		return false;
	slash = strrchr(path, '/');
	*slash = '\0';
	n = raw_stat(path, &st);
	*slash = '/';
	if (n != 0)
		m->rc = make_dirs(m->tree, path);
	return m->rc == 0;
}

static void __attribute__((format(printf, 2, 3))) put_dir(struct making *m, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	bool ok;

	va_start(ap, fmt);
	ok = place(m, path, fmt, ap);
	va_end(ap);
	if (ok && mkdir(path, 0755) != 0 && errno != EEXIST)
		m->rc = -errno;
}

/*
 * Writes a file with this text. The kernel ends each value with a newline, which the text must
 * include.
 */
static void __attribute__((format(printf, 3, 4)))
put_text(struct making *m, const char *text, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	bool ok;
	int fd;

	va_start(ap, fmt);
	ok = place(m, path, fmt, ap);
	va_end(ap);
	if (!ok)
		return;
	fd = raw_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0 || raw_write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		m->rc = errno != 0 ? -errno : -EIO;
	if (fd >= 0)
		close(fd);
}

/* Makes a symbolic link whose target is `text`. */
static void __attribute__((format(printf, 3, 4)))
put_link(struct making *m, const char *text, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	bool ok;

	va_start(ap, fmt);
	ok = place(m, path, fmt, ap);
	va_end(ap);
	if (ok && symlink(text, path) != 0)
		m->rc = -errno;
}

/*
 * Makes a hard link to a file of the tree. Many files are equal, and a hard link is made faster
 * than a file.
 */
static void __attribute__((format(printf, 3, 4)))
put_hard_link(struct making *m, const char *file, const char *fmt, ...)
{
	char path[PATH_MAX], from[PATH_MAX];
	va_list ap;
	bool ok;

	va_start(ap, fmt);
	ok = place(m, path, fmt, ap);
	va_end(ap);
	if (ok && snprintf(from, sizeof(from), "%s/%s", m->tree, file) < (int)sizeof(from) &&
		link(from, path) != 0 && errno != EEXIST)
		m->rc = -errno;
}

/* Writes an attribute in a directory of the tree: a value formatted by printf(3), and a newline. */
static void __attribute__((format(printf, 4, 5)))
attr(struct making *m, const char *dir, const char *name, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	text[n] = '\n';
	text[n + 1] = '\0';
	put_text(m, text, "%s/%s", dir, name);
}

/* ---------------------------------------------------------------- the machine's own entries */

/*
 * Makes a link to each entry of the machine's directory, in the tree's directory of the same name.
 */
static void
link_machine(struct making *m, const char *dir, const char *machine)
{
	struct dirent *entry;
	DIR *d = raw_opendir(machine);

	put_dir(m, "%s", dir);
	if (d == NULL)
		return;
	while ((entry = readdir(d)) != NULL) {
		char to[PATH_MAX], from[PATH_MAX];
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (snprintf(to, sizeof(to), "%s/%s/%s", m->tree, dir, entry->d_name) >=
				(int)sizeof(to) ||
			snprintf(from, sizeof(from), "%s/%s", machine, entry->d_name) >=
				(int)sizeof(from))
			continue;
		/* The entries of the emulated adapters are not replaced. */
		if (raw_fstatat(AT_FDCWD, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		/* Another process that uses this tree may have made the link. */
		if (m->rc == 0 && symlink(from, to) != 0 && errno != EEXIST)
			m->rc = -errno;
	}
	closedir(d);
}

/* Links a device of another vendor into the tree, under its own name. */
static int
visit_link(const char *root, const char *uverbs, const char *ibdev, void *arg)
{
	struct making *m = arg;
	char from[PATH_MAX];

	if (sysfs_is_mlx5(root, ibdev))
		return 0;
	snprintf(from, sizeof(from), "%s/class/infiniband_verbs/%s", root, uverbs);
	put_link(m, from, "sys/class/infiniband_verbs/%s", uverbs);
	snprintf(from, sizeof(from), "%s/class/infiniband/%s", root, ibdev);
	put_link(m, from, "sys/class/infiniband/%s", ibdev);
	snprintf(from, sizeof(from), "/dev/infiniband/%s", uverbs);
	put_link(m, from, "dev/infiniband/%s", uverbs);
	return m->rc;
}

/* Makes links to all other files of the machine's /dev/infiniband: umad<N>. */
static void
link_other_files(struct making *m)
{
	struct dirent *entry;
	DIR *d = raw_opendir("/dev/infiniband");
	char from[PATH_MAX];

	while (d != NULL && (entry = readdir(d)) != NULL) {
		if (entry->d_name[0] == '.' || strncmp(entry->d_name, "uverbs", 6) == 0)
			continue;
		if (strcmp(entry->d_name, "rdma_cm") == 0 && !sysfs_has_others())
			continue; /* put_cm() has made it */
		snprintf(from, sizeof(from), "/dev/infiniband/%s", entry->d_name);
		put_link(m, from, "dev/infiniband/%s", entry->d_name);
	}
	if (d != NULL)
		closedir(d);
}

/* ---------------------------------------------------------------- CPUs near the adapters: all */

#define MAX_CPUS 4096

struct cpus {
	char list[512];
	char mask[MAX_CPUS / 32 * 9 + 1]; /* 32-bit words, highest first, in the format of %*pb */
};

static void
add_range(uint32_t *words, unsigned int *n, unsigned int first, unsigned int last)
{
	for (unsigned int cpu = first; cpu <= last && cpu < MAX_CPUS; cpu++) {
		words[cpu / 32] |= UINT32_C(1) << cpu % 32;
		if (cpu >= *n)
			*n = cpu + 1;
	}
}

static void
read_cpus(const char *root, struct cpus *cpus)
{
	uint32_t words[MAX_CPUS / 32] = {0};
	char path[PATH_MAX], *at = cpus->mask;
	unsigned int n = 1;
	int used;

	snprintf(path, sizeof(path), "%s/devices/system/cpu/online", root);
	if (!sysfs_read_line(path, cpus->list, sizeof(cpus->list)) &&
		!sysfs_read_line("/sys/devices/system/cpu/online", cpus->list, sizeof(cpus->list)))
		strcpy(cpus->list, "0");
	for (const char *text = cpus->list; *text != '\0';) {
		unsigned int first, last;

		if (sscanf(text, "%u-%u%n", &first, &last, &used) != 2) {
			if (sscanf(text, "%u%n", &first, &used) != 1)
				break;
			last = first;
		}
		add_range(words, &n, first, last);
		text += used;
		text += *text == ',';
	}
	at += sprintf(at, "%0*x", (int)(n - 1) % 32 / 4 + 1, words[(n - 1) / 32]);
	for (unsigned int word = (n - 1) / 32; word > 0; word--)
		at += sprintf(at, ",%08x", words[word - 1]);
}

/* ---------------------------------------------------------------- the PCI function */

static bool
is_ethernet(const struct softhca_dev *dev)
{
	return dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET;
}

static void
print_bdf(unsigned int domain, const struct softhca_dev *dev, char *buf, size_t len)
{
	snprintf(buf, len, "%04x:00:%02x.0", domain, dev->index + 1);
}

/* Returns a PCI domain in which the machine has no device. */
static unsigned int
free_domain(const char *root)
{
	unsigned int domain = PCI_DOMAIN;
	char path[PATH_MAX];

	do
		snprintf(path, sizeof(path), "%s/devices/pci%04x:00", root, domain);
	while (raw_access(path, F_OK) == 0 && ++domain < 0xffff);
	return domain;
}

static void
put_pci_links(struct making *m, const char *dir, const char *bdf)
{
	char text[128];

	put_link(m, "../../../bus/pci", "%s/subsystem", dir);
	put_link(m, "../../../bus/pci/drivers/mlx5_core", "%s/driver", dir);
	snprintf(text, sizeof(text), "../../../devices/pci%04x:00/%s", m->domain, bdf);
	put_link(m, text, "sys/bus/pci/devices/%s", bdf);
	snprintf(text, sizeof(text), "../../../../devices/pci%04x:00/%s", m->domain, bdf);
	put_link(m, text, "sys/bus/pci/drivers/mlx5_core/%s", bdf);
}

static void
put_pci(struct making *m, const struct softhca_dev *dev, const char *dir, const char *bdf)
{
	unsigned int class = is_ethernet(dev) ? 0x020000 : 0x020700;
	char modalias[128], resource[7 * 57 + 1], *at = resource;
	struct cpus cpus;

	snprintf(modalias, sizeof(modalias), "pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X",
		PCI_VENDOR, dev->cfg->part_id, PCI_VENDOR, 1, class >> 16, class >> 8 & 0xff,
		class & 0xff);
	attr(m, dir, "vendor", "0x%04x", PCI_VENDOR);
	attr(m, dir, "device", "0x%04x", dev->cfg->part_id);
	attr(m, dir, "subsystem_vendor", "0x%04x", PCI_VENDOR);
	attr(m, dir, "subsystem_device", "0x%04x", 1);
	attr(m, dir, "class", "0x%06x", class);
	attr(m, dir, "revision", "0x%02x", 0);
	attr(m, dir, "modalias", "%s", modalias);
	attr(m, dir, "uevent",
		"DRIVER=mlx5_core\nPCI_CLASS=%05X\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\n"
		"PCI_SLOT_NAME=%s\nMODALIAS=%s",
		class, PCI_VENDOR, dev->cfg->part_id, PCI_VENDOR, 1, bdf, modalias);
	attr(m, dir, "numa_node", "-1");
	read_cpus(m->root, &cpus);
	attr(m, dir, "local_cpus", "%s", cpus.mask);
	attr(m, dir, "local_cpulist", "%s", cpus.list);
	attr(m, dir, "irq", "0");
	attr(m, dir, "enable", "1");
	attr(m, dir, "broken_parity_status", "0");
	attr(m, dir, "msi_bus", "1");
	attr(m, dir, "dma_mask_bits", "64");
	attr(m, dir, "consistent_dma_mask_bits", "64");
	attr(m, dir, "current_link_speed", "32.0 GT/s PCIe");
	attr(m, dir, "max_link_speed", "32.0 GT/s PCIe");
	attr(m, dir, "current_link_width", "16");
	attr(m, dir, "max_link_width", "16");
	/*
	 * The six base address registers and the ROM have no memory, because their pages cannot be
	 * mapped.
	 */
	for (unsigned int i = 0; i < 7; i++)
		at += sprintf(at, "0x%016x 0x%016x 0x%016x\n", 0, 0, 0);
	put_text(m, resource, "%s/resource", dir);
	put_text(m, "", "%s/config", dir); /* tree_open.c refuses to open it */
	put_pci_links(m, dir, bdf);
}

/* ---------------------------------------------------------------- the RDMA device */

/*
 * The counters, and the width that the kernel gives each of them:
 * Documentation/ABI/stable/sysfs-class-infiniband.
 */
static const char *const counters[] = {"symbol_error", "link_error_recovery", "link_downed",
	"port_rcv_errors", "port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors",
	"port_xmit_discards", "port_xmit_constraint_errors", "port_rcv_constraint_errors",
	"local_link_integrity_errors", "excessive_buffer_overrun_errors", "VL15_dropped",
	"port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets",
	"port_xmit_wait", "unicast_xmit_packets", "unicast_rcv_packets", "multicast_xmit_packets",
	"multicast_rcv_packets"};

static void
put_port(struct making *m, const struct softhca_dev *dev, const char *ibdev, unsigned int port)
{
	struct ib_uverbs_query_port_resp_ex resp = {0};
	const struct ib_uverbs_query_port_resp *p = &resp.legacy_resp;
	char dir[192], values[256];

	(void)caps_query_port(dev, port, &resp);
	snprintf(dir, sizeof(dir), "%s/ports/%u", ibdev, port);
	attr(m, dir, "link_layer", "%s", is_ethernet(dev) ? "Ethernet" : "InfiniBand");
	attr(m, dir, "state", "4: ACTIVE");
	attr(m, dir, "phys_state", "5: LinkUp");
	attr(m, dir, "rate", "400 Gb/sec (4X NDR)");
	attr(m, dir, "lid", "0x%x", p->lid);
	attr(m, dir, "lid_mask_count", "%u", p->lmc);
	attr(m, dir, "sm_lid", "0x%x", p->sm_lid);
	attr(m, dir, "sm_sl", "%u", p->sm_sl);
	attr(m, dir, "cap_mask", "0x%08x", p->port_cap_flags);
	for (uint32_t i = 0; i < caps_pkey_table_len(dev); i++)
		put_text(m, i == 0 ? "0xffff\n" : "0x0000\n", "%s/pkeys/%u", dir, i);
	snprintf(values, sizeof(values), "%s/counters", dir);
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		put_hard_link(m, "zero", "%s/%s", values, counters[i]);
	snprintf(values, sizeof(values), "%s/hw_counters", dir);
	for (size_t i = 0; counters_hw_names[i] != NULL; i++)
		put_hard_link(m, "zero", "%s/%s", values, counters_hw_names[i]);
	attr(m, values, "lifespan", "10");
	put_dir(m, "%s/gids", dir);
	put_dir(m, "%s/gid_attrs/types", dir);
	put_dir(m, "%s/gid_attrs/ndevs", dir);
}

static void
put_ibdev(struct making *m, const struct softhca_dev *dev, const char *pci)
{
	uint64_t guid = caps_node_guid(dev);
	char text[128], dir[128];

	snprintf(dir, sizeof(dir), "%s/infiniband/mlx5_%u", pci, dev->index);
	attr(m, dir, "node_type", "1: CA");
	snprintf(text, sizeof(text), "%04x:%04x:%04x:%04x", (unsigned int)(guid >> 48),
		(unsigned int)(guid >> 32) & 0xffff, (unsigned int)(guid >> 16) & 0xffff,
		(unsigned int)guid & 0xffff);
	attr(m, dir, "node_guid", "%s", text);
	attr(m, dir, "sys_image_guid", "%s", text);
	attr(m, dir, "node_desc", "mlx5_%u softhca", dev->index);
	attr(m, dir, "board_id", BOARD_ID);
	attr(m, dir, "hw_rev", "%x", caps_hw_ver(dev));
	attr(m, dir, "hca_type", "MT%u", dev->cfg->part_id);
	attr(m, dir, "fw_ver", "%u.%u.%04u", dev->cfg->fw_major, dev->cfg->fw_minor,
		dev->cfg->fw_sub);
	attr(m, dir, "fw_pages", "0");
	attr(m, dir, "reg_pages", "0");
	attr(m, dir, "uevent", "NAME=mlx5_%u", dev->index);
	put_link(m, "../../../../../class/infiniband", "%s/subsystem", dir);
	for (unsigned int p = 1; p <= dev->cfg->ports; p++)
		put_port(m, dev, dir, p);
}

static void
put_uverbs(struct making *m, const struct softhca_dev *dev, const char *pci)
{
	unsigned int uverbs = m->first_uverbs + dev->index;
	unsigned int minor = TREE_MINOR_BASE + uverbs;
	char dir[128];

	snprintf(dir, sizeof(dir), "%s/infiniband_verbs/uverbs%u", pci, uverbs);
	attr(m, dir, "ibdev", "mlx5_%u", dev->index);
	attr(m, dir, "dev", "%u:%u", TREE_MAJOR, minor);
	attr(m, dir, "abi_version", "1");
	attr(m, dir, "uevent", "MAJOR=%u\nMINOR=%u\nDEVNAME=infiniband/uverbs%u\nDEVMODE=0666",
		TREE_MAJOR, minor, uverbs);
	put_link(m, "../../../../../class/infiniband_verbs", "%s/subsystem", dir);
	put_text(m, "", "dev/infiniband/uverbs%u", uverbs);
}

/*
 * Makes links to the network interfaces. The kernel has a directory for each. The interface belongs
 * to the machine, so the tree has a link to the machine's directory.
 */
static void
put_netdevs(struct making *m, const struct softhca_dev *dev, const char *pci)
{
	char names[SOFTHCA_MAX_PORTS][NETDEV_NAME_MAX], path[PATH_MAX];

	for (unsigned int p = 0; p < dev->cfg->ports; p++) {
		if (netdev_of(dev, p + 1, names[p]) == 0)
			continue;
		snprintf(path, sizeof(path), "%s/class/net/%s", m->root, names[p]);
		if (p == 0 || strcmp(names[p], names[p - 1]) != 0)
			put_link(m, path, "%s/net/%s", pci, names[p]);
	}
}

static void
put_device(struct making *m, const struct softhca_dev *dev)
{
	unsigned int uverbs = m->first_uverbs + dev->index;
	char bdf[32], pci[64], text[160];

	print_bdf(m->domain, dev, bdf, sizeof(bdf));
	snprintf(pci, sizeof(pci), "sys/devices/pci%04x:00/%s", m->domain, bdf);
	put_pci(m, dev, pci, bdf);
	put_ibdev(m, dev, pci);
	put_uverbs(m, dev, pci);
	put_netdevs(m, dev, pci);
	snprintf(text, sizeof(text), "../../../%s", bdf);
	put_link(m, text, "%s/infiniband/mlx5_%u/device", pci, dev->index);
	put_link(m, text, "%s/infiniband_verbs/uverbs%u/device", pci, uverbs);
	snprintf(text, sizeof(text), "../../devices/pci%04x:00/%s/infiniband/mlx5_%u", m->domain,
		bdf, dev->index);
	put_link(m, text, "sys/class/infiniband/mlx5_%u", dev->index);
	snprintf(text, sizeof(text), "../../devices/pci%04x:00/%s/infiniband_verbs/uverbs%u",
		m->domain, bdf, uverbs);
	put_link(m, text, "sys/class/infiniband_verbs/uverbs%u", uverbs);
	put_link(m, text, "sys/dev/char/%u:%u", TREE_MAJOR, TREE_MINOR_BASE + uverbs);
}

/*
 * Makes the files of the connection manager. If the machine has RDMA devices of other vendors, its
 * own connection manager stays, which knows these devices.
 */
static void
put_cm(struct making *m)
{
	static const char dir[] = "sys/devices/virtual/misc/rdma_cm";

	if (sysfs_has_others())
		return;
	attr(m, dir, "abi_version", "%u", CM_ABI);
	attr(m, dir, "dev", "%u:%u", CM_MAJOR, CM_MINOR);
	attr(m, dir, "uevent", "MAJOR=%u\nMINOR=%u\nDEVNAME=infiniband/rdma_cm\nDEVMODE=0666",
		CM_MAJOR, CM_MINOR);
	put_link(m, "../../../../class/misc", "%s/subsystem", dir);
	put_link(m, "../../devices/virtual/misc/rdma_cm", "sys/class/misc/rdma_cm");
	put_link(m, "../../devices/virtual/misc/rdma_cm", "sys/dev/char/%u:%u", CM_MAJOR, CM_MINOR);
	put_text(m, "", "dev/infiniband/rdma_cm");
}

int
tree_files_make(const char *tree, const char *root, unsigned int first_uverbs)
{
	struct making m = {.tree = tree, .root = root, .first_uverbs = first_uverbs};
	unsigned int n;
	const struct softhca_dev *devs = softhca_devices(&n);

	m.domain = free_domain(root);
	put_text(&m, "0\n", "zero");
	put_text(&m, "6\n", "sys/class/infiniband_verbs/abi_version");
	put_dir(&m, "sys/class/infiniband");
	put_dir(&m, "dev/infiniband");
	(void)sysfs_for_each_uverbs(root, visit_link, &m);
	put_cm(&m);
	link_other_files(&m);
	for (unsigned int i = 0; i < n; i++)
		put_device(&m, &devs[i]);
	return m.rc;
}

int
tree_files_merge(const char *tree, const char *root, const char *dir)
{
	struct making m = {.tree = tree};
	char machine[PATH_MAX];

	if (snprintf(machine, sizeof(machine), "%s%s", root, dir + strlen("/sys")) >=
		(int)sizeof(machine))
		return -ENAMETOOLONG;
	link_machine(&m, dir + 1, machine);
	return m.rc;
}

/* ---------------------------------------------------------------- GID tables */

/*
 * Returns the name of a GID's type, as in gid_type_str of the kernel's
 * drivers/infiniband/core/cache.c.
 */
static const char *
gid_type(const struct ib_uverbs_gid_entry *entry)
{
	return entry->gid_type == CAPS_GID_ROCE_V2 ? "RoCE v2\n" : "IB/RoCE v1\n";
}

static void
put_gid(struct making *m, const char *dir, uint32_t index, const struct ib_uverbs_gid_entry *entry)
{
	uint64_t high = be64toh(entry->gid[0]), low = be64toh(entry->gid[1]);
	char text[64], *at = text;

	for (int shift = 48; shift >= 0; shift -= 16)
		at += sprintf(at, "%04x:", (unsigned int)(high >> shift) & 0xffff);
	for (int shift = 48; shift >= 0; shift -= 16)
		at += sprintf(at, "%04x%c", (unsigned int)(low >> shift) & 0xffff,
			shift > 0 ? ':' : '\n');
	put_text(m, text, "%s/gids/%u", dir, index);
	put_text(m, gid_type(entry), "%s/gid_attrs/types/%u", dir, index);
}

static void
put_gids(struct making *m, const struct softhca_dev *dev, unsigned int port)
{
	struct ib_uverbs_gid_entry entry;
	char dir[128], netdev[NETDEV_NAME_MAX + 1];
	const bool tied = netdev_of(dev, port, netdev) != 0;

	strcat(netdev, "\n");
	snprintf(dir, sizeof(dir), "sys/class/infiniband/mlx5_%u/ports/%u", dev->index, port);
	for (uint32_t i = 0; i < caps_gid_table_len(dev); i++) {
		const bool used = caps_gid(dev, port, i, &entry) == 0;

		if (used) {
			put_gid(m, dir, i, &entry);
		} else {
			put_hard_link(m, "no_gid", "%s/gids/%u", dir, i);
			put_hard_link(m, "no_attribute", "%s/gid_attrs/types/%u", dir, i);
		}
		if (used && tied)
			put_text(m, netdev, "%s/gid_attrs/ndevs/%u", dir, i);
		else
			put_hard_link(m, "no_attribute", "%s/gid_attrs/ndevs/%u", dir, i);
	}
}

int
tree_files_make_gids(const char *tree)
{
	struct making m = {.tree = tree};
	unsigned int n;
	const struct softhca_dev *devs = softhca_devices(&n);

	put_text(&m, "0000:0000:0000:0000:0000:0000:0000:0000\n", "no_gid");
	put_text(&m, "", "no_attribute");
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int port = 1; port <= devs[i].cfg->ports; port++)
			put_gids(&m, &devs[i], port);
	return m.rc == -EEXIST ? 0 : m.rc; /* another process that uses this tree has made them */
}
