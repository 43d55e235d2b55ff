/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers: address records, sizes and settings of connections, calls that the device refuses, and
 * many peers.
 */
#define GANTRY_ALLOW_EXPERIMENTAL /* gantry_addr_number() */
#include <endian.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_log.h>

#include <infiniband/verbs.h>

#include <softhca.h>

#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_queue.h"

#include "gantry_arena.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER true
#else
#define UNDER_SANITIZER false
#endif

/* Returns true if a write through the peer succeeds. */
static bool
carries(struct gantry_queue *q, uint16_t peer)
{
	memset(dst, 0x11, 64);
	return env_do_one(q, arena_write(0, peer)) == GANTRY_OK && memcmp(dst, src, 64) == 0;
}

static struct hwq_qp *
qp_of(struct gantry_queue *q, uint16_t peer)
{
	return q->conn[gantry_queue_peer_conn(q, peer)].qp;
}

/* ------------------------------------------------------------------ address records */

/* CRC-32C, bit by bit: polynomial 0x1EDC6F41 reflected (RFC 3720, appendix B.4). */
static uint32_t
crc32c(const uint8_t *p, size_t len)
{
	uint32_t crc = UINT32_MAX;
	unsigned int bit;

	for (; len != 0; len--)
		for (crc ^= *p++, bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	return ~crc;
}

/*
 * Returns a record with one byte changed and a correct checksum, as another program might write it.
 */
static struct gantry_addr
with_byte(struct gantry_addr addr, unsigned int at, uint8_t value)
{
	uint32_t crc;

	addr.bytes[at] = value;
	crc = htobe32(crc32c(addr.bytes, 60));
	memcpy(addr.bytes + 60, &crc, sizeof(crc));
	return addr;
}

static void
an_address_with_any_flipped_bit_is_refused(void)
{
	struct gantry_queue *q = env_queue(g, 4);
	struct gantry_addr a, b, bad;
	uint16_t pa, pb;
	unsigned int bit;
	uint32_t crc;

	CHECK_EQ(gantry_peer_open(q, NULL, &pa, &a), 0);
	CHECK_EQ(gantry_peer_open(q, NULL, &pb, &b), 0);
	memcpy(&crc, b.bytes + 60, sizeof(crc));
	CHECK_EQ(be32toh(crc), crc32c(b.bytes, 60));
	CHECK_EQ(gantry_addr_number(&b), qp_of(q, pb)->qp->qp_num,
		"the number of the verbs object");
	for (bit = 0; bit < 8 * sizeof(b); bit++) {
		bad = b;
		bad.bytes[bit / 8] ^= 1u << bit % 8;
		CHECK_EQ(gantry_addr_number(&bad), 0);
		CHECK_EQ(gantry_peer_connect(q, pa, &bad), -EINVAL);
	}
	/* Byte 6 is the version, byte 7 the transport. */
	bad = with_byte(b, 6, b.bytes[6] + 1);
	CHECK_EQ(gantry_peer_connect(q, pa, &bad), -EPROTONOSUPPORT);
	bad = with_byte(b, 7, b.bytes[7] + 1);
	CHECK_EQ(gantry_peer_connect(q, pa, &bad), -EPROTONOSUPPORT);
	/* After the refused calls, the unchanged address is accepted, and the peer works. */
	CHECK_EQ(gantry_peer_connect(q, pa, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, pb, &a), 0);
	CHECK(carries(q, pa));
	env_queue_done(q);
}

/* ------------------------------------------------------------------ settings */

static void
check_attributes(struct hwq_qp *qp, const struct gantry_path *path, enum ibv_mtu mtu)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	CHECK_EQ(ibv_query_qp(qp->qp, &a, IBV_QP_STATE, &init), 0);
	CHECK_EQ(a.qp_state, IBV_QPS_RTS);
	CHECK_EQ(a.port_num, path->port);
	CHECK_EQ(a.path_mtu, mtu);
	CHECK_EQ(a.timeout, path->timeout);
	CHECK_EQ(a.retry_cnt, path->retries);
	CHECK_EQ(a.rnr_retry, path->rnr_retries);
	CHECK_EQ(a.min_rnr_timer, path->min_rnr_timer);
	CHECK_EQ(a.ah_attr.grh.traffic_class, path->traffic_class);
	CHECK_EQ(a.ah_attr.grh.sgid_index, path->gid_index);
}

#define ALL_BUT_THE_GID                                                                            \
	(GANTRY_PATH_TRAFFIC_CLASS | GANTRY_PATH_TIMEOUT | GANTRY_PATH_RETRIES |                   \
		GANTRY_PATH_RNR_RETRIES | GANTRY_PATH_MIN_RNR_TIMER)

/*
 * Each setting must be that of the peer, otherwise that of the engine, otherwise the default of
 * gantry_engines.h. ibv_query_qp(3) shows the values that the device has.
 */
