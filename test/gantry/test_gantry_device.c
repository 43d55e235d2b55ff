/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures that need no emulated fault: wrong keys and bounds, a missing receive, a missing peer, a
 * queue pair that is moved to error or stopped, and a CQ that overruns. Each descriptor must
 * complete once, with the status that gantry_desc.h promises; descriptors that were refused have
 * moved no byte; and the engine continues to work.
 *
 * The test runs on any mlx5 device. It accesses a queue's connection to itself through the engine's
 * internal functions, and by ibv_modify_qp(3).
 *
 * usage: test_gantry_device [--device NAME] [CASE]     CASE: a part of a case's name
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_log.h>

#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_queue.h"

#include "gantry_arena.h"

#define N_PIECES 64
#define N_ROUNDS 8

/* ------------------------------------------------------------------ keys and bounds */

/* Only the connection of the descriptor with the wrong key or bounds fails. */
static void refused_there(struct gantry_desc (*spoil)(struct gantry_desc d))
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	uint16_t pa, pb;

	arena_reset(1);
	env_connect(q, &pa, q, &pb);
	desc[0] = arena_write(0, pa);
	desc[1] = spoil(arena_write(1, pa));
	desc[2] = arena_write(2, pb);
	env_do(q, desc, comp, 3);
	CHECK_EQ(comp[0].status, GANTRY_OK);
	CHECK_EQ(comp[1].status, GANTRY_REMOTE_ACCESS);
	/* pb is the other end of the failed connection, so it may have failed too. */
	CHECK(comp[2].status == GANTRY_OK || comp[2].status == GANTRY_FLUSHED ||
		comp[2].status == GANTRY_QP_EVENT);
	CHECK(arena_is_moved(0) && !arena_is_moved(1));
	CHECK_EQ(gantry_peer_close(q, pa), 0);
	CHECK_EQ(gantry_peer_close(q, pb), 0);
	env_connect(q, &pa, q, &pb);
	CHECK_EQ(env_do_one(q, arena_write(3, pa)), GANTRY_OK);
	CHECK_EQ(env_do_one(q, arena_copy(4)), GANTRY_OK);
	CHECK(arena_is_moved(3) && arena_is_moved(4));
	env_queue_done(q);
}

static struct gantry_desc
with_wrong_key(struct gantry_desc d)
{
	return WITH(d, remote_key, d.remote_key ^ 0x5a);
}

static struct gantry_desc
beyond_the_end(struct gantry_desc d)
{
	return WITH(d, dst, (uintptr_t)dst + ARENA_LEN - piece / 2);
}

static void
a_wrong_key_of_a_peer_is_refused_there(void)
{
	refused_there(with_wrong_key);
}

static void
bytes_beyond_a_peers_region_are_refused_there(void)
{
	refused_there(beyond_the_end);
}

static void
a_wrong_key_of_its_own_stops_a_queue_once(void)
{
	struct gantry_queue *q = env_queue(g, N_PIECES);
	struct gantry_desc desc[N_PIECES];
	struct gantry_comp comp[N_PIECES];
	uint32_t i;

	arena_reset(2);
	arena_break();
	for (i = 0; i < N_PIECES; i++)
		desc[i] = i % 20 == 5 ? arena_failing_copy(i) : arena_copy(i);
	env_do(q, desc, comp, N_PIECES);
	for (i = 0; i < N_PIECES; i++) {
		CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[i].status, i % 20 == 5 ? GANTRY_LOCAL_ERROR : GANTRY_OK);
		CHECK_EQ(arena_is_moved(i), i % 20 != 5);
	}
	CHECK_EQ(env_stats(q).recoveries, 3);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ receives and peers */

static void
connect_with(struct gantry_queue *q, const struct gantry_path *path, uint16_t *pa, uint16_t *pb)
{
	const struct gantry_peer_conf conf = {.recv_depth = 16, .path = *path};
	struct gantry_addr a, b;

	CHECK_EQ(gantry_peer_open(q, &conf, pa, &a), 0);
	CHECK_EQ(gantry_peer_open(q, &conf, pb, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, *pa, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, *pb, &a), 0);
}

