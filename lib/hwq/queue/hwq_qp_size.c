/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes of a QP: computes the sizes of a configuration and the sizes to request from libmlx5, and
 * checks whether they are possible. All bounds of hwq_sq.h and hwq_cq.h rely on these sizes, so
 * hwq_qp_create.c checks that the rings of mlx5dv_init_obj(3) are not shorter.
 */
#include "hwq_qp_size.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hwq_cq_room.h"
#include "hwq_log.h"
#include "hwq_qp_type.h"
#include "hwq_wire.h"

#define OPS_RDMA                                                                                   \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ)
#define OPS_ATOMIC    (IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#define OPS_WINDOW    (IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)
#define MLX5_OPS_LIST (MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED)
#define MLX5_OPS_UMR  (MLX5_OPS_LIST | MLX5DV_QP_EX_WITH_MKEY_CONFIGURE)

/*
 * DS units of the segments before the data, without the transport's segment: control; remote
 * address; operands.
 */
#define HEAD_DS        1u
#define HEAD_RDMA_DS   2u
#define HEAD_ATOMIC_DS 3u
/* LOCAL_INV needs 8 units, but libmlx5 also counts the layout of a bind. */
#define HEAD_UMR_DS (HWQ_UMR_HEAD_DS + HWQ_DS_PER_BB)

