/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Gantry: bursts of descriptors, moved by mlx5 hardware from poll-mode lcores.
 *
 *     gantry_create                one device, its protection domain, its memory
 *          |
 *     gantry_mem_register          memory that descriptors may name
 *          |
 *    ring mode                                   inline mode
 *    gantry_worker_create (an lcore)             gantry_queue_create
 *    gantry_worker_start, or gantry_start             |
 *          |                                          |
 *    gantry_enqueue_burst                        gantry_submit     your own thread owns
 *      | rte_ring                                     |            the queue and polls it
 *    worker lcore: owns the queue                     |
 *      | rte_ring                                     |
 *    gantry_dequeue_burst                        gantry_poll
 *          |                                          |
 *    gantry_worker_stop, gantry_worker_destroy   gantry_queue_destroy
 *          |
 *     gantry_destroy
 *
 * Both modes run the same code: a worker is a loop around gantry_submit() and gantry_poll().
 *
 * ## Promises
 * - Every accepted descriptor completes exactly once, with a status. On one queue, completions come
 *   in the order of submission; on an unordered one (gantry_queue_conf::unordered), those of each
 *   connection do.
 * - A call that finds a queue or ring full accepts fewer descriptors and returns how many. The
 *   caller keeps the others.
 * - A descriptor that breaks a rule of gantry_desc.h never reaches the hardware. It completes with
 *   the status that names the rule, and others are not affected.
 * - An operation longer than one WQE can carry is split into several WQEs, and completes once.
 *
 * ## Errors
 * A queue has one connection to itself, for copies, and one to each peer. When the hardware fails
 * an operation:
 * - The descriptor completes with the status of the failure, and its connection stops.
 * - The queue's connection to itself is set up again at once. Copies that it had already, behind the
 *   failed one, are carried out again (gantry_queue_conf::replays): they are not affected. One that
 *   was carried out again too often completes with GANTRY_FLUSHED: submit it again if it is still
 *   wanted. So does a GATHER or SCATTER that uses a layout which the failed operation, or one behind
 *   it, was to give to the hardware.
 * - The device may refuse to set it up again. Then it is tried again for a quarter of a second, and
 *   copies wait. After that it is lost: copies complete with GANTRY_DEVICE_LOST. Peers go on.
 * - The DC initiator, which a queue has for all its DC peers, is set up again in the same way. Nothing of it is
 *   carried out again: descriptors to any DC peer that it had already complete with GANTRY_FLUSHED, and may have
 *   been carried out. Later ones are carried out, those to the peer that failed too.
 * - A connection to another peer stays down. Descriptors that it had already complete with
 *   GANTRY_FLUSHED, later ones with GANTRY_BAD_PEER. The peer may have carried out some of the
 *   flushed ones. Find out which, then close the connection at both ends and open it again.
 * - Other connections are not affected. A NOP and a copy by the CPU need none, and never fail so.
 *
 * Some failures are of no operation. A thread of the engine reads the device's events; deadlines find
 * what no event tells. gantry_poll() acts on both, so every descriptor comes back while the queue is
 * polled:
 * - A connection fails by an event: copies are carried out again, as above, and complete with
 *   GANTRY_QP_EVENT only if that was done too often. A peer's descriptors complete with
 *   GANTRY_QP_EVENT, and its connection stays down; the DC initiator is set up again.
 * - A connection is stuck (gantry_queue_conf::deadline_ms): it is stopped. The oldest descriptor that
 *   it had, or all of them if the device does not tell which are left, complete with
 *   GANTRY_TIMED_OUT. After that the connection is set up again, or is down, as after a failure. Until
 *   all that is known, another deadline may pass.
 * - The device fails: all that was not done completes with GANTRY_DEVICE_LOST, and so does what is
 *   submitted later, copies by the CPU too. gantry_info::device_lost is set. Until its queue is
 *   destroyed, the device may go on writing to what it had.
 * - A port loses its link: gantry_info::ports_down. Peers behind it are not reached and time out.
 *
 * ## Threads
 * - Owner thread: the one thread that calls gantry_submit(), gantry_poll(), gantry_poll_good(), gantry_cancel(),
 *   gantry_in_flight(), gantry_recv_post(), gantry_recv_poll() and, in inline mode, the gantry_peer_
 *   calls of a queue. A worker's lcore owns the worker's queue while it runs, and the control thread
 *   while it is stopped.
 * - Peers of a worker's queue are the control thread's, whether the worker runs or not. The lcore
 *   makes no call of the device for them: the control thread does, and waits for a turn of the lcore
 *   where descriptors begin or cease to find the peer.
 * - Control thread: one thread of an engine for all other calls. It may create, register and destroy
 *   while the owners of other queues work. Several engines may have different control threads.
 * - Rings: one thread enqueues descriptors to a worker, and one receives, or several of each if it was
 *   created so (gantry_worker_conf::producers). One thread dequeues completions, and one those of
 *   receives.
 * - The engine has a thread of its own, which sleeps until the device has an event. It calls nothing
 *   of the application, and blocks all signals.
 * - Any thread: gantry_info_get(), gantry_mem_remote_addr(), gantry_mem_remote_key(),
 *   gantry_stats_get(), gantry_status_name(), gantry_policy_parse(), gantry_policy_print().
 *
 * Another thread may take over a role when the first one has stopped calling and the two have
 * synchronised, for example by a join. EAL must be initialised (rte_eal_init()) before any call but
 * gantry_before_eal().
 *
 * ## fork(2)
 * The engine belongs to the process that created it. A child makes no calls for it: those of the control
 * thread that reach the device or a worker return -ECHILD, and change nothing; the others do not look. A
 * program that calls daemon(3) initialises EAL and creates its engine after that.
 * The parent, its workers and what is in flight go on. For registered memory that takes one of these:
 * - The kernel copies pinned pages for the child (Linux 5.12; ibv_is_fork_initialized(3) says
 *   IBV_FORK_UNNEEDED). The child has a copy.
 * - ibv_fork_init(3), called before gantry_create(). The child does not have these pages, and ends by
 *   SIGSEGV if it touches one. DPDK's mlx4 plug-in (librte_net_mlx4) makes that call when it is loaded, on any kernel;
 *   its mlx5 plug-ins do so only where the kernel does not copy. gantry_before_eal() spares a process what it costs.
 *
 * Without both, the parent and the device see different pages after a fork.
 *
 * ## Values
 * Functions that return int return 0 or a negative errno. Objects come through an out-pointer,
 * which is written only on success. NULL as a configuration, or 0 in a field of it, means the
 * default. Lengths are in bytes.
 */
