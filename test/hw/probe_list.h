/* SPDX-License-Identifier: BSD-3-Clause */
/* All probes, by subject. */
#ifndef PROBE_LIST_H
#define PROBE_LIST_H

#include <stddef.h>

#include "probe.h"

/* The subjects of doc/softhca-assumptions.md. An entry without a title ends the array. */
struct probe_group {
	const char *title;
	const struct probe *probes;
};

extern const struct probe_group probe_groups[];

/*
 * Prints each subject with its assumptions: identity, sentence, why it has no probe, and what
 * depends on it.
 */
void probe_list_print(void);

/* Returns true if there is a probe with that identity. */
bool probe_list_has(const char *id);

#endif
