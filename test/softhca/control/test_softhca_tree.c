/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Directory trees that replace /sys and /dev/infiniband, of this process and of other processes:
 * when other processes can see a tree, which trees are removed, and what a tree contains. This
 * program tests only the code for trees, in a temporary directory.
 */
#include <dirent.h>
#include <endian.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "caps.h"
#include "check.h"
#include "dev.h"
#include "devices.h"
#include "log.h"
#include "sysfs.h"
#include "tree.h"

/* ---- replacements for the rest of the adapter */

static uint32_t pkeys = 1;

uint32_t
caps_pkey_table_len(const struct softhca_dev *dev)
{
	return pkeys;
}

uint64_t
caps_node_guid(const struct softhca_dev *dev)
{
	return UINT64_C(0x0123456789abcdef);
}

uint64_t
caps_system_guid(const struct softhca_dev *dev)
{
	return UINT64_C(0x0123456789abcdef);
}

int
caps_query_port(const struct softhca_dev *dev, uint32_t port,
	struct ib_uverbs_query_port_resp_ex *resp)
{
	*resp = (struct ib_uverbs_query_port_resp_ex){.legacy_resp = {.lid = 0x1a,
							      .sm_lid = 7,
							      .lmc = 3,
							      .sm_sl = 5,
							      .port_cap_flags = 0x4010000}};
	return 0;
}

int
caps_gid(const struct softhca_dev *dev, uint32_t port, uint32_t index,
	struct ib_uverbs_gid_entry *entry)
{
	if (index >= 2)
		return -ENODATA;
	*entry = (struct ib_uverbs_gid_entry){.gid = {htobe64(UINT64_C(0xfe80000000000000)),
						      htobe64(port << 8 | index)},
		.gid_type = index == 0 ? CAPS_GID_ROCE_V1 : CAPS_GID_ROCE_V2};
	return 0;
}

static char where[] = "/tmp/test-sysfs.XXXXXX";
static struct softhca_config cfg = {.part_id = 4129,
	.link_layer = SOFTHCA_LINK_ETHERNET,
	.devices = 1,
	.ports = 1};
static struct softhca_dev dev = {.cfg = &cfg};

/* Returns the number of names in the directory that begin with the prefix. */
static unsigned int
count(const char *prefix)
{
	DIR *dir = opendir(where);
	struct dirent *entry;
	unsigned int n = 0;

	CHECK(dir != NULL);
	while ((entry = readdir(dir)) != NULL)
		n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	closedir(dir);
	return n;
}

/* The linker calls this function instead of flock(2). */
int __wrap_flock(int fd, int op);
int __real_flock(int fd, int op);
static unsigned int visible, flocks;

int
__wrap_flock(int fd, int op)
{
	visible += count("softhca-");
	flocks++;
	return __real_flock(fd, op);
}

static bool
exists(const char *name)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", where, name);
	return lstat(path, &st) == 0;
}

static void
create_on(const char *root)
{
	tree_init(&cfg, root, sysfs_next_uverbs(root));
	CHECK(tree_path() != NULL);
	CHECK(tree_is_own());
}

static void
create(void)
{
	create_on("/nowhere");
}

/*
 * Other processes may see a tree only when its lock is held. A killed process then leaves a tree
 * whose lock is free.
 */
static void
case_locked_before_seen(void)
{
	visible = flocks = 0;
	create();
	CHECK_EQ(flocks, 1);
	CHECK_EQ(visible, 0);
	CHECK_EQ(count("softhca-"), 1);
	CHECK_EQ(count(".softhca-"), 0);
	tree_remove();
	CHECK_EQ(count("softhca-"), 0);
}

/*
 * Makes a tree as a process that has ended leaves it. Returns the tree's lock, or -1 if it has
 * none.
 */
