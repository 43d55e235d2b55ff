/* SPDX-License-Identifier: BSD-3-Clause */
/* What a visit carries from port to port, added to the ports' counters. */
#include "carried.h"

#include <string.h>

/* Bytes of headers: IBTA volume 1, chapters 7.7, 8 and 9.2, and annex A17. */
enum {
	BTH_AND_ICRC = 12 + 4,
	LRH = 8,
	GRH = 40,
	ETHERNET = 14,
	IPV4 = 20,
	IPV6 = 40,
	UDP = 8,
	DETH = 8, /* UD */
	XRCETH = 4,
	DCETH = 16, /* DC: an assumption, its size is not public */
	AETH = 4,
	ATOMIC_ACK = 8
};

#define LOG_MTU_256 8
#define MTU_256     1 /* IBV_MTU_256 */
#define MTU_4096    5

static bool
is_ipv4(const uint8_t gid[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

/* The headers of each packet. */
static uint32_t
packet_headers(const struct softhca_qp *qp)
{
	const struct softhca_qp_attr *attr = &qp->attr;

	if (qp->dev->cfg->link_layer != SOFTHCA_LINK_ETHERNET)
		return LRH + (attr->is_global ? GRH : 0) + BTH_AND_ICRC;
	if (attr->sgid_index < qp_port(qp)->n_gids && !qp_port(qp)->gid_is_v2[attr->sgid_index])
		return ETHERNET + GRH + BTH_AND_ICRC;
	return ETHERNET + (is_ipv4(attr->dgid) ? IPV4 : IPV6) + UDP + BTH_AND_ICRC;
}

static uint32_t
datagram_headers(const struct softhca_qp *qp, const struct message_path *path)
{
	if (qp->dev->cfg->link_layer != SOFTHCA_LINK_ETHERNET)
		return LRH + (path->has_grh ? GRH : 0) + BTH_AND_ICRC;
	if (!path->is_v2)
		return ETHERNET + GRH + BTH_AND_ICRC;
	return ETHERNET + (is_ipv4(path->dgid) ? IPV4 : IPV6) + UDP + BTH_AND_ICRC;
}

static uint32_t
request_header(enum softhca_qp_type type)
{
	switch (type) {
	case SOFTHCA_QP_UD:
		return DETH;
	case SOFTHCA_QP_XRC_SEND:
		return XRCETH;
	case SOFTHCA_QP_DCI:
		return DCETH;
	default:
		return 0;
	}
}

void
carried_begin(struct run *run, const struct message *m)
{
	const struct softhca_qp *from = run->qp;
	uint32_t mtu = from->attr.path_mtu;
	bool named = from->type == SOFTHCA_QP_UD || from->type == SOFTHCA_QP_DCI;

	/* A datagram is one packet of the port's MTU. */
	if (mtu < MTU_256 || mtu > MTU_4096 || from->type == SOFTHCA_QP_UD)
		mtu = MTU_4096;
	run->carried = (struct carried){
		.from = from,
		.log_mtu = LOG_MTU_256 + mtu - MTU_256,
		.packet_headers = named ? datagram_headers(from, &m->path) : packet_headers(from),
		.request_header = request_header(from->type),
	};
}

/* What one port gets: what it sent, and what it received. */
static void
add(uint64_t n[COUNTER_N_CARRIED], uint64_t sent_octets, uint64_t sent, uint64_t received_octets,
	uint64_t received)
{
	n[COUNTER_XMIT_DATA] += sent_octets / 4;
	n[COUNTER_XMIT_PACKETS] += sent;
	n[COUNTER_RCV_DATA] += received_octets / 4;
	n[COUNTER_RCV_PACKETS] += received;
}

void
carried_flush(struct run *run)
{
	struct carried *c = &run->carried;
	const uint64_t writes = c->requests[ACC_REMOTE_WRITE], reads = c->requests[ACC_REMOTE_READ];
	const uint64_t atomics = c->requests[ACC_REMOTE_ATOMIC];
	const uint64_t messages = c->requests[0] + writes + reads + atomics;
	const uint64_t asks = messages + c->packets[0];
	const uint64_t asked = c->len[0] + c->request_len + messages * c->request_header +
			       asks * c->packet_headers;
	uint64_t here[COUNTER_N_CARRIED] = {0}, there[COUNTER_N_CARRIED] = {0}, *peer;
	uint64_t answers = 0, answered = 0;
	const struct softhca_qp *qp = c->from, *responder = run->responder.qp;
	struct counters *from = counters_of(qp->dev, qp->attr.port);
	struct counters *to =
		responder != NULL ? counters_of(responder->dev, responder->attr.port) : NULL;

	/* An acknowledgment for each message, or the data that were asked for. */
	if (!qp_is_unreliable(qp)) {
		answers = messages + c->packets[1];
		answered = c->len[1] + messages * AETH + atomics * ATOMIC_ACK +
			   answers * c->packet_headers;
	}
	peer = from == to ? here : there;
	add(here, asked, asks, answered, answers);
	add(peer, answered, answers, asked, asks);
	peer[COUNTER_RX_WRITES] = writes;
	peer[COUNTER_RX_READS] = reads;
	peer[COUNTER_RX_ATOMICS] = atomics;
	counters_carry(from, here);
	if (from != to && to != NULL)
		counters_carry(to, there);
	c->from = NULL;
}

void
carried_frame(struct run *run, unsigned int len)
{
	uint64_t n[COUNTER_N_CARRIED] = {0};

	add(n, len, 1, 0, 0);
	counters_carry(counters_of(run->qp->dev, run->qp->attr.port), n);
}
