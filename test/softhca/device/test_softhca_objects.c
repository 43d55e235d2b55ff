/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How control calls create and destroy the objects of the data half: when an allocation fails,
 * while a lane may use the objects, and at the limits of their sizes. Also the tables of QP states,
 * bit by bit.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "devices.h"
#include "lanes.h"
#include "qp.h"
#include "cq.h"
#include "key.h"
#include "softhca.h"
#include "softhca_rig.h"
#include "srq.h"
#include "turns.h"
#include "uar.h"
#include "wire.h"

static struct rig r;

static struct softhca_dev *
device(void)
{
	unsigned int n;

	return softhca_devices(&n);
}

/*
 * These functions replace malloc(3) and its relatives. fail_at: n makes the n-th allocation from
 * now on fail; 0: no allocation fails.
 */

static atomic_uint fail_at;
static atomic_int live; /* allocations that are not freed yet */
static atomic_int most; /* greatest value of `live` */

void *__wrap_malloc(size_t len);
void *__wrap_calloc(size_t n, size_t len);
void *__wrap_aligned_alloc(size_t align, size_t len);
void *__wrap_realloc(void *p, size_t len);
void __wrap_free(void *p);
void *__real_malloc(size_t len);
void *__real_calloc(size_t n, size_t len);
void *__real_aligned_alloc(size_t align, size_t len);
void *__real_realloc(void *p, size_t len);
void __real_free(void *p);

static bool
fails(void)
{
	return fail_at != 0 && --fail_at == 0;
}

static void *
count(void *p)
{
	live += p != NULL;
	if (live > most)
		most = live;
	return p;
}

void *
__wrap_malloc(size_t len)
{
	return fails() ? NULL : count(__real_malloc(len));
}

void *
__wrap_calloc(size_t n, size_t len)
{
	return fails() ? NULL : count(__real_calloc(n, len));
}

void *
__wrap_aligned_alloc(size_t align, size_t len)
{
	return fails() ? NULL : count(__real_aligned_alloc(align, len));
}

void *
__wrap_realloc(void *p, size_t len)
{
	if (fails())
		return NULL;
	return p == NULL ? count(__real_realloc(p, len)) : __real_realloc(p, len);
}

void
__wrap_free(void *p)
{
	live -= p != NULL;
	__real_free(p);
}

/* ---- one object of each kind */

static uint8_t queue_buf[65536] __attribute__((aligned(4096)));
static uint8_t pages[2][4096] __attribute__((aligned(4096)));
static _Atomic uint32_t record[16];
static struct rig_event event;

static int
make_mkey(void **out, enum softhca_mkey_kind kind, uint32_t access)
{
	const struct softhca_mkey_attr attr = {.pdn = RIG_PDN,
		.addr = (uintptr_t)queue_buf,
		.len = sizeof(queue_buf),
		.kind = kind,
		.access = access,
		.free = kind == SOFTHCA_MKEY_INDIRECT,
		.max_entries = 4};

	return softhca_mkey_create(device(), &attr, (struct softhca_mkey **)out);
}

static int
make_region(void **out)
{
	return make_mkey(out, SOFTHCA_MKEY_MR, ACC_LOCAL_WRITE);
}

static int
make_on_demand(void **out)
{
	return make_mkey(out, SOFTHCA_MKEY_MR, ACC_ON_DEMAND);
}

static int
make_indirect(void **out)
{
	return make_mkey(out, SOFTHCA_MKEY_INDIRECT, 0);
}

static int
end_mkey(void *o)
{
	return softhca_mkey_destroy(o);
}

static int
make_psv(void **out)
{
	return softhca_psv_create(device(), RIG_PDN, (struct softhca_psv **)out);
}

static int
end_psv(void *o)
{
	return softhca_psv_destroy(o);
}

static int
make_dek(void **out)
{
	const struct softhca_dek_attr attr = {.pdn = RIG_PDN, .key = {1}};

	return softhca_dek_create(device(), &attr, (struct softhca_dek **)out);
}

static int
end_dek(void *o)
{
	return softhca_dek_destroy(o);
}

static int
make_cq(void **out)
{
	const struct softhca_cq_attr attr = {.buf = queue_buf,
		.dbrec = record,
		.n_cqe = 16,
		.cqe_len = 64,
		.uar = r.a.uar,
		.event = &event};

	return softhca_cq_create(device(), &attr, (struct softhca_cq **)out);
}

static int
end_cq(void *o)
{
	return softhca_cq_destroy(o);
}

static int
make_srq(void **out)
{
	const struct softhca_srq_attr attr = {.pdn = RIG_PDN,
		.buf = queue_buf,
		.dbrec = record,
		.n_wqe = 16,
		.log_stride = 6,
		.cq = r.a.cq,
		.event = &event};

	return softhca_srq_create(device(), &attr, (struct softhca_srq **)out);
}

static int
end_srq(void *o)
{
	return softhca_srq_destroy(o);
}

static int
make_qp_of(void **out, enum softhca_qp_type type)
{
	const bool sends = type != SOFTHCA_QP_XRC_RECV && type != SOFTHCA_QP_DCT;
	const struct softhca_qp_init init = {.type = type,
		.pdn = RIG_PDN,
		.send_cq = sends ? r.a.cq : NULL,
		.recv_cq = r.a.cq,
		.uar = sends ? r.a.uar : NULL,
		.buf = queue_buf,
		.dbrec = record,
		.sq_bb = sends ? 16 : 0,
		.rq_wqe = sends ? 16 : 0,
		.log_rq_stride = 6,
		.streams = type == SOFTHCA_QP_DCI,
		.event = &event};

	return softhca_qp_create(device(), &init, (struct softhca_qp **)out);
}

static int
make_rc(void **out)
{
	return make_qp_of(out, SOFTHCA_QP_RC);
}

static int
make_dci(void **out)
{
	return make_qp_of(out, SOFTHCA_QP_DCI);
}

static int
end_qp(void *o)
{
	return softhca_qp_destroy(o);
}

static int
make_wq(void **out)
{
	const struct softhca_wq_attr attr = {.dbrec = record,
		.n_wqe = 16,
		.cq = r.a.cq,
		.event = &event};

	return softhca_wq_create(device(), &attr, (struct softhca_wq **)out);
}

