/* SPDX-License-Identifier: BSD-3-Clause */
/* Executes messages whose data need several records: server_long.h. */
#include "server_long.h"

#include <string.h>

#include "log.h"
#include "move.h"
#include "opcode_table.h"
#include "request.h"
#include "responder_fail.h"
#include "responder_find.h"
#include "responder_memory.h"
#include "responder_receive.h"
#include "serving.h"
#include "wire_adapter.h"

/* A result that is used only in this file: memory for the message is short, so try again later. */
#define RESULT_LATER 0x200u

/* ---- the first record */

static unsigned int
too_long(struct run *run, const struct record_request *r)
{
	static atomic_bool said;

	if (!atomic_exchange(&said, true))
		softhca_log("wire: a message of %llu bytes of another process is for a key with a "
			    "signature or encryption: the setting wire_message allows %llu bytes",
			(unsigned long long)r->head.total,
			(unsigned long long)run->lanes->dev->cfg->wire_message);
	run->use.vendor = VEN_LENGTH;
	return responder_fail(run, SYN_REM_OP);
}

/* Finds all memory of the message. If the message uses a receive, checks this receive. */
static unsigned int
find_memory(struct run *run, const struct message *m, const struct served *s, struct sg *memory)
{
	const uint64_t total = s->request.head.total;

	if (m->op->remote_access == 0)
		return responder_claim(run, s->number, total, false, memory);
	if (m->op->recv != 0 && !responder_has_receive(run))
		return MESSAGE_RNR;
	return responder_gather(run, m, total, memory);
}

/*
 * Decides how the data of the message move: s->part. A read from a key that converts data is
 * executed here: into s->whole.
 */
static unsigned int
choose_part(struct run *run, const struct message *m, struct served *s, const struct sg *memory)
{
	const uint64_t total = s->request.head.total;
	struct sg whole;

	s->part = m->op->kind == MESSAGE_READ ? PART_READ : PART_PLACE;
	if (!run->use.converts && (memory->rare & ACC_CIPHERED) == 0)
		return SYN_OK;
	if (total > run->lanes->dev->cfg->wire_message)
		return too_long(run, &s->request);
	if (!served_alloc_whole(s, total))
		return RESULT_LATER;
	if (s->part == PART_PLACE) {
		s->part = PART_GATHER;
		return SYN_OK;
	}
	sg_set(&whole, s->whole, total);
	run_drop_cq(run);
	return key_use_move(&run->use, &whole, memory) == SG_MOVED
		       ? SYN_OK
		       : responder_refuse_memory(run, m);
}

/*
 * Checks a message of several records. Returns RESULT_LATER if there is too little memory now to
 * gather the message's data.
 */
static unsigned int
check_long(struct softhca_lanes *lanes, struct served *s, struct answer *answer)
{
	struct message m;
	struct sg memory, none;
	unsigned int result;
	struct run run;

	sg_clear(&none);
	request_take(&m, &s->request, &none);
	serving_begin(&run, lanes, &s->request, 0);
	result = responder_find(&run, &m);
	if (result == SYN_OK)
		s->life = run.responder.qp->life;
	if (result == SYN_OK)
		result = find_memory(&run, &m, s, &memory);
	if (result == SYN_OK)
		result = choose_part(&run, &m, s, &memory);
	responder_explain(&run, result, answer);
	serving_count(&run, &m, result == SYN_OK ? RESULT_LATER : result, 0);
	/* Only the conversion of a read changes PSVs here. */
	serving_end(&run, s->part == PART_READ ? result : RESULT_LATER);
	return result;
}

/* ---- the data of writes and SENDs */

static unsigned int
place_write(struct run *run, struct message *m, const struct served *s, uint64_t len, bool last,
	struct answer *answer)
{
	const struct opcode *op = m->op;
	unsigned int result;

	/* Each record is placed as a plain WRITE. The receive completes after the last record. */
	m->op = &opcodes[OPC_WRITE];
	m->va += s->moved;
	result = responder_ask(run, m, answer);
	m->op = op;
	if (result == SYN_OK && last && op->recv != 0) {
		result = responder_end_write(run, m, s->moved + len, answer);
		responder_explain(run, result, answer);
	}
	return result;
}

static unsigned int
place_send(struct run *run, const struct message *m, const struct served *s, struct answer *answer)
{
	const struct send_part part = {.sender = s->number,
		.off = s->moved,
		.total = s->request.head.total};
	unsigned int result = responder_find(run, m);

	if (result == SYN_OK)
		result = respond_send_part(run, m, &part, answer);
	responder_explain(run, result, answer);
	return result;
}

