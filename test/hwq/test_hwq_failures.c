/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For a queue of each type, each verbs call and each allocation of lib/hwq fails once, in separate
 * runs. Expected: the caller gets the error, no object is left, and an object that could not be
 * destroyed can be destroyed later. The linker wraps the calls (ld(1), --wrap), so this program
 * links hwq statically.
 */
#include "hwq_ah.h"
#include "hwq_dm.h"
#include "hwq_failing.h"
#include "hwq_verbs_obj.h"

#define MEMORY_MAX 64

static bool no_td;

/* ------------------------------------------------------------------ memory */

static const void *memory[MEMORY_MAX];

/*
 * Replaces `from` by `to` in the list of allocated memory. NULL stands for a free entry of the
 * list.
 */
static bool
note(const void *from, const void *to)
{
	unsigned int i;

	for (i = 0; i < MEMORY_MAX; i++) {
		if (memory[i] == from) {
			memory[i] = to;
			live += to != NULL ? 1u : -1u;
			return true;
		}
	}
	return false;
}

/*
 * The functions have default visibility, because with sanitizers the linker also uses them for
 * shared libraries.
 */
#pragma GCC visibility push(default)
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);
void __real_free(void *p);
void __wrap_free(void *p);
#pragma GCC visibility pop

void *
__wrap_calloc(size_t n, size_t size)
{
	void *p = fails_by(-ENOMEM) ? NULL : __real_calloc(n, size);

	if (p != NULL && !note(NULL, p))
		EMU_DIE("more than %u pieces of memory", MEMORY_MAX);
	return p;
}

int
__wrap_posix_memalign(void **out, size_t alignment, size_t size)
{
	int ret = fails_by(-ENOMEM) ? ENOMEM : __real_posix_memalign(out, alignment, size);

	if (ret == 0 && !note(NULL, *out))
		EMU_DIE("more than %u pieces of memory", MEMORY_MAX);
	return ret;
}

void
__wrap_free(void *p)
{
	if (p != NULL)
		CHECK(note(p, NULL), "freed memory that was not allocated");
	__real_free(p);
}

/* ------------------------------------------------------------------ verbs calls */

FAILING_CALL(hwq_verbs_open, 1, (struct ibv_device * device, struct ibv_context **ctx),
	(device, ctx))

/* libmlx5 does not report the longest memcpy, as in versions that do not have this field. */
static bool no_memcpy_len;

int __real_mlx5dv_query_device(struct ibv_context *ctx, struct mlx5dv_context *attr);
int __wrap_mlx5dv_query_device(struct ibv_context *ctx, struct mlx5dv_context *attr);
int
__wrap_mlx5dv_query_device(struct ibv_context *ctx, struct mlx5dv_context *attr)
{
	int ret = __real_mlx5dv_query_device(ctx, attr);

	if (no_memcpy_len)
		attr->comp_mask &= ~(uint64_t)MLX5DV_CONTEXT_MASK_WR_MEMCPY_LENGTH;
	return ret;
}

/* The device reports limits that are larger than those of hwq. */
static bool large_limits;

int __real_hwq_verbs_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr);
int __wrap_hwq_verbs_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr);
int
__wrap_hwq_verbs_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	int ret = fails() ? REFUSAL : __real_hwq_verbs_query_device(ctx, attr);

	if (ret == 0 && large_limits) {
		attr->max_qp_wr = 1 << 17;
		attr->max_qp_init_rd_atom = 256;
		attr->max_qp_rd_atom = 512;
	}
	return ret;
}

int __real_hwq_verbs_query_memcpy(struct ibv_context *ctx, uint64_t *len);
int __wrap_hwq_verbs_query_memcpy(struct ibv_context *ctx, uint64_t *len);
int
__wrap_hwq_verbs_query_memcpy(struct ibv_context *ctx, uint64_t *len)
{
	int ret = fails() ? REFUSAL : __real_hwq_verbs_query_memcpy(ctx, len);

	if (ret == 0 && large_limits)
		*len = 1ull << 32;
	return ret;
}

FAILING_CALL(hwq_verbs_query_offloads, 0,
	(struct ibv_context * ctx, struct mlx5dv_sig_caps *sig, struct mlx5dv_crypto_caps *crypto),
	(ctx, sig, crypto))
