/* SPDX-License-Identifier: BSD-3-Clause */
/* Breaches of the queue protocol by the program. */
#ifndef SOFTHCA_VIOLATION_H
#define SOFTHCA_VIOLATION_H

/* Counts a breach for softhca_violations() and logs it. Any thread. */
void violation(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
