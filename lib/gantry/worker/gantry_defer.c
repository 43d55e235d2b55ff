/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of descriptors that wait until their connection can accept them. */
#include "gantry_defer.h"

#include <errno.h>

#include <rte_common.h>

#include "gantry_alloc.h"
#include "gantry_issue.h"
#include "gantry_queue.h"
#include "gantry_xlate.h"

#define NOWHERE UINT32_MAX
/* The number of no peer: gantry_queue_conf::max_peers is lower. */
#define NO_PEER (GANTRY_PEER_OWN - 1)
/* The most deferred descriptors that one call submits. */
#define RETRY_BURST 16

struct gantry_defer_list {
	uint32_t first, last; /* indices in `desc`; the list is empty if first is NOWHERE */
};

int
gantry_defer_create(struct gantry_queue *q, uint32_t n, struct gantry_defer **out)
{
	uint32_t n_conns = GANTRY_CONN_PEER + q->max_peers, i;
	struct gantry_defer *d;

	d = gantry_alloc("gantry_defer", sizeof(*d), q->socket);
	if (d == NULL)
		return -ENOMEM;
	d->q = q;
	d->waiting = gantry_alloc("gantry_waiting", n_conns * sizeof(*d->waiting), q->socket);
	d->list = gantry_alloc("gantry_lists", n_conns * sizeof(*d->list), q->socket);
	d->next = gantry_alloc("gantry_next", n * sizeof(*d->next), q->socket);
	d->desc = gantry_alloc("gantry_deferred", n * sizeof(*d->desc), q->socket);
	if (d->waiting == NULL || d->list == NULL || d->next == NULL || d->desc == NULL) {
		gantry_defer_free(d);
		return -ENOMEM;
	}
	for (i = 0; i < n_conns; i++)
		d->list[i].first = NOWHERE;
	for (i = 0; i < n; i++)
		d->next[i] = i + 1;
	*out = d;
	return 0;
}

void
gantry_defer_free(struct gantry_defer *d)
{
	if (d == NULL)
		return;
	gantry_free(d->desc);
	gantry_free(d->next);
	gantry_free(d->list);
	gantry_free(d->waiting);
	gantry_free(d);
}

/* ------------------------------------------------------------------ lists */

/*
 * Returns the connection in whose list desc waits. A DC target has no stream of its own.
 * Descriptors that name it fail in the stream of the own connection, so they wait in the list of
 * the own connection.
 */
static uint32_t
list_of(const struct gantry_queue *q, const struct gantry_desc *desc)
{
	uint32_t conn = gantry_xlate_conn(q, desc);

	return q->conn[conn].stream == &q->stream ? (uint32_t)GANTRY_CONN_OWN : conn;
}

static void
put(struct gantry_defer *d, const struct gantry_desc *desc)
{
	uint32_t conn = list_of(d->q, desc), place = d->free;
	struct gantry_defer_list *list = &d->list[conn];

	d->free = d->next[place];
	d->desc[place] = *desc;
	/*
	 * This descriptor will fail, even if its peer is opened before it is submitted: a later
	 * descriptor to the peer would not wait in the same list, and would overtake it.
	 */
	if (conn == GANTRY_CONN_OWN && gantry_xlate_is_to_peer(desc))
		d->desc[place].peer = NO_PEER;
	d->next[place] = NOWHERE;
	if (list->first == NOWHERE) {
		list->first = place;
		d->waiting[d->n_conns++] = conn;
	} else {
		d->next[list->last] = place;
	}
	list->last = place;
	d->n++;
}

static void
drop_first(struct gantry_defer *d, struct gantry_defer_list *list)
{
	uint32_t place = list->first;

	list->first = d->next[place];
	d->next[place] = d->free;
	d->free = place;
	d->n--;
}

/* Copies the first descriptors of a list, at most n. Returns how many were copied. */
static uint32_t
peek(const struct gantry_defer *d, const struct gantry_defer_list *list, struct gantry_desc *desc,
	uint32_t n)
{
	uint32_t i, place = list->first;

	for (i = 0; i < n && place != NOWHERE; i++, place = d->next[place])
		desc[i] = d->desc[place];
	return i;
}

/*
 * Submits descriptors of a list until the queue does not accept one. Returns how many were
 * submitted.
 */
static uint32_t
retry_list(struct gantry_defer *d, struct gantry_defer_list *list)
{
	struct gantry_desc desc[RETRY_BURST];
	uint32_t sum = 0, n, done, i;

	do {
		n = peek(d, list, desc, RETRY_BURST);
		done = gantry_submit_any(d->q, desc, n);
		for (i = 0; i < done; i++)
			drop_first(d, list);
		sum += done;
	} while (done == RETRY_BURST);
	return sum;
}

/* ------------------------------------------------------------------ the worker's calls */

static bool
is_fenced(const struct gantry_desc *desc)
{
	return (desc->flags & GANTRY_DESC_FENCE) != 0;
}

/* Returns the number of descriptors before the first fenced descriptor. */
static uint32_t
count_unfenced(const struct gantry_desc *desc, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n && !is_fenced(&desc[i]); i++)
		;
	return i;
}

uint32_t
gantry_defer_or_submit(struct gantry_defer *d, const struct gantry_desc *desc, uint32_t n)
{
	uint32_t i = 0, end;

	while (i < n) {
		end = d->n == 0 ? n : i + count_unfenced(desc + i, n - i);
		if (i == end)
			break;
		i += gantry_submit_any(d->q, desc + i, end - i);
		if (i == end)
			continue;
		/* The connection of this descriptor accepts no more descriptors now. */
		if (is_fenced(&desc[i]))
			break;
		put(d, &desc[i++]);
	}
	return i;
}

uint32_t
gantry_defer_retry(struct gantry_defer *d)
{
	uint32_t i = 0, sum = 0;

	while (i < d->n_conns) {
		struct gantry_defer_list *list = &d->list[d->waiting[i]];

		sum += retry_list(d, list);
		if (list->first == NOWHERE)
			d->waiting[i] = d->waiting[--d->n_conns];
		else
			i++;
	}
	return sum;
}

bool
gantry_defer_has_peer(const struct gantry_defer *d, uint16_t peer)
{
	for (uint32_t i = 0; d != NULL && i < d->n_conns; i++) {
		uint32_t place = d->list[d->waiting[i]].first;

		for (; place != NOWHERE; place = d->next[place])
			if (gantry_xlate_is_to_peer(&d->desc[place]) && d->desc[place].peer == peer)
				return true;
	}
	return false;
}
