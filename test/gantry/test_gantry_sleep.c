/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lcores without work: they sleep, or their CPU waits for a write to memory. Usually lcores also
 * poll by time, which would hide a lost wake-up. In this program they do not, so after a lost
 * wake-up the case fails at its time limit. This program emulates the CPU's wait as
 * rte_power_intrinsics.h describes it.
 */
#define ALLOW_EXPERIMENTAL_API /* rte_power_monitor() */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cpuflags.h>
#include <rte_cycles.h>
#include <rte_log.h>
#include <rte_power_intrinsics.h>
#include <rte_ring.h>

#include <softhca.h>

#include <gantry_log.h>
#include <gantry_loop.h>
#include <gantry_monitor.h>
#include <gantry_queue.h>
#include <gantry_sleep.h>
#include <gantry_worker.h>

#include "gantry_queue_life.h"

#include "gantry_arena.h"

#ifdef GANTRY_ALLOC_LIBC
#define ROUNDS 300 /* few rounds, because sanitizers are slow */
#else
#define ROUNDS 2000
#endif

static struct gantry_worker *
worker_on(unsigned int lcore, enum gantry_idle idle)
{
	const struct gantry_worker_conf conf = {.queue.depth = 16,
		.ring_size = 16,
		.burst = 4,
		.idle = idle};
	struct gantry_worker *w;

	CHECK_EQ(gantry_worker_create(g, lcore, &conf, &w), 0);
	return w;
}

/* Takes n completions, whose cookies must be *cookie, *cookie + 1, and so on. */
static void
take(struct gantry_worker *w, unsigned int n, uint64_t *cookie)
{
	uint64_t end = env_patience();
	struct gantry_comp comp;

	while (n != 0) {
		if (env_dequeue(w, &comp, 1) == 0) {
			CHECK(rte_get_timer_cycles() < end);
			continue;
		}
		CHECK_EQ(comp.cookie, (*cookie)++);
		CHECK_EQ(comp.status, GANTRY_OK);
		n--;
	}
}

static void
wait_until_asleep(unsigned int lcore, uint64_t more_than)
{
	uint64_t end = env_patience();

	while (gantry_loop_sleeps(lcore) <= more_than) {
		CHECK(rte_get_timer_cycles() < end);
		sched_yield();
	}
}

/* Returns a copy, or every third time a write to the peer, whose connection has its own CQ. */
static struct gantry_desc
work(uint64_t cookie, uint16_t peer)
{
	struct gantry_desc d = env_copy(src, dst, 1 + cookie % 4096);

	d.cookie = cookie;
	if (cookie % 3 == 0) {
		d.op = GANTRY_OP_WRITE;
		d.peer = peer;
		d.remote_key = gantry_mem_remote_key(dst_mem);
	}
	return d;
}

/* ------------------------------------------------------------------ a CPU that waits for writes */

/*
 * The linker redirects the library's calls to the functions below. Only one lcore waits at a time.
 * It notices a write only if the value changes; a real CPU notices every write.
 */
static struct {
	bool possible;
	_Atomic(const volatile void *) addr; /* the address that is watched, or NULL */
	atomic_bool woken;
	atomic_uint waits;  /* number of waits that began */
	atomic_uint states; /* bit 0: a CQE was watched; bit 1: the bell was watched */
} cpu = {.possible = true};

void __wrap_rte_cpu_get_intrinsics_support(struct rte_cpu_intrinsics *i);
int __wrap_rte_power_monitor(const struct rte_power_monitor_cond *cond, uint64_t tsc);
int __wrap_rte_power_monitor_wakeup(unsigned int lcore_id);

void
__wrap_rte_cpu_get_intrinsics_support(struct rte_cpu_intrinsics *i)
{
	i->power_monitor = cpu.possible;
}

static uint64_t
watched_value(const struct rte_power_monitor_cond *cond)
{
	if (cond->size == 1)
		return __atomic_load_n((volatile uint8_t *)cond->addr, __ATOMIC_ACQUIRE);
	CHECK_EQ(cond->size, 4);
	return __atomic_load_n((volatile uint32_t *)cond->addr, __ATOMIC_ACQUIRE);
}

int
__wrap_rte_power_monitor(const struct rte_power_monitor_cond *cond, uint64_t tsc)
{
	uint64_t before;

	atomic_store(&cpu.woken, false);
	atomic_store(&cpu.addr, cond->addr);
	before = watched_value(cond);
	if (cond->fn(before, cond->opaque) == 0) {
		atomic_fetch_add(&cpu.waits, 1);
		atomic_fetch_or(&cpu.states, cond->size == 1 ? 1 : 2);
		while (!atomic_load(&cpu.woken) && watched_value(cond) == before &&
			rte_rdtsc() < tsc)
			sched_yield();
	}
	atomic_store(&cpu.addr, NULL);
	return 0;
}

int
__wrap_rte_power_monitor_wakeup(unsigned int lcore_id)
{
	CHECK_EQ(lcore_id, 1);
	/* If the CPU begins to watch the address after a write, this write does not wake it. */
	if (atomic_load(&cpu.addr) != NULL)
		atomic_store(&cpu.woken, true);
	return 0;
}

