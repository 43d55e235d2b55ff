/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads the settings of the emulated adapter. */
#ifndef SOFTHCA_SETTINGS_H
#define SOFTHCA_SETTINGS_H

#include <stdbool.h>
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

/* What can be said of a setting without its meaning, which settings_help.c has. */
struct setting_facts {
	const char *key;
	char def[32];      /* the default, as a line of a file has it; empty: none */
	char allowed[128]; /* the allowed values in words */
	bool of_card;      /* a card profile may have this setting */
};

/* Writes the facts of setting n, counted from 0. Returns false if there is no setting n. */
bool settings_facts(unsigned int n, struct setting_facts *facts);

#endif
