/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues: the step that hwq_srq_create() and hwq_obj_srq() share. */
#ifndef HWQ_SRQ_CREATE_H
#define HWQ_SRQ_CREATE_H

#include "hwq_srq.h"

/* Takes the ring that srq->srq shows. @return 0, or -errno and a log line. */
int hwq_srq_take_over(struct hwq_srq *srq, const char *dev);

#endif
