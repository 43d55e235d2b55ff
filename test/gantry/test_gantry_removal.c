/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that is registered and removed while queues use it: for which WQEs and how long
 * gantry_mem_unregister() waits, and the status of descriptors that name the memory.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include <softhca.h>

#include "gantry_engine.h"
#include "gantry_queue.h"
#include "gantry_worker.h"

#include "gantry_arena.h"

static bool pumped;

static struct gantry_mem *
mem_of(void *p, size_t len)
{
	struct gantry_mem *mem;

	CHECK_EQ(gantry_mem_register(g, p, len, GANTRY_MEM_REMOTE_WRITE | GANTRY_MEM_REMOTE_READ,
			 &mem),
		0);
	return mem;
}

/* ------------------------------------------------------------------ what a removal waits for */

static void
a_removal_waits_for_wqes_that_name_the_region(void)
{
	struct gantry_queue *q = env_queue(g, 8), *resting = env_queue(g, 8);
	uint8_t *m = env_map(4096);
	struct gantry_mem *mem = mem_of(m, 4096);
	struct gantry_desc d = env_copy(m, dst, 100);
	struct gantry_comp comp;

	/* This queue has looked the region up before, and its owner makes no further call. */
	CHECK_EQ(env_do_one(resting, d), GANTRY_OK);
	if (!pumped)
		CHECK_EQ(softhca_fault("late ms=50"), 0);
	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	CHECK_EQ(gantry_mem_unregister(mem, 0), -ETIMEDOUT);
	CHECK_EQ(gantry_mem_unregister(mem, 1), -ETIMEDOUT);
	/*
	 * The region is removed from the tree at once. This queue also does not find it, although
	 * the removal did not wait for this queue.
	 */
	CHECK_EQ(env_do_one(resting, d), GANTRY_NOT_REGISTERED);
	env_collect(q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	CHECK_EQ(env_do_one(q, d), GANTRY_NOT_REGISTERED);
	env_queue_done(q);
	env_queue_done(resting);
	env_unmap(m, 4096);
}

/*
 * For a descriptor that waits for a fence in software, memory is looked up when the descriptor is
 * issued: the descriptor is refused, because its region was removed before.
 */
static void
a_descriptor_that_waits_is_refused_when_its_region_has_gone(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *m = env_map(4096);
	struct gantry_mem *mem = mem_of(m, 4096);
	struct gantry_desc d[2] = {env_copy(src, dst, 100), env_copy(m, dst + 4096, 100)};
	struct gantry_comp comp[2];

	d[1].flags = GANTRY_DESC_FENCE;
	if (!pumped)
		CHECK_EQ(softhca_fault("late ms=50"), 0);
	CHECK_EQ(gantry_submit(q, d, 2), 2);
	/*
	 * No WQE names the region, but the engine does not know which regions the WQEs of a queue
	 * name.
	 */
	CHECK_EQ(gantry_mem_unregister(mem, 0), -ETIMEDOUT);
	env_collect(q, comp, 2);
	CHECK_EQ(comp[0].status, GANTRY_OK);
	CHECK_EQ(comp[1].status, GANTRY_NOT_REGISTERED);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	env_queue_done(q);
	env_unmap(m, 4096);
}

/*
 * A copy of many WQEs is issued in part when its region is removed. The remaining WQEs use the old
 * key, so the removal must wait for all WQEs of the copy.
 */
static void
a_split_copy_keeps_its_region_to_its_end(void)
{
	struct gantry_queue *q = env_queue(g, 2);
	struct gantry_info info;
	uint64_t len;
	uint8_t *m;
	struct gantry_mem *mem;
	struct gantry_desc d;
	struct gantry_comp comp;
	unsigned int waits = 0;

	gantry_info_get(g, &info);
	len = RTE_MIN(info.max_copy_len * 1024, ARENA_LEN);
	m = env_map(ARENA_LEN);
	env_fill(m, len, 3);
	memset(dst, 0, len);
	mem = mem_of(m, ARENA_LEN);
	d = env_copy(m, dst, len);
	if (!pumped)
		CHECK_EQ(softhca_fault("late ms=20"), 0);
	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	while (gantry_mem_unregister(mem, 0) == -ETIMEDOUT) {
		if (env_poll(q, &comp, 1) == 1)
			waits += 1000000;
		else
			waits++;
	}
	CHECK(waits >= 1000000 && waits < 2000000, "%u", waits);
	CHECK_EQ(comp.status, GANTRY_OK);
	CHECK(env_is_filled(dst, len, 3));
	env_queue_done(q);
	env_unmap(m, ARENA_LEN);
}

/*
 * A copy that names the region was flushed by another copy's failure, and is posted again with the
 * old key. This happens after all WQEs have ended that were outstanding when the removal began. It
 * happens even later if the device at first refuses to set the connection up. The removal must wait
 * for this copy.
 */
static void
a_removal_waits_for_copies_that_are_carried_out_again(void)
{
	uint64_t end = rte_get_timer_cycles() + 40 * rte_get_timer_hz();
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *m = env_map(4096);
	struct gantry_desc d[2] = {env_copy(src, dst, 64), env_copy(m, dst + 64, 64)};
	struct gantry_comp comp[2];
	struct gantry_mem *mem;
	uint32_t refusals;
	char line[60];

	for (refusals = 0; refusals <= 3; refusals += 3) {
		uint64_t replays = env_stats(q).replays;

		mem = mem_of(m, 4096);
		env_fill(m, 64, refusals);
		CHECK_EQ(softhca_fault("complete syndrome=0x04"), 0);
		snprintf(line, sizeof(line), "refuse call=modify_qp errno=16 times=%u", refusals);
		if (refusals != 0)
			CHECK_EQ(softhca_fault(line), 0);
		CHECK_EQ(gantry_submit(q, d, 2), 2);
		while (gantry_mem_unregister(mem, 0) == -ETIMEDOUT) {
			CHECK_EQ(env_poll(q, NULL, 0), 0);
			/*
			 * If the adapter has no thread, it does not run between the last poll and
			 * this poll.
			 */
			CHECK_EQ(gantry_poll(q, NULL, 0), 0);
			CHECK(rte_get_timer_cycles() < end);
		}
		CHECK_EQ(softhca_faults_left(), 0);
		/* The device has executed both copies. */
		CHECK_EQ(gantry_poll(q, comp, 2), 2);
		CHECK_EQ(comp[0].status, GANTRY_LOCAL_ERROR);
		CHECK_EQ(comp[1].status, GANTRY_OK);
		CHECK(env_is_filled(dst + 64, 64, refusals));
		CHECK_EQ(env_stats(q).replays, replays + 1);
	}
	env_queue_done(q);
	env_unmap(m, 4096);
}

static struct gantry_desc
send_to(uint16_t peer, const uint8_t *from)
{
	return (struct gantry_desc){.op = GANTRY_OP_SEND,
		.peer = peer,
		.src = (uintptr_t)from,
		.len = 100,
		.cookie = peer};
}

/*
 * SENDs to two peers wait for their receives. In each round, the SEND to one peer names the region,
 * and the SEND to the other peer is posted after the removal has begun. The removal must wait only
 * for the SEND that names the region.
 */
static void
a_removal_waits_for_every_peer_and_for_nothing_later(void)
{
	enum {
		N = 2
	};
	const struct gantry_queue_conf conf = {.depth = 16, .unordered = true};
	const struct gantry_peer_conf receives = {.recv_depth = 1};
	const struct gantry_recv recv = {.addr = (uintptr_t)dst, .len = 100};
	struct gantry_queue *q, *far = env_queue(g, 8);
	struct gantry_addr near_addr, far_addr;
	struct gantry_recv_comp recv_comp;
	uint8_t *m = env_map(4096);
	uint16_t a[N], b[N];
	struct gantry_comp comp;
	struct gantry_desc d;
	struct gantry_mem *mem;
	uint32_t old, i;

	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	for (i = 0; i < N; i++) {
		CHECK_EQ(gantry_peer_open(q, NULL, &a[i], &near_addr), 0);
		CHECK_EQ(gantry_peer_open(far, &receives, &b[i], &far_addr), 0);
		CHECK_EQ(gantry_peer_connect(q, a[i], &far_addr), 0);
		CHECK_EQ(gantry_peer_connect(far, b[i], &near_addr), 0);
	}
	for (old = 0; old < N; old++) {
		mem = mem_of(m, 4096);
		d = send_to(a[old], m);
		CHECK_EQ(gantry_submit(q, &d, 1), 1);
		CHECK_EQ(gantry_mem_unregister(mem, 0), -ETIMEDOUT);
		CHECK_EQ(env_poll(q, &comp, 1), 0);
		d = send_to(a[1 - old], src);
		CHECK_EQ(gantry_submit(q, &d, 1), 1);
		CHECK_EQ(env_poll(q, &comp, 1), 0);
		CHECK_EQ(gantry_mem_unregister(mem, 0), -ETIMEDOUT);
		for (i = 0; i < N; i++) {
			const uint32_t next = i == 0 ? old : 1 - old;

			CHECK_EQ(gantry_recv_post(far, b[next], &recv, 1), 1);
			env_collect(q, &comp, 1);
			CHECK_EQ(comp.cookie, a[next]);
			CHECK_EQ(comp.status, GANTRY_OK);
			while (gantry_recv_poll(far, &recv_comp, 1) == 0)
				env_pump();
			CHECK_EQ(recv_comp.status, GANTRY_OK);
			CHECK_EQ(env_poll(q, &comp, 1), 0);
			if (i == 0)
				CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
		}
	}
	env_queue_done(q);
	env_queue_done(far);
	env_unmap(m, 4096);
}

/*
 * The owner does not poll, so the completion stays in the CQ. After gantry_rest() the removal must
 * not wait for it.
 */
static void
an_owner_that_rests_holds_nothing_that_is_done(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *m = env_map(4096);
	struct gantry_mem *mem = mem_of(m, 4096);
	struct gantry_desc d = env_copy(m, dst, 64);
	uint64_t end = rte_get_timer_cycles() + 40 * rte_get_timer_hz();
	struct gantry_comp comp;

	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	CHECK_EQ(gantry_mem_unregister(mem, 1), -ETIMEDOUT);
	do {
		if (pumped)
			softhca_pump();
		gantry_rest(q);
		CHECK(rte_get_timer_cycles() < end);
	} while (gantry_mem_unregister(mem, 0) != 0);
	CHECK_EQ(gantry_in_flight(q), 1);
	env_collect(q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	env_queue_done(q);
	env_unmap(m, 4096);
}

/*
 * gantry_rest() posts no WQE. When it returns, no WQE is outstanding, but a split write still has
 * WQEs to post, with the old key. So the removal must wait for them.
 */
static void
a_split_write_of_an_owner_that_rests_keeps_its_region(void)
{
	const struct gantry_queue_conf conf = {.depth = 8, .unordered = true};
	uint8_t *m = env_map(4096);
	struct gantry_mem *mem = mem_of(m, 4096);
	uint64_t end = env_patience();
	struct gantry_queue *q;
	struct gantry_comp comp;
	struct gantry_desc d;
	uint16_t a, b;

	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	env_connect(q, &a, q, &b);
	q->conn[q->peer[a].conn].max_len = 16;
	env_fill(m, 4096, 5);
	d = arena_write(0, a);
	d.src = (uintptr_t)m;
	d.len = 4096;
	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	do {
		if (pumped)
			softhca_pump();
		gantry_rest(q);
		CHECK(rte_get_timer_cycles() < end);
	} while (q->outstanding != 0);
	CHECK_EQ(gantry_mem_unregister(mem, 0), -ETIMEDOUT);
	gantry_rest(q);
	CHECK_EQ(gantry_mem_unregister(mem, 0), -ETIMEDOUT);
	env_collect(q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	CHECK(env_is_filled((void *)(uintptr_t)d.dst, 4096, 5));
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	env_queue_done(q);
	env_unmap(m, 4096);
}

/*
 * The device refused the repair of a connection in the owner's last call, so the repair is not
 * finished. Copies that wait to be executed again would use the old key, so the removal waits until
 * the owner makes another call, or destroys the queue.
 */
static void
destroying_a_queue_implies_the_rest(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *m = env_map(4096);
	struct gantry_mem *mem = mem_of(m, 4096);

	CHECK_EQ(softhca_fault("refuse call=modify_qp errno=16 times=1000"), 0);
	CHECK_EQ(softhca_fault("complete syndrome=0x04"), 0);
	CHECK_EQ(env_do_one(q, env_copy(m, dst, 64)), GANTRY_LOCAL_ERROR);
	CHECK_EQ(gantry_in_flight(q), 0);
	CHECK_EQ(gantry_mem_unregister(mem, 0), -ETIMEDOUT);
	/* The device may still execute WQEs of a queue that it refuses to destroy. */
	CHECK_EQ(softhca_fault("refuse call=destroy_qp errno=16"), 0);
	CHECK_EQ(gantry_queue_destroy(q), -EBUSY);
	CHECK_EQ(gantry_mem_unregister(mem, 0), -ETIMEDOUT);
	CHECK_EQ(gantry_queue_destroy(q), 0);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	softhca_faults_clear();
	env_unmap(m, 4096);
}

/* It must be possible to remove a region even if a queue has WQEs outstanding at all times. */
static void
a_removal_does_not_wait_for_what_is_posted_later(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	uint8_t *m = env_map(4096);
	struct gantry_mem *mem = mem_of(m, 4096);
	struct gantry_desc d = env_copy(src, dst, 4096), old = env_copy(m, dst + 8192, 100);
	struct gantry_comp comp[64];
	unsigned int i, in_flight, removed = 0;

	if (!pumped)
		CHECK_EQ(softhca_fault("late ms=1 times=64"), 0);
	CHECK_EQ(gantry_submit(q, &old, 1), 1);
	for (i = 0; i < 10000 && !removed; i++) {
		CHECK_EQ(gantry_submit(q, &d, 1), 1);
		removed = gantry_mem_unregister(mem, 0) == 0;
		in_flight = gantry_in_flight(q);
		CHECK(in_flight > 0);
		if (pumped)
			softhca_pump();
		/* At least one copy stays in flight. */
		if (in_flight > 1)
			env_collect(q, comp, in_flight > 32 ? in_flight - 16 : 1);
		if (gantry_in_flight(q) == 0)
			CHECK_EQ(gantry_submit(q, &d, 1), 1);
	}
	CHECK(removed);
	env_collect(q, comp, gantry_in_flight(q));
	env_queue_done(q);
	env_unmap(m, 4096);
}

/*
 * A removal that the device refuses can be repeated. A peer may write until gantry_mem_unregister()
 * has returned 0, and must be refused afterwards.
 */
static void
a_removal_that_the_device_refuses_can_be_repeated(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *m = env_map(4096);
	struct gantry_mem *mem = mem_of(m, 4096), *again;
	struct gantry_desc d = env_copy(src, m, 64);
	struct gantry_comp comp;
	uint16_t a, b;

	env_connect(q, &a, q, &b);
	d.op = GANTRY_OP_WRITE;
	d.peer = a;
	d.remote_key = gantry_mem_remote_key(mem);
	env_fill(src, 64, 9);
	CHECK_EQ(softhca_fault("refuse call=dereg_mr errno=16"), 0);
	CHECK_EQ(gantry_mem_unregister(mem, 0), -EBUSY);
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	CHECK(env_is_filled(m, 64, 9));
	CHECK_EQ(gantry_destroy(g), -EBUSY);
	/*
	 * The range can be registered again, and the end of the first registration does not affect
	 * the new one.
	 */
	again = mem_of(m, 4096);
	CHECK_EQ(softhca_fault("refuse call=dereg_mr errno=5"), 0);
	CHECK_EQ(gantry_mem_unregister(mem, 0), -EIO);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	CHECK_EQ(env_do_one(q, env_copy(m, dst, 64)), GANTRY_OK);
	CHECK_EQ(gantry_mem_unregister(again, 0), 0);
	env_do(q, &d, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_REMOTE_ACCESS);
	CHECK_EQ(gantry_peer_close(q, a), 0);
	env_queue_done(q);
	env_unmap(m, 4096);
}

/* ------------------------------------------------------------------ while others run */

struct owner {
	struct gantry_queue *q;
	atomic_bool stop;
	uint64_t n_done;
};

/* Copies without a pause until it is told to stop. Each copy must move the right bytes. */
static void *
owner_main(void *arg)
{
	struct owner *o = arg;
	struct gantry_desc d[16];
	struct gantry_comp comp[16];
	unsigned int i;

	env_unbind();
	for (i = 0; i < 16; i++)
		d[i] = env_copy(src + i * 4096, dst + i * 4096, 64 + i);
	while (!atomic_load(&o->stop)) {
		env_do(o->q, d, comp, 16);
		for (i = 0; i < 16; i++)
			CHECK_EQ(comp[i].status, GANTRY_OK);
		o->n_done += 16;
	}
	return NULL;
}

/* Number of removals in progress at the same time. */
#define BATCH 80
#ifdef GANTRY_ALLOC_LIBC
#define N_REMOVALS 800 /* few: more removals take half a minute under sanitizers */
#else
#define N_REMOVALS 10000
#endif

/* Registers and removes n regions of one page each. They begin at m, with one page between them. */
static void
come_and_go(uint8_t *m, unsigned int n)
{
	struct gantry_mem *mem[BATCH];
	unsigned int i;
	int ret;

	for (i = 0; i < n; i++)
		CHECK_EQ(gantry_mem_register(g, m + 2 * i * 4096, 4096, 0, &mem[i]), 0);
	for (i = 0; i < n; i++) {
		ret = gantry_mem_unregister(mem[i], 0);
		CHECK(ret == 0 || ret == -ETIMEDOUT, "%d", ret);
		if (ret == 0)
			mem[i] = NULL;
	}
	for (i = 0; i < n; i++)
		if (mem[i] != NULL)
			CHECK_EQ(gantry_mem_unregister(mem[i], CHECK_PATIENCE_MS), 0);
}

static void
removals_disturb_nobody_and_leave_nothing(void)
{
	struct owner o = {.q = env_queue(g, 64)};
	struct gantry_queue *resting = env_queue(g, 8);
	uint8_t *m = env_map(2 * BATCH * 4096);
	size_t before = 0;
	pthread_t owner;
	unsigned int i;

	CHECK_EQ(env_do_one(resting, env_copy(src, dst, 8)), GANTRY_OK);
	CHECK_EQ(pthread_create(&owner, NULL, owner_main, &o), 0);
	for (i = 0; i < N_REMOVALS; i += BATCH) {
		come_and_go(m, BATCH);
		if (i == BATCH)
			before = mallinfo2().uordblks;
	}
	/*
	 * An owner whose thread lost its CPU inside a call keeps nodes in use until the thread
	 * continues.
	 */
	for (i = 0; mallinfo2().uordblks >= before + 200000 && i < 20; i++)
		come_and_go(m, BATCH);
	/*
	 * This limit also allows spare nodes. If each removal leaked one node, the process would
	 * use more memory than the limit.
	 */
	CHECK(mallinfo2().uordblks < before + 200000);
	atomic_store(&o.stop, true);
	pthread_join(owner, NULL);
	CHECK(o.n_done > 0);
	CHECK_EQ(env_stats(o.q).recoveries, 0);
	env_queue_done(o.q);
	env_queue_done(resting);
	env_unmap(m, 2 * BATCH * 4096);
}

/*
 * An owner copies from memory that is registered and removed: this never causes an error on the
 * device.
 */
static void
memory_that_goes_is_refused_and_never_fails_in_the_device(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	uint8_t *m = env_map(4096);
	struct gantry_mem *mem;
	struct gantry_desc d[32];
	struct gantry_comp comp[32];
	unsigned int i, k, n, ok = 0, refused = 0;

	for (i = 0; i < 32; i++)
		d[i] = env_copy(m, dst + i * 64, 64);
	for (i = 0; i < 50; i++) {
		mem = mem_of(m, 4096);
		n = gantry_submit(q, d, 1 + i % 32);
		while (gantry_mem_unregister(mem, 0) == -ETIMEDOUT) {
			if (n < 32)
				n += gantry_submit(q, d, 1);
			k = env_poll(q, comp, 32);
			n -= k;
			while (k-- > 0) {
				CHECK(comp[k].status == GANTRY_OK ||
					comp[k].status == GANTRY_NOT_REGISTERED);
				ok += comp[k].status == GANTRY_OK;
				refused += comp[k].status == GANTRY_NOT_REGISTERED;
			}
		}
		env_collect(q, comp, n);
		for (k = 0; k < n; k++)
			CHECK(comp[k].status == GANTRY_OK ||
				comp[k].status == GANTRY_NOT_REGISTERED);
	}
	CHECK(ok > 0 && refused > 0, "%u %u", ok, refused);
	CHECK_EQ(env_stats(q).recoveries, 0);
	env_queue_done(q);
	env_unmap(m, 4096);
}

/* ------------------------------------------------------------------ workers */

/*
 * Called once, in gantry_worker_turn() after the tree of regions was read. It makes calls that
 * other threads could make at that time.
 */
static void (*behind_the_look)(void);

void __real_gantry_drain_update(struct gantry_queue *q);
void __wrap_gantry_drain_update(struct gantry_queue *q);

void
__wrap_gantry_drain_update(struct gantry_queue *q)
{
	void (*then)(void) = behind_the_look;

	__real_gantry_drain_update(q);
	behind_the_look = NULL;
	if (then != NULL)
		then();
}

static struct {
	struct gantry_worker *w;
	uint8_t *m;
	struct gantry_mem *mem;
} late;

static void
enqueue_late(void)
{
	const struct gantry_desc d = env_copy(late.m, dst, 100);

	CHECK_EQ(gantry_enqueue_burst(late.w, &d, 1), 1);
}

static void
remove_late(void)
{
	CHECK_EQ(gantry_mem_unregister(late.mem, 0), -ETIMEDOUT);
	enqueue_late();
}

static void
register_late(void)
{
	late.mem = mem_of(late.m, 4096);
	enqueue_late();
}

/*
 * Returns the status of the descriptor that others_do() enqueues during a call of
 * gantry_worker_turn().
 */
static enum gantry_status
turn_with(void (*others_do)(void))
{
	/* This registration changes the tree, so gantry_worker_turn() reads the tree. */
	struct gantry_mem *other = mem_of(late.m + 4096, 4096);
	struct gantry_comp comp;

	behind_the_look = others_do;
	do {
		gantry_worker_turn(late.w, false);
		env_pump();
	} while (env_dequeue(late.w, &comp, 1) == 0);
	CHECK(behind_the_look == NULL);
	CHECK_EQ(gantry_mem_unregister(other, 0), 0);
	return comp.status;
}

/*
 * A worker must know each registration and each removal that came before a descriptor was enqueued.
 * The worker is not started: this thread calls gantry_worker_turn().
 */
static void
a_worker_knows_what_happened_before_a_descriptor_was_enqueued(void)
{
	struct gantry_worker_conf conf = {.queue.depth = 16, .ring_size = 16};
	unsigned int i;

	late.m = env_map(8192);
	for (i = 0; i < 2; i++) {
		conf.queue.unordered = i == 1;
		CHECK_EQ(gantry_worker_create(g, 1, &conf, &late.w), 0);
		late.mem = mem_of(late.m, 4096);
		CHECK_EQ(turn_with(remove_late), GANTRY_NOT_REGISTERED);
		CHECK_EQ(gantry_mem_unregister(late.mem, 0), 0);
		CHECK_EQ(turn_with(register_late), GANTRY_OK);
		CHECK_EQ(gantry_mem_unregister(late.mem, 0), 0);
		CHECK_EQ(gantry_worker_destroy(late.w), 0);
	}
	env_unmap(late.m, 8192);
}

static const struct check_case cases[] = {
	{"a removal waits for WQEs that name the region",
		a_removal_waits_for_wqes_that_name_the_region},
	{"a waiting descriptor is refused if its region was removed",
		a_descriptor_that_waits_is_refused_when_its_region_has_gone},
	{"a split copy keeps its region to its end", a_split_copy_keeps_its_region_to_its_end},
	{"a removal waits for copies that are executed again",
		a_removal_waits_for_copies_that_are_carried_out_again},
	{"a removal waits for every peer, but for no later descriptor",
		a_removal_waits_for_every_peer_and_for_nothing_later},
	{"an owner that makes no calls keeps no finished work in use",
		an_owner_that_rests_holds_nothing_that_is_done},
	{"a split write of an owner that rests keeps its region",
		a_split_write_of_an_owner_that_rests_keeps_its_region},
	{"destroying a queue ends everything that a removal waits for",
		destroying_a_queue_implies_the_rest},
	{"a removal does not wait for later WQEs",
		a_removal_does_not_wait_for_what_is_posted_later},
	{"a removal that the device refuses can be repeated",
		a_removal_that_the_device_refuses_can_be_repeated},
	{"removals disturb no queue and leave nothing behind",
		removals_disturb_nobody_and_leave_nothing},
	{"memory that is being removed is refused, and never fails in the device",
		memory_that_goes_is_refused_and_never_fails_in_the_device},
	{"a worker knows what happened before a descriptor was enqueued",
		a_worker_knows_what_happened_before_a_descriptor_was_enqueued},
};

int
main(int argc, char **argv)
{
	pumped = env_is_pumped();
	/* ibv_fork_init(3) would make each of the many registrations a millisecond longer. */
	env_refuse_fork_init();
	env_init(1);
	/*
	 * DPDK's mlx4 plug-in has set this variable. The docstring of gantry_mem_unregister() tells
	 * its effect.
	 */
	unsetenv("MLX4_DEVICE_FATAL_CLEANUP");
	arena_create(NULL);
	return arena_run(cases, RTE_DIM(cases), argc, argv);
}
