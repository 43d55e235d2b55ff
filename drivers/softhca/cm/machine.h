/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state machine of the connection manager. It knows neither how messages travel nor how the
 * program's commands come.
 *
 *   ucma*.c      the program's commands          carrier.c    messages of other processes
 *        \                                          /     \
 *         v  machine_*()             machine_receive()     v  struct cm_carrier
 *   resolve.c   addresses, listening      active.c   the asking end
 *   finish.c    both ends: the end        passive.c  the answering end
 *        |
 *        v  notice.c   events             out.c      messages and times
 *
 * Source of states and events: IBTA volume 1, chapter 12, and the kernel's
 * drivers/infiniband/core/cma.c and cm.c. All functions need the lock of loop.h.
 */
#ifndef SOFTHCA_CM_MACHINE_H
#define SOFTHCA_CM_MACHINE_H

#include "id.h"

/* How messages travel. A link is a way to one partner, on which many ids can have connections. */
struct cm_carrier {
	/*
	 * Sends a message of the id, on the link of the id. If the id has no link, a request makes
	 * one. Returns 0; -ECONNREFUSED if nobody listens at the request's port; -EACCES if the
	 * partner is not allowed; or another -errno: the message may be sent again later.
	 */
	int (*send)(struct cm_id *id, const struct cm_message *m);
	/* Sends an answer to a message that no id of this process awaits. */
	void (*answer)(struct cm_link *link, const struct cm_message *m);
	/* The id uses the link. */
	void (*join)(struct cm_id *id, struct cm_link *link);
	/* The id uses its link no longer. It may have no link. */
	void (*leave)(struct cm_id *id);
	/* Returns the id whose partner has this communication id, or NULL. */
	struct cm_id *(*find)(const struct cm_link *link, uint32_t remote_comm);
};

void machine_init(const struct cm_carrier *carrier);

/* ---- the program's commands. They return 0 or -errno, as the kernel's. */

int machine_bind(struct cm_id *id, const struct sockaddr_in6 *addr);
/* src: its family is 0 if the program leaves the choice. */
int machine_resolve(struct cm_id *id, const struct sockaddr_in6 *src,
	const struct sockaddr_in6 *dst);
int machine_resolve_route(struct cm_id *id, uint32_t timeout_ms);
int machine_listen(struct cm_id *id, uint32_t backlog);
int machine_connect(struct cm_id *id, const struct rdma_ucm_conn_param *param,
	const struct rdma_ucm_ece *ece);
/* param: NULL if the program only finishes what it asked for. */
int machine_accept(struct cm_id *id, const struct rdma_ucm_conn_param *param,
	const struct rdma_ucm_ece *ece);
int machine_reject(struct cm_id *id, uint8_t reason, const uint8_t *private_data, uint8_t len);
int machine_disconnect(struct cm_id *id);
/* The program has seen a message of the connection: IBV_EVENT_COMM_EST. */
int machine_established(struct cm_id *id);
/*
 * Ends and frees the id, its events, and new connections that the program has not seen yet. fd: as
 * for file_take().
 */
void machine_destroy(struct cm_id *id, int fd);

/* ---- the carrier's calls */

void machine_receive(struct cm_link *link, const struct cm_message *m);
/* The link of the id is lost: its partner has ended. The id has left the link. */
void machine_lost(struct cm_id *id);
/* The time of an id has come: a loop_fire_fn. */
void machine_fire(void);

#endif
