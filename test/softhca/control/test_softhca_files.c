/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The libc functions that the adapter replaces, under every name of each function: called for the
 * adapter's character device, and for other files, for which the results must be those of libc.
 *
 * Expected values: open(2), stat(2), mmap(2), ioctl(2) and socket(2); the device's numbers are
 * those of the kernel's uverbs_main.c.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>

#include "raw_ioctl.h"
#include "softhca_pair.h"

#define DEVICE     "/dev/infiniband/uverbs0"
#define N(a)       (sizeof(a) / sizeof((a)[0]))
#define CONTIGUOUS 1 /* MLX5_IB_MMAP_GET_CONTIGUOUS_PAGES: command in libmlx5's mmap offsets */

static char dir[] = "/tmp/test-files.XXXXXX";
static char file[64];

static void *
libc(const char *name)
{
	void *f = dlsym(RTLD_DEFAULT, name);

	CHECK(f != NULL, "%s", name);
	return f;
}

/* ---- open */

typedef int (*open_fn)(const char *path, int flags, ...);
typedef int (*openat_fn)(int dir, const char *path, int flags, ...);
typedef int (*open_2_fn)(const char *path, int flags);
typedef int (*openat_2_fn)(int dir, const char *path, int flags);

static const struct opener {
	const char *name;
	bool at, mode; /* at: the call has a directory argument; mode: it has a mode argument */
} openers[] = {
	{"open", false, true},
	{"open64", false, true},
	{"openat", true, true},
	{"openat64", true, true},
	{"__open_2", false, false},
	{"__open64_2", false, false},
	{"__openat_2", true, false},
	{"__openat64_2", true, false},
};

static int
open_by(const struct opener *o, int at, const char *path, int flags, mode_t mode)
{
	if (o->at && o->mode)
		return ((openat_fn)libc(o->name))(at, path, flags, mode);
	if (o->at)
		return ((openat_2_fn)libc(o->name))(at, path, flags);
	if (o->mode)
		return ((open_fn)libc(o->name))(path, flags, mode);
	return ((open_2_fn)libc(o->name))(path, flags);
}

static void
case_open_device(void)
{
	for (size_t i = 0; i < N(openers); i++) {
		for (int exec = 0; exec < 2; exec++) {
			int flags = O_RDWR | (exec ? 0 : O_CLOEXEC);
			int fd = open_by(&openers[i], AT_FDCWD, DEVICE, flags, 0);
			struct stat st;

			CHECK(fd >= 0, "%s", openers[i].name);
			CHECK_EQ(fcntl(fd, F_GETFD), exec ? 0 : FD_CLOEXEC, openers[i].name);
			CHECK_EQ(fstat(fd, &st), 0);
			CHECK(S_ISCHR(st.st_mode));
			CHECK_EQ(close(fd), 0);
		}
	}
}

/* Names similar to the device's name are not the device. */
static void
case_other_names(void)
{
	static const char *const names[] = {"/dev/infiniband/uverbs", "/dev/infiniband/uverbs1",
		"/dev/infiniband/uverbs00000000001", "/dev/infiniband/uverbs0x",
		"/dev/infiniband/uverbs0/", "/dev/infiniband/uverbs 0", "/dev/infiniband/uverbs+0",
		"/dev/infiniband/uverbs-0", "/dev/infiniband/uverbs:", "/dev/infiniband/uverbs/",
		"/dev/infiniband/uverbs4294967295", "/dev/infiniband/uverbs4294967296",
		"/dev/infiniband/uverbs18446744073709551616", "/dev/infiniband/uverbt0",
		"/dev/infiniband/Uverbs0", "dev/infiniband/uverbs0", ""};
	struct stat st;

	for (size_t n = 0; n < N(names); n++) {
		for (size_t i = 0; i < N(openers); i++) {
			CHECK_EQ(open_by(&openers[i], AT_FDCWD, names[n], O_RDWR, 0), -1, names[n]);
			CHECK(errno == ENOENT || errno == ENOTDIR, "%s", names[n]);
		}
		CHECK_EQ(stat(names[n], &st), -1, names[n]);
		CHECK(errno == ENOENT || errno == ENOTDIR, "%s", names[n]);
	}
	/* The number in the name may have leading zeros. */
	CHECK_EQ(stat("/dev/infiniband/uverbs000", &st), 0);
	CHECK(S_ISCHR(st.st_mode));
}

