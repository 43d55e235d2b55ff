/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builders must write exactly the bytes of the WQE format.
 *
 * The expected bytes are written by hand from the format: control segment {opmod, wqe_index 16,
 * opcode; QPN 24, DS; signature, 2 bytes, fm_ce_se; imm}, remote address {addr, rkey, 0}, data
 * {byte count, lkey, addr}, MMO {0, lkey, addr}; all big endian. CE is bits 3:2 (2: always), SE is
 * bit 1, FM is bits 7:5 (4: fence).
 */
#include <errno.h>
#include <stdlib.h>

#include "check.h"

#include "hwq_burst.h"
#include "hwq_wqe.h"
#include "hwq_wqe_dc.h"
#include "hwq_wr.h"

#define N_BB 16
#define QPN  0x123456

static uint8_t ring[N_BB * 64] __attribute__((aligned(64)));
static __be32 dbrec[2];
static struct hwq_sq sq;

/*
 * Starts a ring at index 65530, filled with old bytes, so that the test sees which bytes a builder
 * does not write.
 */
static void
start(void)
{
	memset(ring, 0xa5, sizeof(ring));
	hwq_sq_init(&sq, ring, N_BB, QPN, dbrec, NULL, NULL);
	hwq_sq_start_at(&sq, 65530);
	sq.max_sge = 8;
	sq.max_inline = 200;
	hwq_sq_set_memcpy(&sq, 0x0badcafe, 0x1122334455667780, 1ull << 31);
}

/* 65530 modulo 16 is 10: the sixth WQEBB from the end. */
#define AT (ring + 10 * 64)

/* Compares the WQE, and checks that the bytes after it are not written. */
static void
expect(const uint8_t *want, size_t len, const char *what)
{
	static const uint8_t old[64] = {[0 ... 63] = 0xa5};

	check_bytes(AT, want, len, what);
	if (len % 64 != 0)
		check_bytes(AT + len, old, 64 - len % 64, "the WQEBB behind DS");
}

static void
nop(void)
{
	static const uint8_t want[] = {0x00, 0xff, 0xfa, 0x00, 0x12, 0x34, 0x56, 0x01, 0, 0, 0,
		0x08, 0, 0, 0, 0};

	start();
	CHECK_EQ(hwq_wqe_nop(&sq, HWQ_WQE_SIGNALED), 1, "WQEBBs");
	expect(want, sizeof(want), "NOP");
	CHECK_EQ(sq.pi, 65531, "producer index");
}

static void
memcpy_mmo(void)
{
	static const uint8_t want[] = {0x01, 0xff, 0xfa, 0x2f, 0x12, 0x34, 0x56, 0x04, 0, 0, 0,
		0x88, 0, 0, 0, 0, 0, 0, 0, 0, 0x0b, 0xad, 0xca, 0xfe, 0x11, 0x22, 0x33, 0x44, 0x55,
		0x66, 0x77, 0x80, 0x00, 0x01, 0x02, 0x03, 0x00, 0x00, 0x5a, 0x00, 0, 0, 0x7f, 0xff,
		0x10, 0x20, 0x30, 0x41, 0x00, 0x01, 0x02, 0x03, 0x00, 0x00, 0xd5, 0x00, 0, 0, 0x7f,
		0xee, 0x50, 0x60, 0x70, 0x83};
	uint32_t zero = 0;

	start();
	CHECK_EQ(hwq_wqe_memcpy(&sq, 0xd500, 0x7fee50607083, 0x5a00, 0x7fff10203041, 0x00010203,
			 HWQ_WQE_SIGNALED | HWQ_WQE_FENCE),
		1, "WQEBBs");
	expect(want, sizeof(want), "memcpy");

	start();
	CHECK_EQ(hwq_wqe_memcpy(&sq, 1, 2, 3, 4, 1ull << 31, 0), 1, "WQEBBs of 2 GiB");
	check_bytes(AT + 32, &zero, 4, "2 GiB at the source is encoded 0");
	check_bytes(AT + 48, &zero, 4, "2 GiB at the destination is encoded 0");
	start();
	CHECK_EQ(hwq_wqe_memcpy(&sq, 1, 2, 3, 4, 0, 0), -EINVAL, "length 0");
	CHECK_EQ(hwq_wqe_memcpy(&sq, 1, 2, 3, 4, (1ull << 31) + 1, 0), -EINVAL, "above 2 GiB");
	CHECK_EQ(hwq_wqe_memcpy(&sq, 1, 2, 3, 4, 1ull << 32, 0), -EINVAL, "4 GiB, low half 0");
	hwq_sq_set_memcpy(&sq, 0, 0, 4096);
	CHECK_EQ(hwq_wqe_memcpy(&sq, 1, 2, 3, 4, 4097, 0), -EINVAL, "above the device's limit");
	hwq_sq_set_memcpy(&sq, 0, 0, 0);
	CHECK_EQ(hwq_wqe_memcpy(&sq, 1, 2, 3, 4, 1, 0), -EINVAL, "a QP without MMO");
	CHECK_EQ(sq.pi, 65530, "refused work takes no room");
	CHECK(AT[0] == 0xa5, "refused work writes nothing");
}