#ifndef GANTRY_H
#define GANTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gantry_crypto.h"
#include "gantry_desc.h"
#include "gantry_txn.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_context;
struct ibv_pd;
struct gantry;
struct gantry_mem;
struct gantry_queue;
struct gantry_worker;

/* ------------------------------------------------------------------ engine */

/** How copies are carried. */
enum gantry_copy_path {
	GANTRY_COPY_AUTO = 0, /**< DMA MMO where the device has it, else loopback RDMA write */
	GANTRY_COPY_MMO,      /**< DMA MMO, or gantry_create() fails with -EOPNOTSUPP */
	GANTRY_COPY_RDMA,     /**< RDMA write over a connection of the queue to itself */
};

/** Who carries a COPY, COPY_SG or FILL. */
enum gantry_carrier {
	GANTRY_CARRIER_USUAL = 0, /**< gantry_info::copy_path */
	GANTRY_CARRIER_CPU,       /**< the queue's owner thread: GANTRY_DESC_BY_CPU */
	GANTRY_CARRIER_MMO,
	GANTRY_CARRIER_RDMA,
	GANTRY_CARRIER_MAX,
};

#define GANTRY_POLICY_MAX 32 /**< rules of one policy */

/** A rule that fits a copy of at most max_len bytes while at most max_in_flight are in flight. */
struct gantry_policy_rule {
	uint64_t max_len; /**< bytes; UINT64_MAX: any */
	/**
	 * Descriptors of the queue that are in flight when the copy is handed to its carrier: itself,
	 * those before it, and those behind it that came by the same call. Of an unordered queue, only
	 * those of its connection to itself. UINT32_MAX: any
	 */
	uint32_t max_in_flight;
	enum gantry_carrier carrier;
};

/** Who carries copies: the first rule that fits says it. Where none fits: GANTRY_CARRIER_USUAL. */
struct gantry_policy {
	uint32_t n; /**< rules; 0: GANTRY_CARRIER_USUAL for all */
	struct gantry_policy_rule rule[GANTRY_POLICY_MAX];
};

/**
 * How connections reach other queues, and what they do when nobody answers. A field of 0 is the
 * default: of a peer, the engine's setting; of an engine, what is named here. The meaning is that of
 * ibv_modify_qp(3). A setting that is not possible is refused with -EINVAL, and the log names it.
 */
struct gantry_path {
	uint8_t port; /**< port of the device, or GANTRY_PORTS_IN_TURN; 0: its first active one */
	uint8_t traffic_class; /**< of RoCE packets; on InfiniBand it must be 0 */
	/**
	 * 1 + the index in the port's GID table; 0: the best RoCEv2 GID. A peer that names another port than
	 * the engine's does not take the engine's index over
	 */
	uint16_t gid_index;
	/** Bytes, 256 to 4096, a power of two; 0: the port's. The smaller one of both ends counts. */
	uint16_t mtu;
	uint8_t timeout; /**< a request without answer is sent again after 4.096 us << timeout; 0: 14 */
	uint8_t retries; /**< 1 + how often it is sent again, 1 to 8; 0: 7 times */
	/** 1 + how often it is sent again when no receive is posted there; 8, and 0: for ever */
	uint8_t rnr_retries;
	uint8_t min_rnr_timer; /**< how long a sender waits for a receive here: IB code; 0: 12 */
};

/**
 * gantry_conf::path.port: each queue that is created takes the next active port, and its peers have
 * the port of their queue. The ports must reach the same peers. A gid_index cannot be given with it.
 */
#define GANTRY_PORTS_IN_TURN 255

struct gantry_conf {
	/** Name as ibv_devices(1) lists it; NULL: the first mlx5 device that opens and can carry copies by copy_path */
	const char *device;
	enum gantry_copy_path copy_path;
	/**
	 * Where copies go by DMA MMO, they may go by RDMA too, by policy or GANTRY_DESC_BY_RDMA. It opens
	 * all registered memory to remote writes: gantry_mem_register().
	 */
	bool rdma_copies;
	/** Read during the call: of queues that have none of their own. NULL: no rules */
	const struct gantry_policy *policy;
	struct gantry_path path; /**< of all connections, those of queues to themselves too */
	/**
	 * A device that the caller has opened, by ibv_open_device(3) or mlx5dv_open_device(3) with
	 * DEVX; `device` must be NULL then. The caller closes it, after gantry_destroy(). Its asynchronous
	 * events are the caller's: what they tell the engine finds by deadlines. NULL: the engine opens
	 * the device
	 */
	struct ibv_context *ibv_ctx;
	/**
	 * A protection domain of ibv_ctx, from ibv_alloc_pd(3), which stays the caller's: keys of
	 * the caller's own registrations and of the engine's work on each other's queues. NULL: the
	 * engine has one of its own
	 */
	struct ibv_pd *pd;
};

