/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kinds of memory, the operations that may use each kind, and the reasons of failed registrations.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

#include <softhca.h>

#include "gantry_arena.h"

/* ------------------------------------------------------------------ flags */

static void
memory_that_is_only_read_is_a_source_and_no_destination(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *m = env_map(4096);
	struct gantry_mem *mem;
	struct gantry_desc d;
	uint16_t a, b;

	env_fill(m, 4096, 5);
	CHECK_EQ(mprotect(m, 4096, PROT_READ), 0);
	CHECK_EQ(gantry_mem_register(g, m, 4096, 0, &mem), -EACCES);
	CHECK_EQ(gantry_mem_register(g, m, 4096, GANTRY_MEM_READ_ONLY | GANTRY_MEM_REMOTE_WRITE,
			 &mem),
		-EINVAL);
	CHECK_EQ(gantry_mem_register(g, m, 4096, GANTRY_MEM_READ_ONLY | GANTRY_MEM_REMOTE_ATOMIC,
			 &mem),
		-EINVAL);
	CHECK_EQ(gantry_mem_register(g, m, 4096, GANTRY_MEM_READ_ONLY | GANTRY_MEM_REMOTE_READ,
			 &mem),
		0);
	CHECK_EQ(env_do_one(q, env_copy(src, m, 100)), GANTRY_READ_ONLY);
	/*
	 * The status is the same if the previous descriptor has looked up the region, as a
	 * destination or as a source.
	 */
	CHECK_EQ(env_do_one(q, env_copy(src, m, 100)), GANTRY_READ_ONLY);
	CHECK_EQ(env_do_one(q, env_copy(m, dst, 4096)), GANTRY_OK);
	CHECK_EQ(env_do_one(q, env_copy(src, m, 100)), GANTRY_READ_ONLY);
	CHECK(env_is_filled(dst, 4096, 5));
	env_connect(q, &a, q, &b);
	d = env_copy(m, dst + 4096, 4096);
	d.op = GANTRY_OP_READ;
	d.peer = a;
	d.remote_key = gantry_mem_remote_key(mem);
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	CHECK(env_is_filled(dst + 4096, 4096, 5));
	/* The local side of a READ is also a destination. */
	d = env_copy(src, m, 8);
	d.op = GANTRY_OP_READ;
	d.peer = a;
	d.remote_key = gantry_mem_remote_key(src_mem);
	CHECK_EQ(env_do_one(q, d), GANTRY_READ_ONLY);
	CHECK_EQ(env_stats(q).recoveries, 0);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	env_queue_done(q);
	env_unmap(m, 4096);
}

static void
memory_with_relaxed_order_moves_the_same_bytes(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *m = env_map(4096);
	struct gantry_mem *mem;

	CHECK_EQ(gantry_mem_register(g, m, 4096, GANTRY_MEM_RELAXED | GANTRY_MEM_REMOTE_ATOMIC,
			 &mem),
		-EINVAL);
	CHECK_EQ(gantry_mem_register(g, m, 4096, GANTRY_MEM_RELAXED, &mem), 0);
	env_fill(src, 4096, 8);
	CHECK_EQ(env_do_one(q, env_copy(src, m, 4096)), GANTRY_OK);
	CHECK(env_is_filled(m, 4096, 8));
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	env_queue_done(q);
	env_unmap(m, 4096);
}

/*
 * Returns true if a peer may execute that operation on the first 8 bytes of memory. If not, checks
 * that these bytes have not changed.
 */
static bool
peer_may(struct gantry_queue *q, enum gantry_op op, const struct gantry_mem *mem, uint64_t *at)
{
	struct gantry_desc d = {.op = op, .len = 8, .remote_key = gantry_mem_remote_key(mem)};
	const uint64_t remote = gantry_mem_remote_addr(mem, at);
	uint64_t before = *at;
	struct gantry_comp comp;
	uint16_t b;

	env_connect(q, &d.peer, q, &b);
	d.src = op == GANTRY_OP_READ ? remote : op == GANTRY_OP_WRITE ? (uintptr_t)src : 0;
	d.dst = op == GANTRY_OP_READ ? (uintptr_t)dst : remote;
	if (op == GANTRY_OP_FETCH_ADD)
		d.arg[0] = 1;
	if (op == GANTRY_OP_COMPARE_SWAP) {
		d.arg[0] = before;
		d.arg[1] = before + 1;
	}
	memcpy(src, &(uint64_t){before + 1}, 8);
	env_do(q, &d, &comp, 1);
	CHECK_EQ(gantry_peer_close(q, d.peer), 0);
	CHECK_EQ(gantry_peer_close(q, b), 0);
	if (comp.status == GANTRY_OK) {
		CHECK_EQ(op == GANTRY_OP_READ ? *(uint64_t *)dst : *at - 1, before);
		return true;
	}
	CHECK_EQ(comp.status, GANTRY_REMOTE_ACCESS);
	CHECK_EQ(*at, before);
	return false;
}

