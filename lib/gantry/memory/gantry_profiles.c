/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and destroys profiles. */
#include "gantry_profiles.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include <hwq_mr.h>

#include "gantry_conf_check.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_profile.h"

static const uint16_t block_sizes[] = {
	[MLX5DV_BLOCK_SIZE_512] = 512,
	[MLX5DV_BLOCK_SIZE_520] = 520,
	[MLX5DV_BLOCK_SIZE_4048] = 4048,
	[MLX5DV_BLOCK_SIZE_4096] = 4096,
	[MLX5DV_BLOCK_SIZE_4160] = 4160,
};

/*
 * For each kind of signature: its bytes, and the mask of the bytes of each part (mlx5dv_sig_mask of
 * mlx5dv.h).
 */
static const struct kind {
	const char *name;
	uint8_t len;
	uint8_t guard, app_tag, ref_tag;
} kinds[GANTRY_SIG_KIND_MAX] = {
	[GANTRY_SIG_NONE] = {"none", 0, 0, 0, 0},
	[GANTRY_SIG_T10DIF_CRC] = {"T10-DIF with CRC", 8, MLX5DV_SIG_MASK_T10DIF_GUARD,
		MLX5DV_SIG_MASK_T10DIF_APPTAG, MLX5DV_SIG_MASK_T10DIF_REFTAG},
	[GANTRY_SIG_T10DIF_CSUM] = {"T10-DIF with checksum", 8, MLX5DV_SIG_MASK_T10DIF_GUARD,
		MLX5DV_SIG_MASK_T10DIF_APPTAG, MLX5DV_SIG_MASK_T10DIF_REFTAG},
	[GANTRY_SIG_CRC32] = {"CRC32", 4, MLX5DV_SIG_MASK_CRC32, 0, 0},
	[GANTRY_SIG_CRC32C] = {"CRC32C", 4, MLX5DV_SIG_MASK_CRC32C, 0, 0},
	[GANTRY_SIG_CRC64_XP10] = {"CRC64", 8, MLX5DV_SIG_MASK_CRC64_XP10, 0, 0},
};

uint32_t
gantry_profile_kinds(const struct hwq_dev_caps *caps)
{
	const bool dif = (caps->sig_block_prot & MLX5DV_SIG_PROT_CAP_T10DIF) != 0;
	const bool crc = (caps->sig_block_prot & MLX5DV_SIG_PROT_CAP_CRC) != 0;
	uint32_t has = 0;

	if (dif && (caps->sig_t10dif_bg & MLX5DV_SIG_T10DIF_BG_CAP_CRC) != 0)
		has |= RTE_BIT32(GANTRY_SIG_T10DIF_CRC);
	if (dif && (caps->sig_t10dif_bg & MLX5DV_SIG_T10DIF_BG_CAP_CSUM) != 0)
		has |= RTE_BIT32(GANTRY_SIG_T10DIF_CSUM);
	if (crc && (caps->sig_crc_type & MLX5DV_SIG_CRC_TYPE_CAP_CRC32) != 0)
		has |= RTE_BIT32(GANTRY_SIG_CRC32);
	if (crc && (caps->sig_crc_type & MLX5DV_SIG_CRC_TYPE_CAP_CRC32C) != 0)
		has |= RTE_BIT32(GANTRY_SIG_CRC32C);
	if (crc && (caps->sig_crc_type & MLX5DV_SIG_CRC_TYPE_CAP_CRC64_XP10) != 0)
		has |= RTE_BIT32(GANTRY_SIG_CRC64_XP10);
	return has;
}

/* ------------------------------------------------------------------ rules */

/* Returns the enum mlx5dv_block_size of a number of bytes, or -1 if there is none. */
static int
size_of(uint32_t bytes)
{
	int i;

	for (i = RTE_DIM(block_sizes) - 1; i >= 0 && block_sizes[i] != bytes; i--)
		;
	return i;
}

static bool
is_dif(enum gantry_sig_kind kind)
{
	return kind == GANTRY_SIG_T10DIF_CRC || kind == GANTRY_SIG_T10DIF_CSUM;
}

/* Returns the mask of the bytes that these GANTRY_SIG_* parts of a signature have. */
static uint8_t
mask_of(enum gantry_sig_kind kind, uint32_t parts)
{
	return ((parts & GANTRY_SIG_GUARD) != 0 ? kinds[kind].guard : 0) |
	       ((parts & GANTRY_SIG_APP_TAG) != 0 ? kinds[kind].app_tag : 0) |
	       ((parts & GANTRY_SIG_REF_TAG) != 0 ? kinds[kind].ref_tag : 0);
}

