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
	struct object *dm;   /* the device memory or DEVX user memory of the region; else NULL */
	struct object *dmah; /* the DMA handle given at registration; else NULL */
	struct dmabuf_user dmabuf; /* the use of the descriptor over which the region lies */
	struct softhca_mkey *mkey;
	struct softhca_mkey_attr
		attr; /* room: the most pages that the region may have without a new key */
};

/*
 * Makes a region and its key. attr has no pdn yet; wrong attributes are refused. The caller answers
 * handle and key, and calls mr_show(). dmah: may be NULL.
 */
int mr_make(struct softhca_ctx *ctx, struct object_pd *pd, struct softhca_mkey_attr *attr,
	struct object *dmah, struct object_mr **out);
/* As mr_make(), for a caller that has checked attr. */
int mr_make_unchecked(struct softhca_ctx *ctx, struct object_pd *pd, struct softhca_mkey_attr *attr,
	struct object *dmah, struct object_mr **out);
/* Shows the region's key, length and PD in rdma(8). */
void mr_show(struct object_mr *mr);
/* For object_class.end and .limit of classes whose struct is object_mr. */
int mr_end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events);
uint32_t mr_limit(const struct softhca_config *cfg);

#endif
