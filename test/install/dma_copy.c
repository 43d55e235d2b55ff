/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of DPDK, built out of the tree: it copies by the first DMA device that EAL has. */
#include <stdio.h>
#include <string.h>

#include <rte_dmadev.h>
#include <rte_eal.h>
#include <rte_malloc.h>

int
main(int argc, char **argv)
{
	const struct rte_dma_conf conf = {.nb_vchans = 1};
	const struct rte_dma_vchan_conf vchan = {.direction = RTE_DMA_DIR_MEM_TO_MEM,
		.nb_desc = 64};
	bool failed = false;
	uint16_t last;
	char *memory;
	int n = 0;

	if (rte_eal_init(argc, argv) < 0)
		return 1;
	printf("%u DMA devices\n", rte_dma_count_avail());
	memory = rte_zmalloc(NULL, 8192, 0);
	if (rte_dma_count_avail() == 0 || memory == NULL || rte_dma_configure(0, &conf) != 0 ||
		rte_dma_vchan_setup(0, 0, &vchan) != 0 || rte_dma_start(0) != 0)
		return 1;
	memset(memory, 0x5a, 4096);
	if (rte_dma_copy(0, 0, (uintptr_t)memory, (uintptr_t)memory + 4096, 4096,
		    RTE_DMA_OP_FLAG_SUBMIT) < 0)
		return 1;
	while (n == 0 && !failed)
		n = rte_dma_completed(0, 0, 1, &last, &failed);
	printf("%s\n",
		!failed && memcmp(memory, memory + 4096, 4096) == 0 ? "copied" : "not copied");
	rte_dma_stop(0);
	rte_free(memory);
	return rte_eal_cleanup();
}
