/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A stream that is a socket.
 */
#include "pair_stream.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct socket_stream {
	struct stream stream; /* must be the first field */
	int fd;
};

static int
fd_of(struct stream *s)
{
	return ((struct socket_stream *)s)->fd;
}

static ssize_t
socket_send(struct stream *s, const void *data, size_t len)
{
	return send(fd_of(s), data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static ssize_t
socket_recv(struct stream *s, void *data, size_t len)
{
	return recv(fd_of(s), data, len, MSG_DONTWAIT);
}

static void
socket_wait(struct stream *s, bool to_send, int timeout_ms)
{
	struct pollfd p = {.fd = fd_of(s), .events = to_send ? POLLOUT : POLLIN};

	poll(&p, 1, timeout_ms);
}

static void
socket_close(struct stream *s)
{
	close(fd_of(s));
	free(s);
}

struct stream *
stream_of_socket(int fd)
{
	struct socket_stream *s = malloc(sizeof(*s));

	if (s == NULL) {
		close(fd);
		return NULL;
	}
	*s = (struct socket_stream){{socket_send, socket_recv, socket_wait, socket_close}, fd};
	return &s->stream;
}