static int
end_wq(void *o)
{
	softhca_wq_destroy(o);
	return 0;
}

static int
make_uar(void **out)
{
	return softhca_uar_create(device(), pages[0], 7, SOFTHCA_UAR_BF,
		(struct softhca_uar **)out);
}

static int
end_uar(void *o)
{
	return softhca_uar_destroy(o);
}

static int
make_clock(void **out)
{
	*out = pages[1];
	return softhca_clock_add(device(), pages[1]);
}

static int
end_clock(void *o)
{
	return softhca_clock_remove(device(), o);
}

static const struct object_kind {
	const char *name;
	int (*make)(void **out);
	int (*end)(void *o);
	bool ends_by_memory; /* destroying an object of this kind allocates memory, and may fail */
} kinds[] = {
	{"a region", make_region, end_mkey, false},
	{"a region on demand", make_on_demand, end_mkey, false},
	{"an indirect key", make_indirect, end_mkey, false},
	{"a PSV", make_psv, end_psv, false},
	{"a DEK", make_dek, end_dek, false},
	{"a CQ", make_cq, end_cq, false},
	{"an SRQ", make_srq, end_srq, false},
	{"an RC QP", make_rc, end_qp, false},
	{"a DCI", make_dci, end_qp, false},
	{"a WQ", make_wq, end_wq, false},
	{"a UAR page", make_uar, end_uar, true},
	{"a clock page", make_clock, end_clock, true},
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void
begin(void)
{
	rig_init(&r, &(struct rig_opts){.no_connect = true});
}

/* ---- allocations that fail */

static uint32_t
numbers_in_use(void)
{
	const struct softhca_lanes *l = device()->lanes;

	return l->keys.used + l->psvs.used + l->deks.used + l->qps.used + l->cqs.used +
	       l->srqs.used;
}

/*
 * Makes the next number of each table belong to a part of the table for which no memory is
 * allocated yet.
 */
static void
use_no_leaf(void)
{
	struct softhca_lanes *l = device()->lanes;
	struct table *const tables[] = {&l->keys, &l->psvs, &l->deks, &l->qps, &l->cqs, &l->srqs};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		tables[i]->next += 2 * TABLE_LEAF;
}

/*
 * Repeats a call so that each of its allocations fails once. Returns the result of the last call,
 * in which no allocation fails.
 */
static int
try_without(const struct object_kind *k, void **out)
{
	for (unsigned int n = 1; n < 20; n++) {
		uint32_t used = numbers_in_use();
		int err;

		fail_at = n;
		err = k->make(out);
		if (fail_at != 0) {
			fail_at = 0;
			return err;
		}
		CHECK_EQ(err, -ENOMEM, k->name);
		CHECK_EQ(numbers_in_use(), used, k->name);
	}
	return -E2BIG;
}

static void
end_without(const struct object_kind *k, void *o)
{
	if (k->ends_by_memory) {
		fail_at = 1;
		CHECK_EQ(k->end(o), -ENOMEM, k->name);
		fail_at = 0;
	}
	CHECK_EQ(k->end(o), 0, k->name);
}

static void
case_memory(void)
{
	enum {
		N = 10 /* more objects than a page's lists have space for at first */
	};

	for (size_t i = 0; i < N_KINDS; i++) {
		const unsigned int n = kinds[i].ends_by_memory ? 1 : N;
		const int before = live;
		uint32_t used;
		void *o[N];

		begin();
		use_no_leaf();
		used = numbers_in_use();
		for (unsigned int j = 0; j < n; j++)
			CHECK_EQ(try_without(&kinds[i], &o[j]), 0, kinds[i].name);
		for (unsigned int j = 0; j < n; j++)
			end_without(&kinds[i], o[j]);
		CHECK_EQ(numbers_in_use(), used, kinds[i].name);
		rig_fini(&r); /* also checks that no object uses its CQ or its page any more */
		CHECK_EQ(live, before, kinds[i].name);
	}
}

/* If a region cannot be changed, it stays as it was. */
static void
case_modify_without_memory(void)
{
	struct softhca_mkey_attr attr = {.pdn = RIG_PDN, .len = 8};
	const struct key *was;
	void *o;

	begin();
	CHECK_EQ(make_region(&o), 0);
	was = ((struct softhca_mkey *)o)->key;
	fail_at = 1;
	CHECK_EQ(softhca_mkey_modify(o, &attr), -ENOMEM);
	fail_at = 0;
	CHECK(((struct softhca_mkey *)o)->key == was, "another key");
	CHECK_EQ(was->len, sizeof(queue_buf));
	CHECK_EQ(end_mkey(o), 0);
	rig_fini(&r);
}

/* ---- the queues of a page */

static void
expect_listed(const void *list, unsigned int n, const void *queue, bool is_there)
{
	void *const *v = list;
	unsigned int times = 0;

	for (unsigned int i = 0; i < n; i++)
		times += v[i] == queue;
	CHECK_EQ(times, is_there, "times that the page names a queue");
}

/*
 * In whatever order queues are destroyed, the page must list each remaining queue once, and no
 * destroyed queue.
 */
static void
case_lists(void)
{
	enum {
		N = 3
	};

	for (unsigned int first = 0; first < N; first++) {
		struct softhca_uar *uar;
		void *cqs[N], *qps[N];

		begin();
		uar = r.a.uar;
		for (unsigned int i = 0; i < N; i++)
			CHECK_EQ(make_cq(&cqs[i]) | make_rc(&qps[i]), 0);
		CHECK_EQ(end_cq(cqs[first]) | end_qp(qps[first]), 0);
		CHECK_EQ(uar->n_cqs, N); /* including the rig's own CQs */
		CHECK_EQ(uar->n_qps, N);
		expect_listed(uar->cqs, uar->n_cqs, r.a.cq, true);
		expect_listed(uar->qps, uar->n_qps, r.a.qp, true);
		for (unsigned int i = 0; i < N; i++) {
			expect_listed(uar->cqs, uar->n_cqs, cqs[i], i != first);
			expect_listed(uar->qps, uar->n_qps, qps[i], i != first);
		}
		for (unsigned int i = 0; i < N; i++)
			if (i != first)
				CHECK_EQ(end_cq(cqs[i]) | end_qp(qps[i]), 0);
		rig_fini(&r);
	}
}

/* ---- work requests that need memory */

/* A UMR that configures the key with four parts of the other end's region. */
static struct rig_wqe
configure(uint32_t key)
{
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_UMR, MLX5_WQE_CTRL_CQ_UPDATE);
	struct mlx5_wqe_umr_ctrl_seg *umr = (void *)(w.bytes + 16);

	w.imm = key;
	umr->flags = MLX5_WQE_UMR_CTRL_FLAG_INLINE;
	umr->klm_octowords = htobe16(4);
	umr->mkey_mask = htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE);
	w.ds = 1 + (sizeof(*umr) + sizeof(struct mlx5_wqe_mkey_context_seg)) / 16;
	for (unsigned int i = 0; i < 4; i++)
		rig_sge(&w, (uintptr_t)r.b.buf + i * 100, r.b.key, 10);
	return w;
}

