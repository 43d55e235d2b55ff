/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps that hwq_cq_create() and hwq_obj_cq() share. */
#ifndef HWQ_CQ_CREATE_H
#define HWQ_CQ_CREATE_H

#include "hwq_cq.h"

/*
 * Takes over the ring of cq->cq. @return 0; -EOPNOTSUPP, after a log line, if entries have another
 * size; -EPROTO if the number of entries is no power of two; or the error of mlx5dv_init_obj(3).
 */
int hwq_cq_take_over(struct hwq_cq *cq, const char *dev);
/* Drops all completions that the device has written. */
void hwq_cq_drop_all(struct hwq_cq *cq);

#endif
