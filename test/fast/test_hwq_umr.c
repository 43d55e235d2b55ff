/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UMR WQEs in a ring in plain memory. The expected bytes are written by hand from
 * infiniband/mlx5dv.h and the manual pages. Also tested: errors, prepared images, and rings that
 * are full or near their end.
 */
#include <errno.h>
#include <stdlib.h>

#include "check.h"

#include "hwq_umr_image.h"
#include "hwq_wqe_umr.h"

#define N_BB  16
#define QPN   0x123456
#define START 65530

static uint8_t ring[N_BB * 64] __attribute__((aligned(64)));
static uint8_t reg[1024] __attribute__((aligned(64)));
static uint64_t wr_ids[N_BB];
static __be32 dbrec[2], cq_dbrec[2];
static struct hwq_bf bf;
static struct hwq_cq cq;
static struct hwq_sq sq;
static struct hwq_wr wr;
static struct hwq_mkey mkey;

static const struct hwq_sge two[] = {{0x1122334455667788, 0x100, 0x0a0b0c0d}, {1, 0x20, 2}};
static const struct hwq_sge many[20];
static const struct mlx5dv_mr_interleaved strides[20] = {{0x10, 5, 7, 9}};

static void
start_at(uint16_t pi)
{
	struct mlx5dv_mkey dv = {.lkey = 0xabcd56, .rkey = 0xabcd56};

	memset(ring, 0xa5, sizeof(ring));
	memset(reg, 0, sizeof(reg));
	memset(&cq, 0, sizeof(cq));
	cq.dbrec = cq_dbrec;
	bf = (struct hwq_bf){.reg = reg, .toggle = 256, .max_ds = 16};
	hwq_sq_init(&sq, ring, N_BB, QPN, dbrec, &bf, &cq);
	hwq_sq_start_at(&sq, pi);
	hwq_sq_set_wr_ids(&sq, wr_ids);
	sq.wr.max_umr_ds = 12;
	hwq_sq_set_memcpy(&sq, 0, 0, 1ull << 31);
	hwq_mkey_adopt(&mkey, &dv, 8, HWQ_MKEY_UPDATE_VARIANT);
	hwq_wr_start(&wr, &sq);
	wr.wr_flags = HWQ_WQE_INLINE | HWQ_WQE_SIGNALED;
}

static void
start(void)
{
	start_at(START);
}

/* Writes bytes into an expected WQE. The text is hexadecimal, with spaces. */
static void
put(uint8_t *want, const char *hex)
{
	while (*hex != '\0') {
		char *end;

		*want++ = (uint8_t)strtoul(hex, &end, 16);
		hex = end;
	}
}

static void
check_wqe(uint16_t index, const uint8_t *want, size_t len, const char *what)
{
	check_bytes(hwq_sq_at(&sq, index), want, len, what);
}

static void
golden_list(void)
{
	uint8_t want[192] = {0};

	put(want, "00 ff fa 25  12 34 56 0c  00 00 00 08  00 ab cd 56");
	put(want + 16, "80 00 00 00  00 04 00 00  00 00 00 00 20 3c 20 01");
	put(want + 64, "00 00 18 00  ff ff ff 56");
	put(want + 88, "00 00 00 00 00 00 01 20");
	put(want + 128, "00 00 01 00  0a 0b 0c 0d  11 22 33 44 55 66 77 88");
	put(want + 144, "00 00 00 20  00 00 00 02  00 00 00 00 00 00 00 01");
	start();
	hwq_wr_mr_list(&wr, &mkey, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, 2, two);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "a list");
	check_wqe(START, want, sizeof(want), "a list");
	CHECK_EQ(sq.pi, (uint16_t)(START + 3), "WQEBBs");
	CHECK_EQ(sq.wr.fm_cache, 0x20, "the fence that it leaves");
	/* A UMR is never sent by BlueFlame, so the doorbell must write exactly eight bytes. */
	memset(want + 8, 0, sizeof(want) - 8);
	check_bytes(reg, want, sizeof(want), "the doorbell register");
}

