/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configurations of keys, posted through stock libmlx5 and through hwq: UMR and SET_PSVs must have
 * equal bytes in the send queue, or the error must be the same (hwq_twin.h). Tested are each kind
 * of key, each set of setters in every order, and any attributes, also invalid attributes.
 *
 * The mkey index, the PSV index and the DEK id differ: each is compared with its own key or DEK,
 * then blanked. libmlx5 does not report the numbers of its PSVs and DEKs. The test reads them from
 * the first WQE that contains them; later WQEs must contain the same numbers.
 *
 * Keys that sign or encrypt are also configured by images (hwq_sig_image.h, hwq_crypto_image.h).
 * Two of the QP pairs post each work request alone: by an image if the configuration has one,
 * otherwise by a batch that has this one request. So on one key the two ways of configuring
 * alternate.
 *
 * SOFTHCA_CRYPTO decides which encryption engine the adapter has: for one data unit per key, or for
 * several.
 *
 * usage: test_hwq_bytes_mkey [CASES [SEED]]
 */
#include "hwq_twin_key.h"

#include "hwq_crypto_image.h"
#include "hwq_flaws.h"
#include "hwq_twin_post.h"
#include "hwq_wr_mkey.h"

#define MAX_ENTRIES 64
#define N_KEYS      3 /* number of keys of each kind */
#define N_DEKS      4
#define MAX_STEPS   4
#define MAX_ORDERS  24
#define MAX_INLINE  812 /* libmlx5 makes 828 bytes of this: 52 units, the maximum of a WQE */

struct keys {
	struct key key[KEY_KINDS][N_KEYS];
};

static const uint16_t key_entries[N_KEYS] = {4, 16, 52};
static struct dek deks[N_DEKS];
static struct sig_cq sig_cq;
static bool adds_in_32_bits; /* libmlx5 adds the lengths of a list's pieces in 32 bits */
/*
 * Number of tested kinds of keys, from KEY_PLAIN on. If the device has no AES-XTS with plaintext
 * DEKs, only kinds that do not encrypt.
 */
static unsigned int n_kinds = KEY_KINDS;

/* ------------------------------------------------------------------ work, as drawn */

enum step {
	ACCESS,
	LIST,
	PATTERN,
	SIG,
	CRYPTO
};

struct own {
	struct key *key;
	enum key_kind kind;
	struct mlx5dv_mkey_conf_attr attr;
	uint8_t tag, num_setters;
	bool no_inline;
	unsigned int n_steps, order;
	enum step steps[MAX_STEPS + 1];
	uint32_t access;
	uint16_t n_sge, n_data;
	uint32_t repeat;
	struct ibv_sge sge[MAX_ENTRIES];
	struct mlx5dv_mr_interleaved data[MAX_ENTRIES];
	struct sig sig;
	struct mlx5dv_crypto_attr crypto;
	const struct dek *dek;
	bool psv_mem, psv_wire; /* domains whose SET_PSV must follow the UMR */
	bool by_image;
};

/*
 * Sets of setters, for each kind of key. A plain key has the first 6 sets, a key that signs or
 * encrypts has 12, and a key that signs and encrypts has all.
 */
static const char *const set_names[KEY_KINDS][25] = {
	[KEY_PLAIN] = {"-", "list", "pattern", "access", "access+list", "access+pattern", NULL},
	[KEY_SIGN] = {"-", "list", "pattern", "access", "access+list", "access+pattern", "sig",
		"list+sig", "pattern+sig", "access+sig", "access+list+sig", "access+pattern+sig",
		NULL},
	[KEY_CRYPT] = {"-", "list", "pattern", "access", "access+list", "access+pattern", "crypto",
		"list+crypto", "pattern+crypto", "access+crypto", "access+list+crypto",
		"access+pattern+crypto", NULL},
	[KEY_BOTH] = {"-", "list", "pattern", "access", "access+list", "access+pattern", "sig",
		"list+sig", "pattern+sig", "access+sig", "access+list+sig", "access+pattern+sig",
		"crypto", "list+crypto", "pattern+crypto", "access+crypto", "access+list+crypto",
		"access+pattern+crypto", "sig+crypto", "list+sig+crypto", "pattern+sig+crypto",
		"access+sig+crypto", "access+list+sig+crypto", "access+pattern+sig+crypto", NULL},
};

static struct {
	unsigned long orders[KEY_KINDS][24][MAX_ORDERS], resets[KEY_KINDS][24];
	unsigned long psvs, fresh, told, known, extra, foreign, no_inline, bsfs, same, copies;
	unsigned long images[2], refused_images[2]; /* [0] of lists, [1] of patterns */
	/* Indexes: domain; kind of signature (T10-DIF with two guards, three CRCs); block size. */
	unsigned long by_image[2][5][5], first, again, after_errors;
	/*
	 * Indexes: by batches (0) or by images (1); order on the wire; data unit; signatures (not
	 * possible, none, wire, memory, both).
	 */
	unsigned long crypto[2][4][5][5]; /* [0]: by batches, [1]: by images */
	unsigned long crypto_refused[2];  /* [0]: images of KEY_CRYPT, [1]: images of KEY_BOTH */
	/*
	 * patterns of more than 64 bits of length, configured by images: [0] of encryption, [1] of
	 * signatures
	 */
	unsigned long beyond_64_bits[2];
	/* invalid values of: standard, order, data unit, comp_mask */
	unsigned long wrong[4];
} drawn;

/* Draws the setters of the set in a random order. Stores the number of that order. */
static void
draw_steps(struct own *o, unsigned int set)
{
	unsigned int i, base = 1;

	o->n_steps = 0;
	if (set % 6 >= 3)
		o->steps[o->n_steps++] = ACCESS;
	if (set % 3 != 0)
		o->steps[o->n_steps++] = set % 3 == 1 ? LIST : PATTERN;
	if (o->kind != KEY_CRYPT && set / 6 % 2 == 1)
		o->steps[o->n_steps++] = SIG;
	if ((o->kind == KEY_CRYPT && set / 6 == 1) || (o->kind == KEY_BOTH && set / 12 == 1))
		o->steps[o->n_steps++] = CRYPTO;
	o->order = 0;
	for (i = o->n_steps; i > 1; i--) {
		unsigned int k = (unsigned int)twin_draw(i);
		enum step last = o->steps[i - 1];

		o->steps[i - 1] = o->steps[k];
		o->steps[k] = last;
		o->order += k * base;
		base *= i;
	}
	o->num_setters = (uint8_t)o->n_steps;
}