/* Evaluates the condition for the next CQE as the CPU does. */
static bool
may_wait(const struct hwq_cq *cq, const struct gantry_bell *bell)
{
	struct rte_power_monitor_cond cond;

	gantry_monitor_cond(cq, bell, &cond);
	return cond.fn(watched_value(&cond), cond.opaque) == 0;
}

static void wait_for_cqe(const struct gantry_conn *c);

/* Runs over three laps of the CQ. In the first lap, the CQ has entries that were never written. */
static void
the_cpu_waits_exactly_while_no_completion_is_there(void)
{
	struct gantry_bell bell = {.state = GANTRY_BELL_MONITORS};
	struct gantry_queue *q = env_queue(g, 16);
	const struct gantry_conn *own = &q->conn[GANTRY_CONN_OWN];
	struct gantry_desc d = env_copy(src, dst, 64);
	struct gantry_comp comp;
	uint32_t i;

	for (i = 0; i < 3 * own->cq->n_cqe + 3; i++) {
		CHECK(may_wait(own->cq, &bell));
		CHECK_EQ(gantry_submit(q, &d, 1), 1);
		wait_for_cqe(own);
		CHECK(!may_wait(own->cq, &bell));
		env_collect(q, &comp, 1);
	}
	CHECK(may_wait(NULL, &bell));
	atomic_store(&bell.state, GANTRY_BELL_AWAKE);
	CHECK(!may_wait(own->cq, &bell));
	CHECK(!may_wait(NULL, &bell));
	env_queue_done(q);
}

static void
a_cpu_that_cannot_wait_for_writes_is_refused(void)
{
	struct gantry_worker_conf conf = {.idle = GANTRY_IDLE_MONITOR};
	struct gantry_worker *w;
	int level = rte_log_get_level(gantry_logtype);

	rte_log_set_level(gantry_logtype, RTE_LOG_CRIT);
	cpu.possible = false;
	CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), -ENOTSUP);
	cpu.possible = true;
	conf.idle = GANTRY_IDLE_MONITOR + 1;
	CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), -EINVAL);
	rte_log_set_level(gantry_logtype, level);
}

/* ------------------------------------------------------------------ cases */

/*
 * Pauses of many lengths, so that descriptors arrive before, while and after the lcore falls
 * asleep. Two workers share an lcore, so that it waits for up to four CQs.
 */
static void
storm(enum gantry_idle idle)
{
	struct gantry_worker *w[3] = {worker_on(1, idle), worker_on(1, GANTRY_IDLE_SLEEP),
		worker_on(2, GANTRY_IDLE_SLEEP)};
	uint64_t seed = 1, put[3] = {0}, got[3] = {0}, slept = gantry_loop_sleeps(1);
	struct gantry_queue *far = env_queue(g, 16);
	uint16_t peer[3], back;
	unsigned int i, k, n;

	for (k = 0; k < 3; k++)
		env_connect(gantry_worker_queue(w[k]), &peer[k], far, &back);
	CHECK_EQ(gantry_start(g), 0);
	for (i = 0; i < ROUNDS; i++) {
		k = check_random(&seed) % 3;
		for (n = 1 + check_random(&seed) % 4; n != 0; n--) {
			struct gantry_desc d = work(put[k], peer[k]);

			CHECK_EQ(gantry_enqueue_burst(w[k], &d, 1), 1);
			put[k]++;
			if (check_random(&seed) % 4 == 0)
				usleep(check_random(&seed) % 100);
		}
		if (check_random(&seed) % 2 == 0)
			usleep(check_random(&seed) % 200);
		take(w[k], put[k] - got[k], &got[k]);
	}
	CHECK(gantry_loop_sleeps(1) > slept);
	CHECK_EQ(gantry_stop(g), 0);
	for (k = 0; k < 3; k++)
		CHECK_EQ(gantry_worker_destroy(w[k]), 0);
	env_queue_done(far);
}

static void
no_wake_up_is_lost(void)
{
	storm(GANTRY_IDLE_SLEEP);
}

static void
no_write_is_missed(void)
{
	unsigned int waits = atomic_load(&cpu.waits);

	storm(GANTRY_IDLE_MONITOR);
	CHECK(atomic_load(&cpu.waits) > waits);
}

/*
 * An lcore must sleep while an operation is in flight, and must be woken by the late completion of
 * this operation.
 */
static void
complete_late(enum gantry_idle idle)
{
	struct gantry_worker *w = worker_on(1, idle);
	uint64_t cookie = 0, slept = gantry_loop_sleeps(1);
	struct gantry_desc d;
	unsigned int i;

	CHECK_EQ(gantry_worker_start(w), 0);
	for (i = 0; i < 10; i++) {
		usleep(1000);
		CHECK_EQ(softhca_fault("late ms=30"), 0);
		d = env_copy(src, dst, 64);
		d.cookie = i;
		CHECK_EQ(gantry_enqueue_burst(w, &d, 1), 1);
		take(w, 1, &cookie);
	}
	CHECK(gantry_loop_sleeps(1) > slept);
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
}

