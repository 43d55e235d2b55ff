/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between this process and others: a lane receives what has come for its adapter. With the
 * setting wire = off, no lane calls these functions.
 */
#ifndef SOFTHCA_EXCHANGE_H
#define SOFTHCA_EXCHANGE_H

#include <stdbool.h>

struct softhca_lanes;

/*
 * Serves messages of other processes, and calls for visits of the QPs whose answers have come. Call
 * it inside a turn (turns.h). Returns the number of records handled. Returns 0 at once if another
 * lane is doing this.
 */
unsigned int exchange(struct softhca_lanes *lanes);
/* True if no record waits to be handled, except for those that wire->poll_fd announces. */
bool exchange_is_at_rest(const struct softhca_lanes *lanes);

#endif
