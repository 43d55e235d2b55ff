/* SPDX-License-Identifier: BSD-3-Clause */
/* A step runs in a process of its own, for a limited time: whatever it leaves, and however it ends, is gone with it. */
#ifndef PROBE_CHILD_H
#define PROBE_CHILD_H

#include <stddef.h>

/* Seconds that a step may take. */
#define PROBE_LIMIT (softhca_active() ? 4 * CHECK_PATIENCE_MS / 1000 : 30)

/*
 * Runs step(shared) in a child. *shared is `len` bytes that the child writes and the caller reads; the caller
 * has made them with probe_share(). Returns 0 if the step returned. Otherwise *why, of why_len bytes, says why not.
 */
int probe_child(void (*step)(void *shared), void *shared, char *why, size_t why_len);

/* Memory, full of zeros, that children share with the caller. Ends the program if there is none. */
void *probe_share(size_t len);

#endif
