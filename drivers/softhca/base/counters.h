/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counters of the adapters' ports: /sys/class/infiniband/<adapter>/ports/<p>/counters and
 * hw_counters.
 *
 *   a file: | adapter 0, port 1: one number for each counter | adapter 0, port 2 | adapter 1, ...
 *             ^ the process that opens the adapter maps the file and counts in it
 *             ^ that process and its children read the file
 *
 * So a child reads the counters of its parent's adapters, without help from the parent.
 */
#ifndef SOFTHCA_COUNTERS_H
#define SOFTHCA_COUNTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dev.h"
#include "spin.h"

enum counter {
	/*
	 * XMIT_DATA and RCV_DATA count octets divided by 4, including all headers. Only
	 * counters_carry() changes these four counters.
	 */
	COUNTER_XMIT_DATA,
	COUNTER_RCV_DATA,
	COUNTER_XMIT_PACKETS,
	COUNTER_RCV_PACKETS,
	/* Requests that a responder has answered. Only counters_carry() changes them. */
	COUNTER_RX_WRITES,
	COUNTER_RX_READS,
	COUNTER_RX_ATOMICS,
	/* Only counters_add() changes the following counters. */
	COUNTER_LINK_DOWNED,
	/* UC and UD messages that were lost because another process took no messages */
	COUNTER_XMIT_DISCARDS,
	COUNTER_OUT_OF_BUFFER, /* messages for which no receive was posted */
	COUNTER_RNR_NAKS,      /* requests that got an RNR NAK */
	COUNTER_ACK_TIMEOUTS,  /* requests that got no answer */
	COUNTER_RESP_LENGTH,   /* messages longer than their receive */
	/* completions of receives with an error, including flushed receives */
	COUNTER_RESP_CQES,
	COUNTER_RESP_FLUSHED_CQES, /* flushed completions of receives */
	COUNTER_REQ_CQES,          /* completions of send queues with an error */
	COUNTER_REQ_FLUSHED_CQES,
	/* requests that the peer refused: malformed, or without access rights */
	COUNTER_REQ_INVALID,
	COUNTER_REQ_ACCESS,
	/* requests that the responder refused because access rights were missing */
	COUNTER_RESP_ACCESS,
	COUNTER_N
};

/* What a port has sent, or what it has received. */
struct traffic {
	uint64_t words; /* octets divided by 4, including all headers */
	uint64_t packets;
};

/* The requests that a port's responders have answered. */
struct requests {
	uint64_t writes, reads, atomics;
};

/* Adds 1 to a counter of a port (1 or 2). Any thread may call it. */
void counters_add(const struct softhca_dev *dev, uint32_t port, enum counter counter);
/* Adds traffic to the counters of a port. answered may be NULL. Any thread may call it. */
void counters_carry(const struct softhca_dev *dev, uint32_t port, const struct traffic *sent,
	const struct traffic *received, const struct requests *answered);

/*
 * Creates a file with this name. From then on this process counts in the file, and all counters
 * start at 0. If the file cannot be created, only this process sees the counters.
 */
void counters_share(const char *path);
/* Call this in a child of fork(): the file belongs to the parent. */
void counters_fork_child(void);
/* The names of a port's hw_counters. The list ends with NULL. */
extern const char *const counters_hw_names[];
/*
 * Reads a counter of a port from a file. name: the kernel's name of the counter; two names may
 * refer to the same counter. Returns false if the file does not exist, or if the adapter does not
 * count under this name.
 */
bool counters_read(const char *path, uint32_t dev, uint32_t port, const char *name,
	uint64_t *value);

#endif
