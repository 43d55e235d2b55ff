/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that are ready for use after the firmware command CREATE_MKEY: with rights, and with a
 * layout over other keys or over user memory. Such a key must behave as a memory region with the
 * same rights.
 */
#include "softhca_devx_key.h"
#include "softhca_scribe.h"

static struct pair p;

static void
open_pair(void)
{
	pair_init(&p, NULL);
	for (uint32_t i = 0; i < PAIR_BUF; i++) {
		p.client.buf[i] = (uint8_t)(i * 7 + i / 256);
		p.server.buf[i] = (uint8_t)(i * 11 + i / 200 + 1);
	}
}

/* Connects the pair again, because an operation may have failed. */
static void
reconnect(void)
{
	CHECK_EQ(pair_modify(&p.client, IBV_QPS_RESET), 0);
	CHECK_EQ(pair_modify(&p.server, IBV_QPS_RESET), 0);
	pair_connect(&p, &p.client, p.server.qp->qp_num);
	pair_connect(&p, &p.server, p.client.qp->qp_num);
}

/*
 * Runs an operation of the client between its buffer and [va, va+len) of rkey. Returns the status.
 */
static enum ibv_wc_status
run(enum ibv_wr_opcode op, uint32_t lkey, uint64_t at, uint32_t rkey, uint64_t va, uint32_t len)
{
	struct ibv_sge sge = {at, len, lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = va, .rkey = rkey}};
	struct ibv_send_wr *bad;
	enum ibv_wc_status status;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = va;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	}
	pair_publish(&p.client);
	CHECK_EQ(ibv_post_send(p.client.qp, &wr, &bad), 0);
	status = pair_wait(&p.client).status;
	if (status != IBV_WC_SUCCESS)
		reconnect();
	return status;
}

static enum ibv_wc_status
run_remote(enum ibv_wr_opcode op, uint32_t rkey, uint64_t va, uint32_t len)
{
	return run(op, p.client.mr->lkey, (uintptr_t)p.client.buf, rkey, va, len);
}

/* ---------------------------------------------------------------- rights */

/*
 * Each set of rights is tested for a key, and for a region with the same rights if verbs allow
 * them.
 */
static void
case_rights(void)
{
	static const struct {
		enum ibv_wr_opcode op;
		unsigned int right;
	} ops[] = {{IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE},
		{IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ},
		{IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC}};
	uint64_t va;

	open_pair();
	va = (uintptr_t)p.server.buf;
	for (unsigned int access = 0; access < 16; access++) {
		struct key_command c = key_command(p.pd, KEY_KLM, access, va, 64);
		struct ibv_mr *mr = ibv_reg_mr(p.pd, p.server.buf, 64, (int)access);
		struct mlx5dv_devx_obj *obj;
		uint32_t key;

		key_lay_out(&c, &(struct key_part){va, p.server.mr->lkey, 64}, 1, 0);
		obj = key_make(p.ctx, &c, &key);
		for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
			enum ibv_wc_status want = (access & ops[i].right) != 0
							  ? IBV_WC_SUCCESS
							  : IBV_WC_REM_ACCESS_ERR;

			CHECK_EQ(run_remote(ops[i].op, key, va, 8), want);
			if (mr != NULL)
				CHECK_EQ(run_remote(ops[i].op, mr->rkey, va, 8), want);
		}
		/*
		 * As a local key: data may always leave, and may arrive if local writes are
		 * allowed.
		 */
		CHECK_EQ(run(IBV_WR_RDMA_READ, key, va, p.client.mr->rkey, (uintptr_t)p.client.buf,
				 8),
			(access & IBV_ACCESS_LOCAL_WRITE) != 0 ? IBV_WC_SUCCESS
							       : IBV_WC_LOC_PROT_ERR);
		CHECK_EQ(run(IBV_WR_RDMA_WRITE, key, va, p.client.mr->rkey, (uintptr_t)p.client.buf,
				 8),
			IBV_WC_SUCCESS);
		CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
		if (mr != NULL)
			CHECK_EQ(ibv_dereg_mr(mr), 0);
	}
	pair_fini(&p);
}

/*
 * A free key has its rights from the start, but must allow no access before a work request
 * configures it.
 */
