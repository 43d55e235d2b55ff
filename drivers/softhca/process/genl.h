/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generic netlink families that a program asks the machine's kernel for, and that do not know the
 * adapter: devlink, vdpa. A line on stderr says so, once.
 */
#ifndef SOFTHCA_GENL_H
#define SOFTHCA_GENL_H

#include <sys/uio.h>

/* The program has opened a socket of generic netlink. */
void genl_opened(void);
/* The program sends this to a socket. Any thread; errno stays. */
void genl_note(int fd, const struct iovec *iov, size_t n);

#endif
