/* SPDX-License-Identifier: BSD-3-Clause */
/* Compressed completions: cq_zip.c. The caller holds cq->lock. */
#ifndef SOFTHCA_CQ_ZIP_H
#define SOFTHCA_CQ_ZIP_H

#include "cq.h"

/* Allocates the list of waiting completions; free() frees it. NULL: no memory. */
struct cq_zip *cq_zip_new(void);
/*
 * Keeps a completion until cq_zip_flush(). False: the completion cannot be compressed. The waiting
 * completions are then written, and the caller writes this one.
 */
bool cq_zip_add(struct softhca_cq *cq, const struct cqe *cqe);

#endif
