/* SPDX-License-Identifier: BSD-3-Clause */
/* Verbs calls for devices, memory, CQs, QPs and address handles. Their errors become -errno.  */
#include "hwq_verbs.h"

#include <endian.h>
#include <string.h>

#include "hwq_cmd.h"
#include "hwq_verbs_errno.h"

int
hwq_verbs_list(struct ibv_device ***list, int *n)
{
	struct ibv_device **devices;
	int count = 0;

	errno = 0;
	devices = ibv_get_device_list(&count);
	if (devices == NULL)
		/* ENOSYS means that the kernel has no RDMA support (ibv_get_device_list(3)). */
		return errno == ENOSYS ? -ENODEV : err_from_errno();
	if (count == 0) {
		ibv_free_device_list(devices);
		return -ENODEV;
	}
	*list = devices;
	*n = count;
	return 0;
}

int
hwq_verbs_open(struct ibv_device *device, struct ibv_context **ctx)
{
	/*
	 * Without a flag, libmlx5 opens the device with DEVX if possible, otherwise without DEVX.
	 */
	struct mlx5dv_context_attr attr = {0};
	struct ibv_context *opened;

	if (!mlx5dv_is_supported(device))
		return -EOPNOTSUPP;
	errno = 0;
	opened = mlx5dv_open_device(device, &attr);
	if (opened == NULL)
		return err_from_errno();
	*ctx = opened;
	return 0;
}

void
hwq_verbs_query_devx(struct ibv_context *ctx, bool *devx, bool *dc)
{
	uint8_t in[QUERY_CAP_IN_LEN] = {0}, out[QUERY_CAP_OUT_LEN] = {0};

	hwq_cmd_put(in, CMD_OPCODE, 16, CMD_QUERY_HCA_CAP);
	hwq_cmd_put(in, CMD_OP_MOD, 16, QUERY_CAP_CURRENT);
	*devx = mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, sizeof(out)) == 0;
	*dc = !*devx || hwq_cmd_get(out, QUERY_CAP_DCT, 1) != 0;
}

void
hwq_verbs_query_cross(struct ibv_context *ctx, uint16_t *vhca_id, bool *cross)
{
	uint8_t in[QUERY_CAP_IN_LEN] = {0}, out[QUERY_CAP_OUT_LEN] = {0};

	*vhca_id = 0;
	*cross = false;
	hwq_cmd_put(in, CMD_OPCODE, 16, CMD_QUERY_HCA_CAP);
	hwq_cmd_put(in, CMD_OP_MOD, 16, QUERY_CAP_CURRENT);
	if (mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, sizeof(out)) != 0)
		return;
	*vhca_id = (uint16_t)hwq_cmd_get(out, QUERY_CAP_VHCA_ID, 16);
	if (hwq_cmd_get(out, QUERY_CAP_HAS_2, 1) == 0)
		return;
	hwq_cmd_put(in, CMD_OP_MOD, 16, QUERY_CAP_2 << 1);
	if (mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, sizeof(out)) != 0)
		return;
	*cross = (hwq_cmd_get(out, QUERY_CAP_2_CROSS, 32) & CROSS_LOCAL_MKEY_TO_REMOTE_MKEY) != 0 &&
		 (hwq_cmd_get(out, QUERY_CAP_2_ALLOWED, 32) & ALLOWED_MKEY) != 0;
}

int
hwq_verbs_close(struct ibv_context *ctx)
{
	errno = 0;
	return err_from_ret(ibv_close_device(ctx));
}

int
hwq_verbs_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	errno = 0;
	return err_from_ret(ibv_query_device(ctx, attr));
}

int
hwq_verbs_query_memcpy(struct ibv_context *ctx, uint64_t *len)
{
	struct mlx5dv_context attr = {.comp_mask = MLX5DV_CONTEXT_MASK_WR_MEMCPY_LENGTH};
	int ret;

	errno = 0;
	ret = err_from_ret(mlx5dv_query_device(ctx, &attr));
	if (ret != 0)
		return ret;
	*len = attr.comp_mask & MLX5DV_CONTEXT_MASK_WR_MEMCPY_LENGTH ? attr.max_wr_memcpy_length
								     : 0;
	return 0;
}

