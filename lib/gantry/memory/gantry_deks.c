/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds and retires DEKs, and logs in and out. */
#include "gantry_deks.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_common.h>

#include "gantry_alloc.h"
#include "gantry_conf_check.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_patience.h"
#include "gantry_process.h"
#include "gantry_queue.h"
#include "gantry_txns.h"

/* The number of bytes by which wrapping makes a key longer (RFC 3394). */
#define WRAP_LEN   8
#define KEYTAG_LEN sizeof(((struct gantry_dek_conf *)NULL)->keytag)

#define XTS                                                                                        \
	(MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_SINGLE_BLOCK |                                          \
		MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK)

uint32_t
gantry_deks_caps(const struct hwq_dev_caps *caps)
{
	uint32_t has = GANTRY_CRYPTO_XTS;

	if ((caps->crypto_engines & XTS) == 0)
		return 0;
	if ((caps->crypto_engines & MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK) == 0)
		has |= GANTRY_CRYPTO_SINGLE;
	if ((caps->crypto_wrapped & MLX5DV_CRYPTO_WRAPPED_IMPORT_METHOD_CAP_AES_XTS) != 0)
		has |= GANTRY_CRYPTO_WRAPPED;
	return has;
}

/* ------------------------------------------------------------------ adding */

/* Returns the bytes of both AES keys, or 0 if no DEK has this length. */
static uint32_t
aes_len(const struct gantry_dek_conf *conf)
{
	uint32_t more = conf->wrapped ? WRAP_LEN + (conf->has_keytag ? KEYTAG_LEN : 0) : 0;

	return conf->len == 32 + more || conf->len == 64 + more ? conf->len - more : 0;
}

/* Checks the configuration of a DEK. Returns 0, or logs why and returns a negative errno. */
static int
check(const struct gantry *g, const struct gantry_dek_conf *conf)
{
	const bool wrapped = (g->info.crypto & GANTRY_CRYPTO_WRAPPED) != 0;

	if (g->info.crypto == 0) {
		LOG(ERR, "%s does not encrypt: use a device whose gantry_info::crypto is not 0",
			g->info.device);
		return -EOPNOTSUPP;
	}
	if (!GANTRY_IS_CLEAN("gantry_dek_conf", conf))
		return -EINVAL;
	if (conf->wrapped != wrapped) {
		LOG(ERR, "%s takes DEKs %s: gantry_dek_conf::wrapped must be %s", g->info.device,
			wrapped ? "wrapped" : "in plaintext", wrapped ? "true" : "false");
		return -EINVAL;
	}
	if (conf->key == NULL || aes_len(conf) == 0) {
		LOG(ERR,
			"gantry_dek_conf::len is %u: a DEK has 32 or 64 bytes, wrapped 40 or 72, and "
			"wrapped with a keytag 48 or 80",
			conf->len);
		return -EINVAL;
	}
	/*
	 * If the caller opened the device, it may also have logged in, so a missing login is no
	 * error here.
	 */
	if (wrapped && !g->deks.logged_in && g->dev->own_ctx) {
		LOG(ERR, "%s takes wrapped DEKs after a login: call gantry_login()",
			g->info.device);
		return -EPERM;
	}
	return 0;
}

/* Creates the DEK in the device. Returns 0 or the device's error. */
static int
make(const struct gantry *g, const struct gantry_dek_conf *conf, struct hwq_dek *dek)
{
	struct hwq_dek_conf c = {
		.key_size = aes_len(conf) == 64 ? MLX5DV_CRYPTO_KEY_SIZE_256
						: MLX5DV_CRYPTO_KEY_SIZE_128,
		.has_keytag = conf->has_keytag,
		.wrapped = conf->wrapped,
	};
	int ret;

	memcpy(c.key, conf->key, conf->len);
	if (conf->has_keytag && !conf->wrapped)
		memcpy(c.key + conf->len, conf->keytag, KEYTAG_LEN);
	ret = hwq_dek_init(g->dev, &c, dek);
	explicit_bzero(&c, sizeof(c));
	return ret;
}

/* Puts the DEK on the shelf, where owners find it. Returns 0, -ENOSPC or -ENOMEM. */
static int
show(struct gantry_deks *deks, const struct gantry_dek_conf *conf, struct gantry_dek_held *h)
{
	struct gantry_dek dek = {.number = h->dek.id};
	uint16_t place;
	int ret;

	if (conf->has_keytag)
		memcpy(dek.keytag, conf->keytag, sizeof(dek.keytag));
	ret = gantry_shelf_put(&deks->shelf, &dek, &place);
	explicit_bzero(&dek, sizeof(dek));
	if (ret == 0)
		h->id = gantry_dek_id(gantry_shelf_serial(&deks->shelf, place), place);
	return ret;
}

/*
 * Destroys a DEK that is not on the shelf. Returns 0 or the device's error. After an error, call
 * this function again.
 */
static int
destroy(struct gantry_deks *deks, struct gantry_dek_held *h)
{
	int ret = hwq_dek_fini(&h->dek);

	if (ret != 0)
		return ret;
	TAILQ_REMOVE(&deks->held, h, next);
	gantry_free(h);
	return 0;
}

