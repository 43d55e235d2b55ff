/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on queue pairs. */
#ifndef SOFTHCA_UVERBS_QP_H
#define SOFTHCA_UVERBS_QP_H

#include "uverbs.h"

int uverbs_create_qp(struct uverbs_call *call);
int uverbs_destroy_qp(struct uverbs_call *call);
int uverbs_query_qp(struct uverbs_call *call);
int uverbs_modify_qp(struct uverbs_call *call);
int uverbs_ex_modify_qp(struct uverbs_call *call);

#endif