/*
 * Checks that peers can write, read and do atomics exactly if the header allows it for this kind of
 * memory and these flags.
 */
static void
check_rights(const struct gantry_mem *mem, void *at, bool writes, bool reads, bool atomics)
{
	struct gantry_queue *q = env_queue(g, 8);

	CHECK_EQ(peer_may(q, GANTRY_OP_WRITE, mem, at), writes);
	CHECK_EQ(peer_may(q, GANTRY_OP_READ, mem, at), reads);
	CHECK_EQ(peer_may(q, GANTRY_OP_FETCH_ADD, mem, at), atomics);
	CHECK_EQ(peer_may(q, GANTRY_OP_COMPARE_SWAP, mem, at), atomics);
	env_queue_done(q);
}

static void
peers_may_do_what_memory_was_registered_for(void)
{
	static const unsigned int flags[] = {0, GANTRY_MEM_REMOTE_WRITE, GANTRY_MEM_REMOTE_READ,
		GANTRY_MEM_REMOTE_ATOMIC, GANTRY_MEM_RELAXED, GANTRY_MEM_READ_ONLY,
		GANTRY_MEM_READ_ONLY | GANTRY_MEM_REMOTE_READ,
		GANTRY_MEM_RELAXED | GANTRY_MEM_REMOTE_WRITE | GANTRY_MEM_REMOTE_READ,
		GANTRY_MEM_REMOTE_WRITE | GANTRY_MEM_REMOTE_READ | GANTRY_MEM_REMOTE_ATOMIC};
	uint64_t *m = env_map(4096), *eal = rte_zmalloc(NULL, 4096, 4096);
	struct gantry_info info;
	struct gantry_mem *mem;
	bool rdma;
	void *dm;
	uint32_t i;

	gantry_info_get(g, &info);
	/* Copies by RDMA are writes from the queue to itself. */
	rdma = (info.carriers & 1u << GANTRY_CARRIER_RDMA) != 0;
	for (i = 0; i < RTE_DIM(flags); i++) {
		const bool writes = (flags[i] & GANTRY_MEM_REMOTE_WRITE) != 0,
			   reads = (flags[i] & GANTRY_MEM_REMOTE_READ) != 0,
			   atomics = (flags[i] & GANTRY_MEM_REMOTE_ATOMIC) != 0;

		CHECK_EQ(gantry_mem_register(g, m, 4096, flags[i], &mem), 0);
		check_rights(mem, m, writes || (rdma && (flags[i] & GANTRY_MEM_READ_ONLY) == 0),
			reads, atomics);
		CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
		if (info.max_dm_len == 0 ||
			(flags[i] & (GANTRY_MEM_RELAXED | GANTRY_MEM_READ_ONLY)) != 0)
			continue;
		CHECK_EQ(gantry_mem_alloc_dm(g, 64, flags[i], &mem, &dm), 0);
		check_rights(mem, dm, true, true, atomics);
		CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	}
	CHECK_EQ(gantry_mem_register_eal(g, 0, &mem), 0);
	CHECK(eal != NULL);
	check_rights(mem, eal, rdma, false, false);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	if (info.any_memory) {
		CHECK_EQ(gantry_mem_register_any(g, &mem), 0);
		check_rights(mem, m, true, true, false);
		CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	}
	rte_free(eal);
	env_unmap(m, 4096);
}

/*
 * Writes twice to the same address, many times. Returns how often the first write arrived after the
 * second. This is possible only in memory with relaxed order (SOFTHCA_REORDER).
 */