int
gantry_dek_add(struct gantry *g, const struct gantry_dek_conf *conf, uint32_t *id)
{
	struct gantry_deks *deks = &g->deks;
	struct gantry_dek_held *h;
	int ret = check(g, conf);

	if (ret == 0)
		ret = gantry_process_check(g->pid);
	if (ret != 0)
		return ret;
	h = gantry_alloc("gantry_dek", sizeof(*h), GANTRY_ALLOC_ANY_SOCKET);
	if (h == NULL)
		return -ENOMEM;
	ret = make(g, conf, &h->dek);
	if (ret != 0) {
		LOG(ERR, "%s refuses a DEK: %s", g->info.device, strerror(-ret));
		gantry_free(h);
		return ret;
	}
	TAILQ_INSERT_TAIL(&deks->held, h, next);
	ret = show(deks, conf, h);
	if (ret == 0)
		*id = h->id;
	else
		/* If the device refuses to destroy the DEK now, gantry_deks_end() tries again. */
		(void)destroy(deks, h);
	return ret;
}

/* ------------------------------------------------------------------ retiring */

static struct gantry_dek_held *
find(struct gantry_deks *deks, uint32_t id)
{
	struct gantry_dek_held *h;

	TAILQ_FOREACH(h, &deks->held, next)
		if (h->id == id)
			return h;
	return NULL;
}

/* Removes the DEK from the shelf, unless an earlier call has done so. */
static void
hide(struct gantry *g, struct gantry_dek_held *h)
{
	if (h->retired != 0)
		return;
	gantry_shelf_remove(&g->deks.shelf, gantry_dek_place(h->id));
	pthread_mutex_lock(&g->regions.lock);
	h->retired = gantry_region_renew(&g->regions);
	pthread_mutex_unlock(&g->regions.lock);
}

/*
 * Returns true if no queue has an open transaction that it opened before `version`. The caller has
 * called gantry_region_barrier().
 */
static bool
has_passed(const struct gantry *g, uint64_t version)
{
	const struct gantry_queue *q;

	TAILQ_FOREACH(q, &g->queues, next)
		if (!gantry_txns_have_passed(&q->txns, &q->view, version))
			return false;
	return true;
}

int
gantry_dek_retire(struct gantry *g, uint32_t id, uint32_t timeout_ms)
{
	struct gantry_patience patience = gantry_patience_begin(timeout_ms);
	struct gantry_dek_held *h = find(&g->deks, id);
	int ret = gantry_process_check(g->pid);

	if (ret != 0)
		return ret;
	if (h == NULL) {
		LOG(ERR, "no DEK has the number %u", id);
		return -EINVAL;
	}
	hide(g, h);
	gantry_region_barrier(&g->regions);
	while (!has_passed(g, h->retired))
		if (!gantry_patience_pause(&patience))
			return -ETIMEDOUT;
	return destroy(&g->deks, h);
}

/* ------------------------------------------------------------------ login */

int
gantry_login(struct gantry *g, const struct gantry_login_conf *conf)
{
	const struct mlx5dv_crypto_login_attr_ex attr = {
		.credential_id = conf->credential_id,
		.import_kek_id = conf->import_kek_id,
		.credential = conf->credential,
		.credential_len = conf->credential_len,
	};
	struct gantry_deks *deks = &g->deks;
	int ret = gantry_process_check(g->pid);

	if (ret != 0)
		return ret;
	if ((g->info.crypto & GANTRY_CRYPTO_WRAPPED) == 0) {
		LOG(ERR, "%s takes no wrapped DEKs: add DEKs without a login", g->info.device);
		return -EOPNOTSUPP;
	}
	if (deks->logged_in) {
		LOG(ERR, "%s: the engine is logged in already: call gantry_logout() first",
			g->info.device);
		return -EALREADY;
	}
	if (!GANTRY_IS_CLEAN("gantry_login_conf", conf))
		return -EINVAL;
	/* hwq_login_init() logs why it fails. */
	ret = hwq_login_init(g->dev, &attr, &deks->login);
	deks->logged_in = ret == 0;
	return ret;
}

static int
logout(struct gantry_deks *deks)
{
	int ret = hwq_login_fini(&deks->login);

	deks->logged_in = ret != 0;
	return ret;
}

int
gantry_logout(struct gantry *g)
{
	int ret = gantry_process_check(g->pid);

	if (ret != 0)
		return ret;
	if (!g->deks.logged_in) {
		LOG(ERR, "%s: the engine is not logged in", g->info.device);
		return -EINVAL;
	}
	return logout(&g->deks);
}

/* ------------------------------------------------------------------ begin and end */

void
gantry_deks_init(struct gantry_deks *deks)
{
	gantry_shelf_init(&deks->shelf, "gantry_deks", GANTRY_MAX_DEKS, sizeof(struct gantry_dek));
	TAILQ_INIT(&deks->held);
}

int
gantry_deks_end(struct gantry_deks *deks)
{
	int ret;

	while (!TAILQ_EMPTY(&deks->held)) {
		ret = destroy(deks, TAILQ_FIRST(&deks->held));
		if (ret != 0)
			return ret;
	}
	return deks->logged_in ? logout(deks) : 0;
}

void
gantry_deks_fini(struct gantry_deks *deks)
{
	gantry_shelf_fini(&deks->shelf);
}
