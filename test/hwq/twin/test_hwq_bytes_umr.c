/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that work requests change: windows bound and unbound, lists, patterns. Posted through stock
 * libmlx5 and through hwq, these work requests must have equal bytes, or the same error
 * (hwq_twin.h).
 *
 * Layouts are also posted by the builders of one WQE (hwq_wqe_umr.h). libmlx5 sets the small fence
 * in the WQE after a UMR; with these builders, a flag sets it.
 *
 * Keys are twins too: libmlx5's keys are created by mlx5dv_create_mkey(3), hwq's keys come from a
 * pool, with the same number of entries. A UMR has its key's number in imm, which is compared with
 * the key and blanked.
 *
 * usage: test_hwq_bytes_umr [CASES [SEED]]
 */
#include "hwq_flaws.h"
#include "hwq_twin_post.h"
#include "hwq_umr_image.h"
#include "hwq_wqe_umr.h"

#define OPS_LIST   (MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED)
#define OPS_WINDOW (IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV)
#define RC         (1u << HWQ_QP_RC)
#define CONNECTED  (RC | 1u << HWQ_QP_UC | 1u << HWQ_QP_XRC_SEND | 1u << HWQ_QP_DCI)

#define N_KEYS    4
#define N_ENTRIES 70 /* more entries than any WQE has room for */

/* ------------------------------------------------------------------ keys */

/* The key of hwq that gets the layout. It is counted as the setter. */
enum key_kind {
	KEY_PLAIN,
	KEY_TAGGED,
	KEY_ADOPTED,
	KEY_SIGNING,
	KEY_IMAGE,    /* the tagged key; its layout is posted from an image */
	KEY_IMAGE_AT, /* the tagged key, with a layout by an image and other addresses */
};

static const char *const key_kinds[] = {"pool's key", "tagged key", "caller's own key",
	"signing key", "image", "image, other memory", NULL};
static const uint16_t key_entries[N_KEYS] = {4, 8, 52, 64};

/* For each number of entries there is a pool with each of these flags. */
#define N_POOLS 3
static const unsigned int pool_flags[N_POOLS] = {0, HWQ_MKEY_UPDATE_VARIANT, HWQ_MKEY_SIG};

static struct hwq_domain *domain;
static struct hwq_mkey_pool *pools[N_KEYS][N_POOLS];
static struct mlx5dv_mkey *stock_keys[N_KEYS], *stock_signing[N_KEYS];
static struct hwq_mkey *pool_keys[N_KEYS][N_POOLS], adopted_keys[N_KEYS];

static struct mlx5dv_mkey *
stock_create_key(uint16_t *entries, uint32_t flags)
{
	struct mlx5dv_mkey_init_attr attr = {.pd = twin_dev->pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | flags,
		.max_entries = *entries};
	struct mlx5dv_mkey *made = mlx5dv_create_mkey(&attr);

	if (made == NULL)
		EMU_DIE("libmlx5's key: %s", strerror(errno));
	*entries = attr.max_entries;
	return made;
}

static void
keys_create(void)
{
	int ret = hwq_domain_create(twin_dev, &domain);

	for (unsigned int i = 0; i < N_KEYS; i++) {
		uint16_t entries = key_entries[i];

		for (unsigned int k = 0; k < N_POOLS && ret == 0; k++) {
			struct hwq_mkey_conf conf = {.n = 1,
				.max_entries = key_entries[i],
				.flags = pool_flags[k]};

			ret = hwq_mkey_pool_create(domain, &conf, &pools[i][k]);
			if (ret == 0)
				pool_keys[i][k] = hwq_mkey_get(pools[i][k]);
		}
		stock_keys[i] = stock_create_key(&entries, MLX5DV_MKEY_INIT_ATTR_FLAGS_UPDATE_TAG);
		hwq_mkey_adopt(&adopted_keys[i], stock_keys[i], entries, 0);
		stock_signing[i] =
			stock_create_key(&entries, MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE);
	}
	if (ret != 0)
		EMU_DIE("keys: %s", strerror(-ret));
}

