/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work queues: receive queues that belong to no queue pair (ibv_create_wq(3)).
 *
 * Packets reach a work queue only through a queue pair with an indirection table, and this adapter
 * has no indirection tables. So receives wait until the queue moves to error, and are then flushed.
 *
 *   RESET -> RDY -> ERR -> RESET, and RDY -> RESET
 *
 * A work queue has no UAR page. Lanes visit it together with the UAR page of its CQ, and the lock
 * of this page protects the work queue.
 */
#include "wq.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "cq.h"
#include "fault.h"
#include "uar.h"
#include "wire.h"

#define EVENT_WQ_FATAL 19 /* IBV_EVENT_WQ_FATAL */

struct softhca_wq {
	struct softhca_wq *next; /* next WQ of the same UAR page */
	struct softhca_wq_attr attr;
	struct softhca_dev *dev;
	enum softhca_wq_state state;
	uint32_t number;
	uint16_t ci; /* number of receives used up, counted as in the doorbell record */
};

int
softhca_wq_create(struct softhca_dev *dev, const struct softhca_wq_attr *attr,
	struct softhca_wq **out)
{
	struct softhca_uar *uar = attr->cq->uar;
	struct softhca_wq *wq = calloc(1, sizeof(*wq));
	int err;

	if (wq == NULL)
		return -ENOMEM;
	/*
	 * The number is reserved among the QP numbers, as in mlx5: no queue pair gets the same
	 * number.
	 */
	err = softhca_qpn_reserve(dev, 1, &wq->number);
	if (err != 0) {
		free(wq);
		return err;
	}
	wq->attr = *attr;
	wq->dev = dev;
	atomic_fetch_add(&attr->cq->users, 1);
	uar_lock(uar);
	wq->next = uar->wqs;
	uar->wqs = wq;
	uar_unlock(uar);
	*out = wq;
	return 0;
}

void
softhca_wq_destroy(struct softhca_wq *wq)
{
	struct softhca_uar *uar = wq->attr.cq->uar;
	struct softhca_wq **link = &uar->wqs;

	uar_lock(uar);
	while (*link != wq)
		link = &(*link)->next;
	*link = wq->next;
	uar_unlock(uar);
	softhca_qpn_release(wq->dev, 1, wq->number);
	atomic_fetch_sub(&wq->attr.cq->users, 1);
	free(wq);
}

uint32_t
softhca_wq_number(const struct softhca_wq *wq)
{
	return wq->number;
}

enum softhca_wq_state
softhca_wq_state(struct softhca_wq *wq)
{
	enum softhca_wq_state state;

	uar_lock(wq->attr.cq->uar);
	state = wq->state;
	uar_unlock(wq->attr.cq->uar);
	return state;
}

/* True if a WQ can move between these states. Confirmed: wq-states. */
static bool
may_go(enum softhca_wq_state from, enum softhca_wq_state to)
{
	switch (to) {
	case SOFTHCA_WQ_RESET:
		return true;
	case SOFTHCA_WQ_RDY:
		return from != SOFTHCA_WQ_ERR;
	default:
		return from != SOFTHCA_WQ_RESET;
	}
}

int
softhca_wq_modify(struct softhca_wq *wq, enum softhca_wq_state from, enum softhca_wq_state to)
{
	struct softhca_uar *uar = wq->attr.cq->uar;
	int err = 0;

	uar_lock(uar);
	if (from != wq->state || !may_go(from, to))
		err = -EINVAL;
	else
		wq->state = to;
	if (err == 0 && to == SOFTHCA_WQ_RESET)
		wq->ci = 0;
	uar_call_attention(uar);
	uar_unlock(uar);
	return err;
}

static unsigned int
wq_flush(struct softhca_wq *wq)
{
	/*
	 * Pairs with the program's store of the doorbell record. The program stores its WQEs before
	 * the record.
	 */
	uint16_t pi = (uint16_t)be32toh(atomic_load_explicit(wq->attr.dbrec, memory_order_acquire));
	uint16_t posted = (uint16_t)(pi - wq->ci);
	struct cqe flushed = {.opcode = CQE_RESP_ERR,
		.syndrome = SYN_FLUSH,
		.vendor = VENDOR_FLUSHED,
		.uidx = wq->attr.uidx,
		.opcode_qpn = wq->number};

	/*
	 * If the doorbell record counts more WQEs than the queue can hold, no WQE counts as posted.
	 */
	if (posted == 0 || posted > wq->attr.n_wqe)
		return 0;
	flushed.timestamp = device_clock();
	spin_lock(&wq->attr.cq->lock);
	for (; wq->ci != pi; wq->ci++) {
		flushed.wqe_counter = wq->ci;
		cq_push(wq->attr.cq, &flushed);
	}
	cq_unlock(wq->attr.cq);
	return posted;
}

static bool
wq_visit(struct softhca_wq *wq, unsigned int *work)
{
	if (wq->state == SOFTHCA_WQ_RDY && cq_has_failed(wq->attr.cq)) {
		wq->state = SOFTHCA_WQ_ERR;
		softhca_event_qp_async(wq->attr.event, EVENT_WQ_FATAL);
	}
	if (wq->state != SOFTHCA_WQ_ERR || fault_device_is_dead(wq->dev))
		return false;
	*work += wq_flush(wq);
	/*
	 * The program may still post receives, and it rings no doorbell for them. So this WQ needs
	 * another visit.
	 */
	return true;
}

bool
uar_visit_wqs(struct softhca_uar *uar, unsigned int *work)
{
	bool again = false;

	for (struct softhca_wq *wq = uar->wqs; wq != NULL; wq = wq->next)
		again |= wq_visit(wq, work);
	return again;
}