/* Draws a number of entries, sometimes more than the key or the WQE has room for. */
static uint16_t
draw_entries(const struct twin_pair *p, const struct own *o, unsigned int head)
{
	unsigned int room = p->twin.qp->sq.wr.max_umr_ds - head, max = o->key->ours->max_entries;
	unsigned int bsf = o->kind == KEY_PLAIN ? 0 : o->kind == KEY_BOTH ? 8 : 4;

	if (twin_one_in(40))
		return (uint16_t)twin_draw(MAX_ENTRIES + 1);
	/* In most draws, leave room for the BSFs too. */
	if (room > bsf + head && !twin_one_in(8))
		room -= bsf + head;
	max = room < max ? room : max;
	return (uint16_t)(twin_one_in(4) ? max : twin_draw(max + 1));
}

/* Draws a length. A key can sign or encrypt only if the length allows it, which it mostly does. */
static uint32_t
draw_len(const struct own *o, unsigned int n)
{
	if (twin_one_in(60))
		return (uint32_t)twin_random();
	if (o->kind == KEY_CRYPT || o->kind == KEY_BOTH)
		return (uint32_t)twin_draw(512 / (n == 0 ? 1 : n) + 1);
	return (uint32_t)twin_draw(100000);
}

/*
 * A libmlx5 that computes a wrong length for lists of 2 GiB and more accepts different keys than
 * hwq. So such a libmlx5 gets only shorter lists.
 */
static void
shorten_list(struct own *o)
{
	unsigned int i;

	for (i = 0; i < o->n_sge; i++)
		o->sge[i].length &= (1u << 31) / MAX_ENTRIES - 1;
}

/* Draws a pattern of 2^64 bytes, or of 8 GiB less or more. */
static void
draw_long_pattern(struct own *o)
{
	unsigned int i;

	o->n_data = 4;
	o->repeat = (1u << 31) - 1 + (uint32_t)twin_draw(3);
	for (i = 0; i < o->n_data; i++)
		o->data[i].bytes_count = 1u << 31;
}

/*
 * Returns true if the bytes of a pattern exceed 64 bits. libmlx5 counts them in 64 bits, and may
 * accept a pattern that is much longer than a key can be.
 */
static bool
is_beyond_64_bits(const struct own *o)
{
	uint64_t len = 0;
	unsigned int i;

	for (i = 0; i < o->n_data; i++)
		len += o->data[i].bytes_count;
	return o->repeat != 0 && len > UINT64_MAX / o->repeat;
}

static void
draw_layouts(const struct twin_pair *p, struct own *o)
{
	unsigned int i;

	o->access = twin_one_in(60) ? (uint32_t)twin_random() : (uint32_t)twin_draw(16);
	o->n_sge = draw_entries(p, o, 0);
	for (i = 0; i < o->n_sge; i++)
		o->sge[i] = (struct ibv_sge){twin_random(), draw_len(o, o->n_sge),
			(uint32_t)twin_random()};
	if (adds_in_32_bits)
		shorten_list(o);
	o->n_data = draw_entries(p, o, 1);
	o->repeat = twin_one_in(60) ? (uint32_t)twin_random() : (uint32_t)twin_draw(2);
	for (i = 0; i < o->n_data; i++)
		o->data[i] = (struct mlx5dv_mr_interleaved){.addr = twin_random(),
			.bytes_count = draw_len(o, o->n_data),
			.bytes_skip = (uint32_t)twin_draw(twin_one_in(4) ? 0x100000000 : 5000),
			.lkey = (uint32_t)twin_random()};
	if (twin_one_in(100))
		draw_long_pattern(o);
}

static void
draw_crypto(struct own *o)
{
	unsigned int i;

	o->dek = &deks[twin_draw(N_DEKS)];
	o->crypto = (struct mlx5dv_crypto_attr){.crypto_standard = twin_one_in(200) ? 1 : 0,
		.encrypt_on_tx = twin_one_in(2),
		.signature_crypto_order = twin_one_in(200) ? 2 : twin_draw(2),
		.data_unit_size = twin_one_in(200) ? 5 + twin_draw(9) : twin_draw(5),
		.dek = o->dek->theirs,
		.comp_mask = twin_one_in(200) ? 1ull << twin_draw(64) : 0};
	memset(o->crypto.initial_tweak, twin_one_in(2) ? 0 : 0xff, sizeof(o->crypto.initial_tweak));
	for (i = 0; i < sizeof(o->crypto.initial_tweak) && !twin_one_in(8); i++)
		o->crypto.initial_tweak[i] = (char)twin_random();
	for (i = 0; i < sizeof(o->crypto.keytag); i++)
		o->crypto.keytag[i] = (char)twin_random();
}

/* Draws a layout of exactly one data unit, or of one byte more. */
static void
draw_one_unit(struct own *o)
{
	static const uint32_t units[] = {512, 520, 4048, 4096, 4160};
	unsigned int i;

	if ((unsigned int)o->crypto.data_unit_size >= 5)
		return;
	for (i = 0; i < o->n_sge; i++)
		o->sge[i].length = i == 0 ? units[o->crypto.data_unit_size] + !twin_one_in(3) : 0;
}

/*
 * Draws one setter too many, a setter twice, or a setter for a feature without which the key was
 * created.
 */
