/* SPDX-License-Identifier: BSD-3-Clause */
/* The requester's end of a message to another process: asker.h. */
#include "asker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elsewhere.h"
#include "log.h"
#include "move.h"
#include "uar.h"
#include "ask.h"
#include "counters.h"
#include "wire_adapter.h"

#define RECORDS_A_VISIT 16
/* device time in ns */
#define LOSSLESS_FOR UINT64_C(100000000)  /* UC and UD wait for a full connection */
#define SILENT_AFTER UINT64_C(3000000000) /* a line says that the peer does not answer */
#define TRY_AT_LEAST UINT64_C(1000000)    /* minimum time between two tries at an absent peer */
#define TRY_AT_MOST  UINT64_C(10000000)

static struct ask *
ask_of(struct softhca_qp *qp)
{
	if (qp->ask == NULL)
		qp->ask = ask_new(qp->number);
	return qp->ask;
}

/* ---- begin */

static uint64_t
pace(const struct softhca_qp *qp)
{
	const uint64_t ns = UINT64_C(4096) << (qp->attr.timeout & 31);

	return ns < TRY_AT_LEAST ? TRY_AT_LEAST : ns > TRY_AT_MOST ? TRY_AT_MOST : ns;
}

static unsigned int
no_peer(struct run *run, struct ask *ask, struct answer *answer)
{
	ask->next_try = run_now(run) + pace(run->qp);
	answer->vendor = VEN_NO_PEER;
	return MESSAGE_NO_PEER;
}

/* Sets the fields about the path between the ports. */
static void
fill_path(struct record_request *r, const struct softhca_qp *qp, const struct message *m)
{
	const struct message_path *path = &m->path;

	if (qp->dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET)
		r->flags |= RECORD_ETHERNET;
	if (m->type != SOFTHCA_QP_UD && m->type != SOFTHCA_QP_DCI) {
		/* Within a process, RC and UC need no address, also with wire = loop. */
		if (qp->attr.loopback || wire_is_own(m->dest_qpn))
			r->flags |= RECORD_LOOPBACK;
		memcpy(r->dgid, qp->attr.dgid, sizeof(r->dgid));
		r->dlid = qp->attr.dlid;
		return;
	}
	memcpy(r->dgid, path->dgid, sizeof(r->dgid));
	memcpy(r->dmac, path->dmac, sizeof(r->dmac));
	if (path->has_grh) {
		r->flags |= RECORD_HAS_GRH | (path->is_v2 ? RECORD_IS_V2 : 0);
		memcpy(r->sgid, path->sgid, sizeof(r->sgid));
	}
	r->dlid = path->dlid;
	r->slid = path->slid;
	r->sl = path->sl;
	r->tclass = path->tclass;
	r->hop_limit = path->hop_limit;
	r->flow = path->flow;
}

static void
fill(struct record_request *r, const struct run *run, const struct message *m)
{
	memset(r, 0, sizeof(*r));
	r->dest_qpn = m->dest_qpn;
	r->type = (uint16_t)m->type;
	r->opcode = m->op->number;
	r->imm = m->imm;
	r->flags = (m->solicited ? RECORD_SOLICITED : 0) | (m->delayed ? RECORD_DELAYED : 0) |
		   (m->again ? RECORD_AGAIN : 0);
	if (m->type == SOFTHCA_QP_XRC_SEND)
		r->srqn = m->srqn;
	if (m->type == SOFTHCA_QP_UD)
		r->qkey = m->qkey;
	if (m->type == SOFTHCA_QP_DCI)
		r->dc_key = m->dc_key;
	if (m->op->remote_access != 0) {
		r->va = m->va;
		r->rkey = m->rkey;
	}
	if (m->op->kind == MESSAGE_ATOMIC) {
		r->swap_add = m->swap_add;
		r->compare = m->compare;
	}
	fill_path(r, run->qp, m);
}

