/* SPDX-License-Identifier: BSD-3-Clause */
/* Generic netlink families of the kernel, which do not see the adapter. */
#include "genl.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"

/* maximum of bytes of a request that are read: its header and the family's name */
#define LOOK_MAX 128

/*
 * True once the program has opened a socket of generic netlink. Before this, the program's calls
 * only test this flag.
 */
static _Atomic bool look;

void
genl_opened(void)
{
	static atomic_bool before;

	if (!atomic_exchange(&before, true))
		atomic_store_explicit(&look, true, memory_order_relaxed);
}

static bool
is_generic(int fd)
{
	int domain = 0, protocol = 0;
	socklen_t len = sizeof(int);

	return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
	       syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) == 0 &&
	       domain == AF_NETLINK && protocol == NETLINK_GENERIC;
}

/* Copies the first bytes of a request. */
static size_t
copy(const struct iovec *iov, size_t n, char bytes[LOOK_MAX])
{
	size_t len = 0;

	for (size_t i = 0; i < n && len < LOOK_MAX; i++) {
		size_t part = iov[i].iov_len < LOOK_MAX - len ? iov[i].iov_len : LOOK_MAX - len;

		if (part != 0)
			memcpy(bytes + len, iov[i].iov_base, part);
		len += part;
	}
	return len;
}

/*
 * Returns the name of the family whose number a request asks for (genetlink.h, CTRL_CMD_GETFAMILY),
 * or NULL if the request is of another kind.
 */
static const char *
asked_family(const char *bytes, size_t len)
{
	struct nlmsghdr message;
	struct genlmsghdr command;
	struct nlattr attr;

	if (len < NLMSG_HDRLEN + GENL_HDRLEN)
		return NULL;
	memcpy(&message, bytes, sizeof(message));
	memcpy(&command, bytes + NLMSG_HDRLEN, sizeof(command));
	if (message.nlmsg_type != GENL_ID_CTRL || command.cmd != CTRL_CMD_GETFAMILY)
		return NULL;
	for (size_t at = NLMSG_HDRLEN + GENL_HDRLEN; at + NLA_HDRLEN <= len;
		at += NLA_ALIGN(attr.nla_len)) {
		memcpy(&attr, bytes + at, sizeof(attr));
		if (attr.nla_len < NLA_HDRLEN || attr.nla_len > len - at)
			return NULL;
		if (attr.nla_type == CTRL_ATTR_FAMILY_NAME &&
			memchr(bytes + at + NLA_HDRLEN, '\0', attr.nla_len - NLA_HDRLEN) != NULL)
			return bytes + at + NLA_HDRLEN;
	}
	return NULL;
}

void
genl_note(int fd, const struct iovec *iov, size_t n)
{
	const int was = errno;
	char bytes[LOOK_MAX];
	const char *family;

	if (!atomic_load_explicit(&look, memory_order_relaxed))
		return;
	if (is_generic(fd)) {
		family = asked_family(bytes, copy(iov, n, bytes));
		if (family != NULL &&
			(strcmp(family, "devlink") == 0 || strcmp(family, "vdpa") == 0) &&
			atomic_exchange(&look, false))
			softhca_log("%s is not emulated: the machine's kernel answers, and does "
				    "not know the adapter",
				family);
	}
	errno = was;
}
