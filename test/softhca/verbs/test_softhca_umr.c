/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules for the work requests that configure keys and bind windows. libmlx5 always keeps these
 * rules, so the tests change one field of a WQE that libmlx5 has written. The fields are those of
 * mlx5dv.h (mlx5_wqe_umr_ctrl_seg, mlx5_wqe_mkey_context_seg, mlx5_wqe_umr_klm_seg,
 * mlx5_wqe_umr_repeat_block_seg).
 */
#include "softhca_scribe.h"

#define DS          7 /* offset of DS: the lowest byte of the control segment's qpn_ds */
#define IMM         offsetof(struct mlx5_wqe_ctrl_seg, imm)
#define UMR(f)      (16 + offsetof(struct mlx5_wqe_umr_ctrl_seg, f))
#define MKC(f)      (64 + offsetof(struct mlx5_wqe_mkey_context_seg, f))
#define KLM(i, f)   (128 + 16 * (i) + offsetof(struct mlx5_wqe_umr_klm_seg, f))
#define REPEAT(f)   (128 + offsetof(struct mlx5_wqe_umr_repeat_block_seg, f))
#define ENTRY(i, f) (144 + 16 * (i) + offsetof(struct mlx5_wqe_umr_repeat_ent_seg, f))

#define MASK_SIG_ERR (1 << 9)
#define MASK_BSF     (1 << 12)
#define MASK_VARIANT (1 << 13)
#define MASK_QPN     (1 << 14)
#define MASK_FREE    (1 << 29)
#define BSF_ENABLED  0x40000000
#define FREE         0x40

struct keys {
	struct pair p;
	struct mlx5dv_mkey *mkey, *other; /* other: another key, which can have only few entries */
	struct ibv_mr *mr;                /* region over the server's memory, for windows */
	struct ibv_mw *mw;
	uint16_t here;
};

static void
keys_open(struct keys *k, uint16_t entries, uint32_t flags, enum ibv_mw_type type)
{
	struct mlx5dv_mkey_init_attr attr = {.max_entries = entries,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | flags};

	pair_init(&k->p, &(struct pair_opts){.keys = true});
	attr.pd = k->p.pd;
	k->mkey = mlx5dv_create_mkey(&attr);
	attr = (struct mlx5dv_mkey_init_attr){.pd = k->p.pd,
		.max_entries = 1,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT};
	k->other = mlx5dv_create_mkey(&attr);
	k->mr = ibv_reg_mr(k->p.pd, k->p.server.buf, 4096,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	k->mw = ibv_alloc_mw(k->p.pd, type);
	CHECK(k->mkey != NULL && k->other != NULL && k->mr != NULL && k->mw != NULL);
	for (uint32_t i = 0; i < PAIR_BUF; i++)
		k->p.client.buf[i] = (uint8_t)(i * 7 + 1);
	memset(k->p.server.buf, 0xee, PAIR_BUF);
	scribe_init(&k->p);
	k->here = scribe_here(&k->p.server);
}

static void
keys_close(struct keys *k)
{
	CHECK_EQ(mlx5dv_destroy_mkey(k->mkey), 0);
	CHECK_EQ(mlx5dv_destroy_mkey(k->other), 0);
	CHECK_EQ(ibv_dealloc_mw(k->mw), 0);
	CHECK_EQ(ibv_dereg_mr(k->mr), 0);
	pair_fini(&k->p);
}

static struct scribe_wqe
taken(struct keys *k)
{
	return scribe_take(&k->p.server, k->here, MLX5_OPCODE_UMR, &k->p.client);
}

/* ---- WQEs of libmlx5 */

static void
start(struct keys *k)
{
	ibv_wr_start(k->p.server.qpx);
	k->p.server.qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
}

/*
 * Returns a UMR WQE with a list of n entries of 64 bytes each, with 100 bytes from entry to entry.
 */
static struct scribe_wqe
list_wqe(struct keys *k, uint16_t n)
{
	struct ibv_sge v[8];

	for (uint16_t i = 0; i < n; i++)
		v[i] = (struct ibv_sge){(uintptr_t)k->p.server.buf + i * 100, 64,
			k->p.server.mr->lkey};
	start(k);
	mlx5dv_wr_mr_list(k->p.server.dvx, k->mkey, PAIR_ALL, n, v);
	CHECK_EQ(ibv_wr_complete(k->p.server.qpx), 0);
	return taken(k);
}

/* Returns a UMR WQE with three rounds of entries of 10, 20 and 30 bytes. */
static struct scribe_wqe
repeat_wqe(struct keys *k)
{
	struct mlx5dv_mr_interleaved v[3];

	for (unsigned int i = 0; i < 3; i++)
		v[i] = (struct mlx5dv_mr_interleaved){(uintptr_t)k->p.server.buf + i * 1000,
			10 + 10 * i, 6, k->p.server.mr->lkey};
	start(k);
	mlx5dv_wr_mr_interleaved(k->p.server.dvx, k->mkey, PAIR_ALL, 3, 3, v);
	CHECK_EQ(ibv_wr_complete(k->p.server.qpx), 0);
	return taken(k);
}

/* Returns a WQE that binds the window to bytes 1000..1063. */
static struct scribe_wqe
bind_wqe(struct keys *k)
{
	struct ibv_mw_bind_info info = {.mr = k->mr,
		.addr = (uintptr_t)k->p.server.buf + 1000,
		.length = 64,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE};
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW,
		.bind_mw = {.mw = k->mw, .rkey = ibv_inc_rkey(k->mw->rkey), .bind_info = info}};
	struct ibv_mw_bind bind = {.bind_info = info};
	struct ibv_send_wr *bad;
	struct scribe_wqe w;

	if (k->mw->type == IBV_MW_TYPE_1)
		CHECK_EQ(ibv_bind_mw(k->p.server.qp, k->mw, &bind), 0);
	else
		CHECK_EQ(ibv_post_send(k->p.server.qp, &wr, &bad), 0);
	w = taken(k);
	/* A type 2 window belongs to the QP that binds it. */
	if (k->mw->type == IBV_MW_TYPE_2)
		scribe_set(&w, MKC(qpn_mkey), 3, k->p.client.qp->qp_num);
	return w;
}

