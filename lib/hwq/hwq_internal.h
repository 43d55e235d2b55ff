/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files behind hwq_qp.h share: types of QPs, sizes of their rings, steps of their life. */
#ifndef HWQ_INTERNAL_H
#define HWQ_INTERNAL_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "hwq_qp.h"

/* What a type of QP is to verbs, and what it can do. */
struct hwq_qp_info {
	const char *name;
	enum ibv_qp_type verbs_type;
	enum hwq_transport transport;
	uint8_t transport_ds; /* segments of its own, behind the control segment of every WQE */
	bool has_rq;          /* it may have a receive queue */
	bool has_peer;        /* hwq_qp_connect(), not hwq_qp_ready() */
	uint64_t send_ops;    /* IBV_QP_EX_WITH_* that it supports */
	uint64_t default_ops; /* those of a configuration that names none */
	uint64_t mlx5_ops;    /* MLX5DV_QP_EX_WITH_* that it supports */
	unsigned int access;  /* what peers may do, IBV_ACCESS_* */
	int init, rtr, rts;   /* what ibv_modify_qp(3) is told on the way there, beside the state */
};

/* NULL: there is no such type. */
const struct hwq_qp_info *hwq_qp_info(enum hwq_qp_type type);

/* send_ops and max_sge of a configuration, with what 0 stands for. */
uint64_t hwq_conf_send_ops(const struct hwq_qp_conf *conf);
uint64_t hwq_conf_mlx5_ops(const struct hwq_qp_conf *conf);
uint32_t hwq_conf_max_sge(const struct hwq_qp_conf *conf);
uint32_t hwq_conf_rq_sge(const struct hwq_qp_conf *conf);
/* Work requests to ask libmlx5 for. */
uint32_t hwq_conf_sq_wr(const struct hwq_qp_conf *conf);
/* What libmlx5 makes of it: WQEBBs of the send ring, entries of the receive ring. */
uint32_t hwq_conf_sq_bb(const struct hwq_qp_conf *conf);
uint32_t hwq_conf_rq_wr(const struct hwq_qp_conf *conf);
/* Most inline data that fits behind the longest head, whatever libmlx5 has room for. */
uint32_t hwq_conf_inline_max(const struct hwq_qp_conf *conf);
/* 0, or -errno and a log line that says what is possible. */
int hwq_conf_check(const struct hwq_domain *domain, const struct hwq_cq *cq,
	const struct hwq_qp_conf *conf);

/* True if hwq made it; else a log line: what is refused, and what to call instead. */
bool hwq_qp_is_own(const struct hwq_qp *qp, const char *what, const char *instead);

/* RESET to INIT. */
int hwq_qp_to_init(struct hwq_qp *qp);
/* 0, or -errno and a log line: doing what. */
int hwq_addr_check(const struct hwq_dev_port *port, const struct hwq_addr *remote,
	const char *what);
/* A port's way to a peer. */
void hwq_addr_to_ah(const struct hwq_dev_port *port, const struct hwq_addr *remote,
	struct ibv_ah_attr *ah);

/* Nothing that is pending was cancelled: the queue is empty, or goes away. */
void hwq_qp_forget_cancelled(struct hwq_qp *qp);

/* What cq->cq shows becomes hwq's; -EOPNOTSUPP: entries of another size. */
int hwq_cq_take_over(struct hwq_cq *cq, const char *dev);
/*
 * Drops the completions of a QP that makes no more of them, and gives the entries of an SRQ back that
 * they name. Entries of other QPs keep their order; theirs may go on arriving, behind what is looked
 * at here.
 */
void hwq_cq_drop(struct hwq_cq *cq, uint32_t qpn, struct hwq_srq *srq);
/* The same of all that is there. */
void hwq_cq_drop_all(struct hwq_cq *cq);

/* True if n more CQEs fit; else a log line. */
bool hwq_obj_has_room(const char *dev, const struct hwq_cq *cq, uint32_t n);

/* What srq->srq shows becomes hwq's. */
int hwq_srq_take_over(struct hwq_srq *srq, const char *dev);
/* CQEs that one more QP with the SRQ makes possible in the CQ: its entries, counted once. */
uint32_t hwq_srq_cqe_needed(const struct hwq_srq *srq, const struct hwq_cq *cq);
void hwq_srq_attach(struct hwq_srq *srq, struct hwq_cq *cq);
void hwq_srq_detach(struct hwq_srq *srq, struct hwq_cq *cq);

#endif
