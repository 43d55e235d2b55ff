/* SPDX-License-Identifier: BSD-3-Clause */
/* The capabilities of the adapter, in all forms in which programs query them. */
#ifndef SOFTHCA_CAPS_H
#define SOFTHCA_CAPS_H

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "dev.h"

#define CAPS_COMP_VECTORS  8
#define CAPS_GID_TABLE_LEN 255 /* length of the GID table on Ethernet, where it is longest */
#define CAPS_MAX_PKEYS     128
#define CAPS_VENDOR_ID     0x02c9
#define CAPS_MAX_CQ_COUNT  0xffff
#define CAPS_CQE_COMP_MAX  64 /* maximum of completions with one title: CQ_ZIP_MAX */
/* formats of mini CQEs: hash, checksum, checksum and stride index */
#define CAPS_CQE_FORMATS      7
#define CAPS_MAX_CQ_PERIOD    0xfff /* us */
#define CAPS_MAX_MSG          (1U << 30)
#define CAPS_MAX_TSO          262144
#define CAPS_PORT_SPEED       4000 /* 400 Gbit/s in units of 100 Mbit/s: 4 lanes of NDR */
#define CAPS_LOG_MAX_WQ_TABLE 11   /* log2 of the entries of an indirection table */
/* log2 of the numbers in one object: mlx5dv_reserved_qpn_alloc(3) */
#define CAPS_LOG_RESERVED_QPNS 6
#define CAPS_LOG_MAX_DEKS      12
/* log2 of the number of event queues: those of the completion vectors, and those for events */
#define CAPS_LOG_MAX_EQ        4
#define CAPS_MAX_FLOW_COUNTERS 0x8000
#define CAPS_MAX_Q_COUNTERS    255
/* log2 of the maximum of a DCI's concurrent streams, and of its streams in error */
#define CAPS_DCI_LOG_MAX 6

/* Types of GIDs, with the kernel's numbers (enum ib_uverbs_gid_type). */
enum caps_gid_type {
	CAPS_GID_IB,
	CAPS_GID_ROCE_V1,
	CAPS_GID_ROCE_V2
};

/* The GUIDs, in host byte order. An adapter has the same GUID in every process. */
uint64_t caps_node_guid(const struct softhca_dev *dev);
uint64_t caps_system_guid(const struct softhca_dev *dev);
uint64_t caps_port_guid(const struct softhca_dev *dev, uint32_t port);

void caps_query_device(const struct softhca_dev *dev, struct ib_uverbs_query_device_resp *resp);
void caps_query_device_ex(const struct softhca_dev *dev,
	struct ib_uverbs_ex_query_device_resp *resp, struct mlx5_ib_query_device_resp *mlx5);
/* Returns 0, or -EINVAL if the port does not exist. */
int caps_query_port(const struct softhca_dev *dev, uint32_t port,
	struct ib_uverbs_query_port_resp_ex *resp);
void caps_ucontext(const struct softhca_dev *dev, struct mlx5_ib_alloc_ucontext_resp *resp);
uint32_t caps_pkey_table_len(const struct softhca_dev *dev);

static inline uint32_t
caps_gid_table_len(const struct softhca_dev *dev)
{
	return dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET ? CAPS_GID_TABLE_LEN : 8;
}

/*
 * Returns the revision of the silicon. Public posts show 1 for BlueField-3 and 0 for all other
 * cards.
 */
static inline uint32_t
caps_hw_ver(const struct softhca_dev *dev)
{
	return dev->cfg->part_id == 0xa2dc ? 1 : 0;
}

/* Returns 0, -EINVAL if the port or the index does not exist, or -ENODATA if the entry is empty. */
int caps_gid(const struct softhca_dev *dev, uint32_t port, uint32_t index,
	struct ib_uverbs_gid_entry *entry);

/*
 * Writes one page of the answer to QUERY_HCA_CAP, big endian. A page that is not emulated has only
 * zeros.
 */
#define CAPS_HCA_PAGE_LEN 0x100
void caps_hca_page(const struct softhca_dev *dev, uint32_t type, uint8_t page[CAPS_HCA_PAGE_LEN]);

#endif
