/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The setting `reorder`: bytes move in an order that a seed chooses, among the orders that the
 * manual pages allow. It shows programs that lack a fence.
 *
 *   posted                memcpy A to B    memcpy B to C    write C to the peer
 *                              |                |                  |
 *   checked, in order       held back        held back          held back
 *                                  \            |              /
 *   bytes move                 in pieces, in any order
 *                                               |
 *   completions, in order         A to B        B to C           the write
 *
 * Every WQE is checked in its turn: what it names is looked up, and a WQE that fails does so then.
 * So a WQE behind a failed one never runs. Of a WQE that succeeds, only the moving of bytes is held
 * back, or the change of a key, and its completion with it. A later WQE, or chance, has the bytes
 * of earlier ones moved: see must_be_done(). Nothing is held back beyond a visit to the queue. A
 * visit may also end early, by order_pauses(): then other queues run first.
 *
 * What is held back, and by which page what follows does not wait for it:
 *
 *   memcpy        mlx5dv_wr_post(3): a request that depends on it must be fenced
 *   read, atomic  ibv_post_send(3), IBV_SEND_FENCE; InfiniBand volume 1, chapter 10.8.3.3: reads
 *                 and atomics keep their order among each other; another request waits only by
 *                 a fence. An atomic changes the peer's memory in its turn: its result alone is
 *                 held back
 *   write         a memcpy behind it does not know of it. Writes, reads, atomics and messages to
 *                 a receive arrive in order, except writes among each other to memory with
 *                 IBV_ACCESS_RELAXED_ORDERING: ibv_reg_mr(3). The bytes of a write may be read
 *                 before earlier writes have arrived: ibv_post_send(3) gives buffers back at
 *                 completion
 *
 *   UMR, SET_PSV  libmlx5 sets the small fence in what follows, and so does Linux's mlx5_ib.
 *                 Without it, a WQE meets the key or the PSV as it was. UMRs and SET_PSVs keep
 *                 their order
 *
 * What completes a receive is not held back.
 */
#ifndef SOFTHCA_ORDER_H
#define SOFTHCA_ORDER_H

#include "run.h"
#include "sg.h"
#include "uar.h"
#include "wqe.h"

/* The WQE at the head may wait for the next visit. The setting is on. */
bool order_pauses(struct run *run);
/*
 * The WQE at the head is about to run; bytes move that must be in place before. False: no memory.
 */
bool order_begin(struct run *run, const struct wqe *wqe);
/* It succeeded; `completes`: its completion follows those before it. */
void order_end(struct run *run, const struct wqe *wqe, bool completes);
/* The WQE asks to move bytes between plain memory. False: they are to be moved now. */
bool order_move(struct run *run, const struct sg *dst, const struct sg *src);
typedef void order_effect(void *object, uint64_t value);
/* The WQE has no bytes, but this effect, which may come later. False: it is to be called now. */
bool order_delay(struct run *run, order_effect *effect, void *object, uint64_t value);
void order_settle_all(struct run *run);

/* All bytes move, and all completions are made, of the WQEs in front of the head. */
static inline void
order_settle(struct run *run)
{
	if (run->qp->uar->order != NULL)
		order_settle_all(run);
}

#endif
