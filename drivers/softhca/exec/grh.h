/* SPDX-License-Identifier: BSD-3-Clause */
/* The network header that a receive has before a datagram's payload. */
#ifndef SOFTHCA_GRH_H
#define SOFTHCA_GRH_H

#include "message.h"

#define GRH_LEN 40

/* True if the packet is RoCE v2 over IPv4. */
bool grh_is_ipv4(const struct message_path *path);
/* Writes GRH_LEN bytes; all are zero if the message has no global header. len: bytes of payload. */
void grh_write(uint8_t *p, const struct message_path *path, uint64_t len, bool has_imm);

#endif
