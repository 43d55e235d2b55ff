/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logs messages to peers that do not exist: no process has the peer's number, or this process has
 * destroyed the peer, or no adapter has the address. Such messages are lost, and the program may
 * not notice. So a line goes to stderr, once for each way to address a peer. If another process may
 * have the number, nothing is logged. Any thread may call these functions.
 */
#ifndef SOFTHCA_ELSEWHERE_H
#define SOFTHCA_ELSEWHERE_H

#include <stdint.h>

#include "qp.h"

/*
 * Call this when the program has set the number and the address of a QP's peer.
 * softhca_note_address() is in hca.h.
 */
void elsewhere_note_connection(const struct softhca_qp *qp, const struct softhca_qp_attr *attr);
/* Call this when a datagram, or a message to a DCT, found no QP with its number. */
void elsewhere_note_message(uint32_t dest_qpn);

#endif
