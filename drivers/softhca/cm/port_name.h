/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of sockets by which the processes of a network namespace share the numbers of ports. A
 * process has a port while one of its sockets has the port's name: the abstract name (unix(7))
 * "softhca/cm/tcp/NUMBER" or "softhca/cm/udp/NUMBER". The kernel gives a name to one socket only,
 * and frees it when the process ends. Who has a request for the port connects to the name.
 *
 *     port_name_claim(ps, NAME_PORT, number, &fd)   the process has the port
 *     listen(fd)                                the process takes requests
 *     port_name_connect(ps, number, &fd)            another process sends requests
 *
 * Two more kinds of names are never connected to: blocks of PORT_BLOCK numbers, from which a
 * process takes the numbers of its asking ends; and the mark of a port that ids of several
 * processes may have (RDMA_OPTION_ID_REUSEADDR).
 *
 * The sockets are SOCK_SEQPACKET, nonblocking and closed by execve(2). No function waits.
 */
#ifndef SOFTHCA_CM_PORT_NAME_H
#define SOFTHCA_CM_PORT_NAME_H

#include <stdint.h>

#define PORT_BLOCK 64u

enum port_name {
	NAME_PORT,
	NAME_BLOCK,
	NAME_SHARED
};

/* Returns 0, -EADDRINUSE if another socket has the name, or another -errno. */
int port_name_claim(uint16_t ps, enum port_name kind, uint32_t number, int *fd);
/*
 * Returns 0; -ECONNREFUSED if no process listens at the port; -EAGAIN if the process has not
 * accepted enough earlier connections; or another -errno.
 */
int port_name_connect(uint16_t ps, uint32_t number, int *fd);

#endif
