/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The libc calls with a path, for /sys and /dev/infiniband as on a machine with the adapter.
 *
 * Each call finds the path of the file (path.c), and then uses this path. If libc makes a call by
 * one system call, this file makes the system call directly: this needs no dlsym(), so it works
 * from the first instruction of a process, and below the interceptors of sanitizers. All other
 * calls are libc's own calls, found by dlsym(). The fortified functions, which a program compiled
 * with _FORTIFY_SOURCE calls, are also here.
 *
 * libc's own calls are not overridden by this library: fopen() opens a file without this open(). So
 * this file has every call with a path; shim_fts.c has those of fts(3).
 */
#undef _FORTIFY_SOURCE   /* defines open() inline; this file also defines open() */
#undef _FILE_OFFSET_BITS /* renames open to open64; this file defines both */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cm.h"
#include "contexts.h"
#include "counters.h"
#include "init.h"
#include "next.h"
#include "own_files.h"
#include "path.h"
#include "raw.h"
#include "resource.h"
#include "softhca.h"
#include "tree.h"
#include "tree_files.h"
#include "tree_open.h"

#ifndef __LP64__
#error "The kernel's struct stat is libc's on 64-bit machines only"
#endif

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);
int __xstat(int version, const char *path, struct stat *st);
int __xstat64(int version, const char *path, struct stat64 *st);
int __lxstat(int version, const char *path, struct stat *st);
int __lxstat64(int version, const char *path, struct stat64 *st);
int __fxstat(int version, int fd, struct stat *st);
int __fxstat64(int version, int fd, struct stat64 *st);
int __fxstatat(int version, int dir, const char *path, struct stat *st, int flags);
int __fxstatat64(int version, int dir, const char *path, struct stat64 *st, int flags);
ssize_t __readlink_chk(const char *path, char *buf, size_t len, size_t room);
ssize_t __readlinkat_chk(int dir, const char *path, char *buf, size_t len, size_t room);
char *__realpath_chk(const char *path, char *resolved, size_t room);
char *__getcwd_chk(char *buf, size_t len, size_t room);
void __chk_fail(void) __attribute__((noreturn));

/* Returns the path of the file, relative to the same directory. */
static const char *
real_path(int dir, const char *path, struct path_place *place)
{
	return path_find(dir, path, place) == PATH_OTHER ? path : place->real;
}

static int
fail(int error)
{
	errno = error;
	return -1;
}

/* ---------------------------------------------------------------- open */

/* Makes the files by which other processes see what this process holds. */
static void
share(void)
{
	char shared[PATH_MAX];
	const char *tree;

	tree_make_own();
	tree = tree_path();
	if (tree != NULL) {
		snprintf(shared, sizeof(shared), "%s/resources", tree);
		resources_create(shared);
		snprintf(shared, sizeof(shared), "%s/counters", tree);
		counters_share(shared);
	}
}

static int
open_device(const struct path_place *place, int flags)
{
	int fd;

	share();
	fd = ctx_open(place->dev, flags);
	return fd < 0 ? fail(-fd) : fd;
}

static int
open_cm(int flags)
{
	int fd;

	share();
	fd = cm_open(flags);
	return fd < 0 ? fail(-fd) : fd;
}

/*
 * Opens a file that is not of the adapter. It may be a file of fdinfo about a descriptor of the
 * adapter.
 */
static int
open_other(int dir, const char *path, int flags, mode_t mode)
{
	char real[TREE_TEXT_PATH];
	int through = -1, fd;

	if ((flags & (O_ACCMODE | O_PATH | O_DIRECTORY)) == O_RDONLY)
		through = own_info_text(dir, path, real);
	if (through < 0)
		return raw_openat(dir, path, flags, mode);
	fd = raw_open(real, flags & ~O_NOFOLLOW, mode);
	close(through);
	return fd;
}