static void
case_configure(void)
{
	const int before = live;
	struct softhca_mkey *mkey;
	struct rig_wqe w;

	/* More keys are replaced than the adapter keeps before it frees the oldest keys. */
	rig_init(&r, NULL);
	CHECK_EQ(make_indirect((void **)&mkey), 0);
	w = configure(softhca_mkey_key(mkey));
	for (unsigned int i = 0; i < 300; i++) {
		const struct mlx5_cqe64 *cqe;

		rig_post(&r.a, &w);
		rig_run(&r);
		cqe = rig_poll(&r.a);
		CHECK(cqe != NULL && cqe->op_own >> 4 == MLX5_CQE_REQ, "UMR %u", i);
		rig_sync_ci(&r.a);
	}
	CHECK(live - before < 200, "%d keys are kept", live - before);
	CHECK_EQ(end_mkey(mkey), 0);
	rig_fini(&r);
	CHECK_EQ(live, before);
}

static void
case_configure_without_memory(void)
{
	for (unsigned int n = 1;; n++) {
		const int before = live;
		const struct mlx5_cqe64 *cqe;
		struct softhca_mkey *mkey;
		struct rig_wqe w;
		bool failed;

		rig_init(&r, NULL);
		CHECK_EQ(make_indirect((void **)&mkey), 0);
		w = configure(softhca_mkey_key(mkey));
		rig_post(&r.a, &w);
		fail_at = n;
		rig_run(&r);
		failed = fail_at == 0;
		fail_at = 0;
		cqe = rig_poll(&r.a);
		CHECK(cqe != NULL, "allocation %u: no completion", n);
		if (cqe != NULL && failed) {
			CHECK_EQ(cqe->op_own >> 4, MLX5_CQE_REQ_ERR);
			CHECK_EQ(rig_check, VEN_UMR_ROOM);
		}
		CHECK_EQ(end_mkey(mkey), 0);
		rig_fini(&r);
		CHECK_EQ(live, before);
		if (!failed)
			return;
		CHECK(n < 10, "allocations");
	}
}

/*
 * Memory that is allocated for a work request must be freed before the next work request of the
 * same visit.
 */
static void
case_request_memory(void)
{
	const struct mlx5_cqe64 *cqe;
	struct softhca_mkey *mkey;
	int before;

	rig_init(&r, &(struct rig_opts){.no_connect = true, .type = SOFTHCA_QP_RAW});
	rig_take(&r.a, K_RAW, (struct softhca_qp_attr){.port = 1});
	CHECK_EQ(make_on_demand((void **)&mkey), 0);
	for (unsigned int i = 0; i < 30; i++) {
		struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND, MLX5_WQE_CTRL_CQ_UPDATE);

		w.ds = 2; /* the Ethernet segment, without an inline header */
		rig_sge(&w, 0, softhca_mkey_key(mkey), 100);
		(void)rig_put(&r.a, &w);
	}
	rig_record(&r.a);
	rig_bell(&r.a, (uint16_t)(r.a.sq_pi - 1));
	before = most = live;
	rig_run(&r);
	for (unsigned int i = 0; i < 30; i++) {
		cqe = rig_poll(&r.a);
		CHECK(cqe != NULL && cqe->op_own >> 4 == MLX5_CQE_REQ, "frame %u", i);
	}
	CHECK_EQ(most - before, 1, "allocations at a time");
	CHECK_EQ(live, before);
	/* If this allocation fails, the frame's data cannot be read. */
	{
		struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND, MLX5_WQE_CTRL_CQ_UPDATE);

		w.ds = 2;
		rig_sge(&w, 0, softhca_mkey_key(mkey), 100);
		rig_post(&r.a, &w);
		fail_at = 1;
		rig_run(&r);
		fail_at = 0;
		cqe = rig_poll(&r.a);
		CHECK(cqe != NULL && cqe->op_own >> 4 == MLX5_CQE_REQ_ERR, "no error");
		if (cqe != NULL)
			CHECK_EQ(rig_check, VEN_KEY_PAGE);
	}
	CHECK_EQ(end_mkey(mkey), 0);
	rig_fini(&r);
}

/* ---- calls that wait */

struct call {
	const char *name;
	void (*run)(void *o);
	void *o;
	atomic_bool done;
};

static void *
call_main(void *arg)
{
	struct call *c = arg;

	c->run(c->o);
	atomic_store(&c->done, true);
	return NULL;
}

/*
 * Checks that the call does not return while the lock `held` is held. The call has 10 ms in which
 * it could return too early.
 */