static unsigned int
count_overtaken(struct gantry_queue *q, uint16_t peer, unsigned int flags)
{
	uint8_t *m = env_map(4096);
	struct gantry_mem *mem;
	struct gantry_desc d[2];
	struct gantry_comp comp[2];
	unsigned int i, n = 0;

	CHECK_EQ(gantry_mem_register(g, m, 4096, flags | GANTRY_MEM_REMOTE_WRITE, &mem), 0);
	env_fill(src, 4096, 8);
	env_fill(src + 4096, 4096, 9);
	for (i = 0; i < 2; i++) {
		d[i] = env_copy(src + i * 4096, m, 4096);
		d[i].op = GANTRY_OP_WRITE;
		d[i].peer = peer;
		d[i].remote_key = gantry_mem_remote_key(mem);
	}
	for (i = 0; i < 200; i++) {
		env_do(q, d, comp, 2);
		CHECK(comp[0].status == GANTRY_OK && comp[1].status == GANTRY_OK);
		n += env_is_filled(m, 4096, 8);
	}
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	env_unmap(m, 4096);
	return n;
}

static void
writes_may_overtake_each_other_in_memory_with_relaxed_order_alone(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint16_t a, b;

	env_connect(q, &a, q, &b);
	CHECK_EQ(count_overtaken(q, a, 0), 0);
	if (getenv("SOFTHCA_REORDER") != NULL)
		CHECK(count_overtaken(q, a, GANTRY_MEM_RELAXED) > 0);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ failures */

/* Checks that a registration of two pages at m fails. */
static void
check_refusal(uint8_t *m, int err, const char *words)
{
	env_refused(g, m, 8192, err, words);
}

/*
 * Makes these capabilities effective, as far as they are in the process's permitted set. Returns
 * non-zero if CAP_IPC_LOCK is now effective.
 */
static uint32_t
set_effective(uint32_t caps)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	CHECK_EQ(syscall(SYS_capget, &header, data), 0);
	data[0].effective = caps & data[0].permitted;
	CHECK_EQ(syscall(SYS_capset, &header, data), 0);
	return data[0].effective & 1u << CAP_IPC_LOCK;
}

/* The fault `refuse` makes the emulated kernel return the errors that a real kernel returns. */
static void
a_registration_that_fails_says_why(void)
{
	struct rlimit was, little = {.rlim_cur = 4096};
	uint8_t *m = env_map(8192);
	struct gantry_mem *mem;

	/*
	 * For an address without memory, the engine must return EFAULT and report that the memory
	 * is not mapped. This must be so even if the kernel or another library returns another
	 * error: ibv_fork_init(3) makes it ENOMEM.
	 */
	munmap(m + 4096, 4096);
	check_refusal(m, EFAULT, "is not mapped");
	CHECK_EQ(softhca_fault("refuse call=reg_mr errno=12"), 0);
	check_refusal(m, EFAULT, "is not mapped");
	softhca_faults_clear();
	CHECK(mmap(m + 4096, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		m + 4096);
	check_refusal(m, EACCES, "mprotect");
	CHECK_EQ(mprotect(m + 4096, 4096, PROT_READ), 0);
	check_refusal(m, EACCES, "read-only");
	CHECK_EQ(mprotect(m + 4096, 4096, PROT_READ | PROT_WRITE), 0);

	CHECK_EQ(getrlimit(RLIMIT_MEMLOCK, &was), 0);
	little.rlim_max = was.rlim_max;
	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &little), 0);
	set_effective(UINT32_MAX & ~(1u << CAP_IPC_LOCK));
	CHECK_EQ(softhca_fault("refuse call=reg_mr errno=12"), 0);
	check_refusal(m, EPERM, "ulimit -l");
	/* The limit does not apply to a process with CAP_IPC_LOCK. */
	if (set_effective(UINT32_MAX) == 0)
		CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){was.rlim_max, was.rlim_max}),
			0);
	CHECK_EQ(softhca_fault("refuse call=reg_mr errno=12"), 0);
	if (set_effective(UINT32_MAX) != 0 || was.rlim_max == RLIM_INFINITY)
		check_refusal(m, ENOMEM, "no memory");
	softhca_faults_clear();
	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &was), 0);
	CHECK_EQ(softhca_fault("refuse call=reg_mr errno=5"), 0);
	check_refusal(m, EIO, "IOMMU");
	CHECK_EQ(gantry_mem_register(g, m, 8192, 0, &mem), 0);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	env_unmap(m, 8192);
}

