/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Indirect keys and memory windows through stock libmlx5: to which address each byte moves, and
 * every rule that forbids an access.
 *
 * The expected memory is computed here from the manual pages: a list is its entries, one after the
 * other. Interleaved data are entry 0 of round 0, entry 1 of round 0, and so on; in the next round
 * each entry is bytes_count + bytes_skip further (mlx5dv_wr_mkey_configure(3)).
 */
#include "softhca_pair.h"

#define N_MAX 600

/* A layout as pieces of the server's buffer, in the order in which data fill them. */
struct pieces {
	unsigned int n;
	struct {
		uint32_t at, len;
	} v[N_MAX];
};

static void
piece(struct pieces *s, uint32_t at, uint32_t len)
{
	CHECK(s->n < N_MAX);
	s->v[s->n].at = at;
	s->v[s->n].len = len;
	s->n++;
}

static void
keys_init(struct pair *p)
{
	pair_init(p, &(struct pair_opts){.keys = true});
	for (uint32_t i = 0; i < PAIR_BUF; i++) {
		p->client.buf[i] = (uint8_t)(i * 7 + i / 256);
		p->server.buf[i] = 0xee;
	}
}

static struct mlx5dv_mkey *
mkey_new(struct ibv_pd *pd, uint16_t entries, uint32_t flags)
{
	struct mlx5dv_mkey_init_attr attr = {.pd = pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | flags,
		.max_entries = entries};
	struct mlx5dv_mkey *mkey = mlx5dv_create_mkey(&attr);

	CHECK(mkey != NULL);
	CHECK(attr.max_entries >= entries);
	return mkey;
}

static struct ibv_sge
sge(const struct pair_end *e, uint32_t at, uint32_t len)
{
	return (struct ibv_sge){(uintptr_t)e->buf + at, len, e->mr->lkey};
}

static void
start(struct pair_end *e, unsigned int flags)
{
	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_id = 5;
	e->qpx->wr_flags = IBV_SEND_SIGNALED | flags;
}

static enum ibv_wc_status
finish(struct pair_end *e)
{
	struct ibv_wc wc;

	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	wc = pair_wait(e);
	CHECK_EQ(wc.wr_id, 5);
	return wc.status;
}

static enum ibv_wc_status
set_list(struct pair_end *e, struct mlx5dv_mkey *mkey, uint32_t access, uint16_t n,
	struct ibv_sge *v)
{
	start(e, IBV_SEND_INLINE);
	mlx5dv_wr_mr_list(e->dvx, mkey, access, n, v);
	return finish(e);
}

static enum ibv_wc_status
set_interleaved(struct pair_end *e, struct mlx5dv_mkey *mkey, uint32_t access, uint32_t repeat,
	uint16_t n, struct mlx5dv_mr_interleaved *v)
{
	start(e, IBV_SEND_INLINE);
	mlx5dv_wr_mr_interleaved(e->dvx, mkey, access, repeat, n, v);
	return finish(e);
}

static enum ibv_wc_status
invalidate(struct pair_end *e, uint32_t key)
{
	start(e, 0);
	ibv_wr_local_inv(e->qpx, key);
	return finish(e);
}

static enum ibv_wc_status
write_to(struct pair *p, uint32_t rkey, uint64_t raddr, uint32_t from, uint32_t len)
{
	start(&p->client, 0);
	ibv_wr_rdma_write(p->client.qpx, rkey, raddr);
	ibv_wr_set_sge(p->client.qpx, p->client.mr->lkey, (uintptr_t)p->client.buf + from, len);
	return finish(&p->client);
}

static enum ibv_wc_status
read_from(struct pair *p, uint32_t rkey, uint64_t raddr, uint32_t to, uint32_t len)
{
	start(&p->client, 0);
	ibv_wr_rdma_read(p->client.qpx, rkey, raddr);
	ibv_wr_set_sge(p->client.qpx, p->client.mr->lkey, (uintptr_t)p->client.buf + to, len);
	return finish(&p->client);
}

/*
 * Checks that bytes [off, off+len) of the layout have the client's bytes from 0 on, and that all
 * other bytes are unchanged.
 */
static void
expect_scattered(const struct pair *p, const struct pieces *s, uint32_t off, uint32_t len)
{
	static uint8_t want[PAIR_BUF];
	uint32_t pos = 0;

	memset(want, 0xee, sizeof(want));
	for (unsigned int i = 0; i < s->n; i++)
		for (uint32_t b = 0; b < s->v[i].len; b++, pos++)
			if (pos >= off && pos < off + len)
				want[s->v[i].at + b] = p->client.buf[pos - off];
	CHECK(pos >= off + len);
	for (uint32_t i = 0; i < PAIR_BUF; i++)
		CHECK_EQ(p->server.buf[i], want[i]);
}

static void
expect_untouched(const struct pair *p)
{
	for (uint32_t i = 0; i < PAIR_BUF; i++)
		CHECK_EQ(p->server.buf[i], 0xee);
}

/*
 * Writes a part of the layout through the key, checks all of the server's memory, and reads the
 * part back.
 */
