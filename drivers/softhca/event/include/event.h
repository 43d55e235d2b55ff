/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files from which a program polls and reads events: completion channels, async event files,
 * and the channels of DEVX.
 *
 *   lane --- softhca_event_*() ---> struct event_file (device's end) ==socket==> program's fd
 *
 * A record in the socket has the bytes that the kernel's files deliver: struct
 * ib_uverbs_comp_event_desc and ib_uverbs_async_event_desc (uapi ib_user_verbs.h); for DEVX struct
 * mlx5_ib_uapi_devx_async_event_hdr and mlx5_ib_uapi_devx_async_cmd_hdr. The program's end is
 * identified by its inode, so the program may duplicate the descriptor. An event file exists as
 * long as its context or one of its sources holds it.
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
	/* Events of objects: mlx5dv_devx_subscribe_devx_event(3). */
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

/* bytes of the longest record: a cookie, and an entry of an event queue */
#define EVENT_RECORD_MAX 72

/*
 * A subscription to one event of one source: the record to send, and the file or eventfd that gets
 * it.
 */
struct event_subscription {
	struct event_subscription *next;
	uint32_t type;           /* enum event_devx */
	struct event_file *file; /* file that gets the record; NULL: the eventfd gets the event */
	int eventfd;             /* descriptor that the subscription owns, or -1 */
	uint16_t len;            /* bytes of the record for `file` */
	uint8_t record[EVENT_RECORD_MAX];
};

/* A CQ, QP, SRQ or WQ that sends events. A member `event` in hca.h points to such a struct. */
struct event_source {
	uint64_t element;         /* the program's handle of the object, which records contain */
	struct event_file *comp;  /* only for a CQ; may be NULL */
	struct event_file *async; /* may be NULL */
	_Atomic uint32_t comp_sent, async_sent;
	/* protects the list; while it is held, only the lock of an event file is taken */
	struct spin lock;
	_Atomic(struct event_subscription *) subscriptions;
};

/* Makes a socket pair. *fd is the program's end, which the program closes. */
int event_file_create(enum event_kind kind, struct event_file **out, int *fd);
struct event_file *event_file_get(struct event_file *file);
void event_file_put(struct event_file *file);
/*
 * Call this in a child of fork(): closes the child's copy of the device's end, which only the
 * parent uses.
 */
void event_file_abandon(struct event_file *file);
/* Sends a record about the adapter or a port. Does not wait until the program reads it. */
void event_file_post(struct event_file *file, uint64_t element, uint32_t type);
/* True if the program has closed its end and all duplicates of this descriptor. */
bool event_file_is_closed(const struct event_file *file);
bool event_file_is(const struct event_file *file, enum event_kind kind);
bool event_file_is_inode(const struct event_file *file, dev_t dev, ino_t ino);
/*
 * Returns the kernel's name of the file that has an end with this inode, or NULL if no event file
 * of this process has it. Any thread may call it.
 */
const char *event_file_name(dev_t dev, ino_t ino);
/* Call these around fork(2), so that event_file_name() works in the child. */
void event_files_fork_prepare(void);
void event_files_fork_done(void);

/*
 * Sends a record of an EVENT_ANSWERS file. Returns 0, -EAGAIN if the program leaves too many
 * records unread, or another -errno of the socket.
 */
int event_file_answer(struct event_file *file, const void *record, size_t len);

/*
 * Adds a copy of the subscription. The copy holds its file and owns its eventfd. Returns 0 or
 * -ENOMEM.
 */
int event_source_subscribe(struct event_source *src, const struct event_subscription *what);
/* Sends the event to all subscribers to this type of event. type: enum event_devx. */
void event_source_tell(struct event_source *src, uint32_t type);
/*
 * Ends a source that no lane can reach any more: takes the source's unread records out of the
 * sockets, releases its files, and ends its subscriptions. Sets *comp_read and *async_read to the
 * numbers of records that the program has read. In a destroy call, libibverbs waits until the
 * program has acknowledged this number of events (ibv_ack_cq_events(3)).
 */
void event_source_fini(struct event_source *src, uint32_t *comp_read, uint32_t *async_read);

#endif
