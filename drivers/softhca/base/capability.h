/* SPDX-License-Identifier: BSD-3-Clause */
/* Capabilities of the process: capabilities(7). */
#ifndef SOFTHCA_CAPABILITY_H
#define SOFTHCA_CAPABILITY_H

#include <stdbool.h>

/* True if the capability (CAP_*, linux/capability.h) is effective in the calling thread. */
bool has_capability(unsigned int capability);

#endif
