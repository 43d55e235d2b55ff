/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Link aggregation (LAG): with the setting `lag`, the adapter's port stands for two bonded ports,
 * and each send queue has a port by which its packets leave.
 *
 * Both ports lead to the same peers. So the port of a queue changes the answers of queries, and no
 * packet.
 */
#ifndef SOFTHCA_LAG_H
#define SOFTHCA_LAG_H

#include <stdbool.h>
#include <stdint.h>

#include "ctx.h"

/*
 * A transport interface of senders (TIS). Only a raw queue pair has prio and strict; other queue
 * pairs have only the port.
 */
struct tis {
	uint8_t lag_port; /* counted from 1; 0: not chosen */
	uint8_t prio;
	bool strict; /* the queue does not move to the other port when its port fails */
};

/*
 * Chooses the first port of a new context. The caller of lag_start() and lag_next_port() holds the
 * context's lock.
 */
void lag_start(struct softhca_ctx *ctx);
/*
 * The port of a queue pair that moves to INIT: queue pairs take the ports in turn. 0: there is no
 * bond.
 */
uint8_t lag_next_port(struct softhca_ctx *ctx);
/* True if a program may choose this port for a queue. Port 0 lets the adapter choose. */
bool lag_has_port(const struct softhca_dev *dev, uint32_t port);

#endif
