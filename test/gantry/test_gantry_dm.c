/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory: each operation that can name memory names device memory, as source and as
 * destination. The test reads the bytes through the CPU's mapping, which the stock libraries
 * create.
 */
#include <string.h>

#include <rte_common.h>

#include <infiniband/mlx5dv.h>

#include <softhca.h>

#include "gantry_engine.h"
#include "gantry_env.h"
#include "gantry_queue.h"

#define LEN 8192

static struct gantry *g;
static uint8_t *host, *dm;
static struct gantry_mem *host_mem, *dm_mem;

static void
reset(void)
{
	env_fill(host, 2 * LEN, 1);
	memset(dm, 0, LEN);
}

/* ------------------------------------------------------------------ on the own connection */

/* Opcode of the last WQE of copies. */
static uint8_t
last_opcode(const struct gantry_queue *q)
{
	const struct hwq_sq *sq = q->conn[GANTRY_CONN_OWN].sq;

	return sq->buf[(sq->last & sq->mask) * 64 + 3];
}

/*
 * Checks that RDMA carried the copy. DMA MMO copies memory on the PCI bus (mlx5dv_wr_post(3)), so
 * it may not be able to reach device memory.
 */
static void
check_copied_by_rdma(const struct gantry_queue *q)
{
	CHECK(last_opcode(q) == MLX5_OPCODE_RDMA_WRITE || last_opcode(q) == MLX5_OPCODE_RDMA_READ,
		"%#x", last_opcode(q));
}

static void
copies_go_into_it_inside_it_and_out_of_it(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_mem *local_mem;
	uint8_t *local = env_mem(g, 4096, 0, &local_mem); /* memory that peers may not write */
	unsigned int i;

	reset();
	/*
	 * The copies are repeated, because the engine uses a shorter path for a region that an
	 * earlier copy has used.
	 */
	for (i = 0; i < 3; i++) {
		memset(dm, 0, LEN);
		memset(local, 0, 4096);
		CHECK_EQ(env_do_one(q, env_copy(host, dm, 3000)), GANTRY_OK);
		check_copied_by_rdma(q);
		CHECK_EQ(env_do_one(q, env_copy(dm, dm + 4000, 3000)), GANTRY_OK);
		check_copied_by_rdma(q);
		CHECK_EQ(env_do_one(q, env_copy(dm + 4000, local, 3000)), GANTRY_OK);
		check_copied_by_rdma(q);
		/*
		 * Two copies in a row with the same source region and the same destination region.
		 */
		CHECK_EQ(env_do_one(q, env_copy(dm + 4000, local + 3000, 90)), GANTRY_OK);
		CHECK_EQ(env_do_one(q, env_copy(host, dm + 7001, 90)), GANTRY_OK);
		CHECK_EQ(env_do_one(q, env_copy(host, dm + 7100, 90)), GANTRY_OK);
		CHECK(memcmp(dm, host, 3000) == 0);
		CHECK(memcmp(dm + 4000, host, 3000) == 0);
		CHECK(memcmp(local, host, 3000) == 0);
		CHECK(memcmp(local + 3000, host, 90) == 0);
		CHECK(memcmp(dm + 7001, host, 90) == 0 && memcmp(dm + 7100, host, 90) == 0);
		CHECK(dm[3000] == 0 && dm[3999] == 0 && dm[7000] == 0 && local[3090] == 0);
		CHECK_EQ(env_do_one(q, env_copy(host, host + LEN + 4000, 100)), GANTRY_OK);
	}
	CHECK_EQ(env_do_one(q, env_copy(host, dm + LEN - 1, 1)), GANTRY_OK);
	CHECK_EQ(dm[LEN - 1], host[0]);
	CHECK_EQ(env_do_one(q, env_copy(host, dm + LEN - 1, 2)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, env_copy(dm - 1, host, 2)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, env_copy(dm, dm + 99, 100)), GANTRY_OVERLAP);
	CHECK_EQ(gantry_mem_unregister(local_mem, 0), 0);
	env_unmap(local, 4096);
	CHECK_EQ(env_stats(q).recoveries, 0);
	env_queue_done(q);
}