static void
expect_wait(struct call *c, void (*release)(void *), void *held)
{
	pthread_t thread;

	c->done = false;
	CHECK_EQ(pthread_create(&thread, NULL, call_main, c), 0);
	nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	CHECK(!atomic_load(&c->done), "%s: did not wait", c->name);
	release(held);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void
release_turn(void *slot)
{
	turn_end(slot);
}

static void
release_spin(void *lock)
{
	spin_unlock(lock);
}

static const struct object_kind *ending;

static void
run_end(void *o)
{
	CHECK_EQ(ending->end(o), 0, ending->name);
}

static void
run_make_on_demand(void *o)
{
	CHECK_EQ(make_on_demand(o), 0);
}

static void
run_mkey_modify(void *o)
{
	const struct softhca_mkey_attr attr = {.pdn = RIG_PDN, .len = 8};

	CHECK_EQ(softhca_mkey_modify(o, &attr), 0);
}

static void
run_settle(void *o)
{
	(void)o;
	softhca_settle(device());
}

/*
 * A lane that has found an object may use it until the lane's turn ends: the object must not be
 * freed before.
 */
static void
case_turns(void)
{
	struct call on_demand = {"making a region on demand", run_make_on_demand, NULL, false};
	struct call modify = {"changing a region", run_mkey_modify, NULL, false};
	struct call settle = {"settling", run_settle, NULL, false};
	void *o, *later;

	begin();
	for (size_t i = 0; i < N_KINDS; i++) {
		struct call c = {kinds[i].name, run_end, NULL, false};

		ending = &kinds[i];
		CHECK_EQ(kinds[i].make(&c.o), 0, kinds[i].name);
		expect_wait(&c, release_turn, turn_claim(device()->lanes));
	}
	on_demand.o = &later;
	expect_wait(&on_demand, release_turn, turn_claim(device()->lanes));
	CHECK_EQ(end_mkey(later), 0);
	CHECK_EQ(make_region(&o), 0);
	modify.o = o;
	expect_wait(&modify, release_turn, turn_claim(device()->lanes));
	CHECK_EQ(end_mkey(o), 0);
	expect_wait(&settle, release_turn, turn_claim(device()->lanes));
	rig_fini(&r);
}

static void
run_qp_query(void *o)
{
	struct softhca_qp_attr attr;
	uint32_t bb;

	softhca_qp_query(o, &attr, &bb);
}

static void
run_qp_modify(void *o)
{
	const struct softhca_qp_attr attr = {.state = IBV_QPS_RESET};

	CHECK_EQ(softhca_qp_modify(o, &attr, IBV_QP_STATE), 0);
}

static void
run_reset_stream(void *o)
{
	CHECK_EQ(softhca_qp_reset_stream(o, 1), -EINVAL, "a stream that is not in error");
}

static void
run_wq_state(void *o)
{
	CHECK_EQ(softhca_wq_state(o), SOFTHCA_WQ_RESET);
}

static void
run_wq_modify(void *o)
{
	CHECK_EQ(softhca_wq_modify(o, SOFTHCA_WQ_RESET, SOFTHCA_WQ_RESET), 0);
}

static void
run_cq_query(void *o)
{
	struct softhca_cq_attr attr;
	uint32_t pi, ci;

	softhca_cq_query(o, &attr, &pi, &ci);
}

static void
run_cq_moderate(void *o)
{
	softhca_cq_moderate(o, 1, 1);
}

static void
run_cq_resize(void *o)
{
	CHECK_EQ(softhca_cq_resize(o, queue_buf, 16, 64), 0);
}

static void
run_srq_arm(void *o)
{
	CHECK_EQ(softhca_srq_arm(o, 0), 0);
}

static void
run_srq_limit(void *o)
{
	CHECK_EQ(softhca_srq_limit(o), 0);
}

static void
run_make_end(void *o)
{
	const struct object_kind *k = o;
	void *made;

	CHECK_EQ(k->make(&made), 0, k->name);
	CHECK_EQ(k->end(made), 0, k->name);
}

static void
expect_lock(struct spin *lock, const char *name, void (*run)(void *o), void *o)
{
	struct call c = {name, run, o, false};

	spin_lock(lock);
	expect_wait(&c, release_spin, lock);
}

/* Control calls must wait for a thread that holds the lock of a page, a queue or a key. */
static void
case_locks(void)
{
	void *qp, *dci, *wq, *cq, *srq, *mkey;
	struct spin *page;

	begin();
	page = &r.a.uar->lock;
	CHECK_EQ(make_rc(&qp) | make_dci(&dci) | make_wq(&wq) | make_cq(&cq) | make_srq(&srq) |
			 make_region(&mkey),
		0);
	expect_lock(page, "querying a QP", run_qp_query, qp);
	expect_lock(page, "modifying a QP", run_qp_modify, qp);
	expect_lock(&((struct softhca_qp *)qp)->recv, "querying its other side", run_qp_query, qp);
	expect_lock(&((struct softhca_qp *)qp)->recv, "modifying its other side", run_qp_modify,
		qp);
	expect_lock(page, "resetting a stream", run_reset_stream, dci);
	expect_lock(page, "a WQ's state", run_wq_state, wq);
	expect_lock(page, "modifying a WQ", run_wq_modify, wq);
	expect_lock(page, "resizing a CQ", run_cq_resize, cq);
	expect_lock(&((struct softhca_cq *)cq)->lock, "resizing it", run_cq_resize, cq);
	expect_lock(&((struct softhca_cq *)cq)->lock, "querying a CQ", run_cq_query, cq);
	expect_lock(&((struct softhca_cq *)cq)->lock, "moderating a CQ", run_cq_moderate, cq);
	expect_lock(&((struct softhca_srq *)srq)->lock, "arming an SRQ", run_srq_arm, srq);
	expect_lock(&((struct softhca_srq *)srq)->lock, "an SRQ's limit", run_srq_limit, srq);
	expect_lock(&((struct softhca_mkey *)mkey)->lock, "changing a region", run_mkey_modify,
		mkey);
	CHECK_EQ(end_qp(qp) | end_qp(dci) | end_wq(wq) | end_cq(cq) | end_srq(srq) | end_mkey(mkey),
		0);
	rig_fini(&r);
}

/* Creating an object must wait for the page's lock, and so must destroying it. */
static void
case_page_lock(void)
{
	static const struct object_kind *const named[] = {&kinds[5], &kinds[7], &kinds[9]};

	begin();
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		void *made;

		expect_lock(&r.a.uar->lock, named[i]->name, run_make_end,
			(void *)(uintptr_t)named[i]);
		CHECK_EQ(named[i]->make(&made), 0, named[i]->name);
		ending = named[i];
		expect_lock(&r.a.uar->lock, named[i]->name, run_end, made);
	}
	{
		void *uar;

		CHECK_EQ(make_uar(&uar), 0);
		ending = &kinds[10];
		expect_lock(&((struct softhca_uar *)uar)->lock, "ending a page", run_end, uar);
	}
	rig_fini(&r);
}

/* ---- the largest and the smallest sizes (the adapter's limits: doc/softhca-reference.md) */

