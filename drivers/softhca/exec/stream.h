/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of a DCI. The caller holds the lock of the DCI's UAR page. */
#ifndef SOFTHCA_STREAM_H
#define SOFTHCA_STREAM_H

#include "wqe.h"

/* True if the WQE's stream is in error. */
bool stream_is_failed(const struct softhca_qp *qp, const struct wqe *wqe);
/* Moves the WQE's stream to error. Returns true if the QP continues with its other streams. */
bool stream_fail(struct softhca_qp *qp, const struct wqe *wqe);

#endif
