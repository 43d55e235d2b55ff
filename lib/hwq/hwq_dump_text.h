/* SPDX-License-Identifier: BSD-3-Clause */
/* Text that grows, and what the files of hwq_dump.h have of each other. */
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
/* Segments of transports and operations: hwq_dump_addr.c. Those that return something: DS units. */
size_t hwq_dump_av(struct text *t, const uint8_t *at, size_t left, bool dc);
void hwq_dump_xrc(struct text *t, const uint8_t *at);
size_t hwq_dump_eth(struct text *t, const uint8_t *at, size_t left);
void hwq_dump_atomic(struct text *t, const uint8_t *at);
void hwq_dump_recv(struct text *t, const struct hwq_cqe *cqe);
/* A UMR from its second DS on, left bytes at most; returns DS units, all there are. */
size_t hwq_dump_umr(struct text *t, const uint8_t *at, size_t left);
void hwq_dump_set_psv(struct text *t, const uint8_t *at);
void hwq_dump_sig_err(struct text *t, const struct hwq_cqe_sig *sig);

#endif
