/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages to peers that no adapter of this process has, or that the process has destroyed. Such
 * messages are lost, and the program may not notice. So a line is logged on stderr, once for each
 * way to address a peer. Any thread may call these functions.
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
