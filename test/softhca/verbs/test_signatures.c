/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Block signatures through stock libmlx5: what an RDMA write sends from a signed key, and what an
 * RDMA read writes into one. ISA-L computes the guards; tags and positions are those of
 * mlx5dv_wr_set_mkey_sig_block(3). For the byte order of a CRC see doc/softhca.md.
 */
#include <isa-l.h>
#include <sys/mman.h>

#include "rfc1071.h"
#include "softhca_pair.h"

#define BLOCK 512
#define N     3
#define DATA  (N * BLOCK)

enum kind {
	DIF_CRC,
	DIF_CSUM,
	CRC32,
	CRC32C,
	N_KINDS
};

#define APP 0xabcd
#define REF 0x01234567

static uint32_t
signature_len(enum kind kind)
{
	return kind == DIF_CRC || kind == DIF_CSUM ? 8 : 4;
}

static uint64_t
guard(enum kind kind, const uint8_t *p, bool ones)
{
	switch (kind) {
	case DIF_CRC:
		return crc16_t10dif(ones ? 0xffff : 0, p, BLOCK);
	case DIF_CSUM:
		return (uint16_t)~sum16(ones ? 0xffff : 0, p, BLOCK);
	case CRC32:
		return crc32_gzip_refl(ones ? 0 : UINT32_MAX, p, BLOCK);
	default:
		return ~crc32_iscsi((uint8_t *)(uintptr_t)p, BLOCK, ones ? UINT32_MAX : 0);
	}
}

/* Writes the data with their signatures. */
static void
sign(enum kind kind, bool ones, const uint8_t *data, uint8_t *out)
{
	for (uint32_t i = 0; i < N; i++) {
		uint64_t g = guard(kind, data + i * BLOCK, ones);
		uint32_t len = signature_len(kind), le = htole32((uint32_t)g),
			 ref = htobe32(REF + i);
		uint16_t be = htobe16((uint16_t)g), app = htobe16(APP);
		uint8_t *sig = out + i * (BLOCK + len) + BLOCK;

		memcpy(sig - BLOCK, data + i * BLOCK, BLOCK);
		if (len == 4) {
			memcpy(sig, &le, 4);
			continue;
		}
		memcpy(sig, &be, 2);
		memcpy(sig + 2, &app, 2);
		memcpy(sig + 4, &ref, 4);
	}
}

struct domain {
	struct mlx5dv_sig_t10dif dif;
	struct mlx5dv_sig_crc crc;
	struct mlx5dv_sig_block_domain d;
};

static const struct mlx5dv_sig_block_domain *
domain(struct domain *s, enum kind kind, bool ones, uint16_t flags)
{
	memset(s, 0, sizeof(*s));
	s->d.block_size = MLX5DV_BLOCK_SIZE_512;
	if (kind == DIF_CRC || kind == DIF_CSUM) {
		s->dif.bg_type = kind == DIF_CRC ? MLX5DV_SIG_T10DIF_CRC : MLX5DV_SIG_T10DIF_CSUM;
		s->dif.bg = ones ? 0xffff : 0;
		s->dif.app_tag = APP;
		s->dif.ref_tag = REF;
		s->dif.flags = flags | MLX5DV_SIG_T10DIF_FLAG_REF_REMAP;
		s->d.sig_type = MLX5DV_SIG_TYPE_T10DIF;
		s->d.sig.dif = &s->dif;
	} else {
		s->crc.type =
			kind == CRC32 ? MLX5DV_SIG_CRC_TYPE_CRC32 : MLX5DV_SIG_CRC_TYPE_CRC32C;
		s->crc.seed = ones ? UINT32_MAX : 0;
		s->d.sig_type = MLX5DV_SIG_TYPE_CRC;
		s->d.sig.crc = &s->crc;
	}
	return &s->d;
}

struct rig {
	struct pair p;
	struct mlx5dv_mkey *mkey;
	uint8_t data[DATA];
};

static void
rig_init(struct rig *r)
{
	struct mlx5dv_mkey_init_attr attr = {.max_entries = 4};

	pair_init(&r->p, &(struct pair_opts){.keys = true});
	attr.pd = r->p.pd;
	attr.create_flags =
		MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE;
	r->mkey = mlx5dv_create_mkey(&attr);
	CHECK(r->mkey != NULL);
	for (uint32_t i = 0; i < DATA; i++)
		r->data[i] = (uint8_t)(i * 13 + i / 100);
	memset(r->p.client.buf, 0x11, PAIR_BUF);
	memset(r->p.server.buf, 0x22, PAIR_BUF);
}

