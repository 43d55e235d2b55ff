/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who a message goes to, by each transport's own way of naming its responder.
 *
 *   RC, UC    the QP that the sender is connected to
 *   XRC       the same, and in each WQE the number of a shared receive queue of its domain
 *   DC        in each WQE the number and the access key of a DCT, and the port it is on
 *   UD        in each WQE a QP number, a qkey and a port; nobody answers
 */
#include "exec.h"

#include <errno.h>

#include "uar.h"

#define EVENT_COMM_EST 4    /* IBV_EVENT_COMM_EST */
#define UD_MAX_MESSAGE 4096 /* the port's MTU */
#define GRH_LEN        40
#define QKEY_OWN       0x80000000u /* of a WQE's qkey: the QP's own is meant */

unsigned int
qp_address_units(enum softhca_qp_type type)
{
	switch (type) {
	case SOFTHCA_QP_UD:
	case SOFTHCA_QP_DCI:
		return AV_UNITS;
	case SOFTHCA_QP_XRC_SEND:
		return XRC_UNITS;
	default:
		return 0;
	}
}

/* The QP of that number in this adapter or another of the process: numbers are wide apart. */
static struct softhca_qp *
find_qp(const struct softhca_qp *qp, uint32_t number)
{
	struct softhca_qp *peer = table_get(&qp->dev->lanes->qps, number);
	struct softhca_dev *devs;
	unsigned int n;

	if (peer != NULL)
		return peer;
	devs = softhca_devices(&n);
	for (unsigned int i = 0; i < n && peer == NULL; i++) {
		struct softhca_lanes *lanes = dev_lanes(&devs[i]);

		if (lanes != NULL)
			peer = table_get(&lanes->qps, number);
	}
	return peer;
}

/* Behind the control segment: 48 bytes, all of them in the WQE's first WQEBB. */
static const uint8_t *
wqe_address(const struct wqe *wqe)
{
	return wqe->seg0 + WQE_SEG;
}

static uint32_t
destination(const struct run *run, const struct wqe *wqe)
{
	if (run->qp->type != SOFTHCA_QP_UD && run->qp->type != SOFTHCA_QP_DCI)
		return run->qp->attr.dest_qpn;
	return get_be32(wqe_address(wqe) + AV_DEST_QPN) & 0xffffff;
}

static const struct softhca_port *
qp_port(const struct softhca_qp *qp)
{
	unsigned int port = qp->attr.port;

	return &qp->dev->port[port >= 1 && port <= SOFTHCA_MAX_PORTS ? port - 1 : 0];
}

/* The packet would arrive at the port that the QP is on. */
static bool
address_reaches(const uint8_t *av, const struct softhca_qp *peer)
{
	const struct softhca_port *port = qp_port(peer);

	if (peer->dev->cfg->link_layer != SOFTHCA_LINK_ETHERNET)
		return get_be16(av + AV_LID) == port->lid;
	if (memcmp(av + AV_MAC, port->mac, sizeof(port->mac)) != 0)
		return false;
	for (unsigned int i = 0; i < port->n_gids; i++)
		if (memcmp(av + AV_GID, port->gid[i], sizeof(port->gid[i])) == 0)
			return true;
	return false;
}

static bool
may_receive(const struct softhca_qp *peer)
{
	enum qp_state state = qp_state(peer);

	return state == QP_RTR || state == QP_RTS || state == QP_SQD || state == QP_SQE;
}

static bool
accepts_dc(const struct wqe *wqe, const struct softhca_qp *peer)
{
	const uint8_t *av = wqe_address(wqe);

	return peer->type == SOFTHCA_QP_DCT && get_be64(av + AV_DC_KEY) == peer->dc_key &&
	       address_reaches(av, peer);
}

static bool
accepts_ud(const struct run *run, const struct wqe *wqe, const struct softhca_qp *peer)
{
	const uint8_t *av = wqe_address(wqe);
	uint32_t qkey = get_be32(av + AV_QKEY);

	if ((qkey & QKEY_OWN) != 0)
		qkey = run->qp->attr.qkey;
	return peer->type == SOFTHCA_QP_UD && qkey == peer->attr.qkey && address_reaches(av, peer);
}

static bool
accepts(const struct run *run, const struct wqe *wqe, const struct softhca_qp *peer)
{
	const struct softhca_qp *qp = run->qp;

	if (!may_receive(peer))
		return false;
	switch (qp->type) {
	case SOFTHCA_QP_RC:
	case SOFTHCA_QP_UC:
		return peer->type == qp->type && peer->attr.dest_qpn == qp->number;
	case SOFTHCA_QP_XRC_SEND:
		return peer->type == SOFTHCA_QP_XRC_RECV && peer->attr.dest_qpn == qp->number;
	case SOFTHCA_QP_DCI:
		return accepts_dc(wqe, peer);
	case SOFTHCA_QP_UD:
		return accepts_ud(run, wqe, peer);
	default:
		return false;
	}
}

/* What is received can be told to nobody any more: the sender's retries will end. */
static unsigned int
xrc_cq_failed(struct run *run)
{
	qp_fatal_receive_side(run, run->peer);
	run_drop_peer(run);
	return EXEC_WAIT_PEER;
}