static void
keys_destroy(void)
{
	for (unsigned int i = 0; i < N_KEYS; i++) {
		CHECK_EQ(mlx5dv_destroy_mkey(stock_keys[i]), 0, "libmlx5's key");
		CHECK_EQ(mlx5dv_destroy_mkey(stock_signing[i]), 0, "libmlx5's key");
		for (unsigned int k = 0; k < N_POOLS; k++) {
			hwq_mkey_put(pool_keys[i][k]);
			CHECK_EQ(hwq_mkey_pool_destroy(pools[i][k]), 0, "a pool");
		}
	}
	CHECK_EQ(hwq_domain_destroy(domain), 0, "the domain");
}

/* ------------------------------------------------------------------ layouts */

struct layout {
	unsigned int key;
	uint8_t tag;
	bool is_inline;
	uint32_t access, repeat;
	uint16_t n;
	struct ibv_sge sge[N_ENTRIES];
	struct mlx5dv_mr_interleaved data[N_ENTRIES];
};

enum umr_code {
	LIST,
	PATTERN,
	WINDOW
};

static struct hwq_mkey *
our_key(const struct twin_work *w)
{
	const struct layout *l = TWIN_OWN(w, const struct layout);

	switch (w->setter) {
	case KEY_ADOPTED:
		return &adopted_keys[l->key];
	case KEY_SIGNING:
		return pool_keys[l->key][2];
	default:
		return pool_keys[l->key][w->setter != KEY_PLAIN];
	}
}

static bool adds_in_32_bits; /* libmlx5 adds the lengths of a list's pieces in 32 bits */

static struct mlx5dv_mkey *
their_key(const struct twin_work *w)
{
	const struct layout *l = TWIN_OWN(w, const struct layout);

	return w->setter == KEY_SIGNING ? stock_signing[l->key] : stock_keys[l->key];
}

static uint32_t
any_len(void)
{
	static const uint32_t edge[] = {0, 1, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff};

	return twin_draw(3) == 0 ? edge[twin_draw(7)] : (uint32_t)twin_random();
}

static void
draw_layout(struct twin_pair *p, struct twin_work *w)
{
	struct layout *l = TWIN_OWN(w, struct layout);
	unsigned int room = p->twin.qp->sq.wr.max_umr_ds - w->builder->code;

	l->key = (unsigned int)twin_draw(N_KEYS);
	l->tag = our_key(w)->flags & HWQ_MKEY_UPDATE_VARIANT ? (uint8_t)twin_draw(3) : 0;
	l->is_inline = twin_draw(100) != 0;
	l->access = (uint32_t)twin_draw(16);
	if (twin_draw(100) == 0)
		l->access |= 1u << twin_draw(32);
	l->repeat = any_len();
	if (room > key_entries[l->key])
		room = key_entries[l->key];
	l->n = (uint16_t)twin_draw(room + 1);
	if (twin_draw(100) == 0)
		l->n = (uint16_t)(room + 1 + twin_draw(N_ENTRIES - room));
	for (unsigned int i = 0; i < l->n; i++) {
		l->sge[i] = (struct ibv_sge){twin_random(), any_len(), (uint32_t)twin_random()};
		l->data[i] = (struct mlx5dv_mr_interleaved){twin_random(), any_len(), any_len(),
			(uint32_t)twin_random()};
	}
}

static void
stock_layout(struct twin_pair *p, const struct twin_work *w)
{
	const struct layout *l = TWIN_OWN(w, const struct layout);
	struct mlx5dv_mkey *key = their_key(w);
	struct layout copy = *l; /* a copy, because libmlx5's lists are not const */

	key->lkey = key->rkey = (key->lkey & ~0xffu) | l->tag;
	if (l->is_inline)
		p->stock.ex->wr_flags |= IBV_SEND_INLINE;
	if (w->builder->code == LIST)
		mlx5dv_wr_mr_list(p->stock.dv, key, l->access, l->n, copy.sge);
	else
		mlx5dv_wr_mr_interleaved(p->stock.dv, key, l->access, l->repeat, l->n, copy.data);
}

/*
 * Posts the layout by an image, with the image's addresses or with the layout's addresses. Returns
 * false if the image cannot be prepared.
 */
