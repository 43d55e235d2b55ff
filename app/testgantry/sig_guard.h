/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Signatures of blocks, computed by the CPU: the signatures that the initiator sends, and those
 * that the program expects from the device.
 */
#ifndef TESTGANTRY_SIG_GUARD_H
#define TESTGANTRY_SIG_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry.h"

#define SIG_MAX_LEN 8      /**< bytes of the longest signature */
#define SIG_APP_TAG 0x4754 /**< application tag of all blocks */

/** Returns true if the signature has tags, as T10-DIF has. */
bool sig_has_tags(enum gantry_sig_kind kind);

/** Returns the bytes of a signature; 0 for GANTRY_SIG_NONE. */
uint32_t sig_len(enum gantry_sig_kind kind);

/**
 * Writes the sig_len() bytes of a block's signature. Its reference tag is the block's number. Only
 * one thread at a time may call this function.
 */
void sig_write(enum gantry_sig_kind kind, const uint8_t *data, uint32_t len, uint32_t block,
	uint8_t *out);

/** Computes the CRC of T10-DIF by ISA-L. Used to measure the time of this CRC. */
uint16_t sig_compute_crc(const uint8_t *data, uint32_t len);

#endif