static void
expect_qp(uint32_t sq_bb, uint32_t rq_wqe, uint32_t log_rq_stride)
{
	const struct softhca_qp_init init = {.type = SOFTHCA_QP_RC,
		.pdn = RIG_PDN,
		.send_cq = r.a.cq,
		.recv_cq = r.a.cq,
		.uar = r.a.uar,
		.buf = queue_buf,
		.dbrec = record,
		.sq_bb = sq_bb,
		.rq_wqe = rq_wqe,
		.log_rq_stride = log_rq_stride,
		.event = &event};
	struct softhca_qp *qp;

	CHECK_EQ(softhca_qp_create(device(), &init, &qp), 0, "the sizes of a QP");
	CHECK_EQ(softhca_qp_destroy(qp), 0);
}

static int
srq_of(uint32_t n_wqe, uint32_t log_stride)
{
	const struct softhca_srq_attr attr = {.pdn = RIG_PDN,
		.buf = queue_buf,
		.dbrec = record,
		.n_wqe = n_wqe,
		.log_stride = log_stride,
		.event = &event};
	struct softhca_srq *srq;
	int err = softhca_srq_create(device(), &attr, &srq);

	if (err == 0) {
		CHECK_EQ(softhca_srq_arm(srq, n_wqe), -EINVAL, "a limit of all");
		if (n_wqe > 1)
			CHECK_EQ(softhca_srq_arm(srq, n_wqe - 1), 0, "a limit of all but one");
		CHECK_EQ(softhca_srq_destroy(srq), 0);
	}
	return err;
}

static int
cq_of(uint32_t n_cqe, uint32_t cqe_len, bool pad)
{
	const struct softhca_cq_attr attr = {.buf = queue_buf,
		.dbrec = record,
		.n_cqe = n_cqe,
		.cqe_len = cqe_len,
		.pad = pad,
		.uar = r.a.uar,
		.event = &event};
	struct softhca_cq *cq;
	int err = softhca_cq_create(device(), &attr, &cq);

	if (err == 0)
		CHECK_EQ(softhca_cq_destroy(cq), 0);
	return err;
}

static void
case_sizes(void)
{
	static const struct {
		uint32_t n, len;
		bool pad;
		int err;
	} cqs[] = {{1, 64, false, 0}, {1u << 23, 64, false, 0}, {1u << 24, 64, false, -EINVAL},
		{0, 64, false, -EINVAL}, {3, 64, false, -EINVAL}, {16, 63, false, -EINVAL},
		{16, 65, false, -EINVAL}, {16, 127, false, -EINVAL}, {16, 129, false, -EINVAL},
		{16, 128, true, 0}, {16, 64, true, -EINVAL}};
	struct softhca_cq *cq;

	begin();
	expect_qp(32768, 32768, 4);
	expect_qp(1, 1, 10);
	expect_qp(0, 0, 0);
	expect_qp(0, 0, 3);
	CHECK_EQ(srq_of(32768, 5), 0, "an SRQ of 32768");
	CHECK_EQ(srq_of(1, 10), 0, "an SRQ of 1");
	for (size_t i = 0; i < sizeof(cqs) / sizeof(cqs[0]); i++)
		CHECK_EQ(cq_of(cqs[i].n, cqs[i].len, cqs[i].pad), cqs[i].err, "a CQ's size");
	for (size_t i = 0; i < 9; i++) {
		CHECK_EQ(make_cq((void **)&cq), 0);
		CHECK_EQ(softhca_cq_resize(cq, queue_buf, cqs[i].n, cqs[i].len), cqs[i].err,
			"a CQ's new size");
		CHECK_EQ(softhca_cq_destroy(cq), 0);
	}
	rig_fini(&r);
}

/* ---- states: the table of ibv_modify_qp(3), and its optional attributes in chapter 11.2.5.2 */

#define ACCESS IBV_QP_ACCESS_FLAGS
#define PKEY   IBV_QP_PKEY_INDEX
#define PORT   IBV_QP_PORT
#define QKEY   IBV_QP_QKEY
#define AV     IBV_QP_AV
#define MTU    IBV_QP_PATH_MTU
#define RNR    IBV_QP_MIN_RNR_TIMER
#define CUR    IBV_QP_CUR_STATE
#define PATH   (AV | MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define ASKS                                                                                       \
	(IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |                    \
		IBV_QP_MAX_QP_RD_ATOMIC)
#define ANSWERS (IBV_QP_MAX_DEST_RD_ATOMIC | RNR)
/* Attributes that only firmware commands can set (mlx5_ifc.h), in INIT2INIT and in RTS2RTS. */
#define INIT2INIT (SOFTHCA_QP_MMO | SOFTHCA_QP_DRAIN_SIGERR)
#define RTS2RTS   SOFTHCA_QP_UDP_SPORT

struct way {
	unsigned int from, to;
	uint32_t need, may;
};

#define ANY 99

static const struct way rc_ways[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, PKEY | PORT | ACCESS, 0},
	{IBV_QPS_INIT, IBV_QPS_INIT, 0, PKEY | PORT | ACCESS | INIT2INIT},
	{IBV_QPS_INIT, IBV_QPS_RTR, PATH | ANSWERS, PKEY | ACCESS},
	{IBV_QPS_RTR, IBV_QPS_RTS, ASKS, CUR | ACCESS | RNR},
	{IBV_QPS_RTS, IBV_QPS_RTS, 0, CUR | ACCESS | RNR | RTS2RTS},
	{IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	{IBV_QPS_SQD, IBV_QPS_RTS, 0, CUR | ACCESS | RNR},
	{IBV_QPS_SQD, IBV_QPS_SQD, 0,
		PKEY | PORT | AV | (ASKS & ~IBV_QP_SQ_PSN) | IBV_QP_MAX_DEST_RD_ATOMIC | ACCESS |
			RNR},
	{ANY, 0, 0, 0},
};

static const struct way uc_ways[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, PKEY | PORT | ACCESS, 0},
	{IBV_QPS_INIT, IBV_QPS_INIT, 0, PKEY | PORT | ACCESS},
	{IBV_QPS_INIT, IBV_QPS_RTR, PATH, PKEY | ACCESS},
	{IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, CUR | ACCESS},
	{IBV_QPS_RTS, IBV_QPS_RTS, 0, CUR | ACCESS | RTS2RTS},
	{IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	{IBV_QPS_SQD, IBV_QPS_RTS, 0, CUR | ACCESS},
	{IBV_QPS_SQD, IBV_QPS_SQD, 0, AV | ACCESS | PKEY},
	{IBV_QPS_SQE, IBV_QPS_RTS, 0, CUR | ACCESS},
	{ANY, 0, 0, 0},
};

