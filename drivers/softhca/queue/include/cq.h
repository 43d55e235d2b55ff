/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues, as those see them who complete work. */
#ifndef SOFTHCA_CQ_H
#define SOFTHCA_CQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca.h"
#include "sig.h"
#include "spin.h"
#include "wire.h"

#define CQ_ARM_PARK 0xffffffffu /* bits 31:30 of an arm word are zero: no program writes this */

enum cq_arm {
	ARM_NONE,
	ARM_SOLICITED,
	ARM_ANY
};

/* The producer side is under `lock`. */
struct softhca_cq {
	struct spin lock;
	uint32_t pi, ci_seen;   /* free running; the record holds 24 bits of the consumer's */
	uint32_t solicited_end; /* pi after the last solicited or failed completion */
	uint32_t n, log_n, mask, stride;
	uint8_t *buf; /* the first 64-byte CQE; in entries of 128 bytes, their second half */
	_Atomic uint32_t *dbrec;
	struct cq_zip *zip; /* completions that wait to be compressed; NULL: it compresses none */
	enum cq_arm arm;
	bool ignore_overrun, pad;
	atomic_bool failed;
	/*
	 * Moderation (cq_event.c): an event comes with the event_count-th completion since the CQ
	 * was armed, or event_period ns after the last event, which was sent at event_last.
	 * event_due is the time of an event that waits; 0: none does.
	 */
	uint32_t event_count, event_waiting;
	uint64_t event_period, event_last, event_due;
	void *event;
	struct softhca_dev *dev;
	struct softhca_uar *uar;
	uint32_t number;
	atomic_uint users; /* QPs, SRQs and WQs that complete to it */
} __attribute__((aligned(CACHE_LINE)));

struct cqe_sig_err {
	struct sig_error error;
	bool memory;
	uint32_t key;
};

/* What a completion says. */
struct cqe {
	enum wire_cqe_opcode opcode;
	bool solicited;
	uint32_t uidx, imm, byte_cnt, opcode_qpn, wqe_counter;
	uint32_t flags_rqpn, slid; /* where the transport says who sent */
	enum wire_syndrome syndrome;
	uint8_t vendor; /* the vendor syndrome of an error */
	uint64_t timestamp;
	const struct cqe_sig_err *sig_err; /* of CQE_SIG_ERR, else NULL */
};

static inline bool
cq_has_failed(const struct softhca_cq *cq)
{
	return atomic_load_explicit(&cq->failed, memory_order_relaxed);
}

/*
 * Adds a completion; on overrun the CQ fails (ibv_create_cq(3)). cq->lock held, and let go by
 * cq_unlock().
 */
void cq_push(struct softhca_cq *cq, const struct cqe *cqe);
/*
 * The CQ cannot be used any more: an event says so, and its QPs fail. cq->lock held. Inside a
 * turn.
 */
void cq_fail(struct softhca_cq *cq);

/* ---- compression: cq_zip.c */

#define CQ_ZIP_MAX 64 /* completions under one title */

/* Writes the completions that wait. cq->lock held. */
void cq_zip_flush(struct softhca_cq *cq);

/* Ends what cq_push() began: nothing waits any more. */
static inline void
cq_unlock(struct softhca_cq *cq)
{
	if (__builtin_expect(cq->zip != NULL, 0))
		cq_zip_flush(cq);
	spin_unlock(&cq->lock);
}

/* ---- events: cq_event.c */

/* The page's arm doorbell rang: takes the arming that the record holds, if there is a new one. */
void cq_take_arm(struct softhca_cq *cq);
/* A completion was added: sends the event that is due. cq->lock held. */
void cq_event_push(struct softhca_cq *cq, bool solicited);
/* Sends an event whose time has come. True: an event waits for its time. */
bool cq_event_timer(struct softhca_cq *cq, uint64_t now);

#endif
