/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Layouts that are prepared in advance: an image contains the WQE of a list or a pattern. It can be
 * posted many times, also for other keys and other memory.
 *
 *     struct hwq_umr_image image;                        the caller's, 1 KiB
 *
 *     ret = hwq_umr_image_list(&image, access, n, sge);  once
 *     ...
 *     wr.wr_flags = HWQ_WQE_INLINE;
 *     hwq_wr_umr_image(&wr, mkey, &image);               as hwq_wr_mr_list(), copied and patched
 *     hwq_wr_umr_image_at(&wr, mkey, &image, addr);      the same with other addresses
 *
 * The bytes, and the errors of posting, are those of hwq_wr_mr_list() and hwq_wr_mr_interleaved().
 * In addition, hwq_wr_complete() returns -EINVAL if the key signs or encrypts, because an image has
 * no such state.
 *
 * Thread: any thread may prepare an image. Posting only reads the image, so several threads may
 * post one image. The caller owns the image, and may free it after the call.
 */
#ifndef HWQ_UMR_IMAGE_H
#define HWQ_UMR_IMAGE_H

#include <errno.h>
#include <stdalign.h>

#include "hwq_wr_umr.h"

/** A prepared layout. Only the two functions below write this struct. */
struct hwq_umr_image {
	/**
	 * the WQE without its control segment and the key's variant (low byte), which posting
	 * writes
	 */
	alignas(HWQ_BB_LEN) uint8_t wqe[HWQ_WQE_MAX_BB * HWQ_BB_LEN];
	uint32_t n; /**< entries */
	/** DS units of the layout without padding; a pattern's first unit is included */
	uint32_t units;
	uint32_t padded; /**< DS units of the layout with padding */
};

static_assert((HWQ_UMR_HEAD_DS + HWQ_UMR_LAYOUT_MAX + HWQ_DS_PER_BB - 1) / HWQ_DS_PER_BB <=
		      HWQ_WQE_MAX_BB,
	"");

static inline int
hwq_umr_image_start(struct hwq_umr_image *image, uint32_t access_flags, unsigned int n,
	unsigned int units)
{
	if ((access_flags & ~HWQ_UMR_ACCESS_ALL) != 0)
		return -EINVAL;
	if (units > HWQ_UMR_LAYOUT_MAX)
		return -ENOMEM;
	memset(image->wqe, 0, HWQ_BB_LEN);
	image->n = n;
	image->units = units;
	image->padded = hwq_umr_pad(units);
	return 0;
}

/**
 * Prepares the WQE that hwq_wr_mr_list() writes for these arguments.
 *
 * @param image
 *   The caller's storage.
 * @param access_flags
 *   Who may use the key: flags out of HWQ_UMR_ACCESS_ALL.
 * @param num_sge
 *   Number of pieces.
 * @param sge
 *   num_sge pieces, read during the call; lengths are bytes.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   A flag is not in HWQ_UMR_ACCESS_ALL.
 * @retval -ENOMEM More pieces than any WQE has room for. An error leaves the image unchanged.
 */
static inline int
hwq_umr_image_list(struct hwq_umr_image *image, uint32_t access_flags, uint16_t num_sge,
	const struct hwq_sge *sge)
{
	int ret = hwq_umr_image_start(image, access_flags, num_sge, num_sge);
	uint64_t len;

	if (ret != 0)
		return ret;
	len = hwq_put_klm_list(hwq_at_ds(image->wqe, HWQ_UMR_HEAD_DS), sge, num_sge);
	hwq_put_layout_head(image->wqe, 0, access_flags, image->padded, len);
	return 0;
}

/**
 * Prepares the WQE that hwq_wr_mr_interleaved() writes for these arguments.
 * @param image The caller's storage.
 * @param access_flags Who may use the key: flags out of HWQ_UMR_ACCESS_ALL.
 * @param repeat_count Number of rounds.
 * @param num_interleaved Number of entries in a round.
 * @param data The entries, read during the call.
 * @return As hwq_umr_image_list().
 */
static inline int
hwq_umr_image_pattern(struct hwq_umr_image *image, uint32_t access_flags, uint32_t repeat_count,
	uint16_t num_interleaved, const struct mlx5dv_mr_interleaved *data)
{
	int ret = hwq_umr_image_start(image, access_flags, num_interleaved, num_interleaved + 1u);
	uint64_t len;

	if (ret != 0)
		return ret;
	len = hwq_put_pattern(hwq_at_ds(image->wqe, HWQ_UMR_HEAD_DS), repeat_count, data,
		num_interleaved);
	hwq_put_layout_head(image->wqe, 0, access_flags, image->padded, len);
	return 0;
}