static uint32_t
pow2_up(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

static uint32_t
bytes_to_ds(uint32_t len)
{
	return (len + HWQ_DS_LEN - 1) / HWQ_DS_LEN;
}

uint32_t
hwq_max_umr_ds(uint32_t max_inline)
{
	uint32_t ds = (max_inline + HWQ_INLINE_HDR_LEN) / HWQ_DS_LEN;

	return ds < HWQ_UMR_LAYOUT_MAX ? ds : HWQ_UMR_LAYOUT_MAX;
}

uint32_t
hwq_conf_max_sge(const struct hwq_qp_conf *conf)
{
	return conf->max_sge == 0 ? 1 : conf->max_sge;
}

uint64_t
hwq_conf_send_ops(const struct hwq_qp_conf *conf)
{
	return conf->send_ops != 0 ? conf->send_ops : hwq_qp_info(conf->type)->default_ops;
}

uint64_t
hwq_conf_mlx5_ops(const struct hwq_qp_conf *conf)
{
	return conf->mlx5_ops | (conf->mmo ? MLX5DV_QP_EX_WITH_MEMCPY : 0);
}

/*
 * Some versions of libmlx5 do not count the first segments of a UMR for MKEY_CONFIGURE, but all
 * versions count these segments for lists. hwq requests lists too, so ring and inline data have the
 * same size with every version.
 */
uint64_t
hwq_conf_asked_mlx5_ops(const struct hwq_qp_conf *conf)
{
	uint64_t ops = hwq_conf_mlx5_ops(conf);

	if ((ops & MLX5DV_QP_EX_WITH_MKEY_CONFIGURE) != 0)
		ops |= MLX5DV_QP_EX_WITH_MR_LIST;
	return ops;
}

/*
 * Returns the units that libmlx5 counts before the data of every WQE, without the transport's
 * segment.
 */
static uint32_t
conf_op_ds(const struct hwq_qp_conf *conf)
{
	uint64_t ops = hwq_conf_send_ops(conf);

	if ((ops & OPS_WINDOW) != 0 || (conf->mlx5_ops & MLX5_OPS_UMR) != 0)
		return HEAD_UMR_DS;
	if ((ops & OPS_ATOMIC) != 0)
		return HEAD_ATOMIC_DS;
	return (ops & OPS_RDMA) != 0 ? HEAD_RDMA_DS : HEAD_DS;
}

static uint32_t
conf_head_ds(const struct hwq_qp_conf *conf)
{
	return conf_op_ds(conf) + hwq_qp_info(conf->type)->transport_ds;
}

/* Returns the DS units of the longest WQE. */
static uint32_t
conf_max_ds(const struct hwq_qp_conf *conf)
{
	uint32_t inl = bytes_to_ds(conf->max_inline + HWQ_INLINE_HDR_LEN);
	uint32_t sge = hwq_conf_max_sge(conf) + bytes_to_ds(conf->max_tso_header);

	if (conf->max_inline == 0)
		inl = 0;
	return conf_head_ds(conf) + (inl > sge ? inl : sge);
}

uint32_t
hwq_conf_inline_max(const struct hwq_qp_conf *conf)
{
	uint32_t op_ds = (hwq_conf_send_ops(conf) & OPS_RDMA) != 0 ? HEAD_RDMA_DS : HEAD_DS;
	uint32_t head = op_ds + hwq_qp_info(conf->type)->transport_ds;

	return (HWQ_DS_MAX - head) * HWQ_DS_LEN - HWQ_INLINE_HDR_LEN;
}

/* Returns the WQEBBs that libmlx5 counts for one WQE. */
static uint32_t
conf_wqe_bb(const struct hwq_qp_conf *conf)
{
	return hwq_ds_to_bb(conf_max_ds(conf));
}

uint32_t
hwq_conf_inline_room(const struct hwq_qp_conf *conf)
{
	return (conf_wqe_bb(conf) * HWQ_DS_PER_BB - conf_head_ds(conf)) * HWQ_DS_LEN -
	       HWQ_INLINE_HDR_LEN;
}

/* Requests at least two of the longest WQEs: NOPs may fill the ring's end (hwq_sq.h). */
uint32_t
hwq_conf_sq_wr(const struct hwq_qp_conf *conf)
{
	return conf->sq_wr < 2 ? 2 : conf->sq_wr;
}

/*
 * libmlx5 multiplies the number of WQEs by the longest WQE, and rounds the bytes up to a power of
 * two.
 */
uint32_t
hwq_conf_sq_bb(const struct hwq_qp_conf *conf)
{
	return pow2_up(hwq_conf_sq_wr(conf) * conf_wqe_bb(conf));
}

uint32_t
hwq_conf_rq_sge(const struct hwq_qp_conf *conf)
{
	return conf->rq_sge == 0 ? 1 : conf->rq_sge;
}

/* An entry has a power of two of segments. libmlx5's shortest ring is one WQEBB. */
uint32_t
hwq_conf_rq_wr(const struct hwq_qp_conf *conf)
{
	uint32_t n = pow2_up(conf->rq_wr),
		 shortest = HWQ_DS_PER_BB / pow2_up(hwq_conf_rq_sge(conf));

	if (conf->rq_wr == 0)
		return 0;
	return n < shortest ? shortest : n;
}

uint32_t
hwq_qp_cqe_needed(const struct hwq_qp_conf *conf)
{
	if (hwq_qp_info(conf->type) == NULL)
		return 0;
	return hwq_conf_sq_bb(conf) + (conf->recv_cq != NULL ? 0 : hwq_qp_recv_cqe_needed(conf));
}

uint32_t
hwq_qp_recv_cqe_needed(const struct hwq_qp_conf *conf)
{
	if (hwq_qp_info(conf->type) == NULL)
		return 0;
	return hwq_conf_rq_wr(conf) + hwq_srq_cqe_needed(conf->srq, NULL);
}

/* ------------------------------------------------------------------ checks */

/*
 * Checks the configuration against the type. Returns -EOPNOTSUPP if the type does not support a
 * feature, -EINVAL if a field makes no sense for the type.
 */
static int
check_type(const char *dev, const struct hwq_qp_conf *conf)
{
	const struct hwq_qp_info *info = hwq_qp_info(conf->type);
	uint64_t ops, mlx5_ops;

	if (info == NULL) {
		hwq_log("%s: %u is no type of QP: see enum hwq_qp_type", dev,
			(unsigned int)conf->type);
		return -EOPNOTSUPP;
	}
	ops = hwq_conf_send_ops(conf) & ~info->send_ops;
	mlx5_ops = hwq_conf_mlx5_ops(conf) & ~info->mlx5_ops;
	if (ops != 0 || mlx5_ops != 0) {
		hwq_log("%s: the QP does not support all the requested work request types: %s has "
			"not 0x%llx of send_ops, 0x%llx of mlx5_ops",
			dev, info->name, (unsigned long long)ops, (unsigned long long)mlx5_ops);
		return -EOPNOTSUPP;
	}
	/*
	 * libmlx5 does not check this. But MKEY_CONFIGURE, which configures keys with signatures,
	 * is refused by libmlx5 with this errno for all types but RC.
	 */
	if (conf->sig_pipelining && conf->type != HWQ_QP_RC) {
		hwq_log("%s: signature pipelining (sig_pipelining) is for RC QPs: a %s QP has no keys with "
			"signatures",
			dev, info->name);
		return -EOPNOTSUPP;
	}
	if (((conf->rq_wr != 0 || conf->srq != NULL) && !info->has_rq) ||
		(conf->max_tso_header != 0 && conf->type != HWQ_QP_RAW_PACKET) ||
		(conf->dci_streams && conf->type != HWQ_QP_DCI)) {
		hwq_log("%s: a %s QP has no %s", dev, info->name,
			conf->max_tso_header != 0 ? "TSO"
			: conf->dci_streams       ? "DCI streams"
						  : "receive queue");
		return -EINVAL;
	}
	if (conf->srq != NULL && (conf->rq_wr != 0 || conf->srq->xrc_cq != NULL)) {
		hwq_log("%s: a QP that receives from an SRQ has no receives of its own, and the "
			"SRQ is none of XRC",
			dev);
		return -EINVAL;
	}
	return 0;
}

static int
check_sizes(const char *dev, const struct hwq_dev_caps *caps, const struct hwq_qp_conf *conf)
{
	uint32_t data_ds, max_inline, sge = hwq_conf_max_sge(conf);
	uint32_t head_ds = conf_head_ds(conf) + bytes_to_ds(conf->max_tso_header);

	if (conf->sq_wr == 0 || conf->sq_wr > caps->max_qp_wr || conf->rq_wr > caps->max_qp_wr) {
		hwq_log("%s: a QP of %u send and %u receive WQEs: 1 to %u, and at most %u, are "
			"possible",
			dev, conf->sq_wr, conf->rq_wr, caps->max_qp_wr, caps->max_qp_wr);
		return -EINVAL;
	}
	if (conf->rq_wr != 0 && hwq_conf_rq_sge(conf) > caps->max_sge) {
		hwq_log("%s: a receive of %u pieces of memory: at most %u are possible", dev,
			conf->rq_sge, caps->max_sge);
		return -EINVAL;
	}
	/* DS has six bits. libmlx5 allows 64 units, which the device would read as 0. */
	data_ds = head_ds < HWQ_DS_MAX ? HWQ_DS_MAX - head_ds : 0;
	max_inline = data_ds == 0 ? 0 : data_ds * HWQ_DS_LEN - HWQ_INLINE_HDR_LEN;
	if (sge > caps->max_sge || sge > data_ds || conf->max_inline > max_inline) {
		hwq_log("%s: a WQE of %u segments or %u inline bytes: at most %u and %u are "
			"possible",
			dev, sge, conf->max_inline,
			caps->max_sge < data_ds ? caps->max_sge : data_ds, max_inline);
		return -EINVAL;
	}
	if (hwq_conf_sq_bb(conf) > caps->max_qp_wr) {
		hwq_log("%s: %u send WQEs of this size need a ring of %u WQEBBs, and %u are "
			"possible",
			dev, conf->sq_wr, hwq_conf_sq_bb(conf), caps->max_qp_wr);
		return -EINVAL;
	}
	return 0;
}

int
hwq_conf_check(const struct hwq_domain *domain, const struct hwq_cq *cq,
	const struct hwq_qp_conf *conf)
{
	const struct hwq_dev_caps *caps = &domain->dev->caps;
	const char *dev = hwq_dev_name(domain->dev);
	const char *sig = getenv("MLX5_QP_SIGNATURE");
	struct hwq_qp_cqes cqes = {.send_cq = cq,
		.recv_cq = hwq_conf_recv_cq(conf, cq),
		.srq = conf->srq};
	int ret;

	ret = check_type(dev, conf);
	if (ret == 0)
		ret = check_sizes(dev, caps, conf);
	if (ret != 0)
		return ret;
	cqes.n_send = hwq_conf_sq_bb(conf);
	cqes.n_recv = hwq_conf_rq_wr(conf);
	ret = hwq_qp_check_room(dev, &cqes);
	if (ret != 0)
		return ret;
	if (conf->mmo && caps->max_memcpy_len == 0) {
		hwq_log("%s: the device has no DMA MMO: copy by RDMA instead", dev);
		return -EOPNOTSUPP;
	}
	/* If MLX5_QP_SIGNATURE is set, libmlx5 makes the device check a signature in every WQE. */
	if (sig != NULL && strcmp(sig, "0") != 0) {
		hwq_log("MLX5_QP_SIGNATURE is set, and hwq signs no WQEs: unset it");
		return -EOPNOTSUPP;
	}
	return 0;
}