static void
case_free(void)
{
	struct key_command c;
	struct mlx5dv_devx_obj *obj;
	uint32_t key;

	open_pair();
	c = key_command(p.pd, KEY_KLM, PAIR_ALL, 0, 64);
	key_lay_out(&c, &(struct key_part){(uintptr_t)p.server.buf, p.server.mr->lkey, 64}, 1, 0);
	devx_put(c.bytes, MKC + 0x01, 1, 1);
	devx_put(c.bytes, MKC + 0x10, 1, 1);
	obj = key_make(p.ctx, &c, &key);
	CHECK_EQ(run_remote(IBV_WR_RDMA_WRITE, key, 0, 8), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	pair_fini(&p);
}

/* ---------------------------------------------------------------- layouts */

/* Returns the address of byte i of the key, whose parts follow each other. */
static uint8_t *
place(const struct key_part *parts, uint32_t i)
{
	while (i >= parts->len)
		i -= (parts++)->len;
	return (uint8_t *)(uintptr_t)parts->va + i;
}

/*
 * Writes and reads `len` bytes at an offset of the key, and compares them with the memory of the
 * parts.
 */
static void
expect_layout(const struct key_part *parts, uint32_t key, uint64_t start, uint32_t off,
	uint32_t len)
{
	static uint8_t before[PAIR_BUF];

	memcpy(before, p.server.buf, PAIR_BUF);
	CHECK_EQ(run_remote(IBV_WR_RDMA_WRITE, key, start + off, len), IBV_WC_SUCCESS);
	for (uint32_t i = 0; i < len; i++) {
		CHECK_EQ(*place(parts, off + i), p.client.buf[i]);
		before[place(parts, off + i) - p.server.buf] = p.client.buf[i];
	}
	CHECK(check_bytes(p.server.buf, before, PAIR_BUF, "all other bytes"));
	for (uint32_t i = 0; i < len; i++)
		*place(parts, off + i) = (uint8_t)(i * 5 + 3);
	CHECK_EQ(run_remote(IBV_WR_RDMA_READ, key, start + off, len), IBV_WC_SUCCESS);
	for (uint32_t i = 0; i < len; i++)
		CHECK_EQ(p.client.buf[i], (uint8_t)(i * 5 + 3));
}

static void
case_klms(void)
{
	const uint64_t start = 0x123456789000;
	struct key_part parts[4], padded[8] = {{0, 0, 0}};
	struct mlx5dv_devx_obj *obj;
	struct key_command c;
	uint32_t key;

	open_pair();
	for (uint32_t i = 0; i < 4; i++)
		parts[i] = (struct key_part){(uintptr_t)p.server.buf + 9000 * i + 17,
			p.server.mr->lkey, 1000 + 333 * i};
	/* A list is padded to four units. A part of length 0 may also be between other parts. */
	padded[0] = parts[0];
	padded[2] = parts[1];
	padded[3] = parts[2];
	padded[4] = parts[3];
	c = key_command(p.pd, KEY_KLM, PAIR_ALL, start, 5998);
	key_lay_out(&c, padded, 8, 0);
	obj = key_make(p.ctx, &c, &key);
	expect_layout(parts, key, start, 0, 5998);
	expect_layout(parts, key, start, 999, 1400);
	CHECK_EQ(run_remote(IBV_WR_RDMA_WRITE, key, start + 1, 5998), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(run_remote(IBV_WR_RDMA_WRITE, key, start - 1, 1), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	/* If a key is longer than its layout, accesses beyond the layout must be refused. */
	key_put64(&c, MKC + 0xc0, 7000);
	obj = key_make(p.ctx, &c, &key);
	CHECK_EQ(run_remote(IBV_WR_RDMA_READ, key, start + 5990, 8), IBV_WC_SUCCESS);
	CHECK_EQ(run_remote(IBV_WR_RDMA_READ, key, start + 5990, 9), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	/* A key for all addresses begins at address 0. */
	devx_put(c.bytes, MKC + 0x60, 1, 1);
	obj = key_make(p.ctx, &c, &key);
	expect_layout(parts, key, 0, 500, 2000);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	pair_fini(&p);
}

/*
 * Parts of equal size, over a key that is itself indirect. The lengths in the units must not count.
 */
static void
case_ksms(void)
{
	const uint64_t start = 1ull << 40;
	struct key_part parts[3], under;
	struct mlx5dv_devx_obj *obj, *inner;
	struct key_command c;
	uint32_t key, inner_key;

	open_pair();
	under = (struct key_part){(uintptr_t)p.server.buf + 100, p.server.mr->lkey, 50000};
	c = key_command(p.pd, KEY_KLM, PAIR_ALL, 0, 50000);
	key_lay_out(&c, &under, 1, 0);
	inner = key_make(p.ctx, &c, &inner_key);
	for (uint32_t i = 0; i < 3; i++)
		parts[i] = (struct key_part){(2 - i) * 20000, inner_key, 77};
	c = key_command(p.pd, KEY_KSM, PAIR_ALL, start, 10000);
	key_lay_out(&c, parts, 3, 12);
	obj = key_make(p.ctx, &c, &key);
	for (uint32_t i = 0; i < 3; i++)
		parts[i] =
			(struct key_part){(uintptr_t)p.server.buf + 100 + (2 - i) * 20000, 0, 4096};
	expect_layout(parts, key, start, 0, 10000);
	expect_layout(parts, key, start, 4000, 5000);
	CHECK_EQ(run_remote(IBV_WR_RDMA_READ, key, start + 1, 10000), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	CHECK_EQ(mlx5dv_devx_obj_destroy(inner), 0);
	pair_fini(&p);
}

/* ---------------------------------------------------------------- user memory */

static void
case_pages(void)
{
	const uint64_t start = 0xabc000;
	struct mlx5dv_devx_umem *umem, *read_only;
	struct mlx5dv_devx_obj *obj;
	struct key_command c;
	struct key_part part;
	uint32_t key;

	open_pair();
	umem = mlx5dv_devx_umem_reg(p.ctx, p.server.buf, 16384, IBV_ACCESS_LOCAL_WRITE);
	read_only = mlx5dv_devx_umem_reg(p.ctx, p.server.buf, 16384, 0);
	CHECK(umem != NULL && read_only != NULL);
	c = key_command(p.pd, KEY_PAGES, PAIR_ALL, start, 8192);
	devx_put(c.bytes, 0x320, 32, umem->umem_id);
	key_put64(&c, 0x340, 4096);
	obj = key_make(p.ctx, &c, &key);
	CHECK_EQ(key & 0xff, KEY_VARIANT);
	part = (struct key_part){(uintptr_t)p.server.buf + 4096, 0, 8192};
	expect_layout(&part, key, start, 0, 8192);
	CHECK_EQ(run_remote(IBV_WR_RDMA_WRITE, key, start + 1, 8192), IBV_WC_REM_ACCESS_ERR);
	/* The umem of a key must not be deregistered while the key exists. */
	CHECK(mlx5dv_devx_umem_dereg(umem) != 0 && errno == EBUSY);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	/* Only a key without a right to write may be over read-only memory. */
	devx_put(c.bytes, 0x320, 32, read_only->umem_id);
	CHECK(key_try(p.ctx, &c, &key) == NULL);
	CHECK_EQ(c.status, 5);
	CHECK_EQ(c.syndrome, 0x10320);
	devx_put(c.bytes, MKC + 0x11, 4, 2); /* only rr (remote read) */
	obj = key_make(p.ctx, &c, &key);
	CHECK_EQ(run_remote(IBV_WR_RDMA_READ, key, start, 8), IBV_WC_SUCCESS);
	CHECK_EQ(run_remote(IBV_WR_RDMA_WRITE, key, start, 8), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(read_only), 0);
	pair_fini(&p);
}

/*
 * Fields that are not allowed in a key over user memory, and layouts that are longer than the
 * command: all are refused.
 */
static void
case_refused(void)
{
	static const struct {
		unsigned int bit, width;
		uint32_t value;
		uint8_t status;
		uint32_t named;
	} wrong[] = {
		{MKC + 0x01, 1, 1, 3, MKC + 0x01},  /* a free key */
		{MKC + 0x10, 1, 1, 3, MKC + 0x10},  /* a key for UMR */
		{MKC + 0x60, 1, 1, 3, MKC + 0x60},  /* a key for all addresses */
		{MKC + 0x61, 1, 1, 3, MKC + 0x61},  /* a key with a BSF */
		{MKC + 0xe0, 32, 0, 3, MKC + 0xc0}, /* a key of length 0 */
		{MKC + 0xe0, 32, 8193, 3, 0x320},   /* a key longer than the memory */
		{0x360, 32, 16384, 3, 0x320},       /* a key beyond the memory's end */
		/* the memory does not exist */
		{0x340, 32, 0xffffffff, 3, 0x320},
		{0x320, 32, 0x777777, 5, 0x320},
	};
	struct mlx5dv_devx_umem *umem;
	struct key_command c, pages;
	struct key_part part = {0, 0, 64};
	uint32_t key;

	open_pair();
	umem = mlx5dv_devx_umem_reg(p.ctx, p.server.buf, 16384, IBV_ACCESS_LOCAL_WRITE);
	CHECK(umem != NULL);
	pages = key_command(p.pd, KEY_PAGES, PAIR_ALL, 0, 8192);
	devx_put(pages.bytes, 0x320, 32, umem->umem_id);
	key_put64(&pages, 0x340, 8192);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		c = pages;
		devx_put(c.bytes, wrong[i].bit, wrong[i].width, wrong[i].value);
		CHECK(key_try(p.ctx, &c, &key) == NULL);
		CHECK_EQ(errno, EREMOTEIO);
		CHECK_EQ(c.status, wrong[i].status);
		CHECK_EQ(c.syndrome, 0x10000 + wrong[i].named);
	}
	/* The layout's length in the command is greater than the layout. */
	c = key_command(p.pd, KEY_KLM, PAIR_ALL, 0, 64);
	key_lay_out(&c, &part, 1, 0);
	c.len -= 4;
	CHECK(key_try(p.ctx, &c, &key) == NULL);
	CHECK_EQ(c.status, 0x50);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	pair_fini(&p);
}

/*
 * Configures a key with a UMR of libmlx5. libmlx5 configures only its own keys, so the key in its
 * WQE is replaced.
 */
static enum ibv_wc_status
configure(struct mlx5dv_mkey *mkey, uint32_t key)
{
	struct ibv_sge sge = {(uintptr_t)p.server.buf, 32, p.server.mr->lkey};
	uint16_t here = scribe_here(&p.server);
	struct scribe_wqe w;

	ibv_wr_start(p.server.qpx);
	p.server.qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mr_list(p.server.dvx, mkey, PAIR_ALL, 1, &sge);
	CHECK_EQ(ibv_wr_complete(p.server.qpx), 0);
	w = scribe_take(&p.server, here, MLX5_OPCODE_UMR, &p.client);
	scribe_set(&w, offsetof(struct mlx5_wqe_ctrl_seg, imm), 4, key);
	return scribe_run(&p.client, &w);
}

/* A key that is not for UMR must keep its layout. */
static void
case_not_for_umr(void)
{
	struct mlx5dv_mkey_init_attr attr = {.max_entries = 4,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT};

	for (unsigned int umr = 0; umr < 2; umr++) {
		struct mlx5dv_devx_obj *obj;
		struct mlx5dv_mkey *mkey;
		struct key_command c;
		uint32_t key;

		pair_init(&p, &(struct pair_opts){.keys = true});
		attr.pd = p.pd;
		mkey = mlx5dv_create_mkey(&attr);
		CHECK(mkey != NULL);
		scribe_init(&p);
		c = key_command(p.pd, KEY_KLM, PAIR_ALL, 0, 64);
		key_lay_out(&c, &(struct key_part){(uintptr_t)p.server.buf, p.server.mr->lkey, 64},
			1, 0);
		devx_put(c.bytes, MKC + 0x10, 1, umr);
		obj = key_make(p.ctx, &c, &key);
		CHECK_EQ(configure(mkey, key), umr ? IBV_WC_SUCCESS : IBV_WC_MW_BIND_ERR);
		CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
		CHECK_EQ(mlx5dv_destroy_mkey(mkey), 0);
		pair_fini(&p);
	}
}

static const struct check_case cases[] = {
	{"a key has the rights that it was created with", case_rights},
	{"a free key grants nothing yet", case_free},
	{"a list of parts is the layout of a key", case_klms},
	{"parts of one size are the layout of a key", case_ksms},
	{"a key names user memory", case_pages},
	{"an impossible key is refused", case_refused},
	{"a work request configures the keys that are made for it", case_not_for_umr},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
