/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protection domains of firmware commands. A command names a PD by the PD's number. This may also
 * be the number of a PD of verbs.
 */
#include "devx.h"
#include "uverbs_pd.h"

#define CMD_ALLOC_PD 0x800

static int
alloc(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct object_pd *pd;
	int rc = devx_refuse_errno(pd_create(call->ctx, &devx_pd_class, &pd), 0);

	(void)in;
	if (rc != 0)
		return rc;
	bits_set(out, DEVX_NUMBER, 24, pd->pdn);
	*obj = &pd->obj;
	return 0;
}

static const struct devx_create creates[] = {
	{CMD_ALLOC_PD, DEVX_HEADER, alloc},
};

const struct object_class devx_pd_class = {
	.name = "DEVX PD",
	.size = sizeof(struct object_pd),
	.limit = pd_limit,
	.end = pd_end,
	.by_devx = true,
	CLASS_CREATES(creates),
};
