/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues: creation, adding completions, and overrun. */
#include "cq.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cq_zip.h"
#include "cqe.h"
#include "lanes.h"
#include "log.h"
#include "uar_queues.h"

#define EVENT_CQ_ERR 0 /* IBV_EVENT_CQ_ERR */

int
softhca_cq_create(struct softhca_dev *dev, const struct softhca_cq_attr *attr,
	struct softhca_cq **out)
{
	struct softhca_cq *cq;
	int err;

	if (attr->n_cqe == 0 || (attr->n_cqe & (attr->n_cqe - 1)) != 0 ||
		attr->n_cqe > CQ_MAX_ENTRIES || (attr->cqe_len != 64 && attr->cqe_len != 128) ||
		(attr->pad && attr->cqe_len != 128))
		return -EINVAL;
	cq = aligned_alloc(CACHE_LINE, sizeof(*cq));
	if (cq == NULL)
		return -ENOMEM;
	memset(cq, 0, sizeof(*cq));
	cq->dev = dev;
	cq->uar = attr->uar;
	cq->n = attr->n_cqe;
	cq->log_n = (uint32_t)__builtin_ctz(cq->n);
	cq->mask = cq->n - 1;
	cq->stride = attr->cqe_len;
	cq->buf = (uint8_t *)attr->buf + (attr->cqe_len - CQE64);
	cq->dbrec = attr->dbrec;
	cq->ignore_overrun = attr->ignore_overrun;
	cq->pad = attr->pad;
	cq->event = attr->event;
	err = -ENOMEM;
	if (attr->compress) {
		cq->zip = cq_zip_new();
		if (cq->zip == NULL)
			goto free_cq;
	}
	err = table_put(&dev->lanes->cqs, cq, &cq->number);
	if (err != 0)
		goto free_cq;
	/*
	 * The arm word of a new doorbell record is 0, and the first arm word that a program writes
	 * may also be 0. To see that write, the device first stores CQ_ARM_PARK, which no program
	 * writes, in the record.
	 */
	atomic_store_explicit(&cq->dbrec[DB_CQ_ARM], htobe32(CQ_ARM_PARK), memory_order_relaxed);
	err = uar_attach_cq(cq->uar, cq);
	if (err != 0)
		goto unlist;
	*out = cq;
	return 0;

unlist:
	table_remove(&dev->lanes->cqs, cq->number);
free_cq:
	free(cq->zip);
	free(cq);
	return err;
}

int
softhca_cq_destroy(struct softhca_cq *cq)
{
	if (atomic_load(&cq->users) != 0)
		return -EBUSY;
	uar_detach_cq(cq->uar, cq);
	table_remove(&cq->dev->lanes->cqs, cq->number);
	softhca_quiesce();
	free(cq->zip);
	free(cq);
	return 0;
}

uint32_t
softhca_cq_number(const struct softhca_cq *cq)
{
	return cq->number;
}

static uint32_t
cq_consumer(struct softhca_cq *cq)
{
	/*
	 * Pairs with the program's store of the consumer index. The program reads its CQEs before
	 * this store.
	 */
	return be32toh(atomic_load_explicit(&cq->dbrec[DB_CQ_CI], memory_order_acquire)) &
	       CQ_INDEX_MASK;
}

static bool
cq_is_full(struct softhca_cq *cq)
{
	if (((cq->pi - cq->ci_seen) & CQ_INDEX_MASK) < cq->n)
		return false;
	cq->ci_seen = cq_consumer(cq);
	return ((cq->pi - cq->ci_seen) & CQ_INDEX_MASK) >= cq->n;
}

/*
 * A CQ with an overrun is unusable. An event reports the overrun, and each QP of the CQ fails when
 * a lane next visits this QP (InfiniBand architecture, volume 1, "CQ overrun"). Confirmed:
 * cq-full-qp.
 */
void
cq_fail(struct softhca_cq *cq)
{
	if (atomic_exchange(&cq->failed, true))
		return;
	softhca_log("mlx5_%u: CQ 0x%x of %u entries has overrun", cq->dev->index, cq->number,
		cq->n);
	softhca_event_cq_async(cq->event, EVENT_CQ_ERR);
	atomic_store_explicit(&cq->dev->lanes->pageless, true, memory_order_release);
	uars_call_attention(cq->dev);
}

void
cq_push(struct softhca_cq *cq, const struct cqe *cqe)
{
	bool solicited = cqe->solicited || cqe->syndrome != SYN_OK;

	if (!cq->ignore_overrun && cq_is_full(cq))
		cq_fail(cq);
	if (cq_has_failed(cq))
		return;
	if (cq->zip != NULL && cq_zip_add(cq, cqe))
		return;
	cq_take_due_arm(cq);
	cqe_write(cq, cq->pi, cqe, 0);
	cq->pi++;
	if (solicited)
		cq->solicited_end = cq->pi;
	cq_event_push(cq, 1, solicited);
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
		.compress = cq->zip != NULL,
		.uar = cq->uar,
		.event = cq->event,
		.event_count = cq->event_count,
		.event_period_us = (uint32_t)(cq->event_period / 1000)};
	*pi = cq->pi & CQ_INDEX_MASK;
	*ci = be32toh(atomic_load_explicit(&cq->dbrec[DB_CQ_CI], memory_order_acquire)) &
	      CQ_INDEX_MASK;
	spin_unlock(&cq->lock);
}