static void
spoil_steps(struct own *o)
{
	unsigned int last = o->n_steps - 1;

	if (o->n_steps == 0 || !twin_one_in(30))
		return;
	switch (twin_draw(3)) {
	case 0:
		o->steps[o->n_steps++] = o->steps[0];
		break;
	case 1:
		o->steps[last] = o->steps[0];
		break;
	default:
		if (o->kind == KEY_PLAIN || o->kind == KEY_CRYPT)
			o->steps[last] = SIG;
		else if (o->kind == KEY_SIGN)
			o->steps[last] = CRYPTO;
		drawn.foreign += o->kind != KEY_BOTH;
		break;
	}
}

static void
draw(struct twin_pair *p, struct twin_work *w)
{
	struct own *o = TWIN_OWN(w, struct own);
	struct keys *keys = p->own;
	unsigned int which = (unsigned int)twin_draw(N_KEYS), i;

	memset(o, 0, sizeof(*o));
	/* A UMR and two SET_PSVs. The actual number of WQEs is known when the work is posted. */
	w->max_wqes = 3;
	o->kind = w->builder->code;
	o->key = &keys->key[o->kind][which];
	o->tag = twin_one_in(2) ? 0 : (uint8_t)twin_random();
	draw_steps(o, w->setter);
	draw_layouts(p, o);
	draw_sig(&o->sig, true);
	draw_crypto(o);
	if (twin_one_in(8))
		draw_one_unit(o);
	o->attr.conf_flags = twin_one_in(4) ? MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR : 0;
	if (twin_one_in(200))
		o->attr.conf_flags |= 1u << twin_draw(32);
	if (twin_one_in(200))
		o->attr.comp_mask = 1ull << twin_draw(64);
	o->no_inline = twin_one_in(100);
	spoil_steps(o);
	for (i = 0; i < o->n_steps && o->steps[i] != CRYPTO; i++)
		;
	if (i == o->n_steps)
		return;
	drawn.wrong[0] += (int)o->crypto.crypto_standard != 0;
	drawn.wrong[1] += (unsigned int)o->crypto.signature_crypto_order > 1;
	drawn.wrong[2] += (unsigned int)o->crypto.data_unit_size >= 5;
	drawn.wrong[3] += o->crypto.comp_mask != 0;
}

/* ------------------------------------------------------------------ posting it */

static void
stock_step(struct mlx5dv_qp_ex *dv, const struct own *o, enum step step)
{
	switch (step) {
	case ACCESS:
		mlx5dv_wr_set_mkey_access_flags(dv, o->access);
		break;
	case LIST:
		mlx5dv_wr_set_mkey_layout_list(dv, o->n_sge, o->sge);
		break;
	case PATTERN:
		mlx5dv_wr_set_mkey_layout_interleaved(dv, o->repeat, o->n_data, o->data);
		break;
	case SIG:
		mlx5dv_wr_set_mkey_sig_block(dv, &o->sig.attr);
		break;
	case CRYPTO:
		mlx5dv_wr_set_mkey_crypto(dv, &o->crypto);
		break;
	}
}

static void
stock(struct twin_pair *p, const struct twin_work *w)
{
	const struct own *o = TWIN_OWN(w, const struct own);
	struct mlx5dv_mkey_conf_attr attr = o->attr;
	unsigned int i;

	p->stock.ex->wr_flags = w->flags | (o->no_inline ? 0 : IBV_SEND_INLINE);
	o->key->theirs->lkey = (o->key->theirs->lkey & ~0xffu) | o->tag;
	mlx5dv_wr_mkey_configure(p->stock.dv, o->key->theirs, o->num_setters, &attr);
	for (i = 0; i < o->n_steps; i++)
		stock_step(p->stock.dv, o, o->steps[i]);
}

static HWQ_INLINE void
hwq_step(struct hwq_wr *wr, const struct own *o, enum step step)
{
	const struct mlx5dv_crypto_attr *c = &o->crypto;
	struct hwq_crypto_attr crypto = {.crypto_standard = c->crypto_standard,
		.encrypt_on_tx = c->encrypt_on_tx,
		.signature_crypto_order = c->signature_crypto_order,
		.data_unit_size = c->data_unit_size,
		.dek = o->dek->ours->id,
		.comp_mask = c->comp_mask};
	struct hwq_sge sge[MAX_ENTRIES];
	unsigned int i;

	switch (step) {
	case ACCESS:
		hwq_wr_set_mkey_access_flags(wr, o->access);
		break;
	case LIST:
		for (i = 0; i < o->n_sge; i++)
			sge[i] = (struct hwq_sge){o->sge[i].addr, o->sge[i].length, o->sge[i].lkey};
		hwq_wr_set_mkey_layout_list(wr, o->n_sge, sge);
		break;
	case PATTERN:
		hwq_wr_set_mkey_layout_interleaved(wr, o->repeat, o->n_data, o->data);
		break;
	case SIG:
		hwq_wr_set_mkey_sig_block(wr, &o->sig.attr);
		break;
	case CRYPTO:
		memcpy(crypto.initial_tweak, c->initial_tweak, sizeof(crypto.initial_tweak));
		memcpy(crypto.keytag, c->keytag, sizeof(crypto.keytag));
		hwq_wr_set_mkey_crypto(wr, &crypto);
		break;
	}
}

/*
 * Records which WQEs must follow the UMR: a SET_PSV for each new signature. After an error was
 * read, unchanged signatures get a SET_PSV too.
 */
static void
expect_psvs(struct twin_work *w, struct own *o, enum hwq_bsf_state before, bool untold)
{
	const struct hwq_sig_block *block = &o->key->ours->sig->block;
	bool set = untold && (before == HWQ_BSF_UPDATED || before == HWQ_BSF_SET) &&
		   (o->attr.conf_flags & MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR) == 0;
	unsigned int i;

	for (i = 0; i < o->n_steps; i++)
		set |= o->steps[i] == SIG;
	o->psv_mem = set && block->mem.type != HWQ_SIG_NONE;
	o->psv_wire = set && block->wire.type != HWQ_SIG_NONE;
	w->n_wqes = 1 + o->psv_mem + o->psv_wire;
}

