/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UMR and SET_PSV WQEs as text. The test writes the WQEs by hand, with the layouts of
 * infiniband/mlx5dv.h (mlx5_wqe_umr_ctrl_seg, mlx5_wqe_mkey_context_seg, ...) and of the kernel's
 * linux/mlx5/qp.h (mlx5_bsf, mlx5_seg_set_psv).
 */
#include <stdlib.h>

#include "check.h"

#include "hwq_dump.h"
#include "hwq_qp.h"
#include "hwq_srq.h"

#define TEXT_LEN 4096

static uint8_t wqe[1024];
static char text[TEXT_LEN];

static void
put(size_t at, unsigned int len, uint64_t value)
{
	while (len-- != 0) {
		wqe[at + len] = (uint8_t)value;
		value >>= 8;
	}
}

/* Writes the control segment of WQE 0x1234 of QP 0xabc. */
static void
begin(uint8_t opcode, unsigned int ds, uint32_t imm)
{
	memset(wqe, 0, sizeof(wqe));
	put(0, 4, 0x123400u | opcode);
	put(4, 4, 0xabcu << 8 | ds);
	put(11, 1, 0x08);
	put(12, 4, imm);
}

static void
expect(const char *want)
{
	size_t len = hwq_dump_wqe(wqe, sizeof(wqe), text, sizeof(text));

	CHECK(strcmp(text, want) == 0 && len == strlen(want), "the text is:\n%sand not:\n%s", text,
		want);
}

static void
set_psv(void)
{
	begin(0x20, 2, 0);
	put(16, 4, 0x77);
	put(24, 8, 0x1122334455667788);
	expect("WQE 0x1234 qpn 0x000abc SET_PSV opmod 0x00 ds 2 imm 0x00000000 SIGNALED\n"
	       "  psv 0x000077 signature 0x1122334455667788\n");
}

/*
 * Writes the UMR's control and mkey context segments: flags, units of layout and BSF, mask; access
 * rights, QPN and the key's variant (low byte), flags, start, length.
 */
static void
umr_head(unsigned int ds, unsigned int layout, unsigned int bsf, uint64_t mask)
{
	begin(0x25, ds, 0x500);
	put(16, 1, 0x80);
	put(20, 2, layout);
	put(22, 2, bsf);
	put(24, 8, mask);
	put(66, 1, 1 << 3 | 1 << 4);
	put(68, 4, 0xffffff07);
	put(76, 4, bsf != 0 ? 1u << 30 | 1u << 26 : 0);
	put(88, 8, 4096);
}

static void
list_and_dif(void)
{
	umr_head(16, 4, 4, 1 | 1 << 9 | 1 << 12 | 1 << 13 | 1 << 29);
	put(128, 4, 3000);
	put(132, 4, 0x1100);
	put(136, 8, 0x7000);
	put(144, 4, 1096);
	put(148, 4, 0x2200);
	put(152, 8, 0x9000);
	/*
	 * The BSF is bytes 192 to 255: T10-DIF over blocks of 520 bytes in memory, CRC64 over
	 * blocks of 4048 bytes on the wire.
	 */
	put(192, 4, 0x80cf0602);
	put(200, 4, 0x52000b0b);
	put(204, 4, 0x0a0a);
	put(240, 2, 0xc000);
	put(242, 2, 0xbeef);
	put(244, 4, 0x01020304);
	put(248, 1, 1);
	put(249, 1, 0x88);
	put(253, 1, 0x42);
	expect("WQE 0x1234 qpn 0x000abc UMR opmod 0x00 ds 16 imm 0x00000500 SIGNALED\n"
	       "  umr flags INLINE layout 4 bsf 4 sets LEN SIG_ERR BSF VARIANT FREE\n"
	       "  key qpn 0xffffff variant 0x07 start 0x0 len 4096 errors 1 BSF rights LW RR\n"
	       "  klm addr 0x0000000000007000 len 3000 key 0x00001100\n"
	       "  klm addr 0x0000000000009000 len 1096 key 0x00002200\n"
	       "  klm addr 0x0000000000000000 len 0 key 0x00000000\n"
	       "  klm addr 0x0000000000000000 len 0 key 0x00000000\n"
	       "  signature check 0xcf\n"
	       "  memory blocks of 520 psv 0x000a0a T10-DIF CRC app 0xbeef ref 0x01020304 flags 0x42 seed ones\n"
	       "  wire blocks of 4048 psv 0x000b0b CRC64_XP10 seed ones\n");
}

static void
pattern_and_encryption(void)
{
	unsigned int i;

	umr_head(20, 4, 8, 1 | 1 << 12);
	put(128, 4, 520);
	put(132, 4, 0x400);
	put(136, 4, 7);
	put(142, 2, 2);
	put(144, 2, 600);
	put(146, 2, 512);
	put(148, 4, 0x1100);
	put(152, 8, 0x7000);
	put(160, 2, 8);
	put(162, 2, 8);
	put(164, 4, 0x2200);
	put(168, 8, 0x9000);
	/*
	 * Both domains have one CRC32C over blocks of 4160 bytes, with seed 0; AES-XTS has data
	 * units of 4096 bytes.
	 */
	put(192, 4, 0xd0f0f004);
	put(200, 4, 0x43000b0b);
	put(204, 4, 0x43000a0a);
	put(256, 2, 0xc102);
	put(264, 1, 3);
	for (i = 0; i < 16; i++)
		put(272 + i, 1, i);
	put(288, 4, 0x9999);
	put(296, 8, 0x5ec7e75ec7e75ec7);
	expect("WQE 0x1234 qpn 0x000abc UMR opmod 0x00 ds 20 imm 0x00000500 SIGNALED\n"
	       "  umr flags INLINE layout 4 bsf 8 sets LEN BSF\n"
	       "  key qpn 0xffffff variant 0x07 start 0x0 len 4096 errors 1 BSF rights LW RR\n"
	       "  pattern of 520 bytes, 2 entries, repeated 7\n"
	       "  entry addr 0x0000000000007000 len 512 stride 600 key 0x00001100\n"
	       "  entry addr 0x0000000000009000 len 8 stride 8 key 0x00002200\n"
	       "  signature check 0xf0 copy 0xf0\n"
	       "  memory blocks of 4160 psv 0x000a0a CRC32C\n"
	       "  wire blocks of 4160 psv 0x000b0b CRC32C\n"
	       "  encrypted: on the wire, data alone; units of 4096 dek 0x009999 tweak "
	       "000102030405060708090a0b0c0d0e0f\n");
	CHECK(strstr(text, "5ec7e7") == NULL, "the text says that there is a key tag");
}

