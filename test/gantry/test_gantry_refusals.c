/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Promises of the interface about all its structs and refusals (gantry_api.h): each refusal writes
 * one line to the log, which names the rule; reserved bytes must be 0, and are written as 0; a mask
 * has only known bits, and has the bit of each field that is set.
 */
#include <stdio.h>

#include <rte_common.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mempool.h>

#include "gantry_env.h"
#include "gantry_log.h"

#define PAGE 4096

static struct gantry *g;
static struct gantry_queue *q;
static struct gantry_mem *mem, *any_mem;
static uint8_t *memory;
static uint16_t peer;
static uint32_t dek;
static FILE *log_file;

/* ------------------------------------------------------------------ calls that are refused */

#define CREATE(name, ...)                                                                          \
	static int name(void)                                                                      \
	{                                                                                          \
		const struct gantry_conf conf = {__VA_ARGS__};                                     \
		struct gantry *other;                                                              \
                                                                                                   \
		return gantry_create(&conf, &other);                                               \
	}
CREATE(engine_reserved, .reserved[7] = 1)
CREATE(engine_copy_path, .copy_path = (enum gantry_copy_path)3)
CREATE(engine_path_reserved, .path.reserved[0] = 1)
CREATE(engine_policy_reserved, .policy = &(struct gantry_policy){.reserved[0] = 1})

#define QUEUE(name, ...)                                                                           \
	static int name(void)                                                                      \
	{                                                                                          \
		const struct gantry_queue_conf conf = {__VA_ARGS__};                               \
		struct gantry_queue *other;                                                        \
                                                                                                   \
		return gantry_queue_create(g, &conf, &other);                                      \
	}
QUEUE(queue_reserved, .reserved[7] = 1)
QUEUE(queue_mask, .mask = 2)
QUEUE(queue_unmasked, .numa_node = 1)
QUEUE(queue_node, .mask = GANTRY_QUEUE_NUMA_NODE, .numa_node = -1)
QUEUE(queue_node_max, .mask = GANTRY_QUEUE_NUMA_NODE, .numa_node = RTE_MAX_NUMA_NODES)
QUEUE(queue_depth, .depth = 100)
QUEUE(queue_depth_min, .depth = 1)
QUEUE(queue_depth_max, .depth = 32768)
QUEUE(queue_replays, .replays = 101)
QUEUE(queue_keys, .layout_keys = 257)
QUEUE(queue_peers, .max_peers = 4093)
QUEUE(queue_txns, .transactions = GANTRY_MAX_TXNS + 1)
QUEUE(queue_prepare, .prepare = 4)
QUEUE(queue_policy, .policy = &(struct gantry_policy){.n = GANTRY_POLICY_MAX + 1})

static int
worker(unsigned int lcore, struct gantry_worker_conf conf)
{
	struct gantry_worker *w;

	return gantry_worker_create(g, lcore, &conf, &w);
}

#define WORKER(name, lcore, ...)                                                                   \
	static int name(void)                                                                      \
	{                                                                                          \
		return worker(lcore, (struct gantry_worker_conf){__VA_ARGS__});                    \
	}
WORKER(worker_reserved, 1, .reserved[7] = 1)
WORKER(worker_queue, 1, .queue.reserved[0] = 1)
WORKER(worker_main, rte_get_main_lcore(), .burst = 1)
WORKER(worker_lcore, RTE_MAX_LCORE, .burst = 1)
WORKER(worker_ring, 1, .ring_size = 3)
WORKER(worker_ring_max, 1, .ring_size = 2097152)
WORKER(worker_recv_ring, 1, .recv_ring_size = 3)
WORKER(worker_burst, 1, .burst = 257)
WORKER(worker_producers, 1, .producers = (enum gantry_producers)3)
WORKER(worker_idle, 1, .idle = (enum gantry_idle)3)

static int
open_peer(struct gantry_peer_conf conf)
{
	struct gantry_addr addr;
	uint16_t other;

	return gantry_peer_open(q, &conf, &other, &addr);
}

#define PEER(name, ...)                                                                            \
	static int name(void)                                                                      \
	{                                                                                          \
		return open_peer((struct gantry_peer_conf){__VA_ARGS__});                          \
	}
