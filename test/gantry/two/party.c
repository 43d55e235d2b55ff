/* SPDX-License-Identifier: BSD-3-Clause */
/* A party: a process with an engine. Its queues are connected to the queues of the other party. */
#include <malloc.h>
#include <sys/mman.h>

#include <rte_log.h>

#include <softhca.h>

#include "gantry_log.h"
#include "two.h"

static const struct model_layout shapes[MODEL_LAYOUTS] = {
	{.n = 3, .rounds = 1, .len = 67, .block = {{0, 40, 0}, {100, 7, 0}, {60, 20, 0}}},
	{.n = 2, .rounds = 90, .len = 1080, .block = {{0, 8, 24}, {16, 4, 28}}},
	{.n = 1, .rounds = 33, .len = 33 * 64, .block = {{0, 64, 36}}},
};

#define RECV_ALL (QUEUES * LINKS * RECV_DEPTH * (size_t)RECV_LEN)

/*
 * Called while the party waits: runs its adapter, which may have work, and yields the CPU to the
 * other party.
 */
static void
serve(struct party *p, bool post_all)
{
	unsigned int i;

	env_pump();
	for (i = 0; i < QUEUES; i++) {
		if (p->connected && p->board->dead == 0)
			receives_post(&p->flow[i], post_all);
		receives_take(&p->flow[i]);
	}
	p->yield(p);
}

/* ------------------------------------------------------------------ memory */

static void
flow_open(struct party *p, unsigned int i, const struct gantry_info *info)
{
	const struct gantry_queue_conf conf = {
		.depth = 128,
		.unordered = i == 1,
		.deadline_ms = GANTRY_NO_DEADLINE,
	};
	struct flow *f = &p->flow[i];
	uint8_t *at = p->arena[p->n][i];
	struct model *m = &f->model;

	*f = (struct flow){.party = p, .i = i};
	CHECK_EQ(gantry_queue_create(p->g, &conf, &f->q), 0);
	CHECK_EQ(gantry_mem_register(p->g, at, HALF_LEN, 0, &f->home), 0);
	CHECK_EQ(gantry_mem_register(p->g, at + 2 * HALF_LEN, POOL_LEN, GANTRY_MEM_READ_ONLY,
			 &f->pool),
		0);
	*m = (struct model){
		.mem = at,
		.host_len = ARENA_LEN,
		.len = ARENA_LEN,
		.byte = calloc(ARENA_LEN, sizeof(*m->byte)),
		.region = {[HOME] = {.addr = (uintptr_t)at, .len = HALF_LEN, .there = true},
			[FAR] = {.addr = (uintptr_t)at + HALF_LEN,
				.len = HALF_LEN,
				.there = true,
				.remote = true},
			[POOL] = {.addr = (uintptr_t)at + 2 * HALF_LEN,
				.len = POOL_LEN,
				.there = true,
				.read_only = true}},
		.layout = p->layout,
		.max_msg_len = info->max_msg_len,
		.carriers = info->carriers,
	};
	CHECK(m->byte != NULL);
	model_adopt(m);
}

static void
party_open(struct party *p)
{
	const struct gantry_conf conf = {.rdma_copies = true};
	struct gantry_info info;
	unsigned int i;

	CHECK_EQ(gantry_create(&conf, &p->g), 0);
	env_need(p->g, ENV_LAYOUTS);
	env_need(p->g, ENV_DC);
	rte_log_set_level(gantry_logtype, RTE_LOG_EMERG);
	gantry_info_get(p->g, &info);
	p->recv = mmap(NULL, RECV_ALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p->recv != MAP_FAILED);
	CHECK_EQ(gantry_mem_register(p->g, p->recv, RECV_ALL, 0, &p->recv_mem), 0);
	for (i = 0; i < MODEL_LAYOUTS; i++) {
		const struct gantry_layout_conf shape = {shapes[i].block, shapes[i].n,
			shapes[i].rounds};

		p->layout[i] = shapes[i];
		CHECK_EQ(gantry_layout_create(p->g, &shape, &p->layout[i].id), 0);
		p->layout[i].there = true;
	}
	for (i = 0; i < QUEUES; i++)
		flow_open(p, i, &info);
}

static void
party_close(struct party *p)
{
	unsigned int i;

	for (i = 0; i < QUEUES; i++) {
		struct flow *f = &p->flow[i];

		CHECK_EQ(gantry_queue_destroy(f->q), 0);
		CHECK_EQ(gantry_mem_unregister(f->home, CHECK_PATIENCE_MS), 0);
		CHECK_EQ(gantry_mem_unregister(f->pool, CHECK_PATIENCE_MS), 0);
		free(f->model.byte);
	}
	for (i = 0; i < MODEL_LAYOUTS; i++)
		CHECK_EQ(gantry_layout_destroy(p->g, p->layout[i].id), 0);
	CHECK_EQ(gantry_mem_unregister(p->recv_mem, CHECK_PATIENCE_MS), 0);
	munmap(p->recv, RECV_ALL);
	CHECK_EQ(gantry_destroy(p->g), 0);
}

