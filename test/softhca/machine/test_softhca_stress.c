/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The adapter under load: 4 threads and 64 QPs that share doorbell pages, and every byte is
 * checked. Then the adapter is opened and closed many times: no descriptor may stay open, and no
 * memory may stay allocated.
 *
 * usage: test_softhca_stress [OPERATIONS [CYCLES [SEED]]]     usertools/stress.sh has the long form
 */
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "hwq_emu.h"
#include "hwq_srq.h"

#define N_THREADS 4
#define QPS_EACH  16 /* number of QPs in one thread domain; they share its doorbell register */
#define SLOTS     8  /* number of operations in one burst of one queue */
#define SLOT_LEN  2048

#ifdef __SANITIZE_THREAD__
#define DEFAULT_OPS    40000
#define DEFAULT_CYCLES 30
#elif defined(__SANITIZE_ADDRESS__)
#define DEFAULT_OPS    200000
#define DEFAULT_CYCLES 100
#else
#define DEFAULT_OPS    800000
#define DEFAULT_CYCLES 300
#endif

static struct hwq_dev *dev;
static struct hwq_mr mr;
static bool pumped;

/*
 * The memory of one queue: sources, destinations, and the memory that is read. No other queue uses
 * it.
 */
struct lines {
	uint8_t src[SLOTS][SLOT_LEN], dst[SLOTS][SLOT_LEN];
};

struct queue {
	struct hwq_qp *qp;
	struct lines *lines;
	uint32_t len[SLOTS];
};

struct worker {
	struct hwq_domain *domain;
	struct hwq_cq *cq;
	struct queue queues[QPS_EACH];
	uint64_t seed, left, done, bytes;
	pthread_t thread;
} __attribute__((aligned(64)));

static struct worker workers[N_THREADS];

static void
fill(uint8_t *p, uint32_t len, uint64_t *seed)
{
	for (uint32_t i = 0; i < len; i += 8) {
		uint64_t word = check_random(seed);

		memcpy(p + i, &word, len - i < 8 ? len - i : 8);
	}
}

/* Posts one operation that moves src to dst, with one of several opcodes. */
static void
post(struct worker *w, struct queue *q, unsigned int slot, unsigned int flags)
{
	struct hwq_sq *sq = &q->qp->sq;
	uint64_t random = check_random(&w->seed);
	uint64_t src = (uintptr_t)q->lines->src[slot], dst = (uintptr_t)q->lines->dst[slot];
	uint32_t len = 1 + (uint32_t)(random >> 8) % (SLOT_LEN - 1), half = len / 2;
	int ret;

	switch (random % 5) {
	case 0:
		ret = hwq_wqe_memcpy(sq, mr.lkey, dst, mr.lkey, src, len, flags);
		break;
	case 1:
		ret = hwq_wqe_rdma_read(sq, mr.rkey, src, mr.lkey, dst, len, flags);
		break;
	case 2:
		len = 1 + len % 100;
		ret = hwq_wqe_inline(sq, MLX5_OPCODE_RDMA_WRITE, mr.rkey, dst, q->lines->src[slot],
			len, flags, 0);
		break;
	case 3: {
		struct hwq_sge sge[2] = {{src, half, mr.lkey}, {src + half, len - half, mr.lkey}};

		ret = hwq_wqe_list(sq, MLX5_OPCODE_RDMA_WRITE, mr.rkey, dst, sge, 2, flags);
		break;
	}
	default:
		ret = hwq_wqe_rdma_write(sq, mr.rkey, dst, mr.lkey, src, len, flags);
	}
	if (ret <= 0)
		EMU_DIE("posting: %d", ret);
	q->len[slot] = len;
	w->bytes += len;
}

static void
burst(struct worker *w, struct queue *q)
{
	for (unsigned int slot = 0; slot < SLOTS; slot++) {
		fill(q->lines->src[slot], SLOT_LEN, &w->seed);
		memset(q->lines->dst[slot], 0, SLOT_LEN);
		post(w, q, slot, slot == SLOTS - 1 ? HWQ_WQE_SIGNALED : 0);
	}
	hwq_sq_ring(&q->qp->sq);
}

static void
check(struct queue *q)
{
	static const uint8_t zeros[SLOT_LEN];

	for (unsigned int slot = 0; slot < SLOTS; slot++) {
		const uint8_t *dst = q->lines->dst[slot];
		uint32_t len = q->len[slot];

		if (memcmp(dst, q->lines->src[slot], len) != 0 ||
			memcmp(dst + len, zeros, SLOT_LEN - len) != 0)
			EMU_DIE("QP 0x%x, slot %u: %u bytes did not arrive as sent", q->qp->qpn,
				slot, len);
	}
}