PEER(peer_reserved, .reserved[3] = 1)
PEER(peer_mask, .mask = 2)
PEER(peer_too_many, .depth = 1)
PEER(peer_txn, .txn = GANTRY_TXN_WAIT)

static int
connect_none(void)
{
	return gantry_peer_connect(q, peer + 1, &(struct gantry_addr){{0}});
}

static int
connect_damaged(void)
{
	return gantry_peer_connect(q, peer, &(struct gantry_addr){{0}});
}

static int
close_none(void)
{
	return gantry_peer_close(q, peer + 1);
}

static int
reg(void *addr, size_t len, unsigned int flags)
{
	struct gantry_mem *other;

	return gantry_mem_register(g, addr, len, flags, &other);
}

#define REGISTER(name, addr, len, flags)                                                           \
	static int name(void)                                                                      \
	{                                                                                          \
		return reg(addr, len, flags);                                                      \
	}
REGISTER(reg_null, NULL, 1, 0)
REGISTER(reg_empty, memory, 0, 0)
REGISTER(reg_flags, memory, 1, 1u << 5)
REGISTER(reg_read_only, memory, 1, GANTRY_MEM_READ_ONLY | GANTRY_MEM_REMOTE_ATOMIC)
REGISTER(reg_overlap, memory + 10, 1, 0)

static int
reg_any(void)
{
	struct gantry_mem *other;

	return gantry_mem_register_any(g, &other);
}

static int
reg_dm(void)
{
	struct gantry_mem *other;
	void *addr;

	return gantry_mem_alloc_dm(g, 64, GANTRY_MEM_RELAXED, &other, &addr);
}

static int
reg_eal(void)
{
	struct gantry_mem *other;

	return gantry_mem_register_eal(g, GANTRY_MEM_REMOTE_READ, &other);
}

static int
reg_pool(void)
{
	static struct rte_mempool empty;
	struct gantry_mem *other;

	return gantry_mem_register_mempool(g, &empty, 0, &other);
}

static int
layout_reserved(void)
{
	const struct gantry_block b = {.len = 1};
	const struct gantry_layout_conf conf = {.block = &b, .n = 1, .reserved[3] = 1};
	uint16_t id;

	return gantry_layout_create(g, &conf, &id);
}

static int
layout_none(void)
{
	return gantry_layout_destroy(g, 7);
}

static int
profile_reserved(void)
{
	const struct gantry_profile_conf conf = {.mem = {.kind = GANTRY_SIG_CRC32,
							 .block_size = 512},
		.reserved[3] = 1};
	uint16_t id;

	return gantry_profile_create(g, &conf, &id);
}

static int
profile_none(void)
{
	return gantry_profile_destroy(g, 9);
}

static int
dek_reserved(void)
{
	static const uint8_t key[32] = {1};
	const struct gantry_dek_conf conf = {.key = key, .len = 32, .reserved[3] = 1};

	return gantry_dek_add(g, &conf, &dek);
}

static int
dek_none(void)
{
	return gantry_dek_retire(g, 77, 0);
}

static int
policy_reserved(void)
{
	return gantry_policy_set(q, &(struct gantry_policy){.reserved[3] = 1});
}

static int
destroy_engine(void)
{
	return gantry_destroy(g);
}

