/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Link aggregation (LAG): with the setting `lag`, the adapter's port stands for two ports that are
 * bonded, and each send queue has the one by which its packets leave.
 *
 * The two ports lead to the same peers, so the port of a queue changes what queries answer, and no
 * packet.
 */
#ifndef SOFTHCA_LAG_H
#define SOFTHCA_LAG_H

#include <stdbool.h>
#include <stdint.h>

#include "ctx.h"

/* A transport interface of senders (TIS). A queue pair that is not a raw one has only its port. */
struct tis {
	uint8_t lag_port; /* counted from 1; 0: none is chosen */
	uint8_t prio;
	bool strict; /* the queue does not move to the other port when its port fails */
};

/*
 * Chooses the first port of a new context. The caller of both functions holds the context's lock.
 */
void lag_start(struct softhca_ctx *ctx);
/* The port of a queue pair that comes to INIT: they take turns. 0: the adapter has no bond. */
uint8_t lag_next_port(struct softhca_ctx *ctx);
/* True: a program may choose this port for a queue. 0 leaves the choice to the adapter. */
bool lag_has_port(const struct softhca_dev *dev, uint32_t port);

#endif
