/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Claims blocks of QP numbers, and finds the process that has a number. All processes of a network
 * namespace share the 24-bit numbers of QPs, in blocks of 4096: block = number >> 12. A process has
 * a block while it listens on the abstract socket "softhca/qpn/BLOCK" (unix(7)), with the block in
 * decimal. The kernel gives a name to one socket only. It frees the name when the socket's last
 * descriptor is closed, also when the process dies. Block 0 has reserved numbers and the last block
 * has the number of multicast, so these two blocks cannot be claimed.
 *
 *     names_claim(&block, &fd)        a process takes numbers block << 12 and the 4095 after it
 *     names_connect(number, &fd)      another process connects to it; it accepts from the first fd
 *     close(fd)                       the block is free again
 *
 * All functions may be called from any thread. None waits or is a cancellation point, except for
 * the log. All sockets are SOCK_SEQPACKET, nonblocking, and closed by execve(2). In a process that
 * may fork, a caller of names_claim() or names_connect() holds sockets_lock() (sockets.h) until a
 * child of fork(2) can find the socket. The other two functions take this lock themselves.
 */
#ifndef SOFTHCA_NAMES_H
#define SOFTHCA_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct ucred;

#define NAMES_BLOCK_LOG   12
#define NAMES_BLOCK_FIRST 1u
#define NAMES_BLOCK_END   0xfffu /* the last block that can be claimed, plus 1 */

/*
 * Claims a free block. The search begins at a random block. The caller closes *fd, the listening
 * socket, to free the block. Returns 0, -ENOMEM if no block is free, or another -errno; for
 * example -EMFILE if the process has too few descriptors. The first error of each kind is logged.
 */
int names_claim(uint32_t *block, int *fd);

/*
 * Connects a socket to the process that has the number. The caller closes *fd. Returns 0,
 * -ECONNREFUSED if no process has the number, -EAGAIN if the process has not accepted enough of its
 * earlier connections (call again later), or another -errno. The first -EMFILE is logged.
 */
int names_connect(uint32_t number, int *fd);

/*
 * True if a process has the number, also if this process has it. False if this process has no
 * descriptor left. The function makes no connection: it binds a socket to the block's name, and
 * closes the socket. So if two processes call it for a free number at the same time, one of them
 * may get true.
 */
bool names_is_held(uint32_t number);

/*
 * Gets the process, user and group that claimed the number's block. For this, makes and closes a
 * connection. Returns 0, or an error of names_connect().
 */
int names_owner(uint32_t number, struct ucred *owner);

#endif
