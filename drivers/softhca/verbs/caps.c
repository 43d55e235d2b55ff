/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The capabilities of the adapter: features that are emulated, and limits of the settings.
 *
 * Sources: ibv_query_device(3), ibv_query_port(3), uapi ib_user_verbs.h and mlx5-abi.h. The layout
 * of capability pages is that of NVIDIA's "Ethernet Adapters Programming Manual", QUERY_HCA_CAP, as
 * libmlx5 44 reads it.
 */
#include "caps.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "bits.h"
#include "dm.h"
#include "dm_op.h"
#include "fault.h"
#include "hca.h"
#include "newer_uapi.h"

enum {
	PORT_STATE_DOWN = 1,
	PORT_STATE_ACTIVE = 4,
	PORT_PHYS_DISABLED = 3,
	PORT_PHYS_LINK_UP = 5,
	MTU_4096 = 5,
	WIDTH_4X = 2,
	SPEED_NDR = 128
};
enum {
	PORT_CAP_CM = 1 << 16,
	PORT_CAP_IP_BASED_GIDS = 1 << 26,
	PORT_CAP_OF_INFINIBAND = (int)0xa751ec48, /* value of a BlueField-3, from a public report */
	PORT_FLAG_GRH_REQUIRED = 1
};
enum {
	ATOMIC_HCA = 1
};
enum {
	CORE_CLOCK_KHZ = 1000000
};
/*
 * Bits of ibv_query_device_ex(3): the operations of each transport that may use memory on demand.
 */
enum {
	ODP_SUPPORT = 1 << 0,
	ODP_SUPPORT_IMPLICIT = 1 << 1,
	ODP_SEND = 1 << 0,
	ODP_RECV = 1 << 1,
	ODP_WRITE = 1 << 2,
	ODP_READ = 1 << 3,
	ODP_ATOMIC = 1 << 4,
	ODP_SRQ_RECV = 1 << 5,
	ODP_UD = ODP_SEND | ODP_RECV | ODP_SRQ_RECV,
	ODP_UC = ODP_SEND | ODP_RECV | ODP_WRITE,
	/* XRC and DC receive only from SRQs. */
	ODP_XRC = ODP_SEND | ODP_WRITE | ODP_READ | ODP_ATOMIC | ODP_SRQ_RECV,
	ODP_RC = ODP_XRC | ODP_RECV
};

static uint32_t
log2_up(uint64_t n)
{
	uint32_t log = 0;

	while ((UINT64_C(1) << log) < n)
		log++;
	return log;
}

/*
 * Returns the EUI-64 of MAC 02:53:48:00:<device>:<port> (RFC 4291, appendix A). With port 0 this is
 * the GUID of the node.
 */
uint64_t
caps_port_guid(const struct softhca_dev *dev, uint32_t port)
{
	return UINT64_C(0x005348fffe000000) | (uint64_t)dev->index << 8 | port;
}

uint64_t
caps_node_guid(const struct softhca_dev *dev)
{
	return caps_port_guid(dev, 0);
}

/* The functions of a card have the same system image GUID: that of the card's first function. */
uint64_t
caps_system_guid(const struct softhca_dev *dev)
{
	return UINT64_C(0x005348fffe000000) | (uint64_t)softhca_first_function(dev) << 8;
}