static void
reap(struct worker *w)
{
	uint64_t end = emu_now_ns() + CHECK_PATIENCE_NS;

	for (unsigned int n = 0; n < QPS_EACH;) {
		struct hwq_cqe cqe;

		if (hwq_cq_poll(w->cq, &cqe, 1) == 0) {
			if (!pumped || softhca_pump() == 0)
				sched_yield();
			if (emu_now_ns() > end)
				EMU_DIE("no completion comes");
			continue;
		}
		if (cqe.syndrome != 0)
			EMU_DIE("QP 0x%x fails with syndrome 0x%x", cqe.qpn, cqe.syndrome);
		for (unsigned int i = 0; i < QPS_EACH; i++)
			if (w->queues[i].qp->qpn == cqe.qpn)
				hwq_sq_complete(&w->queues[i].qp->sq, cqe.wqe_counter);
		n++;
	}
}

static void *
work(void *arg)
{
	struct worker *w = arg;

	while (w->left > w->done) {
		for (unsigned int i = 0; i < QPS_EACH; i++)
			burst(w, &w->queues[i]);
		reap(w);
		for (unsigned int i = 0; i < QPS_EACH; i++)
			check(&w->queues[i]);
		w->done += QPS_EACH * SLOTS;
	}
	return NULL;
}

static void
worker_create(struct worker *w, struct lines *lines)
{
	struct hwq_qp_conf conf = {.sq_wr = 2 * SLOTS, .max_inline = 128, .max_sge = 2};
	int ret = hwq_domain_create(dev, &w->domain);

	conf.mmo = true;
	if (ret == 0)
		ret = hwq_cq_create(w->domain, QPS_EACH * hwq_qp_cqe_needed(&conf), &w->cq);
	for (unsigned int i = 0; ret == 0 && i < QPS_EACH; i++) {
		w->queues[i].lines = &lines[i];
		ret = hwq_qp_create(w->domain, w->cq, &conf, &w->queues[i].qp);
	}
	if (ret != 0)
		EMU_DIE("creating queues: %s", strerror(-ret));
}

/* Connects queue i of a thread to queue i of the next thread. */
static void
connect_all(void)
{
	for (unsigned int t = 0; t < N_THREADS; t++) {
		for (unsigned int i = 0; i < QPS_EACH; i++) {
			struct hwq_addr addr;

			hwq_qp_addr(workers[t ^ 1].queues[i].qp, &addr);
			if (hwq_qp_connect(workers[t].queues[i].qp, &addr) != 0)
				EMU_DIE("connecting");
		}
	}
}

static void
case_load(uint64_t ops, uint64_t seed)
{
	const size_t len = sizeof(struct lines) * N_THREADS * QPS_EACH;
	struct lines *lines = aligned_alloc(4096, len);
	uint64_t done = 0, bytes = 0;

	if (lines == NULL ||
		hwq_mr_register(dev, lines, len,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
			&mr) != 0)
		EMU_DIE("memory");
	for (unsigned int t = 0; t < N_THREADS; t++)
		worker_create(&workers[t], lines + t * QPS_EACH);
	connect_all();
	for (unsigned int t = 0; t < N_THREADS; t++) {
		workers[t].seed = seed + t;
		workers[t].left = ops / N_THREADS;
		if (pthread_create(&workers[t].thread, NULL, work, &workers[t]) != 0)
			EMU_DIE("a thread");
	}
	for (unsigned int t = 0; t < N_THREADS; t++) {
		pthread_join(workers[t].thread, NULL);
		done += workers[t].done;
		bytes += workers[t].bytes;
	}
	printf("  %llu operations, %llu bytes, seed %llu\n", (unsigned long long)done,
		(unsigned long long)bytes, (unsigned long long)seed);
	for (unsigned int t = 0; t < N_THREADS; t++) {
		for (unsigned int i = 0; i < QPS_EACH; i++)
			CHECK_EQ(hwq_qp_destroy(workers[t].queues[i].qp), 0, "destroying a QP");
		CHECK_EQ(hwq_cq_destroy(workers[t].cq), 0, "destroying a CQ");
		CHECK_EQ(hwq_domain_destroy(workers[t].domain), 0, "destroying a domain");
	}
	CHECK_EQ(hwq_mr_deregister(&mr), 0, "deregistering");
	CHECK_EQ(softhca_violations(), 0, "violations");
	free(lines);
}

