/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses a port of the bond for a queue, as mlx5_ib does: the queue pairs of a context get the
 * ports alternately, and the first queue pairs of successive contexts also get them alternately
 * (get_tx_affinity_rr() and mlx5_ib_alloc_ucontext() of the kernel).
 */
#include "lag.h"

void
lag_start(struct softhca_ctx *ctx)
{
	ctx->tx_port = atomic_fetch_add(&ctx->dev->tx_port, 1) + 1;
}

uint8_t
lag_next_port(struct softhca_ctx *ctx)
{
	return ctx->dev->cfg->lag != 0 ? ++ctx->tx_port % SOFTHCA_LAG_PORTS + 1 : 0;
}

bool
lag_has_port(const struct softhca_dev *dev, uint32_t port)
{
	return port <= (dev->cfg->lag != 0 ? SOFTHCA_LAG_PORTS : 0);
}
