/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Quotes names and values for messages. A name may contain any byte but '\0', including bytes that
 * control a terminal. So names are printed in the form of ls(1) and cp(1), as 'a'$'\n''b', which a
 * shell accepts.
 *
 * A result stays valid until the same thread has made QUOTES further calls.
 */
#ifndef TESTGANTRY_QUOTE_H
#define TESTGANTRY_QUOTE_H

#define QUOTES 4

/**
 * Returns the name itself if it is printable and a shell accepts it unquoted; otherwise the name in
 * quotes.
 */
const char *quote_name(const char *name);

/** As quote_name(), but always in quotes. */
const char *quote_value(const char *value);

#endif
