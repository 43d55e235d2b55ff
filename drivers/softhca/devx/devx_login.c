/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Crypto logins (mlx5dv_crypto_login_create(3)). A program proves that it knows the credential of
 * the setting crypto_credential: it sends the credential wrapped with the KEK of the setting
 * crypto_kek. After this the program may create wrapped DEKs. A context has at most one login. The
 * settings do not change, so a login is valid until it is destroyed.
 *
 * Bit offsets as in the commands of libmlx5 44: a general object of type 0x1f.
 */
#include "devx_login.h"

#include <errno.h>
#include <string.h>

#include "devx.h"
#include "hca.h"
#include "number.h"

enum {
	TYPE_LOGIN = 0x1f,
	LOGIN_STATE = DEVX_OBJ_AT + 0x84,         /* 4 bits; 0: valid */
	LOGIN_CREDENTIAL_ID = DEVX_OBJ_AT + 0x88, /* 24 bits; only credential 0 exists */
	LOGIN_KEK_ID = DEVX_OBJ_AT + 0xa8,        /* 24 bits; only KEK 0 exists */
	LOGIN_CREDENTIAL = DEVX_OBJ_AT + 0x200,   /* the wrapped credential */
	LOGIN_END = DEVX_OBJ_AT + 0x800
};

#define WRAPPED_LEN (SOFTHCA_CREDENTIAL_LEN + SOFTHCA_WRAP_MORE)

struct object_login {
	struct object obj;
};

bool
login_is_there(struct softhca_ctx *ctx)
{
	for (uint32_t i = 1; i < ctx->n_objects; i++)
		if (object_find(ctx, &devx_login_class, i) != NULL)
			return true;
	return false;
}

static bool
is_credential(const uint8_t sent[SOFTHCA_CREDENTIAL_LEN], const char *hex)
{
	uint8_t credential[SOFTHCA_CREDENTIAL_LEN];
	bool equal = hex_parse(hex, credential, sizeof(credential)) == sizeof(credential) &&
		     memcmp(sent, credential, sizeof(credential)) == 0;

	explicit_bzero(credential, sizeof(credential));
	return equal;
}

static int
check_login(struct softhca_ctx *ctx, const uint8_t *in)
{
	const struct softhca_config *cfg = ctx->dev->cfg;
	uint8_t sent[WRAPPED_LEN];
	int rc;

	if (cfg->crypto != SOFTHCA_CRYPTO_WRAPPED)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEVX_OBJ_TYPE);
	if (bits_get(in, DEVX_LOG_OBJ_RANGE, 5) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEVX_LOG_OBJ_RANGE);
	if (login_is_there(ctx))
		return DEVX_REFUSE(DEVX_BUSY, DEVX_OBJ_TYPE);
	if (bits_get(in, LOGIN_CREDENTIAL_ID, 24) != 0)
		return DEVX_REFUSE(DEVX_BAD_RES, LOGIN_CREDENTIAL_ID);
	if (bits_get(in, LOGIN_KEK_ID, 24) != 0)
		return DEVX_REFUSE(DEVX_BAD_RES, LOGIN_KEK_ID);
	rc = softhca_unwrap(cfg->crypto_kek, in + LOGIN_CREDENTIAL / 8, WRAPPED_LEN, sent);
	if (rc == 0 && !is_credential(sent, cfg->crypto_credential))
		rc = -EINVAL;
	explicit_bzero(sent, sizeof(sent));
	return devx_refuse_errno(rc, LOGIN_CREDENTIAL);
}

static int
create_login(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct object_login *login;
	int rc = check_login(call->ctx, in);

	if (rc == 0)
		rc = devx_refuse_errno(object_create(call->ctx, &devx_login_class, &login), 0);
	if (rc != 0)
		return rc;
	bits_set(out, DEVX_OBJ_ID, 32, login->obj.handle);
	*obj = &login->obj;
	return 0;
}

static int
query_login(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	(void)call;
	if (bits_get(in, DEVX_OBJ_TYPE, 16) != TYPE_LOGIN ||
		bits_get(in, DEVX_OBJ_ID, 32) != obj->handle)
		return -EINVAL;
	bits_set(out, DEVX_OBJ_ID, 32, obj->handle);
	bits_set(out, LOGIN_STATE, 4, 0);
	return 0;
}

static const struct devx_create creates[] = {
	{DEVX_CREATE_GENERAL, LOGIN_END / 8, create_login, TYPE_LOGIN},
};
static const struct devx_command commands[] = {
	{DEVX_QUERIES, &devx_login_class, DEVX_QUERY_GENERAL, DEVX_HEADER, LOGIN_END / 8,
		query_login},
};

const struct object_class devx_login_class = {
	.name = "crypto login",
	.size = sizeof(struct object_login),
	.by_devx = true,
	CLASS_CREATES(creates),
	CLASS_COMMANDS(commands),
};
