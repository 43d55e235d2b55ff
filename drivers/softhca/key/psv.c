/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates, finds, destroys and advances PSVs. */
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

uint64_t
psv_transient(const struct key_use *use, const struct softhca_psv *psv)
{
	uint64_t transient = atomic_load_explicit(&psv->transient, memory_order_relaxed);

	for (const struct psv_passed *p = use->passed; p != NULL; p = p->next)
		if (p->psv == psv)
			transient = p->transient;
	return transient;
}

void
psv_pass(struct key_use *use, struct psv_passed *passed, struct softhca_psv *psv,
	uint64_t transient)
{
	struct psv_passed **end = &use->passed;

	while (*end != NULL)
		end = &(*end)->next;
	*passed = (struct psv_passed){.psv = psv, .transient = transient};
	*end = passed;
}

void
psv_store(struct key_use *use)
{
	for (const struct psv_passed *p = use->passed; p != NULL; p = p->next)
		atomic_store_explicit(&p->psv->transient, p->transient, memory_order_relaxed);
	use->passed = NULL;
}