void
caps_query_device(const struct softhca_dev *dev, struct ib_uverbs_query_device_resp *resp)
{
	const struct softhca_config *cfg = dev->cfg;

	*resp = (struct ib_uverbs_query_device_resp){
		.fw_ver = (uint64_t)cfg->fw_major << 32 | cfg->fw_minor << 16 | cfg->fw_sub,
		.node_guid = htobe64(caps_node_guid(dev)),
		.sys_image_guid = htobe64(caps_system_guid(dev)),
		.max_mr_size = cfg->max_mr_size,
		.page_size_cap = 0xfffffffffffff000,
		.vendor_id = CAPS_VENDOR_ID,
		.vendor_part_id = cfg->part_id,
		.hw_ver = caps_hw_ver(dev),
		.max_qp = cfg->max_qp,
		.max_qp_wr = cfg->max_qp_wr,
		.device_cap_flags =
			IB_UVERBS_DEVICE_BAD_PKEY_CNTR | IB_UVERBS_DEVICE_BAD_QKEY_CNTR |
			IB_UVERBS_DEVICE_CHANGE_PHY_PORT | IB_UVERBS_DEVICE_PORT_ACTIVE_EVENT |
			IB_UVERBS_DEVICE_SYS_IMAGE_GUID | IB_UVERBS_DEVICE_RC_RNR_NAK_GEN |
			IB_UVERBS_DEVICE_XRC | IB_UVERBS_DEVICE_MEM_MGT_EXTENSIONS |
			(cfg->link_layer == SOFTHCA_LINK_ETHERNET ? IB_UVERBS_DEVICE_RAW_IP_CSUM
								  : 0),
		.max_sge = cfg->max_sge,
		.max_sge_rd = cfg->max_sge,
		.max_cq = cfg->max_cq,
		.max_cqe = cfg->max_cqe,
		.max_mr = cfg->max_mr,
		.max_pd = cfg->max_pd,
		.max_qp_rd_atom = cfg->max_rd_atomic,
		.max_res_rd_atom = cfg->max_rd_atomic * cfg->max_qp,
		.max_qp_init_rd_atom = cfg->max_rd_atomic,
		.atomic_cap = ATOMIC_HCA,
		.max_ah = cfg->max_ah,
		.max_srq = cfg->max_srq,
		.max_srq_wr = cfg->max_qp_wr - 1,
		.max_srq_sge = cfg->max_sge +
			       1, /* a WQE of an SRQ has an additional segment in the same length */
		.max_pkeys = CAPS_MAX_PKEYS,
		.local_ca_ack_delay = 16,
		.phys_port_cnt = cfg->ports,
	};
	resp->max_mw = cfg->max_mr;
	resp->device_cap_flags |= IB_UVERBS_DEVICE_MEM_WINDOW | IB_UVERBS_DEVICE_MEM_WINDOW_TYPE_2B;
}

static void
odp_caps(struct ib_uverbs_ex_query_device_resp *resp)
{
	resp->odp_caps.general_caps = ODP_SUPPORT | ODP_SUPPORT_IMPLICIT;
	resp->odp_caps.per_transport_caps.rc_odp_caps = ODP_RC;
	resp->odp_caps.per_transport_caps.uc_odp_caps = ODP_UC;
	resp->odp_caps.per_transport_caps.ud_odp_caps = ODP_UD;
	resp->xrc_odp_caps = ODP_XRC;
}

void
caps_query_device_ex(const struct softhca_dev *dev, struct ib_uverbs_ex_query_device_resp *resp,
	struct mlx5_ib_query_device_resp *mlx5)
{
	bool ethernet = dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET;

	*resp = (struct ib_uverbs_ex_query_device_resp){
		.response_length = sizeof(*resp),
		.timestamp_mask = UINT64_MAX >> 1,
		.hca_core_clock = CORE_CLOCK_KHZ,
	};
	caps_query_device(dev, &resp->base);
	resp->cq_moderation_caps.max_cq_moderation_count = CAPS_MAX_CQ_COUNT;
	resp->cq_moderation_caps.max_cq_moderation_period = CAPS_MAX_CQ_PERIOD;
	resp->max_dm_size = dev->cfg->max_dm;
	/* Indirection tables exist, but no queue pair type uses them. */
	if (ethernet) {
		resp->max_wq_type_rq = dev->cfg->max_qp;
		resp->rss_caps.max_rwq_indirection_tables = dev->cfg->max_qp;
		resp->rss_caps.max_rwq_indirection_table_size = 1 << CAPS_LOG_MAX_WQ_TABLE;
	}
	if (softhca_odp_is_possible(dev))
		odp_caps(resp);
	resp->device_cap_flags_ex = resp->base.device_cap_flags;
	*mlx5 = (struct mlx5_ib_query_device_resp){
		.response_length = sizeof(*mlx5),
		.flags = MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_COMP |
			 MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_PAD | NEWER_QUERY_DEV_OOO_DP,
		.cqe_comp_caps = {.max_num = CAPS_CQE_COMP_MAX,
			.supported_format = CAPS_CQE_FORMATS},
		.tso_caps =
			{
				.max_tso = ethernet ? CAPS_MAX_TSO : 0,
				.supported_qpts = ethernet ? 1 << SOFTHCA_QP_RAW : 0,
			},
		.dci_streams_caps =
			{
				.max_log_num_concurent = dev->cfg->dc ? CAPS_DCI_LOG_MAX : 0,
				.max_log_num_errored = dev->cfg->dc ? CAPS_DCI_LOG_MAX : 0,
			},
	};
}

uint32_t
caps_pkey_table_len(const struct softhca_dev *dev)
{
	return dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET ? 1 : 128;
}

