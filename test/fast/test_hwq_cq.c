/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CQs over plain memory: owner bit, consumer index, decoding of CQEs; and WQEs and CQEs as text.
 *
 * The test writes the CQEs byte by byte: opcode << 4 | owner at 63, wqe_counter at 60, opcode << 24
 * | QPN at 56, syndrome at 55, vendor syndrome at 54, byte count at 44, immediate at 36. The fields
 * of receives and of signature errors are in their cases.
 */
#include <stdlib.h>

#include "check.h"

#include "hwq_cq.h"
#include "hwq_dump.h"
#include "hwq_event.h"
#include "hwq_rq.h"
#include "hwq_srq.h"
#include "hwq_wqe.h"

#define N_CQE 8

static uint8_t buf[N_CQE * 64] __attribute__((aligned(64)));
static __be32 dbrec[2];
static struct hwq_cq cq;

static void
start(uint32_t ci)
{
	unsigned int i;

	memset(buf, 0, sizeof(buf));
	for (i = 0; i < N_CQE; i++)
		buf[i * 64 + 63] = 0xf0; /* libmlx5's initial opcode: invalid */
	memset(&cq, 0, sizeof(cq));
	hwq_cq_init(&cq, buf, N_CQE, dbrec);
	hwq_cq_seek(&cq, ci);
	cq.published = ci;
	dbrec[0] = 0;
}

/* Writes entry n as the device does. n is counted from the first lap on. */
static void
device_writes(uint64_t n, uint8_t opcode, uint32_t qpn, uint16_t counter)
{
	uint8_t *e = buf + n % N_CQE * 64;

	memset(e, 0, 63);
	e[56] = 0x08;
	e[57] = (uint8_t)(qpn >> 16);
	e[58] = (uint8_t)(qpn >> 8);
	e[59] = (uint8_t)qpn;
	e[60] = (uint8_t)(counter >> 8);
	e[61] = (uint8_t)counter;
	e[63] = (uint8_t)(opcode << 4 | ((n / N_CQE) & 1));
}

static void
laps(void)
{
	uint64_t produced = 0, consumed = 0, rnd = 7;
	struct hwq_cqe rec[N_CQE];
	unsigned int i, n;

	start(0);
	CHECK_EQ(hwq_cq_poll(&cq, rec, N_CQE), 0, "a new CQ is empty");
	while (consumed < 100000) {
		while (produced - consumed < N_CQE && check_random(&rnd) % 4 != 0)
			device_writes(produced, 0, 0x1234, (uint16_t)produced), produced++;
		n = hwq_cq_poll(&cq, rec, 1 + (unsigned int)(check_random(&rnd) % N_CQE));
		CHECK(n <= produced - consumed, "%u of %u", n, (unsigned int)(produced - consumed));
		for (i = 0; i < n; i++)
			CHECK_EQ(rec[i].wqe_counter, (uint16_t)(consumed + i), "order");
		consumed += n;
		CHECK_EQ(be32toh(dbrec[0]), consumed & 0xffffff, "consumer index");
	}
}

static void
index_wraps(void)
{
	struct hwq_cqe rec = {0};

	start(0xffffff);
	device_writes(0xffffff, 0, 1, 2);
	CHECK(hwq_cq_peek(&cq, &rec), "the entry with the largest 24-bit index");
	hwq_cq_advance(&cq);
	CHECK_EQ(be32toh(dbrec[0]), 0, "the record does not change before publish");
	hwq_cq_publish(&cq);
	CHECK_EQ(be32toh(dbrec[0]), 0, "24 bits wrap to 0");
	CHECK(!hwq_cq_peek(&cq, &rec), "the next entry is from the lap before");

	start(0xffffffff);
	device_writes(0xffffffff, 0, 1, 2);
	CHECK(hwq_cq_peek(&cq, &rec), "the entry with the largest 32-bit index");
	hwq_cq_advance(&cq);
	device_writes(0x100000000, 0, 1, 3);
	CHECK(hwq_cq_peek(&cq, &rec), "the first entry after the 32-bit index wrapped");
	CHECK_EQ(rec.wqe_counter, 3, "its counter");
}

