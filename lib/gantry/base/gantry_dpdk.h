/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names that have changed in DPDK since 22.11, the oldest version that Gantry builds with. The code
 * uses the newest names. Only this file looks at DPDK's version.
 */
#ifndef GANTRY_DPDK_H
#define GANTRY_DPDK_H

#include <pthread.h>
#include <stdint.h>

#include <rte_lcore.h>
#include <rte_telemetry.h>
#include <rte_thread.h>
#include <rte_version.h>

#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define RTE_TEL_UINT_VAL            RTE_TEL_U64_VAL
#define rte_tel_data_add_array_uint rte_tel_data_add_array_u64
#define rte_tel_data_add_dict_uint  rte_tel_data_add_dict_u64
#endif

/*
 * The return type of a function that runs as a control thread of DPDK. No code reads the returned
 * value.
 */
#if RTE_VERSION < RTE_VERSION_NUM(23, 11, 0, 0)
#define GANTRY_CTRL_RESULT void *
#define rte_thread_create_control(thread, name, main, arg)                                         \
	rte_ctrl_thread_create(&(thread)->opaque_id, name, NULL, main, arg)
#define rte_thread_join(thread, result) pthread_join((thread).opaque_id, result)
#else
#define GANTRY_CTRL_RESULT uint32_t
#endif

#endif
