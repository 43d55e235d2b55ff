/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a release of libhwq promises: source compatibility, but no ABI across releases. Most of hwq
 * is inline, so programs contain the layout of its structs. The SONAME has the release's version,
 * and a program is built anew for each release (doc/abi.md).
 */
#ifndef HWQ_API_H
#define HWQ_API_H

#include <stdint.h>

/** Marks a function that libhwq.so exports. In C++, gives it C linkage. */
#ifdef __cplusplus
#define HWQ_API extern "C" __attribute__((visibility("default")))
#else
#define HWQ_API __attribute__((visibility("default")))
#endif

#define HWQ_VERSION_MAJOR 0 /**< the version of Gantry: major */
#define HWQ_VERSION_MINOR 1 /**< minor */
#define HWQ_VERSION_PATCH 0 /**< patch */

/** A version as one number; a later version is greater. */
#define HWQ_VERSION_NUM(major, minor, patch) ((major) << 16 | (minor) << 8 | (patch))

/** The version of these headers. */
#define HWQ_VERSION HWQ_VERSION_NUM(HWQ_VERSION_MAJOR, HWQ_VERSION_MINOR, HWQ_VERSION_PATCH)

/**
 * Returns the version of the library that the process has loaded. Any thread.
 *
 * @return
 *   HWQ_VERSION_NUM() of that version.
 */
HWQ_API uint32_t hwq_version(void);

#endif