static uint32_t
bound_key(const struct keys *k, const struct scribe_wqe *w)
{
	return (k->mw->rkey & ~0xffu) | (uint32_t)scribe_get(w, MKC(qpn_mkey) + 3, 1);
}

static enum ibv_wc_status
write_to(struct keys *k, uint32_t rkey, uint64_t raddr, uint32_t len)
{
	struct pair_end *e = &k->p.client;

	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(e->qpx, rkey, raddr);
	ibv_wr_set_sge(e->qpx, e->mr->lkey, (uintptr_t)e->buf, len);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	return pair_wait(e).status;
}

/* ---- one field changed */

struct change {
	size_t at, len;
	uint64_t value; /* new value of the field; if `add`, it is or-ed into the field */
	bool add;
};

#define END                                                                                        \
	{                                                                                          \
		0, 0, 0, false                                                                     \
	}

static void
change(struct scribe_wqe *w, const struct change *c)
{
	for (; c->len != 0; c++)
		scribe_set(w, c->at, c->len,
			c->add ? scribe_get(w, c->at, c->len) | c->value : c->value);
}

static void
expect_untouched(struct keys *k)
{
	for (uint32_t i = 0; i < PAIR_BUF; i++)
		CHECK_EQ(k->p.server.buf[i], 0xee);
}

/*
 * Posts a UMR with a list of two entries and these changes, and expects this status. After success,
 * a write through the key must reach both entries; otherwise no byte may have changed.
 */
static void
list(const struct change *c, uint32_t flags, enum ibv_wc_status status)
{
	struct scribe_wqe w;
	struct keys k;

	keys_open(&k, 2, flags, IBV_MW_TYPE_2);
	w = list_wqe(&k, 2);
	change(&w, c);
	CHECK_EQ(scribe_run(&k.p.client, &w), status);
	if (status == IBV_WC_SUCCESS) {
		CHECK_EQ(write_to(&k, k.mkey->rkey, 0, 128), IBV_WC_SUCCESS);
		CHECK_EQ(memcmp(k.p.server.buf, k.p.client.buf, 64), 0);
		CHECK_EQ(memcmp(k.p.server.buf + 100, k.p.client.buf + 64, 64), 0);
		CHECK_EQ(k.p.server.buf[64], 0xee);
		CHECK_EQ(k.p.server.buf[164], 0xee);
	} else {
		expect_untouched(&k);
	}
	keys_close(&k);
}

