/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of another function of the card: ALLOW_OTHER_VHCA_ACCESS and alias objects. The adapters
 * mlx5_0 and mlx5_1 are functions of one card, mlx5_2 and mlx5_3 of another (SOFTHCA_FUNCTIONS=2).
 */
#include <pthread.h>
#include <stdatomic.h>

#include "softhca_alias.h"

#define BAD_OP    0x02
#define BAD_PARAM 0x03
#define BAD_RES   0x05
#define ALL       PAIR_ALL

static const uint8_t secret[ALIAS_SECRET] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
	17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};

/* True if the setting cross_vhca lets the owner allow an indirect key. */
static bool
ksm_is_allowed(void)
{
	const char *cross = getenv("SOFTHCA_CROSS_VHCA");

	return cross == NULL || strcmp(cross, "any") == 0;
}

/* An owner on mlx5_0 with a key over its server's buffer, and an importer on mlx5_1. */
struct two {
	struct pair owner, importer;
	struct alias_owned own;
	struct mlx5dv_devx_obj *alias;
	uint32_t key; /* the alias */
	struct alias_answer answer;
};

static void
two_init(struct two *t, bool ksm, unsigned int access)
{
	pair_init(&t->owner, NULL);
	pair_init(&t->importer, &(struct pair_opts){.device = 1});
	if (ksm)
		alias_own_ksm(t->owner.pd, t->owner.server.buf, PAIR_BUF, access, &t->own);
	else
		alias_own_direct(t->owner.pd, t->owner.server.buf, PAIR_BUF, access, &t->own);
	CHECK_EQ(alias_allow(t->owner.ctx, t->own.key >> 8, secret, &t->answer), 0);
	t->alias = alias_make(t->importer.pd, alias_vhca(t->owner.ctx), t->own.key, secret, &t->key,
		&t->answer);
	CHECK(t->alias != NULL, "status %u", t->answer.status);
}

static void
two_fini(struct two *t)
{
	CHECK_EQ(mlx5dv_devx_obj_destroy(t->alias), 0);
	alias_disown(&t->own);
	pair_fini(&t->owner);
	pair_fini(&t->importer);
}

static enum ibv_wc_status
copy(struct pair *p, uint32_t dst_key, const void *dst, uint32_t src_key, const void *src,
	size_t len)
{
	struct pair_end *e = &p->client;
	struct ibv_wc wc;

	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	mlx5dv_wr_memcpy(e->dvx, dst_key, (uintptr_t)dst, src_key, (uintptr_t)src, len);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	wc = pair_wait(e);
	return wc.status;
}

static enum ibv_wc_status
rdma(struct pair *p, enum ibv_wr_opcode op, uint32_t lkey, const void *local, uint32_t rkey,
	const void *remote, size_t len)
{
	struct ibv_sge sge = {(uintptr_t)local, (uint32_t)len, lkey};
	struct ibv_send_wr wr = {.opcode = op,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = (uintptr_t)remote, .rkey = rkey}};
	struct ibv_send_wr *bad;

	pair_publish(&p->client);
	CHECK_EQ(ibv_post_send(p->client.qp, &wr, &bad), 0);
	return pair_wait(&p->client).status;
}

/* After an error: the QPs are connected again. */
static void
again(struct pair *p)
{
	CHECK_EQ(pair_modify(&p->client, IBV_QPS_RESET), 0);
	CHECK_EQ(pair_modify(&p->server, IBV_QPS_RESET), 0);
	pair_connect(p, &p->client, p->server.qp->qp_num);
	pair_connect(p, &p->server, p->client.qp->qp_num);
}

static void
fill(uint8_t *buf, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = (uint8_t)((i + 1) * 2654435761u * seed >> 13);
}

/* ---------------------------------------------------------------- capabilities */

static void
case_caps(void)
{
	const char *cross = getenv("SOFTHCA_CROSS_VHCA");
	const bool off = cross != NULL && strcmp(cross, "off") == 0;
	struct ibv_context *ctx[4];
	struct ibv_device_attr attr[4];

	for (unsigned int i = 0; i < 4; i++) {
		ctx[i] = pair_open(i);
		CHECK_EQ(ibv_query_device(ctx[i], &attr[i]), 0);
		CHECK_EQ(alias_cap(ctx[i], 0, 0x20, 1), 1);
		CHECK_EQ(alias_cap(ctx[i], 0x20, 0xe0, 32), off ? 0 : 0x100);
		CHECK_EQ(alias_cap(ctx[i], 0x20, 0x100, 32), 0);
		CHECK_EQ(alias_cap(ctx[i], 0x20, 0x120, 32), off ? 0 : 0x4);
	}
	CHECK(attr[0].sys_image_guid == attr[1].sys_image_guid);
	CHECK(attr[2].sys_image_guid == attr[3].sys_image_guid);
	CHECK(attr[0].sys_image_guid != attr[2].sys_image_guid);
	CHECK(attr[0].node_guid != attr[1].node_guid);
	CHECK(alias_vhca(ctx[0]) != alias_vhca(ctx[1]));
	CHECK(alias_vhca(ctx[2]) != alias_vhca(ctx[3]));
	for (unsigned int i = 0; i < 4; i++)
		CHECK_EQ(ibv_close_device(ctx[i]), 0);
}

