/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Block signatures through stock libmlx5: the bytes that an RDMA write sends from a signed key, and
 * the bytes that an RDMA read writes into a signed key. ISA-L computes the guards; tags and
 * positions are those of mlx5dv_wr_set_mkey_sig_block(3). For the byte order of a CRC see
 * doc/softhca-assumptions.md.
 */
#include <sys/mman.h>

#include "softhca_signature.h"

#define BLOCK 512
#define N     3
#define DATA  (N * BLOCK)

#define APP 0xabcd
#define REF 0x01234567

#define MAX (DATA + N * SIGNATURE_MAX_LEN)

static struct signature
signature_of(enum signature_kind kind, bool ones)
{
	return (struct signature){kind, ones, APP, REF};
}

/* Writes the data with their signatures. */
static void
sign(enum signature_kind kind, bool ones, const uint8_t *data, uint8_t *out)
{
	struct signature s = signature_of(kind, ones);

	signature_lay(&s, data, BLOCK, N, out);
}

static uint64_t
guard(enum signature_kind kind, const uint8_t *block)
{
	struct signature s = signature_of(kind, true);

	return signature_guard(&s, block, BLOCK);
}

static const struct mlx5dv_sig_block_domain *
domain(struct signature_domain *d, enum signature_kind kind, bool ones, uint16_t flags)
{
	struct signature s = signature_of(kind, ones);

	return signature_domain(d, &s, MLX5DV_BLOCK_SIZE_512, flags);
}

/* Two QPs, and a key with signatures over the client's memory. */
struct signed_key {
	struct pair p;
	struct mlx5dv_mkey *mkey;
	uint8_t data[DATA];
};

static void
signed_key_init(struct signed_key *k)
{
	pair_init(&k->p, &(struct pair_opts){.keys = true});
	k->mkey = signature_create_key(k->p.pd);
	signature_paint(&k->p, k->data, DATA);
}

static void
signed_key_fini(struct signed_key *k)
{
	CHECK_EQ(mlx5dv_destroy_mkey(k->mkey), 0);
	pair_fini(&k->p);
}

/* Configures the key over `len` bytes of the client's memory, in two pieces that split a block. */
static void
configure(struct signed_key *k, uint32_t len, const struct mlx5dv_sig_block_domain *mem,
	const struct mlx5dv_sig_block_domain *wire, uint8_t check_mask)
{
	const struct mlx5dv_sig_block_attr sig = {.mem = mem,
		.wire = wire,
		.check_mask = check_mask};
	struct pair_end *e = &k->p.client;
	const struct ibv_sge v[2] = {{(uintptr_t)e->buf, 700, e->mr->lkey},
		{(uintptr_t)e->buf + 700, len - 700, e->mr->lkey}};

	signature_post_key(e, k->mkey, IBV_ACCESS_LOCAL_WRITE, 2, v, &sig);
	CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
}

static enum ibv_wc_status
move(struct signed_key *k, bool read, uint32_t off, uint32_t len)
{
	struct pair_end *e = &k->p.client;

	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	if (read)
		ibv_wr_rdma_read(e->qpx, k->p.server.mr->rkey, (uintptr_t)k->p.server.buf);
	else
		ibv_wr_rdma_write(e->qpx, k->p.server.mr->rkey, (uintptr_t)k->p.server.buf);
	ibv_wr_set_sge(e->qpx, k->mkey->lkey, off, len);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	return pair_wait(e).status;
}

/*
 * Configures the key again and moves data: the first block that moves must have the first reference
 * tag.
 */
static void
move_anew(struct signed_key *k, uint32_t len, const struct mlx5dv_sig_block_domain *mem,
	const struct mlx5dv_sig_block_domain *wire, bool read, uint32_t off, uint32_t on_wire)
{
	configure(k, len, mem, wire, 0xff);
	CHECK_EQ(move(k, read, off, on_wire), IBV_WC_SUCCESS);
	CHECK_EQ(signature_key_error(k->mkey).err_type, MLX5DV_MKEY_NO_ERR);
}

/*
 * Signatures are in memory: outgoing data are checked and lose their signatures, incoming data get
 * signatures. This is then repeated with the second block alone.
 */
