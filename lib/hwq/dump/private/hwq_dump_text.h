/* SPDX-License-Identifier: BSD-3-Clause */
/* The text in the caller's buffer. All files of this folder append to it. */
#ifndef HWQ_DUMP_TEXT_H
#define HWQ_DUMP_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Counts all characters, as snprintf(3) does, and stores as many as the buffer holds. */
struct text {
	char *at;
	size_t room, len;
};

void hwq_text_add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Writes one DS in hex. */
void hwq_dump_hex(struct text *t, const uint8_t *at);

#endif
