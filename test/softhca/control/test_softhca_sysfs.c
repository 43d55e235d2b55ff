/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fake sysfs trees of this process and of others: when others can see a tree, and which trees a
 * start removes. It tests the tree's code alone, in a temporary directory.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "caps.h"
#include "check.h"
#include "dev.h"
#include "devices.h"
#include "log.h"
#include "sysfs.h"

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

static char where[] = "/tmp/test-sysfs.XXXXXX";
static struct softhca_config cfg = {.part_id = 4129,
	.link_layer = SOFTHCA_LINK_ETHERNET,
	.devices = 1,
	.ports = 1};
static struct softhca_dev dev = {.cfg = &cfg};

/* Number of names in the directory that begin with the prefix. */
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

/* The linker puts this in place of flock(2). */
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
create(void)
{
	unsigned int first;

	CHECK_EQ(sysfs_create(&cfg, "/nowhere", &first), 0);
	CHECK_EQ(first, 0);
}

/* A process that dies leaves a tree with a free lock, if others can see the tree. */
static void
case_locked_before_seen(void)
{
	visible = flocks = 0;
	create();
	CHECK_EQ(flocks, 1);
	CHECK_EQ(visible, 0);
	CHECK_EQ(count("softhca-"), 1);
	CHECK_EQ(count(".softhca-"), 0);
	sysfs_remove();
	CHECK_EQ(count("softhca-"), 0);
	CHECK(getenv("SYSFS_PATH") != NULL);
	CHECK(strcmp(sysfs_real_root(), "/sys") == 0);
}

/* Makes a tree as another process left it. Returns its lock, or -1 if it has none. */
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
	/* The link leads out of the tree. Removing the tree must not follow it. */
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
		{"softhca-living", true, true, 3600, true},
		{"softhca-dead", true, false, 0, false},
		{"softhca-begun", false, false, 30, true},
		{"softhca-never", false, false, 90, false},
		{".softhca-living", true, true, 3600, true},
		{".softhca-dead", true, false, 0, false},
		{".softhca-begun", false, false, 30, true},
		{".softhca-never", false, false, 90, false},
		{"softhcb-other", true, false, 3600, true},
		{"other", false, false, 3600, true},
	};
	int fds[10];
	char path[300];

	for (unsigned int i = 0; i < 10; i++)
		fds[i] = make_tree(trees[i].name, trees[i].lock, trees[i].locked, trees[i].age);
	/* A link with a tree's name is not followed. */
	snprintf(path, sizeof(path), "%s/softhca-link", where);
	CHECK_EQ(symlink("other", path), 0);
	create();
	for (unsigned int i = 0; i < 10; i++)
		CHECK_EQ(exists(trees[i].name), trees[i].stays, trees[i].name);
	CHECK(exists("softhca-link"));
	CHECK(exists("other/class"));
	sysfs_remove();
	for (unsigned int i = 0; i < 10; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	remove_all();
	CHECK_EQ(mkdir(where, 0755), 0);
}

/* Numbers of other devices stay theirs. Their entries are links. */
static void
case_other_devices(void)
{
	const char *dirs[] = {"class", "class/infiniband_verbs", "class/infiniband_verbs/uverbs3",
		"class/infiniband", "class/infiniband/rxe0"};
	char root[200], path[400], name[64];
	unsigned int first;
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
	CHECK_EQ(sysfs_create(&cfg, root, &first), 0);
	CHECK_EQ(first, 4);
	for (unsigned int i = 2; i < 5; i += 2) {
		char link[300];
		ssize_t n;

		snprintf(path, sizeof(path), "%s/%s", getenv("SYSFS_PATH"), dirs[i]);
		n = readlink(path, link, sizeof(link) - 1);
		CHECK(n > 0);
		link[n] = '\0';
		snprintf(path, sizeof(path), "%s/%s", root, dirs[i]);
		CHECK(strcmp(link, path) == 0);
	}
	snprintf(path, sizeof(path), "%s/class/infiniband_verbs/uverbs4/ibdev",
		getenv("SYSFS_PATH"));
	CHECK_EQ(access(path, R_OK), 0);
	sysfs_remove();
	/* A device with the name of an mlx5 device, where the bus says nothing about it. */
	snprintf(path, sizeof(path), "%s/class/infiniband_verbs/uverbs3/ibdev", root);
	f = fopen(path, "w");
	CHECK(f != NULL);
	fputs("mlx5_7\n", f);
	fclose(f);
	CHECK(sysfs_find_mlx5(root, name, sizeof(name)));
	CHECK(strcmp(name, "mlx5_7") == 0);
}

