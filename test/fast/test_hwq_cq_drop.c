/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * If the completions of one QP are dropped, the completions of other QPs must stay in the CQ. The
 * test writes the entries.
 */
#include <stdlib.h>

#include "check.h"

#include "hwq_cq_drop.h"

#define N_CQE 8

static uint8_t entries[N_CQE * 64] __attribute__((aligned(64)));
static __be32 dbrec[2];
static struct hwq_cq cq;

/*
 * Writes n entries of the first lap: QPN at byte 56, WQE counter at 60, opcode and owner bit at 63.
 */
static void
start(const uint32_t *qpn, unsigned int n)
{
	unsigned int i;

	memset(entries, 0, sizeof(entries));
	for (i = 0; i < N_CQE; i++)
		entries[i * 64 + 63] = 0xf0;
	for (i = 0; i < n; i++) {
		entries[i * 64 + 57] = (uint8_t)(qpn[i] >> 16);
		entries[i * 64 + 58] = (uint8_t)(qpn[i] >> 8);
		entries[i * 64 + 59] = (uint8_t)qpn[i];
		entries[i * 64 + 61] = (uint8_t)i;
		entries[i * 64 + 63] = 0;
	}
	memset(&cq, 0, sizeof(cq));
	hwq_cq_init(&cq, entries, N_CQE, dbrec);
}

/*
 * Checks that exactly these entries are left, in this order. want: QPN and WQE counter of each
 * entry.
 */
static void
expect(const uint32_t (*want)[2], unsigned int n, const char *what)
{
	struct hwq_cqe rec = {0};
	unsigned int i;

	for (i = 0; i < n; i++) {
		CHECK(hwq_cq_peek(&cq, &rec), "%s: entry %u is missing", what, i);
		CHECK(rec.qpn == want[i][0] && rec.wqe_counter == want[i][1],
			"%s: entry %u is of QP 0x%06x, WQE %u", what, i, rec.qpn, rec.wqe_counter);
		hwq_cq_advance(&cq);
	}
	CHECK(!hwq_cq_peek(&cq, &rec), "%s: one entry too many", what);
}

/*
 * Each other QPN differs from the dropped QPN in one of the 24 bits. The entries of the other QPNs
 * must stay.
 */
static void
all_bits_of_the_number(void)
{
	unsigned int bit;

	for (bit = 0; bit < 24; bit++) {
		const uint32_t dropped = 0x5a5a5a, other = dropped ^ 1u << bit;
		const uint32_t qpn[] = {dropped, other, dropped, other};
		const uint32_t left[][2] = {{other, 1}, {other, 3}};

		start(qpn, 4);
		hwq_cq_drop(&cq, dropped, NULL);
		CHECK_EQ(cq.ci, 2, "the consumer index");
		CHECK_EQ(be32toh(dbrec[0]), 2, "the consumer index that the device knows");
		expect(left, 2, "two of four entries are left");
	}
}

/*
 * A QP with an SRQ has sends and receives in the CQ. The drop gives the entries of its receives
 * back to the SRQ, and no entry with the index of a send.
 */
static void
entries_of_an_srq(void)
{
	static uint8_t ring[8 * 32] __attribute__((aligned(64)));
	static uint64_t wr_ids[8];
	static __be32 srq_dbrec;
	const uint32_t mine = 0x123456, qpn[] = {mine, mine, 7, mine, mine};
	struct hwq_srq srq = {.srqn = 1};
	unsigned int i;

	for (i = 0; i < 8; i++)
		ring[i * 32 + 3] = (uint8_t)(i + 1); /* each entry has the index of the next */
	hwq_srq_init(&srq, ring, 8, 32, &srq_dbrec, wr_ids);
	start(qpn, 5);
	/* Entries 1 and 4 are of receives (opcodes 2 and 14), and all others of sends. */
	entries[1 * 64 + 63] = 2 << 4;
	entries[4 * 64 + 63] = 14 << 4;
	hwq_cq_drop(&cq, mine, &srq);
	/* The newest CQE is dropped first. The list ends with the entries that came back. */
	CHECK_EQ(srq.tail, 1, "the last free entry");
	CHECK_EQ(ring[7 * 32 + 3], 4, "the entry after the old tail");
	CHECK_EQ(ring[4 * 32 + 3], 1, "the entry after it");
	expect((const uint32_t[][2]){{7, 2}}, 1, "one entry of another QP is left");
}

int
main(void)
{
	RUN("a drop takes the entries of one QPN, by all of its 24 bits, and keeps the others' "
	    "order",
		all_bits_of_the_number());
	RUN("a drop gives an SRQ the entries of receives back, and no other", entries_of_an_srq());
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
