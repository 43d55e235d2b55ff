/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps of a send queue with faults or with the timing model. The caller holds the lock of the
 * queue's UAR page.
 */
#ifndef SOFTHCA_SQ_WATCH_H
#define SOFTHCA_SQ_WATCH_H

#include "sq_step.h"

/* As sq_step(). Faults and the timing model may prevent or delay the step. */
enum step sq_step_watched(struct run *run, uint16_t posted);

#endif