static void
decode(void)
{
	struct hwq_cqe rec = {0};
	uint8_t *e = buf;

	start(0);
	device_writes(0, 3, 0xfedcba, 0xbeef);
	memcpy(e + 36, "\x11\x22\x33\x44", 4);
	memcpy(e + 44, "\x00\x01\x00\x05", 4);
	e[63] |= 2;
	CHECK(hwq_cq_peek(&cq, &rec), "a CQE");
	CHECK_EQ(rec.qpn, 0xfedcba, "QPN");
	CHECK_EQ(rec.wqe_counter, 0xbeef, "counter");
	CHECK_EQ(rec.opcode, MLX5_CQE_RESP_SEND_IMM, "opcode");
	CHECK_EQ(rec.byte_cnt, 0x10005, "byte count");
	CHECK_EQ(be32toh(rec.imm_inval), 0x11223344, "immediate");
	CHECK_EQ(rec.solicited, 1, "solicited");
	CHECK_EQ(rec.syndrome, 0, "syndrome of a good CQE, whatever its timestamp");
	hwq_cq_advance(&cq);
	device_writes(1, 13, 0x000001, 7);
	memcpy(e + 64 + 44, "\xff\xff\xff\xff", 4);
	e[64 + 52] = 0x1d;
	e[64 + 54] = 0x68;
	e[64 + 55] = 0x04;
	CHECK(hwq_cq_peek(&cq, &rec), "an error CQE");
	CHECK_EQ(rec.opcode, MLX5_CQE_REQ_ERR, "opcode");
	CHECK_EQ(rec.wqe_opcode, 8, "the WQE's opcode");
	CHECK_EQ(rec.syndrome, 4, "syndrome");
	CHECK_EQ(rec.vendor_err, 0x68, "vendor syndrome");
	CHECK_EQ(rec.hw_syndrome, 0x1d, "hardware syndrome");
	CHECK_EQ(rec.timestamp, 0, "no timestamp: its bytes would be syndromes");
	CHECK_EQ(rec.byte_cnt, 0, "an error CQE has no byte count");
	CHECK(strcmp(hwq_syndrome_str(rec.syndrome), "local protection error") == 0, "its name");
	CHECK(strcmp(hwq_syndrome_str(0x21), "unknown syndrome") == 0,
		"the name of an unassigned syndrome");
	CHECK(strcmp(hwq_syndrome_str(0xff), "unknown syndrome") == 0,
		"the name of a syndrome beyond the table");
}

/*
 * hwq_cq_take_good() must take only a good completion of a send queue, with any format and
 * solicited bits.
 */
static void
good_ones(void)
{
	static const uint8_t others[] = {1, 2, 3, 4, 12, 13, 14};
	struct hwq_cqe rec;
	uint16_t counter = 0;
	unsigned int i;

	start(N_CQE - 1);
	CHECK(!hwq_cq_take_good(&cq, &counter), "an entry that was never written");
	for (i = 0; i < sizeof(others); i++) {
		device_writes(N_CQE - 1, others[i], 1, 2);
		CHECK(!hwq_cq_take_good(&cq, &counter), "opcode %u", others[i]);
		CHECK(hwq_cq_peek(&cq, &rec), "opcode %u is there", others[i]);
	}
	CHECK_EQ(counter, 0, "what is not taken is not written");
	device_writes(N_CQE - 1, 0, 1, 0xbeef);
	buf[(N_CQE - 1) * 64 + 63] |= 0x0e;
	CHECK(hwq_cq_take_good(&cq, &counter), "a good one");
	CHECK_EQ(counter, 0xbeef, "its counter");
	device_writes(0, 0, 1, 3);
	CHECK(!hwq_cq_take_good(&cq, &counter), "the next entry is from the lap before");
	device_writes(N_CQE, 0, 1, 4);
	CHECK(hwq_cq_take_good(&cq, &counter), "the first entry of the next lap");
	CHECK_EQ(counter, 4, "its counter");
	CHECK_EQ(cq.ci, N_CQE + 1, "two were consumed, and no other");
}

