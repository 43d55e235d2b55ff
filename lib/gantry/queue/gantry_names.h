/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short names for telemetry: letters, digits and underscores only, as it requires of keys. Any
 * thread.
 */
#ifndef GANTRY_NAMES_H
#define GANTRY_NAMES_H

/* enum gantry_op, without GANTRY_OP_: "copy". 0 is "none", other numbers are "unknown". */
const char *gantry_name_op(unsigned int op);
/* enum gantry_status, without GANTRY_: "not_registered". */
const char *gantry_name_status(unsigned int status);
/* enum gantry_conn_state: "ready". */
const char *gantry_name_conn_state(unsigned int state);
/* enum gantry_transport: "rc". */
const char *gantry_name_transport(unsigned int transport);
/* enum gantry_carrier: "cpu". */
const char *gantry_name_carrier(unsigned int carrier);

#endif