static const struct {
	int (*call)(void);
	int result;
	const char *words;
} rows[] = {
	{engine_reserved, -EINVAL, "gantry_conf::reserved is not 0"},
	{engine_copy_path, -EINVAL, "gantry_conf::copy_path is 3"},
	{engine_path_reserved, -EINVAL, "gantry_path::reserved is not 0"},
	{engine_policy_reserved, -EINVAL, "gantry_policy::reserved is not 0"},
	{queue_reserved, -EINVAL, "gantry_queue_conf::reserved is not 0"},
	{queue_mask, -EINVAL, "gantry_queue_conf::mask is 0x2: only the bits 0x1 are known"},
	{queue_unmasked, -EINVAL,
		"gantry_queue_conf::numa_node is 1, and mask lacks GANTRY_QUEUE_NUMA_NODE"},
	{queue_node, -EINVAL, "gantry_queue_conf::numa_node is -1"},
	{queue_node_max, -EINVAL, "gantry_queue_conf::numa_node is"},
	{queue_depth, -EINVAL, "gantry_queue_conf::depth is 100"},
	{queue_depth_min, -EINVAL, "gantry_queue_conf::depth is 1:"},
	{queue_depth_max, -EINVAL, "gantry_queue_conf::depth is 32768"},
	{queue_replays, -EINVAL, "gantry_queue_conf::replays is 101"},
	{queue_keys, -EINVAL, "gantry_queue_conf::layout_keys is 257"},
	{queue_peers, -EINVAL, "gantry_queue_conf::max_peers is 4093"},
	{queue_txns, -EINVAL, "gantry_queue_conf::transactions is 1025"},
	{queue_prepare, -EINVAL, "gantry_queue_conf::prepare is 4"},
	{queue_policy, -EINVAL, "a policy has 33 rules"},
	{worker_reserved, -EINVAL, "gantry_worker_conf::reserved is not 0"},
	{worker_queue, -EINVAL, "gantry_queue_conf::reserved is not 0"},
	{worker_main, -EINVAL, "lcore 0 takes no worker"},
	{worker_lcore, -EINVAL, "takes no worker"},
	{worker_ring, -EINVAL, "gantry_worker_conf::ring_size is 3"},
	{worker_ring_max, -EINVAL, "gantry_worker_conf::ring_size is 2097152"},
	{worker_recv_ring, -EINVAL, "gantry_worker_conf::recv_ring_size is 3"},
	{worker_burst, -EINVAL, "gantry_worker_conf::burst is 257"},
	{worker_producers, -EINVAL, "gantry_worker_conf::producers is 3"},
	{worker_idle, -EINVAL, "gantry_worker_conf::idle is 3"},
	{peer_reserved, -EINVAL, "gantry_peer_conf::reserved is not 0"},
	{peer_mask, -EINVAL, "gantry_peer_conf::mask is 0x2"},
	{peer_too_many, -ENOSPC, "1 peers open, which is gantry_queue_conf::max_peers"},
	{peer_txn, -EINVAL, "without gantry_queue_conf::transactions"},
	{connect_none, -EINVAL, "has no peer 1"},
	{connect_damaged, -EINVAL, "an address is damaged"},
	{close_none, -EINVAL, "has no peer 1"},
	{reg_null, -EINVAL, "1 bytes at (nil) cannot be registered"},
	{reg_empty, -EINVAL, "0 bytes at"},
	{reg_flags, -EINVAL, "flags 0x20"},
	{reg_read_only, -EINVAL, "flags 0xc"},
	{reg_overlap, -EEXIST, "overlaps the registered region"},
	{reg_any, -EEXIST, "all memory is registered already"},
	{reg_dm, -EINVAL, "device memory of 64 bytes with flags 0x10"},
	{reg_eal, -EINVAL, "EAL's memory cannot be registered with flags 0x2"},
	{reg_pool, -EINVAL, "a mempool without memory"},
	{layout_reserved, -EINVAL, "gantry_layout_conf::reserved is not 0"},
	{layout_none, -EINVAL, "no layout has the number 7"},
	{profile_reserved, -EINVAL, "gantry_profile_conf::reserved is not 0"},
	{profile_none, -EINVAL, "no profile has the number 9"},
	{dek_reserved, -EINVAL, "gantry_dek_conf::reserved is not 0"},
	{dek_none, -EINVAL, "no DEK has the number 77"},
	{policy_reserved, -EINVAL, "gantry_policy::reserved is not 0"},
	{destroy_engine, -EBUSY, "still has queues or workers"},
};

/* ------------------------------------------------------------------ the log */

/* Copies the text that was logged since the last call. Returns the number of its lines. */
static unsigned int
logged(char *text, size_t size)
{
	unsigned int lines = 0;
	size_t n, i;

	fflush(log_file);
	rewind(log_file);
	n = fread(text, 1, size - 1, log_file);
	text[n] = '\0';
	for (i = 0; i < n; i++)
		lines += text[i] == '\n';
	CHECK_EQ(ftruncate(fileno(log_file), 0), 0);
	rewind(log_file);
	return lines;
}