/* gantry.h, Values: an out-pointer must be written on success only. */
static void
a_registration_that_fails_writes_no_pointer(void)
{
	uint8_t *m = env_map(2 * 4096);
	struct gantry_mem *const none = (struct gantry_mem *)m;
	struct gantry_mem *mem = none, *pool;
	struct gantry_info info;
	struct rte_mempool *mp;
	void *addr = m;

	gantry_info_get(g, &info);
	mp = rte_mempool_create_empty("fails", 20, 256, 0, 0, SOCKET_ID_ANY, 0);
	CHECK(mp != NULL);
	CHECK_EQ(rte_mempool_set_ops_byname(mp, "ring_mp_mc", NULL), 0);
	CHECK_EQ(gantry_mem_register_mempool(g, mp, 0, &mem), -EINVAL);
	CHECK(rte_mempool_populate_iova(mp, (char *)m, RTE_BAD_IOVA, 4096, NULL, NULL) > 0);
	CHECK_EQ(softhca_fault("refuse call=reg_mr errno=5 times=3"), 0);
	CHECK_EQ(gantry_mem_register(g, m, 4096, 0, &mem), -EIO);
	CHECK_EQ(gantry_mem_register_mempool(g, mp, 0, &mem), -EIO);
	CHECK_EQ(gantry_mem_register_eal(g, 0, &mem), -EIO);
	CHECK_EQ(softhca_faults_left(), 0);
	/* Memory that is already registered stays registered. */
	CHECK_EQ(gantry_mem_register_mempool(g, mp, 0, &pool), 0);
	CHECK(rte_mempool_populate_iova(mp, (char *)m + 4096, RTE_BAD_IOVA, 4096, NULL, NULL) > 0);
	CHECK_EQ(softhca_fault("refuse call=reg_mr errno=5"), 0);
	CHECK_EQ(gantry_mem_register_mempool(g, mp, 0, &mem), -EIO);
	if (info.any_memory) {
		CHECK_EQ(softhca_fault("refuse call=reg_mr errno=5"), 0);
		CHECK_EQ(gantry_mem_register_any(g, &mem), -EIO);
	}
	if (info.max_dm_len != 0) {
		CHECK_EQ(softhca_fault("refuse call=alloc_dm errno=5"), 0);
		CHECK(gantry_mem_alloc_dm(g, 64, 0, &mem, &addr) < 0);
		CHECK_EQ(softhca_fault("refuse call=reg_dm_mr errno=5"), 0);
		CHECK(gantry_mem_alloc_dm(g, 64, 0, &mem, &addr) < 0);
	}
	CHECK_EQ(softhca_faults_left(), 0);
	CHECK(mem == none);
	CHECK(addr == m);
	CHECK_EQ(gantry_mem_unregister(pool, 0), 0);
	rte_mempool_free(mp);
	env_unmap(m, 2 * 4096);
}

/* ------------------------------------------------------------------ mempools */

struct objects {
	struct gantry_queue *q;
	unsigned int ok, refused;
};

static void
copy_object(struct rte_mempool *mp, void *arg, void *obj, unsigned int i)
{
	struct objects *o = arg;
	enum gantry_status status = env_do_one(o->q, env_copy(src, obj, 256));

	CHECK(status == GANTRY_OK || status == GANTRY_NOT_REGISTERED);
	o->ok += status == GANTRY_OK;
	o->refused += status == GANTRY_NOT_REGISTERED;
	CHECK(status != GANTRY_OK || memcmp(obj, src, 256) == 0);
}

static struct objects
copy_objects(struct gantry_queue *q, struct rte_mempool *mp)
{
	struct objects o = {.q = q};

	rte_mempool_obj_iter(mp, copy_object, &o);
	return o;
}

/*
 * The pool gets its memory in pieces: 32 adjacent pages, then memory elsewhere. After each call,
 * all its memory must be registered.
 */