static uint16_t
dif_flags(uint32_t flags)
{
	return ((flags & GANTRY_SIG_REF_REMAP) != 0 ? MLX5DV_SIG_T10DIF_FLAG_REF_REMAP : 0) |
	       ((flags & GANTRY_SIG_APP_ESCAPE) != 0 ? MLX5DV_SIG_T10DIF_FLAG_APP_ESCAPE : 0) |
	       ((flags & GANTRY_SIG_APP_REF_ESCAPE) != 0 ? MLX5DV_SIG_T10DIF_FLAG_APP_REF_ESCAPE
							 : 0);
}

/* The attributes of one domain in the form of lib/hwq. */
struct domain_attr {
	struct mlx5dv_sig_block_domain domain;
	struct mlx5dv_sig_t10dif dif;
	struct mlx5dv_sig_crc crc;
};

static void
attr_take(const struct gantry_sig_domain *from, enum mlx5dv_block_size size, struct domain_attr *to)
{
	to->domain.block_size = size;
	if (is_dif(from->kind)) {
		to->dif.bg_type = from->kind == GANTRY_SIG_T10DIF_CRC ? MLX5DV_SIG_T10DIF_CRC
								      : MLX5DV_SIG_T10DIF_CSUM;
		to->dif.flags = dif_flags(from->flags);
		to->domain.sig_type = MLX5DV_SIG_TYPE_T10DIF;
		to->domain.sig.dif = &to->dif;
		return;
	}
	to->crc.type = from->kind == GANTRY_SIG_CRC32    ? MLX5DV_SIG_CRC_TYPE_CRC32
		       : from->kind == GANTRY_SIG_CRC32C ? MLX5DV_SIG_CRC_TYPE_CRC32C
							 : MLX5DV_SIG_CRC_TYPE_CRC64_XP10;
	to->domain.sig_type = MLX5DV_SIG_TYPE_CRC;
	to->domain.sig.crc = &to->crc;
}

/*
 * Takes one domain from the configuration. Returns 0, or logs why and returns -EINVAL or
 * -EOPNOTSUPP.
 */
static int
domain_take(const struct gantry *g, const char *name, const struct gantry_sig_domain *from,
	struct gantry_profile_domain *to, struct domain_attr *attr)
{
	const uint32_t flags =
		GANTRY_SIG_REF_REMAP | GANTRY_SIG_APP_ESCAPE | GANTRY_SIG_APP_REF_ESCAPE;
	int size;

	if ((unsigned int)from->kind >= GANTRY_SIG_KIND_MAX) {
		LOG(ERR, "gantry_profile_conf::%s.kind is %d: use a value of gantry_sig_kind", name,
			(int)from->kind);
		return -EINVAL;
	}
	if ((from->flags & ~(is_dif(from->kind) ? flags : 0)) != 0) {
		LOG(ERR,
			"gantry_profile_conf::%s.flags is 0x%x: T10-DIF takes 0 to 0x%x, other kinds 0",
			name, from->flags, flags);
		return -EINVAL;
	}
	if ((from->flags & GANTRY_SIG_APP_ESCAPE) != 0 &&
		(from->flags & GANTRY_SIG_APP_REF_ESCAPE) != 0) {
		LOG(ERR, "gantry_profile_conf::%s.flags has two escapes: at most one is possible",
			name);
		return -EINVAL;
	}
	*to = (struct gantry_profile_domain){.kind = from->kind, .block_size = 1, .unit = 1};
	if (from->kind == GANTRY_SIG_NONE) {
		if (from->block_size == 0)
			return 0;
		LOG(ERR,
			"gantry_profile_conf::%s.block_size is %u: without a signature it must be 0",
			name, from->block_size);
		return -EINVAL;
	}
	size = size_of(from->block_size);
	if (size < 0) {
		LOG(ERR,
			"gantry_profile_conf::%s.block_size is %u: 512, 520, 4048, 4096 and 4160 are "
			"possible",
			name, from->block_size);
		return -EINVAL;
	}
	if ((g->info.sig_kinds & RTE_BIT32(from->kind)) == 0 ||
		(g->info.sig_block_sizes & RTE_BIT32(size)) == 0) {
		LOG(ERR, "%s has no %s over blocks of %u bytes: see gantry_info::sig_kinds",
			g->info.device, kinds[from->kind].name, from->block_size);
		return -EOPNOTSUPP;
	}
	to->sig_len = kinds[from->kind].len;
	to->block_size = from->block_size;
	to->unit = to->block_size + to->sig_len;
	attr_take(from, size, attr);
	return 0;
}

/*
 * Returns the bits of gantry_txn_tags that must be 0. A domain without signature has no tags. A
 * domain with a CRC has only a seed.
 */
