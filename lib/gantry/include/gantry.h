/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Gantry: bursts of descriptors, moved by mlx5 hardware from poll-mode lcores.
 *
 *      gantry_create                one device, its protection domain, its memory
 *           |
 *      gantry_mem_register          memory that descriptors may name
 *           |
 *     ring mode                                   inline mode
 *     gantry_worker_create (an lcore)             gantry_queue_create
 *     gantry_worker_start, or gantry_start             |
 *           |                                          |
 *     gantry_enqueue_burst                        gantry_submit     your own thread owns
 *       | rte_ring                                     |            the queue and polls it
 *     worker lcore: owns the queue                     |
 *       | rte_ring                                     |
 *     gantry_dequeue_burst                        gantry_poll
 *           |                                          |
 *     gantry_worker_stop, gantry_worker_destroy   gantry_queue_destroy
 *           |
 *      gantry_destroy
 *
 * Both modes run the same code: a worker is a loop around gantry_submit() and gantry_poll().
 *
 * ## Promises
 * - Every accepted descriptor completes exactly once, with a status. On one queue, completions come
 *   in the order of submission; on an unordered queue (gantry_queue_conf::unordered), this holds
 *   for each connection.
 * - A call that finds a queue or ring full accepts fewer descriptors and returns how many it
 *   accepted. The caller keeps the descriptors that were not accepted.
 * - A descriptor that breaks a rule of gantry_desc.h never reaches the hardware. It completes with
 *   the status that names the rule, and other descriptors are not affected.
 * - An operation longer than one WQE can carry is split into several WQEs, and completes once.
 *
 * ## Errors
 * A queue has one connection to itself, for copies, and one to each peer. When the hardware fails
 * an operation, the descriptor completes with the status of the failure, and its connection stops:
 * - The queue sets its connection to itself up again at once. Copies behind the failed copy are
 *   carried out again (gantry_queue_conf::replays). A copy that was carried out again too often
 *   completes with GANTRY_FLUSHED: submit it again if needed. A GATHER or SCATTER also completes
 *   with GANTRY_FLUSHED if the WQE that prepares its layout was not carried out.
 * - If the device refuses to set this connection up again, the queue tries for a quarter of a
 *   second, and copies wait. Then the connection is lost: copies complete with GANTRY_DEVICE_LOST.
 *   Connections to peers are not affected.
 * - The queue also sets up again the DC initiator, which serves all its DC peers. Descriptors that
 *   were posted to the initiator complete with GANTRY_FLUSHED, and may have been carried out. Later
 *   descriptors are carried out, also descriptors to the peer whose operation failed.
 * - A connection to an RC peer stays down. Descriptors that were posted to it complete with
 *   GANTRY_FLUSHED, and may have been carried out. Later descriptors complete with GANTRY_BAD_PEER.
 *   Find out what the peer has carried out, then close the connection at both ends and open it
 *   again.
 * - Other connections are not affected. A NOP and a copy by the CPU need no connection, so they do
 *   not fail when a connection fails.
 *
 * Some failures belong to no operation. A thread of the engine reads the device's events; deadlines
 * find failures without an event. gantry_poll() acts on both, so every descriptor comes back while
 * the queue is polled:
 * - An event says that a connection failed. Copies are carried out again as above, and complete
 *   with GANTRY_QP_EVENT after too many replays. A peer's descriptors complete with
 *   GANTRY_QP_EVENT, and its connection stays down. The DC initiator is set up again.
 * - A connection is stuck (gantry_queue_conf::deadline_ms): the engine stops it. Its oldest
 *   descriptor completes with GANTRY_TIMED_OUT. If the device does not tell which descriptors are
 *   not done, all descriptors that were posted to this connection complete with this status. Then
 *   the connection is set up again, or is down, as after a failure. This may take a second
 *   deadline.
 * - The device fails: all descriptors that are not done complete with GANTRY_DEVICE_LOST, and so do
 *   all later descriptors, also copies by the CPU. gantry_info::device_lost is set. The device may
 *   write to the memory of a queue's descriptors until the queue is destroyed.
 * - A port loses its link: gantry_info::ports_down. Descriptors to peers that are reached by this
 *   port time out.
 *
 * ## Threads
 * - Owner thread: the one thread that calls gantry_submit(), gantry_poll(), gantry_poll_good(),
 *   gantry_cancel(), gantry_in_flight(), gantry_recv_post(), gantry_recv_poll() and, in inline
 *   mode, the gantry_peer_ calls of a queue. While a worker runs, its lcore owns the worker's
 *   queue. While the worker is stopped, the control thread owns the queue.
 * - For a worker's queue, the control thread makes the gantry_peer_ calls, whether the worker runs
 *   or not. These calls wait until the lcore is between two bursts, because the lcore must know
 *   from when and until when descriptors may use the peer.
 * - Control thread: one thread of an engine, which makes all other calls. It may create, register
 *   and destroy objects while the owners of queues work. Several engines may have different control
 *   threads.
 * - Rings: one thread enqueues descriptors to a worker, and one thread enqueues receives. If
 *   gantry_worker_conf::producers permits it, several threads may enqueue. One thread dequeues
 *   completions, and one thread dequeues completions of receives.
 * - The engine has a thread of its own, which sleeps until the device has an event. It calls no
 *   function of the application, and blocks all signals.
 * - Any thread: gantry_info_get(), gantry_mem_remote_addr(), gantry_mem_remote_key(),
 *   gantry_stats_get(), gantry_latency_get(), gantry_lcore_load_get(), gantry_queue_info_get(),
 *   gantry_status_name(), gantry_version(), gantry_policy_parse(), gantry_policy_print().
 *
 * A second thread may take over one of these roles when the first thread has made its last call and
 * the two threads have synchronised, for example by a join. EAL must be initialised
 * (rte_eal_init()) before any call except gantry_before_eal() and gantry_version().
 *
 * ## fork(2)
 * The engine belongs to the process that created it. In a child, calls of the control thread that
 * reach the device or a worker return -ECHILD and change nothing; other calls do not check for a
 * child, so a child must not make them. A program that calls daemon(3) must initialise EAL and
 * create its engine afterwards.
 *
 * The parent, its workers and descriptors in flight are not affected. Registered memory needs one
 * of these conditions:
 * - The kernel copies pinned pages for the child (Linux 5.12; ibv_is_fork_initialized(3) says
 *   IBV_FORK_UNNEEDED). The child has a copy.
 * - ibv_fork_init(3), called before gantry_create(). The child does not have these pages, and ends
 *   by SIGSEGV if it touches such a page. DPDK's mlx4 plug-in (librte_net_mlx4) makes that call
 *   when it is loaded, on any kernel. DPDK's mlx5 plug-ins make that call if the kernel does not
 *   copy pinned pages. gantry_before_eal() saves a process the cost of the call.
 *
 * Without one of these conditions, the parent and the device see different pages after a fork.
 *
 * ## Values
 * Functions that return int return 0 or a negative errno. Objects are returned through a pointer
 * parameter, which is written only on success. NULL as a configuration, or 0 in a field of a
 * configuration, means the default. Lengths are in bytes.
 */
#ifndef GANTRY_H
#define GANTRY_H

#include "gantry_api.h"
#include "gantry_crypto.h"
#include "gantry_desc.h"
#include "gantry_engines.h"
#include "gantry_exports.h"
#include "gantry_layouts.h"
#include "gantry_memory.h"
#include "gantry_peers.h"
#include "gantry_policies.h"
#include "gantry_queues.h"
#include "gantry_statistics.h"
#include "gantry_txn.h"
#include "gantry_workers.h"

#endif