static void
case_open_files(void)
{
	int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const mode_t mask = umask(0);
	struct stat st;

	CHECK(at >= 0);
	for (size_t i = 0; i < N(openers); i++) {
		const struct opener *o = &openers[i];
		const char *path = o->at ? "made" : file;
		const mode_t mode = 0640 + (mode_t)i;
		int fd;

		(void)unlink(file);
		CHECK_EQ(open_by(o, at, path, O_RDONLY, 0), -1, o->name);
		CHECK_EQ(errno, ENOENT, o->name);
		if (o->mode) {
			/* The mode argument is used when a file is created. */
			fd = open_by(o, at, path, O_WRONLY | O_CREAT | O_EXCL, mode);
			CHECK(fd >= 0, "%s", o->name);
			CHECK_EQ(fstat(fd, &st), 0);
			CHECK_EQ(st.st_mode, S_IFREG | mode, o->name);
			CHECK_EQ(close(fd), 0);
			fd = open_by(o, at, o->at ? "." : dir, O_RDWR | O_TMPFILE, mode);
			CHECK(fd >= 0 || errno == EOPNOTSUPP || errno == EISDIR, "%s", o->name);
			if (fd >= 0) {
				CHECK_EQ(fstat(fd, &st), 0);
				CHECK_EQ(st.st_mode, S_IFREG | mode, o->name);
				CHECK_EQ(close(fd), 0);
			}
		} else {
			fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
			CHECK(fd >= 0 && close(fd) == 0);
		}
		fd = open_by(o, at, path, O_RDONLY | O_APPEND, 0);
		CHECK(fd >= 0, "%s", o->name);
		/* On 64-bit machines the kernel sets O_LARGEFILE itself, so it is not compared. */
		CHECK_EQ(fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND), O_RDONLY | O_APPEND, o->name);
		CHECK_EQ(close(fd), 0);
	}
	(void)unlink(file);
	umask(mask);
	CHECK_EQ(close(at), 0);
}

/* ---- stat */

typedef int (*stat_fn)(const char *path, struct stat *st);
typedef int (*fstat_fn)(int fd, struct stat *st);
typedef int (*xstat_fn)(int version, const char *path, struct stat *st);
typedef int (*fxstat_fn)(int version, int fd, struct stat *st);

static const char *const stats[] = {"stat", "stat64", "__xstat", "__xstat64"};
static const char *const fstats[] = {"fstat", "fstat64", "__fxstat", "__fxstat64"};

static int
stat_by(size_t i, const char *path, struct stat *st)
{
	memset(st, 0x5a, sizeof(*st));
	return i < 2 ? ((stat_fn)libc(stats[i]))(path, st)
		     : ((xstat_fn)libc(stats[i]))(1, path, st);
}

static int
fstat_by(size_t i, int fd, struct stat *st)
{
	memset(st, 0x5a, sizeof(*st));
	return i < 2 ? ((fstat_fn)libc(fstats[i]))(fd, st)
		     : ((fxstat_fn)libc(fstats[i]))(1, fd, st);
}