FAILING_CALL(hwq_verbs_query_port, 0,
	(struct ibv_context * ctx, uint8_t port, struct ibv_port_attr *attr), (ctx, port, attr))
FAILING_CALL(hwq_verbs_query_gids, 0,
	(struct ibv_context * ctx, struct ibv_gid_entry *e, size_t max, size_t *n),
	(ctx, e, max, n))
FAILING_CALL(hwq_verbs_pd_alloc, 1, (struct ibv_context * ctx, struct ibv_pd **pd), (ctx, pd))
FAILING_CALL(hwq_verbs_pd_free, -1, (struct ibv_pd * pd), (pd))
FAILING_CALL(hwq_verbs_td_free, -1, (struct ibv_td * td), (td))
FAILING_CALL(hwq_verbs_parent_alloc, 1,
	(struct ibv_pd * pd, struct ibv_td *td, struct ibv_pd **parent), (pd, td, parent))
FAILING_CALL(hwq_verbs_mr_reg, 1,
	(struct ibv_pd * pd, void *addr, size_t len, unsigned int access, struct ibv_mr **mr),
	(pd, addr, len, access, mr))
FAILING_CALL(hwq_verbs_mr_dereg, -1, (struct ibv_mr * mr), (mr))
FAILING_CALL(hwq_verbs_query_memory, 0, (struct ibv_context * ctx, uint64_t *len, bool *any),
	(ctx, len, any))
FAILING_CALL(hwq_verbs_dm_alloc, 1,
	(struct ibv_context * ctx, size_t len, uint32_t log_align, struct ibv_dm **dm),
	(ctx, len, log_align, dm))
FAILING_CALL(hwq_verbs_dm_take, 0, (struct ibv_dm * dm, struct mlx5dv_dm *view), (dm, view))
FAILING_CALL(hwq_verbs_dm_free, -1, (struct ibv_dm * dm), (dm))
FAILING_CALL(hwq_verbs_mr_reg_dm, 1,
	(struct ibv_pd * pd, struct ibv_dm *dm, size_t len, unsigned int access,
		struct ibv_mr **mr),
	(pd, dm, len, access, mr))

FAILING_CALL(hwq_verbs_ah_create, 1,
	(struct ibv_pd * pd, struct ibv_ah_attr *attr, struct ibv_ah **ah), (pd, attr, ah))
FAILING_CALL(hwq_verbs_ah_destroy, -1, (struct ibv_ah * ah), (ah))
FAILING_CALL(hwq_verbs_ah_take, 0, (struct ibv_ah * ah, struct mlx5dv_ah *view), (ah, view))
FAILING_CALL(hwq_verbs_eth_inline, 0, (struct ibv_qp * qp, void *ring, uint8_t *bytes),
	(qp, ring, bytes))

int __real_hwq_verbs_close(struct ibv_context *ctx);
int __wrap_hwq_verbs_close(struct ibv_context *ctx);

/* The context is closed even if this function returns an error, as with close(2). */
int
__wrap_hwq_verbs_close(struct ibv_context *ctx)
{
	live--;
	CHECK_EQ(__real_hwq_verbs_close(ctx), 0, "close");
	return fails() ? REFUSAL : 0;
}

int __real_hwq_verbs_td_alloc(struct ibv_context *ctx, struct ibv_td **td);
int __wrap_hwq_verbs_td_alloc(struct ibv_context *ctx, struct ibv_td **td);

int
__wrap_hwq_verbs_td_alloc(struct ibv_context *ctx, struct ibv_td **td)
{
	int ret;

	if (no_td)
		return -EOPNOTSUPP;
	ret = fails() ? REFUSAL : __real_hwq_verbs_td_alloc(ctx, td);
	live += ret == 0;
	return ret;
}

/* ------------------------------------------------------------------ the life of a queue */

#define N_OTHERS 5 /* number of types other than RC */

