/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What marks a function as one that libhwq.so exports, by its name in C.
 */
#ifndef HWQ_API_H
#define HWQ_API_H

#ifdef __cplusplus
#define HWQ_API extern "C" __attribute__((visibility("default")))
#else
#define HWQ_API __attribute__((visibility("default")))
#endif

#endif