static void
case_list_fields(void)
{
	const uint32_t sig = MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE;
	const struct change nothing[] = {END};

	list(nothing, 0, IBV_WC_SUCCESS);
	for (unsigned int bit = 0; bit < 3; bit++)
		list((struct change[]){{UMR(flags), 1, 1u << bit, true}, END}, 0,
			IBV_WC_LOC_QP_OP_ERR);
	list((struct change[]){{UMR(flags), 1, 0x40, true}, END}, 0, IBV_WC_LOC_QP_OP_ERR);
	list((struct change[]){{UMR(mkey_mask), 8, 1 << 2, true}, END}, 0, IBV_WC_LOC_QP_OP_ERR);
	list((struct change[]){{UMR(mkey_mask), 8, UINT64_C(1) << 63, true}, END}, 0,
		IBV_WC_LOC_QP_OP_ERR);
	/* A layout that is not in the WQE must have one data segment, and no offset. */
	list((struct change[]){{UMR(flags), 1, 0, false}, END}, 0, IBV_WC_LOC_QP_OP_ERR);
	list((struct change[]){{UMR(flags), 1, 0x10, true}, {UMR(translation_offset), 2, 1, false},
		     END},
		0, IBV_WC_LOC_QP_OP_ERR);
	/* The layout is longer than the WQE. */
	list((struct change[]){{UMR(klm_octowords), 2, 8, false}, END}, 0, IBV_WC_LOC_QP_OP_ERR);
	list((struct change[]){{UMR(klm_octowords), 2, 0xffff, false}, END}, 0,
		IBV_WC_LOC_QP_OP_ERR);
	/*
	 * A key that is no window must not be bound to a QP. The field counts only if the mask
	 * includes it.
	 */
	list((struct change[]){{UMR(mkey_mask), 8, MASK_QPN, true},
		     {MKC(qpn_mkey), 3, 0xffffff, false}, END},
		0, IBV_WC_SUCCESS);
	list((struct change[]){{UMR(mkey_mask), 8, MASK_QPN, true},
		     {MKC(qpn_mkey), 3, 0x123456, false}, END},
		0, IBV_WC_LOC_QP_OP_ERR);
	list((struct change[]){{MKC(qpn_mkey), 3, 0x123456, false}, END}, 0, IBV_WC_SUCCESS);
	/* A UMR that frees the key must not have a layout. */
	list((struct change[]){{UMR(mkey_mask), 8, MASK_FREE, true}, {MKC(free), 1, FREE, false},
		     END},
		0, IBV_WC_LOC_QP_OP_ERR);
	/*
	 * Only a key that can have a BSF may get one. The BSF must be in the WQE if and only if it
	 * is enabled.
	 */
	list((struct change[]){{UMR(mkey_mask), 8, MASK_SIG_ERR, true}, END}, sig, IBV_WC_SUCCESS);
	list((struct change[]){{UMR(mkey_mask), 8, MASK_SIG_ERR, true}, END}, 0,
		IBV_WC_MW_BIND_ERR);
	list((struct change[]){{UMR(mkey_mask), 8, MASK_BSF, true}, END}, 0, IBV_WC_MW_BIND_ERR);
	list((struct change[]){{UMR(mkey_mask), 8, MASK_BSF, true},
		     {MKC(flags_pd), 4, BSF_ENABLED, false}, END},
		sig, IBV_WC_LOC_QP_OP_ERR);
	list((struct change[]){{UMR(mkey_mask) + 6, 1, MASK_VARIANT >> 8, false},
		     {MKC(flags_pd), 4, BSF_ENABLED, false}, END},
		sig, IBV_WC_SUCCESS);
	list((struct change[]){{UMR(bsf_octowords), 2, 4, false}, {DS, 1, 16, false},
		     {KLM(4, byte_count), 1, 0x80, false}, END},
		sig, IBV_WC_LOC_QP_OP_ERR);
}

/*
 * Moves the layout from the WQE to the client's memory, and adds a data segment for this memory to
 * the WQE (Linux, drivers/infiniband/hw/mlx5/umr.h, struct mlx5r_umr_wqe).
 */
#define LAYOUT_AT  16384
#define LAYOUT_LEN 64 /* 4 units: two entries and their padding */

static void
move_out(struct keys *k, struct scribe_wqe *w)
{
	const struct pair_end *e = &k->p.client;

	memcpy(e->buf + LAYOUT_AT, w->bytes + 128, LAYOUT_LEN);
	memset(w->bytes + 128, 0, LAYOUT_LEN);
	change(w, (struct change[]){{UMR(flags), 1, 0, false}, {DS, 1, 9, false},
			  {KLM(0, byte_count), 4, LAYOUT_LEN, false},
			  {KLM(0, mkey), 4, e->mr->lkey, false},
			  {KLM(0, address), 8, (uintptr_t)e->buf + LAYOUT_AT, false}, END});
}

static void
outside(const struct change *c, enum ibv_wc_status status)
{
	struct scribe_wqe w;
	struct keys k;

	keys_open(&k, 2, 0, IBV_MW_TYPE_2);
	w = list_wqe(&k, 2);
	move_out(&k, &w);
	change(&w, c);
	CHECK_EQ(scribe_run(&k.p.client, &w), status);
	if (status == IBV_WC_SUCCESS) {
		/*
		 * The adapter must have copied the layout, so a later change of this memory has no
		 * effect.
		 */
		memset(k.p.client.buf + LAYOUT_AT, 0x77, LAYOUT_LEN);
		CHECK_EQ(write_to(&k, k.mkey->rkey, 0, 128), IBV_WC_SUCCESS);
		CHECK_EQ(memcmp(k.p.server.buf, k.p.client.buf, 64), 0);
		CHECK_EQ(memcmp(k.p.server.buf + 100, k.p.client.buf + 64, 64), 0);
		CHECK_EQ(k.p.server.buf[64], 0xee);
	} else {
		expect_untouched(&k);
	}
	keys_close(&k);
}

