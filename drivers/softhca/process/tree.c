/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and removes a tree: its name, its lock, and its users. */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "devices.h"
#include "fork_lock.h"
#include "log.h"
#include "raw.h"
#include "tree_files.h"

#define PREFIX "softhca-"
/*
 * The maximum age of an incomplete tree. A tree with a hidden name (with a dot) is incomplete. If
 * it is younger than this age, a process may be making it, and may not have its lock yet.
 */
#define STALE_SECONDS 60
/* maximum length of a tree's path, so that names in the tree fit into PATH_MAX */
#define TREE_MAX (PATH_MAX / 4)
/*
 * The lock's descriptor has a high number, because programs close and replace descriptors with low
 * numbers.
 */
#define LOCK_FD_MIN 200

/* The characters for the eight letters at the end of a tree's name. */
static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";

/* A tree that this process uses or may use. */
struct tree {
	char path[TREE_MAX];
	int lock_fd; /* descriptor of the lock file; -1: this process does not use the tree */
};

static struct tree own = {.lock_fd = -1}, inherited = {.lock_fd = -1};
/* path of one of these two trees; NULL: no tree was chosen yet */
static _Atomic(const char *) current;
static _Atomic bool current_is_own;
/* for the current tree: bits for the entries that tree_need() has made */
static _Atomic unsigned int made;
static bool failed;
static pthread_mutex_t lock =
	/* protects the variables above; the atomics are read without it */
	PTHREAD_MUTEX_INITIALIZER;

static const struct softhca_config *settings;
static char machine_root[PATH_MAX / 4];
static unsigned int first_uverbs;

/* ---------------------------------------------------------------- the environment */

static char variable[sizeof(TREE_VARIABLE) + TREE_MAX + PATH_MAX];

static const char *
safe_getenv(const char *name)
{
	return getuid() == geteuid() && getgid() == getegid() ? getenv(name) : NULL;
}

/*
 * Changes the environment variable for the program's children. It is changed in place, because
 * setenv(3) is not safe in programs with threads.
 */
static void
tell_children(const char *path)
{
	snprintf(variable, sizeof(variable), TREE_VARIABLE "=%s:%s", path, machine_root);
}

const char *
tree_find_root(void)
{
	const char *told = safe_getenv("SYSFS_PATH"), *parent = safe_getenv(TREE_VARIABLE);
	const char *root = told != NULL && *told == '/' ? told : "/sys";
	const char *colon = parent != NULL ? strrchr(parent, ':') : NULL;

	return strcmp(root, "/sys") == 0 && colon != NULL && colon[1] == '/' ? colon + 1 : root;
}

const char *
tree_machine_root(void)
{
	return machine_root;
}

/* ---------------------------------------------------------------- locks */

/* Opens a tree's lock file and takes its lock. Returns the descriptor, or -errno. */
static int
hold_lock(const char *path, int flags)
{
	int fd = raw_open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600), high;

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_SH | LOCK_NB) != 0) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	high = fcntl(fd, F_DUPFD_CLOEXEC, LOCK_FD_MIN);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static bool
is_lock_of(int fd, const char *tree)
{
	char path[TREE_MAX + 16];
	struct stat now, there;

	snprintf(path, sizeof(path), "%s/lock", tree);
	return raw_fstat(fd, &now) == 0 && raw_stat(path, &there) == 0 &&
	       now.st_ino == there.st_ino && now.st_dev == there.st_dev;
}

/*
 * Closes the lock file. The program may have closed its descriptor, and may have opened another
 * file with the same number.
 */
static void
release(struct tree *tree)
{
	if (tree->lock_fd >= 0 && is_lock_of(tree->lock_fd, tree->path))
		close(tree->lock_fd);
	tree->lock_fd = -1;
}

/* ---------------------------------------------------------------- dead trees */

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
	while ((entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN)
			remove_at(fd, entry->d_name);
		else
			(void)unlinkat(fd, entry->d_name, 0);
	}
	closedir(dir);
	(void)unlinkat(parent, name, AT_REMOVEDIR);
}

