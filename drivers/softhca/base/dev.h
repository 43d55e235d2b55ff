/* SPDX-License-Identifier: BSD-3-Clause */
/* One emulated adapter: the struct that the control half and the data half share. */
#ifndef SOFTHCA_DEV_H
#define SOFTHCA_DEV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"

#define SOFTHCA_FIRST_VHCA_ID 0x10 /* id of the first function of a card */

struct softhca_dev;
struct softhca_lanes; /* state of the data half for one adapter */

/* The addresses of a port. The control half sets them; QPs that send to the port use them. */
struct softhca_port {
	uint8_t gid[4][16];
	uint8_t gid_is_v2[4]; /* RoCE v2: packets with this GID have an IP header */
	unsigned int n_gids;
	uint16_t lid;
	uint8_t mac[6];
};

/*
 * Sends an event of the adapter, or of one of its ports, to every open context. This function is
 * called inside a turn (turns.h), so it must not wait for a lock. If a control call holds a lock
 * that the function needs, it returns false, and no context gets the event.
 */
typedef bool softhca_dev_event_fn(struct softhca_dev *dev, uint32_t type, uint32_t port);

/*
 * The control half creates the adapters when the library is loaded, and calls softhca_lanes_init()
 * before the first object of an adapter is created. The lanes then run until the process ends.
 * A child of fork() has none of the parent's threads, and locks of the lanes may be held for ever.
 * So in the child `lanes` is NULL again. The next open calls softhca_lanes_init() again, and the
 * parent's lanes are abandoned.
 */
struct softhca_dev {
	const struct softhca_config *cfg;
	struct softhca_port port[SOFTHCA_MAX_PORTS]; /* port 1 first */
	unsigned int index;                          /* mlx5_<index> */
	unsigned int uverbs;                         /* /dev/infiniband/uverbs<uverbs> */
	struct softhca_lanes *lanes;
	/*
	 * number of contexts so far: successive contexts begin with different ports of a bond
	 * (lag_start())
	 */
	_Atomic uint32_t tx_port;
	atomic_bool dead;                 /* a fault has stopped the adapter: fault.c */
	softhca_dev_event_fn *send_event; /* set before softhca_lanes_init() */
};

/* Returns the index of the first adapter that is a function of the same card. */
static inline unsigned int
softhca_first_function(const struct softhca_dev *dev)
{
	return dev->index - dev->index % dev->cfg->functions;
}

/* Returns the VHCA id of this function. Functions of other cards have the same ids. */
static inline uint32_t
softhca_vhca_id(const struct softhca_dev *dev)
{
	return SOFTHCA_FIRST_VHCA_ID + dev->index % dev->cfg->functions;
}

/* Returns the maximum of bytes of one DMA MMO memcpy, or 0 if the adapter has no MMO. */
static inline uint64_t
softhca_max_memcpy(const struct softhca_dev *dev)
{
	return dev->index < dev->cfg->mmo_from ? 0 : dev->cfg->max_memcpy;
}

#endif
