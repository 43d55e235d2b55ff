/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The data encryption keys (DEKs) of --encrypt. Each DEK comes from the kernel's random generator.
 * A DEK is used in one mode of one round, and is never printed. While the lcores use the present
 * DEK, the next DEK is added and the previous DEK is retired.
 *
 *     keys_renew -> (keys_take -> keys_renew)* -> keys_end
 *
 * Only the main lcore calls these functions. Functions that return int print the error when they
 * return -1, unless a signal came.
 */
#ifndef TESTGANTRY_SIG_KEYS_H
#define TESTGANTRY_SIG_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "sig_xts.h"

struct sig_ends;

/** A DEK. */
struct sig_key {
	bool there;  /**< the engine has the DEK */
	uint32_t id; /**< the engine's number for the DEK */
	uint8_t bytes[SIG_KEY_LEN];
};

/** Retires the previous DEK, if there is one, and adds the next DEK. */
int keys_renew(struct sig_ends *ends);

/** Makes the next DEK the present DEK, and returns it. */
const struct sig_key *keys_take(struct sig_ends *ends);

/** Retires all DEKs, and erases them in this process. The queues must be destroyed. */
int keys_end(struct sig_ends *ends);

#endif
