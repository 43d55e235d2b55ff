/* SPDX-License-Identifier: BSD-3-Clause */
/* Which processes may exchange messages with this one. */
#ifndef SOFTHCA_WIRE_ALLOWED_H
#define SOFTHCA_WIRE_ALLOWED_H

#include <stdbool.h>

struct softhca_dev;

/*
 * True if the process at the other end of the connection has this process's user, or if the setting
 * wire_users allows other users. Otherwise a line is logged.
 */
bool wire_allows(const struct softhca_dev *dev, int fd);

/* Values of epoll_event.data: a kind, and a block or the number of a served connection. */
#define WIRE_EVENT_LINK   (UINT64_C(1) << 62)
#define WIRE_EVENT_SERVED (UINT64_C(2) << 62)
#define WIRE_EVENT_NAME   (UINT64_C(3) << 62)
#define WIRE_EVENT_KINDS  (UINT64_C(3) << 62)

#endif