static int
make_tree(const char *name, bool lock, bool locked, unsigned int age)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
	char path[400];
	int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", where, name);
	CHECK_EQ(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/%s/class", where, name);
	CHECK_EQ(mkdir(path, 0755), 0);
	/*
	 * A link to a directory outside the tree. Removing the tree must not remove what the link
	 * points to.
	 */
	snprintf(path, sizeof(path), "%s/%s/class/link", where, name);
	CHECK_EQ(symlink("../../other", path), 0);
	snprintf(path, sizeof(path), "%s/%s/lock", where, name);
	if (lock)
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK_EQ(fd >= 0, lock);
	if (locked)
		CHECK_EQ(__real_flock(fd, LOCK_EX | LOCK_NB), 0);
	snprintf(path, sizeof(path), "%s/%s", where, name);
	times[1].tv_sec = time(NULL) - age;
	CHECK_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
	return fd;
}

static void
remove_all(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf '%s'", where);
	CHECK_EQ(system(command), 0);
}

static void
case_sweep(void)
{
	static const struct {
		const char *name;
		bool lock, locked;
		unsigned int age;
		bool stays;
	} trees[] = {
		{"softhca-living00", true, true, 3600, true},
		{"softhca-dead0000", true, false, 0, false},
		{".softhca-living00", true, true, 3600, true},
		{".softhca-dead0000", true, false, 90, false},
		{".softhca-begun000", false, false, 30, true},
		{".softhca-nolock00", true, false, 30, true},
		{".softhca-never000", false, false, 90, false},
		{"softhcb-other000", true, false, 3600, true},
		/* Folders of other programs and users must not be removed. */
		{"softhca-projects", false, false, 3600, true},
		{"softhca-notes", true, false, 3600, true},
		{"softhca-test.12345678", false, false, 3600, true},
		{"other", false, false, 3600, true},
	};
	int fds[sizeof(trees) / sizeof(trees[0])];
	char path[300];

	for (unsigned int i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
		fds[i] = make_tree(trees[i].name, trees[i].lock, trees[i].locked, trees[i].age);
	/* A link whose name is that of a tree is not followed. */
	snprintf(path, sizeof(path), "%s/softhca-link0000", where);
	CHECK_EQ(symlink("other", path), 0);
	create();
	for (unsigned int i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
		CHECK_EQ(exists(trees[i].name), trees[i].stays, trees[i].name);
	CHECK(exists("softhca-link0000"));
	CHECK(exists("other/class"));
	tree_remove();
	for (unsigned int i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	remove_all();
	CHECK_EQ(mkdir(where, 0755), 0);
}

/* Entries of other devices, which are links, must keep their device numbers. */
static void
case_other_devices(void)
{
	const char *dirs[] = {"class", "class/infiniband_verbs", "class/infiniband_verbs/uverbs3",
		"class/infiniband", "class/infiniband/rxe0"};
	char root[200], path[400], name[64];
	FILE *f;

	snprintf(root, sizeof(root), "%s/root", where);
	CHECK_EQ(mkdir(root, 0755), 0);
	for (unsigned int i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s/%s", root, dirs[i]);
		CHECK_EQ(mkdir(path, 0755), 0);
	}
	snprintf(path, sizeof(path), "%s/class/infiniband_verbs/uverbs3/ibdev", root);
	f = fopen(path, "w");
	CHECK(f != NULL);
	fputs("rxe0\n", f);
	fclose(f);
	CHECK(!sysfs_find_mlx5(root, name, sizeof(name)));
	CHECK_EQ(sysfs_next_uverbs(root), 4);
	create_on(root);
	for (unsigned int i = 2; i < 5; i += 2) {
		char link[300];
		ssize_t n;

		snprintf(path, sizeof(path), "%s/sys/%s", tree_path(), dirs[i]);
		n = readlink(path, link, sizeof(link) - 1);
		CHECK(n > 0);
		link[n] = '\0';
		snprintf(path, sizeof(path), "%s/%s", root, dirs[i]);
		CHECK(strcmp(link, path) == 0);
	}
	snprintf(path, sizeof(path), "%s/sys/class/infiniband_verbs/uverbs4/ibdev", tree_path());
	CHECK_EQ(access(path, R_OK), 0);
	tree_remove();
	/*
	 * A device that has the name of an mlx5 device, but no entry on the bus, must be found too.
	 */
	snprintf(path, sizeof(path), "%s/class/infiniband_verbs/uverbs3/ibdev", root);
	f = fopen(path, "w");
	CHECK(f != NULL);
	fputs("mlx5_7\n", f);
	fclose(f);
	CHECK(sysfs_find_mlx5(root, name, sizeof(name)));
	CHECK(strcmp(name, "mlx5_7") == 0);
}

/*
 * Devices of other vendors must be noticed at any position among the mlx5 devices, because the
 * entries of a directory have no order.
 */
static void
case_vendors(void)
{
	enum {
		N_DEVICES = 4
	};
	const char *dirs[] = {"", "/class", "/class/infiniband_verbs"};
	char root[200], path[400];

	snprintf(root, sizeof(root), "%s/vendors", where);
	for (unsigned int i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, dirs[i]);
		CHECK_EQ(mkdir(path, 0755), 0);
	}
	CHECK_EQ(sysfs_next_uverbs(root), 0);
	CHECK(!sysfs_has_others());
	/* Device number `other` belongs to another vendor; in the last round no device does. */
	for (unsigned int other = 0; other <= N_DEVICES; other++) {
		for (unsigned int i = 0; i < N_DEVICES; i++) {
			FILE *f;

			snprintf(path, sizeof(path), "%s/class/infiniband_verbs/uverbs%u", root, i);
			CHECK_EQ(mkdir(path, 0755), other == 0 ? 0 : -1);
			strcat(path, "/ibdev");
			f = fopen(path, "w");
			CHECK(f != NULL);
			fprintf(f, "%s_%u\n", i == other ? "rxe" : "mlx5", i);
			fclose(f);
		}
		CHECK_EQ(sysfs_next_uverbs(root), N_DEVICES);
		CHECK_EQ(sysfs_has_others(), other < N_DEVICES);
	}
}

/* Two devices with the same name cannot both be shown: the call fails, and no tree is left. */
static void
case_failure(void)
{
	const char *dirs[] = {"class", "class/infiniband_verbs", "class/infiniband_verbs/uverbs0",
		"class/infiniband_verbs/uverbs1", "class/infiniband"};
	char root[200], path[400];

	snprintf(root, sizeof(root), "%s/twice", where);
	CHECK_EQ(mkdir(root, 0755), 0);
	for (unsigned int i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s/%s", root, dirs[i]);
		CHECK_EQ(mkdir(path, 0755), 0);
	}
	for (unsigned int i = 0; i < 2; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/class/infiniband_verbs/uverbs%u/ibdev", root, i);
		f = fopen(path, "w");
		CHECK(f != NULL);
		fputs("rxe0\n", f);
		fclose(f);
	}
	CHECK_EQ(count("softhca-"), 0);
	tree_init(&cfg, root, 2);
	CHECK(tree_path() == NULL);
	CHECK(tree_path() == NULL);
	CHECK_EQ(count("softhca-"), 0);
	CHECK_EQ(count(".softhca-"), 0);
}

/* Trees must be created in the directory that TMPDIR names, if it is writable. */
static void
case_where(void)
{
	CHECK_EQ(setenv("TMPDIR", "nowhere", 1), 0);
	create();
	CHECK(strncmp(tree_path(), "/dev/shm/softhca-", 17) == 0 ||
		strncmp(tree_path(), "/tmp/softhca-", 13) == 0);
	tree_remove();
	CHECK_EQ(setenv("TMPDIR", where, 1), 0);
	create();
	CHECK(strncmp(tree_path(), where, strlen(where)) == 0);
	tree_remove();
}

/* ---- the machine's own devices */

static void
case_real_root(void)
{
	static const struct {
		const char *path, *parent, *root;
	} roots[] = {
		{"/mnt/sysfs", "", "/mnt/sysfs"},
		{"/mnt/sysfs", "/tmp/softhca-abc:/other", "/mnt/sysfs"},
		{"nowhere", "", "/sys"},
		{"", "", "/sys"},
		/*
		 * A program with an emulated adapter has executed this program: SOFTHCA_TREE has
		 * the path of its tree, and the real root that it has found.
		 */
		{"/sys", "/tmp/softhca-abc:/mnt/sysfs", "/mnt/sysfs"},
		{"", "/tmp/softhca-abc:/sys", "/sys"},
		{"", "/tmp/softhca-abc", "/sys"},
		{"", "/tmp/softhca-abc:nowhere", "/sys"},
	};

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		CHECK_EQ(setenv("SYSFS_PATH", roots[i].path, 1), 0);
		CHECK_EQ(setenv("SOFTHCA_TREE", roots[i].parent, 1), 0);
		CHECK(strcmp(tree_find_root(), roots[i].root) == 0, "%s %s", roots[i].path,
			roots[i].parent);
	}
	CHECK_EQ(unsetenv("SYSFS_PATH"), 0);
	CHECK_EQ(unsetenv("SOFTHCA_TREE"), 0);
	CHECK(strcmp(tree_find_root(), "/sys") == 0);
}

static void
put(const char *root, const char *name, const char *text)
{
	char path[400];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		CHECK(mkdir(path, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	f = fopen(path, "w");
	CHECK(f != NULL);
	fputs(text, f);
	fclose(f);
}

/*
 * These must count as mlx5 devices: PCI ids of Mellanox from Connect-IB on, and PCI functions on
 * the auxiliary bus of mlx5_core.
 */
static void
case_modalias(void)
{
	static const struct {
		const char *modalias;
		bool mlx5;
	} devices[] = {
		{"pci:v000015B3d00001011sv000015B3sd00000001bc02sc07i00\n", true},
		{"pci:v000015B3d00001021sv00000000sd00000000bc02sc00i00\n", true},
		{"pci:v000015B3d00001010sv000015B3sd00000001bc02sc07i00\n", false},
		{"pci:v000015B4d00001021sv000015B3sd00000001bc02sc07i00\n", false},
		{"pci:v000015B2d00001021sv000015B3sd00000001bc02sc07i00\n", false},
		{"auxiliary:mlx5_core.sf\n", true},
		{"auxiliary:irdma.roce\n", false},
		{"", false},
	};
	char root[200], name[64];

	snprintf(root, sizeof(root), "%s/modalias", where);
	put(root, "class/infiniband_verbs/abi_version", "6\n");
	put(root, "class/infiniband_verbs/other0/ibdev", "mlx5_0\n");
	put(root, "class/infiniband_verbs/uverbs0/ibdev", "card\n");
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		memset(name, 0, sizeof(name));
		put(root, "class/infiniband/card/device/modalias", devices[i].modalias);
		CHECK_EQ(sysfs_find_mlx5(root, name, sizeof(name)), devices[i].mlx5,
			devices[i].modalias);
		CHECK(strcmp(name, devices[i].mlx5 ? "card" : "") == 0);
	}
}

/* ---- what is in a tree */

static char got[4096];

/* Returns the file's text; an empty string if the file does not exist. */
static const char *
read_file(const char *name)
{
	char path[600];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", tree_path(), name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, got, sizeof(got) - 1) : 0;
	CHECK(n >= 0);
	got[n] = '\0';
	if (fd >= 0)
		close(fd);
	return got;
}

/* Checks a value that ends with a newline, as the kernel's values do. */
static void
expect_file(const char *dir, const char *name, const char *text)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	read_file(path);
	CHECK(strncmp(got, text, strlen(text)) == 0 && strcmp(got + strlen(text), "\n") == 0,
		"%s: %s", path, got);
}

static void
expect_link(const char *name, const char *text)
{
	char path[600], link[300];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", tree_path(), name);
	n = readlink(path, link, sizeof(link) - 1);
	CHECK(n > 0, "%s", path);
	link[n] = '\0';
	CHECK(strcmp(link, text) == 0, "%s: %s", path, link);
	CHECK_EQ(access(path, F_OK), 0, path);
}

struct expected {
	const char *name, *text;
};

static void
expect_files(const char *dir, const struct expected *files, size_t n)
{
	for (size_t i = 0; i < n; i++)
		expect_file(dir, files[i].name, files[i].text);
}

#define N(a)     (sizeof(a) / sizeof((a)[0]))
#define FUNCTION "sys/devices/pcica00:00/ca00:00:04.0"
#define IBDEV    "sys/class/infiniband/mlx5_3"

/*
 * The PCI function must have the kernel's files. Formats: the kernel's drivers/pci/pci-sysfs.c and
 * Documentation/ABI/testing/sysfs-bus-pci.
 */
static void
case_function(void)
{
	static const struct expected files[] = {{"vendor", "0x15b3"}, {"device", "0x1021"},
		{"subsystem_vendor", "0x15b3"}, {"subsystem_device", "0x0001"},
		{"class", "0x020000"}, {"revision", "0x00"}, {"numa_node", "-1"}, {"irq", "0"},
		{"enable", "1"}, {"current_link_width", "16"},
		{"modalias", "pci:v000015B3d00001021sv000015B3sd00000001bc02sc00i00"},
		{"uevent", "DRIVER=mlx5_core\nPCI_CLASS=20000\nPCI_ID=15B3:1021\n"
			   "PCI_SUBSYS_ID=15B3:0001\nPCI_SLOT_NAME=ca00:00:04.0\n"
			   "MODALIAS=pci:v000015B3d00001021sv000015B3sd00000001bc02sc00i00"}};
	unsigned int lines = 0;
	struct softhca_config was = cfg;

	dev.index = 3;
	create();
	expect_files(FUNCTION, files, N(files));
	for (const char *at = read_file(FUNCTION "/resource"); *at != '\0'; lines++) {
		CHECK(strncmp(at, "0x0000000000000000 0x0000000000000000 0x0000000000000000\n",
			      57) == 0);
		at += 57;
	}
	CHECK_EQ(lines, 7);
	expect_link(FUNCTION "/subsystem", "../../../bus/pci");
	expect_link(FUNCTION "/driver", "../../../bus/pci/drivers/mlx5_core");
	expect_link("sys/bus/pci/devices/ca00:00:04.0", "../../../devices/pcica00:00/ca00:00:04.0");
	expect_link("sys/bus/pci/drivers/mlx5_core/ca00:00:04.0",
		"../../../../devices/pcica00:00/ca00:00:04.0");
	tree_remove();
	cfg.link_layer = SOFTHCA_LINK_INFINIBAND;
	create();
	expect_file(FUNCTION, "class", "0x020700");
	tree_remove();
	cfg = was;
	dev.index = 0;
}

/*
 * All CPUs must be near the adapter. The files have bitmaps and lists in the form of %*pb and %*pbl
 * in the kernel's lib/vsprintf.c.
 */
static void
case_cpus(void)
{
	static const struct {
		const char *online, *mask;
	} cpus[] = {{"0", "1"}, {"0-1", "3"}, {"0-3", "f"}, {"0,2", "5"}, {"0-6", "7f"},
		{"1,8-9", "302"}, {"0-31", "ffffffff"}, {"0-32", "1,ffffffff"},
		{"0-3,62,64-65", "3,40000000,0000000f"}};
	char root[200];

	snprintf(root, sizeof(root), "%s/cpus", where);
	dev.index = 3;
	for (size_t i = 0; i < N(cpus); i++) {
		put(root, "devices/system/cpu/online", cpus[i].online);
		create_on(root);
		expect_file(FUNCTION, "local_cpulist", cpus[i].online);
		expect_file(FUNCTION, "local_cpus", cpus[i].mask);
		tree_remove();
	}
	dev.index = 0;
}

/*
 * The RDMA device must have the kernel's files. Formats: the kernel's
 * drivers/infiniband/core/sysfs.c and hw/mlx5/main.c.
 */
static void
case_contents(void)
{
	static const struct expected device[] = {{"node_type", "1: CA"},
		{"node_guid", "0123:4567:89ab:cdef"}, {"sys_image_guid", "0123:4567:89ab:cdef"},
		{"board_id", "SOFTHCA0000000001"}, {"hw_rev", "0"}, {"hca_type", "MT4129"},
		{"fw_ver", "28.36.0010"}, {"node_desc", "mlx5_3 softhca"},
		{"uevent", "NAME=mlx5_3"}, {"device/vendor", "0x15b3"},
		{"device/infiniband/mlx5_3/hw_rev", "0"}};
	static const struct expected port[] = {{"link_layer", "Ethernet"}, {"state", "4: ACTIVE"},
		{"phys_state", "5: LinkUp"}, {"rate", "400 Gb/sec (4X NDR)"}, {"lid", "0x1a"},
		{"sm_lid", "0x7"}, {"sm_sl", "5"}, {"lid_mask_count", "3"},
		{"cap_mask", "0x04010000"}, {"pkeys/0", "0xffff"}, {"counters/port_xmit_data", "0"},
		{"hw_counters/out_of_buffer", "0"}};
	static const struct expected uverbs[] = {{"ibdev", "mlx5_3"}, {"dev", "231:195"},
		{"abi_version", "1"},
		{"uevent", "MAJOR=231\nMINOR=195\nDEVNAME=infiniband/uverbs3\nDEVMODE=0666"},
		{"device/infiniband_verbs/uverbs3/dev", "231:195"}};
	struct softhca_config was = cfg;

	cfg.ports = 2;
	cfg.fw_major = 28;
	cfg.fw_minor = 36;
	cfg.fw_sub = 10;
	dev.index = 3;
	create();
	expect_file("sys/class/infiniband_verbs", "abi_version", "6");
	expect_files(IBDEV, device, N(device));
	expect_files(IBDEV "/ports/1", port, N(port));
	expect_files(IBDEV "/ports/2", port, N(port));
	expect_files("sys/class/infiniband_verbs/uverbs3", uverbs, N(uverbs));
	expect_file("sys/dev/char/231:195", "ibdev", "mlx5_3");
	expect_link(IBDEV, "../../devices/pcica00:00/ca00:00:04.0/infiniband/mlx5_3");
	expect_link(IBDEV "/device", "../../../ca00:00:04.0");
	expect_link(IBDEV "/subsystem", "../../../../../class/infiniband");
	tree_remove();
	cfg = was;
	dev.index = 0;
	cfg.link_layer = SOFTHCA_LINK_INFINIBAND;
	pkeys = 3;
	create();
	expect_file("sys/class/infiniband/mlx5_0/ports/1", "link_layer", "InfiniBand");
	expect_file("sys/class/infiniband/mlx5_0/ports/1", "pkeys/0", "0xffff");
	expect_file("sys/class/infiniband/mlx5_0/ports/1", "pkeys/2", "0x0000");
	tree_remove();
	pkeys = 1;
	cfg = was;
}

/* GID tables must have the length that ibv_query_port(3) reports. */
static void
case_gids(void)
{
	const char *port = "sys/class/infiniband/mlx5_0/ports/1";
	struct stat st;
	char path[600];

	create();
	snprintf(path, sizeof(path), "%s/%s/gids/0", tree_path(), port);
	CHECK(stat(path, &st) != 0); /* the entries are created when the directory is first read */
	tree_need("/sys/class/infiniband/mlx5_0/ports/1/gids");
	expect_file(port, "gids/0", "fe80:0000:0000:0000:0000:0000:0000:0100");
	expect_file(port, "gids/1", "fe80:0000:0000:0000:0000:0000:0000:0101");
	expect_file(port, "gids/2", "0000:0000:0000:0000:0000:0000:0000:0000");
	expect_file(port, "gids/254", "0000:0000:0000:0000:0000:0000:0000:0000");
	expect_file(port, "gid_attrs/types/0", "IB/RoCE v1");
	expect_file(port, "gid_attrs/types/1", "RoCE v2");
	snprintf(path, sizeof(path), "%s/%s/gid_attrs/ndevs/254", tree_path(), port);
	CHECK_EQ(stat(path, &st), 0);
	CHECK_EQ(st.st_size, 0);
	snprintf(path, sizeof(path), "%s/%s/gids/255", tree_path(), port);
	CHECK(stat(path, &st) != 0);
	tree_remove();
}

/*
 * The directories in which programs look for devices must also contain all entries that the machine
 * has.
 */
static void
case_merged(void)
{
	static const char *const names[] = {"class/net/eth0", "bus/pci/devices/0000:00:01.0",
		"bus/pci/drivers/virtio-pci/bind", "devices/system/node",
		"devices/pcica00:00/ca00:00:01.0"};
	static const char *const dirs[] = {"/sys/class/", "/sys/bus/pci/devices", "/sys/devices"};
	char root[200], text[600];

	snprintf(root, sizeof(root), "%s/merged", where);
	for (size_t i = 0; i < N(names); i++)
		put(root, names[i], "x");
	create_on(root);
	tree_need("/sys/classes");
	tree_need("/sys/class/net");
	snprintf(text, sizeof(text), "%s/sys/class/net", tree_path());
	CHECK(access(text, F_OK) != 0); /* the links are created when the directory is first read */
	for (size_t i = 0; i < N(dirs); i++)
		tree_need(dirs[i]);
	snprintf(text, sizeof(text), "%s/class/net", root);
	expect_link("sys/class/net", text);
	snprintf(text, sizeof(text), "%s/bus/pci/devices/0000:00:01.0", root);
	expect_link("sys/bus/pci/devices/0000:00:01.0", text);
	snprintf(text, sizeof(text), "%s/devices/system", root);
	expect_link("sys/devices/system", text);
	/* The adapter uses a PCI domain that the machine does not have. */
	expect_link("sys/bus/pci/devices/ca01:00:01.0", "../../../devices/pcica01:00/ca01:00:01.0");
	tree_remove();
}

/* ---- a child's tree */

/*
 * A process that inherits the path of a tree must use that tree as long as its settings are the
 * same and it opens no device.
 */
static void
case_inherited(void)
{
	char parent[400], told[500];
	struct stat before, after;
	struct softhca_config was = cfg;
	pid_t pid;
	int status;

	create();
	snprintf(parent, sizeof(parent), "%s", tree_path());
	snprintf(told, sizeof(told), "%s:/nowhere", parent);
	CHECK(strcmp(getenv("SOFTHCA_TREE"), told) == 0);
	CHECK_EQ(stat(parent, &before), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		char first[500];

		/* The state after execve(2). */
		tree_fork_prepare();
		tree_fork_child();
		tree_init(&cfg, "/nowhere", 0);
		CHECK(strcmp(tree_path(), parent) == 0);
		CHECK(!tree_is_own());
		CHECK(strcmp(getenv("SOFTHCA_TREE"), told) == 0);
		snprintf(first, sizeof(first), "%s/sys/class/infiniband/mlx5_0", parent);
		CHECK_EQ(stat(first, &before), 0);
		usleep(20000);
		tree_make_own();
		CHECK(strcmp(tree_path(), parent) != 0);
		CHECK(tree_is_own());
		CHECK(strncmp(getenv("SOFTHCA_TREE"), tree_path(), strlen(tree_path())) == 0);
		/*
		 * libibverbs identifies a device by the time of its directory, so the new tree must
		 * have the time of the old one.
		 */
		snprintf(first, sizeof(first), "%s/sys/class/infiniband/mlx5_0", tree_path());
		CHECK_EQ(stat(first, &after), 0);
		CHECK_EQ(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
		CHECK_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
		CHECK_EQ(count("softhca-"), 2);
		tree_remove();
		CHECK_EQ(count("softhca-"), 1);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		tree_fork_prepare();
		tree_fork_child();
		cfg.ports = 2;
		tree_init(&cfg, "/nowhere", 0);
		CHECK(strcmp(tree_path(), parent) != 0);
		CHECK(tree_is_own());
		tree_remove();
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(count("softhca-"), 1);
	tree_remove();
	CHECK_EQ(count("softhca-"), 0);
	cfg = was;
}

/* ---- descriptors */

/*
 * While a tree is in use, one file descriptor is open: its lock. If a tree cannot be created, no
 * file descriptor is left open.
 */
static void
case_descriptors(void)
{
	unsigned int fds = check_count_fds();
	char root[200], name[64];

	snprintf(root, sizeof(root), "%s/twice", where);
	tree_init(&cfg, root, 2);
	CHECK(tree_path() == NULL);
	CHECK_EQ(check_count_fds(), fds);
	CHECK(!sysfs_find_mlx5(root, name, sizeof(name)));
	CHECK_EQ(check_count_fds(), fds);
	create();
	CHECK_EQ(check_count_fds(), fds + 1);
	tree_remove();
	CHECK_EQ(check_count_fds(), fds);
	tree_remove(); /* the tree has already been removed */
	CHECK_EQ(check_count_fds(), fds);
}

/*
 * A value of sysfs must be read without its newline. The values: with a newline, without a newline,
 * longer than the buffer, and empty.
 */
static void
case_line(void)
{
	static const struct {
		const char *file, *line;
	} rows[] = {{"one\n", "one"}, {"one", "one"}, {"one\ntwo\n", "one"}, {"", ""}, {"\n", ""},
		{"0123456789", "0123456"}};
	char path[sizeof(where) + 8], buf[8];

	snprintf(path, sizeof(path), "%s/line", where);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		FILE *f = fopen(path, "w");

		CHECK(f != NULL && fputs(rows[i].file, f) >= 0 && fclose(f) == 0);
		memset(buf, 'x', sizeof(buf));
		CHECK(sysfs_read_line(path, buf, sizeof(buf)), "%s", rows[i].file);
		CHECK(memchr(buf, '\0', sizeof(buf)) != NULL && strcmp(buf, rows[i].line) == 0,
			"%s", rows[i].file);
	}
	CHECK_EQ(unlink(path), 0);
	CHECK(!sysfs_read_line(path, buf, sizeof(buf)) && errno == ENOENT);
}

static const struct check_case cases[] = {
	{"a tree can be seen only when its lock is held", case_locked_before_seen},
	{"a start removes only the trees of dead processes", case_sweep},
	{"other vendors' devices keep their numbers", case_other_devices},
	{"other vendors' devices are noticed among mlx5 devices", case_vendors},
	{"a tree that cannot be completed is removed", case_failure},
	{"trees are in the directory of TMPDIR", case_where},
	{"SYSFS_PATH is the machine's own sysfs, and the parent's SYSFS_PATH that of its child",
		case_real_root},
	{"a line of sysfs is read without its newline", case_line},
	{"an mlx5 device is known by its bus", case_modalias},
	{"a PCI function has the kernel's files", case_function},
	{"all CPUs are near an adapter", case_cpus},
	{"an RDMA device has the kernel's files", case_contents},
	{"GID tables have the kernel's files, made when they are first read", case_gids},
	{"the machine's devices are shown beside the adapter", case_merged},
	{"a child uses its parent's tree until it opens a device", case_inherited},
	{"only the lock's descriptor stays open", case_descriptors},
};

int
main(int argc, char **argv)
{
	int ret;

	CHECK(mkdtemp(where) != NULL);
	CHECK_EQ(setenv("TMPDIR", where, 1), 0);
	softhca_devices_set(&dev, 1);
	ret = check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
	remove_all();
	return ret;
}
