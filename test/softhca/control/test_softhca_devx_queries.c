/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queries by firmware commands: properties of the PCI function and its ports that verbs also
 * report, link aggregation, and flow counters. Expected values come from ibv_query_device(),
 * ibv_query_port() and ibv_query_gid(). Fields are set by their bit offset in the structures of the
 * programming manual.
 */
#include "devx_bits.h"
#include "softhca_pair.h"

#define HDR 16

enum status {
	OK = 0,
	BAD_OP = 2,
	BAD_PARAM = 3
};

static bool
is_infiniband(void)
{
	const char *layer = getenv("SOFTHCA_LINK_LAYER");

	return layer != NULL && strcmp(layer, "infiniband") == 0;
}

static uint8_t
query(struct ibv_context *ctx, uint16_t opcode, unsigned int bit, unsigned int width,
	uint32_t value, uint8_t *out, size_t len)
{
	uint8_t in[HDR] = {0};
	int rc;

	memset(out, 0, len);
	devx_put(in, 0, 16, opcode);
	devx_put(in, bit, width, value);
	rc = mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, len);
	CHECK_EQ(rc == 0, out[0] == 0);
	CHECK(rc == 0 || devx_get(out, 0x20, 32) == 0x10000 + (out[0] == BAD_OP ? 0 : bit));
	return out[0];
}

static void
put_guid(uint8_t *buf, unsigned int bit, uint64_t be)
{
	memcpy(buf + bit / 8, &be, 8);
}

/*
 * Returns the port's first GID. Its lower half is the port's GUID, which contains the MAC address
 * (EUI-64).
 */
static union ibv_gid
first_gid(struct ibv_context *ctx, uint8_t port)
{
	union ibv_gid gid;

	CHECK_EQ(ibv_query_gid(ctx, port, 0, &gid), 0);
	return gid;
}

