/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands that programs write to /dev/infiniband/rdma_cm: uapi rdma/rdma_user_cm.h. Each
 * command has a row in a table. Source of sizes and errors: the kernel's
 * drivers/infiniband/core/ucma.c.
 */
#ifndef SOFTHCA_CM_UCMA_H
#define SOFTHCA_CM_UCMA_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/rdma_user_cm.h>

#include "id.h"

/* Commands that are missing in the headers of the build machine. Source: Linux 6.18. */
enum ucma_newer {
	UCMA_RESOLVE_IB_SERVICE = 23,
	UCMA_WRITE_CM_EVENT = 24,
	UCMA_N_COMMANDS
};

struct ucma_write_cm_event {
	uint32_t id, reserved;
	uint32_t event, status;
	uint64_t arg;
};

union ucma_in {
	struct rdma_ucm_create_id create_id;
	struct rdma_ucm_destroy_id destroy_id;
	struct rdma_ucm_bind_ip bind_ip;
	struct rdma_ucm_resolve_ip resolve_ip;
	struct rdma_ucm_resolve_route resolve_route;
	struct rdma_ucm_query query_route;
	struct rdma_ucm_connect connect;
	struct rdma_ucm_listen listen;
	struct rdma_ucm_accept accept;
	struct rdma_ucm_reject reject;
	struct rdma_ucm_disconnect disconnect;
	struct rdma_ucm_init_qp_attr init_qp_attr;
	struct rdma_ucm_get_event get_event;
	struct rdma_ucm_set_option set_option;
	struct rdma_ucm_notify notify;
	struct rdma_ucm_migrate_id migrate_id;
	struct ucma_write_cm_event write_cm_event;
};

/* A command that runs. The lock of loop.h is held. */
struct ucma_call {
	struct cm_file *file;
	int fd;           /* the program's descriptor of the file */
	union ucma_in in; /* bytes that the program did not send are zero */
	size_t out_len;   /* bytes that the program has room for */
};

struct ucma_command {
	/* Returns 0 or -errno. NULL: the command gets `error`. */
	int (*run)(struct ucma_call *call);
	size_t in_min, out_min; /* EINVAL and ENOSPC if the program has less */
	int error;
};

/* ucma_find.c. Finds an id of the call's file. Returns 0, -ENOENT or -EINVAL. */
int ucma_id(const struct ucma_call *call, uint32_t handle, struct cm_id **id);
/* As ucma_id(), but also -EINVAL for an id that has no port of an adapter yet. */
int ucma_id_at_port(const struct ucma_call *call, uint32_t handle, struct cm_id **id);

/* ucma_id.c */
int ucma_create_id(struct ucma_call *call);
int ucma_destroy_id(struct ucma_call *call);
int ucma_migrate_id(struct ucma_call *call);
int ucma_bind_ip(struct ucma_call *call);
int ucma_resolve_ip(struct ucma_call *call);
int ucma_resolve_route(struct ucma_call *call);
int ucma_query_route(struct ucma_call *call);
int ucma_set_option(struct ucma_call *call);
/* ucma_conn.c */
int ucma_listen(struct ucma_call *call);
int ucma_connect(struct ucma_call *call);
int ucma_accept(struct ucma_call *call);
int ucma_reject(struct ucma_call *call);
int ucma_disconnect(struct ucma_call *call);
int ucma_init_qp_attr(struct ucma_call *call);
int ucma_notify(struct ucma_call *call);
int ucma_write_cm_event(struct ucma_call *call);
int ucma_no_multicast(struct ucma_call *call);

/* Returns the command's row, or NULL if no such command exists. */
const struct ucma_command *ucma_find(uint32_t number);
/*
 * GET_EVENT, which may wait: the lock must not be held. Returns 0 or -errno. May be a cancellation
 * point.
 */
int ucma_get_event(int fd, const struct rdma_ucm_get_event *in, size_t out_len);

#endif
