/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks reserved bytes and masks of structs that a caller fills. */
#include "gantry_conf_check.h"

#include <inttypes.h>

#include "gantry_log.h"

bool
gantry_is_clean(const char *name, const void *reserved, size_t len)
{
	const uint8_t *byte = reserved;
	size_t i;

	for (i = 0; i < len; i++) {
		if (byte[i] == 0)
			continue;
		LOG(ERR,
			"%s::reserved is not 0: begin with a struct of zeros, as by memset(3), or "
			"use headers and library of one version",
			name);
		return false;
	}
	return true;
}

bool
gantry_mask_is_known(const char *name, uint32_t mask, uint32_t known)
{
	if ((mask & ~known) == 0)
		return true;
	LOG(ERR, "%s::mask is 0x%" PRIx32 ": only the bits 0x%" PRIx32 " are known", name, mask,
		known);
	return false;
}

bool
gantry_is_given(const char *name, const char *field, const char *bit, bool is_masked, int64_t value)
{
	if (is_masked || value == 0)
		return true;
	LOG(ERR, "%s::%s is %" PRId64 ", and mask lacks %s: set both or none", name, field, value,
		bit);
	return false;
}

bool
gantry_is_at_most(const char *name, const char *field, uint32_t value, uint32_t max)
{
	if (value <= max)
		return true;
	LOG(ERR, "%s::%s is %" PRIu32 ": 0 to %" PRIu32 " are possible", name, field, value, max);
	return false;
}
