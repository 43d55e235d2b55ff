/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion channels and async event files: what the program polls and reads.
 *
 *   lane --- softhca_event_*() ---> struct event_file (device's end) ==socket==> program's fd
 *
 * A record in the socket is what the kernel's files deliver (struct ib_uverbs_comp_event_desc and
 * ib_uverbs_async_event_desc, uapi ib_user_verbs.h). The program's end is known by its inode, so
 * it may be duplicated. An event file lives while its context or one of its sources holds it.
 */
#ifndef SOFTHCA_EVENT_H
#define SOFTHCA_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct event_file;

/* A CQ, QP, SRQ or WQ as a source of events. hca.h's `event` members point to one. */
struct event_source {
	uint64_t element;         /* the program's handle of the object, which records carry */
	struct event_file *comp;  /* CQ only, may be NULL */
	struct event_file *async; /* may be NULL */
	_Atomic uint32_t comp_sent, async_sent;
};

/* Makes a socket pair. *fd is the program's end, and the program closes it. */
int event_file_create(bool is_async, struct event_file **out, int *fd);
struct event_file *event_file_get(struct event_file *file);
void event_file_put(struct event_file *file);
/* In a child of fork(): closes the device's end, which the parent alone uses. */
void event_file_abandon(struct event_file *file);
/* Puts in a record about the adapter or a port. Does not wait for the program to read. */
void event_file_post(struct event_file *file, uint64_t element, uint32_t type);
bool event_file_is_async(const struct event_file *file);
bool event_file_is_inode(const struct event_file *file, dev_t dev, ino_t ino);

/*
 * Ends a source that no lane can reach any more: takes its unread records out of the sockets, puts
 * its files, and counts the records of it that the program has read. libibverbs waits in destroy
 * until the program has acknowledged that many (ibv_ack_cq_events(3)).
 */
void event_source_fini(struct event_source *src, uint32_t *comp_read, uint32_t *async_read);

#endif
