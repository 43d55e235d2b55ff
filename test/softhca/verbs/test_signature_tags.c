/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reference tags of T10-DIF through stock libmlx5. The first block that passes a key after a
 * configuration must have the configured tag (mlx5dv_wr_set_mkey_sig_block(3)), and each following
 * block must have the next tag, at any offset in the key. ISA-L computes the guards.
 */
#include "softhca_signature.h"

#define BLOCK 512
#define UNIT  520
#define N     8
#define DATA  (N * BLOCK)
#define WITH  (N * UNIT)

static const struct signature dif = {.kind = DIF_CRC,
	.ones = true,
	.app = 0xabcd,
	.ref = 0xfffffffe};

/* Two QPs, and a key with signatures over the client's memory. */
struct signed_key {
	struct pair p;
	struct mlx5dv_mkey *mkey;
	struct signature_domain domain;
	uint8_t data[DATA];
};

static void
start(struct signed_key *k)
{
	pair_init(&k->p, &(struct pair_opts){.keys = true});
	k->mkey = signature_create_key(k->p.pd);
	signature_paint(&k->p, k->data, DATA);
	signature_domain(&k->domain, &dif, MLX5DV_BLOCK_SIZE_512, 0);
}

static void
end(struct signed_key *k)
{
	CHECK_EQ(mlx5dv_destroy_mkey(k->mkey), 0);
	pair_fini(&k->p);
}

/*
 * Writes n blocks with signatures, beginning with block `first` of the data. The blocks have the
 * reference tags of blocks that pass the key after `passed` other blocks.
 */
static void
lay(const struct signed_key *k, uint32_t first, uint32_t n, uint32_t passed, uint8_t *out)
{
	struct signature s = dif;

	s.ref += passed;
	signature_lay(&s, k->data + first * BLOCK, BLOCK, n, out);
}

/* Configures the key. If sig is NULL, the signatures stay as they were configured before. */
static void
configure(struct signed_key *k, const struct mlx5dv_sig_block_attr *sig)
{
	struct pair_end *e = &k->p.client;
	const struct ibv_sge v = {(uintptr_t)e->buf, WITH, e->mr->lkey};

	signature_post_key(e, k->mkey, PAIR_ALL, 1, &v, sig);
	CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
}

/* Configures the key with signatures on the wire, or in the key's memory. */
static void
configure_side(struct signed_key *k, bool wire)
{
	const struct mlx5dv_sig_block_attr sig = {.mem = wire ? NULL : &k->domain.d,
		.wire = wire ? &k->domain.d : NULL,
		.check_mask = 0xff};

	configure(k, &sig);
}

/* A part of a request: n blocks of the key, from block `first` on. */
struct part {
	uint32_t first, n;
};

/*
 * Reads or writes between the client's key and the server's memory. unit: bytes of a block on the
 * wire.
 */
static void
move(struct signed_key *k, bool read, const struct part *parts, size_t n, uint32_t unit)
{
	struct pair_end *e = &k->p.client;
	struct ibv_sge sge[4];

	for (size_t i = 0; i < n; i++)
		sge[i] = (struct ibv_sge){parts[i].first * unit, parts[i].n * unit, k->mkey->lkey};
	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	if (read)
		ibv_wr_rdma_read(e->qpx, k->p.server.mr->rkey, (uintptr_t)k->p.server.buf);
	else
		ibv_wr_rdma_write(e->qpx, k->p.server.mr->rkey, (uintptr_t)k->p.server.buf);
	ibv_wr_set_sge_list(e->qpx, n, sge);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
}

static void
same(const uint8_t *got, const uint8_t *want, uint32_t len)
{
	CHECK(check_bytes(got, want, len, "blocks and signatures"));
}

/*
 * Moves the parts in one request, after `passed` blocks have moved since the configuration.
 * Incoming signatures have the tags for this position, so the key must report no error.
 */
