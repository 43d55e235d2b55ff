/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The private data of rdma_cm's messages, as this library fills them.
 *
 *     byte      request (56 bytes)              answer (196)          rejection (148)
 *     0         'g'                             the same              the same
 *     1         version                         the same              the same
 *     2         bytes of the program's data     the same              bytes of the text
 *     3         position of the zeros           0                     0
 *     4         address without 20 zeros (44)   address (64)          text (144)
 *     behind    the program's data (8)          the same (128)
 *
 * A request has no room for a whole struct gantry_addr. But the address of an RC peer has 20 zeros
 * or more in one run. A request leaves out the first 20 zeros of the first such run, and byte 3
 * says where they were.
 */
#ifndef GANTRY_CM_DATA_H
#define GANTRY_CM_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "gantry_cm.h"

/* Most private bytes of each message. Source: rdma_connect(3), rdma_accept(3), rdma_reject(3). */
#define GANTRY_CM_REQ_LEN 56
#define GANTRY_CM_REP_LEN 196
#define GANTRY_CM_REJ_LEN 148

/* What a request or an answer says. */
struct gantry_cm_says {
	struct gantry_addr addr;
	uint32_t len; /* bytes of the program's data */
	uint8_t data[GANTRY_CM_ANSWER_LEN];
};

/*
 * Writes a request. Returns 0, or -EMSGSIZE if the address has too few zeros. The length of the
 * data is at most GANTRY_CM_REQUEST_LEN.
 */
int gantry_cm_request_pack(const struct gantry_cm_says *says, uint8_t bytes[GANTRY_CM_REQ_LEN]);

/* Reads a request. Returns 0, or -EPROTO if gantry_cm_request_pack() has not written it. */
int gantry_cm_request_unpack(const void *bytes, size_t len, struct gantry_cm_says *says);

/* Writes an answer. */
void gantry_cm_answer_pack(const struct gantry_cm_says *says, uint8_t bytes[GANTRY_CM_REP_LEN]);

/* Reads an answer. Returns 0, or -EPROTO if gantry_cm_answer_pack() has not written it. */
int gantry_cm_answer_unpack(const void *bytes, size_t len, struct gantry_cm_says *says);

/* Writes a rejection. reason: NULL, or a text that is cut at GANTRY_CM_REASON_LEN bytes. */
void gantry_cm_reject_pack(const char *reason, uint8_t bytes[GANTRY_CM_REJ_LEN]);

/*
 * Reads a rejection. Writes its text with a null byte; bytes that are not printable become '?'.
 * Returns the length of the text: 0 if there is none, or if gantry_cm_reject_pack() has not written
 * it.
 */
size_t gantry_cm_reject_unpack(const void *bytes, size_t len, char text[GANTRY_CM_REASON_LEN + 1]);

#endif
