/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and destroys profiles, and copies one of them. */
#include "gantry_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include "gantry_engine.h"
#include "gantry_log.h"

static const uint16_t block_sizes[] = {
	[MLX5DV_BLOCK_SIZE_512] = 512,
	[MLX5DV_BLOCK_SIZE_520] = 520,
	[MLX5DV_BLOCK_SIZE_4048] = 4048,
	[MLX5DV_BLOCK_SIZE_4096] = 4096,
	[MLX5DV_BLOCK_SIZE_4160] = 4160,
};

/* A row for each kind: bytes of a signature, and which of its bytes a part is (mlx5dv.h, mlx5dv_sig_mask). */
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

static bool
is_dif(enum gantry_sig_kind kind)
{
	return kind == GANTRY_SIG_T10DIF_CRC || kind == GANTRY_SIG_T10DIF_CSUM;
}

/* Which bytes of a signature the GANTRY_SIG_ parts are. */
static uint8_t
mask_of(enum gantry_sig_kind kind, uint32_t parts)
{
	return ((parts & GANTRY_SIG_GUARD) != 0 ? kinds[kind].guard : 0) |
	       ((parts & GANTRY_SIG_APP_TAG) != 0 ? kinds[kind].app_tag : 0) |
	       ((parts & GANTRY_SIG_REF_TAG) != 0 ? kinds[kind].ref_tag : 0);
}

static uint8_t
dif_flags(uint32_t flags)
{
	return ((flags & GANTRY_SIG_REF_REMAP) != 0 ? MLX5DV_SIG_T10DIF_FLAG_REF_REMAP : 0) |
	       ((flags & GANTRY_SIG_APP_ESCAPE) != 0 ? MLX5DV_SIG_T10DIF_FLAG_APP_ESCAPE : 0) |
	       ((flags & GANTRY_SIG_APP_REF_ESCAPE) != 0 ? MLX5DV_SIG_T10DIF_FLAG_APP_REF_ESCAPE
							 : 0);
}

/* Takes one domain. 0; or -EINVAL or -EOPNOTSUPP, and the log says why. */
static int
domain_take(const struct gantry *g, const char *name, const struct gantry_sig_domain *from,
	uint32_t check, struct gantry_profile_domain *to)
{
	const uint32_t flags =
		GANTRY_SIG_REF_REMAP | GANTRY_SIG_APP_ESCAPE | GANTRY_SIG_APP_REF_ESCAPE;
	uint32_t i;

	if ((unsigned int)from->kind >= GANTRY_SIG_KIND_MAX) {
		LOG(ERR, "gantry_profile_conf::%s.kind is %d: use a value of gantry_sig_kind", name,
			(int)from->kind);
		return -EINVAL;
	}
	if ((from->flags & ~(is_dif(from->kind) ? flags : 0)) != 0) {
		LOG(ERR, "gantry_profile_conf::%s.flags is 0x%x: of T10-DIF 0 to 0x%x, else 0",
			name, from->flags, flags);
		return -EINVAL;
	}
	*to = (struct gantry_profile_domain){.kind = from->kind, .block_size = 1};
	if (from->kind == GANTRY_SIG_NONE) {
		if (from->block_size == 0)
			return 0;
		LOG(ERR, "gantry_profile_conf::%s.block_size is %u: without signature it is 0",
			name, from->block_size);
		return -EINVAL;
	}
	for (i = 0; i < RTE_DIM(block_sizes) && block_sizes[i] != from->block_size; i++)
		;
	if (i == RTE_DIM(block_sizes)) {
		LOG(ERR,
			"gantry_profile_conf::%s.block_size is %u: 512, 520, 4048, 4096 and 4160 are "
			"possible",
			name, from->block_size);
		return -EINVAL;
	}
	if ((g->info.sig_kinds & RTE_BIT32(from->kind)) == 0 ||
		(g->info.sig_block_sizes & RTE_BIT32(i)) == 0) {
		LOG(ERR, "%s has no %s over blocks of %u bytes: see gantry_info::sig_kinds",
			g->info.device, kinds[from->kind].name, from->block_size);
		return -EOPNOTSUPP;
	}
	to->sig_len = kinds[from->kind].len;
	to->size = i;
	to->block_size = from->block_size;
	to->flags = dif_flags(from->flags);
	to->check_mask = mask_of(from->kind, check);
	return 0;
}

