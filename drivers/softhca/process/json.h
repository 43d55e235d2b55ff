/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads JSON (RFC 8259): a report that usertools/hw.sh or hw_probe has written. The report itself
 * serves as card profile, so no second file must be made from it or sent with it.
 */
#ifndef SOFTHCA_JSON_H
#define SOFTHCA_JSON_H

#include <stddef.h>

/*
 * Takes a value. path: the names of the objects around it and its own, joined by dots; an array
 * adds no name. text: a string without its quotation marks, or a number, true, false or null as it
 * is written.
 */
typedef void (*json_value_fn)(void *arg, const char *path, const char *text);

/*
 * Calls fn for each string, number, true, false and null, in the order of the text. text ends with
 * a zero byte, and is changed. 0; -EINVAL: the text is no JSON, and err names the line and the
 * error. fn may have been called for the values before that line.
 */
int json_read(char *text, json_value_fn fn, void *arg, char *err, size_t err_len);

#endif
