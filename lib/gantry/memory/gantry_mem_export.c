/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets other functions of the card use registered memory. */
#include "gantry_mem_export.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_mem.h"
#include "gantry_process.h"
#include "gantry_record.h"

int
gantry_mem_shares(struct gantry *g)
{
	const struct hwq_dev_caps *caps = hwq_dev_caps(g->dev);
	int ret;

	if (!caps->cross_vhca)
		return 0;
	g->info.shares = GANTRY_SHARE_IMPORT;
	ret = hwq_export_kind(g->dev, &g->export_kind);
	/* A device that refuses to register a page cannot export. */
	if (ret == -ENOMEM)
		return ret;
	if (ret == 0 && g->export_kind != HWQ_EXPORT_NONE)
		g->info.shares |= GANTRY_SHARE_EXPORT;
	return 0;
}

/* Checks whether the memory can be exported. The caller has the lock. */
static int
check(const struct gantry_mem *mem, unsigned int flags)
{
	const struct gantry *g = mem->g;
	const struct gantry_piece *p = gantry_mem_piece(mem);

	if ((flags & ~GANTRY_MEM_READ_ONLY) != 0) {
		LOG(ERR, "memory cannot be exported with flags 0x%x: use GANTRY_MEM_READ_ONLY or 0",
			flags);
		return -EINVAL;
	}
	if (p != NULL && p->region.imported != 0) {
		LOG(ERR, "imported memory cannot be exported: ask its owner for another record");
		return -EREMOTE;
	}
	if (p == NULL || TAILQ_NEXT(p, next) != NULL || g->eal == mem || mem->dm.addr != NULL ||
		p->region.on_demand != 0 || (mem->flags & GANTRY_MEM_RELAXED) != 0) {
		LOG(ERR, "this memory cannot be exported: register one region of host memory, "
			 "without GANTRY_MEM_RELAXED");
		return -EMEDIUMTYPE;
	}
	if ((mem->flags & GANTRY_MEM_READ_ONLY) != 0 && (flags & GANTRY_MEM_READ_ONLY) == 0) {
		LOG(ERR, "read-only memory can only be exported with GANTRY_MEM_READ_ONLY");
		return -EPERM;
	}
	if ((g->info.shares & GANTRY_SHARE_EXPORT) == 0) {
		LOG(ERR, "%s does not let other functions use its keys: doc/hardware.md",
			g->info.device);
		return -EOPNOTSUPP;
	}
	return 0;
}

static int
draw(uint8_t *bytes, size_t len)
{
	if (getrandom(bytes, len, 0) == (ssize_t)len)
		return 0;
	LOG(ERR, "no access key for exported memory: getrandom(2): %s", strerror(errno));
	return errno != 0 ? -errno : -EIO;
}

int
gantry_mem_export(struct gantry_mem *mem, unsigned int flags, struct gantry_mem_record *record)
{
	struct gantry *g = mem->g;
	const struct hwq_dev_caps *caps = hwq_dev_caps(g->dev);
	const bool write = (flags & GANTRY_MEM_READ_ONLY) == 0;
	struct gantry_record_facts facts = {.system_guid = caps->sys_image_guid,
		.vhca_id = caps->vhca_id,
		.rights = write ? GANTRY_RECORD_WRITE : 0};
	const unsigned int access = HWQ_ACCESS_REMOTE_READ |
				    (write ? HWQ_ACCESS_LOCAL_WRITE | HWQ_ACCESS_REMOTE_WRITE : 0);
	const struct gantry_piece *piece;
	int ret = gantry_process_check(g->pid);

	if (ret != 0)
		return ret;
	pthread_mutex_lock(&g->regions.lock);
	ret = check(mem, flags);
	if (ret == 0)
		ret = draw(facts.access_key, sizeof(facts.access_key));
	if (ret == 0) {
		piece = gantry_mem_piece(mem);
		facts.addr = piece->region.addr;
		facts.len = piece->region.len;
		ret = gantry_given_add(&mem->given, &piece->mr, g->export_kind, access,
			facts.access_key, &facts.key);
	}
	pthread_mutex_unlock(&g->regions.lock);
	if (ret == 0)
		gantry_record_write(record, &facts);
	explicit_bzero(&facts, sizeof(facts));
	return ret;
}
