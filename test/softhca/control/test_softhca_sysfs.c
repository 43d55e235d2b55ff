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

uint32_t
caps_pkey_table_len(const struct softhca_dev *dev)
{
	return 1;
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

static const struct check_case cases[] = {
	{"a tree can be seen only when its lock is held", case_locked_before_seen},
	{"a start removes the trees of dead processes, and no others", case_sweep},
	{"other vendors' devices keep their numbers", case_other_devices},
	{"a tree that cannot be made is taken down", case_failure},
	{"trees are in the directory of TMPDIR", case_where},
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
