/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that fail in hardware: the status of each descriptor, which descriptors are flushed,
 * and which descriptors run afterwards. To make operations fail, the test deregisters keys that the
 * engine still takes for valid.
 */
#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_log.h>

#include <softhca.h>

#include "gantry_engine.h"
#include "gantry_log_rate.h"
#include "gantry_queue.h"

#include "gantry_arena.h"

#define MAX_BURST 64

/* MLX5_CQE_SYNDROME_*, with the values of mlx5dv.h and ibv_poll_cq(3). */
#define SYNDROME_LOCAL_PROT    0x04
#define SYNDROME_REMOTE_ACCESS 0x13

static bool mmo;

/*
 * Checks that piece i of dst has the bytes of src if moved[i] is set, and only bytes ENV_UNTOUCHED
 * otherwise.
 */
static void
check_pieces(const bool *moved, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		CHECK_EQ(env_is_moved(src + i * piece, dst + i * piece, piece), moved[i]);
}

/* ------------------------------------------------------------------ copies */

static void
a_failed_copy_is_told_from_those_before_and_after(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc desc[8];
	struct gantry_comp comp[8];
	bool moved[8];
	uint32_t at, i, replays = 0;

	for (at = 0; at < 8; at++) {
		arena_reset(at);
		for (i = 0; i < 8; i++)
			desc[i] = i == at ? arena_failing_copy(i) : arena_copy(i);
		CHECK_EQ(gantry_submit(q, desc, 8), 8);
		env_collect(q, comp, 8);
		for (i = 0; i < 8; i++) {
			CHECK_EQ(comp[i].cookie, i);
			CHECK_EQ(comp[i].status, i == at ? GANTRY_LOCAL_ERROR : GANTRY_OK);
			CHECK_EQ(comp[i].syndrome, i == at ? SYNDROME_LOCAL_PROT : 0);
			CHECK_EQ(comp[i].zero, 0);
			moved[i] = i != at;
		}
		check_pieces(moved, 8);
		CHECK_EQ(env_stats(q).recoveries, at + 1);
		replays += 7 - at;
		CHECK_EQ(env_stats(q).replays, replays);
	}
	env_queue_done(q);
}

/*
 * If the destination is refused, the status must be GANTRY_LOCAL_ERROR for each carrier, although
 * the device reports a remote error for loopback (0x13) and a local error for DMA MMO (0x04).
 */
static void
a_destination_that_is_refused_is_a_local_error_by_any_path(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_desc desc = env_copy(src, broken, 8);
	struct gantry_comp comp;

	env_do(q, &desc, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_LOCAL_ERROR);
	CHECK_EQ(comp.syndrome, mmo ? SYNDROME_LOCAL_PROT : SYNDROME_REMOTE_ACCESS);
	CHECK_EQ(env_do_one(q, arena_copy(0)), GANTRY_OK);
	env_queue_done(q);
}

static struct gantry_desc
sided(uint8_t op, const void *from, const void *to, uint64_t len, uint64_t arg)
{
	return (struct gantry_desc){.op = op,
		.src = (uintptr_t)from,
		.dst = (uintptr_t)to,
		.len = len,
		.arg[0] = arg};
}

static void
check_side(struct gantry_queue *q, struct gantry_desc d, enum gantry_status status,
	enum gantry_side side)
{
	struct gantry_comp comp;

	env_do(q, &d, &comp, 1);
	CHECK_EQ(comp.status, status);
	CHECK_EQ(comp.result, side);
}

/*
 * In the first half of the case, the engine refuses the memory; in the second half, the device
 * fails the copy, because it does not know the key.
 */
