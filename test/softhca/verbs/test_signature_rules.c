/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits and rules of block signatures: every block size, every bit of the masks, errors in
 * incoming data, the queue that stops, remote use, and the forbidden uses of a signed key. ISA-L
 * computes the guards. Masks, copies and positions are those of mlx5dv_wr_set_mkey_sig_block(3).
 * For the byte order of a CRC see doc/softhca-assumptions.md. BSFs are libmlx5's own, with one
 * field changed.
 */
#include "softhca_scribe.h"
#include "softhca_signature.h"

#define N   2 /* number of blocks */
#define MAX (N * (4160 + SIGNATURE_MAX_LEN))

static const struct {
	enum mlx5dv_block_size name;
	uint32_t len;
} sizes[] = {
	{MLX5DV_BLOCK_SIZE_512, 512},
	{MLX5DV_BLOCK_SIZE_520, 520},
	{MLX5DV_BLOCK_SIZE_4048, 4048},
	{MLX5DV_BLOCK_SIZE_4096, 4096},
	{MLX5DV_BLOCK_SIZE_4160, 4160},
};

#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* ---- a signed key over memory of one end */

/* Two QPs, and a key with signatures over the memory of one of the two ends. */
struct signed_key {
	struct pair p;
	struct pair_end *owner;
	struct mlx5dv_mkey *mkey;
	enum mlx5dv_block_size name;
	uint32_t block;
	struct signature mem, wire;
	uint32_t flags;
	uint8_t check_mask, copy_mask;
	uint8_t data[MAX];
};

static void
signed_key_init(struct signed_key *k, size_t size, struct signature mem, struct signature wire,
	uint64_t dv_flags)
{
	memset(k, 0, sizeof(*k));
	pair_init(&k->p, &(struct pair_opts){.keys = true, .dv_flags = dv_flags});
	k->mkey = signature_create_key(k->p.pd);
	k->owner = &k->p.client;
	k->name = sizes[size].name;
	k->block = sizes[size].len;
	k->mem = mem;
	k->wire = wire;
	k->check_mask = 0xff;
	signature_paint(&k->p, k->data, MAX);
}

static void
signed_key_fini(struct signed_key *k)
{
	CHECK_EQ(mlx5dv_destroy_mkey(k->mkey), 0);
	pair_fini(&k->p);
}

static uint32_t
unit(const struct signed_key *k, const struct signature *s)
{
	return k->block + signature_len(s->kind);
}

/* Writes the data as they are in this domain, with or without signatures. */
static void
lay(const struct signed_key *k, const struct signature *s, uint8_t *out)
{
	signature_lay(s, k->data, k->block, N, out);
}

/* Posts the configuration of a key over the owner's memory. `by` is the end that posts it. */
static void
post_configure(struct signed_key *k, struct pair_end *by, struct mlx5dv_mkey *mkey)
{
	struct signature_domain mem, wire;
	struct mlx5dv_sig_block_attr sig = {.mem = signature_domain(&mem, &k->mem, k->name, 0),
		.wire = signature_domain(&wire, &k->wire, k->name, 0),
		.flags = k->flags,
		.check_mask = k->check_mask,
		.copy_mask = k->copy_mask};
	struct ibv_sge v = {(uintptr_t)k->owner->buf, N * unit(k, &k->mem), k->owner->mr->lkey};

	signature_post_key(by, mkey, PAIR_ALL, 1, &v, &sig);
}

static void
configure(struct signed_key *k)
{
	post_configure(k, &k->p.client, k->mkey);
	CHECK_EQ(pair_wait(&k->p.client).status, IBV_WC_SUCCESS);
}

enum op {
	WRITE,
	READ,
	FETCH_ADD
};

/* A request of the client, between its memory and the server's memory. */
/*
 * Vendor syndromes, as NVIDIA's libdpcp (src/dpcp/err_cqe.cpp) decodes them:
 * doc/softhca-reference.md.
 */
enum {
	SIG_PSV = 0x59,
	SIG_BLOCK = 0x5a,
	NAK_ACCESS = 0x88
};
/* The vendor syndrome of the last request's completion. */
static uint32_t vendor;

static enum ibv_wc_status
request(struct signed_key *k, enum op op, uint32_t lkey, uint64_t laddr, uint32_t rkey,
	uint64_t raddr, uint32_t len)
{
	struct pair_end *e = &k->p.client;
	struct ibv_wc wc;

	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	if (op == WRITE)
		ibv_wr_rdma_write(e->qpx, rkey, raddr);
	else if (op == READ)
		ibv_wr_rdma_read(e->qpx, rkey, raddr);
	else
		ibv_wr_atomic_fetch_add(e->qpx, rkey, raddr, 1);
	ibv_wr_set_sge(e->qpx, lkey, laddr, len);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	wc = pair_wait(e);
	vendor = wc.vendor_err;
	return wc.status;
}

