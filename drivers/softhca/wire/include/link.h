/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The asking end of a connection: this adapter's QPs send their messages on it, and the answers
 * come back on it. An adapter has at most one link to each block of QP numbers (names.h). A link is
 * never freed before the adapter; its connection comes and goes.
 *
 * An answer is parked in the link's buffer until the visit of its QP takes it. While an answer is
 * parked, no further answer is read.
 */
#ifndef SOFTHCA_LINK_H
#define SOFTHCA_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "record.h"
#include "spin.h"

struct wire;

struct link {
	struct wire *wire;
	uint32_t block;
	struct spin lock;  /* protects the members up to `parked` */
	int fd;            /* -1: not connected */
	atomic_bool ready; /* answers may be there to read */
	bool said;         /* it was logged that the other process broke a rule */
	uint64_t owner;    /* the message of which some records are sent and some are not; or 0 */
	atomic_uint life;  /* counts connections that were made and lost */
	/*
	 * record_name() of the message whose answer is in `in`; 0: `in` is empty. LINK_TAKING is
	 * added while a visit reads the answer.
	 */
	_Atomic uint64_t parked;
	uint32_t in_len;
	uint8_t *in; /* RECORD_MAX bytes; NULL: not connected */
};

#define LINK_TAKING (UINT64_C(1) << 63)

/*
 * Returns the link to the QP number, connected. *life: the connection. Returns NULL if no process
 * has the number, or if no connection can be made now. Any lane may call it inside a turn.
 */
struct link *link_to(struct wire *wire, uint32_t number, uint32_t *life);
/*
 * Sends a record of the message `name`. more: further records of this message follow. Returns 0;
 * -EAGAIN if the socket is full, or if another message's records must be sent first; -EFAULT if
 * memory of the data is missing; or -EPIPE if the connection is lost.
 */
int link_send(struct link *link, uint32_t life, uint64_t name, const struct iovec *iov,
	unsigned int n, bool more);
/*
 * Closes the connection `life`, because the other process broke a rule. Logs the reason `why`, once
 * for each link.
 */
void link_refuse(struct link *link, uint32_t life, const char *why);
/*
 * Called when a message ends. If only some records of the message `name` were sent, lets other
 * messages use the connection.
 */
void link_give_up(struct link *link, uint64_t name);
/*
 * Reads the next answer and parks it. Returns the answer's name. Returns 0 if no answer has come,
 * or if an answer is parked already. Only the lane that holds wire->lock calls this function.
 */
uint64_t link_receive(struct link *link);
/*
 * Frees the buffer of a link that is not connected and has no parked answer, because the numbers of
 * its block may never be used again. Only the lane that holds wire->lock calls this function.
 */
void link_trim(struct link *link);
/* Drops the parked answer `name`, unless a visit takes it now. */
void link_drop(struct link *link, uint64_t name);
/*
 * True if the answer `name` is parked. Then the caller may read the answer by link_answer(), and
 * must call link_taken().
 */
bool link_take(struct link *link, uint64_t name);
static inline const struct record_answer *
link_answer(const struct link *link)
{
	return (const struct record_answer *)(const void *)link->in;
}
void link_taken(struct link *link);

/* True if the answer `name` is parked, or if the connection `life` is lost. */
static inline bool
link_has_news(const struct link *link, uint32_t life, uint64_t name)
{
	return atomic_load_explicit(&link->parked, memory_order_acquire) == name ||
	       atomic_load_explicit(&link->life, memory_order_acquire) != life;
}

#endif
