/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The setting `sig_stop`: a queue with SIG_PIPELINING may stop after the work request with a wrong
 * signature, or after any later work request before the next fenced work request
 * (mlx5dv_qp_cancel_posted_send_wrs(3)).
 */
#define CLOCK_START 0
#include "softhca_signature.h"
#include "virtual_clock.h"

#define BLOCK   512
#define UNIT    516
#define WRITES  8
#define OF_SEND WRITES /* wr_id of the fenced SEND after the writes */
#define RECV_AT 60000

/* A client with keys over its memory: each key has one block, which is followed by a CRC32. */
struct many {
	struct pair p;
	struct mlx5dv_mkey *mkey[WRITES];
	struct signature_domain domain;
	uint8_t data[WRITES * BLOCK];
	unsigned int landed; /* number of writes that have arrived at the server */
};

static const struct signature crc32 = {.kind = CRC32, .ones = true};

static void
start(struct many *m)
{
	pair_init(&m->p, &(struct pair_opts){.keys = true,
				 .max_send_wr = 128,
				 .dv_flags = MLX5DV_QP_CREATE_SIG_PIPELINING |
					     MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE});
	for (unsigned int i = 0; i < WRITES; i++)
		m->mkey[i] = signature_create_key(m->p.pd);
	signature_domain(&m->domain, &crc32, MLX5DV_BLOCK_SIZE_512, 0);
}

static void
end(struct many *m)
{
	for (unsigned int i = 0; i < WRITES; i++)
		CHECK_EQ(mlx5dv_destroy_mkey(m->mkey[i]), 0);
	pair_fini(&m->p);
}

/* Writes the configuration of the key that checks the signature of block i. */
static void
write_configure(struct many *m, unsigned int i)
{
	const struct mlx5dv_sig_block_attr sig = {.mem = &m->domain.d, .check_mask = 0xff};
	struct mlx5dv_mkey_conf_attr conf = {0};
	struct pair_end *e = &m->p.client;
	struct ibv_sge v = {(uintptr_t)e->buf + i * UNIT, UNIT, e->mr->lkey};

	e->qpx->wr_flags = IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(e->dvx, m->mkey[i], 3, &conf);
	mlx5dv_wr_set_mkey_access_flags(e->dvx, PAIR_ALL);
	mlx5dv_wr_set_mkey_layout_list(e->dvx, 1, &v);
	mlx5dv_wr_set_mkey_sig_block(e->dvx, &sig);
}

/*
 * Posts all configurations, an RDMA write through each key, and the SEND, with one doorbell. The
 * signatures of the blocks in `bad` are wrong. Only the SEND makes a completion.
 */
static void
post(struct many *m, unsigned int bad)
{
	struct pair_end *e = &m->p.client;

	signature_paint(&m->p, m->data, sizeof(m->data));
	signature_lay(&crc32, m->data, BLOCK, WRITES, e->buf);
	for (unsigned int i = 0; i < WRITES; i++)
		if ((bad >> i & 1) != 0)
			e->buf[i * UNIT + BLOCK] ^= 1;
	m->landed = 0;
	pair_post_recv(&m->p.server, OF_SEND, RECV_AT, 16);
	pair_publish(e);
	ibv_wr_start(e->qpx);
	for (unsigned int i = 0; i < WRITES; i++)
		write_configure(m, i);
	for (unsigned int i = 0; i < WRITES; i++) {
		e->qpx->wr_flags = 0;
		ibv_wr_rdma_write(e->qpx, m->p.server.mr->rkey,
			(uintptr_t)m->p.server.buf + i * BLOCK);
		ibv_wr_set_sge(e->qpx, m->mkey[i]->lkey, 0, BLOCK);
	}
	e->qpx->wr_id = OF_SEND;
	e->qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
	ibv_wr_send(e->qpx);
	ibv_wr_set_sge(e->qpx, e->mr->lkey, (uintptr_t)e->buf, 16);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
}

/* Returns how many writes have arrived; they arrive in order. */
static unsigned int
landed(const struct many *m)
{
	const uint8_t *to = m->p.server.buf;
	unsigned int n = 0;

	while (n < WRITES && memcmp(to + n * BLOCK, m->data + n * BLOCK, BLOCK) == 0)
		n++;
	for (unsigned int i = n * BLOCK; i < WRITES * BLOCK; i++)
		CHECK_EQ(to[i], 0x22);
	return n;
}

