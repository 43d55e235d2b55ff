/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that change completion queues. */
#ifndef SOFTHCA_UVERBS_CQ_H
#define SOFTHCA_UVERBS_CQ_H

#include "uverbs.h"

/*
 * The kernel's sizes: one entry more than asked for, and up to a power of two. libmlx5 asks for
 * one less than its buffer holds.
 */
uint64_t uverbs_cq_entries(uint32_t cqe);
int uverbs_resize_cq(struct uverbs_call *call);
int uverbs_modify_cq(struct uverbs_call *call);

#endif