/* ---------------------------------------------------------------- bytes */

static void
check_copies(struct two *t)
{
	const size_t lens[] = {1, 7, 64, 4096, 5000};
	uint8_t *theirs = t->owner.server.buf, *own = t->importer.client.buf;
	const uint32_t lkey = t->importer.client.mr->lkey;
	uint8_t before[PAIR_BUF];

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		const size_t at = 100 + i * 3001, to = 77 + i * 2003, len = lens[i];

		fill(theirs, PAIR_BUF, 3);
		fill(own, PAIR_BUF, 5);
		memcpy(before, own, PAIR_BUF);
		CHECK_EQ(copy(&t->importer, lkey, own + to, t->key, theirs + at, len),
			IBV_WC_SUCCESS);
		memcpy(before + to, theirs + at, len);
		CHECK(memcmp(before, own, PAIR_BUF) == 0);

		memcpy(before, theirs, PAIR_BUF);
		CHECK_EQ(copy(&t->importer, t->key, theirs + to, lkey, own + at, len),
			IBV_WC_SUCCESS);
		memcpy(before + to, own + at, len);
		CHECK(memcmp(before, theirs, PAIR_BUF) == 0);

		memcpy(before + 40000, theirs, len);
		CHECK_EQ(copy(&t->importer, t->key, theirs + 40000, t->key, theirs, len),
			IBV_WC_SUCCESS);
		CHECK(memcmp(before, theirs, PAIR_BUF) == 0);
	}
}

static void
check_rdma(struct two *t)
{
	uint8_t *theirs = t->owner.server.buf, *own = t->importer.client.buf;
	const uint32_t lkey = t->importer.client.mr->lkey, rkey = t->importer.server.mr->rkey;
	uint8_t *peer = t->importer.server.buf;

	/* The alias is the local key of a write and of a read, and the remote key of both. */
	fill(theirs, PAIR_BUF, 7);
	CHECK_EQ(rdma(&t->importer, IBV_WR_RDMA_WRITE, t->key, theirs + 10, rkey, peer + 20, 3000),
		IBV_WC_SUCCESS);
	CHECK(memcmp(theirs + 10, peer + 20, 3000) == 0);
	fill(peer, PAIR_BUF, 9);
	CHECK_EQ(rdma(&t->importer, IBV_WR_RDMA_READ, t->key, theirs + 11, rkey, peer + 21, 3001),
		IBV_WC_SUCCESS);
	CHECK(memcmp(theirs + 11, peer + 21, 3001) == 0);
	fill(own, PAIR_BUF, 11);
	CHECK_EQ(rdma(&t->importer, IBV_WR_RDMA_WRITE, lkey, own + 12, t->key, theirs + 22, 3002),
		IBV_WC_SUCCESS);
	CHECK(memcmp(own + 12, theirs + 22, 3002) == 0);
	CHECK_EQ(rdma(&t->importer, IBV_WR_RDMA_READ, lkey, own + 13, t->key, theirs + 5000, 3003),
		IBV_WC_SUCCESS);
	CHECK(memcmp(own + 13, theirs + 5000, 3003) == 0);
}

static void
case_direct(void)
{
	struct two t;

	two_init(&t, false, ALL & ~IBV_ACCESS_REMOTE_ATOMIC);
	check_copies(&t);
	check_rdma(&t);
	two_fini(&t);
}

static void
case_ksm(void)
{
	struct two t;

	if (!ksm_is_allowed())
		return;
	two_init(&t, true, ALL & ~IBV_ACCESS_REMOTE_ATOMIC);
	check_copies(&t);
	check_rdma(&t);
	two_fini(&t);
}

/* The importer's own function may be the owner. */
static void
case_own_function(void)
{
	struct alias_answer answer;
	struct alias_owned own;
	struct mlx5dv_devx_obj *alias;
	struct pair p;
	uint32_t key;

	pair_init(&p, NULL);
	alias_own_direct(p.pd, p.server.buf, PAIR_BUF, ALL & ~IBV_ACCESS_REMOTE_ATOMIC, &own);
	CHECK_EQ(alias_allow(p.ctx, own.key >> 8, secret, &answer), 0);
	alias = alias_make(p.pd, alias_vhca(p.ctx), own.key, secret, &key, &answer);
	CHECK(alias != NULL && key != own.key);
	fill(p.server.buf, PAIR_BUF, 3);
	CHECK_EQ(copy(&p, p.client.mr->lkey, p.client.buf, key, p.server.buf, 999), IBV_WC_SUCCESS);
	CHECK(memcmp(p.client.buf, p.server.buf, 999) == 0);
	CHECK_EQ(mlx5dv_devx_obj_destroy(alias), 0);
	alias_disown(&own);
	pair_fini(&p);
}

