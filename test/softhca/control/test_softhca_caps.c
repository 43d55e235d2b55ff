/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All properties that the adapter reports. The test builds each expected answer field by field, and
 * compares the whole answer: no other bit may be set.
 *
 * Expected values: the limits of doc/softhca-reference.md. The offsets of these values are from the
 * structures of the kernel's ABI, and for QUERY_HCA_CAP from NVIDIA's "Ethernet Adapters
 * Programming Manual".
 */
#include <net/if.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "devx_bits.h"
#include "raw_ioctl.h"
#include "softhca_pair.h"

#define PAGE_LEN 4096
#define HDR      16

static bool
is_set(const char *name, const char *value)
{
	const char *is = getenv(name);

	return is != NULL && strcmp(is, value) == 0;
}

static bool
is_ethernet(void)
{
	return !is_set("SOFTHCA_LINK_LAYER", "infiniband");
}

static bool
has_odp(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr;

	CHECK_EQ(ibv_query_device_ex(ctx, NULL, &attr), 0);
	return attr.odp_caps.general_caps != 0;
}

/* ---- QUERY_HCA_CAP */

struct field {
	unsigned int bit, width;
	uint32_t value;
};

static void
expect_page(struct ibv_context *ctx, uint32_t type, const struct field *fields, size_t n)
{
	uint8_t in[HDR] = {0}, out[HDR + PAGE_LEN], want[HDR + PAGE_LEN] = {0};

	devx_put(in, 0, 16, 0x100);
	devx_put(in, 0x30, 16, type << 1 | 1); /* current values */
	CHECK_EQ(mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, sizeof(out)), 0);
	for (size_t i = 0; i < n; i++)
		devx_put(want + HDR, fields[i].bit, fields[i].width, fields[i].value);
	for (unsigned int i = 0; i < sizeof(want); i++)
		if (out[i] != want[i])
			fprintf(stderr, "page 0x%x, bit 0x%x: 0x%x, not 0x%x\n", type,
				(i - HDR) * 8, out[i], want[i]);
	CHECK(memcmp(out, want, sizeof(out)) == 0);
}

#define PAGE(ctx, type, fields) expect_page(ctx, type, fields, sizeof(fields) / sizeof((fields)[0]))

