/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives what other processes have sent to an adapter: messages, and answers to messages. */
#include "exchange.h"

#include "ask.h"
#include "clock.h"
#include "lanes.h"
#include "qp.h"
#include "server.h"
#include "uar_queues.h"
#include "wire_adapter.h"

#define REMIND_EVERY   UINT64_C(1000000000) /* device time in ns */
#define MAX_PUT_OFF    64                   /* turns for which answers delay messages */
#define RECORDS_A_LOOK 64 /* limit for a turn, because this process's queues wait */

/* Returns the QP that waits for this answer, or NULL. The QP's next visit reads the answer. */
static struct softhca_qp *
asker_of(struct softhca_lanes *lanes, uint64_t name)
{
	struct softhca_qp *qp = table_get(&lanes->qps, (uint32_t)(name >> 32) & 0xffffff);
	const struct ask *ask = qp != NULL ? qp->ask : NULL;
	enum qp_state state;

	if (ask == NULL || ask_name(ask) != name || qp->uar == NULL)
		return NULL;
	state = qp_state(qp);
	return state == QP_RTS || state == QP_SQD ? qp : NULL;
}

/* Reads the next answer of a link. An answer that no QP awaits is dropped. */
static unsigned int
take_answers(struct softhca_lanes *lanes, struct link *link)
{
	uint64_t name = atomic_load_explicit(&link->parked, memory_order_acquire);
	struct softhca_qp *qp;
	unsigned int work = 0;

	if (name != 0) {
		if ((name & LINK_TAKING) == 0 && asker_of(lanes, name) == NULL)
			link_drop(link, name);
		return 0;
	}
	while ((name = link_receive(link)) != 0) {
		work++;
		qp = asker_of(lanes, name);
		if (qp != NULL) {
			uar_call_attention(qp->uar);
			break;
		}
		link_drop(link, name);
	}
	return work;
}

/*
 * True each second while messages wait for answers. The QPs of these messages then log a line if
 * their peer is silent.
 */
static bool
is_time_to_remind(struct wire *wire)
{
	const uint64_t now = atomic_load_explicit(&wire->asking, memory_order_relaxed) != 0
				     ? device_clock()
				     : wire->reminded_at;

	if (now - wire->reminded_at < REMIND_EVERY)
		return false;
	wire->reminded_at = now;
	return true;
}

/* Executes records of all served connections in turn, up to a limit. */
static unsigned int
serve_all(struct softhca_lanes *lanes, struct wire *wire)
{
	unsigned int work = 0, n = 0;

	for (; n < wire->n_served && work < RECORDS_A_LOOK; n++)
		work += server_run(lanes, wire->served[(wire->first + n) % wire->n_served]);
	if (n < wire->n_served)
		atomic_store_explicit(&wire->unfinished, true, memory_order_relaxed);
	wire->first += n;
	return work;
}

/*
 * True if an answer waits for its QP. Then messages must wait. The other process may have sent its
 * own message after the answer, and a card completes the send before the receive. perftest 4.5
 * relies on this with -e. A stream of answers delays messages for a limited number of turns.
 */
static bool
answers_come_first(struct wire *wire, unsigned int n_links)
{
	for (unsigned int i = 0; i < n_links; i++) {
		const struct link *link = wire->links[wire->linked[i]];

		if (atomic_load(&link->parked) != 0)
			return ++wire->put_off < MAX_PUT_OFF;
	}
	wire->put_off = 0;
	return false;
}

/*
 * Reads messages, then reads answers, then executes the messages. So an answer that a process sent
 * before a message is handled before this message.
 */
static unsigned int
receive_all(struct softhca_lanes *lanes, struct wire *wire, unsigned int n_links)
{
	unsigned int work = 0;
	bool any = false;

	for (unsigned int i = 0; i < wire->n_served; i++)
		any |= served_receive(wire->served[i]);
	if (any)
		wire_take_events(wire);
	for (unsigned int i = 0; i < n_links; i++)
		work += take_answers(lanes, wire->links[wire->linked[i]]);
	if (!answers_come_first(wire, n_links))
		return work + serve_all(lanes, wire);
	atomic_store_explicit(&wire->unfinished, true, memory_order_relaxed);
	return work;
}

static unsigned int
exchange_locked(struct softhca_lanes *lanes, struct wire *wire)
{
	const unsigned int n_links = atomic_load(&wire->n_links);
	unsigned int work;
	bool lost;

	wire_take_events(wire);
	atomic_store_explicit(&wire->unfinished, false, memory_order_relaxed);
	work = receive_all(lanes, wire, n_links);
	wire_drop_closed(wire);
	lost = atomic_exchange_explicit(&wire->lost, false, memory_order_acquire);
	for (unsigned int i = 0; lost && i < n_links; i++)
		link_trim(wire->links[wire->linked[i]]);
	if (lost || is_time_to_remind(wire))
		uars_call_attention(lanes->dev);
	return work;
}

unsigned int
exchange(struct softhca_lanes *lanes)
{
	struct wire *wire = lanes->wire;
	unsigned int work;

	if (!spin_trylock(&wire->lock))
		return 0;
	work = exchange_locked(lanes, wire);
	spin_unlock(&wire->lock);
	return work;
}

/* True if an answer may wait in the socket, and can be read because no other answer is parked. */
static bool
link_calls(const struct link *link)
{
	return atomic_load(&link->ready) && atomic_load(&link->parked) == 0;
}

bool
exchange_is_at_rest(const struct softhca_lanes *lanes)
{
	const struct wire *wire = lanes->wire;
	const unsigned int n_links = atomic_load(&wire->n_links);

	for (unsigned int i = 0; i < n_links; i++)
		if (link_calls(atomic_load(&wire->links[wire->linked[i]])))
			return false;
	return !atomic_load(&wire->unfinished) && !atomic_load(&wire->lost);
}
