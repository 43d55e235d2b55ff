/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues, for the code that completes work. */
#ifndef SOFTHCA_CQ_H
#define SOFTHCA_CQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca.h"
#include "sig.h"
#include "spin.h"
#include "wire.h"

#define CQ_ARM_PARK 0xffffffffu /* no program writes this: bits 31:30 of an arm word are zero */

enum cq_arm {
	ARM_NONE,
	ARM_SOLICITED,
	ARM_ANY
};

/* A completion queue. `lock` protects the members for adding completions. */
struct softhca_cq {
	struct spin lock;
	/*
	 * Producer index, and the consumer index that was read last. Both are free-running; the
	 * doorbell record has only the lower 24 bits of the consumer index.
	 */
	uint32_t pi, ci_seen;
	uint32_t solicited_end; /* pi after the last solicited or failed completion */
	uint32_t n, log_n, mask, stride;
	uint8_t *buf; /* first 64-byte CQE; in an entry of 128 bytes the CQE is the second half */
	_Atomic uint32_t *dbrec;
	/* completions that wait for compression; NULL if the CQ does not compress */
	struct cq_zip *zip;
	enum cq_arm arm;
	bool ignore_overrun, pad;
	atomic_bool failed;
	/*
	 * Moderation (cq_event.c). An event is sent with the event_count-th completion since the CQ
	 * was armed, or event_period ns after the last event, which was sent at event_last.
	 * event_due is the time at which a waiting event must be sent; 0 if no event waits.
	 */
	uint32_t event_count, event_waiting;
	uint64_t event_period, event_last, event_due;
	void *event;
	struct softhca_dev *dev;
	struct softhca_uar *uar;
	uint32_t number;
	atomic_uint users; /* number of QPs, SRQs and WQs that use this CQ */
} __attribute__((aligned(CACHE_LINE)));

struct cqe_sig_err {
	struct sig_error error;
	bool memory;
	uint32_t key;
};

/* The fields of a completion. */
struct cqe {
	enum wire_cqe_opcode opcode;
	bool solicited;
	uint32_t uidx, imm, byte_cnt, opcode_qpn, wqe_counter;
	uint32_t flags_rqpn, slid; /* QPN and LID of the sender, if the transport has them */
	enum wire_syndrome syndrome;
	uint8_t vendor; /* vendor syndrome of an error */
	uint64_t timestamp;
	const struct cqe_sig_err *sig_err; /* only for CQE_SIG_ERR */
};

static inline bool
cq_has_failed(const struct softhca_cq *cq)
{
	return atomic_load_explicit(&cq->failed, memory_order_relaxed);
}

/*
 * Adds a completion. If the CQ is full, the CQ fails (ibv_create_cq(3)). The caller holds cq->lock,
 * and releases it by cq_unlock().
 */
void cq_push(struct softhca_cq *cq, const struct cqe *cqe);
/*
 * Makes the CQ unusable: an event reports this, and the QPs of the CQ fail. The caller holds
 * cq->lock and is inside a turn (turns.h).
 */
void cq_fail(struct softhca_cq *cq);

/* ---- compression: cq_zip.c */

#define CQ_ZIP_MAX 64 /* maximum of completions with one title */

/* Writes the waiting completions. The caller holds cq->lock. */
void cq_zip_flush(struct softhca_cq *cq);

/* Writes the waiting completions and releases cq->lock. */
static inline void
cq_unlock(struct softhca_cq *cq)
{
	if (__builtin_expect(cq->zip != NULL, 0))
		cq_zip_flush(cq);
	spin_unlock(&cq->lock);
}

/* ---- events: cq_event.c */

/*
 * Called when the arm doorbell of the CQ's UAR page rang: takes a new arming from the doorbell
 * record.
 */
void cq_take_arm(struct softhca_cq *cq);
/*
 * Called before a completion is added. If the program has armed a CQ of the page, and no lane has
 * read the arm words yet, reads the CQ's arm word. A card takes the doorbells of a program in
 * order, so a CQ that is armed before a WQE is posted sends an event for this WQE. A lane may see
 * the WQE first. The caller holds cq->lock.
 */
void cq_take_due_arm(struct softhca_cq *cq);
/*
 * Called when n completions were added: sends the armed event if it is due. The caller holds
 * cq->lock. With several completions, none is solicited.
 */
void cq_event_push(struct softhca_cq *cq, uint32_t n, bool solicited);
/* Sends a waiting event if its time has come. Returns true if the event still waits. */
bool cq_event_timer(struct softhca_cq *cq, uint64_t now);

#endif