/*
 * For the rare cases: checks that the image may configure mkey. A key that signs or encrypts is
 * refused; for every other key, the layout is checked. @return false if the check fails: then the
 * batch has failed.
 */
static HWQ_INLINE bool
hwq_wr_image_is_good(struct hwq_wr *wr, const struct hwq_mkey *mkey,
	const struct hwq_umr_image *image)
{
	if (!hwq_wr_key_is_special(mkey))
		return hwq_wr_layout_is_good(wr, mkey, 0, image->n, image->units);
	hwq_wr_fail(wr, -EINVAL);
	return false;
}

/*
 * Copies the image into the WQE, and patches the fields that depend on queue and key. Patches the
 * addresses too, unless addr is NULL.
 */
static HWQ_INLINE void
hwq_wr_put_image(struct hwq_wr *wr, const struct hwq_mkey *mkey, uint8_t variant, uint32_t fence,
	const struct hwq_umr_image *image, const uint64_t *addr)
{
	/*
	 * Read the field once: as far as the compiler knows, stores to the WQE could change
	 * image->padded.
	 */
	const unsigned int padded = image->padded;
	size_t at, end = (size_t)(HWQ_UMR_HEAD_DS + padded) * HWQ_DS_LEN;
	unsigned int i, first = HWQ_UMR_HEAD_DS + (image->units - image->n);

	if (!hwq_wr_umr_begin_fenced(wr, mkey->lkey, padded, fence))
		return;
	memcpy(hwq_at_ds(wr->wqe, 1), &image->wqe[HWQ_DS_LEN], (HWQ_UMR_HEAD_DS - 1) * HWQ_DS_LEN);
	for (at = HWQ_UMR_HEAD_DS * HWQ_DS_LEN; at < end; at += HWQ_BB_LEN)
		memcpy(wr->wqe + at, image->wqe + at, HWQ_BB_LEN);
	/* The image has variant 0; the key context must have the key's variant. */
	if (!__builtin_constant_p(variant) || variant != 0)
		wr->wqe[HWQ_UMR_CONTEXT_DS * HWQ_DS_LEN + 7] = variant;
	for (i = 0; addr != NULL && i < image->n; i++) {
		__be64 word = htobe64(addr[i]);

		memcpy(wr->wqe + (first + i) * HWQ_DS_LEN + 8, &word, sizeof(word));
	}
	hwq_wr_umr_end(wr, padded);
}

static HWQ_INLINE void
hwq_wr_umr_image_or_at(struct hwq_wr *wr, const struct hwq_mkey *mkey,
	const struct hwq_umr_image *image, const uint64_t *addr)
{
	hwq_wr_umr_expect(wr);
	if (__builtin_expect(hwq_wr_umr_is_plain(wr, mkey, 0, image->n, image->units), 1))
		hwq_wr_put_image(wr, mkey, 0, wr->umr_fence, image, addr);
	else if (hwq_wr_image_is_good(wr, mkey, image))
		hwq_wr_put_image(wr, mkey, mkey->lkey & 0xff, hwq_wr_umr_fence(wr), image, addr);
}

/**
 * Gives the key the image's layout. The WQE and the errors are those of hwq_wr_mr_list() or
 * hwq_wr_mr_interleaved() (mlx5dv_wr_post(3)).
 * @param wr The batch.
 * @param mkey The key; it must stay until the work request has completed.
 * @param image The image.
 */
static HWQ_INLINE void
hwq_wr_umr_image(struct hwq_wr *wr, const struct hwq_mkey *mkey, const struct hwq_umr_image *image)
{
	hwq_wr_umr_image_or_at(wr, mkey, image, NULL);
}

/**
 * Gives the key the image's layout, as hwq_wr_umr_image() does, but with the caller's addresses.
 * @param wr The batch.
 * @param mkey The key; it must stay until the work request has completed.
 * @param image The image.
 * @param addr One address for each entry of the image, read during the call.
 */
static HWQ_INLINE void
hwq_wr_umr_image_at(struct hwq_wr *wr, const struct hwq_mkey *mkey,
	const struct hwq_umr_image *image, const uint64_t *addr)
{
	hwq_wr_umr_image_or_at(wr, mkey, image, addr);
}

static_assert(offsetof(struct mlx5_wqe_umr_klm_seg, address) == 8 &&
		      offsetof(struct mlx5_wqe_umr_repeat_ent_seg, va) == 8,
	"where entries have their address");

#endif
