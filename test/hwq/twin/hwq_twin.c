/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The harness of the twins: posts to libmlx5 and to hwq, and compares the contents of their rings.
 * See hwq_twin.h.
 */
#include "hwq_twin.h"

#include "hwq_twin_count.h"

#define MAX_BATCH 4
#define MAX_PAIRS 32u
#define DUMP_LEN  8192

const char *twin_device;
struct hwq_dev *twin_dev;
struct hwq_mr twin_mr;
uint8_t *twin_mem;
struct twin_totals twin_totals;
unsigned long twin_cases;

static uint64_t state;

uint64_t
twin_random(void)
{
	return check_random(&state);
}

uint64_t
twin_draw(uint64_t n)
{
	return check_random(&state) % n;
}

bool
twin_one_in(unsigned int n)
{
	return twin_draw(n) == 0;
}

unsigned int
twin_hwq_flags(unsigned int flags)
{
	return (flags & IBV_SEND_FENCE ? HWQ_WQE_FENCE : 0) |
	       (flags & IBV_SEND_SIGNALED ? HWQ_WQE_SIGNALED : 0) |
	       (flags & IBV_SEND_SOLICITED ? HWQ_WQE_SOLICITED : 0) |
	       (flags & IBV_SEND_IP_CSUM ? HWQ_WQE_IP_CSUM : 0);
}

unsigned int
twin_direct_flags(const struct twin_pair *p, const struct twin_work *w)
{
	return twin_hwq_flags(w->flags) | (w->flags & IBV_SEND_FENCE ? 0 : p->left);
}

