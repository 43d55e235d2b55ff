/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configurations of keys that cannot be compared with libmlx5, as test/hwq/twin does: errors that
 * libmlx5 does not notice, rings that are nearly full, sizes of rings, images that are refused, QPs
 * that cannot configure keys, and completions without a key.
 */
#include "hwq_emu.h"

#include "hwq_mkey_check.h"
#include "hwq_crypto_image.h"
#include "hwq_wr_mkey.h"

static struct hwq_dev *dev;
static const struct mlx5dv_mkey_conf_attr nothing;

/* A key, and a QP in ERR that configures it: all work is flushed. */
struct err_qp {
	struct twin t;
	struct hwq_mkey_pool *pool;
	struct hwq_mkey *key;
};

static void
err_qp_open(struct err_qp *r, struct hwq_qp_conf *conf, uint16_t entries, unsigned int flags)
{
	struct hwq_mkey_conf key = {.n = 1, .max_entries = entries, .flags = flags};
	int ret;

	conf->mlx5_ops = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE;
	twin_create(dev, conf, &r->t);
	twin_connect_self(&r->t);
	CHECK_EQ(hwq_qp_fail(r->t.qp), 0, "to ERR");
	ret = hwq_mkey_pool_create(r->t.domain, &key, &r->pool);
	if (ret != 0)
		EMU_DIE("a key: %s", strerror(-ret));
	r->key = hwq_mkey_get(r->pool);
}

static void
err_qp_close(struct err_qp *r)
{
	hwq_mkey_put(r->key);
	CHECK_EQ(hwq_mkey_pool_destroy(r->pool), 0, "destroying the pool");
	twin_destroy(&r->t);
}

static void
begin(struct err_qp *r, struct hwq_wr *wr)
{
	hwq_wr_start(wr, &r->t.qp->sq);
	wr->wr_flags = HWQ_WQE_INLINE;
}

static void
drain(struct err_qp *r)
{
	struct hwq_sq *sq = &r->t.qp->sq;
	struct hwq_cqe rec;

	while (hwq_sq_used_bb(sq) != 0 && emu_wait(r->t.cq, &rec))
		hwq_sq_complete(sq, rec.wqe_counter);
	CHECK_EQ(hwq_sq_used_bb(sq), 0, "WQEBBs that are left");
}

static struct mlx5dv_sig_crc crc = {.type = MLX5DV_SIG_CRC_TYPE_CRC32};
static struct mlx5dv_sig_block_domain domain = {.sig_type = MLX5DV_SIG_TYPE_CRC,
	.sig = {.crc = &crc}};
static struct mlx5dv_sig_block_attr both = {.mem = &domain, .wire = &domain, .check_mask = 0xff};

/* ----------------------------------------------------------------- what libmlx5 does not notice */

static void
too_few(struct err_qp *r, struct hwq_wr *wr)
{
	hwq_wr_mkey_configure(wr, r->key, 2, &nothing);
	hwq_wr_set_mkey_access_flags(wr, 0);
}

static void
another_builder(struct err_qp *r, struct hwq_wr *wr)
{
	hwq_wr_mkey_configure(wr, r->key, 1, &nothing);
	hwq_wr_mkey_configure(wr, r->key, 0, &nothing);
}

static void
a_raw_wqe(struct err_qp *r, struct hwq_wr *wr)
{
	uint8_t nop[16] = {[7] = 1};

	hwq_wr_mkey_configure(wr, r->key, 1, &nothing);
	hwq_wr_raw_wqe(wr, nop);
}

static void
a_nop(struct err_qp *r, struct hwq_wr *wr)
{
	hwq_wr_mkey_configure(wr, r->key, 1, &nothing);
	hwq_wr_nop(wr);
}

static void
data_for_a_key(struct err_qp *r, struct hwq_wr *wr)
{
	hwq_wr_mkey_configure(wr, r->key, 1, &nothing);
	hwq_wr_set_sge(wr, 1, 2, 3);
}

static void
inline_data_for_a_key(struct err_qp *r, struct hwq_wr *wr)
{
	hwq_wr_mkey_configure(wr, r->key, 1, &nothing);
	hwq_wr_set_inline_data(wr, "abc", 3);
}

static void
a_setter_alone(struct err_qp *r, struct hwq_wr *wr)
{
	(void)r;
	hwq_wr_set_mkey_access_flags(wr, 0);
}

