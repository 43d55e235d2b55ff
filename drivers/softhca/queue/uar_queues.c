/* SPDX-License-Identifier: BSD-3-Clause */
/* UAR pages: their creation, their queues, and what a lane does for all queues of a page. */
#include "uar_queues.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cq.h"
#include "doorbell.h"
#include "log.h"
#include "qp.h"
#include "wire.h"

int
softhca_uar_create(struct softhca_dev *dev, void *page, uint32_t page_id,
	enum softhca_uar_type type, struct softhca_uar **out)
{
	struct softhca_uar *uar = aligned_alloc(CACHE_LINE, sizeof(*uar));
	int err;

	if (uar == NULL)
		return -ENOMEM;
	memset(uar, 0, sizeof(*uar));
	uar->dev = dev;
	uar->page = page;
	uar->page_id = page_id;
	uar->bf_len = type == SOFTHCA_UAR_BF ? dev->cfg->bf_reg_size / 2 : 0;
	if (uar->bf_len > BF_MAX_WORDS * 8)
		uar->bf_len = BF_MAX_WORDS * 8;
	doorbells_init(uar);
	err = page_set_replace(&dev->lanes->uars, &dev->lanes->sets_lock, uar, NULL);
	if (err != 0) {
		free(uar);
		return err;
	}
	lanes_wake(dev->lanes); /* lanes do not watch the new page yet */
	*out = uar;
	return 0;
}

int
softhca_uar_destroy(struct softhca_uar *uar)
{
	struct softhca_lanes *lanes = uar->dev->lanes;
	bool busy;
	int err;

	uar_lock(uar);
	busy = uar->n_qps != 0 || uar->n_cqs != 0;
	uar_unlock(uar);
	if (busy)
		return -EBUSY;
	err = page_set_replace(&lanes->uars, &lanes->sets_lock, NULL, uar);
	if (err != 0)
		return err;
	free(uar->qps);
	free(uar->cqs);
	free(uar->order);
	free(uar);
	return 0;
}

static int
list_grow(void *list, unsigned int n, unsigned int *max, size_t entry)
{
	unsigned int want = *max == 0 ? 4 : *max * 2;
	void *p;

	if (n < *max)
		return 0;
	p = realloc(*(void **)list, want * entry);
	if (p == NULL)
		return -ENOMEM;
	*(void **)list = p;
	*max = want;
	return 0;
}

int
uar_attach_qp(struct softhca_uar *uar, struct softhca_qp *qp)
{
	bool alone = qp_has_no_record(qp);
	int err;

	uar_lock(uar);
	err = alone && uar->no_record != NULL ? -EBUSY : 0;
	if (err == 0)
		err = list_grow(&uar->qps, uar->n_qps, &uar->max_qps, sizeof(*uar->qps));
	if (err == 0)
		uar->qps[uar->n_qps++] = qp;
	if (err == 0 && alone)
		doorbells_set_no_record(uar, qp);
	uar_unlock(uar);
	if (err == -EBUSY)
		softhca_log(
			"UAR page 0x%x already has a queue without a doorbell record: each such "
			"queue needs a page of its own (mlx5dv_devx_alloc_uar(3))",
			uar->page_id);
	return err;
}

/*
 * Called when a queue has left the page. While a page has several queues, the device does not rely
 * on `announced`, because doorbells may overwrite each other. If now only one queue remains, all
 * its posted WQEs count as announced.
 */
static void
uar_announce_rest(struct softhca_uar *uar)
{
	struct softhca_qp *qp;

	if (uar->n_qps != 1)
		return;
	qp = uar->qps[0];
	if (qp_state(qp) == QP_RESET)
		return;
	qp->announced = (uint16_t)be32toh(atomic_load_explicit(qp->send_rec, memory_order_acquire));
	uar_call_attention(uar);
}

static void
uar_arm_cqs(struct softhca_uar *uar)
{
	for (unsigned int i = 0; i < uar->n_cqs; i++)
		cq_take_arm(uar->cqs[i]);
	atomic_store_explicit(&uar->arming, false, memory_order_release);
}

unsigned int
uar_take_doorbells(struct softhca_uar *uar, bool *arm)
{
	unsigned int taken = doorbells_take(uar, arm);

	if (*arm)
		uar_arm_cqs(uar);
	return taken;
}

void
uar_discard_doorbells(struct softhca_uar *uar)
{
	bool arm = false;

	uar_take_doorbells(uar, &arm);
	uar_call_attention(uar);
}

void
uar_detach_qp(struct softhca_uar *uar, struct softhca_qp *qp)
{
	unsigned int i = 0;

	uar_lock(uar);
	uar_discard_doorbells(uar);
	while (uar->qps[i] != qp)
		i++;
	uar->qps[i] = uar->qps[--uar->n_qps];
	if (uar->no_record == qp)
		doorbells_set_no_record(uar, NULL);
	uar_announce_rest(uar);
	uar_unlock(uar);
}

int
uar_attach_cq(struct softhca_uar *uar, struct softhca_cq *cq)
{
	int err;

	uar_lock(uar);
	err = list_grow(&uar->cqs, uar->n_cqs, &uar->max_cqs, sizeof(*uar->cqs));
	if (err == 0)
		uar->cqs[uar->n_cqs++] = cq;
	uar_unlock(uar);
	return err;
}

void
uar_detach_cq(struct softhca_uar *uar, struct softhca_cq *cq)
{
	unsigned int i = 0;

	uar_lock(uar);
	while (uar->cqs[i] != cq)
		i++;
	uar->cqs[i] = uar->cqs[--uar->n_cqs];
	uar_unlock(uar);
}

void
uars_call_attention(struct softhca_dev *dev)
{
	/* The caller is inside a turn (turns.h), so the set stays valid. */
	struct page_set *set = atomic_load(&dev->lanes->uars);

	for (unsigned int i = 0; set != NULL && i < set->n; i++)
		uar_call_attention(set->v[i]);
}

bool
uar_cq_timers(struct softhca_uar *uar)
{
	uint64_t now = device_clock();
	bool wait = false;

	/*
	 * `timed` is cleared before the visit. So a CQ whose event begins to wait during the visit
	 * sets it again, and is visited next time.
	 */
	atomic_exchange_explicit(&uar->timed, false, memory_order_acquire);
	for (unsigned int i = 0; i < uar->n_cqs; i++)
		wait |= cq_event_timer(uar->cqs[i], now);
	if (wait)
		atomic_store_explicit(&uar->timed, true, memory_order_relaxed);
	return wait;
}
