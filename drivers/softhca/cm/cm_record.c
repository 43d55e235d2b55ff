/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks records of other processes, before the state machine sees them. */
#include "cm_record.h"

#include <stdbool.h>

#include <rdma/rdma_user_cm.h>

#include "address.h"

#define MAX_24_BITS 0xffffffu
#define MAX_RETRY   7
#define MTU_MIN     1 /* enum ib_mtu: 256 and 4096 bytes */
#define MTU_MAX     5
#define MAX_REASON  0xffff
#define MAX_STATUS  255

static bool
is_request(const struct cm_message *m)
{
	return m->kind == CM_REQ || m->kind == CM_SIDR_REQ;
}

static bool
addresses_are_right(const struct cm_message *m)
{
	return address_len(&m->src) != 0 && m->src.sin6_family == m->dst.sin6_family &&
	       address_port(&m->dst) != 0 && !address_is_any(&m->dst);
}

static bool
request_is_right(const struct cm_message *m)
{
	if (m->ps != (m->kind == CM_REQ ? RDMA_PS_TCP : RDMA_PS_UDP) || m->to != 0 ||
		!addresses_are_right(m))
		return false;
	return m->kind == CM_SIDR_REQ ||
	       (m->mtu >= MTU_MIN && m->mtu <= MTU_MAX && m->retry <= MAX_RETRY);
}

/* An answer to a request that was refused at once has no id behind it, so `from` may be 0. */
static bool
reply_is_right(const struct cm_message *m)
{
	switch (m->kind) {
	case CM_REJ:
		return m->reason <= MAX_REASON && (m->to != 0 || m->from != 0);
	case CM_SIDR_REP:
		return m->reason <= MAX_STATUS && m->to != 0;
	case CM_DREP:
		return m->to != 0;
	default:
		return m->to != 0 && m->from != 0;
	}
}

static bool
fields_are_right(const struct cm_message *m)
{
	return m->private_len <= cm_private_max(m->kind) && m->qpn <= MAX_24_BITS &&
	       m->psn <= MAX_24_BITS && m->again <= 1 && m->flow_control <= 1 && m->srq <= 1 &&
	       m->rnr_retry <= MAX_RETRY && m->zero == 0;
}

const char *
record_wrong(const struct cm_record *record, size_t len)
{
	const struct cm_message *m = &record->message;

	if (len < sizeof(record->magic) || (record->magic ^ CM_RECORD_MAGIC) >> 8 != 0)
		return "it sent something that is no record";
	if (record->magic != CM_RECORD_MAGIC)
		return "it has another version of softhca";
	if (len != sizeof(*record) || record->zero != 0)
		return "it sent a malformed record";
	if (m->kind == 0 || m->kind >= CM_KINDS)
		return "it sent a record of an unknown kind";
	if (!fields_are_right(m) ||
		(is_request(m) ? m->from == 0 || !request_is_right(m) : !reply_is_right(m)))
		return "it sent a malformed message";
	return NULL;
}
