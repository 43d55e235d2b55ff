/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engines: several engines in one process, engines on the caller's own context and protection
 * domain, their gantry_info, and devices that refuse to be closed.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <rte_common.h>
#include <rte_lcore.h>

#include <softhca.h>

#include <gantry_queue.h>

#include "gantry_engine.h"
#include "gantry_env.h"
#include "gantry_target.h"

#define LEN UINT64_C(65536)

static uint8_t *src, *dst;

/* Copies through a new queue of the engine. */
static void
check_it_copies(struct gantry *g, uint64_t seed)
{
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_mem *mem[2];
	unsigned int i;

	CHECK_EQ(gantry_mem_register(g, src, LEN, 0, &mem[0]), 0);
	CHECK_EQ(gantry_mem_register(g, dst, LEN, 0, &mem[1]), 0);
	env_fill(src, LEN, seed);
	CHECK_EQ(env_do_one(q, env_copy(src, dst, LEN)), GANTRY_OK);
	CHECK(env_is_filled(dst, LEN, seed));
	env_queue_done(q);
	for (i = 0; i < 2; i++)
		CHECK_EQ(gantry_mem_unregister(mem[i], 0), 0);
}

static struct ibv_context *
open_own(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	unsigned int i;

	CHECK(list != NULL);
	for (i = 0; list[i] != NULL && ctx == NULL; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	CHECK(ctx != NULL);
	return ctx;
}

/* ------------------------------------------------------------------ cases */

static void
engines_on_two_devices_and_two_on_one_work_side_by_side(void)
{
	static const char *const name[] = {"mlx5_0", "mlx5_1", "mlx5_1", NULL};
	struct gantry *g[RTE_DIM(name)], *none = NULL;
	struct gantry_info info;
	unsigned int i;

	for (i = 0; i < RTE_DIM(name); i++) {
		const struct gantry_conf conf = {.device = name[i]};

		CHECK_EQ(gantry_create(&conf, &g[i]), 0);
		gantry_info_get(g[i], &info);
		CHECK(strcmp(info.device, name[i] != NULL ? name[i] : "mlx5_0") == 0);
	}
	for (i = 0; i < RTE_DIM(name); i++)
		check_it_copies(g[i], i);
	/* One engine is destroyed; the other engines still work. */
	CHECK_EQ(gantry_destroy(g[1]), 0);
	check_it_copies(g[2], 7);
	CHECK_EQ(gantry_destroy(g[0]), 0);
	check_it_copies(g[3], 8);
	CHECK_EQ(gantry_destroy(g[2]), 0);
	CHECK_EQ(gantry_destroy(g[3]), 0);
	/* Without a name, the first device that can be opened is used. */
	CHECK_EQ(softhca_fault("refuse call=alloc_pd errno=12"), 0);
	CHECK_EQ(gantry_create(NULL, &g[0]), 0);
	CHECK_EQ(softhca_faults_left(), 0);
	gantry_info_get(g[0], &info);
	CHECK(strcmp(info.device, "mlx5_1") == 0);
	CHECK_EQ(gantry_destroy(g[0]), 0);
	CHECK_EQ(softhca_fault("refuse call=alloc_pd errno=12"), 0);
	CHECK_EQ(gantry_create(&(struct gantry_conf){.device = "mlx5_0"}, &none), -ENOMEM);
	CHECK(none == NULL);
}

/*
 * A key that the caller registered must work on the engine's queue, because both belong to one PD.
 */
static void
an_engine_works_on_the_callers_context_and_protection_domain(void)
{
	struct ibv_context *ctx = open_own("mlx5_1");
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	const struct gantry_conf conf = {.ibv_ctx = ctx, .pd = pd};
	struct gantry_queue *q;
	struct gantry_info info;
	struct gantry_mem *mem;
	struct gantry_desc d;
	struct ibv_mr *mr;
	struct gantry *g;
	uint16_t pa, pb;

	CHECK(pd != NULL);
	CHECK_EQ(gantry_create(&conf, &g), 0);
	gantry_info_get(g, &info);
	CHECK(strcmp(info.device, "mlx5_1") == 0);
	check_it_copies(g, 1);

	mr = ibv_reg_mr(pd, dst, LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(mr != NULL);
	CHECK_EQ(gantry_mem_register(g, src, LEN, 0, &mem), 0);
	q = env_queue(g, 16);
	env_connect(q, &pa, q, &pb);
	env_fill(src, LEN, 2);
	d = env_copy(src, dst, LEN);
	d.op = GANTRY_OP_WRITE;
	d.peer = pa;
	d.remote_key = mr->rkey;
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	CHECK(env_is_filled(dst, LEN, 2));
	env_queue_done(q);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	CHECK_EQ(gantry_destroy(g), 0);

	/* The context and the PD still belong to the caller, and still work. */
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(pd, src, LEN, IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr != NULL);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
an_engine_on_the_callers_context_has_a_protection_domain_of_its_own(void)
{
	struct ibv_context *ctx = open_own("mlx5_0");
	const struct gantry_conf conf = {.ibv_ctx = ctx};
	struct ibv_async_event event;
	struct gantry_info info;
	struct gantry *g;

	CHECK_EQ(gantry_create(&conf, &g), 0);
	check_it_copies(g, 3);
	/* The context's events belong to the caller, and the engine does not read them. */
	CHECK_EQ(softhca_fault("port_down port=1"), 0);
	CHECK_EQ(ibv_get_async_event(ctx, &event), 0);
	CHECK_EQ(event.event_type, IBV_EVENT_PORT_ERR);
	ibv_ack_async_event(&event);
	CHECK_EQ(softhca_fault("port_up port=1"), 0);
	CHECK_EQ(ibv_get_async_event(ctx, &event), 0);
	CHECK_EQ(event.event_type, IBV_EVENT_PORT_ACTIVE);
	ibv_ack_async_event(&event);
	gantry_info_get(g, &info);
	CHECK_EQ(info.ports_down, 0);
	CHECK(!g->event.running);
	CHECK_EQ(gantry_destroy(g), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/*
 * On a context of the caller, the caller gets the device's events (gantry_conf::ibv_ctx). So an
 * engine on such a context refuses pipelined transactions.
 */
static void
transactions_are_pipelined_only_where_the_engine_hears_events(void)
{
	struct ibv_context *ctx = open_own("mlx5_0");
	const struct gantry_conf confs[2] = {{0}, {.ibv_ctx = ctx}};
	const struct gantry_queue_conf conf = {.transactions = 1};
	struct gantry_addr addr;
	struct gantry_queue *q;
	struct gantry *g;
	unsigned int i;
	uint16_t peer;

	for (i = 0; i < RTE_DIM(confs); i++) {
		CHECK_EQ(gantry_create(&confs[i], &g), 0);
		if (env_lacks(g, ENV_SIGNATURES)) {
			CHECK_EQ(gantry_destroy(g), 0);
			break;
		}
		CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
		peer = 77;
		CHECK_EQ(gantry_peer_open(q,
				 &(struct gantry_peer_conf){.txn = GANTRY_TXN_PIPELINED}, &peer,
				 &addr),
			i == 0 ? 0 : -EOPNOTSUPP);
		CHECK_EQ(peer, i == 0 ? 0 : 77);
		CHECK_EQ(gantry_peer_open(q, &(struct gantry_peer_conf){.txn = GANTRY_TXN_WAIT},
				 &peer, &addr),
			0);
		env_queue_done(q);
		CHECK_EQ(gantry_destroy(g), 0);
	}
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
contexts_that_do_not_fit_are_refused(void)
{
	struct ibv_context *a = open_own("mlx5_0"), *b = open_own("mlx5_1");
	struct ibv_pd *pd = ibv_alloc_pd(a);
	struct gantry_conf conf = {.pd = pd};
	struct gantry *g = NULL;

	CHECK(pd != NULL);
	CHECK_EQ(gantry_create(&conf, &g), -EINVAL);
	conf.ibv_ctx = b;
	CHECK_EQ(gantry_create(&conf, &g), -EINVAL);
	conf = (struct gantry_conf){.ibv_ctx = a, .device = "mlx5_0"};
	CHECK_EQ(gantry_create(&conf, &g), -EINVAL);
	CHECK(g == NULL);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(a), 0);
	CHECK_EQ(ibv_close_device(b), 0);
}

/* gantry_info is compared with ibv_query_device(3), and with the limits of a QP of libmlx5. */
/*
 * Values out of range are refused with -EINVAL. The greatest allowed values are accepted, or fail
 * with -ENOMEM if this machine has no memory for them.
 */
static void
check_greatest(struct gantry *g)
{
	struct gantry_queue_conf conf = {.depth = 2, .layout_keys = 256, .replays = 100};
	struct gantry_worker_conf worker_conf[] = {{.ring_size = 1048576},
		{.recv_ring_size = 1048576}};
	struct gantry_info info;
	struct gantry_queue *q;
	struct gantry_worker *w;
	uint32_t i;
	int ret;

	gantry_info_get(g, &info);
	if (info.sig_kinds != 0)
		conf.transactions = GANTRY_MAX_TXNS;
	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	env_queue_done(q);
	for (i = 0; i < 2; i++) {
		ret = gantry_worker_create(g, 1, &worker_conf[i], &w);
		CHECK(ret == 0 || ret == -ENOMEM, "%d", ret);
		if (ret == 0)
			CHECK_EQ(gantry_worker_destroy(w), 0);
		worker_conf[i].ring_size *= 2;
		worker_conf[i].recv_ring_size *= 2;
		CHECK_EQ(gantry_worker_create(g, 1, &worker_conf[i], &w), -EINVAL);
	}
}

static void
limits_are_told(void)
{
	struct gantry_worker_conf worker_conf = {.queue.depth = 128};
	struct ibv_context *ctx = open_own("mlx5_0");
	struct mlx5dv_context dv = {.comp_mask = MLX5DV_CONTEXT_MASK_WR_MEMCPY_LENGTH};
	struct gantry_queue_conf conf = {0};
	struct gantry_peer_conf peer_conf = {0};
	struct gantry_queue_info queue;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	struct gantry_addr addr;
	struct gantry_worker *w;
	struct gantry_info info;
	struct gantry_queue *q;
	struct gantry *g;
	uint16_t peer;

	CHECK_EQ(ibv_query_device(ctx, &attr), 0);
	CHECK_EQ(mlx5dv_query_device(ctx, &dv), 0);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	gantry_info_get(g, &info);
	CHECK_EQ(info.n_ports, attr.phys_port_cnt);
	CHECK_EQ(info.max_wqes, attr.max_qp_wr);
	CHECK_EQ(info.max_reads, attr.max_qp_init_rd_atom);
	CHECK_EQ(ibv_query_port(ctx, 1, &port), 0);
	CHECK_EQ(info.max_msg_len, RTE_MIN(port.max_msg_sz, 1u << 30));
	/* A queue that is created without a configuration gets the default one. */
	CHECK_EQ(gantry_queue_create(g, NULL, &q), 0);
	gantry_queue_info_get(q, &queue);
	CHECK_EQ(queue.depth, 512);
	CHECK_EQ(queue.max_peers, 64);
	CHECK_EQ(queue.port, 0);
	CHECK(strcmp(queue.device, ibv_get_device_name(ctx->device)) == 0, "%s", queue.device);
	env_queue_done(q);
	CHECK_EQ(info.max_copy_len,
		dv.max_wr_memcpy_length != 0 ? dv.max_wr_memcpy_length : 1u << 30);
	CHECK_EQ(info.copy_path, dv.max_wr_memcpy_length != 0 ? GANTRY_COPY_MMO : GANTRY_COPY_RDMA);

	/* The greatest depth is accepted, and twice that depth is refused. */
	conf.depth = info.max_depth;
	conf.max_peers = info.max_peers;
	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	gantry_queue_info_get(q, &queue);
	CHECK_EQ(queue.depth, info.max_depth);
	CHECK_EQ(queue.max_wqes, RTE_MIN(info.max_depth, info.max_wqes));
	CHECK_EQ(queue.max_peers, info.max_peers);
	CHECK_EQ(queue.lcore, LCORE_ID_ANY);
	CHECK_EQ(queue.numa_node, info.numa_node);
	/* The engine cannot be destroyed while it has a queue. It then still receives events. */
	CHECK_EQ(gantry_destroy(g), -EBUSY);
	CHECK(g->event.running);
	/*
	 * As above, for peers: the greatest depth of a peer is that of a queue pair of the device.
	 */
	peer_conf.depth = info.max_depth;
	CHECK_EQ(gantry_peer_open(q, &peer_conf, &peer, &addr), 0);
	peer_conf.transport = GANTRY_TRANSPORT_DC;
	if (!env_lacks(g, ENV_DC))
		CHECK_EQ(gantry_peer_open(q, &peer_conf, &peer, NULL), 0);
	env_queue_done(q);
	conf.depth *= 2;
	CHECK_EQ(gantry_queue_create(g, &conf, &q), -EINVAL);
	check_greatest(g);
	conf = (struct gantry_queue_conf){.depth = 16,
		.mask = GANTRY_QUEUE_NUMA_NODE,
		.numa_node = rte_socket_id_by_idx(0)};
	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	gantry_queue_info_get(q, &queue);
	CHECK_EQ(queue.numa_node, rte_socket_id_by_idx(0));
	CHECK_EQ(queue.max_wqes, hwq_sq_n_bb(q->conn[GANTRY_CONN_OWN].sq));
	env_queue_done(q);
	conf = (struct gantry_queue_conf){.max_peers = info.max_peers + 1};
	CHECK_EQ(gantry_queue_create(g, &conf, &q), -EINVAL);

	CHECK_EQ(gantry_worker_create(g, 1, &worker_conf, &w), 0);
	gantry_queue_info_get(gantry_worker_queue(w), &queue);
	CHECK_EQ(queue.depth, 128);
	CHECK_EQ(queue.lcore, 1);
	CHECK_EQ(gantry_worker_destroy(w), 0);
	CHECK_EQ(gantry_destroy(g), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* Returns the port of a connection's QP, as libmlx5 reports it. */
static unsigned int
port_of(const struct gantry_queue *q, unsigned int conn)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQ(ibv_query_qp(q->conn[conn].qp->qp, &attr, IBV_QP_PORT, &init), 0);
	return attr.port_num;
}

/* A DC target and the initiator use their queue's port. */
static void
check_dc_port(struct gantry_queue *q, unsigned int port)
{
	const struct gantry_peer_conf at = {.transport = GANTRY_TRANSPORT_DC_TARGET},
				      dc = {.transport = GANTRY_TRANSPORT_DC};
	struct ibv_qp_init_attr init;
	struct gantry_addr addr;
	struct ibv_qp_attr attr;
	uint16_t target, peer;

	CHECK_EQ(gantry_peer_open(q, &at, &target, &addr), 0);
	CHECK_EQ(gantry_peer_open(q, &dc, &peer, NULL), 0);
	CHECK_EQ(gantry_peer_connect(q, peer, &addr), 0);
	CHECK_EQ(ibv_query_qp(q->conn[GANTRY_CONN_PEER + target].target->dct->qp, &attr,
			 IBV_QP_PORT, &init),
		0);
	CHECK_EQ(attr.port_num, port);
	CHECK_EQ(port_of(q, GANTRY_CONN_DCI), port);
	CHECK_EQ(gantry_peer_close(q, peer), 0);
	CHECK_EQ(gantry_peer_close(q, target), 0);
}

static void
check_port(const struct gantry_queue *q, unsigned int port)
{
	struct gantry_queue_info info;

	gantry_queue_info_get(q, &info);
	CHECK_EQ(info.port, port);
	CHECK_EQ(port_of(q, GANTRY_CONN_OWN), port);
}

static void
queues_take_the_active_ports_in_turn(void)
{
	struct gantry_conf conf = {.path = {.mask = GANTRY_PATH_GID_INDEX,
					   .port = GANTRY_PORTS_IN_TURN,
					   .gid_index = 0}};
	struct gantry_queue *q[4], *one;
	struct gantry *g, *other;
	uint16_t pa, pb;
	unsigned int i;

	CHECK_EQ(gantry_create(&conf, &g), -EINVAL);
	conf.path.mask = 0;
	CHECK_EQ(gantry_create(&conf, &g), 0);
	for (i = 0; i < RTE_DIM(q); i++) {
		q[i] = env_queue(g, 16);
		check_port(q[i], 1 + i % 2);
	}
	/* A peer uses its queue's port. */
	env_connect(q[1], &pa, q[0], &pb);
	CHECK_EQ(port_of(q[1], GANTRY_CONN_PEER), 2);
	CHECK_EQ(port_of(q[0], GANTRY_CONN_PEER), 1);
	for (i = 0; i < 2 && !env_lacks(g, ENV_DC); i++)
		check_dc_port(q[i], 1 + i);
	check_it_copies(g, 6);
	for (i = 0; i < RTE_DIM(q); i++)
		env_queue_done(q[i]);

	/* A port that is down is not used. */
	CHECK_EQ(softhca_fault("port_down port=1"), 0);
	for (i = 0; i < RTE_DIM(q); i++) {
		q[i] = env_queue(g, 16);
		check_port(q[i], 2);
	}
	/* If no port is given, an engine's queues and peers use the first active port. */
	CHECK_EQ(gantry_create(NULL, &other), 0);
	one = env_queue(other, 16);
	CHECK_EQ(port_of(one, GANTRY_CONN_OWN), 2);
	env_connect(one, &pa, one, &pb);
	CHECK_EQ(port_of(one, GANTRY_CONN_PEER), 2);
	env_queue_done(one);
	CHECK_EQ(gantry_destroy(other), 0);
	softhca_faults_clear();
	for (i = 0; i < RTE_DIM(q); i++)
		env_queue_done(q[i]);
	CHECK_EQ(gantry_destroy(g), 0);
}

/*
 * Returns an index of the port's GID table whose GID is not RoCEv2. The engine does not choose this
 * index by default.
 */
static uint32_t
poor_gid(struct ibv_context *ctx, uint32_t port)
{
	struct ibv_gid_entry e;
	uint32_t i;

	for (i = 0; ibv_query_gid_ex(ctx, port, i, &e, 0) == 0; i++)
		if (e.gid_type != IBV_GID_TYPE_ROCE_V2)
			return i;
	CHECK(false, "all GIDs of port %u are RoCEv2", port);
	return 0;
}

/*
 * Checks that a connection's QP has this port and the GID with this index, or, for UINT32_MAX, any
 * RoCEv2 GID.
 */
static void
check_gid(const struct gantry_queue *q, uint16_t peer, unsigned int port, uint32_t index)
{
	struct hwq_qp *qp = q->conn[gantry_queue_peer_conn(q, peer)].qp;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_gid_entry e;

	CHECK_EQ(ibv_query_qp(qp->qp, &attr, IBV_QP_AV, &init), 0);
	CHECK_EQ(attr.ah_attr.port_num, port);
	CHECK_EQ(ibv_query_gid_ex(qp->qp->context, port, attr.ah_attr.grh.sgid_index, &e, 0), 0);
	if (index == UINT32_MAX)
		CHECK_EQ(e.gid_type, IBV_GID_TYPE_ROCE_V2);
	else
		CHECK_EQ(attr.ah_attr.grh.sgid_index, index);
}

/*
 * Each port has its own GID table (ibv_query_gid_ex(3)), so a GID index must be used only for its
 * port.
 */
static void
a_gid_index_is_that_of_one_port(void)
{
	struct ibv_context *ctx = open_own("mlx5_0");
	const uint32_t poor[] = {poor_gid(ctx, 1), poor_gid(ctx, 2)};
	/* The port that the engine's configuration names, and the first active port. */
	static const uint8_t engine_port[] = {2, 1, 0};
	struct {
		uint8_t port;
		int gid_index; /* -1: the configuration gives none */
	} peers[] = {{0, -1}, {1, -1}, {2, -1}, {1, poor[0]}, {2, poor[1]}};
	unsigned int i, k, port, at;
	struct gantry_addr a, b;
	struct gantry_queue *q;
	struct gantry *g;
	uint16_t pa, pb;
	bool given;

	for (i = 0; i < RTE_DIM(engine_port); i++) {
		struct gantry_conf conf = {.path.port = engine_port[i]};

		at = engine_port[i] != 0 ? engine_port[i] : 1;
		conf.path.mask = GANTRY_PATH_GID_INDEX;
		conf.path.gid_index = poor[at - 1];
		CHECK_EQ(gantry_create(&conf, &g), 0);
		q = env_queue(g, 16);
		for (k = 0; k < RTE_DIM(peers); k++) {
			struct gantry_peer_conf peer = {.path.port = peers[k].port};

			given = peers[k].gid_index >= 0;
			if (given) {
				peer.path.mask = GANTRY_PATH_GID_INDEX;
				peer.path.gid_index = peers[k].gid_index;
			}
			CHECK_EQ(gantry_peer_open(q, &peer, &pa, &a), 0);
			CHECK_EQ(gantry_peer_open(q, &peer, &pb, &b), 0);
			CHECK_EQ(gantry_peer_connect(q, pa, &b), 0);
			CHECK_EQ(gantry_peer_connect(q, pb, &a), 0);
			port = peers[k].port != 0 ? peers[k].port : at;
			check_gid(q, pa, port, given || port == at ? poor[port - 1] : UINT32_MAX);
			CHECK_EQ(gantry_peer_close(q, pa), 0);
			CHECK_EQ(gantry_peer_close(q, pb), 0);
		}
		env_queue_done(q);
		CHECK_EQ(gantry_destroy(g), 0);
	}
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/*
 * Waits for the engine's event thread, which reports a change of ports a little later. Until then,
 * the ports must be as before.
 */
static void
wait_for_ports(const struct gantry *g, uint32_t before, uint32_t after)
{
	struct gantry_info info;

	do {
		usleep(1000);
		gantry_info_get(g, &info);
	} while (info.ports_down == before);
	CHECK_EQ(info.ports_down, after);
	CHECK(!info.device_lost);
}

/*
 * Each bit of gantry_info::ports_down must show one port: bit n is port n + 1 of the engine's own
 * device.
 */
static void
each_port_is_told_by_itself(void)
{
	const struct gantry_conf conf = {.device = "mlx5_1"};
	struct gantry *g, *other;
	struct gantry_info info;
	unsigned int first;
	char line[40];

	CHECK_EQ(gantry_create(NULL, &g), 0);
	CHECK_EQ(gantry_create(&conf, &other), 0);
	for (first = 1; first <= 2; first++) {
		const unsigned int second = 3 - first;

		snprintf(line, sizeof(line), "port_down port=%u", first);
		CHECK_EQ(softhca_fault(line), 0);
		wait_for_ports(g, 0, first);
		snprintf(line, sizeof(line), "port_down port=%u", second);
		CHECK_EQ(softhca_fault(line), 0);
		wait_for_ports(g, first, 3);
		snprintf(line, sizeof(line), "port_up port=%u", first);
		CHECK_EQ(softhca_fault(line), 0);
		wait_for_ports(g, 3, second);
		snprintf(line, sizeof(line), "port_up port=%u", second);
		CHECK_EQ(softhca_fault(line), 0);
		wait_for_ports(g, second, 0);
		gantry_info_get(other, &info);
		CHECK_EQ(info.ports_down, 0);
	}
	CHECK_EQ(softhca_fault("port_down device=1 port=2"), 0);
	wait_for_ports(other, 0, 2);
	gantry_info_get(g, &info);
	CHECK_EQ(info.ports_down, 0);
	CHECK_EQ(softhca_fault("port_up device=1 port=2"), 0);
	wait_for_ports(other, 2, 0);
	CHECK_EQ(gantry_destroy(other), 0);
	CHECK_EQ(gantry_destroy(g), 0);
}

static void
an_engine_that_the_device_does_not_close_can_be_closed_later(void)
{
	struct gantry *g;

	CHECK_EQ(gantry_create(NULL, &g), 0);
	check_it_copies(g, 4);
	CHECK_EQ(softhca_fault("refuse call=dealloc_pd errno=13"), 0);
	CHECK_EQ(gantry_destroy(g), -EACCES);
	/* The engine works: it executes copies. */
	check_it_copies(g, 5);
	CHECK_EQ(gantry_destroy(g), 0);
}

static unsigned int
open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	CHECK(dir != NULL);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

/*
 * gantry_create() opens the device before it checks the policy. The policy is refused, and then the
 * device refuses to be closed.
 */
static void
a_device_that_is_not_closed_by_a_failed_creation_is_closed_later(void)
{
	const struct gantry_policy wrong = {1, {{1, 1, GANTRY_CARRIER_MAX}}};
	const struct gantry_conf conf = {.policy = &wrong};
	unsigned int without = open_files(), with;
	struct gantry *g, *none = NULL;

	CHECK_EQ(gantry_create(NULL, &g), 0);
	with = open_files();
	CHECK_EQ(softhca_fault("refuse call=dealloc_pd errno=13 times=2"), 0);
	CHECK_EQ(gantry_create(&conf, &none), -EINVAL);
	CHECK(open_files() > with);
	/*
	 * This gantry_create() tries to close the first device, which is refused again, and closes
	 * its own device.
	 */
	CHECK_EQ(gantry_create(&conf, &none), -EINVAL);
	CHECK_EQ(softhca_faults_left(), 0);
	CHECK_EQ(gantry_create(&conf, &none), -EINVAL);
	CHECK_EQ(open_files(), with);
	CHECK_EQ(softhca_fault("refuse call=dealloc_pd errno=13"), 0);
	CHECK_EQ(gantry_create(&conf, &none), -EINVAL);
	CHECK(open_files() > with);
	CHECK(none == NULL);
	CHECK_EQ(gantry_destroy(g), 0);
	CHECK_EQ(open_files(), without);
}

/* gantry_before_eal() opens a device for a short time, and must close it again. */
static void
nothing_stays_open_of_what_spares_the_fork_init(void)
{
	const int ret = gantry_before_eal();
	const unsigned int n = open_files();

	CHECK(ret == 0 || ret == -EOPNOTSUPP, "%d", ret);
	CHECK_EQ(gantry_before_eal(), ret);
	CHECK_EQ(open_files(), n);
}

/* Expected values come from the adapters' settings. */
static void
the_first_device_that_can_carry_copies_is_opened(void)
{
	const char *mmo_from = getenv("SOFTHCA_MMO_FROM");
	const unsigned int with_mmo = mmo_from != NULL ? atoi(mmo_from) : 0;
	const char *const names[] = {"mlx5_0", "mlx5_1", NULL};
	unsigned int i, path;

	for (i = 0; i < RTE_DIM(names); i++)
		for (path = GANTRY_COPY_AUTO; path <= GANTRY_COPY_RDMA; path++) {
			const struct gantry_conf conf = {.device = names[i], .copy_path = path};
			struct gantry *g = NULL;
			struct gantry_info info;
			unsigned int number = i;

			if (names[i] == NULL)
				number = path == GANTRY_COPY_MMO ? with_mmo : 0;
			if (path == GANTRY_COPY_MMO && number < with_mmo) {
				CHECK_EQ(gantry_create(&conf, &g), -EOPNOTSUPP);
				CHECK(g == NULL);
				continue;
			}
			CHECK_EQ(gantry_create(&conf, &g), 0);
			gantry_info_get(g, &info);
			CHECK(strcmp(info.device, names[number]) == 0);
			CHECK_EQ(info.copy_path, path == GANTRY_COPY_RDMA || number < with_mmo
							 ? GANTRY_COPY_RDMA
							 : GANTRY_COPY_MMO);
			check_it_copies(g, 10 * i + path);
			CHECK_EQ(gantry_destroy(g), 0);
		}
}

static const struct check_case cases[] = {
	{"engines on two devices, and two on one, work side by side",
		engines_on_two_devices_and_two_on_one_work_side_by_side},
	{"an engine works on the caller's context and protection domain",
		an_engine_works_on_the_callers_context_and_protection_domain},
	{"an engine on the caller's context has its own protection domain",
		an_engine_on_the_callers_context_has_a_protection_domain_of_its_own},
	{"transactions are pipelined only if the engine gets events",
		transactions_are_pipelined_only_where_the_engine_hears_events},
	{"contexts that the engine cannot use are refused", contexts_that_do_not_fit_are_refused},
	{"limits are reported", limits_are_told},
	{"queues use the active ports alternately", queues_take_the_active_ports_in_turn},
	{"a GID index belongs to one port", a_gid_index_is_that_of_one_port},
	{"each port is reported separately", each_port_is_told_by_itself},
	{"an engine that the device does not close can be closed later",
		an_engine_that_the_device_does_not_close_can_be_closed_later},
	{"a device that a failed creation could not close is closed later",
		a_device_that_is_not_closed_by_a_failed_creation_is_closed_later},
	{"refusing ibv_fork_init(3) leaves nothing open",
		nothing_stays_open_of_what_spares_the_fork_init},
	{"the first device that can carry copies is opened",
		the_first_device_that_can_carry_copies_is_opened},
};

int
main(int argc, char **argv)
{
	env_init(1);
	src = env_map(LEN);
	dst = env_map(LEN);
	env_run(cases, RTE_DIM(cases), argc, argv);
	return 0;
}
