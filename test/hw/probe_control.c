/* SPDX-License-Identifier: BSD-3-Clause */
/* Assumptions about firmware commands. */
#include "probe.h"

#include <stddef.h>

const struct probe probe_control[] = {
	{"refused-syndrome",
		"If a firmware command is refused because of a field, and no report of a card "
		"shows this refusal, the syndrome is 0x10000 plus the bit offset of the field.",
		"The syndrome of a refused command is for people who read logs; a program must judge by errno.",
		NULL, "the numbers are a card's own, and change with its firmware."},
	{NULL},
};
