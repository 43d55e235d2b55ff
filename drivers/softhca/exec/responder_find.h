/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the QP of a message. */
#ifndef SOFTHCA_RESPONDER_FIND_H
#define SOFTHCA_RESPONDER_FIND_H

#include "message.h"
#include "run.h"

/*
 * Finds the message's QP and holds it in run->responder. Returns SYN_OK; MESSAGE_NO_PEER if the QP
 * is absent or not ready; or the requester's syndrome if the QP refuses the message.
 */
unsigned int responder_find(struct run *run, const struct message *m);

#endif