static void
settings_are_the_peers_or_the_engines_or_the_default(void)
{
	const struct gantry_conf engine = {.path = {.mask = ALL_BUT_THE_GID,
						   .timeout = 9,
						   .retries = 2,
						   .rnr_retries = 3,
						   .min_rnr_timer = 20,
						   .mtu = 512,
						   .traffic_class = 0x20}};
	const struct gantry_peer_conf peer = {
		.path = {.mask = (ALL_BUT_THE_GID & ~GANTRY_PATH_RETRIES) | GANTRY_PATH_GID_INDEX,
			.port = 1,
			.gid_index = 0,
			.timeout = 18,
			.rnr_retries = 0,
			.min_rnr_timer = 31,
			.mtu = 2048,
			.traffic_class = 0x68}};
	const uint16_t best = g->dev->port.gid_index;
	const struct gantry_path rows[] = {
		{0, best, 4096, 1, 0, 14, 7, 7, 12, {0}},
		{0, 0, 2048, 1, 0x68, 18, 7, 0, 31, {0}},
		{0, best, 512, 1, 0x20, 9, 2, 3, 20, {0}},
		{0, 0, 2048, 1, 0x68, 18, 2, 0, 31, {0}},
	};
	static const enum ibv_mtu mtu[] = {IBV_MTU_4096, IBV_MTU_2048, IBV_MTU_512, IBV_MTU_2048};
	struct gantry_addr a, b;
	struct gantry_queue *q;
	struct gantry *other;
	uint16_t pa, pb;
	uint32_t row;

	CHECK_EQ(gantry_create(&engine, &other), 0);
	for (row = 0; row < RTE_DIM(rows); row++) {
		const struct gantry_peer_conf *conf = row % 2 == 0 ? NULL : &peer;

		q = env_queue(row < 2 ? g : other, 4);
		CHECK_EQ(gantry_peer_open(q, conf, &pa, &a), 0);
		CHECK_EQ(gantry_peer_open(q, conf, &pb, &b), 0);
		CHECK_EQ(gantry_peer_connect(q, pa, &b), 0);
		CHECK_EQ(gantry_peer_connect(q, pb, &a), 0);
		check_attributes(qp_of(q, pa), &rows[row], mtu[row]);
		/* The queue's connection to itself has the engine's settings. */
		check_attributes(q->conn[GANTRY_CONN_OWN].qp, &rows[row & 2], mtu[row & 2]);
		env_queue_done(q);
	}
	CHECK_EQ(gantry_destroy(other), 0);
}

/* The connection must use the smaller MTU of both ends. */
static void
both_ends_of_a_connection_have_one_mtu(void)
{
	const struct gantry_peer_conf small = {.path = {.mtu = 256}};
	struct gantry_queue *q = env_queue(g, 4);
	struct gantry_addr a, b;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	uint16_t pa, pb;

	CHECK_EQ(gantry_peer_open(q, &small, &pa, &a), 0);
	CHECK_EQ(gantry_peer_open(q, NULL, &pb, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, pa, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, pb, &a), 0);
	CHECK_EQ(ibv_query_qp(qp_of(q, pb)->qp, &attr, IBV_QP_PATH_MTU, &init), 0);
	CHECK_EQ(attr.path_mtu, IBV_MTU_256);
	CHECK(carries(q, pa));
	env_queue_done(q);
}

/* Returns true if the log contains the words, and empties the log. */
static bool
log_has(FILE *log, const char *words)
{
	bool found = false;
	char line[600];

	fflush(log);
	rewind(log);
	while (fgets(line, sizeof(line), log) != NULL)
		found |= strstr(line, words) != NULL;
	CHECK_EQ(ftruncate(fileno(log), 0), 0);
	rewind(log);
	return found;
}

/*
 * True if the path may exist on another device only. An engine's path is checked when the engine
 * creates queues.
 */
static bool
is_of_device(const struct gantry_path *path)
{
	return path->port != 0 ||
	       ((path->mask & GANTRY_PATH_GID_INDEX) != 0 && path->gid_index < 256);
}