static void
rdma_one(void)
{
	static const uint8_t write[] = {0x00, 0xff, 0xfa, 0x08, 0x12, 0x34, 0x56, 0x03, 0, 0, 0,
		0x0a, 0, 0, 0, 0, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0xca, 0xfe, 0xd0,
		0x0d, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0x00, 0x00, 0x77, 0x00, 0xff, 0xee, 0xdd,
		0xcc, 0xbb, 0xaa, 0x99, 0x88};
	static const uint8_t read_empty[] = {0x00, 0xff, 0xfa, 0x10, 0x12, 0x34, 0x56, 0x02, 0, 0,
		0, 0x80, 0, 0, 0, 0, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0xca, 0xfe,
		0xd0, 0x0d, 0, 0, 0, 0};

	start();
	CHECK_EQ(hwq_wqe_rdma_write(&sq, 0xcafed00d, 0x0102030405060708, 0x7700, 0xffeeddccbbaa9988,
			 0x7fffffff, HWQ_WQE_SIGNALED | HWQ_WQE_SOLICITED),
		1, "WQEBBs");
	expect(write, sizeof(write), "RDMA write");
	start();
	CHECK_EQ(hwq_wqe_rdma_read(&sq, 0xcafed00d, 0x0102030405060708, 0x7700, 1, 0,
			 HWQ_WQE_FENCE),
		1, "WQEBBs");
	expect(read_empty, sizeof(read_empty), "RDMA read of nothing: no data segment");
}

static void
send_list(void)
{
	static const struct hwq_sge sge[] = {{.addr = 0x10, .len = 1, .lkey = 0xa},
		{.addr = 0x20, .len = 0, .lkey = 0xb}, {.addr = 0x30, .len = 2, .lkey = 0xc},
		{.addr = 0x40, .len = 3, .lkey = 0xd}, {.addr = 0x50, .len = 4, .lkey = 0xe}};
	static const uint8_t want[] = {0x00, 0xff, 0xfa, 0x0a, 0x12, 0x34, 0x56, 0x05, 0, 0, 0,
		0x08, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0xa, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 2,
		0, 0, 0, 0xc, 0, 0, 0, 0, 0, 0, 0, 0x30, 0, 0, 0, 3, 0, 0, 0, 0xd, 0, 0, 0, 0, 0, 0,
		0, 0x40, 0, 0, 0, 4, 0, 0, 0, 0xe, 0, 0, 0, 0, 0, 0, 0, 0x50};

	start();
	sq.sig_bits = 0x08; /* as hwq_qp_conf.sq_sig_all sets this field */
	CHECK_EQ(hwq_wqe_list(&sq, MLX5_OPCODE_SEND, 0, 0, sge, 5, 0), 2, "WQEBBs");
	expect(want, sizeof(want), "SEND of a list with a hole");
	CHECK_EQ(sq.pi, 65532, "producer index");
	start();
	sq.max_sge = 4;
	CHECK_EQ(hwq_wqe_list(&sq, MLX5_OPCODE_SEND, 0, 0, sge, 5, 0), -ENOMEM,
		"one segment too many, a hole or not");
	CHECK_EQ(hwq_wqe_list(&sq, MLX5_OPCODE_SEND, 0, 0, NULL, 0, 0), 1, "an empty list");
	CHECK_EQ(AT[7], 1, "DS of an empty list");
}