static void
a_pool_that_grows_is_registered_again(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *m = env_map(32 * 4096), *more = env_map(64 * 4096);
	struct rte_mempool *mp;
	struct gantry_mem *mem, *again, *inside;
	struct objects o;
	unsigned int i;

	mp = rte_mempool_create_empty("grows", 100, 256, 0, 0, SOCKET_ID_ANY, 0);
	CHECK(mp != NULL);
	CHECK_EQ(rte_mempool_set_ops_byname(mp, "ring_mp_mc", NULL), 0);
	CHECK_EQ(gantry_mem_register_mempool(g, mp, 0, &mem), -EINVAL);
	/* The pool gets pages 0, 3, 2 and 1, in this order. */
	for (i = 0; i < 4; i++)
		CHECK(rte_mempool_populate_iova(mp, (char *)m + i * 3 % 4 * 4096, RTE_BAD_IOVA,
			      4096, NULL, NULL) > 0);
	CHECK_EQ(gantry_mem_register(g, m + 4096, 4096, 0, &inside), 0);
	CHECK_EQ(gantry_mem_register_mempool(g, mp, 0, &mem), 0);
	CHECK_EQ(gantry_mem_unregister(inside, 0), 0);
	o = copy_objects(q, mp);
	CHECK(o.ok > 0 && o.refused > 0, "%u %u", o.ok, o.refused);
	/*
	 * The second page belongs to the pool's registration now; other memory is registered as
	 * before.
	 */
	CHECK_EQ(gantry_mem_register_mempool(g, mp, 0, &again), 0);
	CHECK(again == mem);
	i = rte_mempool_populate_iova(mp, (char *)more, RTE_BAD_IOVA, 64 * 4096, NULL, NULL);
	CHECK(i > 0);
	o = copy_objects(q, mp);
	CHECK_EQ(o.refused, i);
	CHECK_EQ(gantry_mem_register_mempool(g, mp, GANTRY_MEM_RELAXED, &again), -EINVAL);
	/*
	 * The device refuses a piece: the registration does not change, and the call can be
	 * repeated.
	 */
	CHECK_EQ(softhca_fault("refuse call=reg_mr errno=12"), 0);
	CHECK(gantry_mem_register_mempool(g, mp, 0, &again) < 0);
	CHECK_EQ(gantry_mem_register_mempool(g, mp, 0, &again), 0);
	CHECK(again == mem);
	o = copy_objects(q, mp);
	CHECK_EQ(o.refused, 0);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	o = copy_objects(q, mp);
	CHECK_EQ(o.ok, 0);
	/* Registers all pieces in one call. */
	CHECK_EQ(gantry_mem_register_mempool(g, mp, 0, &mem), 0);
	o = copy_objects(q, mp);
	CHECK_EQ(o.refused, 0);
	/* Chunks that touch each other have one key, so a copy may go across their ends. */
	CHECK_EQ(env_do_one(q, env_copy(m + 100, dst, 4 * 4096 - 200)), GANTRY_OK);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	rte_mempool_free(mp);
	env_queue_done(q);
	env_unmap(m, 32 * 4096);
	env_unmap(more, 64 * 4096);
}

/*
 * A second registration is made before the first one has ended. When the first registration ends,
 * the second one must stay complete.
 */