/* True if a key of this adapter converts the data. Then the data must be moved as a whole. */
static bool
is_converted(const struct run *run, const struct message *m)
{
	return m->payload != NULL && m->payload->len != 0 &&
	       (run->use.converts || (m->payload->rare & ACC_CIPHERED) != 0);
}

static unsigned int
too_long(const struct run *run, uint64_t len, struct answer *answer)
{
	static atomic_bool said;

	if (!atomic_exchange(&said, true))
		softhca_log("wire: a message of %llu bytes to another process passes through a key "
			    "with a signature or encryption: the setting wire_message allows %llu "
			    "bytes",
			(unsigned long long)len,
			(unsigned long long)run->lanes->dev->cfg->wire_message);
	answer->vendor = VEN_LENGTH;
	return SYN_LOC_LEN;
}

/* Converts outgoing data. Returns SYN_OK or a syndrome. */
static unsigned int
convert(struct run *run, const struct message *m, struct ask *ask, struct answer *answer)
{
	struct sg whole;

	ask->whole = malloc(m->payload->len);
	run->use.vendor = VEN_KEY_PIECES;
	if (ask->whole != NULL) {
		sg_set(&whole, ask->whole, m->payload->len);
		if (key_use_move(&run->use, &whole, m->payload) == SG_MOVED)
			return SYN_OK;
	}
	free(ask->whole);
	ask->whole = NULL;
	answer->vendor = run->use.vendor;
	return SYN_LOC_PROT;
}

static unsigned int
begin(struct run *run, const struct message *m, struct ask *ask, struct answer *answer)
{
	struct softhca_qp *qp = run->qp;
	const uint64_t total = m->payload != NULL ? m->payload->len : 0;
	const bool is_read = m->op->kind == MESSAGE_READ;
	unsigned int result = SYN_OK;
	struct link *link;
	uint32_t life;

	if (qp->wait == WAIT_RNR && run_now(run) < qp->wait_until) {
		answer->vendor = VEN_RNR;
		answer->rnr_timer = qp->rnr_timer;
		return MESSAGE_RNR;
	}
	answer->vendor = VEN_NO_PEER;
	/* The time of the next try holds for this message only: the next may have another peer. */
	if (qp->wait == WAIT_PEER && run_now(run) < ask->next_try)
		return MESSAGE_NO_PEER;
	/* This process may have destroyed the QP. Then no other process has its number. */
	link = NULL;
	if (qp->dev->cfg->wire == SOFTHCA_WIRE_LOOP || !wire_is_own(m->dest_qpn))
		link = link_to(run->lanes->wire, m->dest_qpn, &life);
	if (link == NULL) {
		if (m->type == SOFTHCA_QP_UD || m->type == SOFTHCA_QP_DCI)
			elsewhere_note_message(m->dest_qpn);
		return no_peer(run, ask, answer);
	}
	if (is_converted(run, m)) {
		if (total > qp->dev->cfg->wire_message)
			return too_long(run, total, answer);
		if (!is_read)
			result = convert(run, m, ask, answer);
	}
	if (result != SYN_OK)
		return result;
	fill(&ask->request, run, m);
	ask->wait_before = qp->wait;
	ask_begin(ask, link, life, total, is_read ? 0 : total);
	return SYN_OK;
}

/* ---- send */

/* Copies `len` bytes of the data. Returns NULL if memory is missing. */
static uint8_t *
copy_part(struct run *run, const struct sg *data, uint64_t off, uint64_t len)
{
	uint8_t *copy = malloc(len);
	struct sg to;

	if (copy == NULL)
		return NULL;
	sg_set(&to, copy, len);
	if (move_part(&run->use, &to, 0, data, off, len) == SG_MOVED)
		return copy;
	free(copy);
	return NULL;
}

/*
 * Lists the pieces of `len` bytes of the data. Returns their number, or 0 if sendmsg(2) cannot read
 * these pieces, or if there are more than SG_MAX.
 */
