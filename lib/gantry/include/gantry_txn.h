/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Transactions: data move between buffers of this process and a peer, block by block. Meanwhile the
 * device checks, generates, converts or strips the protection information of each block. A response
 * to the peer follows. It is the good response only if every signature was right, otherwise the bad
 * response.
 *
 *     gantry_profile_create()            what repeats: kinds, block sizes, what is checked
 *     gantry_queue_conf::transactions    how many may be open at once
 *     gantry_peer_conf::txn              a connection for transactions
 *          |
 *     struct gantry_txn                  buffers, transfers, tags, responses: the caller's memory
 *     gantry_submit(GANTRY_OP_TXN)       src is its address
 *          |
 *     gantry_poll()                      GANTRY_OK, or GANTRY_SIG_ERROR and gantry_txn::error
 *
 * ## Domains
 * Data pass between two domains. The domain "memory" is the buffers of gantry_txn::data in this
 * process; the domain "wire" is the transfers of gantry_txn::part. A domain has a signature behind
 * each block, or no signatures:
 *
 *     memory      wire        WRITE (to the parts)              READ (from the parts)
 *     none        none        -                                 -
 *     signature   none        checks, and strips                generates
 *     none        signature   generates                         checks, and strips
 *     signature   signature   checks, and passes or converts    checks, and passes or converts
 *
 * A signature of T10-DIF has 8 bytes: a guard of 2, an application tag of 2, a reference tag of 4,
 * all big endian. CRC64 has 8 bytes, CRC32 and CRC32C have 4. The signature lies right behind its
 * block. For memory, gantry_txn::pi may give a separate buffer for all signatures.
 *
 * ## Responses
 * On a connection with GANTRY_TXN_PIPELINED, transfers and good response are posted together, and
 * the response has a fence. The fence of a READ's response delays all WQEs behind it. So while more
 * than one other transaction is open on the connection, a READ's response is posted when its
 * transfers have ended. A wrong signature stops the connection's send queue in front of the
 * response, which the engine cancels (mlx5dv_qp_cancel_posted_send_wrs(3)).
 *
 * With GANTRY_TXN_WAIT the engine posts the response when the transfers have ended and their
 * signatures are checked. The peer receives the same responses. While a connection is stopped,
 * transactions that are submitted to it wait.
 *
 * ## Local transactions
 * With gantry_desc::peer GANTRY_PEER_OWN, the parts are memory of this process, and there are no
 * responses: signatures are generated for a buffer, checked, or stripped off. A WRITE without parts
 * checks the signatures of memory, and moves no data.
 *
 * ## Encryption
 * One of the domains may be encrypted (gantry_profile_conf::crypto), with signatures or without.
 * The device encrypts or decrypts the data that it moves:
 *
 *     encrypted    WRITE       READ
 *     memory       decrypts    encrypts
 *     wire         encrypts    decrypts
 *
 * Such a transaction has at most one part. A local transaction of this kind is a copy that encrypts
 * or decrypts: a WRITE gathers from the buffers, a READ scatters to the buffers. gantry_crypto.h
 * has the DEKs.
 *
 * ## What arrives
 * Data with a wrong signature do arrive: at the peer for a WRITE, here for a READ. Only the
 * response says whether the data are right.
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

/** The kind of a signature. */
enum gantry_sig_kind {
	GANTRY_SIG_NONE = 0,
	GANTRY_SIG_T10DIF_CRC,  /**< the guard is CRC-16 of T10 (polynomial 0x8bb7) */
	GANTRY_SIG_T10DIF_CSUM, /**< the guard is the checksum of IP (RFC 1071) */
	GANTRY_SIG_CRC32,       /**< the CRC of Ethernet, little endian */
	GANTRY_SIG_CRC32C,      /**< the CRC of Castagnoli, little endian */
	GANTRY_SIG_CRC64_XP10,
};

/** Greater than every kind of these headers. */
#define GANTRY_SIG_KIND_MAX (GANTRY_SIG_CRC64_XP10 + 1)

/*
 * Flags of a domain with T10-DIF. At most one of the two ESCAPE flags is possible. Without such a
 * flag, every block is checked.
 */
/**
 * The reference tag grows by 1 with each block. If both domains have T10-DIF and the same block
 * size, both domains or no domain must have this flag, unless gantry_profile_conf::copy_is_set.
 */
#define GANTRY_SIG_REF_REMAP (1u << 0)
/** A block whose application tag is 0xffff is not checked. */
#define GANTRY_SIG_APP_ESCAPE (1u << 1)
/** A block whose application tag is 0xffff and whose reference tag is 0xffffffff is not checked. */
#define GANTRY_SIG_APP_REF_ESCAPE (1u << 2)

/* Parts of a signature, as bits. */
#define GANTRY_SIG_GUARD   (1u << 0) /**< the guard; a CRC has only a guard */
#define GANTRY_SIG_APP_TAG (1u << 1) /**< the application tag of T10-DIF */
#define GANTRY_SIG_REF_TAG (1u << 2) /**< the reference tag of T10-DIF */
/** All three parts of a signature. */
#define GANTRY_SIG_ALL (GANTRY_SIG_GUARD | GANTRY_SIG_APP_TAG | GANTRY_SIG_REF_TAG)