static void
write_inline(void)
{
	static const uint8_t want13[] = {0x00, 0xff, 0xfa, 0x08, 0x12, 0x34, 0x56, 0x04, 0, 0, 0,
		0x08, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 0, 0x99, 0, 0, 0, 0, 0x80, 0,
		0, 0x0d, 'H', 'e', 'l', 'l', 'o', ',', ' ', 'w', 'o', 'r', 'l', 'd', '!', 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	static const struct hwq_buf parts[] = {{"Hello", 5}, {NULL, 0}, {", world!", 8}};
	static const struct hwq_buf huge[] = {{"x", 1}, {"x", SIZE_MAX}};

	start();
	CHECK_EQ(hwq_wqe_inline(&sq, MLX5_OPCODE_RDMA_WRITE, 0x99, 0x1234, "Hello, world!", 13,
			 HWQ_WQE_SIGNALED, 0),
		1, "WQEBBs");
	expect(want13, sizeof(want13), "inline write of 13 bytes, padded with 0");
	start();
	CHECK_EQ(hwq_wqe_inline_list(&sq, MLX5_OPCODE_RDMA_WRITE, 0x99, 0x1234, parts, 3,
			 HWQ_WQE_SIGNALED),
		1, "WQEBBs");
	expect(want13, sizeof(want13), "inline write of 13 bytes in several parts");
	start();
	CHECK_EQ(hwq_wqe_inline(&sq, MLX5_OPCODE_RDMA_WRITE, 0x99, 0x1234, "Hello, world", 12,
			 HWQ_WQE_SIGNALED, 0),
		1, "WQEBBs");
	CHECK_EQ(AT[7], 3, "DS: 12 bytes and their count fill one unit");
	start();
	CHECK_EQ(hwq_wqe_inline(&sq, MLX5_OPCODE_SEND, 0, 0, NULL, 0, 0, 0), 1, "no bytes");
	CHECK_EQ(AT[7], 1, "DS of no bytes: no inline segment");
	CHECK_EQ(hwq_wqe_inline(&sq, MLX5_OPCODE_SEND, 0, 0, ring, 201, 0, 0), -ENOMEM,
		"one byte too many");
	CHECK_EQ(hwq_wqe_inline_list(&sq, MLX5_OPCODE_SEND, 0, 0, huge, 2, 0), -ENOMEM,
		"lengths that wrap");
	CHECK_EQ(sq.pi, 65531, "only the first write is in the ring");
}

static void
atomics(void)
{
	static const uint8_t cmp_swp[] = {0x00, 0xff, 0xfa, 0x11, 0x12, 0x34, 0x56, 0x04, 0, 0, 0,
		0x88, 0, 0, 0, 0, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0xca, 0xfe, 0xd0,
		0x0d, 0, 0, 0, 0, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x31, 0x32, 0x33,
		0x34, 0x35, 0x36, 0x37, 0x38, 0, 0, 0, 8, 0x00, 0x00, 0x77, 0x00, 0xff, 0xee, 0xdd,
		0xcc, 0xbb, 0xaa, 0x99, 0x88};
	static const uint8_t fetch_add[] = {0x00, 0xff, 0xfa, 0x12, 0x12, 0x34, 0x56, 0x04, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0,
		0x30};

	start();
	CHECK_EQ(hwq_wqe_atomic_cmp_swp(&sq, 0xcafed00d, 0x0102030405060708, 0x7700,
			 0xffeeddccbbaa9988, 0x3132333435363738, 0x2122232425262728,
			 HWQ_WQE_SIGNALED | HWQ_WQE_FENCE),
		1, "WQEBBs");
	expect(cmp_swp, sizeof(cmp_swp), "compare and swap: swap stands first");
	start();
	CHECK_EQ(hwq_wqe_atomic_fetch_add(&sq, 0x20, 0x10, 0x40, 0x30, 5, 0), 1, "WQEBBs");
	expect(fetch_add, sizeof(fetch_add), "fetch and add");
}

static void
immediate_data(void)
{
	static const uint8_t write[] = {0x00, 0xff, 0xfa, 0x09, 0x12, 0x34, 0x56, 0x03, 0, 0, 0,
		0x02, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 0, 0x99, 0, 0, 0,
		0, 0x80, 0, 0, 0x02, 'H', 'i', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	static const uint8_t inval[] = {0x00, 0xff, 0xfa, 0x01, 0x12, 0x34, 0x56, 0x02, 0, 0, 0, 0,
		0x01, 0x02, 0x03, 0x04, 0, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6};
	static const uint8_t send[] = {0x00, 0xff, 0xfa, 0x0b, 0x12, 0x34, 0x56, 0x01, 0, 0, 0,
		0x08, 0xde, 0xad, 0xbe, 0xef};

	start();
	CHECK_EQ(hwq_wqe_inline(&sq, MLX5_OPCODE_RDMA_WRITE_IMM, 0x99, 0x1234, "Hi", 2,
			 HWQ_WQE_SOLICITED, htobe32(0xdeadbeef)),
		1, "WQEBBs");
	expect(write, sizeof(write), "inline write with immediate data");
	start();
	CHECK_EQ(hwq_wqe_one(&sq, MLX5_OPCODE_SEND_INVAL, 0, 0, 5, 6, 7, 0, htobe32(0x01020304)), 1,
		"WQEBBs");
	expect(inval, sizeof(inval), "SEND that invalidates");
	start();
	CHECK_EQ(hwq_wqe_one(&sq, MLX5_OPCODE_SEND_IMM, 0, 0, 5, 6, 0, HWQ_WQE_SIGNALED,
			 htobe32(0xdeadbeef)),
		1, "WQEBBs");
	expect(send, sizeof(send), "SEND with immediate data alone");
}

static void
raw(void)
{
	uint8_t wqe[1 + 5 * 16], want[5 * 16], none[16] = {0}, longest[63 * 16] = {[7] = 63};
	unsigned int i;

	for (i = 0; i < sizeof(want); i++)
		wqe[1 + i] = want[i] = (uint8_t)(i * 7 + 1);
	wqe[1 + 7] = want[7] = 5; /* DS */
	want[1] = 0xff, want[2] = 0xfa;
	want[4] = 0x12, want[5] = 0x34, want[6] = 0x56;
	wqe[1 + 11] = 0xae, want[11] = 0xaa; /* CE 3 becomes 2, and all other bits stay */
	start();
	CHECK_EQ(hwq_wqe_raw(&sq, wqe + 1, HWQ_WQE_SIGNALED | HWQ_WQE_FENCE), 2, "WQEBBs");
	expect(want, sizeof(want), "a raw WQE with a CQE");
	CHECK_EQ(sq.pi, 65532, "producer index");
	want[11] = 0xa2;
	start();
	CHECK_EQ(hwq_wqe_raw(&sq, wqe + 1, 0), 2, "WQEBBs");
	expect(want, sizeof(want), "a raw WQE without a CQE");
	start();
	CHECK_EQ(hwq_wqe_raw(&sq, none, 0), -EINVAL, "a WQE of DS 0");
	CHECK_EQ(hwq_wqe_raw(&sq, longest, 0), -EINVAL, "a WQE as long as the ring");
	CHECK_EQ(sq.pi, 65530, "refused work takes no room");
}

/*
 * A raw WQE must get the address of the DC target in units 1 to 3 if it is a SEND, RDMA, or an
 * atomic, including atomics with masks (UCX's DC transport posts these). A local operation must get
 * no address. Opcodes are those of mlx5dv.h.
 */
static void
raw_to_a_target(void)
{
	static const uint8_t addressed[] = {0x01, 0x08, 0x09, 0x0a, 0x0b, 0x10, 0x11, 0x12, 0x14,
		0x15},
			     others[] = {0x00, 0x0e, 0x1b, 0x20, 0x25, 0x2f};
	uint8_t wqe[5 * 16], want[5 * 16];
	struct hwq_dc_dest dest;
	unsigned int i, has_av;

	memset(&dest, 0x3c, sizeof(dest));
	for (i = 0; i < sizeof(addressed) + sizeof(others); i++) {
		has_av = i < sizeof(addressed);
		memset(wqe, 0x77, sizeof(wqe));
		wqe[3] = has_av ? addressed[i] : others[i - sizeof(addressed)];
		wqe[7] = 5;
		wqe[11] = 0;
		memcpy(want, wqe, sizeof(want));
		want[1] = 0xff, want[2] = 0xfa;
		want[4] = 0x12, want[5] = 0x34, want[6] = 0x56;
		if (has_av)
			memset(want + 16, 0x3c, 48);
		start();
		CHECK_EQ(hwq_wqe_dc_raw(&sq, &dest, wqe, 0), 2, "WQEBBs");
		expect(want, sizeof(want), has_av ? "with an address" : "without an address");
		/* Four units have room for the address, but three do not. */
		wqe[7] = 3;
		CHECK_EQ(hwq_wqe_dc_raw(&sq, &dest, wqe, 0), has_av ? -EINVAL : 1, "three units");
		wqe[7] = 4;
		CHECK_EQ(hwq_wqe_dc_raw(&sq, &dest, wqe, 0), 1, "four units");
	}
}

/* Flags that only some builders of hwq_wr.h use. None of their bits may be written to a WQE. */
#define NOT_WIRE (HWQ_WQE_INLINE | HWQ_WQE_IP_CSUM)

/*
 * Checks signature, DC stream and fm_ce_se of the WQE at AT: only the last byte may contain flags,
 * SIGNALED and FENCE.
 */
static void
expect_flags(const char *what)
{
	static const uint8_t want[] = {0, 0, 0, 0x88};

	check_bytes(AT + 8, want, sizeof(want), what);
}

static void
flags_stay_in_their_byte(void)
{
	const unsigned int flags = HWQ_WQE_SIGNALED | HWQ_WQE_FENCE | NOT_WIRE;
	static uint64_t wr_ids[N_BB];
	static uint8_t reg[1024];
	static __be32 cq_dbrec[2];
	struct hwq_bf bf = {.reg = reg, .toggle = 256, .max_ds = 16};
	struct hwq_cq cq = {.dbrec = cq_dbrec};
	struct hwq_burst b;
	struct hwq_wr wr;

	start();
	hwq_wqe_rdma_write(&sq, 1, 2, 3, 4, 5, flags);
	expect_flags("hwq_wqe_rdma_write()");
	start();
	hwq_wqe_memcpy(&sq, 1, 2, 3, 4, 5, flags);
	expect_flags("hwq_wqe_memcpy()");
	start();
	hwq_burst_start(&b, &sq, 1);
	hwq_burst_rdma_write(&b, 1, 2, 3, 4, 5, flags);
	expect_flags("hwq_burst_rdma_write()");
	start();
	hwq_burst_start(&b, &sq, 1);
	CHECK(hwq_burst_memcpy(&b, 1, 2, 3, 4, 5, flags), "a memcpy of 5 bytes");
	expect_flags("hwq_burst_memcpy()");
	start();
	sq.bf = &bf;
	sq.cq = &cq;
	hwq_sq_set_wr_ids(&sq, wr_ids);
	hwq_wr_start(&wr, &sq);
	wr.wr_flags = flags;
	hwq_wr_rdma_write(&wr, 1, 2);
	hwq_wr_set_sge(&wr, 3, 4, 5);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "hwq_wr_complete()");
	expect_flags("hwq_wr_rdma_write()");
}

/*
 * Lengths around 2 GiB, which is the largest length. All three kinds of builders must encode 2 GiB
 * as 0.
 */
static void
longest_memcpy(void)
{
	static const struct {
		uint64_t len, max;
		int good;
		uint8_t want[4];
	} cases[] = {
		{1ull << 31, 1ull << 31, 1, {0, 0, 0, 0}},
		{(1ull << 31) - 1, 1ull << 31, 1, {0x7f, 0xff, 0xff, 0xff}},
		{(1ull << 31) + 1, 1ull << 31, 0, {0}},
		{1ull << 31, 4096, 0, {0}},
		{4096, 4096, 1, {0, 0, 0x10, 0}},
		{4097, 4096, 0, {0}},
		{(1ull << 32) + 1, 1ull << 31, 0, {0}},
		{0, 1ull << 31, 0, {0}},
	};
	static uint64_t wr_ids[N_BB];
	static uint8_t reg[1024];
	static __be32 cq_dbrec[2];
	struct hwq_bf bf = {.reg = reg, .toggle = 256, .max_ds = 16};
	struct hwq_cq cq = {.dbrec = cq_dbrec};
	struct hwq_burst b;
	struct hwq_wr wr;
	unsigned int i, by;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (by = 0; by < 3; by++) {
			uint64_t len = cases[i].len;
			int good;

			start();
			hwq_sq_set_memcpy(&sq, 0, 0, cases[i].max);
			sq.bf = &bf;
			sq.cq = &cq;
			hwq_sq_set_wr_ids(&sq, wr_ids);
			if (by == 0) {
				good = hwq_wqe_memcpy(&sq, 1, 2, 3, 4, len, 0) == 1;
			} else if (by == 1) {
				hwq_burst_start(&b, &sq, 1);
				good = hwq_burst_memcpy(&b, 1, 2, 3, 4, len, 0);
			} else {
				hwq_wr_start(&wr, &sq);
				hwq_wr_memcpy(&wr, 1, 2, 3, 4, len);
				good = hwq_wr_complete(&wr) == 0;
			}
			CHECK_EQ(good, cases[i].good, "whether the length is possible");
			if (!good)
				continue;
			check_bytes(AT + 32, cases[i].want, 4, "byte count of the source");
			check_bytes(AT + 48, cases[i].want, 4, "byte count of the destination");
		}
	}
}

