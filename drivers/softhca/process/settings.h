/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads the settings of the emulated adapter. */
#ifndef SOFTHCA_SETTINGS_H
#define SOFTHCA_SETTINGS_H

#include <stddef.h>

#include "config.h"

/*
 * Fills cfg from the defaults, the card profile (the setting `like`), the file that SOFTHCA_CONFIG
 * names, and the variables SOFTHCA_*. A later source wins. 0: err is empty, or names what a report
 * has and no setting can express. -EINVAL: a setting is wrong; err names it and says what is
 * allowed, and cfg is unchanged.
 */
int settings_load(struct softhca_config *cfg, char *err, size_t err_len);

#endif
