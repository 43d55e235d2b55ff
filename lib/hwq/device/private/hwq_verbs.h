/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verbs calls of lib/hwq. Each function returns 0 or -errno, and writes its out-pointer on success
 * only. The caller logs errors, because it knows the purpose of the call.
 */
#ifndef HWQ_VERBS_H
#define HWQ_VERBS_H

#include <stdint.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

/*
 * Converts the status of a firmware command, which is the first byte of its answer, to the -errno
 * of libmlx5.
 */
int hwq_verbs_err_from_status(uint8_t status);

/* The caller frees the list by ibv_free_device_list(3). Returns -ENODEV if the list is empty. */
int hwq_verbs_list(struct ibv_device ***list, int *n);
/* Opens with DEVX if the device has it. Returns -EOPNOTSUPP if it is no mlx5 device. */
int hwq_verbs_open(struct ibv_device *device, struct ibv_context **ctx);
int hwq_verbs_close(struct ibv_context *ctx);

int hwq_verbs_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr);
/* Reads the longest memcpy. *len is 0 if the device has no DMA MMO. */
int hwq_verbs_query_memcpy(struct ibv_context *ctx, uint64_t *len);
/*
 * dm_len: bytes of device memory; 0: the device has none. any: RDMA on RC queues can use all memory
 * on demand.
 */
int hwq_verbs_query_memory(struct ibv_context *ctx, uint64_t *dm_len, bool *any);
/*
 * Reads the capabilities for signatures and encryption, from mlx5dv_query_device(3). All zeros: the
 * device has none.
 */
int hwq_verbs_query_offloads(struct ibv_context *ctx, struct mlx5dv_sig_caps *sig,
	struct mlx5dv_crypto_caps *crypto);
/*
 * *devx: firmware commands are possible. *dc: the device has DC, or its capabilities cannot be
 * read.
 */
void hwq_verbs_query_devx(struct ibv_context *ctx, bool *devx, bool *dc);
/*
 * *vhca_id: the number of this function on its card. *cross: functions of the card may use keys of
 * each other; false if the capabilities cannot be read.
 */
void hwq_verbs_query_cross(struct ibv_context *ctx, uint16_t *vhca_id, bool *cross);
int hwq_verbs_query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr);
/* Reads all valid GIDs of all ports, at most max. */
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
/* Registers the whole device memory, zero-based. */
int hwq_verbs_mr_reg_dm(struct ibv_pd *pd, struct ibv_dm *dm, size_t len, unsigned int access,
	struct ibv_mr **mr);
int hwq_verbs_dm_alloc(struct ibv_context *ctx, size_t len, uint32_t log_align, struct ibv_dm **dm);
int hwq_verbs_dm_free(struct ibv_dm *dm);

/* Reads the PD's number, for commands. */
int hwq_verbs_pdn(struct ibv_pd *pd, uint32_t *pdn);
/*
 * Sends a command that creates an object. If the device refuses the command, returns the -errno of
 * libmlx5.
 */
int hwq_verbs_devx_create(struct ibv_context *ctx, const void *in, size_t in_len, void *out,
	size_t out_len, struct mlx5dv_devx_obj **obj);
/* Sends a command that queries an object. Returns errors as hwq_verbs_devx_create(). */
int hwq_verbs_devx_query(struct mlx5dv_devx_obj *obj, const void *in, size_t in_len, void *out,
	size_t out_len);
int hwq_verbs_devx_destroy(struct mlx5dv_devx_obj *obj);
/* Sends a command without an object. Returns errors as hwq_verbs_devx_create(). */
int hwq_verbs_devx_general(struct ibv_context *ctx, const void *in, size_t in_len, void *out,
	size_t out_len);
/* Registers user memory for commands, in pages of 4 KiB. */
int hwq_verbs_umem_reg(struct ibv_context *ctx, void *addr, size_t len, unsigned int access,
	struct mlx5dv_devx_umem **umem);
int hwq_verbs_umem_dereg(struct mlx5dv_devx_umem *umem);
/*
 * Returns 0 if the variants (low bytes) of keys may be changed, -EOPNOTSUPP if this kernel does not
 * allow it.
 */
int hwq_verbs_mkey_try_variant(struct ibv_pd *pd);

/* Creates a CQ with entries of 64 bytes, for one thread. */
int hwq_verbs_cq_create(struct ibv_context *ctx, uint32_t n_cqe, struct ibv_comp_channel *channel,
	void *user, struct ibv_cq **cq);
int hwq_verbs_cq_destroy(struct ibv_cq *cq);
/* Takes over the CQ: from now on libmlx5 does not use its indices. */
int hwq_verbs_cq_take(struct ibv_cq *cq, struct mlx5dv_cq *view);

/* Creates a QP, and writes the QP's real limits to attr->cap. */
int hwq_verbs_qp_create(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
	struct mlx5dv_qp_init_attr *mlx5_attr, struct ibv_qp **qp);
int hwq_verbs_qp_destroy(struct ibv_qp *qp);
int hwq_verbs_qp_take(struct ibv_qp *qp, struct mlx5dv_qp *view);
int hwq_verbs_qp_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int hwq_verbs_qp_query(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);

int hwq_verbs_ah_create(struct ibv_pd *pd, struct ibv_ah_attr *attr, struct ibv_ah **ah);
int hwq_verbs_ah_destroy(struct ibv_ah *ah);
int hwq_verbs_ah_take(struct ibv_ah *ah, struct mlx5dv_ah *view);

/*
 * Reads how many bytes of a frame libmlx5 puts inline for the device, which no call returns. qp: a
 * new QP that can SEND, and whose ring hwq has not taken over yet.
 */
int hwq_verbs_eth_inline(struct ibv_qp *qp, void *ring, uint8_t *bytes);

#endif