static void
golden_pattern(void)
{
	uint8_t want[192] = {0};

	put(want, "00 00 06 25  12 34 56 0c  00 00 00 28  00 ab cd 00");
	put(want + 16, "80 00 00 00  00 04 00 00  00 00 00 00 20 3c 20 01");
	put(want + 64, "00 00 60 00  ff ff ff 00");
	put(want + 88, "00 00 00 00 00 00 00 0f");
	put(want + 128, "00 00 00 05  00 00 04 00  00 00 00 03  00 00 00 01");
	put(want + 144, "00 0c 00 05  00 00 00 09  00 00 00 00 00 00 00 10");
	start_at(0);
	hwq_mkey_set_tag(&mkey, 0);
	hwq_wr_mr_list(&wr, &mkey, 0, 0, NULL);
	hwq_wr_mr_list(&wr, &mkey, 0, 8, many);
	/* The small fence: this UMR must wait for the previous UMR. */
	hwq_wr_mr_interleaved(&wr, &mkey, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC, 3, 1,
		strides);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "a pattern");
	check_wqe(6, want, sizeof(want), "a pattern");
	CHECK_EQ(sq.pi, 9, "two WQEBBs for nothing, four for eight entries, three for two units");
}

/* For a key whose variant (low byte) is 0, the builders of one WQE must write the bytes above. */
static void
golden_single_wqes(void)
{
	const unsigned int read = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	uint8_t want[192] = {0}, bell[8];

	put(want, "00 ff fa 25  12 34 56 0c  00 00 00 08  00 ab cd 00");
	put(want + 16, "80 00 00 00  00 04 00 00  00 00 00 00 20 3c 20 01");
	put(want + 64, "00 00 18 00  ff ff ff 00");
	put(want + 88, "00 00 00 00 00 00 01 20");
	put(want + 128, "00 00 01 00  0a 0b 0c 0d  11 22 33 44 55 66 77 88");
	put(want + 144, "00 00 00 20  00 00 00 02  00 00 00 00 00 00 00 01");
	start();
	hwq_mkey_set_tag(&mkey, 0);
	CHECK_EQ(hwq_wqe_mr_list(&sq, &mkey, read, 2, two, HWQ_WQE_SIGNALED), 3, "a list");
	check_wqe(START, want, sizeof(want), "a list");
	CHECK_EQ(sq.pi, (uint16_t)(START + 3), "WQEBBs");
	CHECK_EQ(sq.last, START, "where it starts");
	/* The doorbell must write exactly eight bytes, because a UMR is never sent by BlueFlame. */
	hwq_sq_ring(&sq);
	memcpy(bell, want, sizeof(bell));
	memset(want, 0, sizeof(want));
	memcpy(want, bell, sizeof(bell));
	check_bytes(reg, want, sizeof(want), "the doorbell register");

	memset(want, 0, sizeof(want));
	put(want, "00 00 00 25  12 34 56 0c  00 00 00 00  00 ab cd 00");
	put(want + 16, "80 00 00 00  00 04 00 00  00 00 00 00 20 3c 20 01");
	put(want + 64, "00 00 60 00  ff ff ff 00");
	put(want + 88, "00 00 00 00 00 00 00 0f");
	put(want + 128, "00 00 00 05  00 00 04 00  00 00 00 03  00 00 00 01");
	put(want + 144, "00 0c 00 05  00 00 00 09  00 00 00 00 00 00 00 10");
	start_at(0);
	hwq_mkey_set_tag(&mkey, 0);
	CHECK_EQ(hwq_wqe_mr_interleaved(&sq, &mkey,
			 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC, 3, 1, strides, 0),
		3, "a pattern");
	check_wqe(0, want, sizeof(want), "a pattern");
	/*
	 * The WQE that uses the key must have one bit in its control segment, which makes it wait
	 * for the UMR.
	 */
	CHECK_EQ(hwq_wqe_rdma_read(&sq, 1, 2, 0xabcd00, 0, 4, HWQ_WQE_AFTER_UMR), 1, "a read");
	CHECK_EQ(((uint8_t *)hwq_sq_at(&sq, 3))[11], 0x20, "its fence");
}