static bool
is_stale(int parent, const char *name)
{
	const bool is_hidden = name[0] == '.';
	char path[PATH_MAX];
	struct stat st;
	bool stale;
	int fd;

	if (raw_fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode) ||
		st.st_uid != geteuid())
		return false;
	if (is_hidden && time(NULL) - st.st_mtime <= STALE_SECONDS)
		return false;
	snprintf(path, sizeof(path), "%s/lock", name);
	fd = raw_openat(parent, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
	/* A folder without a lock file whose name is not hidden was never a tree, and is kept. */
	if (fd < 0)
		return errno == ENOENT && is_hidden;
	stale = flock(fd, LOCK_EX | LOCK_NB) == 0;
	close(fd);
	return stale;
}

/*
 * True for names, hidden or not, of the form that choose_name() makes. Folders of other programs
 * have other forms of names.
 */
static bool
is_name_of_tree(const char *name)
{
	name += name[0] == '.';
	return strncmp(name, PREFIX, strlen(PREFIX)) == 0 && strlen(name) == strlen(PREFIX) + 8 &&
	       strspn(name + strlen(PREFIX), letters) == 8;
}

static void
sweep(const char *where)
{
	DIR *dir = raw_opendir(where);
	struct dirent *entry;

	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL)
		if (is_name_of_tree(entry->d_name) && is_stale(dirfd(dir), entry->d_name))
			remove_at(dirfd(dir), entry->d_name);
	closedir(dir);
}

/* ---------------------------------------------------------------- a new tree */

static const char *
directory_of_trees(void)
{
	const char *told = safe_getenv("TMPDIR");

	if (told != NULL && *told == '/' && strlen(told) < TREE_MAX - 32 &&
		raw_access(told, W_OK) == 0)
		return told;
	return raw_access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

static void
choose_name(void)
{
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) {
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		random = (uint64_t)getpid() << 32 ^ (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15;
	}
	snprintf(own.path, sizeof(own.path), "%s/" PREFIX, directory_of_trees());
	for (size_t n = strlen(own.path), end = n + 8; n < end; n++, random /= 36) {
		own.path[n] = letters[random % 36];
		own.path[n + 1] = '\0';
	}
}

static int
write_settings(const char *tree)
{
	char path[TREE_MAX + 16];
	int fd, rc = 0;

	snprintf(path, sizeof(path), "%s/settings", tree);
	fd = raw_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0)
		return -errno;
	if (raw_write(fd, settings, sizeof(*settings)) != sizeof(*settings))
		rc = -EIO;
	close(fd);
	return rc;
}

static bool
has_equal_settings(const char *tree)
{
	struct softhca_config theirs;
	char path[TREE_MAX + 16];
	bool equal;
	int fd;

	snprintf(path, sizeof(path), "%s/settings", tree);
	fd = raw_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
	if (fd < 0)
		return false;
	equal = read(fd, &theirs, sizeof(theirs)) == sizeof(theirs) &&
		memcmp(&theirs, settings, sizeof(theirs)) == 0;
	close(fd);
	return equal;
}

/*
 * Copies the times of the device directories. libibverbs recognises a device by the time of its
 * directory. So a device that was found in the inherited tree must have the same time in this
 * process's own tree.
 */