int
caps_query_port(const struct softhca_dev *dev, uint32_t port,
	struct ib_uverbs_query_port_resp_ex *resp)
{
	bool ethernet = dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET;

	if (port == 0 || port > dev->cfg->ports)
		return -EINVAL;
	*resp = (struct ib_uverbs_query_port_resp_ex){
		.legacy_resp =
			{
				.port_cap_flags = ethernet ? PORT_CAP_CM | PORT_CAP_IP_BASED_GIDS
							   : PORT_CAP_OF_INFINIBAND,
				.max_msg_sz = CAPS_MAX_MSG,
				.gid_tbl_len = caps_gid_table_len(dev),
				.pkey_tbl_len = caps_pkey_table_len(dev),
				.lid = ethernet ? 0 : dev->index * SOFTHCA_MAX_PORTS + port,
				.sm_lid = ethernet ? 0 : 1,
				.state = fault_port_is_down(dev, port) ? PORT_STATE_DOWN
								       : PORT_STATE_ACTIVE,
				.max_mtu = MTU_4096,
				.active_mtu = MTU_4096,
				.max_vl_num = ethernet ? 0 : 4,
				.subnet_timeout = ethernet ? 0 : 18,
				.active_width = WIDTH_4X,
				.active_speed = SPEED_NDR,
				.phys_state = fault_port_is_down(dev, port) ? PORT_PHYS_DISABLED
									    : PORT_PHYS_LINK_UP,
				.link_layer = dev->cfg->link_layer,
				.flags = ethernet ? PORT_FLAG_GRH_REQUIRED : 0,
			},
	};
	return 0;
}

/*
 * InfiniBand: only entry 0 exists. RoCE: the link-local address and an IPv4 address, each as RoCE
 * v1 and as RoCE v2, in the order in which the kernel fills the table.
 */
int
caps_gid(const struct softhca_dev *dev, uint32_t port, uint32_t index,
	struct ib_uverbs_gid_entry *entry)
{
	bool ethernet = dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET;

	if (port == 0 || port > dev->cfg->ports || index >= caps_gid_table_len(dev))
		return -EINVAL;
	if (index >= (ethernet ? 4U : 1U))
		return -ENODATA;
	*entry = (struct ib_uverbs_gid_entry){.gid_index = index, .port_num = port};
	if (ethernet)
		entry->gid_type = index % 2 == 0 ? CAPS_GID_ROCE_V1 : CAPS_GID_ROCE_V2;
	else
		entry->gid_type = CAPS_GID_IB;
	if (index < 2) {
		entry->gid[0] = htobe64(UINT64_C(0xfe80000000000000));
		entry->gid[1] = htobe64(caps_port_guid(dev, port));
	} else {
		entry->gid[1] = htobe64(
			UINT64_C(0xffff00000000) | dev->cfg->port_ipv4[dev->index][port - 1]);
	}
	return 0;
}

void
caps_ucontext(const struct softhca_dev *dev, struct mlx5_ib_alloc_ucontext_resp *resp)
{
	/*
	 * There are no static UAR pages (tot_bfregs is 0): libmlx5 allocates each page that it
	 * needs.
	 */
	*resp = (struct mlx5_ib_alloc_ucontext_resp){
		.qp_tab_size = 1U << log2_up(dev->cfg->max_qp),
		.bf_reg_size = dev->cfg->bf_reg_size,
		.cache_line_size = 64,
		.max_sq_desc_sz = 1024,
		.max_rq_desc_sz = 512,
		.max_send_wqebb = dev->cfg->max_qp_wr,
		.max_recv_wr = dev->cfg->max_qp_wr,
		.max_srq_recv_wr = dev->cfg->max_qp_wr,
		.num_ports = dev->cfg->ports,
		.comp_mask =
			(dev->cfg->sig_pipelining != 0 ? MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_SQD2RTS
						       : 0) |
			MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET |
			MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_MKEY_UPDATE_TAG |
			MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_DUMP_FILL_MKEY,
		.response_length = sizeof(*resp),
		.cqe_version = 1,
		.cmds_supp_uhw =
			MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE | MLX5_USER_CMDS_SUPP_UHW_CREATE_AH,
		.eth_min_inline = dev->cfg->eth_inline ? MLX5_USER_INLINE_MODE_L2
						       : MLX5_USER_INLINE_MODE_NONE,
		.clock_info_versions = 1 << MLX5_IB_CLOCK_INFO_V1,
		.log_uar_size = 12,
		.num_uars_per_page = 1,
		.dump_fill_mkey = SOFTHCA_DUMP_FILL_KEY,
	};
}