static void
a_setting_that_is_not_possible_is_refused_by_name(void)
{
	static const struct {
		struct gantry_peer_conf conf;
		const char *words;
	} rows[] = {
		{{.path = {.port = 3}}, "port is 3"},
		{{.path = {.mask = GANTRY_PATH_GID_INDEX, .gid_index = 199}},
			"no GID of index 199"},
		{{.path = {.mask = GANTRY_PATH_GID_INDEX, .gid_index = 256}}, "gid_index is 256"},
		{{.path = {.mtu = 1500}}, "mtu is 1500"},
		{{.path = {.mtu = 128}}, "mtu is 128"},
		{{.path = {.mtu = 8192}}, "mtu is 8192"},
		{{.path = {.mask = GANTRY_PATH_TIMEOUT, .timeout = 32}}, "timeout is 32"},
		{{.path = {.mask = GANTRY_PATH_RETRIES, .retries = 8}}, "retries is 8"},
		{{.path = {.mask = GANTRY_PATH_RNR_RETRIES, .rnr_retries = 8}}, "rnr_retries is 8"},
		{{.path = {.mask = GANTRY_PATH_MIN_RNR_TIMER, .min_rnr_timer = 32}},
			"min_rnr_timer is 32"},
		/*
		 * For each bit of a mask, a row in which the bit is not set but its field is; then
		 * rows with unknown bits and reserved bytes.
		 */
		{{.path = {.gid_index = 1}}, "mask lacks GANTRY_PATH_GID_INDEX"},
		{{.path = {.traffic_class = 1}}, "mask lacks GANTRY_PATH_TRAFFIC_CLASS"},
		{{.path = {.timeout = 1}}, "mask lacks GANTRY_PATH_TIMEOUT"},
		{{.path = {.retries = 1}}, "mask lacks GANTRY_PATH_RETRIES"},
		{{.path = {.rnr_retries = 1}}, "mask lacks GANTRY_PATH_RNR_RETRIES"},
		{{.path = {.min_rnr_timer = 1}}, "mask lacks GANTRY_PATH_MIN_RNR_TIMER"},
		{{.path = {.mask = 1u << 6}}, "gantry_path::mask is 0x40"},
		{{.path = {.reserved[17] = 1}}, "gantry_path::reserved is not 0"},
		{{.max_inline = 1}, "mask lacks GANTRY_PEER_MAX_INLINE"},
		{{.mask = 2}, "gantry_peer_conf::mask is 0x2"},
		{{.reserved[3] = 1}, "gantry_peer_conf::reserved is not 0"},
		{{.depth = 16385}, "depth is 16385"},
		{{.transport = (enum gantry_transport)7}, "transport is 7"},
	};
	struct gantry_queue *q = env_queue(g, 4), *none_made;
	struct gantry_queue_conf conf = {.depth = 4, .max_peers = 4095};
	const struct gantry_peer_conf least = {.path = {.mtu = 256}};
	const struct gantry_peer_conf most = {
		.path = {.mask = GANTRY_PATH_TIMEOUT | GANTRY_PATH_RETRIES |
				 GANTRY_PATH_RNR_RETRIES | GANTRY_PATH_MIN_RNR_TIMER,
			.mtu = 4096,
			.timeout = 31,
			.retries = 7,
			.rnr_retries = 7,
			.min_rnr_timer = 31}};
	const struct gantry_path none = {0};
	struct gantry_conf engine = {0};
	FILE *log = tmpfile();
	struct gantry_addr addr;
	struct gantry *other;
	uint16_t peer;
	uint32_t i;

	CHECK(log != NULL);
	CHECK_EQ(rte_openlog_stream(log), 0);
	rte_log_set_level(gantry_logtype, RTE_LOG_INFO);
	for (i = 0; i < RTE_DIM(rows); i++) {
		CHECK_EQ(gantry_peer_open(q, &rows[i].conf, &peer, &addr), -EINVAL);
		CHECK(log_has(log, rows[i].words));
		engine.path = rows[i].conf.path;
		if (memcmp(&engine.path, &none, sizeof(none)) == 0)
			continue;
		if (is_of_device(&engine.path)) {
			CHECK_EQ(gantry_create(&engine, &other), 0);
			CHECK_EQ(gantry_queue_create(other, NULL, &none_made), -EINVAL);
			CHECK_EQ(gantry_destroy(other), 0);
		} else {
			CHECK_EQ(gantry_create(&engine, &other), -EINVAL);
		}
		CHECK(log_has(log, rows[i].words));
	}
	rte_log_set_level(gantry_logtype, RTE_LOG_EMERG);
	rte_openlog_stream(NULL);
	fclose(log);
	/* None of the refused calls has used a peer number. */
	CHECK_EQ(gantry_peer_open(q, NULL, &peer, &addr), 0);
	CHECK_EQ(peer, 0);
	CHECK_EQ(gantry_peer_open(q, &least, &peer, &addr), 0);
	CHECK_EQ(gantry_peer_open(q, &most, &peer, &addr), 0);
	env_queue_done(q);
	CHECK_EQ(gantry_queue_create(g, &conf, &q), -EINVAL);
}

/*
 * ------------------------------------------------------------------ calls that the device refuses
 */

static void
a_refused_connect_can_be_tried_again(void)
{
	struct gantry_queue *q = env_queue(g, 4);
	struct gantry_addr a, b;
	char line[60];
	uint16_t pa, pb;
	uint32_t nth;

	/*
	 * A connect makes two calls of ibv_modify_qp(3). A connect after a refused connect first
	 * resets the QP, which is two more calls.
	 */
	for (nth = 1; nth <= 6; nth++) {
		CHECK_EQ(gantry_peer_open(q, NULL, &pa, &a), 0);
		CHECK_EQ(gantry_peer_open(q, NULL, &pb, &b), 0);
		CHECK_EQ(gantry_peer_connect(q, pb, &a), 0);
		snprintf(line, sizeof(line), "refuse call=modify_qp errno=12 op=%u",
			nth <= 2 ? nth : nth - 2);
		if (nth > 2) {
			CHECK_EQ(softhca_fault("refuse call=modify_qp errno=11 op=2"), 0);
			CHECK_EQ(gantry_peer_connect(q, pa, &b), -EAGAIN);
			CHECK_EQ(env_do_one(q, arena_write(0, pa)), GANTRY_BAD_PEER);
		}
		CHECK_EQ(softhca_fault(line), 0);
		CHECK_EQ(gantry_peer_connect(q, pa, &b), -ENOMEM);
		CHECK_EQ(softhca_faults_left(), 0);
		CHECK_EQ(env_do_one(q, arena_write(0, pa)), GANTRY_BAD_PEER);
		CHECK_EQ(gantry_peer_connect(q, pa, &b), 0);
		CHECK(carries(q, pa));
		CHECK_EQ(gantry_peer_close(q, pa), 0);
		CHECK_EQ(gantry_peer_close(q, pb), 0);
	}
	env_queue_done(q);
}

