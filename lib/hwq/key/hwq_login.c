/* SPDX-License-Identifier: BSD-3-Clause */
/* Logins for wrapped keys: the commands that create, query and destroy a login. */
#include "hwq_login.h"

#include <errno.h>
#include <string.h>

#include "hwq_cmd.h"
#include "hwq_log.h"
#include "hwq_verbs.h"

enum {
	LOGIN_STATE = GENERAL_OBJ + 0x84,         /* 4 bits */
	LOGIN_CREDENTIAL_ID = GENERAL_OBJ + 0x88, /* 24 bits */
	LOGIN_KEK_ID = GENERAL_OBJ + 0xa8,        /* 24 bits */
	LOGIN_CREDENTIAL = GENERAL_OBJ + 0x200,   /* 384 bits */
	LOGIN_END = GENERAL_OBJ + 0x800,
};

#define TYPE_LOGIN    0x1f
#define STATE_VALID   0
#define STATE_INVALID 1
#define ID_MAX        0xffffffu

/* Makes the checks of libmlx5, and checks the credential's length. */
static int
check(const struct hwq_dev *dev, const struct mlx5dv_crypto_login_attr_ex *attr)
{
	const uint32_t ready =
		MLX5DV_CRYPTO_CAPS_CRYPTO | MLX5DV_CRYPTO_CAPS_WRAPPED_CRYPTO_OPERATIONAL;

	if (attr->comp_mask != 0) {
		hwq_log("%s: a login with comp_mask 0x%llx: it must be 0", hwq_dev_name(dev),
			(unsigned long long)attr->comp_mask);
		return -EINVAL;
	}
	if ((dev->caps.crypto_flags & ready) != ready) {
		hwq_log("%s: no login: %s", hwq_dev_name(dev),
			dev->caps.crypto_wrapped == 0
				? "the device takes DEKs in plaintext, without one"
				: "a crypto officer must first make wrapped keys operational");
		return -EOPNOTSUPP;
	}
	if (attr->credential_id > ID_MAX || attr->import_kek_id > ID_MAX ||
		attr->credential_len > HWQ_CREDENTIAL_MAX) {
		hwq_log("%s: a login by credential 0x%x of %zu bytes, KEK 0x%x: ids up to 0x%x and %u "
			"bytes at most are possible",
			hwq_dev_name(dev), attr->credential_id, attr->credential_len,
			attr->import_kek_id, ID_MAX, HWQ_CREDENTIAL_MAX);
		return -EINVAL;
	}
	return 0;
}

int
hwq_login_init(struct hwq_dev *dev, const struct mlx5dv_crypto_login_attr_ex *attr,
	struct hwq_login *login)
{
	uint8_t in[LOGIN_END / 8] = {0}, out[GENERAL_OBJ / 8] = {0};
	struct mlx5dv_devx_obj *obj;
	int ret = check(dev, attr);

	if (ret != 0)
		return ret;
	hwq_cmd_put(in, CMD_OPCODE, 16, CMD_CREATE_GENERAL);
	hwq_cmd_put(in, GENERAL_TYPE, 16, TYPE_LOGIN);
	hwq_cmd_put(in, LOGIN_CREDENTIAL_ID, 24, attr->credential_id);
	hwq_cmd_put(in, LOGIN_KEK_ID, 24, attr->import_kek_id);
	memcpy(in + LOGIN_CREDENTIAL / 8, attr->credential, attr->credential_len);
	ret = hwq_verbs_devx_create(dev->ctx, in, sizeof(in), out, sizeof(out), &obj);
	explicit_bzero(in, sizeof(in));
	if (ret != 0) {
		hwq_log("%s: logging in with credential 0x%x and KEK 0x%x: %s%s", hwq_dev_name(dev),
			attr->credential_id, attr->import_kek_id, strerror(-ret),
			ret == -EBUSY    ? ": the context is logged in already"
			: ret == -EINVAL ? ": ask the crypto officer for ids and credential"
					 : "");
		return ret;
	}
	hwq_count_add(&dev->refs, 1);
	*login = (struct hwq_login){.id = hwq_cmd_get(out, GENERAL_ID, 32), .dev = dev, .obj = obj};
	return 0;
}

int
hwq_login_query(const struct hwq_login *login, enum mlx5dv_crypto_login_state *state)
{
	uint8_t in[GENERAL_OBJ / 8] = {0}, out[LOGIN_END / 8] = {0};
	uint32_t told;
	int ret;

	hwq_cmd_put(in, CMD_OPCODE, 16, CMD_QUERY_GENERAL);
	hwq_cmd_put(in, GENERAL_TYPE, 16, TYPE_LOGIN);
	hwq_cmd_put(in, GENERAL_ID, 32, login->id);
	ret = hwq_verbs_devx_query(login->obj, in, sizeof(in), out, sizeof(out));
	told = hwq_cmd_get(out, LOGIN_STATE, 4);
	if (ret == 0 && told != STATE_VALID && told != STATE_INVALID)
		ret = -EINVAL;
	if (ret != 0) {
		hwq_log("%s: querying a login: %s", hwq_dev_name(login->dev), strerror(-ret));
		return ret;
	}
	*state = told == STATE_VALID ? MLX5DV_CRYPTO_LOGIN_STATE_VALID
				     : MLX5DV_CRYPTO_LOGIN_STATE_INVALID;
	return 0;
}

int
hwq_login_fini(struct hwq_login *login)
{
	int ret = hwq_verbs_devx_destroy(login->obj);

	if (ret != 0) {
		hwq_log("%s: logging out: %s", hwq_dev_name(login->dev), strerror(-ret));
		return ret;
	}
	hwq_count_sub(&login->dev->refs, 1);
	memset(login, 0, sizeof(*login));
	return 0;
}