/* ---------------------------------------------------------------- rights and bounds */

static void
case_rights(void)
{
	static const struct {
		unsigned int access;
		enum ibv_wc_status scatter, read_into, remote_write, remote_read;
	} rows[] = {
		{0, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_ACCESS_ERR,
			IBV_WC_REM_ACCESS_ERR},
		{IBV_ACCESS_LOCAL_WRITE, IBV_WC_SUCCESS, IBV_WC_SUCCESS, IBV_WC_REM_ACCESS_ERR,
			IBV_WC_REM_ACCESS_ERR},
		{IBV_ACCESS_REMOTE_READ, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR,
			IBV_WC_REM_ACCESS_ERR, IBV_WC_SUCCESS},
		{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, IBV_WC_SUCCESS, IBV_WC_SUCCESS,
			IBV_WC_SUCCESS, IBV_WC_REM_ACCESS_ERR},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct two t;
		uint8_t *theirs, *own, before[256];
		uint32_t lkey, rkey;

		two_init(&t, ksm_is_allowed() && i % 2 != 0, rows[i].access);
		theirs = t.owner.server.buf;
		own = t.importer.client.buf;
		lkey = t.importer.client.mr->lkey;
		rkey = t.importer.server.mr->rkey;
		/* Local reads need no right. */
		CHECK_EQ(copy(&t.importer, lkey, own, t.key, theirs, 64), IBV_WC_SUCCESS);
		memset(own, 0x11, 256);
		memset(theirs, 0x22, 256);
		memcpy(before, theirs, 256);
		CHECK_EQ(copy(&t.importer, t.key, theirs, lkey, own, 64), rows[i].scatter);
		if (rows[i].scatter != IBV_WC_SUCCESS)
			CHECK(memcmp(theirs, before, 256) == 0);
		again(&t.importer);
		CHECK_EQ(rdma(&t.importer, IBV_WR_RDMA_READ, t.key, theirs, rkey,
				 t.importer.server.buf, 64),
			rows[i].read_into);
		again(&t.importer);
		CHECK_EQ(rdma(&t.importer, IBV_WR_RDMA_WRITE, lkey, own, t.key, theirs, 64),
			rows[i].remote_write);
		again(&t.importer);
		CHECK_EQ(rdma(&t.importer, IBV_WR_RDMA_READ, lkey, own, t.key, theirs, 64),
			rows[i].remote_read);
		two_fini(&t);
	}
}

static void
case_bounds(void)
{
	struct two t;
	uint8_t *theirs, *own;
	uint32_t lkey;

	two_init(&t, false, ALL & ~IBV_ACCESS_REMOTE_ATOMIC);
	theirs = t.owner.server.buf;
	own = t.importer.client.buf;
	lkey = t.importer.client.mr->lkey;
	CHECK_EQ(copy(&t.importer, t.key, theirs + PAIR_BUF - 64, lkey, own, 64), IBV_WC_SUCCESS);
	CHECK_EQ(copy(&t.importer, t.key, theirs + PAIR_BUF - 63, lkey, own, 64),
		IBV_WC_LOC_PROT_ERR);
	again(&t.importer);
	CHECK_EQ(copy(&t.importer, lkey, own, t.key, theirs - 1, 64), IBV_WC_LOC_PROT_ERR);
	again(&t.importer);
	/* The alias does not give access to the importer's own memory. */
	CHECK_EQ(copy(&t.importer, lkey, own + 4096, t.key, own, 64), IBV_WC_LOC_PROT_ERR);
	again(&t.importer);
	/* The variant of an alias is 0, whatever the variant of the owner's key. */
	CHECK((t.own.key & 0xff) != 0);
	CHECK_EQ(copy(&t.importer, lkey, own, t.key | (t.own.key & 0xff), theirs, 64),
		IBV_WC_LOC_PROT_ERR);
	two_fini(&t);
}

/* ---------------------------------------------------------------- refused commands */

static void
case_allow_refused(void)
{
	struct alias_answer answer;
	struct alias_owned ksm, direct;
	struct two t;

	two_init(&t, false, IBV_ACCESS_LOCAL_WRITE);
	alias_own_ksm(t.owner.pd, t.owner.client.buf, PAIR_BUF, 0, &ksm);
	alias_own_direct(t.importer.pd, t.importer.server.buf, PAIR_BUF, 0, &direct);
	CHECK_EQ(alias_allow(t.owner.ctx, ksm.key >> 8, secret, &answer),
		ksm_is_allowed() ? 0 : EREMOTEIO);
	if (!ksm_is_allowed()) {
		CHECK_EQ(answer.status, BAD_PARAM);
		CHECK_EQ(answer.syndrome, 0x172df6);
	}
	/* A key of ibv_reg_mr(3). */
	CHECK_EQ(alias_allow(t.owner.ctx, t.owner.client.mr->lkey >> 8, secret, &answer),
		EREMOTEIO);
	CHECK_EQ(answer.status, BAD_PARAM);
	/* A key of another function, a number that is no key, and an alias. */
	CHECK_EQ(alias_allow(t.owner.ctx, direct.key >> 8, secret, &answer), EREMOTEIO);
	CHECK_EQ(answer.status, BAD_RES);
	CHECK_EQ(alias_allow(t.owner.ctx, 0xfffffe, secret, &answer), EREMOTEIO);
	CHECK_EQ(answer.status, BAD_RES);
	CHECK_EQ(alias_allow(t.importer.ctx, t.key >> 8, secret, &answer), EREMOTEIO);
	CHECK_EQ(answer.status, BAD_PARAM);
	alias_disown(&ksm);
	alias_disown(&direct);
	two_fini(&t);
}

