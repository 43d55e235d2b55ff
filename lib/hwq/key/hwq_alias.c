/* SPDX-License-Identifier: BSD-3-Clause */
/* Aliases of keys of other functions: the commands that create, query and destroy an alias. */
#include "hwq_alias.h"

#include <errno.h>
#include <string.h>

#include "hwq_cmd.h"
#include "hwq_left.h"
#include "hwq_log.h"
#include "hwq_verbs.h"

enum {
	ALIAS_BIT = 0x60,                  /* 1 bit of the header: the object is an alias */
	ALIAS_VHCA = GENERAL_OBJ + 0x00,   /* 16 bits */
	ALIAS_STATUS = GENERAL_OBJ + 0x1d, /* 3 bits */
	ALIAS_OBJ = GENERAL_OBJ + 0x20,    /* 32 bits: the index of the owner's key */
	ALIAS_ACCESS_KEY = GENERAL_OBJ + 0x80,
	ALIAS_PD = GENERAL_OBJ + 0x180, /* 32 bits: for a key, the metadata begin with the PD */
	ALIAS_END = GENERAL_OBJ + 0x200,
};

#define TYPE_MKEY 0xff01

static int
alias_create(struct hwq_dev *dev, uint32_t pdn, const struct hwq_alias_attr *attr,
	struct hwq_alias *alias, uint32_t *syndrome, unsigned int *status)
{
	uint8_t in[ALIAS_END / 8] = {0}, out[ALIAS_END / 8] = {0};
	int ret;

	hwq_cmd_put(in, CMD_OPCODE, 16, CMD_CREATE_GENERAL);
	hwq_cmd_put(in, GENERAL_TYPE, 16, TYPE_MKEY);
	hwq_cmd_put(in, ALIAS_BIT, 1, 1);
	hwq_cmd_put(in, ALIAS_VHCA, 16, attr->vhca_id);
	hwq_cmd_put(in, ALIAS_OBJ, 32, attr->key >> 8);
	hwq_cmd_put(in, ALIAS_PD, 32, pdn);
	memcpy(in + ALIAS_ACCESS_KEY / 8, attr->access_key, HWQ_ACCESS_KEY_LEN);
	ret = hwq_verbs_devx_create(dev->ctx, in, sizeof(in), out, sizeof(out), &alias->obj);
	explicit_bzero(in, sizeof(in));
	*syndrome = hwq_cmd_get(out, CMD_OUT_SYNDROME, 32);
	*status = hwq_cmd_get(out, ALIAS_STATUS, 3);
	alias->dev = dev;
	alias->id = hwq_cmd_get(out, GENERAL_ID, 32);
	/* UCX uses the variant 0, whatever the variant of the owner's key is. */
	alias->key = alias->id << 8;
	return ret;
}

int
hwq_alias_init(struct hwq_dev *dev, const struct hwq_alias_attr *attr, struct hwq_alias *alias)
{
	struct hwq_alias made;
	uint32_t pdn, syndrome = 0;
	unsigned int status = 0;
	int ret;

	if (!dev->caps.cross_vhca) {
		hwq_log("%s: no alias: functions of this card do not share keys",
			hwq_dev_name(dev));
		return -EOPNOTSUPP;
	}
	ret = hwq_verbs_pdn(dev->pd, &pdn);
	if (ret == 0)
		ret = alias_create(dev, pdn, attr, &made, &syndrome, &status);
	if (ret != 0) {
		hwq_log("%s: an alias of key 0x%x of the function with VHCA id %u: %s, syndrome 0x%x%s",
			hwq_dev_name(dev), attr->key, attr->vhca_id, strerror(-ret), syndrome,
			ret == -EINVAL ? ": the card has no such function, the key has ended or "
					 "was not allowed, or the access key is wrong"
				       : "");
		return ret;
	}
	if (status != 0) {
		hwq_log("%s: the alias of key 0x%x of the function with VHCA id %u has status %u",
			hwq_dev_name(dev), attr->key, attr->vhca_id, status);
		hwq_left_add_key(dev, made.obj, NULL);
		return -EACCES;
	}
	hwq_count_add(&dev->refs, 1);
	*alias = made;
	return 0;
}

int
hwq_alias_query(const struct hwq_alias *alias, unsigned int *status)
{
	uint8_t in[GENERAL_OBJ / 8] = {0}, out[ALIAS_END / 8] = {0};
	int ret;

	hwq_cmd_put(in, CMD_OPCODE, 16, CMD_QUERY_GENERAL);
	hwq_cmd_put(in, GENERAL_TYPE, 16, TYPE_MKEY);
	hwq_cmd_put(in, GENERAL_ID, 32, alias->id);
	ret = hwq_verbs_devx_query(alias->obj, in, sizeof(in), out, sizeof(out));
	if (ret != 0) {
		hwq_log("%s: querying an alias: %s", hwq_dev_name(alias->dev), strerror(-ret));
		return ret;
	}
	*status = hwq_cmd_get(out, ALIAS_STATUS, 3);
	return 0;
}

int
hwq_alias_fini(struct hwq_alias *alias)
{
	int ret = hwq_verbs_devx_destroy(alias->obj);

	if (ret != 0) {
		hwq_log("%s: destroying an alias: %s", hwq_dev_name(alias->dev), strerror(-ret));
		return ret;
	}
	hwq_count_sub(&alias->dev->refs, 1);
	memset(alias, 0, sizeof(*alias));
	return 0;
}
