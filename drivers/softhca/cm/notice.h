/* SPDX-License-Identifier: BSD-3-Clause */
/* Events for the program. All functions need the lock of loop.h. */
#ifndef SOFTHCA_CM_NOTICE_H
#define SOFTHCA_CM_NOTICE_H

#include "id.h"

/* Numbers of events: enum rdma_cm_event_type of rdma_cma.h. */
enum cm_event_type {
	EVENT_ADDR_RESOLVED,
	EVENT_ADDR_ERROR,
	EVENT_ROUTE_RESOLVED,
	EVENT_ROUTE_ERROR,
	EVENT_CONNECT_REQUEST,
	EVENT_CONNECT_RESPONSE,
	EVENT_CONNECT_ERROR,
	EVENT_UNREACHABLE,
	EVENT_REJECTED,
	EVENT_ESTABLISHED,
	EVENT_DISCONNECTED,
	EVENT_TIMEWAIT_EXIT = 15,
	EVENT_USER = 18,
	EVENT_INTERNAL = 19
};

/*
 * Sends an event about the id, unless the id is a new connection that the program has not accepted
 * yet. m: the message that caused the event, or NULL.
 */
void notice(struct cm_id *id, enum cm_event_type event, int status, const struct cm_message *m);
/*
 * Sends CONNECT_REQUEST to the program of a listener, with the new id `conn`. Returns false if
 * memory is short.
 */
bool notice_request(struct cm_id *listener, struct cm_id *conn, const struct cm_message *m);
/* Sends an event of the program's own (RDMA_USER_CM_CMD_WRITE_CM_EVENT). Returns 0 or -ENOMEM. */
int notice_own(struct cm_id *id, uint32_t event, uint32_t status, uint64_t arg);

#endif