static HWQ_INLINE bool
hwq_image(struct hwq_wr *wr, const struct twin_work *w, struct hwq_mkey *key,
	const struct hwq_sge *sge)
{
	const struct layout *l = TWIN_OWN(w, const struct layout);
	struct mlx5dv_mr_interleaved data[N_ENTRIES];
	struct hwq_sge list[N_ENTRIES];
	struct hwq_umr_image image;
	uint64_t addr[N_ENTRIES];
	int ret;

	memset(&image, 0x5a, sizeof(image));
	for (unsigned int i = 0; i < l->n; i++) {
		list[i] = sge[i];
		data[i] = l->data[i];
		if (w->setter != KEY_IMAGE_AT)
			continue;
		addr[i] = w->builder->code == LIST ? list[i].addr : data[i].addr;
		list[i].addr = data[i].addr = ~addr[i];
	}
	if (w->builder->code == LIST)
		ret = hwq_umr_image_list(&image, l->access, l->n, list);
	else
		ret = hwq_umr_image_pattern(&image, l->access, l->repeat, l->n, data);
	if (ret != 0)
		return false;
	if (w->setter == KEY_IMAGE_AT)
		hwq_wr_umr_image_at(wr, key, &image, addr);
	else
		hwq_wr_umr_image(wr, key, &image);
	return true;
}

static HWQ_INLINE void
hwq_layout(struct hwq_wr *wr, const struct twin_work *w)
{
	const struct layout *l = TWIN_OWN(w, const struct layout);
	struct hwq_mkey *key = our_key(w);
	struct hwq_sge sge[N_ENTRIES];

	for (unsigned int i = 0; i < l->n; i++)
		sge[i] = (struct hwq_sge){l->sge[i].addr, l->sge[i].length, l->sge[i].lkey};
	hwq_mkey_set_variant(key, l->tag);
	if (l->is_inline)
		wr->wr_flags |= HWQ_WQE_INLINE;
	if (w->setter >= KEY_IMAGE && hwq_image(wr, w, key, sge))
		return;
	if (w->builder->code == LIST)
		hwq_wr_mr_list(wr, key, l->access, l->n, sge);
	else
		hwq_wr_mr_interleaved(wr, key, l->access, l->repeat, l->n, l->data);
}

/*
 * Posts the layout by hwq_wqe_umr.h, which needs no HWQ_WQE_INLINE, allows only keys with variant
 * (low byte) 0, and checks the length of the ring instead of max_inline_data.
 */
static int
direct_layout(struct twin_pair *p, const struct twin_work *w)
{
	const struct layout *l = TWIN_OWN(w, const struct layout);
	unsigned int room = p->twin.qp->sq.wr.max_umr_ds - w->builder->code;
	struct hwq_sq *sq = &p->twin.qp->sq;
	struct hwq_mkey *key = our_key(w);
	struct hwq_sge sge[N_ENTRIES];

	if (!l->is_inline || l->tag != 0 || w->setter >= KEY_SIGNING ||
		(l->n > room && l->n <= key->max_entries))
		return TWIN_HAS_NOT;
	hwq_mkey_set_variant(key, 0);
	for (unsigned int i = 0; i < l->n; i++)
		sge[i] = (struct hwq_sge){l->sge[i].addr, l->sge[i].length, l->sge[i].lkey};
	if (w->builder->code == LIST)
		return hwq_wqe_mr_list(sq, key, l->access, l->n, sge, twin_direct_flags(p, w));
	return hwq_wqe_mr_interleaved(sq, key, l->access, l->repeat, l->n, l->data,
		twin_direct_flags(p, w));
}

/* If libmlx5's length is wrong in the known way, replaces it by the correct length. */
static void
mend_length(const struct layout *l, uint8_t *theirs)
{
	uint8_t *at = theirs + FLAW_LEN_AT;
	uint64_t len = 0;
	unsigned int i;

	for (i = 0; i < l->n; i++)
		len += l->sge[i].length;
	CHECK(twin_get64(at) == flaw_list_len(len), "libmlx5's key of 0x%llx bytes has 0x%llx",
		(unsigned long long)len, (unsigned long long)twin_get64(at));
	for (i = 0; i < 8; i++)
		at[i] = (uint8_t)(len >> (56 - 8 * i));
}