uint32_t
twin_get32(const uint8_t *p)
{
	__be32 v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

uint64_t
twin_get64(const uint8_t *p)
{
	return (uint64_t)twin_get32(p) << 32 | twin_get32(p + 4);
}

/* ------------------------------------------------------------------ drawing */

static bool
can_post(const struct twin_pair *p, const struct twin_builder *b)
{
	return (b->types >> p->conf.type & 1) != 0 && (b->common != TWIN_MEMCPY || p->conf.mmo) &&
	       (p->conf.send_ops & b->send_ops) == b->send_ops &&
	       (p->conf.mlx5_ops & b->mlx5_ops) == b->mlx5_ops;
}

bool
twin_can_post(const struct twin_pair *p, const struct twin_builder *b)
{
	return can_post(p, b);
}

void
twin_draw_work(struct twin_pair *p, struct twin_work *w,
	bool (*may)(const struct twin_pair *p, const struct twin_builder *builder))
{
	unsigned int n_builders = 0, n_setters = 0, bit;

	while (p->builders[n_builders] != NULL)
		n_builders++;
	do
		w->builder = p->builders[twin_draw(n_builders)];
	while (!can_post(p, w->builder) || (may != NULL && !may(p, w->builder)));
	while (w->builder->setters[n_setters] != NULL)
		n_setters++;
	w->setter = (unsigned int)twin_draw(n_setters);
	w->flags = 0;
	for (bit = 0; bit < TWIN_FLAGS; bit++)
		if ((w->builder->flags & twin_flag_bits[bit]) != 0 && twin_draw(2) == 0)
			w->flags |= twin_flag_bits[bit];
	w->max_wqes = w->n_wqes = 1;
	w->builder->draw(p, w);
}

/* ------------------------------------------------------------------ comparing */

/* Copies the next WQE of libmlx5's ring to contiguous memory. Returns its DS. */
static unsigned int
stock_read(struct stock *s, uint8_t *wqe)
{
	uint32_t n = s->view.sq.wqe_cnt;
	const uint8_t *ring = s->view.sq.buf;
	unsigned int ds = ring[s->at % n * 64 + 7] & 63, i;

	for (i = 0; i < ds; i++)
		memcpy(wqe + i * 16, ring + (s->at * 64 + i * 16) % (n * 64), 16);
	if (s->at % n + (ds + 3) / 4 > n)
		twin_totals.split++;
	s->at += (ds + 3) / 4;
	return ds;
}

/* Checks that wqe_index and QPN are those of the queue, then zeroes them. */
static void
check_names(uint8_t *wqe, uint64_t index, uint32_t qpn, const char *who)
{
	CHECK((twin_get32(wqe) >> 8 & 0xffff) == (index & 0xffff),
		"%s: wqe_index 0x%04x at 0x%04llx", who, twin_get32(wqe) >> 8 & 0xffff,
		(unsigned long long)index & 0xffff);
	CHECK(twin_get32(wqe + 4) >> 8 == qpn, "%s: QPN 0x%06x in QP 0x%06x", who,
		twin_get32(wqe + 4) >> 8, qpn);
	memset(wqe + 1, 0, 2);
	memset(wqe + 4, 0, 3);
}

/*
 * Checks that only NOPs up to the ring's end are between the previous WQE and this WQE, or no WQE
 * at all.
 */
static void
check_fill(struct twin_pair *p, uint16_t from, uint16_t to)
{
	struct hwq_sq *sq = &p->twin.qp->sq;

	if (from == to)
		return;
	twin_totals.fills++;
	CHECK((to & sq->mask) == 0, "a fill that does not end at the ring's end");
	while (from != to) {
		const uint8_t *nop = hwq_sq_at(sq, from);
		/* DS has six bits. */
		uint16_t bb = (uint16_t)(to - from) > 15 ? 15 : (uint16_t)(to - from);

		CHECK(twin_get32(nop) == (uint32_t)from << 8 &&
				twin_get32(nop + 4) == (p->twin.qp->qpn << 8 | bb * 4u) &&
				twin_get64(nop + 8) == 0,
			"a fill is unsignalled NOPs of its length");
		from = (uint16_t)(from + bb);
	}
}

/* Returns the index at which a WQE of bb WQEBBs that follows index `from` must start. */
static uint16_t
place_of(const struct hwq_sq *sq, uint16_t from, unsigned int bb)
{
	uint32_t tail = sq->mask + 1 - (from & sq->mask);

	return (uint16_t)(tail < bb ? from + tail : from);
}

static void
dump_both(const struct twin_pair *p, const struct twin_work *w, const uint8_t *theirs,
	const uint8_t *ours, size_t len)
{
	char *text = malloc(DUMP_LEN);

	fprintf(stderr, "%s: %s, %s, flags 0x%x; names blanked\n", p->name, w->builder->name,
		w->builder->setters[w->setter], w->flags);
	if (text == NULL)
		return;
	hwq_dump_wqe(theirs, len, text, DUMP_LEN);
	fprintf(stderr, "libmlx5: %s", text);
	hwq_dump_wqe(ours, len, text, DUMP_LEN);
	fprintf(stderr, "hwq:     %s", text);
	free(text);
}

static bool
compare_one(struct twin_pair *p, const struct twin_work *w, unsigned int nth, uint16_t *from)
{
	uint8_t theirs[TWIN_RAW_LEN], ours[TWIN_RAW_LEN];
	struct hwq_sq *sq = &p->twin.qp->sq;
	uint64_t at = p->stock.at;
	unsigned int ds = stock_read(&p->stock, theirs), before = check_failures;
	/*
	 * In a work request that is contiguous, all WQEs after the first WQE have one WQEBB each.
	 */
	unsigned int behind = nth == 0 && p->in_one_piece ? w->n_wqes - 1 : 0;
	uint16_t place = place_of(sq, *from, (ds + 3) / 4 + behind);

	check_fill(p, *from, place);
	*from = (uint16_t)(place + (ds + 3) / 4);
	memcpy(ours, hwq_sq_at(sq, place), ds * 16);
	p->left = ours[3] == MLX5_OPCODE_UMR || ours[3] == MLX5_OPCODE_SET_PSV ? HWQ_WQE_AFTER_UMR
									       : 0;
	CHECK(ours[7] == theirs[7], "DS %u, libmlx5 %u", ours[7], theirs[7]);
	check_names(theirs, at, p->stock.qp->qp_num, "libmlx5");
	check_names(ours, place, p->twin.qp->qpn, "hwq");
	if (w->builder->names != NULL)
		w->builder->names(p, w, nth, theirs, ours);
	if (theirs[11] >> 5 == 1)
		twin_totals.small_fences++;
	check_bytes(ours, theirs, ds * 16, w->builder->name);
	if (check_failures == before)
		return true;
	dump_both(p, w, theirs, ours, ds * 16);
	return false;
}

bool
twin_compare(struct twin_pair *p, const struct twin_work *w, uint16_t *from)
{
	unsigned int nth;

	for (nth = 0; nth < w->n_wqes; nth++)
		if (!compare_one(p, w, nth, from))
			return false;
	return true;
}

/* ------------------------------------------------------------------ posting to both */

void
twin_prepare(struct twin_pair *p, unsigned int max_wqes)
{
	struct hwq_sq *sq = &p->twin.qp->sq;
	uint32_t n = p->stock.view.sq.wqe_cnt, i;

	for (i = 0; i < max_wqes * HWQ_WQE_MAX_BB && i < n; i++)
		memset((uint8_t *)p->stock.view.sq.buf + (p->stock.at + i) % n * 64, 0, 64);
	/* Fill also the WQEBBs after NOPs at the ring's end. */
	for (i = 0; i < (max_wqes + 1) * HWQ_WQE_MAX_BB && i < hwq_sq_free_bb(sq); i++)
		memset(hwq_sq_at(sq, (uint16_t)(sq->pi + i)), 0xa5, 64);
}

bool
twin_patience(uint64_t *end)
{
	uint64_t now = emu_now_ns();

	emu_pump();
	if (*end == 0)
		*end = now + (twin_device == NULL ? CHECK_PATIENCE_NS : UINT64_C(5000000000));
	return now < *end;
}

/* Takes the completions of the work that libmlx5 posted. */
static void
drain_stock(struct twin_pair *p, unsigned int want_status)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(p->stock.cq, 1, &wc) > 0) {
		CHECK((unsigned int)wc.status == want_status, "stock status %d", wc.status);
		if (wc.wr_id == (uintptr_t)p->last)
			p->last = NULL;
	}
}