/* A device with a region, device memory, an address handle, and a QP of each type. */
struct all_types {
	struct hwq_dev *dev;
	struct hwq_mr mr;
	struct hwq_dm dm;
	struct hwq_mr dm_mr;
	struct hwq_ah ah;
	struct twin t;
	struct hwq_cq *cq; /* [N_OTHERS]: CQ of each type other than RC */
	struct hwq_qp *others[N_OTHERS];
	uint8_t mem[256];
};

static int
others_up(struct all_types *r)
{
	unsigned int i;
	int ret;

	ret = hwq_cq_create(r->t.domain, 512, &r->cq);
	for (i = 0; i < N_OTHERS && ret == 0; i++) {
		struct hwq_qp_conf conf = {.type = (enum hwq_qp_type)(HWQ_QP_RC + 1 + i),
			.sq_wr = 4,
			.qkey = EMU_QKEY};
		struct hwq_addr addr;

		if (conf.type != HWQ_QP_XRC_SEND && conf.type != HWQ_QP_DCI)
			conf.rq_wr = 4;
		ret = hwq_qp_create(r->t.domain, r->cq, &conf, &r->others[i]);
		if (ret != 0)
			return ret;
		hwq_qp_addr(r->others[i], &addr);
		ret = conf.type == HWQ_QP_UC || conf.type == HWQ_QP_XRC_SEND
			      ? hwq_qp_connect(r->others[i], &addr)
			      : hwq_qp_ready(r->others[i]);
		if (ret == 0)
			ret = hwq_qp_reset(r->others[i]);
		if (ret == 0 && i == 0)
			ret = hwq_ah_create(r->dev, &addr, &r->ah);
	}
	return ret;
}

/* Not a multiple of 8, so hwq_dm_alloc() must also clear the bytes after the last whole word. */
#define DM_LEN 100
static const uint8_t zeros[DM_LEN];

/* Creates the objects step by step. Stops at the first error. */
static int
all_types_up(struct all_types *r)
{
	static const struct hwq_qp_conf conf = {.sq_wr = 8, .rq_wr = 8, .mmo = true};
	struct hwq_addr addr;
	int ret;

	ret = hwq_dev_open(NULL, &r->dev);
	if (ret == 0)
		ret = hwq_mr_register(r->dev, r->mem, sizeof(r->mem), IBV_ACCESS_LOCAL_WRITE,
			&r->mr);
	if (ret == 0)
		ret = hwq_dm_alloc(r->dev, DM_LEN, &r->dm);
	/*
	 * meson.build fills this adapter's memory with 0x5a at first; hwq_dm_alloc() must clear it.
	 */
	if (ret == 0)
		check_bytes(r->dm.addr, zeros, DM_LEN, "new device memory");
	if (ret == 0)
		ret = hwq_mr_register_dm(&r->dm, HWQ_ACCESS_LOCAL_WRITE, &r->dm_mr);
	if (ret == 0)
		ret = hwq_domain_create(r->dev, &r->t.domain);
	if (ret == 0)
		ret = hwq_cq_create(r->t.domain, hwq_qp_cqe_needed(&conf), &r->t.cq);
	if (ret == 0)
		ret = hwq_qp_create(r->t.domain, r->t.cq, &conf, &r->t.qp);
	if (ret != 0)
		return ret;
	hwq_qp_addr(r->t.qp, &addr);
	ret = hwq_qp_connect(r->t.qp, &addr);
	if (ret == 0)
		ret = hwq_qp_reset(r->t.qp);
	if (ret == 0)
		ret = hwq_qp_connect(r->t.qp, &addr);
	return ret != 0 ? ret : others_up(r);
}

/* Destroys the objects that exist. A step that is refused is tried a second time. */
static int
all_types_down(struct all_types *r)
{
	int first = 0;
	unsigned int i;

	for (i = 0; i < N_OTHERS; i++)
		FAILING_DESTROY(&first, r->others[i] != NULL, hwq_qp_destroy(r->others[i]));
	FAILING_DESTROY(&first, r->cq != NULL, hwq_cq_destroy(r->cq));
	FAILING_DESTROY(&first, r->ah.ah != NULL, hwq_ah_destroy(&r->ah));
	FAILING_DESTROY(&first, r->t.qp != NULL, hwq_qp_destroy(r->t.qp));
	FAILING_DESTROY(&first, r->t.cq != NULL, hwq_cq_destroy(r->t.cq));
	FAILING_DESTROY(&first, r->t.domain != NULL, hwq_domain_destroy(r->t.domain));
	FAILING_DESTROY(&first, r->dm_mr.mr != NULL, hwq_mr_deregister(&r->dm_mr));
	FAILING_DESTROY(&first, r->dm.dm != NULL, hwq_dm_free(&r->dm));
	FAILING_DESTROY(&first, r->mr.mr != NULL, hwq_mr_deregister(&r->mr));
	FAILING_DESTROY(&first, r->dev != NULL, hwq_dev_close(r->dev));
	return first;
}

