/* SPDX-License-Identifier: BSD-3-Clause */
/* Which processes may exchange messages with this one. */
#ifndef SOFTHCA_WIRE_ALLOWED_H
#define SOFTHCA_WIRE_ALLOWED_H

#include <stdbool.h>
#include <sys/types.h>

struct softhca_dev;

/*
 * Sets *pid to the process at the other end of the connection, or to 0 if it is not known. Returns
 * true if this process has the same effective user, or if the setting wire_users allows other
 * users. Otherwise logs a line and returns false. The user of the other end is the user that it had
 * when it called connect(2), or listen(2) last: SO_PEERCRED, unix(7). A process that changes its
 * user calls listen(2) again.
 */
bool wire_allows(const struct softhca_dev *dev, int fd, pid_t *pid);

#endif
