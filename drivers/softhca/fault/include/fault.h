/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults on demand. If no fault is armed and the timing model is off, they cost the data path one
 * predictable branch.
 */
#ifndef SOFTHCA_FAULT_H
#define SOFTHCA_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "dev.h"

struct softhca_dev;

/* Bits for the parts of the adapter that must consult faults or the timing model at present. */
enum fault_watch {
	WATCH_WQES = 1,      /* before a WQE runs or a message arrives */
	WATCH_TURNS = 2,     /* in a lane's turn: fault_tick() */
	WATCH_CALLS = 4,     /* in a control call: fault_refuses() */
	WATCH_OPERATIONS = 8 /* a fault counts WQEs */
};

extern _Atomic unsigned int fault_watch_bits;

static inline bool
fault_watches(enum fault_watch what)
{
	return __builtin_expect((atomic_load_explicit(&fault_watch_bits, memory_order_relaxed) &
					what) != 0,
		0);
}

/*
 * Call this before an adapter runs. WATCH_WQES is set if a setting affects whether or when a WQE
 * runs.
 */
void fault_init(const struct softhca_config *cfg);

#define FAULT_FILE_ERR_LEN 8192 /* bytes for a path and the text of fault_parse() */

/*
 * Checks the control file, if there is one. Call this before the adapters exist, when they are only
 * listed. Returns the number of faults that the file lists (0 without a file), or -errno if the
 * file is missing or malformed: then err is the reason.
 */
int fault_file_check(char err[FAULT_FILE_ERR_LEN]);

enum fault_kind {
	FAULT_NONE,
	FAULT_COMPLETE,      /* the WQE does not run, and completes with a syndrome */
	FAULT_DROP,          /* the WQE runs, and its completion is lost */
	FAULT_LATE,          /* the WQE and all WQEs after it wait */
	FAULT_RECV_COMPLETE, /* the receive fails with a syndrome, and its QP also fails */
	FAULT_RECV_DROP,     /* the message arrives, and the receive's completion is lost */
	FAULT_RECV_LATE,     /* the message waits at its responder */
	/* The QP fails with an event, and without a completion that reports the error. */
	FAULT_QP_FATAL,
	FAULT_CQ_OVERRUN,   /* the send CQ of the WQE fails */
	FAULT_SQ_DRAINED,   /* the send queue stops before the WQE */
	FAULT_PORT_DOWN,    /* the link is lost */
	FAULT_PORT_UP,      /* the link is up again */
	FAULT_DEVICE_FATAL, /* the whole device stops */
	FAULT_REFUSE,       /* a control call fails */
	FAULT_N_KINDS
};

struct fault_hit {
	enum fault_kind kind;
	uint8_t syndrome, vendor;
	uint64_t ns;
};

/*
 * Called when the WQE at the head of this QP is about to run for the first time. Returns the fault
 * that applies to this WQE.
 */
struct fault_hit fault_next(const struct softhca_dev *dev, uint32_t qpn);
/*
 * Called when a message is about to arrive in a receive of this QP. Returns the fault that applies
 * to the receive.
 */
struct fault_hit fault_next_receive(const struct softhca_dev *dev, uint32_t qpn);
/*
 * Checks the control file from time to time, brings up ports whose time is over, and delivers
 * events. Call this inside a turn (turns.h) of the adapter.
 */
void fault_tick(struct softhca_dev *dev, softhca_dev_event_fn *deliver);
/*
 * Call this when a control call begins: checks the control file, and brings up ports whose time is
 * over.
 */
void fault_look(struct softhca_dev *dev);

/*
 * True if fault_tick() must still be called for this adapter: in its next turn, or at a later time
 * that is already known.
 */
bool fault_is_due(struct softhca_dev *dev);

/*
 * Returns a descriptor that becomes readable when the control file may have changed. Returns -1 if
 * there is no file or if changes are not reported: then turns check the file from time to time.
 */
int fault_file_watch(void);
/*
 * Call this when the descriptor is readable: wakes the adapters if the file has changed. Returns
 * false if the descriptor is now closed.
 */
bool fault_file_event(void);

/* The properties by which faults recognise a control call. */
struct fault_call {
	uint16_t object, method; /* object and method of the ioctl */
	uint16_t opcode;         /* opcode of the call's firmware command, or 0 */
	int64_t write_cmd;       /* write command of INVOKE_WRITE, or -1 */
};

/* Returns 0, or the -errno with which a fault makes the call fail. */
int fault_refuses(struct softhca_dev *dev, const struct fault_call *call);
bool fault_port_is_down(const struct softhca_dev *dev, unsigned int port);
bool fault_device_is_dead(const struct softhca_dev *dev);

#endif
