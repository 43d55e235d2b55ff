/* SPDX-License-Identifier: BSD-3-Clause */
/* Violations of the queue protocol by the program. */
#ifndef SOFTHCA_VIOLATION_H
#define SOFTHCA_VIOLATION_H

/* Logs a violation and counts it for softhca_violations(). Any thread may call it. */
void violation(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
