/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines of the emulated adapter. */
#ifndef SOFTHCA_LOG_H
#define SOFTHCA_LOG_H

/*
 * Writes a line, "softhca: ...", to stderr. It is used only for errors and changes of state, never
 * for each operation.
 */
void softhca_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