static void
drain_hwq(struct twin_pair *p, unsigned int want_status)
{
	struct hwq_sq *sq = &p->twin.qp->sq;
	struct hwq_cqe rec;

	while (hwq_cq_poll(p->twin.cq, &rec, 1) == 1) {
		CHECK(rec.syndrome == (want_status == IBV_WC_SUCCESS ? 0 : 5),
			"syndrome 0x%x of WQE 0x%x", rec.syndrome, rec.wqe_counter);
		if (rec.opcode == MLX5_CQE_REQ || rec.opcode == MLX5_CQE_REQ_ERR)
			hwq_sq_complete(sq, rec.wqe_counter);
		else
			hwq_rq_complete(&p->twin.qp->rq, rec.wqe_counter);
	}
}

void
twin_drain(struct twin_pair *p, unsigned int want_status)
{
	struct hwq_sq *sq = &p->twin.qp->sq;
	uint64_t end = 0;

	do {
		emu_pump();
		drain_stock(p, want_status);
		drain_hwq(p, want_status);
	} while ((p->last != NULL || hwq_sq_used_bb(sq) != 0) && twin_patience(&end));
	CHECK(p->last == NULL, "libmlx5's work never completed");
	CHECK(hwq_sq_used_bb(sq) == 0, "%u WQEBBs never completed", hwq_sq_used_bb(sq));
	if (p->last != NULL || hwq_sq_used_bb(sq) != 0)
		exit(EXIT_FAILURE);
}

void
twin_stock_restart(struct twin_pair *p)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	stock_modify(p->stock.qp, &attr, IBV_QP_STATE);
	stock_to_init(twin_dev, p->stock.qp);
	stock_connect(twin_dev, p->stock.qp, p->stock.qp->qp_num);
}

void
twin_hwq_restart(struct twin_pair *p)
{
	CHECK_EQ(hwq_qp_reset(p->twin.qp), 0, "reset");
	twin_connect_self(&p->twin);
}

int
twin_status(uint8_t syndrome)
{
	static const uint8_t status[0x17] = {[0x01] = IBV_WC_LOC_LEN_ERR,
		[0x02] = IBV_WC_LOC_QP_OP_ERR,
		[0x04] = IBV_WC_LOC_PROT_ERR,
		[0x05] = IBV_WC_WR_FLUSH_ERR,
		[0x06] = IBV_WC_MW_BIND_ERR,
		[0x12] = IBV_WC_REM_INV_REQ_ERR,
		[0x13] = IBV_WC_REM_ACCESS_ERR,
		[0x14] = IBV_WC_REM_OP_ERR};

	return syndrome < sizeof(status) ? status[syndrome] : -1;
}

