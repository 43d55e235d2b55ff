/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Bytes from hex dumps as xxd, hexdump and od print them, or as people type them.
 */
#ifndef HWQ_DECODE_HEX_DUMP_H
#define HWQ_DECODE_HEX_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** The order of bytes in a group of more than two digits. */
enum group_order {
	/** as in the format: groups of od and hexdump are numbers of a little-endian machine */
	GROUP_BY_FORMAT,
	GROUP_AS_IN_MEMORY,
	GROUP_LITTLE_ENDIAN,
};

struct bytes {
	uint8_t *at; /**< freed by free() */
	size_t len, room;
};

/** Reads a dump to its end. False: an error was printed, with the line and the rule. */
bool hex_dump_read(FILE *f, enum group_order order, struct bytes *b);

#endif