struct cap_field {
	uint16_t bit;
	uint8_t width;
	uint32_t value;
};

static void
fill_page(uint8_t *page, const struct cap_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bits_set(page, fields[i].bit, fields[i].width, fields[i].value);
}

static void
general_page(const struct softhca_dev *dev, uint8_t *page)
{
	const struct softhca_config *cfg = dev->cfg;
	uint64_t max_memcpy = softhca_max_memcpy(dev);
	bool ethernet = cfg->link_layer == SOFTHCA_LINK_ETHERNET;
	bool mmo = max_memcpy != 0;
	/* The field has 5 bits. Its value 0 means 2 GiB. */
	uint32_t log_mmo = max_memcpy >> 31 != 0 || !mmo ? 0 : log2_up(max_memcpy);
	const struct cap_field fields[] = {
		{0x6b, 5, log_mmo},
		{0x88, 8, log2_up(cfg->max_qp_wr)},
		{0x9b, 5, log2_up(cfg->max_qp)},
		{0xc8, 8, log2_up((uint64_t)cfg->max_cqe + 1)},
		{0xdb, 5, log2_up(cfg->max_cq)},
		{0xea, 6, log2_up(cfg->max_mr)},
		/*
		 * Capabilities of signatures: sig_crc64_xp10, sig_crc32c, sig_block_4048, sho,
		 * sigerr_domain_and_sig_type.
		 */
		{0x147, 1, cfg->signatures},
		{0x148, 1, cfg->signatures},
		{0x1f0, 1, cfg->signatures},
		{0x217, 1, cfg->signatures},
		{0x480, 1, cfg->signatures},
		{0xfc, 4, CAPS_LOG_MAX_EQ},
		{0x520, 32, 1}, /* num_of_uars_per_page, for uar_4k */
		{0x108, 1, 1},  /* fixed_buffer_size: keys whose parts have equal size */
		{0x12a, 6, log2_up(cfg->max_rd_atomic)}, /* log_max_ra_req_dc */
		{0x13a, 6, log2_up(cfg->max_rd_atomic)}, /* log_max_ra_res_dc */
		{0x323, 5, log2_up(cfg->max_pd)},        /* log_max_transport_domain */
		{0x37b, 5, log2_up(cfg->max_qp)},        /* log_max_tis */
		{0x383, 5, log2_up(cfg->max_srq)},       /* log_max_rmp */
		{0x5fb, 5, log2_up(cfg->max_srq)},       /* log_max_xrq */
		{0x122, 1, 1}, /* qpc_extension: MMO, and streams of a DCI */
		{0x20, 1, 1},  /* hca_cap_2 */
		{0x30, 16, softhca_vhca_id(dev)},
		{0x151, 1, ethernet}, /* rts2rts_qp_udp_sport */
		/*
		 * Capabilities of a bond: rts2rts_ and init2_lag_tx_port_affinity, lag_dct,
		 * lag_tx_port_affinity, lag_master, num_lag_ports.
		 */
		{0x152, 1, cfg->lag},
		{0x1f8, 1, cfg->lag},
		{0x276, 2, cfg->lag},
		{0x278, 1, cfg->lag},
		{0x27b, 1, cfg->lag},
		{0x27c, 4, cfg->lag ? SOFTHCA_LAG_PORTS : 0},
		/* general_obj_types: reserved QPNs, mappings of address vectors. */
		{0x400, 32, 1 << (0x2c - 32) | 1 << (0x3a - 32)},
		{0x80, 8, log2_up(cfg->max_qp_wr)},
		{0xab, 5, log2_up(cfg->max_srq)},
		{0x21a, 1, cfg->dc}, /* dct */
		{0x23c, 1, 1},
		{0x23d, 1, 1},
		{0x23e, 1, 1}, /* xrc, ud, uc */
		{0x14a, 6, log2_up(cfg->max_rd_atomic)},
		{0x153, 1, mmo}, /* dma_mmo_sq */
		{0x15a, 6, log2_up(cfg->max_rd_atomic)},
		{0x1b6, 2, ethernet},         /* port_type */
		{0x1a8, 1, cfg->max_dm != 0}, /* device_memory */
		{0x1b8, 8, cfg->ports},
		{0x1c3, 5, log2_up(CAPS_MAX_MSG)},
		{0x1fc, 4, 1},        /* cqe_version */
		{0x21d, 1, ethernet}, /* roce */
		{0x21e, 1, 1},        /* atomic */
		{0x220, 1, 1},        /* cq_oi: CQs may ignore overrun */
		{0x221, 1, 1},        /* cq_resize */
		{0x222, 1, 1},        /* cq_moderation */
		{0x23f, 1, 1},        /* rc */
		{0x240, 1, 1},        /* uar_4k */
		{0x260, 1, cfg->bf_reg_size != 0},
		{0x26b, 5, cfg->bf_reg_size != 0 ? log2_up(cfg->bf_reg_size) : 0},
		{0x290, 16, 1024}, /* max_wqe_sz_sq */
		{0x2b0, 16, 512},  /* max_wqe_sz_rq */
		{0x330, 5, 31},    /* dp_ordering_ooo_all: UD, UC, XRC, DC, RC */
		{0x32b, 5, log2_up(cfg->max_pd)},
		{0x350, 16, CAPS_MAX_FLOW_COUNTERS},
		{0x4c0, 32, CORE_CLOCK_KHZ / 1000},
		{0x4e0, 32, CORE_CLOCK_KHZ},
		{0x748, 1, mmo && cfg->mmo_qp != 0}, /* dma_mmo_qp */
		/*
		 * mini_cqe_resp_stride_index; cqe_compression for entries of 128 and 64 bytes; the
		 * maximum of completions with one title.
		 */
		{0x5bc, 1, 1},
		{0x5be, 2, 3},
		{0x5d0, 16, CAPS_CQE_COMP_MAX},
	};

	fill_page(page, fields, sizeof(fields) / sizeof(fields[0]));
}

