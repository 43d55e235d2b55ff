/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sysfs tree that libibverbs' discovery reads: made when the library loads, gone at exit.
 *
 *   $TMPDIR/softhca-XXXXXX/            .softhca-XXXXXX until its lock is held
 *     lock                             held by flock(2) while a process uses the tree
 *     class/infiniband_verbs/abi_version, uverbs<N>/{ibdev,dev,abi_version}
 *     class/infiniband/mlx5_<i>/{node_type,node_guid,...,device/modalias,ports/<p>/...}
 *     other devices of the machine, as symbolic links
 *
 * A tree whose lock is free belonged to a process that died: the next start removes it. A
 * child of fork() inherits the lock's descriptor, so the last of these processes removes the tree.
 */
#include "sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "caps.h"
#include "dev.h"
#include "devices.h"
#include "log.h"
#include "raw.h"

#define PREFIX "softhca-"
#define HIDDEN "." PREFIX /* of a tree whose lock is not held yet */
/* A hidden tree without a lock is being made, unless it is older. */
#define STALE_SECONDS 60

static char tree[PATH_MAX];
static int lock_fd = -1;
static bool has_others;

/* ---------------------------------------------------------------- the machine's own sysfs */

const char *
sysfs_real_root(void)
{
	const char *env = getuid() == geteuid() ? getenv("SYSFS_PATH") : NULL;
	const char *name = env != NULL ? strrchr(env, '/') : NULL;

	if (name == NULL)
		return "/sys";
	/* A tree of this library: a program with an emulated adapter has executed this one. */
	if (strncmp(name + 1, PREFIX, strlen(PREFIX)) == 0)
		return "/sys";
	return env;
}

static bool
read_line(const char *path, char *buf, size_t len)
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

/* Looks at the PCI id (Mellanox, Connect-IB and later); a subfunction has the driver's bus name. */
static bool
is_mlx5(const char *root, const char *ibdev)
{
	char path[PATH_MAX], modalias[256];
	unsigned int vendor, device;

	snprintf(path, sizeof(path), "%s/class/infiniband/%s/device/modalias", root, ibdev);
	if (!read_line(path, modalias, sizeof(modalias)))
		return strncmp(ibdev, "mlx5_", 5) == 0;
	if (sscanf(modalias, "pci:v%8xd%8x", &vendor, &device) == 2)
		return vendor == 0x15b3 && device >= 0x1011;
	return strstr(modalias, "mlx5") != NULL;
}

typedef int (*uverbs_visitor)(const char *root, const char *uverbs, const char *ibdev, void *arg);

/* Calls visit for each uverbs device below root, until it returns non-zero. */
static int
for_each_uverbs(const char *root, uverbs_visitor visit, void *arg)
{
	char path[PATH_MAX], ibdev[128];
	struct dirent *entry;
	DIR *dir;
	int rc = 0;

	snprintf(path, sizeof(path), "%s/class/infiniband_verbs", root);
	dir = opendir(path);
	if (dir == NULL)
		return 0;
	while (rc == 0 && (entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, "uverbs", 6) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/class/infiniband_verbs/%s/ibdev", root,
			entry->d_name);
		if (read_line(path, ibdev, sizeof(ibdev)))
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

	if (!is_mlx5(root, ibdev))
		return 0;
	snprintf(found->name, found->len, "%s", ibdev);
	return 1;
}

bool
sysfs_find_mlx5(const char *root, char *name, size_t len)
{
	struct found_name found = {name, len};

	return for_each_uverbs(root, visit_mlx5, &found) != 0;
}

/* ---------------------------------------------------------------- files of the tree */