static uint64_t
no_tags(enum gantry_sig_kind kind)
{
	struct gantry_txn_tags tags;
	uint64_t word;

	static_assert(sizeof(tags) == sizeof(word),
		"gantry_txn_tags_word() reads tags as one word");
	memset(&tags, UINT8_MAX, sizeof(tags));
	if (kind != GANTRY_SIG_NONE)
		tags.seed_ones = false;
	if (is_dif(kind))
		tags.ref_tag = tags.app_tag = 0;
	memcpy(&word, &tags, sizeof(word));
	return word;
}

/*
 * Returns true if both domains have the same kind of signature over the same blocks. Parts of the
 * signature can then be copied from one domain to the other.
 */
static bool
domains_are_alike(const struct gantry_profile_conf *conf)
{
	return conf->mem.kind == conf->wire.kind && conf->mem.block_size == conf->wire.block_size;
}

/*
 * Makes one configuration of a key: p->image[from_wire][differ], or
 * p->crypto_image[from_wire][differ] if the profile encrypts (gantry_profile.h). Returns 0 or the
 * error of lib/hwq.
 */
static int
image_make(const struct hwq_dev_caps *caps, const struct mlx5dv_sig_block_attr *sig,
	const struct gantry_profile_conf *conf, struct gantry_profile *p, int from_wire, int differ)
{
	const bool wire = conf->crypto.domain == GANTRY_ENCRYPTED_WIRE;
	const struct hwq_crypto_attr crypto = {
		.crypto_standard = MLX5DV_CRYPTO_STANDARD_AES_XTS,
		.encrypt_on_tx = wire,
		/*
		 * This is the table of mlx5dv_wr_set_mkey_crypto(3). Without signatures, both
		 * orders are right.
		 */
		.signature_crypto_order =
			wire != conf->crypto.sig_over_ciphertext
				? MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_BEFORE_CRYPTO_ON_TX
				: MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_AFTER_CRYPTO_ON_TX,
		.data_unit_size = size_of(conf->crypto.unit_size),
	};

	if (!gantry_profile_encrypts(p))
		return hwq_sig_image_init(&p->image[from_wire][differ], caps,
			HWQ_ACCESS_LOCAL_WRITE, sig);
	return hwq_crypto_image_init(&p->crypto_image[from_wire][differ], caps,
		HWQ_ACCESS_LOCAL_WRITE, sig, &crypto);
}

/*
 * Makes the configurations for both directions. Each configuration checks the domain from which the
 * data come. Returns 0 or the error of lib/hwq.
 */
static int
images_make(const struct gantry *g, const struct gantry_profile_conf *conf,
	const struct domain_attr *mem, const struct domain_attr *wire, struct gantry_profile *p)
{
	const struct hwq_dev_caps *caps = hwq_dev_caps(g->dev);
	/* libmlx5 would let the device copy a CRC although the seeds differ. */
	const bool no_copy =
		domains_are_alike(conf) && !is_dif(conf->mem.kind) && !conf->copy_is_set;
	struct mlx5dv_sig_block_attr attr = {
		.mem = p->mem.sig_len != 0 ? &mem->domain : NULL,
		.wire = p->wire.sig_len != 0 ? &wire->domain : NULL,
		.copy_mask = conf->copy_is_set ? mask_of(conf->mem.kind, conf->copy) : 0,
	};
	int from_wire, differ, ret = 0;

	for (from_wire = 0; from_wire < 2; from_wire++)
		for (differ = 0; ret == 0 && differ < 2; differ++) {
			attr.check_mask =
				mask_of(from_wire ? conf->wire.kind : conf->mem.kind, conf->check);
			attr.flags = conf->copy_is_set || (no_copy && differ && attr.mem != NULL)
					     ? MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK
					     : 0;
			ret = image_make(caps, &attr, conf, p, from_wire, differ);
		}
	return ret;
}

/* Checks settings that concern both domains. Returns 0, or logs why and returns -EINVAL. */
static int
check_alike(const struct gantry_profile_conf *conf)
{
	if (conf->copy_is_set && !domains_are_alike(conf)) {
		LOG(ERR,
			"gantry_profile_conf::copy needs the same kind and block_size in both domains");
		return -EINVAL;
	}
	/*
	 * If only one domain has REF_REMAP, equal reference tags would be copied, too. From the
	 * second block on, the copied tags would be wrong.
	 */
	if (is_dif(conf->mem.kind) && is_dif(conf->wire.kind) &&
		conf->mem.block_size == conf->wire.block_size && !conf->copy_is_set &&
		((conf->mem.flags ^ conf->wire.flags) & GANTRY_SIG_REF_REMAP) != 0) {
		LOG(ERR,
			"gantry_profile_conf: both domains have T10-DIF and the same block_size: set "
			"GANTRY_SIG_REF_REMAP in both or in none, or set `copy`");
		return -EINVAL;
	}
	return 0;
}

