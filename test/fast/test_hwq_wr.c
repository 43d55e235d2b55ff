/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Batches of work requests, over a ring and a doorbell in plain memory. A batch must return its
 * first error. A batch must be posted as a whole or not at all. An aborted batch must not change
 * the queue.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "check.h"

#include "hwq_wr.h"

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
static const uint8_t data[256];

static void
start(void)
{
	memset(ring, 0xa5, sizeof(ring));
	memset(reg, 0, sizeof(reg));
	memset(&cq, 0, sizeof(cq));
	cq.dbrec = cq_dbrec;
	bf = (struct hwq_bf){.reg = reg, .toggle = 256, .max_ds = 16};
	dbrec[1] = htobe32(START);
	hwq_sq_init(&sq, ring, N_BB, QPN, dbrec, &bf, &cq);
	hwq_sq_start_at(&sq, START);
	hwq_sq_set_wr_ids(&sq, wr_ids);
	sq.max_sge = 8;
	sq.max_inline = 200;
	hwq_sq_set_memcpy(&sq, 0, 0, 1ull << 31);
	hwq_wr_start(&wr, &sq);
}

/* Checks that the queue and the device's memory are as start() left them. */
static void
check_untouched(const char *what)
{
	uint64_t word;

	memcpy(&word, reg, 8);
	CHECK(sq.pi == START && hwq_sq_ci(&sq) == START && sq.rung == START && sq.last == START,
		"%s: an index moved", what);
	CHECK(sq.wr.fm_cache == 0, "%s: a fence is left", what);
	CHECK(be32toh(dbrec[1]) == START && word == 0, "%s: a doorbell was written", what);
}

/* Checks that the batch fails with `want`, and that the ring then has room for a whole batch. */
static void
check_refused(int want, const char *what)
{
	/*
	 * Further work with another error must change nothing: the batch still fails with the first
	 * error.
	 */
	if (want == -EINVAL) {
		hwq_wr_send(&wr);
		hwq_wr_set_inline_data(&wr, data, 201);
	} else {
		hwq_wr_memcpy(&wr, 1, 2, 3, 4, 0);
	}
	hwq_wr_nop(&wr);
	CHECK_EQ(hwq_wr_complete(&wr), want, what);
	check_untouched(what);
}

static void
errors_stick(void)
{
	static const struct hwq_sge sge[9];
	struct hwq_buf huge[2] = {{data, 100}, {data, SIZE_MAX}};
	uint8_t raw[64] = {0};

	start();
	hwq_wr_memcpy(&wr, 1, 2, 3, 4, 0);
	check_refused(-EINVAL, "memcpy of nothing");
	start();
	hwq_wr_memcpy(&wr, 1, 2, 3, 4, (1ull << 31) + 1);
	check_refused(-EINVAL, "memcpy of too much");
	start();
	hwq_wr_send(&wr);
	hwq_wr_set_sge_list(&wr, 9, sge);
	check_refused(-ENOMEM, "too many segments");
	start();
	hwq_wr_send(&wr);
	hwq_wr_set_inline_data(&wr, data, 201);
	check_refused(-ENOMEM, "too much inline data");
	start();
	hwq_wr_send(&wr);
	hwq_wr_set_inline_data_list(&wr, 2, huge);
	check_refused(-ENOMEM, "inline lengths that wrap");
	start();
	hwq_wr_set_sge(&wr, 1, 2, 3);
	check_refused(-EINVAL, "a setter without builder");
	start();
	hwq_wr_send(&wr);
	hwq_wr_send(&wr);
	hwq_wr_set_sge(&wr, 1, 2, 3);
	check_refused(-EINVAL, "a builder without setter");
	start();
	hwq_wr_raw_wqe(&wr, raw);
	check_refused(-EINVAL, "a raw WQE of no length");
	start();
	hwq_wr_rdma_read(&wr, 1, 2);
	CHECK_EQ(hwq_wr_complete(&wr), -EINVAL, "a last builder without setter");
	check_untouched("a last builder without setter");
	start();
	sq.wr.not_rts = true;
	hwq_wr_start(&wr, &sq);
	hwq_wr_nop(&wr);
	check_refused(-EINVAL, "before RTS");
}

/* Begins a batch of a queue of another type, in the same ring. */
static void
start_as(enum hwq_transport transport)
{
	start();
	sq.wr.transport = (uint8_t)transport;
	hwq_wr_start_as(&wr, &sq, transport);
}

