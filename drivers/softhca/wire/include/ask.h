/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The message of a QP that is under way to another process. A QP has at most one. The holder of the
 * lock of the QP's UAR page owns the struct, except for `id`, which any lane may read.
 */
#ifndef SOFTHCA_ASK_H
#define SOFTHCA_ASK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "record.h"

struct link;

struct ask {
	/* The number of the message under way; 0: no message is under way. */
	_Atomic uint32_t id;
	uint32_t last_id;
	struct link *link; /* the connection on which the message is sent */
	/* link->life when the message began; if link->life has changed, the message is lost */
	uint32_t life;
	uint32_t qpn; /* number of the QP */
	struct record_request request;
	uint64_t to_send;    /* bytes of data that the message sends */
	uint64_t sent, came; /* bytes of data that were sent, and that answers have brought */
	bool is_sent;        /* all records of the message are sent */
	/*
	 * All data of the message, if keys with signatures or encryption convert them at this end.
	 * Otherwise NULL.
	 */
	uint8_t *whole;
	unsigned int wait_before; /* how the QP waited (enum wait_kind) when the message began */
	uint64_t since;           /* device time at which the message began to wait */
	uint64_t next_try;        /* device time before which an absent peer is not tried again */
	bool said;                /* it was logged that the peer is silent */
};

/* Allocates a struct without message. Returns NULL if memory is short. */
struct ask *ask_new(uint32_t qpn);
void ask_free(struct ask *ask);
/*
 * Begins a message on a connection. The caller has filled ask->request, except for its head. total:
 * bytes of the message's data. to_send: the same, or 0 for a read or an atomic.
 */
void ask_begin(struct ask *ask, struct link *link, uint32_t life, uint64_t total, uint64_t to_send);
/*
 * Ends the message under way, if there is one. An answer that comes later is dropped. If not all
 * records were sent, the serving process drops the message when the next one begins.
 */
void ask_end(struct ask *ask);

static inline bool
ask_is_under_way(const struct ask *ask)
{
	return atomic_load_explicit(&ask->id, memory_order_relaxed) != 0;
}

/* Names the message under way: record_name(). */
static inline uint64_t
ask_name(const struct ask *ask)
{
	return (uint64_t)ask->qpn << 32 | atomic_load_explicit(&ask->id, memory_order_relaxed);
}

#endif
