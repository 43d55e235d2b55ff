/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The port spaces: which id has which number. They are those of the network namespace, as the
 * kernel's; port_name.h tells how processes share them. All functions need the lock of loop.h.
 */
#ifndef SOFTHCA_CM_PORTS_H
#define SOFTHCA_CM_PORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "id.h"

/*
 * Called by the thread when a process has connected to a port. The function accepts the connection.
 */
typedef void ports_connected_fn(int listening_fd);

void ports_init(ports_connected_fn *connected);
/*
 * Gives the id the number in id->src, or a free number if that is 0, which it writes there. asks:
 * the id will only send requests. Returns 0; -EACCES if the number is below 1024 and the process
 * lacks CAP_NET_BIND_SERVICE; -EADDRINUSE or -EADDRNOTAVAIL as rdma_bind_addr(3) of the kernel; or
 * another -errno.
 */
int port_bind(struct cm_id *id, bool asks);
/* Takes requests for the id. Returns 0 or an error as of port_bind(). */
int port_listen(struct cm_id *id);
/* Takes the id's number away, if it has one. */
void port_leave(struct cm_id *id);
/* Returns the id that listens at a port for this address, or NULL. */
struct cm_id *port_listener(uint16_t ps, const struct sockaddr_in6 *dst);
/* After a change of the effective user: the sockets that listen get the new user. */
void ports_user_changed(void);
/* In a child of fork(2): forgets all ports. */
void ports_fork_child(void);

#endif