static void
a_failure_names_the_side_whose_memory_was_refused(void)
{
	static uint8_t unknown[64];
	const struct gantry_sge good[2] = {{(uintptr_t)src, 8}, {(uintptr_t)dst, 8}};
	const struct gantry_sge bad[2] = {{(uintptr_t)dst + 64, 8}, {(uintptr_t)unknown, 8}};
	const struct gantry_sge dead[2] = {{(uintptr_t)dst + 64, 8}, {(uintptr_t)broken, 8}};
	const uint64_t two = 2 | UINT64_C(2) << 32;
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_mem *constant_mem;
	uint8_t *constant = env_map(4096);
	struct gantry_desc d;
	uint16_t pa, pb;

	CHECK_EQ(gantry_mem_register(g, constant, 4096, GANTRY_MEM_READ_ONLY, &constant_mem), 0);
	env_connect(q, &pa, q, &pb);
	check_side(q, env_copy(unknown, dst, 8), GANTRY_NOT_REGISTERED, GANTRY_SIDE_SRC);
	check_side(q, env_copy(src, unknown, 8), GANTRY_NOT_REGISTERED, GANTRY_SIDE_DST);
	check_side(q, env_copy(src, constant, 8), GANTRY_READ_ONLY, GANTRY_SIDE_DST);
	check_side(q, sided(GANTRY_OP_FILL, NULL, unknown, 8, 1), GANTRY_NOT_REGISTERED,
		GANTRY_SIDE_DST);
	check_side(q, sided(GANTRY_OP_COPY_SG, bad, good, 16, two), GANTRY_NOT_REGISTERED,
		GANTRY_SIDE_SRC);
	check_side(q, sided(GANTRY_OP_COPY_SG, good, bad, 16, two), GANTRY_NOT_REGISTERED,
		GANTRY_SIDE_DST);
	d = arena_write(0, pb);
	d.src = (uintptr_t)unknown;
	check_side(q, d, GANTRY_NOT_REGISTERED, GANTRY_SIDE_SRC);
	d.op = GANTRY_OP_READ;
	d.src = (uintptr_t)dst;
	d.dst = (uintptr_t)unknown;
	check_side(q, d, GANTRY_NOT_REGISTERED, GANTRY_SIDE_DST);

	check_side(q, env_copy(broken, dst, 8), GANTRY_LOCAL_ERROR,
		mmo ? GANTRY_SIDE_UNKNOWN : GANTRY_SIDE_SRC);
	check_side(q, env_copy(src, broken, 8), GANTRY_LOCAL_ERROR,
		mmo ? GANTRY_SIDE_UNKNOWN : GANTRY_SIDE_DST);
	check_side(q, sided(GANTRY_OP_FILL, NULL, broken, 8, 1), GANTRY_LOCAL_ERROR,
		GANTRY_SIDE_DST);
	check_side(q, sided(GANTRY_OP_COPY_SG, dead, good, 16, two), GANTRY_LOCAL_ERROR,
		mmo ? GANTRY_SIDE_UNKNOWN : GANTRY_SIDE_SRC);
	/*
	 * The peer does not know the remote key. Then it is not known on which side the failure is.
	 */
	d = arena_write(0, pb);
	d.remote_key ^= 0x7700;
	check_side(q, d, GANTRY_REMOTE_ACCESS, GANTRY_SIDE_UNKNOWN);
	env_connect(q, &pa, q, &pb);
	d = arena_write(0, pb);
	d.src = (uintptr_t)broken;
	check_side(q, d, GANTRY_LOCAL_ERROR, GANTRY_SIDE_SRC);
	env_connect(q, &pa, q, &pb);
	d = arena_write(0, pb);
	d.op = GANTRY_OP_READ;
	d.src = (uintptr_t)dst;
	d.dst = (uintptr_t)broken;
	check_side(q, d, GANTRY_LOCAL_ERROR, GANTRY_SIDE_DST);
	/*
	 * A local error with another syndrome than protection does not say on which side the
	 * failure is.
	 */
	CHECK_EQ(softhca_fault("complete syndrome=0x2"), 0);
	check_side(q, arena_copy(0), GANTRY_LOCAL_ERROR, GANTRY_SIDE_UNKNOWN);
	CHECK_EQ(gantry_mem_unregister(constant_mem, 1000), 0);
	env_unmap(constant, 4096);
	env_queue_done(q);
}

/*
 * Tests the table of doc/engine.md. The vendor syndrome of each row is a number that the test
 * chooses.
 */
static void
every_syndrome_has_its_status_and_is_reported(void)
{
	static const struct {
		uint8_t syndrome;
		uint8_t of_peer;
	} rows[] = {
		{0x01, GANTRY_LOCAL_ERROR},
		{0x02, GANTRY_LOCAL_ERROR},
		{0x04, GANTRY_LOCAL_ERROR},
		{0x05, GANTRY_QP_EVENT},
		{0x06, GANTRY_LOCAL_ERROR},
		{0x10, GANTRY_REMOTE_ERROR},
		{0x11, GANTRY_LOCAL_ERROR},
		{0x12, GANTRY_REMOTE_ERROR},
		{0x13, GANTRY_REMOTE_ACCESS},
		{0x14, GANTRY_REMOTE_ERROR},
		{0x15, GANTRY_UNREACHABLE},
		{0x16, GANTRY_UNREACHABLE},
		{0x22, GANTRY_REMOTE_ERROR},
	};
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_desc desc;
	struct gantry_comp comp;
	uint16_t pa, pb;
	char line[80];
	uint32_t i, to_peer;

	for (i = 0; i < RTE_DIM(rows); i++) {
		for (to_peer = 0; to_peer < 2; to_peer++) {
			/*
			 * The copy was flushed although nothing failed before it: it is executed
			 * again.
			 */
			bool flushed = rows[i].syndrome == 0x05;
			uint8_t of_own = flushed ? GANTRY_OK : GANTRY_LOCAL_ERROR;
			uint8_t vendor = 0x80 + i;

			env_connect(q, &pa, q, &pb);
			snprintf(line, sizeof(line), "complete syndrome=0x%02x vendor=0x%02x",
				rows[i].syndrome, vendor);
			CHECK_EQ(softhca_fault(line), 0);
			desc = to_peer ? arena_write(1, pa) : arena_copy(1);
			env_do(q, &desc, &comp, 1);
			CHECK_EQ(softhca_faults_left(), 0);
			CHECK_EQ(comp.status, to_peer ? rows[i].of_peer : of_own);
			CHECK_EQ(comp.syndrome, flushed ? 0 : rows[i].syndrome);
			CHECK_EQ(comp.vendor_syndrome, flushed ? 0 : vendor);
			CHECK_EQ(gantry_peer_close(q, pa), 0);
			CHECK_EQ(gantry_peer_close(q, pb), 0);
		}
	}
	CHECK_EQ(env_stats(q).recoveries, RTE_DIM(rows));
	env_queue_done(q);
}