static void
a_key_for_data(struct err_qp *r, struct hwq_wr *wr)
{
	struct hwq_sge sge = {0, 0, 0};

	(void)r;
	hwq_wr_rdma_write(wr, 1, 2);
	hwq_wr_set_mkey_layout_list(wr, 1, &sge);
}

static void
a_setter_behind(struct err_qp *r, struct hwq_wr *wr)
{
	hwq_wr_mkey_configure(wr, r->key, 0, &nothing);
	hwq_wr_set_mkey_sig_block(wr, &both);
}

static void
broken_requests(void)
{
	static void (*const requests[])(struct err_qp *, struct hwq_wr *) = {too_few,
		another_builder, a_raw_wqe, a_nop, data_for_a_key, inline_data_for_a_key,
		a_setter_alone, a_key_for_data, a_setter_behind};
	struct hwq_qp_conf conf = {.sq_wr = 16, .max_sge = 1, .max_inline = 60};
	struct hwq_wr wr;
	struct err_qp r;
	unsigned int i;

	err_qp_open(&r, &conf, 4, HWQ_MKEY_SIG);
	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct hwq_sq before = r.t.qp->sq;

		begin(&r, &wr);
		requests[i](&r, &wr);
		CHECK(hwq_wr_complete(&wr) == -EINVAL, "request %u was not refused", i);
		CHECK(twin_same_sq(&r.t.qp->sq, &before), "request %u changed the queue", i);
	}
	/* After the refusals, the key still works. */
	begin(&r, &wr);
	hwq_wr_mkey_configure(&wr, r.key, 1, &nothing);
	hwq_wr_set_mkey_sig_block(&wr, &both);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "a request as it should be");
	drain(&r);
	err_qp_close(&r);
}

/* ------------------------------------------------------------------ room */

/* Posts the longest work request: a layout, and signatures of both domains. */
static int
post_longest(struct err_qp *r, struct hwq_wr *wr)
{
	static struct hwq_sge sge[64];
	unsigned int n = r->t.qp->sq.wr.max_umr_ds;

	begin(r, wr);
	hwq_wr_mkey_configure(wr, r->key, 1, &nothing);
	hwq_wr_set_mkey_layout_list(wr, (uint16_t)n, sge);
	return hwq_wr_complete(wr);
}

/*
 * The ring, and the longest layout, must have the sizes of a libmlx5 that counts the first segments
 * of a UMR.
 */
static void
sizes_as_stock(const struct err_qp *r, const struct hwq_qp_conf *conf)
{
	struct stock s;

	stock_create(dev, conf, &s);
	CHECK_EQ(hwq_sq_n_bb(&r->t.qp->sq), s.view.sq.wqe_cnt, "WQEBBs");
	CHECK_EQ(r->t.qp->sq.wr.max_umr_ds, (s.max_inline + 4) / 16, "units of a UMR");
	stock_destroy(&s);
}

/* An empty ring must have room for the longest work request at every ring index. */
static void
longest_fits(uint32_t max_inline, uint32_t sq_wr, uint64_t send_ops)
{
	struct hwq_qp_conf conf = {.sq_wr = sq_wr,
		.max_sge = 1,
		.max_inline = max_inline,
		.send_ops = send_ops};
	struct hwq_wr wr;
	struct err_qp r;
	unsigned int i;

	err_qp_open(&r, &conf, 64, 0);
	if (sq_wr > 1)
		sizes_as_stock(&r, &conf);
	for (i = 0; i < 4 * hwq_sq_n_bb(&r.t.qp->sq); i++) {
		CHECK_EQ(post_longest(&r, &wr), 0, "the longest configuration in a drained ring");
		drain(&r);
		begin(&r, &wr);
		hwq_wr_nop(&wr);
		CHECK_EQ(hwq_wr_complete(&wr), 0, "a NOP");
		drain(&r);
	}
	/*
	 * The ring must also have room for sq_wr work requests of this length, or for one fewer if
	 * NOPs at the ring's end take the room of one.
	 */
	for (i = 0; i + 1 < sq_wr; i++)
		CHECK_EQ(post_longest(&r, &wr), 0, "one of many");
	drain(&r);
	err_qp_close(&r);
}

