/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records: how a message looks on a connection between two processes (carrier.h). A record is one
 * datagram of a SOCK_SEQPACKET socket, and has always the same size. Its numbers are in the host's
 * byte order, because both processes run on one host.
 */
#ifndef SOFTHCA_CM_RECORD_H
#define SOFTHCA_CM_RECORD_H

#include <stddef.h>

#include "cm_message.h"

/* Changes with each change of the structs. */
#define CM_RECORD_MAGIC 0x63684301u

struct cm_record {
	uint32_t magic;
	uint32_t zero;
	struct cm_message message;
};

/* Returns NULL if the record is correct, otherwise the rule that it breaks. */
const char *record_wrong(const struct cm_record *record, size_t len);

#endif