static void
case_outside(void)
{
	struct scribe_wqe w;
	struct keys k;

	outside((struct change[]){END}, IBV_WC_SUCCESS);
	/* The data segment may have more bytes than the layout, but not fewer. */
	outside((struct change[]){{KLM(0, byte_count), 4, 4096, false}, END}, IBV_WC_SUCCESS);
	outside((struct change[]){{KLM(0, byte_count), 4, LAYOUT_LEN - 1, false}, END},
		IBV_WC_LOC_LEN_ERR);
	outside((struct change[]){{KLM(0, mkey), 4, 0x12345600, false}, END}, IBV_WC_LOC_PROT_ERR);
	outside((struct change[]){{KLM(0, address), 8, 0x1000, false}, END}, IBV_WC_LOC_PROT_ERR);
	/* A WQE without a data segment, with two data segments, or with a BSF in addition. */
	outside((struct change[]){{DS, 1, 8, false}, END}, IBV_WC_LOC_QP_OP_ERR);
	outside((struct change[]){{DS, 1, 10, false}, END}, IBV_WC_LOC_QP_OP_ERR);
	outside((struct change[]){{UMR(bsf_octowords), 2, 4, false}, END}, IBV_WC_LOC_QP_OP_ERR);
	/* Interleaved layouts may also be outside of the WQE. */
	keys_open(&k, 4, 0, IBV_MW_TYPE_2);
	w = repeat_wqe(&k);
	move_out(&k, &w);
	CHECK_EQ(scribe_run(&k.p.client, &w), IBV_WC_SUCCESS);
	CHECK_EQ(write_to(&k, k.mkey->rkey, 0, 60), IBV_WC_SUCCESS);
	for (uint32_t i = 0, at = 0; i < 3; at += 10 + 10 * i++)
		CHECK_EQ(memcmp(k.p.server.buf + i * 1000, k.p.client.buf + at, 10 + 10 * i), 0);
	keys_close(&k);
}

/* A layout with more entries than the key's maximum must be refused. */
static void
case_room(void)
{
	struct scribe_wqe w;
	struct keys k;

	keys_open(&k, 8, 0, IBV_MW_TYPE_2);
	w = list_wqe(&k, 4); /* 4 entries are the maximum of the smallest key */
	scribe_set(&w, IMM, 4, k.other->rkey);
	CHECK_EQ(scribe_run(&k.p.client, &w), IBV_WC_SUCCESS);
	CHECK_EQ(write_to(&k, k.other->rkey, 0, 256), IBV_WC_SUCCESS);
	keys_close(&k);

	keys_open(&k, 8, 0, IBV_MW_TYPE_2);
	w = list_wqe(&k, 5);
	scribe_set(&w, IMM, 4, k.other->rkey);
	CHECK_EQ(scribe_run(&k.p.client, &w), IBV_WC_MW_BIND_ERR);
	keys_close(&k);
}

/* The key's length is one limit, and its layout's length is another limit. Both must be checked. */
static void
length(uint64_t key_len, uint64_t off, uint32_t len, enum ibv_wc_status status)
{
	struct scribe_wqe w;
	struct keys k;

	keys_open(&k, 2, 0, IBV_MW_TYPE_2);
	w = list_wqe(&k, 2);
	scribe_set(&w, MKC(len), 8, key_len);
	CHECK_EQ(scribe_run(&k.p.client, &w), IBV_WC_SUCCESS);
	CHECK_EQ(write_to(&k, k.mkey->rkey, off, len), status);
	if (status != IBV_WC_SUCCESS)
		expect_untouched(&k);
	keys_close(&k);
}

static void
case_lengths(void)
{
	length(80, 0, 80, IBV_WC_SUCCESS);
	length(80, 0, 81, IBV_WC_REM_ACCESS_ERR);
	length(80, 79, 2, IBV_WC_REM_ACCESS_ERR);
	length(80, 100, 8, IBV_WC_REM_ACCESS_ERR); /* this offset is inside the layout */
	length(1000, 0, 128, IBV_WC_SUCCESS);
	length(1000, 100, 28, IBV_WC_SUCCESS);
	length(1000, 100, 29, IBV_WC_REM_ACCESS_ERR);
	length(1000, 128, 1, IBV_WC_REM_ACCESS_ERR);
	length(1000, 500, 1, IBV_WC_REM_ACCESS_ERR);
}

