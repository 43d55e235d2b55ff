/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An open file of /dev/infiniband/rdma_cm, and the events that wait in it.
 *
 *   the program's descriptor ---- one byte, while events wait ---- the device's end
 *        (one end of a socket pair)                                    watched for the hang-up
 *
 * So poll(2) and O_NONBLOCK work on the program's descriptor, and the thread notices when the
 * program has closed its last descriptor. The functions need the lock of loop.h, unless they say
 * otherwise.
 */
#ifndef SOFTHCA_CM_FILE_H
#define SOFTHCA_CM_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <rdma/rdma_user_cm.h>

struct cm_id;

struct cm_event {
	struct cm_event *next;
	struct cm_id *id;   /* the id that counts the event as reported */
	struct cm_id *conn; /* of a CONNECT_REQUEST: the new id. Otherwise NULL */
	struct rdma_ucm_event_resp resp;
};

struct cm_file {
	struct cm_file *next;
	int fd; /* device's end */
	dev_t dev;
	ino_t ino; /* inode of the program's end */
	uint32_t slot;
	struct cm_event *first, *last;
};

/* Called when the program has closed a file: ends the ids of the file. */
typedef void file_closed_fn(struct cm_file *file);

/* Opens a file. flags: O_CLOEXEC and O_NONBLOCK. Returns a descriptor, or -errno. */
int file_open(int flags, file_closed_fn *closed);
/*
 * Finds the file of a descriptor. Sets *dead if the descriptor is that of the parent's file in a
 * child of fork(2). Returns NULL if the descriptor is no open file of rdma_cm.
 */
struct cm_file *file_of(int fd, bool *dead);
/*
 * False if the descriptor is certainly no file of rdma_cm. Needs no lock. A signal handler may call
 * it.
 */
bool file_may_be(int fd);
/* True if the inode is that of a file of rdma_cm. The caller does not hold the lock. */
bool file_is(dev_t dev, ino_t ino);
/* Ends the files that the program has closed and whose end the thread has not noticed yet. */
void file_reap(void);

void file_post(struct cm_file *file, struct cm_event *event);
/*
 * Removes the file's events that `of` names, and returns them as a list. fd: the program's
 * descriptor of the file, or -1 if the program has closed it.
 */
struct cm_event *file_take(struct cm_file *file, int fd, const struct cm_id *of);
/* The new id of a CONNECT_REQUEST has ended: the event that waits for it does not name it. */
void file_forget(struct cm_file *file, const struct cm_id *conn);
/* Removes the first event. The caller frees it. fd: the program's descriptor of the file. */
struct cm_event *file_take_first(struct cm_file *file, int fd);

/*
 * In a child of fork(2): closes the device's ends, and replaces the program's ends by ends of a
 * closed socket pair, so that the child keeps none of the parent's files open.
 */
void file_fork_child(void);

#endif
