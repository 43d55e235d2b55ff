/* SPDX-License-Identifier: BSD-3-Clause */
/* The head of a send queue waits. UAR held. */
#ifndef SOFTHCA_SQ_WAIT_H
#define SOFTHCA_SQ_WAIT_H

#include "run.h"

/* Counts that a message has met no receive: an RNR NAK, which its sender gets if it is reliable. */
void count_rnr(const struct run *run);
/* For a receive, or for its peer. True: it was tried often enough. */
bool wait_for_receive(struct run *run);
bool wait_for_peer(struct run *run);

#endif
