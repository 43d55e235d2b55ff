/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connections of an adapter to queue pairs of other processes of the host.
 *
 *     names.h    who holds a QP number: names of blocks
 *     link.h     asking end of a connection        ask.h    a QP's message under way
 *     served.h   serving end of a connection       record.h what is sent
 *
 * This code needs no thread of its own and no daemon. Lanes send records in their visits, and one
 * lane at a time receives records in its turn. This folder knows numbers, connections and records,
 * but no queue pairs.
 */
#ifndef SOFTHCA_WIRE_ADAPTER_H
#define SOFTHCA_WIRE_ADAPTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "link.h"
#include "names.h"
#include "served.h"
#include "spin.h"

#define WIRE_BLOCKS 4096u

struct softhca_dev;

struct wire {
	struct softhca_dev *dev;
	int poll_fd;  /* epoll of names, links and served connections */
	int spare_fd; /* reserve: closed for a moment when no descriptor is left; or -1 */
	/* Only the lane that holds this lock receives records. No lane waits for the lock. */
	struct spin lock;
	unsigned int n_served, max_served;
	unsigned int first;   /* index of the served connection whose records are executed next */
	unsigned int put_off; /* number of turns for which answers have delayed messages */
	struct served **served;
	uint64_t gathered;      /* bytes of memory that gathered messages have */
	uint64_t n_accepted;    /* number of connections that were accepted */
	atomic_bool unfinished; /* a served connection has work that no event announces */
	atomic_bool lost;       /* a link was lost: QPs that wait for its answers must be visited */
	atomic_uint quiet;      /* number of calls of exchange() since the last record */
	atomic_uint asking;     /* number of messages that wait for an answer */
	uint64_t reminded_at;   /* device time of the last visits because of silent peers */
	struct spin connect_lock;     /* held while a link is made; protects what follows */
	atomic_uint n_names, n_links; /* may be read without the lock */
	int *names;                   /* listening sockets of the blocks that this adapter holds */
	struct link *_Atomic links[WIRE_BLOCKS]; /* by block */
	uint16_t linked[WIRE_BLOCKS];            /* the blocks that have a link, in order */
};

/* Returns NULL if memory or descriptors are short; then a line is logged. */
struct wire *wire_create(struct softhca_dev *dev);
/* Closes everything. No lane runs any more. */
void wire_destroy(struct wire *wire);
/*
 * Call wire_fork_prepare() before fork(2) and wire_fork_done() after it, in the parent and in the
 * child, with the locks of the control half held. Between them no thread makes or closes a socket.
 */
void wire_fork_prepare(void);
void wire_fork_done(void);
/* Call this in a child, before wire_fork_done(): closes the parent's names and connections. */
void wire_fork_child(struct wire *wire);
/*
 * Claims a block of QP numbers for the adapter. Returns 0, or logs the reason and returns -ENOMEM
 * or another -errno. arg: the struct wire.
 */
int wire_claim(void *arg, uint32_t *block);
/*
 * Call this after the effective user of the process has changed: lets processes of the new user
 * connect to the adapter's numbers (allowed.h).
 */
void wire_user_changed(struct wire *wire);
/* True if an adapter of this process holds the block of this number. */
bool wire_is_own(uint32_t number);

/*
 * Takes the events of the sockets: accepts connections, and marks connections that have something
 * to read. The caller holds wire->lock.
 */
void wire_take_events(struct wire *wire);
/* Frees served connections that are closed. The caller holds wire->lock. */
void wire_drop_closed(struct wire *wire);
/*
 * Returns true when a message or an answer has come, or false after `ns` nanoseconds, as exactly as
 * the kernel can. Do not call it inside a turn.
 */
bool wire_sleep(struct wire *wire, long ns);

#endif