/*
 * A burst of copies with and without device memory: all bytes must be right. Each piece of memory
 * is used once.
 */
static void
it_mixes_with_other_copies_in_a_burst(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc d[64];
	struct gantry_comp comp[64];
	unsigned int i;

	reset();
	for (i = 0; i < 64; i++)
		d[i] = env_copy(host + i * 128, (i % 3 == 0 ? dm : host + LEN) + i * 128, 65 + i);
	env_do(q, d, comp, 64);
	for (i = 0; i < 64; i++) {
		CHECK_EQ(comp[i].status, GANTRY_OK);
		CHECK(memcmp((void *)d[i].src, (void *)d[i].dst, 65 + i) == 0);
	}
	env_queue_done(q);
}

static void
fills_and_lists_reach_it(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc d = {.op = GANTRY_OP_FILL, .dst = (uintptr_t)dm + 8, .len = 2021};
	struct gantry_sge from[3], to[3];
	unsigned int i;

	reset();
	d.arg[0] = UINT64_C(0x1122334455667788);
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	check_copied_by_rdma(q);
	for (i = 0; i < 2021; i++)
		CHECK_EQ(dm[8 + i], ((uint8_t *)&d.arg[0])[i % 8]);
	CHECK(dm[7] == 0 && dm[8 + 2021] == 0);

	/*
	 * Pieces go from host to host, host to device, device to device, and device to host memory.
	 */
	reset();
	memcpy(dm + 4096, host + 1000, 1000);
	from[0] = (struct gantry_sge){(uintptr_t)host, 1000};
	from[1] = (struct gantry_sge){(uintptr_t)dm + 4096, 600};
	from[2] = (struct gantry_sge){(uintptr_t)dm + 4696, 400};
	to[0] = (struct gantry_sge){(uintptr_t)host + LEN, 500};
	to[1] = (struct gantry_sge){(uintptr_t)dm, 700};
	to[2] = (struct gantry_sge){(uintptr_t)host + LEN + 600, 800};
	d = (struct gantry_desc){.op = GANTRY_OP_COPY_SG,
		.src = (uintptr_t)from,
		.dst = (uintptr_t)to,
		.len = 2000,
		.arg = {3 | UINT64_C(3) << 32}};
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	check_copied_by_rdma(q);
	CHECK(memcmp(host + LEN, host, 500) == 0);
	CHECK(memcmp(dm, host + 500, 700) == 0);
	CHECK(memcmp(host + LEN + 600, host + 1200, 800) == 0);
	CHECK_EQ(env_stats(q).recoveries, 0);
	env_queue_done(q);
}

/* A COPY_SG into device memory. The first bytes go to host memory that peers may not write. */
static struct gantry_desc
list_into_it(struct gantry_sge *sge, uint8_t *local)
{
	sge[0] = (struct gantry_sge){(uintptr_t)host, 300};
	sge[1] = (struct gantry_sge){(uintptr_t)local, 100};
	sge[2] = (struct gantry_sge){(uintptr_t)dm + 600, 200};
	return (struct gantry_desc){.op = GANTRY_OP_COPY_SG,
		.src = (uintptr_t)sge,
		.dst = (uintptr_t)(sge + 1),
		.len = 300,
		.arg = {1 | UINT64_C(2) << 32}};
}

#define N_COPIES 5