static void
a_message_waits_for_its_receive(void)
{
	const struct gantry_recv recv = {.cookie = 9, .addr = (uintptr_t)dst, .len = piece};
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_desc desc = {.op = GANTRY_OP_SEND, .src = (uintptr_t)src, .len = piece};
	struct gantry_recv_comp got = {0};
	struct gantry_comp comp;
	uint16_t pa, pb;
	uint64_t end;

	arena_reset(3);
	connect_with(q,
		&(struct gantry_path){.mask = GANTRY_PATH_MIN_RNR_TIMER, .min_rnr_timer = 1}, &pa,
		&pb);
	desc.peer = pa;
	CHECK_EQ(gantry_submit(q, &desc, 1), 1);
	for (end = rte_get_timer_cycles() + rte_get_timer_hz() / 50; rte_get_timer_cycles() < end;)
		CHECK_EQ(env_poll(q, &comp, 1), 0);
	CHECK_EQ(gantry_recv_post(q, pb, &recv, 1), 1);
	env_collect(q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	while (gantry_recv_poll(q, &got, 1) == 0)
		env_pump();
	CHECK_EQ(got.status, GANTRY_OK);
	CHECK_EQ(got.cookie, 9);
	CHECK_EQ(got.len, piece);
	CHECK(arena_is_moved(0));
	env_queue_done(q);
}

static void
a_message_without_a_receive_ends_when_its_retries_end(void)
{
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_desc desc = {.op = GANTRY_OP_SEND, .src = (uintptr_t)src, .len = piece};
	uint16_t pa, pb;

	connect_with(q,
		&(struct gantry_path){.mask = GANTRY_PATH_MIN_RNR_TIMER | GANTRY_PATH_RNR_RETRIES,
			.min_rnr_timer = 1,
			.rnr_retries = 1},
		&pa, &pb);
	desc.peer = pa;
	CHECK_EQ(env_do_one(q, desc), GANTRY_UNREACHABLE);
	CHECK_EQ(env_do_one(q, arena_copy(1)), GANTRY_OK);
	env_queue_done(q);
}

static void
a_peer_that_is_gone_is_not_reached(void)
{
	struct gantry_queue *q = env_queue(g, 16);
	uint16_t pa, pb;

	arena_reset(4);
	connect_with(q,
		&(struct gantry_path){.mask = GANTRY_PATH_TIMEOUT | GANTRY_PATH_RETRIES,
			.timeout = 8,
			.retries = 1},
		&pa, &pb);
	CHECK_EQ(gantry_peer_close(q, pb), 0);
	CHECK_EQ(env_do_one(q, arena_write(0, pa)), GANTRY_UNREACHABLE);
	CHECK(!arena_is_moved(0));
	env_queue_done(q);
}

/*
 * ------------------------------------------------------------------ the queue's connection to
 * itself
 */

/*
 * Submits copies, and calls what() for the queue's connection to itself while the copies run.
 * Checks that each copy completes once, in order: flushed copies are executed again. Then checks
 * that the queue works. Returns how often the connection was set up again.
 */
static uint64_t
disturb(void (*what)(struct gantry_conn *own))
{
	struct gantry_queue *q = env_queue(g, N_PIECES);
	struct gantry_desc desc[N_PIECES];
	struct gantry_comp comp[N_PIECES];
	uint64_t recoveries;
	uint32_t i, round;

	for (round = 0; round < N_ROUNDS; round++) {
		arena_reset(round);
		for (i = 0; i < N_PIECES; i++)
			desc[i] = arena_copy(i);
		/* Submits the copies in separate calls, so that each copy asks for a CQE. */
		for (i = 0; i < N_PIECES / 2; i++)
			CHECK_EQ(gantry_submit(q, desc + i, 1), 1);
		what(&q->conn[GANTRY_CONN_OWN]);
		CHECK_EQ(gantry_submit(q, desc + i, N_PIECES / 2), N_PIECES / 2);
		env_collect(q, comp, N_PIECES);
		for (i = 0; i < N_PIECES; i++) {
			CHECK_EQ(comp[i].cookie, i);
			CHECK_EQ(comp[i].status, GANTRY_OK);
			CHECK(arena_is_moved(i));
		}
		CHECK_EQ(env_do_one(q, arena_copy(0)), GANTRY_OK);
	}
	recoveries = env_stats(q).recoveries;
	env_queue_done(q);
	return recoveries;
}

static void
fail(struct gantry_conn *own)
{
	CHECK_EQ(hwq_qp_fail(own->qp), 0);
}

static void
a_queue_pair_that_is_told_to_fail_is_set_up_again(void)
{
	CHECK_EQ(disturb(fail), N_ROUNDS);
}

static bool stops;

static void
stop(struct gantry_conn *own)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};

	stops = ibv_modify_qp(own->qp->qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) == 0;
}

