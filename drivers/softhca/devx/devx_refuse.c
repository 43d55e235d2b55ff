/* SPDX-License-Identifier: BSD-3-Clause */
/* Refusals for errors of the other rooms. */
#include "devx_refuse.h"

#include <errno.h>

int
devx_refuse_errno(int err, uint32_t bit)
{
	switch (err) {
	case 0:
		return 0;
	case -ENOSPC:
	case -ENOMEM:
		return DEVX_REFUSE(DEVX_NO_RES, bit);
	case -EBUSY:
		return DEVX_REFUSE(DEVX_BUSY, bit);
	default:
		return DEVX_REFUSE(DEVX_BAD_PARAM, bit);
	}
}