static void
case_nic(void)
{
	struct ibv_context *ctx = pair_open(0);
	uint8_t out[HDR + 256], want[sizeof(out)] = {0};
	union ibv_gid gid = first_gid(ctx, 1);
	struct ibv_device_attr attr;

	CHECK_EQ(ibv_query_device(ctx, &attr), 0);
	devx_put(want, 0x80 + 0x05, 3, getenv("SOFTHCA_ETH_INLINE") != NULL);
	devx_put(want, 0x80 + 0x1f, 1, !is_infiniband());
	devx_put(want, 0x80 + 0x130, 16, 9216);
	put_guid(want, 0x80 + 0x140, attr.sys_image_guid);
	put_guid(want, 0x80 + 0x180, gid.global.interface_id);
	put_guid(want, 0x80 + 0x1c0, attr.node_guid);
	memcpy(want + HDR + 0x7b0 / 8, gid.raw + 8, 3);
	want[HDR + 0x7b0 / 8] ^= 2; /* in an EUI-64 the universal/local bit is inverted */
	memcpy(want + HDR + 0x7b0 / 8 + 3, gid.raw + 13, 3);
	CHECK_EQ(query(ctx, 0x754, 0, 0, 0, out, sizeof(out)), OK);
	CHECK(check_bytes(out, want, sizeof(out), "QUERY_NIC_VPORT_CONTEXT"));
	CHECK_EQ(query(ctx, 0x754, 0x40, 1, 1, out, sizeof(out)), BAD_PARAM);
	CHECK_EQ(query(ctx, 0x754, 0x50, 16, 1, out, sizeof(out)), BAD_PARAM);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
expect_port(struct ibv_context *ctx, uint32_t asked, uint8_t port)
{
	uint8_t out[HDR + 508], want[sizeof(out)] = {0};
	union ibv_gid gid = first_gid(ctx, port);
	struct ibv_device_attr device;
	struct ibv_port_attr attr;

	CHECK_EQ(ibv_query_device(ctx, &device), 0);
	CHECK_EQ(ibv_query_port(ctx, port, &attr), 0);
	devx_put(want, 0x80 + 0x110, 4, attr.phys_state);
	devx_put(want, 0x80 + 0x118, 4, attr.state);
	devx_put(want, 0x80 + 0x11c, 4, attr.state);
	put_guid(want, 0x80 + 0x140, device.sys_image_guid);
	put_guid(want, 0x80 + 0x180, gid.global.interface_id);
	put_guid(want, 0x80 + 0x1c0, device.node_guid);
	devx_put(want, 0x80 + 0x200, 32, attr.port_cap_flags);
	devx_put(want, 0x80 + 0x300, 16, attr.lid);
	devx_put(want, 0x80 + 0x318, 3, attr.lmc);
	devx_put(want, 0x80 + 0x31b, 5, attr.subnet_timeout);
	devx_put(want, 0x80 + 0x320, 16, attr.sm_lid);
	devx_put(want, 0x80 + 0x330, 4, attr.sm_sl);
	CHECK_EQ(query(ctx, 0x762, 0x4c, 4, asked, out, sizeof(out)), OK);
	CHECK(check_bytes(out, want, sizeof(out), "QUERY_HCA_VPORT_CONTEXT"));
}

/* Queries ports of InfiniBand. On Ethernet the command is refused. */
static void
case_ports(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_device_attr device;
	uint8_t out[HDR + 508];

	CHECK_EQ(ibv_query_device(ctx, &device), 0);
	if (!is_infiniband()) {
		CHECK_EQ(query(ctx, 0x762, 0, 0, 0, out, sizeof(out)), BAD_OP);
	} else {
		expect_port(ctx, 0, 1);
		for (uint8_t port = 1; port <= device.phys_port_cnt; port++)
			expect_port(ctx, port, port);
		CHECK_EQ(query(ctx, 0x762, 0x4c, 4, device.phys_port_cnt + 1u, out, sizeof(out)),
			BAD_PARAM);
		CHECK_EQ(query(ctx, 0x762, 0x40, 1, 1, out, sizeof(out)), BAD_PARAM);
		CHECK_EQ(query(ctx, 0x762, 0x50, 16, 1, out, sizeof(out)), BAD_PARAM);
	}
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/*
 * QUERY_LAG must report no bond, NOP must have no effect, and QUERY_VPORT_STATE must report that
 * the PCI function is up.
 */
static void
case_others(void)
{
	struct ibv_context *ctx = pair_open(0);
	uint8_t out[HDR], want[HDR] = {0};

	CHECK_EQ(query(ctx, 0x842, 0, 0, 0, out, sizeof(out)), OK);
	CHECK(check_bytes(out, want, sizeof(out), "QUERY_LAG"));
	CHECK_EQ(query(ctx, 0x80d, 0, 0, 0, out, sizeof(out)), OK);
	CHECK(check_bytes(out, want, sizeof(out), "NOP"));
	CHECK_EQ(query(ctx, 0x750, 0, 0, 0, out, sizeof(out)), OK);
	devx_put(want, 0x78, 4, 1); /* admin_state */
	devx_put(want, 0x7c, 4, 1); /* state */
	CHECK(check_bytes(out, want, sizeof(out), "QUERY_VPORT_STATE"));
	CHECK_EQ(query(ctx, 0x750, 0x50, 16, 3, out, sizeof(out)), BAD_PARAM);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* Sends ALLOC_FLOW_COUNTER with one field set. */
static struct mlx5dv_devx_obj *
counter_alloc(struct ibv_context *ctx, unsigned int bit, unsigned int width, uint32_t value,
	uint8_t *out)
{
	uint8_t in[HDR] = {0};

	memset(out, 0, HDR);
	devx_put(in, 0, 16, 0x939);
	devx_put(in, bit, width, value);
	return mlx5dv_devx_obj_create(ctx, in, sizeof(in), out, HDR);
}

/* Sends QUERY_FLOW_COUNTER with one field set. Returns the errno. */
static int
counter_query(struct mlx5dv_devx_obj *counter, uint32_t id, unsigned int bit, unsigned int width,
	uint32_t value, uint8_t out[HDR + 16])
{
	uint8_t in[32] = {0};

	memset(out, 0, HDR + 16);
	devx_put(in, 0, 16, 0x93b);
	devx_put(in, bit, width, value);
	devx_put(in, 0xe0, 32, id);
	return mlx5dv_devx_obj_query(counter, in, sizeof(in), out, HDR + 16) == 0 ? 0 : errno;
}

/*
 * No rule uses a flow counter, so the numbers of packets and octets must be 0. Bulks and dumps are
 * not emulated, and must be refused.
 */
static void
case_counters(void)
{
	static const struct {
		unsigned int bit, width, value;
	} wrong_alloc[] = {{0x73, 5, 1}, {0x78, 8, 1}, {0x78, 8, 0x80}},
	  wrong_query[] = {{0xc1, 1, 1}, {0xc2, 30, 2}};
	struct ibv_context *ctx = pair_open(0);
	struct mlx5dv_devx_obj *counter[2];
	uint8_t out[HDR + 16], want[sizeof(out)] = {0};
	uint32_t id[2];

	for (int i = 0; i < 2; i++) {
		counter[i] = counter_alloc(ctx, 0, 0, 0, out);
		CHECK(counter[i] != NULL);
		CHECK_EQ(out[0], OK);
		id[i] = devx_get(out, 0x40, 32);
		CHECK(id[i] != 0);
	}
	CHECK(id[0] != id[1]);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(counter_query(counter[i], id[i], 0, 0, 0, out), 0);
		CHECK(check_bytes(out, want, sizeof(out), "QUERY_FLOW_COUNTER"));
		CHECK_EQ(counter_query(counter[i], id[i], 0xc2, 30, 1, out), 0);
		CHECK_EQ(counter_query(counter[i], id[1 - i], 0, 0, 0, out), EINVAL);
	}
	for (size_t i = 0; i < sizeof(wrong_query) / sizeof(wrong_query[0]); i++) {
		CHECK_EQ(counter_query(counter[0], id[0], wrong_query[i].bit, wrong_query[i].width,
				 wrong_query[i].value, out),
			EREMOTEIO);
		CHECK_EQ(out[0], BAD_PARAM);
		CHECK_EQ(devx_get(out, 0x20, 32), 0x10000 + wrong_query[i].bit);
	}
	for (size_t i = 0; i < sizeof(wrong_alloc) / sizeof(wrong_alloc[0]); i++) {
		CHECK(counter_alloc(ctx, wrong_alloc[i].bit, wrong_alloc[i].width,
			      wrong_alloc[i].value, out) == NULL);
		CHECK_EQ(out[0], BAD_PARAM);
		CHECK_EQ(devx_get(out, 0x20, 32), 0x10000 + wrong_alloc[i].bit);
	}
	CHECK_EQ(mlx5dv_devx_obj_destroy(counter[0]), 0);
	CHECK_EQ(counter_query(counter[1], id[1], 0, 0, 0, out), 0);
	CHECK_EQ(ibv_close_device(ctx), 0); /* this also frees the other counter */
	free(counter[1]);                   /* libmlx5's object for the counter */
}

static const struct check_case cases[] = {
	{"commands and verbs report the same about the PCI function", case_nic},
	{"commands and verbs report the same about a port", case_ports},
	{"other queries are answered", case_others},
	{"a flow counter is created, counts nothing, and is destroyed", case_counters},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
