/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions that a queue's owner executes for one transaction by the engine, and those of
 * libmlx5's calls for the same work requests: a block with its T10-DIF is written to a peer, the
 * signatures in memory and on the wire are checked, and a response follows. The profile stays the
 * same; key, reference tag and buffers change each time.
 *
 * DEPTH transactions are open at once: they are submitted in bursts, then the adapter runs, which
 * is not measured, and their completions are taken in bursts. Cases:
 *
 *     engine    gantry_submit() and gantry_poll()
 *     two       the same with one more block and one more transfer
 *     crypto    a block without signatures, which the device encrypts
 *     stock     libmlx5: the stages of bench_signature.c
 *
 * Run the program under callgrind; it measures no time.
 *
 * usage: bench_txn BLOCK BURST CASE...   BLOCK: 512 or 4096 bytes; prints "FUNCTION TRANSACTIONS"
 */
#include <rte_common.h>

#include "gantry_env.h"
#include "stock_sig.h"

#define DEPTH 16
/* Number of rounds before the measured rounds. They execute all code and map all pages once. */
#define N_WARM   8
#define N_ROUNDS 16 /* number of measured rounds */
/* largest number of bytes of a transaction on the wire */
#define MOST     (2 * (4096 + STOCK_SIG_LEN))
#define AREA_LEN (2 * DEPTH * MOST + 4096)
#define RECEIVES 1024

struct bench {
	struct gantry *g;
	struct gantry_queue *q, *target;
	struct gantry_mem *mem;
	uint8_t *area;
	uint16_t peer, back, profile, encrypts;
	uint32_t dek;
	uint32_t block_len; /* length of a block's data */
	char response[STOCK_SIG_RESPONSE];
	struct gantry_sge data[DEPTH];
	struct gantry_txn_part part[DEPTH][2];
	struct gantry_txn txn[DEPTH];
	struct gantry_desc desc[DEPTH];
	struct gantry_comp comp[DEPTH];
	struct stock_sig stock;
};

/* ---- what is measured */

#define MEASURED(x, how) STOCK_SIG_BURSTS(measured_##x, DEPTH, how)
#define SUBMIT           (gantry_submit(b->q, &b->desc[i], burst) == burst)
#define POLL             (gantry_poll(b->q, &b->comp[i], burst) == burst)
#define STOCK(end)       stock_sig_post(&b->stock, &b->stock.ops[i], burst, STOCK_SIG_##end)
#define STOCK_DONE       stock_sig_done(&b->stock, &b->stock.ops[i], burst)

/*
 * Each case has a function of its own, so one run can measure all cases. The first rounds are not
 * counted.
 */
MEASURED(engine_submit, SUBMIT)
MEASURED(engine_poll, POLL)
MEASURED(two_submit, SUBMIT)
MEASURED(two_poll, POLL)
MEASURED(crypto_submit, SUBMIT)
MEASURED(crypto_poll, POLL)
MEASURED(stock_configure, STOCK(CONFIGURE))
MEASURED(stock_transfer, STOCK(TRANSFER))
MEASURED(stock_all, STOCK(ALL))
MEASURED(stock_done, STOCK_DONE)
STOCK_SIG_BURSTS(warm_submit, DEPTH, SUBMIT)
STOCK_SIG_BURSTS(warm_poll, DEPTH, POLL)
STOCK_SIG_BURSTS(warm_stock, DEPTH, STOCK(ALL))
STOCK_SIG_BURSTS(warm_stock_done, DEPTH, STOCK_DONE)

/* ---- cases */

struct bench_case {
	const char *name;
	const char *post_name, *done_name;
	bool (*post)(struct bench *b, unsigned int burst);
	bool (*done)(struct bench *b, unsigned int burst);
	bool stock, encrypts;
	unsigned int blocks;
};

#define CASE(x, y, z)                                                                              \
	.name = #x, .post_name = "measured_" #y, .done_name = "measured_" #z,                      \
	.post = measured_##y, .done = measured_##z

