/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a release of libgantry promises to programs that were built with an earlier release.
 *
 * ## Growth
 * The SONAME (libgantry.so.0) changes when a program must be built again. Until then:
 * - A function keeps its name, its parameters and its behaviour.
 * - A struct keeps its size, and a field keeps its offset. A new field takes the place of reserved
 *   bytes.
 * - An enum value keeps its number. New values are added behind the last value.
 * - Structs that a caller fills have `reserved` bytes, which must be 0. Otherwise the call returns
 *   -EINVAL, and a line of the log names the struct. Begin with a struct of zeros, as by `= {0}`.
 * - Structs that the library fills have `reserved` bytes, too. The library writes zeros there.
 * - 0 in a field of a configuration is the default. If 0 is also a possible value of a field, the
 *   struct has a `mask` with a bit for this field: the field is used if its bit is set. If the bit
 *   is not set and the field is not 0, the call returns -EINVAL.
 *
 * This promise does not hold for functions marked GANTRY_EXPERIMENTAL: any release may change or
 * remove them. doc/abi.md has the rules for changes of the library.
 */
#ifndef GANTRY_API_H
#define GANTRY_API_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Marks a function that libgantry.so exports. */
#define GANTRY_API __attribute__((visibility("default")))

/**
 * Marks a function that may change with any release. A program that calls such a function defines
 * GANTRY_ALLOW_EXPERIMENTAL before the first include; otherwise compilers warn.
 */
#ifdef GANTRY_ALLOW_EXPERIMENTAL
#define GANTRY_EXPERIMENTAL
#else
#define GANTRY_EXPERIMENTAL                                                                        \
	__attribute__((deprecated("it is experimental: define GANTRY_ALLOW_EXPERIMENTAL")))
#endif

/** Grows if programs that worked with the release before may fail. */
#define GANTRY_VERSION_MAJOR 0
#define GANTRY_VERSION_MINOR 1 /**< grows with new features */
#define GANTRY_VERSION_PATCH 0 /**< grows with corrections of errors */

/** A version as one number; a later version is greater. */
#define GANTRY_VERSION_NUM(major, minor, patch) ((major) << 16 | (minor) << 8 | (patch))

/** The version of these headers. */
#define GANTRY_VERSION                                                                             \
	GANTRY_VERSION_NUM(GANTRY_VERSION_MAJOR, GANTRY_VERSION_MINOR, GANTRY_VERSION_PATCH)

/**
 * Returns the version of the library that the process has loaded. Any thread, also before
 * rte_eal_init().
 *
 * @return
 *   The version, as GANTRY_VERSION_NUM() makes it.
 */
GANTRY_API uint32_t gantry_version(void);

#ifdef __cplusplus
}
#endif
#endif
