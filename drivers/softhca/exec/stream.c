/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of a DCI. An error stops one stream, and the QP continues (mlx5dv_create_qp(3),
 * dci_streams).
 */
#include "stream.h"

#include <errno.h>

#include "uar.h"

static uint16_t
stream_of(const struct wqe *wqe)
{
	return (uint16_t)get_be16(wqe->seg0 + CTRL_DCI_STREAM);
}

bool
stream_is_failed(const struct softhca_qp *qp, const struct wqe *wqe)
{
	uint16_t s = stream_of(wqe);

	return (qp->stream_errors[s / 8] >> (s % 8) & 1) != 0;
}

bool
stream_fail(struct softhca_qp *qp, const struct wqe *wqe)
{
	uint16_t s = stream_of(wqe);

	if (qp->stream_errors == NULL)
		return false;
	qp->stream_errors[s / 8] |= (uint8_t)(1u << (s % 8));
	return ++qp->n_errored < qp->max_errored;
}

int
softhca_qp_reset_stream(struct softhca_qp *qp, uint16_t stream)
{
	int err = -EINVAL;
	uint8_t bit = (uint8_t)(1u << (stream % 8));

	if (qp->stream_errors == NULL)
		return -EINVAL;
	uar_lock(qp->uar);
	if (qp_state(qp) == QP_RTS && (qp->stream_errors[stream / 8] & bit) != 0) {
		qp->stream_errors[stream / 8] &= (uint8_t)~bit;
		qp->n_errored--;
		err = 0;
	}
	uar_unlock(qp->uar);
	return err;
}