/* If all entries have length 0, no memory may be accessible by the key. */
static void
empty(uint64_t off)
{
	struct scribe_wqe w;
	struct keys k;

	keys_open(&k, 2, 0, IBV_MW_TYPE_2);
	w = list_wqe(&k, 2);
	change(&w, (struct change[]){{KLM(0, byte_count), 4, 0, false},
			   {KLM(1, byte_count), 4, 0, false}, END});
	CHECK_EQ(scribe_run(&k.p.client, &w), IBV_WC_SUCCESS);
	CHECK_EQ(write_to(&k, k.mkey->rkey, off, 1), IBV_WC_REM_ACCESS_ERR);
	expect_untouched(&k);
	keys_close(&k);

	/* An unlimited number of rounds without bytes: the adapter must stop in the first round. */
	keys_open(&k, 4, 0, IBV_MW_TYPE_2);
	w = repeat_wqe(&k);
	scribe_set(&w, REPEAT(repeat_count), 4, UINT32_MAX);
	change(&w, (struct change[]){{REPEAT(byte_count), 4, 0, false},
			   {ENTRY(0, byte_count), 2, 0, false}, {ENTRY(1, byte_count), 2, 0, false},
			   {ENTRY(2, byte_count), 2, 0, false}, END});
	CHECK_EQ(scribe_run(&k.p.client, &w), IBV_WC_SUCCESS);
	CHECK_EQ(write_to(&k, k.mkey->rkey, off, 1), IBV_WC_REM_ACCESS_ERR);
	expect_untouched(&k);
	keys_close(&k);
}

static void
case_empty(void)
{
	struct scribe_wqe w;
	struct keys k;

	empty(0);
	empty(1);
	/* If one of three entries has length 0, the other two must follow each other. */
	keys_open(&k, 4, 0, IBV_MW_TYPE_2);
	w = repeat_wqe(&k);
	change(&w, (struct change[]){{REPEAT(byte_count), 4, 40, false},
			   {ENTRY(1, byte_count), 2, 0, false}, END});
	CHECK_EQ(scribe_run(&k.p.client, &w), IBV_WC_SUCCESS);
	CHECK_EQ(write_to(&k, k.mkey->rkey, 0, 120), IBV_WC_SUCCESS);
	for (uint32_t r = 0; r < 3; r++) {
		CHECK_EQ(memcmp(k.p.server.buf + r * 16, k.p.client.buf + r * 40, 10), 0);
		CHECK_EQ(memcmp(k.p.server.buf + 2000 + r * 36, k.p.client.buf + r * 40 + 10, 30),
			0);
	}
	for (uint32_t i = 0; i < 200; i++)
		CHECK_EQ(k.p.server.buf[1000 + i], 0xee);
	keys_close(&k);
}

static void
repeat(const struct change *c, enum ibv_wc_status status, uint64_t off, uint32_t len,
	enum ibv_wc_status wrote)
{
	struct scribe_wqe w;
	struct keys k;

	keys_open(&k, 4, 0, IBV_MW_TYPE_2);
	w = repeat_wqe(&k);
	change(&w, c);
	CHECK_EQ(scribe_run(&k.p.client, &w), status);
	if (status == IBV_WC_SUCCESS)
		CHECK_EQ(write_to(&k, k.mkey->rkey, off, len), wrote);
	if (status != IBV_WC_SUCCESS || wrote != IBV_WC_SUCCESS)
		expect_untouched(&k);
	keys_close(&k);
}

/* The fields of an interleaved layout must not contradict each other. */
static void
case_repeat_fields(void)
{
	const enum ibv_wc_status ok = IBV_WC_SUCCESS, access = IBV_WC_REM_ACCESS_ERR;

	repeat((struct change[]){END}, ok, 0, 180, ok);
	repeat((struct change[]){{REPEAT(byte_count), 4, 59, false}, END}, IBV_WC_LOC_QP_OP_ERR, 0,
		1, ok);
	repeat((struct change[]){{REPEAT(byte_count), 4, 61, false}, END}, IBV_WC_LOC_QP_OP_ERR, 0,
		1, ok);
	repeat((struct change[]){{REPEAT(num_ent), 2, 4, false}, END}, IBV_WC_LOC_QP_OP_ERR, 0, 1,
		ok);
	repeat((struct change[]){{REPEAT(num_ent), 2, 0xffff, false}, END}, IBV_WC_LOC_QP_OP_ERR, 0,
		1, ok);
	/* There are fewer rounds than the key's length needs. */
	repeat((struct change[]){{REPEAT(repeat_count), 4, 2, false}, END}, ok, 0, 120, ok);
	repeat((struct change[]){{REPEAT(repeat_count), 4, 2, false}, END}, ok, 0, 121, access);
	repeat((struct change[]){{REPEAT(repeat_count), 4, 2, false}, END}, ok, 130, 1, access);
	repeat((struct change[]){{REPEAT(repeat_count), 4, 0, false}, END}, ok, 0, 1, access);
	/* One entry is far outside its region; another entry leaves its region in later rounds. */
	repeat((struct change[]){{ENTRY(0, va), 8, UINT64_C(1) << 40, false}, END}, ok, 0, 1,
		access);
	repeat((struct change[]){{ENTRY(0, stride), 2, 0xffff, false}, END}, ok, 60, 10, access);
}

/* ---- windows */

