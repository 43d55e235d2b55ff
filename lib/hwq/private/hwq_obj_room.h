/* SPDX-License-Identifier: BSD-3-Clause */
/* Room in the CQs of a caller's own queues. */
#ifndef HWQ_OBJ_ROOM_H
#define HWQ_OBJ_ROOM_H

#include "hwq_cq.h"

/* True if n more CQEs fit; else a log line. */
bool hwq_obj_has_room(const char *dev, const struct hwq_cq *cq, uint32_t n);

#endif
