/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of adapters of this process. */
#ifndef SOFTHCA_DEVICES_H
#define SOFTHCA_DEVICES_H

struct softhca_dev;

/*
 * Makes an array of n adapters the list. Call once, before another thread uses an adapter. The
 * caller owns the array, which must live until the process ends.
 */
void softhca_devices_set(struct softhca_dev *devs, unsigned int n);
/*
 * Returns the array, and its length in *n. Length 0: this process has no emulated adapter. Any
 * thread.
 */
struct softhca_dev *softhca_devices(unsigned int *n);

#endif