static void
ring_sizes(void)
{
	static const uint32_t max_inline[] = {0, 28, 60, 92, 300, 600, 796, 812};
	unsigned int i;

	for (i = 0; i < sizeof(max_inline) / sizeof(max_inline[0]); i++) {
		longest_fits(max_inline[i], 1, 0);
		longest_fits(max_inline[i], 7, IBV_QP_EX_WITH_SEND);
		longest_fits(max_inline[i], 7, IBV_QP_EX_WITH_LOCAL_INV);
	}
}

/*
 * A configuration that is too long for one WQE must be refused. After the first segments of a UMR,
 * DS can count at most 812 bytes of inline data.
 */
static void
too_long(void)
{
	struct hwq_qp_conf conf = {.sq_wr = 4,
		.max_sge = 1,
		.max_inline = 813,
		.mlx5_ops = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE};
	struct hwq_domain *d;
	struct hwq_cq *cq;
	struct hwq_qp *qp;

	CHECK_EQ(hwq_domain_create(dev, &d), 0, "a domain");
	CHECK_EQ(hwq_cq_create(d, 256, &cq), 0, "a CQ");
	CHECK_EQ(hwq_qp_create(d, cq, &conf, &qp), -EINVAL, "813 bytes of inline data");
	conf.max_inline = 0;
	conf.max_sge = 52;
	CHECK_EQ(hwq_qp_create(d, cq, &conf, &qp), -EINVAL, "52 pieces of memory");
	/*
	 * DS counts 1008 bytes: 16 for the control segment, 32 for the Ethernet segment, 800 for
	 * the header, 160 for ten pieces.
	 */
	conf = (struct hwq_qp_conf){.type = HWQ_QP_RAW_PACKET,
		.sq_wr = 4,
		.max_sge = 11,
		.max_tso_header = 800};
	CHECK_EQ(hwq_qp_create(d, cq, &conf, &qp), -EINVAL, "11 pieces behind a long header");
	conf.max_sge = 10;
	CHECK_EQ(hwq_qp_create(d, cq, &conf, &qp), 0, "10 pieces behind a long header");
	CHECK_EQ(hwq_qp_destroy(qp), 0, "destroying the QP");
	CHECK_EQ(hwq_cq_destroy(cq), 0, "destroying the CQ");
	CHECK_EQ(hwq_domain_destroy(d), 0, "destroying the domain");
}

/*
 * Each step of a configuration must detect a full ring. Then no part of the batch stays in the
 * ring.
 */
static void
full_ring(void)
{
	struct hwq_qp_conf conf = {.sq_wr = 4, .max_sge = 1, .max_inline = 316};
	unsigned int i, k, n_refused = 0;
	struct hwq_sge sge[8] = {{0, 0, 0}};
	struct hwq_wr wr;
	struct err_qp r;

	err_qp_open(&r, &conf, 16, HWQ_MKEY_SIG);
	for (i = 0; i < 3 * hwq_sq_n_bb(&r.t.qp->sq); i++) {
		struct hwq_sq *sq = &r.t.qp->sq, before;
		uint32_t room;
		int ret;

		/* Tests each number of free WQEBBs, from none to all, at every ring index. */
		begin(&r, &wr);
		for (k = 0; k < i % hwq_sq_n_bb(sq); k++)
			hwq_wr_nop(&wr);
		CHECK_EQ(hwq_wr_complete(&wr), 0, "NOPs");
		before = *sq;
		room = hwq_sq_free_bb(sq);
		begin(&r, &wr);
		hwq_wr_mkey_configure(&wr, r.key, 2, &nothing);
		hwq_wr_set_mkey_layout_list(&wr, 8, sge);
		hwq_wr_set_mkey_sig_block(&wr, &both);
		ret = hwq_wr_complete(&wr);
		/*
		 * The request has two WQEBBs of first segments, two of layout, one BSF and two
		 * SET_PSVs: 7 WQEBBs. NOPs at the ring's end may take up to four WQEBBs more.
		 */
		CHECK(room < 7       ? ret == -ENOMEM
			: room >= 11 ? ret == 0
				     : ret == 0 || ret == -ENOMEM,
			"%u WQEBBs are free: %d", room, ret);
		CHECK(ret == 0 || twin_same_sq(sq, &before), "a refused batch changed the queue");
		n_refused += ret != 0;
		drain(&r);
	}
	CHECK(n_refused != 0, "the ring was never full");
	err_qp_close(&r);
}

/* ------------------------------------------------------------------ images */

