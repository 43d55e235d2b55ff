/* SPDX-License-Identifier: BSD-3-Clause */
/* Executes the records of a served connection, and messages of one record: server.h. */
#include "server.h"

#include "clock.h"
#include "opcode_table.h"
#include "request.h"
#include "server_long.h"
#include "serving.h"
#include "wire_adapter.h"

#define RECORDS_A_TURN 16

/* Returns false to try again later. */
static bool
run_short(struct softhca_lanes *lanes, struct served *s, const struct record_request *r,
	uint64_t len)
{
	const bool is_read = opcodes[r->opcode].kind == MESSAGE_READ;
	const bool is_atomic = opcodes[r->opcode].kind == MESSAGE_ATOMIC;
	struct answer answer = {.vendor = VEN_NONE};
	struct message m;
	struct sg payload;
	unsigned int result;
	struct run run;

	sg_clear(&payload);
	if (is_read && r->head.total != 0)
		sg_set(&payload, serving_answer(s) + 1, r->head.total);
	else if (len != 0)
		sg_set(&payload, s->in + sizeof(*r), len);
	request_take(&m, r, is_atomic ? NULL : &payload);
	serving_begin(&run, lanes, r, 0);
	result = responder_ask(&run, &m, &answer);
	serving_count(&run, &m, result, r->head.total);
	serving_end(&run, result);
	if (serving_keep_late(s, result, &answer))
		return false;
	if (is_read && result == SYN_OK)
		serving_put(s, r, SYN_OK, &answer, 0, r->head.total, true);
	else
		serving_end_message(s, r, result, &answer);
	return true;
}

/* Executes the record in s->in. Returns false if it must be tried again later. */
static bool
run_record(struct softhca_lanes *lanes, struct served *s)
{
	const struct record_request *r = (const void *)s->in;
	uint64_t len;

	if (s->late_until != 0) {
		if (device_clock() < s->late_until)
			return false;
		s->late_until = 0;
	}
	if (r->head.kind == RECORD_MORE) {
		long_data(lanes, s, s->in + sizeof(r->head), s->in_len - sizeof(r->head));
		return true;
	}
	/* The sender has given up the message before this one. Only some of its records came. */
	served_end_part(s);
	len = s->in_len - sizeof(*r);
	if (!request_is_possible(r, len)) {
		served_refuse(s, "it sent a message that no queue pair sends");
		return true;
	}
	if (len != r->head.total && opcodes[r->opcode].kind != MESSAGE_READ)
		return long_first(lanes, s, r, len);
	if (r->head.total > RECORD_DATA)
		return long_first(lanes, s, r, len);
	return run_short(lanes, s, r, len);
}

unsigned int
server_run(struct softhca_lanes *lanes, struct served *s)
{
	unsigned int n;

	for (n = 0; n < RECORDS_A_TURN && !s->is_closed; n++) {
		if (!served_flush(s))
			break;
		if (s->part == PART_READ) {
			long_read(lanes, s);
			continue;
		}
		if (!served_receive(s))
			return n;
		if (!run_record(lanes, s))
			break;
		s->in_len = 0;
	}
	/* Sends the last answer now, so that this answer does not wait for the next turn. */
	if (!s->is_closed && served_flush(s) && n < RECORDS_A_TURN && s->in_len == 0)
		return n;
	atomic_store_explicit(&lanes->wire->unfinished, true, memory_order_relaxed);
	return n;
}