/*
 * A receive that failed must report its syndromes, on a connection and on a DC target. The
 * syndromes are those of receives in ibv_poll_cq(3); the test chooses the vendor syndromes.
 */
static void
a_failed_receive_tells_its_syndromes(void)
{
	static const struct {
		uint8_t syndrome;
		uint8_t status;
	} rows[] = {
		{0x01, GANTRY_LOCAL_ERROR}, /* local length error */
		{0x02, GANTRY_LOCAL_ERROR}, /* local operation error */
		{0x04, GANTRY_LOCAL_ERROR}, /* local protection error */
		{0x05, GANTRY_FLUSHED},     /* flushed */
		{0x11, GANTRY_LOCAL_ERROR}, /* local access error */
	};
	struct gantry_queue *q = env_queue(g, 8), *t = env_queue(g, 8);
	struct gantry_peer_conf near = {0}, far = {.recv_depth = 4};
	bool has_dc = !env_lacks(g, ENV_DC);
	struct gantry_addr addr, back;
	struct gantry_recv_comp comp;
	uint16_t to, at;
	char line[80];
	uint32_t i, dc;

	for (i = 0; i < RTE_DIM(rows); i++) {
		for (dc = 0; dc <= has_dc; dc++) {
			const struct gantry_recv r = {.cookie = 1000 + i,
				.addr = (uintptr_t)dst,
				.len = 100};
			struct gantry_desc d = {.op = GANTRY_OP_SEND_IMM,
				.src = (uintptr_t)src,
				.len = 70,
				.imm = 0x1234567};

			near.transport = dc ? GANTRY_TRANSPORT_DC : GANTRY_TRANSPORT_RC;
			far.transport = dc ? GANTRY_TRANSPORT_DC_TARGET : GANTRY_TRANSPORT_RC;
			CHECK_EQ(gantry_peer_open(q, &near, &to, &back), 0);
			CHECK_EQ(gantry_peer_open(t, &far, &at, &addr), 0);
			CHECK_EQ(gantry_peer_connect(q, to, &addr), 0);
			if (!dc)
				CHECK_EQ(gantry_peer_connect(t, at, &back), 0);
			CHECK_EQ(gantry_recv_post(t, at, &r, 1), 1);
			snprintf(line, sizeof(line), "recv_complete syndrome=0x%02x vendor=0x%02x",
				rows[i].syndrome, 0x90 + i);
			CHECK_EQ(softhca_fault(line), 0);
			d.peer = to;
			CHECK_EQ(env_do_one(q, d), GANTRY_REMOTE_ERROR);
			CHECK_EQ(softhca_faults_left(), 0);
			memset(&comp, 0xff, sizeof(comp));
			while (gantry_recv_poll(t, &comp, 1) == 0)
				env_pump();
			CHECK_EQ(comp.cookie, 1000 + i);
			CHECK_EQ(comp.status, rows[i].status);
			CHECK_EQ(comp.op, 0);
			CHECK_EQ(comp.syndrome, rows[i].syndrome);
			CHECK_EQ(comp.vendor_syndrome, 0x90 + i);
			CHECK_EQ(comp.peer, at);
			CHECK_EQ(comp.len | comp.imm | comp.zero | comp.zero2, 0);
			CHECK_EQ(gantry_peer_close(q, to), 0);
			CHECK_EQ(gantry_peer_close(t, at), 0);
		}
	}
	env_queue_done(q);
	env_queue_done(t);
}

/*
 * Returns how many lines of the log contain these words. Opens the log file itself, because the
 * engine's thread may write a line meanwhile.
 */
static unsigned int
count_lines(FILE *log, const char *words)
{
	unsigned int n = 0;
	char path[40], line[600];
	FILE *in;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(log));
	in = fopen(path, "r");
	CHECK(in != NULL);
	while (fgets(line, sizeof(line), in) != NULL)
		n += strstr(line, words) != NULL;
	fclose(in);
	return n;
}

/*
 * Opens a log file that stays open until the program ends: the engine's thread may be about to
 * write to it.
 */
static FILE *
open_log(void)
{
	static FILE *logs[3];
	static unsigned int n;

	CHECK(n < 3);
	logs[n] = tmpfile();
	return logs[n++];
}

static unsigned int
count_failures_logged(FILE *log)
{
	return count_lines(log, "(syndrome 0x");
}

static void
the_log_names_the_connection_and_decodes_the_wqe(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	FILE *log = open_log();
	struct gantry_desc d;
	uint16_t pa, pb;

	CHECK(log != NULL);
	env_connect(q, &pa, q, &pb);
	CHECK_EQ(pb, 1);
	CHECK_EQ(rte_openlog_stream(log), 0);
	d = arena_write(0, pb);
	d.remote_key ^= 0x7700;
	CHECK_EQ(env_do_one(q, d), GANTRY_REMOTE_ACCESS);
	CHECK_EQ(count_lines(log, "gantry: peer 1: remote access error (syndrome 0x13"), 1);
	CHECK_EQ(count_lines(log, "RDMA_WRITE"), 1);
	CHECK_EQ(count_lines(log, "gantry: peer 1 is down"), 1);
	CHECK_EQ(env_do_one(q, arena_failing_copy(0)), GANTRY_LOCAL_ERROR);
	CHECK_EQ(count_lines(log, "gantry: own connection: local protection error (syndrome 0x04"),
		1);
	CHECK_EQ(count_lines(log, "gantry: own connection is set up again"), 1);
	rte_openlog_stream(NULL);
	env_queue_done(q);
}

