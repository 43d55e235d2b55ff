/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads JSON (RFC 8259): a report that usertools/hw.sh or hw_probe has written. A report is also a
 * card profile, so that no second file must be made from the report or sent with it.
 */
#ifndef SOFTHCA_JSON_H
#define SOFTHCA_JSON_H

#include <stddef.h>

/*
 * Takes a value. path: the names of the objects that contain the value, and the value's own name,
 * joined by dots; an array adds no name. text: a string without its quotation marks, or a number,
 * true, false or null as in the file.
 */
typedef void (*json_value_fn)(void *arg, const char *path, const char *text);

/*
 * Calls fn for each string, number, true, false and null, in the order of the text. text must end
 * with a zero byte, and is changed. Returns 0, or -EINVAL if the text is no JSON: then err has the
 * line and the error. fn may have been called for the values before that line.
 */
int json_read(char *text, json_value_fn fn, void *arg, char *err, size_t err_len);

#endif