/*
 * hwq_burst_one() must write the same bytes as hwq_wqe_one(). Other tests compare hwq_wqe_one()
 * with libmlx5.
 */
static void
one_of_a_burst(void)
{
	static const uint8_t opcodes[] = {MLX5_OPCODE_SEND, MLX5_OPCODE_SEND_IMM,
		MLX5_OPCODE_SEND_INVAL, MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE_IMM,
		MLX5_OPCODE_RDMA_READ};
	const uint64_t raddr = 0x7fee50607080, addr = 0x7fff10203040;
	struct hwq_burst b;
	uint8_t want[64];
	unsigned int i;

	for (i = 0; i < sizeof(opcodes); i++) {
		start();
		CHECK_EQ(hwq_wqe_one(&sq, opcodes[i], 0xd501, raddr, 0x5a02, addr, 0x10203,
				 HWQ_WQE_SOLICITED, htobe32(0x0a0b0c0d)),
			1, "WQEBBs");
		memcpy(want, AT, sizeof(want));
		start();
		CHECK_EQ(hwq_burst_start(&b, &sq, 1), 1, "room");
		hwq_burst_one(&b, opcodes[i], 0xd501, raddr, hwq_key_word(0x5a02), addr, 0x10203,
			HWQ_WQE_SOLICITED, htobe32(0x0a0b0c0d));
		hwq_burst_end_counted(&b, 1);
		check_bytes(AT, want, sizeof(want), "a WQE of a burst");
		CHECK_EQ(sq.pi, 65531, "producer index");
	}
}