static void
a_late_completion_wakes_the_lcore(void)
{
	complete_late(GANTRY_IDLE_SLEEP);
	atomic_store(&cpu.states, 0);
	complete_late(GANTRY_IDLE_MONITOR);
	/* The lcore watched the CQE and, while nothing was in flight, the bell. */
	CHECK_EQ(atomic_load(&cpu.states), 3);
}

/*
 * The ring of completions is full. Dequeueing one completion frees an entry, and must wake the
 * lcore for a waiting descriptor.
 */
static void
room_for_completions_wakes_the_lcore(void)
{
	struct gantry_worker *w = worker_on(1, GANTRY_IDLE_SLEEP);
	uint64_t put = 0, got = 0, end = env_patience();

	CHECK_EQ(gantry_worker_start(w), 0);
	while (put < 32) {
		struct gantry_desc d = env_copy(src, dst, 64);

		d.cookie = put;
		put += gantry_enqueue_burst(w, &d, 1);
		CHECK(rte_get_timer_cycles() < end);
	}
	wait_until_asleep(1, gantry_loop_sleeps(1));
	take(w, 32, &got);
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
}

static void
a_sleeping_lcore_hears_of_starts_stops_and_peers(void)
{
	struct gantry_worker *w = worker_on(1, GANTRY_IDLE_SLEEP);
	struct gantry_queue *far = env_queue(g, 16);
	uint16_t peer, back;
	unsigned int i;

	CHECK_EQ(gantry_worker_start(w), 0);
	for (i = 0; i < 20; i++) {
		struct gantry_worker *other =
			worker_on(1, i % 2 == 0 ? GANTRY_IDLE_SLEEP : GANTRY_IDLE_SPIN);
		uint64_t cookie = 1;
		struct gantry_desc d;

		usleep(2000);
		env_connect(gantry_worker_queue(w), &peer, far, &back);
		CHECK_EQ(gantry_worker_start(other), 0);
		d = env_copy(src, dst, 64);
		d.cookie = 1;
		CHECK_EQ(gantry_enqueue_burst(other, &d, 1), 1);
		take(other, 1, &cookie);
		CHECK_EQ(gantry_worker_stop(other), 0);
		CHECK_EQ(gantry_worker_destroy(other), 0);
		CHECK_EQ(gantry_peer_close(gantry_worker_queue(w), peer), 0);
		CHECK_EQ(gantry_peer_close(far, back), 0);
	}
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
	env_queue_done(far);
}

/*
 * Workers that keep the lcore awake are started and stopped: the lcore must sleep exactly while all
 * its workers sleep.
 */
static void
one_worker_that_spins_keeps_the_lcore_awake(void)
{
	struct gantry_worker *sleeps[2] = {worker_on(1, GANTRY_IDLE_SLEEP),
		worker_on(1, GANTRY_IDLE_SLEEP)};
	struct gantry_worker *spins = worker_on(1, GANTRY_IDLE_SPIN);
	uint64_t slept = gantry_loop_sleeps(1), cookie[2] = {0}, spun = 0;
	unsigned int round, i, k;
	struct gantry_desc d;

	for (round = 0; round < 3; round++) {
		for (k = 0; k < 2; k++)
			CHECK_EQ(gantry_worker_start(sleeps[k]), 0);
		wait_until_asleep(1, slept);
		CHECK_EQ(gantry_worker_start(spins), 0);
		/* When a copy has completed, the lcore is awake and runs its loop. */
		d = env_copy(src, dst, 64);
		d.cookie = spun;
		CHECK_EQ(gantry_enqueue_burst(spins, &d, 1), 1);
		take(spins, 1, &spun);
		slept = gantry_loop_sleeps(1);
		for (i = 0; i < 10; i++) {
			k = i % 2;
			d.cookie = cookie[k];
			CHECK_EQ(gantry_enqueue_burst(sleeps[k], &d, 1), 1);
			take(sleeps[k], 1, &cookie[k]);
			usleep(1000);
		}
		CHECK_EQ(gantry_loop_sleeps(1), slept);
		/* One sleeping worker is stopped, and the other sleeping worker continues. */
		CHECK_EQ(gantry_worker_stop(sleeps[round % 2]), 0);
		CHECK_EQ(gantry_loop_sleeps(1), slept);
		CHECK_EQ(gantry_worker_stop(spins), 0);
		wait_until_asleep(1, slept);
		CHECK_EQ(gantry_worker_stop(sleeps[1 - round % 2]), 0);
		slept = gantry_loop_sleeps(1);
	}
	for (k = 0; k < 2; k++)
		CHECK_EQ(gantry_worker_destroy(sleeps[k]), 0);
	CHECK_EQ(gantry_worker_destroy(spins), 0);
}

/* ------------------------------------------------------------------ several workers that sleep */

/* The device refuses the repair this many times. Then the connection can be set up again. */
#define REFUSALS 5

/* Enqueues a descriptor, whose completion must have this status. */
static void
expect(struct gantry_worker *w, struct gantry_desc d, enum gantry_status status)
{
	uint64_t end = env_patience();
	struct gantry_comp comp;

	CHECK_EQ(gantry_enqueue_burst(w, &d, 1), 1);
	while (env_dequeue(w, &comp, 1) == 0)
		CHECK(rte_get_timer_cycles() < end);
	CHECK_EQ(comp.status, status);
}

