/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes UMRs, SET_PSV and CQEs of wrong signatures as text. */
#ifndef HWQ_DUMP_KEY_H
#define HWQ_DUMP_KEY_H

#include "hwq_cqe.h"
#include "hwq_dump_text.h"

/*
 * Writes the segments of a UMR that follow the control segment; reads at most `left` bytes. @return
 * the DS units in these bytes.
 */
size_t hwq_dump_umr(struct text *t, const uint8_t *at, size_t left);
void hwq_dump_set_psv(struct text *t, const uint8_t *at);
void hwq_dump_sig_err(struct text *t, const struct hwq_cqe_sig *sig);

#endif
