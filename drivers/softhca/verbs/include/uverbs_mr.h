/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of memory regions, memory windows, and indirect keys. */
#ifndef SOFTHCA_UVERBS_MR_H
#define SOFTHCA_UVERBS_MR_H

#include "dmabuf.h"
#include "hca.h"
#include "object.h"
#include "uverbs_pd.h"

/* A memory region, a memory window, or an indirect key. */
struct object_mr {
	struct object obj;
	struct object_pd *pd;
	struct object *dm;   /* device memory or DEVX user memory that the region uses, or NULL */
	struct object *dmah; /* DMA handle given at registration, or NULL */
	struct dmabuf_user dmabuf; /* use of the descriptor over which the region was registered */
	struct softhca_mkey *mkey;
	struct softhca_mkey_attr
		/* attributes; room: maximum of pages that the region may have with this key */
		attr;
};

/*
 * Makes a region and its key. The caller leaves attr->pdn unset; mr_make() sets it. Wrong
 * attributes are refused. The caller then returns the handle and the key to the program, and calls
 * mr_show(). dmah may be NULL.
 */
int mr_make(struct softhca_ctx *ctx, struct object_pd *pd, struct softhca_mkey_attr *attr,
	struct object *dmah, struct object_mr **out);
/* As mr_make(), but the caller has checked attr. */
int mr_make_unchecked(struct softhca_ctx *ctx, struct object_pd *pd, struct softhca_mkey_attr *attr,
	struct object *dmah, struct object_mr **out);
/* Shows the region's key, length and PD in rdma(8). */
void mr_show(struct object_mr *mr);
/*
 * Each object_class whose objects are struct object_mr has these two functions as `end` and
 * `limit`.
 */
int mr_end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events);
uint32_t mr_limit(const struct softhca_config *cfg);

#endif