static enum ibv_qp_state
state(struct many *m)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQ(ibv_query_qp(m->p.client.qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

/*
 * Checks a stopped queue. The SEND must not have run. At least one more wrong signature must have
 * been found, and the key of each wrong signature that was found must report it once. Returns where
 * the queue stopped: the number of writes after the first wrong write of this stop.
 */
static unsigned int
check_stop(struct many *m, unsigned int bad)
{
	unsigned int first = m->landed, n;
	struct ibv_wc wc;

	/*
	 * The query returns after all steps of the adapter for this queue. TSan does not know that
	 * the event has the same effect.
	 */
	CHECK_EQ(state(m), IBV_QPS_SQD);
	n = landed(m);
	CHECK_EQ(ibv_poll_cq(m->p.client.cq, 1, &wc),
		0); /* gives the SIG_ERR completions to the keys */
	CHECK_EQ(ibv_poll_cq(m->p.server.cq, 1, &wc), 0);
	while (first < WRITES && (bad >> first & 1) == 0)
		first++;
	CHECK(first < n);
	for (unsigned int i = 0; i < WRITES; i++)
		CHECK_EQ(signature_key_error(m->mkey[i]).err_type,
			i >= m->landed && i < n && (bad >> i & 1) != 0
				? MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD
				: MLX5DV_MKEY_NO_ERR);
	m->landed = n;
	return n - first - 1;
}

/*
 * Resumes the queue at each stop, until the SEND has arrived. Adds to where[i] how often the queue
 * stopped i writes after a wrong write. Returns the number of stops.
 */
static unsigned int
run_all(struct many *m, unsigned int bad, unsigned int *where)
{
	unsigned int stops = 0;

	for (; (bad >> m->landed) != 0; stops++) {
		CHECK_EQ(pair_async(&m->p, CHECK_PATIENCE_MS), IBV_EVENT_SQ_DRAINED);
		where[check_stop(m, bad)]++;
		CHECK_EQ(pair_modify(&m->p.client, IBV_QPS_RTS), 0);
	}
	CHECK_EQ(pair_wait(&m->p.client).wr_id, OF_SEND);
	CHECK_EQ(pair_wait(&m->p.server).wr_id, OF_SEND);
	CHECK_EQ(landed(m), WRITES);
	CHECK_EQ(state(m), IBV_QPS_RTS);
	CHECK_EQ(pair_async(&m->p, 0), -1);
	return stops;
}

/*
 * The first block is wrong: over many runs the queue must stop after each number of later writes,
 * and never after the fence.
 */
static void
case_places(void)
{
	unsigned int where[WRITES] = {0};
	struct many m;

	start(&m);
	for (unsigned int i = 0; i < 200; i++) {
		post(&m, 1);
		CHECK_EQ(run_all(&m, 1, where), 1);
	}
	for (unsigned int i = 0; i < WRITES; i++)
		CHECK(where[i] != 0);
	end(&m);
}

/*
 * All combinations of wrong blocks: there must be stops for several wrong blocks, and runs with
 * several stops.
 */
static void
case_several(void)
{
	unsigned int where[WRITES] = {0}, stops = 0, bits = 0;
	struct many m;

	start(&m);
	for (unsigned int bad = 0; bad < 1 << WRITES; bad += 5) {
		post(&m, bad);
		stops += run_all(&m, bad, where);
		bits += (unsigned int)__builtin_popcount(bad);
	}
	/* There must be at least one wrong block for each stop. */
	CHECK(stops < bits);
	CHECK(stops > 1 << WRITES / 5);
	end(&m);
}

/*
 * No work request follows the wrong block: the queue must stop there, and must not run work
 * requests that are posted later.
 */
static void
case_end(void)
{
	struct many m;

	start(&m);
	for (unsigned int i = 0; i < 20; i++) {
		unsigned int where[WRITES] = {0};

		post(&m, 1u << (WRITES - 1));
		CHECK_EQ(run_all(&m, 1u << (WRITES - 1), where), 1);
		CHECK_EQ(where[0], 1);
	}
	end(&m);
}

/*
 * A fault delays the second write while the queue is stopping. Meanwhile the program stops the
 * queue itself, or resets it: at most one event may be sent for the stop, and later work requests
 * must run to their end.
 */
static void
other_end(struct many *m, bool reset)
{
	/*
	 * The fault applies after 16 WQEs that configure keys, and after the write with the wrong
	 * block.
	 */
	CHECK_EQ(softhca_fault("late op=18 ms=2"), 0);
	/*
	 * The clock is stopped, so the write waits until the test has seen this, also on a slow
	 * machine.
	 */
	clock_stop();
	post(m, 1);
	for (unsigned int i = 0; i < 10; i++)
		softhca_pump();
	CHECK_EQ(landed(m), 1);
	clock_ns = 0;
	CHECK_EQ(pair_modify(&m->p.client, reset ? IBV_QPS_RESET : IBV_QPS_SQD), 0);
	if (!reset) {
		CHECK_EQ(pair_async(&m->p, CHECK_PATIENCE_MS), IBV_EVENT_SQ_DRAINED);
		CHECK_EQ(check_stop(m, 1), landed(m) - 1);
		CHECK_EQ(pair_modify(&m->p.client, IBV_QPS_RTS), 0);
	} else {
		/* the queue may have stopped before the second write */
		while (pair_async(&m->p, 0) != -1)
			;
		softhca_faults_clear();
		pair_connect(&m->p, &m->p.client, m->p.server.qp->qp_num);
		post(m, 0);
	}
	CHECK_EQ(pair_wait(&m->p.client).wr_id, OF_SEND);
	CHECK_EQ(landed(m), WRITES);
	CHECK_EQ(pair_async(&m->p, 0), -1);
}

static void
case_other_ends(void)
{
	for (unsigned int i = 0; i < 20 && pair_is_pumped(); i++) {
		struct many m;

		start(&m);
		other_end(&m, i % 2 != 0);
		end(&m);
	}
}

static const struct check_case cases[] = {
	{"the queue stops at every place up to the fence, and not after it", case_places},
	{"several signatures may be wrong in one stop", case_several},
	{"the queue stops where its work ends", case_end},
	{"the program stops or resets a queue that is stopping", case_other_ends},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