static const struct bench_case cases[] = {
	{CASE(engine, engine_submit, engine_poll), .blocks = 1},
	{CASE(two, two_submit, two_poll), .blocks = 2},
	{CASE(crypto, crypto_submit, crypto_poll), .blocks = 1, .encrypts = true},
	{CASE(stock, stock_configure, stock_done), .stock = true},
	{CASE(stock, stock_transfer, stock_done), .stock = true},
	{CASE(stock, stock_all, stock_done), .stock = true},
};

/* Posts receives for the responses, until the receive queue is full. */
static void
receive(struct bench *b)
{
	const struct gantry_recv r = {.addr = (uintptr_t)b->area + AREA_LEN - STOCK_SIG_RESPONSE,
		.len = STOCK_SIG_RESPONSE};
	struct gantry_recv_comp comp[DEPTH];

	while (gantry_recv_poll(b->target, comp, DEPTH) != 0)
		;
	while (gantry_recv_post(b->target, b->back, &r, 1) == 1)
		;
}

/* Each transaction has buffers of its own; the tags change from round to round. */
static void
draw(struct bench *b, const struct bench_case *c, unsigned int round)
{
	const uint32_t len = b->block_len + (c->encrypts ? 0 : STOCK_SIG_LEN);

	receive(b);
	for (unsigned int i = 0; i < DEPTH; i++) {
		uint64_t here = (uintptr_t)b->area + i * MOST, there = here + DEPTH * MOST;
		uint32_t ref_tag = round * DEPTH + i;

		b->data[i] = (struct gantry_sge){.addr = here, .len = c->blocks * len};
		for (unsigned int k = 0; k < c->blocks; k++)
			b->part[i][k] = (struct gantry_txn_part){.addr = there + k * len,
				.len = len,
				.remote_key = gantry_mem_remote_key(b->mem)};
		b->txn[i] = (struct gantry_txn){.profile = c->encrypts ? b->encrypts : b->profile,
			.op = GANTRY_OP_WRITE,
			.n_data = 1,
			.n_parts = c->blocks,
			.data = &b->data[i],
			.part = b->part[i],
			.mem.ref_tag = c->encrypts ? 0 : ref_tag,
			.wire.ref_tag = c->encrypts ? 0 : ref_tag,
			.crypto = {.dek = b->dek, .tweak = {ref_tag % 256, ref_tag / 256}},
			.good = {.addr = (uintptr_t)b->response, .len = STOCK_SIG_RESPONSE},
			.bad = {.addr = (uintptr_t)b->response, .len = STOCK_SIG_RESPONSE}};
		b->desc[i] = (struct gantry_desc){.op = GANTRY_OP_TXN,
			.peer = b->peer,
			.src = (uintptr_t)&b->txn[i],
			.len = c->blocks * b->block_len,
			.cookie = ref_tag};
	}
}

static bool
warm_post(struct bench *b, const struct bench_case *c, unsigned int burst)
{
	return c->stock ? warm_stock(b, burst) : warm_submit(b, burst);
}

static bool
warm_done(struct bench *b, const struct bench_case *c, unsigned int burst)
{
	return c->stock ? warm_stock_done(b, burst) : warm_poll(b, burst);
}

/* The signatures are correct: blocks and guards are zeros, and tags are not checked. */
static void
rounds(struct bench *b, const struct bench_case *c, unsigned int burst)
{
	for (unsigned int round = 0; round < N_WARM + N_ROUNDS; round++) {
		bool warm = round < N_WARM;

		if (c->stock)
			stock_sig_receive(&b->stock, &b->stock.server);
		else
			draw(b, c, round);
		CHECK(warm ? warm_post(b, c, burst) : c->post(b, burst));
		emu_pump();
		CHECK(warm ? warm_done(b, c, burst) : c->done(b, burst));
		for (unsigned int i = 0; !c->stock && i < DEPTH; i++)
			CHECK_EQ(b->comp[i].status, GANTRY_OK);
	}
	printf("%s %u\n%s %u\n", c->post_name, N_ROUNDS * DEPTH, c->done_name,
		N_ROUNDS * DEPTH * (c->stock ? 3 : 1));
}

/* ---- opening, running, closing */

