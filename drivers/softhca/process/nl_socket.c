/* SPDX-License-Identifier: BSD-3-Clause */
/* RDMA netlink sockets of the program. */
#include "nl_socket.h"

#include <errno.h>
#include <limits.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "contexts.h"
#include "fork_lock.h"
#include "netlink.h"
#include "raw.h"
#include "resource.h"
#include "tree.h"

#define N_SOCKETS   64
#define REQUEST_MAX 65536 /* maximum of bytes of one send */
#define N_GROUPS    32
/* number of calls on other sockets after which closed sockets are looked for */
#define LOOK_EACH 1024

struct nl_socket {
	dev_t dev; /* device and inode of the socket; 0 and 0: the entry is free */
	ino_t ino;
	int fd; /* descriptor in the current call */
	struct netlink_peer peer;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* taken before the lock of the tree */
static struct nl_socket sockets[N_SOCKETS];
static uint32_t n_ports; /* number of port numbers used up to now */
/* number of calls on other sockets since the last RDMA netlink socket was opened */
static uint32_t n_others;
static _Atomic bool exist;

bool
nl_sockets_exist(void)
{
	return atomic_load_explicit(&exist, memory_order_relaxed);
}

/* ---------------------------------------------------------------- the list of sockets */

static struct nl_socket *
find_inode(const struct stat *st)
{
	for (unsigned int i = 0; i < N_SOCKETS; i++)
		if (sockets[i].ino == st->st_ino && sockets[i].dev == st->st_dev && st->st_ino != 0)
			return &sockets[i];
	return NULL;
}

/*
 * Finds the netlink socket of a descriptor and takes the lock, which the caller releases. Returns
 * NULL, without the lock, if the descriptor is not an emulated netlink socket.
 */
static struct nl_socket *
take(int fd)
{
	struct nl_socket *s;
	struct stat st;
	int was = errno;

	if (raw_fstat(fd, &st) != 0 || !S_ISSOCK(st.st_mode)) {
		errno = was;
		return NULL;
	}
	fork_lock(&lock);
	s = find_inode(&st);
	if (s == NULL)
		fork_unlock(&lock);
	else
		s->fd = fd;
	return s;
}

static void
give(void)
{
	fork_unlock(&lock);
}

/*
 * Frees the entries whose sockets have no descriptor any more. The library does not see close(2),
 * so this function searches for closed sockets.
 */
static void
drop_closed(void)
{
	DIR *fds = raw_open_fds();
	bool seen[N_SOCKETS] = {false};
	int fd;

	if (fds == NULL)
		return;
	while ((fd = raw_next_fd(fds)) >= 0) {
		struct nl_socket *s;
		struct stat st;

		s = raw_fstat(fd, &st) == 0 ? find_inode(&st) : NULL;
		if (s != NULL)
			seen[s - sockets] = true;
	}
	closedir(fds);
	for (unsigned int i = 0; i < N_SOCKETS; i++)
		if (!seen[i])
			sockets[i] = (struct nl_socket){0};
}

/*
 * Counts a call on a socket that is no emulated netlink socket. After LOOK_EACH such calls,
 * searches for closed sockets. libibverbs closes its RDMA netlink socket after it has found the
 * adapters. If the program has closed all such sockets, later calls need no lookup.
 */
static void
note_other(void)
{
	bool any = false;

	fork_lock(&lock);
	if (n_others++ % LOOK_EACH == 0) {
		drop_closed();
		for (unsigned int i = 0; i < N_SOCKETS; i++)
			any |= sockets[i].ino != 0;
		atomic_store_explicit(&exist, any, memory_order_relaxed);
	}
	fork_unlock(&lock);
}

bool
nl_socket_is(int fd)
{
	const struct nl_socket *s = nl_sockets_exist() ? take(fd) : NULL;

	if (s != NULL)
		give();
	else if (nl_sockets_exist())
		note_other();
	return s != NULL;
}

static struct nl_socket *
free_entry(void)
{
	for (unsigned int i = 0; i < N_SOCKETS; i++)
		if (sockets[i].ino == 0)
			return &sockets[i];
	return NULL;
}

static bool
has_port(uint32_t port)
{
	for (unsigned int i = 0; i < N_SOCKETS; i++)
		if (sockets[i].ino != 0 && sockets[i].peer.port == port)
			return true;
	return false;
}

/* True if an open socket has this port number. */
static bool
port_is_taken(uint32_t port)
{
	if (!has_port(port))
		return false;
	drop_closed();
	return has_port(port);
}

/*
 * Returns the port number for a new socket. netlink(7): the first socket has the process id, and
 * each later socket has a number that is no process id.
 */
static uint32_t
free_port(void)
{
	uint32_t port = (uint32_t)getpid();

	while (port_is_taken(port))
		port = UINT32_MAX - 4096 - n_ports++ % 4096;
	return port;
}

/* ---------------------------------------------------------------- open */

/* The function netlink_peer.queue: sends the datagram to the socket itself. */
static bool
queue(struct netlink_peer *peer, const void *datagram, size_t len)
{
	const struct nl_socket *s =
		(const struct nl_socket *)((const char *)peer - offsetof(struct nl_socket, peer));

	return raw_send(s->fd, datagram, len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/*
 * Binds a Unix socket to a name that the kernel chooses (unix(7)), and connects the socket to
 * itself.
 */
static int
connect_to_itself(int fd)
{
	struct sockaddr_un self = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(self);

	if (syscall(SYS_bind, fd, &self, sizeof(self.sun_family)) != 0 ||
		syscall(SYS_getsockname, fd, &self, &len) != 0 ||
		syscall(SYS_connect, fd, &self, len) != 0)
		return -errno;
	return 0;
}

static int
add(int fd)
{
	struct nl_socket *s;
	struct stat st;
	int rc = 0;

	if (raw_fstat(fd, &st) != 0)
		return -errno;
	fork_lock(&lock);
	/* an entry of a closed socket, if the kernel has reused the inode number */
	s = find_inode(&st);
	if (s == NULL)
		s = free_entry();
	if (s == NULL) {
		drop_closed();
		s = free_entry();
	}
	if (s != NULL) {
		*s = (struct nl_socket){.dev = st.st_dev, .ino = st.st_ino, .peer.queue = queue};
		n_others = 0;
		atomic_store_explicit(&exist, true, memory_order_relaxed);
	} else {
		rc = -ENFILE;
	}
	fork_unlock(&lock);
	return rc;
}

int
nl_socket_open(int type)
{
	const int flags = type & (SOCK_CLOEXEC | SOCK_NONBLOCK), kind = type & ~flags;
	int fd, rc;

	if (kind != SOCK_RAW && kind != SOCK_DGRAM)
		return -ESOCKTNOSUPPORT;
	fd = syscall(SYS_socket, AF_UNIX, SOCK_DGRAM | flags, 0);
	if (fd < 0)
		return -errno;
	rc = connect_to_itself(fd);
	if (rc == 0)
		rc = add(fd);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

/* ---------------------------------------------------------------- addresses */

/* Returns 0, or -EINVAL if the address is too short or of another address family. */
static int
take_address(const void *addr, socklen_t len, struct sockaddr_nl *nl)
{
	if (addr == NULL || len < sizeof(*nl))
		return -EINVAL;
	memcpy(nl, addr, sizeof(*nl));
	return nl->nl_family == AF_NETLINK ? 0 : -EINVAL;
}

/*
 * Binds the socket. A program may join groups, but it gets no events, because no adapter is added
 * or removed.
 */
int
nl_socket_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_nl nl;
	struct nl_socket *s;
	int rc = take_address(addr, len, &nl);

	if (rc != 0)
		return rc;
	s = take(fd);
	if (s == NULL)
		return -EBADF;
	if (s->peer.port != 0)
		rc = nl.nl_pid == 0 || nl.nl_pid == s->peer.port ? 0 : -EINVAL;
	else if (nl.nl_pid != 0 && port_is_taken(nl.nl_pid))
		rc = -EADDRINUSE;
	else
		s->peer.port = nl.nl_pid != 0 ? nl.nl_pid : free_port();
	give();
	return rc;
}

/* Connects the socket. The only possible destination is the kernel. */
int
nl_socket_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_nl nl;
	int rc = take_address(addr, len, &nl);

	if (rc == 0 && (nl.nl_pid != 0 || nl.nl_groups != 0))
		rc = -ECONNREFUSED;
	return rc;
}

static void
write_address(const struct sockaddr_nl *nl, struct sockaddr *addr, socklen_t *len)
{
	memcpy(addr, nl, *len < sizeof(*nl) ? *len : sizeof(*nl));
	*len = sizeof(*nl);
}

int
nl_socket_name(int fd, struct sockaddr *addr, socklen_t *len)
{
	struct sockaddr_nl nl = {.nl_family = AF_NETLINK};
	const struct nl_socket *s;

	if (addr == NULL || len == NULL)
		return -EFAULT;
	s = take(fd);
	if (s == NULL)
		return -EBADF;
	nl.nl_pid = s->peer.port;
	give();
	write_address(&nl, addr, len);
	return 0;
}

void
nl_socket_source(struct sockaddr *addr, socklen_t *len)
{
	const struct sockaddr_nl nl = {.nl_family = AF_NETLINK};

	write_address(&nl, addr, len);
}

/*
 * Sets an option of SOL_NETLINK. Such an option changes the form of errors, or is about events,
 * which are never sent.
 */
int
nl_socket_set_option(int fd, int option, const void *value, socklen_t len)
{
	struct nl_socket *s;
	int on, rc = 0;

	if (len < sizeof(on) || value == NULL)
		return value == NULL ? -EFAULT : -EINVAL;
	memcpy(&on, value, sizeof(on));
	switch (option) {
	case NETLINK_ADD_MEMBERSHIP:
	case NETLINK_DROP_MEMBERSHIP:
		return on >= 1 && on <= N_GROUPS ? 0 : -EINVAL;
	case NETLINK_BROADCAST_ERROR:
	case NETLINK_NO_ENOBUFS:
	case NETLINK_EXT_ACK:
	case NETLINK_GET_STRICT_CHK:
		return 0;
	case NETLINK_CAP_ACK:
		s = take(fd);
		if (s == NULL)
			return -EBADF;
		s->peer.cap_ack = on != 0;
		give();
		return rc;
	default:
		return -ENOPROTOOPT;
	}
}

/* ---------------------------------------------------------------- send and receive */

/*
 * Joins the pieces to one buffer, which is aligned for messages. Returns NULL with errno set on
 * failure.
 */
static void *
join(const struct iovec *iov, size_t n, size_t *len)
{
	uint8_t *all;
	size_t at = 0;

	*len = 0;
	for (size_t i = 0; i < n; i++) {
		if (iov[i].iov_len > REQUEST_MAX - *len) {
			errno = EMSGSIZE;
			return NULL;
		}
		*len += iov[i].iov_len;
	}
	all = malloc(*len + 1);
	for (size_t i = 0; all != NULL && i < n; i++) {
		if (iov[i].iov_len != 0)
			memcpy(all + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	return all;
}

/*
 * Selects the tree's files with resources and counters, which belong to this process or to its
 * parent.
 */
static void
look_at_tree(struct netlink_peer *peer, char counters[PATH_MAX])
{
	const char *tree = tree_if_there();
	char resources[PATH_MAX];

	if (tree == NULL || snprintf(resources, PATH_MAX, "%s/resources", tree) >= PATH_MAX ||
		snprintf(counters, PATH_MAX, "%s/counters", tree) >= PATH_MAX)
		return;
	resources_look_at(resources);
	peer->counters = counters;
}

ssize_t
nl_socket_send(int fd, const struct iovec *iov, size_t n, const void *to, socklen_t to_len)
{
	char counters[PATH_MAX];
	struct nl_socket *s;
	size_t len;
	void *all;
	int rc = to != NULL && to_len != 0 ? nl_socket_connect(fd, to, to_len) : 0;

	if (rc != 0)
		return rc;
	all = join(iov, n, &len);
	if (all == NULL)
		return -errno;
	contexts_end_closed();
	s = take(fd);
	if (s != NULL) {
		if (s->peer.port == 0)
			s->peer.port = free_port();
		look_at_tree(&s->peer, counters);
		netlink_request(&s->peer, all, len);
		s->peer.counters = NULL;
		give();
	}
	free(all);
	return s != NULL ? (ssize_t)len : -EBADF;
}

void
nl_socket_was_read(int fd)
{
	struct nl_socket *s = take(fd);
	int was = errno;

	if (s == NULL)
		return;
	netlink_continue(&s->peer);
	give();
	errno = was;
}

/* ---------------------------------------------------------------- fork(2) */

void
nl_sockets_fork_prepare(void)
{
	fork_lock(&lock);
}

void
nl_sockets_fork_done(void)
{
	fork_unlock(&lock);
}