static int
open_any(int dir, const char *path, int flags, mode_t mode)
{
	struct path_place place;
	int rc, fd, through;

	switch (path_find(dir, path, &place)) {
	case PATH_OTHER:
		return open_other(dir, path, flags, mode);
	case PATH_DEVICE:
		if ((flags & O_PATH) == 0)
			return open_device(&place, flags);
		break;
	case PATH_CM:
		if ((flags & O_PATH) == 0)
			return open_cm(flags);
		break;
	default:
		break;
	}
	rc = tree_open(&place, flags, &through);
	if (rc != 0)
		return fail(-rc);
	fd = raw_open(place.real, flags, mode);
	if (through >= 0)
		close(through);
	return fd;
}

static mode_t
mode_argument(int flags, va_list ap)
{
	return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, mode_t) : 0;
}

#define OPEN(name, at, parameters, more_flags)                                                     \
	SOFTHCA_API int name parameters                                                            \
	{                                                                                          \
		va_list ap;                                                                        \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(ap, flags);                                                               \
		mode = mode_argument(flags, ap);                                                   \
		va_end(ap);                                                                        \
		return open_any(at, path, flags | more_flags, mode);                               \
	}
#define OPEN_CHECKED(name, at, parameters, more_flags)                                             \
	SOFTHCA_API int name parameters                                                            \
	{                                                                                          \
		return open_any(at, path, flags | more_flags, 0);                                  \
	}

OPEN(open, AT_FDCWD, (const char *path, int flags, ...), 0)
OPEN(open64, AT_FDCWD, (const char *path, int flags, ...), O_LARGEFILE)
OPEN(openat, dir, (int dir, const char *path, int flags, ...), 0)
OPEN(openat64, dir, (int dir, const char *path, int flags, ...), O_LARGEFILE)
OPEN_CHECKED(__open_2, AT_FDCWD, (const char *path, int flags), 0)
OPEN_CHECKED(__open64_2, AT_FDCWD, (const char *path, int flags), O_LARGEFILE)
OPEN_CHECKED(__openat_2, dir, (int dir, const char *path, int flags), 0)
OPEN_CHECKED(__openat64_2, dir, (int dir, const char *path, int flags), O_LARGEFILE)

/*
 * Destroys the contexts that the program has closed, before a program lists its descriptors. The
 * library does not see close(2), so such contexts still have descriptors.
 */
static void
end_closed_before(const char *path)
{
	static const char *const fds[] = {"/proc/self/fd", "/proc/self/fd/", "/dev/fd", "/dev/fd/"};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (softhca_active() && strcmp(path, fds[i]) == 0)
			contexts_end_closed();
}

SOFTHCA_API DIR *
opendir(const char *path)
{
	DIR *dir;
	int fd;

	end_closed_before(path);
	fd = open_any(AT_FDCWD, path, O_RDONLY | O_NDELAY | O_DIRECTORY | O_CLOEXEC, 0);
	dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (fd >= 0 && dir == NULL)
		close(fd);
	return dir;
}

/* ---------------------------------------------------------------- streams */

/* Returns the flags of open(2) for a mode of fopen(3). */
static int
mode_flags(const char *mode)
{
	return *mode == 'r' && strchr(mode, '+') == NULL ? O_RDONLY : O_RDWR | O_CREAT;
}

/*
 * Opens a stream by libc's own call, with the path of the file. If the tree refuses the path,
 * libc's call gets an empty path and fails. It must be called in this case, too, because freopen()
 * must close the old stream.
 */
