/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a step in a process of its own, for a limited time. All objects of the step end with the
 * process, even if it crashes.
 */
#ifndef PROBE_CHILD_H
#define PROBE_CHILD_H

#include <stddef.h>

/* Time limit of a step in seconds. */
#define PROBE_LIMIT (softhca_active() ? 4 * CHECK_PATIENCE_MS / 1000 : 30)

/*
 * Runs step(shared) in a child. *shared: `len` bytes from probe_share(), which the child writes and
 * the caller reads. Returns 0 if the step returned. Otherwise writes the reason to *why, which has
 * why_len bytes.
 */
int probe_child(void (*step)(void *shared), void *shared, char *why, size_t why_len);

/*
 * Returns memory, all zero, that children share with the caller. Ends the program if the allocation
 * fails.
 */
void *probe_share(size_t len);

#endif