static void
each_refusal_has_one_line_that_names_the_rule(void)
{
	char text[4096];
	unsigned int i, lines;

	(void)logged(text, sizeof(text));
	for (i = 0; i < RTE_DIM(rows); i++) {
		CHECK_EQ(rows[i].call(), rows[i].result);
		lines = logged(text, sizeof(text));
		if (lines != 1 || strstr(text, rows[i].words) == NULL) {
			printf("row %u: \"%s\" is not the one line of:\n%s", i, rows[i].words,
				text);
			CHECK(false);
		}
	}
}

/*
 * ------------------------------------------------------------------ structs that the library fills
 */

static void
check_zero(const void *bytes, size_t len)
{
	const uint8_t *b = bytes;
	size_t i;

	for (i = 0; i < len; i++)
		CHECK_EQ(b[i], 0);
}

#define CHECK_CLEAN(type, name, call)                                                              \
	do {                                                                                       \
		type name;                                                                         \
                                                                                                   \
		memset(&name, 0xff, sizeof(name));                                                 \
		call;                                                                              \
		check_zero(name.reserved, sizeof(name.reserved));                                  \
	} while (0)

static void
reserved_bytes_are_written_as_zeros(void)
{
	CHECK_CLEAN(struct gantry_info, info, gantry_info_get(g, &info));
	CHECK_CLEAN(struct gantry_queue_info, info, gantry_queue_info_get(q, &info));
	CHECK_CLEAN(struct gantry_stats, stats, gantry_stats_get(q, &stats));
	CHECK_CLEAN(struct gantry_latency, latency,
		gantry_latency_get(q, GANTRY_OP_COPY, &latency));
	CHECK_CLEAN(struct gantry_lcore_load, load, gantry_lcore_load_get(1, &load));
	CHECK_CLEAN(struct gantry_policy, policy, gantry_policy_get(q, &policy));
}

/* Elements of the arrays that have no named status or carrier yet must be 0. */
static void
statistics_have_room_for_what_comes(void)
{
	struct gantry_stats stats;

	memset(&stats, 0xff, sizeof(stats));
	gantry_stats_get(q, &stats);
	CHECK_EQ(RTE_DIM(stats.by_status), GANTRY_STATS_STATUSES);
	check_zero(stats.by_status, sizeof(stats.by_status));
	check_zero(stats.copies, sizeof(stats.copies));
}

static void
versions_are_those_of_the_headers(void)
{
	CHECK_EQ(gantry_version(), GANTRY_VERSION);
	CHECK(GANTRY_VERSION_NUM(1, 2, 3) > GANTRY_VERSION_NUM(1, 1, 255));
	CHECK(GANTRY_VERSION_NUM(2, 0, 0) > GANTRY_VERSION_NUM(1, 255, 255));
}

static const struct check_case cases[] = {
	{"each refusal logs one line, which names the rule",
		each_refusal_has_one_line_that_names_the_rule},
	{"reserved bytes are written as zeros", reserved_bytes_are_written_as_zeros},
	{"statistics have room for future elements", statistics_have_room_for_what_comes},
	{"versions are those of the headers", versions_are_those_of_the_headers},
};

int
main(int argc, char **argv)
{
	const struct gantry_queue_conf conf = {.depth = 4, .max_peers = 1};
	struct gantry_addr addr;
	struct gantry *early;
	char text[1000];

	log_file = tmpfile();
	CHECK(log_file != NULL);
	CHECK_EQ(rte_openlog_stream(log_file), 0);
	/* A call before EAL is initialized. */
	CHECK_EQ(gantry_create(NULL, &early), -EINVAL);
	CHECK_EQ(logged(text, sizeof(text)), 1);
	CHECK(strstr(text, "call rte_eal_init() first") != NULL);

	rte_openlog_stream(NULL);
	env_init(1);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	memory = env_mem(g, PAGE, 0, &mem);
	CHECK_EQ(gantry_mem_register_any(g, &any_mem), 0);
	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	CHECK_EQ(gantry_peer_open(q, NULL, &peer, &addr), 0);
	CHECK_EQ(rte_openlog_stream(log_file), 0);
	env_run(cases, RTE_DIM(cases), argc, argv);
	rte_openlog_stream(NULL);
	CHECK_EQ(gantry_peer_close(q, peer), 0);
	env_queue_done(q);
	return env_done(g, (struct gantry_mem *const[]){mem, any_mem}, 2);
}
