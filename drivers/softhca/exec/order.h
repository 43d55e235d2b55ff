/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The setting `reorder`: bytes move in an order that a seed chooses, among the orders that the
 * manual pages allow. With this setting, programs that lack a fence fail.
 *
 *   posted                memcpy A to B    memcpy B to C    write C to the peer
 *                              |                |                  |
 *   checked, in order       held back        held back          held back
 *                                  \            |              /
 *   bytes move                 in pieces, in any order
 *                                               |
 *   completions, in order         A to B        B to C           the write
 *
 * The WQEs are checked in order: the keys of a WQE are looked up, and if the WQE fails, it fails at
 * this time. So a WQE after a failed WQE never runs. If a WQE succeeds, only its bytes (or its
 * change of a key) and its completion are held back. They move when a later WQE needs them
 * (must_be_done()), or by chance, and at the latest at the end of the visit to the queue. A visit
 * may also end early (order_pauses()), so that other queues run first.
 *
 * What is held back, and the manual page that allows it:
 *
 *   memcpy        mlx5dv_wr_post(3): a request that depends on a memcpy must be fenced.
 *   read, atomic  ibv_post_send(3), IBV_SEND_FENCE; InfiniBand volume 1, chapter 10.8.3.3: reads
 *                 and atomics keep their order among each other; any other request waits for them
 *                 only with a fence. An atomic changes the peer's memory at once: only its result
 *                 is held back.
 *   write         A later memcpy does not wait for a write. Writes, reads, atomics and messages to
 *                 a receive arrive in order. The exception is writes to memory with
 *                 IBV_ACCESS_RELAXED_ORDERING: they may pass each other (ibv_reg_mr(3)). The source
 *                 of a write may be read before earlier writes have arrived: ibv_post_send(3)
 *                 returns buffers at completion.
 *   UMR, SET_PSV  libmlx5 and Linux's mlx5_ib set the small fence in the following WQE. Without the
 *                 fence, that WQE uses the old key or PSV. UMRs and SET_PSVs keep their order.
 *
 * A WQE that completes a receive is not held back.
 */
#ifndef SOFTHCA_ORDER_H
#define SOFTHCA_ORDER_H

#include "run.h"
#include "sg.h"
#include "uar.h"
#include "wqe.h"

/*
 * True if the WQE at the head must wait for the next visit. This happens only with the setting
 * `reorder`.
 */
bool order_pauses(struct run *run);
/*
 * Called before the WQE at the head runs: moves the bytes that must have moved before this WQE.
 * Returns false if memory is short.
 */
bool order_begin(struct run *run, const struct wqe *wqe);
/*
 * Called when the WQE has succeeded. completes: the WQE makes a completion, which follows earlier
 * completions.
 */
void order_end(struct run *run, const struct wqe *wqe, bool completes);
/*
 * Notes that the WQE moves bytes between plain memory. Returns false if the caller must move them
 * now.
 */
bool order_move(struct run *run, const struct sg *dst, const struct sg *src);
typedef void order_effect(void *object, uint64_t value);
/*
 * Notes that the WQE moves no bytes but has this effect, which may be delayed. Returns false if the
 * caller must call `effect` now.
 */
bool order_delay(struct run *run, order_effect *effect, void *object, uint64_t value);
void order_settle_all(struct run *run);

/* Moves all bytes and makes all completions of the WQEs before the head. */
static inline void
order_settle(struct run *run)
{
	if (run->qp->uar->order != NULL)
		order_settle_all(run);
}

#endif
