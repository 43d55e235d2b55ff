/* SPDX-License-Identifier: BSD-3-Clause */
/* Work queues: the function that lanes call. */
#ifndef SOFTHCA_WQ_H
#define SOFTHCA_WQ_H

#include <stdbool.h>

struct softhca_uar;

/*
 * Flushes the page's WQs that are in error, and adds the number of flushed receives to *work.
 * Returns true if a WQ asks for another visit. The caller holds the page's lock, and no CQ.
 */
bool uar_visit_wqs(struct softhca_uar *uar, unsigned int *work);

#endif