static const struct hwq_sig_tags some_tags = {.ref_tag = 1, .app_tag = 2};

static int
post_list(struct err_qp *r, struct hwq_mkey *key, const struct hwq_sig_image *image, unsigned int n)
{
	static const struct hwq_sge sge[64];

	return hwq_wqe_sig_list(&r->t.qp->sq, key, image, n, sge, &some_tags, &some_tags,
		HWQ_WQE_SIGNALED);
}

static void
image_create(struct hwq_sig_image *image, const struct mlx5dv_sig_block_attr *attr)
{
	CHECK_EQ(hwq_sig_image_init(image, hwq_dev_caps(dev), 0, attr), 0, "an image");
}

/*
 * At every ring index, and with each number of free WQEBBs, an image must be posted as a whole, or
 * nothing may be posted, not even NOPs at the ring's end.
 */
static void
images_and_full_rings(void)
{
	struct hwq_qp_conf conf = {.sq_wr = 4, .max_sge = 1, .max_inline = 316};
	unsigned int i, k, n_nops, n_refused = 0, n_filled = 0;
	struct hwq_sig_image image;
	uint64_t rnd = 1;
	struct err_qp r;

	err_qp_open(&r, &conf, 16, HWQ_MKEY_SIG);
	image_create(&image, &both);
	CHECK_EQ(hwq_sig_image_n_bb(&image, 8), 7, "head, layout and BSF of 5, two SET_PSVs");
	for (i = 0; i < 3000 && check_failures == 0; i++) {
		struct hwq_sq *sq = &r.t.qp->sq, before;
		struct hwq_mkey_sig key;
		uint32_t room, fill;
		int ret;

		n_nops = (unsigned int)(check_random(&rnd) % hwq_sq_n_bb(sq));
		for (k = 0; k < n_nops; k++)
			hwq_wqe_nop(sq, 0);
		before = *sq;
		key = *r.key->sig;
		room = hwq_sq_free_bb(sq);
		fill = hwq_sq_tail_bb(sq, sq->pi) < 7 ? hwq_sq_tail_bb(sq, sq->pi) : 0;
		ret = post_list(&r, r.key, &image, 8);
		CHECK(ret == (room >= fill + 7 ? 7 : 0), "%u WQEBBs are free, %u to fill: %d", room,
			fill, ret);
		CHECK_EQ((uint16_t)(sq->pi - before.pi), ret == 0 ? 0 : fill + 7, "WQEBBs");
		CHECK(ret != 0 || (memcmp(sq, &before, sizeof(before)) == 0 &&
					  memcmp(r.key->sig, &key, sizeof(key)) == 0),
			"what was refused changed the queue or the key");
		n_refused += ret == 0;
		n_filled += ret == 0 && room >= 7 && fill != 0;
		hwq_sq_ring(sq);
		drain(&r);
	}
	CHECK(n_refused != 0 && n_filled != 0, "%u refused, %u of them because of a fill",
		n_refused, n_filled);
	err_qp_close(&r);
}

/*
 * Keys that do not match the image, and rings that are too short, must be refused, and nothing may
 * be posted.
 */
static void
images_refused(void)
{
	struct hwq_qp_conf conf = {.sq_wr = 16, .max_sge = 1, .max_inline = 60};
	struct hwq_qp_conf tiny = {.sq_wr = 3, .max_sge = 1};
	struct hwq_mkey_crypto crypto = {.state = HWQ_BSF_INIT};
	struct hwq_sig_image image;
	struct hwq_mkey other;
	struct err_qp r;
	uint32_t half;

	image_create(&image, &both);
	err_qp_open(&r, &conf, 60, HWQ_MKEY_SIG);
	CHECK_EQ(post_list(&r, r.key, &image, 48), 17, "the longest list");
	hwq_sq_ring(&r.t.qp->sq);
	drain(&r);
	CHECK_EQ(post_list(&r, r.key, &image, 49), -ENOMEM, "too many for a WQE");
	other = *r.key;
	other.max_entries = 4;
	CHECK_EQ(post_list(&r, &other, &image, 5), -ENOMEM, "too many for the key");
	other.crypto = &crypto;
	CHECK_EQ(post_list(&r, &other, &image, 1), -EINVAL, "a key that encrypts");
	other = *r.key;
	other.sig = NULL;
	CHECK_EQ(post_list(&r, &other, &image, 1), -EINVAL, "a key that does not sign");
	r.key->lkey |= 5;
	CHECK_EQ(post_list(&r, r.key, &image, 1), -EOPNOTSUPP, "a tag that was not asked for");
	r.key->lkey &= ~0xffu;
	CHECK_EQ(hwq_sq_used_bb(&r.t.qp->sq), 0, "WQEBBs of what was refused");
	err_qp_close(&r);
	err_qp_open(&r, &tiny, 60, HWQ_MKEY_SIG);
	half = hwq_sq_n_bb(&r.t.qp->sq) / 2;
	/*
	 * The WQEs have three WQEBBs of first segments and BSF, and two SET_PSVs. At every ring
	 * index, an empty ring has contiguous room for half of its WQEBBs.
	 */
	CHECK_EQ(post_list(&r, r.key, &image, 4 * (half - 4)), -EINVAL, "a ring that is too short");
	CHECK_EQ(post_list(&r, r.key, &image, 4 * (half - 5)), half, "a ring that is not");
	hwq_sq_ring(&r.t.qp->sq);
	drain(&r);
	err_qp_close(&r);
}