/*
 * Sets the bits for encryption: AES-XTS for one data unit and for several data units, and DEKs and
 * logins as general objects.
 */
static void
crypto_bits(const struct softhca_config *cfg, uint8_t *page)
{
	const struct cap_field fields[] = {{0x469, 1, 1}, {0x3f1, 1, 1},
		{0x3f2, 1, cfg->crypto != SOFTHCA_CRYPTO_PLAINTEXT_SINGLE},
		{0x420, 32, 1u << 0x0c | (cfg->crypto == SOFTHCA_CRYPTO_WRAPPED ? 1u << 0x1f : 0)}};

	if (cfg->crypto != SOFTHCA_CRYPTO_OFF)
		fill_page(page, fields, sizeof(fields) / sizeof(fields[0]));
}

/*
 * Writes the page for encryption. Wrapped DEKs use AES key wrap. There is one KEK and one
 * credential. No command changes the KEK or the credential.
 */
static void
crypto_page(const struct softhca_config *cfg, uint8_t *page)
{
	const bool wrapped = cfg->crypto == SOFTHCA_CRYPTO_WRAPPED;
	const struct cap_field fields[] = {{0x0, 1, wrapped}, {0x18, 8, wrapped ? 4 : 0},
		{0x2b, 5, CAPS_LOG_MAX_DEKS}, {0x50, 8, wrapped}, {0x58, 8, wrapped}};

	fill_page(page, fields, sizeof(fields) / sizeof(fields[0]));
}

/*
 * Writes the page for RoCE: packets with GRH, IPv4 and IPv6; RoCE v1 and v2; the UDP port of RoCE
 * v2, and the highest and lowest source port of its packets; the number of GIDs of a port. A
 * ConnectX-6 Dx has the same values (saeedtx/mlx5ctl, README.md, devcap).
 */
static void
roce_page(const struct softhca_dev *dev, uint8_t *page)
{
	const struct cap_field fields[] = {{0x8c, 4, 7}, {0x98, 8, 5}, {0xb0, 16, 4791},
		{0xc0, 16, 65535}, {0xd0, 16, 49152}, {0xf0, 16, caps_gid_table_len(dev)}};

	fill_page(page, fields, sizeof(fields) / sizeof(fields[0]));
}

/*
 * Writes the page for atomics: compare-and-swap and fetch-and-add of 8 bytes, and no PCI atomics. A
 * requester gets old values in the host's byte order (mode 1). Linux sets this mode if the card
 * supports it (handle_hca_cap_atomic() of mlx5_core).
 */
static void
atomic_page(uint8_t *page)
{
	static const struct cap_field fields[] = {{0x40, 2, 1}, {0x46, 1, 1}, {0x90, 16, 3},
		{0xb0, 16, 8}, {0xd0, 16, 8}};

	fill_page(page, fields, sizeof(fields) / sizeof(fields[0]));
}