static void
no_more_than_four_failed_wqes_a_second_are_logged(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	FILE *log = open_log();
	uint32_t i;

	CHECK(log != NULL);
	CHECK_EQ(rte_openlog_stream(log), 0);
	CHECK_EQ(env_do_one(q, arena_failing_copy(0)), GANTRY_LOCAL_ERROR);
	CHECK_EQ(count_failures_logged(log), 1);
	/* The limiter's current second does not end until the test ends it. */
	CHECK(q->lines.failed.end_tsc != 0 &&
		q->lines.failed.end_tsc <= rte_get_tsc_cycles() + rte_get_tsc_hz());
	q->lines.failed.end_tsc = UINT64_MAX;
	q->lines.repaired.end_tsc = UINT64_MAX;
	for (i = 1; i < 10; i++)
		CHECK_EQ(env_do_one(q, arena_failing_copy(0)), GANTRY_LOCAL_ERROR);
	CHECK_EQ(count_failures_logged(log), 4);
	CHECK_EQ(count_lines(log, "is set up again"), 4);
	CHECK_EQ(count_lines(log, "no more this second"), 2);
	q->lines.failed.end_tsc = 0;
	CHECK_EQ(env_do_one(q, arena_failing_copy(0)), GANTRY_LOCAL_ERROR);
	CHECK_EQ(count_failures_logged(log), 5);
	CHECK_EQ(count_lines(log, "gantry: lines about failed WQEs that were left out: 6"), 1);
	/*
	 * When the queue is destroyed, a line reports the number of lines about repaired
	 * connections that were left out.
	 */
	CHECK_EQ(count_lines(log, "repaired connections"), 0);
	env_queue_done(q);
	CHECK_EQ(count_lines(log, "gantry: lines about repaired connections that were left "
				  "out: 7"),
		1);
	CHECK_EQ(count_lines(log, "lines about"), 2);
	rte_openlog_stream(NULL);
}

/*
 * Each refused call logs two lines: one by lib/hwq and one by the engine. The number of lines by
 * lib/hwq must be limited. The lines by the engine are not limited.
 */
static void
no_more_than_32_refused_calls_a_second_are_logged(void)
{
	const struct gantry_conf conf = {.device = "nothing"};
	FILE *log = open_log();
	struct gantry *other;
	uint32_t i;

	CHECK(log != NULL);
	CHECK_EQ(rte_openlog_stream(log), 0);
	/* The limiter's current second does not end until the test ends it. */
	gantry_log_rate_others()->n = 0;
	gantry_log_rate_others()->end_tsc = UINT64_MAX;
	for (i = 0; i < 50; i++)
		CHECK_EQ(gantry_create(&conf, &other), -ENODEV);
	CHECK_EQ(count_lines(log, "hwq: no mlx5 device named nothing"), 32);
	CHECK_EQ(count_lines(log, "no more this second"), 1);
	gantry_log_rate_others()->end_tsc = 0;
	CHECK_EQ(gantry_create(&conf, &other), -ENODEV);
	CHECK_EQ(count_lines(log, "hwq: no mlx5 device named nothing"), 33);
	CHECK_EQ(count_lines(log, "gantry: lines about other failures that were left out: 18"), 1);
	rte_openlog_stream(NULL);
}

static void
what_was_still_waiting_runs_after_a_failure(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_desc desc[4] = {arena_failing_copy(0), arena_copy(1), arena_copy(2),
		arena_copy(3)};
	struct gantry_comp comp[4];
	const bool moved[4] = {false, true, true, true};

	arena_reset(1);
	desc[2].flags = GANTRY_DESC_FENCE;
	CHECK_EQ(gantry_submit(q, desc, 3), 3);
	CHECK_EQ(gantry_submit(q, desc + 3, 1), 1);
	env_collect(q, comp, 4);
	CHECK_EQ(comp[0].status, GANTRY_LOCAL_ERROR);
	CHECK_EQ(comp[1].status, GANTRY_OK);
	CHECK_EQ(comp[2].status, GANTRY_OK);
	CHECK_EQ(comp[3].status, GANTRY_OK);
	check_pieces(moved, 4);
	env_queue_done(q);
}

