/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers that no adapter of this process has, or that the process has destroyed. Messages to such a
 * peer are lost, and the program may not notice. So a line on stderr says so, once for each way to
 * name a peer. Any thread.
 */
#ifndef SOFTHCA_ELSEWHERE_H
#define SOFTHCA_ELSEWHERE_H

#include <stdint.h>

#include "qp.h"

/* Call when a QP has got the number and the address of its peer. softhca_note_address(): hca.h. */
void elsewhere_note_connection(const struct softhca_qp *qp, const struct softhca_qp_attr *attr);
/* Call when a datagram, or a message to a DCT, found no QP of that number. */
void elsewhere_note_message(uint32_t dest_qpn);

#endif