/* 0; or -EINVAL or -EOPNOTSUPP, and the log says why. */
static int
profile_take(const struct gantry *g, const struct gantry_profile_conf *conf,
	struct gantry_profile *p)
{
	int ret;

	memset(p, 0, sizeof(*p));
	if (conf->mem.kind == GANTRY_SIG_NONE && conf->wire.kind == GANTRY_SIG_NONE) {
		LOG(ERR, "a profile without signatures: give one to `mem`, `wire`, or both");
		return -EINVAL;
	}
	if ((conf->check & ~GANTRY_SIG_ALL) != 0 || (conf->copy & ~GANTRY_SIG_ALL) != 0 ||
		(conf->copy != 0 && !conf->copy_is_set)) {
		LOG(ERR,
			"gantry_profile_conf: check is 0x%x, copy is 0x%x: at most 0x%x, and copy only "
			"with copy_is_set",
			conf->check, conf->copy, GANTRY_SIG_ALL);
		return -EINVAL;
	}
	ret = domain_take(g, "mem", &conf->mem, conf->check, &p->mem);
	if (ret == 0)
		ret = domain_take(g, "wire", &conf->wire, conf->check, &p->wire);
	if (ret != 0 || !conf->copy_is_set)
		return ret;
	if (conf->mem.kind != conf->wire.kind || conf->mem.block_size != conf->wire.block_size) {
		LOG(ERR,
			"gantry_profile_conf::copy: both domains have one kind and block size then");
		return -EINVAL;
	}
	p->block_flags = MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK;
	p->copy_mask = mask_of(conf->mem.kind, conf->copy);
	return 0;
}

/* ------------------------------------------------------------------ cells */

static uint64_t
serial_of(const struct gantry_profile_dir *dir, uint16_t id)
{
	/* Pairs with the release in cell_write(). */
	return id > GANTRY_MAX_PROFILES
		       ? 0
		       : atomic_load_explicit(&dir->cell[id].serial, memory_order_acquire);
}

static void
cell_write(struct gantry_profile_dir *dir, uint16_t id, const struct gantry_profile *p)
{
	struct gantry_profile_cell *cell = &dir->cell[id];
	uint64_t word[GANTRY_PROFILE_WORDS];
	uint32_t i;

	memcpy(word, p, sizeof(word));
	/* Pair with the acquires in gantry_profile_read(): who reads one of these words does not read
	 * the serial number from before gantry_profile_destroy() afterwards. */
	for (i = 0; i < GANTRY_PROFILE_WORDS; i++)
		atomic_store_explicit(&cell->word[i], word[i], memory_order_release);
	/* Pairs with the acquire in serial_of(). */
	atomic_store_explicit(&cell->serial, ++dir->last_serial, memory_order_release);
}

bool
gantry_profile_read(const struct gantry_profile_dir *dir, uint16_t id, struct gantry_profile *out)
{
	uint64_t serial = serial_of(dir, id), word[GANTRY_PROFILE_WORDS];
	uint32_t i;

	if (serial == 0)
		return false;
	for (i = 0; i < GANTRY_PROFILE_WORDS; i++)
		word[i] = atomic_load_explicit(&dir->cell[id].word[i], memory_order_acquire);
	memcpy(out, word, sizeof(word));
	return atomic_load_explicit(&dir->cell[id].serial, memory_order_relaxed) == serial;
}

/* ------------------------------------------------------------------ the calls */

int
gantry_profile_create(struct gantry *g, const struct gantry_profile_conf *conf, uint16_t *id)
{
	struct gantry_profile p;
	uint16_t i;
	int ret;

	ret = profile_take(g, conf, &p);
	if (ret != 0)
		return ret;
	for (i = 1; i <= GANTRY_MAX_PROFILES && serial_of(&g->profiles, i) != 0; i++)
		;
	if (i > GANTRY_MAX_PROFILES)
		return -ENOSPC;
	cell_write(&g->profiles, i, &p);
	*id = i;
	return 0;
}

int
gantry_profile_destroy(struct gantry *g, uint16_t id)
{
	if (serial_of(&g->profiles, id) == 0)
		return -EINVAL;
	atomic_store_explicit(&g->profiles.cell[id].serial, 0, memory_order_relaxed);
	return 0;
}
