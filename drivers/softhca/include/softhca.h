/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * softhca: an emulated mlx5 adapter beneath the uverbs kernel ABI, inside this process.
 *
 * A program only has to link this library. If the machine has no mlx5 device, libibverbs finds
 * mlx5_0 and drives it with stock libmlx5. The calls below are for tests, and for programs that run
 * the device themselves. Settings: softhca_settings_print().
 */
#ifndef SOFTHCA_H
#define SOFTHCA_H

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SOFTHCA_API __attribute__((visibility("default")))
#endif

/**
 * True if this process has the emulated adapter, and no real mlx5 device is visible. Any thread may
 * call it.
 */
SOFTHCA_API bool softhca_active(void);

/**
 * Runs the adapter for one turn on the calling thread: takes doorbells, and runs the WQEs of their
 * queues. While some pages ring often, a page that has not rung for a long time may have to wait
 * for a later turn: call this function until it returns 0. With SOFTHCA_THREADS=0 only this
 * function runs the adapter. Any number of threads may call it, also if there are device threads.
 *
 * @return the number of WQEs executed or flushed, and of doorbells taken. 0: the adapter is idle.
 */
SOFTHCA_API unsigned int softhca_pump(void);

/**
 * Returns how often this process has violated the rules of queues. Violations are a WQE with a
 * wrong index, QP number or length, a BlueFlame copy that differs from the WQE in the send queue,
 * and a doorbell ahead of its doorbell record. Each violation is also logged (rate-limited). Any
 * thread may call it.
 */
SOFTHCA_API unsigned long softhca_violations(void);

/**
 * Arms one fault. line: a line as in the control file (SOFTHCA_FAULTS); softhca_faults_print()
 * lists the faults.
 *
 *     softhca_fault("complete op=3 syndrome=0x13");   the third operation from now on fails
 *     softhca_fault("refuse call=create_qp errno=12");
 *
 * Operations are counted from this call on. Any thread may call it.
 * @return 0; -EINVAL if the line is malformed, or has an adapter or port that this process does not
 *   have: the reason is logged; or -ENOSPC if 64 faults are already armed.
 */
SOFTHCA_API int softhca_fault(const char *line);

/**
 * Returns the number of armed faults that still apply to further operations. Any thread may call
 * it.
 */
SOFTHCA_API unsigned int softhca_faults_left(void);

/**
 * Writes all settings with their meanings, defaults and allowed values. Each line is a comment or a
 * setting that is commented out, so the text can become a file for SOFTHCA_CONFIG. The command
 * `softhca --list-settings` prints this text. Any thread may call it.
 */
SOFTHCA_API void softhca_settings_print(FILE *to);

/**
 * Writes all faults: the lines that a control file (SOFTHCA_FAULTS) may have, and the names of
 * calls that the fault `refuse` takes. The command `softhca --list-faults` prints this text. Any
 * thread may call it.
 */
SOFTHCA_API void softhca_faults_print(FILE *to);

/** Disarms all faults, brings all ports up, and revives dead adapters. Any thread may call it. */
SOFTHCA_API void softhca_faults_clear(void);

#ifdef __cplusplus
}
#endif
#endif
