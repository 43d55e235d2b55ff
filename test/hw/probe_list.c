/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of all probes. */
#include "probe_list.h"

#include <stdio.h>
#include <string.h>

const struct probe_group probe_groups[] = {
	{"Keys and memory", probe_keys},
	{"Functions of a card", probe_functions},
	{"Connections", probe_connections},
	{"Receives", probe_receives},
	{"Completion queues", probe_cqs},
	{"Signatures", probe_signatures},
	{"Encryption", probe_encryption},
	{"Raw packets", probe_raw},
	{"Device memory", probe_device_memory},
	{"Work queues", probe_wqs},
	{"Vendor syndromes", probe_vendors},
	{"Control", probe_control},
	{NULL, NULL},
};

void
probe_list_print(void)
{
	for (const struct probe_group *g = probe_groups; g->title != NULL; g++) {
		printf("%s\n", g->title);
		for (const struct probe *p = g->probes; p->id != NULL; p++)
			printf("  %s: %s%s%s\n    %s\n", p->id, p->assumed,
				p->ask == NULL ? " No probe asks this, because " : "",
				p->ask == NULL ? p->not_asked : "", p->matters);
	}
}

bool
probe_list_has(const char *id)
{
	for (const struct probe_group *g = probe_groups; g->title != NULL; g++)
		for (const struct probe *p = g->probes; p->id != NULL; p++)
			if (strcmp(id, p->id) == 0)
				return true;
	return false;
}
