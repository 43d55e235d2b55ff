/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates keys by commands, with indexes that may be used. */
#include "hwq_new_key.h"

#include <errno.h>

#include "hwq_cmd.h"
#include "hwq_dev.h"
#include "hwq_index.h"
#include "hwq_left.h"
#include "hwq_verbs.h"

#define OUT_LEN 16 /* bytes of the answer to CREATE_MKEY */

int
hwq_new_key(struct hwq_dev *dev, const void *in, size_t in_len, struct mlx5dv_devx_obj **obj,
	uint32_t *key)
{
	struct mlx5dv_devx_obj *held[HWQ_INDEX_TRIES], *made;
	unsigned int n = 0;
	int ret;

	do {
		uint8_t out[OUT_LEN] = {0};

		ret = hwq_verbs_devx_create(dev->ctx, in, in_len, out, sizeof(out), &made);
		if (ret != 0)
			break;
		*key = hwq_cmd_get(out, CMD_OUT_NUMBER, 24) << 8;
		if (!hwq_index_is_retired(dev, *key)) {
			*obj = made;
			break;
		}
		held[n++] = made;
		ret = -EAGAIN;
	} while (n < HWQ_INDEX_TRIES);
	while (n != 0)
		hwq_left_add_key(dev, held[--n], NULL);
	return ret;
}