static HWQ_INLINE void
twin_hwq_own(struct hwq_wr *wr, const struct twin_work *w, enum hwq_qp_type type)
{
	struct own *o = TWIN_OWN(w, struct own);
	struct hwq_mkey *mkey = o->key->ours;
	enum hwq_bsf_state before = mkey->sig != NULL ? mkey->sig->block.state : HWQ_BSF_INIT;
	bool untold = mkey->sig != NULL && mkey->sig->err_count_updated;
	unsigned int i;

	(void)type;
	wr->wr_flags |= o->no_inline ? 0 : HWQ_WQE_INLINE;
	mkey->lkey = (mkey->lkey & ~0xffu) | o->tag;
	hwq_wr_mkey_configure(wr, mkey, o->num_setters, &o->attr);
	for (i = 0; i < o->n_steps; i++)
		hwq_step(wr, o, o->steps[i]);
	drawn.extra += o->n_steps > o->num_setters;
	drawn.no_inline += o->no_inline;
	((struct twin_work *)(uintptr_t)w)->n_wqes = 1;
	if (mkey->sig != NULL)
		expect_psvs((struct twin_work *)(uintptr_t)w, o, before, untold);
}

static int
post(struct twin_pair *p, const struct twin_work *w, unsigned int n, bool abort)
{
	return twin_batch(p, w, n, abort, HWQ_QP_RC);
}

/* ------------------------------------------------------------------ by an image */

enum image_kind {
	NO_IMAGE,
	SIG_IMAGE,
	CRYPTO_IMAGE, /* image of encryption, and of signatures if the key has signatures */
	RESET_IMAGE   /* image of encryption that turns signatures off */
};

/*
 * Returns the kind of image that makes the same configuration: the configuration must have all
 * setters of this kind, and nothing that images do not support.
 */
static enum image_kind
image_kind(const struct own *o)
{
	bool reset = (o->attr.conf_flags & MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR) != 0;
	unsigned int i, seen = 0;

	for (i = 0; i < o->n_steps; i++)
		seen |= 1u << o->steps[i];
	if (o->num_setters != o->n_steps || o->n_steps != (unsigned int)__builtin_popcount(seen) ||
		o->no_inline || o->attr.comp_mask != 0 ||
		(o->attr.conf_flags & ~(uint32_t)MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR) != 0 ||
		(seen & 1u << ACCESS) == 0 || (seen & (1u << LIST | 1u << PATTERN)) == 0)
		return NO_IMAGE;
	seen &= 1u << SIG | 1u << CRYPTO;
	if (o->kind == KEY_SIGN)
		return seen == 1u << SIG ? SIG_IMAGE : NO_IMAGE;
	if (o->kind == KEY_CRYPT)
		return seen == 1u << CRYPTO ? CRYPTO_IMAGE : NO_IMAGE;
	if (seen == (1u << SIG | 1u << CRYPTO))
		/*
		 * An image without any domain resets signatures, but the setter returns an error
		 * for such attributes.
		 */
		return o->sig.attr.mem != NULL || o->sig.attr.wire != NULL ? CRYPTO_IMAGE
									   : NO_IMAGE;
	return seen == 1u << CRYPTO && reset ? RESET_IMAGE : NO_IMAGE;
}

/*
 * Moves tags and seed out of the attributes, and writes different values to the attributes. Invalid
 * seeds stay.
 */
static struct hwq_sig_tags
take_tags(struct domain *d)
{
	struct hwq_sig_tags tags = {.ref_tag = d->dif.ref_tag, .app_tag = d->dif.app_tag};

	d->dif.ref_tag = (uint32_t)twin_random();
	d->dif.app_tag = (uint16_t)twin_random();
	if (d->d.sig_type == MLX5DV_SIG_TYPE_CRC) {
		tags.seed_ones = d->crc.seed != 0;
		if (d->crc.seed == UINT32_MAX || d->crc.seed == UINT64_MAX)
			d->crc.seed = twin_one_in(2) ? 0 : d->crc.seed;
	} else {
		tags.seed_ones = d->dif.bg != 0;
		if (d->dif.bg == 0 || d->dif.bg == 0xffff)
			d->dif.bg = twin_one_in(2) ? 0 : 0xffff;
	}
	return tags;
}

/*
 * Returns the capabilities of a device with all signatures, because libmlx5's setter does not ask
 * the device.
 */
static struct hwq_dev_caps
all_caps(void)
{
	return (struct hwq_dev_caps){.sig_block_prot = UINT32_MAX,
		.sig_block_size = UINT32_MAX,
		.sig_t10dif_bg = UINT16_MAX,
		.sig_crc_type = UINT16_MAX,
		.crypto_engines = twin_dev->caps.crypto_engines};
}

/* Arguments for preparing and posting an image. */
struct image_args {
	struct domain mem, wire;
	struct hwq_sig_tags mem_tags, wire_tags;
	struct mlx5dv_sig_block_attr attr;
	struct hwq_crypto_attr crypto;
	struct hwq_crypto_start start;
	struct hwq_sge sge[MAX_ENTRIES];
};

static void
image_args(const struct own *o, enum image_kind kind, struct image_args *a)
{
	unsigned int i;

	a->mem = o->sig.mem;
	a->wire = o->sig.wire;
	a->mem_tags = take_tags(&a->mem);
	a->wire_tags = take_tags(&a->wire);
	a->attr = o->sig.attr;
	a->attr.mem = a->attr.mem != NULL ? &a->mem.d : NULL;
	a->attr.wire = a->attr.wire != NULL ? &a->wire.d : NULL;
	if (kind == RESET_IMAGE)
		a->attr = (struct mlx5dv_sig_block_attr){.check_mask = (uint8_t)twin_random()};
	point_domain(&a->mem);
	point_domain(&a->wire);
	for (i = 0; i < o->n_sge; i++)
		a->sge[i] = (struct hwq_sge){o->sge[i].addr, o->sge[i].length, o->sge[i].lkey};
	/* Tweak, DEK and keytag of the image must have no effect. */
	a->crypto = (struct hwq_crypto_attr){.crypto_standard = o->crypto.crypto_standard,
		.encrypt_on_tx = o->crypto.encrypt_on_tx,
		.signature_crypto_order = o->crypto.signature_crypto_order,
		.data_unit_size = o->crypto.data_unit_size,
		.initial_tweak = {1, 2, 3},
		.dek = UINT32_MAX,
		.keytag = {4, 5, 6},
		.comp_mask = o->crypto.comp_mask};
	a->start.dek = o->dek->ours->id;
	memcpy(a->start.initial_tweak, o->crypto.initial_tweak, sizeof(a->start.initial_tweak));
	memcpy(a->start.keytag, o->crypto.keytag, sizeof(a->start.keytag));
}

