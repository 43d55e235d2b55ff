/* SPDX-License-Identifier: BSD-3-Clause */
/* The message of a QP that is under way to another process: how it begins and ends. */
#include "ask.h"

#include <stdlib.h>

#include "link.h"
#include "wire_adapter.h"

struct ask *
ask_new(uint32_t qpn)
{
	struct ask *ask = calloc(1, sizeof(*ask));

	if (ask != NULL)
		ask->qpn = qpn;
	return ask;
}

void
ask_free(struct ask *ask)
{
	if (ask == NULL)
		return;
	ask_end(ask);
	free(ask);
}

void
ask_begin(struct ask *ask, struct link *link, uint32_t life, uint64_t total, uint64_t to_send)
{
	ask->last_id = ask->last_id + 1 == 0 ? 1 : ask->last_id + 1;
	ask->link = link;
	ask->life = life;
	ask->request.head = (struct record){.magic = RECORD_MAGIC,
		.kind = RECORD_REQUEST,
		.qpn = ask->qpn,
		.id = ask->last_id,
		.total = total};
	ask->to_send = to_send;
	ask->sent = ask->came = 0;
	ask->is_sent = false;
	ask->since = 0;
	ask->said = false;
	atomic_fetch_add_explicit(&link->wire->asking, 1, memory_order_relaxed);
	atomic_store_explicit(&ask->id, ask->last_id, memory_order_release);
}

void
ask_end(struct ask *ask)
{
	const uint64_t name = ask_name(ask);

	if (!ask_is_under_way(ask))
		return;
	atomic_store_explicit(&ask->id, 0, memory_order_release);
	atomic_fetch_sub_explicit(&ask->link->wire->asking, 1, memory_order_relaxed);
	if (!ask->is_sent)
		link_give_up(ask->link, name);
	free(ask->whole);
	ask->whole = NULL;
}
