/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A block target that protects its blocks with T10-DIF, and an initiator that uses the target.
 *
 *     initiator                              target
 *     SEND  request: WRITE 8 blocks    -->   GANTRY_OP_TXN: RDMA READ of the blocks, the device
 *                                                           adds the signatures
 *           response                   <--                  and sends the good response
 *     SEND  request: READ 8 blocks     -->   GANTRY_OP_TXN: RDMA WRITE of the blocks, the device
 *                                                           checks the signatures
 *           response                   <--                  and sends the good response
 *     ... a bit of the disk flips, and the next READ gets the bad response.
 *
 * Transfer and good response are posted together. When a signature is wrong, the device stops the
 * send queue before the response, and the engine sends the bad response instead. Here both ends are
 * in one process.
 *
 * usage: sig_target [EAL OPTIONS]      without huge pages: sig_target --no-huge -m 64
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "gantry.h"

#define BLOCK_LEN  512
#define STORED_LEN (BLOCK_LEN + 8) /* bytes of a block with its signature */
#define N_BLOCKS   8

/** The initiator's request: the numbers of the blocks, and their address in its memory. */
struct request {
	uint64_t addr;
	uint32_t remote_key;
	uint32_t lba; /* number of the first block */
	uint32_t n;   /* number of blocks */
	bool write;
};

static struct initiator {
	struct gantry_queue *q;
	uint16_t peer;
	uint32_t remote_key;
	struct request request;
	char response[8];
	uint8_t data[N_BLOCKS * BLOCK_LEN];
} initiator;

static struct target {
	struct gantry_queue *q;
	uint16_t peer;
	uint16_t profile;
	struct request request;
	char good[8], bad[8];
	uint8_t disk[N_BLOCKS * STORED_LEN];
	/* A transaction, and the objects that it points to, must not change until it completes. */
	struct gantry_txn txn;
	struct gantry_sge blocks;
	struct gantry_txn_part part;
} target;

/** Reports which call failed. The log lines before this line say what the user can do. */
static void
check(const char *call, int rc)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "sig_target: %s failed: %s. Correct what the lines above name.\n", call,
		rte_strerror(-rc));
	exit(1);
}

static void
check_status(uint8_t status)
{
	if (status == GANTRY_OK)
		return;
	fprintf(stderr, "sig_target: an operation failed: %s. gantry_desc.h says what to do.\n",
		gantry_status_name(status));
	exit(1);
}

/* ------------------------------------------------------------------ the target */

/**
 * Blocks have a T10-DIF signature on the disk, and none on the wire. The device checks all parts of
 * a signature.
 */
static void
target_init(struct target *t, struct gantry *g)
{
	const struct gantry_profile_conf conf = {
		.mem = {.kind = GANTRY_SIG_T10DIF_CRC,
			.block_size = BLOCK_LEN,
			.flags = GANTRY_SIG_REF_REMAP},
		.check = GANTRY_SIG_ALL,
	};

	strcpy(t->good, "good");
	strcpy(t->bad, "bad");
	check("gantry_profile_create()", gantry_profile_create(g, &conf, &t->profile));
}

static void
target_listen(struct target *t)
{
	const struct gantry_recv recv = {
		.addr = (uintptr_t)&t->request,
		.len = sizeof(t->request),
	};

	if (gantry_recv_post(t->q, t->peer, &recv, 1) != 1)
		check("gantry_recv_post()", -ENOBUFS);
}

/** Answers the request: one descriptor moves the blocks and sends the response. */
static void
target_answer(struct target *t)
{
	const struct request *r = &t->request;
	const struct gantry_desc desc = {
		.op = GANTRY_OP_TXN,
		.peer = t->peer,
		.src = (uintptr_t)&t->txn,
		.len = (uint64_t)r->n * BLOCK_LEN,
	};

	t->blocks = (struct gantry_sge){(uintptr_t)t->disk + r->lba * STORED_LEN,
		(uint64_t)r->n * STORED_LEN};
	t->part = (struct gantry_txn_part){
		.addr = r->addr,
		.len = (uint64_t)r->n * BLOCK_LEN,
		.remote_key = r->remote_key,
	};
	t->txn = (struct gantry_txn){
		.profile = t->profile,
		.op = r->write ? GANTRY_OP_READ : GANTRY_OP_WRITE,
		.data = &t->blocks,
		.n_data = 1,
		.part = &t->part,
		.n_parts = 1,
		.mem = {.ref_tag = r->lba}, /* T10-DIF: the low 32 bits of the block's number */
		.good = {(uintptr_t)t->good, sizeof(t->good), 0},
		.bad = {(uintptr_t)t->bad, sizeof(t->bad), 0},
	};
	/* The queue has room, because there is only one transaction at a time. */
	if (gantry_submit(t->q, &desc, 1) != 1)
		check("gantry_submit()", -ENOBUFS);
}

/** One iteration of the target's loop. */
static void
target_turn(struct target *t)
{
	struct gantry_recv_comp received;
	struct gantry_comp comp;

	if (gantry_recv_poll(t->q, &received, 1) == 1)
		target_answer(t);
	if (gantry_poll(t->q, &comp, 1) == 0)
		return;
	if (comp.status == GANTRY_SIG_ERROR)
		printf("target: block %u: 0x%" PRIx64 " stands behind it, its data make 0x%" PRIx64
		       "\n",
			t->request.lba + t->txn.error.block, t->txn.error.actual,
			t->txn.error.expected);
	else
		check_status(comp.status);
}

