/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replay: after the repair of the own connection, WQEs that the device flushed and that may run
 * twice are posted again. Before a failure, nothing is stored for a replay: when the first error
 * CQE comes, the WQEs are still in the send queue's ring.
 *
 *   gantry_replay_save()     first error CQE, for each slot behind the failed one: the slot is
 *                            held, and its WQEs are copied out of the ring
 *   gantry_replay_post()     the QP works again: the copies are posted
 *   gantry_replay_drop()     the QP is lost: held slots get a status
 *
 * gantry_queue::saved has the WQEs of all held slots, in the order of slots. `where` of a held slot
 * has GANTRY_WHERE_HELD and the own connection. The index in this `where` is the WQEBB of `saved`
 * behind the slot's last WQE.
 */
#ifndef GANTRY_REPLAY_H
#define GANTRY_REPLAY_H

#include "gantry_queue.h"

/*
 * With this bit in `where`, the index is greater than every index of a connection. So a held slot
 * never counts as done.
 */
#define GANTRY_WHERE_HELD (UINT64_C(1) << (GANTRY_WHERE_SHIFT - 1))

/*
 * Holds a slot. Its WQEs, and NOPs at the ring's end, are WQEBBs [from, end) of the own connection
 * c. Returns false if the slot was replayed too often, or its operation must not run twice.
 */
bool gantry_replay_save(struct gantry_queue *q, const struct gantry_conn *c, uint32_t slot,
	uint64_t from, uint64_t end);

/*
 * Returns true if one of the WQEs in [from, end) is a UMR for a key of connection c. If the WQEs do
 * not run, this key does not get its layout.
 */
bool gantry_replay_loses_key(const struct gantry_queue *q, const struct gantry_conn *c,
	uint64_t from, uint64_t end);

/*
 * Posts all saved WQEs, and rings the doorbell. The caller makes sure that the send queue is empty.
 * No slot is held afterwards.
 */
void gantry_replay_post(struct gantry_queue *q, struct gantry_conn *c);

/* Gives `status` to every held slot. The WQEs of these slots are not posted again. */
void gantry_replay_drop(struct gantry_queue *q, struct gantry_conn *c, enum gantry_status status);

#endif