static void
a_split_copy_that_fails_completes_once(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint64_t len = RTE_MIN(g->info.max_copy_len * 300, ARENA_LEN);
	struct gantry_desc desc[4];
	struct gantry_comp comp[5];
	uint32_t round, i;

	for (round = 0; round < 10; round++) {
		desc[0] = arena_copy(0);
		desc[1] = env_copy(broken, dst, len);
		desc[2] = arena_copy(2);
		desc[3] = arena_copy(3);
		for (i = 0; i < 4; i++)
			desc[i].cookie = i;
		arena_reset(round);
		CHECK_EQ(gantry_submit(q, desc, 4), 4);
		env_collect(q, comp, 4);
		for (i = 0; i < 4; i++)
			CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[0].status, GANTRY_OK);
		CHECK_EQ(comp[1].status, GANTRY_LOCAL_ERROR);
		for (i = 2; i < 4; i++) {
			CHECK_EQ(comp[i].status, GANTRY_OK);
			CHECK(memcmp(dst + i * piece, src + i * piece, piece) == 0);
		}
		CHECK_EQ(env_poll(q, comp, 5), 0);
		CHECK_EQ(gantry_in_flight(q), 0);
	}
	env_queue_done(q);
}

static void
a_split_copy_behind_a_failure_runs(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint64_t len = RTE_MIN(g->info.max_copy_len * 300, ARENA_LEN);
	struct gantry_desc desc[2] = {arena_failing_copy(0), env_copy(src, dst, len)};
	struct gantry_comp comp[2];

	arena_reset(1);
	CHECK_EQ(gantry_submit(q, desc, 2), 2);
	env_collect(q, comp, 2);
	CHECK_EQ(comp[0].status, GANTRY_LOCAL_ERROR);
	CHECK_EQ(comp[1].status, GANTRY_OK);
	CHECK(memcmp(src, dst, len) == 0);
	env_queue_done(q);
}

/*
 * Failures at random positions, many times. The test knows the status of each copy in advance: a
 * copy is executed again at most three times, so copies after the fourth failure must be flushed.
 */
static void
failures_anywhere_are_survived(void)
{
	struct gantry_queue *q = env_queue(g, MAX_BURST);
	struct gantry_desc desc[MAX_BURST];
	struct gantry_comp comp[MAX_BURST];
	uint64_t seed = 99, expected = 0;
	bool moved[MAX_BURST];
	uint32_t round, i;

	for (round = 0; round < 150; round++) {
		uint32_t n = 1 + check_random(&seed) % MAX_BURST, failed = 0;

		arena_reset(round);
		for (i = 0; i < n; i++) {
			bool fails = check_random(&seed) % 16 == 0;

			desc[i] = fails ? arena_failing_copy(i) : arena_copy(i);
		}
		CHECK_EQ(gantry_submit(q, desc, n), n);
		env_collect(q, comp, n);
		for (i = 0; i < n; i++) {
			bool fails = desc[i].src == (uintptr_t)broken;

			CHECK_EQ(comp[i].status, failed == 4 ? GANTRY_FLUSHED
						 : fails     ? GANTRY_LOCAL_ERROR
							     : GANTRY_OK);
			moved[i] = comp[i].status == GANTRY_OK;
			failed += comp[i].status == GANTRY_LOCAL_ERROR;
		}
		check_pieces(moved, n);
		expected += failed;
		CHECK_EQ(env_stats(q).recoveries, expected);
	}
	env_queue_done(q);
}

static void
a_queue_that_cannot_be_repaired_gives_everything_back(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_desc desc[5] = {arena_failing_copy(0), arena_copy(1), arena_copy(2),
		{.op = GANTRY_OP_NOP, .cookie = 3}, {.op = 77, .cookie = 4}};
	struct gantry_comp comp[5];

	memset(&q->own_addr, 0, sizeof(q->own_addr));
	desc[2].flags = GANTRY_DESC_FENCE;
	CHECK_EQ(gantry_submit(q, desc, 5), 5);
	env_collect(q, comp, 5);
	CHECK_EQ(comp[0].status, GANTRY_LOCAL_ERROR);
	CHECK_EQ(comp[1].status, GANTRY_DEVICE_LOST);
	CHECK_EQ(comp[2].status, GANTRY_DEVICE_LOST);
	CHECK_EQ(comp[3].status, GANTRY_OK);
	CHECK_EQ(comp[4].status, GANTRY_BAD_OP);
	CHECK_EQ(env_do_one(q, arena_copy(0)), GANTRY_DEVICE_LOST);
	CHECK_EQ(env_stats(q).recoveries, 0);
	env_queue_done(q);
}

/*
 * When the long copy is submitted, the ring is full of WQEs of the failing copy. So the long copy
 * waits, and none of its WQEs is posted. Then the queue's connection to itself is lost, and the
 * long copy must complete with GANTRY_DEVICE_LOST.
 */
