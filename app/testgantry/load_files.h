/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Writes the measurements of a load to a CSV file and to a JSON file. Both files have the same
 * fields: one row or one object for each point of the sweep. A field's name ends with its unit.
 *
 *     load_files_open -> load_files_point ... -> load_files_close
 *
 * When load_files_point() has returned, the files contain the point. When load_files_close() has
 * returned, the JSON is complete.
 */
#ifndef TESTGANTRY_LOAD_FILES_H
#define TESTGANTRY_LOAD_FILES_H

#include "load_report.h"

struct load_files;

/** Opens the files that the options name. Returns 0, or -1 with the error printed. */
int load_files_open(const struct options *o, struct load_files **files);

/** Adds a measurement. Returns 0, or -1 with the error printed. */
int load_files_point(struct load_files *files, const char *device, const struct load_result *r);

/** Closes the files. Returns 0, or -1 with the error printed. */
int load_files_close(struct load_files *files);

#endif
