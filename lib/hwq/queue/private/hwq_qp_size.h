/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of a QP: what a configuration asks for, and what it needs of libmlx5. */
#ifndef HWQ_QP_SIZE_H
#define HWQ_QP_SIZE_H

#include "hwq_qp.h"

/* Fields of a configuration; 0 is replaced by the default. */
uint64_t hwq_conf_send_ops(const struct hwq_qp_conf *conf);
uint64_t hwq_conf_mlx5_ops(const struct hwq_qp_conf *conf);
uint32_t hwq_conf_max_sge(const struct hwq_qp_conf *conf);
uint32_t hwq_conf_rq_sge(const struct hwq_qp_conf *conf);
/* What hwq asks libmlx5 for: MLX5DV_QP_EX_WITH_* operations, and work requests. */
uint64_t hwq_conf_asked_mlx5_ops(const struct hwq_qp_conf *conf);
uint32_t hwq_conf_sq_wr(const struct hwq_qp_conf *conf);
/* The CQ of receives, if cq is that of sends. */
static inline struct hwq_cq *
hwq_conf_recv_cq(const struct hwq_qp_conf *conf, const struct hwq_cq *cq)
{
	return conf->recv_cq != NULL ? conf->recv_cq : (struct hwq_cq *)(uintptr_t)cq;
}
/*
 * Least lengths that a configuration needs of libmlx5: WQEBBs of the send ring, entries of the
 * receive ring.
 */
uint32_t hwq_conf_sq_bb(const struct hwq_qp_conf *conf);
uint32_t hwq_conf_rq_wr(const struct hwq_qp_conf *conf);
/* Most inline data that DS can count after the head of the operations with inline data. */
uint32_t hwq_conf_inline_max(const struct hwq_qp_conf *conf);
/* Inline data that fit the longest WQE, after the longest head. */
uint32_t hwq_conf_inline_room(const struct hwq_qp_conf *conf);
/*
 * Units of layout and BSFs that one UMR may have, if libmlx5 allows max_inline bytes of inline
 * data.
 */
uint32_t hwq_max_umr_ds(uint32_t max_inline);
/* Checks a configuration. @return 0; or -errno, and a log line says what is possible. */
int hwq_conf_check(const struct hwq_domain *domain, const struct hwq_cq *cq,
	const struct hwq_qp_conf *conf);

#endif