/*
 * Takes the encryption from the configuration. Returns 0, or logs why and returns -EINVAL or
 * -EOPNOTSUPP.
 */
static int
crypto_take(const struct gantry *g, const struct gantry_profile_conf *conf,
	struct gantry_profile *p)
{
	const struct gantry_crypto *c = &conf->crypto;
	const bool wire = c->domain == GANTRY_ENCRYPTED_WIRE;
	const struct gantry_profile_domain *d = wire ? &p->wire : &p->mem,
					   *other = wire ? &p->mem : &p->wire;

	if ((unsigned int)c->domain >= GANTRY_ENCRYPTED_MAX) {
		LOG(ERR,
			"gantry_profile_conf::crypto.domain is %d: use a value of gantry_encrypted",
			(int)c->domain);
		return -EINVAL;
	}
	if (c->domain == GANTRY_ENCRYPTED_NONE) {
		if (c->unit_size == 0 && !c->sig_over_ciphertext)
			return 0;
		LOG(ERR,
			"gantry_profile_conf::crypto: without a domain, its other fields must be 0");
		return -EINVAL;
	}
	if (g->info.crypto == 0) {
		LOG(ERR, "%s does not encrypt: use a device whose gantry_info::crypto is not 0",
			g->info.device);
		return -EOPNOTSUPP;
	}
	if (size_of(c->unit_size) < 0) {
		LOG(ERR,
			"gantry_profile_conf::crypto.unit_size is %u: 512, 520, 4048, 4096 and 4160 are "
			"possible",
			c->unit_size);
		return -EINVAL;
	}
	if (c->sig_over_ciphertext && (d->sig_len == 0 || other->sig_len != 0)) {
		LOG(ERR,
			"gantry_profile_conf::crypto.sig_over_ciphertext: give the encrypted domain a "
			"signature, and the other domain none");
		return -EINVAL;
	}
	p->crypt_unit = c->unit_size;
	p->crypt_block = d->block_size;
	p->crypt_len = c->sig_over_ciphertext ? d->block_size : d->unit;
	return 0;
}

/*
 * Makes a profile from its configuration. Returns 0, or logs why and returns -EINVAL or
 * -EOPNOTSUPP.
 */
static int
profile_take(const struct gantry *g, const struct gantry_profile_conf *conf,
	struct gantry_profile *p)
{
	struct domain_attr mem = {0}, wire = {0};
	int ret;

	memset(p, 0, sizeof(*p));
	if (!GANTRY_IS_CLEAN("gantry_profile_conf", conf))
		return -EINVAL;
	if (conf->mem.kind == GANTRY_SIG_NONE && conf->wire.kind == GANTRY_SIG_NONE &&
		conf->crypto.domain == GANTRY_ENCRYPTED_NONE) {
		LOG(ERR,
			"a profile that does nothing: give a signature to `mem`, `wire`, or both, or "
			"encrypt by `crypto`");
		return -EINVAL;
	}
	if ((conf->check & ~GANTRY_SIG_ALL) != 0 || (conf->copy & ~GANTRY_SIG_ALL) != 0 ||
		(conf->copy != 0 && !conf->copy_is_set)) {
		LOG(ERR,
			"gantry_profile_conf: check is 0x%x, copy is 0x%x: use at most 0x%x, and copy only "
			"with copy_is_set",
			conf->check, conf->copy, GANTRY_SIG_ALL);
		return -EINVAL;
	}
	ret = domain_take(g, "mem", &conf->mem, &p->mem, &mem);
	if (ret == 0)
		ret = domain_take(g, "wire", &conf->wire, &p->wire, &wire);
	if (ret == 0)
		ret = crypto_take(g, conf, p);
	if (ret != 0)
		return ret;
	p->no_mem_tags = no_tags(conf->mem.kind);
	p->no_wire_tags = no_tags(conf->wire.kind);
	ret = check_alike(conf);
	if (ret != 0)
		return ret;
	ret = images_make(g, conf, &mem, &wire, p);
	if (ret != 0)
		LOG(ERR, "%s refuses this profile: %s", g->info.device, strerror(-ret));
	return ret;
}

/* ------------------------------------------------------------------ the calls */

int
gantry_profile_create(struct gantry *g, const struct gantry_profile_conf *conf, uint16_t *id)
{
	struct gantry_profile p;
	int ret = profile_take(g, conf, &p);

	return ret != 0 ? ret : gantry_shelf_put(&g->profiles, &p, id);
}

int
gantry_profile_destroy(struct gantry *g, uint16_t id)
{
	int ret = gantry_shelf_remove(&g->profiles, id);

	if (ret != 0)
		LOG(ERR, "no profile has the number %u", id);
	return ret;
}