/* ------------------------------------------------------------------ the initiator */

/** Sends a request and waits for the response. Returns true if the response is good. */
static bool
initiator_ask(struct initiator *i, bool write)
{
	const struct gantry_recv recv = {
		.addr = (uintptr_t)i->response,
		.len = sizeof(i->response),
	};
	const struct gantry_desc desc = {
		.op = GANTRY_OP_SEND,
		.peer = i->peer,
		.src = (uintptr_t)&i->request,
		.len = sizeof(i->request),
	};
	struct gantry_recv_comp received;
	struct gantry_comp comp;
	unsigned int got = 0;

	i->request = (struct request){
		.addr = (uintptr_t)i->data,
		.remote_key = i->remote_key,
		.n = N_BLOCKS,
		.write = write,
	};
	target_listen(&target);
	if (gantry_recv_post(i->q, i->peer, &recv, 1) != 1 || gantry_submit(i->q, &desc, 1) != 1)
		check("gantry_submit()", -ENOBUFS);
	do {
		if (gantry_poll(i->q, &comp, 1) == 1)
			check_status(comp.status);
		target_turn(&target);
		got += gantry_recv_poll(i->q, &received, 1);
		/* Wait for the completion of the target's SEND, too. */
	} while (got == 0 || gantry_in_flight(i->q) != 0 || gantry_in_flight(target.q) != 0);
	check_status(received.status);
	printf("initiator: %s of %u blocks: the response is \"%s\"\n", write ? "WRITE" : "READ",
		i->request.n, i->response);
	return strcmp(i->response, "good") == 0;
}

/**
 * Writes blocks and reads them back. Then corrupts the disk, and reads the blocks again. Returns
 * true if all responses were as expected.
 */
static bool
initiator_run(struct initiator *i)
{
	unsigned int k;

	for (k = 0; k < sizeof(i->data); k++)
		i->data[k] = (uint8_t)(k * 7 + k / BLOCK_LEN);
	if (!initiator_ask(i, true))
		return false;
	memset(i->data, 0, sizeof(i->data));
	if (!initiator_ask(i, false))
		return false;
	for (k = 0; k < sizeof(i->data); k++)
		if (i->data[k] != (uint8_t)(k * 7 + k / BLOCK_LEN))
			return false;
	target.disk[5 * STORED_LEN + 100] ^= 1;
	return !initiator_ask(i, false) && target.txn.error.block == 5;
}

/* ------------------------------------------------------------------ setting up */

static void
connect_ends(void)
{
	const struct gantry_peer_conf from = {.recv_depth = 4};
	const struct gantry_peer_conf to = {.recv_depth = 4, .txn = GANTRY_TXN_PIPELINED};
	struct gantry_addr addr[2];

	check("gantry_peer_open()",
		gantry_peer_open(initiator.q, &from, &initiator.peer, &addr[0]));
	check("gantry_peer_open()", gantry_peer_open(target.q, &to, &target.peer, &addr[1]));
	check("gantry_peer_connect()", gantry_peer_connect(initiator.q, initiator.peer, &addr[1]));
	check("gantry_peer_connect()", gantry_peer_connect(target.q, target.peer, &addr[0]));
}

int
main(int argc, char **argv)
{
	const struct gantry_queue_conf with_transactions = {.transactions = 1};
	struct gantry_mem *mem[2];
	struct gantry *g;
	bool good;

	/*
	 * Makes registrations cheaper if DPDK's mlx4 plug-in is loaded. After an error the program
	 * may continue.
	 */
	if (gantry_before_eal() < 0)
		printf("sig_target: gantry_before_eal() does nothing here\n");
	if (rte_eal_init(argc, argv) < 0) {
		fprintf(stderr,
			"sig_target: EAL did not start: the lines above say why. Without huge pages, add "
			"--no-huge -m 64. While another DPDK program runs, add --file-prefix NAME.\n");
		return 1;
	}
	check("gantry_create()", gantry_create(NULL, &g));
	check("gantry_mem_register()",
		gantry_mem_register(g, &initiator, sizeof(initiator),
			GANTRY_MEM_REMOTE_WRITE | GANTRY_MEM_REMOTE_READ, &mem[0]));
	check("gantry_mem_register()", gantry_mem_register(g, &target, sizeof(target), 0, &mem[1]));
	initiator.remote_key = gantry_mem_remote_key(mem[0]);
	check("gantry_queue_create()", gantry_queue_create(g, NULL, &initiator.q));
	check("gantry_queue_create()", gantry_queue_create(g, &with_transactions, &target.q));
	connect_ends();
	target_init(&target, g);

	good = initiator_run(&initiator);

	check("gantry_queue_destroy()", gantry_queue_destroy(initiator.q));
	check("gantry_queue_destroy()", gantry_queue_destroy(target.q));
	check("gantry_profile_destroy()", gantry_profile_destroy(g, target.profile));
	check("gantry_mem_unregister()", gantry_mem_unregister(mem[0], 10000));
	check("gantry_mem_unregister()", gantry_mem_unregister(mem[1], 10000));
	check("gantry_destroy()", gantry_destroy(g));
	check("rte_eal_cleanup()", rte_eal_cleanup());
	printf("sig_target: %s\n",
		good ? "verified" : "the responses are not what the disk makes them");
	return good ? 0 : 1;
}
