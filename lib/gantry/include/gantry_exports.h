/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Memory that functions of one card share: copies between a host and its BlueField, or between two
 * functions of a host. doc/export.md explains it, also for people who know DOCA DMA.
 *
 *     owner's process                              importer's process, another function of the card
 *     gantry_mem_register(g, addr, len, ..., &mem)
 *     gantry_mem_export(mem, 0, &record)
 *          the 128 bytes of the record  -------->  gantry_mem_import(g, &record, 0, &mem, &at)
 *                                                    COPY, WRITE, ... with addresses from `at` on
 *     gantry_mem_unregister(mem, ...)              gantry_mem_unregister(mem, ...)
 *
 * ## Secrets
 * A record is a secret. Each process that uses a function of the card and knows the record can use
 * the memory, until the owner ends its registration. So send records by a channel that nobody else
 * can read, do not log them, and erase copies that are not needed any more. Nothing tells an owner
 * who has imported its memory.
 *
 * ## Order
 * When the importer has the completion of a copy, all bytes of the copy are in the owner's memory.
 * The owner learns that from the importer, for example by a message. A word of the memory that the
 * owner polls may change before earlier bytes have arrived.
 *
 * ## The end
 * Either side may end its registration first. If it is the owner: when gantry_mem_unregister() has
 * returned 0, no byte of the memory is read or written for an importer any more. Descriptors of
 * importers then complete with GANTRY_LOCAL_ERROR, their queue sets its connection up again, and
 * descriptors with other memory go on. The same happens when the owner's process ends.
 */
#ifndef GANTRY_EXPORTS_H
#define GANTRY_EXPORTS_H

#include <stdint.h>

#include "gantry_api.h"
#include "gantry_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GANTRY_SHARE_EXPORT (1u << 0) /**< gantry_mem_export() is possible */
#define GANTRY_SHARE_IMPORT (1u << 1) /**< gantry_mem_import() is possible */

#define GANTRY_RECORD_VERSION 1 /**< version of the records that this library writes and reads */
/** Bit of gantry_mem_record::rights: importers may write the memory. */
#define GANTRY_RECORD_WRITE (1u << 0)

/**
 * What an importer needs to know of an exported region. A program sends these 128 bytes as they
 * are. All numbers are big endian. Only the library writes a record; each change of a bit makes it
 * invalid.
 */
struct gantry_mem_record {
	uint8_t magic[8];       /**< "gantryMR" */
	uint32_t version;       /**< GANTRY_RECORD_VERSION */
	uint32_t crc;           /**< CRC-32C of all other bytes */
	uint64_t system_guid;   /**< the card: its system image GUID */
	uint64_t addr;          /**< address of the first byte in the owner's process */
	uint64_t len;           /**< bytes */
	uint32_t key;           /**< the owner's key */
	uint16_t vhca_id;       /**< number of the owner's function on the card */
	uint16_t rights;        /**< bits GANTRY_RECORD_* */
	uint8_t access_key[32]; /**< random bytes, other ones for each export: the secret */
	uint8_t reserved[48];   /**< 0 */
};

/**
 * Lets other functions of the card use registered memory. Control thread; workers may run.
 *
 * Each call makes one more key and draws another access key (getrandom(2)). All of them end with
 * gantry_mem_unregister().
 *
 * @param mem
 *   A registration of one region of host memory, by gantry_mem_register(), or by
 *   gantry_mem_register_mempool() if the pool is one region.
 * @param flags
 *   GANTRY_MEM_READ_ONLY: importers may only read the memory. 0: they may read and write it.
 * @param record
 *   Written on success only. It is a secret.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -EINVAL
 *   There is another flag.
 * @retval -EPERM
 *   The memory was registered with GANTRY_MEM_READ_ONLY, and flags lacks it.
 * @retval -EREMOTE
 *   The memory is imported: only its owner can export it.
 * @retval -EMEDIUMTYPE
 *   The memory is of another kind: device memory, all memory of the process or of EAL, a pool of
 *   several regions, or memory with GANTRY_MEM_RELAXED.
 * @retval -EOPNOTSUPP
 *   The device does not let other functions use its keys: gantry_info::shares.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The error of getrandom(2), or of the command that the device refused.
 */
GANTRY_API int gantry_mem_export(struct gantry_mem *mem, unsigned int flags,
	struct gantry_mem_record *record);

/**
 * Imports memory of another function of the card. Control thread; workers may run.
 *
 * The memory gets addresses of its own, from *addr on, as many as the region is long. They are
 * reserved and not mapped: a load or store there ends the process by SIGSEGV. Descriptors name
 * these addresses as those of any region, in: COPY, COPY_SG and FILL by MMO or RDMA, at either end
 * or at both; the plain side of GATHER and SCATTER; the local side of WRITE, WRITE_IMM, READ and
 * SEND. GANTRY_DESC_BY_CPU is refused with GANTRY_BAD_CARRIER; a policy that chooses the CPU is
 * ignored. Layouts, transactions and receives refuse the memory with GANTRY_NOT_REGISTERED, because
 * no card has shown yet that it can do this.
 *
 * @param g
 *   The engine.
 * @param record
 *   Read during the call.
 * @param flags
 *   GANTRY_MEM_READ_ONLY: a descriptor with this memory as its destination is refused
 *   (GANTRY_READ_ONLY). 0: read and write.
 * @param mem
 *   The registration; written on success only. gantry_mem_unregister() ends it.
 * @param addr
 *   The address of the first byte; written on success only.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -EINVAL
 *   There is another flag.
 * @retval -EBADMSG
 *   It is no record, or a bit of it was changed.
 * @retval -EPROTONOSUPPORT
 *   The record has another version.
 * @retval -EXDEV
 *   The record is of another card.
 * @retval -EPERM
 *   The record allows reading only, and flags lacks GANTRY_MEM_READ_ONLY.
 * @retval -EACCES
 *   The device refuses the alias: the owner has ended its registration, or the record does not
 *   belong to it.
 * @retval -ESTALE
 *   The device made the alias, and says that it is not valid.
 * @retval -EOPNOTSUPP
 *   The device cannot use keys of other functions: gantry_info::shares.
 * @retval -ENOMEM
 *   There is not enough memory, or not enough address space.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The command that the device refused.
 */
GANTRY_API int gantry_mem_import(struct gantry *g, const struct gantry_mem_record *record,
	unsigned int flags, struct gantry_mem **mem, void **addr);

#ifdef __cplusplus
}
#endif
#endif
