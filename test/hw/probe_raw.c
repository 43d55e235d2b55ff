/* SPDX-License-Identifier: BSD-3-Clause */
/* Assumptions about raw packets. */
#include "probe.h"

#include <stddef.h>

const struct probe probe_raw[] = {
	{"tso-header",
		"TSO needs the headers of Ethernet, of IPv4 or IPv6, and of TCP, with nothing "
		"after them. With other headers, the work request completes with an operation "
		"error.",
		"Gantry's engine sends no frames; a program that sends other headers by TSO sees another result.",
		NULL, "a card that takes another header would send its frames to the network."},
	{NULL},
};