/** The device of an engine, and how the engine uses it. */
struct gantry_info {
	const char *device;              /**< valid until gantry_destroy() */
	enum gantry_copy_path copy_path; /**< the path that was chosen: MMO or RDMA, never AUTO */
	/** bit n: enum gantry_carrier n can carry copies of host memory. RDMA copies device memory */
	uint32_t carriers;
	uint64_t max_copy_len; /**< bytes one WQE copies, at most 1 GiB; longer copies are split */
	uint64_t max_msg_len;  /**< bytes of the longest SEND */
	uint64_t max_dm_len;   /**< bytes of gantry_mem_alloc_dm(); 0: the device has none */
	bool any_memory;       /**< gantry_mem_register_any() is possible */
	bool atomics;          /**< COMPARE_SWAP and FETCH_ADD are possible */
	int numa_node;         /**< of the device; -1: unknown */
	uint32_t max_depth;    /**< the greatest gantry_queue_conf::depth */
	uint32_t max_peers;    /**< the greatest gantry_queue_conf::max_peers */
	uint32_t max_wqes;     /**< WQEs (of 64 bytes) in the send queue of a connection */
	uint32_t max_reads;    /**< READs and atomics that one connection carries out at once */
	uint8_t n_ports;       /**< ports of the device */
	bool device_lost;      /**< it has failed: destroy the queues and the engine */
	uint32_t ports_down;   /**< bit n: port n + 1 has lost its link since gantry_create() */
	uint32_t number;       /**< of the engine in this process, as telemetry names it */
	uint32_t
		sig_kinds; /**< bit n: transactions can have enum gantry_sig_kind n; 0: there are none */
	uint32_t
		sig_block_sizes; /**< bit 0: blocks of 512 bytes; 1: 520; 2: 4048; 3: 4096; 4: 4160 */
	uint32_t crypto;         /**< GANTRY_CRYPTO_*; 0: the device does not encrypt */
	bool layouts;            /**< layouts are possible: the device opens with DEVX */
};

/**
 * Opens a device as an engine. Control thread.
 * @return 0; -ENODEV there is no device of that name, or no mlx5 device; -EOPNOTSUPP the device, or every device, has
 *   no DMA MMO, which copy_path asks for: use GANTRY_COPY_AUTO; or a rule of the policy names a carrier
 *   that is not in gantry_info::carriers; -EINVAL copy_path is no enum value, the policy is wrong, both device and ibv_ctx are given, or pd is not of ibv_ctx; -ENOMEM; or the negative errno of the
 *   verbs call that failed. The log says more. If the device, which was opened by then, refuses to be closed, a later
 *   gantry_create() or gantry_destroy() of any engine of the process closes it.
 */
GANTRY_API int gantry_create(const struct gantry_conf *conf, struct gantry **g);

/**
 * Closes the device and frees the engine. Control thread.
 * @return 0; -EBUSY memory, queues or workers of it are left: end those first; or the negative errno
 *   of the verbs call that failed: the device is still open, call again.
 */
GANTRY_API int gantry_destroy(struct gantry *g);

/** Copies what is known of the engine's device to *info. Any thread. */
GANTRY_API void gantry_info_get(const struct gantry *g, struct gantry_info *info);

/* ------------------------------------------------------------------ before EAL */

/**
 * Spares a process what DPDK's mlx4 plug-in costs. Call it before rte_eal_init(), which loads DPDK's plug-ins: the mlx4 one
 * calls ibv_fork_init(3). After that, libibverbs before rdma-core 51 reads all of /proc/self/smaps for each region, queue
 * pair and CQ that is made or ends: 4 ms of CPU time at 1,000 regions, and more with each mapping of the process. A
 * kernel that copies pinned pages at a fork does not need that call. There this function registers a byte for a
 * moment, and libibverbs refuses the call from then on. On other kernels it does nothing. Any thread.
 * @return 0; -EOPNOTSUPP the kernel does not copy such pages; -ENODEV there is no device; or the negative errno of the
 *   verbs call that failed. A program that ignores errors goes on as without this call.
 */
GANTRY_API int gantry_before_eal(void);

/* ------------------------------------------------------------------ memory */

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

struct rte_mempool;

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

/* ------------------------------------------------------------------ layouts */

#define GANTRY_MAX_LAYOUTS 1023 /**< layouts of one engine */

/** One block of a layout. */
struct gantry_block {
	uint64_t offset; /**< of its first byte, from the base address that a descriptor gives */
	uint64_t len;    /**< bytes, 1 to 1 GiB */
	uint64_t skip;   /**< bytes from its end to its beginning in the next round */
};

/**
 * A layout: rounds that follow each other. A round is the bytes of all blocks, in their order; in the
 * next round each block begins len + skip bytes further. A list of buffers has one round. A column of a
 * matrix of doubles is one block: len 8, skip the length of a row - 8, and a round for each row.
 */
struct gantry_layout_conf {
	const struct gantry_block *block; /**< read during the call */
	uint32_t n;                       /**< blocks */
	uint32_t rounds;                  /**< 0: 1 */
};

/**
 * Prepares a layout for gantry_desc::layout, for all queues of the engine. Blocks may overlap each
 * other; what a scatter writes there is undefined. Control thread; workers may run.
 * @param id written on success only.
 * @return 0; -EINVAL no block, a length out of range, or a block goes beyond the address space; -E2BIG
 *   it is longer than the device takes: n * rounds is at most 52; or n is at most 51, and len + skip of
 *   each block at most 65535. The log says which; -EOPNOTSUPP the device has none (gantry_info::layouts);
 *   -ENOSPC there are 1023 layouts: destroy one; -ENOMEM.
 */
GANTRY_API int gantry_layout_create(struct gantry *g, const struct gantry_layout_conf *conf,
	uint16_t *id);

/**
 * Ends a layout. Descriptors that name it and are not in the hardware yet complete with
 * GANTRY_BAD_LAYOUT; those in the hardware are carried out. Its id may be given to the next one that is
 * created. Control thread; workers may run.
 * @return 0; -EINVAL there is no such layout.
 */
