/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A card profile is a file with the properties of a card. It has the form of the file in
 * SOFTHCA_CONFIG, or the form of a report of usertools/hw.sh or hw_probe.
 */
#ifndef SOFTHCA_CARD_PROFILE_H
#define SOFTHCA_CARD_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CARD_PROFILE_PATH_MAX 4096

/*
 * Opens a card profile for reading. If the name has a slash or a dot, it is a path. Otherwise it is
 * a profile of this project: the folder `card-profiles` is beside the library, or at the place
 * where it was installed. path: written on success. The caller closes the file. Returns NULL on
 * failure: err is the reason, and what to do.
 */
FILE *card_profile_open(const char *name, char path[CARD_PROFILE_PATH_MAX], char *err,
	size_t err_len);

/*
 * True if the file is a report (JSON). The file position is at the beginning before and after the
 * call.
 */
bool card_profile_is_report(FILE *f);

/*
 * Takes the value `text` of the setting `key`. If no setting can express a fact of the report, text
 * is NULL and key is the name of the fact in the report.
 */
typedef void (*card_profile_setting_fn)(const void *arg, const char *key, const char *text);

/*
 * Calls fn for each fact of the report. Returns 0, or -EINVAL if the file is no report: then err is
 * the reason.
 */
int card_profile_read_report(const char *path, FILE *f, card_profile_setting_fn fn, const void *arg,
	char *err, size_t err_len);

#endif
