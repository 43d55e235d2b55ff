/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads the settings of the emulated adapter. */
#ifndef SOFTHCA_SETTINGS_H
#define SOFTHCA_SETTINGS_H

#include <stddef.h>

#include "config.h"

/*
 * Fills cfg from the defaults, the card profile (the setting `like`), the file in SOFTHCA_CONFIG,
 * and the variables SOFTHCA_*. A later source replaces the values of an earlier source. Returns 0
 * on success. Then err is empty, or the card profile is a report (card_profile.h) and err has the
 * names of those of its facts that no setting can express. Returns -EINVAL if a setting is wrong.
 * Then err has its name and the allowed values, and cfg is unchanged.
 */
int settings_load(struct softhca_config *cfg, char *err, size_t err_len);

#endif