/* Moves data between the client's memory, by a signed key, and the server's memory. */
static enum ibv_wc_status
move(struct signed_key *k, enum op op, uint64_t off, uint32_t len)
{
	return request(k, op, k->mkey->lkey, off, k->p.server.mr->rkey, (uintptr_t)k->p.server.buf,
		len);
}

/* Moves data between the server's memory, by a signed key, and the client's plain memory. */
static enum ibv_wc_status
move_remote(struct signed_key *k, enum op op, uint64_t off, uint32_t len)
{
	return request(k, op, k->p.client.mr->lkey, (uintptr_t)k->p.client.buf, k->mkey->rkey, off,
		len);
}

static const struct signature none = {.kind = NONE}, crc32 = {.kind = CRC32},
			      crc32c = {.kind = CRC32C}, crc64 = {.kind = CRC64},
			      dif = {.kind = DIF_CRC, .app = 0xabcd, .ref = 0x01020304},
			      csum = {.kind = DIF_CSUM, .app = 0xabcd, .ref = 0x01020304};

/* ---- sizes */

static void
one_size(size_t size, struct signature side)
{
	uint8_t want[MAX];
	struct signed_key k;

	signed_key_init(&k, size, side, none, 0);
	lay(&k, &side, want);
	memcpy(k.p.client.buf, want, N * unit(&k, &side));
	configure(&k);
	CHECK_EQ(move(&k, WRITE, 0, N * k.block), IBV_WC_SUCCESS);
	CHECK_EQ(memcmp(k.p.server.buf, k.data, N * k.block), 0);
	CHECK_EQ(k.p.server.buf[N * k.block], 0x22);
	CHECK_EQ(signature_key_error(k.mkey).err_type, MLX5DV_MKEY_NO_ERR);
	memset(k.p.client.buf, 0x11, PAIR_BUF);
	configure(&k); /* the reference tag starts from its first value again */
	CHECK_EQ(move(&k, READ, 0, N * k.block), IBV_WC_SUCCESS);
	CHECK_EQ(memcmp(k.p.client.buf, want, N * unit(&k, &side)), 0);
	CHECK_EQ(k.p.client.buf[N * unit(&k, &side)], 0x11);
	signed_key_fini(&k);
}

static void
case_sizes(void)
{
	const struct signature sides[] = {dif, csum, crc32, crc32c, crc64};
	struct mlx5dv_context dv = {.comp_mask = MLX5DV_CONTEXT_MASK_SIGNATURE_OFFLOAD};
	struct ibv_context *ctx = pair_open(0);

	CHECK_EQ(mlx5dv_query_device(ctx, &dv), 0);
	CHECK_EQ(dv.sig_caps.crc_type, MLX5DV_SIG_CRC_TYPE_CAP_CRC32 |
					       MLX5DV_SIG_CRC_TYPE_CAP_CRC32C |
					       MLX5DV_SIG_CRC_TYPE_CAP_CRC64_XP10);
	for (size_t size = 0; size < N_SIZES; size++) {
		CHECK((dv.sig_caps.block_size >> sizes[size].name & 1) != 0);
		for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++)
			one_size(size, sides[i]);
	}
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/*
 * The CRC-64/NVME of 4096 bytes must equal the test vectors of the NVM Command Set Specification
 * 1.0d, section 5.2.1.3.5, with a seed whose bits are all 1.
 */
static void
case_crc64(void)
{
	static const struct {
		uint8_t first, step;
		uint64_t crc;
	} vectors[] = {
		{0x00, 0, UINT64_C(0x6482d367eb22b64e)},
		{0xff, 0, UINT64_C(0xc0ddba7302eca3ac)},
		{0x00, 1, UINT64_C(0x3e729f5f6750449c)},
		{0xff, 0xff, UINT64_C(0x9a2df64b8e9e517e)},
	};
	const struct signature side = {.kind = CRC64, .ones = true};
	size_t size = 0;

	while (sizes[size].len != 4096)
		size++;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct mlx5dv_mkey_err err;
		struct signed_key k;
		uint64_t crc;

		signed_key_init(&k, size, none, side, 0);
		for (uint32_t b = 0; b < 4096; b++)
			k.p.client.buf[b] = (uint8_t)(vectors[i].first + b * vectors[i].step);
		configure(&k);
		CHECK_EQ(move(&k, WRITE, 0, 4096 + 8), IBV_WC_SUCCESS);
		memcpy(&crc, k.p.server.buf + 4096, sizeof(crc));
		CHECK_EQ(le64toh(crc), vectors[i].crc);
		CHECK_EQ(signature_guard(&side, k.p.client.buf, 4096), vectors[i].crc);
		/*
		 * The highest byte of the CRC is wrong: both CRCs must be reported with all bytes.
		 */
		k.p.server.buf[4096 + 7] ^= 0x80;
		CHECK_EQ(move(&k, READ, 0, 4096 + 8), IBV_WC_SUCCESS);
		err = signature_key_error(k.mkey);
		CHECK_EQ(err.err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
		CHECK_EQ(err.err.sig.expected_value, vectors[i].crc ^ UINT64_C(1) << 63);
		CHECK_EQ(err.err.sig.actual_value, vectors[i].crc);
		signed_key_fini(&k);
	}
}

