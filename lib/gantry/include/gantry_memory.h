/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Memory that descriptors may name: registered, on demand, or of the device itself.
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

#define GANTRY_MEM_REMOTE_WRITE (1u << 0) /**< peers may WRITE here */
#define GANTRY_MEM_REMOTE_READ  (1u << 1) /**< peers may READ here */
/** Peers may do COMPARE_SWAP and FETCH_ADD here. */
#define GANTRY_MEM_REMOTE_ATOMIC (1u << 2)
/**
 * It is only read, by descriptors of this process and by peers: for mappings without PROT_WRITE. As a
 * destination it is refused (GANTRY_READ_ONLY).
 */
#define GANTRY_MEM_READ_ONLY (1u << 3)
/**
 * The device's writes may arrive in another order (IBV_ACCESS_RELAXED_ORDERING of ibv_reg_mr(3)), which
 * is faster on some machines. Only for data whose arrival is told by a completion: never for memory
 * that a program polls, nor for signatures.
 */
#define GANTRY_MEM_RELAXED (1u << 4)

/**
 * Registers the region [addr, addr + len) for all queues of the engine, and pins its pages. The
 * memory stays the caller's, who keeps it mapped until gantry_mem_unregister(), and keeps a file behind
 * it as long as it is: of a file that was made shorter, the device still has the pages, and what it
 * writes there is lost; a copy by the CPU ends the process by SIGBUS. Descriptors may name the memory
 * when the call has returned.
 * One registration for many buffers costs less than one for each, to make, to look up and to end: register a pool
 * as a whole. See gantry_before_eal(), too.
 * Where copies may go by RDMA (gantry_info::carriers), the device opens every region to remote writes.
 * Any peer that knows the remote key can then write there, also without GANTRY_MEM_REMOTE_WRITE.
 * Control thread; workers may run.
 * @param flags GANTRY_MEM_*, or 0: no peer may read or write it.
 * @return 0; -EINVAL addr is NULL, len is 0, addr + len overflows, an unknown flag, READ_ONLY with
 *   REMOTE_WRITE or REMOTE_ATOMIC, or RELAXED with REMOTE_ATOMIC; -EEXIST it overlaps a registered
 *   region; -EFAULT a page is not mapped, or is beyond the end of its file; -EACCES a page is mapped
 *   without the right to read it, or to write it: perhaps use READ_ONLY; -EOPNOTSUPP the kernel does not
 *   pin such a mapping: a shared one of a file on a disk, without READ_ONLY, or memory of a device;
 *   -EPERM RLIMIT_MEMLOCK is too low; -EIO the IOMMU cannot map it, or the device has failed; -ENOMEM; or
 *   the negative errno of the verbs call that failed. The log names the remedy.
 */
GANTRY_API int gantry_mem_register(struct gantry *g, void *addr, size_t len, unsigned int flags,
	struct gantry_mem **mem);

/**
 * Registers the memory of a mempool as gantry_mem_register() does. Chunks that touch each other get
 * one key; what is registered already is left as it is. A pool that has grown: call again, and *mem is
 * the same registration, with what is new. End it before the pool is freed. Of a pool whose memory has
 * several keys, gantry_mem_remote_key() returns one of them. Control thread.
 * @return 0; -EINVAL the pool has no memory, or other flags than before; or an error of
 *   gantry_mem_register(): call again.
 */
GANTRY_API int gantry_mem_register_mempool(struct gantry *g, struct rte_mempool *mp,
	unsigned int flags, struct gantry_mem **mem);

/**
 * Registers all memory of EAL: of its heaps, hence of rte_malloc(), of mempools and of heaps of
 * external memory. Follows it as it grows and shrinks. Memory without a gap gets one key. What is
 * registered already is left as it is; to let peers reach memory of EAL, register that part on its own,
 * before this call. Calling again registers what has failed since, and what was left to registrations
 * that have ended. Control thread; workers may run.
 *
 * EAL changes its memory on any thread, and waits meanwhile until the device has registered what is
 * new, together with what touches it: give EAL enough memory at its start (-m) where that is too slow.
 * If it fails, the log says why; descriptors that name new memory complete with GANTRY_NOT_REGISTERED.
 * From memory that EAL gives back, the device still keeps the pages as long as a queue has WQEs from
 * before, which may name them: until the next change, the next such call, or gantry_mem_unregister().
 * @param flags GANTRY_MEM_RELAXED or 0.
 * @return 0; -EINVAL other flags, or other ones than before; or an error of gantry_mem_register(): call
 *   again.
 */