static const struct way ud_ways[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, PKEY | PORT | QKEY, 0},
	{IBV_QPS_INIT, IBV_QPS_INIT, 0, PKEY | PORT | QKEY},
	{IBV_QPS_INIT, IBV_QPS_RTR, 0, PKEY | QKEY},
	{IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, CUR | QKEY},
	{IBV_QPS_RTS, IBV_QPS_RTS, 0, CUR | QKEY},
	{IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	{IBV_QPS_SQD, IBV_QPS_RTS, 0, CUR | QKEY},
	{IBV_QPS_SQD, IBV_QPS_SQD, 0, PKEY | QKEY},
	{IBV_QPS_SQE, IBV_QPS_RTS, 0, CUR | QKEY},
	{ANY, 0, 0, 0},
};

static const struct way raw_ways[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, PORT, 0},
	{IBV_QPS_INIT, IBV_QPS_INIT, 0, PORT},
	{IBV_QPS_INIT, IBV_QPS_RTR, 0, 0},
	{IBV_QPS_RTR, IBV_QPS_RTS, 0, 0},
	{IBV_QPS_RTS, IBV_QPS_RTS, 0, 0},
	{IBV_QPS_RTS, IBV_QPS_SQD, 0, 0},
	{IBV_QPS_SQD, IBV_QPS_RTS, 0, 0},
	{ANY, 0, 0, 0},
};

static const struct way xrc_send_ways[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, PKEY | PORT | ACCESS, 0},
	{IBV_QPS_INIT, IBV_QPS_INIT, 0, PKEY | PORT | ACCESS | INIT2INIT},
	{IBV_QPS_INIT, IBV_QPS_RTR, PATH, PKEY | ACCESS},
	{IBV_QPS_RTR, IBV_QPS_RTS, ASKS, CUR | ACCESS},
	{IBV_QPS_RTS, IBV_QPS_RTS, 0, CUR | ACCESS},
	{IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	{IBV_QPS_SQD, IBV_QPS_RTS, 0, CUR | ACCESS},
	{IBV_QPS_SQD, IBV_QPS_SQD, 0, PKEY | PORT | AV | (ASKS & ~IBV_QP_SQ_PSN) | ACCESS},
	{ANY, 0, 0, 0},
};

static const struct way xrc_recv_ways[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, PKEY | PORT | ACCESS, 0},
	{IBV_QPS_INIT, IBV_QPS_INIT, 0, PKEY | PORT | ACCESS},
	{IBV_QPS_INIT, IBV_QPS_RTR, PATH | ANSWERS, PKEY | ACCESS},
	{IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_SQ_PSN, CUR | ACCESS | RNR},
	{IBV_QPS_RTS, IBV_QPS_RTS, 0, CUR | ACCESS | RNR},
	{ANY, 0, 0, 0},
};

/* Sources: mlx5dv_create_qp(3) and libmlx5. A DCI has no access flags and no peer. */
static const struct way dci_ways[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, PKEY | PORT, 0},
	{IBV_QPS_INIT, IBV_QPS_INIT, 0, PKEY | PORT | INIT2INIT},
	{IBV_QPS_INIT, IBV_QPS_RTR, MTU, PKEY | AV},
	{IBV_QPS_RTR, IBV_QPS_RTS, ASKS, RNR},
	{IBV_QPS_RTS, IBV_QPS_RTS, 0, RNR},
	{ANY, 0, 0, 0},
};

static const struct way dct_ways[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, PKEY | PORT | ACCESS, 0},
	{IBV_QPS_INIT, IBV_QPS_RTR, RNR | AV | MTU, 0},
	{ANY, 0, 0, 0},
};

static const struct {
	const char *name;
	enum softhca_qp_type type;
	const struct way *ways;
} types[] = {
	{"RC", SOFTHCA_QP_RC, rc_ways},
	{"UC", SOFTHCA_QP_UC, uc_ways},
	{"UD", SOFTHCA_QP_UD, ud_ways},
	{"raw", SOFTHCA_QP_RAW, raw_ways},
	{"XRC send", SOFTHCA_QP_XRC_SEND, xrc_send_ways},
	{"XRC receive", SOFTHCA_QP_XRC_RECV, xrc_recv_ways},
	{"DCI", SOFTHCA_QP_DCI, dci_ways},
	{"DCT", SOFTHCA_QP_DCT, dct_ways},
};

/*
 * Every state has a transition to RESET, and every state except RESET has a transition to ERR. A
 * DCT can only be destroyed.
 */
static bool
find_way(const struct way *ways, enum softhca_qp_type type, struct way *w)
{
	for (; ways->from != ANY; ways++) {
		if (ways->from != w->from || ways->to != w->to)
			continue;
		*w = *ways;
		return true;
	}
	w->need = w->may = 0;
	return type != SOFTHCA_QP_DCT &&
	       (w->to == IBV_QPS_RESET || (w->to == IBV_QPS_ERR && w->from != IBV_QPS_RESET));
}

static int
move(struct softhca_qp *qp, unsigned int from, unsigned int to, unsigned int cur, uint32_t mask)
{
	const struct softhca_qp_attr attr = {.state = to,
		.cur_state = cur,
		.port = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qpn = 77,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1};

	atomic_store(&qp->state, from);
	return softhca_qp_modify(qp, &attr, IBV_QP_STATE | mask);
}

/*
 * Tries each transition with one attribute more than it needs, and with one attribute less, for
 * every attribute.
 */
static void
check_way(struct softhca_qp *qp, unsigned int type, const struct way *w, bool exists)
{
	for (unsigned int bit = 0; bit < 32; bit++) {
		const uint32_t mask = UINT32_C(1) << bit;
		const bool allowed = exists && ((w->need | w->may | IBV_QP_STATE) & mask) != 0;

		CHECK(move(qp, w->from, w->to, w->from, w->need | mask) == (allowed ? 0 : -EINVAL),
			"%s from %u to %u with bit %u", types[type].name, w->from, w->to, bit);
		if ((w->need & mask) != 0)
			CHECK(move(qp, w->from, w->to, w->from, w->need & ~mask) == -EINVAL,
				"%s from %u to %u without bit %u", types[type].name, w->from, w->to,
				bit);
		if (mask == CUR && allowed)
			CHECK(move(qp, w->from, w->to, w->from ^ 1, w->need | mask) == -EINVAL,
				"%s from %u to %u, from another state", types[type].name, w->from,
				w->to);
	}
}

