/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests to generic netlink families of the machine's kernel that do not see the adapter:
 * devlink, vdpa. For such a request a line is logged on stderr, once.
 */
#ifndef SOFTHCA_GENL_H
#define SOFTHCA_GENL_H

#include <sys/uio.h>

/* Call this when the program has opened a socket of generic netlink. */
void genl_opened(void);
/*
 * Call this when the program sends a request to a socket. Any thread may call it; errno does not
 * change.
 */
void genl_note(int fd, const struct iovec *iov, size_t n);

#endif