static void
write_and_read(struct pair *p, struct mlx5dv_mkey *mkey, const struct pieces *s, uint32_t off,
	uint32_t len)
{
	memset(p->server.buf, 0xee, PAIR_BUF);
	CHECK_EQ(write_to(p, mkey->rkey, off, 0, len), IBV_WC_SUCCESS);
	expect_scattered(p, s, off, len);
	memset(p->client.buf + 32768, 0, len);
	CHECK_EQ(read_from(p, mkey->rkey, off, 32768, len), IBV_WC_SUCCESS);
	CHECK(memcmp(p->client.buf, p->client.buf + 32768, len) == 0);
}

static void
case_list(void)
{
	struct pair p;
	struct mlx5dv_mkey *mkey;
	struct pieces s = {0};
	struct ibv_sge v[3];

	keys_init(&p);
	mkey = mkey_new(p.pd, 3, 0);
	v[0] = sge(&p.server, 5000, 100);
	v[1] = sge(&p.server, 64, 7);
	v[2] = sge(&p.server, 9001, 300);
	for (int i = 0; i < 3; i++)
		piece(&s, (uint32_t)(v[i].addr - (uintptr_t)p.server.buf), v[i].length);
	CHECK_EQ(set_list(&p.client, mkey, PAIR_ALL, 3, v), IBV_WC_SUCCESS);
	write_and_read(&p, mkey, &s, 0, 407);
	write_and_read(&p, mkey, &s, 99, 9);  /* starts before the middle entry and ends after it */
	write_and_read(&p, mkey, &s, 100, 7); /* exactly the middle entry */
	write_and_read(&p, mkey, &s, 406, 1);
	CHECK_EQ(mlx5dv_destroy_mkey(mkey), 0);
	pair_fini(&p);
}

static void
interleaved(uint32_t repeat, uint16_t n, struct mlx5dv_mr_interleaved *v)
{
	struct pair p;
	struct mlx5dv_mkey *mkey;
	struct pieces s = {0};
	uint32_t len = 0;

	keys_init(&p);
	mkey = mkey_new(p.pd, n + 1, 0);
	for (uint32_t r = 0; r < repeat; r++)
		for (uint16_t i = 0; i < n; i++)
			piece(&s, (uint32_t)v[i].addr + r * (v[i].bytes_count + v[i].bytes_skip),
				v[i].bytes_count);
	for (unsigned int i = 0; i < s.n; i++)
		len += s.v[i].len;
	for (uint16_t i = 0; i < n; i++) {
		v[i].addr += (uintptr_t)p.server.buf;
		v[i].lkey = p.server.mr->lkey;
	}
	CHECK_EQ(set_interleaved(&p.client, mkey, PAIR_ALL, repeat, n, v), IBV_WC_SUCCESS);
	write_and_read(&p, mkey, &s, 0, len);
	write_and_read(&p, mkey, &s, 1, len - 1);
	write_and_read(&p, mkey, &s, len / 2 + 1, len / 3);
	write_and_read(&p, mkey, &s, len - 1, 1);
	CHECK_EQ(mlx5dv_destroy_mkey(mkey), 0);
	pair_fini(&p);
}

static void
case_interleaved(void)
{
	/* The example in the manual page. */
	interleaved(2, 2,
		(struct mlx5dv_mr_interleaved[]){{.addr = 0, .bytes_count = 512, .bytes_skip = 4},
			{.addr = 4096, .bytes_count = 8, .bytes_skip = 0}});
	interleaved(7, 1, (struct mlx5dv_mr_interleaved[]){{100, 13, 3, 0}});
	/*
	 * A layout with more pieces than a WQE can have segments; entries without a skip; three
	 * entries.
	 */
	interleaved(200, 2, (struct mlx5dv_mr_interleaved[]){{1, 5, 2, 0}, {20000, 3, 9, 0}});
	interleaved(3, 1, (struct mlx5dv_mr_interleaved[]){{77, 64, 0, 0}});
	interleaved(5, 3,
		(struct mlx5dv_mr_interleaved[]){{0, 16, 48, 0}, {8192, 1, 1, 0},
			{16384, 100, 28, 0}});
}

/*
 * An interleaved key is a part of a list, and this list is a part of an interleaved key. Each byte
 * must be where both layouts together put it.
 */