static void
names_layout(struct twin_pair *p, const struct twin_work *w, unsigned int nth, uint8_t *theirs,
	uint8_t *ours)
{
	const struct layout *l = TWIN_OWN(w, const struct layout);

	(void)p, (void)nth;
	CHECK_EQ(twin_get32(theirs + 12), (their_key(w)->lkey & ~0xffu) | l->tag, "libmlx5's key");
	CHECK_EQ(twin_get32(ours + 12), (our_key(w)->lkey & ~0xffu) | l->tag, "hwq's key");
	memset(theirs + 12, 0, 3);
	memset(ours + 12, 0, 3);
	if (w->builder->code == LIST && adds_in_32_bits)
		mend_length(l, theirs);
}

static const struct twin_builder mr_list = {.name = "mr_list",
	.types = RC,
	.mlx5_ops = MLX5DV_QP_EX_WITH_MR_LIST,
	.setters = key_kinds,
	.flags = TWIN_RDMA_FLAGS,
	.code = LIST,
	.draw = draw_layout,
	.stock = stock_layout,
	.direct = direct_layout,
	.names = names_layout};
static const struct twin_builder mr_interleaved = {.name = "mr_interleaved",
	.types = RC,
	.mlx5_ops = MLX5DV_QP_EX_WITH_MR_INTERLEAVED,
	.setters = key_kinds,
	.flags = TWIN_RDMA_FLAGS,
	.code = PATTERN,
	.draw = draw_layout,
	.stock = stock_layout,
	.direct = direct_layout,
	.names = names_layout};

/* ------------------------------------------------------------------ windows */

static const char *const mw_types[] = {"type 1", "type 2", NULL};

struct window {
	struct ibv_mw mw;
	struct ibv_mr region;
	uint32_t rkey;
	struct ibv_mw_bind_info info; /* all fields except the region */
	bool is_inline;
};

static void
draw_window(struct twin_pair *p, struct twin_work *w)
{
	static const uint64_t edge[] = {0, 1, (1ull << 31) - 1, 1ull << 31, (1ull << 31) + 1,
		1ull << 32, ~0ull};
	struct window *x = TWIN_OWN(w, struct window);

	(void)p;
	memset(x, 0, sizeof(*x));
	x->mw.type = w->setter == 0 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2;
	x->mw.rkey = (uint32_t)twin_random();
	x->region.lkey = (uint32_t)twin_random();
	x->rkey = (uint32_t)twin_random();
	x->info.addr = twin_random();
	x->info.length = twin_draw(1ull << 31);
	if (twin_draw(8) == 0)
		x->info.length = edge[twin_draw(4)];
	if (twin_draw(100) == 0)
		x->info.length = edge[twin_draw(7)];
	/* Includes ZERO_BASED, and flags that windows do not support. */
	x->info.mw_access_flags = (unsigned int)twin_draw(1u << 8);
	x->is_inline = twin_draw(2) == 0;
}

static void
stock_window(struct twin_pair *p, const struct twin_work *w)
{
	struct window x = *TWIN_OWN(w, const struct window);

	x.info.mr = &x.region;
	if (x.is_inline)
		p->stock.ex->wr_flags |= IBV_SEND_INLINE;
	ibv_wr_bind_mw(p->stock.ex, &x.mw, x.rkey, &x.info);
}

static HWQ_INLINE void
hwq_window(struct hwq_wr *wr, const struct twin_work *w)
{
	struct window x = *TWIN_OWN(w, const struct window);

	x.info.mr = &x.region;
	if (x.is_inline)
		wr->wr_flags |= HWQ_WQE_INLINE;
	hwq_wr_bind_mw(wr, &x.mw, x.rkey, &x.info);
}

/*
 * The key context of a window of type 2 contains the number of the QP to which the window is bound.
 */
static void
names_window(struct twin_pair *p, const struct twin_work *w, unsigned int nth, uint8_t *theirs,
	uint8_t *ours)
{
	(void)nth;
	if (TWIN_OWN(w, const struct window)->info.length == 0)
		return;
	CHECK_EQ(twin_get32(theirs + 68) >> 8, p->stock.qp->qp_num, "libmlx5's window");
	CHECK_EQ(twin_get32(ours + 68) >> 8, p->twin.qp->qpn, "hwq's window");
	memset(theirs + 68, 0, 3);
	memset(ours + 68, 0, 3);
}

