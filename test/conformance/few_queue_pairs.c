/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into dpdk-test: makes a crypto device report one queue pair. Before every case,
 * dpdk-test creates all queue pairs of a device, each for 4096 operations. DPDK's crypto_mlx5
 * reports 128 queue pairs, and creates a key for each operation: half a million keys for each case.
 */
#include <dlfcn.h>
#include <stdint.h>

#include <rte_cryptodev.h>

/* Replaces the function of the same name in DPDK. */
__attribute__((visibility("default"))) void
rte_cryptodev_info_get(uint8_t dev_id, struct rte_cryptodev_info *info)
{
	void (*real)(uint8_t, struct rte_cryptodev_info *) =
		(__typeof__(real))dlsym(RTLD_NEXT, "rte_cryptodev_info_get");

	real(dev_id, info);
	if (info->max_nb_queue_pairs > 1)
		info->max_nb_queue_pairs = 1;
}