GANTRY_API int gantry_mem_register_eal(struct gantry *g, unsigned int flags,
	struct gantry_mem **mem);

/**
 * Lets COPY, COPY_SG and FILL name all memory of the process: what no other registration covers in one piece, the device
 * reaches by one key for everything, on demand (implicit ODP, ibv_reg_mr(3)). Nothing is pinned, and memory may be
 * mapped and unmapped at any time. If the device finds a page not mapped, or not to be written, the descriptor completes
 * with GANTRY_LOCAL_ERROR, and some of its bytes may have moved; others are not affected. Such copies are
 * slower: memory that is used often is better registered. RDMA carries them, never the CPU nor MMO:
 * gantry_desc.h, GANTRY_DESC_BY_CPU. So every peer that knows the key can read and write all memory of the process;
 * nothing tells it to anybody but gantry_mem_remote_key(). Other operations complete with GANTRY_NOT_REGISTERED as before.
 * Control thread; workers may run. gantry_mem_unregister() ends it.
 * @return 0; -EOPNOTSUPP the device has no such key (gantry_info::any_memory); -EEXIST it is registered already; -ENOMEM;
 *   -ECHILD a child of fork(2) calls; or the negative errno of the verbs call that failed. The log says more.
 */
GANTRY_API int gantry_mem_register_any(struct gantry *g, struct gantry_mem **mem);

/**
 * Allocates memory of the device itself, all zero, and registers it (ibv_alloc_dm(3)). Descriptors name
 * it by the addresses from *addr on, as any region, with every operation. For peers its first byte is
 * 0: gantry_mem_remote_addr(). RDMA copies it, never the CPU nor MMO: gantry_desc.h, GANTRY_DESC_BY_CPU.
 * So it is open to reads and writes of every peer that knows its key, also without REMOTE_WRITE and
 * REMOTE_READ. The CPU may use it by aligned accesses of 4 or 8 bytes, which are slow: messages from it
 * are never inline. gantry_mem_unregister() frees it: the addresses are not mapped then. Control
 * thread; workers may run.
 * @param flags GANTRY_MEM_REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC or 0.
 * @param addr written on success only.
 * @return 0; -EINVAL len is 0, or other flags; -EOPNOTSUPP the device has none; -ENOMEM so much is not
 *   free, or more than gantry_info::max_dm_len; -ECHILD a child of fork(2) calls; or the negative errno
 *   of the verbs call that failed. The log says more.
 */
GANTRY_API int gantry_mem_alloc_dm(struct gantry *g, size_t len, unsigned int flags,
	struct gantry_mem **mem, void **addr);

/**
 * Ends a registration and frees mem, and device memory with it. Workers and other owners go on. At
 * once, descriptors that name the memory complete with GANTRY_NOT_REGISTERED. The call then waits
 * until every WQE that could name it has completed; peers lose their access when it returns 0. A
 * queue without descriptors in flight is not waited for, unless it sets a connection up again that
 * has failed. A queue that is waited for must be polled by its owner meanwhile: an owner that makes
 * this call itself polls first, or calls gantry_rest(). Receives that are posted count as
 * descriptors in flight do, and may wait for ever: close their peers first.
 * Control thread.
 * @param timeout_ms how long it waits at most; 0: it looks once.
 * @return 0: mem is freed. Else call again: -ETIMEDOUT a queue still has WQEs of before; -ENOMEM;
 *   or the errno of the device's refusal: the device may still use the memory, keep it mapped. Below
 *   the engine, libibverbs takes a refusal by EIO for a success, of this and of all that is destroyed, if
 *   RDMAV_ALLOW_DISASSOC_DESTROY (ibv_open_device(3)) or MLX4_DEVICE_FATAL_CLEANUP is in the environment.
 *   DPDK's mlx4 plug-in sets the latter: to hear of EIO too, call unsetenv(3) for it between rte_eal_init()
 *   and the first gantry_create().
 */
GANTRY_API int gantry_mem_unregister(struct gantry_mem *mem, uint32_t timeout_ms);

/** The key that a peer puts in gantry_desc::remote_key to reach this memory. Any thread. */
GANTRY_API uint32_t gantry_mem_remote_key(const struct gantry_mem *mem);

/**
 * The address by which a peer's descriptors name the byte at addr of this memory: addr itself; of
 * device memory, its distance from the first byte, so that may be 0. Any thread.
 */
GANTRY_API uint64_t gantry_mem_remote_addr(const struct gantry_mem *mem, const void *addr);

#ifdef __cplusplus
}
#endif
#endif
