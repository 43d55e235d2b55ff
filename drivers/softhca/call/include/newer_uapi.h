/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of the uverbs ABI that may be missing in the headers of the build machine. Newer versions
 * of rdma-core use them. Source: the uapi headers rdma/ib_user_ioctl_cmds.h and mlx5-abi.h of Linux
 * 6.18. The kernel never changes such a number.
 */
#ifndef SOFTHCA_NEWER_UAPI_H
#define SOFTHCA_NEWER_UAPI_H

enum newer_objects {
	NEWER_OBJECT_DMAH = 17,
	NEWER_OBJECT_DMABUF = 18
};

/* Methods of UVERBS_OBJECT_DEVICE. */
enum newer_device {
	NEWER_METHOD_QUERY_PORT_SPEED = 7,
	NEWER_ATTR_PORT_SPEED_PORT = 0,
	NEWER_ATTR_PORT_SPEED_RESP = 1
};

enum newer_dmah {
	NEWER_METHOD_DMAH_ALLOC = 0,
	NEWER_METHOD_DMAH_FREE = 1,
	NEWER_ATTR_DMAH_HANDLE = 0, /* in both methods */
	NEWER_ATTR_DMAH_CPU_ID = 1,
	NEWER_ATTR_DMAH_MEM_TYPE = 2,
	NEWER_ATTR_DMAH_PH = 3,
	NEWER_DMAH_MEM_TYPES = 2 /* number of kinds: volatile, persistent */
};

enum newer_dmabuf {
	NEWER_METHOD_DMABUF_ALLOC = 0,
	NEWER_ATTR_DMABUF_HANDLE = 0,
	NEWER_ATTR_DMABUF_PGOFF = 1
};

/* An attribute of UVERBS_METHOD_REG_DMABUF_MR: 32 bits. */
#define NEWER_ATTR_REG_DMABUF_MR_FLAGS 0x1000U

/* A method of UVERBS_OBJECT_MR. */
enum newer_reg_mr {
	NEWER_METHOD_REG_MR = 5,
	NEWER_ATTR_REG_MR_HANDLE = 0,
	NEWER_ATTR_REG_MR_PD = 1,
	NEWER_ATTR_REG_MR_DMAH = 2,
	NEWER_ATTR_REG_MR_IOVA = 3,
	NEWER_ATTR_REG_MR_ADDR = 4,
	NEWER_ATTR_REG_MR_LENGTH = 5,
	NEWER_ATTR_REG_MR_ACCESS = 6,
	NEWER_ATTR_REG_MR_FD = 7,
	NEWER_ATTR_REG_MR_FD_OFFSET = 8,
	NEWER_ATTR_REG_MR_LKEY = 9,
	NEWER_ATTR_REG_MR_RKEY = 10
};

/* An attribute of MLX5_IB_METHOD_VAR_OBJ_ALLOC: 32 bits. */
#define NEWER_ATTR_VAR_ALLOC_FLAGS 0x1004U

#define NEWER_QUERY_DEV_OOO_DP (1U << 4) /* bit of mlx5_ib_query_device_resp.flags */
#define NEWER_MODIFY_QP_OOO_DP (1U << 0) /* bit of mlx5_ib_modify_qp.comp_mask */

#endif