/* ---- one SRQ for all threads */

#define MESSAGES 2000 /* number of messages of one thread */
#define IN_TURN  4    /* number of messages that a thread sends before it waits */

/*
 * The queue pairs of all threads receive from this SRQ. No receive is posted while the threads run.
 */
static struct hwq_srq *shared;
static atomic_uint taken[32768]; /* number of times that each entry was used */

static void
send_one(struct worker *w, struct hwq_sq *sq, unsigned int *sent)
{
	uint32_t data = (uint32_t)(w - workers) * MESSAGES + (*sent)++;

	if (hwq_wqe_inline(sq, MLX5_OPCODE_SEND, 0, 0, &data, sizeof(data), HWQ_WQE_SIGNALED, 0) !=
		1)
		EMU_DIE("posting a send");
}

static void *
send_all(void *arg)
{
	struct worker *w = arg;
	struct hwq_sq *sq = &w->queues[0].qp->sq;
	unsigned int sent = 0, waiting = 0;
	uint64_t end = emu_now_ns() + CHECK_PATIENCE_NS;

	while (sent < MESSAGES || waiting != 0) {
		struct hwq_cqe cqe;

		while (waiting == 0 && sent < MESSAGES) {
			for (unsigned int i = 0; i < IN_TURN; i++)
				send_one(w, sq, &sent);
			waiting = 2 * IN_TURN;
			hwq_sq_ring(sq);
		}
		if (hwq_cq_poll(w->cq, &cqe, 1) == 0) {
			if (!pumped || softhca_pump() == 0)
				sched_yield();
			if (emu_now_ns() > end)
				EMU_DIE("no completion comes");
			continue;
		}
		if (cqe.syndrome != 0)
			EMU_DIE("QP 0x%x fails with syndrome 0x%x", cqe.qpn, cqe.syndrome);
		if (cqe.opcode == MLX5_CQE_REQ)
			hwq_sq_complete(sq, cqe.wqe_counter);
		else
			atomic_fetch_add(&taken[cqe.wqe_counter & shared->mask], 1);
		waiting--;
	}
	return NULL;
}

static void
case_shared(void)
{
	enum {
		N = N_THREADS * MESSAGES
	};
	const struct hwq_srq_conf srq_conf = {.n_wr = N, .max_sge = 1};
	struct hwq_qp_conf conf = {.sq_wr = IN_TURN, .max_inline = 4};
	static uint32_t received[N];
	static uint8_t seen[N];
	struct hwq_addr addr;

	if (hwq_mr_register(dev, received, sizeof(received), IBV_ACCESS_LOCAL_WRITE, &mr) != 0 ||
		hwq_srq_create(dev, &srq_conf, &shared) != 0)
		EMU_DIE("an SRQ");
	conf.srq = shared;
	for (uint32_t i = 0; i < N; i++) {
		const struct hwq_sge sge = {(uintptr_t)&received[i], sizeof(received[i]), mr.lkey};

		received[i] = UINT32_MAX;
		CHECK_EQ(hwq_srq_post_list(shared, i, &sge, 1), 0, "posting a receive");
	}
	hwq_srq_ring(shared);
	for (unsigned int t = 0; t < N_THREADS; t++) {
		struct worker *w = &workers[t];

		if (hwq_domain_create(dev, &w->domain) != 0 ||
			hwq_cq_create(w->domain, 2 * N, &w->cq) != 0 ||
			hwq_qp_create(w->domain, w->cq, &conf, &w->queues[0].qp) != 0)
			EMU_DIE("queues");
		hwq_qp_addr(w->queues[0].qp, &addr);
		if (hwq_qp_connect(w->queues[0].qp, &addr) != 0)
			EMU_DIE("connecting");
	}
	for (unsigned int t = 0; t < N_THREADS; t++)
		if (pthread_create(&workers[t].thread, NULL, send_all, &workers[t]) != 0)
			EMU_DIE("a thread");
	for (unsigned int t = 0; t < N_THREADS; t++)
		pthread_join(workers[t].thread, NULL);
	for (unsigned int i = 0; i < N; i++) {
		CHECK(received[i] < N && seen[received[i]]++ == 0, "receive %u: message %u", i,
			received[i]);
		CHECK_EQ(atomic_load(&taken[i]), 1, "completions of an entry");
	}
	for (unsigned int t = 0; t < N_THREADS; t++) {
		CHECK_EQ(hwq_qp_destroy(workers[t].queues[0].qp), 0, "destroying a QP");
		CHECK_EQ(hwq_cq_destroy(workers[t].cq), 0, "destroying a CQ");
		CHECK_EQ(hwq_domain_destroy(workers[t].domain), 0, "destroying a domain");
	}
	CHECK_EQ(hwq_srq_destroy(shared), 0, "destroying the SRQ");
	CHECK_EQ(hwq_mr_deregister(&mr), 0, "deregistering");
	CHECK_EQ(softhca_violations(), 0, "violations");
}

