/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The effect of lists, patterns and windows, posted through stock libmlx5 and through hwq. One
 * script of layouts, bindings, invalidations and transfers runs on libmlx5 and on hwq, one after
 * the other. Both must move equal bytes, and end the work requests with equal status. Many work
 * requests are posted before the UMR of the previous layout has completed: with SOFTHCA_REORDER,
 * only the fence of such a work request makes it wait.
 *
 * usage: test_hwq_umr_effect [SCRIPTS [SEED]]
 */
#include <fcntl.h>

#include "hwq_twin.h"
#include "hwq_wr_umr.h"

#define N_ACTS    14
#define N_PIECES  16
#define ENTRIES   16
#define LAYOUT_AT (64u * 1024) /* offset of the memory of keys and windows */
#define FAR_AT    (192u * 1024)
#define MOVE_MAX  8192u

enum act_kind {
	LIST,
	PATTERN,
	BIND,
	INV_KEY,
	INV_WINDOW,
	/* All further acts are transfers. */
	KEY_WRITE, /* into the key, which is the remote key */
	KEY_READ,
	LOCAL_WRITE, /* out of the key, which is the local key */
	LOCAL_READ,
	KEY_COPY, /* into the key, by memcpy */
	WINDOW_WRITE,
	WINDOW_READ,
	N_ACT_KINDS
};

static const char *const kinds[] = {"list", "pattern", "bind", "invalidate the key",
	"invalidate the window", "write to the key", "read from the key", "write from the key",
	"read into the key", "copy into the key", "write to the window", "read from the window"};

struct act {
	enum act_kind kind;
	uint32_t access, repeat, len;
	uint16_t n;
	uint64_t at; /* offset in the key, or in a window's memory */
	uint8_t tag; /* low byte (variant) of the window's key from this act on */
	bool from_0;
	bool joined; /* the next act is posted before this act has completed */
	struct ibv_sge sge[N_PIECES];
	struct mlx5dv_mr_interleaved data[N_PIECES];
};

/* The result of one act. */
struct outcome {
	int complete, status, vendor;
};

static struct twin_pair pair;
static struct mlx5dv_mkey *stock_key;
static struct hwq_mkey_pool *pool;
static struct hwq_mkey *hwq_key;
static struct ibv_mw *stock_mw, *hwq_mw;

static struct {
	unsigned long scripts, moved, good[N_ACT_KINDS], bad[N_ACT_KINDS];
} seen;

/* ------------------------------------------------------------------ scripts */

/* Draws all access rights in most acts, otherwise any. */
static uint32_t
draw_access(void)
{
	return twin_one_in(3) ? (uint32_t)twin_draw(16) : 15;
}

static void
draw_pieces(struct act *a)
{
	uintptr_t base = (uintptr_t)twin_mem + LAYOUT_AT;
	unsigned int max = a->kind == LIST ? N_PIECES : N_PIECES - 1;

	a->access = draw_access();
	a->n = (uint16_t)(1 + twin_draw(twin_one_in(2) ? 4 : max));
	a->repeat = 1 + (uint32_t)twin_draw(20);
	for (unsigned int i = 0; i < a->n; i++) {
		uint64_t addr = base + i * 4096u + twin_draw(2048);
		/* Sometimes a piece refers to a region that does not exist. */
		uint32_t lkey = twin_one_in(60) ? 0x77777700 : twin_mr.lkey;

		a->sge[i] = (struct ibv_sge){addr, 1 + (uint32_t)twin_draw(2048), lkey};
		a->data[i] = (struct mlx5dv_mr_interleaved){addr, 1 + (uint32_t)twin_draw(60),
			(uint32_t)twin_draw(40), lkey};
	}
}

/*
 * Returns true if the next act may be posted before an act of this kind has completed: the act
 * changes a key, and the fence makes the next act wait. This is not allowed for BIND, because the
 * window has its next key only when BIND has completed.
 */
static bool
changes_a_key(enum act_kind kind)
{
	return kind == LIST || kind == PATTERN || kind == INV_KEY || kind == INV_WINDOW;
}

static void
draw_act(struct act *a, bool first)
{
	memset(a, 0, sizeof(*a));
	a->kind = first ? (enum act_kind)twin_draw(2) : (enum act_kind)twin_draw(N_ACT_KINDS);
	if ((a->kind == INV_KEY || a->kind == INV_WINDOW) && !twin_one_in(3))
		a->kind = KEY_WRITE;
	a->len = 1 + (uint32_t)twin_draw(twin_one_in(3) ? MOVE_MAX : 64);
	a->at = twin_draw(twin_one_in(2) ? 1 : 512);
	if (a->kind == LIST || a->kind == PATTERN)
		draw_pieces(a);
	a->joined = changes_a_key(a->kind) && twin_one_in(2);
	if (a->kind != BIND)
		return;
	a->access = draw_access() & ~(uint32_t)IBV_ACCESS_LOCAL_WRITE;
	a->from_0 = twin_one_in(2);
	a->tag = (uint8_t)twin_random();
	a->at = LAYOUT_AT + twin_draw(32768);
	a->len = twin_one_in(10) ? 0 : 1 + (uint32_t)twin_draw(16384);
}