/*
 * An image that needs a capability must be refused if the device does not report this capability;
 * tested for one capability at a time.
 */
static void
images_of_devices(void)
{
	struct hwq_dev_caps caps = {.sig_block_prot = MLX5DV_SIG_PROT_CAP_CRC,
		.sig_block_size = MLX5DV_BLOCK_SIZE_CAP_512,
		.sig_t10dif_bg = MLX5DV_SIG_T10DIF_BG_CAP_CSUM,
		.sig_crc_type = MLX5DV_SIG_CRC_TYPE_CAP_CRC32};
	struct mlx5dv_sig_t10dif dif = {.bg_type = MLX5DV_SIG_T10DIF_CSUM};
	struct mlx5dv_sig_block_domain of_dif = {.sig.dif = &dif};
	struct mlx5dv_sig_block_attr mem_dif = {.mem = &of_dif}, wire_crc = {.wire = &domain};
	struct hwq_sig_image image;

	CHECK_EQ(hwq_sig_image_init(&image, &caps, 16, &wire_crc), -EINVAL, "access flags");
	CHECK_EQ(hwq_sig_image_init(&image, &caps, 15, &wire_crc), 0, "a CRC");
	CHECK_EQ(hwq_sig_image_init(&image, &caps, 0, &mem_dif), -EOPNOTSUPP, "no T10-DIF");
	caps.sig_block_prot = MLX5DV_SIG_PROT_CAP_T10DIF;
	CHECK_EQ(hwq_sig_image_init(&image, &caps, 0, &mem_dif), 0, "T10-DIF");
	CHECK_EQ(hwq_sig_image_init(&image, &caps, 0, &wire_crc), -EOPNOTSUPP, "no CRC");
	of_dif.block_size = MLX5DV_BLOCK_SIZE_4096;
	CHECK_EQ(hwq_sig_image_init(&image, &caps, 0, &mem_dif), -EOPNOTSUPP, "no such block");
	of_dif.block_size = MLX5DV_BLOCK_SIZE_512;
	dif.bg_type = MLX5DV_SIG_T10DIF_CRC;
	CHECK_EQ(hwq_sig_image_init(&image, &caps, 0, &mem_dif), -EOPNOTSUPP, "no such guard");
	caps.sig_block_prot = MLX5DV_SIG_PROT_CAP_CRC;
	caps.sig_crc_type = MLX5DV_SIG_CRC_TYPE_CAP_CRC32C;
	CHECK_EQ(hwq_sig_image_init(&image, &caps, 0, &wire_crc), -EOPNOTSUPP, "no such CRC");
}

static int
post_crypto(struct err_qp *r, struct hwq_mkey *key, const struct hwq_crypto_image *image,
	unsigned int n)
{
	static const struct hwq_crypto_start start = {.dek = 1};
	static const struct hwq_sge sge[64];

	return hwq_wqe_crypto_list(&r->t.qp->sq, key, image, n, sge, &some_tags, &some_tags, &start,
		HWQ_WQE_SIGNALED);
}

/*
 * Key configurations with encryption (hwq_crypto_image) that are refused must change neither the
 * queue nor the key. The test sets the key's crypto context itself; the QP is in ERR, so the device
 * does not read this context.
 */