static void
every_step_of_the_way_up(void)
{
	unsigned int step, n_steps;
	struct all_types r = {0};

	calls = fail_at = 0;
	CHECK_EQ(all_types_up(&r), 0, "without a refusal");
	n_steps = calls;
	CHECK_EQ(all_types_down(&r), 0, "down");
	CHECK_EQ(live, 0, "objects left");
	printf("  %u calls and allocations to create it all\n", n_steps);
	CHECK(n_steps >= 60, "%u calls", n_steps);
	for (step = 1; step <= n_steps; step++) {
		r = (struct all_types){0};
		calls = 0;
		fail_at = step;
		failed_by = 0;
		CHECK_EQ(all_types_up(&r), failed_by, "the error of the call that failed");
		CHECK(failed_by != 0, "call %u did not fail", step);
		fail_at = 0;
		CHECK_EQ(all_types_down(&r), 0, "down");
		CHECK(live == 0, "%u objects left after call %u of %u failed", live, step, n_steps);
	}
}

static void
every_step_of_the_way_down(void)
{
	unsigned int step, n_steps = 1;
	struct all_types r;
	int ret;

	for (step = 1; step <= n_steps; step++) {
		r = (struct all_types){0};
		calls = fail_at = 0;
		CHECK_EQ(all_types_up(&r), 0, "up");
		calls = 0;
		fail_at = step;
		ret = all_types_down(&r);
		if (step == 1)
			n_steps = calls - 1; /* one step was tried twice */
		/* The last step is ibv_close_device(3), which cannot be tried again. */
		CHECK_EQ(ret, step < n_steps ? REFUSAL : 0, "what destroy says");
		CHECK_EQ(live, 0, "objects left");
	}
	CHECK(n_steps >= 8, "%u calls", n_steps);
}

/*
 * Queues must also work without a thread domain. Then the domain has no register of its own: every
 * doorbell must be a store of eight bytes, at an address to which other queues may write, too.
 */
static void
without_thread_domains(void)
{
	struct hwq_cqe rec = {0};
	struct all_types r = {0};
	unsigned int i;

	calls = fail_at = 0;
	no_td = true;
	CHECK_EQ(all_types_up(&r), 0, "up");
	CHECK(r.t.qp->sq.bf->max_ds == 0 && r.t.qp->sq.bf->toggle == 0,
		"BlueFlame is used without a register of its own");
	for (i = 0; i < 100; i++) {
		memset(r.mem, (int)i, 128);
		CHECK_EQ(hwq_wqe_memcpy(&r.t.qp->sq, r.mr.lkey, (uintptr_t)r.mem + 128, r.mr.lkey,
				 (uintptr_t)r.mem, 128, HWQ_WQE_SIGNALED),
			1, "WQEBBs");
		hwq_sq_ring(&r.t.qp->sq);
		CHECK(emu_wait(r.t.cq, &rec) && rec.syndrome == 0, "syndrome 0x%x", rec.syndrome);
		hwq_sq_complete(&r.t.qp->sq, rec.wqe_counter);
		CHECK(memcmp(r.mem, r.mem + 128, 128) == 0, "copy %u", i);
	}
	CHECK_EQ(all_types_down(&r), 0, "down");
	no_td = false;
	CHECK_EQ(live, 0, "objects left");
}

/*
 * Ring indices have 16 bits, a data segment's length has 31 bits, and a QP context has one byte for
 * RDMA reads in flight. So hwq must reduce larger limits of the device to these.
 */
