/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of adapters of this process. */
#ifndef SOFTHCA_DEVICES_H
#define SOFTHCA_DEVICES_H

struct softhca_dev;

/*
 * Sets the list to an array of n adapters. Call this once, before another thread uses an adapter.
 * The caller owns the array, which must exist until the process ends.
 */
void softhca_devices_set(struct softhca_dev *devs, unsigned int n);
/*
 * Returns the array, and sets *n to its length. If the length is 0, this process has no emulated
 * adapter. Any thread may call it.
 */
struct softhca_dev *softhca_devices(unsigned int *n);

#endif
