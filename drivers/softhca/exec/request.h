/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message as the fields of a record (record.h): the requester's process writes them, and the
 * responder's process reads them.
 */
#ifndef SOFTHCA_REQUEST_H
#define SOFTHCA_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "message.h"
#include "record.h"

/* Sets all fields of the request, except for its head. */
void request_fill(struct record_request *r, const struct run *run, const struct message *m);
/*
 * Sets all fields of the message. payload: data of the message, or room for the data of a read, or
 * NULL for an atomic.
 */
void request_take(struct message *m, const struct record_request *r, const struct sg *payload);
/*
 * Returns false if no requester sends such a message. len: bytes of data in the request's own
 * record.
 */
bool request_is_possible(const struct record_request *r, uint64_t len);

/* False for UC and UD, whose senders await no answer. */
static inline bool
request_is_answered(const struct record_request *r)
{
	return r->type != SOFTHCA_QP_UC && r->type != SOFTHCA_QP_UD;
}

#endif
