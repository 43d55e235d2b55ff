/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a send queue stops after a wrong signature (mlx5dv_create_qp(3), SIG_PIPELINING). The
 * device may run on up to the next fenced WQE: mlx5dv_qp_cancel_posted_send_wrs(3). The setting
 * `sig_stop` chooses the place; without it, that is right behind the WQE whose signature was wrong.
 * UAR held.
 */
#ifndef SOFTHCA_SQ_SIGSTOP_H
#define SOFTHCA_SQ_SIGSTOP_H

#include "wqe.h"

/*
 * A signature was wrong in the WQE that has run. The queue stops now, or is stopping from now on.
 */
void sigstop_begin(struct run *run);
/*
 * The queue is stopping, and meets this WQE, which has not begun. True: it has stopped before it.
 */
bool sigstop_before(struct run *run, const struct wqe *wqe);

#endif
