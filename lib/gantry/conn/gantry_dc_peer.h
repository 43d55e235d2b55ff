/* SPDX-License-Identifier: BSD-3-Clause */
/* The address of a DC peer, which is in each WQE to the peer. */
#ifndef GANTRY_DC_PEER_H
#define GANTRY_DC_PEER_H

#include <hwq_ah.h>
#include <hwq_wqe_dc.h>

/* Constant while the owner may use the peer. */
struct gantry_dc_peer {
	struct hwq_dc_dest dest;
	struct hwq_ah ah;
};

#endif
