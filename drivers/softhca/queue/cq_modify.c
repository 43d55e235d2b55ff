/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What changes a completion queue under way: another buffer (ibv_resize_cq(3)), and how many
 * completions make an event (ibv_modify_cq(3)).
 *
 * Moderation: an event comes with the count-th completion since the CQ was armed, or when so much
 * time has passed since the first of them; a time of 0 never passes.
 */
#include <errno.h>

#include "data.h"
#include "softhca.h"

#define SETTLE_TURNS 1024 /* at most: others may go on ringing */

static uint32_t
cq_outstanding(struct softhca_cq *cq)
{
	uint32_t ci = be32toh(atomic_load_explicit(&cq->dbrec[DB_CQ_CI], memory_order_acquire));

	return (cq->pi - ci) & CQ_INDEX_MASK;
}

/* The last entry of the old buffer: its reader goes on in the new one, an index further. */
static void
cq_write_resize(struct softhca_cq *cq)
{
	uint8_t *p = cq->buf + (size_t)(cq->pi & cq->mask) * cq->stride;
	uint8_t owner = (cq->pi >> cq->log_n) & 1;

	memset(p, 0, CQE_OP_OWN);
	__atomic_store_n(&p[CQE_OP_OWN], (uint8_t)(CQE_RESIZE << 4 | owner), __ATOMIC_RELEASE);
	cq->pi++;
	cq->solicited_end++;
}

/* A card has run, by the time it sees a command, what rang before: so does this one. */
static void
settle(struct softhca_dev *dev)
{
	for (unsigned int turns = 0; turns < SETTLE_TURNS && softhca_pump() != 0; turns++)
		;
	softhca_quiesce(dev);
}

int
softhca_cq_resize(struct softhca_cq *cq, void *buf, uint32_t n_cqe, uint32_t cqe_len)
{
	uint32_t outstanding;
	int err = 0;

	if ((cq->pad && cqe_len != 128) || n_cqe == 0 || (n_cqe & (n_cqe - 1)) != 0 ||
		n_cqe > CQ_MAX_ENTRIES || (cqe_len != 64 && cqe_len != 128))
		return -EINVAL;
	settle(cq->dev);
	uar_lock(cq->uar);
	/* An arming of before counts indices of before. */
	cq_take_arm(cq);
	spin_lock(&cq->lock);
	outstanding = cq_outstanding(cq);
	/* What is there must find room in the new buffer, and the mark in the old one. */
	if (outstanding > n_cqe || outstanding >= cq->n)
		err = -EINVAL;
	if (err == 0) {
		cq_write_resize(cq);
		cq->n = n_cqe;
		cq->log_n = (uint32_t)__builtin_ctz(n_cqe);
		cq->mask = n_cqe - 1;
		cq->stride = cqe_len;
		cq->buf = (uint8_t *)buf + (cqe_len - CQE64);
	}
	spin_unlock(&cq->lock);
	uar_unlock(cq->uar);
	return err;
}

void
softhca_cq_moderate(struct softhca_cq *cq, uint32_t count, uint32_t period_us)
{
	spin_lock(&cq->lock);
	cq->event_count = count;
	cq->event_period = (uint64_t)period_us * 1000;
	/* What is waiting is judged anew, and at once. */
	if (cq->event_waiting != 0)
		cq->event_due = device_clock();
	spin_unlock(&cq->lock);
	atomic_store_explicit(&cq->uar->timed, true, memory_order_release);
	uar_call_attention(cq->uar);
}

void
softhca_cq_query(struct softhca_cq *cq, struct softhca_cq_attr *attr, uint32_t *pi, uint32_t *ci)
{
	spin_lock(&cq->lock);
	*attr = (struct softhca_cq_attr){.buf = cq->buf - (cq->stride - CQE64),
		.dbrec = cq->dbrec,
		.n_cqe = cq->n,
		.cqe_len = cq->stride,
		.ignore_overrun = cq->ignore_overrun,
		.pad = cq->pad,
		.uar = cq->uar,
		.event = cq->event,
		.event_count = cq->event_count,
		.event_period_us = (uint32_t)(cq->event_period / 1000)};
	*pi = cq->pi & CQ_INDEX_MASK;
	*ci = be32toh(atomic_load_explicit(&cq->dbrec[DB_CQ_CI], memory_order_acquire)) &
	      CQ_INDEX_MASK;
	spin_unlock(&cq->lock);
}

bool
cq_event_is_due(struct softhca_cq *cq, uint32_t n)
{
	cq->event_waiting += n;
	if (cq->event_waiting >= cq->event_count && (cq->event_count > 1 || cq->event_period == 0))
		return true;
	if (cq->event_due == 0 && cq->event_period != 0) {
		cq->event_due = device_clock() + cq->event_period;
		atomic_store_explicit(&cq->uar->timed, true, memory_order_release);
		uar_call_attention(cq->uar);
	}
	return false;
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
