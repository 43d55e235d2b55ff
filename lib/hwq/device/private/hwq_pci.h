/* SPDX-License-Identifier: BSD-3-Clause */
/* PCI addresses as names of devices. */
#ifndef HWQ_PCI_H
#define HWQ_PCI_H

#include <stdbool.h>

#include <infiniband/verbs.h>

/*
 * Returns true if the text is the address of a PCI function: "0000:03:00.0", or "03:00.0" in domain
 * 0.
 */
bool hwq_pci_is_address(const char *text);

/* Returns true if the text is the address of the device's PCI function. */
bool hwq_pci_is_of(const char *text, const struct ibv_device *device);

#endif