/* ------------------------------------------------------------------ connections */

/* Waits until the other party has reached the same step. Returns false if it has died. */
static bool
meet(struct party *p, unsigned int step)
{
	struct board *b = p->board;
	uint64_t end = now_ns() + CHECK_PATIENCE_NS;

	step += p->round * 16;
	b->step[p->n] = step;
	while (b->step[!p->n] < step) {
		if (b->dead != 0)
			return false;
		if (now_ns() > end)
			flow_fail(&p->flow[0], "the other party does not come to step %u",
				step % 16);
		serve(p, true);
	}
	return true;
}

static const struct gantry_path path = {
	.mask = GANTRY_PATH_TIMEOUT | GANTRY_PATH_RETRIES | GANTRY_PATH_MIN_RNR_TIMER,
	.timeout = RETRY_TIMEOUT,
	.retries = RETRIES,
	.min_rnr_timer = 2, /* 0.02 ms */
};

static void
end_open(struct flow *f, unsigned int i)
{
	struct party *p = f->party;
	struct gantry_peer_conf conf = {.path = path, .recv_depth = RECV_DEPTH};
	struct end *e = &f->end[i];
	struct gantry_addr *addr = &link_of(f, i)->addr[p->n];

	*e = (struct end){.memory = p->recv + (f->i * LINKS + i) * RECV_DEPTH * (size_t)RECV_LEN};
	if (i != DC_LINK) {
		CHECK_EQ(gantry_peer_open(f->q, &conf, &e->peer, addr), 0);
		e->target = e->peer;
		return;
	}
	conf.transport = GANTRY_TRANSPORT_DC_TARGET;
	CHECK_EQ(gantry_peer_open(f->q, &conf, &e->target, addr), 0);
	conf.transport = GANTRY_TRANSPORT_DC;
	conf.recv_depth = 0;
	CHECK_EQ(gantry_peer_open(f->q, &conf, &e->peer, NULL), 0);
}

/* Opens the connections, and registers memory for the other party. */
static void
ends_open(struct party *p)
{
	unsigned int i, k;

	p->open = true;
	for (i = 0; i < QUEUES; i++) {
		struct flow *f = &p->flow[i];
		struct far *far = &p->board->far[p->n][i];
		uint8_t *at = p->arena[!p->n][i] + HALF_LEN;

		CHECK_EQ(gantry_mem_register(p->g, at, HALF_LEN,
				 ENV_REMOTE | GANTRY_MEM_REMOTE_ATOMIC, &f->far),
			0);
		far->key = gantry_mem_remote_key(f->far);
		far->addr = gantry_mem_remote_addr(f->far, at);
		for (k = 0; k < LINKS; k++)
			end_open(f, k);
	}
}

static void
ends_connect(struct party *p)
{
	unsigned int i, k;

	for (i = 0; i < QUEUES; i++) {
		struct flow *f = &p->flow[i];
		const struct far *far = &p->board->far[!p->n][i];

		f->model.region[FAR].remote_key = far->key;
		f->model.region[FAR].remote_addr = far->addr;
		for (k = 0; k < LINKS; k++)
			CHECK_EQ(gantry_peer_connect(f->q, f->end[k].peer,
					 &link_of(f, k)->addr[!p->n]),
				0);
	}
	p->connected = true;
}

static void
flow_close_ends(struct flow *f)
{
	uint64_t end = now_ns() + CHECK_PATIENCE_NS;
	unsigned int i;

	for (i = 0; i < LINKS; i++) {
		struct end *e = &f->end[i];

		CHECK_EQ(gantry_peer_close(f->q, e->peer), 0);
		if (e->target != e->peer)
			CHECK_EQ(gantry_peer_close(f->q, e->target), 0);
		while (e->came != e->posted) {
			if (now_ns() > end)
				flow_fail(f, "link %u: %llu receives came of %llu", i,
					(unsigned long long)e->came, (unsigned long long)e->posted);
			serve(f->party, false);
		}
	}
	gantry_rest(f->q);
}

static void
ends_close(struct party *p)
{
	unsigned int i;

	p->open = p->connected = false;
	for (i = 0; i < QUEUES; i++)
		flow_close_ends(&p->flow[i]);
	/* gantry_mem_unregister() also waits for posted receives. */
	for (i = 0; i < QUEUES; i++)
		CHECK_EQ(gantry_mem_unregister(p->flow[i].far, CHECK_PATIENCE_MS), 0);
}

/* ------------------------------------------------------------------ a round */

static bool
flows_rest(const struct party *p)
{
	unsigned int i;

	for (i = 0; i < QUEUES; i++)
		if (p->flow[i].settled != p->flow[i].goal)
			return false;
	return true;
}