GANTRY_API int gantry_layout_destroy(struct gantry *g, uint16_t id);

/* ------------------------------------------------------------------ inline mode: queues */

struct gantry_queue_conf {
	uint32_t depth; /**< descriptors in flight at most, a power of two, 2 to 16384; 0: 512 */
	/**
	 * 1 + the NUMA node of the queue's memory and of the worker's rings. 0: the device's node;
	 * if the system does not tell it, that of the worker's lcore; any other if there is no
	 * memory
	 */
	int socket;
	uint32_t max_peers; /**< peers open at once, at most 4092; 0: 64 */
	/**
	 * Transactions (gantry_txn.h) that are open in the hardware at once, at most GANTRY_MAX_TXNS; others
	 * wait. Each has a key, which takes five commands of the device, and a second one if the device encrypts. 0: none,
	 * and GANTRY_OP_TXN is refused
	 */
	uint32_t transactions;
	/**
	 * How often a copy is carried out again at most, because one before it failed and stopped the
	 * queue's connection to itself; at most 100. 0: 3 times. GANTRY_NO_REPLAYS: never
	 */
	uint32_t replays;
	/**
	 * How many layouts, each at one base address, the queue keeps ready in the hardware, at most
	 * 256; 0: 16. A descriptor with another one waits for a key that no descriptor in flight uses.
	 */
	uint32_t layout_keys;
	/**
	 * Completions come as operations finish: a slow peer holds nothing back but its own. Each
	 * connection has a depth and an order of its own. The depth is the queue's; of a peer with
	 * gantry_peer_conf::depth it is that one, as the next power of two. All DC peers count as one
	 * connection. What uses no peer, and what names a peer that is not open, counts for the connection
	 * to itself. A fenced descriptor waits for everything that was submitted before it, on all
	 * connections; what is submitted after it waits until it starts.
	 * A worker goes on with other connections while one is full, until the completions of all that
	 * it has taken would fill its ring: keep fewer than ring_size descriptors to a slow peer.
	 */
	bool unordered;
	/**
	 * Milliseconds, while the queue is polled, after which a connection is stuck if it has WQEs
	 * outstanding and none completes; GANTRY_NO_DEADLINE: never. 0: 10,000. Longer than all
	 * retries of a peer take, and than a SEND may wait for the peer's receive
	 */
	uint32_t deadline_ms;
	/**
	 * GANTRY_PREPARE_*: what the queue has from its creation on. What is not named here is made by
	 * the first descriptor that needs it, in the call of its owner; that call registers memory or
	 * creates keys, which takes a system call or more. A queue that never uses it has no cost
	 */
	uint32_t prepare;
	/** Read during the call: as gantry_policy_set(). NULL: the engine's, gantry_conf::policy */
	const struct gantry_policy *policy;
};

#define GANTRY_PREPARE_FILL    (1u << 0) /**< 128 KiB of registered memory, for FILLs */
#define GANTRY_PREPARE_LAYOUTS (1u << 1) /**< layout_keys keys, for descriptors with a layout */

/** gantry_queue_conf::deadline_ms: no connection is ever stuck. */
#define GANTRY_NO_DEADLINE UINT32_MAX

/** gantry_queue_conf::replays: copies behind a failed one complete with GANTRY_FLUSHED. */
#define GANTRY_NO_REPLAYS UINT32_MAX

/**
 * Creates a queue, with hardware queues and a doorbell page that no other queue uses. Control
 * thread.
 * @return 0; -EINVAL depth, socket, max_peers, replays, layout_keys or transactions is out of range, or prepare
 *   has an unknown bit; -EOPNOTSUPP transactions are asked for, and the device has no signatures; an error of gantry_policy_set(); -ENOMEM; or the negative errno of the verbs call that failed, which the log has in words.
 */
GANTRY_API int gantry_queue_create(struct gantry *g, const struct gantry_queue_conf *conf,
	struct gantry_queue **q);

/** What a queue has, which does not change. */
struct gantry_queue_info {
	uint32_t depth;     /**< descriptors in flight at most */
	uint32_t max_wqes;  /**< WQEs (of 64 bytes) that its connection to itself holds at once */
	uint32_t max_peers; /**< peers open at once at most */
	uint8_t port;  /**< of its connections, unless a peer names another; 0: the first active */
	int numa_node; /**< of its memory; -1: any */
	unsigned int lcore; /**< of its worker; LCORE_ID_ANY of rte_lcore.h: it has none */
	uint32_t number;    /**< of the queue in this process, as telemetry names it */
};

/** Copies what is known of the queue to *info. Any thread. */
GANTRY_API void gantry_queue_info_get(const struct gantry_queue *q, struct gantry_queue_info *info);

/**
 * Frees a queue and its connections to peers. Control thread; the owner makes no more calls.
 * @return 0; -EBUSY descriptors are in flight: poll until gantry_in_flight() is 0; or receives have not been
 *   handed out: close their peers, and call gantry_recv_poll(); or it is a worker's queue: gantry_worker_destroy() frees it; or the negative errno of the verbs call that
 *   failed: the queue takes no descriptors, and its memory may be written by peers until a later call
 *   returns 0.
 */
GANTRY_API int gantry_queue_destroy(struct gantry_queue *q);

/**
 * Accepts descriptors, and hands them to the hardware with one doorbell for each connection they
 * use. The array may be reused when the call returns. Owner thread.
 * @return how many were accepted: the first ones of the array. Fewer than n: the queue is full;
 *   poll, then submit the rest. An unordered queue is full for a descriptor if its connection has
 *   as many in flight as it may have; those of other connections can be submitted.
 */
GANTRY_API uint16_t gantry_submit(struct gantry_queue *q, const struct gantry_desc *desc,
	uint16_t n);

/**
 * Collects completions. It also hands waiting descriptors and the rest of split ones to the
 * hardware, and sets a failed connection up again: call it while descriptors are in flight. Owner
 * thread.
 * @return how many records were written to comp, at most n; 0: the oldest descriptor is not done.
 */
