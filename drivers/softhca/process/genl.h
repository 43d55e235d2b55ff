/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests to generic netlink families of the machine's kernel that do not know the adapter:
 * devlink, vdpa. A line on stderr says so, once.
 */
#ifndef SOFTHCA_GENL_H
#define SOFTHCA_GENL_H

#include <sys/uio.h>

/* Call when the program has opened a socket of generic netlink. */
void genl_opened(void);
/* Call when the program sends a request to a socket. Any thread; errno is kept. */
void genl_note(int fd, const struct iovec *iov, size_t n);

#endif