#define STREAM(name, parameters, ...)                                                              \
	SOFTHCA_API FILE *name parameters                                                          \
	{                                                                                          \
		struct path_place place;                                                           \
		const char *real = real_path(AT_FDCWD, path, &place);                              \
		char info[TREE_TEXT_PATH];                                                         \
		int rc = 0, through = -1;                                                          \
		FILE *file;                                                                        \
                                                                                                   \
		if (place.kind != PATH_OTHER)                                                      \
			rc = tree_open(&place, mode_flags(mode), &through);                        \
		else if (mode_flags(mode) == O_RDONLY)                                             \
			through = own_info_text(AT_FDCWD, path, info);                             \
		if (place.kind == PATH_OTHER && through >= 0)                                      \
			real = info;                                                               \
		if (rc != 0)                                                                       \
			real = "";                                                                 \
		file = NEXT(name)(__VA_ARGS__);                                                    \
		if (rc != 0)                                                                       \
			errno = -rc;                                                               \
		if (through >= 0)                                                                  \
			close(through);                                                            \
		return file;                                                                       \
	}

STREAM(fopen, (const char *path, const char *mode), real, mode)
STREAM(fopen64, (const char *path, const char *mode), real, mode)
STREAM(freopen, (const char *path, const char *mode, FILE *old), real, mode, old)
STREAM(freopen64, (const char *path, const char *mode, FILE *old), real, mode, old)

/* ---------------------------------------------------------------- stat */

static int
fstat_any(int fd, struct stat *st)
{
	int rc = raw_fstat(fd, st);

	if (rc == 0)
		own_file_show(st);
	return rc;
}

static int
stat_any(int dir, const char *path, struct stat *st, int flags)
{
	struct path_place place;
	int rc;

	if (path != NULL && *path == '\0' && (flags & AT_EMPTY_PATH) != 0 && dir != AT_FDCWD)
		return fstat_any(dir, st);
	switch (path_find(dir, path, &place)) {
	case PATH_OTHER:
		rc = raw_fstatat(dir, path, st, flags);
		if (rc == 0)
			own_file_show(st);
		return rc;
	case PATH_DEVICE:
		/* The device exists, also if the tree could not be made. */
		if (raw_fstatat(AT_FDCWD, place.real, st, flags) != 0) {
			memset(st, 0, sizeof(*st));
			st->st_nlink = 1;
		}
		own_device_show(place.dev, st);
		return 0;
	case PATH_CM:
		rc = raw_fstatat(AT_FDCWD, place.real, st, flags);
		if (rc == 0)
			own_cm_show(st);
		return rc;
	default:
		return raw_fstatat(AT_FDCWD, place.real, st, flags);
	}
}

/*
 * The functions whose names start with __ are those of glibc before 2.33. gcc's thread sanitizer
 * still calls __fxstat. The argument `version` of these functions selects a layout of struct stat.
 * 64-bit machines have only one layout.
 */
#define STAT(name, parameters, ...)                                                                \
	SOFTHCA_API int name parameters                                                            \
	{                                                                                          \
		return stat_any(__VA_ARGS__);                                                      \
	}
#define FSTAT(name, parameters)                                                                    \
	SOFTHCA_API int name parameters                                                            \
	{                                                                                          \
		return fstat_any(fd, (struct stat *)st);                                           \
	}

STAT(stat, (const char *path, struct stat *st), AT_FDCWD, path, st, 0)
STAT(stat64, (const char *path, struct stat64 *st), AT_FDCWD, path, (struct stat *)st, 0)
STAT(lstat, (const char *path, struct stat *st), AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW)
STAT(lstat64, (const char *path, struct stat64 *st), AT_FDCWD, path, (struct stat *)st,
	AT_SYMLINK_NOFOLLOW)
STAT(fstatat, (int dir, const char *path, struct stat *st, int flags), dir, path, st, flags)
STAT(fstatat64, (int dir, const char *path, struct stat64 *st, int flags), dir, path,
	(struct stat *)st, flags)
STAT(__xstat, (int version, const char *path, struct stat *st), AT_FDCWD, path, st, 0)
STAT(__xstat64, (int version, const char *path, struct stat64 *st), AT_FDCWD, path,
	(struct stat *)st, 0)
STAT(__lxstat, (int version, const char *path, struct stat *st), AT_FDCWD, path, st,
	AT_SYMLINK_NOFOLLOW)
