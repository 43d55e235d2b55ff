/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting of the WQE at the head. The caller holds the UAR. */
#ifndef SOFTHCA_SQ_WAIT_H
#define SOFTHCA_SQ_WAIT_H

#include "run.h"

/* Counts a message that met no receive: an RNR NAK, which only a reliable sender gets. */
void count_rnr(const struct run *run);
/* Waits for a receive, or for the peer. True: the last attempt was made. */
bool wait_for_receive(struct run *run);
bool wait_for_peer(struct run *run);

#endif