static void
a_send_queue_that_is_told_to_stop_goes_on(void)
{
	/*
	 * If the send queue only stops, the engine resumes it, and does not set the connection up
	 * again.
	 */
	CHECK_EQ(disturb(stop), 0);
	if (!stops)
		printf("(not seen: this kernel stops no queue of its users) ");
}

/*
 * Tells the device that no completion of the CQ was consumed. So the CQ is full, and no further WQE
 * completes.
 */
static void
overrun(struct gantry_conn *own)
{
	struct hwq_cq *cq = own->cq;

	hwq_store_release(&cq->dbrec[0], htobe32((cq->ci - cq->n_cqe) & 0xffffff));
	cq->published = cq->ci;
}

static void
a_cq_that_overruns_is_made_anew(void)
{
	/*
	 * A device may have read the consumer index earlier, when the CQ had free entries. It reads
	 * the index again only when these entries are used. So it is possible that no CQ overruns.
	 */
	if (disturb(overrun) == 0)
		printf("(not seen: no CQ overran) ");
}

/*
 * ------------------------------------------------------------------ features that a device may
 * lack
 */

/* True if the setting turns the feature of the emulated adapter off (doc/softhca-settings.md). */
static bool
is_off(const char *setting)
{
	const char *value = getenv(setting);

	return value != NULL && strcmp(value, "0") == 0;
}

/*
 * Makes the calls of a feature, whose results must be those that gantry_info promises. A call that
 * fails must not write its out-pointer.
 */
static void
check_layouts(bool has)
{
	const struct gantry_block block = {.len = 8};
	const struct gantry_layout_conf conf = {.block = &block, .n = 1};
	uint16_t id = 77;

	CHECK_EQ(gantry_layout_create(g, &conf, &id), has ? 0 : -EOPNOTSUPP);
	if (has)
		CHECK_EQ(gantry_layout_destroy(g, id), 0);
	else
		CHECK_EQ(id, 77);
}

static void
check_transactions(bool has)
{
	const struct gantry_profile_conf profile = {.mem = {GANTRY_SIG_CRC32C, 4096, 0}};
	const struct gantry_queue_conf conf = {.depth = 4, .transactions = 1};
	struct gantry_queue *q = NULL;
	uint16_t id = 77;

	CHECK_EQ(gantry_queue_create(g, &conf, &q), has ? 0 : -EOPNOTSUPP);
	CHECK_EQ(q != NULL, has);
	if (has)
		env_queue_done(q);
	CHECK_EQ(gantry_profile_create(g, &profile, &id), has ? 0 : -EOPNOTSUPP);
	if (has)
		CHECK_EQ(gantry_profile_destroy(g, id), 0);
	else
		CHECK_EQ(id, 77);
}

/* Allocates device memory, which must be all zero at first, and registers memory on demand. */
static void
check_memory(bool has_dm, bool has_any)
{
	struct gantry_mem *mem = NULL;
	void *addr = NULL;
	uint32_t i;

	CHECK_EQ(gantry_mem_alloc_dm(g, 4096, 0, &mem, &addr), has_dm ? 0 : -EOPNOTSUPP);
	CHECK(has_dm == (mem != NULL) && has_dm == (addr != NULL));
	for (i = 0; has_dm && i < 4096 / 8; i++)
		CHECK_EQ(((uint64_t *)addr)[i], 0);
	if (has_dm)
		CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	mem = NULL;
	CHECK_EQ(gantry_mem_register_any(g, &mem), has_any ? 0 : -EOPNOTSUPP);
	CHECK_EQ(mem != NULL, has_any);
	if (has_any)
		CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
}

static void
check_dc(bool has)
{
	static const enum gantry_transport kinds[] = {GANTRY_TRANSPORT_DC_TARGET,
		GANTRY_TRANSPORT_DC};
	struct gantry_queue *q = env_queue(g, 4);
	struct gantry_addr addr;
	uint16_t peer;
	uint32_t i;

	for (i = 0; i < RTE_DIM(kinds); i++) {
		peer = 77;
		CHECK_EQ(gantry_peer_open(q, &(struct gantry_peer_conf){.transport = kinds[i]},
				 &peer, &addr),
			has ? 0 : -EOPNOTSUPP);
		CHECK_EQ(peer, has ? i : 77);
	}
	/* A queue of a device without DC can still have RC peers. */
	CHECK_EQ(gantry_peer_open(q, NULL, &peer, &addr), 0);
	env_queue_done(q);
}