static void
a_pool_that_is_being_unregistered_is_registered_anew(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *m = env_map(4 * 4096);
	const struct gantry_peer_conf receives = {.recv_depth = 1};
	const struct gantry_recv recv = {.addr = (uintptr_t)dst, .len = 256};
	struct gantry_desc send = {.op = GANTRY_OP_SEND, .len = 256};
	struct gantry_mem *old, *now, *again;
	struct gantry_recv_comp recv_comp;
	struct rte_mempool *mp;
	struct gantry_addr a, b;
	struct gantry_comp comp;
	struct objects o;
	uint16_t back;
	void *obj;
	int n;

	mp = rte_mempool_create_empty("anew", 20, 256, 0, 0, SOCKET_ID_ANY, 0);
	CHECK(mp != NULL);
	CHECK_EQ(rte_mempool_set_ops_byname(mp, "ring_mp_mc", NULL), 0);
	n = rte_mempool_populate_iova(mp, (char *)m, RTE_BAD_IOVA, 4 * 4096, NULL, NULL);
	CHECK(n > 0);
	CHECK_EQ(gantry_mem_register_mempool(g, mp, 0, &old), 0);
	CHECK_EQ(rte_mempool_get(mp, &obj), 0);
	/* The peer has no receive, so the message waits in hardware. */
	CHECK_EQ(gantry_peer_open(q, NULL, &send.peer, &a), 0);
	CHECK_EQ(gantry_peer_open(q, &receives, &back, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, send.peer, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, back, &a), 0);
	env_fill(obj, 256, 6);
	send.src = (uintptr_t)obj;
	CHECK_EQ(gantry_submit(q, &send, 1), 1);
	CHECK_EQ(gantry_mem_unregister(old, 0), -ETIMEDOUT);
	CHECK_EQ(gantry_mem_register_mempool(g, mp, GANTRY_MEM_RELAXED, &now), 0);
	CHECK(now != old);
	CHECK_EQ(gantry_recv_post(q, back, &recv, 1), 1);
	env_collect(q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	while (gantry_recv_poll(q, &recv_comp, 1) == 0)
		env_pump();
	CHECK(env_is_filled(dst, 256, 6));
	CHECK_EQ(gantry_mem_unregister(old, CHECK_PATIENCE_MS), 0);
	o = copy_objects(q, mp);
	CHECK_EQ(o.ok, n);
	CHECK_EQ(gantry_mem_register_mempool(g, mp, GANTRY_MEM_RELAXED, &again), 0);
	CHECK(again == now);
	CHECK_EQ(gantry_mem_unregister(now, CHECK_PATIENCE_MS), 0);
	rte_mempool_put(mp, obj);
	rte_mempool_free(mp);
	env_queue_done(q);
	env_unmap(m, 4 * 4096);
}

/* ------------------------------------------------------------------ all memory, on demand */

/* Layouts in memory on demand are refused, and so are layouts whose bytes go to such memory. */
static void
check_layout_is_refused(struct gantry_queue *q, uint8_t *heap)
{
	const struct gantry_block block = {.len = 64, .skip = 64};
	const struct gantry_layout_conf conf = {.block = &block, .n = 1, .rounds = 4};
	struct gantry_desc d = env_copy(heap, dst, 256);
	struct gantry_info info;

	gantry_info_get(g, &info);
	if (!info.layouts)
		return;
	d.op = GANTRY_OP_GATHER;
	CHECK_EQ(gantry_layout_create(g, &conf, &d.layout), 0);
	CHECK_EQ(env_do_one(q, d), GANTRY_NOT_REGISTERED);
	d = WITH(WITH(d, src, (uintptr_t)src), dst, (uintptr_t)heap);
	CHECK_EQ(env_do_one(q, d), GANTRY_NOT_REGISTERED);
	CHECK_EQ(gantry_layout_destroy(g, d.layout), 0);
}

static const struct gantry_policy by_cpu = {1, {{UINT64_MAX, UINT32_MAX, GANTRY_CARRIER_CPU}}};

/* Checks that a descriptor with memory that no region covers gets this status. */
static void
expect_unregistered(struct gantry_queue *q, uint16_t peer, uint8_t *heap, enum gantry_status copies)
{
	struct gantry_sge from = {(uintptr_t)heap, 3000}, to = {(uintptr_t)dst, 3000};
	struct gantry_desc d = env_copy(heap, dst, 3000);
	uint64_t by_rdma = env_stats(q).copies[GANTRY_CARRIER_RDMA];

	memset(dst, ENV_UNTOUCHED, 4096);
	CHECK_EQ(env_do_one(q, d), copies);
	CHECK_EQ(env_is_moved(heap, dst, 3000), copies == GANTRY_OK);
	CHECK_EQ(env_do_one(q, env_copy(src, heap + 4096, 3000)), copies);
	CHECK_EQ(memcmp(src, heap + 4096, 3000) == 0, copies == GANTRY_OK);
	CHECK_EQ(env_do_one(q, env_copy(heap + 4096, heap + 9000, 3000)), copies);
	d.op = GANTRY_OP_COPY_SG;
	d.src = (uintptr_t)&from;
	d.dst = (uintptr_t)&to;
	d.arg[0] = 1 | UINT64_C(1) << 32;
	memset(dst, ENV_UNTOUCHED, 4096);
	CHECK_EQ(env_do_one(q, d), copies);
	CHECK_EQ(env_is_moved(heap, dst, 3000), copies == GANTRY_OK);
	d = env_copy(NULL, heap + 4096, 64);
	d.op = GANTRY_OP_FILL;
	d.arg[0] = 7;
	CHECK_EQ(env_do_one(q, d), copies);
	CHECK_EQ(env_stats(q).copies[GANTRY_CARRIER_RDMA], by_rdma + (copies == GANTRY_OK ? 5 : 0));
	/* Neither the CPU nor a DMA MMO copies memory on demand, and peers cannot use it. */
	d = env_copy(heap, dst, 3000);
	CHECK_EQ(env_do_one(q, WITH(d, flags, GANTRY_DESC_BY_CPU)),
		copies == GANTRY_OK ? GANTRY_BAD_CARRIER : GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, WITH(d, flags, GANTRY_DESC_BY_MMO)),
		copies == GANTRY_OK ? GANTRY_BAD_CARRIER : GANTRY_NOT_REGISTERED);
	d.op = GANTRY_OP_WRITE;
	d.peer = peer;
	d.remote_key = gantry_mem_remote_key(dst_mem);
	CHECK_EQ(env_do_one(q, d), GANTRY_NOT_REGISTERED);
	d = WITH(WITH(d, op, GANTRY_OP_READ), dst, (uintptr_t)heap + 4096);
	CHECK_EQ(env_do_one(q, WITH(d, src, (uintptr_t)dst)), GANTRY_NOT_REGISTERED);
	d = (struct gantry_desc){.op = GANTRY_OP_SEND,
		.peer = peer,
		.src = (uintptr_t)heap,
		.len = 3000};
	CHECK_EQ(env_do_one(q, d), GANTRY_NOT_REGISTERED);
	check_layout_is_refused(q, heap);
	/* Neither rules nor flags choose the carrier of copies of memory on demand. */
	CHECK_EQ(gantry_policy_set(q, &by_cpu), 0);
	by_rdma = env_stats(q).copies[GANTRY_CARRIER_RDMA];
	d = env_copy(heap, dst, 3000);
	CHECK_EQ(env_do_one(q, d), copies);
	if (copies == GANTRY_OK)
		CHECK_EQ(env_do_one(q, WITH(d, flags, GANTRY_DESC_BY_RDMA)), GANTRY_OK);
	CHECK_EQ(env_stats(q).copies[GANTRY_CARRIER_RDMA], by_rdma + (copies == GANTRY_OK ? 2 : 0));
	CHECK_EQ(env_stats(q).copies[GANTRY_CARRIER_CPU], 0);
	CHECK_EQ(gantry_policy_set(q, NULL), 0);
}