/* ------------------------------------------------------------------ both sides */

static uint64_t window_base; /* address of offset 0 of the window */

/* Returns the window's next key: its low byte (variant) becomes tag. */
static uint32_t
next_rkey(const struct ibv_mw *mw, uint8_t tag)
{
	return (mw->rkey & ~0xffu) | tag;
}

static void
bind_info(const struct act *a, struct ibv_mw_bind_info *info)
{
	*info = (struct ibv_mw_bind_info){.mr = twin_mr.mr,
		.addr = (uintptr_t)twin_mem + a->at,
		.length = a->len,
		.mw_access_flags = a->access | (a->from_0 ? IBV_ACCESS_ZERO_BASED : 0)};
	window_base = a->from_0 ? 0 : info->addr;
}

static int
stock_post(const struct act *a)
{
	uint64_t far = (uintptr_t)twin_mem + FAR_AT;
	struct ibv_qp_ex *ex = pair.stock.ex;
	struct ibv_mw_bind_info info;
	struct act copy = *a; /* libmlx5's lists are not const */
	bool window = a->kind == WINDOW_WRITE || a->kind == WINDOW_READ;
	uint32_t rkey = window ? stock_mw->rkey : stock_key->rkey;
	uint64_t at = window ? window_base + a->at : a->at;

	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	switch (a->kind) {
	case LIST:
		mlx5dv_wr_mr_list(pair.stock.dv, stock_key, a->access, a->n, copy.sge);
		break;
	case PATTERN:
		mlx5dv_wr_mr_interleaved(pair.stock.dv, stock_key, a->access, a->repeat, a->n,
			copy.data);
		break;
	case BIND:
		bind_info(a, &info);
		ibv_wr_bind_mw(ex, stock_mw, next_rkey(stock_mw, a->tag), &info);
		break;
	case INV_KEY:
		ibv_wr_local_inv(ex, stock_key->rkey);
		break;
	case INV_WINDOW:
		ibv_wr_local_inv(ex, stock_mw->rkey);
		break;
	case KEY_COPY:
		mlx5dv_wr_memcpy(pair.stock.dv, stock_key->lkey, a->at, twin_mr.lkey, far, a->len);
		break;
	case LOCAL_WRITE:
	case LOCAL_READ:
		if (a->kind == LOCAL_WRITE)
			ibv_wr_rdma_write(ex, twin_mr.rkey, far);
		else
			ibv_wr_rdma_read(ex, twin_mr.rkey, far);
		ibv_wr_set_sge(ex, stock_key->lkey, a->at, a->len);
		break;
	default:
		if (a->kind == KEY_WRITE || a->kind == WINDOW_WRITE)
			ibv_wr_rdma_write(ex, rkey, at);
		else
			ibv_wr_rdma_read(ex, rkey, at);
		ibv_wr_set_sge(ex, twin_mr.lkey, far, a->len);
		break;
	}
	return ibv_wr_complete(ex);
}

static void
hwq_layout(struct hwq_wr *wr, const struct act *a)
{
	struct hwq_sge sge[N_PIECES];

	for (unsigned int i = 0; i < a->n; i++)
		sge[i] = (struct hwq_sge){a->sge[i].addr, a->sge[i].length, a->sge[i].lkey};
	if (a->kind == LIST)
		hwq_wr_mr_list(wr, hwq_key, a->access, a->n, sge);
	else
		hwq_wr_mr_interleaved(wr, hwq_key, a->access, a->repeat, a->n, a->data);
}