/* Draws and submits descriptors until all have completed. */
static void
work(struct party *p)
{
	uint64_t end = now_ns() + CHECK_PATIENCE_NS, before = 0, now;
	unsigned int i;

	while (!flows_rest(p)) {
		now = 0;
		for (i = 0; i < QUEUES; i++) {
			struct flow *f = &p->flow[i];

			flow_draw(f, check_random(&f->rng) % 20);
			flow_turn(f);
			now += f->settled;
		}
		if (now != before)
			end = now_ns() + CHECK_PATIENCE_NS;
		before = now;
		for (i = 0; now_ns() > end && i < QUEUES; i++)
			if (p->flow[i].settled != p->flow[i].goal)
				flow_fail(&p->flow[i], "nothing comes back");
		serve(p, false);
	}
}

static void
judge_bytes(struct party *p)
{
	unsigned int i;

	for (i = 0; i < QUEUES; i++)
		flow_judge(&p->flow[i]);
}

static void
begin_round(struct party *p)
{
	unsigned int i;

	p->board->step[p->n] = p->round * 16;
	/* If the connections are closed, no byte may have arrived since. */
	if (!p->connected)
		judge_bytes(p);
	for (i = 0; i < QUEUES; i++) {
		struct flow *f = &p->flow[i];

		f->goal += p->board->goal;
		f->rng = p->board->seed * UINT64_C(1000003) + p->n * 2 + i;
		if (!p->connected)
			messages_forget(f);
	}
}

static bool
some_link_is_hurt(const struct party *p)
{
	unsigned int i, k;

	for (i = 0; i < QUEUES; i++)
		for (k = 0; k < LINKS; k++)
			if (link_of(&p->flow[i], k)->hurt[0] || link_of(&p->flow[i], k)->hurt[1])
				return true;
	return false;
}

/* Plays a round. Returns false if the other party has died. */
static bool
play(struct party *p)
{
	uint64_t end;
	unsigned int i;
	bool closes;

	begin_round(p);
	if (!p->connected) {
		ends_open(p);
		if (!meet(p, 1))
			return false;
		ends_connect(p);
		if (!meet(p, 2))
			return false;
	}
	work(p);
	if (!meet(p, 3))
		return false;
	end = now_ns() + CHECK_PATIENCE_NS;
	for (i = 0; i < QUEUES; i++)
		while (!receives_are_there(&p->flow[i])) {
			if (now_ns() > end)
				flow_fail(&p->flow[i], "a message is lost");
			serve(p, true);
		}
	judge_bytes(p);
	closes = some_link_is_hurt(p) || p->board->seed % 4 == 0;
	if (!meet(p, 4))
		return false;
	if (closes)
		ends_close(p);
	for (i = 0; i < QUEUES; i++)
		messages_forget(&p->flow[i]);
	return meet(p, 5);
}

/* ------------------------------------------------------------------ after a death */

/*
 * Waits until the process has no more open files, and no more memory, than after an earlier death
 * of the other party.
 */
static void
judge_leaks(struct party *p)
{
	uint64_t end = now_ns() + CHECK_PATIENCE_NS;
	struct mallinfo2 m;
	unsigned int fds;

	for (;;) {
		m = mallinfo2();
		fds = check_count_fds();
		if (p->fds == 0 ||
			(fds <= p->fds && m.uordblks + m.hblkhd <= p->heap + (256u << 10)))
			break;
		if (now_ns() > end)
			flow_fail(&p->flow[0],
				"%u open files instead of %u, %zu bytes instead of %zu", fds,
				p->fds, m.uordblks + m.hblkhd, p->heap);
		serve(p, false);
	}
	p->fds = fds;
	p->heap = p->heap == 0 ? m.uordblks + m.hblkhd : RTE_MIN(p->heap, m.uordblks + m.hblkhd);
}

/*
 * Called when the other party has died. This party submits the rest of its descriptors and 40 more
 * for each queue. All connections fail, and the party closes them.
 */
static void
mourn(struct party *p)
{
	struct board *b = p->board;
	uint64_t ns;
	unsigned int i;

	while (b->dead != 2)
		serve(p, false);
	if (p->connected) {
		for (i = 0; i < QUEUES; i++)
			p->flow[i].goal += 40;
		work(p);
		ns = now_ns() - b->killed_ns;
		if (ns > b->longest_ns)
			b->longest_ns = ns;
		judge_bytes(p);
	}
	for (i = 0; i < QUEUES; i++)
		p->flow[i].goal = p->flow[i].settled;
	if (p->open)
		ends_close(p);
	judge_leaks(p);
	b->dead = 3;
}

void
party_run(struct party *p)
{
	struct board *b = p->board;

	party_open(p);
	while (!b->ends) {
		if (b->dead == 1 || b->dead == 2)
			mourn(p);
		if (b->round == p->round || b->dead != 0) {
			serve(p, true);
			continue;
		}
		alarm(4 * CHECK_PATIENCE_MS / 1000); /* kills a party whose call never returns */
		p->round = b->round;
		if (play(p))
			b->finished[p->n] = p->round;
	}
	alarm(0);
	if (p->open)
		ends_close(p);
	party_close(p);
	CHECK_EQ(softhca_violations(), 0);
}
