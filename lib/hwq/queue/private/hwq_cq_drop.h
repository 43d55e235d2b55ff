/* SPDX-License-Identifier: BSD-3-Clause */
/* Drops the completions of one queue pair. */
#ifndef HWQ_CQ_DROP_H
#define HWQ_CQ_DROP_H

#include "hwq_cq.h"
#include "hwq_srq.h"

/*
 * Drops the completions of a QP that makes no more CQEs, and frees the SRQ entries of these
 * completions. Completions of other QPs keep their order, and new completions may arrive during the
 * call.
 */
void hwq_cq_drop(struct hwq_cq *cq, uint32_t qpn, struct hwq_srq *srq);

#endif