static void
crypto_images_refused(void)
{
	const struct hwq_dev_caps caps = {.crypto_engines =
						  MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK,
		.sig_block_prot = UINT32_MAX,
		.sig_block_size = UINT32_MAX,
		.sig_crc_type = UINT16_MAX};
	const struct hwq_crypto_attr aes = {.data_unit_size = MLX5DV_BLOCK_SIZE_512};
	const struct mlx5dv_sig_block_attr off = {0};
	struct hwq_mkey_crypto crypto = {.engines = caps.crypto_engines};
	struct hwq_crypto_image alone, beside, resets;
	struct hwq_qp_conf conf = {.sq_wr = 16, .max_sge = 1, .max_inline = 60};
	struct hwq_qp_conf tiny = {.sq_wr = 3, .max_sge = 1};
	struct hwq_mkey signs, other;
	struct err_qp r;
	int ret;

	CHECK_EQ(hwq_crypto_image_init(&alone, &caps, 0, NULL, &aes), 0, "an image");
	CHECK_EQ(hwq_crypto_image_init(&beside, &caps, 0, &both, &aes), 0, "with signatures");
	CHECK_EQ(hwq_crypto_image_init(&resets, &caps, 0, &off, &aes), 0, "without them");
	CHECK_EQ(hwq_crypto_image_n_bb(&alone, 8), 5, "head, layout, BSF");
	CHECK_EQ(hwq_crypto_image_n_bb(&beside, 8), 8, "one more BSF, two SET_PSVs");
	CHECK_EQ(hwq_crypto_image_n_bb(&resets, 8), 6, "no SET_PSV");
	err_qp_open(&r, &conf, 60, HWQ_MKEY_SIG);
	CHECK_EQ(post_crypto(&r, r.key, &beside, 1), -EINVAL, "a key that does not encrypt");
	signs = other = *r.key;
	signs.crypto = other.crypto = &crypto;
	other.sig = NULL;
	CHECK_EQ(post_crypto(&r, &other, &beside, 1), -EINVAL, "a key that does not sign");
	CHECK_EQ(post_crypto(&r, &other, &resets, 1), -EINVAL, "a key that does not sign");
	CHECK_EQ(post_crypto(&r, &signs, &alone, 1), -EINVAL, "a key that signs");
	CHECK_EQ(post_crypto(&r, &other, &alone, 49), -ENOMEM, "too many for a WQE");
	CHECK_EQ(post_crypto(&r, &signs, &beside, 45), -ENOMEM, "too many for a WQE");
	signs.max_entries = 4;
	CHECK_EQ(post_crypto(&r, &signs, &beside, 5), -ENOMEM, "too many for the key");
	signs.max_entries = 60;
	signs.lkey |= 5;
	CHECK_EQ(post_crypto(&r, &signs, &beside, 1), -EOPNOTSUPP, "a tag that was not asked for");
	signs.lkey &= ~0xffu;
	CHECK(hwq_sq_used_bb(&r.t.qp->sq) == 0 && crypto.state == HWQ_BSF_INIT,
		"what was refused changed something");
	CHECK_EQ(post_crypto(&r, &signs, &beside, 44), 17, "the longest list");
	hwq_sq_ring(&r.t.qp->sq);
	drain(&r);
	CHECK_EQ(post_crypto(&r, &other, &alone, 48), 15, "the longest list alone");
	hwq_sq_ring(&r.t.qp->sq);
	drain(&r);
	err_qp_close(&r);
	err_qp_open(&r, &tiny, 60, HWQ_MKEY_SIG);
	signs = *r.key;
	signs.crypto = &crypto;
	/* The WQEs have four WQEBBs of first segments and BSFs, and two SET_PSVs. */
	CHECK_EQ(post_crypto(&r, &signs, &beside, 4 * (hwq_sq_n_bb(&r.t.qp->sq) / 2 - 5)), -EINVAL,
		"a ring that is too short");
	do
		ret = post_crypto(&r, &signs, &beside, 1);
	while (ret == 7);
	CHECK_EQ(ret, 0, "a full ring");
	hwq_sq_ring(&r.t.qp->sq);
	drain(&r);
	err_qp_close(&r);
}

/*
 * If no image can be made from the attributes for a device with these capabilities,
 * hwq_crypto_image_init() must return an error. Otherwise it must compute the key's largest length.
 */
