/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short names for telemetry. The names have only letters, digits and underscores, because telemetry
 * permits no other characters in keys. Any thread.
 */
#ifndef GANTRY_NAMES_H
#define GANTRY_NAMES_H

/*
 * The name of an enum gantry_op in small letters, without GANTRY_OP_: "copy". 0 is "none". A number
 * that is no operation is "unknown".
 */
const char *gantry_name_op(unsigned int op);
/* The name of an enum gantry_status, without GANTRY_: "not_registered". */
const char *gantry_name_status(unsigned int status);
/* The name of an enum gantry_conn_state: "ready". */
const char *gantry_name_conn_state(unsigned int state);
/* The name of an enum gantry_transport: "rc". */
const char *gantry_name_transport(unsigned int transport);
/* The name of an enum gantry_carrier: "cpu". */
const char *gantry_name_carrier(unsigned int carrier);

#endif
