/* SPDX-License-Identifier: BSD-3-Clause */
/* The running clocks that programs have mapped. */
#ifndef SOFTHCA_CLOCK_PAGE_H
#define SOFTHCA_CLOCK_PAGE_H

struct softhca_lanes;

/* Writes device time to a clock page. page: the device's own mapping of the page. */
void clock_tick(void *page);
/* Writes device time to every clock page of the adapter. Call this inside a turn (turns.h). */
void clocks_tick(struct softhca_lanes *lanes);

#endif
