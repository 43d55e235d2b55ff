/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every libc function that takes a path, with the adapter's files in /sys and /dev/infiniband,
 * whose paths are written in many forms, and with the machine's files, for which the results must
 * be those of libc. Built twice: without and with _FORTIFY_SOURCE, which makes the compiler call
 * __open_2(), __readlink_chk() and similar functions.
 *
 * Expected values: the manual pages of the calls; the values' formats as in the kernel's
 * drivers/infiniband/core/sysfs.c; for the machine's files, the results of system calls that this
 * program makes itself.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "check.h"
#include "softhca.h"

#define N(a)     (sizeof(a) / sizeof((a)[0]))
#define CLASS    "/sys/class/infiniband"
#define IBDEV    CLASS "/mlx5_0"
#define FUNCTION "/sys/devices/pcica00:00/ca00:00:01.0"
#define FW_VER   "32.47.1088\n"

/*
 * volatile, so that the compiler does not know these values, and fortified functions check them at
 * run time.
 */
static volatile int rdonly = O_RDONLY;
static volatile size_t whole = PATH_MAX;

static void *
libc(const char *name)
{
	void *f = dlsym(RTLD_DEFAULT, name);

	CHECK(f != NULL, "%s", name);
	return f;
}

/* ---- ways to write the path of IBDEV's fw_ver */

static const struct spelling {
	const char *cwd, *path;
} spellings[] = {
	{"/tmp", IBDEV "/fw_ver"},
	{"/tmp", "//sys//class/./infiniband/mlx5_0//fw_ver"},
	{"/tmp", "/sys/class/net/../infiniband/mlx5_0/fw_ver"},
	{"/tmp", "/tmp/../sys/class/infiniband/mlx5_0/fw_ver"},
	/* ".." is relative to the target of the link. */
	{"/tmp", IBDEV "/../../vendor/../infiniband/mlx5_0/fw_ver"},
	{"/tmp", IBDEV "/device/infiniband/mlx5_0/fw_ver"},
	{"/tmp", IBDEV "/device/../../pcica00:00/ca00:00:01.0/infiniband/mlx5_0/fw_ver"},
	{"/tmp", FUNCTION "/infiniband/mlx5_0/fw_ver"},
	{"/tmp", "/sys/bus/pci/devices/ca00:00:01.0/infiniband/mlx5_0/fw_ver"},
	{"/tmp", "/sys/bus/pci/drivers/mlx5_core/ca00:00:01.0/infiniband/mlx5_0/fw_ver"},
	{"/tmp", "/sys/class/infiniband_verbs/uverbs0/device/infiniband/mlx5_0/fw_ver"},
	{"/tmp", "../sys/class/infiniband/mlx5_0/fw_ver"},
	{"/", "sys/class/infiniband/mlx5_0/fw_ver"},
	{"/sys", "class/infiniband/mlx5_0/fw_ver"},
	{"/sys/class", "infiniband/mlx5_0/fw_ver"},
	{"/sys/kernel", "../class/infiniband/mlx5_0/fw_ver"},
	{CLASS, "mlx5_0/fw_ver"},
	{IBDEV, "fw_ver"},
	{IBDEV, "./fw_ver"},
	{IBDEV, "ports/../fw_ver"},
	{IBDEV "/ports/1", "../../fw_ver"},
	/* ".." leads up from FUNCTION/infiniband/mlx5_0, not from CLASS. */
	{IBDEV, "../mlx5_0/fw_ver"},
	{IBDEV, "../../infiniband/mlx5_0/fw_ver"},
	{FUNCTION, "infiniband/mlx5_0/fw_ver"},
};

static const char *reader_of(size_t i);
static ssize_t read_by(size_t i, const char *path, char *buf, size_t len);
#define N_READERS 12

static void
case_spellings(void)
{
	char got[100];

	for (size_t s = 0; s < N(spellings); s++) {
		const struct spelling *at = &spellings[s];

		/* "vendor/.." uses a file as a directory, so all calls must fail. */
		bool wrong = strstr(at->path, "vendor/..") != NULL;

		CHECK_EQ(chdir(at->cwd), 0, at->cwd);
		for (size_t i = 0; i < N_READERS; i++) {
			ssize_t n = read_by(i, at->path, got, sizeof(got));

			if (wrong) {
				CHECK_EQ(n, -1, "%s: %s", reader_of(i), at->path);
				CHECK_EQ(errno, ENOTDIR, "%s: %s", reader_of(i), at->path);
				continue;
			}
			CHECK_EQ(n, strlen(FW_VER), "%s: %s in %s", reader_of(i), at->path,
				at->cwd);
			CHECK(memcmp(got, FW_VER, strlen(FW_VER)) == 0, "%s: %s", reader_of(i),
				at->path);
		}
	}
	CHECK_EQ(chdir("/"), 0);
}

/* ---- calls that open a file */

typedef int (*open_fn)(const char *path, int flags, ...);
typedef int (*openat_fn)(int dir, const char *path, int flags, ...);
typedef FILE *(*fopen_fn)(const char *path, const char *mode);
typedef FILE *(*freopen_fn)(const char *path, const char *mode, FILE *old);

static const char *const readers[N_READERS] = {"open", "open64", "__open_2", "__open64_2", "openat",
	"openat64", "__openat_2", "__openat64_2", "fopen", "fopen64", "freopen", "freopen64"};

static const char *
reader_of(size_t i)
{
	return readers[i];
}

/*
 * glibc does not free a stream that freopen(3) could not open. The leak check must still find this
 * memory.
 */
static FILE *lost[100];
static unsigned int n_lost;

