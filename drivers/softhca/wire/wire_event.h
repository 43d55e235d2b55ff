/* SPDX-License-Identifier: BSD-3-Clause */
/* What an event of the epoll struct wire::poll_fd is about. */
#ifndef SOFTHCA_WIRE_EVENT_H
#define SOFTHCA_WIRE_EVENT_H

#include <stdint.h>

/* Values of epoll_event.data: a kind, and a block or the number of a served connection. */
#define WIRE_EVENT_LINK   (UINT64_C(1) << 62)
#define WIRE_EVENT_SERVED (UINT64_C(2) << 62)
#define WIRE_EVENT_NAME   (UINT64_C(3) << 62)
#define WIRE_EVENT_KINDS  (UINT64_C(3) << 62)

#endif
