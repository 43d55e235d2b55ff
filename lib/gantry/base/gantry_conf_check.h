/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of structs that a caller fills, by the rules in gantry_api.h (Growth). */
#ifndef GANTRY_CONF_CHECK_H
#define GANTRY_CONF_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns true if all len reserved bytes are 0. Otherwise a line of the log names the struct. */
bool gantry_is_clean(const char *name, const void *reserved, size_t len);

#define GANTRY_IS_CLEAN(name, conf)                                                                \
	gantry_is_clean(name, (conf)->reserved, sizeof((conf)->reserved))

/*
 * Returns true if the mask has only bits of `known`. Otherwise a line of the log names the struct.
 */
bool gantry_mask_is_known(const char *name, uint32_t mask, uint32_t known);

/*
 * Returns true if is_masked is true, or the value is 0. Otherwise a line of the log names the field
 * and the bit. is_masked: true if the caller's mask has the bit of this field.
 */
bool gantry_is_given(const char *name, const char *field, const char *bit, bool is_masked,
	int64_t value);

/* Returns true if the value is at most max. Otherwise a line of the log names the field. */
bool gantry_is_at_most(const char *name, const char *field, uint32_t value, uint32_t max);

#endif