static void
window(enum ibv_mw_type type, const struct change *c, enum ibv_wc_status status)
{
	struct scribe_wqe w;
	struct keys k;

	keys_open(&k, 2, 0, type);
	w = bind_wqe(&k);
	change(&w, c);
	CHECK_EQ(scribe_run(&k.p.client, &w), status);
	keys_close(&k);
}

static void
case_window_fields(void)
{
	for (enum ibv_mw_type type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		const enum ibv_wc_status refused = IBV_WC_MW_BIND_ERR;

		window(type, (struct change[]){END}, IBV_WC_SUCCESS);
		/* A window must have exactly one entry, which has the window's length. */
		window(type, (struct change[]){{KLM(1, byte_count), 4, 8, false}, END}, refused);
		window(type, (struct change[]){{MKC(len), 8, 63, false}, END}, refused);
		window(type, (struct change[]){{MKC(len), 8, 65, false}, END}, refused);
		window(type,
			(struct change[]){{KLM(0, byte_count), 4, 0, false},
				{MKC(len), 8, 0, false}, END},
			refused);
		/* The entry is far outside its region. */
		window(type, (struct change[]){{KLM(0, address), 8, UINT64_C(1) << 40, false}, END},
			refused);
	}
	/*
	 * A window of type 1 is not bound to a QP. A window of type 2 is bound to the QP that binds
	 * it.
	 */
	window(IBV_MW_TYPE_1,
		(struct change[]){{UMR(mkey_mask), 8, MASK_QPN, true},
			{MKC(qpn_mkey), 3, 0x123456, false}, END},
		IBV_WC_MW_BIND_ERR);
	window(IBV_MW_TYPE_2, (struct change[]){{MKC(qpn_mkey), 3, 0x123456, false}, END},
		IBV_WC_MW_BIND_ERR);
	window(IBV_MW_TYPE_2, (struct change[]){{MKC(qpn_mkey), 3, 0xffffff, false}, END},
		IBV_WC_MW_BIND_ERR);
}

/*
 * A window of type 1 may be bound only by its current key. Windows of both types may be bound only
 * over plain regions.
 */
