/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Indexes of keys that other functions of the card could use. When such a key has ended, the device
 * may give its index to a later key. No public text says that an old alias of another function does
 * not reach that key. So hwq uses no key with such an index again, as long as the process lives: it
 * holds the key, creates another one, and then destroys the held key.
 *
 * Any thread may call the functions of this file.
 */
#ifndef HWQ_INDEX_H
#define HWQ_INDEX_H

#include <stdbool.h>
#include <stdint.h>

struct hwq_dev;

/* Number of keys that are held at most until one has another index. */
#define HWQ_INDEX_TRIES 16

/* Allocates what hwq_index_retire() needs. Returns 0 or -ENOMEM. */
int hwq_index_prepare(const struct hwq_dev *dev);
/* Stores that the index of a key must not be used again. Call hwq_index_prepare() first. */
void hwq_index_retire(const struct hwq_dev *dev, uint32_t key);
bool hwq_index_is_retired(const struct hwq_dev *dev, uint32_t key);

#endif
