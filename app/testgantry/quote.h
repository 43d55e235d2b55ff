/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Names and values in messages. A name may have any byte but '\0', and a terminal obeys some of
 * them. So names are printed as ls(1) and cp(1) print them: 'a'$'\n''b', which a shell takes, too.
 *
 * Each result stays until this thread has asked for QUOTES others.
 */
#ifndef TESTGANTRY_QUOTE_H
#define TESTGANTRY_QUOTE_H

#define QUOTES 4

/** The name itself if all of it can be shown and a shell takes it as it is, else in quotes. */
const char *quote_name(const char *name);

/** The same, always in quotes. */
const char *quote_value(const char *value);

#endif
