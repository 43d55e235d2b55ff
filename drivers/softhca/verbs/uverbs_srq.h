/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on shared receive queues and XRC domains that come as write() commands. */
#ifndef SOFTHCA_UVERBS_SRQ_H
#define SOFTHCA_UVERBS_SRQ_H

#include "uverbs.h"

int uverbs_open_xrcd(struct uverbs_call *call);
int uverbs_modify_srq(struct uverbs_call *call);
int uverbs_query_srq(struct uverbs_call *call);

#endif