/*
 * All fields of a receive's CQE must be decoded. Their bytes are: path bits 17, LID 22, flags,
 * service level and QPN from 24 on, checksums 28 and 29 (libmlx5 names them hds_ip_ext and
 * l4_hdr_type_etc), VLAN 30.
 */
static void
decode_receive(void)
{
	static const struct {
		uint8_t opcode, flags;
	} kinds[] = {
		{1, HWQ_RECV_WITH_IMM},
		{2, 0},
		{3, HWQ_RECV_WITH_IMM},
		{4, HWQ_RECV_WITH_INV},
	};
	struct hwq_cqe rec = {0};
	uint8_t *e = buf;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		start(0);
		device_writes(0, kinds[i].opcode, 0x42, 9);
		e[17] = 0xff;
		memcpy(e + 22, "\x12\x34", 2);
		memcpy(e + 24, "\xa5\xab\xcd\xef", 4);
		e[28] = 0x06;
		e[29] = 2 << 2;
		memcpy(e + 30, "\x0f\xa0", 2);
		memcpy(e + 32, "\xff\x00\x01\x02", 4);
		memcpy(e + 36, "\x11\x22\x33\x44", 4);
		memcpy(e + 48, "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
		CHECK(hwq_cq_peek(&cq, &rec), "a CQE");
		CHECK_EQ(rec.recv.dlid_path_bits, 0x7f, "path bits");
		CHECK_EQ(rec.recv.slid, 0x1234, "LID");
		CHECK_EQ(rec.recv.sl, 5, "service level");
		CHECK_EQ(rec.recv.src_qp, 0xabcdef, "sender's QPN");
		CHECK_EQ(rec.recv.vlan, 0xfa0, "VLAN");
		CHECK_EQ(rec.recv.uidx, 0x000102, "user index");
		CHECK_EQ(rec.recv.pkey_index, 0x3344, "pkey");
		CHECK_EQ(rec.timestamp, 0x0102030405060708, "timestamp");
		CHECK_EQ(hwq_cqe_inval_rkey(&rec), 0x11223344, "invalidated key");
		CHECK_EQ(rec.recv.flags, kinds[i].flags | HWQ_RECV_GRH | HWQ_RECV_IP_CSUM_OK,
			"flags");
		CHECK((rec.recv.flags & HWQ_RECV_IPV6) == 0, "an IPv4 packet");
		e[24] = 0x00;
		e[28] = 0x02;
		e[29] = 1 << 2;
		CHECK(hwq_cq_peek(&cq, &rec), "a CQE");
		CHECK_EQ(rec.recv.flags, kinds[i].flags | HWQ_RECV_L3_OK | HWQ_RECV_IPV6, "flags");
		CHECK((rec.recv.flags & HWQ_RECV_IPV4) == 0, "an IPv6 packet");
	}
}

/*
 * All fields of a signature error's CQE must be decoded. Their bytes are: expected values 16 and
 * 24, actual values 20 and 28, syndrome 32; then type, domain, key and offset.
 */