/* Each work request here has exactly one error. */
static void
setters_go_with_their_types(void)
{
	static const struct hwq_ah ah;

	start_as(HWQ_TRANSPORT_UD);
	hwq_wr_send(&wr);
	hwq_wr_set_sge(&wr, 1, 2, 3);
	CHECK_EQ(hwq_wr_complete(&wr), -EINVAL, "a datagram without address");
	check_untouched("a datagram without address");
	start_as(HWQ_TRANSPORT_UD);
	hwq_wr_send(&wr);
	hwq_wr_set_ud_addr(&wr, &ah, 1, 2);
	hwq_wr_set_ud_addr(&wr, &ah, 1, 2);
	hwq_wr_set_sge(&wr, 1, 2, 3);
	check_refused(-EINVAL, "two addresses");
	start_as(HWQ_TRANSPORT_DC);
	hwq_wr_rdma_write(&wr, 1, 2);
	hwq_wr_set_sge(&wr, 1, 2, 3);
	hwq_wr_set_sge(&wr, 1, 2, 3);
	hwq_wr_set_dc_addr(&wr, &ah, 1, 2);
	check_refused(-EINVAL, "data twice");
	start_as(HWQ_TRANSPORT_DC);
	hwq_wr_rdma_write(&wr, 1, 2);
	hwq_wr_set_ud_addr(&wr, &ah, 1, 2);
	hwq_wr_set_sge(&wr, 1, 2, 3);
	check_refused(-EINVAL, "an address setter of another type");
	start_as(HWQ_TRANSPORT_XRC);
	hwq_wr_set_xrc_srqn(&wr, 1);
	check_refused(-EINVAL, "an address without builder");
	start_as(HWQ_TRANSPORT_XRC);
	hwq_wr_nop(&wr);
	hwq_wr_set_xrc_srqn(&wr, 1);
	check_refused(-EINVAL, "an address for a builder that takes none");
	start();
	hwq_wr_send(&wr);
	hwq_wr_set_xrc_srqn(&wr, 1);
	hwq_wr_set_sge(&wr, 1, 2, 3);
	check_refused(-EINVAL, "an address on an RC QP");
	start_as(HWQ_TRANSPORT_UD);
	hwq_wr_rdma_read(&wr, 1, 2);
	hwq_wr_set_ud_addr(&wr, &ah, 1, 2);
	hwq_wr_set_sge(&wr, 1, 2, 3);
	check_refused(-EINVAL, "an RDMA read on a UD QP");
	start_as(HWQ_TRANSPORT_ETH);
	hwq_wr_send_imm(&wr, 1);
	hwq_wr_set_sge(&wr, 1, 2, 3);
	check_refused(-EINVAL, "immediate data in a raw packet");
	start();
	hwq_wr_send_tso(&wr, data, 54, 100);
	hwq_wr_set_sge(&wr, 1, 2, 3);
	check_refused(-EINVAL, "TSO on an RC QP");
	start();
	sq.wr.transport = HWQ_TRANSPORT_UD;
	hwq_wr_start(&wr, &sq);
	hwq_wr_nop(&wr);
	check_refused(-EINVAL, "a start for another type");
}

/* The errors must be libmlx5's errors for raw packets, on a port that computes no checksums. */
static void
frames_are_checked(void)
{
	static const struct hwq_sge none;
	struct hwq_buf too_long[2] = {{data, 150}, {data, 100}};

	start_as(HWQ_TRANSPORT_ETH);
	wr.wr_flags = HWQ_WQE_IP_CSUM;
	hwq_wr_send(&wr);
	hwq_wr_set_sge(&wr, 1, 2, 3);
	check_refused(-EINVAL, "checksums");
	start_as(HWQ_TRANSPORT_ETH);
	sq.wr.max_tso_header = 60;
	hwq_wr_send_tso(&wr, data, 13, 100);
	hwq_wr_set_sge(&wr, 1, 2, 3);
	check_refused(-EINVAL, "headers too short");
	start_as(HWQ_TRANSPORT_ETH);
	sq.wr.max_tso_header = 60;
	hwq_wr_send_tso(&wr, data, 61, 100);
	hwq_wr_set_sge(&wr, 1, 2, 3);
	check_refused(-EINVAL, "headers too long");
	start_as(HWQ_TRANSPORT_ETH);
	hwq_wr_send(&wr);
	hwq_wr_set_inline_data_list(&wr, 2, too_long);
	check_refused(-EINVAL, "a list of too much inline data");
	start_as(HWQ_TRANSPORT_ETH);
	sq.wr.eth_inline = 18;
	hwq_wr_send(&wr);
	hwq_wr_set_sge_list(&wr, 0, &none);
	check_refused(-EINVAL, "no header at all");
	start_as(HWQ_TRANSPORT_ETH);
	sq.wr.eth_inline = 18;
	hwq_wr_send(&wr);
	hwq_wr_set_inline_data(&wr, data, 17);
	check_refused(-EINVAL, "a frame shorter than its header");
}