static void
single_wqes_that_are_not_possible(void)
{
	uint16_t pi;

	start();
	CHECK_EQ(hwq_wqe_mr_list(&sq, &mkey, 0, 2, two, 0), -EINVAL, "a variant");
	hwq_mkey_set_tag(&mkey, 0);
	CHECK_EQ(hwq_wqe_mr_list(&sq, &mkey, 16, 2, two, 0), -EINVAL, "access flags");
	CHECK_EQ(hwq_wqe_mr_list(&sq, &mkey, 0, 9, many, 0), -ENOMEM, "nine entries");
	CHECK_EQ(hwq_wqe_mr_interleaved(&sq, &mkey, 0, 2, 9, strides, 0), -ENOMEM, "nine entries");
	CHECK_EQ(sq.pi, START, "nothing was written");
	/* A ring of sixteen WQEBBs has room for five UMRs of three WQEBBs. */
	for (pi = 0; pi < 5; pi++)
		CHECK(hwq_wqe_mr_list(&sq, &mkey, 0, 4, many, 0) == 3, "room for list %u", pi);
	pi = sq.pi;
	CHECK_EQ(hwq_wqe_mr_list(&sq, &mkey, 0, 4, many, 0), 0, "full");
	CHECK_EQ(hwq_wqe_mr_interleaved(&sq, &mkey, 0, 2, 3, strides, 0), 0, "full");
	CHECK_EQ(sq.pi, pi, "nothing was written");
	/*
	 * A ring of four WQEBBs has no room for two UMRs of three WQEBBs, so the builder must
	 * refuse.
	 */
	hwq_sq_init(&sq, ring, 4, QPN, dbrec, &bf, &cq);
	CHECK_EQ(hwq_wqe_mr_list(&sq, &mkey, 0, 4, many, 0), -EINVAL, "a short ring");
	CHECK_EQ(hwq_wqe_mr_interleaved(&sq, &mkey, 0, 2, 3, strides, 0), -EINVAL, "a short ring");
}

/* The key's length must be the sum of the pieces' lengths, in 64 bits. */
static void
list_lengths(void)
{
	static const struct {
		uint32_t piece;
		unsigned int n;
		uint64_t len;
	} lists[] = {{0x7fffffff, 1, 0x7fffffff}, {0x80000000, 1, 0x80000000},
		{0x40000000, 2, 0x80000000}, {0xffffffff, 1, 0xffffffff},
		{0x80000000, 2, 0x100000000}, {0xffffffff, 7, 0x6fffffff9}};
	struct hwq_sge sge[8] = {{0, 0, 0}};
	unsigned int i, k;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		__be64 len;

		for (k = 0; k < lists[i].n; k++)
			sge[k].len = lists[i].piece;
		start();
		hwq_wr_mr_list(&wr, &mkey, 0, (uint16_t)lists[i].n, sge);
		CHECK_EQ(hwq_wr_complete(&wr), 0, "a list");
		memcpy(&len, (uint8_t *)hwq_sq_at(&sq, START) + 88, sizeof(len));
		CHECK_EQ(be64toh(len), lists[i].len, "the length of its key");
	}
}

