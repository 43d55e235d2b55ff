/* SPDX-License-Identifier: BSD-3-Clause */
/* The version of the library. */
#include "hwq_api.h"

uint32_t
hwq_version(void)
{
	return HWQ_VERSION;
}