static void
decode_signature_error(void)
{
	static const struct {
		uint16_t syndrome;
		uint8_t kind;
		uint64_t expected, actual;
	} kinds[] = {
		{0x0800, HWQ_SIG_REFTAG, 0x55667788, 0xddeeff00},
		{0x3800, HWQ_SIG_REFTAG, 0x55667788, 0xddeeff00},
		{0x1000, HWQ_SIG_APPTAG, 0x3344, 0xbbcc},
		{0x3000, HWQ_SIG_APPTAG, 0x3344, 0xbbcc},
		{0x2000, HWQ_SIG_GUARD, 0x1122334455667788, 0x99aabbccddeeff00},
		{0x0001, HWQ_SIG_UNKNOWN, 0x1122334455667788, 0x99aabbccddeeff00},
	};
	struct hwq_cqe rec = {0};
	uint8_t *e = buf;
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		start(0);
		device_writes(0, 12, 0x42, 9);
		memcpy(e + 16, "\x11\x22\x33\x44\x99\xaa\xbb\xcc", 8);
		memcpy(e + 24, "\x55\x66\x77\x88\xdd\xee\xff\x00", 8);
		e[32] = (uint8_t)(kinds[i].syndrome >> 8);
		e[33] = (uint8_t)kinds[i].syndrome;
		/*
		 * Type and domain have three bits each. The bits above are reserved, and may be
		 * set.
		 */
		e[34] = 0xf8 | i % 2;
		e[35] = 0xf8 | i / 2 % 2;
		memcpy(e + 36, "\x00\xab\xcd\x05", 4);
		memcpy(e + 40, "\x00\x00\x00\x01\x00\x00\x02\x08", 8);
		CHECK(hwq_cq_peek(&cq, &rec), "a CQE");
		CHECK_EQ(rec.opcode, MLX5_CQE_SIG_ERR, "opcode");
		CHECK_EQ(rec.qpn, 0x42, "QPN");
		CHECK_EQ(rec.syndrome, 0, "a signature error is not a failed work request");
		CHECK_EQ(rec.byte_cnt, 0, "bytes");
		CHECK_EQ(rec.sig.mkey, 0xabcd05, "key");
		CHECK_EQ(rec.sig.syndrome, kinds[i].syndrome, "syndrome");
		CHECK_EQ(rec.sig.kind, kinds[i].kind, "kind");
		CHECK_EQ(rec.sig.transaction, i % 2, "type");
		CHECK_EQ(rec.sig.raw_type, i % 2, "type");
		CHECK_EQ(rec.sig.memory, i / 2 % 2, "domain");
		CHECK_EQ(rec.sig.raw_domain, i / 2 % 2, "domain");
		CHECK_EQ(rec.sig.expected, kinds[i].expected, "expected");
		CHECK_EQ(rec.sig.actual, kinds[i].actual, "actual");
		CHECK_EQ(rec.sig.offset, 0x100000208, "offset");
	}
	CHECK_EQ(hwq_sig_guard(0x1122334455667788, 16), 0x1122, "T10-DIF's guard");
	CHECK_EQ(hwq_sig_guard(0x1122334455667788, 32), 0x11223344, "a CRC32");
	CHECK_EQ(hwq_sig_guard(0x1122334455667788, 64), 0x1122334455667788, "a CRC64");
}

/*
 * A receive's CQE contains the index of its entry, and hwq must return the wr_id of this entry. A
 * device that accepts packets out of order may use entries in another order than the order of
 * posting (libmlx5, handle_responder(), since rdma-core 55).
 */
static void
receives_by_their_index(void)
{
	static const uint16_t order[] = {1, 0, 3, 2};
	static uint8_t ring[4 * 16] __attribute__((aligned(64)));
	static __be32 rq_dbrec[2];
	const struct hwq_sge sge = {0x1000, 8, 7};
	uint64_t wr_ids[4], ids[4], lap;
	struct hwq_cqe rec[4];
	struct hwq_rq rq;
	unsigned int i;

	start(0);
	hwq_rq_init(&rq, ring, 4, 16, 0x42, rq_dbrec, &cq, wr_ids);
	for (lap = 0; lap < 3; lap++) {
		for (i = 0; i < 4; i++)
			CHECK_EQ(hwq_rq_post_list(&rq, lap * 100 + i, &sge, 1), 0, "a post");
		CHECK_EQ(hwq_rq_free(&rq), 0, "free entries");
		for (i = 0; i < 4; i++)
			device_writes(lap * 4 + i, i == 3 ? 14 : 2, 0x42,
				(uint16_t)(lap * 4 + order[i]));
		CHECK_EQ(hwq_rq_wr_id(&rq, (uint16_t)(lap * 4 + 2)), lap * 100 + 2, "a wr_id");
		CHECK_EQ(hwq_rq_poll(&rq, rec, ids, 4), 4, "receives");
		for (i = 0; i < 4; i++)
			CHECK_EQ(ids[i], lap * 100 + order[i], "wr_id");
		CHECK_EQ(hwq_rq_free(&rq), 4, "free entries");
	}
}

/*
 * Writes and consumes entry n, and does not publish the consumer index. Then changes the record to
 * n + 1, or leaves it at n.
 */
static void
consume(uint32_t n, uint8_t opcode)
{
	struct hwq_cqe rec;

	device_writes(n, opcode, 0x42, (uint16_t)n);
	CHECK(hwq_cq_peek(&cq, &rec), "a CQE");
	hwq_cq_advance(&cq);
	CHECK_EQ(be32toh(dbrec[0]), n, "the record before");
}