/*
 * Three workers share an lcore, in any order: one has nothing in flight, one waits for a peer that
 * posts no receive, and the third has a connection that must be repaired. No event wakes the lcore
 * when the repair can be tried again. So the engine must limit the lcore's sleep; otherwise the
 * lcore sleeps for an hour.
 */
static void
repair_beside_others(unsigned int first, unsigned int conn)
{
	const struct gantry_profile_conf crc = {.mem = {GANTRY_SIG_CRC32C, 4096, 0},
		.check = GANTRY_SIG_GUARD};
	const struct gantry_worker_conf conf = {.queue.depth = 16,
		.queue.transactions = conn == GANTRY_CONN_TXN_OWN,
		.idle = GANTRY_IDLE_SLEEP};
	const struct gantry_peer_conf receives = {.recv_depth = 1};
	const struct gantry_peer_conf target_conf = {.transport = GANTRY_TRANSPORT_DC_TARGET};
	const struct gantry_peer_conf dc_conf = {.transport = GANTRY_TRANSPORT_DC};
	struct gantry_worker *w[3], *waits, *repairs;
	struct gantry_txn t = {.op = GANTRY_OP_WRITE, .n_data = 1};
	struct gantry_sge data = {(uintptr_t)dst, 4096 + sizeof(uint32_t)};
	enum gantry_status then = GANTRY_OK;
	struct gantry_queue *far = env_queue(g, 16);
	struct gantry_desc d = env_copy(src, dst, 64);
	struct gantry_desc send = {.op = GANTRY_OP_SEND};
	const struct gantry_recv recv = {.cookie = 1};
	struct gantry_addr near_addr, far_addr;
	uint64_t cookie = 0, end = env_patience();
	struct gantry_recv_comp comp;
	uint16_t peer, back, to, target;
	char line[80];
	unsigned int k;

	gantry_sleep_ms = 3600 * 1000;
	for (k = 0; k < 3; k++)
		CHECK_EQ(gantry_worker_create(g, 1, &conf, &w[k]), 0);
	waits = w[(first + 1) % 3];
	repairs = w[(first + 2) % 3];
	CHECK_EQ(gantry_peer_open(gantry_worker_queue(waits), NULL, &peer, &near_addr), 0);
	CHECK_EQ(gantry_peer_open(far, &receives, &back, &far_addr), 0);
	CHECK_EQ(gantry_peer_connect(gantry_worker_queue(waits), peer, &far_addr), 0);
	CHECK_EQ(gantry_peer_connect(far, back, &near_addr), 0);
	send.peer = peer;
	if (conn == GANTRY_CONN_DCI) {
		CHECK_EQ(gantry_peer_open(far, &target_conf, &target, &far_addr), 0);
		CHECK_EQ(gantry_peer_open(gantry_worker_queue(repairs), &dc_conf, &to, NULL), 0);
		CHECK_EQ(gantry_peer_connect(gantry_worker_queue(repairs), to, &far_addr), 0);
		d.op = GANTRY_OP_WRITE;
		d.peer = to;
		d.remote_key = gantry_mem_remote_key(dst_mem);
	}
	if (conn == GANTRY_CONN_TXN_OWN) {
		/*
		 * The data and their signature are zeros. The CRC of zeros is not 0, so the
		 * signature is wrong.
		 */
		memset(dst, 0, data.len);
		then = GANTRY_SIG_ERROR;
		CHECK_EQ(gantry_profile_create(g, &crc, &t.profile), 0);
		t.data = &data;
		d = (struct gantry_desc){.op = GANTRY_OP_TXN,
			.peer = GANTRY_PEER_OWN,
			.src = (uintptr_t)&t,
			.len = 4096};
	}
	for (k = 0; k < 3; k++)
		CHECK_EQ(gantry_worker_start(w[k]), 0);
	CHECK_EQ(gantry_enqueue_burst(waits, &send, 1), 1);
	while (env_stats(gantry_worker_queue(waits)).doorbells == 0)
		CHECK(rte_get_timer_cycles() < end);
	snprintf(line, sizeof(line), "refuse call=modify_qp errno=5 times=%d", REFUSALS);
	CHECK_EQ(softhca_fault(line), 0);
	snprintf(line, sizeof(line), "complete syndrome=0x04 qp=%u",
		gantry_worker_queue(repairs)->conn[conn].qp->qpn);
	CHECK_EQ(softhca_fault(line), 0);
	expect(repairs, d, GANTRY_LOCAL_ERROR);
	/* The descriptor waits until the repair succeeds. */
	expect(repairs, d, then);
	CHECK_EQ(softhca_faults_left(), 0);
	CHECK_EQ(env_stats(gantry_worker_queue(repairs)).recoveries, 1);
	CHECK_EQ(gantry_recv_post(far, back, &recv, 1), 1);
	take(waits, 1, &cookie);
	while (gantry_recv_poll(far, &comp, 1) == 0)
		CHECK(rte_get_timer_cycles() < end);
	CHECK_EQ(gantry_stop(g), 0);
	for (k = 0; k < 3; k++)
		CHECK_EQ(gantry_worker_destroy(w[k]), 0);
	env_queue_done(far);
	if (conn == GANTRY_CONN_TXN_OWN)
		CHECK_EQ(gantry_profile_destroy(g, t.profile), 0);
	gantry_sleep_ms = GANTRY_SLEEP_FOR_EVER;
}

