/* SPDX-License-Identifier: BSD-3-Clause */
/* What create and take over share of completion queues. */
#ifndef HWQ_CQ_CREATE_H
#define HWQ_CQ_CREATE_H

#include "hwq_cq.h"

/* Takes the ring that cq->cq shows. @return 0; -EOPNOTSUPP entries of another size, and a log line;
 * -EPROTO; or the errno of mlx5dv_init_obj(3). */
int hwq_cq_take_over(struct hwq_cq *cq, const char *dev);
/* Drops all completions that are there. */
void hwq_cq_drop_all(struct hwq_cq *cq);

#endif
