/* SPDX-License-Identifier: BSD-3-Clause */
/* UMRs, SET_PSV and CQEs of wrong signatures, as text. */
#ifndef HWQ_DUMP_KEY_H
#define HWQ_DUMP_KEY_H

#include "hwq_cqe.h"
#include "hwq_dump_text.h"

/*
 * Writes what follows the control segment of a UMR; left bytes may be read. @return its DS units:
 * all that left has.
 */
size_t hwq_dump_umr(struct text *t, const uint8_t *at, size_t left);
void hwq_dump_set_psv(struct text *t, const uint8_t *at);
void hwq_dump_sig_err(struct text *t, const struct hwq_cqe_sig *sig);

#endif