static FILE *
stream_by(size_t i, const char *path, const char *mode)
{
	void *f = libc(readers[i]);
	FILE *old, *new;
	int error;

	if (i < 10)
		return ((fopen_fn)f)(path, mode);
	old = fopen("/dev/null", "r");
	CHECK(old != NULL);
	new = ((freopen_fn)f)(path, mode, old);
	if (new != NULL)
		return new;
	error = errno;
	CHECK(n_lost < N(lost));
	lost[n_lost++] = old;
	errno = error;
	return NULL;
}

/* Opens the file by call number i and reads it. Returns -1 and sets errno on failure. */
static ssize_t
read_by(size_t i, const char *path, char *buf, size_t len)
{
	ssize_t n;
	int fd;

	if (i >= 8) {
		FILE *f = stream_by(i, path, "r");

		if (f == NULL)
			return -1;
		n = (ssize_t)fread(buf, 1, len, f);
		fclose(f);
		return n;
	}
	fd = i < 4 ? ((open_fn)libc(readers[i]))(path, O_RDONLY)
		   : ((openat_fn)libc(readers[i]))(AT_FDCWD, path, O_RDONLY);
	if (fd < 0)
		return -1;
	n = read(fd, buf, len);
	close(fd);
	return n;
}

/*
 * Files must be found by paths relative to a directory's file descriptor, in the adapter's tree and
 * on the machine.
 */
static void
case_openat(void)
{
	static const struct spelling files[] = {{CLASS, "mlx5_0/fw_ver"},
		{"/sys/class/net", "../infiniband/mlx5_0/fw_ver"},
		{"/sys", "class/infiniband/mlx5_0/fw_ver"},
		{"/", "sys/class/infiniband/mlx5_0/fw_ver"}, {IBDEV "/ports", "../fw_ver"},
		{"/tmp", IBDEV "/fw_ver"}};

	for (size_t i = 0; i < N(files); i++) {
		int dir = open(files[i].cwd, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct stat st;
		char got[100];
		int fd;

		CHECK(dir >= 0, "%s", files[i].cwd);
		fd = openat(dir, files[i].path, rdonly);
		CHECK(fd >= 0, "%s", files[i].path);
		CHECK_EQ(read(fd, got, sizeof(got)), strlen(FW_VER));
		CHECK_EQ(fstatat(fd, "", &st, AT_EMPTY_PATH), 0);
		CHECK(S_ISREG(st.st_mode), "%s", files[i].path);
		CHECK_EQ(fstatat(dir, files[i].path, &st, 0), 0, files[i].path);
		CHECK(S_ISREG(st.st_mode), "%s", files[i].path);
		CHECK_EQ(faccessat(dir, files[i].path, R_OK, 0), 0, files[i].path);
		CHECK_EQ(faccessat(dir, files[i].path, R_OK, AT_EACCESS), 0, files[i].path);
		CHECK_EQ(faccessat(dir, "nothing", F_OK, 0), -1);
		CHECK_EQ(errno, ENOENT);
		close(fd);
		close(dir);
	}
}

/* Files of /sys that cannot be written: the kernel answers EACCES to root too. */
static void
case_read_only(void)
{
	static const char *const names[] = {IBDEV "/fw_ver", IBDEV "/new", FUNCTION "/vendor"};
	char got[100];

	for (size_t i = 0; i < N_READERS; i++) {
		for (size_t n = 0; n < N(names); n++) {
			void *f = libc(readers[i]);

			errno = 0;
			if (i >= 8)
				CHECK(stream_by(i, names[n], "w") == NULL, "%s", readers[i]);
			else if (i == 0 || i == 1)
				CHECK_EQ(((open_fn)f)(names[n], O_WRONLY | O_CREAT, 0644), -1,
					readers[i]);
			else if (i == 4 || i == 5)
				CHECK_EQ(((openat_fn)f)(AT_FDCWD, names[n], O_RDWR | O_CREAT, 0644),
					-1, readers[i]);
			else
				continue;
			CHECK_EQ(errno, EACCES, "%s: %s", readers[i], names[n]);
		}
	}
	CHECK_EQ(open(IBDEV "/new", O_WRONLY), -1);
	CHECK_EQ(errno, ENOENT);
	CHECK_EQ(open(IBDEV, O_WRONLY), -1);
	CHECK_EQ(errno, EISDIR);
	CHECK(fopen(IBDEV "/fw_ver", "r+") == NULL);
	CHECK_EQ(errno, EACCES);
	CHECK_EQ(read_by(0, IBDEV "/fw_ver", got, sizeof(got)), strlen(FW_VER));
}

/*
 * Every call must refuse files that are not emulated, empty table entries, and paths that do not
 * exist.
 */
static void
case_refused(void)
{
	static const struct {
		const char *path;
		int error;
	} files[] = {{FUNCTION "/config", EPERM}, {IBDEV "/device/config", EPERM},
		{IBDEV "/ports/1/gid_attrs/types/4", EINVAL},
		{IBDEV "/ports/1/gid_attrs/ndevs/0", EINVAL},
		{IBDEV "/ports/1/gid_attrs/types/255", ENOENT}, {IBDEV "/ports/2/lid", ENOENT},
		{IBDEV "/ports/1/gids/255", ENOENT}, {"/sys/class/infiniband/mlx5_1", ENOENT},
		{"/sys/class/infiniband_mad/abi_version", ENOENT},
		{"/dev/infiniband/umad0", ENOENT}, {IBDEV "/fw_ver/", ENOTDIR},
		{IBDEV "/fw_ver/x", ENOTDIR}, {IBDEV "/nothing/../fw_ver", ENOENT}};
	int fd = dup(0), next_fd = fd;
	char got[100];

	close(fd);
	for (size_t i = 0; i < N_READERS; i++)
		for (size_t f = 0; f < N(files); f++) {
			CHECK_EQ(read_by(i, files[f].path, got, sizeof(got)), -1, "%s: %s",
				readers[i], files[f].path);
			CHECK_EQ(errno, files[f].error, "%s: %s", readers[i], files[f].path);
		}
	/* No file descriptor is left open: freopen(3) has closed the old stream. */
	fd = dup(0);
	CHECK_EQ(fd, next_fd);
	close(fd);
	/* With O_PATH the file is not read, so open(2) succeeds. */
	fd = open(FUNCTION "/config", O_PATH | O_CLOEXEC);
	CHECK(fd >= 0);
	close(fd);
}

/* ---- values that change */

static void
expect_value(const char *path, const char *text)
{
	for (size_t i = 0; i < N_READERS; i++) {
		char got[100];
		ssize_t n = read_by(i, path, got, sizeof(got) - 1);

		CHECK(n >= 0, "%s: %s", readers[i], path);
		got[n] = '\0';
		CHECK(strcmp(got, text) == 0, "%s: %s: %s", readers[i], path, got);
	}
}

static void
case_port_state(void)
{
	int fd = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0);
	expect_value(IBDEV "/ports/1/state", "4: ACTIVE\n");
	expect_value(IBDEV "/ports/1/phys_state", "5: LinkUp\n");
	CHECK_EQ(softhca_fault("port_down"), 0);
	expect_value(IBDEV "/ports/1/state", "1: DOWN\n");
	expect_value(IBDEV "/ports/1/phys_state", "3: Disabled\n");
	expect_value("/sys/class/net/../infiniband/mlx5_0/ports/1/state", "1: DOWN\n");
	CHECK_EQ(softhca_fault("port_up"), 0);
	expect_value(IBDEV "/ports/1/state", "4: ACTIVE\n");
	softhca_faults_clear();
	close(fd);
}