/* Two devices of one name cannot both be shown. No tree is left behind. */
static void
case_failure(void)
{
	const char *dirs[] = {"class", "class/infiniband_verbs", "class/infiniband_verbs/uverbs0",
		"class/infiniband_verbs/uverbs1", "class/infiniband"};
	char root[200], path[400];
	unsigned int first;

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
	CHECK_EQ(sysfs_create(&cfg, root, &first), -EEXIST);
	CHECK_EQ(count("softhca-"), 0);
	CHECK_EQ(count(".softhca-"), 0);
}

/* Trees are in the directory that TMPDIR names, if it is writable. */
static void
case_where(void)
{
	CHECK_EQ(setenv("TMPDIR", "nowhere", 1), 0);
	create();
	CHECK(strncmp(getenv("SYSFS_PATH"), "/tmp/softhca-", 13) == 0);
	sysfs_remove();
	CHECK_EQ(setenv("TMPDIR", where, 1), 0);
	create();
	CHECK(strncmp(getenv("SYSFS_PATH"), where, strlen(where)) == 0);
	sysfs_remove();
}

/* ---- the machine's own devices */

static void
case_real_root(void)
{
	static const struct {
		const char *path, *root;
	} roots[] = {
		{"/mnt/sysfs", "/mnt/sysfs"},
		{"/mnt/softhc", "/mnt/softhc"},
		{"/mnt/softhca-abc", "/sys"},
		{"/mnt/softhca-abc/deeper", "/mnt/softhca-abc/deeper"},
		{"nowhere", "/sys"},
		{"", "/sys"},
	};

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		CHECK_EQ(setenv("SYSFS_PATH", roots[i].path, 1), 0);
		CHECK(strcmp(sysfs_real_root(), roots[i].root) == 0, "%s", roots[i].path);
	}
	CHECK_EQ(unsetenv("SYSFS_PATH"), 0);
	CHECK(strcmp(sysfs_real_root(), "/sys") == 0);
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

/* PCI ids of Mellanox from Connect-IB on, and functions on the auxiliary bus of mlx5_core. */
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

static void
expect_file(const char *name, const char *text)
{
	char path[400], got[100] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", getenv("SYSFS_PATH"), name);
	f = fopen(path, "re");
	CHECK(f != NULL, "%s", path);
	CHECK(fread(got, 1, sizeof(got) - 1, f) > 0, "%s", path);
	fclose(f);
	CHECK(strncmp(got, text, strlen(text)) == 0 && strcmp(got + strlen(text), "\n") == 0,
		"%s: %s", name, got);
}

static unsigned int
count_files(void)
{
	char command[400];
	unsigned int n = 0;
	FILE *f;

	snprintf(command, sizeof(command), "find '%s' -type f | wc -l", getenv("SYSFS_PATH"));
	f = popen(command, "re");
	CHECK(f != NULL && fscanf(f, "%u", &n) == 1);
	pclose(f);
	return n;
}