static void
crypto_images_of_devices(void)
{
	const uint8_t single = MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_SINGLE_BLOCK;
	struct hwq_dev_caps caps = {.crypto_engines = single};
	struct hwq_crypto_attr aes = {.data_unit_size = MLX5DV_BLOCK_SIZE_520};
	struct mlx5dv_sig_block_attr off = {.flags = MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK};
	struct hwq_crypto_image image;

	CHECK_EQ(hwq_crypto_image_init(&image, &caps, 16, NULL, &aes), -EINVAL, "access flags");
	CHECK_EQ(hwq_crypto_image_init(&image, &caps, 15, NULL, &aes), 0, "a single unit");
	CHECK_EQ(hwq_crypto_image_max_len(&image), 520, "its length");
	CHECK_EQ(hwq_crypto_image_init(&image, &caps, 0, &off, &aes), -EINVAL, "flags of nothing");
	CHECK_EQ(hwq_crypto_image_init(&image, &caps, 0, &both, &aes), -EOPNOTSUPP, "no CRC");
	caps.crypto_engines |= MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK;
	caps.sig_block_prot = caps.sig_block_size = UINT32_MAX;
	caps.sig_crc_type = UINT16_MAX;
	aes.encrypt_on_tx = true;
	CHECK_EQ(hwq_crypto_image_init(&image, &caps, 0, &both, &aes), -EINVAL, "an order");
	aes.signature_crypto_order = MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_BEFORE_CRYPTO_ON_TX;
	CHECK_EQ(hwq_crypto_image_init(&image, &caps, 0, &both, &aes), 0, "the other order");
	CHECK_EQ(hwq_crypto_image_max_len(&image), UINT32_MAX, "several units");
	aes.comp_mask = 1;
	CHECK_EQ(hwq_crypto_image_init(&image, &caps, 0, NULL, &aes), -EINVAL, "comp_mask");
	aes.comp_mask = 0;
	caps.crypto_engines = MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS;
	CHECK_EQ(hwq_crypto_image_init(&image, &caps, 0, NULL, &aes), -EOPNOTSUPP, "no engine");
}

/* ------------------------------------------------------------------ keys, QPs, completions */

static int
complete_one(struct err_qp *r, struct hwq_mkey *key)
{
	struct hwq_wr wr;

	begin(r, &wr);
	hwq_wr_mkey_configure(&wr, key, 1, &nothing);
	hwq_wr_set_mkey_sig_block(&wr, &both);
	return hwq_wr_complete(&wr);
}

/*
 * A signature setter must be refused for a key of libmlx5, because hwq does not have the state of
 * that key. A configuration must be refused if the caller has changed the key's variant (low byte)
 * and the pool does not allow that.
 */
static void
keys(void)
{
	struct mlx5dv_mkey_init_attr attr = {.pd = dev->pd,
		.max_entries = 4,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE};
	struct hwq_qp_conf conf = {.sq_wr = 16, .max_sge = 1, .max_inline = 60};
	struct mlx5dv_mkey *theirs = mlx5dv_create_mkey(&attr);
	struct hwq_mkey adopted;
	struct hwq_wr wr;
	struct err_qp r;

	if (theirs == NULL)
		EMU_DIE("libmlx5's key: %s", strerror(errno));
	err_qp_open(&r, &conf, 4, HWQ_MKEY_SIG);
	hwq_mkey_adopt(&adopted, theirs, 4, 0);
	CHECK_EQ(complete_one(&r, &adopted), -EINVAL, "a signature for an adopted key");
	begin(&r, &wr);
	hwq_wr_mkey_configure(&wr, &adopted, 0, &nothing);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "configuring an adopted key");
	drain(&r);
	r.key->lkey |= 5;
	CHECK_EQ(complete_one(&r, r.key), -EOPNOTSUPP, "a tag that was not asked for");
	r.key->lkey &= ~0xffu;
	CHECK_EQ(complete_one(&r, r.key), 0, "no tag");
	drain(&r);
	CHECK_EQ(mlx5dv_destroy_mkey(theirs), 0, "destroying libmlx5's key");
	err_qp_close(&r);
}