/* ---- stat */

typedef int (*stat_fn)(const char *path, struct stat *st);
typedef int (*xstat_fn)(int version, const char *path, struct stat *st);
typedef int (*fstatat_fn)(int dir, const char *path, struct stat *st, int flags);
typedef int (*fxstatat_fn)(int version, int dir, const char *path, struct stat *st, int flags);

static const struct stat_call {
	const char *name;
	/*
	 * version: the function has a version argument; at: it has a directory argument; link: it
	 * does not follow links
	 */
	bool version, at, link;
} stat_calls[] = {{"stat", false, false, false}, {"stat64", false, false, false},
	{"lstat", false, false, true}, {"lstat64", false, false, true},
	{"fstatat", false, true, false}, {"fstatat64", false, true, false},
	{"fstatat", false, true, true}, {"fstatat64", false, true, true},
	{"__xstat", true, false, false}, {"__xstat64", true, false, false},
	{"__lxstat", true, false, true}, {"__lxstat64", true, false, true},
	{"__fxstatat", true, true, false}, {"__fxstatat64", true, true, true},
	{"statx", false, true, false}, {"statx", false, true, true}};

static int
stat_by(const struct stat_call *c, const char *path, struct stat *st)
{
	int flags = c->link ? AT_SYMLINK_NOFOLLOW : 0;
	struct statx stx;
	int rc;

	if (strcmp(c->name, "statx") == 0) {
		rc = statx(AT_FDCWD, path, flags, STATX_BASIC_STATS, &stx);
		st->st_mode = stx.stx_mode;
		st->st_ino = stx.stx_ino;
		st->st_rdev = makedev(stx.stx_rdev_major, stx.stx_rdev_minor);
		st->st_mtim.tv_sec = stx.stx_mtime.tv_sec;
		st->st_mtim.tv_nsec = stx.stx_mtime.tv_nsec;
		return rc;
	}
	if (c->version)
		return c->at ? ((fxstatat_fn)libc(c->name))(1, AT_FDCWD, path, st, flags)
			     : ((xstat_fn)libc(c->name))(1, path, st);
	return c->at ? ((fstatat_fn)libc(c->name))(AT_FDCWD, path, st, flags)
		     : ((stat_fn)libc(c->name))(path, st);
}

static void
case_stat(void)
{
	for (size_t i = 0; i < N(stat_calls); i++) {
		const struct stat_call *c = &stat_calls[i];
		struct stat st, machine;

		CHECK_EQ(stat_by(c, IBDEV "/fw_ver", &st), 0, c->name);
		CHECK_EQ(st.st_mode, S_IFREG | 0444, c->name);
		CHECK_EQ(stat_by(c, IBDEV "/", &st), 0, c->name);
		CHECK(S_ISDIR(st.st_mode), "%s", c->name);
		CHECK_EQ(stat_by(c, IBDEV, &st), 0, c->name);
		CHECK_EQ(st.st_mode & S_IFMT, c->link ? S_IFLNK : S_IFDIR, c->name);
		CHECK_EQ(stat_by(c, "/dev/infiniband/uverbs0", &st), 0, c->name);
		CHECK_EQ(st.st_mode, S_IFCHR | 0666, c->name);
		CHECK_EQ(st.st_rdev, makedev(231, 192), c->name);
		CHECK_EQ(stat_by(c, IBDEV "/nothing", &st), -1, c->name);
		CHECK_EQ(errno, ENOENT, c->name);
		CHECK_EQ(stat_by(c, IBDEV "/fw_ver/x", &st), -1, c->name);
		CHECK_EQ(errno, ENOTDIR, c->name);
		/* The machine's own files, also in directories that have files of the adapter. */
		for (unsigned int n = 0; n < 4; n++) {
			static const char *const names[] = {"/sys/kernel", "/sys/class/net",
				"/sys/devices/system", "/sys/class/../class/net"};

			CHECK_EQ(stat_by(c, names[n], &st), 0, c->name);
			CHECK_EQ(syscall(SYS_newfstatat, AT_FDCWD, names[n], &machine, 0), 0);
			CHECK_EQ(st.st_mode, machine.st_mode, "%s: %s", c->name, names[n]);
			CHECK_EQ(st.st_ino, machine.st_ino, "%s: %s", c->name, names[n]);
		}
	}
}

