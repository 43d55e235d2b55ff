/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of memory regions, memory windows, and indirect keys. */
#ifndef SOFTHCA_UVERBS_MR_H
#define SOFTHCA_UVERBS_MR_H

#include "dmabuf.h"
#include "hca.h"
#include "object.h"
#include "uverbs_pd.h"

/* An MR, an MW, or an indirect key. */
struct object_mr {
	struct object obj;
	struct object_pd *pd;
	struct object
		*dm; /* device memory, or user memory of DEVX, that the region lies in; else NULL */
	struct object *dmah;       /* the DMA handle that it was registered with; else NULL */
	struct dmabuf_user dmabuf; /* of the descriptor that the region lies over */
	struct softhca_mkey *mkey;
	struct softhca_mkey_attr
		attr; /* room: pages that the region may have and keep its key, too */
};

/*
 * Makes a region and its key: what is wrong with attr, which has no pdn yet, is refused. The handle
 * and the key are for the caller to answer, and mr_show() is for it to call. dmah may be NULL.
 */
int mr_make(struct softhca_ctx *ctx, struct object_pd *pd, struct softhca_mkey_attr *attr,
	struct object *dmah, struct object_mr **out);
/* The same where the caller has checked attr. */
int mr_make_unchecked(struct softhca_ctx *ctx, struct object_pd *pd, struct softhca_mkey_attr *attr,
	struct object *dmah, struct object_mr **out);
/* What rdma(8) shows of a region: its key, length and PD. */
void mr_show(struct object_mr *mr);
/* object_class.end and .limit of classes whose struct is object_mr. */
int mr_end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events);
uint32_t mr_limit(const struct softhca_config *cfg);

#endif