static struct hwq_burst_like
like_of(const struct hwq_burst *b, uint8_t opcode)
{
	return opcode == 0x2f ? hwq_burst_like_memcpy(b) : hwq_burst_like_rdma(b, opcode);
}

/*
 * A loop of hwq_burst_*_like() starts at index 65530. It writes six WQEs up to the ring's end, and
 * one WQE at index 0. Each WQE must have exactly the bytes that the WQE format defines.
 */
static void
loops(void)
{
	static const struct {
		uint8_t opmod, opcode, ds;
	} kinds[] = {{0x01, 0x2f, 4}, {0x00, 0x08, 3}, {0x00, 0x10, 3}};
	struct hwq_burst_like like;
	struct hwq_burst b;
	unsigned int k, i;

	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		start();
		sq.sig_bits = 0x08; /* every WQE is signalled */
		CHECK_EQ(hwq_burst_start(&b, &sq, 7), 6, "WQEBBs before the end of the ring");
		like = like_of(&b, kinds[k].opcode);
		for (i = 0; i < 7; i++) {
			const uint8_t index = (uint8_t)(0xfa + i), high = i < 6 ? 0xff : 0;
			const uint8_t memcpy_want[] = {kinds[k].opmod, high, index, kinds[k].opcode,
				0x12, 0x34, 0x56, kinds[k].ds, 0, 0, 0, 0x08, 0, 0, 0, 0,
				/* the device's scratch memory */
				0, 0, 0, 0, 0x0b, 0xad, 0xca, 0xfe, 0x11, 0x22, 0x33, 0x44, 0x55,
				0x66, 0x77, 0x80,
				/* source, destination */
				0, 0, 0, 0x40, 0, 0, 0x5a, 0, 0, 0, 0x7f, 0xff, 0x10, 0x20, 0x30,
				index, 0, 0, 0, 0x40, 0, 0, 0xd5, 0, 0, 0, 0x7f, 0xee, 0x50, 0x60,
				0x70, index};
			const uint8_t rdma_want[] = {kinds[k].opmod, high, index, kinds[k].opcode,
				0x12, 0x34, 0x56, kinds[k].ds, 0, 0, 0, 0x08, 0, 0, 0, 0,
				/* remote memory, local memory */
				0, 0, 0x7f, 0xee, 0x50, 0x60, 0x70, index, 0, 0, 0xd5, 0, 0, 0, 0,
				0, 0, 0, 0, 0x40, 0, 0, 0x5a, 0, 0, 0, 0x7f, 0xff, 0x10, 0x20, 0x30,
				index};

			if (i == 6) {
				hwq_burst_end_counted(&b, 6);
				CHECK_EQ(sq.pi, 0, "producer index");
				CHECK_EQ(hwq_burst_start(&b, &sq, 1), 1, "room behind the end");
				like = like_of(&b, kinds[k].opcode);
			}
			if (k == 0)
				hwq_burst_memcpy_like(&b, &like, hwq_key_word(0xd500),
					0x7fee50607000 + index, hwq_key_word(0x5a00),
					0x7fff10203000 + index, 64);
			else
				hwq_burst_rdma_like(&b, &like, 0xd500, 0x7fee50607000 + index,
					hwq_key_word(0x5a00), 0x7fff10203000 + index, 64);
			check_bytes(ring + (10 + i) % N_BB * 64, k == 0 ? memcpy_want : rdma_want,
				kinds[k].ds * 16u, "a WQE of a loop");
		}
		hwq_burst_end_counted(&b, 1);
		CHECK_EQ(sq.pi, 1, "producer index");
		CHECK_EQ(sq.last, 0, "the last WQE");
	}
}

int
main(void)
{
	RUN("a NOP is only a control segment", nop());
	RUN("memcpy has MMO, source and destination segments, and encodes 2 GiB as 0",
		memcpy_mmo());
	RUN("RDMA has one data segment, and none if the length is 0", rdma_one());
	RUN("a list leaves out its empty segments", send_list());
	RUN("inline data is counted, copied and padded with 0", write_inline());
	RUN("an atomic names its operands and where the old value goes", atomics());
	RUN("immediate data and keys to invalidate are in the control segment", immediate_data());
	RUN("a raw WQE gets the queue's index and number, and no other change", raw());
	RUN("a raw WQE to a target gets its address, unless the operation is local",
		raw_to_a_target());
	RUN("no family of builders writes flags that the control segment does not have",
		flags_stay_in_their_byte());
	RUN("all families of builders take a memcpy of up to 2 GiB, and encode 2 GiB as 0",
		longest_memcpy());
	RUN("a burst's SENDs, writes and reads are those of a single WQE", one_of_a_burst());
	RUN("WQEs of a loop share their bytes, and each has its own index", loops());
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
