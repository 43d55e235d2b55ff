/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Quotes names and values for messages. A name may contain any byte but '\0', also bytes that
 * control a terminal. So names are printed as ls(1) and cp(1) print them: 'a'$'\n''b', which a
 * shell accepts.
 *
 * A result is valid until this thread has made QUOTES further calls.
 */
#ifndef TESTGANTRY_QUOTE_H
#define TESTGANTRY_QUOTE_H

#define QUOTES 4

/** The name itself if it is printable and a shell accepts it unquoted; else the name in quotes. */
const char *quote_name(const char *name);

/** The same, but always in quotes. */
const char *quote_value(const char *value);

#endif
