/* SPDX-License-Identifier: BSD-3-Clause */
/* The step that hwq_srq_create() and hwq_obj_srq() have in common. */
#ifndef HWQ_SRQ_CREATE_H
#define HWQ_SRQ_CREATE_H

#include "hwq_srq.h"

/* Takes over the ring of srq->srq. @return 0, or -errno after a log line. */
int hwq_srq_take_over(struct hwq_srq *srq, const char *dev);

#endif
