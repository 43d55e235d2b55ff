/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods and commands of work queues and their indirection tables: uverbs_wq.c. */
#ifndef SOFTHCA_UVERBS_WQ_H
#define SOFTHCA_UVERBS_WQ_H

#include "uverbs.h"

int uverbs_modify_wq(struct uverbs_call *call);
int uverbs_create_wq_table(struct uverbs_call *call);

extern const struct uverbs_method wq_methods[];
extern const uint32_t n_wq_methods;

#endif
