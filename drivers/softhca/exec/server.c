/* SPDX-License-Identifier: BSD-3-Clause */
/* The responder's end of messages of other processes: server.h. */
#include "server.h"

#include <string.h>

#include "carried.h"
#include "counters.h"
#include "log.h"
#include "message.h"
#include "move.h"
#include "opcode_table.h"
#include "responder_fail.h"
#include "responder_find.h"
#include "responder_memory.h"
#include "responder_receive.h"
#include "run_init.h"
#include "wire_adapter.h"

#define RECORDS_A_TURN 16
#define UD_MAX_MESSAGE 4096
/* Result inside this file: memory for the message is short now, try again. */
#define RESULT_LATER 0x200u

/* ---- the message of a request */

static void
take_path(struct message_path *path, const struct record_request *r)
{
	memcpy(path->dgid, r->dgid, sizeof(path->dgid));
	memcpy(path->dmac, r->dmac, sizeof(path->dmac));
	path->dlid = r->dlid;
	path->slid = r->slid;
	path->sl = r->sl;
	path->has_grh = (r->flags & RECORD_HAS_GRH) != 0;
	path->is_v2 = (r->flags & RECORD_IS_V2) != 0;
	path->sgid = r->sgid;
	path->flow = r->flow;
	path->tclass = r->tclass;
	path->hop_limit = r->hop_limit;
}

/* payload: data of the message, or room for the data of a read, or NULL for an atomic. */
static void
take_message(struct message *m, const struct record_request *r, const struct sg *payload)
{
	memset(m, 0, sizeof(*m));
	m->op = &opcodes[r->opcode];
	m->type = (enum softhca_qp_type)r->type;
	m->qpn = r->head.qpn;
	m->dest_qpn = r->dest_qpn;
	m->srqn = r->srqn;
	m->qkey = r->qkey;
	m->dc_key = r->dc_key;
	take_path(&m->path, r);
	m->va = r->va;
	m->rkey = r->rkey;
	m->imm = r->imm;
	m->solicited = (r->flags & RECORD_SOLICITED) != 0;
	m->delayed = (r->flags & RECORD_DELAYED) != 0;
	m->again = (r->flags & RECORD_AGAIN) != 0;
	m->swap_add = r->swap_add;
	m->compare = r->compare;
	m->payload = payload;
}

static bool
type_sends(uint16_t type)
{
	return type == SOFTHCA_QP_RC || type == SOFTHCA_QP_UC || type == SOFTHCA_QP_UD ||
	       type == SOFTHCA_QP_XRC_SEND || type == SOFTHCA_QP_DCI;
}

/* len: bytes of data in the request. Returns false if no requester sends such a message. */
static bool
is_possible(const struct record_request *r, uint64_t len)
{
	const struct opcode *op = &opcodes[r->opcode];

	if (op->respond == NULL || !type_sends(r->type) ||
		!opcode_runs_on(op, (enum softhca_qp_type)r->type))
		return false;
	if (op->kind == MESSAGE_ATOMIC)
		return r->head.total == 0 && len == 0;
	if (op->kind == MESSAGE_READ)
		return len == 0;
	if (r->type == SOFTHCA_QP_UD && (r->head.total > UD_MAX_MESSAGE || len != r->head.total))
		return false;
	return len <= r->head.total && len <= RECORD_DATA && (len != 0 || r->head.total == 0);
}

static bool
is_answered(const struct record_request *r)
{
	return r->type != SOFTHCA_QP_UC && r->type != SOFTHCA_QP_UD;
}

/* ---- one run */

/* life: of the message's QP when the message began, or 0 for the first record of a message. */
static void
begin_run(struct run *run, struct softhca_lanes *lanes, const struct record_request *r,
	uint32_t life)
{
	run_init(run, lanes);
	run->request = r;
	run->life = life;
}

/* Ends the run of a record. Keys keep the values of their PSVs if the record did not succeed. */
static void
end_run(struct run *run, unsigned int result)
{
	if (result != SYN_OK)
		key_use_undo(&run->use);
	key_use_free(&run->use);
	run_drop_cq(run);
	responder_release(run);
}

