/* SPDX-License-Identifier: BSD-3-Clause */
/* The QP that a message is for. */
#ifndef SOFTHCA_RESPONDER_FIND_H
#define SOFTHCA_RESPONDER_FIND_H

#include "message.h"
#include "run.h"

/*
 * Holds the QP that a message is for, in run->responder. SYN_OK; MESSAGE_NO_PEER: absent, or not
 * ready; or the requester's syndrome where the QP refuses the message.
 */
unsigned int responder_find(struct run *run, const struct message *m);

#endif
