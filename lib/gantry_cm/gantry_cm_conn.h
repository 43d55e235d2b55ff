/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection: its struct, and the steps that both ends share. */
#ifndef GANTRY_CM_CONN_H
#define GANTRY_CM_CONN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <rdma/rdma_cma.h>

#include "gantry_cm.h"
#include "gantry_cm_data.h"
#include "gantry_cm_log.h"

/* What a connection waits for. */
enum gantry_cm_step {
	GANTRY_CM_STEP_PAUSE,  /* connecting end: the time of the next try */
	GANTRY_CM_STEP_ADDR,   /* connecting end: ADDR_RESOLVED */
	GANTRY_CM_STEP_ROUTE,  /* connecting end: ROUTE_RESOLVED */
	GANTRY_CM_STEP_ASKED,  /* connecting end: CONNECT_RESPONSE */
	GANTRY_CM_STEP_ANSWER, /* listening end: ESTABLISHED */
	GANTRY_CM_STEP_DONE,   /* both ends: DISCONNECTED */
};

struct gantry_cm_conn {
	pid_t creator;
	struct gantry_queue *q;
	/* Settings. mine: the program's data, and the address of the peer when it is open. */
	struct gantry_peer_conf peer_conf;
	struct gantry_cm_says mine;
	uint32_t timeout_ms;
	bool wait_for_listener;
	void (*opened)(void *arg, struct gantry_queue *q, uint16_t peer);
	void *arg;

	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;      /* NULL: this attempt, or the connection, is over */
	struct sockaddr_storage to; /* connecting end: the listener's address */
	struct gantry_cm_text far;  /* the address of the other end, for the log */
	enum gantry_cm_step step;
	enum gantry_cm_state state, told; /* told: what gantry_cm_poll() has returned */
	int error;                        /* negative errno; 0: the connection has not failed */
	uint64_t end_ms, again_ms;        /* time of the failure; time of the next try */
	bool waits;                       /* a line of the log says that nobody listens */
	bool has_peer;
	uint16_t peer;
	struct gantry_cm_says theirs; /* of the other end */
	struct sockaddr_storage local, remote;
};

/*
 * Allocates a connection, and checks and copies the settings. most: the most bytes of data. Returns
 * 0, or logs and returns a negative errno.
 */
int gantry_cm_conn_alloc(struct gantry_queue *q, const struct gantry_cm_conf *conf, uint32_t most,
	struct gantry_cm_conn **conn);

/*
 * Opens the peer with the path of the identifier's address, once. Returns 0, or logs and returns a
 * negative errno.
 */
int gantry_cm_conn_open(struct gantry_cm_conn *conn);

/* Connects the peer to the address of the other end. Returns as gantry_cm_conn_open(). */
int gantry_cm_conn_join(struct gantry_cm_conn *conn);

/* Notes the addresses of both ends of the identifier. */
void gantry_cm_conn_note(struct gantry_cm_conn *conn);

/* Ends the connection with an error, and tells the other end why. */
void gantry_cm_conn_fail(struct gantry_cm_conn *conn, int error, const char *why);

/* Frees a connection whose peer is closed. */
void gantry_cm_conn_free(struct gantry_cm_conn *conn);

#endif