/* Only RC QPs can configure keys. hwq must refuse all other types, with libmlx5's errno. */
static void
qp_types(void)
{
	static const enum hwq_qp_type types[] = {HWQ_QP_UC, HWQ_QP_UD, HWQ_QP_XRC_SEND, HWQ_QP_DCI,
		HWQ_QP_RAW_PACKET};
	struct hwq_domain *d;
	struct hwq_cq *cq;
	struct ibv_cq *stock_cq = ibv_create_cq(dev->ctx, 255, NULL, NULL, 0);
	unsigned int i;

	CHECK_EQ(hwq_domain_create(dev, &d), 0, "a domain");
	CHECK_EQ(hwq_cq_create(d, 256, &cq), 0, "a CQ");
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct hwq_qp_conf conf = {.type = types[i],
			.sq_wr = 4,
			.max_sge = 1,
			.send_ops = IBV_QP_EX_WITH_SEND,
			.mlx5_ops = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE};
		struct ibv_qp_cap cap;
		struct hwq_qp *qp;

		CHECK(stock_create_qp(dev, &conf, stock_cq, &cap) == NULL && errno == EOPNOTSUPP,
			"libmlx5 and type %d: errno %d", types[i], errno);
		CHECK_EQ(hwq_qp_create(d, cq, &conf, &qp), -EOPNOTSUPP, "a QP that cannot");
	}
	CHECK_EQ(ibv_destroy_cq(stock_cq), 0, "destroying libmlx5's CQ");
	CHECK_EQ(hwq_cq_destroy(cq), 0, "destroying the CQ");
	CHECK_EQ(hwq_domain_destroy(d), 0, "destroying the domain");
}

/*
 * A BSF can hold lengths of up to 4 GiB - 1, even if a libmlx5 that adds lengths in 32 bits refuses
 * them.
 */
static void
long_lists(void)
{
	static const struct {
		uint32_t len[2];
		int ret;
	} lists[] = {{{0x80000000, 0}, 0}, {{0x80000000, 0x7fffffff}, 0},
		{{0x80000000, 0x80000000}, -EINVAL}, {{0xffffffff, 0x40000001}, -EINVAL}};
	struct hwq_qp_conf conf = {.sq_wr = 16, .max_sge = 1, .max_inline = 124};
	struct hwq_wr wr;
	struct err_qp r;
	unsigned int i;

	err_qp_open(&r, &conf, 4, HWQ_MKEY_SIG);
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct hwq_sge sge[2] = {{0, lists[i].len[0], 1}, {0, lists[i].len[1], 1}};

		begin(&r, &wr);
		hwq_wr_mkey_configure(&wr, r.key, 2, &nothing);
		hwq_wr_set_mkey_layout_list(&wr, 2, sge);
		hwq_wr_set_mkey_sig_block(&wr, &both);
		CHECK(hwq_wr_complete(&wr) == lists[i].ret, "a signature over 0x%x and 0x%x bytes",
			lists[i].len[0], lists[i].len[1]);
		drain(&r);
	}
	err_qp_close(&r);
}

static void
no_error_of_ours(void)
{
	struct hwq_qp_conf conf = {.sq_wr = 4, .max_sge = 1};
	struct mlx5dv_mkey_err err;
	struct hwq_cqe rec = {.opcode = MLX5_CQE_REQ};
	struct err_qp r;

	err_qp_open(&r, &conf, 4, 0);
	CHECK_EQ(hwq_mkey_note_err(r.t.domain, &rec), -EINVAL, "no signature error");
	rec.opcode = MLX5_CQE_SIG_ERR;
	rec.sig.mkey = r.key->lkey;
	CHECK_EQ(hwq_mkey_note_err(r.t.domain, &rec), -ENOENT, "a key that does not sign");
	rec.sig.mkey = r.key->lkey + 0x100;
	CHECK_EQ(hwq_mkey_note_err(r.t.domain, &rec), -ENOENT, "a number that names no key");
	CHECK_EQ(hwq_mkey_check(r.key, &err), -EINVAL, "a key that does not sign");
	err_qp_close(&r);
}

int
main(int argc, char **argv)
{
	(void)argc;
	emu_setting(argv, "SOFTHCA_THREADS", "0");
	dev = emu_open();
	broken_requests();
	ring_sizes();
	too_long();
	full_ring();
	images_and_full_rings();
	images_refused();
	images_of_devices();
	crypto_images_refused();
	crypto_images_of_devices();
	keys();
	long_lists();
	qp_types();
	no_error_of_ours();
	CHECK_EQ(hwq_dev_close(dev), 0, "close");
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