static void
limits_beyond_those_of_hwq(void)
{
	struct hwq_dev *dev;

	calls = fail_at = 0;
	large_limits = true;
	CHECK_EQ(hwq_dev_open(NULL, &dev), 0, "open");
	large_limits = false;
	CHECK_EQ(hwq_dev_caps(dev)->max_qp_wr, 32768, "WQEBBs of a ring");
	CHECK_EQ(hwq_dev_caps(dev)->max_memcpy_len, 1ull << 31, "bytes of a memcpy");
	CHECK_EQ(hwq_dev_caps(dev)->max_rd_atomic, 255, "RDMA reads as requester");
	CHECK_EQ(hwq_dev_caps(dev)->max_dest_rd_atomic, 255, "RDMA reads as responder");
	CHECK_EQ(hwq_dev_close(dev), 0, "close");
}

/*
 * If libmlx5 leaves a field out of comp_mask, hwq must ignore the field (mlx5dv_query_device(3)).
 */
static void
libmlx5_without_memcpy(void)
{
	struct hwq_dev *dev;

	calls = fail_at = 0;
	no_memcpy_len = true;
	CHECK_EQ(hwq_dev_open(NULL, &dev), 0, "open");
	no_memcpy_len = false;
	CHECK_EQ(hwq_dev_caps(dev)->max_memcpy_len, 0, "bytes of a memcpy");
	CHECK_EQ(hwq_dev_close(dev), 0, "close");
}

/* ------------------------------------------------------------------ sizes that libmlx5 chose */

static struct mlx5dv_qp shown; /* the result of the last mlx5dv_init_obj() */
static uint32_t times_sq = 1, times_rq = 1, less_sq, less_rq, sq_stride, rq_stride;
static int32_t more_inline;

static void
other_view(struct mlx5dv_qp *view)
{
	view->sq.wqe_cnt = view->sq.wqe_cnt * times_sq - less_sq;
	view->rq.wqe_cnt = view->rq.wqe_cnt * times_rq - less_rq;
	view->sq.stride = sq_stride;
	view->rq.stride = rq_stride;
	shown = *view;
}

static void
other_cap(struct ibv_qp_cap *cap)
{
	cap->max_inline_data += (uint32_t)more_inline;
}

/* Creates the QP on a CQ with n_cqe entries. */
static int
create_on(struct hwq_domain *domain, uint32_t n_cqe, struct hwq_qp **qp, struct hwq_cq **cq)
{
	static const struct hwq_qp_conf conf = {.sq_wr = 16,
		.max_inline = 60,
		.rq_wr = 8,
		.rq_sge = 2,
		.mlx5_ops = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE};
	int ret = hwq_cq_create(domain, n_cqe, cq);

	return ret != 0 ? ret : hwq_qp_create(domain, *cq, &conf, qp);
}

static void
expect_size(struct hwq_domain *domain, int want, const char *what)
{
	struct hwq_qp *qp;
	struct hwq_cq *cq;
	int ret = create_on(domain, 512, &qp, &cq);

	CHECK(ret == want, "%s: %d, not %d", what, ret, want);
	if (ret == 0) {
		CHECK_EQ(hwq_sq_n_bb(&qp->sq), shown.sq.wqe_cnt, what);
		CHECK_EQ(qp->rq.mask + 1, shown.rq.wqe_cnt, what);
		CHECK_EQ(qp->n_cqe, shown.sq.wqe_cnt, what);
		CHECK_EQ(cq->reserved, shown.sq.wqe_cnt + shown.rq.wqe_cnt, what);
		CHECK_EQ(hwq_qp_destroy(qp), 0, what);
	}
	CHECK_EQ(cq->reserved, 0, what);
	CHECK_EQ(hwq_cq_destroy(cq), 0, what);
}

/*
 * hwq must use rings of the length that libmlx5 has chosen, and must refuse rings that are too
 * short. Here 16 WQEs of 256 bytes are 64 WQEBBs. Of these 256 bytes, 192 are for the first
 * segments of a UMR: 16 of control segment, 48 of UMR control segment, 64 of key context, 64 of
 * layout. The other 64 bytes are for inline data and its length field of 4 bytes.
 */