static void
rig_fini(struct rig *r)
{
	CHECK_EQ(mlx5dv_destroy_mkey(r->mkey), 0);
	pair_fini(&r->p);
}

/* The key lies over `len` bytes of the client's memory, in two pieces that split a block. */
static void
configure(struct rig *r, uint32_t len, const struct mlx5dv_sig_block_domain *mem,
	const struct mlx5dv_sig_block_domain *wire, uint8_t check_mask)
{
	struct mlx5dv_sig_block_attr sig = {.mem = mem, .wire = wire, .check_mask = check_mask};
	struct mlx5dv_mkey_conf_attr conf = {0};
	struct pair_end *e = &r->p.client;
	struct ibv_sge v[2] = {{(uintptr_t)e->buf, 700, e->mr->lkey},
		{(uintptr_t)e->buf + 700, len - 700, e->mr->lkey}};

	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(e->dvx, r->mkey, 3, &conf);
	mlx5dv_wr_set_mkey_access_flags(e->dvx, IBV_ACCESS_LOCAL_WRITE);
	mlx5dv_wr_set_mkey_layout_list(e->dvx, 2, v);
	mlx5dv_wr_set_mkey_sig_block(e->dvx, &sig);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
}

static enum ibv_wc_status
move(struct rig *r, bool read, uint32_t off, uint32_t len)
{
	struct pair_end *e = &r->p.client;

	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	if (read)
		ibv_wr_rdma_read(e->qpx, r->p.server.mr->rkey, (uintptr_t)r->p.server.buf);
	else
		ibv_wr_rdma_write(e->qpx, r->p.server.mr->rkey, (uintptr_t)r->p.server.buf);
	ibv_wr_set_sge(e->qpx, r->mkey->lkey, off, len);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	return pair_wait(e).status;
}

static struct mlx5dv_mkey_err
key_error(struct rig *r)
{
	struct mlx5dv_mkey_err err;

	CHECK_EQ(mlx5dv_mkey_check(r->mkey, &err), 0);
	return err;
}

/* Checks these bytes, and that no byte behind them was written. */
static void
expect(const uint8_t *buf, const uint8_t *want, uint32_t len, uint8_t paint)
{
	CHECK(memcmp(buf, want, len) == 0);
	for (uint32_t i = len; i < len + 64; i++)
		CHECK_EQ(buf[i], paint);
}

