/* SPDX-License-Identifier: BSD-3-Clause */
/* Compressed completions: cq_zip.c. cq->lock held. */
#ifndef SOFTHCA_CQ_ZIP_H
#define SOFTHCA_CQ_ZIP_H

#include "cq.h"

/* What waits to be compressed; free() frees it. NULL: no memory. */
struct cq_zip *cq_zip_new(void);
/*
 * A completion waits, in its order, until cq_zip_flush(). False: it cannot be compressed; those
 * that waited have been written, and the caller writes this one.
 */
bool cq_zip_add(struct softhca_cq *cq, const struct cqe *cqe);

#endif