/* Expects that an alias is refused, and that no alias exists after that. */
static void
expect_no_alias(struct ibv_pd *pd, const uint8_t in[ALIAS_IN], uint8_t status)
{
	uint8_t out[ALIAS_OUT] = {0};

	CHECK(mlx5dv_devx_obj_create(pd->context, in, ALIAS_IN, out, sizeof(out)) == NULL);
	CHECK_EQ(errno, EREMOTEIO);
	CHECK_EQ(out[0], status);
	CHECK(devx_get(out, 0x20, 32) != 0);
}

static void
case_alias_refused(void)
{
	uint8_t in[ALIAS_IN], wrong[ALIAS_SECRET], out[ALIAS_OUT];
	struct alias_owned never;
	struct pair stranger;
	struct two t;
	uint32_t vhca, pdn;

	two_init(&t, false, IBV_ACCESS_LOCAL_WRITE);
	pair_init(&stranger, &(struct pair_opts){.device = 2});
	alias_own_direct(t.owner.pd, t.owner.client.buf, PAIR_BUF, 0, &never);
	vhca = alias_vhca(t.owner.ctx);
	pdn = key_pdn(t.importer.pd);

	/* One wrong bit at each place of the access key. */
	for (unsigned int bit = 0; bit < ALIAS_SECRET * 8; bit += 37) {
		memcpy(wrong, secret, sizeof(wrong));
		wrong[bit / 8] ^= 1 << bit % 8;
		alias_put_create(in, pdn, vhca, t.own.key >> 8, wrong);
		expect_no_alias(t.importer.pd, in, BAD_PARAM);
	}
	/* A function that the card does not have; the importer's function, without such a key. */
	alias_put_create(in, pdn, 0x7fff, t.own.key >> 8, secret);
	expect_no_alias(t.importer.pd, in, BAD_PARAM);
	alias_put_create(in, pdn, alias_vhca(t.importer.ctx), t.own.key >> 8, secret);
	expect_no_alias(t.importer.pd, in, BAD_PARAM);
	/* A key that was never allowed, and an index without a key. */
	alias_put_create(in, pdn, vhca, never.key >> 8, secret);
	expect_no_alias(t.importer.pd, in, BAD_PARAM);
	alias_put_create(in, pdn, vhca, 0xfffffe, secret);
	expect_no_alias(t.importer.pd, in, BAD_PARAM);
	/* An index has 24 bits. */
	alias_put_create(in, pdn, vhca, (t.own.key >> 8) | 1 << 24, secret);
	expect_no_alias(t.importer.pd, in, BAD_PARAM);
	/* Another card, whose functions have the same numbers. */
	CHECK_EQ(alias_vhca(stranger.ctx), vhca);
	alias_put_create(in, key_pdn(stranger.pd), vhca, t.own.key >> 8, secret);
	expect_no_alias(stranger.pd, in, BAD_PARAM);
	/* Without the bit of an alias; a range of objects; a PD that does not exist. */
	alias_put_create(in, pdn, vhca, t.own.key >> 8, secret);
	devx_put(in, 0x60, 1, 0);
	expect_no_alias(t.importer.pd, in, BAD_PARAM);
	alias_put_create(in, pdn, vhca, t.own.key >> 8, secret);
	devx_put(in, 0x63, 5, 1);
	expect_no_alias(t.importer.pd, in, BAD_PARAM);
	alias_put_create(in, 0xfffff0, vhca, t.own.key >> 8, secret);
	expect_no_alias(t.importer.pd, in, BAD_RES);
	/* Commands that are too short. */
	alias_put_create(in, pdn, vhca, t.own.key >> 8, secret);
	for (size_t len = 16; len < ALIAS_IN; len++)
		CHECK(mlx5dv_devx_obj_create(t.importer.ctx, in, len, out, sizeof(out)) == NULL &&
			out[0] == 0x50);
	alias_disown(&never);
	pair_fini(&stranger);
	two_fini(&t);
}