int
hwq_verbs_query_memory(struct ibv_context *ctx, uint64_t *dm_len, bool *any)
{
	const uint32_t rdma = IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;
	struct ibv_device_attr_ex attr = {{{0}}};
	int ret;

	errno = 0;
	ret = err_from_ret(ibv_query_device_ex(ctx, NULL, &attr));
	if (ret != 0)
		return ret;
	*dm_len = attr.max_dm_size;
	*any = (attr.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT) != 0 &&
	       (attr.odp_caps.per_transport_caps.rc_odp_caps & rdma) == rdma;
	return 0;
}

int
hwq_verbs_query_offloads(struct ibv_context *ctx, struct mlx5dv_sig_caps *sig,
	struct mlx5dv_crypto_caps *crypto)
{
	struct mlx5dv_context attr = {.comp_mask = MLX5DV_CONTEXT_MASK_SIGNATURE_OFFLOAD |
						   MLX5DV_CONTEXT_MASK_CRYPTO_OFFLOAD};
	int ret;

	memset(sig, 0, sizeof(*sig));
	memset(crypto, 0, sizeof(*crypto));
	errno = 0;
	ret = err_from_ret(mlx5dv_query_device(ctx, &attr));
	if (ret != 0)
		return ret;
	if (attr.comp_mask & MLX5DV_CONTEXT_MASK_SIGNATURE_OFFLOAD)
		*sig = attr.sig_caps;
	if (attr.comp_mask & MLX5DV_CONTEXT_MASK_CRYPTO_OFFLOAD)
		*crypto = attr.crypto_caps;
	return 0;
}

int
hwq_verbs_query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr)
{
	errno = 0;
	return err_from_ret(ibv_query_port(ctx, port, attr));
}

int
hwq_verbs_query_gids(struct ibv_context *ctx, struct ibv_gid_entry *entries, size_t max, size_t *n)
{
	ssize_t count;

	errno = 0;
	count = ibv_query_gid_table(ctx, entries, max, 0);
	if (count < 0)
		return count == -1 && errno != 0 ? -errno : (int)count;
	*n = (size_t)count;
	return 0;
}

int
hwq_verbs_pd_alloc(struct ibv_context *ctx, struct ibv_pd **pd)
{
	struct ibv_pd *made;

	errno = 0;
	made = ibv_alloc_pd(ctx);
	if (made == NULL)
		return err_from_errno();
	*pd = made;
	return 0;
}

int
hwq_verbs_pd_free(struct ibv_pd *pd)
{
	errno = 0;
	return err_from_ret(ibv_dealloc_pd(pd));
}

int
hwq_verbs_td_alloc(struct ibv_context *ctx, struct ibv_td **td)
{
	struct ibv_td_init_attr attr = {0};
	struct ibv_td *made;

	errno = 0;
	made = ibv_alloc_td(ctx, &attr);
	if (made == NULL)
		return err_from_errno();
	*td = made;
	return 0;
}

int
hwq_verbs_td_free(struct ibv_td *td)
{
	errno = 0;
	return err_from_ret(ibv_dealloc_td(td));
}

int
hwq_verbs_parent_alloc(struct ibv_pd *pd, struct ibv_td *td, struct ibv_pd **parent)
{
	struct ibv_parent_domain_init_attr attr = {.pd = pd, .td = td};
	struct ibv_pd *made;

	errno = 0;
	made = ibv_alloc_parent_domain(pd->context, &attr);
	if (made == NULL)
		return err_from_errno();
	*parent = made;
	return 0;
}

int
hwq_verbs_mr_reg(struct ibv_pd *pd, void *addr, size_t len, unsigned int access, struct ibv_mr **mr)
{
	struct ibv_mr *made;

	errno = 0;
	made = ibv_reg_mr(pd, addr, len, access);
	if (made == NULL)
		return err_from_errno();
	*mr = made;
	return 0;
}

int
hwq_verbs_mr_dereg(struct ibv_mr *mr)
{
	errno = 0;
	return err_from_ret(ibv_dereg_mr(mr));
}

int
hwq_verbs_mr_reg_dm(struct ibv_pd *pd, struct ibv_dm *dm, size_t len, unsigned int access,
	struct ibv_mr **mr)
{
	struct ibv_mr *made;

	errno = 0;
	made = ibv_reg_dm_mr(pd, dm, 0, len, access | IBV_ACCESS_ZERO_BASED);
	if (made == NULL)
		return err_from_errno();
	*mr = made;
	return 0;
}