static const struct twin_builder bind_mw = {.name = "bind_mw",
	.types = CONNECTED,
	.send_ops = IBV_QP_EX_WITH_BIND_MW,
	.setters = mw_types,
	.flags = TWIN_RDMA_FLAGS,
	.code = WINDOW,
	.draw = draw_window,
	.stock = stock_window,
	.names = names_window};

/* ------------------------------------------------------------------ posting through hwq */

static HWQ_INLINE void
twin_hwq_own(struct hwq_wr *wr, const struct twin_work *w, enum hwq_qp_type type)
{
	if (w->builder->code == WINDOW)
		hwq_window(wr, w);
	else if (type == HWQ_QP_RC)
		hwq_layout(wr, w);
}

static int
post(struct twin_pair *p, const struct twin_work *w, unsigned int n, bool abort)
{
	switch (p->conf.type) {
	case HWQ_QP_XRC_SEND:
		return twin_batch(p, w, n, abort, HWQ_QP_XRC_SEND);
	case HWQ_QP_DCI:
		return twin_batch(p, w, n, abort, HWQ_QP_DCI);
	default: /* a UC QP uses the start function of RC QPs */
		return twin_batch(p, w, n, abort, HWQ_QP_RC);
	}
}

/* ------------------------------------------------------------------ pairs */

static const struct twin_builder *const rc_builders[] = {&mr_list, &mr_interleaved, &bind_mw,
	&twin_local_inv, &twin_memcpy, &twin_nop, &twin_raw_wqe, NULL};
static const struct twin_builder *const direct_builders[] = {&mr_list, &mr_interleaved,
	&twin_memcpy, NULL};
static const struct twin_builder *const window_builders[] = {&bind_mw, &twin_local_inv, &twin_nop,
	NULL};

static struct twin_pair pairs[] = {
	{.name = "layouts of the least room",
		.builders = rc_builders,
		.conf = {.sq_wr = 16, .max_sge = 1, .mmo = true, .mlx5_ops = OPS_LIST}},
	{.name = "layouts of the most room",
		.builders = rc_builders,
		.conf = {.sq_wr = 16,
			.max_sge = 3,
			.max_inline = 812,
			.mmo = true,
			.mlx5_ops = OPS_LIST}},
	{.name = "layouts, windows, sq_sig_all",
		.builders = rc_builders,
		.conf = {.sq_wr = 32,
			.max_sge = 2,
			.max_inline = 200,
			.mmo = true,
			.sq_sig_all = true,
			.send_ops = IBV_QP_EX_WITH_RDMA_WRITE | OPS_WINDOW,
			.mlx5_ops = OPS_LIST}},
	{.name = "layouts by hwq_wqe_umr.h",
		.builders = direct_builders,
		.all_direct = true,
		.conf = {.sq_wr = 32,
			.max_sge = 3,
			.max_inline = 812,
			.mmo = true,
			.mlx5_ops = OPS_LIST}},
	{.name = "windows",
		.builders = window_builders,
		.conf = {.sq_wr = 16, .max_sge = 1, .send_ops = OPS_WINDOW}},
	{.name = "windows, UC",
		.builders = window_builders,
		.conf = {.type = HWQ_QP_UC, .sq_wr = 16, .max_sge = 1, .send_ops = OPS_WINDOW}},
	{.name = "windows, XRC",
		.builders = window_builders,
		.conf = {.type = HWQ_QP_XRC_SEND,
			.sq_wr = 16,
			.max_sge = 1,
			.send_ops = OPS_WINDOW}},
	{.name = "windows, DCI",
		.builders = window_builders,
		.conf = {.type = HWQ_QP_DCI, .sq_wr = 16, .max_sge = 1, .send_ops = OPS_WINDOW}},
};

#define N_PAIRS (sizeof(pairs) / sizeof(pairs[0]))

int
main(int argc, char **argv)
{
	twin_begin(argc, argv, 10000);
	adds_in_32_bits = flaw_measure_lists(twin_dev);
	keys_create();
	RUN("every drawn change of a key has libmlx5's bytes and errors",
		twin_wild(pairs, N_PAIRS, post));
	CHECK(twin_device != NULL ||
			(twin_totals.split > 0 && twin_totals.fills > 0 &&
				twin_totals.small_fences > 0 && twin_totals.direct > 0),
		"a case that must come up did not");
	keys_destroy();
	return twin_end(pairs, N_PAIRS);
}
