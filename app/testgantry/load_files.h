/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The measurements of a load as CSV and as JSON: the same fields, a row or an object for each point
 * of the sweep. Names have the unit at their end.
 *
 *     load_files_open -> load_files_point ... -> load_files_close
 *
 * What has been measured is in the files as soon as load_files_point() has returned; the JSON has
 * its end when they are closed.
 */
#ifndef TESTGANTRY_LOAD_FILES_H
#define TESTGANTRY_LOAD_FILES_H

#include "load_report.h"

struct load_files;

/** Opens the files that the options name: there may be none. 0, or -1 with the error printed. */
int load_files_open(const struct options *o, struct load_files **files);

/** Adds a measurement. 0, or -1 with the error printed. */
int load_files_point(struct load_files *files, const char *device, const struct load_result *r);

/** 0, or -1 with the error printed. */
int load_files_close(struct load_files *files);

#endif
