/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requester's end of a message to another process (wire_adapter.h).
 *
 *     the WQE runs -> responder_ask() finds no QP in this process -> asker_ask() sends the message
 *     the WQE waits at the head: WAIT_CARRIER until all records are sent, then WAIT_ANSWER
 *     the answer is parked -> the page is visited -> the WQE runs again -> asker_ask() takes it
 *
 * So everything that may happen to a WQE that waits may happen now. If the QP fails or is reset,
 * ask_end() ends the message.
 */
#ifndef SOFTHCA_ASKER_H
#define SOFTHCA_ASKER_H

#include "message.h"
#include "run.h"

/*
 * Begins the message, or goes on with it. Returns as responder_ask(). With MESSAGE_UNDER_WAY, call
 * it again when asker_goes_on() is true. UC and UD messages succeed when they are sent.
 */
unsigned int asker_ask(struct run *run, const struct message *m, struct answer *answer);
/*
 * Called if memory of the WQE at the head is missing. A program may deregister the memory of a
 * message that is sent and has no answer yet, because a card has read the memory by then. If the
 * data are not needed again, a sink of the same length replaces them, and the result is SYN_OK. If
 * the data are still needed, the result is SYN_LOC_PROT.
 */
unsigned int asker_miss_memory(const struct run *run, const struct opcode *op, struct sg *sg);
/* How the WQE at the head waits, or how it waited before its message began (enum wait_kind). */
unsigned int asker_waited(const struct softhca_qp *qp);
/* Lets the WQE at the head wait for its message. */
void asker_wait(struct softhca_qp *qp);
/*
 * Called when the WQE at the head waits for its message. Returns true if the WQE must run now: an
 * answer has come, the connection is lost, or records must be sent.
 */
bool asker_goes_on(struct run *run);

#endif