/** The signature of one domain. */
struct gantry_sig_domain {
	enum gantry_sig_kind kind; /**< kind of the signature */
	/**
	 * Bytes of data in a block: 512, 520, 4048, 4096 or 4160; gantry_info::sig_block_sizes
	 * tells which are possible. Without signature: 0
	 */
	uint32_t block_size;
	uint32_t flags; /**< GANTRY_SIG_* flags of T10-DIF; otherwise 0 */
};

/** The domain that is encrypted. */
enum gantry_encrypted {
	GANTRY_ENCRYPTED_NONE = 0,
	GANTRY_ENCRYPTED_MEM,
	GANTRY_ENCRYPTED_WIRE,
};

/** Greater than every value of these headers. */
#define GANTRY_ENCRYPTED_MAX (GANTRY_ENCRYPTED_WIRE + 1)

/** Encryption of one domain by AES-XTS. The encrypted bytes of this domain are whole data units. */
struct gantry_crypto {
	enum gantry_encrypted domain; /**< the domain that is encrypted */
	/** bytes of a data unit: 512, 520, 4048, 4096 or 4160. Without encryption: 0 */
	uint32_t unit_size;
	/**
	 * For an encrypted domain with a signature. False: the signature is computed over the
	 * plaintext, and is encrypted together with its block. True: the signature is computed over
	 * the ciphertext, and lies behind the ciphertext; the other domain must then have no
	 * signature
	 */
	bool sig_over_ciphertext;
};

/**
 * Settings that many transactions share. At least one of the domains has a signature, or is
 * encrypted.
 */
struct gantry_profile_conf {
	struct gantry_sig_domain mem;  /**< signature of memory */
	struct gantry_sig_domain wire; /**< signature of the wire */
	struct gantry_crypto crypto;   /**< encryption of memory or of the wire */
	/**
	 * The parts of incoming signatures that are checked: GANTRY_SIG_GUARD, _APP_TAG, _REF_TAG.
	 * 0: nothing is checked
	 */
	uint8_t check;
	/**
	 * If copy_is_set: the parts of a signature that the device copies from one domain to the
	 * other without checking or computing them. Both domains must then have the same kind and
	 * block size.
	 *
	 * If !copy_is_set and both domains have the same kind and block size, the device copies the
	 * parts that struct gantry_txn makes equal in both domains: the guard if the seeds are
	 * equal, and each tag that is equal. Between the two kinds of T10-DIF with equal block
	 * size, the device copies only tags, because the guards differ
	 * (mlx5dv_wr_set_mkey_sig_block(3), copy_mask). A copied tag is not corrected, so check it
	 */
	uint8_t copy;
	bool copy_is_set;     /**< `copy` is used */
	uint64_t reserved[4]; /**< must be 0 */
};

#define GANTRY_MAX_PROFILES 255 /**< most profiles of one engine */

/**
 * Prepares a profile for gantry_txn::profile, for all queues of the engine. Control thread; workers
 * may run.
 *
 * @param g
 *   The engine.
 * @param conf
 *   The profile, read during the call.
 * @param id
 *   The number of the profile, 1 to GANTRY_MAX_PROFILES; written on success only.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -EINVAL
 *   No domain has a signature or is encrypted; a value is not possible; a domain with a CRC has
 *   flags; `copy`, GANTRY_SIG_REF_REMAP or sig_over_ciphertext do not fit the domains; or reserved
 *   bytes are not 0.
 * @retval -EOPNOTSUPP
 *   The device lacks this kind or block size, or does not encrypt: gantry_info::sig_kinds and
 *   gantry_info::crypto.
 * @retval -ENOSPC
 *   There are GANTRY_MAX_PROFILES profiles already: destroy one of them.
 * @retval -ENOMEM
 *   There is not enough memory.
 */
GANTRY_API int gantry_profile_create(struct gantry *g, const struct gantry_profile_conf *conf,
	uint16_t *id);

/**
 * Ends a profile. Control thread; workers may run.
 *
 * Transactions with this profile that were not posted to the hardware complete with
 * GANTRY_BAD_PROFILE. Posted transactions are carried out. A profile that is created later may get
 * the same number.
 *
 * @param g
 *   The engine.
 * @param id
 *   From gantry_profile_create().
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   There is no such profile.
 */
GANTRY_API int gantry_profile_destroy(struct gantry *g, uint16_t id);

/* ------------------------------------------------------------------ transactions */

#define GANTRY_TXN_MAX_LEN   (UINT64_C(1) << 20) /**< most bytes of data of one transaction */
#define GANTRY_TXN_MAX_DATA  16                  /**< most buffers of one transaction */
#define GANTRY_TXN_MAX_PARTS 16                  /**< most transfers of one transaction */
#define GANTRY_MAX_TXNS      1024                /**< greatest gantry_queue_conf::transactions */

