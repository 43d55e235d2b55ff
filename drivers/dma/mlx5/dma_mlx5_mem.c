/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that operations may use: EAL's heaps, whose changes the engine follows; memory that the
 * application passes to rte_dev_dma_map(); and all other memory on demand, if the device supports
 * that. EAL reports neither rte_extmem_register() nor rte_extmem_unregister(). So without on-demand
 * memory, external memory is registered separately, from rte_dev_dma_map() to rte_dev_dma_unmap().
 */
#include "dma_mlx5_mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_memory.h>

#include "dma_mlx5_log.h"
#include "rte_pmd_dma_mlx5.h"

/* Milliseconds that rte_dev_dma_unmap() waits for operations that may use the memory. */
#define UNMAP_MS 1000

void
dma_mlx5_mem_begin(struct dma_mlx5 *d)
{
	int ret = d->info.any_memory ? gantry_mem_register_any(d->g, &d->any) : 0;

	if (ret != 0)
		DMA_MLX5_LOG(WARNING,
			"%s: memory of neither EAL nor rte_dev_dma_map() cannot be copied: %s; the lines "
			"above say why",
			d->info.device, strerror(-ret));
}

int
dma_mlx5_mem_start(struct dma_mlx5 *d)
{
	int ret = gantry_mem_register_eal(d->g, 0, &d->eal);

	if (ret != 0)
		DMA_MLX5_LOG(ERR, "%s: EAL's memory is not registered: %s; the lines above say why",
			d->info.device, strerror(-ret));
	return ret;
}

/* Returns true if addr is in a heap of EAL, which dma_mlx5_mem_start() registers. */
static bool
is_in_heap(const void *addr)
{
	const struct rte_memseg_list *list = rte_mem_virt2memseg_list(addr);

	return list != NULL && list->heap;
}

int
dma_mlx5_mem_map(struct dma_mlx5 *d, void *addr, size_t len)
{
	struct dma_mlx5_map *m;
	int ret;

	if (is_in_heap(addr))
		return 0;
	m = malloc(sizeof(*m));
	if (m == NULL)
		return -ENOMEM;
	*m = (struct dma_mlx5_map){.addr = addr, .len = len};
	ret = gantry_mem_register(d->g, addr, len, 0, &m->mem);
	if (ret != 0) {
		DMA_MLX5_LOG(ERR, "%s: %zu bytes at %p are not mapped: %s", d->info.device, len,
			addr, strerror(-ret));
		free(m);
		return ret;
	}
	LIST_INSERT_HEAD(&d->maps, m, next);
	return 0;
}

static int
end_map(struct dma_mlx5 *d, struct dma_mlx5_map *m)
{
	int ret = gantry_mem_unregister(m->mem, UNMAP_MS);

	if (ret != 0) {
		DMA_MLX5_LOG(ERR, "%s: %zu bytes at %p are still mapped: %s%s; then call again",
			d->info.device, m->len, m->addr, strerror(-ret),
			ret == -ETIMEDOUT ? ": collect the completions of all operations" : "");
		return ret;
	}
	LIST_REMOVE(m, next);
	free(m);
	return 0;
}

int
dma_mlx5_mem_unmap(struct dma_mlx5 *d, void *addr, size_t len)
{
	struct dma_mlx5_map *m;

	LIST_FOREACH(m, &d->maps, next)
		if (m->addr == addr && m->len == len)
			return end_map(d, m);
	if (is_in_heap(addr))
		return 0;
	DMA_MLX5_LOG(ERR,
		"%s: %zu bytes at %p were not mapped: name memory as rte_dev_dma_map() did",
		d->info.device, len, addr);
	return -ENOENT;
}

/* ------------------------------------------------------------------ rte_pmd_dma_mlx5.h */

/* Returns the device, or NULL if it is none of this driver. */
static struct dma_mlx5 *
find(int16_t dev_id)
{
	static const char name[] = "dma_mlx5";
	struct rte_dma_info info;

	if (!rte_dma_is_valid(dev_id) || rte_dma_info_get(dev_id, &info) != 0 ||
		strncmp(info.dev_name, name, sizeof(name) - 1) != 0) {
		DMA_MLX5_LOG(ERR, "there is no DMA device %d of this driver", dev_id);
		return NULL;
	}
	return rte_dma_fp_objs[dev_id].dev_private;
}

int
rte_pmd_dma_mlx5_import(int16_t dev_id, const struct gantry_mem_record *record, void **addr)
{
	struct dma_mlx5 *d = find(dev_id);
	struct dma_mlx5_map *m;
	int ret;

	if (d == NULL)
		return -ENODEV;
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return -ENOMEM;
	/* A record that allows reading only is imported for reading. */
	ret = gantry_mem_import(d->g, record, 0, &m->mem, &m->addr);
	if (ret == -EPERM)
		ret = gantry_mem_import(d->g, record, GANTRY_MEM_READ_ONLY, &m->mem, &m->addr);
	if (ret != 0) {
		free(m);
		return ret;
	}
	/* len is 0: rte_dev_dma_unmap() never names an import. */
	LIST_INSERT_HEAD(&d->maps, m, next);
	*addr = m->addr;
	return 0;
}

int
rte_pmd_dma_mlx5_unimport(int16_t dev_id, void *addr)
{
	struct dma_mlx5 *d = find(dev_id);
	struct dma_mlx5_map *m;

	if (d == NULL)
		return -ENODEV;
	LIST_FOREACH(m, &d->maps, next)
		if (m->addr == addr && m->len == 0)
			return end_map(d, m);
	DMA_MLX5_LOG(ERR, "%s: no import begins at %p", d->info.device, addr);
	return -ENOENT;
}

/* Ends a registration, if there is one. */
static int
end(struct gantry_mem **mem)
{
	int ret = *mem == NULL ? 0 : gantry_mem_unregister(*mem, UNMAP_MS);

	if (ret == 0)
		*mem = NULL;
	return ret;
}

int
dma_mlx5_mem_end(struct dma_mlx5 *d)
{
	struct dma_mlx5_map *m;
	int ret = 0;

	while (ret == 0 && (m = LIST_FIRST(&d->maps)) != NULL)
		ret = end_map(d, m);
	if (ret == 0)
		ret = end(&d->eal);
	return ret == 0 ? end(&d->any) : ret;
}