static uint32_t
move_parts(struct signed_key *k, bool wire, bool read, const struct part *parts, size_t n,
	uint32_t passed)
{
	uint8_t bare[DATA], with[WITH], *in_wire = k->p.server.buf;
	uint32_t at = 0, all;

	memset(k->p.client.buf, 0x11, WITH);
	memset(k->p.server.buf, 0x22, WITH);
	for (size_t i = 0; i < n; i++) {
		const uint32_t first = parts[i].first, blocks = parts[i].n;
		uint8_t *memory = k->p.client.buf + first * (wire ? BLOCK : UNIT);

		memcpy(bare + at * BLOCK, k->data + first * BLOCK, (size_t)blocks * BLOCK);
		lay(k, first, blocks, passed + at, with + at * UNIT);
		if (!read && wire)
			memcpy(memory, bare + at * BLOCK, (size_t)blocks * BLOCK);
		else if (!read)
			memcpy(memory, with + at * UNIT, (size_t)blocks * UNIT);
		at += blocks;
	}
	if (read)
		memcpy(in_wire, wire ? with : bare, (size_t)at * (wire ? UNIT : BLOCK));
	move(k, read, parts, n, wire ? UNIT : BLOCK);
	CHECK_EQ(signature_key_error(k->mkey).err_type, MLX5DV_MKEY_NO_ERR);
	if (!read)
		same(in_wire, wire ? with : bare, at * (wire ? UNIT : BLOCK));
	all = at;
	at = 0;
	for (size_t i = 0; read && i < n; i++) {
		const uint32_t first = parts[i].first, blocks = parts[i].n;

		if (wire)
			same(k->p.client.buf + first * BLOCK, bare + at * BLOCK, blocks * BLOCK);
		else
			same(k->p.client.buf + first * UNIT, with + at * UNIT, blocks * UNIT);
		at += blocks;
	}
	return passed + all;
}

/*
 * The tags must continue from request to request, wherever the blocks are in the key: in order;
 * from the middle of the key on; the same blocks again; several parts in one request. A new
 * configuration must start the tags again. The tags wrap from ffffffff to 0.
 */
static void
case_requests(void)
{
	static const struct {
		size_t n;
		struct part parts[3];
	} requests[] = {
		{1, {{0, 1}}},
		{1, {{1, 3}}},
		{1, {{4, 4}}},
		{1, {{2, 2}}},
		{1, {{2, 2}}},
		{2, {{6, 2}, {0, 3}}},
		{3, {{6, 2}, {0, 1}, {3, 3}}},
		{1, {{0, 1}}},
	};

	for (unsigned int i = 0; i < 4; i++) {
		const bool wire = i % 2 != 0, read = i / 2 != 0;
		struct signed_key k;

		start(&k);
		for (size_t from = 0; from < sizeof(requests) / sizeof(requests[0]); from++) {
			uint32_t passed = 0;

			configure_side(&k, wire);
			for (size_t r = from; r < sizeof(requests) / sizeof(requests[0]); r++)
				passed = move_parts(&k, wire, read, requests[r].parts,
					requests[r].n, passed);
		}
		end(&k);
	}
}

/* Requests of a peer to the key must count in the same way as requests of the owner. */
static void
case_remote(void)
{
	struct signed_key k;
	uint8_t want[2 * UNIT];

	start(&k);
	configure_side(&k, true);
	memcpy(k.p.client.buf, k.data, DATA);
	for (uint32_t i = 0; i < 3; i++) {
		const uint32_t block = 2 - i;
		struct pair_end *e = &k.p.server;

		pair_publish(e);
		ibv_wr_start(e->qpx);
		e->qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_read(e->qpx, k.mkey->rkey, block * UNIT);
		ibv_wr_set_sge(e->qpx, e->mr->lkey, (uintptr_t)e->buf, 2 * UNIT);
		CHECK_EQ(ibv_wr_complete(e->qpx), 0);
		CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
		lay(&k, block, 2, 2 * i, want);
		same(e->buf, want, 2 * UNIT);
	}
	end(&k);
}

/* A SEND that waits for its receive is retried. Its tags must not change by this. */
static void
case_retry(void)
{
	struct signed_key k;
	uint8_t want[UNIT];

	start(&k);
	configure_side(&k, true);
	memcpy(k.p.client.buf, k.data, DATA);
	for (uint32_t i = 0; i < 3; i++) {
		struct pair_end *e = &k.p.client;

		pair_publish(e);
		ibv_wr_start(e->qpx);
		e->qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(e->qpx);
		ibv_wr_set_sge(e->qpx, k.mkey->lkey, i * UNIT, UNIT);
		CHECK_EQ(ibv_wr_complete(e->qpx), 0);
		pair_expect_none(e);
		pair_post_recv(&k.p.server, i, 0, UNIT);
		CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
		CHECK_EQ(pair_wait(&k.p.server).status, IBV_WC_SUCCESS);
		lay(&k, i, 1, i, want);
		same(k.p.server.buf, want, UNIT);
	}
	end(&k);
}