/* cross_vhca = off: neither command exists. */
static void
case_off(void)
{
	struct alias_answer answer;
	struct alias_owned own;
	struct pair p;
	uint32_t key;

	pair_init(&p, NULL);
	alias_own_direct(p.pd, p.server.buf, PAIR_BUF, 0, &own);
	CHECK_EQ(alias_allow(p.ctx, own.key >> 8, secret, &answer), EREMOTEIO);
	CHECK_EQ(answer.status, BAD_OP);
	CHECK(alias_make(p.pd, alias_vhca(p.ctx), own.key, secret, &key, &answer) == NULL);
	CHECK_EQ(answer.status, BAD_PARAM);
	alias_disown(&own);
	pair_fini(&p);
}

/* An alias lies in no layout of the importer, and in no window. */
static void
case_in_layout(void)
{
	struct key_part part;
	struct key_command c;
	struct mlx5dv_devx_obj *obj;
	struct two t;
	uint32_t key;

	two_init(&t, false, IBV_ACCESS_LOCAL_WRITE);
	part = (struct key_part){(uintptr_t)t.owner.server.buf, t.key, PAIR_BUF};
	c = key_command(t.importer.pd, KEY_KLM, IBV_ACCESS_LOCAL_WRITE, 0, PAIR_BUF);
	key_lay_out(&c, &part, 1, 0);
	obj = key_make(t.importer.ctx, &c, &key);
	CHECK_EQ(copy(&t.importer, t.importer.client.mr->lkey, t.importer.client.buf, key, NULL,
			 64),
		IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	two_fini(&t);
}

/* ---------------------------------------------------------------- the end of a key */

/* The owner destroys its key: the alias reaches no memory, and its object can be destroyed. */
static void
case_owner_ends(void)
{
	for (int ksm = 0; ksm <= ksm_is_allowed(); ksm++) {
		struct two t;
		uint8_t *theirs, *own, before[64];
		uint32_t lkey;

		two_init(&t, ksm != 0, IBV_ACCESS_LOCAL_WRITE);
		theirs = t.owner.server.buf;
		own = t.importer.client.buf;
		lkey = t.importer.client.mr->lkey;
		CHECK_EQ(alias_status(t.alias, t.key), 0);
		CHECK_EQ(copy(&t.importer, t.key, theirs, lkey, own, 64), IBV_WC_SUCCESS);
		alias_end_key(&t.own);
		CHECK(alias_status(t.alias, t.key) != 0);
		memcpy(before, theirs, 64);
		memset(own, 0x33, 64);
		CHECK_EQ(copy(&t.importer, t.key, theirs, lkey, own, 64), IBV_WC_LOC_PROT_ERR);
		CHECK(memcmp(before, theirs, 64) == 0);
		again(&t.importer);
		CHECK_EQ(rdma(&t.importer, IBV_WR_RDMA_READ, lkey, own, t.key, theirs, 64),
			IBV_WC_REM_ACCESS_ERR);
		/* Other keys go on. */
		again(&t.importer);
		CHECK_EQ(copy(&t.importer, lkey, own, lkey, own + 64, 64), IBV_WC_SUCCESS);
		two_fini(&t);
	}
}

/*
 * The index is given to a later key, which was never allowed or has the same access key. The
 * adapter gives a freed index again after 65535 others, so this case runs with one set of settings.
 */
static void
case_index_again(void)
{
	struct key_command c;
	struct two t;
	struct alias_answer answer;
	uint32_t index, lkey;

	if (!pair_is_pumped() || getenv("SOFTHCA_CROSS_VHCA") != NULL ||
		getenv("SOFTHCA_REORDER") != NULL)
		return;
	two_init(&t, false, IBV_ACCESS_LOCAL_WRITE);
	lkey = t.importer.client.mr->lkey;
	index = t.own.key >> 8;
	c = key_command(t.owner.pd, KEY_PAGES, IBV_ACCESS_LOCAL_WRITE,
		(uintptr_t)t.owner.server.buf, PAIR_BUF);
	devx_put(c.bytes, 0x320, 32, t.own.umem->umem_id);
	for (unsigned int tries = 0;; tries++) {
		CHECK(tries < 100000);
		alias_end_key(&t.own);
		t.own.obj = key_make(t.owner.ctx, &c, &t.own.key);
		if (t.own.key >> 8 == index)
			break;
	}
	CHECK_EQ(copy(&t.importer, lkey, t.importer.client.buf, t.key, t.owner.server.buf, 64),
		IBV_WC_LOC_PROT_ERR);
	again(&t.importer);
	CHECK_EQ(alias_allow(t.owner.ctx, t.own.key >> 8, secret, &answer), 0);
	CHECK_EQ(copy(&t.importer, lkey, t.importer.client.buf, t.key, t.owner.server.buf, 64),
		IBV_WC_LOC_PROT_ERR);
	CHECK(alias_status(t.alias, t.key) != 0);
	two_fini(&t);
}

/* A second ALLOW replaces the access key, and earlier aliases live on. */
static void
case_allow_again(void)
{
	static const uint8_t other[ALIAS_SECRET] = {0xff};
	struct two t;
	struct mlx5dv_devx_obj *second;
	uint32_t key, vhca;

	two_init(&t, false, IBV_ACCESS_LOCAL_WRITE);
	vhca = alias_vhca(t.owner.ctx);
	CHECK_EQ(alias_allow(t.owner.ctx, t.own.key >> 8, other, &t.answer), 0);
	CHECK(alias_make(t.importer.pd, vhca, t.own.key, secret, &key, &t.answer) == NULL);
	second = alias_make(t.importer.pd, vhca, t.own.key, other, &key, &t.answer);
	CHECK(second != NULL && key != t.key);
	CHECK_EQ(copy(&t.importer, t.key, t.owner.server.buf, key, t.owner.server.buf + 128, 64),
		IBV_WC_SUCCESS);
	CHECK_EQ(mlx5dv_devx_obj_destroy(second), 0);
	two_fini(&t);
}

/* The owner's adapter dies, and comes back. The alias fails meanwhile. */
static void
case_owner_dies(void)
{
	struct two t;
	uint32_t lkey;

	two_init(&t, false, IBV_ACCESS_LOCAL_WRITE);
	lkey = t.importer.client.mr->lkey;
	CHECK_EQ(softhca_fault("device_fatal device=0"), 0);
	CHECK_EQ(copy(&t.importer, lkey, t.importer.client.buf, t.key, t.owner.server.buf, 64),
		IBV_WC_LOC_PROT_ERR);
	softhca_faults_clear();
	again(&t.importer);
	CHECK_EQ(copy(&t.importer, lkey, t.importer.client.buf, t.key, t.owner.server.buf, 64),
		IBV_WC_SUCCESS);
	two_fini(&t);
}

/* ---------------------------------------------------------------- the end while copies run */

#define ROUNDS 120
#define LONG   (UINT64_C(1) << 20) /* bytes of a copy that takes long */

struct busy {
	struct two *t;
	uint8_t *theirs, *own;
	struct ibv_mr *mr;
	atomic_bool stop;
	atomic_ulong n_good, n_bad;
};

/* Posts several copies at once, so that the adapter begins the next one when one has ended. */
#define AT_ONCE 8

static void *
copy_always(void *arg)
{
	struct busy *b = arg;
	struct two *t = b->t;
	struct pair_end *e = &t->importer.client;

	while (!atomic_load(&b->stop)) {
		enum ibv_wc_status first_bad = IBV_WC_SUCCESS;

		pair_publish(e);
		ibv_wr_start(e->qpx);
		for (unsigned int i = 0; i < AT_ONCE; i++) {
			e->qpx->wr_flags = IBV_SEND_SIGNALED;
			mlx5dv_wr_memcpy(e->dvx, t->key, (uintptr_t)b->theirs, b->mr->lkey,
				(uintptr_t)b->own, LONG);
		}
		CHECK_EQ(ibv_wr_complete(e->qpx), 0);
		for (unsigned int i = 0; i < AT_ONCE; i++) {
			enum ibv_wc_status status = pair_wait(e).status;

			if (status == IBV_WC_SUCCESS)
				atomic_fetch_add(&b->n_good, 1);
			else if (first_bad == IBV_WC_SUCCESS)
				first_bad = status;
			else
				CHECK_EQ(status, IBV_WC_WR_FLUSH_ERR);
		}
		if (first_bad == IBV_WC_SUCCESS)
			continue;
		CHECK_EQ(first_bad, IBV_WC_LOC_PROT_ERR);
		atomic_fetch_add(&b->n_bad, 1);
		again(&t->importer);
	}
	return NULL;
}

static void
wait_more(atomic_ulong *n)
{
	const uint64_t end = pair_now_ms() + PAIR_PATIENCE_MS;
	const unsigned long before = atomic_load(n);

	while (atomic_load(n) < before + 2) {
		CHECK(pair_now_ms() < end);
		pair_run();
	}
}

/*
 * When the owner's destroy has returned, no byte moves any more. A copy stores its last bytes last,
 * so the owner changes the last bytes at once, and they must stay. TSan also sees whether the
 * owner's stores race with a copy.
 */
static void
case_while_copies_run(void)
{
	struct two t;
	struct busy b = {.t = &t,
		.theirs = aligned_alloc(4096, LONG),
		.own = aligned_alloc(4096, LONG)};
	pthread_t thread;

	two_init(&t, false, IBV_ACCESS_LOCAL_WRITE);
	CHECK_EQ(mlx5dv_devx_obj_destroy(t.alias), 0);
	memset(b.theirs, 0, LONG);
	memset(b.own, 0x55, LONG);
	b.mr = ibv_reg_mr(t.importer.pd, b.own, LONG, 0);
	CHECK(b.mr != NULL);
	for (unsigned int round = 0; round < (pair_is_pumped() ? 5 : ROUNDS); round++) {
		alias_disown(&t.own);
		alias_own_direct(t.owner.pd, b.theirs, LONG, IBV_ACCESS_LOCAL_WRITE, &t.own);
		CHECK_EQ(alias_allow(t.owner.ctx, t.own.key >> 8, secret, &t.answer), 0);
		t.alias = alias_make(t.importer.pd, alias_vhca(t.owner.ctx), t.own.key, secret,
			&t.key, &t.answer);
		CHECK(t.alias != NULL);
		atomic_store(&b.stop, false);
		CHECK_EQ(pthread_create(&thread, NULL, copy_always, &b), 0);
		wait_more(&b.n_good);
		alias_end_key(&t.own);
		memset(b.theirs + LONG - 64, (int)round, 64);
		wait_more(&b.n_bad);
		for (unsigned int i = 1; i <= 64; i++)
			CHECK_EQ(b.theirs[LONG - i], round);
		atomic_store(&b.stop, true);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		CHECK_EQ(mlx5dv_devx_obj_destroy(t.alias), 0);
	}
	alias_disown(&t.own);
	CHECK_EQ(ibv_dereg_mr(b.mr), 0);
	pair_fini(&t.owner);
	pair_fini(&t.importer);
	free(b.theirs);
	free(b.own);
}

/* Contexts are closed with their objects, the importer's first or the owner's first. */
static void
case_contexts_close(void)
{
	for (int first = 0; first < 2; first++) {
		struct ibv_context *ctx[2] = {pair_open(0), pair_open(1)};
		struct ibv_pd *pd[2] = {ibv_alloc_pd(ctx[0]), ibv_alloc_pd(ctx[1])};
		struct alias_answer answer;
		struct mlx5dv_devx_obj *alias;
		struct alias_owned own;
		void *buf = aligned_alloc(4096, PAIR_BUF);
		uint32_t key;

		alias_own_direct(pd[0], buf, PAIR_BUF, 0, &own);
		CHECK_EQ(alias_allow(ctx[0], own.key >> 8, secret, &answer), 0);
		alias = alias_make(pd[1], alias_vhca(ctx[0]), own.key, secret, &key, &answer);
		CHECK(alias != NULL);
		CHECK_EQ(ibv_close_device(ctx[first]), 0);
		CHECK_EQ(ibv_close_device(ctx[!first]), 0);
		/* libmlx5 has no call that frees its structs without a context. */
		free(alias);
		free(own.obj);
		free(own.umem);
		free(pd[0]);
		free(pd[1]);
		free(buf);
	}
}

/* ---------------------------------------------------------------- random owners and importers */

#define N_OWNED 6
#define N_ALIAS 10
#define STEPS   3000
#define SLICE   512

/*
 * A model of keys and aliases. A key has the number of its creation, which an alias remembers: the
 * alias is good as long as the key with that number exists. Indexes of keys do not matter.
 */
struct model {
	struct pair p[2];
	struct {
		struct alias_owned own;
		unsigned long born; /* 0: no key */
		unsigned int side;
		bool allowed;
		uint8_t secret[ALIAS_SECRET];
	} key[N_OWNED];
	struct {
		struct mlx5dv_devx_obj *obj;
		unsigned long born;
		unsigned int side, from;
		uint32_t number;
		uint8_t *at;
	} alias[N_ALIAS];
	uint32_t random;
	unsigned long n_born, n_good, n_bad;
};

static uint32_t
draw(struct model *m, uint32_t n)
{
	m->random = m->random * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)m->random * n >> 32);
}