/*
 * libibverbs identifies the device by the time of its directory, so this time must not change while
 * the process lists and opens files.
 */
static void
case_time(void)
{
	struct stat before, after;
	DIR *dir;
	int fd;

	CHECK_EQ(stat(IBDEV, &before), 0);
	usleep(20000);
	dir = opendir(IBDEV "/ports/1/gids");
	CHECK(dir != NULL);
	closedir(dir);
	fd = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_EQ(access(IBDEV "/ports/1/gid_attrs/types/0", F_OK), 0);
	CHECK_EQ(stat(IBDEV, &after), 0);
	CHECK_EQ(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
	CHECK_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	close(fd);
}

/* ---- links and names */

static void
case_readlink(void)
{
	static const struct {
		const char *path, *text;
	} links[] = {{IBDEV, "../../devices/pcica00:00/ca00:00:01.0/infiniband/mlx5_0"},
		{IBDEV "/device", "../../../ca00:00:01.0"},
		{FUNCTION "/driver", "../../../bus/pci/drivers/mlx5_core"},
		{"/sys/bus/pci/devices/ca00:00:01.0", "../../../devices/pcica00:00/ca00:00:01.0"}};
	char got[PATH_MAX];

	for (size_t i = 0; i < N(links); i++) {
		size_t len = strlen(links[i].text);
		int dir = open("/sys/class", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		CHECK(dir >= 0);
		for (unsigned int form = 0; form < 2; form++) {
			memset(got, '#', sizeof(got));
			CHECK_EQ(form == 0 ? readlink(links[i].path, got, whole)
					   : readlinkat(dir, links[i].path, got, whole),
				len, links[i].path);
			CHECK(memcmp(got, links[i].text, len) == 0, "%s", links[i].path);
			CHECK_EQ(got[len], '#');
			/* A buffer that is too short gets the first bytes. */
			memset(got, '#', sizeof(got));
			whole = 5;
			CHECK_EQ(form == 0 ? readlink(links[i].path, got, whole)
					   : readlinkat(dir, links[i].path, got, whole),
				5);
			whole = PATH_MAX;
			CHECK(memcmp(got, links[i].text, 5) == 0 && got[5] == '#');
		}
		close(dir);
	}
	CHECK_EQ(readlink(IBDEV "/fw_ver", got, whole), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(readlink(IBDEV "/nothing", got, whole), -1);
	CHECK_EQ(errno, ENOENT);
	CHECK_EQ(readlink(IBDEV, got, 0), -1);
	CHECK_EQ(errno, EINVAL);
}

/* The path of a file descriptor in /proc must lead to the emulated directory. */
static void
case_proc(void)
{
	int fd = open(IBDEV "/ports", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char link[64], got[PATH_MAX];
	ssize_t n;

	CHECK(fd >= 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, got, whole);
	CHECK_EQ(n, strlen(FUNCTION "/infiniband/mlx5_0/ports"));
	CHECK(memcmp(got, FUNCTION "/infiniband/mlx5_0/ports", n) == 0);
	CHECK(realpath(link, got) != NULL);
	CHECK(strcmp(got, FUNCTION "/infiniband/mlx5_0/ports") == 0, "%s", got);
	close(fd);
}

static const struct {
	const char *cwd, *path, *result; /* NULL: the call fails with this errno */
	int error;
} real_names[] = {
	{"/", IBDEV, FUNCTION "/infiniband/mlx5_0", 0},
	{"/", IBDEV "/device", FUNCTION, 0},
	/* The path by which UCX finds the PCI function. */
	{"/", IBDEV "/../..", FUNCTION, 0},
	{"/", IBDEV "/device/driver", "/sys/bus/pci/drivers/mlx5_core", 0},
	{"/", IBDEV "/device/subsystem", "/sys/bus/pci", 0},
	{"/", IBDEV "/subsystem", CLASS, 0},
	{"/", "/sys/bus/pci/devices/ca00:00:01.0/", FUNCTION, 0},
	{"/", "/sys/class/infiniband_verbs/uverbs0", FUNCTION "/infiniband_verbs/uverbs0", 0},
	{"/", "/sys/dev/char/231:192", FUNCTION "/infiniband_verbs/uverbs0", 0},
	{"/", "/dev/infiniband/uverbs0", "/dev/infiniband/uverbs0", 0},
	{"/", "/sys/class", "/sys/class", 0},
	{"/", IBDEV "/../../../..", "/sys/devices", 0},
	{"/", IBDEV "/../../../../../..", "/", 0},
	{CLASS, "mlx5_0/fw_ver", FUNCTION "/infiniband/mlx5_0/fw_ver", 0},
	{IBDEV, ".", FUNCTION "/infiniband/mlx5_0", 0},
	{IBDEV, "..", FUNCTION "/infiniband", 0},
	{"/", IBDEV "/../../../../../../etc/passwd", "/etc/passwd", 0},
	{"/", "/etc/../etc", "/etc", 0},
	{"/", IBDEV "/nothing", NULL, ENOENT},
	{"/", IBDEV "/nothing/x", NULL, ENOENT},
	{"/", IBDEV "/fw_ver/", NULL, ENOTDIR},
	{"/", IBDEV "/fw_ver/x", NULL, ENOTDIR},
	{"/", "/nowhere", NULL, ENOENT},
	{"/", "", NULL, ENOENT},
};

static void
case_realpath(void)
{
	char buf[PATH_MAX];

	for (size_t i = 0; i < N(real_names); i++) {
		CHECK_EQ(chdir(real_names[i].cwd), 0);
		for (unsigned int form = 0; form < 3; form++) {
			char *got;

			errno = 0;
			got = form == 0   ? realpath(real_names[i].path, buf)
			      : form == 1 ? realpath(real_names[i].path, NULL)
					  : canonicalize_file_name(real_names[i].path);
			if (real_names[i].result == NULL) {
				CHECK(got == NULL, "%s", real_names[i].path);
				CHECK_EQ(errno, real_names[i].error, real_names[i].path);
				continue;
			}
			CHECK(got != NULL, "%s", real_names[i].path);
			CHECK(strcmp(got, real_names[i].result) == 0, "%s: %s", real_names[i].path,
				got);
			if (form != 0)
				free(got);
		}
	}
	CHECK_EQ(chdir("/"), 0);
}

static void
case_working_directory(void)
{
	char buf[PATH_MAX], *name;

	CHECK_EQ(chdir(IBDEV "/ports"), 0);
	CHECK(getcwd(buf, whole) == buf);
	CHECK(strcmp(buf, FUNCTION "/infiniband/mlx5_0/ports") == 0, "%s", buf);
	name = getcwd(NULL, 0);
	CHECK(name != NULL && strcmp(name, buf) == 0);
	free(name);
	CHECK_EQ(unsetenv("PWD"), 0);
	name = get_current_dir_name();
	CHECK(name != NULL && strcmp(name, buf) == 0);
	free(name);
	CHECK_EQ(chdir("../.."), 0);
	CHECK(getcwd(buf, whole) != NULL && strcmp(buf, FUNCTION "/infiniband") == 0);
	CHECK_EQ(chdir(IBDEV "/nothing"), -1);
	CHECK_EQ(errno, ENOENT);
	CHECK_EQ(chdir("/"), 0);
	CHECK(getcwd(buf, whole) != NULL && strcmp(buf, "/") == 0);
}

/* ---- rights */

static void
case_access(void)
{
	static const char *const calls[] = {"access", "euidaccess", "eaccess"};

	for (size_t i = 0; i < N(calls); i++) {
		int (*call)(const char *, int) = (int (*)(const char *, int))libc(calls[i]);

		CHECK_EQ(call("/dev/infiniband/uverbs0", F_OK), 0, calls[i]);
		CHECK_EQ(call("/dev/infiniband/uverbs0", R_OK | W_OK), 0, calls[i]);
		CHECK_EQ(call("/dev/infiniband/uverbs0", X_OK), -1, calls[i]);
		CHECK_EQ(errno, EACCES, calls[i]);
		CHECK_EQ(call("/dev/infiniband/uverbs1", F_OK), -1, calls[i]);
		CHECK_EQ(errno, ENOENT, calls[i]);
		CHECK_EQ(call(IBDEV "/fw_ver", R_OK), 0, calls[i]);
		CHECK_EQ(call(IBDEV "/fw_ver", X_OK), -1, calls[i]);
		CHECK_EQ(errno, EACCES, calls[i]);
		CHECK_EQ(call(IBDEV "/ports/3", F_OK), -1, calls[i]);
		CHECK_EQ(errno, ENOENT, calls[i]);
		CHECK_EQ(call("/sys/kernel", F_OK), 0, calls[i]);
	}
}

/*
 * ls(1) asks for these attributes. A file of /sys does not have them, so the calls must fail, but
 * not with ENOENT, which would mean that the file does not exist.
 */
static void
case_attributes(void)
{
	char value[64];
	struct statfs fs;
	struct statvfs vfs;

	CHECK_EQ(getxattr(IBDEV "/fw_ver", "user.none", value, sizeof(value)), -1);
	CHECK(errno == ENODATA || errno == ENOTSUP);
	CHECK_EQ(lgetxattr(IBDEV, "user.none", value, sizeof(value)), -1);
	CHECK(errno == ENODATA || errno == ENOTSUP);
	CHECK(listxattr(IBDEV "/fw_ver", value, sizeof(value)) >= 0 || errno == ENOTSUP);
	CHECK(llistxattr(IBDEV, value, sizeof(value)) >= 0 || errno == ENOTSUP);
	for (unsigned int i = 0; i < 2; i++) {
		const char *name = i == 0 ? "statfs" : "statfs64";

		memset(&fs, 0, sizeof(fs));
		CHECK_EQ(((int (*)(const char *, struct statfs *))libc(name))(IBDEV, &fs), 0);
		CHECK_EQ(fs.f_type, 0x62656572); /* SYSFS_MAGIC: linux/magic.h */
	}
	CHECK_EQ(statvfs(IBDEV, &vfs), 0);
	CHECK(pathconf(IBDEV, _PC_NAME_MAX) >= 64);
}

/* ---- directories */

struct names {
	unsigned int n;
	char name[64][256];
};

static bool
has(const struct names *names, const char *name)
{
	for (unsigned int i = 0; i < names->n; i++)
		if (strcmp(names->name[i], name) == 0)
			return true;
	return false;
}

static void
add(struct names *names, const char *name)
{
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return;
	CHECK(names->n < N(names->name));
	snprintf(names->name[names->n++], sizeof(names->name[0]), "%s", name);
}

static const char *const listers[] = {"opendir", "scandir", "scandir64", "scandirat", "scandirat64",
	"fdopendir"};

typedef int (*scandir_fn)(const char *path, struct dirent ***list, void *, void *);
typedef int (*scandirat_fn)(int dir, const char *path, struct dirent ***list, void *, void *);

static void
list_by(size_t i, const char *path, struct names *names)
{
	struct dirent **list, *entry;
	int n;

	names->n = 0;
	if (i == 0 || i == 5) {
		DIR *dir = i == 0 ? opendir(path)
				  : fdopendir(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));

		CHECK(dir != NULL, "%s", path);
		while ((entry = readdir(dir)) != NULL)
			add(names, entry->d_name);
		closedir(dir);
		return;
	}
	n = i < 3 ? ((scandir_fn)libc(listers[i]))(path, &list, NULL, (void *)alphasort)
		  : ((scandirat_fn)libc(listers[i]))(AT_FDCWD, path, &list, NULL,
			    (void *)alphasort);
	CHECK(n >= 0, "%s", path);
	for (int e = 0; e < n; e++) {
		add(names, list[e]->d_name);
		free(list[e]);
	}
	free(list);
}

static void
case_lists(void)
{
	static struct names names;
	DIR *dir;

	for (size_t i = 0; i < N(listers); i++) {
		list_by(i, CLASS, &names);
		CHECK_EQ(names.n, 1, listers[i]);
		CHECK(has(&names, "mlx5_0"));
		list_by(i, "/sys/class/infiniband_verbs", &names);
		CHECK_EQ(names.n, 2, listers[i]);
		CHECK(has(&names, "uverbs0") && has(&names, "abi_version"));
		list_by(i, "/dev/infiniband", &names);
		CHECK(has(&names, "uverbs0"), "%s", listers[i]);
		list_by(i, IBDEV "/ports", &names);
		CHECK_EQ(names.n, 1, listers[i]);
		list_by(i, "/sys/class", &names);
		CHECK(has(&names, "infiniband") && has(&names, "net"), "%s", listers[i]);
		list_by(i, "/sys/bus/pci/devices", &names);
		CHECK(has(&names, "ca00:00:01.0"), "%s", listers[i]);
		list_by(i, "/sys/devices", &names);
		CHECK(has(&names, "pcica00:00") && has(&names, "system"), "%s", listers[i]);
		list_by(i, "/sys", &names);
		CHECK(has(&names, "kernel") && has(&names, "bus"), "%s", listers[i]);
	}
	dir = opendir(IBDEV "/ports/1/gids");
	CHECK(dir != NULL);
	for (names.n = 0; readdir(dir) != NULL;)
		names.n++;
	CHECK_EQ(names.n, 255 + 2); /* and the entries . and .. */
	closedir(dir);
	CHECK(opendir(IBDEV "/nothing") == NULL);
	CHECK_EQ(errno, ENOENT);
	CHECK(opendir(IBDEV "/fw_ver") == NULL);
	CHECK_EQ(errno, ENOTDIR);
}

/* True for a directory that has entries of the machine and of the adapter. */
static bool
is_shared(const char *path)
{
	return strcmp(path, "/sys/class/misc") == 0 || strcmp(path, "/sys/devices/virtual") == 0;
}

/*
 * Every name in these directories of the machine must still be there, and must name the same file.
 */
static void
case_neighbours(void)
{
	static const char *const dirs[] = {"/sys/class", "/sys/class/misc", "/sys/bus/pci/devices",
		"/sys/devices", "/sys/devices/virtual/misc", "/sys/bus"};
	static char buf[65536];

	for (size_t i = 0; i < N(dirs); i++) {
		int raw = (int)syscall(SYS_openat, AT_FDCWD, dirs[i], O_RDONLY | O_DIRECTORY);
		long n = raw >= 0 ? syscall(SYS_getdents64, raw, buf, sizeof(buf)) : 0;

		for (long at = 0; at < n;) {
			struct dirent64 *entry = (struct dirent64 *)(buf + at);
			struct stat got, want;
			char path[600];

			at += entry->d_reclen;
			snprintf(path, sizeof(path), "%s/%s", dirs[i], entry->d_name);
			if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
				strncmp(path, CLASS, strlen(CLASS)) == 0 || is_shared(path))
				continue;
			CHECK_EQ(syscall(SYS_newfstatat, AT_FDCWD, path, &want, 0), 0);
			CHECK_EQ(stat(path, &got), 0, path);
			CHECK_EQ(got.st_ino, want.st_ino, path);
			CHECK_EQ(got.st_dev, want.st_dev, path);
		}
		if (raw >= 0)
			close(raw);
	}
}

/* ---- walks */

typedef int (*glob_fn)(const char *, int, int (*)(const char *, int), glob_t *);

static void
case_glob(void)
{
	static const char *const calls[] = {"glob", "glob64"};
	static const struct {
		const char *cwd, *pattern, *result;
	} patterns[] = {{"/", "/sys/class/infiniband/*/fw_v*", IBDEV "/fw_ver"},
		{"/", "/sys/class/infini*d/mlx5_[0-9]", IBDEV}, {CLASS, "*", "mlx5_0"},
		{"/sys", "class/infiniband/m*", "class/infiniband/mlx5_0"},
		{"/", "/sys/class/infiniband/*/ports/1/gids/254", IBDEV "/ports/1/gids/254"},
		{"/", IBDEV "/hw_rev", IBDEV "/hw_rev"}, {"/", "/sys/kern[e]l", "/sys/kernel"}};

	for (size_t i = 0; i < N(calls) * N(patterns); i++) {
		size_t p = i / N(calls);
		glob_t found = {0};

		CHECK_EQ(chdir(patterns[p].cwd), 0);
		CHECK_EQ(((glob_fn)libc(calls[i % 2]))(patterns[p].pattern, 0, NULL, &found), 0,
			patterns[p].pattern);
		CHECK_EQ(found.gl_pathc, 1, patterns[p].pattern);
		CHECK(strcmp(found.gl_pathv[0], patterns[p].result) == 0, "%s", found.gl_pathv[0]);
		globfree(&found);
	}
	CHECK_EQ(chdir("/"), 0);
}

static struct names walked;
static unsigned int wrong_base;

static int
visit_nftw(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	add(&walked, path);
	wrong_base += path[walk->base - 1] != '/' || strchr(path + walk->base, '/') != NULL;
	return 0;
}

static int
visit_ftw(const char *path, const struct stat *st, int type)
{
	add(&walked, path);
	return 0;
}

typedef int (*ftw_fn)(const char *, __ftw_func_t, int);
typedef int (*nftw_fn)(const char *, __nftw_func_t, int, int);

static void
case_ftw(void)
{
	static const char *const calls[] = {"ftw", "ftw64", "nftw", "nftw64"};

	for (size_t i = 0; i < N(calls); i++) {
		walked.n = 0;
		if (i < 2)
			CHECK_EQ(((ftw_fn)libc(calls[i]))(IBDEV "/ports/1/hw_counters", visit_ftw,
					 8),
				0);
		else
			CHECK_EQ(((nftw_fn)libc(calls[i]))(IBDEV "/ports/1/hw_counters", visit_nftw,
					 8, FTW_PHYS),
				0);
		CHECK(has(&walked, IBDEV "/ports/1/hw_counters"), "%s", walked.name[0]);
		CHECK(has(&walked, IBDEV "/ports/1/hw_counters/out_of_buffer"));
		CHECK_EQ(wrong_base, 0);
		/* The names that the walk reports begin with the path as the program wrote it. */
		walked.n = 0;
		CHECK_EQ(chdir(IBDEV "/ports"), 0);
		if (i < 2)
			CHECK_EQ(((ftw_fn)libc(calls[i]))("1/hw_counters", visit_ftw, 8), 0);
		else
			CHECK_EQ(((nftw_fn)libc(calls[i]))("1/hw_counters", visit_nftw, 8,
					 FTW_PHYS),
				0);
		CHECK(has(&walked, "1/hw_counters/out_of_buffer"), "%s", walked.name[0]);
		CHECK_EQ(wrong_base, 0);
		CHECK_EQ(chdir("/"), 0);
	}
}

typedef FTS *(*fts_open_fn)(char *const *, int, int (*)(const FTSENT **, const FTSENT **));
typedef FTSENT *(*fts_read_fn)(FTS *);
typedef FTSENT *(*fts_children_fn)(FTS *, int);
typedef int (*fts_close_fn)(FTS *);

static const struct fts_calls {
	const char *open, *read, *children, *close;
} fts_forms[] = {{"fts_open", "fts_read", "fts_children", "fts_close"},
	{"fts64_open", "fts64_read", "fts64_children", "fts64_close"}};

/*
 * Checks the names of an entry, whatever directory the walk has changed to. A file is opened by its
 * access path.
 */
static void
check_entry(const FTSENT *entry)
{
	const char *base = strrchr(entry->fts_path, '/');
	char got[100];

	CHECK_EQ(strlen(entry->fts_path), entry->fts_pathlen, "%s", entry->fts_path);
	CHECK(strcmp(base != NULL ? base + 1 : entry->fts_path, entry->fts_name) == 0, "%s, %s",
		entry->fts_path, entry->fts_name);
	CHECK(strstr(entry->fts_accpath, "softhca-") == NULL, "%s", entry->fts_accpath);
	if (strcmp(entry->fts_name, "lifespan") == 0)
		CHECK_EQ(read_by(0, entry->fts_accpath, got, sizeof(got)), strlen("10\n"), "%s",
			entry->fts_accpath);
}

/*
 * With `children`, calls fts_children(3) in each directory. Returns the number of entries that
 * fts_children(3) returned.
 */
static unsigned int
walk_fts(const struct fts_calls *calls, char *const *roots, int options, bool children)
{
	FTS *fts = ((fts_open_fn)libc(calls->open))(roots, options, NULL);
	unsigned int n = 0;
	FTSENT *entry;

	CHECK(fts != NULL, "%s", roots[0]);
	walked.n = 0;
	while ((entry = ((fts_read_fn)libc(calls->read))(fts)) != NULL) {
		check_entry(entry);
		if (entry->fts_info == FTS_DP)
			continue;
		add(&walked, entry->fts_path);
		if (!children || entry->fts_info != FTS_D)
			continue;
		for (FTSENT *child = ((fts_children_fn)libc(calls->children))(fts, 0);
			child != NULL; child = child->fts_link)
			n++;
		/* With FTS_NOCHDIR libc leaves a slash after the name. */
		CHECK(strncmp(entry->fts_path, walked.name[walked.n - 1], entry->fts_pathlen) == 0,
			"%s", entry->fts_path);
	}
	CHECK_EQ(errno, 0);
	CHECK_EQ(((fts_close_fn)libc(calls->close))(fts), 0);
	return n;
}

static void
case_fts(void)
{
	static const int ways[] = {FTS_PHYSICAL, FTS_PHYSICAL | FTS_NOCHDIR,
		FTS_LOGICAL | FTS_NOCHDIR};
	char *const roots[] = {IBDEV "/ports/1/hw_counters", "/proc/self/status",
		"//sys/class/../class/infiniband/mlx5_0/fw_ver", NULL};
	char *const relative[] = {"1/hw_counters", "../fw_ver", NULL};
	char *const none[] = {IBDEV "/nothing", NULL};
	char cwd[PATH_MAX];

	for (size_t i = 0; i < N(fts_forms) * N(ways); i++) {
		const struct fts_calls *calls = &fts_forms[i % 2];

		CHECK_EQ(chdir("/proc"), 0);
		for (int children = 0; children < 2; children++) {
			unsigned int n = walk_fts(calls, roots, ways[i / 2], children != 0);

			/* all entries except the roots */
			CHECK_EQ(n, children != 0 ? walked.n - 3 : 0);
			CHECK(has(&walked, IBDEV "/ports/1/hw_counters"), "%s", walked.name[0]);
			CHECK(has(&walked, IBDEV "/ports/1/hw_counters/out_of_buffer"));
			CHECK(has(&walked, "/proc/self/status"));
			CHECK(has(&walked, IBDEV "/fw_ver"));
		}
		CHECK(getcwd(cwd, sizeof(cwd)) != NULL && strcmp(cwd, "/proc") == 0, "%s", cwd);
		CHECK_EQ(chdir(IBDEV "/ports"), 0);
		(void)walk_fts(calls, relative, ways[i / 2], true);
		CHECK(has(&walked, "1/hw_counters/out_of_buffer"), "%s", walked.name[0]);
		CHECK_EQ(read_by(0, "1/hw_counters/lifespan", cwd, sizeof(cwd)), strlen("10\n"));
		CHECK_EQ(chdir("/"), 0);
		(void)walk_fts(calls, none, ways[i / 2], false);
		CHECK_EQ(walked.n, 1); /* only the root, for which stat(2) failed: FTS_NS */
	}
}

static unsigned int n_gids;

static int
count_gids(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	n_gids += type == FTW_F && strstr(path, "/gids/") != NULL;
	return 0;
}

/*
 * libc's walk lists directories by itself, so the GID tables must exist before the program asks for
 * them.
 */
static void
case_gids_of_a_walk(void)
{
	char *const roots[] = {IBDEV "/ports/1", NULL};
	int status;

	for (int by = 0; by < 2; by++) {
		pid_t child = fork();

		CHECK(child >= 0);
		if (child == 0) {
			if (by == 0) {
				CHECK_EQ(nftw(IBDEV "/ports/1", count_gids, 8, FTW_PHYS), 0);
			} else {
				FTS *fts =
					((fts_open_fn)libc("fts_open"))(roots, FTS_PHYSICAL, NULL);

				for (FTSENT *e; (e = ((fts_read_fn)libc("fts_read"))(fts)) != NULL;)
					n_gids += e->fts_info == FTS_F &&
						  strstr(e->fts_path, "/gids/") != NULL;
			}
			CHECK_EQ(n_gids, 255);
			_exit(check_failures == 0 ? 0 : 1);
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
	}
}

/* ---- children */

/*
 * After fork(), a child must see the parent's tree at first, and its own tree after it has opened a
 * device, under the same names.
 */
static void
case_fork(void)
{
	char got[100];
	int status;
	pid_t pid;

	CHECK_EQ(chdir(IBDEV), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		int fd;

		CHECK_EQ(read_by(0, "fw_ver", got, sizeof(got)), strlen(FW_VER));
		CHECK_EQ(read_by(0, IBDEV "/fw_ver", got, sizeof(got)), strlen(FW_VER));
		fd = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
		CHECK(fd >= 0);
		/* The working directory is in the tree of the parent. */
		CHECK_EQ(read_by(0, "fw_ver", got, sizeof(got)), strlen(FW_VER));
		CHECK_EQ(read_by(0, "../../vendor", got, sizeof(got)), strlen("0x15b3\n"));
		CHECK_EQ(read_by(0, IBDEV "/fw_ver", got, sizeof(got)), strlen(FW_VER));
#ifdef __SANITIZE_ADDRESS__
		_exit(0); /* the child has no access to objects of the parent's adapter */
#else
		exit(0); /* the child's destructors run, and must not remove the parent's tree */
#endif
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(read_by(0, IBDEV "/fw_ver", got, sizeof(got)), strlen(FW_VER));
	CHECK_EQ(read_by(8, IBDEV "/ports/1/gids/0", got, sizeof(got)), 40);
	CHECK_EQ(chdir("/"), 0);
}

static const struct check_case cases[] = {
	/* This case is the first one, before another case asks for the GID tables. */
	{"a walk of libc finds the GID tables", case_gids_of_a_walk},
	{"a file is found however its path is written", case_spellings},
	{"files are found below a directory's descriptor", case_openat},
	{"files of /sys are read-only", case_read_only},
	{"what is not emulated is refused", case_refused},
	{"a port's state is always the present one", case_port_state},
	{"every form of stat(2) sees files, links, directories and the device", case_stat},
	{"the time of a device's directory does not change", case_time},
	{"links have the kernel's texts", case_readlink},
	{"/proc shows the program's names", case_proc},
	{"resolved names begin with /sys", case_realpath},
	{"the working directory has the program's name", case_working_directory},
	{"every form of access(2) knows the files", case_access},
	{"attributes and file systems are those of sysfs", case_attributes},
	{"every list of a directory has the adapter's names", case_lists},
	{"the machine's files are the same files", case_neighbours},
	{"glob(3) finds the adapter", case_glob},
	{"ftw(3) and nftw(3) walk with the program's names", case_ftw},
	{"fts(3) walks with the program's names", case_fts},
	{"a child of fork sees the files before and after it opens a device", case_fork},
};

int
main(int argc, char **argv)
{
	return check_main(cases, N(cases), argc, argv);
}
