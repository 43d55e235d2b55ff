/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DMA handles: ibv_alloc_dmah(3), of rdma-core 60 and later. A handle gives the PCIe bus hints
 * about the data of a region: the CPU that uses the data, the kind of memory, and how the data are
 * processed (PCI Express 6.2, TLP processing hints). There is no bus here, so a handle is only
 * checked and has no effect.
 */
#include <errno.h>
#include <sched.h>

#include "call.h"
#include "newer_uapi.h"

#define PH_MASK 3 /* the processing hints have two bits */

struct object_dmah {
	struct object obj;
};

/* Checks that the caller may run on this CPU, as the kernel does. */
static int
check_cpu(uint32_t cpu)
{
	cpu_set_t allowed;

	if (cpu >= CPU_SETSIZE)
		return -EINVAL;
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return -errno;
	return CPU_ISSET(cpu, &allowed) ? 0 : -EPERM;
}

static int
alloc(struct uverbs_call *call)
{
	bool has_cpu = call_has(call, NEWER_ATTR_DMAH_CPU_ID);
	const uint8_t *ph = call_in(call, NEWER_ATTR_DMAH_PH);
	struct object_dmah *dmah;
	int rc = has_cpu ? check_cpu(call_in_u32(call, NEWER_ATTR_DMAH_CPU_ID)) : 0;

	if (rc == 0 && (*ph & ~PH_MASK) != 0)
		rc = -EINVAL;
	/*
	 * As in mlx5_ib, processing hints are required. The CPU and the kind of memory must both be
	 * present, or both be absent.
	 */
	if (rc == 0 && (!call_has(call, NEWER_ATTR_DMAH_PH) ||
			       has_cpu != call_has(call, NEWER_ATTR_DMAH_MEM_TYPE)))
		rc = -EINVAL;
	if (rc == 0)
		rc = object_create(call->ctx, &dmah_class, &dmah);
	if (rc == 0)
		call_attr(call, NEWER_ATTR_DMAH_HANDLE)->data = dmah->obj.handle;
	return rc;
}

static uint32_t
limit(const struct softhca_config *cfg)
{
	return cfg->max_mr;
}

static const struct attr_spec alloc_attrs[] = {
	{NEWER_ATTR_DMAH_HANDLE, ATTR_NEW_OBJ, ATTR_REQUIRED},
	{NEWER_ATTR_DMAH_CPU_ID, ATTR_IN, ATTR_OPTIONAL, 4, 4},
	{NEWER_ATTR_DMAH_MEM_TYPE, ATTR_ENUM, ATTR_OPTIONAL, 0, NEWER_DMAH_MEM_TYPES},
	{NEWER_ATTR_DMAH_PH, ATTR_IN, ATTR_OPTIONAL, 1, 1},
};
static const struct attr_spec free_attrs[] = {
	{NEWER_ATTR_DMAH_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &dmah_class},
};
static const struct uverbs_method methods[] = {
	{NEWER_OBJECT_DMAH, NEWER_METHOD_DMAH_ALLOC, false, alloc, alloc_attrs,
		ARRAY_SIZE(alloc_attrs)},
	{NEWER_OBJECT_DMAH, NEWER_METHOD_DMAH_FREE, false, call_destroy, free_attrs,
		ARRAY_SIZE(free_attrs)},
};

const struct object_class dmah_class = {
	.name = "DMA handle",
	.size = sizeof(struct object_dmah),
	.limit = limit,
	CLASS_METHODS(methods),
};
