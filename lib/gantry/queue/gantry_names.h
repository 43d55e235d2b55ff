/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short names for telemetry. The names have only letters, digits and underscores, because telemetry
 * permits no other characters in keys. Any thread.
 */
#ifndef GANTRY_NAMES_H
#define GANTRY_NAMES_H

/*
 * Returns the name of an enum gantry_op in small letters, without GANTRY_OP_, for example "copy".
 * Returns "none" for 0, and "unknown" for a number that is no operation.
 */
const char *gantry_name_op(unsigned int op);
/* Returns the name of an enum gantry_status, without GANTRY_, for example "not_registered". */
const char *gantry_name_status(unsigned int status);
/* Returns the name of an enum gantry_conn_state, for example "ready". */
const char *gantry_name_conn_state(unsigned int state);
/* Returns the name of an enum gantry_transport, for example "rc". */
const char *gantry_name_transport(unsigned int transport);
/* Returns the name of an enum gantry_carrier, for example "cpu". */
const char *gantry_name_carrier(unsigned int carrier);

#endif
