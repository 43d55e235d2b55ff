/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System calls that do not pass through the library's own fstat(): that one takes locks, which the
 * callers of these may hold.
 */
#ifndef SOFTHCA_RAW_H
#define SOFTHCA_RAW_H

#include <sys/stat.h>

/* fstat(2): 0, or -1 with errno. */
int raw_fstat(int fd, struct stat *st);

#endif