/* Counts a message that was answered or for which no receive was posted. The QP is held. */
static void
count(struct run *run, const struct message *m, unsigned int result, uint64_t len)
{
	const struct softhca_qp *qp = run->responder.qp;

	if (qp == NULL)
		return;
	if (result == SYN_OK)
		carried_answer(run, m, len);
	else if (result == MESSAGE_RNR)
		counters_add(qp->dev, qp->attr.port, COUNTER_OUT_OF_BUFFER);
}

/* ---- answers */

static struct record_answer *
answer_of(struct served *s)
{
	return (struct record_answer *)(void *)s->out;
}

/* Puts an answer into s->out. len: bytes of a read's data, which are there already. */
static void
put_answer(struct served *s, const struct record_request *r, unsigned int result,
	const struct answer *answer, uint64_t off, uint64_t len, bool last)
{
	struct record_answer *a = answer_of(s);

	*a = (struct record_answer){.head = r->head,
		.result = (uint16_t)result,
		.vendor = (uint16_t)answer->vendor,
		.rnr_timer = answer->rnr_timer,
		.last = last,
		.old = answer->old};
	a->head.kind = RECORD_ANSWER;
	a->head.off = off;
	s->out_len = (uint32_t)(sizeof(*a) + len);
}

/* Answers a message with a result and without data. */
static void
answer_result(struct served *s, const struct record_request *r, unsigned int result,
	const struct answer *answer)
{
	const uint64_t now = device_clock();

	if (!is_answered(r))
		return;
	put_answer(s, r, result, answer, s->part == PART_READ ? s->moved : 0, 0, true);
	if (result == MESSAGE_LATER && answer->until > now)
		answer_of(s)->ns = answer->until - now;
}

/*
 * Keeps an unreliable message in `in` while a fault on demand delays it, because its sender does
 * not send it again. Returns false if the message is not delayed, or if it is reliable: then an
 * answer tells the sender to send it again.
 */
static bool
keep_late(struct served *s, unsigned int result, const struct answer *answer)
{
	struct record_request *r = (void *)s->in;

	if (result != MESSAGE_LATER || is_answered(r))
		return false;
	r->flags |= RECORD_DELAYED;
	s->late_until = answer->until;
	return true;
}

/* ---- messages of one record */

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
		sg_set(&payload, answer_of(s) + 1, r->head.total);
	else if (len != 0)
		sg_set(&payload, s->in + sizeof(*r), len);
	take_message(&m, r, is_atomic ? NULL : &payload);
	begin_run(&run, lanes, r, 0);
	result = responder_ask(&run, &m, &answer);
	count(&run, &m, result, r->head.total);
	end_run(&run, result);
	if (keep_late(s, result, &answer))
		return false;
	if (is_read && result == SYN_OK)
		put_answer(s, r, SYN_OK, &answer, 0, r->head.total, true);
	else
		answer_result(s, r, result, &answer);
	return true;
}

/* ---- messages of several records: the first record */

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

/* Checks a message of several records. Returns RESULT_LATER if memory to gather it is short. */
static unsigned int
check_long(struct softhca_lanes *lanes, struct served *s, struct answer *answer)
{
	struct message m;
	struct sg memory, none;
	unsigned int result;
	struct run run;

	sg_clear(&none);
	take_message(&m, &s->request, &none);
	begin_run(&run, lanes, &s->request, 0);
	result = responder_find(&run, &m);
	if (result == SYN_OK)
		s->life = run.responder.qp->life;
	if (result == SYN_OK)
		result = find_memory(&run, &m, s, &memory);
	if (result == SYN_OK)
		result = choose_part(&run, &m, s, &memory);
	answer->vendor = run.use.vendor;
	if (result == MESSAGE_RNR && run.responder.qp != NULL)
		answer->rnr_timer = run.responder.qp->attr.min_rnr_timer;
	count(&run, &m, result == SYN_OK ? RESULT_LATER : result, 0);
	/* Only the conversion of a read changes PSVs here. */
	end_run(&run, s->part == PART_READ ? result : RESULT_LATER);
	return result;
}

