/* SPDX-License-Identifier: BSD-3-Clause */
/* How the WQE at the head waits. The caller holds the lock of the queue's UAR page. */
#ifndef SOFTHCA_SQ_WAIT_H
#define SOFTHCA_SQ_WAIT_H

#include "run.h"

/*
 * Counts a message for which no receive was posted. If the sender is reliable, also counts an RNR
 * NAK at the sender.
 */
void count_rnr(const struct run *run);
/*
 * Let the WQE at the head wait: after an RNR NAK for a receive, or for a peer that does not answer.
 * Return true if no attempt is left.
 */
bool wait_for_receive(struct run *run);
bool wait_for_peer(struct run *run);

#endif
