/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces the buffer of a completion queue that is in use (ibv_resize_cq(3)). */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "cq.h"
#include "uar.h"

static uint32_t
cq_outstanding(struct softhca_cq *cq)
{
	uint32_t ci = be32toh(atomic_load_explicit(&cq->dbrec[DB_CQ_CI], memory_order_acquire));

	return (cq->pi - ci) & CQ_INDEX_MASK;
}

/*
 * Ends the old buffer with a special entry. It tells the program to continue in the new buffer, at
 * the next index.
 */
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

/*
 * The buffer is replaced while no lane visits the CQ's queues. Earlier completions stay in the old
 * buffer. Assumed: resize-after-work.
 */
int
softhca_cq_resize(struct softhca_cq *cq, void *buf, uint32_t n_cqe, uint32_t cqe_len)
{
	uint32_t outstanding;
	int err = 0;

	if ((cq->pad && cqe_len != 128) || n_cqe == 0 || (n_cqe & (n_cqe - 1)) != 0 ||
		n_cqe > CQ_MAX_ENTRIES || (cqe_len != 64 && cqe_len != 128))
		return -EINVAL;
	uar_lock(cq->uar);
	/*
	 * The program may have armed the CQ before the resize. Its arm word has an index of the old
	 * buffer, so the word is read now.
	 */
	cq_take_arm(cq);
	spin_lock(&cq->lock);
	outstanding = cq_outstanding(cq);
	/*
	 * The outstanding completions must fit into the new buffer, and the special entry must fit
	 * into the old buffer.
	 */
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