static void
golden_windows(void)
{
	struct ibv_mr region = {.lkey = 0x0a0b0c0d};
	struct ibv_mw mw = {.rkey = 0xdead11};
	struct ibv_mw_bind_info info = {.mr = &region,
		.addr = 0x1122334455667788,
		.length = 1u << 31,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
	uint8_t bind[192] = {0}, unbind[128] = {0};

	put(bind, "00 ff fa 25  12 34 56 0c  00 00 00 08  00 de ad 11");
	put(bind + 16, "b0 00 00 00  00 04 00 00  00 00 00 00 20 3c 60 41");
	put(bind + 64, "00 00 20 00  12 34 56 77");
	put(bind + 80, "11 22 33 44 55 66 77 88  00 00 00 00 80 00 00 00");
	put(bind + 128, "80 00 00 00  0a 0b 0c 0d  11 22 33 44 55 66 77 88");
	put(unbind, "00 ff fd 25  12 34 56 08  00 00 00 80  00 de ad 11");
	put(unbind + 16, "98 00 00 00  00 00 00 00  00 00 00 00 20 00 60 00");
	put(unbind + 64, "40 00 00 00  ff ff ff 99");
	start();
	wr.wr_flags = HWQ_WQE_SIGNALED;
	hwq_wr_bind_mw(&wr, &mw, 0x77, &info);
	info.length = 0;
	wr.wr_flags = HWQ_WQE_FENCE;
	hwq_wr_bind_mw(&wr, &mw, 0x99, &info);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "windows");
	check_wqe(START, bind, sizeof(bind), "bound");
	check_wqe((uint16_t)(START + 3), unbind, sizeof(unbind), "unbound");
}

/* ------------------------------------------------------------------ errors */

static void
check_refused(int want, const char *what)
{
	struct hwq_sq before = sq;

	CHECK_EQ(hwq_wr_complete(&wr), want, what);
	CHECK(memcmp(&before, &sq, sizeof(sq)) == 0, "%s left a trace", what);
}

static void
errors(void)
{
	struct ibv_mr region = {0};
	struct ibv_mw mw = {0};
	struct ibv_mw_bind_info info = {.mr = &region, .length = (1ull << 31) + 1};

	start();
	hwq_wr_mr_list(&wr, &mkey, 1u << 4, 2, two);
	check_refused(-EINVAL, "an access flag that keys do not have");
	start();
	hwq_wr_mr_list(&wr, &mkey, 0, 9, many);
	check_refused(-ENOMEM, "more than the key has room for");
	start();
	mkey.max_entries = 16;
	hwq_mkey_set_variant(&mkey, 0);
	hwq_wr_mr_list(&wr, &mkey, 0, 13, many);
	check_refused(-ENOMEM, "more than a WQE has room for");
	start();
	mkey.max_entries = 16;
	hwq_wr_mr_interleaved(&wr, &mkey, 0, 1, 12, strides);
	check_refused(-ENOMEM, "a pattern takes one unit more");
	start();
	mkey.flags = 0;
	hwq_wr_mr_list(&wr, &mkey, 0, 2, two);
	check_refused(-EOPNOTSUPP, "a new variant for a pool without HWQ_MKEY_UPDATE_VARIANT");
	start();
	wr.wr_flags = HWQ_WQE_SIGNALED;
	hwq_wr_memcpy(&wr, 1, 2, 3, 4, 0);
	hwq_wr_mr_list(&wr, &mkey, 0, 2, two);
	check_refused(-EOPNOTSUPP, "a UMR without INLINE, after another error");
	start();
	hwq_wr_memcpy(&wr, 1, 2, 3, 4, 0);
	hwq_wr_bind_mw(&wr, &mw, 0, &info);
	check_refused(-EINVAL, "the batch returns its first error");
	start();
	hwq_wr_bind_mw(&wr, &mw, 0, &info);
	check_refused(-EOPNOTSUPP, "a window of more than 2 GiB");
	start();
	sq.wr.not_rts = true;
	hwq_wr_start(&wr, &sq);
	hwq_wr_mr_list(&wr, &mkey, 0, 2, two);
	check_refused(-EINVAL, "before RTS");
}

/* ------------------------------------------------------------------ images */