/*
 * gantry_info shows the features of the device. Calls for missing features fail with -EOPNOTSUPP,
 * and the log says what to do.
 */
static void
what_the_device_lacks_is_refused(void)
{
	struct gantry_info info;
	struct gantry_queue *q;

	gantry_info_get(g, &info);
	if (is_off("SOFTHCA_DEVX"))
		CHECK(!info.layouts && info.copy_path == GANTRY_COPY_RDMA && info.sig_kinds == 0);
	if (is_off("SOFTHCA_SIGNATURES"))
		CHECK(info.sig_kinds == 0 && info.sig_block_sizes == 0);
	if (is_off("SOFTHCA_MAX_DM"))
		CHECK_EQ(info.max_dm_len, 0);
	if (is_off("SOFTHCA_ODP"))
		CHECK(!info.any_memory);
	check_layouts(info.layouts);
	check_transactions(info.sig_kinds != 0);
	check_memory(info.max_dm_len != 0, info.any_memory);
	check_dc(hwq_dev_caps(g->dev)->dc);
	CHECK(!is_off("SOFTHCA_DC") || !hwq_dev_caps(g->dev)->dc);
	/*
	 * Descriptors with a layout or a transaction name an id that does not exist: they are
	 * refused.
	 */
	q = env_queue(g, 4);
	CHECK_EQ(env_do_one(q, (struct gantry_desc){.op = GANTRY_OP_GATHER, .len = 8, .layout = 1}),
		GANTRY_BAD_LAYOUT);
	CHECK_EQ(env_do_one(q, (struct gantry_desc){.op = GANTRY_OP_TXN,
				       .peer = GANTRY_PEER_OWN,
				       .src = (uintptr_t)src,
				       .len = 512}),
		GANTRY_BAD_OP);
	env_queue_done(q);
}

/* InfiniBand has no gantry_path::traffic_class: a path that sets it is refused. */
static void
a_traffic_class_is_of_ethernet(void)
{
	const struct gantry_peer_conf conf = {
		.path = {.mask = GANTRY_PATH_TRAFFIC_CLASS, .traffic_class = 0x20}};
	struct gantry_queue *q = env_queue(g, 4);
	struct ibv_port_attr port;
	struct gantry_addr addr;
	uint16_t peer = 77;
	bool is_infiniband;

	CHECK_EQ(ibv_query_port(q->conn[GANTRY_CONN_OWN].qp->qp->context, 1, &port), 0);
	is_infiniband = port.link_layer == IBV_LINK_LAYER_INFINIBAND;
	CHECK_EQ(gantry_peer_open(q, &conf, &peer, &addr), is_infiniband ? -EINVAL : 0);
	CHECK_EQ(peer, is_infiniband ? 77 : 0);
	env_queue_done(q);
}

static const struct check_case cases[] = {
	{"features that the device lacks are refused", what_the_device_lacks_is_refused},
	{"only Ethernet has traffic classes", a_traffic_class_is_of_ethernet},
	{"a wrong key is refused by the peer", a_wrong_key_of_a_peer_is_refused_there},
	{"bytes beyond a peer's region are refused by the peer",
		bytes_beyond_a_peers_region_are_refused_there},
	{"a wrong local key stops a queue once", a_wrong_key_of_its_own_stops_a_queue_once},
	{"a message waits for its receive", a_message_waits_for_its_receive},
	{"a message without a receive ends when its retries end",
		a_message_without_a_receive_ends_when_its_retries_end},
	{"a closed peer is not reached", a_peer_that_is_gone_is_not_reached},
	{"a queue pair that is moved to error is set up again",
		a_queue_pair_that_is_told_to_fail_is_set_up_again},
	{"a stopped send queue is resumed", a_send_queue_that_is_told_to_stop_goes_on},
	{"a CQ that overruns is created again", a_cq_that_overruns_is_made_anew},
};

int
main(int argc, char **argv)
{
	struct gantry_conf conf = {0};

	if (argc > 2 && strcmp(argv[1], "--device") == 0) {
		conf.device = argv[2];
		argv += 2;
		argc -= 2;
	}
	env_init(0);
	arena_create(&conf);
	piece = 4096;
	rte_log_set_level(gantry_logtype, RTE_LOG_EMERG);
	return arena_run(cases, RTE_DIM(cases), argc, argv);
}
