/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that is mapped and unmapped at a fixed address, and a key on demand over it. */
#ifndef ODP_AREA_H
#define ODP_AREA_H

#include <sys/mman.h>

#include "softhca_pair.h"

#define PAGE       4096
#define AREA_PAGES 16
#define AREA_LEN   (AREA_PAGES * PAGE)

struct area {
	uint8_t *at;
	struct ibv_mr *mr;
};

/* Maps new memory at the address. No other mapping may be there. */
static inline void
area_map(struct area *a, unsigned int first, unsigned int n, int prot)
{
	uint8_t *p = mmap(a->at + first * PAGE, n * PAGE, prot,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	CHECK(p == a->at + first * PAGE);
}

static inline void
area_unmap(struct area *a, unsigned int first, unsigned int n)
{
	CHECK_EQ(munmap(a->at + first * PAGE, n * PAGE), 0);
}

/*
 * Creates a key over unmapped addresses. They are far below the addresses at which the kernel
 * places new mappings, so no other mapping is placed there.
 */
static inline void
area_init(struct area *a, struct ibv_pd *pd, int access)
{
	static unsigned int n;
	uint8_t *here = mmap(NULL, AREA_LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(here != MAP_FAILED && munmap(here, AREA_LEN) == 0);
	a->at = here - (UINT64_C(16) << 30) - UINT64_C(2) * AREA_LEN * (n++ % 1024);
	area_map(a, 0, AREA_PAGES, PROT_NONE);
	area_unmap(a, 0, AREA_PAGES);
	a->mr = ibv_reg_mr(pd, a->at, AREA_LEN, access | IBV_ACCESS_ON_DEMAND);
	CHECK(a->mr != NULL);
}

static inline void
area_fini(struct area *a)
{
	CHECK_EQ(ibv_dereg_mr(a->mr), 0);
	area_unmap(a, 0, AREA_PAGES);
}

#endif
