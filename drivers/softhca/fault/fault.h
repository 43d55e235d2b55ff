/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What makes the adapter behave otherwise than well and at once: faults on demand (fault.c) and the
 * timing model (timing.c). With neither, the data path pays one predictable branch for both.
 */
#ifndef SOFTHCA_FAULT_H
#define SOFTHCA_FAULT_H

#include "data.h"

enum machine {
	MACHINE_OPS = 1,  /* WQEs are to be looked at before they run */
	MACHINE_TICK = 2, /* lanes call fault_tick() every turn */
	MACHINE_CALLS = 4 /* control calls ask fault_refuses() */
};

extern _Atomic unsigned int machine_bits;

static inline bool
machine_is(unsigned int bits)
{
	return __builtin_expect((atomic_load_explicit(&machine_bits, memory_order_relaxed) &
					bits) != 0,
		0);
}

enum fault_kind {
	FAULT_NONE,
	FAULT_COMPLETE,      /* the WQE does not run, and completes with a syndrome */
	FAULT_DROP,          /* it runs, and its completion is lost */
	FAULT_LATE,          /* it, and what is behind it, waits */
	FAULT_RECV_COMPLETE, /* the receive fails with a syndrome, and its QP with it */
	FAULT_RECV_DROP,     /* the message arrives, and the receive's completion is lost */
	FAULT_RECV_LATE,     /* the message waits at its responder */
	FAULT_QP_FATAL,      /* the QP fails without a completion that says why */
	FAULT_CQ_OVERRUN,    /* its send CQ fails */
	FAULT_SQ_DRAINED,    /* the send queue stops before it */
	FAULT_PORT_DOWN,     /* the link is lost */
	FAULT_PORT_UP,       /* and back */
	FAULT_DEVICE_FATAL,  /* nothing runs any more */
	FAULT_REFUSE,        /* a control call fails */
	FAULT_N_KINDS
};

struct fault_hit {
	enum fault_kind kind;
	uint8_t syndrome, vendor;
	uint64_t ns;
};

/* A WQE is about to run for the first time: what happens to it instead. */
struct fault_hit fault_next(struct softhca_qp *qp);
/* A message is about to arrive in a receive of this QP: the same for that receive. */
struct fault_hit fault_next_receive(struct softhca_qp *qp);
/* Control file, timers, events that are due. Inside a turn of that adapter's lanes. */
void fault_tick(struct softhca_dev *dev, bool from_call);

/* A control call, as faults know it. */
struct fault_call {
	uint16_t object, method; /* of the ioctl */
	uint16_t opcode;         /* of its firmware command, or 0 */
	int64_t write_cmd;       /* of INVOKE_WRITE, or -1 */
};

/* 0, or the -errno that the call shall end with. */
int fault_refuses(struct softhca_dev *dev, const struct fault_call *call);
bool fault_port_is_down(const struct softhca_dev *dev, unsigned int port);
bool fault_device_is_dead(const struct softhca_dev *dev);

/*
 * timing.c: when the WQE at the head of run->qp may complete, as device time; 0: at once.
 * posted: WQEBBs from it to the doorbell record. local: it stays inside the adapter. Otherwise it
 * takes `bytes` over the port.
 */
uint64_t timing_due(struct run *run, uint16_t posted, bool local, uint64_t bytes);
/* While the head waits: remembers when the WQEs behind it were announced. */
void timing_note(struct run *run, uint16_t posted);
void timing_init(const struct softhca_config *cfg);
static inline bool
timing_is_on(const struct softhca_config *cfg)
{
	return cfg->latency_ns != 0 || cfg->round_trip_ns != 0 || cfg->bandwidth_mbps != 0;
}

#endif