/*
 * Two workers share an lcore, and wait for two peers each. The peers post their receives one after
 * the other, and each completion must wake the lcore.
 */
static void
wait_for_each(enum gantry_idle idle)
{
	enum {
		N = 4
	};
	struct gantry_worker *w[2] = {worker_on(1, idle), worker_on(1, idle)};
	const struct gantry_peer_conf receives = {.recv_depth = 1};
	struct gantry_desc send = {.op = GANTRY_OP_SEND};
	const struct gantry_recv recv = {.cookie = 1};
	struct gantry_queue *far = env_queue(g, 16);
	uint64_t end = env_patience();
	struct gantry_addr addr, far_addr;
	struct gantry_recv_comp recv_comp;
	uint16_t peer[N], back[N];
	struct gantry_comp comp;
	unsigned int first, i, k;

	for (i = 0; i < N; i++) {
		struct gantry_queue *q = gantry_worker_queue(w[i / 2]);

		CHECK_EQ(gantry_peer_open(q, NULL, &peer[i], &addr), 0);
		CHECK_EQ(gantry_peer_open(far, &receives, &back[i], &far_addr), 0);
		CHECK_EQ(gantry_peer_connect(q, peer[i], &far_addr), 0);
		CHECK_EQ(gantry_peer_connect(far, back[i], &addr), 0);
	}
	CHECK_EQ(gantry_start(g), 0);
	for (first = 0; first < N; first++) {
		for (i = 0; i < N; i++) {
			send.peer = peer[i];
			CHECK_EQ(gantry_enqueue_burst(w[i / 2], &send, 1), 1);
		}
		for (i = first; i < first + N; i++) {
			const struct gantry_queue *q = gantry_worker_queue(w[i % N / 2]);
			uint64_t cqes = env_stats(q).cqes;

			/* During this pause the lcore sleeps, or polls. */
			usleep(3000);
			CHECK_EQ(gantry_recv_post(far, back[i % N], &recv, 1), 1);
			while (gantry_recv_poll(far, &recv_comp, 1) == 0)
				CHECK(rte_get_timer_cycles() < end);
			while (env_stats(q).cqes == cqes)
				CHECK(rte_get_timer_cycles() < end);
		}
		for (k = 0; k < N; k++) {
			while (env_dequeue(w[k / 2], &comp, 1) == 0)
				CHECK(rte_get_timer_cycles() < end);
			CHECK_EQ(comp.status, GANTRY_OK);
		}
	}
	CHECK_EQ(gantry_stop(g), 0);
	for (i = 0; i < 2; i++)
		CHECK_EQ(gantry_worker_destroy(w[i]), 0);
	env_queue_done(far);
}

static void
every_connection_of_every_worker_wakes_the_lcore(void)
{
	wait_for_each(GANTRY_IDLE_SLEEP);
	wait_for_each(GANTRY_IDLE_MONITOR);
}

static void
one_repair_keeps_the_lcore_of_several_workers_awake(void)
{
	unsigned int first;

	for (first = 0; first < 3; first++)
		repair_beside_others(first, GANTRY_CONN_OWN);
}

static void
a_repair_of_the_dc_initiator_keeps_the_lcore_awake(void)
{
	unsigned int first;

	if (env_lacks(g, ENV_DC))
		return;
	for (first = 0; first < 3; first++)
		repair_beside_others(first, GANTRY_CONN_DCI);
}

static void
a_repair_for_local_transactions_keeps_the_lcore_awake(void)
{
	unsigned int first;

	if (env_lacks(g, ENV_SIGNATURES))
		return;
	for (first = 0; first < 3; first++)
		repair_beside_others(first, GANTRY_CONN_TXN_OWN);
}

/*
 * ------------------------------------------------------------------ the last checks before
 * sleeping
 */

/* Waits until the device has written a CQE of the connection. Nobody polls the CQE. */
static void
wait_for_cqe(const struct gantry_conn *c)
{
	uint64_t end = env_patience();

	while (!hwq_cq_is_ours(c->cq, c->cq->ci)) {
		CHECK(rte_get_timer_cycles() < end);
		env_pump();
	}
}

/*
 * A CQE that was written before the CQ was armed raises no event (ibv_req_notify_cq(3)). So the
 * lcore must not sleep while there is such a CQE.
 */
