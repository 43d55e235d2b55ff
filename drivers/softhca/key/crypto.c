/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data encryption keys (mlx5dv_dek_create(3)): stored under a number, and erased when destroyed.
 * Nothing is encrypted with them: a UMR that asks for encryption is refused (exec_umr.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca.h"
#include "lanes.h"

/* A command creates it; BSFs of keys of the same PD name it. */
struct softhca_dek {
	struct softhca_dev *dev;
	uint32_t number;
	struct spin lock; /* of the key's bytes; a leaf */
	enum softhca_dek_state state;
	struct softhca_dek_attr attr;
};

int
softhca_dek_create(struct softhca_dev *dev, const struct softhca_dek_attr *attr,
	struct softhca_dek **out)
{
	struct softhca_dek *dek = calloc(1, sizeof(*dek));
	int err;

	if (dek == NULL)
		return -ENOMEM;
	dek->dev = dev;
	dek->attr = *attr;
	err = table_put(&dev->lanes->deks, dek, &dek->number);
	if (err != 0) {
		explicit_bzero(dek, sizeof(*dek));
		free(dek);
		return err;
	}
	*out = dek;
	return 0;
}

void
softhca_dek_query(const struct softhca_dek *dek, struct softhca_dek_attr *attr,
	enum softhca_dek_state *state)
{
	*attr = (struct softhca_dek_attr){.pdn = dek->attr.pdn,
		.key_256 = dek->attr.key_256,
		.has_keytag = dek->attr.has_keytag};
	memcpy(attr->opaque, dek->attr.opaque, sizeof(attr->opaque));
	*state = dek->state;
}

void
softhca_dek_rekey(struct softhca_dek *dek, const uint8_t key[SOFTHCA_DEK_KEY_LEN])
{
	spin_lock(&dek->lock);
	memcpy(dek->attr.key, key, sizeof(dek->attr.key));
	dek->state = SOFTHCA_DEK_READY;
	spin_unlock(&dek->lock);
}

int
softhca_dek_destroy(struct softhca_dek *dek)
{
	table_remove(&dek->dev->lanes->deks, dek->number);
	softhca_quiesce();
	explicit_bzero(dek, sizeof(*dek));
	free(dek);
	return 0;
}

uint32_t
softhca_dek_number(const struct softhca_dek *dek)
{
	return dek->number;
}