/*
 * Writes the page for device memory: units of 64 bytes, and alignments up to a page. rdma-core's
 * tests/test_mlx5_dm_ops.py has the offsets of the operations' sizes.
 */
static void
memory_page(const struct softhca_config *cfg, uint8_t *page)
{
	const uint32_t ops = dm_ops();
	const struct cap_field fields[] = {{0x0, 1, 1},
		{0x20, 8, (ops >> DM_INCREMENT & 1) * DM_INCREMENT_SIZES}, {0x2b, 5, DM_LOG_UNIT},
		{0x30, 8, (ops >> DM_TEST_AND_SET & 1) * DM_TEST_AND_SET_SIZES},
		{0x38, 8, DM_LOG_MAX_ALIGN - DM_LOG_UNIT}, {0x80, 32, cfg->max_dm},
		{0xa0, 32, cfg->max_dm}, {0x200, 32, ops}};

	fill_page(page, fields, sizeof(fields) / sizeof(fields[0]));
}

/*
 * Writes the page for on-demand paging. A transport has the bits send, receive, write, read,
 * atomic, srq_receive, in this order. The page has them twice: for page faults that stop a QP, and
 * for page faults of memory alone, which QPs of firmware commands also support (rdma-core,
 * tests/mlx5_prm_structs.py, OdpCap). Here all QPs support on-demand paging.
 */
static void
odp_page(uint8_t *page)
{
	enum {
		TRANSPORT_SCHEME = 0,
		MEMORY_SCHEME = 0x200,
		MEM_PAGE_FAULT = 0x600
	};
	static const struct {
		uint16_t bit;
		uint8_t caps;
	} transports[] = {{0x80, ODP_RC}, {0xa0, ODP_UC}, {0xc0, ODP_UD}, {0xe0, ODP_XRC},
		{0x100, ODP_XRC}};

	for (size_t t = 0; t < sizeof(transports) / sizeof(transports[0]); t++)
		for (uint16_t b = 0; b < 6; b++) {
			uint32_t can = transports[t].caps >> b & 1;

			bits_set(page, TRANSPORT_SCHEME + transports[t].bit + b, 1, can);
			bits_set(page, MEMORY_SCHEME + transports[t].bit + b, 1, can);
		}
	bits_set(page, MEM_PAGE_FAULT, 1, 1);
}

/*
 * Writes the second general page: the number of reserved QPNs, send_dbr_mode_no_dbr_ext, and the
 * maximum of queues in this mode (mstflint, hca_caps_2). And what other functions of the card may
 * use: cross_vhca_object_to_object_supported (a local key refers to a remote key), and
 * allowed_object_for_other_vhca_access, of 64 bits (keys); UCX, ib_mlx5_ifc.h.
 */
static void
general_2_page(const struct softhca_config *cfg, uint8_t *page)
{
	const bool cross = cfg->cross_vhca != SOFTHCA_CROSS_VHCA_OFF;
	const struct cap_field fields[] = {{0x93, 5, CAPS_LOG_RESERVED_QPNS},
		{0xe0, 32, cross ? 0x100 : 0}, {0x120, 32, cross ? 0x4 : 0}, {0x2e1, 1, 1},
		{0x2e3, 5, log2_up(cfg->max_qp)}};

	fill_page(page, fields, sizeof(fields) / sizeof(fields[0]));
}

void
caps_hca_page(const struct softhca_dev *dev, uint32_t type, uint8_t page[CAPS_HCA_PAGE_LEN])
{
	enum {
		GENERAL = 0,
		ODP = 2,
		ATOMIC = 3,
		ROCE = 4,
		DEVICE_MEMORY = 0xf,
		CRYPTO = 0x1a,
		GENERAL_2 = 0x20
	};

	memset(page, 0, CAPS_HCA_PAGE_LEN);
	if (type == GENERAL) {
		general_page(dev, page);
		crypto_bits(dev->cfg, page);
	} else if (type == ODP && softhca_odp_is_possible(dev))
		odp_page(page);
	else if (type == ATOMIC)
		atomic_page(page);
	else if (type == ROCE && dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET)
		roce_page(dev, page);
	else if (type == DEVICE_MEMORY && dev->cfg->max_dm != 0)
		memory_page(dev->cfg, page);
	else if (type == CRYPTO && dev->cfg->crypto != SOFTHCA_CRYPTO_OFF)
		crypto_page(dev->cfg, page);
	else if (type == GENERAL_2)
		general_2_page(dev->cfg, page);
}