/* ---- masks */

/* Returns the mask bit for a byte of the signature, by the table of the manual page. */
static uint8_t
bit_of(enum signature_kind kind, uint32_t byte)
{
	return (uint8_t)(1u << (kind == DIF_CRC ? 7 - byte : kind == CRC64 ? byte : 4 + byte));
}

static enum mlx5dv_mkey_err_type
error_of(enum signature_kind kind, uint32_t byte)
{
	if (kind != DIF_CRC || byte < 2)
		return MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD;
	return byte < 4 ? MLX5DV_MKEY_SIG_BLOCK_BAD_APPTAG : MLX5DV_MKEY_SIG_BLOCK_BAD_REFTAG;
}

static void
checked(struct signature side, uint32_t byte, uint8_t mask, enum mlx5dv_mkey_err_type error)
{
	struct signed_key k;

	signed_key_init(&k, 0, side, none, 0);
	k.check_mask = mask;
	lay(&k, &side, k.p.client.buf);
	k.p.client.buf[unit(&k, &side) + k.block + byte] ^= 1; /* damages the second block */
	configure(&k);
	CHECK_EQ(move(&k, WRITE, 0, N * k.block), IBV_WC_SUCCESS);
	CHECK_EQ(signature_key_error(k.mkey).err_type, error);
	signed_key_fini(&k);
}

static void
case_check_mask(void)
{
	const struct signature sides[] = {dif, crc32, crc32c, crc64};

	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++)
		for (uint32_t byte = 0; byte < signature_len(sides[i].kind); byte++) {
			uint8_t bit = bit_of(sides[i].kind, byte);

			checked(sides[i], byte, bit, error_of(sides[i].kind, byte));
			checked(sides[i], byte, (uint8_t)~bit, MLX5DV_MKEY_NO_ERR);
		}
}

/*
 * In memory all bytes of the signatures are 5a, and are not checked. On the wire, each byte
 * must be copied (5a) or computed, as `mask` says.
 */
static void
copied(struct signature mem, struct signature wire, uint32_t flags, uint8_t given, uint8_t mask)
{
	uint8_t want[MAX];
	struct signed_key k;

	signed_key_init(&k, 0, mem, wire, 0);
	k.flags = flags;
	k.check_mask = 0;
	k.copy_mask = given;
	lay(&k, &mem, k.p.client.buf);
	lay(&k, &wire, want);
	for (uint32_t i = 0; i < N; i++)
		for (uint32_t b = 0; b < signature_len(mem.kind); b++) {
			size_t at = i * unit(&k, &mem) + k.block + b;

			k.p.client.buf[at] = 0x5a;
			if ((mask & bit_of(mem.kind == DIF_CSUM ? DIF_CRC : mem.kind, b)) != 0)
				want[at] = 0x5a;
		}
	configure(&k);
	CHECK_EQ(move(&k, WRITE, 0, N * unit(&k, &wire)), IBV_WC_SUCCESS);
	CHECK_EQ(memcmp(k.p.server.buf, want, N * unit(&k, &wire)), 0);
	CHECK_EQ(k.p.server.buf[N * unit(&k, &wire)], 0x22);
	signed_key_fini(&k);
}

static void
case_copy_mask(void)
{
	const uint32_t given = MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK;
	struct signature other = dif;

	for (uint8_t bit = 1; bit != 0; bit = (uint8_t)(bit << 1)) {
		copied(dif, dif, given, bit, bit);
		copied(dif, dif, given, (uint8_t)~bit, (uint8_t)~bit);
	}
	for (uint8_t bit = 0x10; bit != 0; bit = (uint8_t)(bit << 1))
		copied(crc32, crc32, given, bit, bit);
	for (uint8_t bit = 1; bit != 0; bit = (uint8_t)(bit << 1))
		copied(crc64, crc64, given, bit, bit);
	copied(crc32c, crc32c, given, 0, 0);
	/*
	 * Without a copy mask from the program, the parts that are equal in both domains must be
	 * copied.
	 */
	copied(dif, dif, 0, 0, 0xff);
	copied(crc32, crc32, 0, 0, 0xf0);
	copied(crc64, crc64, 0, 0, 0xff);
	other.app++;
	copied(dif, other, 0, 0, MLX5DV_SIG_MASK_T10DIF_GUARD | MLX5DV_SIG_MASK_T10DIF_REFTAG);
	other = dif;
	other.ref++;
	copied(dif, other, 0, 0, MLX5DV_SIG_MASK_T10DIF_GUARD | MLX5DV_SIG_MASK_T10DIF_APPTAG);
	copied(dif, csum, 0, 0, MLX5DV_SIG_MASK_T10DIF_APPTAG | MLX5DV_SIG_MASK_T10DIF_REFTAG);
	copied(crc32, crc32c, 0, 0, 0);
}

