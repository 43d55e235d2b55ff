/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods of device memory, and of regions over it: uverbs_dm.c. */
#ifndef SOFTHCA_UVERBS_DM_H
#define SOFTHCA_UVERBS_DM_H

#include "uverbs.h"

extern const struct uverbs_method dm_methods[];
extern const uint32_t n_dm_methods;

#endif
