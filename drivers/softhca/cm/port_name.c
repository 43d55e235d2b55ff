/* SPDX-License-Identifier: BSD-3-Clause */
/* Claims numbers of ports by names of sockets. */
#include "port_name.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <rdma/rdma_user_cm.h>

#include "raw.h"

struct name {
	struct sockaddr_un addr;
	socklen_t len;
};

static struct name
name_of(uint16_t ps, enum port_name kind, uint32_t number)
{
	static const char *const of_kind[] =
		{[NAME_PORT] = "", [NAME_BLOCK] = "block/", [NAME_SHARED] = "shared/"};
	struct name name = {.addr.sun_family = AF_UNIX};
	/* The first byte of sun_path is 0, which makes the name abstract. */
	int n = snprintf(name.addr.sun_path + 1, sizeof(name.addr.sun_path) - 1,
		"softhca/cm/%s/%s%u", ps == RDMA_PS_TCP ? "tcp" : "udp", of_kind[kind], number);

	name.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	return name;
}

static int
with_name(uint16_t ps, enum port_name kind, uint32_t number, int *fd,
	int (*call)(int, const struct sockaddr *, socklen_t))
{
	const struct name name = name_of(ps, kind, number);
	int s = raw_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err;

	if (s < 0)
		return -errno;
	if (call(s, (const struct sockaddr *)&name.addr, name.len) == 0) {
		*fd = s;
		return 0;
	}
	err = -errno;
	raw_close(s);
	return err;
}

int
port_name_claim(uint16_t ps, enum port_name kind, uint32_t number, int *fd)
{
	return with_name(ps, kind, number, fd, raw_bind);
}

int
port_name_connect(uint16_t ps, uint32_t number, int *fd)
{
	return with_name(ps, NAME_PORT, number, fd, raw_connect);
}
