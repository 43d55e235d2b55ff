/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A DPDK program that does not use Gantry directly: it copies pages by EAL's first DMA device. With
 * the arguments below, this is a device of Gantry's driver.
 *
 *     rte_dma_configure, rte_dma_vchan_setup, rte_dma_start
 *         rte_dma_copy               until the channel is full
 *         rte_dma_submit             one doorbell for all copies
 *         rte_dma_completed_status   copies that have completed
 *     rte_dma_stop, rte_dma_close
 *
 * usage: dmadev_copy EAL OPTIONS      without huge pages:
 *        dmadev_copy --no-huge -m 64 -d librte_dma_mlx5.so --vdev dma_mlx5_0
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_dmadev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#define DEV      0 /**< the first device */
#define VCHAN    0 /**< the device's only channel */
#define N_PAGES  256u
#define PAGE_LEN 4096u
#define DEPTH    64 /**< number of descriptors in the channel: smaller than the number of pages */

/** Reports which call failed. The log lines before this line say what the user can do. */
static int
failed(const char *call, int rc)
{
	fprintf(stderr, "dmadev_copy: %s failed: %s. Correct what the lines above name.\n", call,
		rte_strerror(-rc));
	return 1;
}

static int
start_device(void)
{
	const struct rte_dma_conf conf = {.nb_vchans = 1};
	const struct rte_dma_vchan_conf vchan = {
		.direction = RTE_DMA_DIR_MEM_TO_MEM,
		.nb_desc = DEPTH,
	};
	int rc;

	printf("dmadev_copy: %u DMA devices\n", rte_dma_count_avail());
	if (rte_dma_count_avail() == 0) {
		fprintf(stderr, "dmadev_copy: EAL has no DMA device: give -d librte_dma_mlx5.so "
				"--vdev dma_mlx5_0\n");
		return 1;
	}
	rc = rte_dma_configure(DEV, &conf);
	if (rc < 0)
		return failed("rte_dma_configure()", rc);
	rc = rte_dma_vchan_setup(DEV, VCHAN, &vchan);
	if (rc < 0)
		return failed("rte_dma_vchan_setup()", rc);
	rc = rte_dma_start(DEV);
	return rc < 0 ? failed("rte_dma_start()", rc) : 0;
}

/**
 * Enqueues pages, from page `next` on, until the channel is full. @return the number of enqueued
 * pages, or -errno.
 */
static int
enqueue(const char *src, const char *dst, unsigned int next)
{
	unsigned int n = 0;
	int rc = 0;

	while (next + n < N_PAGES && rc >= 0) {
		uint64_t at = (uint64_t)(next + n) * PAGE_LEN;

		/* Returns the operation's id, which is one more than the previous id. */
		rc = rte_dma_copy(DEV, VCHAN, (uintptr_t)src + at, (uintptr_t)dst + at, PAGE_LEN,
			0);
		n += rc >= 0;
	}
	/* -ENOSPC: the channel is full until operations complete. */
	if (rc < 0 && rc != -ENOSPC)
		return rc;
	rc = n != 0 ? rte_dma_submit(DEV, VCHAN) : 0;
	return rc < 0 ? rc : (int)n;
}

static int
copy_pages(char *src, char *dst)
{
	enum rte_dma_status_code status[DEPTH];
	unsigned int enqueued = 0, done = 0, turns = 0, i;
	uint16_t last, n;
	int rc;

	memset(src, 0x5a, N_PAGES * PAGE_LEN);
	while (done < N_PAGES) {
		turns++;
		rc = enqueue(src, dst, enqueued);
		if (rc < 0)
			return failed("rte_dma_copy()", rc);
		enqueued += rc;
		n = rte_dma_completed_status(DEV, VCHAN, DEPTH, &last, status);
		for (i = 0; i < n; i++) {
			if (status[i] == RTE_DMA_STATUS_SUCCESSFUL)
				continue;
			fprintf(stderr,
				"dmadev_copy: page %u failed: status %d of enum rte_dma_status_code\n",
				done + i, (int)status[i]);
			return 1;
		}
		done += n;
	}
	if (memcmp(src, dst, N_PAGES * PAGE_LEN) != 0) {
		fprintf(stderr, "dmadev_copy: the destination differs from the source.\n");
		return 1;
	}
	printf("dmadev_copy: copied %u pages in %u turns, verified\n", done, turns);
	return 0;
}

int
main(int argc, char **argv)
{
	char *memory;
	int rc;

	rc = rte_eal_init(argc, argv);
	if (rc < 0) {
		fprintf(stderr,
			"dmadev_copy: EAL did not start: the lines above say why. If a line says that it "
			"failed to parse device dma_mlx5_0, the driver is not loaded: add -d "
			"librte_dma_mlx5.so. Without huge pages, add --no-huge -m 64. While another DPDK "
			"program runs, add --file-prefix NAME.\n");
		return 1;
	}
	memory = rte_zmalloc("pages", 2 * N_PAGES * PAGE_LEN, PAGE_LEN);
	if (memory == NULL)
		return failed("rte_zmalloc()", -ENOMEM);
	if (start_device() != 0 || copy_pages(memory, memory + N_PAGES * PAGE_LEN) != 0)
		return 1;
	rc = rte_dma_stop(DEV);
	if (rc < 0)
		return failed("rte_dma_stop()", rc);
	rc = rte_dma_close(DEV);
	if (rc < 0)
		return failed("rte_dma_close()", rc);
	rte_free(memory);
	rc = rte_eal_cleanup();
	return rc < 0 ? failed("rte_eal_cleanup()", rc) : 0;
}
