/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The greeting of two processes: each sends the settings that must be equal in both.
 */
#ifndef TESTGANTRY_PAIR_HELLO_H
#define TESTGANTRY_PAIR_HELLO_H

#include "pair_talk.h"

#define HELLO_LEN 1024 /**< bytes of the longest text of settings, and a null byte */

/**
 * Sends the settings, and compares them with those of the other process. mine: for each option a
 * line "NAME VALUE\n". @return 0, or -1 with the error printed, which names the option.
 */
int hello(struct talk *t, const char *mine);

#endif