/* Stores a copy of each kind that uses device memory. sge has room for 6 entries. */
static void
each_kind(struct gantry_desc *d, struct gantry_sge *sge, uint8_t *local)
{
	reset();
	memset(local, 0, 4096);
	memcpy(dm + 1000, host + 1000, 100);
	d[0] = env_copy(host, dm, 100);
	d[1] = env_copy(dm + 1000, local + 1000, 100);
	d[2] = (struct gantry_desc){.op = GANTRY_OP_FILL,
		.dst = (uintptr_t)dm + 2000,
		.len = 100,
		.arg = {UINT64_C(0x0101010101010101)}};
	d[3] = list_into_it(sge, local);
	/* A COPY_SG of which only the last source buffer is device memory. */
	sge[3] = (struct gantry_sge){(uintptr_t)host, 300};
	sge[4] = (struct gantry_sge){(uintptr_t)dm + 1000, 100};
	sge[5] = (struct gantry_sge){(uintptr_t)local + 2000, 400};
	d[4] = (struct gantry_desc){.op = GANTRY_OP_COPY_SG,
		.src = (uintptr_t)(sge + 3),
		.dst = (uintptr_t)(sge + 5),
		.len = 400,
		.arg = {2 | UINT64_C(1) << 32}};
}

static void
check_each_kind(const uint8_t *local)
{
	CHECK(memcmp(dm, host, 100) == 0);
	CHECK(memcmp(local + 1000, host + 1000, 100) == 0);
	CHECK(dm[2000] == 1 && dm[2099] == 1 && dm[2100] == 0);
	CHECK(memcmp(local, host, 100) == 0 && memcmp(dm + 600, host + 100, 200) == 0);
	CHECK(memcmp(local + 2000, host, 300) == 0 && memcmp(local + 2300, host + 1000, 100) == 0);
}

static void
rdma_alone_carries_it(void)
{
	static const uint16_t refused[] = {GANTRY_DESC_BY_CPU, GANTRY_DESC_BY_MMO,
		GANTRY_DESC_BY_CPU | GANTRY_DESC_BY_RDMA, GANTRY_DESC_BY_MMO | GANTRY_DESC_BY_RDMA};
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc d[N_COPIES];
	struct gantry_sge sge[6];
	struct gantry_mem *local_mem;
	uint8_t *local = env_mem(g, 4096, 0, &local_mem); /* memory that peers may not write */
	unsigned int i, k;

	for (k = 0; k < RTE_DIM(refused); k++) {
		each_kind(d, sge, local);
		for (i = 0; i < N_COPIES; i++)
			CHECK_EQ(env_do_one(q, WITH(d[i], flags, refused[k])), GANTRY_BAD_CARRIER);
		CHECK(dm[0] == 0 && dm[600] == 0 && dm[2000] == 0);
		CHECK(local[0] == 0 && local[1000] == 0 && local[2000] == 0);
	}
	/* The copies succeed even if gantry_info::carriers does not contain RDMA. */
	each_kind(d, sge, local);
	for (i = 0; i < N_COPIES; i++)
		CHECK_EQ(env_do_one(q, WITH(d[i], flags, GANTRY_DESC_BY_RDMA)), GANTRY_OK);
	check_each_kind(local);
	CHECK_EQ(env_stats(q).copies[GANTRY_CARRIER_RDMA], N_COPIES);
	CHECK_EQ(gantry_mem_unregister(local_mem, 0), 0);
	env_unmap(local, 4096);
	env_queue_done(q);
}

/*
 * The rules give all copies to the CPU. The CPU must carry copies of host memory, but no copy of
 * device memory.
 */