void
twin_stock_batch(struct twin_pair *p, const struct twin_work *w, unsigned int n)
{
	unsigned int i;

	ibv_wr_start(p->stock.ex);
	for (i = 0; i < n; i++) {
		p->stock.ex->wr_id = (uintptr_t)&w[i];
		p->stock.ex->wr_flags = w[i].flags;
		w[i].builder->stock(p, &w[i]);
	}
}

/* Starts a batch on each queue and aborts it: the queues must not change. */
static void
abort_both(struct twin_pair *p, const struct twin_work *w, unsigned int n, twin_post_fn *post)
{
	struct hwq_sq before_abort = p->twin.qp->sq;

	twin_stock_batch(p, w, n);
	ibv_wr_abort(p->stock.ex);
	post(p, w, n, true);
	CHECK(twin_same_sq(&p->twin.qp->sq, &before_abort), "an aborted batch changed the queue");
	twin_totals.aborted++;
}

static void
say_refused(const struct twin_pair *p, const struct twin_work *w, unsigned int n, int theirs,
	int ours)
{
	unsigned int i;

	CHECK(theirs == -ours, "%s: a batch of %u: libmlx5 says %d, hwq %d", p->name, n, theirs,
		ours);
	for (i = 0; i < n && theirs != -ours; i++)
		fprintf(stderr, "  %s, %s, flags 0x%x\n", w[i].builder->name,
			w[i].builder->setters[w[i].setter], w[i].flags);
}

/*
 * Posts a batch through the critical region of each library. Both must refuse the whole batch with
 * the same errno, or both must accept it.
 */
static void
region_both(struct twin_pair *p, const struct twin_work *w, unsigned int n, twin_post_fn *post)
{
	struct hwq_sq *sq = &p->twin.qp->sq, before_batch = *sq;
	unsigned int i, max_wqes = 0;
	uint16_t from = sq->pi;
	int theirs, ours;

	for (i = 0; i < n; i++)
		max_wqes += w[i].max_wqes;
	twin_prepare(p, max_wqes);
	twin_stock_batch(p, w, n);
	theirs = ibv_wr_complete(p->stock.ex);
	ours = post(p, w, n, false);
	say_refused(p, w, n, theirs, ours);
	if (theirs != 0 || ours != 0) {
		twin_totals.refused++;
		CHECK(twin_same_sq(sq, &before_batch), "a refused batch changed the queue");
		return;
	}
	p->last = &w[n - 1];
	for (i = 0; i < n; i++) {
		twin_count(p, &w[i]);
		if (!twin_compare(p, &w[i], &from))
			return;
	}
	CHECK(from == sq->pi, "the batch ends at 0x%04x, not at 0x%04x", sq->pi, from);
}

/*
 * Posts one work request on each queue; on hwq's queue by the builder's direct(). Returns false if
 * there is no such builder.
 */
static bool
direct_both(struct twin_pair *p, const struct twin_work *w)
{
	struct hwq_sq *sq = &p->twin.qp->sq;
	uint16_t from = sq->pi;
	int theirs, ours;

	if (w->builder->direct == NULL)
		return false;
	twin_prepare(p, w->max_wqes);
	p->in_one_piece = false;
	ours = w->builder->direct(p, w);
	if (ours == TWIN_HAS_NOT)
		return false;
	CHECK(ours != 0, "%s: %s finds the ring full, and a batch always fits", p->name,
		w->builder->name);
	twin_stock_batch(p, w, 1);
	theirs = ibv_wr_complete(p->stock.ex);
	say_refused(p, w, 1, theirs, ours < 0 ? ours : 0);
	if (theirs != 0 || ours < 0) {
		twin_totals.refused++;
		CHECK(sq->pi == from, "refused work took room");
		return true;
	}
	p->last = w;
	twin_count(p, w);
	twin_totals.direct++;
	if (twin_compare(p, w, &from))
		CHECK(from == sq->pi, "the WQE ends at 0x%04x, not at 0x%04x", sq->pi, from);
	return true;
}

