/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A stream of bytes between two processes: a socket, or messages over a peer (pair_rdma.h).
 */
#ifndef TESTGANTRY_PAIR_STREAM_H
#define TESTGANTRY_PAIR_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** A stream, and its functions. None of them waits, except `wait` and `close`. */
struct stream {
	/**
	 * Sends as many bytes as possible. Returns how many. Returns -1 with errno EAGAIN if none
	 * can be sent now, or -1 with another errno if the other process has ended.
	 */
	ssize_t (*send)(struct stream *s, const void *data, size_t len);
	/**
	 * Returns how many bytes were received, or 0 if the other process has ended. Returns -1
	 * with errno EAGAIN if no byte has come.
	 */
	ssize_t (*recv)(struct stream *s, void *data, size_t len);
	/** Waits until bytes have come, or, if to_send is true, until bytes can be sent. */
	void (*wait)(struct stream *s, bool to_send, int timeout_ms);
	/** Frees the stream. Bytes that were sent before still arrive. */
	void (*close)(struct stream *s);
};

/** Takes over a connected socket. Returns NULL, and closes the socket, if there is no memory. */
struct stream *stream_of_socket(int fd);

#endif