static void
a_long_copy_that_has_not_begun_learns_that_the_device_is_lost(void)
{
	uint64_t max_copy_len = g->info.max_copy_len, n_bb;
	struct gantry_desc desc[2];
	struct gantry_comp comp[2];
	struct gantry_queue *q;

	g->info.max_copy_len = 64;
	q = env_queue(g, 4);
	g->info.max_copy_len = max_copy_len;
	memset(&q->own_addr, 0, sizeof(q->own_addr));
	n_bb = hwq_sq_n_bb(q->conn[GANTRY_CONN_OWN].sq);
	desc[0] = env_copy(broken, dst, 64 * n_bb);
	desc[1] = env_copy(src, dst, 2 * 64 * n_bb);
	CHECK_EQ(gantry_submit(q, desc, 2), 2);
	CHECK_EQ(env_stats(q).wqes, n_bb);
	CHECK(!q->stream.splitting);
	env_collect(q, comp, 2);
	CHECK_EQ(comp[0].status, GANTRY_LOCAL_ERROR);
	CHECK_EQ(comp[1].status, GANTRY_DEVICE_LOST);
	CHECK_EQ(env_stats(q).wqes, n_bb);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ peers */

static void
a_peer_is_busy_while_descriptors_to_it_wait(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	uint16_t pa, pb;
	uint32_t round;

	env_connect(q, &pa, q, &pb);
	CHECK_EQ(pa, 0); /* peer 0: descriptors that use no peer have 0 in this field too */
	for (round = 0; round < 2; round++) {
		desc[0] = arena_copy(0);
		desc[1] = arena_write(1, pb);
		if (round == 1) {
			desc[1].op = GANTRY_OP_READ;
			desc[1].remote_key = gantry_mem_remote_key(src_mem);
		}
		desc[1].flags = GANTRY_DESC_FENCE; /* waits until the copy has completed */
		desc[2] = arena_copy(2);           /* waits until the fenced descriptor is issued */
		CHECK_EQ(gantry_submit(q, desc, 3), 3);
		CHECK_EQ(gantry_peer_close(q, pb), -EBUSY);
		env_collect(q, comp, 3);
		CHECK_EQ(comp[1].status, GANTRY_OK);
	}
	desc[1] = arena_copy(1);
	desc[1].flags = GANTRY_DESC_FENCE;
	CHECK_EQ(gantry_submit(q, desc, 3), 3);
	/* No waiting descriptor names the peer. */
	CHECK_EQ(gantry_peer_close(q, pa), 0);
	CHECK_EQ(gantry_peer_close(q, pb), 0);
	env_collect(q, comp, 3);
	env_queue_done(q);
}

struct refusal {
	uint8_t op;
	uint64_t remote;
	uint64_t len;
	uint32_t key;
};

static void
what_the_peer_refuses_fails_alone_and_flushes_the_rest(void)
{
	struct gantry_mem *closed_mem;
	const uint8_t *closed = env_mem(g, 4096, 0, &closed_mem);
	const struct refusal bad[] = {
		{GANTRY_OP_WRITE, (uintptr_t)dst, piece, gantry_mem_remote_key(dst_mem) ^ 0x5500},
		{GANTRY_OP_WRITE, (uintptr_t)dst, piece, gantry_mem_remote_key(src_mem)},
		{GANTRY_OP_WRITE, (uintptr_t)dst + ARENA_LEN - 1, 2,
			gantry_mem_remote_key(dst_mem)},
		{GANTRY_OP_WRITE, (uintptr_t)dst - 1, 2, gantry_mem_remote_key(dst_mem)},
		{GANTRY_OP_READ, (uintptr_t)closed, 8, gantry_mem_remote_key(closed_mem)},
		{GANTRY_OP_READ, (uintptr_t)dst, piece, 0},
		/*
		 * Where copies use loopback, all memory can be written by peers:
		 * gantry_mem_register().
		 */
		{GANTRY_OP_WRITE, (uintptr_t)closed, 8, gantry_mem_remote_key(closed_mem)},
	};
	uint32_t k, i, n = RTE_DIM(bad) - (mmo ? 0 : 1);

	for (k = 0; k < n; k++) {
		struct gantry_queue *a = env_queue(g, 32), *b = env_queue(g, 2);
		struct gantry_desc desc[12], *d = &desc[6];
		struct gantry_comp comp[12];
		bool moved[12];
		uint16_t pa, pb, other;
		struct gantry_addr addr;

		env_connect(a, &pa, b, &pb);
		arena_reset(k);
		/*
		 * Descriptors with even numbers are copies. Copies use another connection, so the
		 * failure does not affect them.
		 */
		for (i = 0; i < 12; i++)
			desc[i] = i % 2 == 0 ? arena_copy(i) : arena_write(i, pa);
		desc[6] = arena_write(6, pa);
		d->op = bad[k].op;
		d->len = bad[k].len;
		d->remote_key = bad[k].key;
		if (d->op == GANTRY_OP_WRITE) {
			d->dst = bad[k].remote;
		} else {
			d->dst = d->src;
			d->src = bad[k].remote;
		}
		CHECK_EQ(gantry_submit(a, desc, 12), 12);
		env_collect(a, comp, 12);
		for (i = 0; i < 12; i++) {
			bool flushed = i > 6 && i % 2 == 1;

			CHECK_EQ(comp[i].cookie, i);
			CHECK_EQ(comp[i].status, i == 6    ? GANTRY_REMOTE_ACCESS
						 : flushed ? GANTRY_FLUSHED
							   : GANTRY_OK);
			CHECK_EQ(comp[i].syndrome, i == 6 ? SYNDROME_REMOTE_ACCESS : 0);
			moved[i] = i != 6 && !flushed;
		}
		check_pieces(moved, 12);
		CHECK_EQ(env_do_one(a, arena_write(0, pa)), GANTRY_BAD_PEER);
		CHECK_EQ(env_do_one(a, arena_copy(0)), GANTRY_OK);
		CHECK_EQ(env_stats(a).recoveries, 0);
		/* A peer that was connected cannot be connected again; a new peer can. */
		CHECK_EQ(gantry_peer_open(b, NULL, &other, &addr), 0);
		CHECK_EQ(gantry_peer_connect(a, pa, &addr), -EISCONN);

		CHECK_EQ(gantry_peer_close(a, pa), 0);
		CHECK_EQ(gantry_peer_close(b, pb), 0);
		env_connect(a, &pa, b, &pb);
		CHECK_EQ(env_do_one(a, arena_write(6, pa)), GANTRY_OK);
		moved[6] = true;
		check_pieces(moved, 7);
		env_queue_done(a);
		env_queue_done(b);
	}
	CHECK_EQ(gantry_mem_unregister(closed_mem, CHECK_PATIENCE_MS), 0);
}

static void
a_split_write_that_fails_in_its_middle_completes_once(void)
{
	uint64_t max_msg_len = g->max_msg_len;
	struct gantry_queue *a, *b;
	struct gantry_desc desc[3];
	struct gantry_comp comp[4];
	uint16_t pa, pb;
	uint64_t len = 512 * 1024;

	g->max_msg_len = 1024; /* so that the write becomes 512 WQEs, of which the queue holds 64 */
	a = env_queue(g, 4);
	b = env_queue(g, 4);
	env_connect(a, &pa, b, &pb);
	g->max_msg_len = max_msg_len;
	arena_reset(3);
	desc[0] = arena_write(0, pa);
	desc[1] = arena_write(1, pa);
	desc[1].len = len;
	/* The last 100 KiB are beyond the region. */
	desc[1].dst = (uintptr_t)dst + ARENA_LEN - len + 100 * 1024;
	desc[2] = arena_copy(2);
	CHECK_EQ(gantry_submit(a, desc, 3), 3);
	env_collect(a, comp, 3);
	CHECK_EQ(comp[0].status, GANTRY_OK);
	CHECK_EQ(comp[1].status, GANTRY_REMOTE_ACCESS);
	CHECK_EQ(comp[2].status, GANTRY_OK);
	CHECK_EQ(env_poll(a, comp, 4), 0);
	/* The part inside the region was written: 412 pieces of 1 KiB. */
	CHECK(memcmp((void *)(uintptr_t)desc[1].dst, src + piece, 412 * 1024) == 0);
	CHECK_EQ(env_do_one(a, arena_write(0, pa)), GANTRY_BAD_PEER);
	env_queue_done(a);
	env_queue_done(b);
}

static void
a_long_write_that_waits_for_a_failing_peer_is_refused(void)
{
	uint64_t max_msg_len = g->max_msg_len;
	struct gantry_queue *q;
	struct gantry_desc desc[66];
	struct gantry_comp comp[66];
	uint16_t pa, pb;
	uint32_t i;

	g->max_msg_len = 1024;
	q = env_queue(g, 128);
	env_connect(q, &pa, q, &pb);
	arena_reset(4);
	desc[0] = arena_write(0, pa);
	desc[0].remote_key ^= 0x7700;
	desc[1] = arena_write(1, pa);
	desc[1].flags = GANTRY_DESC_FENCE;
	desc[2] = arena_copy(2);
	CHECK_EQ(gantry_submit(q, desc, 3), 3);
	CHECK_EQ(gantry_peer_close(q, pa), -EBUSY);
	env_collect(q, comp, 3);
	CHECK_EQ(comp[0].status, GANTRY_REMOTE_ACCESS);
	CHECK_EQ(comp[1].status, GANTRY_BAD_PEER);
	CHECK_EQ(comp[2].status, GANTRY_OK);
	CHECK_EQ(gantry_peer_close(q, pa), 0);
	CHECK_EQ(gantry_peer_close(q, pb), 0);

	/* This time the ring is full of earlier WQEs when the long write starts. */
	env_connect(q, &pa, q, &pb);
	g->max_msg_len = max_msg_len;
	for (i = 0; i < 66; i++)
		desc[i] = arena_write(i, pa);
	for (i = 0; i < 64; i++)
		desc[i].len = 64;
	desc[3].remote_key ^= 0x7700;
	desc[64].len = desc[65].len = 200 * 1024;
	CHECK_EQ(gantry_submit(q, desc, 66), 66);
	env_collect(q, comp, 66);
	for (i = 0; i < 66; i++) {
		CHECK_EQ(comp[i].cookie, i);
		if (i < 3)
			CHECK_EQ(comp[i].status, GANTRY_OK);
		else if (i == 3)
			CHECK_EQ(comp[i].status, GANTRY_REMOTE_ACCESS);
		else if (i < 64)
			CHECK_EQ(comp[i].status, GANTRY_FLUSHED);
		else
			CHECK(comp[i].status == GANTRY_FLUSHED ||
				comp[i].status == GANTRY_BAD_PEER);
	}
	env_queue_done(q);
}

/*
 * When the next long descriptor is submitted, the ring is full of WQEs of the failing operation, so
 * none of its own WQEs is posted. A descriptor to a peer is then refused; a copy on the queue's
 * connection to itself runs after the repair.
 */
static void
a_long_operation_that_has_not_begun_is_refused_or_runs_later(void)
{
	uint64_t max_msg_len = g->max_msg_len, max_copy_len = g->info.max_copy_len;
	struct gantry_queue *q;
	struct gantry_desc desc[2];
	struct gantry_comp comp[2];
	uint16_t pa, pb;
	uint64_t n_bb;

	g->max_msg_len = g->info.max_copy_len = 64;
	q = env_queue(g, 4);
	env_connect(q, &pa, q, &pb);
	g->max_msg_len = max_msg_len;
	g->info.max_copy_len = max_copy_len;
	arena_reset(6);

	n_bb = hwq_sq_n_bb(q->conn[GANTRY_CONN_PEER + pa].sq);
	desc[0] = arena_write(0, pa);
	desc[0].dst = (uintptr_t)dst + ARENA_LEN - 32;
	desc[0].len = 64 * n_bb;
	desc[1] = arena_write(1, pa);
	desc[1].len = 2 * 64 * n_bb;
	CHECK_EQ(gantry_submit(q, desc, 2), 2);
	CHECK_EQ(env_stats(q).wqes, n_bb);
	env_collect(q, comp, 2);
	CHECK_EQ(comp[0].status, GANTRY_REMOTE_ACCESS);
	CHECK_EQ(comp[1].status, GANTRY_BAD_PEER);
	CHECK_EQ(env_stats(q).wqes, n_bb);

	n_bb = hwq_sq_n_bb(q->conn[GANTRY_CONN_OWN].sq);
	desc[0] = env_copy(broken, dst, 64 * n_bb);
	desc[1] = env_copy(src, dst, 2 * 64 * n_bb);
	env_do(q, desc, comp, 2);
	CHECK_EQ(comp[0].status, GANTRY_LOCAL_ERROR);
	CHECK_EQ(comp[1].status, GANTRY_OK);
	CHECK(memcmp(dst, src, 2 * 64 * n_bb) == 0);
	CHECK_EQ(env_stats(q).recoveries, 1);
	env_queue_done(q);
}

static void
a_peer_that_is_gone_is_unreachable(void)
{
	struct gantry_queue *a = env_queue(g, 8), *b = env_queue(g, 2);
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	uint16_t pa, pb;
	uint32_t i;

	env_connect(a, &pa, b, &pb);
	env_queue_done(b);
	arena_reset(5);
	for (i = 0; i < 2; i++)
		desc[i] = arena_write(i, pa);
	desc[2] = arena_copy(2);
	CHECK_EQ(gantry_submit(a, desc, 3), 3);
	env_collect(a, comp, 3);
	CHECK_EQ(comp[0].status, GANTRY_UNREACHABLE);
	CHECK_EQ(comp[1].status, GANTRY_FLUSHED);
	CHECK_EQ(comp[2].status, GANTRY_OK);
	env_queue_done(a);
}

static const struct check_case cases[] = {
	{"a failed copy has another status than the copies before and after it",
		a_failed_copy_is_told_from_those_before_and_after},
	{"a refused destination is a local error, by every carrier",
		a_destination_that_is_refused_is_a_local_error_by_any_path},
	{"every syndrome has its status, and is reported",
		every_syndrome_has_its_status_and_is_reported},
	{"a failed receive reports its syndromes", a_failed_receive_tells_its_syndromes},
	{"a failure names the side whose memory was refused",
		a_failure_names_the_side_whose_memory_was_refused},
	{"the log names the connection and decodes the WQE",
		the_log_names_the_connection_and_decodes_the_wqe},
	{"no more than four failed WQEs a second are logged",
		no_more_than_four_failed_wqes_a_second_are_logged},
	{"no more than 32 refused calls a second are logged",
		no_more_than_32_refused_calls_a_second_are_logged},
	{"descriptors that still waited run after a failure",
		what_was_still_waiting_runs_after_a_failure},
	{"a split copy that fails completes once", a_split_copy_that_fails_completes_once},
	{"a split copy after a failure runs", a_split_copy_behind_a_failure_runs},
	{"failures at any position are repaired", failures_anywhere_are_survived},
	{"if a queue cannot be repaired, every descriptor completes",
		a_queue_that_cannot_be_repaired_gives_everything_back},
	{"a long copy that has not begun learns that the device is lost",
		a_long_copy_that_has_not_begun_learns_that_the_device_is_lost},
	{"a peer is busy while descriptors to it wait",
		a_peer_is_busy_while_descriptors_to_it_wait},
	{"an operation that the peer refuses fails, and later operations are flushed",
		what_the_peer_refuses_fails_alone_and_flushes_the_rest},
	{"a split write that fails in its middle completes once",
		a_split_write_that_fails_in_its_middle_completes_once},
	{"a long write that waits for a failing peer is refused",
		a_long_write_that_waits_for_a_failing_peer_is_refused},
	{"a long operation that has not begun is refused, or runs later",
		a_long_operation_that_has_not_begun_is_refused_or_runs_later},
	{"operations to a closed peer end as unreachable", a_peer_that_is_gone_is_unreachable},
};

int
main(int argc, char **argv)
{
	env_init(0);
	arena_create(NULL);
	mmo = g->info.copy_path == GANTRY_COPY_MMO;
	arena_break();
	return arena_run(cases, RTE_DIM(cases), argc, argv);
}