static void
a_refused_close_says_so_and_can_be_called_again(void)
{
	static const char *const calls[] = {"destroy_qp", "destroy_cq"};
	struct gantry_queue *q = env_queue(g, 4);
	struct gantry_addr a, b, c;
	uint16_t pa, pb, next;
	char line[60];
	uint32_t i;

	for (i = 0; i < RTE_DIM(calls); i++) {
		env_connect(q, &pa, q, &pb);
		snprintf(line, sizeof(line), "refuse call=%s errno=16", calls[i]);
		CHECK_EQ(softhca_fault(line), 0);
		CHECK_EQ(gantry_peer_close(q, pa), -EBUSY);
		CHECK_EQ(softhca_faults_left(), 0);
		CHECK_EQ(env_do_one(q, arena_write(0, pa)), GANTRY_BAD_PEER);
		/* The peer that was not closed still has its number. */
		CHECK_EQ(gantry_peer_open(q, NULL, &next, &b), 0);
		CHECK(next != pa && next != pb);
		CHECK_EQ(gantry_peer_connect(q, pa, &b), -EINVAL);
		CHECK_EQ(gantry_peer_close(q, pa), 0);
		CHECK_EQ(gantry_peer_close(q, pa), -EINVAL);
		CHECK_EQ(gantry_peer_close(q, pb), 0);
		CHECK_EQ(gantry_peer_close(q, next), 0);
		/*
		 * The same call is refused when the whole queue is destroyed. The refused call may
		 * be for any connection of the queue.
		 */
		env_connect(q, &pa, q, &pb);
		CHECK_EQ(softhca_fault(line), 0);
		CHECK_EQ(gantry_queue_destroy(q), -EBUSY);
		CHECK_EQ(gantry_destroy(g), -EBUSY);
		CHECK_EQ(gantry_queue_destroy(q), 0);
		q = env_queue(g, 4);
	}
	/* After a refused connect, the peer may be connected to another end. */
	CHECK_EQ(gantry_peer_open(q, NULL, &pa, &a), 0);
	CHECK_EQ(gantry_peer_open(q, NULL, &pb, &b), 0);
	CHECK_EQ(gantry_peer_open(q, NULL, &next, &c), 0);
	CHECK_EQ(softhca_fault("refuse call=modify_qp errno=12"), 0);
	CHECK_EQ(gantry_peer_connect(q, pa, &b), -ENOMEM);
	CHECK_EQ(gantry_peer_connect(q, pa, &c), 0);
	CHECK_EQ(gantry_peer_connect(q, next, &a), 0);
	CHECK(carries(q, pa));
	CHECK_EQ(gantry_peer_close(q, next), 0);
	CHECK_EQ(gantry_peer_close(q, pb), 0);
	CHECK_EQ(gantry_peer_close(q, pa), 0);
	/*
	 * An open fails, and then the device refuses to destroy the CQ that the failed open
	 * created.
	 */
	CHECK_EQ(softhca_fault("refuse call=create_qp errno=12"), 0);
	CHECK_EQ(softhca_fault("refuse call=destroy_cq errno=16"), 0);
	CHECK_EQ(gantry_peer_open(q, NULL, &pa, &a), -ENOMEM);
	CHECK_EQ(softhca_faults_left(), 0);
	CHECK_EQ(softhca_fault("refuse call=destroy_cq errno=16"), 0);
	CHECK_EQ(gantry_peer_open(q, NULL, &pa, &a), -EBUSY);
	CHECK_EQ(gantry_peer_open(q, NULL, &pa, &a), 0);
	CHECK_EQ(pa, 0);
	env_queue_done(q);
}

/*
 * The QP is created, but can neither be set up nor destroyed. It must not keep its CQs in use for
 * ever.
 */
static void
an_open_that_leaves_its_qp_can_be_tried_again(void)
{
	static const struct gantry_peer_conf confs[] = {
		{.recv_depth = 4},
		{.transport = GANTRY_TRANSPORT_DC_TARGET, .recv_depth = 4},
		{.transport = GANTRY_TRANSPORT_DC},
	};
	struct gantry_addr addr;
	uint16_t peer;
	uint32_t i;

	for (i = 0; i < RTE_DIM(confs); i++) {
		struct gantry_queue *q;

		if (confs[i].transport != 0 && env_lacks(g, ENV_DC))
			continue;
		q = env_queue(g, 4);
		CHECK_EQ(softhca_fault("refuse call=modify_qp errno=12"), 0);
		CHECK_EQ(softhca_fault("refuse call=destroy_qp errno=16 times=2"), 0);
		CHECK_EQ(gantry_peer_open(q, &confs[i], &peer, &addr), -ENOMEM);
		/*
		 * The engine tried to destroy the QP twice: the second time when it destroyed the
		 * CQ.
		 */
		CHECK_EQ(softhca_faults_left(), 0);
		CHECK_EQ(gantry_peer_open(q, &confs[i], &peer, &addr), 0);
		CHECK_EQ(gantry_peer_close(q, peer), 0);
		env_queue_done(q);
	}
}