/** How the connection to a peer carries transactions. */
enum gantry_txn_mode {
	GANTRY_TXN_NONE = 0, /**< no transactions: the connection carries all other operations */
	/**
	 * Response and transfers are posted together, as described above
	 * (MLX5DV_QP_CREATE_SIG_PIPELINING of mlx5dv_create_qp(3)). gantry_conf::ibv_ctx must be
	 * NULL: the engine needs the device's events.
	 */
	GANTRY_TXN_PIPELINED,
	/** The response is posted when the transfers have ended: for devices without pipelining. */
	GANTRY_TXN_WAIT,
};

/** A transfer of a transaction. */
struct gantry_txn_part {
	/**
	 * Address at the peer, under remote_key. For a local transaction: address of registered
	 * memory of this process, with GANTRY_MEM_REMOTE_WRITE for WRITE, or with
	 * GANTRY_MEM_REMOTE_READ for READ
	 */
	uint64_t addr;
	/**
	 * Bytes on the wire, with signatures if the wire has them: whole blocks of both domains,
	 * and whole data units
	 */
	uint64_t len;
	uint32_t remote_key; /**< key of the memory at the peer; for a local transaction 0 */
	uint32_t zero;       /**< must be 0 */
};

/**
 * The first values of the signatures of one domain. Not used if the domain has no signatures. The
 * tags are used for T10-DIF.
 */
struct gantry_txn_tags {
	uint32_t ref_tag; /**< reference tag of the first block */
	uint16_t app_tag; /**< application tag of every block */
	bool seed_ones;   /**< the guard is computed from all ones; otherwise from 0 */
	uint8_t zero;     /**< must be 0 */
};

/** The DEK with which the device encrypts, and the first tweak. */
struct gantry_txn_crypto {
	uint32_t dek;  /**< number from gantry_dek_add() */
	uint32_t zero; /**< must be 0 */
	/** Tweak of the first data unit, little endian. It grows by 1 with each data unit */
	uint8_t tweak[16];
};

/** A message to the peer, which uses one of the peer's receives. */
struct gantry_txn_response {
	/**
	 * Address of the message. If len is at most gantry_peer_conf::max_inline, any memory of the
	 * process is possible, because the CPU copies it into the WQE; otherwise the memory must be
	 * registered
	 */
	uint64_t addr;
	uint32_t len;  /**< bytes of the message; 0: no response */
	uint32_t zero; /**< must be 0 */
};

/**
 * A value of gantry_sig_error::block: the block is not known, because the device lost a completion.
 */
#define GANTRY_SIG_BLOCK_UNKNOWN UINT32_MAX

/** Describes a wrong signature. */
struct gantry_sig_error {
	/**
	 * The wrong part: GANTRY_SIG_GUARD, GANTRY_SIG_APP_TAG or GANTRY_SIG_REF_TAG. 0: no part
	 * was wrong
	 */
	uint8_t part;
	bool on_wire;  /**< the signature is in the domain "wire"; otherwise in memory */
	uint16_t zero; /**< always 0 */
	/**
	 * The block's number in its domain, from 0. GANTRY_SIG_BLOCK_UNKNOWN: the transaction has
	 * several parts, and the completion of the part with this block, or of the part before it,
	 * was lost
	 */
	uint32_t block;
	/** Value that the device has computed, or that struct gantry_txn gives. */
	uint64_t expected;
	uint64_t actual; /**< value that was found behind the block */
};

/**
 * A transaction. It is in the caller's memory, aligned to 8 bytes. It must not change from
 * submission until completion, and neither must the arrays to which it points.
 */
struct gantry_txn {
	uint16_t profile; /**< number of the profile, from gantry_profile_create() */
	/**
	 * GANTRY_OP_WRITE: data are written to the parts; GANTRY_OP_READ: data are read from the
	 * parts
	 */
	uint8_t op;
	uint8_t zero[3]; /**< must be 0 */
	uint8_t n_data;  /**< number of buffers, 1 to GANTRY_TXN_MAX_DATA */
	/**
	 * Number of parts, 1 to GANTRY_TXN_MAX_PARTS; with encryption 1; for a local WRITE that
	 * only checks 0
	 */
	uint8_t n_parts;
	/**
	 * The buffers, in their order. If memory has signatures and pi.len is 0, the buffers also
	 * contain the signatures, each behind its block. Each length is at least 1. The sum of the
	 * lengths is the bytes of the data and of these signatures
	 */
	const struct gantry_sge *data;
	/**
	 * A buffer for the signatures of memory, one after the other; n_data must then be 1. If
	 * pi.len is 0, the signatures are between the blocks
	 */
	struct gantry_sge pi;
	const struct gantry_txn_part *part; /**< the transfers, in their order */
	struct gantry_txn_tags mem;         /**< first values of the signatures of memory */
	struct gantry_txn_tags wire;        /**< first values of the signatures of the wire */
	struct gantry_txn_response good;    /**< sent if all signatures were right */
	struct gantry_txn_response bad;     /**< sent if a signature was wrong */
	/** Written before the completion if its status is GANTRY_SIG_ERROR. */
	struct gantry_sig_error error;
	struct gantry_txn_crypto crypto; /**< not read if the profile does not encrypt */
};

#ifdef __cplusplus
}
#endif
#endif