static void
full_ring_refuses_the_batch(void)
{
	unsigned int n;

	start();
	for (n = 0; n < N_BB; n++)
		hwq_wr_nop(&wr);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "a batch as large as the ring");
	CHECK_EQ(sq.pi, (uint16_t)(START + N_BB), "producer index");
	hwq_wr_start(&wr, &sq);
	hwq_wr_nop(&wr);
	CHECK_EQ(hwq_wr_complete(&wr), -ENOMEM, "one more");
	hwq_sq_complete(&sq, START);
	hwq_wr_start(&wr, &sq);
	hwq_wr_nop(&wr);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "one WQE completed makes room for one");
	start();
	for (n = 0; n < N_BB + 1; n++)
		hwq_wr_nop(&wr);
	check_refused(-ENOMEM, "a batch larger than the ring");

	start();
	for (n = 0; n < 9; n++)
		hwq_wr_local_inv(&wr, 7);
	check_refused(-ENOMEM, "nine WQEs of two WQEBBs in a ring of sixteen");
}

static void
abort_leaves_no_trace(void)
{
	start();
	hwq_wr_nop(&wr);
	hwq_wr_local_inv(&wr, 7);
	hwq_wr_send(&wr);
	hwq_wr_set_inline_data(&wr, data, 200);
	hwq_wr_abort(&wr);
	check_untouched("abort");
	CHECK_EQ(hwq_wr_complete(&wr), 0, "an empty batch");
	check_untouched("an empty batch");
	hwq_wr_memcpy(&wr, 1, 2, 3, 4, 0);
	hwq_wr_abort(&wr);
	hwq_wr_nop(&wr);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "after an aborted error");
	CHECK_EQ(sq.pi, (uint16_t)(START + 1), "producer index");
}

static uint8_t
fence_of(uint16_t index)
{
	return ring[(index & (N_BB - 1)) * 64 + 11] >> 5;
}

static void
write_one(unsigned int flags)
{
	wr.wr_flags = flags;
	hwq_wr_rdma_write(&wr, 1, 2);
	hwq_wr_set_sge(&wr, 1, 2, 3);
}

/*
 * The WQE after a LOCAL_INV must have the right value of the field FM: 1 for the small fence, and 4
 * for the fence that a caller asks for (infiniband/mlx5dv.h, control segment).
 */
static void
fence_of_local_inv(void)
{
	start();
	hwq_wr_local_inv(&wr, 7);
	write_one(0);
	write_one(0);
	hwq_wr_local_inv(&wr, 8);
	write_one(HWQ_WQE_FENCE);
	write_one(0);
	hwq_wr_local_inv(&wr, 9);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "complete");
	CHECK_EQ(fence_of(START), 0, "LOCAL_INV");
	CHECK_EQ(fence_of(START + 2), 1, "the WQE behind LOCAL_INV");
	CHECK_EQ(fence_of(START + 3), 0, "the second WQE behind LOCAL_INV");
	CHECK_EQ(fence_of((uint16_t)(START + 6)), 4, "the caller's own fence");
	CHECK_EQ(fence_of((uint16_t)(START + 7)), 0, "behind the caller's own fence");
	hwq_wr_start(&wr, &sq);
	write_one(0);
	hwq_wr_abort(&wr);
	hwq_wr_start(&wr, &sq);
	write_one(0);
	write_one(0);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "complete");
	CHECK_EQ(fence_of((uint16_t)(START + 10)), 1, "the next batch, after an aborted one");
	CHECK_EQ(fence_of((uint16_t)(START + 11)), 0, "the second WQE of the next batch");
}

/*
 * Each WQE must have its wr_id. Index 65530 is WQEBB 10 of 16. After two WQEs of 4 WQEBBs, a fill
 * (NOP) of two WQEBBs is at the ring's end, so both the ring and the 16-bit index wrap.
 */