/* ------------------------------------------------------------------ sizes and numbers */

/* Bytes of all private mappings, including the heap: VmData of proc(5). */
static uint64_t
data_bytes(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long kib = 0;
	char line[200];

	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "VmData: %lu", &kib) == 1)
			break;
	fclose(f);
	CHECK(kib != 0);
	return (uint64_t)kib * 1024;
}

/*
 * 64 peers of 64 operations each must use at most 4 MB, including memory of the libraries that the
 * engine uses.
 */
static void
a_peer_takes_memory_for_what_it_was_asked_for(void)
{
	const struct gantry_peer_conf conf = {.depth = 64};
	const struct gantry_queue_conf queue = {.depth = 16384};
	struct gantry_addr addr[64];
	uint16_t peer[64];
	struct gantry_desc desc[64];
	struct gantry_comp comp[64];
	struct gantry_queue *q;
	uint64_t before;
	uint32_t i;

	CHECK_EQ(gantry_queue_create(g, &queue, &q), 0);
	malloc_trim(0);
	before = data_bytes();
	for (i = 0; i < 64; i++)
		CHECK_EQ(gantry_peer_open(q, &conf, &peer[i], &addr[i]), 0);
	for (i = 0; i < 64; i++)
		CHECK_EQ(gantry_peer_connect(q, peer[i], &addr[i ^ 1]), 0);
	printf("64 peers of depth 64: %u KiB\n", (unsigned int)((data_bytes() - before) / 1024));
	if (!UNDER_SANITIZER)
		CHECK(data_bytes() - before <= 4000000);
	/* Submits 64 operations, which is more than the ring holds. */
	for (i = 0; i < 64; i++)
		desc[i] = arena_write(i, peer[5]);
	for (i = 0; i < 4; i++)
		CHECK_EQ(gantry_submit(q, desc, 64), 64);
	CHECK(q->outstanding >= 64);
	for (i = 0; i < 4; i++)
		env_collect(q, comp, 64);
	env_queue_done(q);
}

/*
 * Peers with numbers up to the limit are opened and closed in any order, and each must get a free
 * number. The engine keeps the numbers in words of 64 bits.
 */
