/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ports of the adapters count: /sys/class/infiniband/<adapter>/ports/<p>/counters and
 * hw_counters.
 *
 *   a file: | adapter 0, port 1: a number a counter | adapter 0, port 2 | adapter 1, ...
 *             ^ the process that opens the adapter maps it, and counts in it
 *             ^ that process, and its children, read it
 *
 * So a child sees what its parent's adapters have carried, and the parent does nothing for it.
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
	/* Octets divided by 4, with all headers; packets. Changed by counters_carry() only. */
	COUNTER_XMIT_DATA,
	COUNTER_RCV_DATA,
	COUNTER_XMIT_PACKETS,
	COUNTER_RCV_PACKETS,
	/* Requests that a responder has answered. Changed by counters_carry() only. */
	COUNTER_RX_WRITES,
	COUNTER_RX_READS,
	COUNTER_RX_ATOMICS,
	/* Changed by counters_add() only. */
	COUNTER_LINK_DOWNED,
	COUNTER_OUT_OF_BUFFER,     /* messages that met no receive */
	COUNTER_RNR_NAKS,          /* requests that were answered so */
	COUNTER_ACK_TIMEOUTS,      /* requests that nobody answered */
	COUNTER_RESP_LENGTH,       /* messages longer than their receive */
	COUNTER_RESP_CQES,         /* completions in error: of receives, and flushed ones */
	COUNTER_RESP_FLUSHED_CQES, /* of these: flushed */
	COUNTER_REQ_CQES,          /* of send queues */
	COUNTER_REQ_FLUSHED_CQES,
	COUNTER_REQ_INVALID, /* requests that the peer refused: as invalid, for their access */
	COUNTER_REQ_ACCESS,
	COUNTER_RESP_ACCESS, /* requests refused for their access */
	COUNTER_N
};

/* What a port has sent, or received. */
struct traffic {
	uint64_t words; /* octets divided by 4, with all headers */
	uint64_t packets;
};

/* The requests that a port's responders have answered. */
struct requests {
	uint64_t writes, reads, atomics;
};

/* Adds 1 to a counter of a port, 1 or 2. Any thread. */
void counters_add(const struct softhca_dev *dev, uint32_t port, enum counter counter);
/* Adds what a port has carried; answered: NULL: nothing. Any thread. */
void counters_carry(const struct softhca_dev *dev, uint32_t port, const struct traffic *sent,
	const struct traffic *received, const struct requests *answered);

/*
 * From now on this process counts in a new file of that name, from 0. Where that fails, nobody else
 * sees it.
 */
void counters_share(const char *path);
/* In a child of fork(): the file is its parent's. */
void counters_fork_child(void);
/* The names of a port's hw_counters; NULL after the last one. */
extern const char *const counters_hw_names[];
/*
 * The value of a counter of a port in a file, by the name that the kernel gives it: false, it is
 * none that changes, or there is no file. A name stands for one counter, or for the same number
 * under another name.
 */
bool counters_read(const char *path, uint32_t dev, uint32_t port, const char *name,
	uint64_t *value);

#endif