/*
 * Only hwq_wr.h remembers the fence that LOCAL_INV and UMRs require, so only hwq_wr.h may post such
 * work.
 */
static bool
goes_direct(const struct twin_pair *p)
{
	if (p->all_direct)
		return true;
	return (p->conf.send_ops & (IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)) == 0 &&
	       p->conf.mlx5_ops == 0 && twin_draw(2) == 0;
}

static void
batch(struct twin_pair *p, twin_post_fn *post)
{
	static struct twin_work w[MAX_BATCH];
	unsigned int max = p->batch_max != 0 ? p->batch_max : MAX_BATCH;
	unsigned int n = 1 + (unsigned int)twin_draw(max), i;

	for (i = 0; i < n; i++)
		twin_draw_work(p, &w[i], NULL);
	if (twin_draw(8) == 0)
		abort_both(p, w, n, post);
	if (goes_direct(p)) {
		for (i = 0; i < n && direct_both(p, &w[i]); i++)
			;
		hwq_sq_ring(&p->twin.qp->sq);
	} else {
		region_both(p, w, n, post);
	}
	twin_drain(p, IBV_WC_WR_FLUSH_ERR);
	twin_totals.batches++;
}

/*
 * Fills a list with the pairs that have a builder with fewer cases than required. Returns their
 * number.
 */
static unsigned int
unfinished(struct twin_pair *pairs, unsigned int n, struct twin_pair **left)
{
	unsigned int i, n_left = 0;

	for (i = 0; i < n && i < MAX_PAIRS; i++)
		if (!pairs[i].absent && twin_fewest(&pairs[i], 1) < twin_cases)
			left[n_left++] = &pairs[i];
	return n_left;
}

void
twin_run(struct twin_pair *pairs, unsigned int n, twin_post_fn *post)
{
	struct twin_pair *left[MAX_PAIRS];
	unsigned int n_left, i;

	if (n > MAX_PAIRS)
		EMU_DIE("%u pairs, of %u at most", n, MAX_PAIRS);
	while ((n_left = unfinished(pairs, n, left)) != 0)
		for (i = 0; i < 64; i++) {
			batch(left[twin_draw(n_left)], post);
			if (check_failures != 0)
				return;
		}
}

/* ------------------------------------------------------------------ opening and closing */

/*
 * Skips the first laps, by NOPs of sixteen WQEBBs, up to an index at which the 16-bit index of WQEs
 * soon wraps.
 */
static void
skip_first_laps(struct twin_pair *p)
{
	struct hwq_sq *sq = &p->twin.qp->sq;
	uint8_t nop[TWIN_RAW_LEN] = {0};

	while (p->stock.at < 65000) {
		mlx5dv_set_ctrl_seg((struct mlx5_wqe_ctrl_seg *)(void *)nop, 0, MLX5_OPCODE_NOP, 0,
			p->stock.qp->qp_num, MLX5_WQE_CTRL_CQ_UPDATE, 63, 0, 0);
		ibv_wr_start(p->stock.ex);
		p->stock.ex->wr_id = (uintptr_t)p;
		mlx5dv_wr_raw_wqe(p->stock.dv, nop);
		CHECK_EQ(ibv_wr_complete(p->stock.ex), 0, "a NOP");
		p->last = p;
		p->stock.at += 16;
		hwq_put_ctrl(sq, hwq_sq_reserve(sq, 16), sq->pi, 0, MLX5_OPCODE_NOP, 63,
			HWQ_WQE_SIGNALED, 0);
		hwq_sq_commit(sq, 16);
		hwq_sq_ring(sq);
		twin_drain(p, IBV_WC_WR_FLUSH_ERR);
	}
}

/*
 * Tries to create a QP of the pair's type. Some types do not exist on a device, or are not allowed
 * for this user.
 */
