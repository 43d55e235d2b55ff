/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues: creation, writing CQEs, the owner bit, and overrun. */
#include "cq.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	err = table_put(&dev->lanes->cqs, cq, &cq->number);
	if (err != 0)
		goto free_cq;
	/*
	 * The first arm word that a program writes may be 0, as a fresh record is. So the record
	 * holds a value that no program writes until the CQ is armed.
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
	/* Pairs with the program's store after it has read its CQEs: their slots are free. */
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
 * An overrun CQ is useless: an event tells it, and each of its QPs fails when a lane next visits
 * it (InfiniBand architecture, volume 1, "CQ overrun").
 */
void
cq_fail(struct softhca_cq *cq)
{
	if (atomic_exchange(&cq->failed, true))
		return;
	softhca_log("mlx5_%u: CQ 0x%x of %u entries overrun", cq->dev->index, cq->number, cq->n);
	softhca_event_cq_async(cq->event, EVENT_CQ_ERR);
	atomic_store_explicit(&cq->dev->lanes->cq_failed, true, memory_order_release);
	uars_call_attention(cq->dev);
}

static void
cqe_write_sig_err(uint8_t *p, const struct cqe_sig_err *sig)
{
	put_be32(p + SIG_ERR_EXPECTED, (uint32_t)(sig->error.expected >> 32));
	put_be32(p + SIG_ERR_ACTUAL, (uint32_t)(sig->error.actual >> 32));
	put_be32(p + SIG_ERR_EXPECTED_LOW, (uint32_t)sig->error.expected);
	put_be32(p + SIG_ERR_ACTUAL_LOW, (uint32_t)sig->error.actual);
	put_be16(p + SIG_ERR_SYNDROME, sig->error.syndrome);
	p[SIG_ERR_DOMAIN] = sig->memory;
	put_be32(p + SIG_ERR_MKEY, sig->key);
	put_be64(p + SIG_ERR_OFFSET, sig->error.offset);
}

static void
cqe_write(uint8_t *p, const struct cqe *cqe, uint8_t op_own)
{
	memset(p, 0, CQE_TIMESTAMP);
	put_be16(p + CQE_SLID, cqe->slid);
	put_be32(p + CQE_FLAGS_RQPN, cqe->flags_rqpn);
	put_be32(p + CQE_UIDX, cqe->uidx);
	put_be32(p + CQE_IMM_INVAL, cqe->imm);
	put_be32(p + CQE_BYTE_CNT, cqe->byte_cnt);
	put_be64(p + CQE_TIMESTAMP, cqe->timestamp);
	if (cqe->syndrome != SYN_OK) {
		put_be64(p + CQE_TIMESTAMP, 0);
		p[CQE_VENDOR] = (uint8_t)cqe->vendor;
		p[CQE_SYNDROME] = (uint8_t)cqe->syndrome;
	}
	if (cqe->sig_err != NULL)
		cqe_write_sig_err(p, cqe->sig_err);
	put_be32(p + CQE_OPCODE_QPN, cqe->opcode_qpn);
	put_be16(p + CQE_WQE_COUNTER, cqe->wqe_counter);
	p[CQE_SIGNATURE] = 0;
	/*
	 * Last, with release order: a program that sees the owner bit change sees the whole entry.
	 */
	__atomic_store_n(&p[CQE_OP_OWN], op_own, __ATOMIC_RELEASE);
}

void
cq_push(struct softhca_cq *cq, const struct cqe *cqe)
{
	bool solicited = cqe->solicited || cqe->syndrome != SYN_OK;
	uint8_t owner, *p;

	if (!cq->ignore_overrun && cq_is_full(cq))
		cq_fail(cq);
	if (cq_has_failed(cq))
		return;
	owner = (cq->pi >> cq->log_n) & 1;
	p = cq->buf + (size_t)(cq->pi & cq->mask) * cq->stride;
	if (cq->pad)
		memset(p - CQE64, 0, CQE64);
	cqe_write(p, cqe,
		(uint8_t)(cqe->opcode << 4 | (cqe->solicited ? CQE_SOLICITED : 0) | owner));
	cq->pi++;
	if (solicited)
		cq->solicited_end = cq->pi;
	cq_event_push(cq, solicited);
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