static unsigned int
list_pieces(struct iovec *iov, const struct sg *data, uint64_t off, uint64_t len)
{
	struct sg_place at = sg_find(data, off);
	struct sg part;

	if (sg_take(data, &at, len, &part) != len || part.rare != 0)
		return 0;
	for (unsigned int i = 0; i < part.n; i++) {
		if (part.v[i].p == SINK)
			return 0;
		iov[i] = (struct iovec){part.v[i].p, part.v[i].len};
	}
	return part.n;
}

/* The number of data bytes of the next record. Records of a message have about equal lengths. */
static uint64_t
next_len(const struct ask *ask)
{
	const uint64_t left = ask->to_send - ask->sent;
	const uint64_t records = (left + RECORD_DATA - 1) / RECORD_DATA;

	return records <= 1 ? left : (left + records - 1) / records;
}

/* Sends the record whose head is iov[0], with the next `len` bytes of the data. */
static int
send_part(struct run *run, struct ask *ask, struct iovec *iov, const struct sg *data, uint64_t len)
{
	const bool more = ask->sent + len < ask->to_send;
	const unsigned int n = len != 0 ? list_pieces(&iov[1], data, ask->sent, len) : 0;
	uint8_t *copy;
	int err = -EFAULT;

	if (n != 0 || len == 0)
		err = link_send(ask->link, ask->life, ask_name(ask), iov, 1 + n, more);
	if (err != -EFAULT)
		return err;
	/* Many pieces, memory on demand, or pages that the program has unmapped. */
	copy = copy_part(run, data, ask->sent, len);
	if (copy == NULL)
		return -EFAULT;
	iov[1] = (struct iovec){copy, len};
	err = link_send(ask->link, ask->life, ask_name(ask), iov, 2, more);
	free(copy);
	return err;
}

static int
send_record(struct run *run, struct ask *ask, const struct sg *data)
{
	const uint64_t len = next_len(ask);
	struct record head = ask->request.head;
	struct iovec iov[1 + SG_MAX];
	int err;

	head.kind = RECORD_MORE;
	head.off = ask->sent;
	iov[0] = ask->sent == 0 ? (struct iovec){&ask->request, sizeof(ask->request)}
				: (struct iovec){&head, sizeof(head)};
	err = send_part(run, ask, iov, data, len);
	if (err == 0) {
		ask->sent += len;
		ask->is_sent = ask->sent == ask->to_send;
		ask->since = 0;
		run->work++;
		/* The next turns look for the answer. */
		turn_slot()->wire_turns = 0;
	}
	return err;
}

/* Sends records until all are sent. Returns 0, or the error of the record that was not sent. */
static int
send_records(struct run *run, struct ask *ask, const struct sg *payload)
{
	const struct sg *data = payload;
	struct sg whole;
	int err = 0;

	if (ask->whole != NULL && ask->to_send != 0) {
		sg_set(&whole, ask->whole, ask->to_send);
		data = &whole;
	}
	if (ask->to_send > RUN_LONG_COPY)
		run_drop_cq(run);
	for (unsigned int n = 0; err == 0 && !ask->is_sent; n++)
		err = n < RECORDS_A_VISIT ? send_record(run, ask, data) : -EAGAIN;
	return err;
}

static unsigned int
finish(struct run *run, struct ask *ask, unsigned int result)
{
	run->qp->wait = (uint16_t)ask->wait_before;
	ask_end(ask);
	return result;
}

/*
 * The connection is full. An unreliable sender waits, as on a lossless link. If the peer reads no
 * record for LOSSLESS_FOR, the message is lost.
 */
static unsigned int
wait_for_carrier(struct run *run, struct ask *ask)
{
	if (ask->since == 0)
		ask->since = run_now(run);
	if (!qp_is_unreliable(run->qp) || run_now(run) - ask->since < LOSSLESS_FOR)
		return MESSAGE_UNDER_WAY;
	counters_add(run->qp->dev, run->qp->attr.port, COUNTER_XMIT_DISCARDS);
	return finish(run, ask, SYN_OK);
}