static void
case_stat(void)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC), mem = memfd_create("other", MFD_CLOEXEC);
	struct stat st;

	CHECK(fd >= 0 && mem >= 0 && ftruncate(mem, 12345) == 0);
	for (size_t i = 0; i < N(stats); i++) {
		CHECK_EQ(stat_by(i, DEVICE, &st), 0, stats[i]);
		CHECK_EQ(st.st_mode, S_IFCHR | 0666, stats[i]);
		CHECK_EQ(st.st_rdev, makedev(231, 192), stats[i]);
		CHECK_EQ(st.st_nlink, 1, stats[i]);
		CHECK_EQ(st.st_size, 0, stats[i]);
		CHECK_EQ(st.st_blocks, 0, stats[i]);
		CHECK(st.st_mtime > 0 && st.st_mtime <= time(NULL), "%s", stats[i]);
		CHECK_EQ(fstat_by(i, fd, &st), 0, fstats[i]);
		CHECK_EQ(st.st_mode, S_IFCHR | 0666, fstats[i]);
		CHECK_EQ(st.st_rdev, makedev(231, 192), fstats[i]);
		CHECK_EQ(st.st_size, 0, fstats[i]);
		CHECK_EQ(st.st_blocks, 0, fstats[i]);
		/* Other files: the results must be those of libc. */
		CHECK_EQ(stat_by(i, "/dev/null", &st), 0, stats[i]);
		CHECK_EQ(st.st_rdev, makedev(1, 3), stats[i]);
		CHECK_EQ(stat_by(i, dir, &st), 0, stats[i]);
		CHECK(S_ISDIR(st.st_mode), "%s", stats[i]);
		CHECK_EQ(stat_by(i, "/nowhere", &st), -1, stats[i]);
		CHECK_EQ(errno, ENOENT, stats[i]);
		CHECK_EQ(fstat_by(i, mem, &st), 0, fstats[i]);
		CHECK(S_ISREG(st.st_mode), "%s", fstats[i]);
		CHECK_EQ(st.st_size, 12345, fstats[i]);
		CHECK_EQ(fstat_by(i, 0x7fff, &st), -1, fstats[i]);
		CHECK_EQ(errno, EBADF, fstats[i]);
	}
	CHECK_EQ(close(mem), 0);
	CHECK_EQ(close(fd), 0);
}

/* ---- descriptors of the adapter */

/* Checks the results of readlink(2), realpath(3) and each form of stat(2) for a file descriptor. */
static void
expect_shown(int fd, const char *name, const struct stat *want)
{
	static const char *const folders[] = {"/proc/self/fd", "/proc/thread-self/fd", "/dev/fd"};
	char path[64], text[PATH_MAX], cut[6];
	struct statx stx;
	struct stat st;
	char *real;
	int at;

	for (size_t i = 0; i < N(folders); i++) {
		snprintf(path, sizeof(path), "%s/%d", folders[i], fd);
		memset(text, 0, sizeof(text));
		CHECK_EQ(readlink(path, text, sizeof(text) - 1), (ssize_t)strlen(name), path);
		CHECK(strcmp(text, name) == 0, "%s is %s, not %s", path, text, name);
		CHECK_EQ(readlink(path, cut, sizeof(cut)), (ssize_t)sizeof(cut), path);
		check_bytes(cut, name, sizeof(cut), path);
		real = realpath(path, NULL);
		if (S_ISCHR(want->st_mode))
			CHECK(real != NULL && strcmp(real, name) == 0, "realpath of %s", path);
		else
			CHECK(real == NULL && errno == ENOENT, "realpath of %s", path);
		free(real);
		CHECK_EQ(stat(path, &st), 0, path);
		CHECK(st.st_mode == want->st_mode && st.st_rdev == want->st_rdev, "%s", path);
		CHECK_EQ(lstat(path, &st), 0, path);
		CHECK(S_ISLNK(st.st_mode), "%s", path);
		CHECK_EQ(statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &stx), 0, path);
		CHECK_EQ(stx.stx_mode, want->st_mode, path);
	}
	at = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%d", fd);
	CHECK_EQ(readlinkat(at, path, text, sizeof(text)), (ssize_t)strlen(name));
	CHECK_EQ(close(at), 0);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK(st.st_mode == want->st_mode && st.st_rdev == want->st_rdev, "%s", name);
	CHECK_EQ(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx), 0);
	CHECK(stx.stx_mode == want->st_mode &&
			makedev(stx.stx_rdev_major, stx.stx_rdev_minor) == want->st_rdev,
		"%s", name);
	CHECK_EQ(fstatat(fd, "", &st, AT_EMPTY_PATH), 0);
	CHECK_EQ(st.st_mode, want->st_mode, name);
	if (!S_ISCHR(want->st_mode))
		CHECK(st.st_ino == want->st_ino && st.st_dev == want->st_dev, "%s", name);
}

/*
 * Checks /proc/<pid>/fdinfo of a file descriptor, read by each form of open(2) and by fopen(3).
 * Linux, fs/proc/fd.c: four lines, and no more if the driver prints none.
 */
