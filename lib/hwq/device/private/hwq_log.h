/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines of lib/hwq: for errors and state changes, never on the data path. */
#ifndef HWQ_LOG_H
#define HWQ_LOG_H

void hwq_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Sets the function that receives each line; NULL: lines go to stderr. */
void hwq_log_to(void (*line)(const char *text));

#endif