static void
copy_times(const char *from, const char *to)
{
	unsigned int n;
	const struct softhca_dev *devs = softhca_devices(&n);

	for (unsigned int i = 0; i < n; i++) {
		char path[PATH_MAX];
		struct stat st;

		snprintf(path, sizeof(path), "%s/sys/class/infiniband/mlx5_%u", from,
			devs[i].index);
		if (raw_stat(path, &st) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/sys/class/infiniband/mlx5_%u", to, devs[i].index);
		(void)utimensat(AT_FDCWD, path, (struct timespec[2]){st.st_atim, st.st_mtim}, 0);
	}
}

/*
 * Gives the tree its visible name when it is complete and its lock is held. So a process that
 * removes dead trees never finds this tree unlocked.
 */
static int
fill_tree(const char *hidden)
{
	char path[TREE_MAX + 16];
	int rc;

	snprintf(path, sizeof(path), "%s/lock", hidden);
	own.lock_fd = hold_lock(path, O_RDONLY | O_CREAT | O_EXCL);
	if (own.lock_fd < 0)
		return own.lock_fd;
	rc = write_settings(hidden);
	if (rc == 0)
		rc = tree_files_make(hidden, machine_root, first_uverbs);
	if (rc == 0 && inherited.lock_fd >= 0)
		copy_times(inherited.path, hidden);
	if (rc == 0 && rename(hidden, own.path) != 0)
		rc = -errno;
	return rc;
}

/* Makes the tree. The caller holds the lock. */
static void
make(void)
{
	const char *slash = strrchr(own.path, '/');
	char hidden[TREE_MAX + 2];
	bool there;
	int rc;

	snprintf(hidden, sizeof(hidden), "%.*s", (int)(slash - own.path), own.path);
	sweep(hidden);
	snprintf(hidden, sizeof(hidden), "%.*s/.%s", (int)(slash - own.path), own.path, slash + 1);
	rc = mkdir(hidden, 0755) != 0 ? -errno : 0;
	there = rc == 0;
	if (there)
		rc = fill_tree(hidden);
	if (rc == 0) {
		tell_children(own.path);
		atomic_store(&made, 0);
		atomic_store(&current_is_own, true);
		atomic_store_explicit(&current, own.path, memory_order_release);
		return;
	}
	softhca_log("cannot make %s: %s; programs will not find the adapter", own.path,
		strerror(-rc));
	failed = true;
	if (there)
		remove_at(AT_FDCWD, hidden);
	if (own.lock_fd >= 0)
		close(own.lock_fd);
	own.lock_fd = -1;
}

/* ---------------------------------------------------------------- the parent's tree */

/*
 * Takes the inherited tree. Returns false if the parent has no tree, or if its tree shows other
 * adapters. The caller holds the lock.
 */
static bool
use_inherited(void)
{
	char path[TREE_MAX + 16];
	int fd;

	if (inherited.path[0] == '\0')
		return false;
	snprintf(path, sizeof(path), "%s/lock", inherited.path);
	fd = hold_lock(path, O_RDONLY);
	if (fd < 0)
		return false;
	if (!is_lock_of(fd, inherited.path) || !has_equal_settings(inherited.path)) {
		close(fd);
		return false;
	}
	inherited.lock_fd = fd;
	atomic_store(&current_is_own, false);
	atomic_store_explicit(&current, inherited.path, memory_order_release);
	return true;
}

void
tree_init(const struct softhca_config *cfg, const char *root, unsigned int first)
{
	const char *parent = safe_getenv(TREE_VARIABLE), *colon;

	settings = cfg;
	snprintf(machine_root, sizeof(machine_root), "%s", root);
	inherited.path[0] = '\0';
	failed = false;
	own.lock_fd = inherited.lock_fd = -1;
	atomic_store(&made, 0);
	atomic_store(&current, NULL);
	atomic_store(&current_is_own, false);
	first_uverbs = first;
	if (parent != NULL && (colon = strrchr(parent, ':')) != NULL && *parent == '/' &&
		(size_t)(colon - parent) < sizeof(inherited.path) - 16) {
		char path[TREE_MAX + 16];

		memcpy(inherited.path, parent, colon - parent);
		inherited.path[colon - parent] = '\0';
		/* A parent that has not looked for devices has not made its tree. */
		snprintf(path, sizeof(path), "%s/lock", inherited.path);
		if (raw_access(path, F_OK) != 0)
			inherited.path[0] = '\0';
	}
	choose_name();
	tell_children(inherited.path[0] != '\0' ? inherited.path : own.path);
	(void)putenv(variable);
	if (strcmp(machine_root, "/sys") != 0 && safe_getenv("SYSFS_PATH") != NULL)
		(void)setenv("SYSFS_PATH", "/sys", 1);
}

/* ---------------------------------------------------------------- use */

static const char *
find(bool may_make)
{
	const char *path = atomic_load_explicit(&current, memory_order_acquire);

	if (path != NULL)
		return path;
	fork_lock(&lock);
	path = atomic_load(&current);
	if (path == NULL && !failed && !use_inherited() && may_make)
		make();
	path = atomic_load(&current);
	fork_unlock(&lock);
	return path;
}

const char *
tree_path(void)
{
	return find(true);
}

const char *
tree_if_there(void)
{
	return find(false);
}

/*
 * The directories that tree_need() fills. `made` has a bit for each directory, and a bit for the
 * GID tables.
 */
static const char *const merged[] = {"/sys/class", "/sys/devices", "/sys/bus/pci/devices",
	"/sys/bus/pci/drivers"};
#define N_MERGED (sizeof(merged) / sizeof(merged[0]))
#define GIDS     (1U << N_MERGED)

static unsigned int
needed(const char *name)
{
	for (size_t i = 0; i < N_MERGED; i++) {
		size_t len = strlen(merged[i]);

		if (strncmp(name, merged[i], len) == 0 && name[len + (name[len] == '/')] == '\0')
			return 1U << i;
	}
	return strstr(name, "/gid") != NULL ? GIDS : 0;
}

void
tree_need(const char *name)
{
	unsigned int need = needed(name);
	const char *path = need != 0 ? tree_path() : NULL;

	if (path == NULL || (atomic_load(&made) & need) != 0)
		return;
	fork_lock(&lock);
	path = atomic_load(&current);
	if ((atomic_load(&made) & need) == 0) {
		if (need == GIDS)
			(void)tree_files_make_gids(path);
		else
			(void)tree_files_merge(path, machine_root, merged[__builtin_ctz(need)]);
		atomic_fetch_or(&made, need);
	}
	fork_unlock(&lock);
}

void
tree_make_own(void)
{
	if (atomic_load(&current_is_own))
		return;
	fork_lock(&lock);
	if (atomic_load(&current) == inherited.path && !failed)
		make();
	else if (atomic_load(&current) == NULL && inherited.path[0] != '\0') {
		inherited.path[0] = '\0';
		tell_children(own.path);
	}
	fork_unlock(&lock);
}

bool
tree_is_own(void)
{
	return atomic_load(&current_is_own);
}

static const char *
inside(const char *path, const char *tree)
{
	size_t len = strlen(tree);

	return len > 0 && strncmp(path, tree, len) == 0 && path[len] == '/' ? path + len : NULL;
}

/*
 * Names in the inherited tree are recognised even before this process uses that tree, because the
 * working directory may be in that tree.
 */
const char *
tree_inside(const char *path)
{
	const char *rest = inside(path, own.path);

	return rest != NULL ? rest : inside(path, inherited.path);
}

static void
leave(struct tree *tree)
{
	if (tree->lock_fd < 0)
		return;
	release(tree);
	if (is_stale(AT_FDCWD, tree->path))
		remove_at(AT_FDCWD, tree->path);
}

void
tree_remove(void)
{
	atomic_store(&current, NULL);
	atomic_store(&current_is_own, false);
	leave(&own);
	leave(&inherited);
}

/* ---------------------------------------------------------------- fork */

void
tree_fork_prepare(void)
{
	fork_lock(&lock);
}

void
tree_fork_parent(void)
{
	fork_unlock(&lock);
}

/*
 * The child has inherited the descriptor of its parent's lock file, so the child also holds the
 * lock of the parent's tree.
 */
void
tree_fork_child(void)
{
	if (atomic_load(&current_is_own)) {
		release(&inherited);
		inherited = own;
		own.lock_fd = -1;
		atomic_store(&current, inherited.path);
		atomic_store(&current_is_own, false);
	}
	choose_name();
	if (atomic_load(&current) == NULL)
		tell_children(inherited.path[0] != '\0' ? inherited.path : own.path);
	fork_unlock(&lock);
}
