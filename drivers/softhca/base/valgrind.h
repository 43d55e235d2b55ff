/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells whether the process runs under valgrind. */
#ifndef SOFTHCA_VALGRIND_H
#define SOFTHCA_VALGRIND_H

#include <stdbool.h>

bool in_valgrind(void);

#endif