static void
nobody_sleeps_on_a_completion_that_is_there(void)
{
	const struct gantry_queue_conf conf = {.depth = 8};
	struct gantry_queue *q;
	struct gantry_comp comp;
	uint16_t peer, back;
	unsigned int i;

	CHECK_EQ(gantry_queue_create_with(g, &conf, true, &q), 0);
	env_connect(q, &peer, q, &back);
	CHECK(gantry_sleep_arm(q, false));
	/* Cookie 1 is a copy, cookie 0 a write to the peer. */
	for (i = 0; i < 2; i++) {
		struct gantry_desc d = work(i, peer);

		CHECK_EQ(gantry_submit(q, &d, 1), 1);
		wait_for_cqe(i == 1 ? &q->conn[GANTRY_CONN_OWN]
				    : &q->conn[gantry_queue_peer_conn(q, peer)]);
		CHECK(!gantry_sleep_arm(q, false));
		env_collect(q, &comp, 1);
		CHECK_EQ(comp.status, GANTRY_OK);
		CHECK(gantry_sleep_arm(q, false));
	}
	gantry_sleep_take_events(q);
	env_queue_done(q);
}

/* An owner that has only receives in flight must sleep until a receive of any peer completes. */
static void
the_receives_of_every_peer_wake_their_owner(void)
{
	const struct gantry_peer_conf conf = {.recv_depth = 2};
	const struct gantry_recv recv = {.cookie = 1};
	const struct hwq_cq *cq;
	struct gantry_queue *q;
	struct gantry_addr addr[2];
	uint16_t peer[2];
	unsigned int i;

	CHECK_EQ(gantry_queue_create_with(g, NULL, true, &q), 0);
	for (i = 0; i < 2; i++)
		CHECK_EQ(gantry_peer_open(q, &conf, &peer[i], &addr[i]), 0);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(gantry_peer_connect(q, peer[i], &addr[!i]), 0);
		CHECK_EQ(gantry_recv_post(q, peer[i], &recv, 1), 1);
	}
	CHECK_EQ(gantry_sleep_cqs(q, false, &cq), 0);
	CHECK_EQ(gantry_sleep_cqs(q, true, &cq), 2);
	for (i = 0; i < 2; i++)
		CHECK_EQ(gantry_peer_close(q, peer[i]), 0);
	while (gantry_recv_poll(q, &(struct gantry_recv_comp){0}, 1) != 0)
		;
	env_queue_done(q);
}

/*
 * One round of the lcore's loop calls gantry_worker_turn() for late.looked, and then for
 * late.looking. The linker redirects these calls to a function of this test. The function counts
 * rounds since the last descriptor of late.looked. In round `late.after`, at the end of the call
 * for late.looking, it enqueues a new descriptor to late.looked.
 */
#define NOT_YET (UINT32_MAX / 2)

static struct {
	/* number of rounds after the last descriptor; 0: no descriptor is enqueued */
	atomic_uint after;
	/* rounds since the last descriptor; NOT_YET until that descriptor is done */
	unsigned int turns;
	struct gantry_worker *looked, *looking;
} late;

bool __real_gantry_worker_turn(struct gantry_worker *w, bool stop);
bool __wrap_gantry_worker_turn(struct gantry_worker *w, bool stop);

bool
__wrap_gantry_worker_turn(struct gantry_worker *w, bool stop)
{
	unsigned int after = atomic_load(&late.after);
	bool busy = __real_gantry_worker_turn(w, stop);
	struct gantry_desc d;

	if (after == 0)
		return busy;
	if (busy && w == late.looked)
		late.turns = 0;
	if (w == late.looking && late.turns++ == after) {
		atomic_store(&late.after, 0);
		d = env_copy(src, dst, 64);
		CHECK_EQ(gantry_enqueue_burst(late.looked, &d, 1), 1);
	}
	return busy;
}

/*
 * The round in which the descriptor is enqueued varies: it is one of the last rounds before the
 * lcore announces that it sleeps, or the round after the announcement, which is the last round
 * before the lcore sleeps. The lcore must execute the descriptor in each case.
 */
static void
come_behind_the_last_look(enum gantry_idle idle)
{
	struct gantry_desc d = env_copy(src, dst, 64);
	uint64_t slept = gantry_loop_sleeps(1);
	unsigned int i;

	late.looking = worker_on(1, idle);
	late.looked = worker_on(1, idle);
	/* The lcore runs the worker first that was started last. */
	CHECK_EQ(gantry_worker_start(late.looking), 0);
	wait_until_asleep(1, slept);
	CHECK_EQ(gantry_worker_start(late.looked), 0);
	for (i = 0; i < 4; i++) {
		uint64_t first = 0, second = 0, end = env_patience();

		late.turns = NOT_YET;
		atomic_store(&late.after, GANTRY_IDLE_TURNS - 2 + i);
		CHECK_EQ(gantry_enqueue_burst(late.looked, &d, 1), 1);
		/* No completion is dequeued in this loop, because that would wake the lcore. */
		while (atomic_load(&late.after) != 0 ||
			env_stats(gantry_worker_queue(late.looked)).completed < 2 * (i + 1))
			CHECK(rte_get_timer_cycles() < end);
		take(late.looked, 1, &first);
		take(late.looked, 1, &second);
	}
	CHECK_EQ(gantry_stop(g), 0);
	CHECK_EQ(gantry_worker_destroy(late.looking), 0);
	CHECK_EQ(gantry_worker_destroy(late.looked), 0);
}