static void
all_memory_is_reached_on_demand_by_copies_alone(void)
{
	struct gantry_queue *q = env_queue(g, 32);
	uint8_t *heap = malloc(16384);
	struct gantry_mem *any, *again;
	struct gantry_desc many[32];
	struct gantry_comp comp[32];
	struct gantry_info info;
	unsigned int i, n;
	uint16_t a, b;

	CHECK(heap != NULL);
	env_fill(heap, 16384, 3);
	env_fill(src, 4096, 4);
	env_connect(q, &a, q, &b);
	gantry_info_get(g, &info);
	expect_unregistered(q, a, heap, GANTRY_NOT_REGISTERED);
	CHECK_EQ(gantry_mem_register_any(g, &any), info.any_memory ? 0 : -EOPNOTSUPP);
	if (!info.any_memory) {
		env_queue_done(q);
		free(heap);
		return;
	}
	CHECK_EQ(gantry_mem_register_any(g, &again), -EEXIST);
	expect_unregistered(q, a, heap, GANTRY_OK);
	/* The registration ends when the descriptors in flight have completed. */
	env_fill(heap, 16384, 3);
	for (i = 0; i < RTE_DIM(many); i++)
		many[i] = env_copy(heap + i, dst + i * 4096, 4096);
	CHECK_EQ(gantry_submit(q, many, RTE_DIM(many)), RTE_DIM(many));
	if (env_is_pumped())
		CHECK_EQ(gantry_mem_unregister(any, 0), -ETIMEDOUT);
	for (n = 0; n < RTE_DIM(many);)
		n += env_poll(q, comp + n, RTE_DIM(many) - n);
	for (i = 0; i < n; i++) {
		CHECK_EQ(comp[i].status, GANTRY_OK);
		CHECK(memcmp(heap + i, dst + i * 4096, 4096) == 0);
	}
	CHECK_EQ(gantry_mem_unregister(any, 0), 0);
	expect_unregistered(q, a, heap, GANTRY_NOT_REGISTERED);
	CHECK_EQ(gantry_mem_register_any(g, &any), 0);
	CHECK_EQ(env_do_one(q, env_copy(heap, dst, 3000)), GANTRY_OK);
	CHECK_EQ(gantry_mem_unregister(any, 0), 0);
	CHECK_EQ(env_stats(q).recoveries, 0);
	env_queue_done(q);
	free(heap);
}

