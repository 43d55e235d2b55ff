/* SPDX-License-Identifier: BSD-3-Clause */
/* The entries of a completion queue. The caller holds cq->lock. */
#ifndef SOFTHCA_CQE_H
#define SOFTHCA_CQE_H

#include "cq.h"

/* Returns the 64 bytes of the entry at a free-running index. */
static inline uint8_t *
cqe_at(const struct softhca_cq *cq, uint32_t index)
{
	return cq->buf + (size_t)(index & cq->mask) * cq->stride;
}

/*
 * Writes an entry and its owner bit, which makes the entry visible to the program. format: 0, or
 * other bits for the byte CQE_OP_OWN.
 */
void cqe_write(struct softhca_cq *cq, uint32_t index, const struct cqe *cqe, uint8_t format);

#endif