STAT(__lxstat64, (int version, const char *path, struct stat64 *st), AT_FDCWD, path,
	(struct stat *)st, AT_SYMLINK_NOFOLLOW)
STAT(__fxstatat, (int version, int dir, const char *path, struct stat *st, int flags), dir, path,
	st, flags)
STAT(__fxstatat64, (int version, int dir, const char *path, struct stat64 *st, int flags), dir,
	path, (struct stat *)st, flags)
FSTAT(fstat, (int fd, struct stat *st))
FSTAT(fstat64, (int fd, struct stat64 *st))
FSTAT(__fxstat, (int version, int fd, struct stat *st))
FSTAT(__fxstat64, (int version, int fd, struct stat64 *st))

SOFTHCA_API int
statx(int dir, const char *restrict path, int flags, unsigned int mask, struct statx *restrict stx)
{
	struct path_place place;
	int rc;

	if (path_find(dir, path, &place) != PATH_OTHER)
		rc = raw_statx(AT_FDCWD, place.real, flags, mask, stx);
	else
		rc = raw_statx(dir, path, flags, mask, stx);
	if (rc != 0)
		return rc;
	if (place.kind == PATH_DEVICE)
		own_device_show_x(place.dev, stx);
	else if (place.kind == PATH_CM)
		own_cm_show_x(stx);
	else
		own_file_show_x(stx);
	return 0;
}

/* ---------------------------------------------------------------- links and names */

static ssize_t
readlink_any(int dir, const char *path, char *buf, size_t len)
{
	char text[PATH_MAX];
	struct path_place place;
	ssize_t n;

	if (!softhca_active())
		return raw_readlinkat(dir, path, buf, len);
	path = real_path(dir, path, &place);
	n = raw_readlinkat(dir, path, text, sizeof(text) - 1);
	if (n < 0)
		return n;
	if (len == 0)
		return fail(EINVAL);
	/* The link may be a link of /proc to the working directory or to an open file. */
	text[n] = '\0';
	path_show(text);
	own_link_show(dir, path, text);
	n = strlen(text);
	if ((size_t)n > len)
		n = len;
	memcpy(buf, text, n);
	return n;
}

SOFTHCA_API ssize_t
readlink(const char *restrict path, char *restrict buf, size_t len)
{
	return readlink_any(AT_FDCWD, path, buf, len);
}

SOFTHCA_API ssize_t
readlinkat(int dir, const char *restrict path, char *restrict buf, size_t len)
{
	return readlink_any(dir, path, buf, len);
}

SOFTHCA_API ssize_t
__readlink_chk(const char *path, char *buf, size_t len, size_t room)
{
	if (len > room)
		__chk_fail();
	return readlink_any(AT_FDCWD, path, buf, len);
}

SOFTHCA_API ssize_t
__readlinkat_chk(int dir, const char *path, char *buf, size_t len, size_t room)
{
	if (len > room)
		__chk_fail();
	return readlink_any(dir, path, buf, len);
}

/* Changes a string that libc returned to the name that the program sees. */
static char *
shown(char *name)
{
	if (name != NULL)
		path_show(name);
	return name;
}

/*
 * Returns the target of a link of /proc to a device of the adapter. For all other paths, returns
 * the path.
 */
static const char *
own_target(const char *path, char text[PATH_MAX])
{
	ssize_t n = path != NULL && softhca_active() ? raw_readlink(path, text, PATH_MAX - 1) : -1;

	if (n <= 0)
		return path;
	text[n] = '\0';
	return own_link_show(AT_FDCWD, path, text) ? text : path;
}

SOFTHCA_API char *
realpath(const char *restrict path, char *restrict resolved)
{
	char straight[PATH_MAX];
	struct path_place place;
	int rc;

	path = own_target(path, straight);
	if (path_find(AT_FDCWD, path, &place) == PATH_OTHER)
		return shown(NEXT(realpath)(path, resolved));
	rc = path_resolve(&place, straight);
	if (rc != 0) {
		errno = -rc;
		return NULL;
	}
	return resolved == NULL ? strdup(straight) : strcpy(resolved, straight);
}

