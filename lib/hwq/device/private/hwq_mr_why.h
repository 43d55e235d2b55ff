/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a registration failed: the cause as one errno, and a log line that names the remedy. */
#ifndef HWQ_MR_WHY_H
#define HWQ_MR_WHY_H

#include <stddef.h>

struct hwq_dev;

/*
 * ret: what ibv_reg_mr(3) returned for [addr, addr + len) with `access` (HWQ_ACCESS_*). Returns the
 * negative errno that hwq_mr_register() returns. It reads /proc/self, so it is slow.
 */
int hwq_mr_why(const struct hwq_dev *dev, const void *addr, size_t len, unsigned int access,
	int ret);

#endif
