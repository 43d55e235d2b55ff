/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends the records of a message to another process. Private to asker.c. */
#ifndef SOFTHCA_ASKER_SEND_H
#define SOFTHCA_ASKER_SEND_H

#include "ask.h"
#include "message.h"
#include "run.h"

/* True if a key of this adapter converts the data. Then the data must be moved as a whole. */
bool asker_is_converted(const struct run *run, const struct message *m);
/*
 * If keys of this adapter convert outgoing data, converts the data into ask->whole. Returns SYN_OK,
 * or sets answer->vendor and returns a syndrome. Data that are converted, also the data of a read,
 * have a maximum length.
 */
unsigned int asker_convert(struct run *run, const struct message *m, struct ask *ask,
	struct answer *answer);
/*
 * Sends records until all are sent. payload: the data, unless ask->whole has them. Returns 0, or
 * the error of the record that was not sent: -EAGAIN also after a limited number of records.
 */
int asker_send_records(struct run *run, struct ask *ask, const struct sg *payload);

#endif
