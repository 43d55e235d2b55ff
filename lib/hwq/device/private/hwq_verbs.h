/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verbs as lib/hwq calls them: each returns 0 or -errno, and writes its out-pointer on success
 * only. Logging is the caller's, who knows what was being done.
 */
#ifndef HWQ_VERBS_H
#define HWQ_VERBS_H

#include <stdint.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

/* What the status of a firmware command, in its answer's first byte, is to libmlx5: -errno. */
int hwq_verbs_err_from_status(uint8_t status);

/* Frees with ibv_free_device_list(). -ENODEV: the list is empty. */
int hwq_verbs_list(struct ibv_device ***list, int *n);
/* With DEVX where the device has it; -EOPNOTSUPP: no mlx5 device. */
int hwq_verbs_open(struct ibv_device *device, struct ibv_context **ctx);
int hwq_verbs_close(struct ibv_context *ctx);

int hwq_verbs_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr);
/* 0 in *len: the device has no DMA MMO. */
int hwq_verbs_query_memcpy(struct ibv_context *ctx, uint64_t *len);
/*
 * Bytes of the device's own memory; 0: it has none. any: RDMA of RC reads and writes all memory on
 * demand.
 */
int hwq_verbs_query_memory(struct ibv_context *ctx, uint64_t *dm_len, bool *any);
/* What mlx5dv_query_device(3) says of signatures and encryption; zeros: neither. */
int hwq_verbs_query_offloads(struct ibv_context *ctx, struct mlx5dv_sig_caps *sig,
	struct mlx5dv_crypto_caps *crypto);
/* devx: firmware commands are possible; dc: the device has DC, or nobody can ask it. */
void hwq_verbs_query_devx(struct ibv_context *ctx, bool *devx, bool *dc);
int hwq_verbs_query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr);
/* All valid entries of all ports, at most max. */
int hwq_verbs_query_gids(struct ibv_context *ctx, struct ibv_gid_entry *entries, size_t max,
	size_t *n);

int hwq_verbs_pd_alloc(struct ibv_context *ctx, struct ibv_pd **pd);
int hwq_verbs_pd_free(struct ibv_pd *pd);
int hwq_verbs_td_alloc(struct ibv_context *ctx, struct ibv_td **td);
int hwq_verbs_td_free(struct ibv_td *td);
int hwq_verbs_parent_alloc(struct ibv_pd *pd, struct ibv_td *td, struct ibv_pd **parent);

int hwq_verbs_mr_reg(struct ibv_pd *pd, void *addr, size_t len, unsigned int access,
	struct ibv_mr **mr);
int hwq_verbs_mr_dereg(struct ibv_mr *mr);
/* Zero-based: all of the device memory. */
int hwq_verbs_mr_reg_dm(struct ibv_pd *pd, struct ibv_dm *dm, size_t len, unsigned int access,
	struct ibv_mr **mr);
int hwq_verbs_dm_alloc(struct ibv_context *ctx, size_t len, uint32_t log_align, struct ibv_dm **dm);
int hwq_verbs_dm_free(struct ibv_dm *dm);

/* The PD's number, for commands. */
int hwq_verbs_pdn(struct ibv_pd *pd, uint32_t *pdn);
/* A command that makes an object; its refusal by the device becomes -errno, as with libmlx5. */
int hwq_verbs_devx_create(struct ibv_context *ctx, const void *in, size_t in_len, void *out,
	size_t out_len, struct mlx5dv_devx_obj **obj);
/* A command that asks for an object; errors as those of hwq_verbs_devx_create(). */
int hwq_verbs_devx_query(struct mlx5dv_devx_obj *obj, const void *in, size_t in_len, void *out,
	size_t out_len);
int hwq_verbs_devx_destroy(struct mlx5dv_devx_obj *obj);
/* 0: the variants of keys may be changed; -EOPNOTSUPP: not with this kernel. */
int hwq_verbs_mkey_try_variant(struct ibv_pd *pd);

/* 64-byte entries, for one thread. */
int hwq_verbs_cq_create(struct ibv_context *ctx, uint32_t n_cqe, struct ibv_comp_channel *channel,
	void *user, struct ibv_cq **cq);
int hwq_verbs_cq_destroy(struct ibv_cq *cq);
/* From here on libmlx5 leaves the CQ's indices alone. */
int hwq_verbs_cq_take(struct ibv_cq *cq, struct mlx5dv_cq *view);

/* attr->cap is updated to what the QP has. */
int hwq_verbs_qp_create(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
	struct mlx5dv_qp_init_attr *mlx5_attr, struct ibv_qp **qp);
int hwq_verbs_qp_destroy(struct ibv_qp *qp);
int hwq_verbs_qp_take(struct ibv_qp *qp, struct mlx5dv_qp *view);
int hwq_verbs_qp_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int hwq_verbs_qp_query(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);

int hwq_verbs_ah_create(struct ibv_pd *pd, struct ibv_ah_attr *attr, struct ibv_ah **ah);
int hwq_verbs_ah_destroy(struct ibv_ah *ah);
int hwq_verbs_ah_take(struct ibv_ah *ah, struct mlx5dv_ah *view);

/* Bytes of a frame that libmlx5 puts inline for the device, which it says nowhere else. Of a new
 * QP that can SEND, whose ring is still libmlx5's. */
int hwq_verbs_eth_inline(struct ibv_qp *qp, void *ring, uint8_t *bytes);

#endif