/* Executes the message whose data are gathered. */
static unsigned int
run_gathered(struct run *run, struct message *m, struct served *s, struct answer *answer)
{
	struct sg whole;

	sg_set(&whole, s->whole, s->request.head.total);
	m->payload = &whole;
	return responder_ask(run, m, answer);
}

/* Moves the data of one record. Returns SYN_OK, or the result with which the message ends. */
static unsigned int
move_data(struct softhca_lanes *lanes, struct served *s, const uint8_t *data, uint64_t len,
	struct answer *answer)
{
	const bool last = s->moved + len == s->request.head.total;
	struct sg payload;
	struct message m;
	unsigned int result;
	struct run run;

	if (s->part == PART_GATHER)
		memcpy(s->whole + s->moved, data, len);
	if (s->part == PART_GATHER && !last)
		return SYN_OK;
	sg_set(&payload, (void *)(uintptr_t)data, len);
	request_take(&m, &s->request, &payload);
	serving_begin(&run, lanes, &s->request, s->life);
	if (s->part == PART_GATHER)
		result = run_gathered(&run, &m, s, answer);
	else if (m.op->remote_access != 0)
		result = place_write(&run, &m, s, len, last, answer);
	else
		result = place_send(&run, &m, s, answer);
	if (last || result != SYN_OK)
		serving_count(&run, &m, result, s->request.head.total);
	serving_end(&run, result);
	return result;
}

void
long_data(struct softhca_lanes *lanes, struct served *s, const uint8_t *data, uint64_t len)
{
	struct answer answer = {.vendor = VEN_NONE};
	unsigned int result = SYN_OK;
	bool last;

	if (s->part != PART_DISCARD)
		result = move_data(lanes, s, data, len, &answer);
	s->moved += len;
	last = s->moved == s->request.head.total;
	if (s->part != PART_DISCARD && (last || result != SYN_OK)) {
		serving_end_message(s, &s->request, result, &answer);
		s->part = PART_DISCARD;
	}
	if (last)
		served_end_part(s);
}

bool
long_first(struct softhca_lanes *lanes, struct served *s, const struct record_request *r,
	uint64_t len)
{
	struct answer answer = {.vendor = VEN_NONE};
	unsigned int result;

	s->request = *r;
	s->moved = 0;
	result = check_long(lanes, s, &answer);
	if (result == RESULT_LATER || serving_keep_late(s, result, &answer)) {
		s->part = PART_NONE;
		return false;
	}
	if (result != SYN_OK) {
		serving_end_message(s, r, result, &answer);
		if (s->whole != NULL)
			served_end_part(s);
		s->part = len != 0 ? PART_DISCARD : PART_NONE;
	}
	if (len != 0)
		long_data(lanes, s, s->in + sizeof(*r), len);
	return true;
}

/* ---- reads that are answered by several records */

static unsigned int
read_part(struct softhca_lanes *lanes, struct served *s, uint64_t len, struct answer *answer)
{
	const bool last = s->moved + len == s->request.head.total;
	struct message m;
	unsigned int result;
	struct sg payload;
	struct run run;

	if (s->whole != NULL) {
		memcpy(serving_answer(s) + 1, s->whole + s->moved, len);
		return SYN_OK;
	}
	sg_set(&payload, serving_answer(s) + 1, len);
	request_take(&m, &s->request, &payload);
	m.va += s->moved;
	serving_begin(&run, lanes, &s->request, s->life);
	result = responder_ask(&run, &m, answer);
	if (last || result != SYN_OK)
		serving_count(&run, &m, result, s->request.head.total);
	serving_end(&run, result);
	return result;
}

void
long_read(struct softhca_lanes *lanes, struct served *s)
{
	const uint64_t left = s->request.head.total - s->moved;
	const uint64_t records = (left + RECORD_DATA - 1) / RECORD_DATA;
	const uint64_t len = (left + records - 1) / records;
	struct answer answer = {.vendor = VEN_NONE};
	const unsigned int result = read_part(lanes, s, len, &answer);

	if (result == SYN_OK) {
		serving_put(s, &s->request, SYN_OK, &answer, s->moved, len, len == left);
		s->moved += len;
	} else {
		serving_end_message(s, &s->request, result, &answer);
	}
	if (result != SYN_OK || len == left)
		served_end_part(s);
}