static void
convert_memory(struct signed_key *k, enum signature_kind kind, bool ones)
{
	const uint32_t with = DATA + N * signature_len(kind), unit = with / N;
	uint8_t signed_data[MAX], second[BLOCK + SIGNATURE_MAX_LEN];
	const struct signature s = signature_of(kind, ones);
	const struct mlx5dv_sig_block_domain *mem;
	struct signature_domain d;

	mem = domain(&d, kind, ones, 0);
	sign(kind, ones, k->data, signed_data);
	signature_lay(&s, k->data + BLOCK, BLOCK, 1, second);
	memcpy(k->p.client.buf, signed_data, with);
	move_anew(k, with, mem, NULL, false, 0, DATA);
	signature_expect(k->p.server.buf, k->data, DATA, 0x22);
	memset(k->p.client.buf, 0x11, PAIR_BUF);
	move_anew(k, with, mem, NULL, true, 0, DATA);
	signature_expect(k->p.client.buf, signed_data, with, 0x11);
	memset(k->p.client.buf, 0x11, PAIR_BUF);
	memset(k->p.server.buf, 0x22, PAIR_BUF);
	memcpy(k->p.server.buf, k->data + BLOCK, BLOCK);
	move_anew(k, with, mem, NULL, true, BLOCK, BLOCK);
	signature_expect(k->p.client.buf + unit, second, unit, 0x11);
	CHECK_EQ(k->p.client.buf[unit - 1], 0x11);
	memset(k->p.server.buf, 0x22, PAIR_BUF);
	move_anew(k, with, mem, NULL, false, BLOCK, BLOCK);
	signature_expect(k->p.server.buf, k->data + BLOCK, BLOCK, 0x22);
}

/* As convert_memory(), with signatures on the wire. */
static void
convert_wire(struct signed_key *k, enum signature_kind kind, bool ones)
{
	const uint32_t with = DATA + N * signature_len(kind), unit = with / N;
	uint8_t signed_data[MAX], second[BLOCK + SIGNATURE_MAX_LEN];
	const struct signature s = signature_of(kind, ones);
	const struct mlx5dv_sig_block_domain *wire;
	struct signature_domain d;

	wire = domain(&d, kind, ones, 0);
	sign(kind, ones, k->data, signed_data);
	signature_lay(&s, k->data + BLOCK, BLOCK, 1, second);
	memset(k->p.server.buf, 0x22, PAIR_BUF);
	memset(k->p.client.buf, 0x11, PAIR_BUF);
	memcpy(k->p.client.buf, k->data, DATA);
	move_anew(k, DATA, NULL, wire, false, 0, with);
	signature_expect(k->p.server.buf, signed_data, with, 0x22);
	memset(k->p.client.buf, 0x11, PAIR_BUF);
	move_anew(k, DATA, NULL, wire, true, 0, with);
	signature_expect(k->p.client.buf, k->data, DATA, 0x11);
	memset(k->p.server.buf, 0x22, PAIR_BUF);
	move_anew(k, DATA, NULL, wire, false, unit, unit);
	signature_expect(k->p.server.buf, second, unit, 0x22);
	memset(k->p.client.buf, 0x11, PAIR_BUF);
	move_anew(k, DATA, NULL, wire, true, unit, unit);
	signature_expect(k->p.client.buf + BLOCK, k->data + BLOCK, BLOCK, 0x11);
	CHECK_EQ(k->p.client.buf[BLOCK - 1], 0x11);
}

static void
conversions(enum signature_kind kind, bool ones)
{
	struct signed_key k;

	signed_key_init(&k);
	convert_memory(&k, kind, ones);
	convert_wire(&k, kind, ones);
	signed_key_fini(&k);
}

static void
case_conversions(void)
{
	for (enum signature_kind kind = DIF_CRC; kind <= CRC64; kind++) {
		conversions(kind, false);
		conversions(kind, true);
	}
}

/*
 * The data have one kind of signature in memory and another kind on the wire. In both directions,
 * the arriving signatures must be those of their domain.
 */
static void
case_both_domains(void)
{
	uint8_t in_memory[MAX], on_wire[MAX];
	struct signature_domain mem, wire;
	struct signed_key k;

	signed_key_init(&k);
	sign(CRC32C, true, k.data, in_memory);
	sign(DIF_CRC, false, k.data, on_wire);
	memcpy(k.p.client.buf, in_memory, DATA + N * 4);
	configure(&k, DATA + N * 4, domain(&mem, CRC32C, true, 0), domain(&wire, DIF_CRC, false, 0),
		0xff);
	CHECK_EQ(move(&k, false, 0, DATA + N * 8), IBV_WC_SUCCESS);
	signature_expect(k.p.server.buf, on_wire, DATA + N * 8, 0x22);
	memset(k.p.client.buf, 0x11, PAIR_BUF);
	configure(&k, DATA + N * 4, domain(&mem, CRC32C, true, 0), domain(&wire, DIF_CRC, false, 0),
		0xff);
	CHECK_EQ(move(&k, true, 0, DATA + N * 8), IBV_WC_SUCCESS);
	signature_expect(k.p.client.buf, in_memory, DATA + N * 4, 0x11);
	CHECK_EQ(signature_key_error(k.mkey).err_type, MLX5DV_MKEY_NO_ERR);
	signed_key_fini(&k);
}

