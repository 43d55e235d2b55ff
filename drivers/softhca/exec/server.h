/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The responder's end of messages of other processes: executes the records of a served connection.
 *
 * Each record is a run of its own: the QP and the keys are looked up again, and nothing is held
 * between two records. A message of one record is executed by responder_ask(). Of a longer message
 * the first record is checked: the receive, the range of the key, the rights. Then
 *
 *     a WRITE or SEND to plain memory    each record places its data
 *     a READ from plain memory           each answer reads its data
 *     a key converts the data            the data are gathered, and the message is executed once
 *
 * A message that is refused is answered at once. The rest of its data is dropped.
 */
#ifndef SOFTHCA_SERVER_H
#define SOFTHCA_SERVER_H

struct served;
struct softhca_lanes;

/*
 * Executes records and sends answers, until no record is left, or for a limited number of records.
 * Returns the number of records handled. Sets lanes->wire->unfinished if it must be called again
 * although no event of the connection comes. The caller holds wire->lock, inside a turn.
 */
unsigned int server_run(struct softhca_lanes *lanes, struct served *s);

#endif
