/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Profiles of transactions: which protection information stands behind each block of data, in memory and on the
 * wire, and what of it the device checks.
 *
 * ## Domains
 * Data pass between two domains: memory here, and the wire, which is memory at a peer. Each has a signature
 * behind each block, or none:
 *
 *     memory      wire        WRITE (to the parts)              READ (from the parts)
 *     none        none        -                                 -
 *     signature   none        checks, and strips                generates
 *     none        signature   generates                         checks, and strips
 *     signature   signature   checks, and passes or converts    checks, and passes or converts
 *
 * A signature has 8 bytes for T10-DIF (guard of 2, application tag of 2, reference tag of 4, all big endian) and
 * for CRC64, and 4 bytes for the others. It stands right behind its block.
 */
#ifndef GANTRY_TXN_H
#define GANTRY_TXN_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry_desc.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gantry;

/* ------------------------------------------------------------------ profiles */

/** What a signature is. */
enum gantry_sig_kind {
	GANTRY_SIG_NONE = 0,
	GANTRY_SIG_T10DIF_CRC,  /**< guard: CRC-16 of T10 (polynomial 0x8bb7) */
	GANTRY_SIG_T10DIF_CSUM, /**< guard: the checksum of IP (RFC 1071) */
	GANTRY_SIG_CRC32,       /**< as of Ethernet, little endian */
	GANTRY_SIG_CRC32C,      /**< Castagnoli, little endian */
	GANTRY_SIG_CRC64_XP10,
	GANTRY_SIG_KIND_MAX,
};

/*
 * Flags of a domain with T10-DIF. Without one of the two escapes, every block is checked.
 */
/** The reference tag grows by 1 with each block. */
#define GANTRY_SIG_REF_REMAP (1u << 0)
/** A block whose application tag is 0xffff is not checked. */
#define GANTRY_SIG_APP_ESCAPE (1u << 1)
/** A block whose application tag is 0xffff and whose reference tag is 0xffffffff is not checked. */
#define GANTRY_SIG_APP_REF_ESCAPE (1u << 2)

/** Parts of a signature, as bits. A CRC is a guard alone. */
#define GANTRY_SIG_GUARD   (1u << 0)
#define GANTRY_SIG_APP_TAG (1u << 1)
#define GANTRY_SIG_REF_TAG (1u << 2)
#define GANTRY_SIG_ALL     (GANTRY_SIG_GUARD | GANTRY_SIG_APP_TAG | GANTRY_SIG_REF_TAG)

/** The signature of one domain. */
struct gantry_sig_domain {
	enum gantry_sig_kind kind;
	/** Bytes of data: 512, 520, 4048, 4096 or 4160; gantry_info::sig_block_sizes. Without signature: 0 */
	uint32_t block_size;
	uint32_t flags; /**< GANTRY_SIG_*; T10-DIF only */
};

/** What many transactions have in common. At least one of the domains has a signature. */
struct gantry_profile_conf {
	struct gantry_sig_domain mem;
	struct gantry_sig_domain wire;
	/** GANTRY_SIG_GUARD, _APP_TAG, _REF_TAG: what is checked of what comes in. 0: nothing */
	uint8_t check;
	/**
	 * What is passed on as it came, right or wrong, if copy_is_set. Both domains have the same kind and block
	 * size then. Otherwise the device passes on the parts that are the same in both domains: the guard, and
	 * each tag that is alike in both domains
	 */
	uint8_t copy;
	bool copy_is_set;
};

#define GANTRY_MAX_PROFILES 255 /**< profiles of one engine */

/**
 * Prepares a profile, for all queues of the engine. Control thread; workers may run.
 * @param conf read during the call.
 * @param id 1 to GANTRY_MAX_PROFILES; written on success only.
 * @return 0; -EINVAL no domain has a signature, a value is none of those above, flags of a CRC, or `copy` for
 *   domains that differ; -EOPNOTSUPP the device has not this kind or block size: gantry_info::sig_kinds. The log
 *   says which; -ENOSPC there are GANTRY_MAX_PROFILES: destroy one; -ENOMEM.
 */
GANTRY_API int gantry_profile_create(struct gantry *g, const struct gantry_profile_conf *conf,
	uint16_t *id);

/**
 * Ends a profile. Its id may be given to the next one that is created. Control thread; workers may run.
 * @return 0; -EINVAL there is no such profile.
 */
GANTRY_API int gantry_profile_destroy(struct gantry *g, uint16_t id);

#ifdef __cplusplus
}
#endif
#endif