static void
wr_ids_go_with_their_wqes(void)
{
	start();
	wr.wr_id = 111;
	hwq_wr_send(&wr);
	hwq_wr_set_inline_data(&wr, data, 200);
	wr.wr_id = 222;
	hwq_wr_send(&wr);
	hwq_wr_set_inline_data(&wr, data, 200);
	wr.wr_id = 333;
	hwq_wr_nop(&wr);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "complete");
	CHECK_EQ(hwq_sq_wr_id(&sq, START), 111, "wr_id at 65530");
	CHECK_EQ(hwq_sq_wr_id(&sq, 0), 222, "wr_id behind the fill");
	CHECK_EQ(hwq_sq_wr_id(&sq, 4), 333, "wr_id of the last");
	CHECK_EQ(sq.pi, 5, "producer index past 65535");
	CHECK_EQ(be32toh(dbrec[1]), 5, "doorbell record");
	check_bytes(reg, ring + 4 * 64, 8, "doorbell of the last WQE");
	CHECK_EQ(ring[14 * 64 + 7], 8, "the fill is two WQEBBs long");
}

static void
one_wqe_goes_by_blueflame(void)
{
	start();
	write_one(HWQ_WQE_SIGNALED);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "complete");
	check_bytes(reg, ring + 10 * 64, 64, "BlueFlame");
	CHECK_EQ(bf.offset, 256, "the other half of the register is next");
	hwq_wr_start(&wr, &sq);
	write_one(0);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "complete");
	check_bytes(reg + 256, ring + 11 * 64, 64, "BlueFlame of the next batch");
}

/*
 * If two WQEs are pending, the doorbell must have 8 bytes. BlueFlame would send only the last WQE,
 * so the device would not see the WQE before it.
 */
static void
two_pending_wqes_go_by_doorbell(void)
{
	static const uint8_t zeros[56];

	start();
	hwq_wqe_nop(&sq, 0);
	hwq_wr_start(&wr, &sq);
	write_one(0);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "behind a WQE that was not announced");
	check_bytes(reg, ring + 11 * 64, 8, "a doorbell");
	check_bytes(reg + 8, zeros, 56, "no BlueFlame");
	hwq_wr_start(&wr, &sq);
	write_one(0);
	write_one(0);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "two in a batch");
	check_bytes(reg + 256, ring + 13 * 64, 8, "a doorbell of two");
	check_bytes(reg + 264, zeros, 56, "no BlueFlame of two");
}

/*
 * Writes a CQE as a device does: QPN and wqe_counter big endian, opcode in bits 7:4, solicited bit
 * 1, owner bit 0.
 */
static void
put_cqe(struct mlx5_cqe64 *e, uint32_t qpn, uint16_t counter, uint8_t op_own)
{
	memset(e, 0, sizeof(*e));
	e->sop_drop_qpn = htobe32(0x08000000 | qpn);
	e->wqe_counter = htobe16(counter);
	e->op_own = op_own;
}

static void
good_completions_only(void)
{
	static struct mlx5_cqe64 entries[4] __attribute__((aligned(64)));
	uint64_t ids[4];
	unsigned int i;

	start();
	for (i = 0; i < 4; i++)
		put_cqe(&entries[i], 0, 0, 0xf0);
	hwq_cq_init(&cq, entries, 4, cq_dbrec);
	for (i = 0; i < 8; i++) {
		wr.wr_id = 100 + i;
		write_one(HWQ_WQE_SIGNALED);
	}
	CHECK_EQ(hwq_wr_complete(&wr), 0, "complete");
	CHECK_EQ(hwq_wr_poll(&sq, ids, 4), 0, "no CQE is written yet");
	put_cqe(&entries[0], QPN, START, 0);
	put_cqe(&entries[1], QPN, (uint16_t)(START + 2), 2);
	put_cqe(&entries[2], QPN + 1, 3, 0);
	CHECK_EQ(hwq_wr_poll(&sq, ids, 4), 2, "the poll stops at another QP's CQE");
	CHECK(ids[0] == 100 && ids[1] == 102, "wr_ids");
	CHECK_EQ(hwq_sq_ci(&sq), (uint16_t)(START + 3), "freed, with the unsignalled WQEs before");
	CHECK_EQ(be32toh(cq_dbrec[0]), 0, "not published");
	hwq_wr_start(&wr, &sq);
	write_one(0);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "complete");
	CHECK_EQ(be32toh(cq_dbrec[0]), 2, "published with the next batch");
	put_cqe(&entries[2], QPN, (uint16_t)(START + 3), MLX5_CQE_REQ_ERR << 4);
	CHECK_EQ(hwq_wr_poll(&sq, ids, 4), 0, "an error");
	put_cqe(&entries[2], QPN, (uint16_t)(START + 3), MLX5_CQE_RESP_SEND << 4);
	CHECK_EQ(hwq_wr_poll(&sq, ids, 4), 0, "a receive");
	put_cqe(&entries[2], QPN, (uint16_t)(START + 3), 0);
	put_cqe(&entries[3], QPN, (uint16_t)(START + 4), 0);
	CHECK_EQ(hwq_wr_poll(&sq, ids, 1), 1, "no more than asked for");
	CHECK_EQ(hwq_wr_poll(&sq, ids, 4), 1, "an entry of the lap before is not taken");
	CHECK_EQ(ids[0], 104, "wr_id");
	put_cqe(&entries[0], QPN, (uint16_t)(START + 5), 1);
	CHECK_EQ(hwq_wr_poll(&sq, ids, 4), 1, "the entries of the next lap");
	CHECK_EQ(ids[0], 105, "wr_id");
}

