/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The serving end of a connection: records of another process come in, answers go out. Records are
 * executed in the order in which they come. Only the lane that holds wire->lock uses the struct.
 */
#ifndef SOFTHCA_SERVED_H
#define SOFTHCA_SERVED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record.h"

struct wire;

/* How the data of a message of several records move. */
enum part {
	PART_NONE,    /* no such message is under way */
	PART_PLACE,   /* each record's data are placed when the record comes */
	PART_GATHER,  /* the data are gathered in `whole`, because a key converts them */
	PART_DISCARD, /* the message is answered; the rest of its data is dropped */
	PART_READ     /* a read that is answered by several records */
};

struct served {
	struct wire *wire;
	int fd;
	uint64_t number; /* different for each connection of this process */
	pid_t pid;
	bool ready;     /* records may be there to read */
	bool is_closed; /* close the connection: it has ended, or the other process broke a rule */
	uint32_t holds[4]; /* blocks that the other process was seen to hold, most recent first */
	bool is_checked;   /* the process holds the number of the QP that sent the record in `in` */
	uint64_t late_until; /* device time before which the record in `in` is not executed, or 0 */
	uint32_t in_len;     /* bytes of the record in `in`; 0: no record waits */
	uint32_t out_len;    /* bytes of the answer in `out` that is not sent yet; 0: none */
	uint8_t *in, *out;   /* RECORD_MAX bytes each */

	/* The message of several records, if part is not PART_NONE. */
	enum part part;
	struct record_request request;
	uint32_t life;  /* of the message's QP: struct softhca_qp */
	uint64_t moved; /* bytes of the message that have come, or that were answered */
	uint8_t *whole; /* all bytes of the message, or NULL */
};

/*
 * Reads and checks the next record, if `in` is empty. Returns true if a correct record is in `in`.
 * Returns false if no record has come, or if the connection is closed.
 */
bool served_receive(struct served *s);
/*
 * Sends the answer in `out`, or drops it if the other process has ended. Returns false if the
 * socket is full.
 */
bool served_flush(struct served *s);
/* Closes the connection. Logs the reason once for each process. */
void served_refuse(struct served *s, const char *why);
/* Ends the message of several records, and frees its data. */
void served_end_part(struct served *s);
/*
 * Allocates memory for all data of the message. Returns false if memory is short, or if the
 * adapter's messages would have more memory than the setting wire_bytes allows. The caller then
 * tries again later.
 */
bool served_alloc_whole(struct served *s, uint64_t len);

#endif
