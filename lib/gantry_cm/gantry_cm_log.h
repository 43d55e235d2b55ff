/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's log type, the macro that writes a line of the log, and addresses as text. */
#ifndef GANTRY_CM_LOG_H
#define GANTRY_CM_LOG_H

#include <sys/socket.h>

#include <rte_log.h>

/* The number of the log type "lib.gantry_cm" (EAL's option --log-level). */
extern int gantry_cm_logtype;

/* Writes a line of the log. level: the end of a name RTE_LOG_*, for example ERR or WARNING. */
#define LOG(level, fmt, ...)                                                                       \
	rte_log(RTE_LOG_##level, gantry_cm_logtype, "gantry_cm: " fmt "\n", ##__VA_ARGS__)

/* An address as text: "192.0.2.2:7471" or "[2001:db8::1]:7471". */
struct gantry_cm_text {
	char text[64];
};

/* Returns the text of an IPv4 or IPv6 address. */
struct gantry_cm_text gantry_cm_text_of(const struct sockaddr *a);

#endif
