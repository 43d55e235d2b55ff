/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The data encryption keys (DEKs) of --encrypt. Each is drawn by the kernel, serves one mode of one
 * round, and is never printed. The next one is added, and the one before is retired, while the
 * lcores work with the present one.
 *
 *     keys_renew -> (keys_take -> keys_renew)* -> keys_end
 *
 * Main lcore. Functions that return int print the error when they return -1, if no signal came.
 */
#ifndef TESTGANTRY_SIG_KEYS_H
#define TESTGANTRY_SIG_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "sig_xts.h"

struct sig_ends;

/** A DEK. */
struct sig_key {
	bool there;  /**< the engine has it */
	uint32_t id; /**< of the engine */
	uint8_t bytes[SIG_KEY_LEN];
};

/** Retires the DEK before the present one, if there is one, and adds the next one. */
int keys_renew(struct sig_ends *ends);

/** Makes the next DEK the present one, and returns it. */
const struct sig_key *keys_take(struct sig_ends *ends);

/** Retires all DEKs, and erases them here. The queues are destroyed. */
int keys_end(struct sig_ends *ends);

#endif