static void
case_states(void)
{
	begin();
	for (unsigned int type = 0; type < sizeof(types) / sizeof(types[0]); type++) {
		struct softhca_qp *qp;

		CHECK_EQ(make_qp_of((void **)&qp, types[type].type), 0, types[type].name);
		for (unsigned int i = 0; i < 7 * 8; i++) {
			struct way w = {.from = i / 8, .to = i % 8};
			bool exists = w.to < 7 && find_way(types[type].ways, types[type].type, &w);

			check_way(qp, type, &w, exists);
		}
		atomic_store(&qp->state, IBV_QPS_RESET);
		CHECK_EQ(softhca_qp_destroy(qp), 0, types[type].name);
	}
	rig_fini(&r);
}

/* ---- attributes */

/* Each attribute gets a different value. A query must return this value until RESET. */
static void
case_attributes(void)
{
	const struct softhca_qp_attr set = {.path_mtu = IBV_MTU_2048,
		.rq_psn = 0x111111,
		.sq_psn = 0x222222,
		.dest_qpn = 0xffffff,
		.access = IBV_ACCESS_REMOTE_READ,
		.pkey_index = 3,
		.max_rd_atomic = 16,
		.max_dest_rd_atomic = 15,
		.min_rnr_timer = 31,
		.port = 1,
		.timeout = 30,
		.retry_cnt = 7,
		.rnr_retry = 6,
		.is_global = 1,
		.sgid_index = 2,
		.hop_limit = 64,
		.sl = 5,
		.dlid = 0x1234,
		.udp_sport = 0xc001,
		.dgid = {1, 2, [15] = 3},
		.dmac = {4, 5, 6, 7, 8, 9},
		.mmo = true,
		.drain_sigerr = true};
	static const uint32_t masks[][2] = {{IBV_QPS_INIT, PKEY | PORT | ACCESS},
		{IBV_QPS_INIT, INIT2INIT}, {IBV_QPS_RTR, PATH | ANSWERS}, {IBV_QPS_RTS, ASKS},
		{IBV_QPS_RTS, RTS2RTS}};
	/* In RESET a QP has port 1: mlx5_ib creates it with this port. */
	struct softhca_qp_attr got, zero = {.port = 1};
	struct softhca_qp *qp;
	uint32_t bb;

	begin();
	CHECK_EQ(make_rc((void **)&qp), 0);
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		struct softhca_qp_attr attr = set;

		attr.state = masks[i][0];
		CHECK_EQ(softhca_qp_modify(qp, &attr, IBV_QP_STATE | masks[i][1]), 0);
	}
	softhca_qp_query(qp, &got, &bb);
	CHECK_EQ(got.state, IBV_QPS_RTS);
	CHECK_EQ(got.cur_state, IBV_QPS_RTS);
	CHECK_EQ(got.sq_draining, 0);
	got.state = got.cur_state = 0;
	check_bytes(&got, &set, sizeof(set), "the attributes");
	/* RESET clears all attributes, and everything that was in progress. */
	qp->sq_ci = qp->announced = qp->rq_ci = 5;
	qp->rang = qp->bad_bf = qp->mute = qp->delayed = qp->draining = qp->established = true;
	qp->wait = WAIT_TIME;
	qp->n_errored = 2;
	CHECK_EQ(move(qp, IBV_QPS_RTS, IBV_QPS_RESET, 0, 0), 0);
	softhca_qp_query(qp, &got, &bb);
	check_bytes(&got, &zero, sizeof(zero), "the attributes after RESET");
	CHECK_EQ(bb, 0);
	CHECK_EQ(qp->sq_ci | qp->announced | qp->rq_ci, 0);
	CHECK(!qp->rang && !qp->bad_bf && !qp->mute && !qp->delayed && !qp->established, "flags");
	CHECK_EQ(qp->wait, WAIT_NONE);
	CHECK_EQ(qp->n_errored, 0);
	CHECK_EQ(softhca_qp_destroy(qp), 0);
	rig_fini(&r);
}

static void
case_streams_after_reset(void)
{
	struct softhca_qp *qp;

	begin();
	CHECK_EQ(make_dci((void **)&qp), 0);
	memset(qp->stream_errors, 0xff, 65536 / 8);
	qp->n_errored = 1;
	CHECK_EQ(move(qp, IBV_QPS_RTS, IBV_QPS_RESET, 0, 0), 0);
	for (unsigned int i = 0; i < 65536 / 8; i++)
		CHECK_EQ(qp->stream_errors[i], 0);
	CHECK_EQ(softhca_qp_destroy(qp), 0);
	rig_fini(&r);
}

/* ---- device threads */

/* Returns the hexadecimal number after a word in a thread's status in /proc. */
static unsigned long long
status_of(const char *task, const char *word)
{
	char path[300], line[256];
	unsigned long long value = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", task);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, word, strlen(word)) == 0)
			value = strtoull(line + strlen(word), NULL, 16);
	if (f != NULL)
		fclose(f);
	return value;
}

static bool
is_device_thread(const char *task)
{
	char path[300], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task);
	f = fopen(path, "r");
	if (f != NULL) {
		CHECK(fgets(name, sizeof(name), f) != NULL, "a name");
		fclose(f);
	}
	return strcmp(name, "softhca\n") == 0;
}

/*
 * Waits until the thread may run on exactly these CPUs. The wait is needed, because a device thread
 * that leaves its CPU may for a moment run only on all other CPUs.
 */
