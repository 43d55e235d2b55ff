/* SPDX-License-Identifier: BSD-3-Clause */
/* The counts of drawn combinations, for hwq_twin.c and hwq_twin_count.c. */
#ifndef HWQ_TWIN_COUNT_H
#define HWQ_TWIN_COUNT_H

#include "hwq_twin.h"

/* The flags, in the order in which they are counted. */
extern const unsigned int twin_flag_bits[TWIN_FLAGS];

bool twin_can_post(const struct twin_pair *p, const struct twin_builder *b);
/* The least number of cases that any builder and type of the pairs had. */
unsigned long twin_fewest(const struct twin_pair *pairs, unsigned int n);
void twin_print(void);
void twin_coverage(const struct twin_pair *pairs, unsigned int n);

#endif