static void
who_says_so_tells_the_device_what_was_consumed(void)
{
	static uint8_t sq_ring[8 * 64] __attribute__((aligned(64)));
	static uint8_t rq_ring[4 * 16] __attribute__((aligned(64)));
	static uint8_t srq_ring[4 * 32] __attribute__((aligned(64)));
	static uint8_t page[4096] __attribute__((aligned(4096)));
	static __be32 sq_dbrec[2], rq_dbrec[2], srq_dbrec[2];
	struct hwq_bf bf = {.reg = page + 2048, .toggle = 256};
	uint64_t rq_ids[4], srq_ids[4], id;
	struct hwq_cqe rec;
	struct hwq_srq srq;
	struct hwq_rq rq;
	struct hwq_sq sq;
	uint32_t n = 0;

	start(0);
	cq.uar = page;
	hwq_sq_init(&sq, sq_ring, 8, 0x42, sq_dbrec, &bf, &cq);
	hwq_rq_init(&rq, rq_ring, 4, 16, 0x42, rq_dbrec, &cq, rq_ids);
	hwq_srq_init(&srq, srq_ring, 4, 32, srq_dbrec, srq_ids);

	consume(n++, 0);
	hwq_cq_arm(&cq, false);
	CHECK_EQ(be32toh(dbrec[0]), n, "arming");
	consume(n++, 0);
	hwq_cq_arm(&cq, true);
	CHECK_EQ(be32toh(dbrec[0]), n, "arming for solicited ones");

	consume(n, 2);
	CHECK(hwq_rq_post(&rq, 7, 0x1000, 8), "a post");
	CHECK_EQ(be32toh(dbrec[0]), n++, "a post tells nothing");
	hwq_rq_ring(&rq);
	CHECK_EQ(be32toh(dbrec[0]), n, "the doorbell of receives");

	consume(n, 0);
	hwq_sq_ring(&sq);
	CHECK_EQ(be32toh(dbrec[0]), n++, "a doorbell without WQEs does nothing");
	CHECK_EQ(hwq_wqe_nop(&sq, 0), 1, "a NOP");
	hwq_sq_ring(&sq);
	CHECK_EQ(be32toh(dbrec[0]), n, "the doorbell of WQEs");
	consume(n, 0);
	CHECK_EQ(hwq_wqe_nop(&sq, 0), 1, "a NOP");
	hwq_sq_signal_and_ring(&sq);
	CHECK_EQ(be32toh(dbrec[0]), n, "who signals and rings publishes where it polls");
	hwq_srq_ring(&srq);
	CHECK_EQ(be32toh(dbrec[0]), n++, "the doorbell of an SRQ knows no CQ");

	/* Polling must publish earlier consumed entries even if it finds no entry. */
	CHECK_EQ(hwq_cq_poll(&cq, &rec, 1), 0, "completions");
	CHECK_EQ(be32toh(dbrec[0]), n, "polling the CQ");
	consume(n++, 0);
	CHECK_EQ(hwq_rq_poll(&rq, &rec, &id, 1), 0, "receives");
	CHECK_EQ(be32toh(dbrec[0]), n, "polling the receive queue");
	consume(n++, 0);
	CHECK_EQ(hwq_srq_poll(&srq, &cq, &rec, &id, 1), 0, "receives");
	CHECK_EQ(be32toh(dbrec[0]), n, "polling the SRQ");
}

static void
expect_text(const char *text, const char *part)
{
	CHECK(strstr(text, part) != NULL, "\"%s\" is not in:\n%s", part, text);
}