static void
rules_are_passed_over(void)
{
	const struct gantry_policy policy = {.n = 1,
		.rule = {{UINT64_MAX, UINT32_MAX, GANTRY_CARRIER_CPU}}};
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc d[2 * N_COPIES];
	struct gantry_comp comp[2 * N_COPIES];
	struct gantry_sge sge[6];
	struct gantry_mem *local_mem;
	uint8_t *local = env_mem(g, 4096, 0, &local_mem);
	struct gantry_stats stats;
	unsigned int round, i;

	CHECK_EQ(gantry_policy_set(q, &policy), 0);
	for (round = 0; round < 3; round++) {
		each_kind(d, sge, local);
		for (i = 0; i < N_COPIES; i++)
			d[N_COPIES + i] = env_copy(host + i * 100, host + LEN + i * 100, 100);
		/*
		 * Swaps every second pair, so that copies with device memory come before and after
		 * copies of host memory.
		 */
		for (i = 1; i < N_COPIES; i += 2)
			RTE_SWAP(d[i], d[N_COPIES + i]);
		env_do(q, d, comp, 2 * N_COPIES);
		for (i = 0; i < 2 * N_COPIES; i++)
			CHECK_EQ(comp[i].status, GANTRY_OK);
		check_each_kind(local);
		CHECK(memcmp(host, host + LEN, N_COPIES * 100) == 0);
		/* Copies of adjacent pieces. */
		for (i = 0; i < N_COPIES; i++)
			d[i] = env_copy(host + i, dm + 3000 + i * 8, 8);
		env_do(q, d, comp, N_COPIES);
		for (i = 0; i < N_COPIES; i++)
			CHECK(comp[i].status == GANTRY_OK &&
				memcmp(dm + 3000 + i * 8, host + i, 8) == 0);
	}
	stats = env_stats(q);
	CHECK_EQ(stats.copies[GANTRY_CARRIER_CPU], 3 * N_COPIES);
	CHECK_EQ(stats.copies[GANTRY_CARRIER_RDMA], 3 * 2 * N_COPIES);
	CHECK_EQ(stats.copies[GANTRY_CARRIER_MMO], 0);
	CHECK_EQ(gantry_mem_unregister(local_mem, 0), 0);
	env_unmap(local, 4096);
	env_queue_done(q);
}

