/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues: receive WQEs in a linked list, for several QPs.
 *
 * The list starts at index 0. The first segment of each WQE has the index of the next WQE. The
 * doorbell record counts the posted WQEs. Order and layout: libmlx5's mlx5_post_srq_recv().
 *
 * A firmware command can create a cyclic queue. Its WQEs follow each other in memory. A completion
 * has the number of its WQE, which wraps at 2^16 for every size of queue (UCX relies on this).
 */
#include "srq.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cq.h"
#include "lanes.h"
#include "violation.h"
#include "wire.h"

#define EVENT_SRQ_ERR           14 /* IBV_EVENT_SRQ_ERR */
#define EVENT_SRQ_LIMIT_REACHED 15 /* IBV_EVENT_SRQ_LIMIT_REACHED */

int
softhca_srq_create(struct softhca_dev *dev, const struct softhca_srq_attr *attr,
	struct softhca_srq **out)
{
	struct softhca_srq *srq;
	int err;

	if (attr->n_wqe == 0 || (attr->n_wqe & (attr->n_wqe - 1)) != 0 || attr->n_wqe > 32768 ||
		attr->log_stride < (attr->bare ? 4 : 5) || attr->log_stride > 10)
		return -EINVAL;
	srq = aligned_alloc(CACHE_LINE, sizeof(*srq));
	if (srq == NULL)
		return -ENOMEM;
	memset(srq, 0, sizeof(*srq));
	srq->dev = dev;
	srq->n = attr->n_wqe;
	srq->log_stride = attr->log_stride;
	srq->buf = attr->buf;
	srq->dbrec = attr->dbrec;
	srq->cyclic = attr->cyclic;
	srq->bare = attr->bare;
	srq->pdn = attr->pdn;
	srq->cq = attr->cq;
	srq->xrcdn = attr->xrcdn;
	srq->uidx = attr->uidx;
	srq->event = attr->event;
	err = table_put(&dev->lanes->srqs, srq, &srq->number);
	if (err != 0) {
		free(srq);
		return err;
	}
	if (srq->cq != NULL)
		atomic_fetch_add(&srq->cq->users, 1);
	*out = srq;
	return 0;
}

int
softhca_srq_destroy(struct softhca_srq *srq)
{
	if (atomic_load(&srq->users) != 0)
		return -EBUSY;
	table_remove(&srq->dev->lanes->srqs, srq->number);
	softhca_quiesce();
	if (srq->cq != NULL)
		atomic_fetch_sub(&srq->cq->users, 1);
	free(srq);
	return 0;
}

uint32_t
softhca_srq_number(const struct softhca_srq *srq)
{
	return srq->number;
}

static uint16_t
srq_posted(const struct softhca_srq *srq)
{
	/*
	 * Pairs with the program's store of the doorbell record. The program stores its WQEs before
	 * the record.
	 */
	uint16_t pi = (uint16_t)be32toh(atomic_load_explicit(srq->dbrec, memory_order_acquire));

	return (uint16_t)(pi - srq->taken);
}

static void
srq_fail(struct softhca_srq *srq, const char *what, uint32_t value)
{
	violation("SRQ 0x%x of %u entries: %s %u", srq->number, srq->n, what, value);
	srq->failed = true;
	softhca_event_qp_async(srq->event, EVENT_SRQ_ERR);
}

bool
srq_has_work(struct softhca_srq *srq)
{
	uint16_t posted = srq_posted(srq);

	if (!srq->failed && posted > srq->n)
		srq_fail(srq, "the doorbell record counts too many WQEs:", posted);
	return posted != 0 && !srq->failed;
}

const uint8_t *
srq_head(struct softhca_srq *srq, unsigned int *n)
{
	const uint8_t *wqe = srq->buf + ((size_t)srq->head << srq->log_stride);

	if (!srq_has_work(srq))
		return NULL;
	*n = (1u << srq->log_stride) / WQE_SEG - !srq->bare;
	return wqe + (srq->bare ? 0 : WQE_SEG);
}

/*
 * Sends one event when fewer WQEs than the limit are posted. Another event needs a new arming
 * (ibv_modify_srq(3)).
 */
static void
srq_check_limit(struct softhca_srq *srq)
{
	if (srq->limit == 0 || srq_posted(srq) >= srq->limit)
		return;
	srq->limit = 0;
	softhca_event_qp_async(srq->event, EVENT_SRQ_LIMIT_REACHED);
}

static uint16_t
srq_take_cyclic(struct softhca_srq *srq)
{
	uint16_t number = srq->taken++;

	srq->head = (uint16_t)(srq->taken & (srq->n - 1));
	srq_check_limit(srq);
	return number;
}

uint16_t
srq_take(struct softhca_srq *srq)
{
	uint16_t index = srq->head;
	uint32_t next;

	if (srq->cyclic)
		return srq_take_cyclic(srq);
	next = get_be16(srq->buf + ((size_t)index << srq->log_stride) + SRQ_NEXT_INDEX);
	srq->taken++;
	if (next < srq->n)
		srq->head = (uint16_t)next;
	else
		srq_fail(srq, "a WQE has a wrong index of the next WQE:", next);
	srq_check_limit(srq);
	return index;
}

/*
 * If fewer WQEs than the limit are posted already, the event is sent at once. Assumed:
 * srq-limit-at-once.
 */
int
softhca_srq_arm(struct softhca_srq *srq, uint32_t limit)
{
	if (limit >= srq->n)
		return -EINVAL;
	spin_lock(&srq->lock);
	srq->limit = limit;
	srq_check_limit(srq);
	spin_unlock(&srq->lock);
	return 0;
}

uint32_t
softhca_srq_limit(struct softhca_srq *srq)
{
	uint32_t limit;

	spin_lock(&srq->lock);
	limit = srq->limit;
	spin_unlock(&srq->lock);
	return limit;
}
