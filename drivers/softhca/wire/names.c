/* SPDX-License-Identifier: BSD-3-Clause */
/* Claims blocks of QP numbers by names of sockets. */
#include "names.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "raw.h"
#include "sockets.h"

#define N_BLOCKS (NAMES_BLOCK_END - NAMES_BLOCK_FIRST)

struct name {
	struct sockaddr_un addr;
	socklen_t len;
};

static struct name
name_of(uint32_t block)
{
	struct name name = {.addr.sun_family = AF_UNIX};
	/* The first byte of sun_path is 0, which makes the name abstract. */
	int n = snprintf(name.addr.sun_path + 1, sizeof(name.addr.sun_path) - 1, "softhca/qpn/%u",
		block);

	name.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	return name;
}

/* Logs the first error of each kind. */
static void
say(int err)
{
	static atomic_flag no_block = ATOMIC_FLAG_INIT, no_fd = ATOMIC_FLAG_INIT,
			   other = ATOMIC_FLAG_INIT;

	if (err == -ENOMEM) {
		if (!atomic_flag_test_and_set(&no_block))
			softhca_log("no QP number is left: the processes of this machine have all "
				    "%u blocks of %u numbers",
				N_BLOCKS, 1u << NAMES_BLOCK_LOG);
	} else if (err == -EMFILE || err == -ENFILE) {
		if (!atomic_flag_test_and_set(&no_fd))
			softhca_log(
				"too few file descriptors: queue pairs and their connections "
				"to other processes need sockets (ulimit -n; the setting wire)");
	} else if (!atomic_flag_test_and_set(&other)) {
		softhca_log(
			"cannot claim QP numbers by the name of a socket: %s (the setting wire)",
			strerror(-err));
	}
}

static int
open_socket(void)
{
	int fd = raw_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

static int
bind_block(int fd, uint32_t block)
{
	const struct name name = name_of(block);

	return raw_bind(fd, (const struct sockaddr *)&name.addr, name.len) == 0 ? 0 : -errno;
}

static uint32_t
random_block(void)
{
	uint32_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uint32_t)device_clock() * 2654435761u;
	return NAMES_BLOCK_FIRST + (seed >> 8) % N_BLOCKS;
}

/* Binds the socket to a free block. Returns 0, -ENOMEM if no block is free, or another -errno. */
static int
bind_any(int fd, uint32_t *block)
{
	uint32_t at = random_block();

	for (uint32_t tries = 0; tries < N_BLOCKS; tries++) {
		int err = bind_block(fd, at);

		if (err == 0)
			*block = at;
		if (err != -EADDRINUSE)
			return err;
		at = at + 1 < NAMES_BLOCK_END ? at + 1 : NAMES_BLOCK_FIRST;
	}
	return -ENOMEM;
}

int
names_claim(uint32_t *block, int *fd)
{
	uint32_t claimed = 0;
	int s = open_socket(), err = s < 0 ? s : bind_any(s, &claimed);

	if (err == 0 && listen(s, SOMAXCONN) != 0)
		err = -errno;
	if (err != 0) {
		if (s >= 0)
			raw_close(s);
		say(err);
		return err;
	}
	*block = claimed;
	*fd = s;
	return 0;
}

int
names_connect(uint32_t number, int *fd)
{
	const struct name name = name_of(number >> NAMES_BLOCK_LOG);
	int s = open_socket(), err = 0;

	if (s < 0) {
		if (s == -EMFILE || s == -ENFILE)
			say(s);
		return s;
	}
	/* A Unix socket connects at once or not at all: unix(7). */
	if (raw_connect(s, (const struct sockaddr *)&name.addr, name.len) != 0)
		err = -errno;
	if (err != 0)
		raw_close(s);
	else
		*fd = s;
	return err;
}

bool
names_is_held(uint32_t number)
{
	bool held = false;
	int s;

	sockets_lock();
	s = open_socket();
	if (s >= 0) {
		held = bind_block(s, number >> NAMES_BLOCK_LOG) == -EADDRINUSE;
		raw_close(s);
	}
	sockets_unlock();
	return held;
}

int
names_owner(uint32_t number, struct ucred *owner)
{
	socklen_t len = sizeof(*owner);
	int s = -1, err;

	sockets_lock();
	err = names_connect(number, &s);
	if (err == 0) {
		if (getsockopt(s, SOL_SOCKET, SO_PEERCRED, owner, &len) != 0)
			err = -errno;
		raw_close(s);
	}
	sockets_unlock();
	return err;
}
