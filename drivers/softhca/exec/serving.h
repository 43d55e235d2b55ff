/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions for every message of another process while it is executed: a run for each record, the
 * counters, and the answer.
 */
#ifndef SOFTHCA_SERVING_H
#define SOFTHCA_SERVING_H

#include "message.h"
#include "run.h"
#include "served.h"

/*
 * Begins the run of a record. life: the QP's `life` when the message began; 0 for the first record
 * of a message.
 */
void serving_begin(struct run *run, struct softhca_lanes *lanes, const struct record_request *r,
	uint32_t life);
/*
 * Ends the run of a record. The PSVs of keys keep their values if the result is not SYN_OK.
 * Releases all locks of the run.
 */
void serving_end(struct run *run, unsigned int result);
/*
 * Counts a message of len bytes that was executed, or for which no receive was posted. The caller
 * has not ended the run.
 */
void serving_count(struct run *run, const struct message *m, unsigned int result, uint64_t len);

static inline struct record_answer *
serving_answer(struct served *s)
{
	return (struct record_answer *)(void *)s->out;
}

/* Puts an answer into s->out. len: bytes of a read's data, which follow the answer already. */
void serving_put(struct served *s, const struct record_request *r, unsigned int result,
	const struct answer *answer, uint64_t off, uint64_t len, bool last);
/* Puts the last answer to a message into s->out, without data. UC and UD get no answer. */
void serving_end_message(struct served *s, const struct record_request *r, unsigned int result,
	const struct answer *answer);
/*
 * Keeps an unreliable message in s->in while a fault on demand delays it, because its sender does
 * not send it again. Returns false if the message is not delayed, or if it is reliable: then an
 * answer tells the sender to send it again.
 */
bool serving_keep_late(struct served *s, unsigned int result, const struct answer *answer);

#endif