/* Data go out and come back, with signatures in memory, on the wire, or on both. */
static void
conversions(enum kind kind, bool ones)
{
	uint32_t with = DATA + N * signature_len(kind);
	uint8_t signed_data[DATA + N * 8];
	struct domain mem, wire;
	struct rig r;

	rig_init(&r);
	sign(kind, ones, r.data, signed_data);
	/*
	 * Signatures are in memory: they are checked and removed on the way out, and created on the
	 * way in.
	 */
	memcpy(r.p.client.buf, signed_data, with);
	configure(&r, with, domain(&mem, kind, ones, 0), NULL, 0xff);
	CHECK_EQ(move(&r, false, 0, DATA), IBV_WC_SUCCESS);
	expect(r.p.server.buf, r.data, DATA, 0x22);
	memset(r.p.client.buf, 0x11, PAIR_BUF);
	CHECK_EQ(move(&r, true, 0, DATA), IBV_WC_SUCCESS);
	expect(r.p.client.buf, signed_data, with, 0x11);
	/* From the second block on: the reference tag counts on. */
	memset(r.p.client.buf, 0x11, PAIR_BUF);
	memset(r.p.server.buf, 0x22, PAIR_BUF);
	memcpy(r.p.server.buf, r.data + BLOCK, BLOCK);
	CHECK_EQ(move(&r, true, BLOCK, BLOCK), IBV_WC_SUCCESS);
	CHECK(memcmp(r.p.client.buf + with / N, signed_data + with / N, with / N) == 0);
	CHECK_EQ(r.p.client.buf[with / N - 1], 0x11);
	CHECK_EQ(r.p.client.buf[with / N * 2], 0x11);
	memset(r.p.server.buf, 0x22, PAIR_BUF);
	memcpy(r.p.client.buf, signed_data, with);
	CHECK_EQ(move(&r, false, BLOCK, BLOCK), IBV_WC_SUCCESS);
	expect(r.p.server.buf, r.data + BLOCK, BLOCK, 0x22);
	CHECK_EQ(key_error(&r).err_type, MLX5DV_MKEY_NO_ERR);
	/* Signatures are on the wire. */
	memset(r.p.server.buf, 0x22, PAIR_BUF);
	memset(r.p.client.buf, 0x11, PAIR_BUF);
	memcpy(r.p.client.buf, r.data, DATA);
	configure(&r, DATA, NULL, domain(&wire, kind, ones, 0), 0xff);
	CHECK_EQ(move(&r, false, 0, DATA), IBV_WC_SUCCESS);
	expect(r.p.server.buf, signed_data, with, 0x22);
	memset(r.p.client.buf, 0x11, PAIR_BUF);
	CHECK_EQ(move(&r, true, 0, DATA), IBV_WC_SUCCESS);
	expect(r.p.client.buf, r.data, DATA, 0x11);
	CHECK_EQ(key_error(&r).err_type, MLX5DV_MKEY_NO_ERR);
	/* From the second block on, in both directions. */
	memset(r.p.server.buf, 0x22, PAIR_BUF);
	CHECK_EQ(move(&r, false, BLOCK, BLOCK), IBV_WC_SUCCESS);
	expect(r.p.server.buf, signed_data + with / N, with / N, 0x22);
	memset(r.p.client.buf, 0x11, PAIR_BUF);
	CHECK_EQ(move(&r, true, BLOCK, BLOCK), IBV_WC_SUCCESS);
	expect(r.p.client.buf + BLOCK, r.data + BLOCK, BLOCK, 0x11);
	CHECK_EQ(r.p.client.buf[BLOCK - 1], 0x11);
	CHECK_EQ(key_error(&r).err_type, MLX5DV_MKEY_NO_ERR);
	rig_fini(&r);
}

static void
case_conversions(void)
{
	for (enum kind kind = 0; kind < N_KINDS; kind++) {
		conversions(kind, false);
		conversions(kind, true);
	}
}

/* From one kind of signature in memory to another on the wire, and back. */
static void
case_both_domains(void)
{
	uint8_t in_memory[DATA + N * 8], on_wire[DATA + N * 8];
	struct domain mem, wire;
	struct rig r;

	rig_init(&r);
	sign(CRC32C, true, r.data, in_memory);
	sign(DIF_CRC, false, r.data, on_wire);
	memcpy(r.p.client.buf, in_memory, DATA + N * 4);
	configure(&r, DATA + N * 4, domain(&mem, CRC32C, true, 0), domain(&wire, DIF_CRC, false, 0),
		0xff);
	CHECK_EQ(move(&r, false, 0, DATA), IBV_WC_SUCCESS);
	expect(r.p.server.buf, on_wire, DATA + N * 8, 0x22);
	memset(r.p.client.buf, 0x11, PAIR_BUF);
	CHECK_EQ(move(&r, true, 0, DATA), IBV_WC_SUCCESS);
	expect(r.p.client.buf, in_memory, DATA + N * 4, 0x11);
	CHECK_EQ(key_error(&r).err_type, MLX5DV_MKEY_NO_ERR);
	rig_fini(&r);
}

struct damage {
	enum kind kind;
	uint32_t at; /* where the second block with its signature begins */
	uint8_t mask;
	enum mlx5dv_mkey_err_type error;
};

