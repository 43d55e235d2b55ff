/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of a QP: the sizes of its configuration, and the sizes to request from libmlx5. */
#ifndef HWQ_QP_SIZE_H
#define HWQ_QP_SIZE_H

#include "hwq_qp.h"

/* Fields of a configuration. If a field is 0, these functions return its default. */
uint64_t hwq_conf_send_ops(const struct hwq_qp_conf *conf);
uint64_t hwq_conf_mlx5_ops(const struct hwq_qp_conf *conf);
uint32_t hwq_conf_max_sge(const struct hwq_qp_conf *conf);
uint32_t hwq_conf_rq_sge(const struct hwq_qp_conf *conf);
/* The values that hwq requests from libmlx5: MLX5DV_QP_EX_WITH_* operations, and work requests. */
uint64_t hwq_conf_asked_mlx5_ops(const struct hwq_qp_conf *conf);
uint32_t hwq_conf_sq_wr(const struct hwq_qp_conf *conf);
/* @return the CQ of receives. cq: the CQ of sends. */
static inline struct hwq_cq *
hwq_conf_recv_cq(const struct hwq_qp_conf *conf, const struct hwq_cq *cq)
{
	return conf->recv_cq != NULL ? conf->recv_cq : (struct hwq_cq *)(uintptr_t)cq;
}
/*
 * @return the smallest lengths that a configuration requires from libmlx5: WQEBBs of the send ring,
 * entries of the receive ring.
 */
uint32_t hwq_conf_sq_bb(const struct hwq_qp_conf *conf);
uint32_t hwq_conf_rq_wr(const struct hwq_qp_conf *conf);
/*
 * @return the most bytes of inline data in one WQE, as far as the field DS permits. DS counts the
 *   16-byte units of the whole WQE, also those of the segments before the inline data.
 */
uint32_t hwq_conf_inline_max(const struct hwq_qp_conf *conf);
/* @return the inline data that fit into the longest WQE, after the longest first segments. */
uint32_t hwq_conf_inline_room(const struct hwq_qp_conf *conf);
/*
 * @return units of layout and BSFs that one UMR may have, if libmlx5 allows max_inline bytes of
 * inline data.
 */
uint32_t hwq_max_umr_ds(uint32_t max_inline);
/*
 * Checks a configuration. @return 0, or -errno after a log line that says what the caller can do.
 */
int hwq_conf_check(const struct hwq_domain *domain, const struct hwq_cq *cq,
	const struct hwq_qp_conf *conf);

#endif
