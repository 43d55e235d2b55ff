/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Likenesses: files that say what a card has. One is a list of settings, as SOFTHCA_CONFIG names
 * one, or the report of usertools/hw.sh or hw_probe.
 */
#ifndef SOFTHCA_LIKENESS_H
#define SOFTHCA_LIKENESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define LIKENESS_PATH_MAX 4096

/*
 * Opens a likeness for reading. name: a path, if it has a slash or a dot; else a likeness of this
 * project, which is in the folder `likenesses` beside the library or where it was installed. path:
 * written on success. The caller closes the file. NULL: err says why, and what to do.
 */
FILE *likeness_open(const char *name, char path[LIKENESS_PATH_MAX], char *err, size_t err_len);

/* Whether the file is a report (JSON). It is at its beginning, before and after. */
bool likeness_is_report(FILE *f);

/*
 * Takes a setting of the card. text is NULL if the report has something for which there is no
 * setting: key names it.
 */
typedef void (*likeness_setting_fn)(const void *arg, const char *key, const char *text);

/*
 * Calls fn for all that a report says of the card. 0; -EINVAL: it is no report, and err says why.
 */
int likeness_read_report(const char *path, FILE *f, likeness_setting_fn fn, const void *arg,
	char *err, size_t err_len);

#endif