static bool
is_alive(const struct model *m, unsigned int a)
{
	for (unsigned int k = 0; k < N_OWNED; k++)
		if (m->key[k].born == m->alias[a].born)
			return true;
	return false;
}

/* Makes or destroys a key. Each key covers another slice of its side's buffer. */
static void
step_key(struct model *m, unsigned int k)
{
	if (m->key[k].born != 0) {
		alias_disown(&m->key[k].own);
		m->key[k].born = 0;
		return;
	}
	m->key[k].side = draw(m, 2);
	m->key[k].born = ++m->n_born;
	m->key[k].allowed = false;
	alias_own_direct(m->p[m->key[k].side].pd,
		m->p[m->key[k].side].server.buf + (size_t)k * SLICE, SLICE, IBV_ACCESS_LOCAL_WRITE,
		&m->key[k].own);
}

static void
step_allow(struct model *m, unsigned int k)
{
	struct alias_answer answer;

	if (m->key[k].born == 0)
		return;
	/* Of few access keys, so that different keys of the owner have equal ones. */
	memset(m->key[k].secret, (int)draw(m, 3), ALIAS_SECRET);
	CHECK_EQ(alias_allow(m->p[m->key[k].side].ctx, m->key[k].own.key >> 8, m->key[k].secret,
			 &answer),
		0);
	m->key[k].allowed = true;
}