static int
post_sig_image(struct hwq_sq *sq, const struct own *o, bool is_list, const struct image_args *a,
	unsigned int flags)
{
	const struct hwq_dev_caps caps = all_caps();
	struct hwq_sig_image image;
	int ret;

	memset(&image, 0xa5, sizeof(image));
	ret = hwq_sig_image_init(&image, &caps, o->access, &a->attr);
	if (ret != 0)
		return ret;
	ret = is_list ? hwq_wqe_sig_list(sq, o->key->ours, &image, o->n_sge, a->sge, &a->mem_tags,
				&a->wire_tags, flags)
		      : hwq_wqe_sig_pattern(sq, o->key->ours, &image, o->repeat, o->n_data, o->data,
				&a->mem_tags, &a->wire_tags, flags);
	CHECK(ret < 0 ||
			ret == (int)hwq_sig_image_n_bb(&image, is_list ? o->n_sge : o->n_data + 1u),
		"%d WQEBBs", ret);
	return ret;
}

static int
post_crypto_image(struct hwq_sq *sq, const struct own *o, bool is_list, const struct image_args *a,
	unsigned int flags)
{
	const struct hwq_dev_caps caps = all_caps();
	struct hwq_crypto_image image;
	int ret;

	memset(&image, 0xa5, sizeof(image));
	ret = hwq_crypto_image_init(&image, &caps, o->access,
		o->kind == KEY_CRYPT ? NULL : &a->attr, &a->crypto);
	if (ret != 0)
		return ret;
	ret = is_list ? hwq_wqe_crypto_list(sq, o->key->ours, &image, o->n_sge, a->sge,
				&a->mem_tags, &a->wire_tags, &a->start, flags)
		      : hwq_wqe_crypto_pattern(sq, o->key->ours, &image, o->repeat, o->n_data,
				o->data, &a->mem_tags, &a->wire_tags, &a->start, flags);
	CHECK(ret < 0 || ret == (int)hwq_crypto_image_n_bb(&image,
					is_list ? o->n_sge : o->n_data + 1u),
		"%d WQEBBs", ret);
	return ret;
}

static void
count_image(const struct own *o, const struct hwq_mkey_sig *before)
{
	const struct mlx5dv_sig_block_domain *domains[] = {o->sig.attr.mem, o->sig.attr.wire};
	unsigned int i, kind;

	for (i = 0; i < 2; i++) {
		if (domains[i] == NULL)
			continue;
		kind = domains[i]->sig_type == MLX5DV_SIG_TYPE_T10DIF
			       ? (unsigned int)domains[i]->sig.dif->bg_type
			       : 2 + (unsigned int)domains[i]->sig.crc->type;
		drawn.by_image[i][kind][domains[i]->block_size]++;
	}
	drawn.first += before->block.state == HWQ_BSF_INIT;
	drawn.again += before->block.state != HWQ_BSF_INIT;
	drawn.after_errors += before->err_count > 1 && before->err_count_updated;
}

/* State of a key that a refused image must not change. */
struct key_state {
	struct hwq_mkey_sig sig;
	struct hwq_mkey_crypto crypto;
	uint64_t length;
};

static struct key_state
key_state(const struct hwq_mkey *mkey)
{
	struct key_state s;

	memset(&s, 0, sizeof(s));
	if (mkey->sig != NULL)
		memcpy(&s.sig, mkey->sig, sizeof(s.sig));
	if (mkey->crypto != NULL)
		memcpy(&s.crypto, mkey->crypto, sizeof(s.crypto));
	s.length = mkey->length;
	return s;
}

/*
 * An image changes the key only if it is posted. libmlx5 changes its key before it refuses a
 * configuration. So if the image is refused, hwq's batch with the same configuration follows here.
 * If there are two reasons to refuse, the libraries may report different errors.
 */