GANTRY_API uint16_t gantry_poll(struct gantry_queue *q, struct gantry_comp *comp, uint16_t n);

/**
 * gantry_poll() without records, for an owner that counts: it hands out the completions of descriptors that
 * succeeded, up to the first one that failed. Of an unordered queue it hands out none: a count does not tell
 * whose they are. Owner thread.
 * @param failed set to true: the oldest descriptor has failed, and the next gantry_poll() hands its completion
 *   out first. Else to false.
 * @return how many descriptors, at most n, in the order of submission.
 */
GANTRY_API uint16_t gantry_poll_good(struct gantry_queue *q, uint16_t n, bool *failed);

/**
 * Cancels the descriptors with this cookie that still wait in software: of which no part was handed
 * to the hardware. They complete with GANTRY_CANCELLED, in their order; nothing of them was or will be
 * carried out. A descriptor waits while the hardware queue is full, while its fence waits, while a
 * copy waits for a repair, or behind one that waits. Owner thread.
 * @return how many were cancelled by this call. 0: none with this cookie waits. Those that the
 *   hardware has complete as if this had not been called.
 */
GANTRY_API uint32_t gantry_cancel(struct gantry_queue *q, uint64_t cookie);

/**
 * For an owner that will make no call for long: takes note of what the hardware has done, and hands
 * nothing out. A queue whose WQEs are all done by then, and which has no receives that are posted, keeps no
 * gantry_mem_unregister() waiting; one whose transactions are all done keeps no gantry_dek_retire() waiting. The
 * next gantry_submit() or gantry_poll() ends the rest. Owner thread.
 */
GANTRY_API void gantry_rest(struct gantry_queue *q);

/**
 * How many descriptors were accepted whose completions gantry_poll() has not returned. Owner
 * thread.
 */
GANTRY_API uint32_t gantry_in_flight(const struct gantry_queue *q);

/* ------------------------------------------------------------------ who carries copies */

/**
 * Sets the policy of a queue for copies that are handed to their carriers from now on. NULL: no rules.
 * `testgantry --measure-policy FILE` measures one on the machine at hand. A copy with a GANTRY_DESC_BY_
 * flag ignores it, and so does one of device memory, which RDMA carries. Owner thread; of a
 * worker's queue, the control thread, also while the worker runs.
 * @param policy read during the call.
 * @return 0; -EINVAL there are more than GANTRY_POLICY_MAX rules, or a carrier is no enum value;
 *   -EOPNOTSUPP a rule names a carrier that is not in gantry_info::carriers, and the log says how to
 *   get it. After an error the policy is as it was.
 */
GANTRY_API int gantry_policy_set(struct gantry_queue *q, const struct gantry_policy *policy);

/** Copies the policy of a queue to *policy. Threads: as gantry_policy_set(). */
GANTRY_API void gantry_policy_get(const struct gantry_queue *q, struct gantry_policy *policy);

/**
 * Reads a policy from text: a rule a line, as `IN-FLIGHT LENGTH CARRIER`, separated by blanks. Numbers
 * are decimal, or `any`; CARRIER is `cpu`, `mmo`, `rdma` or `usual`. Empty lines, and what follows a
 * `#`, are skipped. Without that, a line has at most 255 characters. Any thread.
 * @param policy written on success only.
 * @return 0; -EINVAL a line is none of these; -E2BIG there are more than GANTRY_POLICY_MAX rules. The log
 *   names the line.
 */
GANTRY_API int gantry_policy_parse(const char *text, struct gantry_policy *policy);

/**
 * Writes a policy as text that gantry_policy_parse() reads. Any thread.
 * @param text gets at most `size` bytes with the 0 at the end.
 * @return the length of the whole text without the 0, as snprintf(3); size or more: it was cut.
 *   -EINVAL the policy is wrong.
 */
GANTRY_API int gantry_policy_print(const struct gantry_policy *policy, char *text, size_t size);

/* ------------------------------------------------------------------ peers */

/** What carries the operations to a peer. */
enum gantry_transport {
	GANTRY_TRANSPORT_RC = 0, /**< a connection of its own (RC) */
	/**
	 * DC: all such peers of a queue share one initiator, so a peer takes little memory. The other
	 * end is a DC target. The first DC peer of a queue makes the initiator: depth, max_inline and
	 * path are the initiator's, and other DC peers have the same or 0; but each may have a
	 * traffic_class of its own. Both ends have the same MTU.
	 */
	GANTRY_TRANSPORT_DC,
	/**
	 * No connection: any number of DC peers, of any queues, is connected to its address, and
	 * reaches the memory of this engine and the receives that are posted for it. No
	 * descriptor can name it. depth and max_inline are 0.
	 */
	GANTRY_TRANSPORT_DC_TARGET,
};

/** Settings of one connection. */
struct gantry_peer_conf {
	enum gantry_transport transport;
	/** Other than GANTRY_TXN_NONE: it carries transactions and receives, and nothing else. RC only */
	enum gantry_txn_mode txn;
	/**
	 * WQEs that the connection holds at once, at most 16384; others wait in the queue. It decides
	 * how much memory the peer takes. 0: as many as the queue's connection to itself. Of an unordered
	 * queue also the descriptors that are in flight there: gantry_queue_conf::unordered
	 */
	uint32_t depth;
	/**
	 * 1 + the bytes of the longest WRITE, WRITE_IMM or SEND whose data the CPU copies into the
	 * WQE, so that the device need not read it from memory; 0: 28 bytes, which fit one WQEBB, and
	 * to DC peers 44, which fit the two that their WQEs have anyway. More than that makes the
	 * send queue longer. With transactions, of the longest response; 0: 44
	 */
	uint16_t max_inline;
	/** Receives posted at once, at most 16384; 0: none, and gantry_recv_post() refuses the peer. */
	uint16_t recv_depth;
	struct gantry_path path; /**< 0 in a field: as the engine has it */
};

