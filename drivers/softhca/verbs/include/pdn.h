/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of protection domains. An adapter has each number at most once. */
#ifndef SOFTHCA_PDN_H
#define SOFTHCA_PDN_H

#include <stdint.h>

#include "dev.h"

/*
 * Takes a number that no protection domain of the adapter has. Returns the number, which is never
 * 0, or -ENOSPC.
 */
int pdn_take(struct softhca_dev *dev);
void pdn_give(struct softhca_dev *dev, uint32_t pdn);

/* Call these around fork(2). In the child, the parent's numbers are free. */
void pdn_fork_prepare(void);
void pdn_fork_parent(void);
void pdn_fork_child(void);

#endif