static int
direct(struct twin_pair *p, const struct twin_work *w)
{
	struct own *o = TWIN_OWN(w, struct own);
	struct hwq_mkey *mkey = o->key->ours;
	const struct key_state before = key_state(mkey);
	enum image_kind kind = image_kind(o);
	unsigned int i, bsf = o->kind == KEY_BOTH ? 8 : 4;
	bool is_list = false;
	struct key_state after;
	struct image_args args;
	struct hwq_wr wr;
	int image = 0, ret;

	for (i = 0; i < o->n_steps; i++)
		is_list |= o->steps[i] == LIST;
	mkey->lkey = (mkey->lkey & ~0xffu) | o->tag;
	if (kind != NO_IMAGE)
		image_args(o, kind, &args);
	if (kind == SIG_IMAGE)
		image = post_sig_image(&p->twin.qp->sq, o, is_list, &args, twin_direct_flags(p, w));
	else if (kind != NO_IMAGE)
		image = post_crypto_image(&p->twin.qp->sq, o, is_list, &args,
			twin_direct_flags(p, w));
	o->by_image = p->in_one_piece = image > 0;
	if (kind != NO_IMAGE && !is_list && is_beyond_64_bits(o)) {
		CHECK(image < 0, "a pattern of more than 64 bits of bytes is posted");
		drawn.beyond_64_bits[o->kind == KEY_SIGN]++;
	}
	if (image > 0) {
		((struct twin_work *)(uintptr_t)w)->n_wqes = 1;
		if (mkey->sig != NULL)
			expect_psvs((struct twin_work *)(uintptr_t)w, o, before.sig.block.state,
				false);
		if (kind == SIG_IMAGE) {
			drawn.images[!is_list]++;
			count_image(o, &before.sig);
		}
		return image;
	}
	after = key_state(mkey);
	CHECK(memcmp(&after, &before, sizeof(before)) == 0, "a refused image changed the key");
	/* The flags contain the fence, because hwq_wr.h has not seen all earlier WQEs. */
	p->twin.qp->sq.wr.fm_cache = 0;
	hwq_wr_start(&wr, &p->twin.qp->sq);
	wr.wr_flags = twin_direct_flags(p, w);
	twin_hwq_own(&wr, w, HWQ_QP_RC);
	ret = hwq_wr_complete(&wr);
	if (image == 0)
		return ret == 0 ? 1 : ret;
	if (kind == SIG_IMAGE)
		drawn.refused_images[!is_list]++;
	else
		drawn.crypto_refused[o->kind == KEY_BOTH]++;
	i = is_list ? o->n_sge : o->n_data + 1u;
	CHECK(image == ret || (ret != 0 && i > p->twin.qp->sq.wr.max_umr_ds - bsf) ||
			(ret != 0 && i - !is_list > mkey->max_entries) ||
			(image == -EINVAL && !is_list && is_beyond_64_bits(o)),
		"an image is refused with %d, a batch with %d", image, ret);
	return ret == 0 ? 1 : ret;
}

/* ------------------------------------------------------------------ comparing it */

/*
 * The 24 bits at p must be the number of this object in hwq's WQE, and always the same number in
 * libmlx5's WQEs. Zeroes both.
 */
static void
rename24(uint8_t *theirs, uint8_t *ours, uint32_t *their_number, uint32_t our_number,
	const char *what)
{
	uint32_t t = twin_get32(theirs) & 0xffffff, u = twin_get32(ours) & 0xffffff;

	if (*their_number == 0)
		*their_number = t;
	CHECK(t != 0 && t == *their_number, "libmlx5's %s is 0x%x, was 0x%x", what, t,
		*their_number);
	CHECK(u == our_number, "%s is 0x%x, not 0x%x", what, u, our_number);
	memset(theirs + 1, 0, 3);
	memset(ours + 1, 0, 3);
}

static void
names_sig_bsf(struct own *o, uint8_t *theirs, uint8_t *ours)
{
	struct key *k = o->key;

	drawn.bsfs++;
	drawn.same += (ours[0] & 0x10) != 0;
	drawn.copies += (ours[0] & 0x10) != 0 &&
			(o->sig.attr.flags & MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK) != 0;
	if (twin_get32(ours + 8) != 0)
		rename24(theirs + 8, ours + 8, &k->wire_psv, k->ours->sig->wire_psv.index,
			"PSV of the wire");
	if (twin_get32(ours + 12) != 0)
		rename24(theirs + 12, ours + 12, &k->mem_psv, k->ours->sig->mem_psv.index,
			"PSV of memory");
}

/*
 * A key keeps its DEK if no crypto setter is called. Finds the DEK whose number libmlx5's bytes
 * contain.
 */
static void
names_crypto_bsf(uint8_t *theirs, uint8_t *ours)
{
	uint32_t u = twin_get32(ours + 32);
	unsigned int i;

	for (i = 0; i < N_DEKS && deks[i].ours->id != u; i++)
		;
	CHECK(i < N_DEKS, "DEK 0x%x is none", u);
	if (i < N_DEKS)
		rename24(theirs + 32, ours + 32, &deks[i].their_id, deks[i].ours->id, "DEK");
}

static void
names_umr(struct own *o, uint8_t *theirs, uint8_t *ours)
{
	/*
	 * at: offset of the BSFs, which follow the layout; units: length of the BSFs in 16-byte
	 * units (struct mlx5_wqe_umr_ctrl_seg).
	 */
	unsigned int at = 128 + (twin_get32(ours + 20) >> 16) * 16;
	unsigned int units = twin_get32(ours + 20) & 0xffff, sigs = 0;
	/* The index of a data unit's size, for each selector in the BSF. */
	static const uint8_t unit_of[8] = {[1] = 0, [2] = 1, [3] = 2, [4] = 3, [6] = 4};

	CHECK(twin_get32(theirs + 12) >> 8 == o->key->theirs->lkey >> 8, "libmlx5's key 0x%x",
		twin_get32(theirs + 12));
	CHECK(twin_get32(ours + 12) >> 8 == o->key->ours->lkey >> 8, "key 0x%x",
		twin_get32(ours + 12));
	memset(theirs + 12, 0, 3);
	memset(ours + 12, 0, 3);
	/* If these bytes differ, the comparison fails anyway, so nothing is blanked. */
	if (memcmp(theirs + 20, ours + 20, 4) != 0 || units == 0)
		return;
	if (o->kind != KEY_CRYPT) {
		sigs = 1 + (twin_get32(ours + at + 8) != 0) +
		       2u * (twin_get32(ours + at + 12) != 0);
		names_sig_bsf(o, theirs + at, ours + at);
		at += 64;
		units -= 4;
	}
	if (units == 0)
		return;
	drawn.crypto[o->by_image][ours[at + 1] & 3][unit_of[ours[at + 8] & 7]][sigs]++;
	names_crypto_bsf(theirs + at, ours + at);
}

static void
names(struct twin_pair *p, const struct twin_work *w, unsigned int nth, uint8_t *theirs,
	uint8_t *ours)
{
	struct own *o = TWIN_OWN(w, struct own);
	struct key *k = o->key;

	(void)p;
	if (nth == 0) {
		drawn.orders[o->kind][w->setter][o->order]++;
		drawn.resets[o->kind][w->setter] += o->attr.conf_flags != 0;
		names_umr(o, theirs, ours);
		return;
	}
	drawn.psvs++;
	if (nth == 1 && o->psv_mem)
		rename24(theirs + 16, ours + 16, &k->mem_psv, k->ours->sig->mem_psv.index,
			"PSV of memory");
	else
		rename24(theirs + 16, ours + 16, &k->wire_psv, k->ours->sig->wire_psv.index,
			"PSV of the wire");
}

