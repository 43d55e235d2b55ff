/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A card profile is a file that says what a card has. Its form is that of the file that
 * SOFTHCA_CONFIG names, or that of a report of usertools/hw.sh or hw_probe.
 */
#ifndef SOFTHCA_CARD_PROFILE_H
#define SOFTHCA_CARD_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CARD_PROFILE_PATH_MAX 4096

/*
 * Opens a card profile for reading. name: a path, if it has a slash or a dot; else a profile of
 * this project, in the folder `card-profiles`, which is beside the library or where it was
 * installed. path: written on success. The caller closes the file. NULL: err says why, and what to
 * do.
 */
FILE *card_profile_open(const char *name, char path[CARD_PROFILE_PATH_MAX], char *err,
	size_t err_len);

/* Whether the file is a report (JSON). The file position is the beginning, before and after. */
bool card_profile_is_report(FILE *f);

/*
 * Takes the value `text` of the setting `key`. text is NULL if no setting can express what the
 * report has: key is then its name in the report.
 */
typedef void (*card_profile_setting_fn)(const void *arg, const char *key, const char *text);

/*
 * Calls fn for each fact of the report. 0; -EINVAL: the file is no report, and err says why.
 */
int card_profile_read_report(const char *path, FILE *f, card_profile_setting_fn fn, const void *arg,
	char *err, size_t err_len);

#endif