struct damage {
	enum signature_kind kind;
	uint32_t at; /* offset of the second block and its signature */
	uint8_t mask;
	enum mlx5dv_mkey_err_type error;
};

static void
errors(const struct damage *d)
{
	uint32_t len = signature_len(d->kind), with = DATA + N * len;
	uint8_t signed_data[MAX];
	struct mlx5dv_mkey_err err;
	struct signature_domain mem;
	struct signed_key k;

	signed_key_init(&k);
	sign(d->kind, true, k.data, signed_data);
	memcpy(k.p.client.buf, signed_data, with);
	k.p.client.buf[BLOCK + len + d->at] ^= 0x40;
	configure(&k, with, domain(&mem, d->kind, true, 0), NULL, d->mask);
	/* The data must move although there is an error. */
	CHECK_EQ(move(&k, false, 0, DATA), IBV_WC_SUCCESS);
	err = signature_key_error(k.mkey);
	CHECK_EQ(err.err_type, d->error);
	if (d->error != MLX5DV_MKEY_NO_ERR)
		CHECK_EQ(err.err.sig.offset, BLOCK + len);
	if (d->error == MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD && d->at < BLOCK) {
		CHECK_EQ(err.err.sig.expected_value, guard(d->kind, k.data + BLOCK));
		CHECK_EQ(err.err.sig.actual_value, guard(d->kind, k.p.client.buf + BLOCK + len));
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
	 * An error must be reported once. The next error must be reported only after a new
	 * configuration of the key.
	 */
	if (d->error != MLX5DV_MKEY_NO_ERR)
		CHECK_EQ(move(&k, false, 0, DATA), IBV_WC_SUCCESS);
	CHECK_EQ(signature_key_error(k.mkey).err_type, MLX5DV_MKEY_NO_ERR);
	configure(&k, with, domain(&mem, d->kind, true, 0), NULL, d->mask);
	CHECK_EQ(move(&k, false, 0, DATA), IBV_WC_SUCCESS);
	CHECK_EQ(signature_key_error(k.mkey).err_type, d->error);
	signed_key_fini(&k);
}

static void
case_errors(void)
{
	static const struct damage damages[] = {
		{CRC32, 5, 0xf0, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD},
		{CRC32C, 511, 0xf0, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD},
		{CRC32C, 514, 0xf0, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD},
		{CRC32C, 5, 0, MLX5DV_MKEY_NO_ERR},
		{CRC64, 100, 0xff, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD},
		{CRC64, 519, 0xff, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD},
		{CRC64, 519, 0x7f, MLX5DV_MKEY_NO_ERR},
		{CRC64, 512, 0xfe, MLX5DV_MKEY_NO_ERR},
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

/* With the escape flag, a block whose application tag is ffff must not be checked. */
static void
escape(uint16_t flags, bool ref_too, enum mlx5dv_mkey_err_type error)
{
	uint8_t signed_data[MAX];
	struct signature_domain mem;
	struct signed_key k;

	signed_key_init(&k);
	sign(DIF_CRC, true, k.data, signed_data);
	memcpy(k.p.client.buf, signed_data, sizeof(signed_data));
	k.p.client.buf[3] ^= 1;
	memset(k.p.client.buf + BLOCK + 2, 0xff, ref_too ? 6 : 2);
	configure(&k, sizeof(signed_data), domain(&mem, DIF_CRC, true, flags), NULL, 0xff);
	CHECK_EQ(move(&k, false, 0, DATA), IBV_WC_SUCCESS);
	CHECK_EQ(signature_key_error(k.mkey).err_type, error);
	signed_key_fini(&k);
}

static void
no_escape(uint16_t flags)
{
	uint8_t signed_data[MAX];
	struct signature_domain mem;
	struct signed_key k;

	signed_key_init(&k);
	sign(DIF_CRC, true, k.data, signed_data);
	memcpy(k.p.client.buf, signed_data, sizeof(signed_data));
	k.p.client.buf[3] ^= 1;
	configure(&k, sizeof(signed_data), domain(&mem, DIF_CRC, true, flags), NULL, 0xff);
	CHECK_EQ(move(&k, false, 0, DATA), IBV_WC_SUCCESS);
	CHECK_EQ(signature_key_error(k.mkey).err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
	signed_key_fini(&k);
}

static void
case_escape(void)
{
	escape(0, true, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
	escape(MLX5DV_SIG_T10DIF_FLAG_APP_ESCAPE, false, MLX5DV_MKEY_NO_ERR);
	escape(MLX5DV_SIG_T10DIF_FLAG_APP_REF_ESCAPE, false, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
	escape(MLX5DV_SIG_T10DIF_FLAG_APP_REF_ESCAPE, true, MLX5DV_MKEY_NO_ERR);
	/* A block with another application tag must be checked. */
	no_escape(MLX5DV_SIG_T10DIF_FLAG_APP_ESCAPE);
	no_escape(MLX5DV_SIG_T10DIF_FLAG_APP_REF_ESCAPE);
}

/* A request must have whole blocks and be inside the layout, otherwise it must be refused. */
static void
refused(uint32_t off, uint32_t len)
{
	struct signature_domain mem;
	struct signed_key k;

	signed_key_init(&k);
	configure(&k, DATA + N * 4, domain(&mem, CRC32C, true, 0), NULL, 0xff);
	CHECK_EQ(move(&k, true, off, len), IBV_WC_LOC_PROT_ERR);
	for (uint32_t i = 0; i < 4096; i++)
		CHECK_EQ(k.p.client.buf[i], 0x11);
	signed_key_fini(&k);
}

static void
case_refused(void)
{
	refused(0, BLOCK - 1);
	refused(1, BLOCK);
	refused(0, DATA + BLOCK);
	refused(DATA, BLOCK);
}

/* After RESET_SIG_ATTR the key must have no signature (mlx5dv_wr_mkey_configure(3)). */
static void
case_reset(void)
{
	struct mlx5dv_mkey_conf_attr conf = {.conf_flags = MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR};
	struct signature_domain mem;
	struct signed_key k;

	signed_key_init(&k);
	configure(&k, DATA + N * 4, domain(&mem, CRC32C, true, 0), NULL, 0xff);
	pair_publish(&k.p.client);
	ibv_wr_start(k.p.client.qpx);
	k.p.client.qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(k.p.client.dvx, k.mkey, 0, &conf);
	CHECK_EQ(ibv_wr_complete(k.p.client.qpx), 0);
	CHECK_EQ(pair_wait(&k.p.client).status, IBV_WC_SUCCESS);
	memset(k.p.server.buf, 0x22, PAIR_BUF);
	CHECK_EQ(move(&k, false, 1, DATA + N * 4 - 1), IBV_WC_SUCCESS);
	for (uint32_t i = 0; i < DATA + N * 4 - 1; i++)
		CHECK_EQ(k.p.server.buf[i], 0x11);
	CHECK_EQ(k.p.server.buf[DATA + N * 4 - 1], 0x22);
	CHECK_EQ(signature_key_error(k.mkey).err_type, MLX5DV_MKEY_NO_ERR);
	signed_key_fini(&k);
}

/* The key's memory is on demand, and its second page cannot be accessed: the request must fail. */
static void
without_memory(bool read, bool wire)
{
	const uint32_t blocks = 16, len = blocks * (BLOCK + 8);
	struct signature_domain d;
	struct signed_key k;

	signed_key_init(&k);
	CHECK_EQ(ibv_rereg_mr(k.p.client.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			 PAIR_ALL | IBV_ACCESS_ON_DEMAND),
		0);
	domain(&d, DIF_CRC, false, 0);
	configure(&k, len, wire ? NULL : &d.d, wire ? &d.d : NULL, 0);
	CHECK_EQ(mprotect(k.p.client.buf + 4096, 4096, PROT_NONE), 0);
	CHECK_EQ(move(&k, read, 0, wire ? len : blocks * BLOCK), IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(mprotect(k.p.client.buf + 4096, 4096, PROT_READ | PROT_WRITE), 0);
	for (uint32_t i = 0; i < PAIR_BUF && !read; i++)
		CHECK_EQ(k.p.server.buf[i], 0x22);
	signed_key_fini(&k);
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
		{"a signature over memory that is unmapped fails the request", case_without_memory},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
