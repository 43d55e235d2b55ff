/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA netlink sockets of the program.
 *
 *   socket(AF_NETLINK, ..., NETLINK_RDMA) -> a Unix datagram socket that is connected to itself
 *   send   -> the requests are answered at once, and the answers are sent to the socket
 *   recv   -> the kernel's own call; so are poll(2), close(2), dup(2) and the options of SOL_SOCKET
 *
 * So no thread is needed, and no memory remains when the program closes the socket. Calls with
 * addresses answer as netlink(7) says. A socket is recognised by its inode, as a context is.
 */
#ifndef SOFTHCA_NL_SOCKET_H
#define SOFTHCA_NL_SOCKET_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Returns false if the program has no RDMA netlink socket, so that no lookup is needed. */
bool nl_sockets_exist(void);
/* True if the descriptor is an RDMA netlink socket. */
bool nl_socket_is(int fd);

/*
 * These functions do the same as the calls of these names, but return -errno. nl_socket_is(fd) must
 * be true.
 */
int nl_socket_open(int type);
int nl_socket_bind(int fd, const struct sockaddr *addr, socklen_t len);
int nl_socket_connect(int fd, const struct sockaddr *addr, socklen_t len);
int nl_socket_name(int fd, struct sockaddr *addr, socklen_t *len);
int nl_socket_set_option(int fd, int option, const void *value, socklen_t len);
/* Sends requests. to: the destination, or NULL. Returns the number of bytes, or -errno. */
ssize_t nl_socket_send(int fd, const struct iovec *iov, size_t n, const void *to, socklen_t to_len);
/* Call this after the program has read a datagram: queues more datagrams of an answer. */
void nl_socket_was_read(int fd);
/* Writes the source address of answers, which is the kernel's address. */
void nl_socket_source(struct sockaddr *addr, socklen_t *len);

/* Call these around fork(2). */
void nl_sockets_fork_prepare(void);
void nl_sockets_fork_done(void);

#endif