/**
 * The address of one end of a connection: plain bytes, sent to the other end by any means. They have
 * a version and a checksum, so that damage on the way is noticed.
 */
struct gantry_addr {
	uint8_t bytes[64];
};

/**
 * Opens one end of a connection on a queue. Send *addr to the other end, and give the address that
 * it sends back to gantry_peer_connect(). The queue owns the connection. Owner thread; of a
 * worker's queue, the control thread, also while the worker runs.
 *
 *     RC                                     DC
 *     open(a, &addr_a)  open(b, &addr_b)                           open(b, DC_TARGET, &addr_b)
 *       connect(a, addr_b)                   open(a, DC, NULL)       any number of queues as a
 *       connect(b, addr_a)                     connect(a, addr_b)
 *
 * @param conf read during the call; NULL: defaults.
 * @param peer the connection's number for gantry_desc::peer.
 * @param addr of a DC peer all zeros, since nobody connects to it, and may be NULL.
 * @return 0; -EINVAL a setting is not possible, or does not fit the queue's other DC peers, or the queue has
 *   no transactions and txn is set; -ENOSPC
 *   the queue has gantry_queue_conf::max_peers open: close one; -EOPNOTSUPP the device has no DC: use
 *   RC; or it cannot carry transactions by DC; or it has no signature pipelining, or pipelining is asked for
 *   with gantry_conf::ibv_ctx: use GANTRY_TXN_WAIT; -ENOMEM; or the negative errno of the verbs call that
 *   failed. The log says more.
 */
GANTRY_API int gantry_peer_open(struct gantry_queue *q, const struct gantry_peer_conf *conf,
	uint16_t *peer, struct gantry_addr *addr);

/**
 * Connects an open end to the address of the other end, which *addr is copied from. WRITE and READ
 * may use the connection when both ends have made this call; a DC target needs none. Thread: as
 * gantry_peer_open().
 * @return 0; -EINVAL there is no such peer, or it is a DC target, or addr is not from
 *   gantry_peer_open(), or was damaged, or is of a DC target of another MTU;
 *   -EISCONN it is or was connected; -EPROTONOSUPPORT one end is on Ethernet, the other on
 *   InfiniBand, or addr is of another version or transport; or the negative errno of the verbs call
 *   that failed. After a failure the end is still open: call again, with the same address or another.
 */
GANTRY_API int gantry_peer_connect(struct gantry_queue *q, uint16_t peer,
	const struct gantry_addr *addr);

/**
 * Closes one end of a connection. Its number may be given to the next one that is opened. Other DC
 * peers of the queue go on; DC peers that reach a closed target fail with GANTRY_UNREACHABLE. A
 * message that arrives during the call may be lost, though its sender is told GANTRY_OK: as with
 * ibv_destroy_qp(3). Thread: as gantry_peer_open().
 * @return 0; -EINVAL there is no such peer; -EBUSY descriptors to it are in flight: poll, then call
 *   again. In a queue in order, one that was refused with GANTRY_BAD_PEER does not count, although its
 *   completion may wait for those before it; or the negative errno of the verbs call that failed: the peer takes no descriptors and
 *   keeps its number until a later call returns 0.
 */
GANTRY_API int gantry_peer_close(struct gantry_queue *q, uint16_t peer);

/* ------------------------------------------------------------------ receives */

/**
 * Posts receives for messages of a peer, which take them in order; or of a DC target, for those of
 * all its initiators. It may be called as soon as
 * gantry_peer_open() has returned; post before the peer sends. The array may be reused when the call
 * returns; the memory that the receives name belongs to the engine until they complete. Receives
 * have a completion stream of their own, gantry_recv_poll(): one that waits holds no descriptor
 * back, nor gantry_in_flight(). Owner thread.
 * @return how many were accepted: the first ones of the array. Fewer than n: recv_depth are posted;
 *   take completions, then post the rest. -EINVAL: there is no such peer, or its recv_depth is 0.
 */
GANTRY_API int gantry_recv_post(struct gantry_queue *q, uint16_t peer,
	const struct gantry_recv *recv, uint16_t n);

/**
 * Collects completions of receives of all peers. Each accepted receive completes exactly once; those
 * of one peer complete in the order in which they were posted, those of a DC target in any order.
 * When a connection fails, or is closed
 * by gantry_peer_close(), its receives complete with GANTRY_FLUSHED. Owner thread.
 * @return how many records were written to comp, at most n; 0: no receive is done.
 */
GANTRY_API uint16_t gantry_recv_poll(struct gantry_queue *q, struct gantry_recv_comp *comp,
	uint16_t n);

/* ------------------------------------------------------------------ ring mode: workers */

/** Which threads may call gantry_enqueue_burst() for one worker. */
enum gantry_producers {
	GANTRY_PRODUCERS_ONE = 0, /**< one at a time */
	/**
	 * Any number. They copy side by side; if one is preempted in the middle of a call, the
	 * others spin until it runs again. For threads that own their CPUs.
	 */
	GANTRY_PRODUCERS_MP,
	/** Any number, one after the other (RING_F_MP_HTS_ENQ). For threads that share CPUs. */
	GANTRY_PRODUCERS_MP_HTS,
};

/**
 * What a worker's lcore does when there is nothing to do. By default it polls, because DPDK gives each
 * lcore a CPU, and nothing starts sooner. Where lcores share CPUs with other threads, GANTRY_IDLE_SLEEP
 * is faster: an lcore that polls takes CPU time from the threads that it waits for, such as the
 * application's and those of the emulated adapter.
 */
