/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates keys by commands. */
#ifndef HWQ_NEW_KEY_H
#define HWQ_NEW_KEY_H

#include <stddef.h>
#include <stdint.h>

struct hwq_dev;
struct mlx5dv_devx_obj;

/*
 * Creates a key by a command, as hwq_verbs_devx_create(), with an index that may be used. *key: the
 * key with variant 0. Returns -EAGAIN if the device gave only indexes that must not be used.
 */
int hwq_new_key(struct hwq_dev *dev, const void *in, size_t in_len, struct mlx5dv_devx_obj **obj,
	uint32_t *key);

#endif
