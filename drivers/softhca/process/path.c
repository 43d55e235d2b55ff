/* SPDX-License-Identifier: BSD-3-Clause */
/* Translates the program's paths to the paths of the files. */
#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cm.h"
#include "init.h"
#include "raw.h"
#include "softhca.h"
#include "tree.h"

#define MAX_LINKS 40 /* maximum of symbolic links, as in the kernel: path_resolution(7) */

static bool
begins(const char *name, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(name, dir, len) == 0 && (name[len] == '/' || name[len] == '\0');
}

static bool
is_covered(const char *name)
{
	return begins(name, "/sys") || begins(name, "/dev/infiniband");
}

/*
 * True if the path contains "/sys" or "/infiniband". Without these names the path cannot lead below
 * /sys or /dev/infiniband, not even by "..".
 */
static bool
may_be_covered(const char *path)
{
	return strstr(path, "/sys") != NULL || strstr(path, "/infiniband") != NULL;
}

/* ---------------------------------------------------------------- absolute names */

void
path_show(char *name)
{
	const char *inside = tree_inside(name);

	if (inside != NULL)
		memmove(name, inside, strlen(inside) + 1);
}

/* Writes the name of a directory, without a slash at its end. */
static bool
name_of_directory(int dir, char name[PATH_MAX])
{
	char link[32];
	ssize_t n;

	if (dir == AT_FDCWD) {
		if (!raw_getcwd(name, PATH_MAX))
			return false;
	} else {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
		n = raw_readlink(link, name, PATH_MAX - 1);
		if (n < 0)
			return false;
		name[n] = '\0';
	}
	if (name[0] != '/')
		return false;
	path_show(name);
	if (strcmp(name, "/") == 0)
		name[0] = '\0';
	return true;
}

/*
 * Appends the parts of a path to a name, without empty parts and parts ".". A slash at the end
 * stays. Sets *climbs if a part is "..".
 */
static bool
append(char name[PATH_MAX], const char *path, bool *climbs)
{
	size_t len = strlen(name), part;

	for (; *path != '\0'; path += part) {
		path += strspn(path, "/");
		part = strcspn(path, "/");
		if (part == 1 && path[0] == '.')
			continue;
		if (len + part + 2 > PATH_MAX)
			return false;
		if (part == 2 && strncmp(path, "..", 2) == 0)
			*climbs = true;
		name[len++] = '/';
		memcpy(name + len, path, part);
		len += part;
		name[len] = '\0';
	}
	return true;
}

/* ---------------------------------------------------------------- the place of a name's file */

/*
 * True for a directory that the tree has only because of its subdirectories. The machine's
 * directory of this name has more entries.
 */
static bool
is_passage(const char *name)
{
	static const char *const passages[] = {"/sys", "/sys/bus", "/sys/bus/pci", "/sys/dev",
		"/sys/dev/char", "/sys/class/misc", "/sys/devices/virtual",
		"/sys/devices/virtual/misc"};

	for (size_t i = 0; i < sizeof(passages) / sizeof(passages[0]); i++) {
		size_t len = strlen(passages[i]);

		if (strncmp(name, passages[i], len) == 0 && name[len + (name[len] == '/')] == '\0')
			return true;
	}
	return false;
}

/*
 * True for a directory in which the program sees only the entries of the tree, and none of the
 * machine.
 */
static bool
is_closed(const char *name)
{
	return begins(name, "/sys/class/infiniband") || begins(name, "/sys/class/infiniband_verbs");
}

static void
machine_path(const char *name, char real[PATH_MAX])
{
	if (begins(name, "/sys"))
		snprintf(real, PATH_MAX, "%s%s", tree_machine_root(), name + strlen("/sys"));
	else
		snprintf(real, PATH_MAX, "%s", name);
}

static struct softhca_dev *
device_of(const char *name)
{
	static const char prefix[] = "/dev/infiniband/uverbs";
	unsigned long n;
	char *end;

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return NULL;
	name += sizeof(prefix) - 1;
	if (*name < '0' || *name > '9')
		return NULL;
	n = strtoul(name, &end, 10);
	return *end == '\0' && n <= UINT32_MAX ? softhca_device_by_uverbs(n) : NULL;
}

/* Finds the file for a name that has no "..". */
static enum path_kind
locate(const char *name, char real[PATH_MAX])
{
	const char *tree = is_covered(name) ? tree_path() : NULL;
	char machine[PATH_MAX], text[PATH_MAX];
	ssize_t n;

	if (tree == NULL)
		return PATH_OTHER;
	tree_need(name);
	machine_path(name, machine);
	if (snprintf(real, PATH_MAX, "%s%s", tree, name) >= PATH_MAX)
		return PATH_OTHER;
	n = raw_readlink(real, text, sizeof(text) - 1);
	if (n >= 0) {
		text[n] = '\0';
		if (strcmp(text, machine) != 0)
			return PATH_TREE;
	} else if (errno == ENOENT ? is_closed(name)
				   : !is_passage(name) || raw_access(machine, F_OK) != 0)
		return PATH_TREE;
	memcpy(real, machine, strlen(machine) + 1);
	return PATH_MACHINE;
}

