/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of librdmacm: event channels that do not block, events, addresses, and the path that an
 * address means. Functions that return int return 0 or a negative errno, and log failures.
 */
#ifndef GANTRY_CM_RDMA_H
#define GANTRY_CM_RDMA_H

#include <stdbool.h>
#include <stdint.h>

#include <rdma/rdma_cma.h>

#include "gantry_cm.h"

/* An event, as rdma_get_cm_event(3) has it, but acknowledged. */
struct gantry_cm_event {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id; /* of a CONNECT_REQUEST: the new identifier */
	size_t len;            /* bytes in `data` */
	uint8_t data[256];     /* private data */
};

/* Returns the time of CLOCK_MONOTONIC in milliseconds. */
uint64_t gantry_cm_now_ms(void);

/* Returns 0, or logs and returns -ECHILD if `creator` is not this process. */
int gantry_cm_check_process(int creator);

/* Creates an event channel. rdma_get_cm_event(3) does not block on it. */
int gantry_cm_channel_create(struct rdma_event_channel **channel);

/*
 * Takes the next event and acknowledges it. Returns 1, 0 if there is no event, or a negative errno.
 */
int gantry_cm_event_take(struct rdma_event_channel *channel, struct gantry_cm_event *e);

/*
 * Waits until the channel has an event, at most timeout_ms milliseconds; -1: without limit. Returns
 * false if a signal handler has ended the wait.
 */
bool gantry_cm_event_wait(const struct rdma_event_channel *channel, int timeout_ms);

/* Finds the address of a host and a port. passive: to listen there. */
int gantry_cm_address_find(const char *host, const char *port, bool passive,
	struct sockaddr_storage *a);

/* Logs the call of librdmacm that failed with errno. Returns -errno. */
int gantry_cm_failed(const char *call);

/* Returns the name of the device of an identifier that belongs to one. */
const char *gantry_cm_device_of(const struct rdma_cm_id *id);

/* Checks that the identifier belongs to the device of the queue's engine. Returns 0 or -EXDEV. */
int gantry_cm_device_check(const struct rdma_cm_id *id, const struct gantry_queue *q);

/*
 * Fills the port and the GID index of a peer's path from the identifier's address, unless the path
 * has them.
 */
void gantry_cm_path_fill(const struct rdma_cm_id *id, struct gantry_path *path);

/* Returns what both ends tell each other about a queue pair. rdma_cm gives it to nobody else. */
struct rdma_conn_param gantry_cm_param(uint32_t qp_num, const uint8_t *data, size_t len);

#endif
