/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The libc calls on sockets, for RDMA netlink sockets (nl_socket.h). Requests of generic netlink
 * are also read (genl.h).
 *
 * Calls on all other sockets are passed to the kernel by a raw system call, as in shim.c. A call is
 * a cancellation point (pthreads(7)) if libc's call is a cancellation point.
 */
#undef _FORTIFY_SOURCE /* defines recv() inline; this file also defines recv() */
#include <errno.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "genl.h"
#include "nl_socket.h"
#include "softhca.h"
#include "sysfs.h"

#ifndef SOL_NETLINK
#define SOL_NETLINK 270
#endif

ssize_t __recv_chk(int fd, void *buf, size_t len, size_t buf_len, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t buf_len, int flags,
	struct sockaddr *addr, socklen_t *addr_len);

/* Makes a system call that may wait, so it is a cancellation point. */
static long
wait_in(long number, long a, long b, long c, long d, long e, long f)
{
	long rc;
	int was;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &was);
	rc = syscall(number, a, b, c, d, e, f);
	pthread_setcanceltype(was, NULL);
	return rc;
}

static ssize_t
result(ssize_t rc)
{
	if (rc >= 0)
		return rc;
	errno = (int)-rc;
	return -1;
}

/* ---------------------------------------------------------------- socket, addresses, options */

/*
 * Opens a socket. The answers of softhca do not contain RDMA devices of other vendors. So if the
 * machine has such devices, an RDMA netlink socket cannot be opened, and libibverbs reads sysfs,
 * which has all devices.
 */
SOFTHCA_API int
socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK && protocol == NETLINK_GENERIC && softhca_active())
		genl_opened();
	if (domain != AF_NETLINK || protocol != NETLINK_RDMA || !softhca_active())
		return syscall(SYS_socket, domain, type, protocol);
	return (int)result(sysfs_has_others() ? -EPROTONOSUPPORT : nl_socket_open(type));
}

SOFTHCA_API int
bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	if (nl_socket_is(fd))
		return (int)result(nl_socket_bind(fd, addr, len));
	return syscall(SYS_bind, fd, addr, len);
}

SOFTHCA_API int
connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	if (nl_socket_is(fd))
		return (int)result(nl_socket_connect(fd, addr, len));
	return (int)wait_in(SYS_connect, fd, (long)addr, len, 0, 0, 0);
}

SOFTHCA_API int
getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
	if (nl_socket_is(fd))
		return (int)result(nl_socket_name(fd, addr, len));
	return syscall(SYS_getsockname, fd, addr, len);
}

SOFTHCA_API int
setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
	if (level == SOL_NETLINK && nl_socket_is(fd))
		return (int)result(nl_socket_set_option(fd, option, value, len));
	return syscall(SYS_setsockopt, fd, level, option, value, len);
}

/* ---------------------------------------------------------------- send */

SOFTHCA_API ssize_t
sendmsg(int fd, const struct msghdr *msg, int flags)
{
	if (nl_socket_is(fd))
		return result(nl_socket_send(fd, msg->msg_iov, msg->msg_iovlen, msg->msg_name,
			msg->msg_namelen));
	if (msg != NULL)
		genl_note(fd, msg->msg_iov, msg->msg_iovlen);
	return wait_in(SYS_sendmsg, fd, (long)msg, flags, 0, 0, 0);
}

SOFTHCA_API ssize_t
sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr,
	socklen_t addr_len)
{
	const struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};

	if (nl_socket_is(fd))
		return result(nl_socket_send(fd, &iov, 1, addr, addr_len));
	genl_note(fd, &iov, 1);
	return wait_in(SYS_sendto, fd, (long)buf, (long)len, flags, (long)addr, addr_len);
}

SOFTHCA_API ssize_t
send(int fd, const void *buf, size_t len, int flags)
{
	return sendto(fd, buf, len, flags, NULL, 0);
}

/* ---------------------------------------------------------------- receive */

SOFTHCA_API ssize_t
recvmsg(int fd, struct msghdr *msg, int flags)
{
	const bool ours = nl_socket_is(fd);
	const socklen_t room = ours ? msg->msg_namelen : 0;
	ssize_t n = wait_in(SYS_recvmsg, fd, (long)msg, flags, 0, 0, 0);

	if (!ours || n < 0)
		return n;
	if (msg->msg_name != NULL) {
		msg->msg_namelen = room;
		nl_socket_source(msg->msg_name, &msg->msg_namelen);
	}
	if ((flags & MSG_PEEK) == 0)
		nl_socket_was_read(fd);
	return n;
}

SOFTHCA_API ssize_t
recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *addr, socklen_t *addr_len)
{
	const bool ours = nl_socket_is(fd);
	const socklen_t room = ours && addr != NULL && addr_len != NULL ? *addr_len : 0;
	ssize_t n =
		wait_in(SYS_recvfrom, fd, (long)buf, (long)len, flags, (long)addr, (long)addr_len);

	if (!ours || n < 0)
		return n;
	if (addr != NULL && addr_len != NULL) {
		*addr_len = room;
		nl_socket_source(addr, addr_len);
	}
	if ((flags & MSG_PEEK) == 0)
		nl_socket_was_read(fd);
	return n;
}

SOFTHCA_API ssize_t
recv(int fd, void *buf, size_t len, int flags)
{
	return recvfrom(fd, buf, len, flags, NULL, NULL);
}

/* The functions for _FORTIFY_SOURCE. They abort if the buffer is shorter than the length. */
SOFTHCA_API ssize_t
__recv_chk(int fd, void *buf, size_t len, size_t buf_len, int flags)
{
	if (len > buf_len)
		abort();
	return recvfrom(fd, buf, len, flags, NULL, NULL);
}

SOFTHCA_API ssize_t
__recvfrom_chk(int fd, void *buf, size_t len, size_t buf_len, int flags, struct sockaddr *addr,
	socklen_t *addr_len)
{
	if (len > buf_len)
		abort();
	return recvfrom(fd, buf, len, flags, addr, addr_len);
}
