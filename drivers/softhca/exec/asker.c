/* SPDX-License-Identifier: BSD-3-Clause */
/* The requester's end of a message to another process: asker.h. */
#include "asker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "asker_send.h"
#include "counters.h"
#include "elsewhere.h"
#include "log.h"
#include "move.h"
#include "request.h"
#include "uar.h"
#include "wire_adapter.h"

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

static unsigned int
begin(struct run *run, const struct message *m, struct ask *ask, struct answer *answer)
{
	struct softhca_qp *qp = run->qp;
	const uint64_t total = m->payload != NULL ? m->payload->len : 0;
	const bool is_read = m->op->kind == MESSAGE_READ;
	unsigned int result;
	struct link *link;
	uint32_t life;

	if (qp->wait == WAIT_RNR && run_now(run) < qp->wait_until) {
		answer->vendor = VEN_RNR;
		answer->rnr_timer = qp->rnr_timer;
		return MESSAGE_RNR;
	}
	answer->vendor = VEN_NO_PEER;
	/*
	 * ask->next_try is for this message only, because the next message may have another peer.
	 */
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
	result = asker_convert(run, m, ask, answer);
	if (result != SYN_OK)
		return result;
	request_fill(&ask->request, run, m);
	ask->wait_before = qp->wait;
	ask_begin(ask, link, life, total, is_read ? 0 : total);
	return SYN_OK;
}

/* ---- send */

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
	switch (asker_send_records(run, ask, m->payload)) {
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
	if (asker_is_converted(run, m)) {
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

/* Checks signatures of a read's data and encrypts or decrypts the data, as local keys demand. */
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
	if (asker_send_records(run, ask, NULL) == -EAGAIN && !qp_is_unreliable(qp)) {
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
