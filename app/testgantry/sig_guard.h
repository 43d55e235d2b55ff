/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Signatures of blocks, computed by the CPU: the initiator's, and those that the judge expects of
 * the device.
 */
#ifndef TESTGANTRY_SIG_GUARD_H
#define TESTGANTRY_SIG_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry.h"

#define SIG_MAX_LEN 8      /**< bytes of the longest signature */
#define SIG_APP_TAG 0x4754 /**< of all blocks */

/** The signature has tags: T10-DIF. */
bool sig_has_tags(enum gantry_sig_kind kind);

/** Bytes of a signature; 0 of GANTRY_SIG_NONE. */
uint32_t sig_len(enum gantry_sig_kind kind);

/**
 * Writes the sig_len() bytes that must stand behind a block. Its reference tag is its number. One
 * thread at a time.
 */
void sig_write(enum gantry_sig_kind kind, const uint8_t *data, uint32_t len, uint32_t block,
	uint8_t *out);

/** Computes the CRC of T10-DIF by ISA-L, to see how long that takes. */
uint16_t sig_compute_crc(const uint8_t *data, uint32_t len);

#endif