static void
step_alias(struct model *m, unsigned int a, unsigned int k)
{
	struct alias_answer answer;
	uint8_t with[ALIAS_SECRET];
	struct pair *owner = &m->p[m->key[k].side];
	bool good;

	if (m->alias[a].obj != NULL) {
		CHECK_EQ(mlx5dv_devx_obj_destroy(m->alias[a].obj), 0);
		m->alias[a].obj = NULL;
		return;
	}
	if (m->n_born == 0)
		return;
	/* The key may have been destroyed: its number then names no key, or a later key. */
	if (m->key[k].born == 0)
		return;
	memset(with, draw(m, 4) == 0 ? (int)draw(m, 3) : m->key[k].secret[0], ALIAS_SECRET);
	good = m->key[k].allowed && memcmp(with, m->key[k].secret, ALIAS_SECRET) == 0;
	m->alias[a].side = draw(m, 2);
	m->alias[a].obj = alias_make(m->p[m->alias[a].side].pd, alias_vhca(owner->ctx),
		m->key[k].own.key, with, &m->alias[a].number, &answer);
	CHECK_EQ(m->alias[a].obj != NULL, good);
	m->alias[a].born = m->key[k].born;
	m->alias[a].from = m->key[k].side;
	m->alias[a].at = owner->server.buf + (size_t)k * SLICE;
}

