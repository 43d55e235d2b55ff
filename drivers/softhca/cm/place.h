/* SPDX-License-Identifier: BSD-3-Clause */
/* The ports of adapters for which addresses stand. */
#ifndef SOFTHCA_CM_PLACE_H
#define SOFTHCA_CM_PLACE_H

#include <netinet/in.h>
#include <stdint.h>

struct softhca_dev;

/* A port of an adapter, and one of its GIDs. */
struct cm_place {
	struct softhca_dev *dev; /* NULL: no port */
	uint8_t port;            /* from 1 on */
	uint8_t gid_index;
	uint8_t gid[16];
	uint16_t lid;
};

/*
 * Finds the port for which an address stands:
 *
 *   the address of a GID of an adapter    the port with this GID, and this GID
 *   any other address of the machine      the port that the setting `netdev` ties to the address's
 *                                         interface, otherwise port 1 of mlx5_0; its default GID
 *
 * Returns 0, or -EADDRNOTAVAIL if it is neither.
 */
int address_place(const struct sockaddr_in6 *a, struct cm_place *place);

#endif
