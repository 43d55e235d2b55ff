/* SPDX-License-Identifier: BSD-3-Clause */
/* A send queue, as its lane sees it. */
#ifndef SOFTHCA_SQ_H
#define SOFTHCA_SQ_H

#include "run.h"

/* One visit to the send queue of run->qp, whose UAR is held. True: it wants to be visited again. */
bool sq_visit(struct run *run);

#endif
