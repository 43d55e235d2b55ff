/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into dpdk-test: a crypto device says that it has one queue pair. dpdk-test makes all that there are, each of 4096
 * operations, before every case. DPDK's crypto_mlx5 has 128, and a key for each operation: half a million keys for
 * each case.
 */
#include <dlfcn.h>
#include <stdint.h>

#include <rte_cryptodev.h>

/* In place of DPDK's. */
__attribute__((visibility("default"))) void
rte_cryptodev_info_get(uint8_t dev_id, struct rte_cryptodev_info *info)
{
	void (*real)(uint8_t, struct rte_cryptodev_info *) =
		(__typeof__(real))dlsym(RTLD_NEXT, "rte_cryptodev_info_get");

	real(dev_id, info);
	if (info->max_nb_queue_pairs > 1)
		info->max_nb_queue_pairs = 1;
}
