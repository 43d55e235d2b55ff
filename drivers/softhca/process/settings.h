/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads the settings of the emulated adapter. */
#ifndef SOFTHCA_SETTINGS_H
#define SOFTHCA_SETTINGS_H

#include <stddef.h>

#include "config.h"

/*
 * Fills cfg from the defaults, the file named by SOFTHCA_CONFIG and SOFTHCA_* variables, in that
 * order. A likeness (the setting `like`) comes before the file. 0: err is empty, or names what of a
 * report no setting can say. -EINVAL: a setting is wrong; err then says which, and what is allowed.
 * cfg stays as it was.
 */
int settings_load(struct softhca_config *cfg, char *err, size_t err_len);

#endif