static void
case_nested(void)
{
	struct pair p;
	struct mlx5dv_mkey *a, *b, *c;
	struct mlx5dv_mr_interleaved v;
	struct ibv_sge list[2];
	struct pieces sa = {0}, sb = {0}, sc = {0};
	uint8_t *base;

	keys_init(&p);
	base = p.server.buf;
	a = mkey_new(p.pd, 4, 0);
	b = mkey_new(p.pd, 4, 0);
	c = mkey_new(p.pd, 4, 0);
	/*
	 * Key a: 10 rounds of 6 bytes, with 10 bytes from round to round, starting at 1000. In
	 * total 60 bytes.
	 */
	v = (struct mlx5dv_mr_interleaved){(uintptr_t)base + 1000, 6, 4, p.server.mr->lkey};
	CHECK_EQ(set_interleaved(&p.client, a, PAIR_ALL, 10, 1, &v), IBV_WC_SUCCESS);
	for (uint32_t i = 0; i < 10; i++)
		piece(&sa, 1000 + 10 * i, 6);
	/* Key b: bytes 3..43 of a, then 20 bytes at 3000. In total 60 bytes. */
	list[0] = (struct ibv_sge){3, 40, a->lkey};
	list[1] = sge(&p.server, 3000, 20);
	CHECK_EQ(set_list(&p.client, b, PAIR_ALL, 2, list), IBV_WC_SUCCESS);
	for (uint32_t i = 3; i < 43; i++)
		piece(&sb, sa.v[i / 6].at + i % 6, 1);
	piece(&sb, 3000, 20);
	/*
	 * Key c: 3 rounds of 9 bytes of b, with 20 bytes from round to round, starting at byte 4.
	 */
	v = (struct mlx5dv_mr_interleaved){4, 9, 11, b->lkey};
	CHECK_EQ(set_interleaved(&p.client, c, PAIR_ALL, 3, 1, &v), IBV_WC_SUCCESS);
	for (uint32_t r = 0; r < 3; r++)
		for (uint32_t i = 4 + 20 * r; i < 13 + 20 * r; i++)
			piece(&sc, i < 40 ? sb.v[i].at : 3000 + i - 40, 1);
	write_and_read(&p, c, &sc, 0, 27);
	write_and_read(&p, c, &sc, 5, 17);
	write_and_read(&p, b, &sb, 2, 50);
	mlx5dv_destroy_mkey(a);
	mlx5dv_destroy_mkey(b);
	mlx5dv_destroy_mkey(c);
	pair_fini(&p);
}

/*
 * Keys are used at both ends: data are gathered at one end, scattered at the other, and copied
 * between keys by memcpy. Each byte must arrive at its place.
 */
static void
case_local_use(void)
{
	struct pair p;
	struct mlx5dv_mkey *from, *to;
	struct ibv_sge v[2], local;
	struct ibv_recv_wr wr = {.wr_id = 8, .sg_list = &local, .num_sge = 1}, *bad;
	struct ibv_wc wc;

	keys_init(&p);
	from = mkey_new(p.pd, 4, 0);
	to = mkey_new(p.pd, 4, 0);
	v[0] = sge(&p.client, 300, 10);
	v[1] = sge(&p.client, 100, 20);
	CHECK_EQ(set_list(&p.client, from, 0, 2, v), IBV_WC_SUCCESS);
	v[0] = sge(&p.server, 40, 25);
	v[1] = sge(&p.server, 20, 5);
	CHECK_EQ(set_list(&p.server, to, IBV_ACCESS_LOCAL_WRITE, 2, v), IBV_WC_SUCCESS);
	local = (struct ibv_sge){0, 30, to->lkey};
	pair_publish(&p.server);
	CHECK_EQ(ibv_post_recv(p.server.qp, &wr, &bad), 0);
	start(&p.client, 0);
	ibv_wr_send(p.client.qpx);
	ibv_wr_set_sge(p.client.qpx, from->lkey, 0, 30);
	CHECK_EQ(finish(&p.client), IBV_WC_SUCCESS);
	wc = pair_wait(&p.server);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.byte_len, 30);
	CHECK(memcmp(p.server.buf + 40, p.client.buf + 300, 10) == 0);
	CHECK(memcmp(p.server.buf + 50, p.client.buf + 100, 15) == 0);
	CHECK(memcmp(p.server.buf + 20, p.client.buf + 115, 5) == 0);
	CHECK_EQ(p.server.buf[25], 0xee);
	if (pair_has_mmo(p.ctx)) {
		memset(p.server.buf, 0xee, PAIR_BUF);
		start(&p.client, 0);
		mlx5dv_wr_memcpy(p.client.dvx, to->lkey, 1, from->lkey, 1, 29);
		CHECK_EQ(finish(&p.client), IBV_WC_SUCCESS);
		CHECK_EQ(p.server.buf[40], 0xee);
		CHECK(memcmp(p.server.buf + 41, p.client.buf + 301, 9) == 0);
		CHECK(memcmp(p.server.buf + 20, p.client.buf + 115, 5) == 0);
	}
	mlx5dv_destroy_mkey(from);
	mlx5dv_destroy_mkey(to);
	pair_fini(&p);
}