int
hwq_verbs_dm_alloc(struct ibv_context *ctx, size_t len, uint32_t log_align, struct ibv_dm **dm)
{
	struct ibv_alloc_dm_attr attr = {.length = len, .log_align_req = log_align};
	struct ibv_dm *made;

	errno = 0;
	made = ibv_alloc_dm(ctx, &attr);
	if (made == NULL)
		return err_from_errno();
	*dm = made;
	return 0;
}

int
hwq_verbs_dm_free(struct ibv_dm *dm)
{
	errno = 0;
	return err_from_ret(ibv_free_dm(dm));
}

int
hwq_verbs_pdn(struct ibv_pd *pd, uint32_t *pdn)
{
	struct mlx5dv_pd view = {0};
	struct mlx5dv_obj obj = {.pd = {.in = pd, .out = &view}};
	int ret;

	errno = 0;
	ret = err_from_ret(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD));
	if (ret == 0)
		*pdn = view.pdn;
	return ret;
}

/*
 * Converts the status of a firmware command to an errno, as libmlx5 does (rdma-core 44,
 * providers/mlx5/mlx5.c).
 */
int
hwq_verbs_err_from_status(uint8_t status)
{
	switch (status) {
	case 0x02: /* BAD_OP */
	case 0x03: /* BAD_PARAM */
	case 0x05: /* BAD_RES */
	case 0x09: /* BAD_RES_STATE */
	case 0x0a: /* IX */
	case 0x10: /* BAD_QP_STATE */
	case 0x30: /* BAD_PKT */
	case 0x40: /* BAD_SIZE_OUTS_CQES */
		return -EINVAL;
	case 0x06: /* RES_BUSY */
		return -EBUSY;
	case 0x08: /* LIM */
		return -ENOMEM;
	case 0x0f: /* NO_RES */
		return -EAGAIN;
	default:
		return -EIO;
	}
}

int
hwq_verbs_devx_create(struct ibv_context *ctx, const void *in, size_t in_len, void *out,
	size_t out_len, struct mlx5dv_devx_obj **obj)
{
	struct mlx5dv_devx_obj *made;

	errno = 0;
	made = mlx5dv_devx_obj_create(ctx, in, in_len, out, out_len);
	if (made == NULL && errno == EREMOTEIO)
		return hwq_verbs_err_from_status(*(const uint8_t *)out);
	if (made == NULL)
		return err_from_errno();
	*obj = made;
	return 0;
}

int
hwq_verbs_devx_query(struct mlx5dv_devx_obj *obj, const void *in, size_t in_len, void *out,
	size_t out_len)
{
	int ret;

	errno = 0;
	ret = err_from_ret(mlx5dv_devx_obj_query(obj, in, in_len, out, out_len));
	return ret == -EREMOTEIO ? hwq_verbs_err_from_status(*(const uint8_t *)out) : ret;
}

int
hwq_verbs_devx_destroy(struct mlx5dv_devx_obj *obj)
{
	errno = 0;
	return err_from_ret(mlx5dv_devx_obj_destroy(obj));
}

int
hwq_verbs_devx_general(struct ibv_context *ctx, const void *in, size_t in_len, void *out,
	size_t out_len)
{
	int ret;

	errno = 0;
	ret = err_from_ret(mlx5dv_devx_general_cmd(ctx, in, in_len, out, out_len));
	return ret == -EREMOTEIO ? hwq_verbs_err_from_status(*(const uint8_t *)out) : ret;
}

int
hwq_verbs_umem_reg(struct ibv_context *ctx, void *addr, size_t len, unsigned int access,
	struct mlx5dv_devx_umem **umem)
{
	struct mlx5dv_devx_umem_in in = {
		.addr = addr,
		.size = len,
		.access = access,
		.pgsz_bitmap = 4096,
	};
	struct mlx5dv_devx_umem *made;

	errno = 0;
	made = mlx5dv_devx_umem_reg_ex(ctx, &in);
	if (made == NULL)
		return err_from_errno();
	*umem = made;
	return 0;
}

int
hwq_verbs_umem_dereg(struct mlx5dv_devx_umem *umem)
{
	errno = 0;
	return err_from_ret(mlx5dv_devx_umem_dereg(umem));
}