/* ------------------------------------------------------------------ order of the stores */

/*
 * The first store to the send doorbell record, and the first store to the doorbell register, cause
 * a page fault. The handler records what the device could read at that moment.
 */
static uint8_t *trap_dbrec, *trap_reg;
static volatile uint32_t ci_at_dbrec, ci_at_reg, pi_at_reg;
static volatile unsigned int trapped;

static void
on_store(int sig, siginfo_t *info, void *context)
{
	uint8_t *page = (uint8_t *)((uintptr_t)info->si_addr & ~(uintptr_t)4095);

	(void)sig, (void)context;
	if (page != trap_dbrec && page != trap_reg)
		abort();
	if (page == trap_dbrec)
		ci_at_dbrec = be32toh(cq_dbrec[0]);
	if (page == trap_reg) {
		ci_at_reg = be32toh(cq_dbrec[0]);
		pi_at_reg = be32toh(((__be32 *)(void *)trap_dbrec)[1]);
	}
	trapped++;
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

/*
 * Starts a ring whose doorbell record and register are on pages that cause faults, with three
 * completions that are not published.
 */
static void
start_trapped(void)
{
	start();
	cq.ci = 3;
	sq.dbrec = (__be32 *)(void *)trap_dbrec;
	bf.reg = trap_reg;
	cq_dbrec[0] = 0;
	trapped = 0;
	ci_at_dbrec = ci_at_reg = pi_at_reg = ~0u;
	mprotect(trap_dbrec, 4096, PROT_READ);
	mprotect(trap_reg, 4096, PROT_READ);
}

static void
check_order(const char *what)
{
	CHECK(trapped == 2, "%s: %u of the two stores were seen", what, trapped);
	CHECK(ci_at_dbrec == 3, "%s: consumer index 0x%x at the doorbell record's store", what,
		ci_at_dbrec);
	CHECK(ci_at_reg == 3, "%s: consumer index 0x%x at the doorbell", what, ci_at_reg);
	CHECK(pi_at_reg == (uint16_t)(START + 1), "%s: producer index 0x%x at the doorbell", what,
		pi_at_reg);
}

static void
doorbell_comes_last(void)
{
	struct sigaction act = {.sa_sigaction = on_store, .sa_flags = SA_SIGINFO}, old;

	trap_dbrec = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	trap_reg = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (trap_dbrec == MAP_FAILED || trap_reg == MAP_FAILED ||
		sigaction(SIGSEGV, &act, &old) != 0) {
		CHECK(false, "no pages that trap");
		return;
	}
	start_trapped();
	hwq_wr_nop(&wr);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "a NOP");
	check_order("hwq_wr_complete()");
	start_trapped();
	hwq_wqe_nop(&sq, 0);
	hwq_sq_ring(&sq);
	check_order("hwq_sq_ring()");
	sigaction(SIGSEGV, &old, NULL);
	munmap(trap_dbrec, 4096);
	munmap(trap_reg, 4096);
}

int
main(void)
{
	RUN("the first error stays, and nothing is posted", errors_stick());
	RUN("setters and builders are refused on QPs of other types",
		setters_go_with_their_types());
	RUN("frames are checked as libmlx5 checks them", frames_are_checked());
	RUN("a batch that does not fit is refused as a whole", full_ring_refuses_the_batch());
	RUN("an aborted batch leaves no trace", abort_leaves_no_trace());
	RUN("the WQE after a LOCAL_INV has a fence", fence_of_local_inv());
	RUN("each WQE has its wr_id, past fills and the wrap of the index",
		wr_ids_go_with_their_wqes());
	RUN("a poll returns the wr_ids of good completions, up to the first CQE of another kind",
		good_completions_only());
	RUN("a batch of one WQE is posted by BlueFlame", one_wqe_goes_by_blueflame());
	RUN("two pending WQEs are posted by a doorbell of 8 bytes",
		two_pending_wqes_go_by_doorbell());
	RUN("the CQ's index is written first, then the doorbell record, then the doorbell",
		doorbell_comes_last());
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
