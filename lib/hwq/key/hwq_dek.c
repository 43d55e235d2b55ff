/* SPDX-License-Identifier: BSD-3-Clause */
/* One data encryption key: the commands that create, query and destroy it. */
#include "hwq_dek.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "hwq_cmd.h"
#include "hwq_log.h"
#include "hwq_verbs.h"

enum {
	DEK_STATE = GENERAL_OBJ + 0x40,    /* 8 bits */
	DEK_KEY_SIZE = GENERAL_OBJ + 0x54, /* 4 bits */
	DEK_HAS_KEYTAG = GENERAL_OBJ + 0x58,
	DEK_PURPOSE = GENERAL_OBJ + 0x5c, /* 4 bits */
	DEK_PD = GENERAL_OBJ + 0x68,      /* 24 bits */
	DEK_OPAQUE = GENERAL_OBJ + 0x180, /* 64 bits */
	DEK_KEY = GENERAL_OBJ + 0x200,    /* 1024 bits */
	DEK_END = GENERAL_OBJ + 0x800,
};

#define TYPE_DEK        0xc
#define KEY_SIZE_128    0
#define KEY_SIZE_256    1
#define PURPOSE_AES_XTS 3
#define STATE_READY     0
#define STATE_ERROR     1

#define AES_XTS                                                                                    \
	(MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_SINGLE_BLOCK |                                          \
		MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK)

static_assert(sizeof(((struct hwq_dek_conf *)NULL)->key) == 1024 / 8, "the command's field");

static int
check(const struct hwq_dev *dev, const struct hwq_dek_conf *conf)
{
	bool wrapped =
		(dev->caps.crypto_wrapped & MLX5DV_CRYPTO_WRAPPED_IMPORT_METHOD_CAP_AES_XTS) != 0;

	if ((dev->caps.crypto_engines & AES_XTS) == 0) {
		hwq_log("%s: the device has no AES-XTS engine", hwq_dev_name(dev));
		return -EOPNOTSUPP;
	}
	if (conf->key_size != MLX5DV_CRYPTO_KEY_SIZE_128 &&
		conf->key_size != MLX5DV_CRYPTO_KEY_SIZE_256) {
		hwq_log("%s: a DEK of size %d: MLX5DV_CRYPTO_KEY_SIZE_128 and _256 are possible",
			hwq_dev_name(dev), (int)conf->key_size);
		return -EINVAL;
	}
	if (conf->wrapped != wrapped) {
		hwq_log("%s: the device takes DEKs %s alone", hwq_dev_name(dev),
			wrapped ? "wrapped" : "in plaintext");
		return -EINVAL;
	}
	return 0;
}

/* Sends the command that creates the DEK. */
static int
create(struct hwq_dev *dev, uint32_t pdn, const struct hwq_dek_conf *conf, struct hwq_dek *dek)
{
	uint8_t in[DEK_END / 8] = {0}, out[GENERAL_OBJ / 8] = {0};
	struct mlx5dv_devx_obj *obj;
	int ret;

	hwq_cmd_put(in, CMD_OPCODE, 16, CMD_CREATE_GENERAL);
	hwq_cmd_put(in, GENERAL_TYPE, 16, TYPE_DEK);
	hwq_cmd_put(in, DEK_KEY_SIZE, 4,
		conf->key_size == MLX5DV_CRYPTO_KEY_SIZE_256 ? KEY_SIZE_256 : KEY_SIZE_128);
	hwq_cmd_put(in, DEK_HAS_KEYTAG, 1, conf->has_keytag);
	hwq_cmd_put(in, DEK_PURPOSE, 4, PURPOSE_AES_XTS);
	hwq_cmd_put(in, DEK_PD, 24, pdn);
	memcpy(in + DEK_OPAQUE / 8, conf->opaque, sizeof(conf->opaque));
	memcpy(in + DEK_KEY / 8, conf->key, sizeof(conf->key));
	ret = hwq_verbs_devx_create(dev->ctx, in, sizeof(in), out, sizeof(out), &obj);
	explicit_bzero(in, sizeof(in));
	if (ret == 0)
		*dek = (struct hwq_dek){.id = hwq_cmd_get(out, GENERAL_ID, 32),
			.dev = dev,
			.obj = obj};
	return ret;
}

/* Logs why the device refused the DEK, and what the caller can do. */
static void
log_refusal(const struct hwq_dev *dev, const struct hwq_dek_conf *conf, int ret)
{
	hwq_log("%s: making a DEK: %s%s", hwq_dev_name(dev), strerror(-ret),
		ret != -EINVAL  ? ""
		: conf->wrapped ? ": log in first, and wrap it with the KEK of that login"
				: ": its two AES keys must differ");
	if (dev->caps.crypto_failed_selftests != 0)
		hwq_log("%s: the device's encryption failed self-tests, code 0x%x: ask the "
			"device's vendor",
			hwq_dev_name(dev), dev->caps.crypto_failed_selftests);
}

int
hwq_dek_init(struct hwq_dev *dev, const struct hwq_dek_conf *conf, struct hwq_dek *dek)
{
	uint32_t pdn;
	int ret;

	ret = check(dev, conf);
	if (ret != 0)
		return ret;
	ret = hwq_verbs_pdn(dev->pd, &pdn);
	if (ret == 0)
		ret = create(dev, pdn, conf, dek);
	if (ret != 0) {
		log_refusal(dev, conf, ret);
		return ret;
	}
	hwq_count_add(&dev->refs, 1);
	return 0;
}

int
hwq_dek_query(const struct hwq_dek *dek, struct mlx5dv_dek_attr *attr)
{
	uint8_t in[GENERAL_OBJ / 8] = {0}, out[DEK_END / 8] = {0};
	uint32_t state;
	int ret;

	hwq_cmd_put(in, CMD_OPCODE, 16, CMD_QUERY_GENERAL);
	hwq_cmd_put(in, GENERAL_TYPE, 16, TYPE_DEK);
	hwq_cmd_put(in, GENERAL_ID, 32, dek->id);
	ret = hwq_verbs_devx_query(dek->obj, in, sizeof(in), out, sizeof(out));
	state = hwq_cmd_get(out, DEK_STATE, 8);
	if (ret == 0 && state != STATE_READY && state != STATE_ERROR)
		ret = -EINVAL;
	if (ret != 0) {
		hwq_log("%s: querying a DEK: %s", hwq_dev_name(dek->dev), strerror(-ret));
		return ret;
	}
	*attr = (struct mlx5dv_dek_attr){
		.state = state == STATE_READY ? MLX5DV_DEK_STATE_READY : MLX5DV_DEK_STATE_ERROR};
	memcpy(attr->opaque, out + DEK_OPAQUE / 8, sizeof(attr->opaque));
	return 0;
}

int
hwq_dek_fini(struct hwq_dek *dek)
{
	int ret = hwq_verbs_devx_destroy(dek->obj);

	if (ret != 0) {
		hwq_log("%s: destroying a DEK: %s", hwq_dev_name(dek->dev), strerror(-ret));
		return ret;
	}
	hwq_count_sub(&dek->dev->refs, 1);
	memset(dek, 0, sizeof(*dek));
	return 0;
}
