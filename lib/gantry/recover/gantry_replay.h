/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replay: work of the own connection that the device flushed, and that may run twice, is posted
 * again after the repair. While nothing fails, nothing is stored for it: the WQEs are still in the
 * send queue's ring when the first error CQE comes.
 *
 *   gantry_replay_save()     first error CQE, for each slot behind the one that failed: the slot is
 *                            held, and its WQEs are copied out of the ring
 *   gantry_replay_post()     the QP works again: they are posted
 *   gantry_replay_drop()     the QP is lost: held slots get a status
 *
 * gantry_queue::saved has the WQEs of all held slots, one behind the other, in the order of slots.
 * `where` of a held slot is GANTRY_WHERE_HELD and the own connection; its index is the WQEBB of
 * `saved` behind the slot's last one.
 */
#ifndef GANTRY_REPLAY_H
#define GANTRY_REPLAY_H

#include "gantry_queue.h"

/* A slot that is held is never done: gantry_poll() reads an index that is beyond all others. */
#define GANTRY_WHERE_HELD (UINT64_C(1) << (GANTRY_WHERE_SHIFT - 1))

/*
 * Holds a slot whose WQEs are in [from, end) of the own connection c, with NOPs at the ring's end.
 * False: it was replayed too often, or its operation must not run twice.
 */
bool gantry_replay_save(struct gantry_queue *q, const struct gantry_conn *c, uint32_t slot,
	uint64_t from, uint64_t end);

/* True: a UMR is among the WQEs in [from, end), so that some key is not laid out if they do not run. */
bool gantry_replay_loses_key(const struct gantry_conn *c, uint64_t from, uint64_t end);

/*
 * Posts what was saved, and rings the doorbell. No slot is held afterwards. The send queue is empty
 * at the call.
 */
void gantry_replay_post(struct gantry_queue *q, struct gantry_conn *c);

/* Settles every held slot with `status`. None of its WQEs runs any more. */
void gantry_replay_drop(struct gantry_queue *q, struct gantry_conn *c, enum gantry_status status);

#endif
