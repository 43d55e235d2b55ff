/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ids of the connection manager (rdma_create_id(3)), and the table of them. All functions need the
 * lock of loop.h.
 */
#ifndef SOFTHCA_CM_ID_H
#define SOFTHCA_CM_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "address.h"
#include "cm_message.h"
#include "file.h"
#include "place.h"

struct cm_link;
struct cm_port;
struct resource;

/*
 * What the program has done with the id. The numbers are those of the kernel's enum rdma_cm_state,
 * which `rdma res show cm_id` shows.
 */
enum cm_state {
	STATE_IDLE = 0,
	STATE_ADDR_RESOLVED = 2,
	STATE_ROUTE_RESOLVED = 4,
	STATE_CONNECT = 5,
	STATE_DISCONNECT = 6,
	STATE_ADDR_BOUND = 7,
	STATE_LISTEN = 8
};

/* The state of the id's connection: IBTA volume 1, section 12.9.7. */
enum cm_conn {
	CONN_NONE,
	CONN_REQ_SENT,
	CONN_REQ_HELD, /* an MRA has come */
	CONN_REQ_RCVD,
	CONN_REP_SENT,
	CONN_REP_RCVD,
	CONN_ESTABLISHED,
	CONN_DREQ_SENT,
	CONN_DREQ_RCVD,
	CONN_TIMEWAIT,
	CONN_SIDR_SENT,
	CONN_SIDR_RCVD
};

struct cm_id {
	uint32_t handle; /* the program's number of the id */
	uint32_t comm;   /* communication id, different for each id of this process */
	struct cm_file *file;
	uint64_t uid; /* names the id in events; 0: events are dropped */
	uint32_t events_reported;
	uint16_t ps; /* RDMA_PS_TCP or RDMA_PS_UDP */
	enum cm_state state;
	enum cm_conn conn;

	/* Options. */
	bool reuse, afonly, afonly_set, has_timeout;
	uint8_t tos, timeout;

	/* Addresses; a family of 0: not set. */
	struct sockaddr_in6 src, dst;
	struct cm_place place; /* port of src */
	bool has_path;
	struct cm_port *port; /* the number that src has in the port space, or NULL */
	struct cm_id *next_of_port;

	/* A listener: room for further requests. */
	uint32_t backlog;

	/* The connection. */
	uint32_t remote_comm;
	uint8_t remote_gid[16];
	uint16_t remote_lid;
	uint32_t psn, remote_psn; /* first PSN that this end expects, and that it sends */
	uint32_t qpn, remote_qpn;
	uint8_t responder_resources, initiator_depth, retry, rnr_retry, mtu;
	struct cm_message *request; /* the request of this end, while it may be sent again */
	uint64_t due;               /* device time at which the machine looks at the id, or 0 */
	uint64_t end;               /* device time until which the partner may answer */
	bool hurried;               /* the request was sent again after a lost connection */

	/* The carrier's. */
	struct cm_link *link;
	struct cm_id *next_of_link, **at_link;

	struct resource *shown; /* for `rdma res show cm_id` */
};

/* True if the id is for UD queue pairs. */
static inline bool
id_is_ud(const struct cm_id *id)
{
	return id->ps != RDMA_PS_TCP;
}

/* Makes an id with the lowest free handle. Returns NULL if memory or random numbers are short. */
struct cm_id *id_create(struct cm_file *file, uint64_t uid, uint16_t ps);
/* Removes the id from the table and frees it. */
void id_free(struct cm_id *id);
struct cm_id *id_of(uint32_t handle);
struct cm_id *id_of_comm(uint32_t comm);
/* Returns the id with the lowest handle from `from` on, or NULL. */
struct cm_id *id_next(uint32_t from);
/* In a child of fork(2): forgets all ids. */
void id_fork_child(void);

#endif