static void
bench_open(struct bench *b)
{
	const struct gantry_conf conf = {0};
	const struct gantry_queue_conf queue = {.depth = 64, .transactions = DEPTH};
	const struct gantry_sig_domain dif = {GANTRY_SIG_T10DIF_CRC, b->block_len,
		GANTRY_SIG_REF_REMAP};
	const struct gantry_profile_conf profile = {.mem = dif,
		.wire = dif,
		.check = GANTRY_SIG_GUARD};
	const struct gantry_profile_conf encrypts = {
		.crypto = {GANTRY_ENCRYPTED_WIRE, b->block_len, false}};
	const uint8_t key[64] = {1, 2, 3};
	const struct gantry_dek_conf dek = {.key = key, .len = sizeof(key)};
	const struct gantry_peer_conf txn = {.txn = GANTRY_TXN_PIPELINED};
	const struct gantry_peer_conf target = {.recv_depth = RECEIVES};
	struct gantry_addr here, there;

	CHECK_EQ(gantry_create(&conf, &b->g), 0);
	b->area = env_mem(b->g, AREA_LEN, ENV_REMOTE, &b->mem);
	memset(b->area, 0, AREA_LEN);
	CHECK_EQ(gantry_queue_create(b->g, &queue, &b->q), 0);
	b->target = env_queue(b->g, 64);
	CHECK_EQ(gantry_peer_open(b->q, &txn, &b->peer, &here), 0);
	CHECK_EQ(gantry_peer_open(b->target, &target, &b->back, &there), 0);
	CHECK_EQ(gantry_peer_connect(b->q, b->peer, &there), 0);
	CHECK_EQ(gantry_peer_connect(b->target, b->back, &here), 0);
	CHECK_EQ(gantry_profile_create(b->g, &profile, &b->profile), 0);
	CHECK_EQ(gantry_profile_create(b->g, &encrypts, &b->encrypts), 0);
	CHECK_EQ(gantry_dek_add(b->g, &dek, &b->dek), 0);
}

static void
bench_close(struct bench *b)
{
	struct gantry_recv_comp comp[DEPTH];

	CHECK_EQ(gantry_peer_close(b->q, b->peer), 0);
	CHECK_EQ(gantry_peer_close(b->target, b->back), 0);
	while (gantry_recv_poll(b->target, comp, DEPTH) != 0)
		;
	env_queue_done(b->q);
	env_queue_done(b->target);
	CHECK_EQ(gantry_profile_destroy(b->g, b->profile), 0);
	CHECK_EQ(gantry_profile_destroy(b->g, b->encrypts), 0);
	CHECK_EQ(env_done(b->g, &b->mem, 1), 0);
}

int
main(int argc, char **argv)
{
	unsigned int burst = argc > 3 ? (unsigned int)strtoul(argv[2], NULL, 0) : 0;
	static struct bench b;

	setvbuf(stdout, NULL, _IOLBF, 0);
	b.block_len = argc > 3 ? (uint32_t)strtoul(argv[1], NULL, 0) : 0;
	if (burst == 0 || burst > STOCK_SIG_BURST || DEPTH % burst != 0 ||
		(b.block_len != 512 && b.block_len != 4096))
		EMU_DIE("usage: bench_txn 512|4096 BURST engine|two|crypto|stock...");
	/* If the program executes itself again, it sets both variables. */
	if (getenv("SOFTHCA_CRYPTO") == NULL)
		setenv("SOFTHCA_THREADS", "0", 1);
	emu_setting(argv, "SOFTHCA_CRYPTO", "plaintext");
	emu_setting(argv, "SOFTHCA_THREADS", "0");
	env_init(1);
	bench_open(&b);
	stock_sig_open(&b.stock, DEPTH,
		b.block_len == 512 ? MLX5DV_BLOCK_SIZE_512 : MLX5DV_BLOCK_SIZE_4096, b.block_len);
	for (int i = 3; i < argc; i++)
		for (unsigned int k = 0; k < RTE_DIM(cases); k++)
			if (strcmp(cases[k].name, argv[i]) == 0)
				rounds(&b, &cases[k], burst);
	stock_sig_close(&b.stock);
	bench_close(&b);
	return 0;
}
