/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the adapters of this process by the number of their character device. */
#ifndef SOFTHCA_INIT_H
#define SOFTHCA_INIT_H

#include "dev.h"

/*
 * Returns the adapter of /dev/infiniband/uverbs<N>, or NULL. The first call that finds an adapter
 * logs that an emulated adapter exists.
 */
struct softhca_dev *softhca_device_by_uverbs(unsigned int uverbs);
/* Returns N of the adapter's /dev/infiniband/uverbs<N>. */
unsigned int softhca_uverbs_of(const struct softhca_dev *dev);

#endif
