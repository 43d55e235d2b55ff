/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The promise of a release of libhwq: source compatibility, but no ABI compatibility between
 * releases. Most of hwq is inline, so programs contain the layout of its structs. The SONAME
 * contains the release's version, and a program is built again for each release (doc/abi.md).
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

#define HWQ_VERSION_MAJOR 0 /**< major version of Gantry */
#define HWQ_VERSION_MINOR 1 /**< minor version */
#define HWQ_VERSION_PATCH 0 /**< patch version */

/** A version as one number; a later version is greater. */
#define HWQ_VERSION_NUM(major, minor, patch) ((major) << 16 | (minor) << 8 | (patch))

/** The version of these headers. */
#define HWQ_VERSION HWQ_VERSION_NUM(HWQ_VERSION_MAJOR, HWQ_VERSION_MINOR, HWQ_VERSION_PATCH)

/**
 * Returns the version of the library that the process has loaded. Any thread may call this
 * function.
 *
 * @return
 *   HWQ_VERSION_NUM() of the loaded library.
 */
HWQ_API uint32_t hwq_version(void);

#endif