/*
 * A buffer of any length must get the first characters of the text. The function must return the
 * length of the whole text.
 */
static void
text_is_cut(const struct hwq_cqe *cqe, const struct hwq_qp *qp)
{
	size_t len = hwq_dump_completion(cqe, qp, text, sizeof(text)), n;
	char cut[sizeof(text)];

	CHECK_EQ(len, strlen(text), "length");
	for (n = 1; n <= len + 1; n++) {
		memset(cut, 'x', sizeof(cut));
		CHECK_EQ(hwq_dump_completion(cqe, qp, cut, n), len, "length of a text that is cut");
		CHECK(memcmp(cut, text, n - 1) == 0 && cut[n - 1] == '\0' && cut[n] == 'x',
			"cut to %zu bytes", n);
	}
}

/*
 * Returns the text for the receive of a good SEND, in entry 0 of the QP, without the completion's
 * line.
 */
static const char *
receive_of(const struct hwq_qp *qp)
{
	const struct hwq_cqe cqe = {.opcode = MLX5_CQE_RESP_SEND, .qpn = 0xabc};
	const char *line_end;

	text_is_cut(&cqe, qp);
	hwq_dump_completion(&cqe, qp, text, sizeof(text));
	line_end = strchr(text, '\n');
	return line_end == NULL ? text : line_end + 1;
}

#define TWO_PIECES                                                                                 \
	"  receive into addr 0x0000000000001000 len 100 lkey 0x00000011\n"                         \
	"  receive into addr 0x0000000000002000 len 200 lkey 0x00000022\n"

/*
 * Entry 0 has as many pieces as an entry can have. The bytes after it belong to the next entry, and
 * must not be read.
 */
static void
full_entries(void)
{
	static const struct hwq_sge pieces[] = {{0x1000, 100, 0x11}, {0x2000, 200, 0x22}};
	static const struct hwq_sge next[] = {{0x3000, 300, 0x33}};
	static _Alignas(64) uint8_t ring[256];
	__be32 dbrec[2] = {0};
	uint64_t wr_ids[4];
	struct hwq_srq srq = {0};
	struct hwq_qp qp = {0};
	unsigned int i;

	hwq_rq_init(&qp.rq, ring, 2, 32, 0xabc, dbrec, NULL, wr_ids);
	CHECK_EQ(hwq_rq_post_list(&qp.rq, 0, pieces, 2), 0, "post");
	CHECK_EQ(hwq_rq_post_list(&qp.rq, 1, next, 1), 0, "post");
	CHECK(strcmp(receive_of(&qp), TWO_PIECES) == 0, "the text is:\n%s", text);

	/* Entries of an SRQ are linked: each contains the index of the next entry. */
	memset(ring, 0, sizeof(ring));
	for (i = 0; i < 4; i++)
		ring[i * 48 + 3] = (uint8_t)((i + 1) % 4);
	hwq_srq_init(&srq, ring, 4, 48, dbrec, wr_ids);
	CHECK_EQ(hwq_srq_post_list(&srq, 0, pieces, 2), 0, "post");
	CHECK_EQ(hwq_srq_post_list(&srq, 1, next, 1), 0, "post");
	qp.srq = &srq;
	CHECK(strcmp(receive_of(&qp), TWO_PIECES) == 0, "the text is:\n%s", text);
}

/* For any bytes, and any number of bytes, no byte after them may be read. */
static void
any_bytes(void)
{
	static const uint8_t opcodes[] = {0x25, 0x20, 0x0a, 0x08};
	unsigned int i, k;

	srand(1);
	for (i = 0; i < 30000; i++) {
		size_t len = (size_t)rand() % 257;
		uint8_t *copy = malloc(len + 1);

		if (copy == NULL)
			return;
		for (k = 0; k < len; k++)
			copy[k] = (uint8_t)(rand() % 4 == 0 ? rand() : 0);
		if (len > 7) {
			copy[3] = opcodes[rand() % 4];
			copy[7] = (uint8_t)rand();
		}
		/* The copy of the bytes ends at the end of readable memory. */
		CHECK(hwq_dump_wqe(copy, len, text, sizeof(text)) > 0, "no text");
		free(copy);
	}
}

int
main(void)
{
	RUN("SET_PSV has its PSV and its signature", set_psv());
	RUN("a list with a T10-DIF signature", list_and_dif());
	RUN("a pattern with equal signatures in both domains, encrypted", pattern_and_encryption());
	RUN("an entry full of pieces ends where the next entry begins", full_entries());
	RUN("any bytes are dumped as text, and no byte after them is read", any_bytes());
	return check_failures == 0 ? 0 : 1;
}