/* An XRC request names the queue that receives it, and whose PD guards the memory. */
static unsigned int
find_xrc_srq(struct run *run, const struct wqe *wqe)
{
	uint32_t number = get_be32(wqe_seg(run, wqe, 1) + XRC_SRQN);
	struct softhca_srq *srq =
		number > 0xffffff ? NULL : table_get(&run->peer->dev->lanes->srqs, number);

	/* One that is in no domain has number 0, which is no QP's. */
	if (srq != NULL && srq->xrcdn == run->peer->xrcdn) {
		run->peer_srq = srq;
		return cq_has_failed(srq->cq) ? xrc_cq_failed(run) : SYN_OK;
	}
	run->use.vendor = VEN_XRC_SRQ;
	responder_fail(run, run->peer, SYN_REM_INV_REQ);
	return SYN_REM_INV_REQ;
}

/* A connection's first message, before the program set the QP to RTS (ibv_get_async_event(3)). */
static void
tell_established(struct softhca_qp *peer)
{
	if (qp_state(peer) != QP_RTR || peer->established || peer->type == SOFTHCA_QP_UD ||
		peer->type == SOFTHCA_QP_DCT)
		return;
	peer->established = true;
	softhca_event_qp_async(peer->event, EVENT_COMM_EST);
}

static bool
is_connected_for_good(const struct softhca_qp *qp)
{
	return qp->type == SOFTHCA_QP_RC || qp->type == SOFTHCA_QP_UC;
}

unsigned int
run_hold_peer(struct run *run, const struct wqe *wqe)
{
	struct softhca_qp *qp = run->qp, *peer;

	if (run->peer != NULL && is_connected_for_good(qp))
		return SYN_OK;
	peer = find_qp(qp, destination(run, wqe));
	if (peer != run->peer || peer == NULL) {
		run_drop_cq(run);
		run_drop_peer(run);
	}
	run->use.vendor = VEN_NO_PEER;
	if (peer == NULL)
		return EXEC_WAIT_PEER;
	if (run->peer == NULL) {
		spin_lock(&peer->recv);
		run->peer = peer;
		run->use.peer_qpn = peer->number;
	}
	if (!accepts(run, wqe, peer)) {
		run_drop_cq(run);
		run_drop_peer(run);
		return EXEC_WAIT_PEER;
	}
	tell_established(peer);
	if (qp->type == SOFTHCA_QP_XRC_SEND)
		return find_xrc_srq(run, wqe);
	run->peer_srq = peer->srq;
	return SYN_OK;
}

uint32_t
responder_pdn(const struct run *run)
{
	if (run->peer->type == SOFTHCA_QP_XRC_RECV)
		return run->peer_srq->pdn;
	return run->peer->pdn;
}

/* ---- UD */

static uint32_t
ip_checksum(const uint8_t *p, unsigned int len)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < len; i += 2)
		sum += get_be16(p + i);
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

enum {
	BTH_LEN = 12,
	DETH_LEN = 8,
	IMM_LEN = 4,
	ICRC_LEN = 4,
	UDP_LEN = 8,
	IPV4_LEN = 20,
	NEXT_IBA = 0x1b,
	NEXT_UDP = 17
};

/* The network header of RoCE v2 over IPv4: in the last 20 of the 40 bytes (IBTA annex A17.4.5.2). */
static void
write_ipv4(uint8_t *p, const uint8_t *av, const uint8_t *sgid, uint32_t len)
{
	memset(p, 0, GRH_LEN);
	p += GRH_LEN - IPV4_LEN;
	p[0] = 0x45;
	p[1] = av[AV_TCLASS];
	put_be16(p + 2, IPV4_LEN + UDP_LEN + len);
	put_be16(p + 6, 0x4000); /* not to be fragmented */
	p[8] = av[AV_HOP_LIMIT];
	p[9] = NEXT_UDP;
	memcpy(p + 12, sgid + 12, 4);
	memcpy(p + 16, av + AV_GID + 12, 4);
	put_be16(p + 10, ip_checksum(p, IPV4_LEN));
}

/* A GRH, which is an IPv6 header (InfiniBand architecture, volume 1, chapter 8.3; RFC 8200). */
static void
write_grh(uint8_t *p, const uint8_t *av, const uint8_t *sgid, bool v2, uint32_t len)
{
	uint32_t flow = get_be32(av + AV_GRH) & 0xfffff;

	put_be32(p, 6u << 28 | (uint32_t)av[AV_TCLASS] << 20 | flow);
	put_be16(p + 4, v2 ? UDP_LEN + len : len);
	p[6] = v2 ? NEXT_UDP : NEXT_IBA;
	p[7] = av[AV_HOP_LIMIT];
	memcpy(p + 8, sgid, 16);
	memcpy(p + 24, av + AV_GID, 16);
}