static int
hwq_post(const struct act *a)
{
	uint64_t far = (uintptr_t)twin_mem + FAR_AT;
	struct ibv_mw_bind_info info;
	bool window = a->kind == WINDOW_WRITE || a->kind == WINDOW_READ;
	uint32_t rkey = window ? hwq_mw->rkey : hwq_key->rkey;
	uint64_t at = window ? window_base + a->at : a->at;
	struct hwq_wr wr;

	hwq_wr_start(&wr, &pair.twin.qp->sq);
	wr.wr_id = 1;
	wr.wr_flags = HWQ_WQE_SIGNALED | HWQ_WQE_INLINE;
	switch (a->kind) {
	case LIST:
	case PATTERN:
		hwq_layout(&wr, a);
		break;
	case BIND:
		bind_info(a, &info);
		hwq_wr_bind_mw(&wr, hwq_mw, next_rkey(hwq_mw, a->tag), &info);
		break;
	case INV_KEY:
		hwq_wr_local_inv(&wr, hwq_key->rkey);
		break;
	case INV_WINDOW:
		hwq_wr_local_inv(&wr, hwq_mw->rkey);
		break;
	case KEY_COPY:
		hwq_wr_memcpy(&wr, hwq_key->lkey, a->at, twin_mr.lkey, far, a->len);
		break;
	case LOCAL_WRITE:
	case LOCAL_READ:
		if (a->kind == LOCAL_WRITE)
			hwq_wr_rdma_write(&wr, twin_mr.rkey, far);
		else
			hwq_wr_rdma_read(&wr, twin_mr.rkey, far);
		hwq_wr_set_sge(&wr, hwq_key->lkey, a->at, a->len);
		break;
	default:
		if (a->kind == KEY_WRITE || a->kind == WINDOW_WRITE)
			hwq_wr_rdma_write(&wr, rkey, at);
		else
			hwq_wr_rdma_read(&wr, rkey, at);
		hwq_wr_set_sge(&wr, twin_mr.lkey, far, a->len);
		break;
	}
	return -hwq_wr_complete(&wr);
}

/* ------------------------------------------------------------------ results */

/* Reads the event that a failed QP makes. */
static void
read_events(void)
{
	struct ibv_async_event event;

	while (ibv_get_async_event(twin_dev->ctx, &event) == 0)
		ibv_ack_async_event(&event);
}

/* Posts n acts, then waits for the posted work requests. */
static void
stock_acts(const struct act *a, unsigned int n, struct outcome *o)
{
	bool failed = false;
	struct ibv_wc wc;

	for (unsigned int i = 0; i < n; i++)
		o[i].complete = stock_post(&a[i]);
	emu_pump();
	for (unsigned int i = 0; i < n; i++) {
		if (o[i].complete != 0)
			continue;
		if (ibv_poll_cq(pair.stock.cq, 1, &wc) != 1)
			EMU_DIE("libmlx5's work did not complete");
		o[i].status = (int)wc.status;
		if (wc.status == IBV_WC_SUCCESS && a[i].kind == BIND)
			stock_mw->rkey = next_rkey(stock_mw, a[i].tag);
		if (wc.status == IBV_WC_SUCCESS)
			continue;
		o[i].vendor = (int)wc.vendor_err;
		failed = true;
	}
	if (failed)
		twin_stock_restart(&pair);
}

static void
hwq_acts(const struct act *a, unsigned int n, struct outcome *o)
{
	bool failed = false;
	struct hwq_cqe rec;

	for (unsigned int i = 0; i < n; i++)
		o[i].complete = hwq_post(&a[i]);
	emu_pump();
	for (unsigned int i = 0; i < n; i++) {
		if (o[i].complete != 0)
			continue;
		if (hwq_cq_poll(pair.twin.cq, &rec, 1) != 1)
			EMU_DIE("hwq's work did not complete");
		o[i].status = twin_status(rec.syndrome);
		hwq_sq_complete(&pair.twin.qp->sq, rec.wqe_counter);
		if (rec.syndrome == 0 && a[i].kind == BIND)
			hwq_mw->rkey = next_rkey(hwq_mw, a[i].tag);
		if (rec.syndrome == 0)
			continue;
		o[i].vendor = rec.vendor_err;
		failed = true;
	}
	if (failed)
		twin_hwq_restart(&pair);
}

/*
 * Runs the script in one of the libraries. Waits after each act that is not joined to the next act.
 */
static void
run_acts(const struct act *a, unsigned int n, struct outcome *o,
	void (*run)(const struct act *a, unsigned int n, struct outcome *o))
{
	unsigned int from = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (a[i].joined && i + 1 < n)
			continue;
		run(&a[from], i + 1 - from, &o[from]);
		from = i + 1;
	}
}

