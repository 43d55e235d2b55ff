/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The carrier between processes of one host: SOCK_SEQPACKET connections to the names of ports.
 *
 *   asking process                                      listening process
 *   id \                                                / id
 *   id -- link -- connect(2) "softhca/cm/tcp/7471" -- link -- id
 *   id /         records (cm_record.h), both ways          \ id
 *
 * All connections to one port share a link. The asking process closes it when none of its ids uses
 * it. A process may only use the ids on the link on which it sends, and must have the same user,
 * unless the setting wire_users allows others (wire/allowed.h). If a process dies, the kernel
 * closes its links, and the ids of its partners are told by machine_lost().
 *
 * The functions need the lock of loop.h.
 */
#ifndef SOFTHCA_CM_CARRIER_H
#define SOFTHCA_CM_CARRIER_H

#include "machine.h"

extern const struct cm_carrier carrier;

/* Call this before the first id is made. */
void carrier_start(void);
/* Accepts the connections that wait at a listening socket: a ports_connected_fn. */
void carrier_accept(int listening_fd);
/* In a child of fork(2): closes the parent's links. */
void carrier_fork_child(void);

#endif