static void
expect_info(int fd, int flags, const char *mounted_as, const struct stat *st)
{
	char want[200], path[64], name[16], got[200];
	int mount = 0, folder = open("/proc/self/fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statx stx;
	FILE *f;

	CHECK_EQ(statx(AT_FDCWD, mounted_as, 0, STATX_MNT_ID, &stx), 0, mounted_as);
	CHECK((stx.stx_mask & STATX_MNT_ID) != 0, "%s", mounted_as);
	mount = (int)stx.stx_mnt_id;
	snprintf(want, sizeof(want), "pos:\t0\nflags:\t0%o\nmnt_id:\t%d\nino:\t%llu\n", flags,
		mount, (unsigned long long)st->st_ino);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	snprintf(name, sizeof(name), "%d", fd);
	for (size_t i = 0; i <= N(openers); i++) {
		const struct opener *o = &openers[i];
		int info =
			i == N(openers) ? -1 : open_by(o, folder, o->at ? name : path, O_RDONLY, 0);

		memset(got, 0, sizeof(got));
		if (i == N(openers)) {
			f = fopen(path, "r");
			CHECK(f != NULL && fread(got, 1, sizeof(got) - 1, f) > 0);
			CHECK(f != NULL && fclose(f) == 0);
		} else {
			CHECK(info >= 0 && read(info, got, sizeof(got) - 1) > 0, "%s", o->name);
			CHECK(write(info, "x", 1) == -1 && close(info) == 0, "%s", o->name);
		}
		CHECK(strcmp(got, want) == 0, "%s: \"%s\", not \"%s\"", path, got, want);
	}
	CHECK_EQ(close(folder), 0);
}

/*
 * Returns the number of file descriptors of this process whose link in /proc begins with this text.
 */
static unsigned int
count_links(const char *with)
{
	DIR *fds = opendir("/proc/self/fd");
	const struct dirent *entry;
	char text[PATH_MAX];
	unsigned int n = 0;

	CHECK(fds != NULL);
	while ((entry = readdir(fds)) != NULL) {
		memset(text, 0, sizeof(text));
		if (readlinkat(dirfd(fds), entry->d_name, text, sizeof(text) - 1) > 0)
			n += strncmp(text, with, strlen(with)) == 0;
	}
	CHECK_EQ(closedir(fds), 0);
	return n;
}

/*
 * The links in /proc/self/fd must show the names that Linux gives the files of an adapter:
 * ib_uverbs (uverbs_std_types.c, uverbs_std_types_async_fd.c) and mlx5_ib (devx.c). The anonymous
 * files of both modules share one inode with eventfds.
 */
static void
case_own_files(void)
{
	static const char event[] = "anon_inode:[infinibandevent]";
	const unsigned int before = count_links(event);
	const struct stat device = {.st_mode = S_IFCHR | 0666, .st_rdev = makedev(231, 192)};
	struct ibv_context *ctx = pair_open(0);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct mlx5dv_devx_event_channel *events = mlx5dv_devx_create_event_channel(ctx, 0);
	struct mlx5dv_devx_cmd_comp *answers = mlx5dv_devx_create_cmd_comp(ctx);
	int anonymous = eventfd(0, EFD_CLOEXEC), pair[2], copy, status;
	char path[32], text[64] = {0};
	struct stat st, own;
	pid_t child;

	CHECK(channel != NULL && events != NULL && answers != NULL);
	CHECK_EQ(fstat(anonymous, &st), 0);
	expect_shown(ctx->cmd_fd, DEVICE, &device);
	expect_shown(ctx->async_fd, event, &st);
	expect_shown(channel->fd, event, &st);
	expect_shown(events->fd, "anon_inode:[devx_async_event]", &st);
	expect_shown(answers->fd, "anon_inode:[devx_async_cmd]", &st);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", anonymous);
	expect_info(ctx->async_fd, O_CLOEXEC, path, &st);
	expect_info(events->fd, O_CLOEXEC, path, &st);
	CHECK_EQ(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	expect_info(channel->fd, O_CLOEXEC | O_NONBLOCK, path, &st);
	CHECK_EQ(fstat(ctx->cmd_fd, &own), 0);
	expect_info(ctx->cmd_fd, O_RDWR | O_CLOEXEC | 0100000, "/dev", &own); /* O_LARGEFILE */
	/*
	 * The links of all files in /proc/self/fd, including the files that the adapter uses
	 * internally.
	 */
	CHECK_EQ(count_links("socket:["), 0);
	CHECK_EQ(count_links("/memfd:"), 0);
	CHECK(count_links(event) >= 2, "both are there");
	copy = dup(channel->fd);
	expect_shown(copy, event, &st);
	CHECK_EQ(close(copy), 0);
	child = fork();
	if (child == 0) {
		expect_shown(channel->fd, event, &st);
		_exit(check_failures != 0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0, "in a child");
	/* Files that do not belong to the adapter must be shown as the kernel shows them. */
	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	CHECK(fstat(pair[0], &st) == 0 && S_ISSOCK(st.st_mode));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", pair[0]);
	CHECK(readlink(path, text, sizeof(text) - 1) > 0 && strncmp(text, "socket:[", 8) == 0);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pair[0]);
	copy = open(path, O_RDONLY | O_CLOEXEC);
	memset(text, 0, sizeof(text));
	CHECK(read(copy, text, sizeof(text) - 1) > 0 && strstr(text, "flags:\t02000002\n") != NULL);
	CHECK_EQ(close(copy), 0);
	CHECK(close(pair[0]) == 0 && close(pair[1]) == 0 && close(anonymous) == 0);
	mlx5dv_devx_destroy_cmd_comp(answers);
	mlx5dv_devx_destroy_event_channel(events);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
	/* After the objects are destroyed, the process has none of their files open. */
	CHECK_EQ(count_links(event), before);
	CHECK_EQ(count_links("anon_inode:[devx"), 0);
}

/* ---- mmap, ioctl, socket */

typedef void *(*mmap_fn)(void *addr, size_t len, int prot, int flags, int fd, off_t offset);

/*
 * The device has no contiguous pages, so libmlx5's mapping of them fails. Other mappings are passed
 * to the kernel.
 */
static void
case_mmap(void)
{
	static const char *const names[] = {"mmap", "mmap64"};
	const off_t contiguous = (off_t)CONTIGUOUS << 8 << 12;
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC), mem = memfd_create("other", MFD_CLOEXEC);
	struct stat st;

	CHECK(fd >= 0 && mem >= 0);
	CHECK_EQ(ftruncate(mem, contiguous + 8192), 0);
	CHECK_EQ(pwrite(mem, "b", 1, contiguous), 1);
	CHECK_EQ(fstat(mem, &st), 0);
	for (size_t i = 0; i < N(names); i++) {
		mmap_fn map = (mmap_fn)libc(names[i]);
		char *p;

		for (off_t more = 0; more < 256; more += 255) {
			errno = 0;
			CHECK(map(NULL, 4096, PROT_READ, MAP_SHARED, fd,
				      contiguous + more * 4096) == MAP_FAILED,
				"%s", names[i]);
			CHECK_EQ(errno, EINVAL, names[i]);
		}
		p = map(NULL, 4096, PROT_READ, MAP_SHARED, mem, contiguous);
		CHECK(p != MAP_FAILED && *p == 'b', "%s", names[i]);
		CHECK_EQ(munmap(p, 4096), 0);
		p = map(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(p != MAP_FAILED && *p == 0, "%s", names[i]);
		CHECK_EQ(munmap(p, 4096), 0);
		CHECK(map(NULL, 4096, PROT_READ, MAP_SHARED, 0x7fff, contiguous) == MAP_FAILED);
		CHECK_EQ(errno, EBADF, names[i]);
	}
	CHECK_EQ(close(mem), 0);
	CHECK_EQ(close(fd), 0);
}

static void
case_ioctl(void)
{
	struct ib_uverbs_ioctl_hdr hdr = {.length = sizeof(hdr), .object_id = 0x7777};
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC), pipes[2], n = 0;

	CHECK(fd >= 0 && pipe(pipes) == 0);
	CHECK_EQ(write(pipes[1], "12345", 5), 5);
	CHECK_EQ(ioctl(pipes[0], FIONREAD, &n), 0);
	CHECK_EQ(n, 5);
	CHECK(ioctl(pipes[0], RDMA_VERBS_IOCTL, &hdr) == -1 && errno == ENOTTY);
	CHECK(ioctl(fd, RDMA_VERBS_IOCTL, &hdr) == -1);
	CHECK_EQ(errno, EINVAL); /* the call has no driver */
	hdr.driver_id = 1;
	CHECK(ioctl(fd, RDMA_VERBS_IOCTL, &hdr) == -1);
	CHECK_EQ(errno, EPROTONOSUPPORT); /* the call has no object */
	CHECK_EQ(close(pipes[0]), 0);
	CHECK_EQ(close(pipes[1]), 0);
	CHECK_EQ(close(fd), 0);
}

/*
 * The device must answer only the netlink protocol RDMA (test_softhca_netlink.c). Sockets of all
 * other protocols must go to the kernel.
 */
static void
case_socket(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

	CHECK(fd >= 0 && close(fd) == 0);
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	CHECK(fd >= 0 || errno == EAFNOSUPPORT || errno == EPERM);
	if (fd >= 0)
		CHECK_EQ(close(fd), 0);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(fd >= 0 && close(fd) == 0);
	/* Protocol 20 is not RDMA in the IPv4 family; in the netlink family it is. */
	fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	CHECK(fd >= 0 || errno == EPERM || errno == EAFNOSUPPORT);
	if (fd >= 0)
		CHECK_EQ(close(fd), 0);
}

/* ---- failures */

/*
 * Opens a context whose file cannot get its length (setrlimit(2)), or for which no file descriptor
 * is free: the call fails.
 */
static void
case_open_fails(void)
{
	unsigned int before = check_count_fds();
	struct rlimit was, none;
	int fd;

	CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &was), 0);
	none = (struct rlimit){4096, was.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(open(DEVICE, O_RDWR | O_CLOEXEC), -1);
		CHECK_EQ(errno, EFBIG);
		CHECK_EQ(check_count_fds(), before);
	}
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &was), 0);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = (struct rlimit){0, was.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	CHECK_EQ(open(DEVICE, O_RDWR | O_CLOEXEC), -1);
	CHECK_EQ(errno, EMFILE);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &was), 0);
	CHECK_EQ(check_count_fds(), before);
	fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0 && close(fd) == 0);
}