/* ------------------------------------------------------------------ the run */

#define CONFIGURE(of, text, ...)                                                                   \
	{                                                                                          \
		.name = text, .types = 1u << HWQ_QP_RC,                                            \
		.mlx5_ops = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE, .setters = set_names[of],            \
		.flags = TWIN_RDMA_FLAGS, .code = of, .draw = draw, .stock = stock,                \
		.names = names, __VA_ARGS__                                                        \
	}

static const struct twin_builder configure[KEY_KINDS] = {CONFIGURE(KEY_PLAIN, "configure plain"),
	CONFIGURE(KEY_SIGN, "configure sign"), CONFIGURE(KEY_CRYPT, "configure crypt"),
	CONFIGURE(KEY_BOTH, "configure both")};

static const struct twin_builder by_image[] = {CONFIGURE(KEY_SIGN, "configure sign by image",
						       .direct = direct),
	CONFIGURE(KEY_CRYPT, "configure crypt by image", .direct = direct),
	CONFIGURE(KEY_BOTH, "configure both by image", .direct = direct)};
/* Lists of builders. After a NOP no fence is left. */
static const struct twin_builder *images[] = {&by_image[0], &by_image[1], &by_image[2], &twin_nop,
	NULL};

static const struct twin_builder *builders[] = {&configure[KEY_PLAIN], &configure[KEY_SIGN],
	&configure[KEY_CRYPT], &configure[KEY_BOTH], &twin_nop, &twin_raw_wqe, &twin_memcpy,
	&twin_local_inv, NULL};

#define PAIR(text, of, direct, ops, ...)                                                           \
	{                                                                                          \
		.name = text, .builders = of, .all_direct = direct,                                \
		.conf =                                                                            \
		{.max_sge = 1,                                                                     \
			.mmo = true,                                                               \
			.send_ops = IBV_QP_EX_WITH_RDMA_WRITE | (ops),                             \
			.mlx5_ops = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE,                              \
			__VA_ARGS__ }                                                              \
	}

static struct twin_pair pairs[] = {
	PAIR("4 units", builders, false, IBV_QP_EX_WITH_LOCAL_INV, .sq_wr = 32),
	PAIR("20 units", builders, false, IBV_QP_EX_WITH_LOCAL_INV, .sq_wr = 16, .max_inline = 316),
	PAIR("52 units", builders, false, IBV_QP_EX_WITH_LOCAL_INV, .sq_wr = 16,
		.max_inline = MAX_INLINE),
	PAIR("sq_sig_all", builders, false, IBV_QP_EX_WITH_LOCAL_INV, .sq_wr = 16,
		.max_inline = 444, .sq_sig_all = true),
	PAIR("no LOCAL_INV", builders, false, 0, .sq_wr = 16, .max_inline = 796),
	PAIR("images", images, true, 0, .sq_wr = 16, .max_inline = MAX_INLINE),
	PAIR("images, sq_sig_all", images, true, 0, .sq_wr = 16, .max_inline = MAX_INLINE,
		.sq_sig_all = true),
};

#define N_PAIRS (sizeof(pairs) / sizeof(pairs[0]))

#define ROUNDS 500

static struct keys keys[N_PAIRS];

/* Removes the builders of keys that encrypt. */
static void
leave_out_builders(const struct twin_builder **list)
{
	const struct twin_builder **kept = list;

	for (; *list != NULL; list++)
		if ((*list)->draw != draw || (*list)->code < KEY_CRYPT)
			*kept++ = *list;
	*kept = NULL;
}

static void
leave_out_encryption(void)
{
	static struct hwq_dek no_dek;

	printf("  left out: keys that encrypt: the device has no AES-XTS with DEKs in plaintext\n");
	n_kinds = KEY_CRYPT;
	leave_out_builders(builders);
	leave_out_builders(images);
	/* For a key that does not encrypt, setters are refused before they read a DEK. */
	for (unsigned int i = 0; i < N_DEKS; i++)
		deks[i].ours = &no_dek;
}

static void
open_keys(void)
{
	unsigned int i, kind, k;

	for (i = 0; i < N_DEKS && n_kinds == KEY_KINDS; i++)
		dek_create(&pairs[i % N_PAIRS], &deks[i]);
	for (i = 0; i < N_PAIRS; i++) {
		pairs[i].own = &keys[i];
		for (kind = 0; kind < n_kinds; kind++)
			for (k = 0; k < N_KEYS; k++)
				key_create(&pairs[i], &keys[i].key[kind][k], kind, key_entries[k]);
	}
}

static void
close_keys(void)
{
	unsigned int i, kind, k;

	for (i = 0; i < N_PAIRS; i++)
		for (kind = 0; kind < n_kinds; kind++)
			for (k = 0; k < N_KEYS; k++)
				key_destroy(&keys[i].key[kind][k]);
	for (i = 0; i < N_DEKS && n_kinds == KEY_KINDS; i++)
		dek_destroy(&deks[i]);
}

static void
renew(struct twin_pair *p, struct key *k, enum key_kind kind, uint16_t entries)
{
	key_destroy(k);
	key_create(p, k, kind, entries);
	drawn.fresh++;
}

/* Reports several signature errors. The test may read them before the key is configured again. */
static void
tell(struct twin_pair *p, struct key *k)
{
	unsigned int n = (unsigned int)twin_draw(4);
	uint8_t cqe[64];

	for (; n != 0; n--) {
		sig_draw_cqe(cqe);
		sig_tell(&sig_cq, cqe, k, p->twin.domain);
		drawn.told++;
		if (!twin_one_in(4))
			drawn.known += sig_check_both(k);
	}
	sig_check_both(k);
}