/* ---- errors */

/* Two blocks are wrong: the first of them must be reported, with its own values. */
static void
case_first_error(void)
{
	struct signed_key k;

	signed_key_init(&k, 0, crc32, none, 0);
	lay(&k, &crc32, k.p.client.buf);
	k.p.client.buf[3] ^= 1;
	k.p.client.buf[unit(&k, &crc32) + 3] ^= 1;
	configure(&k);
	CHECK_EQ(move(&k, WRITE, 0, N * k.block), IBV_WC_SUCCESS);
	{
		struct mlx5dv_mkey_err err = signature_key_error(k.mkey);

		CHECK_EQ(err.err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
		CHECK_EQ(err.err.sig.offset, 0);
		CHECK_EQ(err.err.sig.expected_value, crc32_gzip_refl(UINT32_MAX, k.data, k.block));
		CHECK_EQ(err.err.sig.actual_value,
			crc32_gzip_refl(UINT32_MAX, k.p.client.buf, k.block));
	}
	signed_key_fini(&k);
}

/* Data that arrive from the wire must also be checked. They arrive, and the error is reported. */
static void
case_incoming(void)
{
	const struct signature sides[] = {dif, crc32c};

	for (size_t i = 0; i < 2; i++) {
		struct mlx5dv_mkey_err err;
		struct signed_key k;

		signed_key_init(&k, 0, none, sides[i], 0);
		lay(&k, &sides[i], k.p.server.buf);
		k.p.server.buf[unit(&k, &sides[i]) + 7] ^= 1;
		configure(&k);
		CHECK_EQ(move(&k, READ, 0, N * unit(&k, &sides[i])), IBV_WC_SUCCESS);
		err = signature_key_error(k.mkey);
		CHECK_EQ(err.err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
		CHECK_EQ(err.err.sig.offset, unit(&k, &sides[i]));
		CHECK_EQ(memcmp(k.p.client.buf, k.data, k.block), 0);
		CHECK_EQ(k.p.client.buf[k.block + 7], k.data[k.block + 7] ^ 1);
		signed_key_fini(&k);
	}
}

/*
 * With SIG_PIPELINING the queue must stop after the work request with the error
 * (mlx5dv_create_qp(3)).
 */
static void
stops(uint64_t dv_flags, bool stopped)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct signed_key k;

	signed_key_init(&k, 0, crc32c, none, dv_flags);
	configure(&k); /* the memory domain has no signature */
	CHECK_EQ(move(&k, WRITE, 0, N * k.block), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_query_qp(k.p.client.qp, &attr, IBV_QP_STATE, &init), 0);
	CHECK_EQ(attr.qp_state, stopped ? IBV_QPS_SQD : IBV_QPS_RTS);
	CHECK_EQ(pair_async(&k.p, stopped ? PAIR_PATIENCE_MS : 2),
		stopped ? IBV_EVENT_SQ_DRAINED : -1);
	CHECK_EQ(signature_key_error(k.mkey).err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
	if (stopped) {
		pair_publish(&k.p.client);
		ibv_wr_start(k.p.client.qpx);
		k.p.client.qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(k.p.client.qpx, k.p.server.mr->rkey, (uintptr_t)k.p.server.buf);
		ibv_wr_set_sge(k.p.client.qpx, k.p.client.mr->lkey, (uintptr_t)k.p.client.buf, 8);
		CHECK_EQ(ibv_wr_complete(k.p.client.qpx), 0);
		pair_expect_none(&k.p.client);
		CHECK_EQ(pair_modify(&k.p.client, IBV_QPS_RTS), 0);
		CHECK_EQ(pair_wait(&k.p.client).status, IBV_WC_SUCCESS);
	}
	signed_key_fini(&k);
}

/* The server receives wrong data into a signed key: the send queue of the server must not stop. */
static void
case_stops(void)
{
	struct ibv_recv_wr wr = {.wr_id = 9, .num_sge = 1}, *bad;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_sge sge;
	struct signed_key k;

	stops(MLX5DV_QP_CREATE_SIG_PIPELINING, true);
	stops(0, false);
	signed_key_init(&k, 0, none, crc32c, MLX5DV_QP_CREATE_SIG_PIPELINING);
	k.owner = &k.p.server;
	configure(&k);
	sge = (struct ibv_sge){0, N * unit(&k, &crc32c), k.mkey->lkey};
	wr.sg_list = &sge;
	pair_publish(&k.p.server);
	CHECK_EQ(ibv_post_recv(k.p.server.qp, &wr, &bad), 0);
	pair_publish(&k.p.client);
	ibv_wr_start(k.p.client.qpx);
	k.p.client.qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(k.p.client.qpx);
	ibv_wr_set_sge(k.p.client.qpx, k.p.client.mr->lkey, (uintptr_t)k.p.client.buf,
		N * unit(&k, &crc32c));
	CHECK_EQ(ibv_wr_complete(k.p.client.qpx), 0);
	CHECK_EQ(pair_wait(&k.p.client).status, IBV_WC_SUCCESS);
	CHECK_EQ(pair_wait(&k.p.server).status, IBV_WC_SUCCESS);
	CHECK_EQ(signature_key_error(k.mkey).err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
	CHECK_EQ(pair_async(&k.p, 2), -1);
	CHECK_EQ(ibv_query_qp(k.p.server.qp, &attr, IBV_QP_STATE, &init), 0);
	CHECK_EQ(attr.qp_state, IBV_QPS_RTS);
	signed_key_fini(&k);
}

/* ---- segments, remote use, offsets */

/* It must be possible to use a signed key as one of several segments. */
static void
case_segments(void)
{
	uint8_t want[MAX];
	struct ibv_sge v[3];
	struct pair_end *e;
	struct signed_key k;

	signed_key_init(&k, 0, dif, none, 0);
	e = &k.p.client;
	configure(&k);
	memcpy(k.p.server.buf, "0123456789", 10);
	memcpy(k.p.server.buf + 10, k.data, N * k.block);
	memset(k.p.server.buf + 10 + N * k.block, 0x33, 600); /* more than one block */
	v[0] = (struct ibv_sge){(uintptr_t)e->buf + 20000, 10, e->mr->lkey};
	v[1] = (struct ibv_sge){0, N * k.block, k.mkey->lkey};
	v[2] = (struct ibv_sge){(uintptr_t)e->buf + 30000, 600, e->mr->lkey};
	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(e->qpx, k.p.server.mr->rkey, (uintptr_t)k.p.server.buf);
	ibv_wr_set_sge_list(e->qpx, 3, v);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
	lay(&k, &dif, want);
	CHECK_EQ(memcmp(e->buf, want, N * unit(&k, &dif)), 0);
	CHECK_EQ(e->buf[N * unit(&k, &dif)], 0x11);
	CHECK_EQ(memcmp(e->buf + 20000, "0123456789", 10), 0);
	for (uint32_t i = 0; i < 600; i++)
		CHECK_EQ(e->buf[30000 + i], 0x33);
	CHECK_EQ(e->buf[30600], 0x11);
	signed_key_fini(&k);
}

/*
 * If a message ends inside the data of a block, this block must not be written. If a message has
 * all data of a block but not all of its signature, the block must be written.
 */
static void
short_message(struct signature mem, struct signature wire, uint32_t len, uint32_t blocks)
{
	struct ibv_recv_wr wr = {.wr_id = 9, .num_sge = 1}, *bad;
	uint8_t want[MAX];
	struct ibv_sge sge;
	struct signed_key k;

	signed_key_init(&k, 0, mem, wire, 0);
	k.owner = &k.p.server;
	configure(&k);
	sge = (struct ibv_sge){0, N * unit(&k, &wire), k.mkey->lkey};
	wr.sg_list = &sge;
	pair_publish(&k.p.server);
	CHECK_EQ(ibv_post_recv(k.p.server.qp, &wr, &bad), 0);
	lay(&k, &wire, k.p.client.buf);
	pair_publish(&k.p.client);
	ibv_wr_start(k.p.client.qpx);
	k.p.client.qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(k.p.client.qpx);
	ibv_wr_set_sge(k.p.client.qpx, k.p.client.mr->lkey, (uintptr_t)k.p.client.buf, len);
	CHECK_EQ(ibv_wr_complete(k.p.client.qpx), 0);
	CHECK_EQ(pair_wait(&k.p.client).status, IBV_WC_SUCCESS);
	CHECK_EQ(pair_wait(&k.p.server).status, IBV_WC_SUCCESS);
	lay(&k, &mem, want);
	CHECK_EQ(memcmp(k.p.server.buf, want, blocks * unit(&k, &mem)), 0);
	for (uint32_t i = blocks * unit(&k, &mem); i < PAIR_BUF; i++)
		CHECK_EQ(k.p.server.buf[i], 0x22);
	CHECK_EQ(signature_key_error(k.mkey).err_type, MLX5DV_MKEY_NO_ERR);
	signed_key_fini(&k);
}

static void
case_short(void)
{
	short_message(dif, none, 512, 1);
	short_message(dif, none, 700, 1);
	short_message(dif, none, 511, 0);
	short_message(none, crc32c, 516, 1);
	short_message(none, crc32c, 700, 1);
	short_message(none, crc32c, 515, 1);
	short_message(none, crc32c, 512, 1);
	short_message(none, crc32c, 511, 0);
	short_message(crc32, crc32c, 1000, 1);
	short_message(crc32, crc32c, 516 + 512, 2);
	short_message(crc32c, crc32c, 516 + 514, 2);
}

/* Moves data out of the key's memory, or into it, and expects success or a refusal. */
static void
pass(bool local, bool out, uint32_t off, uint32_t len, bool good)
{
	const enum ibv_wc_status refused = local ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_ACCESS_ERR;
	const uint32_t first = off / 516 * 512;
	uint8_t want[MAX], *memory, *wire;
	struct signed_key k;

	signed_key_init(&k, 0, none, crc32c, 0);
	k.owner = local ? &k.p.client : &k.p.server;
	memory = k.owner->buf;
	wire = local ? k.p.server.buf : k.p.client.buf;
	configure(&k);
	lay(&k, &crc32c, want);
	memset(memory, 0x11, PAIR_BUF);
	memset(wire, 0x22, PAIR_BUF);
	if (out)
		memcpy(memory, k.data, N * k.block);
	else
		memcpy(wire, want + off, len);
	CHECK_EQ((local ? move : move_remote)(&k, local == out ? WRITE : READ, off, len),
		good ? IBV_WC_SUCCESS : refused);
	if (out)
		signature_expect(wire, want + off, good ? len : 0, 0x22);
	else
		signature_expect(memory + first, k.data + first, good ? (len + 4) / 516 * 512 : 0,
			0x11);
	CHECK_EQ(signature_key_error(k.mkey).err_type, MLX5DV_MKEY_NO_ERR);
	signed_key_fini(&k);
}

/*
 * Requests of the key's owner and of a peer count bytes on the wire: they must have whole blocks
 * with signatures, and may leave out the last signature.
 */
static void
case_lengths(void)
{
	static const struct {
		uint32_t off, len;
		bool good;
	} tries[] = {
		{0, 2 * 516, true},
		{516, 516, true},
		{0, 512, true},
		{0, 516 + 512, true},
		{516, 512, true},
		{512, 516, false},
		{1, 516, false},
		{0, 511, false},
		{0, 513, false},
		{0, 515, false},
		{0, 3 * 516, false},
	};
	struct signed_key k;

	for (size_t i = 0; i < 4 * sizeof(tries) / sizeof(tries[0]); i++)
		pass(i & 1, i & 2, tries[i / 4].off, tries[i / 4].len, tries[i / 4].good);
	signed_key_init(&k, 0, none, crc32c, 0);
	k.owner = &k.p.server;
	configure(&k);
	CHECK_EQ(move_remote(&k, FETCH_ADD, 0, 8), IBV_WC_REM_ACCESS_ERR);
	signed_key_fini(&k);
}

/*
 * Two bad offsets must be refused: one is inside a block on the wire, and one overflows when the
 * signatures are added to it.
 */
static void
case_offsets(void)
{
	struct signed_key k;

	signed_key_init(&k, 0, none, dif, 0);
	configure(&k);
	CHECK_EQ(move(&k, READ, 1, k.block), IBV_WC_LOC_PROT_ERR);
	signed_key_fini(&k);
	signed_key_init(&k, 0, none, dif, 0);
	configure(&k);
	CHECK_EQ(move(&k, READ, 0, k.block - 1), IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(vendor, SIG_BLOCK);
	signed_key_fini(&k);
	signed_key_init(&k, 0, dif, none, 0);
	configure(&k);
	/* The smallest number of blocks whose 520 bytes each are 2^64 bytes or more in total. */
	CHECK_EQ(move(&k, READ, (UINT64_MAX / 520 + 1) * 512, k.block), IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(k.p.client.buf[0], 0x11);
	signed_key_fini(&k);
}

/*
 * A signed key must be refused in the layout of another key, because it would be unclear which
 * length counts.
 */
static void
case_inside(void)
{
	struct mlx5dv_mkey_init_attr attr = {.max_entries = 1,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT};
	struct mlx5dv_mkey *outer;
	struct pair_end *e;
	struct ibv_sge v;
	struct signed_key k;

	signed_key_init(&k, 0, none, dif, 0);
	e = &k.p.client;
	configure(&k);
	attr.pd = k.p.pd;
	outer = mlx5dv_create_mkey(&attr);
	CHECK(outer != NULL);
	v = (struct ibv_sge){0, k.block, k.mkey->lkey};
	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mr_list(e->dvx, outer, PAIR_ALL, 1, &v);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
	CHECK_EQ(request(&k, READ, outer->lkey, 0, k.p.server.mr->rkey, (uintptr_t)k.p.server.buf,
			 k.block),
		IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(k.p.client.buf[0], 0x11);
	CHECK_EQ(mlx5dv_destroy_mkey(outer), 0);
	signed_key_fini(&k);
}

/* ---- BSFs and PSVs that libmlx5 does not write */

/* Offsets in struct mlx5_bsf, which is internal to libmlx5. */
enum {
	BSF_SIZE = 0,
	BSF_WIRE_BLOCK = 2,
	BSF_MEM_BLOCK = 3,
	BSF_WIRE_PSV = 9,
	BSF_MEM_PSV = 13,
	PSV_INDEX = 16 + 1
};

static size_t
bsf_of(const struct scribe_wqe *w)
{
	return 128 +
	       16 * scribe_get(w, 16 + offsetof(struct mlx5_wqe_umr_ctrl_seg, klm_octowords), 2);
}

/* Returns the WQE of the configuration as libmlx5 writes it. The WQE is not executed. */
static struct scribe_wqe
written(struct signed_key *k, struct mlx5dv_mkey *mkey)
{
	uint16_t here = scribe_here(&k->p.server);

	post_configure(k, &k->p.server, mkey);
	return scribe_take(&k->p.server, here, MLX5_OPCODE_UMR, &k->p.client);
}

/*
 * The PSV does not exist, or is in another PD: the key can be configured, but using it must be
 * refused.
 */
static void
wrong_psv(bool wire, bool other_pd)
{
	size_t field = wire ? BSF_WIRE_PSV : BSF_MEM_PSV;
	struct scribe_wqe w, foreign;
	struct mlx5dv_mkey *far;
	struct ibv_pd *pd;
	uint64_t psv;
	struct signed_key k;

	signed_key_init(&k, 0, crc32c, crc32, 0);
	scribe_init(&k.p);
	pd = ibv_alloc_pd(k.p.ctx);
	CHECK(pd != NULL);
	far = signature_create_key(pd);
	foreign = written(&k, far);
	w = written(&k, k.mkey);
	psv = scribe_get(&w, bsf_of(&w) + field, 3);
	CHECK_EQ(scribe_run(&k.p.client, &w), IBV_WC_SUCCESS);
	CHECK_EQ(move(&k, READ, 0, unit(&k, &k.wire)), IBV_WC_SUCCESS);
	psv = other_pd ? scribe_get(&foreign, bsf_of(&foreign) + field, 3) : psv ^ 0x800000;
	scribe_set(&w, bsf_of(&w) + field, 3, psv);
	memset(k.p.client.buf, 0x11, PAIR_BUF);
	CHECK_EQ(scribe_run(&k.p.client, &w), IBV_WC_SUCCESS);
	CHECK_EQ(move(&k, READ, 0, unit(&k, &k.wire)), IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(vendor, SIG_PSV);
	CHECK_EQ(k.p.client.buf[0], 0x11);
	CHECK_EQ(mlx5dv_destroy_mkey(far), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	signed_key_fini(&k);
}

/*
 * Accesses beyond the length of the key itself must be refused, as accesses beyond its layout are.
 * The length counts bytes of memory.
 */
static void
case_length(void)
{
	const size_t len = 64 + offsetof(struct mlx5_wqe_mkey_context_seg, len);
	const struct {
		uint32_t key_len, off, len;
		enum ibv_wc_status status;
	} tries[] = {
		{520, 0, 512, IBV_WC_SUCCESS},
		{520, 0, 1024, IBV_WC_LOC_PROT_ERR},
		{520, 512, 512, IBV_WC_LOC_PROT_ERR},
		{519, 0, 512, IBV_WC_LOC_PROT_ERR},
		{519, 512, 512, IBV_WC_LOC_PROT_ERR},
	};

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct scribe_wqe w;
		struct signed_key k;

		signed_key_init(&k, 0, dif, none, 0);
		scribe_init(&k.p);
		w = written(&k, k.mkey);
		scribe_set(&w, len, 8, tries[i].key_len);
		CHECK_EQ(scribe_run(&k.p.client, &w), IBV_WC_SUCCESS);
		CHECK_EQ(move(&k, READ, tries[i].off, tries[i].len), tries[i].status);
		for (uint32_t b = tries[i].status == IBV_WC_SUCCESS ? 520 : 0; b < 2000; b++)
			CHECK_EQ(k.p.client.buf[b], 0x11);
		signed_key_fini(&k);
	}
}

static void
set_psv(bool other_pd, bool absent, enum ibv_wc_status status)
{
	struct ibv_pd *pd;
	struct scribe_wqe w;
	uint16_t here;
	struct signed_key k;

	signed_key_init(&k, 0, crc32c, none, 0);
	scribe_init(&k.p);
	here = scribe_here(&k.p.server);
	pd = ibv_alloc_pd(k.p.ctx);
	CHECK(pd != NULL);
	if (other_pd) {
		CHECK_EQ(mlx5dv_destroy_mkey(k.mkey), 0);
		k.mkey = signature_create_key(pd);
	}
	post_configure(&k, &k.p.server, k.mkey);
	w = scribe_take(&k.p.server, here, MLX5_OPCODE_SET_PSV, &k.p.client);
	if (absent)
		scribe_set(&w, PSV_INDEX, 3, scribe_get(&w, PSV_INDEX, 3) ^ 0x800000);
	CHECK_EQ(scribe_run(&k.p.client, &w), status);
	CHECK_EQ(mlx5dv_destroy_mkey(k.mkey), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	pair_fini(&k.p);
}

static void
case_psvs(void)
{
	for (int i = 0; i < 4; i++)
		wrong_psv(i & 1, i & 2);
	set_psv(false, false, IBV_WC_SUCCESS);
	set_psv(false, true, IBV_WC_LOC_PROT_ERR);
	set_psv(true, false, IBV_WC_LOC_PROT_ERR);
}

static void
refused_bsf(size_t at, uint8_t value)
{
	struct scribe_wqe w;
	struct signed_key k;

	signed_key_init(&k, 0, crc32c, dif, 0);
	scribe_init(&k.p);
	w = written(&k, k.mkey);
	scribe_set(&w, bsf_of(&w) + at, 1, value);
	CHECK_EQ(scribe_run(&k.p.client, &w), IBV_WC_LOC_QP_OP_ERR);
	signed_key_fini(&k);
}

/*
 * The BSF has no signature in memory and no signature on the wire. Data must pass unchanged, but
 * atomics must be refused.
 */
static void
case_neither(void)
{
	const enum op ops[] = {READ, WRITE, FETCH_ADD};

	for (size_t i = 0; i < 3; i++) {
		enum ibv_wc_status status =
			ops[i] == FETCH_ADD ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS;
		struct scribe_wqe w;
		struct signed_key k;

		signed_key_init(&k, 0, crc32c, crc32, 0);
		k.owner = &k.p.server;
		scribe_init(&k.p);
		w = written(&k, k.mkey);
		scribe_set(&w, bsf_of(&w) + BSF_WIRE_PSV - 1, 4, 0);
		scribe_set(&w, bsf_of(&w) + BSF_MEM_PSV - 1, 4, 0);
		CHECK_EQ(scribe_run(&k.p.client, &w), IBV_WC_SUCCESS);
		CHECK_EQ(move_remote(&k, ops[i], 8, ops[i] == FETCH_ADD ? 8 : 101), status);
		if (ops[i] == FETCH_ADD)
			CHECK_EQ(vendor, NAK_ACCESS);
		CHECK_EQ(k.p.client.buf[100], ops[i] == READ ? 0x22 : 0x11);
		CHECK_EQ(k.p.server.buf[8 + 100], ops[i] == WRITE ? 0x11 : 0x22);
		CHECK_EQ(k.p.server.buf[8], ops[i] == WRITE ? 0x11 : 0x22);
		CHECK_EQ(k.p.server.buf[7], 0x22);
		signed_key_fini(&k);
	}
}

static void
case_bsfs(void)
{
	/* Block sizes that do not exist, and a BSF of another kind. */
	for (uint8_t selector = 0; selector < 9; selector++)
		if (selector == 0 || selector == 5 || selector > 6) {
			refused_bsf(BSF_MEM_BLOCK, selector);
			refused_bsf(BSF_WIRE_BLOCK, selector);
		}
	refused_bsf(BSF_SIZE, 0x40);
	refused_bsf(BSF_SIZE, 0xc0);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"every block size of the manual page works", case_sizes},
		{"CRC64 is that of the NVMe specification", case_crc64},
		{"each bit of the check mask is one byte", case_check_mask},
		{"each bit of the copy mask is one byte", case_copy_mask},
		{"if there are two errors, the first is reported", case_first_error},
		{"incoming data are checked", case_incoming},
		{"a queue with SIG_PIPELINING stops at an error of its own work", case_stops},
		{"a signed key can be one segment of several", case_segments},
		{"a block whose data arrive in part is not written", case_short},
		{"lengths of requests count the bytes on the wire", case_lengths},
		{"offsets are whole blocks, and do not overflow", case_offsets},
		{"a signed key cannot be a part of another key", case_inside},
		{"the length of a key is a bound", case_length},
		{"PSVs must exist, and belong to the PD", case_psvs},
		{"a BSF may sign neither side", case_neither},
		{"unknown BSFs are refused", case_bsfs},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
