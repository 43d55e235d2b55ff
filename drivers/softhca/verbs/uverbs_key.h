/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods and commands of keys that are no plain regions: uverbs_key.c. */
#ifndef SOFTHCA_UVERBS_KEY_H
#define SOFTHCA_UVERBS_KEY_H

#include "uverbs.h"

int uverbs_alloc_mw(struct uverbs_call *call);

extern const struct uverbs_method key_methods[];
extern const uint32_t n_key_methods;

#endif
