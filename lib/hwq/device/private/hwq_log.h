/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines of lib/hwq: errors and state changes, never on the data path. */
#ifndef HWQ_LOG_H
#define HWQ_LOG_H

void hwq_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Where lines go, one call for one line; NULL: stderr. */
void hwq_log_to(void (*line)(const char *text));

#endif