static unsigned int
send_message(struct run *run, const struct message *m, struct ask *ask, struct answer *answer)
{
	switch (send_records(run, ask, m->payload)) {
	case 0:
		ask->since = 0;
		return qp_is_unreliable(run->qp) ? finish(run, ask, SYN_OK) : MESSAGE_UNDER_WAY;
	case -EAGAIN:
		return wait_for_carrier(run, ask);
	case -EFAULT:
		answer->vendor = run->use.vendor;
		return finish(run, ask, SYN_LOC_PROT);
	default:
		return finish(run, ask, no_peer(run, ask, answer));
	}
}

/* ---- the answer */

/* Places the data of a read that an answer has brought. Returns SYN_OK or a syndrome. */
static unsigned int
place(struct run *run, const struct message *m, struct ask *ask)
{
	const struct record_answer *a = link_answer(ask->link);
	const uint64_t len = ask->link->in_len - sizeof(*a);
	struct sg data;

	if (len == 0)
		return SYN_OK;
	run->use.vendor = VEN_KEY_PIECES;
	if (is_converted(run, m)) {
		if (ask->whole == NULL)
			ask->whole = malloc(m->payload->len);
		if (ask->whole == NULL)
			return SYN_LOC_PROT;
		memcpy(ask->whole + ask->came, a + 1, len);
	} else {
		sg_set(&data, (void *)(uintptr_t)(a + 1), len);
		if (len > RUN_LONG_COPY)
			run_drop_cq(run);
		if (move_part(&run->use, m->payload, ask->came, &data, 0, len) != SG_MOVED)
			return SYN_LOC_PROT;
	}
	ask->came += len;
	return SYN_OK;
}

/* Converts the data of a read. */
static unsigned int
end_read(struct run *run, const struct message *m, const struct ask *ask)
{
	struct sg whole;

	if (ask->whole == NULL)
		return SYN_OK;
	sg_set(&whole, ask->whole, m->payload->len);
	return key_use_move(&run->use, m->payload, &whole) == SG_MOVED ? SYN_OK : SYN_LOC_PROT;
}

static bool
is_answer(const struct message *m, const struct ask *ask, const struct record_answer *a)
{
	const uint64_t len = ask->link->in_len - sizeof(*a);
	const bool is_read = m->op->kind == MESSAGE_READ;

	if (a->head.total != ask->request.head.total || a->head.off != ask->came ||
		a->vendor >= VEN_END)
		return false;
	if (!is_read || a->result != SYN_OK)
		return len == 0 && a->last != 0;
	return (ask->came + len == a->head.total) == (a->last != 0);
}

/* The results that another process may give. Any other result would not come from a responder. */
static bool
is_result(unsigned int result)
{
	return result == SYN_OK || result == SYN_REM_ACCESS || result == SYN_REM_INV_REQ ||
	       result == SYN_REM_OP || result == MESSAGE_RNR || result == MESSAGE_NO_PEER ||
	       result == MESSAGE_LATER;
}

static unsigned int
read_answer(struct run *run, const struct message *m, struct ask *ask, struct answer *answer)
{
	const struct record_answer *a = link_answer(ask->link);
	unsigned int result = a->result;

	if (!is_answer(m, ask, a) || !is_result(result)) {
		link_refuse(ask->link, ask->life, "an answer that does not fit the message");
		return no_peer(run, ask, answer);
	}
	answer->vendor = (enum wire_vendor)a->vendor;
	answer->rnr_timer = a->rnr_timer;
	answer->until = run_now(run) + a->ns;
	answer->old = a->old;
	if (result == MESSAGE_NO_PEER)
		return no_peer(run, ask, answer);
	if (result != SYN_OK || m->op->kind != MESSAGE_READ)
		return result;
	result = place(run, m, ask);
	if (result == SYN_OK && a->last == 0)
		return MESSAGE_UNDER_WAY;
	if (result == SYN_OK)
		result = end_read(run, m, ask);
	if (result != SYN_OK)
		answer->vendor = run->use.vendor;
	return result;
}

