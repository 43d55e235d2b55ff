/* SPDX-License-Identifier: BSD-3-Clause */
/* PSVs: creating, finding and ending them. */
#include "psv.h"

#include <errno.h>
#include <stdlib.h>

int
softhca_psv_create(struct softhca_dev *dev, uint32_t pdn, struct softhca_psv **out)
{
	struct softhca_psv *psv = calloc(1, sizeof(*psv));
	int err;

	if (psv == NULL)
		return -ENOMEM;
	psv->dev = dev;
	psv->pdn = pdn;
	err = table_put(&dev->lanes->psvs, psv, &psv->number);
	if (err != 0) {
		free(psv);
		return err;
	}
	*out = psv;
	return 0;
}

int
softhca_psv_destroy(struct softhca_psv *psv)
{
	table_remove(&psv->dev->lanes->psvs, psv->number);
	softhca_quiesce();
	free(psv);
	return 0;
}

uint32_t
softhca_psv_number(const struct softhca_psv *psv)
{
	return psv->number;
}

struct softhca_psv *
psv_find(struct softhca_lanes *lanes, uint32_t number, uint32_t pdn)
{
	struct softhca_psv *psv = table_get(&lanes->psvs, number);

	return psv != NULL && psv->pdn == pdn ? psv : NULL;
}