/* Without REF_REMAP all blocks must have the same tag. */
static void
case_one_tag(void)
{
	const struct part parts[] = {{0, N}};
	struct signed_key k;

	start(&k);
	k.domain.dif.flags &= (uint16_t)~MLX5DV_SIG_T10DIF_FLAG_REF_REMAP;
	configure_side(&k, true);
	memcpy(k.p.client.buf, k.data, DATA);
	for (uint32_t again = 0; again < 2; again++) {
		move(&k, false, parts, 1, UNIT);
		for (uint32_t i = 0; i < N; i++) {
			uint8_t want[UNIT];

			lay(&k, i, 1, 0, want);
			same(k.p.server.buf + i * UNIT, want, UNIT);
		}
	}
	end(&k);
}

/*
 * Each domain must count its own blocks: eight blocks of 512 bytes in memory are one block of 4096
 * bytes on the wire.
 */
static void
case_two_sizes(void)
{
	const struct signature other = {.kind = DIF_CSUM, .app = 0x1234, .ref = 7};
	struct signature_domain wire;
	const struct mlx5dv_sig_block_attr sig = {.wire = signature_domain(&wire, &other,
							  MLX5DV_BLOCK_SIZE_4096, 0),
		.check_mask = 0xff};
	struct mlx5dv_sig_block_attr both = sig;
	struct signed_key k;

	start(&k);
	both.mem = &k.domain.d;
	configure(&k, &both);
	for (uint32_t i = 0; i < 3; i++) {
		struct signature s = other;
		uint8_t want[DATA + 8];

		lay(&k, 0, N, i * N, k.p.client.buf);
		move(&k, false, &(struct part){0, 1}, 1, DATA + 8);
		CHECK_EQ(signature_key_error(k.mkey).err_type, MLX5DV_MKEY_NO_ERR);
		s.ref += i;
		signature_lay(&s, k.data, DATA, 1, want);
		same(k.p.server.buf, want, sizeof(want));
	}
	end(&k);
}

/*
 * A wrong tag must be reported with both tags; the "expected" tag is that of the block
 * (mlx5dv_mkey_check(3)). The key continues to count. With the next configuration, even of the
 * layout alone, libmlx5 sets the PSVs again, so the tags start again. Without an error the tags
 * continue after such a configuration.
 */
static void
case_after_error(void)
{
	const struct part one[] = {{0, 1}}, two[] = {{1, 2}};
	struct mlx5dv_mkey_err err;
	struct signed_key k;

	start(&k);
	configure_side(&k, false);
	CHECK_EQ(move_parts(&k, false, false, one, 1, 0), 1);
	lay(&k, 1, 2, 5, k.p.client.buf + UNIT); /* block 1 is right */
	move(&k, false, two, 1, BLOCK);
	err = signature_key_error(k.mkey);
	CHECK_EQ(err.err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_REFTAG);
	CHECK_EQ(err.err.sig.expected_value, (uint32_t)(dif.ref + 5));
	CHECK_EQ(err.err.sig.actual_value, (uint32_t)(dif.ref + 1));
	CHECK_EQ(err.err.sig.offset, 0);
	configure(&k, NULL);
	CHECK_EQ(move_parts(&k, false, false, two, 1, 0), 2);
	configure(&k, NULL);
	CHECK_EQ(move_parts(&k, false, true, two, 1, 2), 4);
	end(&k);
}

static const struct check_case cases[] = {
	{"tags continue from request to request, wherever the blocks lie", case_requests},
	{"a peer's requests count", case_remote},
	{"a retried SEND counts once", case_retry},
	{"without REF_REMAP all blocks have one tag", case_one_tag},
	{"each domain counts its own blocks", case_two_sizes},
	{"after an error the tags begin again with the next configuration", case_after_error},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
