/* SPDX-License-Identifier: BSD-3-Clause */
/* All probes, by subject. */
#ifndef PROBE_LIST_H
#define PROBE_LIST_H

#include <stddef.h>

#include "probe.h"

/* The subjects of doc/softhca-assumptions.md. The last one has no title. */
struct probe_group {
	const char *title;
	const struct probe *probes;
};

extern const struct probe_group probe_groups[];

/* Prints each subject, identity and sentence, why some have no probe, and what depends on each. */
void probe_list_print(void);

/* True if there is a probe of that identity. */
bool probe_list_has(const char *id);

#endif