enum gantry_idle {
	/**
	 * It polls. After 256 rounds without work it yields; or, if another lcore or the main one
	 * may run on one of its CPUs (--lcores of EAL), it sleeps for some ten microseconds.
	 */
	GANTRY_IDLE_SPIN = 0,
	/**
	 * It sleeps until a descriptor is enqueued or an operation completes (a completion channel
	 * and an eventfd), if all workers that run there sleep. Waking takes a system call
	 * in gantry_enqueue_burst() or an interrupt, and the kernel's time to run the thread. While
	 * descriptors are in flight or receives are posted, it also polls every 100 ms.
	 */
	GANTRY_IDLE_SLEEP,
	/**
	 * The CPU waits, in a state of low power, until the next completion is written or a
	 * descriptor is enqueued (rte_power_monitor()), if no worker that runs there spins. Waking
	 * takes no interrupt, and no system call. The thread keeps its CPU. The CPU watches one
	 * address: while descriptors are in flight on several connections, the lcore polls.
	 */
	GANTRY_IDLE_MONITOR,
};

struct gantry_worker_conf {
	struct gantry_queue_conf queue;
	uint32_t ring_size; /**< elements of each ring, a power of two, at most 1048576; 0: 1024 */
	uint16_t burst;     /**< descriptors that the worker takes at a time, at most 256; 0: 32 */
	/** Elements of each ring of receives, a power of two, at most 1048576; 0: it has none. */
	uint32_t recv_ring_size;
	enum gantry_producers producers; /**< of descriptors, and of receives */
	enum gantry_idle idle;
};

/**
 * Creates a worker: a queue and two rings, served by an lcore. It works after gantry_worker_start()
 * or gantry_start(). Any number of workers, also of several engines, may share an lcore, which
 * gives each of them a turn after the other. A worker whose lcore is on another NUMA node than the
 * device is slow; a line of the log says so. Control thread.
 * @return 0; -EINVAL lcore_id is the main lcore or not enabled, a size is out of range, or producers
 *   or idle is no enum value; -ENOTSUP the CPU has not what GANTRY_IDLE_MONITOR needs (WAITPKG on x86):
 *   use GANTRY_IDLE_SLEEP; -EMFILE or another errno of eventfd(2) or epoll_create(2); -EEXIST,
 *   -ENOMEM from rte_ring_create_elem(); or an error of gantry_queue_create().
 */
GANTRY_API int gantry_worker_create(struct gantry *g, unsigned int lcore_id,
	const struct gantry_worker_conf *conf, struct gantry_worker **w);

/**
 * Frees a worker, its rings and its queue. Control thread.
 * @return 0; -EBUSY it runs: call gantry_worker_stop(); or its rings are not empty: call
 *   gantry_dequeue_burst(), gantry_reclaim_burst() and their gantry_recv_ counterparts until all
 *   return 0; or receives are posted: close their peers, and call gantry_recv_poll(); or the negative
 *   errno of the verbs call that failed: call again.
 */
GANTRY_API int gantry_worker_destroy(struct gantry_worker *w);

/**
 * The worker's queue: for gantry_stats_get() and the gantry_peer_ calls at any time. It lives until
 * gantry_worker_destroy(). Control thread.
 */
GANTRY_API struct gantry_queue *gantry_worker_queue(struct gantry_worker *w);

/**
 * Starts a worker on its lcore. Workers that run there already go on. Control thread.
 * @return 0; -EALREADY it runs; -EBUSY the lcore runs something else: wait for it
 *   (rte_eal_wait_lcore()), then call again; or an error of rte_eal_remote_launch().
 */
GANTRY_API int gantry_worker_start(struct gantry_worker *w);

/**
 * Stops a worker, and waits until its descriptors in flight have completed. Their completions are
 * in the ring then, and those of receives that have completed, as far as their ring has room.
 * Descriptors that it had not taken stay in its ring: they run after the next start, or
 * gantry_reclaim_burst() returns them. Other workers go on. The lcore is free when its last worker
 * has stopped. Control thread.
 * @return 0; -EALREADY it does not run.
 */
GANTRY_API int gantry_worker_stop(struct gantry_worker *w);

/**
 * Starts every worker of the engine that does not run. Control thread.
 * @return 0; -EALREADY all of them run; or the error of gantry_worker_start() for one of them: none
 *   was started then, and those that ran before still run.
 */
GANTRY_API int gantry_start(struct gantry *g);

/**
 * Stops every worker of the engine that runs, as gantry_worker_stop() does, all at the same time.
 * It waits for these workers, and not for an lcore that runs something else. Control thread.
 * @return 0; -EALREADY none of them runs.
 */
GANTRY_API int gantry_stop(struct gantry *g);

/**
 * Copies descriptors to the worker's ring. The worker may be stopped. Threads: as
 * gantry_worker_conf::producers says.
 * @return how many were accepted: the first ones of the array. Fewer than n: the ring is full;
 *   dequeue completions, then enqueue the rest.
 */
GANTRY_API unsigned int gantry_enqueue_burst(struct gantry_worker *w,
	const struct gantry_desc *desc, unsigned int n);

/**
 * Takes completions from the worker's ring. While that ring is full, the worker takes no
 * descriptors. One consumer thread for each worker; the worker may be stopped.
 * @return how many records were written to comp, at most n.
 */
GANTRY_API unsigned int gantry_dequeue_burst(struct gantry_worker *w, struct gantry_comp *comp,
	unsigned int n);

/**
 * Takes descriptors back that the worker has not taken. They will have no completion. Control
 * thread, while the worker is stopped.
 * @return how many were written to desc, at most n, the oldest first; 0 while the worker runs.
 */
GANTRY_API unsigned int gantry_reclaim_burst(struct gantry_worker *w, struct gantry_desc *desc,
	unsigned int n);

