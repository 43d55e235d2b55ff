/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps of a send queue, of an adapter with faults or timing. UAR held. */
#ifndef SOFTHCA_SQ_WATCH_H
#define SOFTHCA_SQ_WATCH_H

#include "sq_step.h"

/* sq_step(), which faults and the timing model may forbid or delay. */
enum step sq_step_watched(struct run *run, uint16_t posted);

#endif