/* ---- messages of several records: their data */

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
		answer->vendor = run->use.vendor;
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
	answer->vendor = run->use.vendor;
	if (result == MESSAGE_RNR && run->responder.qp != NULL)
		answer->rnr_timer = run->responder.qp->attr.min_rnr_timer;
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
	take_message(&m, &s->request, &payload);
	begin_run(&run, lanes, &s->request, s->life);
	if (s->part == PART_GATHER)
		result = run_gathered(&run, &m, s, answer);
	else if (m.op->remote_access != 0)
		result = place_write(&run, &m, s, len, last, answer);
	else
		result = place_send(&run, &m, s, answer);
	if (last || result != SYN_OK)
		count(&run, &m, result, s->request.head.total);
	end_run(&run, result);
	return result;
}

/* Handles the data of a record of a message of several records. */
static void
run_data(struct softhca_lanes *lanes, struct served *s, const uint8_t *data, uint64_t len)
{
	struct answer answer = {.vendor = VEN_NONE};
	unsigned int result = SYN_OK;
	bool last;

	if (s->part != PART_DISCARD)
		result = move_data(lanes, s, data, len, &answer);
	s->moved += len;
	last = s->moved == s->request.head.total;
	if (s->part != PART_DISCARD && (last || result != SYN_OK)) {
		answer_result(s, &s->request, result, &answer);
		s->part = PART_DISCARD;
	}
	if (last)
		served_end_part(s);
}

/* Handles a request whose message needs several records. Returns false to try again later. */
static bool
run_first(struct softhca_lanes *lanes, struct served *s, const struct record_request *r,
	uint64_t len)
{
	struct answer answer = {.vendor = VEN_NONE};
	unsigned int result;

	s->request = *r;
	s->moved = 0;
	result = check_long(lanes, s, &answer);
	if (result == RESULT_LATER || keep_late(s, result, &answer)) {
		s->part = PART_NONE;
		return false;
	}
	if (result != SYN_OK) {
		answer_result(s, r, result, &answer);
		if (s->whole != NULL)
			served_end_part(s);
		s->part = len != 0 ? PART_DISCARD : PART_NONE;
	}
	if (len != 0)
		run_data(lanes, s, s->in + sizeof(*r), len);
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
		memcpy(answer_of(s) + 1, s->whole + s->moved, len);
		return SYN_OK;
	}
	sg_set(&payload, answer_of(s) + 1, len);
	take_message(&m, &s->request, &payload);
	m.va += s->moved;
	begin_run(&run, lanes, &s->request, s->life);
	result = responder_ask(&run, &m, answer);
	if (last || result != SYN_OK)
		count(&run, &m, result, s->request.head.total);
	end_run(&run, result);
	return result;
}

static void
run_read(struct softhca_lanes *lanes, struct served *s)
{
	const uint64_t left = s->request.head.total - s->moved;
	const uint64_t records = (left + RECORD_DATA - 1) / RECORD_DATA;
	const uint64_t len = (left + records - 1) / records;
	struct answer answer = {.vendor = VEN_NONE};
	const unsigned int result = read_part(lanes, s, len, &answer);

	if (result == SYN_OK) {
		put_answer(s, &s->request, SYN_OK, &answer, s->moved, len, len == left);
		s->moved += len;
	} else {
		answer_result(s, &s->request, result, &answer);
	}
	if (result != SYN_OK || len == left)
		served_end_part(s);
}

/* ---- records */

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
		run_data(lanes, s, s->in + sizeof(r->head), s->in_len - sizeof(r->head));
		return true;
	}
	/* The sender has given up the message before this one. Only some of its records came. */
	served_end_part(s);
	len = s->in_len - sizeof(*r);
	if (!is_possible(r, len)) {
		served_refuse(s, "it sent a message that no queue pair sends");
		return true;
	}
	if (len != r->head.total && opcodes[r->opcode].kind != MESSAGE_READ)
		return run_first(lanes, s, r, len);
	if (r->head.total > RECORD_DATA)
		return run_first(lanes, s, r, len);
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
			run_read(lanes, s);
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