static void
as_text(void)
{
	static uint8_t ring[8 * 64] __attribute__((aligned(64)));
	struct hwq_cqe bad = {.qpn = 0x42,
		.wqe_counter = 3,
		.opcode = MLX5_CQE_REQ_ERR,
		.wqe_opcode = MLX5_OPCODE_MMO,
		.syndrome = 4,
		.vendor_err = 0x51};
	char text[1024], cut[32];
	struct hwq_sq sq;
	size_t len;
	uint64_t rnd = 3;
	unsigned int i, j;

	hwq_sq_init(&sq, ring, 8, 0x42, dbrec, NULL, NULL);
	hwq_sq_set_memcpy(&sq, 0, 0, 1 << 20);
	sq.max_inline = 32;
	hwq_wqe_memcpy(&sq, 0xd, 0xd000, 0x5, 0x5000, 4096, HWQ_WQE_SIGNALED);
	len = hwq_dump_sq_wqe(&sq, 0, text, sizeof(text));
	CHECK_EQ(len, strlen(text), "length of the text");
	expect_text(text, "WQE 0x0000 qpn 0x000042 MMO opmod 0x01 ds 4");
	expect_text(text, "SIGNALED");
	expect_text(text, "src addr 0x0000000000005000 len 4096 lkey 0x00000005");
	expect_text(text, "dst addr 0x000000000000d000 len 4096 lkey 0x0000000d");
	CHECK_EQ(hwq_dump_sq_wqe(&sq, 0, cut, sizeof(cut)), len,
		"length of a text that does not fit");
	CHECK_EQ(strlen(cut), sizeof(cut) - 1, "the text is cut where the room ends");
	CHECK_EQ(hwq_dump_sq_wqe(&sq, 0, NULL, 0), len, "length alone");
	hwq_wqe_inline(&sq, MLX5_OPCODE_RDMA_WRITE, 0x9, 0x1000, "\x01\x02\xff", 3, 0, 0);
	hwq_dump_sq_wqe(&sq, 1, text, sizeof(text));
	expect_text(text, "RDMA_WRITE");
	expect_text(text, "raddr addr 0x0000000000001000 rkey 0x00000009");
	expect_text(text, "inline len 3: 01 02 ff\n");
	hwq_dump_record(&bad, text, sizeof(text));
	expect_text(text,
		"CQE qpn 0x000042 WQE 0x0003 REQ_ERR of MMO (0x2f): local protection error");

	/* Random bytes are dumped. No byte outside the CQE may be read. */
	for (i = 0; i < 20000; i++) {
		uint8_t *junk = malloc(64);

		if (junk == NULL)
			return;
		for (j = 0; j < 64; j++)
			junk[j] = (uint8_t)check_random(&rnd);
		if (i % 2 == 0)
			junk[3] = (uint8_t[]){0, 8, 10, 16, 0x2f}[i / 2 % 5];
		hwq_dump_wqe(junk, 1 + i % 64, text, sizeof(text));
		hwq_dump_cqe(junk, text, sizeof(text));
		free(junk);
	}
}

/*
 * hwq names a byte by which a program can see the next completion: the owner byte of the next CQE.
 * In each lap, this byte must change only when the next completion is written.
 */
static void
watched(void)
{
	struct hwq_cqe rec;

	start(0);
	for (uint64_t n = 0; n < 3 * N_CQE; n++) {
		const uint8_t *byte = hwq_cq_watched(&cq);
		const uint8_t lap = cq.lap;

		CHECK(!hwq_op_own_is_ours(*byte, lap), "entry %u is not there yet",
			(unsigned int)n);
		device_writes(n, 0, 0x1234, (uint16_t)n);
		CHECK(hwq_op_own_is_ours(*byte, lap), "entry %u is there", (unsigned int)n);
		CHECK_EQ(hwq_cq_poll(&cq, &rec, 1), 1, "one");
	}
}

int
main(void)
{
	RUN("entries are taken once, in order, over many laps", laps());
	RUN("the watched byte reports the next completion", watched());
	RUN("the consumer index wraps at 24 and at 32 bits", index_wraps());
	RUN("only good completions of WQEs are taken by their counter", good_ones());
	RUN("good and error CQEs become records", decode());
	RUN("receives of every kind become records", decode_receive());
	RUN("signature errors become records", decode_signature_error());
	RUN("a receive has the wr_id of the entry that its CQE names", receives_by_their_index());
	RUN("only calls that publish tell the device what was consumed",
		who_says_so_tells_the_device_what_was_consumed());
	RUN("WQEs and CQEs become text", as_text());
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