static void
errors(const struct damage *d)
{
	uint32_t len = signature_len(d->kind), with = DATA + N * len;
	uint8_t signed_data[DATA + N * 8];
	struct mlx5dv_mkey_err err;
	struct domain mem;
	struct rig r;

	rig_init(&r);
	sign(d->kind, true, r.data, signed_data);
	memcpy(r.p.client.buf, signed_data, with);
	r.p.client.buf[BLOCK + len + d->at] ^= 0x40;
	configure(&r, with, domain(&mem, d->kind, true, 0), NULL, d->mask);
	/* Data move in spite of the error. */
	CHECK_EQ(move(&r, false, 0, DATA), IBV_WC_SUCCESS);
	err = key_error(&r);
	CHECK_EQ(err.err_type, d->error);
	if (d->error != MLX5DV_MKEY_NO_ERR)
		CHECK_EQ(err.err.sig.offset, BLOCK + len);
	if (d->error == MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD && d->at < BLOCK) {
		CHECK_EQ(err.err.sig.expected_value, guard(d->kind, r.data + BLOCK, true));
		CHECK_EQ(err.err.sig.actual_value,
			guard(d->kind, r.p.client.buf + BLOCK + len, true));
	}
	if (d->error == MLX5DV_MKEY_SIG_BLOCK_BAD_APPTAG) {
		CHECK_EQ(err.err.sig.actual_value, APP);
		CHECK_EQ(err.err.sig.expected_value, APP ^ 0x4000);
	}
	if (d->error == MLX5DV_MKEY_SIG_BLOCK_BAD_REFTAG) {
		CHECK_EQ(err.err.sig.actual_value, REF + 1);
		CHECK_EQ(err.err.sig.expected_value, (REF + 1) ^ 0x40000000);
	}
	/*
	 * An error is reported once. Only after a new configuration of the key is one reported
	 * again.
	 */
	CHECK_EQ(move(&r, false, 0, DATA), IBV_WC_SUCCESS);
	CHECK_EQ(key_error(&r).err_type, MLX5DV_MKEY_NO_ERR);
	configure(&r, with, domain(&mem, d->kind, true, 0), NULL, d->mask);
	CHECK_EQ(move(&r, false, 0, DATA), IBV_WC_SUCCESS);
	CHECK_EQ(key_error(&r).err_type, d->error);
	rig_fini(&r);
}

static void
case_errors(void)
{
	static const struct damage damages[] = {
		{CRC32, 5, 0xf0, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD},
		{CRC32C, 511, 0xf0, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD},
		{CRC32C, 514, 0xf0, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD},
		{CRC32C, 5, 0, MLX5DV_MKEY_NO_ERR},
		{DIF_CRC, 5, 0xff, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD},
		{DIF_CSUM, 5, 0xff, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD},
		{DIF_CRC, 5, 0x3f, MLX5DV_MKEY_NO_ERR},
		{DIF_CRC, 514, 0xff, MLX5DV_MKEY_SIG_BLOCK_BAD_APPTAG},
		{DIF_CRC, 514, 0xcf, MLX5DV_MKEY_NO_ERR},
		{DIF_CRC, 516, 0xff, MLX5DV_MKEY_SIG_BLOCK_BAD_REFTAG},
		{DIF_CRC, 516, 0xf0, MLX5DV_MKEY_NO_ERR},
	};

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++)
		errors(&damages[i]);
}

/* A block whose application tag is ffff is not checked, if the escape flag is set. */
static void
escape(uint16_t flags, bool ref_too, enum mlx5dv_mkey_err_type error)
{
	uint8_t signed_data[DATA + N * 8];
	struct domain mem;
	struct rig r;

	rig_init(&r);
	sign(DIF_CRC, true, r.data, signed_data);
	memcpy(r.p.client.buf, signed_data, sizeof(signed_data));
	r.p.client.buf[3] ^= 1;
	memset(r.p.client.buf + BLOCK + 2, 0xff, ref_too ? 6 : 2);
	configure(&r, sizeof(signed_data), domain(&mem, DIF_CRC, true, flags), NULL, 0xff);
	CHECK_EQ(move(&r, false, 0, DATA), IBV_WC_SUCCESS);
	CHECK_EQ(key_error(&r).err_type, error);
	rig_fini(&r);
}

