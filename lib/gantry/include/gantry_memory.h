/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Memory that descriptors may use: registered memory, memory on demand, and memory of the device.
 */
#ifndef GANTRY_MEMORY_H
#define GANTRY_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "gantry_api.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rte_mempool;
struct gantry;
struct gantry_mem;

#define GANTRY_MEM_REMOTE_WRITE (1u << 0) /**< peers may WRITE to this memory */
#define GANTRY_MEM_REMOTE_READ  (1u << 1) /**< peers may READ this memory */
/** Peers may carry out COMPARE_SWAP and FETCH_ADD on this memory. */
#define GANTRY_MEM_REMOTE_ATOMIC (1u << 2)
/**
 * For mappings without PROT_WRITE. Descriptors of this process and peers may read the memory. A
 * descriptor with this memory as its destination is refused (GANTRY_READ_ONLY).
 */
#define GANTRY_MEM_READ_ONLY (1u << 3)
/**
 * The device's writes may arrive in another order (IBV_ACCESS_RELAXED_ORDERING of ibv_reg_mr(3)),
 * which is faster on some machines. Use this flag for data whose arrival is reported by a
 * completion. Never use it for memory that a program polls, or for signatures.
 */
#define GANTRY_MEM_RELAXED (1u << 4)

/**
 * Registers the region [addr, addr + len) for all queues of the engine, and pins its pages. Control
 * thread; workers may run.
 *
 * Descriptors may use the memory when the call has returned. The caller keeps it mapped until
 * gantry_mem_unregister() has returned 0.
 *
 * If the memory maps a file, do not make the file shorter meanwhile: the device keeps the pages,
 * and data that it writes to them are lost; a copy by the CPU ends the process by SIGBUS.
 *
 * One registration of many buffers costs less than one registration for each buffer: at its
 * creation, at each look-up, and at its end. So register a pool as a whole. See also
 * gantry_before_eal().
 *
 * If RDMA may carry copies (gantry_info::carriers), the device opens every region to remote writes:
 * each peer that knows the remote key can write to the region, also without
 * GANTRY_MEM_REMOTE_WRITE.
 *
 * @param g
 *   The engine.
 * @param addr
 *   The first byte.
 * @param len
 *   Bytes.
 * @param flags
 *   GANTRY_MEM_*. 0: no peer may read or write the memory.
 * @param mem
 *   The registration; written on success only. gantry_mem_unregister() frees it.
 * @return
 *   0 on success. Otherwise a line of the log names the remedy:
 * @retval -EINVAL
 *   addr is NULL, len is 0, or addr + len overflows; a flag is unknown; READ_ONLY is combined with
 *   REMOTE_WRITE or REMOTE_ATOMIC, or RELAXED with REMOTE_ATOMIC.
 * @retval -EEXIST
 *   The region overlaps a registered region.
 * @retval -EFAULT
 *   A page is not mapped, or is beyond the end of its file.
 * @retval -EACCES
 *   A page is mapped without the right to read it, or to write it: perhaps use READ_ONLY.
 * @retval -EOPNOTSUPP
 *   The kernel does not pin such a mapping: a shared mapping of a file on a disk without READ_ONLY,
 *   or memory of a device.
 * @retval -EPERM
 *   RLIMIT_MEMLOCK is too low.
 * @retval -EIO
 *   The IOMMU cannot map the memory, or the device has failed.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The verbs call that failed.
 */
GANTRY_API int gantry_mem_register(struct gantry *g, void *addr, size_t len, unsigned int flags,
	struct gantry_mem **mem);

/**
 * Registers the memory of a mempool as gantry_mem_register() does. Control thread.
 *
 * Chunks that follow each other without a gap get one key. Memory that is registered already keeps
 * its registration. Call again when the pool has grown: *mem is the same registration, and covers
 * the new chunks. End the registration before the pool is freed. If the memory of a pool has
 * several keys, gantry_mem_remote_key() returns one of them.
 *
 * @param g
 *   The engine.
 * @param mp
 *   The mempool, with its memory.
 * @param flags
 *   As for gantry_mem_register().
 * @param mem
 *   The registration; written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   The pool has no memory, or an earlier call for it had other flags.
 * @retval -errno
 *   An error of gantry_mem_register(): call again.
 */
GANTRY_API int gantry_mem_register_mempool(struct gantry *g, struct rte_mempool *mp,
	unsigned int flags, struct gantry_mem **mem);

/**
 * Registers all memory of EAL, and follows it as it grows and shrinks. Control thread; workers may
 * run.
 *
 * EAL's memory is the memory of rte_malloc(), of mempools, and of heaps of external memory. Memory
 * without a gap gets one key. Memory that is registered already keeps its registration. To let
 * peers reach a part of this memory, register that part before this call. Call this function again
 * to retry memory that the device refused, and to cover memory whose own registration has ended.
 *
 * EAL's memory may grow on any thread. This thread waits until the device has registered the new
 * memory, together with the memory in front of it and behind it. If that is too slow, give EAL
 * enough memory at its start (-m). If the device refuses, the log says why, and descriptors that
 * use the new memory complete with GANTRY_NOT_REGISTERED.
 *
 * When EAL gives memory back to the system, queues may have WQEs that use this memory. The device
 * then keeps the pages. When these WQEs are done, the pages are given up at the next change of
 * EAL's memory, the next call of this function, or gantry_mem_unregister().
 *
 * @param g
 *   The engine.
 * @param flags
 *   GANTRY_MEM_RELAXED or 0.
 * @param mem
 *   The registration; written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   The flags are not possible, or differ from those of an earlier call.
 * @retval -errno
 *   An error of gantry_mem_register(): call again.
 */
