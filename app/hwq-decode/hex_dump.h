/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Reads hex dumps in the formats of xxd, hexdump and od, or typed by hand.
 */
#ifndef HWQ_DECODE_HEX_DUMP_H
#define HWQ_DECODE_HEX_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** The order of bytes in a group of more than two digits. */
enum group_order {
	/** as in the format: od and hexdump print a group as a little-endian number */
	GROUP_BY_FORMAT,
	GROUP_AS_IN_MEMORY,
	GROUP_LITTLE_ENDIAN,
};

struct bytes {
	uint8_t *at; /**< allocated; the caller frees it by free() */
	size_t len, room;
};

/**
 * Reads a dump to its end. Returns false, with the error printed: the line, and the rule that it
 * breaks.
 */
bool hex_dump_read(FILE *f, enum group_order order, struct bytes *b);

#endif
