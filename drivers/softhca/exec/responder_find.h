/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the QP of a message. */
#ifndef SOFTHCA_RESPONDER_FIND_H
#define SOFTHCA_RESPONDER_FIND_H

#include "message.h"
#include "run.h"

/*
 * Holds the message's QP in run->responder. SYN_OK; MESSAGE_NO_PEER: the QP is absent or not ready;
 * or the requester's syndrome, if the QP refuses the message.
 */
unsigned int responder_find(struct run *run, const struct message *m);

#endif
