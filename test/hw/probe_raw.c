/* SPDX-License-Identifier: BSD-3-Clause */
/* Assumptions about raw packets. */
#include "probe.h"

#include <stddef.h>

const struct probe probe_raw[] = {
	{"tso-header",
		"TSO needs an Ethernet header with IPv4 or IPv6 and TCP, and nothing after it; "
		"another header is an operation error.",
		"Gantry's engine sends no frames; a program that sends other headers by TSO sees another result.",
		NULL, "a card that takes another header would send its frames to the network."},
	{NULL},
};