static void
what_comes_behind_the_last_look_is_seen(void)
{
	come_behind_the_last_look(GANTRY_IDLE_SLEEP);
	come_behind_the_last_look(GANTRY_IDLE_MONITOR);
}

/* ------------------------------------------------------------------ the bell */

/*
 * Returns true if the lcore was woken since the last call of this function. Then makes the lcore
 * wait again; `how` is the way in which it waits, GANTRY_BELL_*.
 */
static bool
was_woken(struct gantry_worker *w, unsigned int how)
{
	bool awake = atomic_exchange(&w->bell->state, how) == GANTRY_BELL_AWAKE, woken;
	eventfd_t count;

	if (how == GANTRY_BELL_SLEEPS)
		woken = eventfd_read(w->bell->fd, &count) == 0;
	else
		woken = atomic_exchange(&cpu.woken, false);
	CHECK_EQ(woken, awake);
	return woken;
}

/*
 * Each call that gives work to an lcore must wake the lcore at once. The worker does not run, so
 * nothing else wakes the lcore: the case itself waits in place of the lcore.
 */
static void
each_call_for_a_worker_wakes_its_lcore(void)
{
	static const struct {
		enum gantry_idle idle;
		enum gantry_producers producers;
		unsigned int how;
	} rows[] = {
		{GANTRY_IDLE_SLEEP, GANTRY_PRODUCERS_ONE, GANTRY_BELL_SLEEPS},
		{GANTRY_IDLE_SLEEP, GANTRY_PRODUCERS_MP, GANTRY_BELL_SLEEPS},
		{GANTRY_IDLE_SLEEP, GANTRY_PRODUCERS_MP_HTS, GANTRY_BELL_SLEEPS},
		{GANTRY_IDLE_MONITOR, GANTRY_PRODUCERS_ONE, GANTRY_BELL_MONITORS},
	};
	const struct gantry_desc nop = {.op = GANTRY_OP_NOP};
	const struct gantry_recv recv = {.cookie = 1};
	struct gantry_recv_comp recv_comp;
	struct gantry_comp comp;
	struct gantry_worker *w;
	unsigned int i;

	for (i = 0; i < RTE_DIM(rows); i++) {
		const struct gantry_worker_conf conf = {.recv_ring_size = 4,
			.producers = rows[i].producers,
			.idle = rows[i].idle};

		CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), 0);
		/*
		 * Completions of one descriptor and one receive are in the rings. The receive
		 * failed, because peer 9 does not exist.
		 */
		CHECK_EQ(gantry_enqueue_burst(w, &nop, 1), 1);
		CHECK_EQ(gantry_recv_enqueue_burst(w, 9, &recv, 1), 1);
		CHECK_EQ(gantry_worker_start(w), 0);
		env_wait_ring(w->out);
		env_wait_ring(w->recv_out);
		CHECK_EQ(gantry_worker_stop(w), 0);

		atomic_store(&cpu.addr, &rows[i]);
		atomic_store(&w->bell->state, rows[i].how);
		atomic_store(&cpu.woken, false);
		eventfd_read(w->bell->fd, &(eventfd_t){0});
		CHECK_EQ(gantry_dequeue_burst(w, &comp, 1), 1);
		CHECK(was_woken(w, rows[i].how));
		CHECK_EQ(gantry_recv_dequeue_burst(w, &recv_comp, 1), 1);
		CHECK(was_woken(w, rows[i].how));
		CHECK_EQ(gantry_enqueue_burst(w, &nop, 1), 1);
		CHECK(was_woken(w, rows[i].how));
		CHECK_EQ(gantry_recv_enqueue_burst(w, 9, &recv, 1), 1);
		CHECK(was_woken(w, rows[i].how));
		atomic_store(&cpu.addr, NULL);

		atomic_store(&w->bell->state, GANTRY_BELL_AWAKE);
		CHECK_EQ(gantry_reclaim_burst(w, &(struct gantry_desc){0}, 1), 1);
		CHECK_EQ(gantry_recv_reclaim_burst(w, &(uint16_t){0}, &(struct gantry_recv){0}, 1),
			1);
		CHECK_EQ(gantry_worker_destroy(w), 0);
	}
}

static unsigned int
open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	CHECK(dir != NULL);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

/*
 * Each pair of workers has a bell, an epoll file and a channel. All of them must be closed. The
 * adapter may open files for its own use at any time, so the case allows some more open files, but
 * fewer than there are pairs.
 */
static void
workers_that_sleep_leave_no_open_files(void)
{
	enum {
		PAIRS = 20
	};
	unsigned int before = open_files(), i;

	for (i = 0; i < PAIRS; i++) {
		struct gantry_worker *a = worker_on(1, GANTRY_IDLE_SLEEP),
				     *b = worker_on(1, GANTRY_IDLE_MONITOR);

		CHECK_EQ(gantry_worker_destroy(a), 0);
		CHECK_EQ(gantry_worker_destroy(b), 0);
	}
	CHECK(open_files() < before + PAIRS);
}

/* ------------------------------------------------------------------ latency */

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Prints a time, for which there is no limit: from enqueueing one copy, after a pause, to its
 * completion.
 */
