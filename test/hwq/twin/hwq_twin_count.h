/* SPDX-License-Identifier: BSD-3-Clause */
/* What hwq_twin.c and hwq_twin_count.c share: how often each combination was drawn. */
#ifndef HWQ_TWIN_COUNT_H
#define HWQ_TWIN_COUNT_H

#include "hwq_twin.h"

/* The flags that there are, in the order in which they are counted. */
extern const unsigned int twin_flag_bits[TWIN_FLAGS];

bool twin_can_post(const struct twin_pair *p, const struct twin_builder *b);
/* Cases of the builder and type, of those that the pairs have, that had fewest. */
unsigned long twin_fewest(const struct twin_pair *pairs, unsigned int n);
void twin_print(void);
void twin_coverage(const struct twin_pair *pairs, unsigned int n);

#endif
