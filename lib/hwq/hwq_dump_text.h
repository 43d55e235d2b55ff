/* SPDX-License-Identifier: BSD-3-Clause */
/* Text that grows, and what hwq_dump.c and hwq_dump_key.c have of each other. */
#ifndef HWQ_DUMP_TEXT_H
#define HWQ_DUMP_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "hwq_cqe.h"

/* Grows like one snprintf(3): counts everything, keeps what fits. */
struct text {
	char *at;
	size_t room, len;
};

void hwq_text_add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One DS as it is. */
void hwq_dump_hex(struct text *t, const uint8_t *at);
/* A UMR from its second DS on, left bytes at most; returns DS units, all there are. */
size_t hwq_dump_umr(struct text *t, const uint8_t *at, size_t left);
void hwq_dump_set_psv(struct text *t, const uint8_t *at);
void hwq_dump_sig_err(struct text *t, const struct hwq_cqe_sig *sig);

#endif