/**
 * Copies receives to the worker's ring, for gantry_worker_conf::recv_ring_size. The lcore posts them in
 * their order, as gantry_recv_post() does. One that the peer has no room for (recv_depth are posted)
 * waits in the ring, and so do those behind it: keep at most recv_depth of each peer in work. The worker
 * may be stopped. Threads: as gantry_worker_conf::producers says.
 * @return how many were accepted: the first ones of the array. Fewer than n: the ring is full, or the
 *   worker has no rings of receives.
 */
GANTRY_API unsigned int gantry_recv_enqueue_burst(struct gantry_worker *w, uint16_t peer,
	const struct gantry_recv *recv, unsigned int n);

/**
 * Takes completions of receives from the worker's ring. They are those of gantry_recv_poll(); a receive
 * for which there is no such peer, or whose recv_depth is 0, completes with GANTRY_BAD_PEER as soon as
 * the lcore finds it, behind those of a peer that is being closed. Completions for which the ring has no room wait. One consumer thread for each worker;
 * the worker may be stopped. Receives that are posted stay so while it is stopped: gantry_recv_poll()
 * on its queue takes their completions then, behind those in the ring. gantry_worker_destroy() refuses
 * while receives are posted: close their peers first.
 * @return how many records were written to comp, at most n.
 */
GANTRY_API unsigned int gantry_recv_dequeue_burst(struct gantry_worker *w,
	struct gantry_recv_comp *comp, unsigned int n);

/**
 * Takes receives back that the worker has not posted. They will have no completion. Control thread, while
 * the worker is stopped.
 * @return how many were written to recv, and their peers to peer, at most n, the oldest first; 0 while
 *   the worker runs.
 */
GANTRY_API unsigned int gantry_recv_reclaim_burst(struct gantry_worker *w, uint16_t *peer,
	struct gantry_recv *recv, unsigned int n);

/* ------------------------------------------------------------------ statistics */

/** Counters of one queue since it was created. */
struct gantry_stats {
	uint64_t submitted; /**< descriptors accepted */
	uint64_t completed; /**< completions handed out */
	uint64_t bytes;     /**< gantry_desc::len of descriptors that completed GANTRY_OK */
	uint64_t doorbells; /**< doorbells rung */
	/** WQEs handed to the hardware, in units of 64 bytes; fillers at the end of a ring are included */
	uint64_t wqes;
	uint64_t cqes;        /**< CQEs received; one accounts for many WQEs */
	uint64_t recv_posted; /**< receives accepted */
	uint64_t recv_done;   /**< completions of receives handed out */
	/** How often the queue's connection to itself, or its DC initiator, was set up again. */
	uint64_t recoveries;
	uint64_t replays;       /**< descriptors that were carried out again, each time counted */
	uint64_t layout_hits;   /**< descriptors whose layout the hardware had already */
	uint64_t layout_misses; /**< layouts that were given to the hardware */
	uint64_t txn_opened;    /**< transactions that were handed to the hardware */
	uint64_t txn_done;      /**< those of them that have ended, whatever their status */
	/** How often a wrong signature stopped a connection's send queue */
	uint64_t txn_stops;
	uint64_t txn_cancelled; /**< good responses that were cancelled */
	/** COPY, COPY_SG and FILL that were handed to each carrier; [GANTRY_CARRIER_USUAL] is 0 */
	uint64_t copies[GANTRY_CARRIER_MAX];
	uint64_t by_status[GANTRY_STATUS_MAX]; /**< completions handed out, by status */
};

/**
 * Copies the counters to *stats. While the owner works, they are not all of one moment; `completed`
 * is never more than `submitted`. Any thread.
 */
GANTRY_API void gantry_stats_get(const struct gantry_queue *q, struct gantry_stats *stats);

/** How long descriptors of one operation took: gantry_latency_set(). */
struct gantry_latency {
	uint64_t count; /**< samples */
	/** Nanoseconds that half of the samples did not exceed; up to an eighth more. 0: there is none */
	uint64_t p50_ns;
	uint64_t p99_ns; /**< the same of 99 % */
	uint64_t max_ns; /**< of the longest sample */
};

/**
 * Begins or ends to measure latencies on a queue. One descriptor at a time is watched, whatever its status: from
 * the beginning of the call of gantry_submit() that accepted it to that of the call of gantry_poll() that
 * handed its completion out; of a worker, between the turns that did. Of an unordered queue, only
 * descriptors of its connection to itself are. Measuring costs each such call or turn about 90 instructions and a
 * look at the clock; while it is off, it costs nothing. Switching it on forgets earlier samples, in the owner's next call. Control thread; the
 * owner may work.
 * @return 0 or -ENOMEM: nothing has changed.
 */
GANTRY_API int gantry_latency_set(struct gantry_queue *q, bool on);

/**
 * Copies what was measured for an operation to *latency. All is 0 without samples, and for a number that is no
 * operation. Any thread.
 */
GANTRY_API void gantry_latency_get(const struct gantry_queue *q, unsigned int op,
	struct gantry_latency *latency);

/** What an lcore has done with its time in workers, since the process began. */
struct gantry_lcore_load {
	uint64_t cycles; /**< of rte_get_tsc_cycles(), while at least one worker ran there */
	/**
	 * Of those cycles: turns that moved descriptors or completions. The others are turns without work,
	 * and rest. The share of busy cycles between two calls is the load in that time.
	 */
	uint64_t busy_cycles;
	uint64_t sleeps;  /**< how often it has slept or monitored: enum gantry_idle */
	uint32_t workers; /**< workers that run there now */
};

/**
 * Copies the load of an lcore to *load. All is 0 for one that never ran a worker, and for a number that is
 * no lcore's. Any thread.
 */
GANTRY_API void gantry_lcore_load_get(unsigned int lcore_id, struct gantry_lcore_load *load);

/** A status as a short English phrase, "unknown status" for other numbers. Any thread. */
GANTRY_API const char *gantry_status_name(enum gantry_status status);

#ifdef __cplusplus
}
#endif
#endif
