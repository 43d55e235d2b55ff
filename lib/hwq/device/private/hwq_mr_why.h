/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds why a registration failed: returns the cause as an errno, and logs what the caller can do.
 */
#ifndef HWQ_MR_WHY_H
#define HWQ_MR_WHY_H

#include <stddef.h>

struct hwq_dev;

/*
 * Logs why ibv_reg_mr(3) of [addr, addr + len) with `access` (HWQ_ACCESS_*) failed with `ret`.
 * Returns the negative errno that hwq_mr_register() must return. It reads /proc/self, so it is
 * slow.
 */
int hwq_mr_why(const struct hwq_dev *dev, const void *addr, size_t len, unsigned int access,
	int ret);

#endif
