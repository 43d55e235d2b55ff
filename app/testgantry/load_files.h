/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Writes the measurements of a load as CSV and as JSON. Both have the same fields: one row or one
 * object for each point of the sweep. A field's name ends with its unit.
 *
 *     load_files_open -> load_files_point ... -> load_files_close
 *
 * A point is in the files when load_files_point() has returned. The JSON is complete when
 * load_files_close() has returned.
 */
#ifndef TESTGANTRY_LOAD_FILES_H
#define TESTGANTRY_LOAD_FILES_H

#include "load_report.h"

struct load_files;

/** Opens the files that the options name, if any. 0, or -1 with the error printed. */
int load_files_open(const struct options *o, struct load_files **files);

/** Adds a measurement. 0, or -1 with the error printed. */
int load_files_point(struct load_files *files, const char *device, const struct load_result *r);

/** Closes the files. 0, or -1 with the error printed. */
int load_files_close(struct load_files *files);

#endif