static void
step_copy(struct model *m, unsigned int a)
{
	struct pair *p = &m->p[m->alias[a].side];
	const bool good = is_alive(m, a);
	const uint32_t off = draw(m, SLICE - 1), len = 1 + draw(m, SLICE - off);
	uint8_t before[SLICE];
	enum ibv_wc_status status;

	if (m->alias[a].obj == NULL)
		return;
	fill(p->client.buf, SLICE, draw(m, 1000) + 1);
	memcpy(before, m->alias[a].at, SLICE);
	status = copy(p, m->alias[a].number, m->alias[a].at + off, p->client.mr->lkey,
		p->client.buf, len);
	CHECK_EQ(status, good ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR);
	if (good)
		memcpy(before + off, p->client.buf, len);
	else
		again(p);
	*(good ? &m->n_good : &m->n_bad) += 1;
	CHECK(memcmp(before, m->alias[a].at, SLICE) == 0);
	CHECK_EQ(alias_status(m->alias[a].obj, m->alias[a].number) == 0, good);
}

static void
case_random(void)
{
	struct model m = {.random = 20};

	pair_init(&m.p[0], NULL);
	pair_init(&m.p[1], &(struct pair_opts){.device = 1});
	for (unsigned int step = 0; step < STEPS; step++) {
		const unsigned int k = draw(&m, N_OWNED), a = draw(&m, N_ALIAS);

		switch (draw(&m, 12)) {
		case 0:
			step_key(&m, k);
			break;
		case 1:
		case 2:
			step_allow(&m, k);
			break;
		case 3:
		case 4:
			step_alias(&m, a, k);
			break;
		default:
			step_copy(&m, a);
		}
	}
	CHECK(m.n_good > 50 && m.n_bad > 50, "%lu good, %lu bad", m.n_good, m.n_bad);
	for (unsigned int a = 0; a < N_ALIAS; a++)
		if (m.alias[a].obj != NULL)
			CHECK_EQ(mlx5dv_devx_obj_destroy(m.alias[a].obj), 0);
	for (unsigned int k = 0; k < N_OWNED; k++)
		if (m.key[k].born != 0)
			step_key(&m, k);
	pair_fini(&m.p[0]);
	pair_fini(&m.p[1]);
}

static const struct check_case on_cases[] = {
	{"functions of a card have one system image GUID, and numbers of their own", case_caps},
	{"an alias of a key over user memory copies in both directions", case_direct},
	{"an alias of a KSM copies in both directions", case_ksm},
	{"a function makes an alias of its own key", case_own_function},
	{"the owner's rights decide", case_rights},
	{"the owner's bounds decide, and the variant", case_bounds},
	{"which keys may not be allowed", case_allow_refused},
	{"which aliases are refused", case_alias_refused},
	{"an alias lies in no layout", case_in_layout},
	{"the owner ends its key before the alias", case_owner_ends},
	{"an alias does not reach a later key with the same index", case_index_again},
	{"a second ALLOW replaces the access key", case_allow_again},
	{"the owner's adapter dies", case_owner_dies},
	{"contexts close with keys and aliases", case_contexts_close},
	{"random owners and importers", case_random},
	{"the owner ends its key while copies run", case_while_copies_run},
};
static const struct check_case off_cases[] = {
	{"the capability bits are 0", case_caps},
	{"both commands are refused", case_off},
};

int
main(int argc, char **argv)
{
	const char *cross = getenv("SOFTHCA_CROSS_VHCA");

	if (cross != NULL && strcmp(cross, "off") == 0)
		return check_main(off_cases, sizeof(off_cases) / sizeof(off_cases[0]), argc, argv);
	return check_main(on_cases, sizeof(on_cases) / sizeof(on_cases[0]), argc, argv);
}
