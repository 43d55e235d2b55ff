/* SPDX-License-Identifier: BSD-3-Clause */
/* The connecting end: one try to connect. */
#ifndef GANTRY_CM_CONNECT_H
#define GANTRY_CM_CONNECT_H

#include "gantry_cm_conn.h"

/* Begins a try with a new identifier. Returns 0, or logs and returns a negative errno. */
int gantry_cm_try(struct gantry_cm_conn *conn);

/* Sends the request, when the route is known. Returns as gantry_cm_try(). */
int gantry_cm_ask(struct gantry_cm_conn *conn);

#endif