static void
the_latency_is_printed(void)
{
	static const enum gantry_idle idle[] = {GANTRY_IDLE_SPIN, GANTRY_IDLE_SLEEP};
	unsigned int i, k;

	for (k = 0; k < RTE_DIM(idle); k++) {
		struct gantry_worker *w = worker_on(1, idle[k]);
		uint64_t took[100], cookie = 0;

		CHECK_EQ(gantry_worker_start(w), 0);
		for (i = 0; i < RTE_DIM(took); i++) {
			struct gantry_desc d = env_copy(src, dst, 64);

			usleep(500);
			d.cookie = i;
			took[i] = rte_get_timer_cycles();
			CHECK_EQ(gantry_enqueue_burst(w, &d, 1), 1);
			take(w, 1, &cookie);
			took[i] = rte_get_timer_cycles() - took[i];
		}
		qsort(took, RTE_DIM(took), sizeof(took[0]), compare);
		printf("%s: median %.1f us; ", idle[k] == GANTRY_IDLE_SPIN ? "spin" : "sleep",
			took[RTE_DIM(took) / 2] * 1e6 / rte_get_timer_hz());
		CHECK_EQ(gantry_worker_stop(w), 0);
		CHECK_EQ(gantry_worker_destroy(w), 0);
	}
}

/*
 * The worker's only descriptor has failed, and its completion was dequeued. The device refuses the
 * repair for some time.
 */
static void
a_repair_goes_on_though_nothing_is_in_flight(void)
{
	static const enum gantry_idle idle[] = {GANTRY_IDLE_SLEEP, GANTRY_IDLE_MONITOR};
	uint8_t *page = env_map(4096);
	struct gantry_mem *mem;
	struct gantry_worker *w;
	unsigned int i;
	char line[80];

	for (i = 0; i < RTE_DIM(idle); i++) {
		w = worker_on(1, idle[i]);
		CHECK_EQ(gantry_mem_register(g, page, 4096, 0, &mem), 0);
		snprintf(line, sizeof(line), "refuse call=modify_qp errno=5 times=%d", REFUSALS);
		CHECK_EQ(softhca_fault(line), 0);
		CHECK_EQ(softhca_fault("complete syndrome=0x04"), 0);
		CHECK_EQ(gantry_worker_start(w), 0);
		expect(w, env_copy(page, dst, 64), GANTRY_LOCAL_ERROR);
		/* gantry_mem_unregister() waits for the repair. */
		CHECK_EQ(gantry_mem_unregister(mem, CHECK_PATIENCE_MS), 0);
		CHECK_EQ(softhca_faults_left(), 0);
		CHECK_EQ(env_stats(gantry_worker_queue(w)).recoveries, 1);
		CHECK_EQ(gantry_worker_stop(w), 0);
		CHECK_EQ(gantry_worker_destroy(w), 0);
	}
	env_unmap(page, 4096);
}

static const struct check_case cases[] = {
	{"the CPU waits exactly while there is no completion",
		the_cpu_waits_exactly_while_no_completion_is_there},
	{"a CPU that cannot wait for writes is refused",
		a_cpu_that_cannot_wait_for_writes_is_refused},
	{"no wake-up is lost", no_wake_up_is_lost},
	{"no write is missed", no_write_is_missed},
	{"a late completion wakes the lcore", a_late_completion_wakes_the_lcore},
	{"taking completions from a full ring wakes the lcore",
		room_for_completions_wakes_the_lcore},
	{"a sleeping lcore notices starts, stops and peers",
		a_sleeping_lcore_hears_of_starts_stops_and_peers},
	{"one worker that spins keeps the lcore awake",
		one_worker_that_spins_keeps_the_lcore_awake},
	{"every connection of every worker wakes the lcore",
		every_connection_of_every_worker_wakes_the_lcore},
	{"one repair keeps the lcore of several workers awake",
		one_repair_keeps_the_lcore_of_several_workers_awake},
	{"a repair of the DC initiator keeps the lcore awake",
		a_repair_of_the_dc_initiator_keeps_the_lcore_awake},
	{"a repair for local transactions keeps the lcore awake",
		a_repair_for_local_transactions_keeps_the_lcore_awake},
	{"a repair continues even if nothing is in flight",
		a_repair_goes_on_though_nothing_is_in_flight},
	{"no lcore sleeps while a completion is there",
		nobody_sleeps_on_a_completion_that_is_there},
	{"work that comes after the last check is noticed",
		what_comes_behind_the_last_look_is_seen},
	{"each call for a worker wakes its lcore", each_call_for_a_worker_wakes_its_lcore},
	{"receives of every peer wake their owner", the_receives_of_every_peer_wake_their_owner},
	{"workers that sleep leave no open files", workers_that_sleep_leave_no_open_files},
	{"the latency is printed", the_latency_is_printed},
};

int
main(int argc, char **argv)
{
	env_init(2);
	gantry_sleep_ms = GANTRY_SLEEP_FOR_EVER;
	arena_create(NULL);
	return arena_run(cases, RTE_DIM(cases), argc, argv);
}
