/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments of transports, operands of atomics, and the fields of a receive, as text. */
#ifndef HWQ_DUMP_ADDR_H
#define HWQ_DUMP_ADDR_H

#include <stdbool.h>

#include "hwq_cqe.h"
#include "hwq_dump_text.h"

/*
 * Each function reads at most `left` bytes at `at`. A function with a result returns the segment's
 * DS units.
 */
size_t hwq_dump_av(struct text *t, const uint8_t *at, size_t left, bool dc);
void hwq_dump_xrc(struct text *t, const uint8_t *at);
size_t hwq_dump_eth(struct text *t, const uint8_t *at, size_t left);
void hwq_dump_atomic(struct text *t, const uint8_t *at);
void hwq_dump_recv(struct text *t, const struct hwq_cqe *cqe);

#endif