/* As libibverbs' sysfs.c and ibv_devinfo(1) read them. */
static void
case_contents(void)
{
	static const char *const files[][2] = {
		{"class/infiniband_verbs/abi_version", "6"},
		{"class/infiniband_verbs/uverbs0/ibdev", "mlx5_3"},
		{"class/infiniband_verbs/uverbs0/dev", "231:192"},
		{"class/infiniband_verbs/uverbs0/abi_version", "1"},
		{"class/infiniband/mlx5_3/node_type", "1: CA"},
		{"class/infiniband/mlx5_3/node_guid", "0123:4567:89ab:cdef"},
		{"class/infiniband/mlx5_3/sys_image_guid", "0123:4567:89ab:cdef"},
		{"class/infiniband/mlx5_3/board_id", "SOFTHCA0000000001"},
		{"class/infiniband/mlx5_3/hw_rev", "0"},
		{"class/infiniband/mlx5_3/hca_type", "MT4129"},
		{"class/infiniband/mlx5_3/fw_ver", "28.36.0010"},
		{"class/infiniband/mlx5_3/device/modalias",
			"pci:v000015B3d00001021sv000015B3sd00000001bc02sc00i00"},
		{"class/infiniband/mlx5_3/device/vendor", "0x15b3"},
		{"class/infiniband/mlx5_3/device/device", "0x1021"},
		{"class/infiniband/mlx5_3/device/numa_node", "-1"},
		{"class/infiniband/mlx5_3/ports/1/link_layer", "Ethernet"},
		{"class/infiniband/mlx5_3/ports/1/state", "4: ACTIVE"},
		{"class/infiniband/mlx5_3/ports/1/phys_state", "5: LinkUp"},
		{"class/infiniband/mlx5_3/ports/1/rate", "400 Gb/sec (4X NDR)"},
		{"class/infiniband/mlx5_3/ports/1/pkeys/0", "0xffff"},
		{"class/infiniband/mlx5_3/ports/2/link_layer", "Ethernet"},
		{"class/infiniband/mlx5_3/ports/2/state", "4: ACTIVE"},
		{"class/infiniband/mlx5_3/ports/2/phys_state", "5: LinkUp"},
		{"class/infiniband/mlx5_3/ports/2/rate", "400 Gb/sec (4X NDR)"},
		{"class/infiniband/mlx5_3/ports/2/pkeys/0", "0xffff"},
	};
	const unsigned int n = sizeof(files) / sizeof(files[0]);
	struct softhca_config was = cfg;

	cfg.ports = 2;
	cfg.fw_major = 28;
	cfg.fw_minor = 36;
	cfg.fw_sub = 10;
	dev.index = 3;
	create();
	for (unsigned int i = 0; i < n; i++)
		expect_file(files[i][0], files[i][1]);
	CHECK_EQ(count_files(), n + 1); /* and the lock */
	sysfs_remove();
	cfg = was;
	dev.index = 0;
	cfg.link_layer = SOFTHCA_LINK_INFINIBAND;
	pkeys = 3;
	create();
	expect_file("class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand");
	expect_file("class/infiniband/mlx5_0/ports/1/pkeys/0", "0xffff");
	expect_file("class/infiniband/mlx5_0/ports/1/pkeys/2", "0x0000");
	CHECK_EQ(count_files(), 23);
	sysfs_remove();
	pkeys = 1;
	cfg = was;
}

/* ---- descriptors */

static unsigned int
count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	CHECK(dir != NULL);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

/* Only the lock of a tree in use stays open, also if a tree cannot be created. */
static void
case_descriptors(void)
{
	unsigned int fds = count_fds(), first;
	char root[200], name[64];

	snprintf(root, sizeof(root), "%s/twice", where);
	CHECK_EQ(sysfs_create(&cfg, root, &first), -EEXIST);
	CHECK_EQ(count_fds(), fds);
	CHECK(!sysfs_find_mlx5(root, name, sizeof(name)));
	CHECK_EQ(count_fds(), fds);
	create();
	CHECK_EQ(count_fds(), fds + 1);
	sysfs_remove();
	CHECK_EQ(count_fds(), fds);
	sysfs_remove(); /* nothing is left to remove */
	CHECK_EQ(count_fds(), fds);
}

static const struct check_case cases[] = {
	{"a tree can be seen only when its lock is held", case_locked_before_seen},
	{"a start removes the trees of dead processes, and no others", case_sweep},
	{"other vendors' devices keep their numbers", case_other_devices},
	{"a tree that cannot be made is taken down", case_failure},
	{"trees are in the directory of TMPDIR", case_where},
	{"SYSFS_PATH is the machine's own sysfs, unless it is a tree of this library",
		case_real_root},
	{"an mlx5 device is known by its bus", case_modalias},
	{"a tree's files are those that libibverbs reads", case_contents},
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
