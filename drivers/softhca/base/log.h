/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines of the emulated adapter. */
#ifndef SOFTHCA_LOG_H
#define SOFTHCA_LOG_H

/*
 * Writes one line, "softhca: ...", to stderr. Only for errors and changes of state, never for each
 * operation.
 */
void softhca_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
