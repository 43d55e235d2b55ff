/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads JSON (RFC 8259): a report that usertools/hw.sh or hw_probe has written. The adapter reads
 * it itself, so that the one file that somebody sends is a likeness without a step between:
 * settings beside it would be a second file to send.
 */
#ifndef SOFTHCA_JSON_H
#define SOFTHCA_JSON_H

#include <stddef.h>

/*
 * Takes a value. path: the names on the way to it, with dots between them; an array adds none.
 * text: a string without its quotation marks, or a number, true, false or null as it is written.
 */
typedef void (*json_value_fn)(void *arg, const char *path, const char *text);

/*
 * Calls fn for each value in turn that is neither an object nor an array. text ends with a zero
 * byte and is changed. 0; -EINVAL: it is no JSON, and err says in which line and what is wrong. fn
 * may have been called for what is before.
 */
int json_read(char *text, json_value_fn fn, void *arg, char *err, size_t err_len);

#endif
