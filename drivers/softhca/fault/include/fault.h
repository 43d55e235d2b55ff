/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults on demand. With no fault armed and the timing model off, the data path pays one
 * predictable branch for both.
 */
#ifndef SOFTHCA_FAULT_H
#define SOFTHCA_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "dev.h"

struct softhca_dev;

/* What faults or the timing model watch now. */
enum fault_watch {
	WATCH_WQES = 1,      /* a WQE is about to run, or a message to arrive */
	WATCH_TURNS = 2,     /* a lane's turn: fault_tick() */
	WATCH_CALLS = 4,     /* a control call: fault_refuses() */
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
 * Before an adapter runs: WQEs are watched where a setting has a say in when or whether each of
 * them runs.
 */
void fault_init(const struct softhca_config *cfg);

#define FAULT_FILE_ERR_LEN 8192 /* a path, and what is wrong with a line */

/*
 * Before the adapters come up, when they are listed: is the control file, if there is one, there
 * and well-formed? -errno: err says what is wrong.
 */
int fault_file_check(char err[FAULT_FILE_ERR_LEN]);

enum fault_kind {
	FAULT_NONE,
	FAULT_COMPLETE,      /* the WQE does not run, and completes with a syndrome */
	FAULT_DROP,          /* it runs, and its completion is lost */
	FAULT_LATE,          /* it and the WQEs behind it wait */
	FAULT_RECV_COMPLETE, /* the receive fails with a syndrome, and its QP with it */
	FAULT_RECV_DROP,     /* the message arrives, and the receive's completion is lost */
	FAULT_RECV_LATE,     /* the message waits at its responder */
	FAULT_QP_FATAL,      /* the QP fails without a completion that says why */
	FAULT_CQ_OVERRUN,    /* its send CQ fails */
	FAULT_SQ_DRAINED,    /* the send queue stops before it */
	FAULT_PORT_DOWN,     /* the link is lost */
	FAULT_PORT_UP,       /* the link comes back */
	FAULT_DEVICE_FATAL,  /* nothing runs any more */
	FAULT_REFUSE,        /* a control call fails */
	FAULT_N_KINDS
};

struct fault_hit {
	enum fault_kind kind;
	uint8_t syndrome, vendor;
	uint64_t ns;
};

/* The WQE at the head of this QP is about to run for the first time: what happens to it instead. */
struct fault_hit fault_next(const struct softhca_dev *dev, uint32_t qpn);
/* A message is about to arrive in a receive of this QP: what happens to the receive instead. */
struct fault_hit fault_next_receive(const struct softhca_dev *dev, uint32_t qpn);
/*
 * Looks at the control file now and then, brings ports up that are due, delivers events. Inside a
 * turn of that adapter.
 */
void fault_tick(struct softhca_dev *dev, softhca_dev_event_fn *deliver);
/* A control call begins: looks at the control file, and brings ports up that are due. */
void fault_look(struct softhca_dev *dev);

/* The next turn of that adapter has to call fault_tick(), or one at a later time that is known. */
bool fault_is_due(struct softhca_dev *dev);

/*
 * Learning of changes of the control file. The descriptor becomes readable when there may be one;
 * -1: there is no file, or changes cannot be noticed, and turns look at the file from time to time.
 */
int fault_file_watch(void);
/* The descriptor was readable: wakes the adapters if the file changed. False: it is closed now. */
bool fault_file_event(void);

/* A control call, as faults recognise it. */
struct fault_call {
	uint16_t object, method; /* of the ioctl */
	uint16_t opcode;         /* of its firmware command, or 0 */
	int64_t write_cmd;       /* of INVOKE_WRITE, or -1 */
};

/* 0, or the -errno that the call ends with. */
int fault_refuses(struct softhca_dev *dev, const struct fault_call *call);
bool fault_port_is_down(const struct softhca_dev *dev, unsigned int port);
bool fault_device_is_dead(const struct softhca_dev *dev);

#endif