/*
 * Between rounds: creates new keys, and reports signature errors, so that both keys have an error
 * count above the initial count.
 */
static void
between(struct twin_pair *p, struct keys *of)
{
	unsigned int kind, k;

	for (kind = 0; kind < n_kinds; kind++) {
		k = (unsigned int)twin_draw(N_KEYS);
		if (twin_one_in(4))
			renew(p, &of->key[kind][k], kind, key_entries[k]);
		k = (unsigned int)twin_draw(N_KEYS);
		if (kind == KEY_SIGN || kind == KEY_BOTH)
			tell(p, &of->key[kind][k]);
		else
			sig_check_both(&of->key[kind][k]);
	}
}

static void
run(void)
{
	unsigned long cases = twin_cases, round;
	unsigned int i;

	for (round = 1; round <= ROUNDS && check_failures == 0; round++) {
		twin_cases = cases * round / ROUNDS;
		twin_run(pairs, N_PAIRS, post);
		for (i = 0; i < N_PAIRS; i++)
			between(&pairs[i], &keys[i]);
	}
	twin_cases = cases;
}

/*
 * Checks that every order was posted with every data unit and signature, except combinations that
 * libmlx5 refuses.
 */
static void
check_crypto(void)
{
	unsigned int by, order, unit, sigs, seen = 0;

	for (by = 0; by < 2; by++)
		for (order = 0; order < 4; order++)
			for (unit = 0; unit < 5; unit++)
				for (sigs = 0; sigs < 5; sigs++) {
					bool both = order >= 2 && sigs == 4;
					unsigned long n = drawn.crypto[by][order][unit][sigs];

					CHECK(both == (n == 0),
						"encryption %s: order %u, unit %u, signatures %u: "
						"%lu times",
						by ? "by image" : "by batch", order, unit, sigs, n);
					seen += n != 0;
				}
	printf("  encryption: %u combinations of order, data unit and signatures; images refused: %lu "
	       "of keys that encrypt, %lu of those that sign, too\n",
		seen, drawn.crypto_refused[0], drawn.crypto_refused[1]);
	CHECK(drawn.beyond_64_bits[0] != 0 && drawn.beyond_64_bits[1] != 0,
		"no pattern of 2^64 bytes was drawn");
	CHECK(drawn.crypto_refused[0] != 0 && drawn.crypto_refused[1] != 0,
		"images of encryption: none was refused");
	CHECK(drawn.wrong[0] != 0 && drawn.wrong[1] != 0 && drawn.wrong[2] != 0 &&
			drawn.wrong[3] != 0,
		"encryption: a wrong attribute was never drawn");
}

static void
check_orders(void)
{
	static const unsigned int factorial[] = {1, 1, 2, 6, 24};
	unsigned int kind, set, order, seen = 0;

	for (kind = 0; kind < KEY_KINDS; kind++)
		for (set = 0; set_names[kind][set] != NULL; set++) {
			struct own o = {.kind = kind};

			draw_steps(&o, set);
			for (order = 0; order < factorial[o.n_steps]; order++, seen++)
				CHECK(drawn.orders[kind][set][order] != 0,
					"%s %s: order %u was never drawn", configure[kind].name,
					set_names[kind][set], order);
			CHECK(drawn.resets[kind][set] != 0, "%s %s: was never drawn with a reset",
				configure[kind].name, set_names[kind][set]);
		}
	printf("  %u orders of setters; SET_PSVs %lu, signatures' BSFs %lu, of like domains %lu, "
	       "with a copy mask %lu; errors told %lu, asked for %lu; new keys %lu, setters too "
	       "many %lu, not the key's %lu, not inline %lu\n",
		seen, drawn.psvs, drawn.bsfs, drawn.same, drawn.copies, drawn.told, drawn.known,
		drawn.fresh, drawn.extra, drawn.foreign, drawn.no_inline);
	printf("  by images: %lu lists, %lu patterns; refused %lu and %lu; of new keys %lu, behind errors "
	       "%lu\n",
		drawn.images[0], drawn.images[1], drawn.refused_images[0], drawn.refused_images[1],
		drawn.first, drawn.after_errors);
	for (kind = 0; kind < 2 * 5 * 5; kind++)
		CHECK(drawn.by_image[kind / 25][kind / 5 % 5][kind % 5] != 0,
			"images: domain %u never had signatures %u for blocks %u", kind / 25,
			kind / 5 % 5, kind % 5);
	CHECK(drawn.images[0] != 0 && drawn.images[1] != 0 && drawn.refused_images[0] != 0 &&
			drawn.refused_images[1] != 0 && drawn.first != 0 && drawn.again != 0 &&
			drawn.after_errors != 0,
		"images: a case that must come up did not");
	check_crypto();
	CHECK(drawn.psvs != 0 && drawn.same != 0 && drawn.copies != 0 && drawn.known != 0 &&
			drawn.extra != 0 && drawn.foreign != 0 && drawn.no_inline != 0 &&
			twin_totals.split != 0 && twin_totals.fills != 0,
		"a case that must come up did not");
}

int
main(int argc, char **argv)
{
	if (getenv("SOFTHCA_CRYPTO") == NULL && (argc == 1 || strcmp(argv[1], "--device") != 0)) {
		setenv("SOFTHCA_THREADS", "0", 1);
		emu_setting(argv, "SOFTHCA_CRYPTO", "plaintext");
	}
	twin_begin(argc, argv, 30000);
	adds_in_32_bits = flaw_measure_lists(twin_dev);
	if (twin_dev->caps.crypto_engines == 0 || twin_dev->caps.crypto_wrapped != 0)
		leave_out_encryption();
	twin_open(pairs, N_PAIRS, true);
	sig_cq_open(&sig_cq);
	open_keys();
	run();
	if (check_failures == 0 && twin_device == NULL)
		check_orders();
	close_keys();
	sig_cq_close(&sig_cq);
	twin_close(pairs, N_PAIRS);
	return twin_end(pairs, N_PAIRS);
}