/* ---------------------------------------------------------------- removing ".." and links */

static bool
is_directory(const char *name)
{
	char real[PATH_MAX];
	struct stat st;

	return *name == '\0' ||
	       (raw_stat(locate(name, real) == PATH_OTHER ? name : real, &st) == 0 &&
		       S_ISDIR(st.st_mode));
}

/*
 * Follows the symbolic links of a name: all links if `follow`, otherwise those before the last
 * "..". Returns 0, or -errno if a part of the name does not exist or cannot be read. Then `out` is
 * the name up to this part.
 */
static int
walk(const char *name, bool follow, char out[PATH_MAX])
{
	char todo[PATH_MAX], real[PATH_MAX], text[2 * PATH_MAX];
	unsigned int links = 0;
	char *at = todo;
	size_t len = 0;

	snprintf(todo, sizeof(todo), "%s", name);
	out[0] = '\0';
	for (;;) {
		size_t part;
		ssize_t n;

		at += strspn(at, "/");
		part = strcspn(at, "/");
		if (part == 0)
			break;
		if (part == 2 && strncmp(at, "..", 2) == 0) {
			if (!is_directory(out))
				return -ENOTDIR;
			while (len > 0 && out[--len] != '/')
				;
			out[len] = '\0';
			at += part;
			continue;
		}
		if (part == 1 && *at == '.') {
			at += part;
			continue;
		}
		if (len + part + 2 > PATH_MAX)
			return -ENAMETOOLONG;
		snprintf(out + len, PATH_MAX - len, "/%.*s", (int)part, at);
		at += part;
		if (!follow && strstr(at, "/..") == NULL) {
			len += part + 1;
			continue;
		}
		n = raw_readlink(locate(out, real) == PATH_OTHER ? out : real, text, PATH_MAX - 1);
		if (n < 0) {
			if (errno != EINVAL)
				return -errno;
			len += part + 1;
			continue;
		}
		if (++links > MAX_LINKS)
			return -ELOOP;
		text[n] = '\0';
		path_show(text);
		if (text[0] == '/')
			len = 0;
		out[len] = '\0';
		if (strlen(text) + strlen(at) + 2 > PATH_MAX)
			return -ENAMETOOLONG;
		strcat(strcat(text, "/"), at);
		memcpy(todo, text, strlen(text) + 1);
		at = todo;
	}
	if (len == 0)
		strcpy(out, "/");
	return 0;
}

/* ---------------------------------------------------------------- */

static enum path_kind
find(int dir, const char *path, struct path_place *place)
{
	bool climbs = false;
	int rc = 0;

	place->name[0] = '\0';
	if (*path == '/') {
		if (!may_be_covered(path))
			return PATH_OTHER;
	} else if (!name_of_directory(dir, place->name))
		return PATH_OTHER;
	if (!append(place->name, path, &climbs) || !may_be_covered(place->name))
		return PATH_OTHER;
	if (climbs) {
		char straight[PATH_MAX];

		rc = walk(place->name, false, straight);
		memcpy(place->name, straight, strlen(straight) + 1);
	}
	if (!is_covered(place->name)) {
		/*
		 * The path may pass through the tree, but the file at its end belongs to the
		 * machine.
		 */
		memcpy(place->real, place->name, sizeof(place->real));
		return climbs && rc == 0 ? PATH_MACHINE : PATH_OTHER;
	}
	place->dev = device_of(place->name);
	place->kind = locate(place->name, place->real);
	/*
	 * A part of the path is wrong. The path for the kernel gets "/..", so that the kernel
	 * reports an error: no file exists above the wrong part.
	 */
	if (rc != 0 && place->kind != PATH_OTHER)
		strncat(place->real, "/..", PATH_MAX - strlen(place->real) - 1);
	if (place->kind == PATH_TREE && rc == 0 && strcmp(place->name, CM_PATH) == 0)
		return PATH_CM;
	return place->dev != NULL && rc == 0 ? PATH_DEVICE : place->kind;
}

enum path_kind
path_find(int dir, const char *path, struct path_place *place)
{
	int saved = errno;

	place->kind = PATH_OTHER;
	place->dev = NULL;
	if (softhca_active() && path != NULL && *path != '\0')
		place->kind = find(dir, path, place);
	errno = saved;
	return place->kind;
}

bool
path_is_real(const char *path, const struct path_place *place)
{
	struct stat a, b;

	return raw_fstatat(AT_FDCWD, path, &a, AT_SYMLINK_NOFOLLOW) == 0 &&
	       raw_fstatat(AT_FDCWD, place->real, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

int
path_resolve(const struct path_place *place, char out[PATH_MAX])
{
	size_t len = strlen(place->name);
	int rc = walk(place->name, true, out);

	return rc == 0 && place->name[len - 1] == '/' && !is_directory(out) ? -ENOTDIR : rc;
}