/* A second configuration must replace what its setters set, and must not change anything else. */
static void
case_reconfigured(void)
{
	struct pair p;
	struct mlx5dv_mkey *mkey;
	struct mlx5dv_mkey_conf_attr conf = {0};
	struct mlx5dv_mr_interleaved il;
	struct pieces s = {0};
	struct ibv_sge v;

	keys_init(&p);
	mkey = mkey_new(p.pd, 4, 0);
	v = sge(&p.server, 100, 50);
	CHECK_EQ(set_list(&p.client, mkey, IBV_ACCESS_REMOTE_READ, 1, &v), IBV_WC_SUCCESS);
	/* Only the access flags are set: the layout must not change. */
	start(&p.client, IBV_SEND_INLINE);
	mlx5dv_wr_mkey_configure(p.client.dvx, mkey, 1, &conf);
	mlx5dv_wr_set_mkey_access_flags(p.client.dvx, PAIR_ALL);
	CHECK_EQ(finish(&p.client), IBV_WC_SUCCESS);
	piece(&s, 100, 50);
	write_and_read(&p, mkey, &s, 0, 50);
	/*
	 * Only the layout is set: the access flags must not change, even if the kind of layout
	 * changes.
	 */
	il = (struct mlx5dv_mr_interleaved){(uintptr_t)p.server.buf + 200, 4, 4, p.server.mr->lkey};
	start(&p.client, IBV_SEND_INLINE);
	mlx5dv_wr_mkey_configure(p.client.dvx, mkey, 1, &conf);
	mlx5dv_wr_set_mkey_layout_interleaved(p.client.dvx, 2, 1, &il);
	CHECK_EQ(finish(&p.client), IBV_WC_SUCCESS);
	s.n = 0;
	piece(&s, 200, 4);
	piece(&s, 208, 4);
	write_and_read(&p, mkey, &s, 0, 8);
	/* Without a setter, the key must not change. */
	start(&p.client, IBV_SEND_INLINE);
	mlx5dv_wr_mkey_configure(p.client.dvx, mkey, 0, &conf);
	CHECK_EQ(finish(&p.client), IBV_WC_SUCCESS);
	write_and_read(&p, mkey, &s, 0, 8);
	/* If access flags are set twice, the later flags must count. */
	start(&p.client, IBV_SEND_INLINE);
	mlx5dv_wr_mkey_configure(p.client.dvx, mkey, 1, &conf);
	mlx5dv_wr_set_mkey_access_flags(p.client.dvx, IBV_ACCESS_REMOTE_READ);
	CHECK_EQ(finish(&p.client), IBV_WC_SUCCESS);
	CHECK_EQ(write_to(&p, mkey->rkey, 0, 0, 8), IBV_WC_REM_ACCESS_ERR);
	mlx5dv_destroy_mkey(mkey);
	pair_fini(&p);
}

/*
 * Many configurations, some of them while data move: no key may be lost, and no old layout may be
 * used.
 */
static void
case_many_configurations(void)
{
	struct pair p;
	struct mlx5dv_mkey *mkey;

	keys_init(&p);
	mkey = mkey_new(p.pd, 4, 0);
	for (uint32_t i = 0; i < 1000; i++) {
		struct ibv_sge v = sge(&p.server, 64 * (i % 100), 8);

		CHECK_EQ(set_list(i % 2 ? &p.client : &p.server, mkey, PAIR_ALL, 1, &v),
			IBV_WC_SUCCESS);
		CHECK_EQ(write_to(&p, mkey->rkey, 0, i, 8), IBV_WC_SUCCESS);
		CHECK(memcmp(p.server.buf + 64 * (i % 100), p.client.buf + i, 8) == 0);
	}
	mlx5dv_destroy_mkey(mkey);
	pair_fini(&p);
}

/* ---- rules: each case breaks one rule */

enum wrong {
	NOTHING,
	BEYOND_END,
	ENTRY_BEYOND_REGION,
	NO_REMOTE_WRITE,
	INNER_READ_ONLY,
	MIDDLE_READ_ONLY,
	INNER_OTHER_PD,
	INNER_FREED,
	INNER_STALE,
	INNER_WINDOW,
	OTHER_PD,
	NEVER_CONFIGURED,
	LOCALLY_INVALIDATED,
	WRONG_VARIANT,
	DEEP_ENOUGH,
	TOO_DEEP
};

/*
 * A key over a key over the server's region, with one error. A write of 64 bytes through the outer
 * key must complete with this status.
 */