static bool
exists(struct twin_pair *p)
{
	struct ibv_cq *cq = ibv_create_cq(twin_dev->ctx, 1, NULL, NULL, 0);
	struct ibv_qp_cap cap;
	struct ibv_qp *qp;

	if (cq == NULL)
		EMU_DIE("a CQ: %s", strerror(errno));
	qp = stock_create_qp(twin_dev, &p->conf, cq, &cap);
	if (qp == NULL)
		printf("left out, because the device or this user cannot have it: %s (%s)\n",
			p->name, strerror(errno));
	else if (ibv_destroy_qp(qp) != 0)
		EMU_DIE("destroying a QP: %s", strerror(errno));
	if (ibv_destroy_cq(cq) != 0)
		EMU_DIE("destroying a CQ: %s", strerror(errno));
	return qp != NULL;
}

static void
pair_open(struct twin_pair *p, bool wild)
{
	p->last = NULL;
	if (twin_device != NULL) {
		p->conf.mmo = p->conf.mmo && twin_dev->caps.max_memcpy_len != 0;
		p->absent = !exists(p);
		if (p->absent)
			return;
	}
	stock_create(twin_dev, &p->conf, &p->stock);
	twin_create(twin_dev, &p->conf, &p->twin);
	p->wild = wild;
	CHECK(p->stock.view.sq.wqe_cnt == hwq_sq_n_bb(&p->twin.qp->sq),
		"rings of different length");
	stock_connect(twin_dev, p->stock.qp, p->stock.qp->qp_num);
	twin_ready(&p->twin, p->conf.type);
	if (!wild)
		return;
	stock_to_err(&p->stock);
	CHECK_EQ(hwq_qp_fail(p->twin.qp), 0, "to ERR");
	if (twin_device == NULL || twin_cases > 536)
		skip_first_laps(p);
}

void
twin_open(struct twin_pair *pairs, unsigned int n, bool wild)
{
	for (unsigned int i = 0; i < n; i++)
		pair_open(&pairs[i], wild);
}

void
twin_close(struct twin_pair *pairs, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		if (pairs[i].absent)
			continue;
		twin_destroy(&pairs[i].twin);
		stock_destroy(&pairs[i].stock);
	}
}

void
twin_wild(struct twin_pair *pairs, unsigned int n, twin_post_fn *post)
{
	twin_open(pairs, n, true);
	twin_run(pairs, n, post);
	for (unsigned int i = 0; i < n; i++)
		/*
		 * Each pair starts at index 65000, and each case takes at least one WQEBB. So after
		 * more than 536 cases the 16-bit index must have wrapped.
		 */
		CHECK(twin_cases <= 536 || pairs[i].absent || pairs[i].stock.at > 65536,
			"%s: no lap of the wire's index", pairs[i].name);
	twin_close(pairs, n);
}

void
twin_begin(int argc, char **argv, unsigned long cases)
{
	int ret;

	if (argc > 2 && strcmp(argv[1], "--device") == 0) {
		twin_device = argv[2];
		argc -= 2;
		argv += 2;
	} else {
		emu_setting(argv, "SOFTHCA_THREADS", "0");
	}
	twin_cases = argc > 1 ? strtoul(argv[1], NULL, 0) : cases;
	state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	printf("seed %llu, at least %lu cases of each builder and type\n",
		(unsigned long long)state, twin_cases);
	if (twin_device == NULL)
		twin_dev = emu_open();
	else if ((ret = hwq_dev_open(twin_device, &twin_dev)) != 0)
		EMU_DIE("opening %s: %s", twin_device, strerror(-ret));
	twin_mem = aligned_alloc(4096, TWIN_MEM_LEN);
	if (twin_mem == NULL)
		EMU_DIE("no memory");
	for (size_t i = 0; i < TWIN_MEM_LEN; i++)
		twin_mem[i] = (uint8_t)twin_random();
	ret = hwq_mr_register(twin_dev, twin_mem, TWIN_MEM_LEN,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND,
		&twin_mr);
	if (ret != 0)
		EMU_DIE("registering memory: %s", strerror(-ret));
}

int
twin_end(const struct twin_pair *pairs, unsigned int n)
{
	if (n != 0)
		twin_print();
	if (n != 0 && check_failures == 0 && twin_device == NULL)
		twin_coverage(pairs, n);
	CHECK_EQ(hwq_mr_deregister(&twin_mr), 0, "deregister");
	CHECK_EQ(hwq_dev_close(twin_dev), 0, "close");
	free(twin_mem);
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
