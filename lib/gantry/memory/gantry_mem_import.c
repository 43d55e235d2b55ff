/* SPDX-License-Identifier: BSD-3-Clause */
/* Imports memory of another function of the card. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gantry_alloc.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_mem.h"
#include "gantry_record.h"

static int
check(const struct gantry *g, const struct gantry_record_facts *facts, unsigned int flags)
{
	const struct hwq_dev_caps *caps = hwq_dev_caps(g->dev);

	if ((flags & ~GANTRY_MEM_READ_ONLY) != 0) {
		LOG(ERR, "memory cannot be imported with flags 0x%x: use GANTRY_MEM_READ_ONLY or 0",
			flags);
		return -EINVAL;
	}
	if ((g->info.shares & GANTRY_SHARE_IMPORT) == 0) {
		LOG(ERR, "%s cannot use keys of other functions: doc/hardware.md", g->info.device);
		return -EOPNOTSUPP;
	}
	if (facts->system_guid != caps->sys_image_guid) {
		LOG(ERR,
			"a record is of the card 0x%016" PRIx64
			", and %s is of the card 0x%016" PRIx64
			": only functions of one card share memory",
			be64toh(facts->system_guid), g->info.device, be64toh(caps->sys_image_guid));
		return -EXDEV;
	}
	if ((facts->rights & GANTRY_RECORD_WRITE) == 0 && (flags & GANTRY_MEM_READ_ONLY) == 0) {
		LOG(ERR,
			"a record allows reading only: import it with GANTRY_MEM_READ_ONLY, or ask the "
			"owner for a record that allows writing");
		return -EPERM;
	}
	return 0;
}

/*
 * Reserves addresses for the import. The first one has the same place in its page as the owner's
 * first byte. The result is never the owner's address, because a bias of 0 says that a region is
 * memory of this process.
 */
static int
reserve(struct gantry_mem *mem, const struct gantry_record_facts *facts)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), shift = facts->addr % page;
	/* One page more, so that the second page can be taken if the first one is the owner's. */
	const uint64_t len = RTE_ALIGN_CEIL(facts->len + shift, page) + page;
	void *base;

	if (len < facts->len) {
		LOG(ERR, "%" PRIu64 " bytes are too long to be imported", facts->len);
		return -ENOMEM;
	}
	base = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED) {
		LOG(ERR, "no addresses for %" PRIu64 " bytes of imported memory: %s", facts->len,
			strerror(errno));
		return -ENOMEM;
	}
	(void)madvise(base, len, MADV_DONTDUMP);
	mem->reserved = base;
	mem->reserved_len = len;
	mem->addr = (uintptr_t)base + shift;
	if (mem->addr == facts->addr)
		mem->addr += page;
	return 0;
}

/* Makes the alias. Translates lib/hwq's errors to those of gantry_exports.h. */
static int
make_alias(struct gantry *g, const struct gantry_record_facts *facts, struct hwq_alias *alias)
{
	struct hwq_alias_attr attr = {.vhca_id = facts->vhca_id, .key = facts->key};
	int ret;

	memcpy(attr.access_key, facts->access_key, sizeof(attr.access_key));
	ret = hwq_alias_init(g->dev, &attr, alias);
	explicit_bzero(&attr, sizeof(attr));
	if (ret == -EACCES)
		return -ESTALE;
	return ret == -EINVAL ? -EACCES : ret;
}

/* Adds the imported region to the table. The caller has the lock. */
static int
piece_add(struct gantry_mem *mem, const struct gantry_record_facts *facts)
{
	struct gantry_piece *p = gantry_alloc_libc_lines(sizeof(*p));
	int ret;

	if (p == NULL)
		return -ENOMEM;
	ret = make_alias(mem->g, facts, &p->alias);
	if (ret != 0) {
		gantry_free_libc(p);
		return ret;
	}
	p->region = (struct gantry_region){
		.addr = mem->addr,
		.len = facts->len,
		.lkey = p->alias.key,
		.rkey = p->alias.key,
		.bias = mem->addr - facts->addr,
		.read_only = (mem->flags & GANTRY_MEM_READ_ONLY) != 0,
		.imported = 1,
		.mem = mem,
	};
	gantry_region_set_plain(&p->region);
	return gantry_piece_add(mem, p);
}

int
gantry_mem_import(struct gantry *g, const struct gantry_mem_record *record, unsigned int flags,
	struct gantry_mem **out, void **addr)
{
	struct gantry_record_facts facts;
	struct gantry_mem *mem;
	int ret = gantry_record_read(record, &facts);

	if (ret == 0)
		ret = check(g, &facts, flags);
	if (ret == 0)
		ret = gantry_mem_open(g, flags, &mem);
	if (ret == 0) {
		ret = reserve(mem, &facts);
		if (ret == 0) {
			pthread_mutex_lock(&g->regions.lock);
			ret = piece_add(mem, &facts);
			pthread_mutex_unlock(&g->regions.lock);
		}
		if (ret == 0) {
			*addr = (void *)(uintptr_t)mem->addr;
			*out = mem;
		} else {
			gantry_mem_give_up(mem);
		}
	}
	explicit_bzero(&facts, sizeof(facts));
	return ret;
}