int
hwq_verbs_mkey_try_variant(struct ibv_pd *pd)
{
	struct mlx5dv_mkey_init_attr attr = {
		.pd = pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				MLX5DV_MKEY_INIT_ATTR_FLAGS_UPDATE_TAG,
		.max_entries = 1,
	};
	struct mlx5dv_mkey *made;

	errno = 0;
	made = mlx5dv_create_mkey(&attr);
	if (made == NULL)
		return err_from_errno();
	return err_from_ret(mlx5dv_destroy_mkey(made));
}

int
hwq_verbs_cq_create(struct ibv_context *ctx, uint32_t n_cqe, struct ibv_comp_channel *channel,
	void *user, struct ibv_cq **cq)
{
	/* libmlx5 adds one entry to the requested number. */
	struct ibv_cq_init_attr_ex attr = {
		.cqe = n_cqe - 1,
		.channel = channel,
		.cq_context = user,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	/*
	 * The environment variable MLX5_CQE_SIZE may request CQEs of 128 bytes. hwq reads CQEs of
	 * 64 bytes, so request 64 here.
	 */
	struct mlx5dv_cq_init_attr mlx5_attr = {
		.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
		.cqe_size = 64,
	};
	struct ibv_cq_ex *made;

	errno = 0;
	made = mlx5dv_create_cq(ctx, &attr, &mlx5_attr);
	if (made == NULL)
		return err_from_errno();
	*cq = ibv_cq_ex_to_cq(made);
	return 0;
}

int
hwq_verbs_cq_destroy(struct ibv_cq *cq)
{
	errno = 0;
	return err_from_ret(ibv_destroy_cq(cq));
}

int
hwq_verbs_cq_take(struct ibv_cq *cq, struct mlx5dv_cq *view)
{
	struct mlx5dv_obj obj = {.cq = {.in = cq, .out = view}};

	errno = 0;
	memset(view, 0, sizeof(*view));
	return err_from_ret(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ));
}

int
hwq_verbs_qp_create(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
	struct mlx5dv_qp_init_attr *mlx5_attr, struct ibv_qp **qp)
{
	struct ibv_qp *made;

	errno = 0;
	made = mlx5dv_create_qp(ctx, attr, mlx5_attr);
	if (made == NULL)
		return err_from_errno();
	*qp = made;
	return 0;
}

int
hwq_verbs_qp_destroy(struct ibv_qp *qp)
{
	errno = 0;
	return err_from_ret(ibv_destroy_qp(qp));
}

int
hwq_verbs_qp_take(struct ibv_qp *qp, struct mlx5dv_qp *view)
{
	struct mlx5dv_obj obj = {.qp = {.in = qp, .out = view}};

	errno = 0;
	memset(view, 0, sizeof(*view));
	return err_from_ret(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP));
}

int
hwq_verbs_qp_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	errno = 0;
	return err_from_ret(ibv_modify_qp(qp, attr, mask));
}

int
hwq_verbs_qp_query(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_init_attr init;

	errno = 0;
	return err_from_ret(ibv_query_qp(qp, attr, mask, &init));
}

int
hwq_verbs_ah_create(struct ibv_pd *pd, struct ibv_ah_attr *attr, struct ibv_ah **ah)
{
	struct ibv_ah *made;

	errno = 0;
	made = ibv_create_ah(pd, attr);
	if (made == NULL)
		return err_from_errno();
	*ah = made;
	return 0;
}

int
hwq_verbs_ah_destroy(struct ibv_ah *ah)
{
	errno = 0;
	return err_from_ret(ibv_destroy_ah(ah));
}

int
hwq_verbs_ah_take(struct ibv_ah *ah, struct mlx5dv_ah *view)
{
	struct mlx5dv_obj obj = {.ah = {.in = ah, .out = view}};

	errno = 0;
	memset(view, 0, sizeof(*view));
	return err_from_ret(mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH));
}

int
hwq_verbs_eth_inline(struct ibv_qp *qp, void *ring, uint8_t *bytes)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	const uint8_t frame[64] = {0};
	__be16 size;

	/* This WQE is never posted. It shows how many bytes of a packet libmlx5 writes inline. */
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 0, (uintptr_t)frame, sizeof(frame));
	ibv_wr_abort(ex);
	memcpy(&size,
		(const uint8_t *)ring + sizeof(struct mlx5_wqe_ctrl_seg) +
			offsetof(struct mlx5_wqe_eth_seg, inline_hdr_sz),
		sizeof(size));
	*bytes = (uint8_t)be16toh(size);
	return be16toh(size) > sizeof(frame) ? -EPROTO : 0;
}
