/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with an engine, for the tests of gantry-top, which display the engine's state. The
 * engine has a worker that copies, a queue with two peers, a failure and a transaction. The program
 * prints "ready", and ends when its standard input ends.
 *
 * usage: looked_at PREFIX
 */
#include <poll.h>
#include <stdio.h>

#include <rte_common.h>
#include <rte_eal.h>

#include "gantry_env.h"

#define LEN 4096

/* Copies until standard input ends. */
static void
copy_until_the_end(struct gantry_worker *w, struct gantry_desc d)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	struct gantry_comp comp;

	while (poll(&in, 1, 1) == 0) {
		CHECK_EQ(gantry_enqueue_burst(w, &d, 1), 1);
		while (env_dequeue(w, &comp, 1) == 0)
			;
	}
}

/* Checks the signature of a block of zeros, whose guard is zero. */
static void
check_one_block(struct gantry *g, struct gantry_queue *q, const uint8_t *zeros)
{
	const struct gantry_profile_conf conf = {.mem = {GANTRY_SIG_T10DIF_CRC, 512, 0},
		.check = GANTRY_SIG_GUARD};
	const struct gantry_sge data = {(uintptr_t)zeros, 520};
	struct gantry_txn t = {.op = GANTRY_OP_WRITE, .n_data = 1, .data = &data};

	CHECK_EQ(gantry_profile_create(g, &conf, &t.profile), 0);
	CHECK_EQ(env_do_one(q, (struct gantry_desc){.op = GANTRY_OP_TXN,
				       .peer = GANTRY_PEER_OWN,
				       .src = (uintptr_t)&t,
				       .len = 512}),
		GANTRY_OK);
	CHECK_EQ(gantry_profile_destroy(g, t.profile), 0);
}

int
main(int argc, char **argv)
{
	const struct gantry_queue_conf conf = {.depth = 64, .transactions = 1};
	struct gantry_mem *mem;
	struct gantry_worker *w;
	struct gantry_queue *q;
	struct gantry_desc d;
	struct gantry *g;
	uint16_t a, b;
	uint8_t *p;

	CHECK_EQ(argc, 2);
	env_init_with_telemetry(1, argv[1]);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	p = env_mem(g, 2 * LEN, ENV_REMOTE, &mem);
	d = env_copy(p, p + LEN, LEN);
	CHECK_EQ(gantry_worker_create(g, 1, NULL, &w), 0);
	CHECK_EQ(gantry_worker_start(w), 0);
	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	env_connect(q, &a, q, &b);
	CHECK_EQ(env_do_one(q, WITH(WITH(WITH(d, op, GANTRY_OP_WRITE), peer, a), remote_key, 1)),
		GANTRY_REMOTE_ACCESS);
	check_one_block(g, q, p);
	puts("ready");
	fflush(stdout);
	copy_until_the_end(w, d);
	CHECK_EQ(gantry_peer_close(q, a), 0);
	CHECK_EQ(gantry_peer_close(q, b), 0);
	env_queue_done(q);
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
	return env_done(g, &mem, 1);
}
