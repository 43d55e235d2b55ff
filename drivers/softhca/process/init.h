/* SPDX-License-Identifier: BSD-3-Clause */
/* What the shim asks about the adapters of this process. */
#ifndef SOFTHCA_INIT_H
#define SOFTHCA_INIT_H

#include "dev.h"

/* The adapter behind /dev/infiniband/uverbs<N>, or NULL. Announces the emulation, once. */
struct softhca_dev *softhca_device_by_uverbs(unsigned int uverbs);
unsigned int softhca_uverbs_of(const struct softhca_dev *dev);

#endif
