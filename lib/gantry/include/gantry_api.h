/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a release of libgantry promises to programs that were built with an earlier one.
 *
 * ## Growth
 * The SONAME (libgantry.so.0) changes when a program must be built again. Until then:
 * - A function keeps its name, its parameters and what it does.
 * - A struct keeps its size, and a field its place. A new field takes the place of reserved bytes.
 * - An enum value keeps its number. New values are added behind the last one.
 * - Structs that a caller fills have `reserved` bytes, which must be 0: the call returns -EINVAL
 *   otherwise, and a line of the log names the struct. Begin with a struct of zeros, as by `= {0}`.
 * - Structs that the library fills have `reserved` bytes too. It writes zeros there.
 * - 0 in a field of a configuration is the default. Where 0 is a value of its own, the struct has a
 *   `mask`, with a bit for each such field: the field counts if its bit is set. A field that is not
 *   0 without its bit is refused with -EINVAL.
 *
 * Functions marked GANTRY_EXPERIMENTAL are outside this promise: any release may change or remove
 * them. doc/abi.md has the rules for whoever changes the library.
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
 * A function that may change with any release. A program that calls one defines
 * GANTRY_ALLOW_EXPERIMENTAL before the first include; without it, compilers warn.
 */
#ifdef GANTRY_ALLOW_EXPERIMENTAL
#define GANTRY_EXPERIMENTAL
#else
#define GANTRY_EXPERIMENTAL                                                                        \
	__attribute__((deprecated("it is experimental: define GANTRY_ALLOW_EXPERIMENTAL")))
#endif

#define GANTRY_VERSION_MAJOR 0 /**< grows if programs that worked may fail */
#define GANTRY_VERSION_MINOR 1 /**< grows with new features */
#define GANTRY_VERSION_PATCH 0 /**< grows with corrections */

/** A version as one number; a later version is greater. */
#define GANTRY_VERSION_NUM(major, minor, patch) ((major) << 16 | (minor) << 8 | (patch))

/** The version of these headers. */
#define GANTRY_VERSION                                                                             \
	GANTRY_VERSION_NUM(GANTRY_VERSION_MAJOR, GANTRY_VERSION_MINOR, GANTRY_VERSION_PATCH)

/**
 * Tells the version of the library that the process has loaded. Any thread, also before
 * rte_eal_init().
 *
 * @return
 *   GANTRY_VERSION_NUM() of that version.
 */
GANTRY_API uint32_t gantry_version(void);

#ifdef __cplusplus
}
#endif
#endif
