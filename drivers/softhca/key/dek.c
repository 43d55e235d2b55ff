/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data encryption keys (mlx5dv_dek_create(3)). A command creates a DEK, which gets a number. Keys
 * that encrypt find the DEK by this number. The bytes of the DEK are erased when it is destroyed.
 */
#include "dek.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "hca.h"

/* A DEK. The BSFs of keys in the same PD refer to it by its number. */
struct softhca_dek {
	struct softhca_dev *dev;
	uint32_t number, pdn;
	bool key_256, has_keytag;
	uint8_t opaque[SOFTHCA_DEK_OPAQUE_LEN];
	_Atomic(struct dek_key *) key; /* the published AES key */
};

/* ---- the key */

static int
key_create(const struct softhca_dek *dek, const uint8_t bytes[SOFTHCA_DEK_KEY_LEN],
	struct dek_key **out)
{
	size_t len = dek->key_256 ? 64 : 32;
	struct dek_key *key = calloc(1, sizeof(*key));
	int rc;

	if (key == NULL)
		return -ENOMEM;
	rc = xts_create(bytes, len, &key->xts);
	if (rc != 0) {
		free(key);
		return rc;
	}
	key->has_keytag = dek->has_keytag;
	if (key->has_keytag)
		memcpy(key->keytag, bytes + len, sizeof(key->keytag));
	*out = key;
	return 0;
}

static void
key_destroy(struct dek_key *key)
{
	xts_destroy(key->xts);
	explicit_bzero(key, sizeof(*key));
	free(key);
}

/* ---- commands */

int
softhca_dek_create(struct softhca_dev *dev, const struct softhca_dek_attr *attr,
	struct softhca_dek **out)
{
	struct softhca_dek *dek = calloc(1, sizeof(*dek));
	struct dek_key *key;
	int err;

	if (dek == NULL)
		return -ENOMEM;
	dek->dev = dev;
	dek->pdn = attr->pdn;
	dek->key_256 = attr->key_256;
	dek->has_keytag = attr->has_keytag;
	memcpy(dek->opaque, attr->opaque, sizeof(dek->opaque));
	err = key_create(dek, attr->key, &key);
	if (err != 0)
		goto free_dek;
	atomic_init(&dek->key, key);
	err = table_put(&dev->lanes->deks, dek, &dek->number);
	if (err != 0)
		goto destroy_key;
	*out = dek;
	return 0;

destroy_key:
	key_destroy(key);
free_dek:
	free(dek);
	return err;
}

void
softhca_dek_query(const struct softhca_dek *dek, struct softhca_dek_attr *attr)
{
	*attr = (struct softhca_dek_attr){.pdn = dek->pdn,
		.key_256 = dek->key_256,
		.has_keytag = dek->has_keytag};
	memcpy(attr->opaque, dek->opaque, sizeof(attr->opaque));
}

int
softhca_dek_rekey(struct softhca_dek *dek, const uint8_t bytes[SOFTHCA_DEK_KEY_LEN])
{
	struct dek_key *key;
	int err = key_create(dek, bytes, &key);

	if (err != 0)
		return err;
	key = atomic_exchange(&dek->key, key);
	softhca_quiesce();
	key_destroy(key);
	return 0;
}

int
softhca_dek_destroy(struct softhca_dek *dek)
{
	table_remove(&dek->dev->lanes->deks, dek->number);
	softhca_quiesce();
	key_destroy(atomic_load(&dek->key));
	free(dek);
	return 0;
}

uint32_t
softhca_dek_number(const struct softhca_dek *dek)
{
	return dek->number;
}

/* ---- the data path */

/* Finds the AES key for a BSF. Assumed: xts-keytag. */
const struct dek_key *
dek_find(struct softhca_lanes *lanes, const struct key_crypto *crypto, uint32_t pdn)
{
	struct softhca_dek *dek = table_get(&lanes->deks, crypto->dek);
	const struct dek_key *key;

	if (dek == NULL || dek->pdn != pdn)
		return NULL;
	key = atomic_load_explicit(&dek->key, memory_order_acquire);
	if (key->has_keytag && memcmp(key->keytag, crypto->keytag, sizeof(key->keytag)) != 0)
		return NULL;
	return key;
}