/* ---- cycles */

struct usage {
	unsigned int fds, mappings;
	size_t heap;
};

static struct usage
usage_now(void)
{
	struct usage u = {0};
	DIR *dir = opendir("/proc/self/fd");
	FILE *f = fopen("/proc/self/maps", "r");
	int c;

	if (dir == NULL || f == NULL)
		EMU_DIE("/proc");
	while (readdir(dir) != NULL)
		u.fds++;
	closedir(dir);
	while ((c = getc(f)) != EOF)
		u.mappings += c == '\n';
	fclose(f);
	u.heap = mallinfo2().uordblks;
	return u;
}

static void
cycle(void *mem, size_t len)
{
	struct hwq_qp_conf conf = {.sq_wr = 4, .rq_wr = 4};
	struct hwq_dev *own;
	struct hwq_cqe cqe;
	struct hwq_mr key;
	struct twin t;

	if (hwq_dev_open(NULL, &own) != 0)
		EMU_DIE("opening");
	twin_create(own, &conf, &t);
	twin_connect_self(&t);
	if (hwq_mr_register(own, mem, len, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		    &key) != 0)
		EMU_DIE("registering");
	if (hwq_wqe_rdma_write(&t.qp->sq, key.rkey, (uintptr_t)mem, key.lkey,
		    (uintptr_t)mem + len / 2, 64, HWQ_WQE_SIGNALED) != 1)
		EMU_DIE("posting");
	hwq_sq_ring(&t.qp->sq);
	if (!emu_wait(t.cq, &cqe) || cqe.syndrome != 0)
		EMU_DIE("the write did not complete");
	twin_destroy(&t);
	CHECK_EQ(hwq_mr_deregister(&key), 0, "deregistering");
	CHECK_EQ(hwq_dev_close(own), 0, "closing");
}

#define WARM_UP 50

static void
case_cycles(uint64_t cycles)
{
	const size_t len = 8192;
	void *mem = aligned_alloc(4096, len);
	struct usage before, after;
	uint64_t grew = 0;
	size_t most;

	if (mem == NULL)
		EMU_DIE("memory");
	memset(mem, 0, len);
	for (uint64_t i = 0; i < WARM_UP; i++)
		cycle(mem, len);
	before = usage_now();
	most = before.heap;
	for (uint64_t i = 0; i < cycles; i++) {
		size_t heap;

		cycle(mem, len);
		heap = mallinfo2().uordblks;
		grew += heap > most;
		most = heap > most ? heap : most;
	}
	after = usage_now();
	printf("  %llu cycles: %u descriptors, then %u; %u mappings, then %u; %zu bytes of heap, "
	       "then %zu; %llu cycles took more\n",
		(unsigned long long)cycles, before.fds, after.fds, before.mappings, after.mappings,
		before.heap, after.heap, (unsigned long long)grew);
	CHECK_EQ(after.fds, before.fds, "descriptors");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	/* The allocator may split a few mappings, so a small growth is allowed. */
	CHECK(after.mappings <= before.mappings + 8, "mappings leak");
	/*
	 * Tables of object numbers grow by large blocks, in few cycles, and a thread may free a
	 * block one cycle later. But if each cycle leaked an object, the heap would reach a new
	 * maximum in each cycle.
	 */
	CHECK(grew <= cycles / 10, "memory leaks");
#endif
	free(mem);
}

int
main(int argc, char **argv)
{
	uint64_t ops = argc > 1 ? strtoull(argv[1], NULL, 0) : DEFAULT_OPS;
	uint64_t cycles = argc > 2 ? strtoull(argv[2], NULL, 0) : DEFAULT_CYCLES;
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	const char *threads = getenv("SOFTHCA_THREADS");

	pumped = threads != NULL && strcmp(threads, "0") == 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	dev = emu_open();
	RUN("4 threads, 64 queue pairs: every byte arrives", case_load(ops, seed));
	RUN("4 threads receive from one SRQ: each entry is used once", case_shared());
	CHECK_EQ(hwq_dev_close(dev), 0, "close");
	RUN("after opening and closing, nothing is left open or allocated", case_cycles(cycles));
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
