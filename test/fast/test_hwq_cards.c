/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CQEs of real cards: checks the record that lib/hwq decodes from each CQE, and the text of the
 * CQE, which hwq-decode also prints.
 *
 * The bytes come from public reports, in which a driver or a program dumped them; each row gives
 * the number of the issue (#) or the mailing list. Words without a value are 0. The expected
 * operation, error and syndromes are those of the reports.
 */
#include "check.h"

#include "hwq_cq.h"
#include "hwq_dump.h"

struct dump {
	const char *source;
	uint32_t word9;      /* word 9: user index */
	uint32_t words13[3]; /* words 13, 14 and 15, counted from 0: the last 12 bytes */
	const char *text;    /* expected text after "CQE qpn ... WQE ... " */
};

#define ACCESS  ": remote access error (syndrome 0x13 vendor 0x88 hw 0x00)"
#define INVALID ": remote invalid request (syndrome 0x12 vendor 0x8a hw 0x00)"

static const struct dump dumps[] = {
	{"ofiwg/libfabric #4283", 0x2, {0x00008813, 0x10012abe, 0x0dd0c1d3},
		"REQ_ERR of RDMA_READ (0x10)" ACCESS},
	{"openucx/ucx #1569, DC", 0x0, {0x00008813, 0x08006214, 0x0000f6d2},
		"REQ_ERR of RDMA_WRITE (0x08)" ACCESS},
	{"open-mpi/ompi #1241", 0x0, {0x00008813, 0x110818b2, 0x000001d0},
		"REQ_ERR of ATOMIC_CS (0x11)" ACCESS},
	{"DAPL, linux-rdma list", 0xb9, {0x00008813, 0x100076ab, 0x008ae4d3},
		"REQ_ERR of RDMA_READ (0x10)" ACCESS},
	{"NFS, linux-rdma list, 2021", 0x0, {0x00008813, 0x08000113, 0x074767d2},
		"REQ_ERR of RDMA_WRITE (0x08)" ACCESS},
	{"the same", 0x0, {0x00008813, 0x08000146, 0xf2930bd3},
		"REQ_ERR of RDMA_WRITE (0x08)" ACCESS},
	{"the same", 0x0, {0x00008813, 0x08000108, 0x6bd2b9d3},
		"REQ_ERR of RDMA_WRITE (0x08)" ACCESS},
	{"linux-rdma list, 2021", 0x0, {0x00008813, 0x080361b3, 0x1ea142d3},
		"REQ_ERR of RDMA_WRITE (0x08)" ACCESS},
	{"openucx/ucx #1770, DC", 0x2, {0x00008a12, 0x1002a8af, 0x0001a2d2},
		"REQ_ERR of RDMA_READ (0x10)" INVALID},
	{"the same", 0x2, {0x00008a12, 0x100023e8, 0x00016cd2},
		"REQ_ERR of RDMA_READ (0x10)" INVALID},
	{"openucx/ucx #4176", 0x0, {0x00008a12, 0x2502f303, 0x000062d2},
		"REQ_ERR of UMR (0x25)" INVALID},
	{"charmplusplus/charm #2532", 0xb, {0x00008a12, 0x0a00e2dd, 0x000025d2},
		"REQ_ERR of SEND (0x0a)" INVALID},
	{"the same", 0x2, {0x00008a12, 0x0a03eb2b, 0x0026c1d2}, "REQ_ERR of SEND (0x0a)" INVALID},
	{"a receiver without receives", 0x0, {0x00008716, 0x0a001f8e, 0x000027d2},
		"REQ_ERR of SEND (0x0a): RNR retries exceeded (syndrome 0x16 vendor 0x87 hw 0x00)"},
	{"openucx/ucx #857, ARM", 0x5, {0x01006102, 0x0800012e, 0x1f3a2cd2},
		"REQ_ERR of RDMA_WRITE (0x08): local QP operation error (syndrome 0x02 vendor 0x61 "
		"hw 0x01)"},
	{"openucx/ucx #6414", 0x1, {0x92005204, 0x0a00082f, 0x0000c5d2},
		"REQ_ERR of SEND (0x0a): local protection error (syndrome 0x04 vendor 0x52 hw 0x92)"},
	{"spdk/spdk #961", 0xb3, {0x93005204, 0x0a0019a1, 0xc0921cd2},
		"REQ_ERR of SEND (0x0a): local protection error (syndrome 0x04 vendor 0x52 hw 0x93)"},
	{"spdk/spdk #500", 0x1, {0x9d005304, 0x0800011b, 0x0008d0d2},
		"REQ_ERR of RDMA_WRITE (0x08): local protection error (syndrome 0x04 vendor 0x53 hw "
		"0x9d)"},
	{"spdk/spdk #507", 0x3, {0x9d005304, 0x080003f7, 0x40cfb9d2},
		"REQ_ERR of RDMA_WRITE (0x08): local protection error (syndrome 0x04 vendor 0x53 hw "
		"0x9d)"},
	{"NVMe, ConnectX-6, linux-nvme list", 0x0, {0xa9005604, 0x000001e9, 0x0054e8e2},
		"RESP_ERR: local protection error (syndrome 0x04 vendor 0x56 hw 0xa9)"},
	{"the same", 0x0, {0xa9005604, 0x000000ed, 0x0ddaffe2},
		"RESP_ERR: local protection error (syndrome 0x04 vendor 0x56 hw 0xa9)"},
	{"linux-rdma list, 2023", 0x0, {0x0f007806, 0x25000058, 0x00daacd2},
		"REQ_ERR of UMR (0x25): memory window bind error (syndrome 0x06 vendor 0x78 hw "
		"0x0f)"},
	{"linux-rdma list, 2025", 0x0, {0x08007806, 0x250011b9, 0x000eddd2},
		"REQ_ERR of UMR (0x25): memory window bind error (syndrome 0x06 vendor 0x78 hw "
		"0x08)"},
	{"Ethernet, ConnectX-4 Lx, netdev list, 2021", 0x0, {0x60106801, 0x0a001dbb, 0x000f9fd2},
		"REQ_ERR of SEND (0x0a): local length error (syndrome 0x01 vendor 0x68 hw 0x60)"},
	{"Ethernet, netdev list", 0x0, {0x86006802, 0x2500104f, 0x0000bbd2},
		"REQ_ERR of UMR (0x25): local QP operation error (syndrome 0x02 vendor 0x68 hw 0x86)"},
	{"AF_XDP, netdev list", 0x0, {0x01006802, 0x010008f4, 0xde1459d2},
		"REQ_ERR of SEND_INVAL (0x01): local QP operation error (syndrome 0x02 vendor 0x68 hw "
		"0x01)"},
	{"the next CQE of the same", 0x0, {0x0100f905, 0x010008f4, 0xde15cfd2},
		"REQ_ERR of SEND_INVAL (0x01): flushed (syndrome 0x05 vendor 0xf9 hw 0x01)"},
};

#define N_DUMPS (sizeof(dumps) / sizeof(dumps[0]))

static uint8_t buf[2 * 64] __attribute__((aligned(64)));
static __be32 dbrec[2];

/*
 * Decodes the CQE at the start of buf, as an entry of a CQ with two entries. The CQE's owner bit
 * decides the lap of the CQ.
 */
static bool
peek(struct hwq_cqe *rec)
{
	struct hwq_cq cq = {0};

	hwq_cq_init(&cq, buf, 2, dbrec);
	hwq_cq_seek(&cq, (buf[63] & 1) != 0 ? 2 : 0);
	return hwq_cq_peek(&cq, rec);
}

static void
put_word(unsigned int i, uint32_t word)
{
	uint32_t be = htobe32(word);

	memcpy(buf + 4 * i, &be, 4);
}

static void
expect(const char *source, uint32_t qpn, uint16_t counter, uint8_t solicited, const char *text)
{
	char want[256], got[256];
	struct hwq_cqe rec = {0};

	snprintf(want, sizeof(want), "CQE qpn 0x%06x WQE 0x%04x %s", qpn, counter, text);
	hwq_dump_cqe(buf, got, sizeof(got));
	got[strcspn(got, "\n")] = '\0';
	CHECK(strcmp(got, want) == 0, "%s: \"%s\", not \"%s\"", source, got, want);
	CHECK(peek(&rec), "%s: no CQE", source);
	CHECK_EQ(rec.qpn, qpn, source);
	CHECK_EQ(rec.wqe_counter, counter, source);
	CHECK_EQ(rec.solicited, solicited, source);
	hwq_dump_record(&rec, got, sizeof(got));
	got[strcspn(got, "\n")] = '\0';
	CHECK(strcmp(got, want) == 0, "%s: the record is \"%s\"", source, got);
}

static void
case_dumps(void)
{
	for (unsigned int i = 0; i < N_DUMPS; i++) {
		const struct dump *d = &dumps[i];

		memset(buf, 0, sizeof(buf));
		put_word(8, d->word9);
		for (unsigned int w = 0; w < 3; w++)
			put_word(13 + w, d->words13[w]);
		expect(d->source, d->words13[1] & 0xffffff, (uint16_t)(d->words13[2] >> 16),
			(uint8_t)(d->words13[2] >> 1 & 1), d->text);
	}
}

/*
 * CQEs of a receive queue that splits headers from data (netdev list). More words than usual have a
 * value. They must not be read as length or immediate data of the error.
 */
static void
case_whole(void)
{
	static const uint32_t words[16] = {0, 0x044a0000, 0, 0x20009332, 0x55000000, 0xfbcc0000, 0,
		0x07180000, 0, 0, 0, 0x0000004a, 0x0000009a, 0x93003204, 0, 0x0000dae1};
	struct hwq_cqe rec = {0};

	for (unsigned int i = 0; i < 16; i++)
		put_word(i, words[i]);
	expect("the first", 0, 0, 0,
		"RESP_ERR: local protection error (syndrome 0x04 vendor 0x32 hw 0x93)");
	put_word(12, 0x00003bc7);
	put_word(13, 0x93013204);
	put_word(15, 0x0000bfe0);
	expect("the second", 0, 0, 0,
		"RESP_ERR: local protection error (syndrome 0x04 vendor 0x32 hw 0x93)");
	CHECK(peek(&rec), "a CQE");
	CHECK_EQ(rec.byte_cnt, 0, "bytes");
	CHECK_EQ(rec.imm_inval, 0, "immediate");
	CHECK_EQ(rec.timestamp, 0, "time stamp");
}

int
main(void)
{
	RUN("completions in error of real cards are read as their reports say", case_dumps());
	RUN("a completion in error has neither a length nor an immediate", case_whole());
	return check_failures != 0;
}
