/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * softhca: an emulated mlx5 adapter beneath the uverbs kernel ABI, inside this process.
 *
 * Linking this library is all a program does: where the machine has no mlx5 device, libibverbs
 * finds mlx5_0 and drives it with stock libmlx5. The calls below are for tests and for programs
 * that want to run the device themselves. Settings: doc/softhca-reference.md.
 */
#ifndef SOFTHCA_H
#define SOFTHCA_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SOFTHCA_API __attribute__((visibility("default")))
#endif

/** True where this process sees the emulated adapter (and not a real one). Any thread. */
SOFTHCA_API bool softhca_active(void);

/**
 * Runs the adapter for one turn on the calling thread: serves every doorbell that rang, and what
 * those queues still have to do. (A page that has not rung for long may have to wait for a later
 * turn while others ring: call until it returns 0, and nothing is left.) Useful with
 * SOFTHCA_THREADS=0, where nothing else runs it; legal beside device threads, from any number of
 * threads.
 *
 * @return work done: WQEs executed or flushed, and doorbells taken. 0 means the adapter is idle.
 */
SOFTHCA_API unsigned int softhca_pump(void);

/**
 * How often programs of this process broke the rules of the queues so far: a WQE whose index, QP
 * number or length is wrong, a BlueFlame copy that differs from the send queue, a doorbell ahead of
 * its record. Each also makes a log line (rate-limited). Any thread.
 */
SOFTHCA_API unsigned long softhca_violations(void);

/**
 * Arms one fault, written as a line of the control file (SOFTHCA_FAULTS): doc/softhca-reference.md
 * lists them.
 *
 *     softhca_fault("complete op=3 syndrome=0x13");   the third operation from now on fails so
 *     softhca_fault("refuse call=create_qp errno=12");
 *
 * Operations are counted from this call on. Any thread.
 * @return 0; -EINVAL: malformed, or of an adapter or a port that this process does not have, and a
 *   line of the log says how; -ENOSPC: 64 are armed.
 */
SOFTHCA_API int softhca_fault(const char *line);

/** Faults that are armed and have not hit as often as they shall. Any thread. */
SOFTHCA_API unsigned int softhca_faults_left(void);

/** Disarms all faults, brings ports up and dead adapters back to life. Any thread. */
SOFTHCA_API void softhca_faults_clear(void);

#ifdef __cplusplus
}
#endif
#endif
