/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The place where a send queue stops after a wrong signature (mlx5dv_create_qp(3), SIG_PIPELINING).
 * The device may run more WQEs, up to the next fenced one: mlx5dv_qp_cancel_posted_send_wrs(3). The
 * setting `sig_stop` chooses the place. Without it, the queue stops right after the WQE whose
 * signature was wrong. The caller holds the UAR.
 */
#ifndef SOFTHCA_SQ_SIGSTOP_H
#define SOFTHCA_SQ_SIGSTOP_H

#include "wqe.h"

/*
 * The signature of the WQE that has run was wrong. Stops the queue, or begins to look for its
 * place.
 */
void sigstop_begin(struct run *run);
/* Called before a WQE begins, while the queue looks for its place. True: the queue has stopped. */
bool sigstop_before(struct run *run, const struct wqe *wqe);

#endif