/*
 * One page cannot be accessed, and one page is read-only. In each round two descriptors fail;
 * descriptors before, between and after them succeed.
 */
static void
pages_that_cannot_be_used_fail_their_descriptors_alone(void)
{
	struct gantry_queue *q = env_queue(g, 32);
	uint8_t *hole = env_map(4096), *fixed = env_map(4096), *good = env_map(8192);
	struct gantry_sge from = {0, 64}, to = {0, 64};
	const struct gantry_desc bad[] = {
		env_copy(hole, good + 4096, 4096),
		env_copy(good, hole, 4096),
		env_copy(good, fixed, 64),
		{.op = GANTRY_OP_FILL, .dst = (uintptr_t)hole, .len = 64, .arg = {1}},
		{.op = GANTRY_OP_COPY_SG,
			.src = (uintptr_t)&from,
			.dst = (uintptr_t)&to,
			.len = 64,
			.arg = {1 | UINT64_C(1) << 32}},
	};
	struct gantry_desc desc[8];
	struct gantry_comp comp[8];
	struct gantry_info info;
	struct gantry_mem *any;
	unsigned int i, k;

	gantry_info_get(g, &info);
	if (check_lacks(info.any_memory, "memory on demand"))
		return;
	CHECK_EQ(gantry_mem_register_any(g, &any), 0);
	env_fill(good, 8192, 9);
	env_fill(fixed, 4096, 10);
	CHECK_EQ(mprotect(fixed, 4096, PROT_READ), 0);
	CHECK_EQ(mprotect(hole, 4096, PROT_NONE), 0);
	from.addr = (uintptr_t)good;
	to.addr = (uintptr_t)hole;
	for (i = 0; i < RTE_DIM(bad); i++) {
		memset(dst, ENV_UNTOUCHED, 8 * 4096);
		for (k = 0; k < 8; k++) {
			desc[k] = k % 3 == 2 ? bad[(i + k / 3) % RTE_DIM(bad)]
					     : env_copy(good, dst + k * 4096, 4096);
			desc[k].cookie = k;
		}
		env_do(q, desc, comp, 8);
		for (k = 0; k < 8; k++) {
			CHECK_EQ(comp[k].cookie, k);
			CHECK_EQ(comp[k].status, k % 3 == 2 ? GANTRY_LOCAL_ERROR : GANTRY_OK,
				gantry_status_name(comp[k].status));
			if (k % 3 != 2)
				CHECK(env_is_filled(dst + k * 4096, 4096, 9));
		}
	}
	CHECK(env_is_filled(fixed, 4096, 10));
	CHECK_EQ(gantry_mem_unregister(any, CHECK_PATIENCE_MS), 0);
	env_queue_done(q);
	env_unmap(hole, 4096);
	env_unmap(fixed, 4096);
	env_unmap(good, 8192);
}

static const struct check_case cases[] = {
	{"read-only memory is a source and no destination",
		memory_that_is_only_read_is_a_source_and_no_destination},
	{"memory with relaxed order moves the same bytes",
		memory_with_relaxed_order_moves_the_same_bytes},
	{"peers may do what the flags of the memory allow",
		peers_may_do_what_memory_was_registered_for},
	{"writes may overtake each other only in memory with relaxed order",
		writes_may_overtake_each_other_in_memory_with_relaxed_order_alone},
	{"a registration that fails says why", a_registration_that_fails_says_why},
	{"a registration that fails writes no pointer",
		a_registration_that_fails_writes_no_pointer},
	{"a pool that grows is registered again", a_pool_that_grows_is_registered_again},
	{"a pool that is being unregistered can be registered again",
		a_pool_that_is_being_unregistered_is_registered_anew},
	{"all memory can be used on demand, but only by copies",
		all_memory_is_reached_on_demand_by_copies_alone},
	{"only descriptors whose pages cannot be used fail",
		pages_that_cannot_be_used_fail_their_descriptors_alone},
};

int
main(int argc, char **argv)
{
	env_init(0);
	arena_create(NULL);
	return arena_run(cases, RTE_DIM(cases), argc, argv);
}