GANTRY_API int gantry_mem_register_eal(struct gantry *g, unsigned int flags,
	struct gantry_mem **mem);

/**
 * Lets COPY, COPY_SG and FILL use all memory of the process. Control thread; workers may run.
 *
 * The call makes one key for all memory, on demand (implicit ODP, ibv_reg_mr(3)). The device uses
 * this key for memory that no other registration covers in one piece. Nothing is pinned, and memory
 * may be mapped and unmapped at any time. If a page is not mapped, or must not be written, the
 * descriptor completes with GANTRY_LOCAL_ERROR, and some of its bytes may have moved; other
 * descriptors are not affected.
 *
 * Such copies are slower, so register memory that is used often. Only RDMA carries such copies, and
 * neither the CPU nor MMO (gantry_desc.h, GANTRY_DESC_BY_CPU). So every peer that knows the key can
 * read and write all memory of the process. The engine tells the key only by
 * gantry_mem_remote_key(). Operations other than these three complete with GANTRY_NOT_REGISTERED as
 * before.
 *
 * @param g
 *   The engine.
 * @param mem
 *   The registration; written on success only. gantry_mem_unregister() ends it.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -EOPNOTSUPP
 *   The device has no such key: gantry_info::any_memory.
 * @retval -EEXIST
 *   All memory is registered already.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The verbs call that failed.
 */
GANTRY_API int gantry_mem_register_any(struct gantry *g, struct gantry_mem **mem);

/**
 * Allocates memory of the device itself, all zero, and registers it (ibv_alloc_dm(3)). Control
 * thread; workers may run.
 *
 * Descriptors of every operation may use this memory, as any region, by the addresses from *addr
 * on. For peers its first byte has address 0: gantry_mem_remote_addr(). Only RDMA copies it, and
 * neither the CPU nor MMO (gantry_desc.h, GANTRY_DESC_BY_CPU). So every peer that knows the key can
 * read and write the memory, also without REMOTE_WRITE and REMOTE_READ.
 *
 * The CPU may use the memory by aligned accesses of 4 or 8 bytes, which are slow. So messages from
 * this memory are never inline. gantry_mem_unregister() frees the memory; its addresses are then
 * not mapped any more.
 *
 * @param g
 *   The engine.
 * @param len
 *   Bytes.
 * @param flags
 *   GANTRY_MEM_REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC or 0.
 * @param mem
 *   The registration; written on success only.
 * @param addr
 *   The address of the first byte; written on success only.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -EINVAL
 *   len is 0, or there is another flag.
 * @retval -EOPNOTSUPP
 *   The device has no such memory.
 * @retval -ENOMEM
 *   The device has less memory free, or len is more than gantry_info::max_dm_len.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The verbs call that failed.
 */
GANTRY_API int gantry_mem_alloc_dm(struct gantry *g, size_t len, unsigned int flags,
	struct gantry_mem **mem, void **addr);

/**
 * Ends a registration, and frees mem and its device memory. Control thread; workers and owners of
 * queues may work meanwhile.
 *
 * From then on, descriptors that use the memory complete with GANTRY_NOT_REGISTERED. The call waits
 * until every WQE that may use the memory has completed. Peers lose their access when the call
 * returns 0.
 *
 * The call waits for each queue that has descriptors in flight or posted receives, or that sets a
 * failed connection up again. The owner of such a queue must poll the queue meanwhile. If an owner
 * itself makes this call, it first polls, or calls gantry_rest(). Posted receives may wait for
 * ever, so close their peers first.
 *
 * If RDMAV_ALLOW_DISASSOC_DESTROY (ibv_open_device(3)) or MLX4_DEVICE_FATAL_CLEANUP is in the
 * environment, libibverbs returns success instead of EIO, in this call and in every call that
 * destroys an object. DPDK's mlx4 plug-in sets MLX4_DEVICE_FATAL_CLEANUP. To get EIO, call
 * unsetenv(3) for both variables between rte_eal_init() and the first gantry_create().
 *
 * @param mem
 *   The registration.
 * @param timeout_ms
 *   The most milliseconds that the call waits; 0: it does not wait.
 * @return
 *   0: mem is freed. After an error call again:
 * @retval -ETIMEDOUT
 *   A queue still has earlier WQEs.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The device refuses. It may still use the memory, so keep the memory mapped.
 */
GANTRY_API int gantry_mem_unregister(struct gantry_mem *mem, uint32_t timeout_ms);

/**
 * Returns the key that a peer puts in gantry_desc::remote_key to reach this memory. Any thread.
 *
 * @param mem
 *   The registration.
 * @return
 *   The key.
 */
GANTRY_API uint32_t gantry_mem_remote_key(const struct gantry_mem *mem);

/**
 * Returns the address that a byte of this memory has in descriptors of a peer. Any thread.
 *
 * @param mem
 *   The registration.
 * @param addr
 *   The address of the byte in this process.
 * @return
 *   addr itself. For device memory, the distance of the byte from the first byte, which may be 0.
 */
GANTRY_API uint64_t gantry_mem_remote_addr(const struct gantry_mem *mem, const void *addr);

#ifdef __cplusplus
}
#endif
#endif