static void
no_escape(uint16_t flags)
{
	uint8_t signed_data[DATA + N * 8];
	struct domain mem;
	struct rig r;

	rig_init(&r);
	sign(DIF_CRC, true, r.data, signed_data);
	memcpy(r.p.client.buf, signed_data, sizeof(signed_data));
	r.p.client.buf[3] ^= 1;
	configure(&r, sizeof(signed_data), domain(&mem, DIF_CRC, true, flags), NULL, 0xff);
	CHECK_EQ(move(&r, false, 0, DATA), IBV_WC_SUCCESS);
	CHECK_EQ(key_error(&r).err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
	rig_fini(&r);
}

static void
case_escape(void)
{
	escape(0, true, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
	escape(MLX5DV_SIG_T10DIF_FLAG_APP_ESCAPE, false, MLX5DV_MKEY_NO_ERR);
	escape(MLX5DV_SIG_T10DIF_FLAG_APP_REF_ESCAPE, false, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
	escape(MLX5DV_SIG_T10DIF_FLAG_APP_REF_ESCAPE, true, MLX5DV_MKEY_NO_ERR);
	/* A block with another tag is checked. */
	no_escape(MLX5DV_SIG_T10DIF_FLAG_APP_ESCAPE);
	no_escape(MLX5DV_SIG_T10DIF_FLAG_APP_REF_ESCAPE);
}

/* A request must have whole blocks, inside the layout. */
static void
refused(uint32_t off, uint32_t len)
{
	struct domain mem;
	struct rig r;

	rig_init(&r);
	configure(&r, DATA + N * 4, domain(&mem, CRC32C, true, 0), NULL, 0xff);
	CHECK_EQ(move(&r, true, off, len), IBV_WC_LOC_PROT_ERR);
	for (uint32_t i = 0; i < 4096; i++)
		CHECK_EQ(r.p.client.buf[i], 0x11);
	rig_fini(&r);
}

static void
case_refused(void)
{
	refused(0, BLOCK - 1);
	refused(1, BLOCK);
	refused(0, DATA + BLOCK);
	refused(DATA, BLOCK);
}

/* RESET_SIG_ATTR: the key has no signature any more (mlx5dv_wr_mkey_configure(3)). */
static void
case_reset(void)
{
	struct mlx5dv_mkey_conf_attr conf = {.conf_flags = MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR};
	struct domain mem;
	struct rig r;

	rig_init(&r);
	configure(&r, DATA + N * 4, domain(&mem, CRC32C, true, 0), NULL, 0xff);
	pair_publish(&r.p.client);
	ibv_wr_start(r.p.client.qpx);
	r.p.client.qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(r.p.client.dvx, r.mkey, 0, &conf);
	CHECK_EQ(ibv_wr_complete(r.p.client.qpx), 0);
	CHECK_EQ(pair_wait(&r.p.client).status, IBV_WC_SUCCESS);
	memset(r.p.server.buf, 0x22, PAIR_BUF);
	CHECK_EQ(move(&r, false, 1, DATA + N * 4 - 1), IBV_WC_SUCCESS);
	for (uint32_t i = 0; i < DATA + N * 4 - 1; i++)
		CHECK_EQ(r.p.server.buf[i], 0x11);
	CHECK_EQ(r.p.server.buf[DATA + N * 4 - 1], 0x22);
	CHECK_EQ(key_error(&r).err_type, MLX5DV_MKEY_NO_ERR);
	rig_fini(&r);
}

/* The key's memory is on demand, and its second page cannot be accessed. */
static void
without_memory(bool read, bool wire)
{
	const uint32_t blocks = 16, len = blocks * (BLOCK + 8);
	struct domain d;
	struct rig r;

	rig_init(&r);
	CHECK_EQ(ibv_rereg_mr(r.p.client.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			 PAIR_ALL | IBV_ACCESS_ON_DEMAND),
		0);
	domain(&d, DIF_CRC, false, 0);
	configure(&r, len, wire ? NULL : &d.d, wire ? &d.d : NULL, 0);
	CHECK_EQ(mprotect(r.p.client.buf + 4096, 4096, PROT_NONE), 0);
	CHECK_EQ(move(&r, read, 0, blocks * BLOCK), IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(mprotect(r.p.client.buf + 4096, 4096, PROT_READ | PROT_WRITE), 0);
	for (uint32_t i = 0; i < PAIR_BUF && !read; i++)
		CHECK_EQ(r.p.server.buf[i], 0x22);
	rig_fini(&r);
}

static void
case_without_memory(void)
{
	for (int i = 0; i < 4; i++)
		without_memory(i % 2 != 0, i / 2 != 0);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"signatures are created and removed, with the guards of ISA-L", case_conversions},
		{"data go from one signature in memory to another on the wire", case_both_domains},
		{"a wrong signature is reported once, with its values and its offset", case_errors},
		{"escapes leave a block unchecked", case_escape},
		{"requests that are not whole blocks of the key are refused", case_refused},
		{"after a reset, the key has no signature", case_reset},
		{"a signature over memory that is gone fails the request", case_without_memory},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
