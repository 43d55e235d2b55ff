/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues. */
#ifndef SOFTHCA_UVERBS_SRQ_H
#define SOFTHCA_UVERBS_SRQ_H

#include "event.h"
#include "hca.h"
#include "object.h"
#include "uverbs_cq.h"
#include "uverbs_pd.h"

struct object_xrcd;

struct object_srq {
	struct object obj;
	struct softhca_srq *srq;
	struct object_pd *pd;
	struct object_cq *cq; /* CQ, and XRC domain, only of an XRC SRQ; otherwise NULL */
	struct object_xrcd *xrcd;
	struct event_source event;
	uint32_t max_wr, max_sge;
};

#endif