SOFTHCA_API char *
__realpath_chk(const char *path, char *resolved, size_t room)
{
	if (room < PATH_MAX)
		__chk_fail();
	return realpath(path, resolved);
}

SOFTHCA_API char *
canonicalize_file_name(const char *path)
{
	return realpath(path, NULL);
}

SOFTHCA_API char *
getcwd(char *buf, size_t len)
{
	return shown(NEXT(getcwd)(buf, len));
}

SOFTHCA_API char *
__getcwd_chk(char *buf, size_t len, size_t room)
{
	if (len > room)
		__chk_fail();
	return getcwd(buf, len);
}

SOFTHCA_API char *
get_current_dir_name(void)
{
	return shown(NEXT(get_current_dir_name)());
}

/*
 * ---------------------------------------------------------------- libc's own calls, at another
 * place
 */

/* Defines a libc call that has one path, relative to `dir`. */
#define CALL(type, name, dir, parameters, ...)                                                     \
	SOFTHCA_API type name parameters                                                           \
	{                                                                                          \
		struct path_place place;                                                           \
                                                                                                   \
		path = real_path(dir, path, &place);                                               \
		return NEXT(name)(__VA_ARGS__);                                                    \
	}

typedef int choose_entry(const struct dirent *);
typedef int order_entries(const struct dirent **, const struct dirent **);
typedef int choose_entry64(const struct dirent64 *);
typedef int order_entries64(const struct dirent64 **, const struct dirent64 **);

CALL(int, access, AT_FDCWD, (const char *path, int mode), path, mode)
CALL(int, euidaccess, AT_FDCWD, (const char *path, int mode), path, mode)
CALL(int, eaccess, AT_FDCWD, (const char *path, int mode), path, mode)
CALL(int, faccessat, dir, (int dir, const char *path, int mode, int flags), dir, path, mode, flags)
CALL(int, chdir, AT_FDCWD, (const char *path), path)
CALL(int, scandir, AT_FDCWD,
	(const char *restrict path, struct dirent ***restrict list, choose_entry *choose,
		order_entries *order),
	path, list, choose, order)
CALL(int, scandir64, AT_FDCWD,
	(const char *restrict path, struct dirent64 ***restrict list, choose_entry64 *choose,
		order_entries64 *order),
	path, list, choose, order)
CALL(int, scandirat, dir,
	(int dir, const char *restrict path, struct dirent ***restrict list, choose_entry *choose,
		order_entries *order),
	dir, path, list, choose, order)
CALL(int, scandirat64, dir,
	(int dir, const char *restrict path, struct dirent64 ***restrict list,
		choose_entry64 *choose, order_entries64 *order),
	dir, path, list, choose, order)
CALL(ssize_t, getxattr, AT_FDCWD, (const char *path, const char *name, void *value, size_t len),
	path, name, value, len)
CALL(ssize_t, lgetxattr, AT_FDCWD, (const char *path, const char *name, void *value, size_t len),
	path, name, value, len)
CALL(ssize_t, listxattr, AT_FDCWD, (const char *path, char *list, size_t len), path, list, len)
CALL(ssize_t, llistxattr, AT_FDCWD, (const char *path, char *list, size_t len), path, list, len)
CALL(long, pathconf, AT_FDCWD, (const char *path, int name), path, name)

/* ---------------------------------------------------------------- statfs: the tree is sysfs */

#define SYSFS_MAGIC 0x62656572 /* linux/magic.h */

#define STATFS(call, type, be_sysfs)                                                               \
	SOFTHCA_API int call(const char *restrict path, struct type *restrict st)                  \
	{                                                                                          \
		struct path_place place;                                                           \
		int rc = NEXT(call)(real_path(AT_FDCWD, path, &place), st);                        \
                                                                                                   \
		if (rc == 0 && place.kind == PATH_TREE && strncmp(place.name, "/sys", 4) == 0)     \
			be_sysfs;                                                                  \
		return rc;                                                                         \
	}

