/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of completion queues: arming (ibv_req_notify_cq(3)) and moderation (ibv_modify_cq(3)).
 *
 * With moderation, the event is sent with the count-th completion since the CQ was armed, or with
 * an earlier completion if the period has passed since the CQ's last event. Linux calls this mode
 * START_FROM_EQE (linux/dim.h), and mlx5_ib leaves a CQ in it. A period of 0 sets no time limit.
 * Assumed: moderation-first, moderation-period, moderation-no-period, moderation-count-1.
 */
#include <endian.h>

#include "clock.h"
#include "cq.h"
#include "uar.h"

/* Sends the event for which the CQ was armed. */
static void
cq_notify(struct softhca_cq *cq)
{
	cq->arm = ARM_NONE;
	cq->event_waiting = 0;
	cq->event_due = 0;
	if (cq->event_period != 0)
		cq->event_last = device_clock();
	softhca_event_cq_comp(cq->event);
}

/* Counts n more completions for the armed event. Returns true if the event must be sent. */
static bool
cq_event_is_due(struct softhca_cq *cq, uint32_t n)
{
	cq->event_waiting += n;
	if (cq->event_waiting >= cq->event_count && (cq->event_count > 1 || cq->event_period == 0))
		return true;
	if (cq->event_due != 0 || cq->event_period == 0)
		return false;
	if (device_clock() - cq->event_last >= cq->event_period)
		return true;
	cq->event_due = cq->event_last + cq->event_period;
	atomic_store_explicit(&cq->uar->timed, true, memory_order_release);
	uar_call_attention(cq->uar);
	return false;
}

/*
 * The number of completions from index `ci` on for which the CQ is armed: all, or only solicited
 * ones.
 */
static uint32_t
cq_unseen(const struct softhca_cq *cq, enum cq_arm arm, uint32_t ci)
{
	uint32_t end = arm == ARM_ANY ? cq->pi : cq->solicited_end;
	uint32_t ahead = (end - ci) & CQ_INDEX_MASK;

	return ahead <= cq->n ? ahead : 0;
}

/*
 * Reads from the doorbell record how the program has armed the CQ. Completions that the program has
 * not seen count at once. The caller holds cq->lock. Confirmed: armed-unseen. Assumed:
 * moderation-unseen.
 */
static void
read_arm(struct softhca_cq *cq)
{
	uint32_t word = be32toh(atomic_load_explicit(&cq->dbrec[DB_CQ_ARM], memory_order_relaxed));
	uint32_t unseen;

	if (word == CQ_ARM_PARK)
		return;
	word = be32toh(atomic_exchange_explicit(&cq->dbrec[DB_CQ_ARM], htobe32(CQ_ARM_PARK),
		memory_order_acq_rel));
	/*
	 * The arm word has a consumer index. The program has not seen the completions from this
	 * index on, so they count.
	 */
	cq->arm = word & CQ_ARM_SOLICITED ? ARM_SOLICITED : ARM_ANY;
	cq->event_waiting = 0;
	cq->event_due = 0;
	unseen = cq_unseen(cq, cq->arm, word & CQ_INDEX_MASK);
	if (unseen != 0 && cq_event_is_due(cq, unseen))
		cq_notify(cq);
}

void
cq_take_arm(struct softhca_cq *cq)
{
	spin_lock(&cq->lock);
	read_arm(cq);
	spin_unlock(&cq->lock);
}

void
cq_take_due_arm(struct softhca_cq *cq)
{
	const struct softhca_uar *uar = cq->uar;

	if (atomic_load_explicit(uar_word(uar, UAR_CQ_DOORBELL), memory_order_acquire) != 0 ||
		atomic_load_explicit(&uar->arming, memory_order_acquire))
		read_arm(cq);
}

void
cq_event_push(struct softhca_cq *cq, uint32_t n, bool solicited)
{
	if ((cq->arm == ARM_ANY || (cq->arm == ARM_SOLICITED && solicited)) &&
		cq_event_is_due(cq, n))
		cq_notify(cq);
}

void
softhca_cq_moderate(struct softhca_cq *cq, uint32_t count, uint32_t period_us)
{
	spin_lock(&cq->lock);
	cq->event_count = count;
	cq->event_period = (uint64_t)period_us * 1000;
	/*
	 * If an event waits, it is sent at the next visit, because its count and period were set by
	 * the old moderation.
	 */
	if (cq->event_waiting != 0)
		cq->event_due = device_clock();
	spin_unlock(&cq->lock);
	atomic_store_explicit(&cq->uar->timed, true, memory_order_release);
	uar_call_attention(cq->uar);
}

bool
cq_event_timer(struct softhca_cq *cq, uint64_t now)
{
	bool waits;

	spin_lock(&cq->lock);
	if (cq->event_due != 0 && now >= cq->event_due)
		cq_notify(cq);
	waits = cq->event_due != 0;
	spin_unlock(&cq->lock);
	return waits;
}