static void
a_queue_has_as_many_peers_as_it_was_asked_for(void)
{
	enum {
		N = 130
	};
	const struct gantry_queue_conf conf = {.depth = 256, .max_peers = N};
	const struct gantry_peer_conf small = {.depth = 2};
	struct gantry_addr addr[N], spare;
	struct gantry_desc desc[N];
	struct gantry_comp comp[N];
	struct gantry_queue *q;
	uint16_t peer[N], none;
	uint32_t i;

	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	for (i = 0; i < N; i++) {
		CHECK_EQ(gantry_peer_open(q, &small, &peer[i], &addr[i]), 0);
		CHECK_EQ(peer[i], i);
	}
	CHECK_EQ(gantry_peer_open(q, &small, &none, &spare), -ENOSPC);
	for (i = 0; i < N; i++)
		CHECK_EQ(gantry_peer_connect(q, peer[i], &addr[i ^ 1]), 0);
	CHECK_EQ(gantry_peer_connect(q, N, &spare), -EINVAL);
	CHECK_EQ(env_do_one(q, arena_write(0, N)), GANTRY_BAD_PEER);
	memset(dst, 0x11, N * 64);
	for (i = 0; i < N; i++)
		desc[i] = arena_write(i, peer[i * 37 % N]);
	CHECK_EQ(gantry_submit(q, desc, N), N);
	env_collect(q, comp, N);
	for (i = 0; i < N; i++)
		CHECK_EQ(comp[i].status, GANTRY_OK);
	CHECK(memcmp(dst, src, N * 64) == 0);
	CHECK_EQ(gantry_peer_close(q, peer[100]), 0);
	CHECK_EQ(gantry_peer_close(q, peer[3]), 0);
	CHECK_EQ(gantry_peer_open(q, &small, &none, &spare), 0);
	CHECK(none == peer[3] || none == peer[100]);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ during other work */

#define N_COPIES 64

/* Copies through a worker until the test stops it. One thread enqueues and dequeues. */
struct load {
	struct gantry_worker *w;
	uint8_t *from, *to;
	atomic_bool stop;
	uint64_t n_done;
};

static void *
load_main(void *arg)
{
	struct load *load = arg;
	struct gantry_comp comp[N_COPIES];
	uint64_t next = 0, i;

	while (!atomic_load(&load->stop) || load->n_done != next) {
		if (!atomic_load(&load->stop) && next - load->n_done < N_COPIES) {
			struct gantry_desc d = env_copy(load->from, load->to, 4096);

			d.cookie = next;
			next += gantry_enqueue_burst(load->w, &d, 1);
		}
		unsigned int n = env_dequeue(load->w, comp, N_COPIES);

		for (i = 0; i < n; i++) {
			CHECK_EQ(comp[i].cookie, load->n_done++);
			CHECK_EQ(comp[i].status, GANTRY_OK);
		}
	}
	return NULL;
}

static void
worker_write(struct gantry_worker *w, uint16_t peer)
{
	struct gantry_desc d = arena_write(1, peer);
	struct gantry_comp comp;

	memset(dst + 64, 0x11, 64);
	CHECK_EQ(gantry_enqueue_burst(w, &d, 1), 1);
	while (env_dequeue(w, &comp, 1) == 0)
		;
	CHECK_EQ(comp.status, GANTRY_OK);
	CHECK(memcmp(dst + 64, src + 64, 64) == 0);
}

static void
end_peer(struct gantry_queue *q, uint16_t peer)
{
	int ret;

	do
		ret = gantry_peer_close(q, peer);
	while (ret == -EBUSY);
	CHECK_EQ(ret, 0);
}

/*
 * Peers of a worker's queue and of another queue are opened and closed while workers run: every
 * copy of the first worker and every write of the second worker completes, in order. The times of
 * the first and the last calls are printed.
 */
static void
peers_come_and_go_while_workers_run(void)
{
	const struct gantry_peer_conf small = {.depth = 8};
	/* The largest number of peers that exist at the same time. */
	const struct gantry_worker_conf conf = {.queue = {.max_peers = 2}};
	/* More rounds can be requested by hand, for example with GANTRY_TEST_PEERS=1000. */
	const char *more = getenv("GANTRY_TEST_PEERS");
	unsigned int n = more != NULL ? atoi(more) : 30;
	struct gantry_queue *other = env_queue(g, 8), *q;
	struct gantry_worker *copies, *writes;
	uint64_t begin, part[2] = {0, 0};
	struct gantry_addr a, b;
	uint16_t pa, pb, kept, back;
	struct load load = {0};
	pthread_t thread;
	unsigned int i;

	CHECK_EQ(gantry_worker_create(g, 1, &conf, &copies), 0);
	CHECK_EQ(gantry_worker_create(g, 2, &conf, &writes), 0);
	CHECK_EQ(gantry_start(g), 0);
	q = gantry_worker_queue(writes);
	load.w = copies;
	load.from = src;
	load.to = dst + ARENA_LEN / 2;
	CHECK_EQ(pthread_create(&thread, NULL, load_main, &load), 0);
	env_connect(q, &kept, other, &back);
	for (i = 0; i < n; i++) {
		struct gantry_queue *of_copies = gantry_worker_queue(copies);

		begin = rte_get_timer_cycles();
		CHECK_EQ(gantry_peer_open(q, &small, &pa, &a), 0);
		CHECK_EQ(gantry_peer_open(of_copies, &small, &pb, &b), 0);
		CHECK_EQ(gantry_peer_connect(q, pa, &b), 0);
		CHECK_EQ(gantry_peer_connect(of_copies, pb, &a), 0);
		part[i >= n / 2] += rte_get_timer_cycles() - begin;
		worker_write(writes, pa);
		worker_write(writes, kept);
		begin = rte_get_timer_cycles();
		end_peer(q, pa);
		end_peer(of_copies, pb);
		part[i >= n / 2] += rte_get_timer_cycles() - begin;
		/* The peer does not exist any more. */
		CHECK_EQ(gantry_peer_connect(q, pa, &b), -EINVAL);
	}
	atomic_store(&load.stop, true);
	pthread_join(thread, NULL);
	for (i = 0; i < 2; i++)
		part[i] = part[i] * 1000000 / rte_get_timer_hz() / (n / 2);
	printf("two ends: %u us each in the first half, %u in the second; %u copies meanwhile\n",
		(unsigned int)part[0], (unsigned int)part[1], (unsigned int)load.n_done);
	CHECK(load.n_done > 0);
	CHECK(memcmp(load.to, load.from, 4096) == 0);
	CHECK_EQ(gantry_stop(g), 0);
	CHECK_EQ(gantry_worker_destroy(copies), 0);
	CHECK_EQ(gantry_worker_destroy(writes), 0);
	env_queue_done(other);
}

/*
 * A running worker's peer must be busy while descriptors to it are in flight or wait in the
 * worker's queue. Descriptors in the worker's ring must not make the peer busy.
 */
static void
a_running_workers_peer_is_busy_while_descriptors_to_it_are_in_flight(void)
{
	struct gantry_queue *other = env_queue(g, 8), *q;
	struct gantry_desc d[2];
	struct gantry_comp comp[2];
	struct gantry_worker *w;
	uint16_t pa, pb;
	unsigned int got;
	uint64_t late;
	int ret;

	CHECK_EQ(gantry_worker_create(g, 1, NULL, &w), 0);
	CHECK_EQ(gantry_start(g), 0);
	q = gantry_worker_queue(w);
	env_connect(q, &pa, other, &pb);
	late = rte_get_timer_cycles() + 3 * rte_get_timer_hz() / 10;
	CHECK_EQ(softhca_fault("late ms=300"), 0);
	d[0] = env_copy(src, dst, 64);
	d[1] = arena_write(1, pa);
	d[1].flags = GANTRY_DESC_FENCE;
	CHECK_EQ(gantry_enqueue_burst(w, d, 2), 2);
	while (softhca_faults_left() != 0 || env_stats(q).submitted != 2)
		sched_yield();
	ret = gantry_peer_close(q, pa);
	/*
	 * The peer may be closed (0) only after the time `late`: this thread may have waited for a
	 * CPU until both descriptors had completed.
	 */
	CHECK(ret == -EBUSY || (ret == 0 && rte_get_timer_cycles() >= late), "%d", ret);
	for (got = 0; got < 2;)
		got += gantry_dequeue_burst(w, comp + got, 2 - got);
	CHECK_EQ(comp[1].status, GANTRY_OK);
	if (ret != 0)
		end_peer(q, pa);
	d[0] = arena_write(1, pa);
	CHECK_EQ(gantry_enqueue_burst(w, d, 1), 1);
	while (env_dequeue(w, comp, 1) == 0)
		;
	CHECK_EQ(comp[0].status, GANTRY_BAD_PEER);
	CHECK_EQ(gantry_stop(g), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
	env_queue_done(other);
}

/*
 * In an ordered queue, the completion of the refused descriptor waits for the copy, although the
 * descriptor was never in hardware. Meanwhile the peer can be closed, and another peer can get its
 * number.
 */
static void
a_peer_is_closed_before_what_it_refused_is_handed_out(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_desc d[2] = {env_copy(src, dst + 4096, 64)};
	struct gantry_comp comp[2];
	struct gantry_addr addr;
	uint16_t a, b, next;

	env_connect(q, &a, q, &b);
	CHECK_EQ(env_do_one(q, WITH(arena_write(0, a), remote_key, 0)), GANTRY_REMOTE_ACCESS);
	d[1] = arena_write(1, a);
	CHECK_EQ(gantry_submit(q, d, 2), 2);
	CHECK_EQ(gantry_in_flight(q), 2);
	CHECK_EQ(gantry_peer_close(q, a), 0);
	CHECK_EQ(gantry_peer_open(q, NULL, &next, &addr), 0);
	CHECK_EQ(next, a);
	env_collect(q, comp, 2);
	CHECK_EQ(comp[0].status, GANTRY_OK);
	CHECK_EQ(comp[1].status, GANTRY_BAD_PEER);
	CHECK_EQ(comp[1].cookie, 1);
	CHECK_EQ(gantry_peer_close(q, next), 0);
	CHECK_EQ(gantry_peer_close(q, b), 0);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ several peers in one call */

#define N_TURN  5  /* number of peers to which descriptors go alternately */
#define N_MIXED 40 /* number of descriptors in one call */

/*
 * Opens peers of q with rings of `depth` operations. Their other ends belong to the queue `back`.
 */
static void
open_turn(struct gantry_queue *q, struct gantry_queue *back, uint32_t depth, uint16_t peer[N_TURN])
{
	const struct gantry_peer_conf conf = {.depth = depth};
	struct gantry_addr a, b;
	unsigned int i;
	uint16_t other;

	for (i = 0; i < N_TURN; i++) {
		CHECK_EQ(gantry_peer_open(q, &conf, &peer[i], &a), 0);
		CHECK_EQ(gantry_peer_open(back, NULL, &other, &b), 0);
		CHECK_EQ(gantry_peer_connect(q, peer[i], &b), 0);
		CHECK_EQ(gantry_peer_connect(back, other, &a), 0);
	}
}

/*
 * Submits n descriptors in one call. Their completions must come in order, with the given statuses.
 * Descriptors whose status is not GANTRY_OK must have moved no byte.
 */
static void
do_in_one_call(struct gantry_queue *q, const struct gantry_desc *d, unsigned int n,
	const enum gantry_status *status)
{
	struct gantry_comp comp[N_MIXED];
	unsigned int i;

	memset(dst, ENV_UNTOUCHED, n * 64);
	CHECK_EQ(gantry_submit(q, d, n), n);
	env_collect(q, comp, n);
	for (i = 0; i < n; i++) {
		bool ok = status == NULL || status[i] == GANTRY_OK;

		CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[i].op, d[i].op);
		CHECK_EQ(comp[i].len, d[i].len);
		CHECK_EQ(comp[i].status, status == NULL ? GANTRY_OK : status[i]);
		CHECK_EQ(env_is_moved((void *)d[i].src, (void *)d[i].dst, d[i].len), ok);
	}
}

/*
 * A call must ring one doorbell for each connection, however often its descriptors change from one
 * connection to another.
 */
static void
operations_go_to_peers_in_turn(void)
{
	struct gantry_queue *q = env_queue(g, 64), *back = env_queue(g, 4);
	struct gantry_desc d[N_MIXED];
	uint16_t peer[N_TURN];
	uint64_t doorbells;
	unsigned int i;

	open_turn(q, back, 16, peer);
	for (i = 0; i < N_MIXED; i++) {
		d[i] = arena_write(i, peer[i % N_TURN]);
		/* Mixes consecutive descriptors to the same peer, reads, inline data and copies. */
		if (i % 7 == 3)
			d[i].peer = d[i - 1].peer;
		if (i >= 16 && i % 3 == 0) {
			d[i].op = GANTRY_OP_READ;
			d[i].remote_key = gantry_mem_remote_key(src_mem);
		}
		if (i >= 24 && i % 5 == 0)
			d[i].len = 20;
		if (i == 30) {
			d[i] = env_copy(src + i * 64, dst + i * 64, 64);
			d[i].cookie = i;
		}
	}
	for (i = 0; i < 3; i++) {
		doorbells = env_stats(q).doorbells;
		do_in_one_call(q, d, N_MIXED, NULL);
		CHECK_EQ(env_stats(q).doorbells - doorbells, N_TURN + 1);
	}
	env_queue_done(q);
	env_queue_done(back);
}

static void
operations_to_peers_in_turn_wait_for_room(void)
{
	struct gantry_queue *q = env_queue(g, 64), *back = env_queue(g, 4);
	struct gantry_desc d[N_MIXED];
	uint16_t peer[N_TURN];
	unsigned int i;

	open_turn(q, back, 2, peer);
	for (i = 0; i < N_MIXED; i++)
		d[i] = arena_write(i, peer[i % N_TURN]);
	for (i = 0; i < 3; i++)
		do_in_one_call(q, d, N_MIXED, NULL);
	env_queue_done(q);
	env_queue_done(back);
}

/*
 * When a descriptor to one peer fails, descriptors to other peers in the same call are not
 * affected, and neither are earlier descriptors to the same peer.
 */
static void
one_of_the_peers_in_turn_fails(void)
{
	struct gantry_queue *q = env_queue(g, 64), *back = env_queue(g, 4);
	enum gantry_status status[N_MIXED] = {GANTRY_OK};
	const unsigned int bad = 2 + 3 * N_TURN;
	struct gantry_desc d[N_MIXED];
	uint16_t peer[N_TURN];
	unsigned int i;

	open_turn(q, back, 16, peer);
	for (i = 0; i < N_MIXED; i++) {
		d[i] = arena_write(i, peer[i % N_TURN]);
		if (i > bad && i % N_TURN == 2)
			status[i] = GANTRY_FLUSHED;
	}
	d[bad].remote_key = 0;
	status[bad] = GANTRY_REMOTE_ACCESS;
	do_in_one_call(q, d, N_MIXED, status);
	/*
	 * The peer's connection is down. In the next call, only descriptors to this peer are
	 * refused.
	 */
	for (i = 2; i < N_MIXED; i += N_TURN)
		status[i] = GANTRY_BAD_PEER;
	do_in_one_call(q, d, N_MIXED, status);
	env_queue_done(q);
	env_queue_done(back);
}

static const struct check_case cases[] = {
	{"an address with any flipped bit is refused", an_address_with_any_flipped_bit_is_refused},
	{"settings are the peer's, or the engine's, or the default",
		settings_are_the_peers_or_the_engines_or_the_default},
	{"both ends of a connection have one MTU", both_ends_of_a_connection_have_one_mtu},
	{"an impossible setting is refused, and the log names it",
		a_setting_that_is_not_possible_is_refused_by_name},
	{"a refused connect can be repeated", a_refused_connect_can_be_tried_again},
	{"a refused close returns an error, and can be repeated",
		a_refused_close_says_so_and_can_be_called_again},
	{"an open that could not destroy its QP can be repeated",
		an_open_that_leaves_its_qp_can_be_tried_again},
	{"a peer uses memory for its depth, and no more",
		a_peer_takes_memory_for_what_it_was_asked_for},
	{"a queue has as many peers as its configuration says",
		a_queue_has_as_many_peers_as_it_was_asked_for},
	{"one call has operations to several peers", operations_go_to_peers_in_turn},
	{"operations to several peers wait until their rings have free entries",
		operations_to_peers_in_turn_wait_for_room},
	{"one of several peers fails", one_of_the_peers_in_turn_fails},
	{"a peer can be closed before its refused descriptors are polled",
		a_peer_is_closed_before_what_it_refused_is_handed_out},
	{"peers are opened and closed while workers run", peers_come_and_go_while_workers_run},
	{"a running worker's peer is busy while descriptors to it are in flight",
		a_running_workers_peer_is_busy_while_descriptors_to_it_are_in_flight},
};

int
main(int argc, char **argv)
{
	env_init(2);
	arena_create(NULL);
	rte_log_set_level(gantry_logtype, RTE_LOG_EMERG);
	piece = 64;
	return arena_run(cases, RTE_DIM(cases), argc, argv);
}
