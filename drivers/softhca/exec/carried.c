/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds the traffic of messages to the counters of ports. */
#include "carried.h"

#include <string.h>

/* Bytes of each header: IBTA volume 1, chapters 7.7, 8 and 9.2, and annex A17. */
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
	DCETH = 16, /* DC; the size of this header is not public. Assumed: dc-header. */
	RETH = 16,  /* RDMA */
	ATOMIC_ETH = 28,
	IMM = 4, /* immediate data, or the key to invalidate */
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

/* Bytes of the headers that every packet of a connected QP has. */
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

/* Bytes of headers that each kind of message adds to those of every packet. */
static const struct {
	uint8_t request, answer;
} headers[MESSAGE_N_KINDS] = {
	[MESSAGE_SEND] = {0, AETH},
	[MESSAGE_SEND_MORE] = {IMM, AETH},
	[MESSAGE_WRITE] = {RETH, AETH},
	[MESSAGE_WRITE_IMM] = {RETH + IMM, AETH},
	[MESSAGE_READ] = {RETH, AETH},
	[MESSAGE_ATOMIC] = {ATOMIC_ETH, AETH + ATOMIC_ACK},
};

/*
 * from: the QP that sends. If the sender is in another process, the responder's QP, which has the
 * same path.
 */
static inline __attribute__((always_inline)) void
begin(struct run *run, const struct softhca_qp *from, const struct message *m)
{
	uint32_t mtu = from->attr.path_mtu;
	bool named = from->type == SOFTHCA_QP_UD || from->type == SOFTHCA_QP_DCI;
	struct carried *c = &run->carried;

	/* A UD message is always one packet, at most as long as the port's MTU of 4096 bytes. */
	if (mtu < MTU_256 || mtu > MTU_4096 || from->type == SOFTHCA_QP_UD)
		mtu = MTU_4096;
	c->from = from;
	c->log_mtu = LOG_MTU_256 + mtu - MTU_256;
	c->rare_len = (UINT64_C(1) << c->log_mtu) + 1;
	c->packet_headers = named ? datagram_headers(from, &m->path) : packet_headers(from);
	c->request_header = request_header(from->type);
}

void
carried_note_rare(struct run *run, const struct message *m, uint64_t len)
{
	struct carried *c = &run->carried;

	if (c->from == NULL)
		begin(run, run->qp, m);
	c->n[m->op->kind]++;
	c->len[m->op->kind] += len;
	if (len != 0)
		c->packets[m->op->kind] += (len - 1) >> c->log_mtu;
}

/*
 * Sums up the noted messages: `there` to the responder, `back` to the requester. If answered is
 * false, the responder sends nothing back.
 */
static inline __attribute__((always_inline)) void
sum(const struct carried *c, bool answered, struct traffic *there, struct traffic *back)
{
	uint64_t octets = 0, octets_back = 0, *data;

	*there = *back = (struct traffic){0, 0};
	for (unsigned int kind = 0; kind < MESSAGE_N_KINDS; kind++) {
		const uint64_t n = c->n[kind];

		if (n == 0)
			continue;
		there->packets += n;
		back->packets += n;
		(kind == MESSAGE_READ ? back : there)->packets += c->packets[kind];
		octets += n * (headers[kind].request + c->request_header);
		octets_back += n * headers[kind].answer;
		data = kind == MESSAGE_READ ? &octets_back : &octets;
		*data += c->len[kind];
	}
	there->words = (octets + there->packets * c->packet_headers) / 4;
	back->words = (octets_back + back->packets * c->packet_headers) / 4;
	if (!answered)
		*back = (struct traffic){0, 0};
}

void
carried_flush(struct run *run)
{
	const struct carried *c = &run->carried;
	const struct softhca_qp *qp = c->from, *responder = run->responder.qp;
	const struct requests requests = {.writes = c->n[MESSAGE_WRITE] + c->n[MESSAGE_WRITE_IMM],
		.reads = c->n[MESSAGE_READ],
		.atomics = c->n[MESSAGE_ATOMIC]};
	struct traffic there, back, both;

	sum(c, !qp_is_unreliable(qp), &there, &back);
	if (responder != NULL && responder->dev == qp->dev &&
		responder->attr.port == qp->attr.port) {
		both.words = there.words + back.words;
		both.packets = there.packets + back.packets;
		counters_carry(qp->dev, qp->attr.port, &both, &both, &requests);
	} else {
		counters_carry(qp->dev, qp->attr.port, &there, &back, NULL);
		if (responder != NULL)
			counters_carry(responder->dev, responder->attr.port, &back, &there,
				&requests);
	}
	run->carried = (struct carried){.from = NULL};
}

void
carried_answer(struct run *run, const struct message *m, uint64_t len)
{
	const struct softhca_qp *qp = run->responder.qp;
	struct traffic there, back;
	struct requests requests;
	struct carried *c = &run->carried;

	begin(run, qp, m);
	c->n[m->op->kind] = 1;
	c->len[m->op->kind] = len;
	if (len != 0)
		c->packets[m->op->kind] = (len - 1) >> c->log_mtu;
	requests = (struct requests){.writes = c->n[MESSAGE_WRITE] + c->n[MESSAGE_WRITE_IMM],
		.reads = c->n[MESSAGE_READ],
		.atomics = c->n[MESSAGE_ATOMIC]};
	sum(c, m->type != SOFTHCA_QP_UC && m->type != SOFTHCA_QP_UD, &there, &back);
	counters_carry(qp->dev, qp->attr.port, &back, &there, &requests);
	run->carried = (struct carried){.from = NULL};
}

void
carried_frame(struct run *run, unsigned int len)
{
	counters_carry(run->qp->dev, run->qp->attr.port, &(struct traffic){len / 4, 1},
		&(struct traffic){0, 0}, NULL);
}