static int
make_dirs(const char *path)
{
	char part[PATH_MAX * 2];

	snprintf(part, sizeof(part), "%s", path);
	for (char *slash = part + strlen(tree) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		if (mkdir(part, 0755) != 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

/* Writes text, and a line's end, to a file of the tree. After an error it does nothing. */
static void __attribute__((format(printf, 3, 4)))
put_file(int *rc, const char *text, const char *fmt, ...)
{
	char name[PATH_MAX / 2], path[PATH_MAX * 2];
	va_list ap;
	int fd;

	if (*rc != 0)
		return;
	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	snprintf(path, sizeof(path), "%s/%s", tree, name);
	*rc = make_dirs(path);
	if (*rc != 0)
		return;
	fd = raw_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0) {
		*rc = -errno;
		return;
	}
	if (dprintf(fd, "%s\n", text) < 0)
		*rc = -errno;
	close(fd);
}

static void
put_port(int *rc, const struct softhca_dev *dev, unsigned int port)
{
	const char *layer =
		dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET ? "Ethernet" : "InfiniBand";
	char base[64];

	snprintf(base, sizeof(base), "class/infiniband/mlx5_%u/ports/%u", dev->index, port);
	put_file(rc, layer, "%s/link_layer", base);
	put_file(rc, "4: ACTIVE", "%s/state", base);
	put_file(rc, "5: LinkUp", "%s/phys_state", base);
	put_file(rc, "400 Gb/sec (4X NDR)", "%s/rate", base);
	for (uint32_t i = 0; i < caps_pkey_table_len(dev); i++)
		put_file(rc, i == 0 ? "0xffff" : "0x0000", "%s/pkeys/%u", base, i);
}

static void
put_device(int *rc, const struct softhca_dev *dev, unsigned int uverbs)
{
	uint64_t guid = caps_node_guid(dev);
	char text[128], base[64];

	snprintf(base, sizeof(base), "class/infiniband_verbs/uverbs%u", uverbs);
	snprintf(text, sizeof(text), "mlx5_%u", dev->index);
	put_file(rc, text, "%s/ibdev", base);
	snprintf(text, sizeof(text), "%u:%u", SYSFS_MAJOR, SYSFS_MINOR_BASE + uverbs);
	put_file(rc, text, "%s/dev", base);
	put_file(rc, "1", "%s/abi_version", base);

	snprintf(base, sizeof(base), "class/infiniband/mlx5_%u", dev->index);
	put_file(rc, "1: CA", "%s/node_type", base);
	snprintf(text, sizeof(text), "%04x:%04x:%04x:%04x", (unsigned int)(guid >> 48),
		(unsigned int)(guid >> 32) & 0xffff, (unsigned int)(guid >> 16) & 0xffff,
		(unsigned int)guid & 0xffff);
	put_file(rc, text, "%s/node_guid", base);
	put_file(rc, text, "%s/sys_image_guid", base);
	put_file(rc, "SOFTHCA0000000001", "%s/board_id", base);
	put_file(rc, "0", "%s/hw_rev", base);
	snprintf(text, sizeof(text), "MT%u", dev->cfg->part_id);
	put_file(rc, text, "%s/hca_type", base);
	snprintf(text, sizeof(text), "%u.%u.%04u", dev->cfg->fw_major, dev->cfg->fw_minor,
		dev->cfg->fw_sub);
	put_file(rc, text, "%s/fw_ver", base);
	snprintf(text, sizeof(text), "pci:v000015B3d%08Xsv000015B3sd00000001bc02sc00i00",
		dev->cfg->part_id);
	put_file(rc, text, "%s/device/modalias", base);
	put_file(rc, "0x15b3", "%s/device/vendor", base);
	snprintf(text, sizeof(text), "0x%04x", dev->cfg->part_id);
	put_file(rc, text, "%s/device/device", base);
	put_file(rc, "-1", "%s/device/numa_node", base);
	for (unsigned int p = 1; p <= dev->cfg->ports; p++)
		put_port(rc, dev, p);
}

struct link_state {
	int rc;
	unsigned int next_uverbs;
};

/* Links a device of another vendor into the tree, under its own name. */
static int
visit_link(const char *root, const char *uverbs, const char *ibdev, void *arg)
{
	struct link_state *state = arg;
	char from[PATH_MAX], to[PATH_MAX * 2];
	unsigned int n;

	if (sscanf(uverbs, "uverbs%u", &n) == 1 && n >= state->next_uverbs)
		state->next_uverbs = n + 1;
	if (is_mlx5(root, ibdev))
		return 0;
	snprintf(from, sizeof(from), "%s/class/infiniband_verbs/%s", root, uverbs);
	snprintf(to, sizeof(to), "%s/class/infiniband_verbs/%s", tree, uverbs);
	if (symlink(from, to) != 0)
		state->rc = -errno;
	has_others = true;
	snprintf(from, sizeof(from), "%s/class/infiniband/%s", root, ibdev);
	snprintf(to, sizeof(to), "%s/class/infiniband/%s", tree, ibdev);
	if (symlink(from, to) != 0)
		state->rc = -errno;
	return state->rc;
}

bool
sysfs_has_others(void)
{
	return has_others;
}

/* ---------------------------------------------------------------- trees come and go */

static void
remove_at(int parent, const char *name)
{
	int fd = raw_openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	struct dirent *entry;
	DIR *dir;

	if (fd < 0) {
		(void)unlinkat(parent, name, 0);
		return;
	}
	dir = fdopendir(fd);
	if (dir == NULL) {
		close(fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_at(fd, entry->d_name);
	closedir(dir);
	(void)unlinkat(parent, name, AT_REMOVEDIR);
}

static bool
is_stale(int parent, const char *name)
{
	char path[PATH_MAX + 16];
	struct stat st;
	bool stale;
	int fd;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode) ||
		st.st_uid != geteuid())
		return false;
	snprintf(path, sizeof(path), "%s/lock", name);
	fd = raw_openat(parent, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd < 0)
		return errno == ENOENT && time(NULL) - st.st_mtime > STALE_SECONDS;
	stale = flock(fd, LOCK_EX | LOCK_NB) == 0;
	close(fd);
	return stale;
}

static void
sweep(const char *where)
{
	DIR *dir = opendir(where);
	struct dirent *entry;

	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL)
		if ((strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 ||
			    strncmp(entry->d_name, HIDDEN, strlen(HIDDEN)) == 0) &&
			is_stale(dirfd(dir), entry->d_name))
			remove_at(dirfd(dir), entry->d_name);
	closedir(dir);
}

/* The lock appears under its name only when it is held: a sweep never sees it free. */
static int
hold_lock(void)
{
	char path[PATH_MAX + 16], early[PATH_MAX + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/lock", tree);
	snprintf(early, sizeof(early), "%s/lock.new", tree);
	fd = raw_open(early, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 || rename(early, path) != 0) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	lock_fd = fd; /* stays open, and the lock held, until the process ends */
	return 0;
}

/* The tree gets its name when its lock is held: from then on a death leaves a free lock behind. */
static int
show_tree(const char *where)
{
	char shown[PATH_MAX];

	snprintf(shown, sizeof(shown), "%s/%s", where, strrchr(tree, '/') + strlen("/."));
	if (rename(tree, shown) != 0)
		return -errno;
	memcpy(tree, shown, strlen(shown) + 1);
	return 0;
}

static int
make_tree(void)
{
	const char *where = getuid() == geteuid() ? getenv("TMPDIR") : NULL;
	int rc;

	if (where == NULL || *where != '/' || access(where, W_OK) != 0)
		where = "/tmp";
	if (access(where, W_OK) != 0)
		where = "/dev/shm";
	sweep(where);
	if (snprintf(tree, sizeof(tree), "%s/" HIDDEN "XXXXXX", where) >= (int)sizeof(tree) / 2)
		return -ENAMETOOLONG;
	if (mkdtemp(tree) == NULL)
		return -errno;
	rc = hold_lock();
	return rc != 0 ? rc : show_tree(where);
}

int
sysfs_create(const struct softhca_config *cfg, const char *root, unsigned int *first_uverbs)
{
	struct link_state links = {0};
	struct softhca_dev *devs;
	unsigned int n;
	int rc = make_tree();

	put_file(&rc, "6", "class/infiniband_verbs/abi_version");
	devs = softhca_devices(&n);
	if (rc == 0) {
		char path[PATH_MAX + 32];

		snprintf(path, sizeof(path), "%s/class/infiniband", tree);
		rc = mkdir(path, 0755) != 0 ? -errno : 0;
	}
	if (rc == 0) {
		(void)for_each_uverbs(root, visit_link, &links);
		rc = links.rc;
	}
	for (unsigned int i = 0; i < n; i++)
		put_device(&rc, &devs[i], links.next_uverbs + i);
	if (rc == 0 && setenv("SYSFS_PATH", tree, 1) != 0)
		rc = -errno;
	if (rc != 0) {
		softhca_log("cannot make %s: %s", tree, strerror(-rc));
		sysfs_remove();
		return rc;
	}
	*first_uverbs = links.next_uverbs;
	return 0;
}

/* The program may have closed the lock's descriptor, and may have another file there by now. */
static void
release_lock(void)
{
	char path[PATH_MAX + 16];
	struct stat now, lock;

	snprintf(path, sizeof(path), "%s/lock", tree);
	if (raw_fstat(lock_fd, &now) == 0 && raw_stat(path, &lock) == 0 &&
		now.st_ino == lock.st_ino && now.st_dev == lock.st_dev)
		close(lock_fd);
	lock_fd = -1;
}

void
sysfs_remove(void)
{
	if (tree[0] == '\0')
		return;
	if (lock_fd >= 0)
		release_lock();
	if (is_stale(AT_FDCWD, tree))
		remove_at(AT_FDCWD, tree);
	tree[0] = '\0';
}
