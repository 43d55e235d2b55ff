/* SPDX-License-Identifier: BSD-3-Clause */
/* Compressed completions: cq_zip.c. The caller holds cq->lock. */
#ifndef SOFTHCA_CQ_ZIP_H
#define SOFTHCA_CQ_ZIP_H

#include "cq.h"

/*
 * Allocates the list of waiting completions. Returns NULL if memory is short. free() frees the
 * list.
 */
struct cq_zip *cq_zip_new(void);
/*
 * Keeps a completion until cq_zip_flush(). If the completion cannot be compressed, writes all
 * waiting completions and returns false: the caller then writes this completion itself.
 */
bool cq_zip_add(struct softhca_cq *cq, const struct cqe *cqe);

#endif
