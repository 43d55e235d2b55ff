/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers that no adapter of this process has, or that the process has destroyed. Nothing that is
 * sent to one arrives, and the program may not notice it: so a line on stderr says it, once for
 * each way to name a peer. Any thread.
 */
#ifndef SOFTHCA_ELSEWHERE_H
#define SOFTHCA_ELSEWHERE_H

#include <stdint.h>

#include "qp.h"

/* A QP was given the number and the address of its peer. softhca_note_address(): hca.h. */
void elsewhere_note_connection(const struct softhca_qp *qp, const struct softhca_qp_attr *attr);
/* A datagram, or a message to a DCT, found no QP of that number. */
void elsewhere_note_message(uint32_t dest_qpn);

#endif
