/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Link aggregation (LAG): with the setting `lag`, the adapter's port represents two bonded ports.
 * Each send queue has one of the two ports, by which its packets leave.
 *
 * Both ports reach the same peers. So the port of a queue changes only the answers of queries.
 */
#ifndef SOFTHCA_LAG_H
#define SOFTHCA_LAG_H

#include <stdbool.h>
#include <stdint.h>

#include "ctx.h"

/*
 * A transport interface of senders (TIS). Only a raw queue pair has prio and strict; all other
 * queue pairs have only the port.
 */
struct tis {
	uint8_t lag_port; /* port of the bond, counted from 1; 0: no port was chosen */
	uint8_t prio;
	bool strict; /* the queue does not move to the other port when its port fails */
};

/*
 * Chooses the first port for a new context. The callers of lag_start() and lag_next_port() hold the
 * context's lock.
 */
void lag_start(struct softhca_ctx *ctx);
/*
 * Returns the port for a queue pair that moves to INIT. Queue pairs get the ports alternately.
 * Returns 0 if there is no bond.
 */
uint8_t lag_next_port(struct softhca_ctx *ctx);
/* True if a program may choose this port for a queue. With port 0, the adapter chooses. */
bool lag_has_port(const struct softhca_dev *dev, uint32_t port);

#endif