static unsigned int
take_answer(struct run *run, const struct message *m, struct ask *ask, struct answer *answer)
{
	const uint64_t name = ask_name(ask);
	unsigned int result;

	if (link_take(ask->link, name)) {
		result = read_answer(run, m, ask, answer);
		ask->since = 0;
		run->work++;
		link_taken(ask->link);
		return result == MESSAGE_UNDER_WAY ? result : finish(run, ask, result);
	}
	if (atomic_load_explicit(&ask->link->life, memory_order_acquire) != ask->life)
		return finish(run, ask, no_peer(run, ask, answer));
	return MESSAGE_UNDER_WAY;
}

/* False if the program has overwritten the WQE at the head since its message began. */
static bool
is_begun(const struct message *m, const struct ask *ask)
{
	const struct record_request *r = &ask->request;

	return r->opcode == m->op->number &&
	       r->head.total == (m->payload != NULL ? m->payload->len : 0);
}

unsigned int
asker_ask(struct run *run, const struct message *m, struct answer *answer)
{
	struct ask *ask = ask_of(run->qp);
	unsigned int result = SYN_OK;

	memset(answer, 0, sizeof(*answer));
	answer->vendor = VEN_NO_PEER;
	if (ask == NULL)
		return MESSAGE_NO_PEER;
	if (ask_is_under_way(ask) && !is_begun(m, ask))
		ask_end(ask);
	if (!ask_is_under_way(ask))
		result = begin(run, m, ask, answer);
	if (result != SYN_OK)
		return result;
	/* The peer may answer before all records are sent. This answer ends the message. */
	if (!ask->is_sent && !link_has_news(ask->link, ask->life, ask_name(ask)))
		return send_message(run, m, ask, answer);
	return take_answer(run, m, ask, answer);
}

/* ---- waiting */

unsigned int
asker_miss_memory(const struct run *run, const struct opcode *op, struct sg *sg)
{
	const struct ask *ask = run->qp->ask;

	if (ask == NULL || !ask_is_under_way(ask) || !ask->is_sent ||
		ask->request.opcode != op->number || op->kind == MESSAGE_READ ||
		op->kind == MESSAGE_ATOMIC)
		return SYN_LOC_PROT;
	sg_set(sg, SINK, ask->request.head.total);
	return SYN_OK;
}

unsigned int
asker_waited(const struct softhca_qp *qp)
{
	return qp->wait == WAIT_CARRIER || qp->wait == WAIT_ANSWER ? qp->ask->wait_before
								   : qp->wait;
}

void
asker_wait(struct softhca_qp *qp)
{
	const struct ask *ask = qp->ask;

	qp->wait = ask->is_sent ? WAIT_ANSWER : WAIT_CARRIER;
}

/* Logs that the peer does not answer a message, once for each message. */
static void
note_silence(struct run *run, struct ask *ask)
{
	if (ask->since == 0)
		ask->since = run_now(run);
	if (ask->said || run_now(run) - ask->since < SILENT_AFTER)
		return;
	ask->said = true;
	softhca_log("wire: queue pair 0x%06x waits for an answer of queue pair 0x%06x: the other "
		    "process lives, but does not run its adapter. It may be stopped, or its only "
		    "thread may not call softhca_pump()",
		run->qp->number, ask->request.dest_qpn);
}

bool
asker_goes_on(struct run *run)
{
	struct softhca_qp *qp = run->qp;
	struct ask *ask = qp->ask;

	if (ask == NULL || !ask_is_under_way(ask) ||
		link_has_news(ask->link, ask->life, ask_name(ask)))
		return true;
	if (ask->is_sent) {
		note_silence(run, ask);
		qp->wait = WAIT_ANSWER;
		return false;
	}
	/* The keys of converted data were checked when the data were converted. */
	if (ask->whole == NULL)
		return true;
	if (send_records(run, ask, NULL) == -EAGAIN && !qp_is_unreliable(qp)) {
		note_silence(run, ask);
		return false;
	}
	if (ask->is_sent && !qp_is_unreliable(qp)) {
		ask->since = 0;
		qp->wait = WAIT_ANSWER;
		return false;
	}
	return true;
}