/*
 * The answer with the channel's file descriptor cannot be written: then the program must not have
 * the file open.
 */
static void
case_channel_fails(void)
{
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	struct ibv_context *ctx = pair_open(0);
	struct rlimit was, none;
	unsigned int before;

	CHECK_EQ(ibv_close_device(ctx), 0);
	ctx = pair_open(0); /* this destroys the objects of the previous context */
	before = check_count_fds();
	raw_attr(&c, UVERBS_ATTR_CORE_IN, 8, 0);
	raw_attr(&c, UVERBS_ATTR_CORE_OUT, 4, 16);
	raw_u64(&c, UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL);
	CHECK_EQ(raw_run(ctx->cmd_fd, &c), EFAULT);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = (struct rlimit){0, was.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	CHECK(ibv_create_comp_channel(ctx) == NULL);
	CHECK_EQ(errno, EMFILE);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &was), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
	ctx = pair_open(0);
	CHECK_EQ(check_count_fds(), before);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"every form of open(2) opens the device", case_open_device},
		{"a name that is similar to the device's opens another file", case_other_names},
		{"every form of open(2) opens and creates files", case_open_files},
		{"every form of stat(2) distinguishes the device from files", case_stat},
		{"the adapter's descriptors look like those of a card", case_own_files},
		{"the device gives no contiguous pages", case_mmap},
		{"ioctl(2) goes to the adapter or to the kernel", case_ioctl},
		{"sockets of other protocols go to the kernel", case_socket},
		{"an open that fails leaves no descriptor", case_open_fails},
		{"a channel that cannot be created leaves no descriptor", case_channel_fails},
	};
	int failed;

	CHECK(mkdtemp(dir) != NULL);
	snprintf(file, sizeof(file), "%s/made", dir);
	failed = check_main(cases, N(cases), argc, argv);
	(void)unlink(file);
	(void)rmdir(dir);
	return failed;
}
