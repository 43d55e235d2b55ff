/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of a DCI. UAR held. */
#ifndef SOFTHCA_STREAM_H
#define SOFTHCA_STREAM_H

#include "wqe.h"

/* The WQE's stream is in error. */
bool stream_is_failed(const struct softhca_qp *qp, const struct wqe *wqe);
/* Puts the WQE's stream into error. True: the QP goes on with other streams. */
bool stream_fail(struct softhca_qp *qp, const struct wqe *wqe);

#endif
