/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts how often the random tests drew each combination of builder, setter, flags and QP type.
 * hwq_twin.c calls these functions.
 */
#ifndef HWQ_TWIN_COUNT_H
#define HWQ_TWIN_COUNT_H

#include "hwq_twin.h"

/* The flags, in the order in which they are counted. */
extern const unsigned int twin_flag_bits[TWIN_FLAGS];

bool twin_can_post(const struct twin_pair *p, const struct twin_builder *b);
/* Returns the smallest number of cases that a builder of the pairs had with one of its types. */
unsigned long twin_fewest(const struct twin_pair *pairs, unsigned int n);
void twin_print(void);
void twin_coverage(const struct twin_pair *pairs, unsigned int n);

#endif