static void
case_window_keys(void)
{
	for (enum ibv_mw_type type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		struct scribe_wqe w, inner;
		struct keys k;

		keys_open(&k, 2, 0, type);
		w = bind_wqe(&k);
		CHECK_EQ(scribe_run(&k.p.client, &w), IBV_WC_SUCCESS);
		/*
		 * Only the QP that bound a window of type 2 may access the window; the server's QP
		 * must be refused.
		 */
		CHECK_EQ(write_to(&k, bound_key(&k, &w), (uintptr_t)k.p.server.buf + 1000, 64),
			type == IBV_MW_TYPE_1 ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
		if (type == IBV_MW_TYPE_1)
			CHECK_EQ(memcmp(k.p.server.buf + 1000, k.p.client.buf, 64), 0);
		else
			expect_untouched(&k);
		keys_close(&k);

		keys_open(&k, 2, 0, type);
		inner = list_wqe(&k, 2);
		CHECK_EQ(scribe_run(&k.p.client, &inner), IBV_WC_SUCCESS);
		k.here = scribe_here(&k.p.server);
		w = bind_wqe(&k);
		scribe_set(&w, KLM(0, mkey), 4, k.mkey->lkey);
		scribe_set(&w, KLM(0, address), 8, 0);
		CHECK_EQ(scribe_run(&k.p.client, &w), IBV_WC_MW_BIND_ERR);
		keys_close(&k);
	}
	{
		struct scribe_wqe w;
		struct keys k;

		/* The window's memory is given as one round with one entry. */
		keys_open(&k, 2, 0, IBV_MW_TYPE_1);
		w = bind_wqe(&k);
		scribe_set(&w, ENTRY(0, va), 8, scribe_get(&w, KLM(0, address), 8));
		scribe_set(&w, ENTRY(0, memkey), 4, scribe_get(&w, KLM(0, mkey), 4));
		change(&w,
			(struct change[]){{REPEAT(byte_count), 4, 64, false},
				{REPEAT(op), 4, 0x400, false}, {REPEAT(repeat_count), 4, 1, false},
				{REPEAT(num_ent), 2, 1, false},
				{ENTRY(0, byte_count), 2, 64, false}, END});
		CHECK_EQ(scribe_run(&k.p.client, &w), IBV_WC_MW_BIND_ERR);
		keys_close(&k);

		keys_open(&k, 2, 0, IBV_MW_TYPE_1);
		w = bind_wqe(&k);
		scribe_set(&w, IMM, 4, scribe_get(&w, IMM, 4) ^ 1);
		CHECK_EQ(scribe_run(&k.p.client, &w), IBV_WC_MW_BIND_ERR);
		keys_close(&k);
	}
}

/*
 * Unbinding an unbound window of type 1 must succeed. Only the QP of a window of type 2 may
 * invalidate it.
 */
static void
case_window_ends(void)
{
	struct ibv_mw_bind nothing = {.send_flags = IBV_SEND_SIGNALED};
	struct ibv_recv_wr recv = {0}, *bad;
	struct scribe_wqe w;
	struct pair_end *e;
	struct keys k;

	keys_open(&k, 2, 0, IBV_MW_TYPE_1);
	for (int i = 0; i < 2; i++) {
		pair_publish(&k.p.client);
		CHECK_EQ(ibv_bind_mw(k.p.client.qp, k.mw, &nothing), 0);
		CHECK_EQ(pair_wait(&k.p.client).status, IBV_WC_SUCCESS);
	}
	keys_close(&k);

	/*
	 * The window is bound to the client's QP, and a SEND to the server's QP tries to invalidate
	 * the window, which must be refused.
	 */
	keys_open(&k, 2, 0, IBV_MW_TYPE_2);
	e = &k.p.client;
	w = bind_wqe(&k);
	CHECK_EQ(scribe_run(e, &w), IBV_WC_SUCCESS);
	pair_publish(&k.p.server);
	CHECK_EQ(ibv_post_recv(k.p.server.qp, &recv, &bad), 0);
	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_inv(e->qpx, bound_key(&k, &w));
	ibv_wr_set_sge_list(e->qpx, 0, NULL);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	CHECK_EQ(pair_wait(e).status, IBV_WC_REM_OP_ERR);
	keys_close(&k);
}

/*
 * A window is only for remote access: it must be refused as a local key, and as a part of another
 * key.
 */
static void
case_window_uses(void)
{
	for (int type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		struct scribe_wqe w;
		struct pair_end *e;
		struct ibv_sge v;
		struct keys k;

		keys_open(&k, 2, 0, type);
		e = &k.p.client;
		w = bind_wqe(&k);
		CHECK_EQ(scribe_run(e, &w), IBV_WC_SUCCESS);
		v = (struct ibv_sge){(uintptr_t)k.p.server.buf + 1000, 64, bound_key(&k, &w)};
		pair_publish(e);
		ibv_wr_start(e->qpx);
		e->qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
		mlx5dv_wr_mr_list(e->dvx, k.mkey, PAIR_ALL, 1, &v);
		CHECK_EQ(ibv_wr_complete(e->qpx), 0);
		CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
		CHECK_EQ(write_to(&k, k.mkey->rkey, 0, 8), IBV_WC_REM_ACCESS_ERR);
		expect_untouched(&k);
		keys_close(&k);

		keys_open(&k, 2, 0, type);
		e = &k.p.client;
		w = bind_wqe(&k);
		CHECK_EQ(scribe_run(e, &w), IBV_WC_SUCCESS);
		pair_publish(e);
		ibv_wr_start(e->qpx);
		e->qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(e->qpx, k.p.server.mr->rkey, (uintptr_t)k.p.server.buf);
		ibv_wr_set_sge(e->qpx, bound_key(&k, &w), (uintptr_t)k.p.server.buf + 1000, 8);
		CHECK_EQ(ibv_wr_complete(e->qpx), 0);
		CHECK_EQ(pair_wait(e).status, IBV_WC_LOC_PROT_ERR);
		keys_close(&k);
	}
}

/* ---- other keys in a layout */

/*
 * Reads of the null key (ibv_alloc_null_mr(3)) must return zeros, and writes must have no effect,
 * also if the null key is a part of another key.
 */
static void
case_null_part(void)
{
	struct ibv_mr *null;
	struct ibv_sge v[4];
	struct pair_end *e;
	struct keys k;

	keys_open(&k, 4, 0, IBV_MW_TYPE_2);
	e = &k.p.client;
	null = ibv_alloc_null_mr(k.p.pd);
	CHECK(null != NULL);
	v[0] = (struct ibv_sge){(uintptr_t)k.p.server.buf, 10, k.p.server.mr->lkey};
	v[1] = (struct ibv_sge){0, 20, null->lkey};
	v[2] = (struct ibv_sge){1000, 5, null->lkey};
	v[3] = (struct ibv_sge){(uintptr_t)k.p.server.buf + 10, 10, k.p.server.mr->lkey};
	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mr_list(e->dvx, k.mkey, PAIR_ALL, 4, v);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
	CHECK_EQ(write_to(&k, k.mkey->rkey, 0, 45), IBV_WC_SUCCESS);
	CHECK_EQ(memcmp(k.p.server.buf, e->buf, 10), 0);
	CHECK_EQ(memcmp(k.p.server.buf + 10, e->buf + 35, 10), 0);
	CHECK_EQ(k.p.server.buf[20], 0xee);
	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(e->qpx, k.mkey->rkey, 0);
	ibv_wr_set_sge(e->qpx, e->mr->lkey, (uintptr_t)e->buf + 4096, 45);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
	for (uint32_t i = 0; i < 45; i++)
		CHECK_EQ(e->buf[4096 + i], i >= 10 && i < 35 ? 0 : e->buf[i]);
	CHECK_EQ(ibv_dereg_mr(null), 0);
	keys_close(&k);
}

/*
 * the vendor syndrome of a message with too many pieces: doc/softhca-reference.md, "Vendor
 * syndromes"
 */
#define VENDOR_PIECES 0x37

/*
 * Reads into n pieces of memory, and expects this status: 2^20 pieces are possible, and one piece
 * more must be refused (doc/softhca-reference.md).
 */
static void
pieces(uint32_t n, enum ibv_wc_status status)
{
	const size_t len = 3u << 20;
	uint8_t *far = aligned_alloc(4096, len);
	struct mlx5dv_mr_interleaved v;
	struct pair_end *e;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	struct keys k;

	keys_open(&k, 4, 0, IBV_MW_TYPE_2);
	e = &k.p.client;
	CHECK(far != NULL);
	memset(far, 0, len);
	mr = ibv_reg_mr(k.p.pd, far, len, PAIR_ALL);
	CHECK(mr != NULL);
	v = (struct mlx5dv_mr_interleaved){(uintptr_t)far, 1, 1, mr->lkey};
	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mr_interleaved(e->dvx, k.mkey, PAIR_ALL, n, 1, &v);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
	memset(far, 0x5a, len);
	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	/* The source is also in this region, after the memory that is written. */
	ibv_wr_rdma_read(e->qpx, mr->rkey, (uintptr_t)far);
	ibv_wr_set_sge(e->qpx, k.mkey->lkey, 0, n);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	wc = pair_wait(e);
	CHECK_EQ(wc.status, status);
	if (status != IBV_WC_SUCCESS)
		CHECK_EQ(wc.vendor_err, VENDOR_PIECES);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	free(far);
	keys_close(&k);
}

static void
case_pieces(void)
{
	pieces(1u << 20, IBV_WC_SUCCESS);
	pieces((1u << 20) + 1, IBV_WC_LOC_PROT_ERR);
}

/* A datagram consists of each second byte of the client's buffer. It must arrive as a whole. */
static void
case_datagram_of_pieces(void)
{
	const unsigned int n = 1000, grh = 40;
	struct ibv_sge sge = {.length = n}, to;
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;
	struct ibv_recv_wr recv = {.sg_list = &to, .num_sge = 1}, *bad_recv;
	struct mlx5dv_mr_interleaved v;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct keys k;
	struct ibv_wc wc;

	keys_open(&k, 4, 0, IBV_MW_TYPE_2);
	v = (struct mlx5dv_mr_interleaved){(uintptr_t)k.p.client.buf, 1, 1, k.p.client.mr->lkey};
	pair_publish(&k.p.client);
	ibv_wr_start(k.p.client.qpx);
	k.p.client.qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mr_interleaved(k.p.client.dvx, k.mkey, PAIR_ALL, n, 1, &v);
	CHECK_EQ(ibv_wr_complete(k.p.client.qpx), 0);
	CHECK_EQ(pair_wait(&k.p.client).status, IBV_WC_SUCCESS);
	qp = pair_datagram_qp(&k.p, NULL);
	ah = pair_own_ah(&k.p, 0);
	to = (struct ibv_sge){(uintptr_t)k.p.server.buf, grh + n, k.p.server.mr->lkey};
	CHECK_EQ(ibv_post_recv(qp, &recv, &bad_recv), 0);
	sge.lkey = k.mkey->lkey;
	pair_make_datagram(&wr, ah, qp);
	pair_publish(&k.p.client);
	CHECK_EQ(ibv_post_send(qp, &wr, &bad), 0);
	CHECK_EQ(pair_wait(&k.p.client).status, IBV_WC_SUCCESS);
	wc = pair_wait(&k.p.server);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.byte_len, grh + n);
	for (unsigned int i = 0; i < n; i++)
		CHECK_EQ(k.p.server.buf[grh + i], k.p.client.buf[2 * i]);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	keys_close(&k);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"a list with one field wrong is refused, and the key does not change",
			case_list_fields},
		{"a layout may lie in memory that the request names", case_outside},
		{"a layout must fit into the key's room", case_room},
		{"the lengths of the key and of its layout are both bounds", case_lengths},
		{"entries without bytes reach no memory", case_empty},
		{"the counts and lengths of interleaved data must agree", case_repeat_fields},
		{"a window is one piece of one region", case_window_fields},
		{"a window is bound by its current key, over a plain region", case_window_keys},
		{"only its own queue pair invalidates a window", case_window_ends},
		{"a window is for remote access only, and no part of a key", case_window_uses},
		{"the null key may be a part of a key", case_null_part},
		{"a message has at most 2^20 pieces", case_pieces},
		{"a datagram may consist of many pieces", case_datagram_of_pieces},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