static void
rule(enum wrong wrong, enum ibv_wc_status status)
{
	struct pair p;
	struct ibv_pd *pd;
	struct ibv_mr *mr, *other;
	struct ibv_mw *mw;
	struct mlx5dv_mkey *inner, *outer, *deep[6];
	struct ibv_sge v;
	uint32_t rkey, len = 64;

	keys_init(&p);
	pd = ibv_alloc_pd(p.ctx);
	mr = ibv_reg_mr(p.pd, p.server.buf, 4096,
		wrong == INNER_READ_ONLY ? 0 : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	other = ibv_reg_mr(pd, p.server.buf, 4096, IBV_ACCESS_LOCAL_WRITE);
	mw = ibv_alloc_mw(p.pd, IBV_MW_TYPE_1);
	CHECK(mr != NULL && other != NULL && mw != NULL);
	inner = mkey_new(p.pd, 4, 0);
	outer = mkey_new(wrong == OTHER_PD ? pd : p.pd, 4, 0);
	v = (struct ibv_sge){(uintptr_t)p.server.buf, 4096, mr->lkey};
	if (wrong == ENTRY_BEYOND_REGION)
		v.addr += 4096 - 63;
	if (wrong == INNER_OTHER_PD)
		v.lkey = other->lkey;
	if (wrong == INNER_WINDOW) {
		CHECK_EQ(ibv_bind_mw(p.client.qp, mw,
				 &(struct ibv_mw_bind){.send_flags = IBV_SEND_SIGNALED,
					 .bind_info = {mr, (uintptr_t)p.server.buf, 4096,
						 IBV_ACCESS_LOCAL_WRITE |
							 IBV_ACCESS_REMOTE_WRITE}}),
			0);
		CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
		v.lkey = mw->rkey;
	}
	CHECK_EQ(set_list(&p.client, inner, wrong == MIDDLE_READ_ONLY ? 0 : IBV_ACCESS_LOCAL_WRITE,
			 1, &v),
		IBV_WC_SUCCESS);
	v = (struct ibv_sge){0, 64, inner->lkey};
	if (wrong != NEVER_CONFIGURED && wrong != OTHER_PD)
		CHECK_EQ(set_list(&p.client, outer,
				 wrong == NO_REMOTE_WRITE ? PAIR_ALL & ~IBV_ACCESS_REMOTE_WRITE
							  : IBV_ACCESS_REMOTE_WRITE,
				 1, &v),
			IBV_WC_SUCCESS);
	rkey = outer->rkey;
	if (wrong == OTHER_PD) {
		/* A QP of another PD must not be able to configure the key. */
		CHECK_EQ(set_list(&p.client, outer, PAIR_ALL, 1, &v), IBV_WC_MW_BIND_ERR);
		goto done;
	}
	for (unsigned int i = 0; i < 6; i++) {
		deep[i] = mkey_new(p.pd, 4, 0);
		v = (struct ibv_sge){0, 64, i == 0 ? outer->lkey : deep[i - 1]->lkey};
		if (wrong == DEEP_ENOUGH || wrong == TOO_DEEP) {
			/*
			 * In these two cases the write goes through all keys. `outer` has been
			 * configured as read-only: it gets all rights here.
			 */
			struct ibv_sge in = {0, 64, inner->lkey};

			if (i == 0)
				CHECK_EQ(set_list(&p.client, outer, PAIR_ALL, 1, &in),
					IBV_WC_SUCCESS);
			CHECK_EQ(set_list(&p.client, deep[i], PAIR_ALL, 1, &v), IBV_WC_SUCCESS);
		}
	}
	/*
	 * In this case four keys are between the request and the memory: inner, outer, deep[0],
	 * deep[1].
	 */
	if (wrong == DEEP_ENOUGH)
		rkey = deep[1]->rkey;
	if (wrong == TOO_DEEP)
		rkey = deep[2]->rkey;
	if (wrong == BEYOND_END)
		len = 65;
	if (wrong == INNER_FREED)
		CHECK_EQ(invalidate(&p.client, inner->lkey), IBV_WC_SUCCESS);
	if (wrong == LOCALLY_INVALIDATED)
		CHECK_EQ(invalidate(&p.client, outer->lkey), IBV_WC_SUCCESS);
	if (wrong == WRONG_VARIANT)
		rkey ^= 1;
	if (wrong == INNER_STALE) {
		CHECK_EQ(ibv_dereg_mr(mr), 0);
		mr = NULL;
	}
	CHECK_EQ(write_to(&p, rkey, 0, 0, len), status);
	if (status == IBV_WC_SUCCESS)
		CHECK(memcmp(p.server.buf, p.client.buf, 64) == 0);
	else
		expect_untouched(&p);
	for (unsigned int i = 0; i < 6; i++)
		CHECK_EQ(mlx5dv_destroy_mkey(deep[i]), 0);
done:
	CHECK_EQ(mlx5dv_destroy_mkey(outer), 0);
	CHECK_EQ(mlx5dv_destroy_mkey(inner), 0);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	if (mr != NULL)
		CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dereg_mr(other), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	pair_fini(&p);
}

static void
case_rules(void)
{
	rule(NOTHING, IBV_WC_SUCCESS);
	rule(DEEP_ENOUGH, IBV_WC_SUCCESS);
	for (enum wrong w = BEYOND_END; w < DEEP_ENOUGH; w++)
		rule(w, IBV_WC_REM_ACCESS_ERR);
	rule(TOO_DEEP, IBV_WC_REM_ACCESS_ERR);
}

/* Data must be readable through a key that does not allow writing. */
static void
case_read_only_layer(void)
{
	struct pair p;
	struct ibv_mr *mr;
	struct mlx5dv_mkey *mkey;
	struct ibv_sge v;

	keys_init(&p);
	mr = ibv_reg_mr(p.pd, p.server.buf, 4096, 0);
	mkey = mkey_new(p.pd, 4, 0);
	v = (struct ibv_sge){(uintptr_t)p.server.buf, 64, mr->lkey};
	CHECK_EQ(set_list(&p.client, mkey, PAIR_ALL, 1, &v), IBV_WC_SUCCESS);
	CHECK_EQ(read_from(&p, mkey->rkey, 0, 0, 64), IBV_WC_SUCCESS);
	CHECK_EQ(p.client.buf[63], 0xee);
	CHECK_EQ(mlx5dv_destroy_mkey(mkey), 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	pair_fini(&p);
}

/* A local use that a key forbids must be a protection error of the requester. */
static void
case_local_rules(void)
{
	static const struct {
		uint32_t access, len;
		enum ibv_wc_status status;
	} tries[] = {
		{IBV_ACCESS_LOCAL_WRITE, 64, IBV_WC_SUCCESS},
		{0, 64, IBV_WC_LOC_PROT_ERR},
		{IBV_ACCESS_LOCAL_WRITE, 65, IBV_WC_LOC_PROT_ERR},
	};

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct pair p;
		struct mlx5dv_mkey *mkey;
		struct ibv_sge v;

		keys_init(&p);
		mkey = mkey_new(p.pd, 4, 0);
		v = sge(&p.client, 0, 64);
		CHECK_EQ(set_list(&p.client, mkey, tries[i].access, 1, &v), IBV_WC_SUCCESS);
		start(&p.client, 0);
		ibv_wr_rdma_read(p.client.qpx, p.server.mr->rkey, (uintptr_t)p.server.buf);
		ibv_wr_set_sge(p.client.qpx, mkey->lkey, 0, tries[i].len);
		CHECK_EQ(finish(&p.client), tries[i].status);
		CHECK_EQ(mlx5dv_destroy_mkey(mkey), 0);
		pair_fini(&p);
	}
}

/*
 * An invalidation that is not allowed must fail, and so must a second invalidation of a key. An
 * invalidated key must work again after a configuration.
 */
static void
case_invalidate(void)
{
	struct pair p;
	struct mlx5dv_mkey *mkey;
	struct ibv_sge v;

	keys_init(&p);
	mkey = mkey_new(p.pd, 4, 0);
	v = sge(&p.server, 0, 64);
	CHECK_EQ(set_list(&p.client, mkey, PAIR_ALL, 1, &v), IBV_WC_SUCCESS);
	CHECK_EQ(invalidate(&p.client, mkey->lkey), IBV_WC_SUCCESS);
	CHECK_EQ(set_list(&p.client, mkey, PAIR_ALL, 1, &v), IBV_WC_SUCCESS);
	CHECK_EQ(write_to(&p, mkey->rkey, 0, 0, 64), IBV_WC_SUCCESS);
	CHECK_EQ(invalidate(&p.client, mkey->lkey), IBV_WC_SUCCESS);
	CHECK_EQ(invalidate(&p.client, mkey->lkey), IBV_WC_MW_BIND_ERR);
	CHECK_EQ(mlx5dv_destroy_mkey(mkey), 0);
	pair_fini(&p);

	keys_init(&p);
	mkey = mkey_new(p.pd, 4, 0);
	v = sge(&p.server, 0, 64);
	CHECK_EQ(set_list(&p.client, mkey, PAIR_ALL, 1, &v), IBV_WC_SUCCESS);
	CHECK_EQ(invalidate(&p.client, mkey->lkey ^ 1), IBV_WC_MW_BIND_ERR);
	CHECK_EQ(mlx5dv_destroy_mkey(mkey), 0);
	pair_fini(&p);

	/* A plain region must be refused both for invalidation and for configuration. */
	keys_init(&p);
	CHECK_EQ(invalidate(&p.client, p.client.mr->lkey), IBV_WC_MW_BIND_ERR);
	pair_fini(&p);
}

static enum ibv_wc_status
send_inv(struct pair *p, uint32_t rkey)
{
	pair_post_recv(&p->server, 9, 60000, 64);
	start(&p->client, 0);
	ibv_wr_send_inv(p->client.qpx, rkey);
	ibv_wr_set_sge(p->client.qpx, p->client.mr->lkey, (uintptr_t)p->client.buf, 8);
	return finish(&p->client);
}

static void
remote_invalidate(uint32_t flags, enum ibv_wc_status status)
{
	struct pair p;
	struct mlx5dv_mkey *mkey;
	struct ibv_sge v;
	struct ibv_wc wc;

	keys_init(&p);
	mkey = mkey_new(p.pd, 4, flags);
	v = sge(&p.server, 0, 64);
	CHECK_EQ(set_list(&p.server, mkey, PAIR_ALL, 1, &v), IBV_WC_SUCCESS);
	CHECK_EQ(write_to(&p, mkey->rkey, 0, 0, 64), IBV_WC_SUCCESS);
	CHECK_EQ(send_inv(&p, mkey->rkey), status);
	wc = pair_wait(&p.server);
	if (status == IBV_WC_SUCCESS) {
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ(wc.wc_flags & IBV_WC_WITH_INV, IBV_WC_WITH_INV);
		CHECK_EQ(wc.invalidated_rkey, mkey->rkey);
		memset(p.server.buf, 0xee, PAIR_BUF);
		CHECK_EQ(write_to(&p, mkey->rkey, 0, 0, 64), IBV_WC_REM_ACCESS_ERR);
		expect_untouched(&p);
	}
	CHECK_EQ(mlx5dv_destroy_mkey(mkey), 0);
	pair_fini(&p);
}

static void
case_remote_invalidate(void)
{
	remote_invalidate(MLX5DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE, IBV_WC_SUCCESS);
	remote_invalidate(0, IBV_WC_REM_OP_ERR);
}

/*
 * A configuration must be able to change the variant, the lowest byte of the key
 * (mlx5dv_create_mkey(3)).
 */
static void
case_update_tag(void)
{
	struct pair p;
	struct mlx5dv_mkey *mkey;
	struct ibv_sge v;
	uint32_t old;

	keys_init(&p);
	mkey = mkey_new(p.pd, 4, MLX5DV_MKEY_INIT_ATTR_FLAGS_UPDATE_TAG);
	v = sge(&p.server, 0, 64);
	old = mkey->rkey;
	mkey->lkey = mkey->rkey = (old & ~0xffu) | 0x5a;
	CHECK_EQ(set_list(&p.client, mkey, PAIR_ALL, 1, &v), IBV_WC_SUCCESS);
	CHECK_EQ(write_to(&p, mkey->rkey, 0, 0, 64), IBV_WC_SUCCESS);
	CHECK_EQ(write_to(&p, old, 0, 0, 64), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(mlx5dv_destroy_mkey(mkey), 0);
	pair_fini(&p);
}

/* ---- memory windows */

enum mw_wrong {
	MW_NOTHING,
	MW_BEFORE,
	MW_AFTER,
	MW_NO_RIGHT,
	MW_UNBOUND,
	MW_STALE_KEY,
	MW_OTHER_QP,
	MW_REGION_GONE,
	/* In the following cases the bind itself must be refused. */
	MW_REGION_NO_BIND,
	MW_REGION_READ_ONLY,
	MW_REGION_OTHER_PD,
	MW_REGION_TOO_SMALL,
	MW_BOUND_TWICE,
	MW_WRONG_QP_UNBINDS
};

static enum ibv_wc_status
bind(struct pair_end *e, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	struct ibv_send_wr wr = {.wr_id = 5,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {.mw = mw, .rkey = rkey, .bind_info = *info}};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	pair_publish(e);
	if (mw->type == IBV_MW_TYPE_1)
		CHECK_EQ(ibv_bind_mw(e->qp, mw,
				 &(struct ibv_mw_bind){.wr_id = 5,
					 .send_flags = IBV_SEND_SIGNALED,
					 .bind_info = *info}),
			0);
	else
		CHECK_EQ(ibv_post_send(e->qp, &wr, &bad), 0);
	wc = pair_wait(e);
	CHECK_EQ(wc.wr_id, 5);
	return wc.status;
}

/*
 * Binds the server's window to bytes 1000..1063 of its region, with one error. Then the client
 * writes to the window.
 */
static void
window(enum ibv_mw_type type, enum mw_wrong wrong)
{
	struct pair p;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info info = {.length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
	struct pair_end *binder;
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	uint32_t rkey;
	uint64_t raddr;

	keys_init(&p);
	pd = ibv_alloc_pd(p.ctx);
	mr = ibv_reg_mr(wrong == MW_REGION_OTHER_PD ? pd : p.pd, p.server.buf,
		wrong == MW_REGION_TOO_SMALL ? 1063 : 4096,
		(wrong == MW_REGION_NO_BIND ? 0 : IBV_ACCESS_MW_BIND) |
			(wrong == MW_REGION_READ_ONLY ? 0 : IBV_ACCESS_LOCAL_WRITE));
	mw = ibv_alloc_mw(p.pd, type);
	CHECK(pd != NULL && mr != NULL && mw != NULL);
	raddr = info.addr = (uintptr_t)p.server.buf + 1000;
	info.mr = mr;
	if (wrong == MW_NO_RIGHT)
		info.mw_access_flags = IBV_ACCESS_REMOTE_READ;
	binder = wrong == MW_OTHER_QP ? &p.client : &p.server;
	rkey = ibv_inc_rkey(mw->rkey);
	if (wrong >= MW_REGION_NO_BIND && wrong <= MW_REGION_TOO_SMALL) {
		CHECK_EQ(bind(binder, mw, rkey, &info), IBV_WC_MW_BIND_ERR);
		goto done;
	}
	CHECK_EQ(bind(binder, mw, rkey, &info), IBV_WC_SUCCESS);
	if (type == IBV_MW_TYPE_1)
		CHECK_EQ(mw->rkey, rkey);
	if (wrong == MW_BOUND_TWICE) {
		/*
		 * A window of type 1 can be bound again, and its old key must stop working. A
		 * window of type 2 must be invalidated first.
		 */
		status = bind(&p.server, mw, ibv_inc_rkey(rkey), &info);
		CHECK_EQ(status, type == IBV_MW_TYPE_1 ? IBV_WC_SUCCESS : IBV_WC_MW_BIND_ERR);
		if (type == IBV_MW_TYPE_1)
			CHECK_EQ(write_to(&p, rkey, raddr, 0, 64), IBV_WC_REM_ACCESS_ERR);
		goto done;
	}
	if (wrong == MW_WRONG_QP_UNBINDS) {
		/*
		 * A window of type 1 must not be invalidated locally, and a window of type 2 only
		 * by its own QP.
		 */
		CHECK_EQ(invalidate(type == IBV_MW_TYPE_1 ? &p.server : &p.client, rkey),
			IBV_WC_MW_BIND_ERR);
		goto done;
	}
	if (wrong == MW_UNBOUND && type == IBV_MW_TYPE_2)
		CHECK_EQ(invalidate(&p.server, rkey), IBV_WC_SUCCESS);
	if (wrong == MW_UNBOUND && type == IBV_MW_TYPE_1) {
		info.length = 0;
		CHECK_EQ(bind(&p.server, mw, 0, &info), IBV_WC_SUCCESS);
		rkey = mw->rkey;
	}
	if (wrong == MW_STALE_KEY)
		rkey = (rkey & ~0xffu) | ((rkey - 1) & 0xff);
	if (wrong == MW_REGION_GONE) {
		CHECK_EQ(ibv_dereg_mr(mr), 0);
		mr = NULL;
	}
	if (wrong == MW_BEFORE)
		raddr--;
	if (wrong == MW_AFTER)
		raddr++;
	/* Every QP of its PD may use a window of type 1, no matter which QP bound the window. */
	if (wrong != MW_NOTHING && !(wrong == MW_OTHER_QP && type == IBV_MW_TYPE_1))
		status = IBV_WC_REM_ACCESS_ERR;
	CHECK_EQ(write_to(&p, rkey, raddr, 0, 64), status);
	if (status == IBV_WC_SUCCESS) {
		CHECK(memcmp(p.server.buf + 1000, p.client.buf, 64) == 0);
		CHECK(p.server.buf[999] == 0xee && p.server.buf[1064] == 0xee);
	} else {
		expect_untouched(&p);
	}
done:
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	if (mr != NULL)
		CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	pair_fini(&p);
}

static void
case_windows(void)
{
	for (enum mw_wrong w = MW_NOTHING; w <= MW_WRONG_QP_UNBINDS; w++) {
		/*
		 * libibverbs itself refuses to bind a window of type 1 to a region of another PD
		 * (EPERM).
		 */
		if (w != MW_REGION_OTHER_PD)
			window(IBV_MW_TYPE_1, w);
		window(IBV_MW_TYPE_2, w);
	}
}

/*
 * A SEND of a peer must invalidate a window of type 2. It must then be possible to bind the window
 * again, with the next key. The addresses in the window are zero-based.
 */
static void
case_window_life(void)
{
	struct pair p;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info info = {.length = 64,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED};
	uint32_t rkey;

	keys_init(&p);
	mr = ibv_reg_mr(p.pd, p.server.buf, 4096, IBV_ACCESS_MW_BIND | IBV_ACCESS_LOCAL_WRITE);
	mw = ibv_alloc_mw(p.pd, IBV_MW_TYPE_2);
	CHECK(mr != NULL && mw != NULL);
	info.mr = mr;
	info.addr = (uintptr_t)p.server.buf + 1000;
	rkey = ibv_inc_rkey(mw->rkey);
	CHECK_EQ(bind(&p.server, mw, rkey, &info), IBV_WC_SUCCESS);
	CHECK_EQ(write_to(&p, rkey, 10, 0, 54), IBV_WC_SUCCESS);
	CHECK(memcmp(p.server.buf + 1010, p.client.buf, 54) == 0);
	CHECK_EQ(p.server.buf[1009], 0xee);
	CHECK_EQ(send_inv(&p, rkey), IBV_WC_SUCCESS);
	CHECK_EQ(pair_wait(&p.server).invalidated_rkey, rkey);
	rkey = ibv_inc_rkey(rkey);
	info.addr += 64;
	CHECK_EQ(bind(&p.server, mw, rkey, &info), IBV_WC_SUCCESS);
	CHECK_EQ(write_to(&p, rkey, 0, 0, 8), IBV_WC_SUCCESS);
	CHECK(memcmp(p.server.buf + 1064, p.client.buf, 8) == 0);
	/* A window must be refused as a local key. */
	start(&p.server, 0);
	ibv_wr_send(p.server.qpx);
	ibv_wr_set_sge(p.server.qpx, rkey, 0, 8);
	CHECK_EQ(finish(&p.server), IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	pair_fini(&p);
}

static enum ibv_wc_status
add_at(struct pair *p, uint32_t rkey, uint64_t raddr)
{
	start(&p->client, 0);
	ibv_wr_atomic_fetch_add(p->client.qpx, rkey, raddr, 1);
	ibv_wr_set_sge(p->client.qpx, p->client.mr->lkey, (uintptr_t)p->client.buf, 8);
	return finish(&p->client);
}

/*
 * The 8 bytes of an atomic must be in one piece, because bytes after the end of a piece do not
 * belong to the key.
 */
static void
case_atomic_in_a_piece(void)
{
	struct ibv_sge v[2];
	struct mlx5dv_mkey *mkey;
	struct pair p;

	keys_init(&p);
	mkey = mkey_new(p.pd, 4, 0);
	v[0] = sge(&p.server, 0, 12);
	v[1] = sge(&p.server, 4096, 12);
	CHECK_EQ(set_list(&p.server, mkey, PAIR_ALL, 2, v), IBV_WC_SUCCESS);
	memset(p.server.buf, 0, 16);
	CHECK_EQ(add_at(&p, mkey->rkey, 0), IBV_WC_SUCCESS);
	CHECK_EQ(p.server.buf[0], 1);
	CHECK_EQ(add_at(&p, mkey->rkey, 8), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(p.server.buf[8], 0);
	CHECK_EQ(p.server.buf[4096], 0xee);
	CHECK_EQ(mlx5dv_destroy_mkey(mkey), 0);
	pair_fini(&p);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"the bytes of a list go to its entries in order", case_list},
		{"interleaved bytes go round by round, with skips", case_interleaved},
		{"with keys over keys, each byte is where both layouts together put it",
			case_nested},
		{"keys gather and scatter on the local side, and for memcpy", case_local_use},
		{"a configuration replaces what it names and keeps the rest", case_reconfigured},
		{"each of a thousand configurations is in effect when it has completed",
			case_many_configurations},
		{"each rule for access through keys is enforced", case_rules},
		{"an atomic must be in one piece of a list", case_atomic_in_a_piece},
		{"a key without write access can be read", case_read_only_layer},
		{"local use is checked for access flags and bounds", case_local_rules},
		{"only an object that can be invalidated is invalidated, and only by its current key",
			case_invalidate},
		{"a SEND invalidates only a key that allows it", case_remote_invalidate},
		{"a configuration may change the key's lowest byte", case_update_tag},
		{"each rule of memory windows is enforced", case_windows},
		{"a window of type 2 is bound, invalidated by a peer, bound again",
			case_window_life},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
