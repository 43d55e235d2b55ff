/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers in settings and in lines that describe faults. */
#ifndef SOFTHCA_NUMBER_H
#define SOFTHCA_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads a number: decimal digits, or 0x and hexadecimal digits, and no other characters before or
 * after it. Returns false if text is not such a number, or if the number needs more than 64 bits.
 * Then *value is undefined.
 */
bool number_parse(const char *text, uint64_t *value);

/* Reads pairs of hexadecimal digits into at most `max` bytes. Returns the number of bytes. */
size_t hex_parse(const char *text, uint8_t *out, size_t max);

#endif
