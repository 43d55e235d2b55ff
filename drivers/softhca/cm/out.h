/* SPDX-License-Identifier: BSD-3-Clause */
/* What the state machine sends, and when it looks at an id again. */
#ifndef SOFTHCA_CM_OUT_H
#define SOFTHCA_CM_OUT_H

#include "machine.h"

/* Returns the carrier of machine_init(). */
const struct cm_carrier *out_carrier(void);
/* Begins a message from the id to its partner. */
struct cm_message out_begin(const struct cm_id *id, enum cm_kind kind);
/* Sets the private data. Returns false if they are longer than the message has room for. */
bool out_private(struct cm_message *m, const uint8_t *data, uint8_t len);
/* Sends a message of one kind, without more fields than its kind needs. */
void out_send(struct cm_id *id, enum cm_kind kind);
void out_reject(struct cm_id *id, enum cm_reason reason);

/* ms until the machine gives up waiting for a partner, and between two requests. */
uint64_t out_patience_ms(const struct cm_id *id);
uint64_t out_interval_ms(const struct cm_id *id);
/* Lets the machine look at the id after this time. 0: no longer. */
void out_wait(struct cm_id *id, uint64_t ms);

/* The id has no connection, and needs no link, any more. */
void out_end(struct cm_id *id);
/* The id waits until late messages of its connection have died, and then has no connection. */
void out_timewait(struct cm_id *id);

#endif
