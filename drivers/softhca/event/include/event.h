/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files from which a program polls and reads events: completion channels, async event files,
 * and the channels of DEVX.
 *
 *   lane --- softhca_event_*() ---> struct event_file (device's end) ==socket==> program's fd
 *
 * A record in the socket is what the kernel's files deliver: struct ib_uverbs_comp_event_desc and
 * ib_uverbs_async_event_desc (uapi ib_user_verbs.h); for DEVX struct
 * mlx5_ib_uapi_devx_async_event_hdr and mlx5_ib_uapi_devx_async_cmd_hdr. The program's end is
 * recognised by its inode, so the program may duplicate the descriptor. An event file lives while
 * its context or one of its sources holds it.
 */
#ifndef SOFTHCA_EVENT_H
#define SOFTHCA_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "spin.h"

struct event_file;

enum event_kind {
	EVENT_COMP,  /* completion channels */
	EVENT_ASYNC, /* async events of verbs */
	/* events of objects: mlx5dv_devx_subscribe_devx_event(3) */
	EVENT_DEVX,
	EVENT_COOKIES, /* as EVENT_DEVX, without the event's data */
	EVENT_ANSWERS  /* answers of commands: mlx5dv_devx_obj_query_async(3) */
};

/* Events of DEVX, with the firmware's numbers (MLX5_EVENT_TYPE_* of the kernel). */
enum event_devx {
	DEVX_EVENT_COMP = 0x00,
	DEVX_EVENT_COMM_EST = 0x02,
	DEVX_EVENT_SQ_DRAINED = 0x03,
	DEVX_EVENT_CQ_ERROR = 0x04,
	DEVX_EVENT_WQ_CATAS = 0x05,
	DEVX_EVENT_PORT = 0x09,
	DEVX_EVENT_WQ_INVALID = 0x10,
	DEVX_EVENT_WQ_ACCESS = 0x11,
	DEVX_EVENT_SRQ_CATAS = 0x12,
	DEVX_EVENT_LAST_WQE = 0x13,
	DEVX_EVENT_SRQ_LIMIT = 0x14,
	DEVX_EVENT_DCT_KEY = 0x1d
};

#define EVENT_RECORD_MAX 72 /* a cookie, and an entry of an event queue */

/* A subscription to one event of one source: the record to send, and its receiver. */
struct event_subscription {
	struct event_subscription *next;
	uint32_t type;           /* enum event_devx */
	struct event_file *file; /* NULL: eventfd */
	int eventfd;             /* a descriptor that the subscription owns, or -1 */
	uint16_t len;            /* of the record, for `file` */
	uint8_t record[EVENT_RECORD_MAX];
};

/* A CQ, QP, SRQ or WQ that sends events. The `event` members of hca.h point to one. */
struct event_source {
	uint64_t element;         /* the program's handle of the object; records have it */
	struct event_file *comp;  /* CQ only, may be NULL */
	struct event_file *async; /* may be NULL */
	_Atomic uint32_t comp_sent, async_sent;
	struct spin lock; /* protects the list; no lock but that of sending is taken inside */
	_Atomic(struct event_subscription *) subscriptions;
};

/* Makes a socket pair. *fd is the program's end; the program closes it. */
int event_file_create(enum event_kind kind, struct event_file **out, int *fd);
struct event_file *event_file_get(struct event_file *file);
void event_file_put(struct event_file *file);
/* In a child of fork(): closes the child's copy of the device's end, which only the parent uses. */
void event_file_abandon(struct event_file *file);
/* Sends a record about the adapter or a port. Does not wait for the program to read. */
void event_file_post(struct event_file *file, uint64_t element, uint32_t type);
/* True if the program has closed its end, and all duplicates of it. */
bool event_file_is_closed(const struct event_file *file);
bool event_file_is(const struct event_file *file, enum event_kind kind);
bool event_file_is_inode(const struct event_file *file, dev_t dev, ino_t ino);
/*
 * The kernel's name of the file that has an end with this inode. NULL: no event file of this
 * process has it. Any thread.
 */
const char *event_file_name(dev_t dev, ino_t ino);
/* Call around fork(2), so that event_file_name() works in the child. */
void event_files_fork_prepare(void);
void event_files_fork_done(void);

/*
 * Sends a record of an EVENT_ANSWERS file. -EAGAIN: the program leaves too many records unread.
 * Another -errno: the socket's.
 */
int event_file_answer(struct event_file *file, const void *record, size_t len);

/* Adds a copy of the subscription. The copy holds its file and owns its eventfd. -ENOMEM. */
int event_source_subscribe(struct event_source *src, const struct event_subscription *what);
/* Sends the event to its subscribers. type: enum event_devx. */
void event_source_tell(struct event_source *src, uint32_t type);
/*
 * Ends a source that no lane can reach any more: takes its unread records out of the sockets,
 * releases its files, and ends its subscriptions. *comp_read and *async_read: records that the
 * program has read. libibverbs waits in destroy until the program has acknowledged as many
 * (ibv_ack_cq_events(3)).
 */
void event_source_fini(struct event_source *src, uint32_t *comp_read, uint32_t *async_read);

#endif