STATFS(statfs, statfs, st->f_type = SYSFS_MAGIC)
STATFS(statfs64, statfs64, st->f_type = SYSFS_MAGIC)
STATFS(statvfs, statvfs, (void)0)
STATFS(statvfs64, statvfs64, (void)0)

/* ---------------------------------------------------------------- walks */

static void
close_directory(void *dir)
{
	(void)closedir(dir);
}

/*
 * With GLOB_ALTDIRFUNC, glob(3) uses the directory functions in `result`. They are set to those of
 * this file.
 */
static int
directories_of_this_file(int flags, glob_t *result)
{
	if (!softhca_active() || (flags & GLOB_ALTDIRFUNC) != 0)
		return flags;
	result->gl_opendir = (void *(*)(const char *))opendir;
	result->gl_readdir = (struct dirent * (*)(void *)) readdir;
	result->gl_closedir = close_directory;
	result->gl_stat = stat;
	result->gl_lstat = lstat;
	return flags | GLOB_ALTDIRFUNC;
}

typedef int glob_error(const char *, int);

SOFTHCA_API int
glob(const char *restrict pattern, int flags, glob_error *on_error, glob_t *restrict result)
{
	flags = directories_of_this_file(flags, result);
	return NEXT(glob)(pattern, flags, on_error, result);
}

SOFTHCA_API int
glob64(const char *restrict pattern, int flags, glob_error *on_error, glob64_t *restrict result)
{
	flags = directories_of_this_file(flags, (glob_t *)result);
	return NEXT(glob64)(pattern, flags, on_error, result);
}

/*
 * The program's function for the walk of this thread inside the tree. The function gets names that
 * start with /sys/.
 */
static __thread __nftw_func_t nftw_call;
static __thread __ftw_func_t ftw_call;

static int
nftw_visit(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	const char *inside = tree_inside(path);
	struct FTW moved = *walk;

	if (inside == NULL)
		return nftw_call(path, st, type, walk);
	moved.base -= inside - path;
	return nftw_call(inside, st, type, &moved);
}

static int
ftw_visit(const char *path, const struct stat *st, int type)
{
	const char *inside = tree_inside(path);

	return ftw_call(inside != NULL ? inside : path, st, type);
}

/*
 * Defines a call that walks through directories. A walk that begins in the tree stays in the tree.
 */
#define WALK(name, visitor, visit, call, parameters, ...)                                          \
	SOFTHCA_API int name parameters                                                            \
	{                                                                                          \
		visitor saved = call;                                                              \
		struct path_place place;                                                           \
		int rc;                                                                            \
                                                                                                   \
		if (path_find(AT_FDCWD, path, &place) != PATH_OTHER &&                             \
			!path_is_real(path, &place))                                               \
			path = place.real;                                                         \
		if (place.kind != PATH_TREE)                                                       \
			return NEXT(name)(__VA_ARGS__);                                            \
		tree_need(TREE_ALL_GIDS);                                                          \
		call = (visitor)function;                                                          \
		function = (__typeof__(function))visit;                                            \
		rc = NEXT(name)(__VA_ARGS__);                                                      \
		call = saved;                                                                      \
		return rc;                                                                         \
	}

WALK(ftw, __ftw_func_t, ftw_visit, ftw_call, (const char *path, __ftw_func_t function, int fds),
	path, function, fds)
WALK(ftw64, __ftw_func_t, ftw_visit, ftw_call, (const char *path, __ftw64_func_t function, int fds),
	path, function, fds)
WALK(nftw, __nftw_func_t, nftw_visit, nftw_call,
	(const char *path, __nftw_func_t function, int fds, int flags), path, function, fds, flags)
WALK(nftw64, __nftw_func_t, nftw_visit, nftw_call,
	(const char *path, __nftw64_func_t function, int fds, int flags), path, function, fds,
	flags)