static bool
may_run_on(const char *task, unsigned long long cpus)
{
	for (unsigned int i = 0; i < CHECK_PATIENCE_MS; i++) {
		if (status_of(task, "Cpus_allowed:") == cpus)
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return false;
}

static unsigned int
check_threads(unsigned long long cpus)
{
	const int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD};
	struct dirent *task;
	unsigned int n = 0;
	DIR *dir = opendir("/proc/self/task");

	CHECK(dir != NULL, "/proc");
	while (dir != NULL && (task = readdir(dir)) != NULL) {
		if (!is_device_thread(task->d_name))
			continue;
		n++;
		CHECK(may_run_on(task->d_name, cpus), "thread %s runs anywhere", task->d_name);
		for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
			CHECK((status_of(task->d_name, "SigBlk:") >> (signals[i] - 1) & 1) != 0,
				"signal %d", signals[i]);
	}
	if (dir != NULL)
		closedir(dir);
	return n;
}

/*
 * Device threads must be allowed to run on all CPUs of the process, even if the thread that creates
 * them is bound to one CPU. They must also block signals, so that the program's own threads get the
 * signals.
 */
static void
case_threads(void)
{
	char self[16];
	cpu_set_t all, one;
	unsigned long long cpus;

	snprintf(self, sizeof(self), "%d", (int)getpid());
	cpus = status_of(self, "Cpus_allowed:");
	CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
	rig_init(&r, &(struct rig_opts){.threads = 2, .no_connect = true});
	/* A thread sets its affinity after it has started. */
	for (unsigned int i = 0; i < CHECK_PATIENCE_MS && check_failures == 0; i++) {
		struct softhca_lanes *l = device()->lanes;

		if (atomic_load(&l->slots[0].epoch) != 0 && atomic_load(&l->slots[1].epoch) != 0)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	CHECK_EQ(check_threads(cpus), 2, "device threads");
	CHECK_EQ(status_of(self, "SigBlk:"), 0, "the maker's own signals");
	rig_fini(&r);
	CHECK_EQ(check_threads(cpus), 0, "device threads that stayed");
	CHECK_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* ---- lanes that wait */

static void
run_pump(void *o)
{
	(void)o;
	while (softhca_pump() != 0)
		;
}

/* A lane that completes a work request must wait for the thread that holds the CQ's lock. */
static void
case_lane_waits(void)
{
	const struct rig_wqe nop = rig_wqe(MLX5_OPCODE_NOP, MLX5_WQE_CTRL_CQ_UPDATE);
	const struct mlx5_cqe64 *cqe;
	void *wq;

	begin();
	CHECK_EQ(make_wq(&wq), 0);
	atomic_store(&record[0], htobe32(1));
	CHECK_EQ(softhca_wq_modify(wq, SOFTHCA_WQ_RESET, SOFTHCA_WQ_RDY), 0);
	CHECK_EQ(softhca_wq_modify(wq, SOFTHCA_WQ_RDY, SOFTHCA_WQ_ERR), 0);
	expect_lock(&r.a.cq->lock, "flushing a WQ", run_pump, NULL);
	cqe = rig_poll(&r.a);
	CHECK(cqe != NULL && cqe->op_own >> 4 == MLX5_CQE_RESP_ERR, "the flushed receive");
	CHECK_EQ(end_wq(wq), 0);
	atomic_store(&record[0], 0);
	CHECK_EQ(rig_modify(&r.a, IBV_QPS_ERR), -EINVAL, "from RESET");
	rig_connect(&r.a, r.b.qpn, 7, 1);
	rig_post(&r.a, &nop);
	expect_lock(&r.a.cq->lock, "completing a NOP", run_pump, NULL);
	CHECK(rig_poll(&r.a) != NULL, "the NOP");
	rig_fini(&r);
}

/* ---- objects that cannot be destroyed, because other objects use them */

static void
case_busy(void)
{
	struct softhca_srq_attr attr = {.pdn = RIG_PDN,
		.buf = queue_buf,
		.dbrec = record,
		.n_wqe = 16,
		.log_stride = 6,
		.event = &event};
	struct softhca_qp_init init = {.type = SOFTHCA_QP_XRC_RECV,
		.pdn = RIG_PDN,
		.event = &event};
	struct softhca_srq *srq;
	struct softhca_qp *qp;
	void *cq;

	begin();
	CHECK_EQ(make_cq(&cq), 0);
	attr.cq = cq;
	CHECK_EQ(softhca_srq_create(device(), &attr, &srq), 0);
	CHECK_EQ(end_cq(cq), -EBUSY, "a CQ that an SRQ uses");
	init.srq = srq;
	CHECK_EQ(softhca_qp_create(device(), &init, &qp), 0);
	CHECK_EQ(softhca_srq_destroy(srq), -EBUSY, "an SRQ that a QP uses");
	CHECK_EQ(end_uar(r.a.uar), -EBUSY, "a page that queues use");
	CHECK_EQ(softhca_qp_destroy(qp), 0);
	CHECK_EQ(softhca_srq_destroy(srq), 0);
	init = (struct softhca_qp_init){.type = SOFTHCA_QP_DCT,
		.pdn = RIG_PDN,
		.recv_cq = cq,
		.event = &event};
	CHECK_EQ(softhca_qp_create(device(), &init, &qp), 0);
	CHECK_EQ(end_cq(cq), -EBUSY, "a CQ of a QP's receives");
	CHECK_EQ(softhca_qp_destroy(qp), 0);
	CHECK_EQ(end_cq(cq), 0);
	rig_fini(&r);
}

int
main(void)
{
	RUN("without memory an object is not created, and nothing is left allocated",
		case_memory());
	RUN("if there is no memory to change a region, it does not change",
		case_modify_without_memory());
	RUN("a page lists its queues, in whatever order they are destroyed", case_lists());
	RUN("keys that a work request replaced are freed", case_configure());
	RUN("a work request that gets no memory for a key fails", case_configure_without_memory());
	RUN("memory of a work request is freed when it ends", case_request_memory());
	RUN("an object that a turn may use is freed after the turn", case_turns());
	RUN("calls wait for the thread that holds the object", case_locks());
	RUN("creating and destroying queues wait for their page", case_page_lock());
	RUN("the largest and the smallest queues can be created", case_sizes());
	RUN("each type of queue pair has its own states and attributes", case_states());
	RUN("a queue pair's attributes are what was set, until RESET", case_attributes());
	RUN("a DCI after RESET has no stream in error", case_streams_after_reset());
	RUN("device threads run anywhere and take no signals", case_threads());
	RUN("a lane waits for the thread that holds a CQ", case_lane_waits());
	RUN("an object that others use is not destroyed", case_busy());
	return check_failures != 0;
}