static void
case_general_page(void)
{
	const bool ethernet = is_ethernet(), mmo = !is_set("SOFTHCA_MAX_MEMCPY", "0");
	const bool bf = !is_set("SOFTHCA_BF_REG_SIZE", "0"), lag = is_set("SOFTHCA_LAG", "1");
	const bool wrapped = is_set("SOFTHCA_CRYPTO", "wrapped");
	const bool crypto = wrapped || is_set("SOFTHCA_CRYPTO", "plaintext") ||
			    is_set("SOFTHCA_CRYPTO", "plaintext_single");
	const bool sig = !is_set("SOFTHCA_SIGNATURES", "0"), dc = !is_set("SOFTHCA_DC", "0");
	const bool dm = !is_set("SOFTHCA_MAX_DM", "0");
	const struct field fields[] = {
		{0x20, 1, 1},     /* hca_cap_2 */
		{0x30, 16, 0x10}, /* vhca_id of the first function of a card */
		{0x6b, 5,
			mmo && !is_set("SOFTHCA_MAX_MEMCPY", "2147483648")
				? is_set("SOFTHCA_MAX_MEMCPY", "1048576") ? 20 : 21
				: 0},
		{0x80, 8, 15}, {0x88, 8, 15}, /* log_max_srq_sz, log_max_qp_sz */
		{0x9b, 5, 14}, {0xab, 5, 14}, /* log_max_qp, log_max_srq */
		{0xc8, 8, 17}, {0xdb, 5, 14}, /* log_max_cq_sz, log_max_cq */
		{0xea, 6, 17},                /* log_max_mkey */
		/* log_max_eq: the value that Linux's mlx5_core needs */
		{0xfc, 4, 4}, {0x520, 32, 1},           /* num_of_uars_per_page */
		{0x108, 1, 1}, {0x122, 1, 1},           /* fixed_buffer_size, qpc_extension */
		{0x12a, 6, 4}, {0x13a, 6, 4},           /* log_max_ra_req_dc, log_max_ra_res_dc */
		{0x323, 5, 14},                         /* log_max_transport_domain */
		{0x37b, 5, 14},                         /* log_max_tis */
		{0x383, 5, 14}, {0x5fb, 5, 14},         /* log_max_rmp, log_max_xrq */
		{0x147, 1, sig}, {0x148, 1, sig},       /* sig_crc64_xp10, sig_crc32c */
		{0x14a, 6, 4}, {0x15a, 6, 4},           /* log_max_ra_req_qp, log_max_ra_res_qp */
		{0x151, 1, ethernet}, {0x153, 1, mmo},  /* rts2rts_qp_udp_sport, dma_mmo_sq */
		{0x152, 1, lag}, {0x1f8, 1, lag},       /* rts2rts_, init2_lag_tx_port_affinity */
		{0x1a8, 1, dm},                         /* device_memory */
		{0x1b6, 2, ethernet}, {0x1b8, 8, 1},    /* port_type, num_ports */
		{0x1c3, 5, 30},                         /* log_max_msg */
		{0x1f0, 1, sig},                        /* sigerr_domain_and_sig_type */
		{0x1fc, 4, 1},                          /* cqe_version */
		{0x217, 1, sig}, {0x21a, 1, dc},        /* sho, dct */
		{0x21d, 1, ethernet}, {0x21e, 1, 1},    /* roce, atomic */
		{0x220, 3, 7},                          /* cq_oi, cq_resize, cq_moderation */
		{0x23c, 4, 15},                         /* xrc, ud, uc, rc */
		{0x240, 1, 1},                          /* uar_4k */
		{0x260, 1, bf}, {0x26b, 5, bf ? 9 : 0}, /* bf, log_bf_reg_size */
		{0x276, 2, lag}, {0x278, 1, lag},       /* lag_dct, lag_tx_port_affinity */
		{0x27b, 1, lag}, {0x27c, 4, lag * 2u},  /* lag_master, num_lag_ports */
		{0x290, 16, 1024}, {0x2b0, 16, 512},    /* max_wqe_sz_sq, max_wqe_sz_rq */
		{0x330, 5, 31},                         /* dp_ordering_ooo_all_* */
		{0x32b, 5, 14},                         /* log_max_pd */
		{0x350, 16, 0x8000},                    /* max_flow_counter */
		{0x3f1, 1, crypto}, /* AES-XTS of one data unit; next row: of several data units */
		{0x3f2, 1, crypto && !is_set("SOFTHCA_CRYPTO", "plaintext_single")},
		{0x400, 32, 1 << 12 | 1 << 26}, /* general object types 0x2c and 0x3a */
		/* General object types 0x0c (DEKs) and 0x1f (logins). */
		{0x420, 32, (crypto ? 1u << 12 : 0) | (wrapped ? 1u << 31 : 0)},
		{0x469, 1, crypto},                      /* crypto */
		{0x480, 1, sig},                         /* sig_block_4048 */
		{0x4c0, 32, 1000}, {0x4e0, 32, 1000000}, /* MHz, kHz */
		/* CQE compression, and its largest number of CQEs */
		{0x5bc, 4, 0xb}, {0x5d0, 16, 64},
		{0x748, 1, mmo && !is_set("SOFTHCA_MMO_QP", "0")}, /* dma_mmo_qp */
	};
	struct ibv_context *ctx = pair_open(0);

	PAGE(ctx, 0, fields);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
case_other_pages(void)
{
	/* Six bits for each transport: send, receive, write, read, atomic, srq_receive. */
	static const struct field odp[] = {{0x80, 6, 0x3f}, {0xa0, 6, 0x38}, {0xc0, 6, 0x31},
		{0xe0, 6, 0x2f}, {0x100, 6, 0x2f},
		/*
		 * The same bits in memory_page_fault_scheme_cap of mlx5_ifc.h, and the bit
		 * mem_page_fault.
		 */
		{0x280, 6, 0x3f}, {0x2a0, 6, 0x38}, {0x2c0, 6, 0x31}, {0x2e0, 6, 0x2f},
		{0x300, 6, 0x2f}, {0x600, 1, 1}};
	/*
	 * The first field: old values are returned in the host's byte order. The second field: the
	 * adapter supports this order.
	 */
	static const struct field atomic[] = {{0x40, 2, 1}, {0x46, 1, 1}, {0x90, 16, 3},
		{0xb0, 16, 8}, {0xd0, 16, 8}};
	/*
	 * The device memory has 64 pages. The sizes of allocations are in units of 64 bytes, and
	 * their alignment is at most one page.
	 */
	static const struct field memory[] = {{0, 1, 1}, {0x2b, 5, 6}, {0x38, 8, 6},
		{0x80, 32, 262144}, {0xa0, 32, 262144},
#ifdef __x86_64__
		/*
		 * Atomic increment of 1, 2, 4 and 8 bytes, test-and-set of 1 byte, and the bits of
		 * both operations.
		 */
		{0x20, 8, 15}, {0x30, 8, 1}, {0x200, 32, 3}
#endif
	};
	/* DEKs. The other fields are set only with wrapped DEKs: one KEK and one credential. */
	static const struct field deks[] = {{0x2b, 5, 12}, {0x0, 1, 1}, {0x18, 8, 4}, {0x50, 8, 1},
		{0x58, 8, 1}};
	static const struct field general_2[] = {{0x93, 5, 6}, {0xe0, 32, 0x100}, {0x120, 32, 4},
		{0x2e1, 1, 1}, {0x2e3, 5, 14}};
	/*
	 * The values of a ConnectX-6 Dx (saeedtx/mlx5ctl, README.md, devcap): l3_type,
	 * roce_version, the destination UDP port of RoCE v2 (IANA: 4791) and the source UDP ports,
	 * roce_address_table_size.
	 */
	static const struct field roce[] = {{0x8c, 4, 7}, {0x98, 8, 5}, {0xb0, 16, 4791},
		{0xc0, 16, 65535}, {0xd0, 16, 49152}, {0xf0, 16, 255}};
	struct ibv_context *ctx = pair_open(0);
	bool wrapped = is_set("SOFTHCA_CRYPTO", "wrapped");
	bool crypto = is_set("SOFTHCA_CRYPTO", "plaintext") ||
		      is_set("SOFTHCA_CRYPTO", "plaintext_single");

	expect_page(ctx, 2, odp, has_odp(ctx) ? sizeof(odp) / sizeof(odp[0]) : 0);
	PAGE(ctx, 3, atomic);
	expect_page(ctx, 4, roce, is_ethernet() ? sizeof(roce) / sizeof(roce[0]) : 0);
	expect_page(ctx, 0xf, memory,
		is_set("SOFTHCA_MAX_DM", "0") ? 0 : sizeof(memory) / sizeof(memory[0]));
	expect_page(ctx, 0x1a, deks, wrapped ? 5 : crypto ? 1 : 0);
	PAGE(ctx, 0x20, general_2);
	for (uint32_t type = 0; type < 0x40; type++)
		if (type != 0 && type != 2 && type != 3 && type != 4 && type != 0xf &&
			type != 0x1a && type != 0x20)
			expect_page(ctx, type, NULL, 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* ---- verbs */

static void
write_command(struct ibv_context *ctx, uint64_t command, const void *in, uint16_t in_len, void *out,
	uint16_t out_len, void *uhw, uint16_t uhw_len)
{
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);

	raw_attr(&c, UVERBS_ATTR_CORE_IN, in_len, 0)->data = (uintptr_t)in;
	if (in_len <= 8)
		memcpy(&c.attrs[0].data, in, in_len);
	raw_out(&c, UVERBS_ATTR_CORE_OUT, out, out_len);
	raw_u64(&c, UVERBS_ATTR_WRITE_CMD, command);
	if (uhw != NULL)
		raw_out(&c, UVERBS_ATTR_UHW_OUT, uhw, uhw_len);
	CHECK_EQ(raw_run(ctx->cmd_fd, &c), 0);
}

static struct ib_uverbs_query_device_resp
device(void)
{
	return (struct ib_uverbs_query_device_resp){
		.fw_ver = UINT64_C(32) << 32 | 47 << 16 | 1088,
		.node_guid = htobe64(UINT64_C(0x005348fffe000000)),
		.sys_image_guid = htobe64(UINT64_C(0x005348fffe000000)),
		.max_mr_size = UINT64_MAX,
		.page_size_cap = ~UINT64_C(4095),
		.vendor_id = 0x02c9,
		.vendor_part_id = 41692,
		.hw_ver = 1,
		.max_qp = 16384,
		.max_qp_wr = 32768,
		/*
		 * Adapters in public reports have 0x25321c36 on Ethernet, and 0x21361c36 on
		 * InfiniBand. softhca lacks: alternate paths, flow steering, checksums of UD
		 * packets.
		 */
		.device_cap_flags =
			is_ethernet() ? 0x25321c36 & ~(IBV_DEVICE_AUTO_PATH_MIG |
							     IBV_DEVICE_MANAGED_FLOW_STEERING)
				      : 0x21361c36 & ~(IBV_DEVICE_AUTO_PATH_MIG |
							     IBV_DEVICE_MANAGED_FLOW_STEERING |
							     IBV_DEVICE_UD_IP_CSUM),
		.max_sge = 30,
		.max_sge_rd = 30,
		.max_cq = 16384,
		.max_cqe = 131071,
		.max_mr = 131072,
		.max_pd = 16384,
		.max_qp_rd_atom = 16,
		.max_res_rd_atom = 262144,
		.max_qp_init_rd_atom = 16,
		.atomic_cap = IBV_ATOMIC_HCA,
		.max_mw = 131072,
		.max_ah = 65536,
		.max_srq = 16384,
		.max_srq_wr = 32767,
		.max_srq_sge = 31,
		.max_pkeys = 128,
		.local_ca_ack_delay = 16,
		.phys_port_cnt = 1,
	};
}

static void
case_device(void)
{
	struct ib_uverbs_query_device_resp want = device(), got;
	struct ib_uverbs_query_device in = {0};
	struct ibv_context *ctx = pair_open(0);

	memset(&got, 0xa5, sizeof(got));
	write_command(ctx, IB_USER_VERBS_CMD_QUERY_DEVICE, &in, sizeof(in), &got, sizeof(got), NULL,
		0);
	CHECK(check_bytes(&got, &want, sizeof(got), "QUERY_DEVICE"));
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static struct ib_uverbs_ex_query_device_resp
device_ex(bool odp)
{
	struct ib_uverbs_ex_query_device_resp want = {.base = device(),
		.response_length = sizeof(want),
		.timestamp_mask = 0x7fffffffffffffff,
		.hca_core_clock = 1000000, /* kHz */
		.device_cap_flags_ex = device().device_cap_flags,
		.max_dm_size = is_set("SOFTHCA_MAX_DM", "0") ? 0 : 262144};

	want.cq_moderation_caps.max_cq_moderation_count = 65535;
	want.cq_moderation_caps.max_cq_moderation_period = 4095;
	if (is_ethernet()) {
		want.max_wq_type_rq = 16384;
		want.rss_caps.max_rwq_indirection_tables = 16384;
		want.rss_caps.max_rwq_indirection_table_size = 2048;
	}
	if (odp) {
		want.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
		want.odp_caps.per_transport_caps.rc_odp_caps = 0x3f;
		want.odp_caps.per_transport_caps.uc_odp_caps =
			IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE;
		want.odp_caps.per_transport_caps.ud_odp_caps =
			IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
		want.xrc_odp_caps = 0x3f & ~(uint32_t)IBV_ODP_SUPPORT_RECV;
	}
	return want;
}

/*
 * An older program asks for a shorter answer. The call must write only the first part of the
 * answer, and the length of this part.
 */
static void
case_device_ex(void)
{
	const uint8_t streams = is_set("SOFTHCA_DC", "0") ? 0 : 6;
	struct ibv_context *ctx = pair_open(0);
	struct ib_uverbs_ex_query_device_resp want = device_ex(has_odp(ctx)), got;
	struct mlx5_ib_query_device_resp want5 = {.response_length = sizeof(want5),
		.flags = MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_COMP |
			 MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_PAD | 1 << 4 /* OOO_DP */,
		.cqe_comp_caps = {64, MLX5DV_CQE_RES_FORMAT_HASH | MLX5DV_CQE_RES_FORMAT_CSUM |
					      MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX},
		.tso_caps = {is_ethernet() ? 262144 : 0,
			is_ethernet() ? 1 << IBV_QPT_RAW_PACKET : 0},
		.dci_streams_caps = {.max_log_num_concurent = streams,
			.max_log_num_errored = streams}};
	struct ib_uverbs_ex_query_device in = {0};
	struct mlx5_ib_query_device_resp got5;
	const uint16_t shorter = offsetof(struct ib_uverbs_ex_query_device_resp, rss_caps);
	const uint16_t shorter5 = offsetof(struct mlx5_ib_query_device_resp, flags);

	memset(&got, 0xa5, sizeof(got));
	memset(&got5, 0xa5, sizeof(got5));
	write_command(ctx, IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_QUERY_DEVICE, &in,
		sizeof(in), &got, sizeof(got), &got5, sizeof(got5));
	CHECK(check_bytes(&got, &want, sizeof(got), "EX_QUERY_DEVICE"));
	CHECK(check_bytes(&got5, &want5, sizeof(got5), "its second part"));
	memset(&got, 0xa5, sizeof(got));
	memset(&got5, 0xa5, sizeof(got5));
	write_command(ctx, IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_QUERY_DEVICE, &in,
		sizeof(in), &got, shorter, &got5, shorter5);
	want.response_length = shorter;
	want5.response_length = shorter5;
	CHECK(check_bytes(&got, &want, shorter, "a shorter EX_QUERY_DEVICE"));
	CHECK(check_bytes(&got5, &want5, shorter5, "its second part"));
	CHECK_EQ(((uint8_t *)&got)[shorter], 0xa5);
	CHECK_EQ(((uint8_t *)&got5)[shorter5], 0xa5);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
case_port(void)
{
	const bool ethernet = is_ethernet();
	struct ib_uverbs_query_port_resp_ex want = {.legacy_resp = {.port_cap_flags = 1 << 16,
							    .max_msg_sz = 1 << 30,
							    .gid_tbl_len = is_ethernet() ? 255 : 8,
							    .pkey_tbl_len = ethernet ? 1 : 128,
							    .state = IBV_PORT_ACTIVE,
							    .max_mtu = IBV_MTU_4096,
							    .active_mtu = IBV_MTU_4096,
							    .active_width = 2,   /* 4X */
							    .active_speed = 128, /* NDR */
							    .phys_state = 5}};   /* link up */
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
	struct ib_uverbs_query_port_resp_ex got;
	struct ibv_context *ctx = pair_open(0);

	if (ethernet) {
		want.legacy_resp.port_cap_flags |= 1 << 26; /* GIDs are made from IP addresses */
		want.legacy_resp.link_layer = IBV_LINK_LAYER_ETHERNET;
		want.legacy_resp.flags = IBV_QPF_GRH_REQUIRED;
	} else {
		want.legacy_resp.port_cap_flags =
			0xa751ec48; /* a BlueField-3's flags, from a public report */
		want.legacy_resp.lid = 1;
		want.legacy_resp.sm_lid = 1;
		want.legacy_resp.max_vl_num = 4;
		want.legacy_resp.subnet_timeout = 18;
		want.legacy_resp.link_layer = IBV_LINK_LAYER_INFINIBAND;
	}
	memset(&got, 0xa5, sizeof(got));
	raw_attr(&c, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1, 1);
	raw_out(&c, UVERBS_ATTR_QUERY_PORT_RESP, &got, sizeof(got));
	CHECK_EQ(raw_run(ctx->cmd_fd, &c), 0);
	CHECK(check_bytes(&got, &want, sizeof(got), "QUERY_PORT"));
	/*
	 * In the attribute of an answer that it has written, the call sets a flag, and keeps the
	 * caller's own flags (rdma_user_ioctl_cmds.h).
	 */
	CHECK_EQ(c.attrs[0].flags, UVERBS_ATTR_F_MANDATORY);
	CHECK_EQ(c.attrs[1].flags, UVERBS_ATTR_F_MANDATORY | UVERBS_ATTR_F_VALID_OUTPUT);
	c.attrs[1].flags = 0;
	CHECK_EQ(raw_run(ctx->cmd_fd, &c), 0);
	CHECK_EQ(c.attrs[1].flags, UVERBS_ATTR_F_VALID_OUTPUT);
	/* A port number of more than 8 bits is refused. */
	c = raw_start(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
	raw_u64(&c, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 0x101);
	raw_out(&c, UVERBS_ATTR_QUERY_PORT_RESP, &got, sizeof(got));
	CHECK_EQ(raw_run(ctx->cmd_fd, &c), EINVAL);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
case_context(void)
{
	struct mlx5_ib_alloc_ucontext_resp got,
		want = {.qp_tab_size = 16384,
			.bf_reg_size = is_set("SOFTHCA_BF_REG_SIZE", "0") ? 0 : 512,
			.cache_line_size = 64,
			.max_sq_desc_sz = 1024,
			.max_rq_desc_sz = 512,
			.max_send_wqebb = 32768,
			.max_recv_wr = 32768,
			.max_srq_recv_wr = 32768,
			.num_ports = 1,
			.comp_mask = MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET |
				     MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_DUMP_FILL_MKEY |
				     MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_SQD2RTS |
				     MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_MKEY_UPDATE_TAG,
			.response_length = sizeof(want),
			.cqe_version = 1,
			.cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE |
					 MLX5_USER_CMDS_SUPP_UHW_CREATE_AH,
			.eth_min_inline = is_set("SOFTHCA_ETH_INLINE", "1")
						  ? MLX5_USER_INLINE_MODE_L2
						  : MLX5_USER_INLINE_MODE_NONE,
			.clock_info_versions = 1, /* the first version is 1 */
			.log_uar_size = 12,
			.num_uars_per_page = 1};
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
	struct ibv_context *ctx = pair_open(0);
	uint32_t vectors = 0;
	uint64_t core = 0;

	raw_out(&c, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, &vectors, sizeof(vectors));
	raw_out(&c, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, &core, sizeof(core));
	raw_out(&c, MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, &got, sizeof(got));
	CHECK_EQ(raw_run(ctx->cmd_fd, &c), 0);
	if (is_set("SOFTHCA_SIG_PIPELINING", "0"))
		want.comp_mask &= ~MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_SQD2RTS;
	/* the key that the adapter reports is one that no region has */
	want.dump_fill_mkey = got.dump_fill_mkey;
	CHECK(got.dump_fill_mkey != 0);
	CHECK(check_bytes(&got, &want, sizeof(got), "QUERY_CONTEXT"));
	CHECK_EQ(vectors, 8);
	CHECK_EQ(core, IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS);
	CHECK_EQ(ctx->num_comp_vectors, 8);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* ---- GIDs and event queues */

static void
case_gid_table(void)
{
	struct ibv_context *ctx = pair_open(0);
	const unsigned int n = is_ethernet() ? 4 : 1;
	const char *netdev = getenv("SOFTHCA_NETDEV");
	struct ibv_gid_entry table[8], entry;
	union ibv_gid gid;

	memset(table, 0xa5, sizeof(table));
	CHECK_EQ(ibv_query_gid_table(ctx, table, 8, 0), n);
	for (unsigned int i = 0; i < n; i++) {
		/* The EUI-64 of 02:53:48:00:00:01 (RFC 4291), or an IPv4 address of RFC 5737. */
		uint64_t low = i < 2 ? UINT64_C(0x005348fffe000001) : UINT64_C(0xffffc633640b);

		CHECK_EQ(be64toh(table[i].gid.global.subnet_prefix),
			i < 2 ? UINT64_C(0xfe80000000000000) : 0);
		CHECK_EQ(be64toh(table[i].gid.global.interface_id), low);
		CHECK_EQ(table[i].gid_index, i);
		CHECK_EQ(table[i].port_num, 1);
		CHECK_EQ(table[i].ndev_ifindex, netdev != NULL ? if_nametoindex(netdev) : 0);
		CHECK_EQ(ibv_query_gid_ex(ctx, 1, i, &entry, 0), 0);
		CHECK_EQ(entry.ndev_ifindex, table[i].ndev_ifindex);
		CHECK_EQ(table[i].gid_type, !is_ethernet() ? IBV_GID_TYPE_IB
					    : i % 2 == 0   ? IBV_GID_TYPE_ROCE_V1
							   : IBV_GID_TYPE_ROCE_V2);
	}
	/* A table with exactly this number of entries is long enough. */
	CHECK_EQ(ibv_query_gid_table(ctx, table, n, 0), n);
	CHECK(ibv_query_gid_table(ctx, table, n - 1, 0) < 0);
	CHECK_EQ(ibv_query_gid_ex(ctx, 1, n, table, 0), ENODATA);
	CHECK_EQ(ibv_query_gid_ex(ctx, 1, is_ethernet() ? 254 : 7, table, 0), ENODATA);
	CHECK_EQ(ibv_query_gid_ex(ctx, 1, is_ethernet() ? 255 : 8, table, 0), EINVAL);
	CHECK_EQ(ibv_query_gid_ex(ctx, 0, 0, table, 0), EINVAL);
	CHECK_EQ(ibv_query_gid_ex(ctx, 2, 0, table, 0), EINVAL);
	CHECK_EQ(ibv_query_gid(ctx, 1, 0, &gid), 0);
	CHECK(memcmp(&gid, &table[0].gid, 16) == 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* There must be one event queue for each completion vector, and no EQ 0. */
static void
case_event_queues(void)
{
	struct ibv_context *ctx = pair_open(0);
	uint32_t eqn;

	for (uint32_t v = 0; v < 8; v++) {
		CHECK_EQ(mlx5dv_devx_query_eqn(ctx, v, &eqn), 0);
		CHECK_EQ(eqn, v + 1);
	}
	CHECK(mlx5dv_devx_query_eqn(ctx, 8, &eqn) != 0);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static const struct check_case cases[] = {
	{"the general capabilities are the expected ones, and no others", case_general_page},
	{"the other pages of capabilities are the expected ones, and no others", case_other_pages},
	{"QUERY_DEVICE returns each field", case_device},
	{"EX_QUERY_DEVICE returns each field, up to the given length", case_device_ex},
	{"a port's answer has each field", case_port},
	{"a context's answer has each field", case_context},
	{"each GID has its bytes, its number and its type", case_gid_table},
	{"there is one event queue for each completion vector", case_event_queues},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
