/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock between the sockets of this folder and fork(2). A child of fork(2) closes the sockets of
 * its parent, which it finds in the lists of struct wire. So a thread holds this lock from the call
 * that makes a socket until the socket is in a list, and from the removal from the list until the
 * socket is closed. fork(2) takes the lock first (wire_fork_prepare()), so the child finds all
 * sockets.
 *
 * A thread that holds the lock takes no other lock of the adapter, and waits for nobody. The
 * functions that send and receive do not take it.
 */
#ifndef SOFTHCA_SOCKETS_H
#define SOFTHCA_SOCKETS_H

void sockets_lock(void);
void sockets_unlock(void);

#endif