static void
sizes_that_libmlx5_chose(void)
{
	struct hwq_domain *domain;
	struct hwq_dev *dev;
	struct hwq_qp *qp;
	struct hwq_cq *cq;

	calls = fail_at = 0;
	CHECK_EQ(hwq_dev_open(NULL, &dev), 0, "open");
	CHECK_EQ(hwq_domain_create(dev, &domain), 0, "a domain");
	change_view = other_view;
	sq_stride = 64, rq_stride = 32;
	expect_size(domain, 0, "the sizes as they are");
	CHECK_EQ(shown.sq.wqe_cnt, 64, "WQEBBs");
	times_sq = 2;
	expect_size(domain, 0, "a longer send ring");
	CHECK_EQ(create_on(domain, 64 + 8, &qp, &cq), -ENOSPC, "a CQ for the shorter ring");
	CHECK_EQ(hwq_cq_destroy(cq), 0, "destroying the CQ");
	times_sq = 1, times_rq = 4;
	expect_size(domain, 0, "a longer receive ring");
	times_rq = 1, rq_stride = 64;
	expect_size(domain, 0, "longer receives");
	rq_stride = 16;
	expect_size(domain, -EPROTO, "shorter receives");
	rq_stride = 32, sq_stride = 128;
	expect_size(domain, -EPROTO, "other WQEBBs");
	sq_stride = 64, less_sq = 32;
	expect_size(domain, -EPROTO, "a shorter send ring");
	times_sq = 2;
	expect_size(domain, -EPROTO, "a send ring of no power of two");
	times_sq = 1024, less_sq = 0;
	expect_size(domain, -EPROTO, "a send ring too long for its indices");
	times_sq = 1, less_rq = 4;
	expect_size(domain, -EPROTO, "a shorter receive ring");
	times_rq = 2;
	expect_size(domain, -EPROTO, "a receive ring of no power of two");
	times_rq = 1, less_rq = 0;

	change_cap = other_cap;
	more_inline = 1000;
	CHECK_EQ(create_on(domain, 512, &qp, &cq), 0, "more inline data than was asked for");
	CHECK(qp->sq.max_inline == 60 && qp->sq.wr.max_umr_ds == 4,
		"%u bytes, %u units: WQEs longer than the ring was made for", qp->sq.max_inline,
		qp->sq.wr.max_umr_ds);
	CHECK(hwq_qp_destroy(qp) == 0 && hwq_cq_destroy(cq) == 0, "destroying");
	more_inline = -16;
	CHECK_EQ(create_on(domain, 512, &qp, &cq), 0, "less inline data");
	CHECK(qp->sq.max_inline == 44 && qp->sq.wr.max_umr_ds == 3, "%u bytes, %u units",
		qp->sq.max_inline, qp->sq.wr.max_umr_ds);
	CHECK(hwq_qp_destroy(qp) == 0 && hwq_cq_destroy(cq) == 0, "destroying");
	change_cap = NULL;
	change_view = NULL;
	CHECK_EQ(hwq_domain_destroy(domain), 0, "the domain");
	CHECK_EQ(hwq_dev_close(dev), 0, "close");
	CHECK_EQ(live, 0, "objects left");
}

int
main(int argc, char **argv)
{
	(void)argc;
	emu_setting(argv, "SOFTHCA_THREADS", "0");
	if (!softhca_active()) {
		printf("skipped: the emulated adapter is not active in this process\n");
		return CHECK_SKIP;
	}
	hwq_log_set(emu_count_log);
	RUN("a create call that fails leaves nothing behind", every_step_of_the_way_up());
	RUN("a destroy call that fails can be tried again", every_step_of_the_way_down());
	CHECK(emu_log_lines >= 25, "%u log lines", emu_log_lines);
	hwq_log_set(NULL);
	RUN("queues without a thread domain work", without_thread_domains());
	RUN("limits of the device that hwq cannot use are cut", limits_beyond_those_of_hwq());
	RUN("a libmlx5 that does not know memcpy makes a device without it",
		libmlx5_without_memcpy());
	hwq_log_set(emu_count_log);
	RUN("rings are as long as libmlx5 made them, and too short ones are refused",
		sizes_that_libmlx5_chose());
	hwq_log_set(NULL);
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
