/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The responder's end of messages of other processes: executes the records of a served connection.
 *
 * Each record has its own struct run: the QP and the keys are looked up again, and no lock is held
 * between two records. responder_ask() executes a message of one record. For a longer message, the
 * first record causes the checks: the receive, the range of the key, the rights. Then
 *
 *     a WRITE or SEND to plain memory    each record places its data
 *     a READ from plain memory           each answer reads its data
 *     a key converts the data            the data are gathered, and the message is executed once
 *
 * A refused message is answered at once, and the rest of its data is dropped.
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