static void
run_script(const uint8_t *before, uint8_t *after)
{
	static struct outcome theirs[N_ACTS], ours[N_ACTS];
	static struct act acts[N_ACTS];
	unsigned int n = 3 + (unsigned int)twin_draw(N_ACTS - 2), i;
	uint64_t base = window_base;

	memset(theirs, 0, sizeof(theirs));
	memset(ours, 0, sizeof(ours));
	for (i = 0; i < n; i++)
		draw_act(&acts[i], i == 0);
	memcpy(twin_mem, before, TWIN_MEM_LEN);
	run_acts(acts, n, theirs, stock_acts);
	memcpy(after, twin_mem, TWIN_MEM_LEN);
	memcpy(twin_mem, before, TWIN_MEM_LEN);
	read_events();
	window_base = base;
	run_acts(acts, n, ours, hwq_acts);
	for (i = 0; i < n && check_failures == 0; i++) {
		CHECK(memcmp(&theirs[i], &ours[i], sizeof(ours[i])) == 0,
			"act %u, %s: libmlx5's errno %d status %d vendor 0x%x, hwq's %d %d 0x%x", i,
			kinds[acts[i].kind], theirs[i].complete, theirs[i].status, theirs[i].vendor,
			ours[i].complete, ours[i].status, ours[i].vendor);
		if (ours[i].complete == 0 && ours[i].status == 0)
			seen.good[acts[i].kind]++;
		else
			seen.bad[acts[i].kind]++;
	}
	CHECK(memcmp(after, twin_mem, TWIN_MEM_LEN) == 0, "hwq's work moved other bytes");
	read_events();
	seen.moved += memcmp(before, after, TWIN_MEM_LEN) != 0;
	seen.scripts++;
}

static void
run_scripts(void)
{
	static uint8_t before[TWIN_MEM_LEN], after[TWIN_MEM_LEN];
	/*
	 * The rkeys of the two new windows, libmlx5's and hwq's, differ in their low byte (the
	 * variant). Binding both windows with variant 1 makes this byte equal.
	 */
	const struct act bound = {.kind = BIND, .at = LAYOUT_AT, .len = 64, .tag = 1};
	struct outcome o = {0};

	memcpy(before, twin_mem, TWIN_MEM_LEN);
	stock_acts(&bound, 1, &o);
	CHECK(o.complete == 0 && o.status == 0, "libmlx5's first binding");
	hwq_acts(&bound, 1, &o);
	CHECK(o.complete == 0 && o.status == 0, "hwq's first binding");
	while (seen.scripts < twin_cases && check_failures == 0)
		run_script(before, after);
	printf("  %lu scripts, of which moved bytes %lu; good and refused:\n", seen.scripts,
		seen.moved);
	for (unsigned int i = 0; i < N_ACT_KINDS; i++)
		printf("    %-22s %8lu %8lu\n", kinds[i], seen.good[i], seen.bad[i]);
	if (twin_cases < 500)
		return;
	for (unsigned int i = 0; i < N_ACT_KINDS; i++)
		CHECK(seen.good[i] > 0 && (seen.bad[i] > 0 || i == PATTERN || i == LIST),
			"%s never succeeded, or never failed", kinds[i]);
}

int
main(int argc, char **argv)
{
	struct mlx5dv_mkey_init_attr attr = {.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
		.max_entries = ENTRIES};
	struct hwq_mkey_conf conf = {.n = 1, .max_entries = ENTRIES};

	twin_begin(argc, argv, 4000);
	pair = (struct twin_pair){.name = "layouts and windows",
		.conf = {.sq_wr = 16,
			.max_sge = 1,
			.max_inline = 16 * ENTRIES,
			.mmo = twin_dev->caps.max_memcpy_len != 0,
			.send_ops = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
				    IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW,
			.mlx5_ops = MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED}};
	twin_open(&pair, 1, false);
	CHECK_EQ(fcntl(twin_dev->ctx->async_fd, F_SETFL, O_NONBLOCK), 0, "events without waiting");
	attr.pd = twin_dev->pd;
	stock_key = mlx5dv_create_mkey(&attr);
	stock_mw = ibv_alloc_mw(twin_dev->pd, IBV_MW_TYPE_2);
	hwq_mw = ibv_alloc_mw(twin_dev->pd, IBV_MW_TYPE_2);
	if (stock_key == NULL || stock_mw == NULL || hwq_mw == NULL ||
		hwq_mkey_pool_create(pair.twin.domain, &conf, &pool) != 0)
		EMU_DIE("keys");
	hwq_key = hwq_mkey_get(pool);
	RUN("lists, patterns and windows have the effect of libmlx5's", run_scripts());
	hwq_mkey_put(hwq_key);
	CHECK_EQ(hwq_mkey_pool_destroy(pool), 0, "pool");
	CHECK_EQ(mlx5dv_destroy_mkey(stock_key), 0, "key");
	CHECK_EQ(ibv_dealloc_mw(stock_mw) | ibv_dealloc_mw(hwq_mw), 0, "windows");
	twin_close(&pair, 1);
	CHECK_EQ(hwq_mr_deregister(&twin_mr), 0, "deregister");
	CHECK_EQ(hwq_dev_close(twin_dev), 0, "close");
	free(twin_mem);
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
