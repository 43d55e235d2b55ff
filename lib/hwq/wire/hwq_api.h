/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What marks a function as one that libhwq.so exports.
 */
#ifndef HWQ_API_H
#define HWQ_API_H

#define HWQ_API __attribute__((visibility("default")))

#endif