/* What the first 40 bytes of a receive hold; false: no header, and they mean nothing. */
static bool
ud_header(const struct run *run, const uint8_t *av, uint32_t payload, bool imm, uint8_t *p)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const struct softhca_port *port = qp_port(run->qp);
	uint32_t grh = get_be32(av + AV_GRH), index = grh >> 20 & 0xff;
	bool ethernet = run->qp->dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET;
	uint32_t len = BTH_LEN + DETH_LEN + (imm ? IMM_LEN : 0) + ((payload + 3) & ~3u) + ICRC_LEN;

	memset(p, 0, GRH_LEN);
	if (index >= port->n_gids || (!ethernet && (grh >> 30 & 1) == 0))
		return false;
	if (port->gid_is_v2[index] && memcmp(port->gid[index], mapped, sizeof(mapped)) == 0)
		write_ipv4(p, av, port->gid[index], len);
	else
		write_grh(p, av, port->gid[index], port->gid_is_v2[index], len);
	return true;
}

/* Who sent, in the completion: 29:28 which header, 27:24 service level, 23:0 QP number. */
static uint32_t
ud_sender(const struct run *run, const uint8_t *av, bool has_grh)
{
	const uint32_t GRH_PRESENT = 1;

	return (has_grh ? GRH_PRESENT << 28 : 0) | (uint32_t)(av[AV_SL] & 0xf) << 24 |
	       run->qp->number;
}

unsigned int
ud_deliver(struct run *run, const struct wqe *wqe, const struct sg *src)
{
	bool imm = wqe->opcode == OPC_SEND_IMM, has_grh;
	const uint8_t *av = wqe_address(wqe);
	uint8_t header[GRH_LEN];
	struct cqe cqe = {.opcode = wqe->op->recv,
		.solicited = wqe->solicited,
		.imm = imm ? wqe->imm : 0,
		.byte_cnt = GRH_LEN + (uint32_t)src->len,
		.slid = qp_port(run->qp)->lid};
	struct recv_wqe recv;
	enum wire_syndrome syn;
	unsigned int struck;
	enum sg_end end;
	struct sg whole;

	if (run_hold_peer(run, wqe) != SYN_OK)
		return SYN_OK;
	syn = rq_peek(run, run->peer, GRH_LEN + src->len, &recv);
	if (syn == SYN_RNR)
		return SYN_OK;
	if (syn != SYN_OK) {
		responder_fail_receive(run, run->peer, syn);
		return SYN_OK;
	}
	struck = responder_strike(run, run->peer);
	if (struck == EXEC_WAIT_TIME)
		return struck;
	if (struck != SYN_OK) {
		responder_fail_receive(run, run->peer, (enum wire_syndrome)struck);
		return SYN_OK;
	}
	has_grh = ud_header(run, av, (uint32_t)src->len, imm, header);
	cqe.flags_rqpn = ud_sender(run, av, has_grh);
	sg_set(&whole, header, GRH_LEN);
	whole.odp = src->odp;
	for (unsigned int i = 0; i < src->n; i++)
		if (!sg_push(&run->use, &whole, sg_pieces(src)[i].p, sg_pieces(src)[i].len))
			return SYN_OK;
	end = run_copy(run, &recv.sg, &whole);
	if (end == SG_MOVED)
		rq_complete(run, run->peer, &cqe);
	else if (end == SG_NO_DST)
		responder_fail_receive(run, run->peer, SYN_LOC_PROT);
	return end == SG_NO_SRC ? SYN_LOC_PROT : SYN_OK;
}

unsigned int
exec_ud_send(struct run *run, const struct wqe *wqe)
{
	struct sg src;
	unsigned int syn = exec_gather(run, wqe, &src);

	if (syn != SYN_OK)
		return syn;
	if (src.len > UD_MAX_MESSAGE) {
		run->use.vendor = VEN_LENGTH;
		return SYN_LOC_LEN;
	}
	return ud_deliver(run, wqe, &src);
}

/* ---- streams of a DCI (mlx5dv_create_qp(3), dci_streams) */

static uint16_t
stream_of(const struct wqe *wqe)
{
	return (uint16_t)get_be16(wqe->seg0 + CTRL_DCI_STREAM);
}

bool
stream_is_failed(const struct softhca_qp *qp, const struct wqe *wqe)
{
	uint16_t s = stream_of(wqe);

	return (qp->stream_errors[s / 8] >> (s % 8) & 1) != 0;
}

bool
stream_fail(struct softhca_qp *qp, const struct wqe *wqe)
{
	uint16_t s = stream_of(wqe);

	if (qp->stream_errors == NULL)
		return false;
	qp->stream_errors[s / 8] |= (uint8_t)(1u << (s % 8));
	return ++qp->n_errored < qp->max_errored;
}

int
softhca_qp_reset_stream(struct softhca_qp *qp, uint16_t stream)
{
	int err = -EINVAL;
	uint8_t bit = (uint8_t)(1u << (stream % 8));

	if (qp->stream_errors == NULL)
		return -EINVAL;
	uar_lock(qp->uar);
	if (qp_state(qp) == QP_RTS && (qp->stream_errors[stream / 8] & bit) != 0) {
		qp->stream_errors[stream / 8] &= (uint8_t)~bit;
		qp->n_errored--;
		err = 0;
	}
	uar_unlock(qp->uar);
	return err;
}