static void
images(void)
{
	static const uint64_t addr[] = {two[0].addr, two[1].addr};
	struct hwq_sge elsewhere[2] = {two[0], two[1]};
	struct hwq_umr_image image;
	uint8_t want[192];
	unsigned int i;

	elsewhere[0].addr = elsewhere[1].addr = 0;
	start();
	hwq_wr_mr_list(&wr, &mkey, 15, 2, two);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "the builder");
	memcpy(want, hwq_sq_at(&sq, START), sizeof(want));
	for (i = 0; i < 2; i++) {
		memset(&image, 0x5a, sizeof(image));
		CHECK_EQ(hwq_umr_image_list(&image, 15, 2, i == 0 ? two : elsewhere), 0, "image");
		start();
		if (i == 0)
			hwq_wr_umr_image(&wr, &mkey, &image);
		else
			hwq_wr_umr_image_at(&wr, &mkey, &image, addr);
		CHECK_EQ(hwq_wr_complete(&wr), 0, "the image");
		check_wqe(START, want, sizeof(want), "an image");
	}
	CHECK_EQ(hwq_umr_image_list(&image, 16, 2, two), -EINVAL,
		"an access flag that keys do not have");
	CHECK_EQ(hwq_umr_image_list(&image, 0, 53, NULL), -ENOMEM, "more than any WQE takes");
	CHECK_EQ(hwq_umr_image_pattern(&image, 0, 1, 52, NULL), -ENOMEM,
		"one unit more than the key has room for");
	start();
	mkey.flags |= HWQ_MKEY_SIG;
	mkey.plain_end = 0;
	hwq_wr_umr_image(&wr, &mkey, &image);
	check_refused(-EINVAL, "the image of a key that signs");
}

/* ------------------------------------------------------------------ the ring */

/*
 * At every index of the ring, a UMR must be contiguous or be refused. If it would cross the ring's
 * end, a fill (a NOP up to the end) must precede it.
 */
static void
every_place(void)
{
	for (unsigned int used = 0; used < N_BB; used++) {
		for (unsigned int at = 0; at < N_BB; at++) {
			uint16_t pi = (uint16_t)(START + at), to = pi;
			uint32_t tail = N_BB - pi % N_BB, need = tail < 3 ? tail + 3 : 3;
			uint8_t nop[16] = {0};

			start_at(pi);
			hwq_sq_set_ci(&sq, (uint16_t)(pi - used));
			hwq_wr_start(&wr, &sq);
			wr.wr_flags = HWQ_WQE_INLINE;
			hwq_wr_mr_list(&wr, &mkey, 0, 2, two);
			if (used + need > N_BB) {
				check_refused(-ENOMEM, "no room");
				continue;
			}
			CHECK_EQ(hwq_wr_complete(&wr), 0, "room");
			if (tail < 3)
				to = (uint16_t)(pi + tail);
			CHECK_EQ(sq.pi, (uint16_t)(to + 3), "where the UMR ends");
			CHECK(ring[to % N_BB * 64 + 3] == 0x25, "at %u: not at its place", at);
			if (to == pi)
				continue;
			nop[1] = (uint8_t)(pi >> 8), nop[2] = (uint8_t)pi;
			put(nop + 4, "12 34 56");
			nop[7] = (uint8_t)(tail * 4);
			check_wqe(pi, nop, sizeof(nop), "a fill");
		}
	}
}

int
main(void)
{
	RUN("a list has the bytes of its format", golden_list());
	RUN("a pattern has the bytes of its format", golden_pattern());
	RUN("WQEs without a batch have the same bytes", golden_single_wqes());
	RUN("WQEs without a batch that are not possible are refused",
		single_wqes_that_are_not_possible());
	RUN("a list of 2 GiB and more has the sum of its pieces as length", list_lengths());
	RUN("windows have the bytes of their format", golden_windows());
	RUN("invalid requests are refused with libmlx5's errors", errors());
	RUN("an image has the bytes that the builder writes", images());
	RUN("a UMR is contiguous, wherever the ring ends", every_place());
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
