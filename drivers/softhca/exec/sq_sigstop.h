/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the WQE before which a send queue stops after a wrong signature (mlx5dv_create_qp(3),
 * SIG_PIPELINING). The device may run more WQEs, up to the next fenced WQE:
 * mlx5dv_qp_cancel_posted_send_wrs(3). With the setting `sig_stop`, its seed chooses the WQE.
 * Without it, the queue stops right after the WQE whose signature was wrong. The caller holds the
 * lock of the queue's UAR page.
 */
#ifndef SOFTHCA_SQ_SIGSTOP_H
#define SOFTHCA_SQ_SIGSTOP_H

#include "wqe.h"

/*
 * Called when the signature of the WQE that has run was wrong. Stops the queue, or from now on lets
 * sigstop_before() choose where to stop.
 */
void sigstop_begin(struct run *run);
/*
 * If sigstop_begin() has not stopped the queue, this function is called before each later WQE
 * begins. Returns true if the queue has stopped now.
 */
bool sigstop_before(struct run *run, const struct wqe *wqe);

#endif
