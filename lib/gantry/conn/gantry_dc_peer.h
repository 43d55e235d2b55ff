/* SPDX-License-Identifier: BSD-3-Clause */
/* What a queue's DC initiator knows of a peer: each WQE that goes there says it. */
#ifndef GANTRY_DC_PEER_H
#define GANTRY_DC_PEER_H

#include <hwq_ah.h>
#include <hwq_wqe_dc.h>

/* Where a DC peer is. Constant while the owner may use it. */
struct gantry_dc_peer {
	struct hwq_dc_dest dest;
	struct hwq_ah ah;
};

#endif
