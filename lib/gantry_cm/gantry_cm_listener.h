/* SPDX-License-Identifier: BSD-3-Clause */
/* A listener, and a request that it has given out. */
#ifndef GANTRY_CM_LISTENER_H
#define GANTRY_CM_LISTENER_H

#include <sys/types.h>

#include <rdma/rdma_cma.h>

#include "gantry_cm.h"
#include "gantry_cm_data.h"
#include "gantry_cm_log.h"

struct gantry_cm_listener {
	pid_t creator;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	uint32_t n_requests; /* requests that are not answered */
};

struct gantry_cm_request {
	struct gantry_cm_listener *listener;
	struct rdma_cm_id *id;
	/* The channel of the future connection; NULL: the id is on the listener's channel. */
	struct rdma_event_channel *channel;
	struct gantry_cm_says theirs;
	struct gantry_cm_text from; /* for the log */
};

/* Frees a request whose identifier has a new owner, or is destroyed. */
void gantry_cm_request_free(struct gantry_cm_request *r);

#endif
