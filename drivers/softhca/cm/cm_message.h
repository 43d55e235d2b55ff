/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages between two ids of the connection manager: the MADs of the IBTA's communication
 * management, without the fields that only packets need. The state machine makes and takes them; a
 * carrier moves them.
 */
#ifndef SOFTHCA_CM_MESSAGE_H
#define SOFTHCA_CM_MESSAGE_H

#include <netinet/in.h>
#include <stdint.h>

/*
 * Bytes of private data that each kind of message has room for: IBTA volume 1, chapter 12. A
 * request begins with 36 bytes of IP addresses (annex A11), so 92 and 216 bytes leave 56 and 180.
 */
enum cm_private {
	CM_PRIVATE_REQ = 56,
	CM_PRIVATE_SIDR_REQ = 180,
	CM_PRIVATE_REP = 196,
	CM_PRIVATE_SIDR_REP = 136,
	CM_PRIVATE_REJ = 148,
	CM_PRIVATE_MAX = 196
};

enum cm_kind {
	CM_REQ = 1,  /* asks a listener for a connection */
	CM_MRA,      /* the request waits for the listener's program */
	CM_REP,      /* the listener's program accepts */
	CM_RTU,      /* the asking program is ready */
	CM_REJ,      /* refuses, or gives up */
	CM_DREQ,     /* ends a connection */
	CM_DREP,     /* answers a DREQ */
	CM_SIDR_REQ, /* asks a listener for its UD queue pair */
	CM_SIDR_REP, /* answers a SIDR_REQ */
	CM_KINDS
};

/* Reasons of a REJ: IBTA volume 1, table 109. */
enum cm_reason {
	CM_REASON_TIMEOUT = 4,
	CM_REASON_COMM_ID = 6,
	CM_REASON_SERVICE_ID = 8, /* nobody listens */
	CM_REASON_CONSUMER = 28,
	CM_REASON_VENDOR_OPTION = 35
};

/* Status of a SIDR_REP: IBTA volume 1, table 122. */
enum cm_sidr_status {
	CM_SIDR_SUCCESS = 0,
	CM_SIDR_UNSUPPORTED = 1, /* nobody listens */
	CM_SIDR_REJECT = 2
};

/* All numbers are in the host's byte order, except for addresses and GIDs. */
struct cm_message {
	uint8_t kind;      /* enum cm_kind */
	uint8_t again;     /* 1: a request that may have been sent before */
	uint16_t ps;       /* of a request: port space, RDMA_PS_* */
	uint32_t from, to; /* communication ids of the sender and the receiver; 0: not known */
	uint32_t reason;   /* REJ: enum cm_reason, SIDR_REP: enum cm_sidr_status */
	/* psn: the receiver's first PSN is that of the sender's requests */
	uint32_t qpn, qkey, psn;
	uint32_t ece_vendor, ece_attr;
	uint8_t gid[16]; /* of the sender's port */
	uint16_t lid;
	uint8_t responder_resources, initiator_depth; /* as the sender has them */
	uint8_t flow_control, retry, rnr_retry, srq;
	uint8_t mtu; /* enum ib_mtu of the path */
	uint8_t tos;
	uint8_t private_len, zero;
	struct sockaddr_in6 src, dst; /* of a request; each may hold a struct sockaddr_in */
	uint8_t private_data[CM_PRIVATE_MAX];
};

_Static_assert(sizeof(struct cm_message) == 316, "no padding");

/* Returns the bytes of private data that a kind of message has room for. */
static inline unsigned int
cm_private_max(uint8_t kind)
{
	static const uint8_t room[CM_KINDS] = {[CM_REQ] = CM_PRIVATE_REQ,
		[CM_REP] = CM_PRIVATE_REP,
		[CM_REJ] = CM_PRIVATE_REJ,
		[CM_SIDR_REQ] = CM_PRIVATE_SIDR_REQ,
		[CM_SIDR_REP] = CM_PRIVATE_SIDR_REP};

	return kind < CM_KINDS ? room[kind] : 0;
}

#endif