static void
layouts_lie_over_it_and_beside_it(void)
{
	const struct gantry_block block = {.offset = 16, .len = 8, .skip = 24};
	const struct gantry_layout_conf conf = {.block = &block, .n = 1, .rounds = 50};
	struct gantry_desc d = {.op = GANTRY_OP_GATHER, .len = 400};
	struct gantry_queue *q;
	unsigned int i;

	if (env_lacks(g, ENV_LAYOUTS))
		return;
	q = env_queue(g, 64);
	CHECK_EQ(gantry_layout_create(g, &conf, &d.layout), 0);
	reset();
	memcpy(dm, host, 2000);
	d.src = (uintptr_t)dm;
	d.dst = (uintptr_t)host + LEN;
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	for (i = 0; i < 50; i++)
		CHECK(memcmp(host + LEN + i * 8, host + 16 + i * 32, 8) == 0);
	d.src = (uintptr_t)host;
	d.dst = (uintptr_t)dm + 4096;
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	CHECK(memcmp(dm + 4096, host + LEN, 400) == 0);
	d.op = GANTRY_OP_SCATTER;
	d.src = (uintptr_t)dm + 4096;
	d.dst = (uintptr_t)dm;
	memset(dm, 0, 2000);
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	for (i = 0; i < 50; i++)
		CHECK(memcmp(dm + 16 + i * 32, host + 16 + i * 32, 8) == 0);
	CHECK(dm[15] == 0 && dm[24] == 0);
	CHECK_EQ(gantry_layout_destroy(g, d.layout), 0);
	CHECK_EQ(env_stats(q).recoveries, 0);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ with peers */

/*
 * True if the last WQE in the peer's send queue has inline data. The CPU reads device memory
 * slowly, so the engine should not write data from device memory inline.
 */
static bool
last_is_inline(const struct gantry_queue *q, uint16_t peer)
{
	const struct hwq_sq *sq = q->conn[gantry_queue_peer_conn(q, peer)].sq;

	/*
	 * Byte 32 follows the control segment and the remote address. Its top bit says that the
	 * data are inline: mlx5_wqe_inl_data_seg.
	 */
	return (((const uint8_t *)hwq_sq_at(sq, sq->last))[32] & 0x80) != 0;
}

/* Lengths on both sides of the limit up to which messages from other memory are inline. */
static void
peers_write_and_read_it(void)
{
	static const uint64_t lens[] = {8, 28, 29, 1000};
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc d, many[4];
	struct gantry_comp comp[4];
	unsigned int i, k;
	uint16_t a, b;

	env_connect(q, &a, q, &b);
	for (i = 0; i < RTE_DIM(lens); i++) {
		reset();
		d = env_copy(host, NULL, lens[i]);
		d.op = GANTRY_OP_WRITE;
		d.peer = a;
		d.dst = gantry_mem_remote_addr(dm_mem, dm);
		CHECK_EQ(d.dst, 0);
		d.remote_key = gantry_mem_remote_key(dm_mem);
		CHECK_EQ(env_do_one(q, d), GANTRY_OK);
		CHECK_EQ(last_is_inline(q, a), lens[i] <= 28);
		CHECK(memcmp(dm, host, lens[i]) == 0);
		CHECK_EQ(dm[lens[i]], 0);

		d.src = (uintptr_t)dm;
		d.dst = gantry_mem_remote_addr(host_mem, host + LEN);
		CHECK_EQ(d.dst, (uintptr_t)host + LEN);
		d.remote_key = gantry_mem_remote_key(host_mem);
		memset(host + LEN, 0, LEN);
		CHECK_EQ(env_do_one(q, d), GANTRY_OK);
		CHECK(!last_is_inline(q, a));
		CHECK(memcmp(host + LEN, host, lens[i]) == 0);
		/* Several messages in one call, after a message from host memory. */
		for (k = 0; k < RTE_DIM(many); k++)
			many[k] = WITH(WITH(d, src, k == 0 ? (uintptr_t)host : (uintptr_t)dm), dst,
				d.dst + k * 1000);
		env_do(q, many, comp, RTE_DIM(many));
		CHECK(!last_is_inline(q, a));
		for (k = 0; k < RTE_DIM(many); k++)
			CHECK(comp[k].status == GANTRY_OK &&
				memcmp(host + LEN + k * 1000, host, lens[i]) == 0);

		d.op = GANTRY_OP_READ;
		d.src = (uintptr_t)host + 100;
		d.dst = (uintptr_t)dm + 4000;
		CHECK_EQ(env_do_one(q, d), GANTRY_OK);
		CHECK(memcmp(dm + 4000, host + 100, lens[i]) == 0);

		d.src = gantry_mem_remote_addr(dm_mem, dm + 4000);
		d.dst = (uintptr_t)host + LEN + 4000;
		d.remote_key = gantry_mem_remote_key(dm_mem);
		CHECK_EQ(env_do_one(q, d), GANTRY_OK);
		CHECK(memcmp(host + LEN + 4000, host + 100, lens[i]) == 0);
	}
	d = (struct gantry_desc){.op = GANTRY_OP_FETCH_ADD,
		.peer = a,
		.dst = 64,
		.len = 8,
		.remote_key = gantry_mem_remote_key(dm_mem),
		.arg = {7}};
	memset(dm + 64, 0, 8);
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	CHECK_EQ(dm[64], 7);
	CHECK_EQ(gantry_peer_close(q, a), 0);
	CHECK_EQ(gantry_peer_close(q, b), 0);
	env_queue_done(q);
}

static void
messages_leave_it_and_arrive_in_it(void)
{
	const struct gantry_peer_conf conf = {.recv_depth = 4};
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_recv r = {.addr = (uintptr_t)dm + 4096, .len = 512};
	struct gantry_desc d = {.op = GANTRY_OP_SEND, .src = (uintptr_t)dm, .len = 20};
	struct gantry_addr addr_a, addr_b;
	struct gantry_recv_comp comp;
	uint16_t a, b;

	reset();
	memcpy(dm, host, 512);
	CHECK_EQ(gantry_peer_open(q, NULL, &a, &addr_a), 0);
	CHECK_EQ(gantry_peer_open(q, &conf, &b, &addr_b), 0);
	CHECK_EQ(gantry_peer_connect(q, a, &addr_b), 0);
	CHECK_EQ(gantry_peer_connect(q, b, &addr_a), 0);
	d.peer = a;
	CHECK_EQ(gantry_recv_post(q, b, &r, 1), 1);
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	while (gantry_recv_poll(q, &comp, 1) == 0)
		env_pump();
	CHECK(comp.status == GANTRY_OK && comp.len == 20);
	CHECK(memcmp(dm + 4096, host, 20) == 0);
	CHECK_EQ(dm[4096 + 20], 0);
	CHECK_EQ(gantry_peer_close(q, a), 0);
	CHECK_EQ(gantry_peer_close(q, b), 0);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ how long it lives */

static void
it_is_freed_with_its_registration(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_info info;
	struct gantry_mem *mem;
	unsigned int flag;
	void *all = NULL;

	gantry_info_get(g, &info);
	CHECK(info.max_dm_len > 2 * LEN);
	CHECK_EQ(gantry_mem_alloc_dm(g, 0, 0, &mem, &all), -EINVAL);
	for (flag = GANTRY_MEM_READ_ONLY; flag != 0; flag <<= 1)
		CHECK_EQ(gantry_mem_alloc_dm(g, 64, flag, &mem, &all), -EINVAL);
	CHECK_EQ(gantry_mem_alloc_dm(g, info.max_dm_len + 1, 0, &mem, &all), -ENOMEM);
	/* LEN bytes are in use, so all device memory cannot be allocated. */
	CHECK_EQ(gantry_mem_alloc_dm(g, info.max_dm_len, 0, &mem, &all), -ENOMEM);
	CHECK_EQ(softhca_fault("refuse call=reg_dm_mr errno=12"), 0);
	CHECK_EQ(gantry_mem_alloc_dm(g, info.max_dm_len - LEN, 0, &mem, &all), -ENOMEM);
	CHECK(all == NULL);
	CHECK_EQ(gantry_mem_alloc_dm(g, info.max_dm_len - LEN, 0, &mem, &all), 0);
	CHECK_EQ(env_do_one(q, env_copy(host, all, 64)), GANTRY_OK);
	CHECK(memcmp(all, host, 64) == 0);
	CHECK_EQ(softhca_fault("refuse call=free_dm errno=16"), 0);
	CHECK_EQ(gantry_mem_unregister(mem, 0), -EBUSY);
	CHECK_EQ(env_do_one(q, env_copy(host, all, 64)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	/* The memory can be allocated again, and is all zero. */
	CHECK_EQ(gantry_mem_alloc_dm(g, info.max_dm_len - LEN, 0, &mem, &all), 0);
	CHECK_EQ(*(uint64_t *)all, 0);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	env_queue_done(q);
}

static const struct check_case cases[] = {
	{"copies go into device memory, inside it and out of it",
		copies_go_into_it_inside_it_and_out_of_it},
	{"copies of device memory mix with other copies in a burst",
		it_mixes_with_other_copies_in_a_burst},
	{"fills and lists reach device memory", fills_and_lists_reach_it},
	{"only RDMA copies device memory", rdma_alone_carries_it},
	{"rules that name the CPU are skipped for device memory", rules_are_passed_over},
	{"layouts lie over device memory and beside it", layouts_lie_over_it_and_beside_it},
	{"peers write and read device memory", peers_write_and_read_it},
	{"messages leave device memory and arrive in it", messages_leave_it_and_arrive_in_it},
	{"device memory is freed with its registration", it_is_freed_with_its_registration},
};

int
main(int argc, char **argv)
{
	void *addr;

	env_init(0);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	env_need(g, ENV_DEVICE_MEMORY);
	host = env_mem(g, 2 * LEN, ENV_REMOTE, &host_mem);
	CHECK_EQ(gantry_mem_alloc_dm(g, LEN, ENV_REMOTE | GANTRY_MEM_REMOTE_ATOMIC, &dm_mem, &addr),
		0);
	dm = addr;
	env_run(cases, RTE_DIM(cases), argc, argv);
	return env_done(g, (struct gantry_mem *const[]){host_mem, dm_mem}, 2);
}
