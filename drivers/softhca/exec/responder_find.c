/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the QP of a message. The transports identify the QP in different ways:
 *
 *   RC, UC    the QP that the sender is connected to
 *   XRC       the QP that the sender is connected to, and an SRQ of that QP's domain
 *   DC        a DCT by its number, its access key and its port
 *   UD        a QP by its number, its qkey and its port
 */
#include "responder_find.h"

#include "devices.h"
#include "elsewhere.h"
#include "fault.h"
#include "qp_fail.h"
#include "record.h"
#include "responder_fail.h"
#include "responder_hold.h"

#define EVENT_COMM_EST 4 /* IBV_EVENT_COMM_EST */

/*
 * Finds the QP of a number in this adapter, then in the other adapters of the process. The adapters
 * use separate ranges of numbers.
 */
static struct softhca_qp *
find_qp(struct softhca_lanes *here, uint32_t number)
{
	struct softhca_qp *qp = table_get(&here->qps, number);
	struct softhca_dev *devs;
	unsigned int n;

	if (qp != NULL)
		return qp;
	devs = softhca_devices(&n);
	for (unsigned int i = 0; i < n && qp == NULL; i++) {
		struct softhca_lanes *lanes = dev_lanes(&devs[i]);

		if (lanes != NULL)
			qp = table_get(&lanes->qps, number);
	}
	return qp;
}

static bool
port_has_gid(const struct softhca_port *port, const uint8_t gid[16])
{
	for (unsigned int i = 0; i < port->n_gids; i++)
		if (memcmp(gid, port->gid[i], sizeof(port->gid[i])) == 0)
			return true;
	return false;
}

/* True if the message would arrive at the QP's port. */
static bool
path_reaches(const struct message_path *path, const struct softhca_qp *qp)
{
	const struct softhca_port *port = qp_port(qp);

	if (qp->dev->cfg->link_layer != SOFTHCA_LINK_ETHERNET)
		return path->dlid == port->lid;
	return memcmp(path->dmac, port->mac, sizeof(port->mac)) == 0 &&
	       port_has_gid(port, path->dgid);
}

static bool
may_receive(const struct softhca_qp *qp)
{
	enum qp_state state = qp_state(qp);

	return state == QP_RTR || state == QP_RTS || state == QP_SQD || state == QP_SQE;
}

/*
 * True if a message of another process would reach the QP's port. Settings of the processes may
 * differ, so their ports may have other link layers and addresses.
 */
static bool
is_reached(const struct run *run, const struct message *m, const struct softhca_qp *qp)
{
	const struct record_request *r = run->request;
	const struct softhca_port *port;
	bool ethernet;

	/* The entry of a reserved number belongs to no adapter. Its state is RESET. */
	if (!may_receive(qp))
		return false;
	ethernet = qp->dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET;
	port = qp_port(qp);
	/* A message ends if its QP is reset, also if the QP is connected to the sender again. */
	if ((run->life != 0 && run->life != qp->life) || fault_device_is_dead(qp->dev) ||
		fault_port_is_down(qp->dev, qp->attr.port) ||
		((r->flags & RECORD_ETHERNET) != 0) != ethernet)
		return false;
	if (m->type == SOFTHCA_QP_UD || m->type == SOFTHCA_QP_DCI ||
		(r->flags & RECORD_LOOPBACK) != 0)
		return true;
	return ethernet ? port_has_gid(port, r->dgid) : r->dlid == port->lid;
}

/*
 * Checks the access key of a DC message. A DCT counts requests with a wrong key in its context, and
 * reports them by a DevX event; verbs have no such event (Linux, mlx5_ifc.h and mlx5/qpc.c). A
 * retried request counts once. Assumed: dct-wrong-key.
 */
static bool
dct_accepts_key(struct softhca_qp *qp, const struct message *m)
{
	if (qp->dc_key == m->dc_key)
		return true;
	if (!m->again) {
		qp->dc_key_violations++;
		softhca_event_dct_key(qp->event);
	}
	return false;
}

static bool
accepts(struct softhca_qp *qp, const struct message *m)
{
	if (!may_receive(qp))
		return false;
	switch (m->type) {
	case SOFTHCA_QP_RC:
	case SOFTHCA_QP_UC:
		return qp->type == m->type && qp->attr.dest_qpn == m->qpn;
	case SOFTHCA_QP_XRC_SEND:
		return qp->type == SOFTHCA_QP_XRC_RECV && qp->attr.dest_qpn == m->qpn;
	case SOFTHCA_QP_DCI:
		return qp->type == SOFTHCA_QP_DCT && path_reaches(&m->path, qp) &&
		       dct_accepts_key(qp, m);
	case SOFTHCA_QP_UD:
		return qp->type == SOFTHCA_QP_UD && qp->attr.qkey == m->qkey &&
		       path_reaches(&m->path, qp);
	default:
		return false;
	}
}

/*
 * The CQ of the XRC SRQ has failed, so the QP fails. The sender gets no answer and retries.
 * Assumed: cq-full-xrc.
 */
static unsigned int
xrc_cq_failed(struct run *run)
{
	qp_fatal_receive_side(run, run->responder.qp);
	responder_release(run);
	return MESSAGE_NO_PEER;
}

/*
 * Finds the SRQ of an XRC message. If it does not exist, the request is refused. Assumed:
 * xrc-no-srq.
 */
static unsigned int
find_xrc_srq(struct run *run, const struct message *m)
{
	struct responder *r = &run->responder;
	struct softhca_srq *srq =
		m->srqn > 0xffffff ? NULL : table_get(&r->qp->dev->lanes->srqs, m->srqn);

	/* An SRQ without a domain has domain number 0. No QP has this number. */
	if (srq != NULL && srq->xrcdn == r->qp->xrcdn) {
		r->from = srq;
		return cq_has_failed(srq->cq) ? xrc_cq_failed(run) : SYN_OK;
	}
	run->use.vendor = VEN_XRC_SRQ;
	return responder_fail(run, SYN_REM_INV_REQ);
}

/*
 * Sends an event for the first message on a connection whose QP is not yet in RTS
 * (ibv_get_async_event(3)). Assumed: comm-est-rc, comm-est-uc, comm-est-xrc, comm-est-once,
 * comm-est-not-ud.
 */
static void
tell_established(struct softhca_qp *qp)
{
	if (qp_state(qp) != QP_RTR || qp->established || qp->type == SOFTHCA_QP_UD ||
		qp->type == SOFTHCA_QP_DCT)
		return;
	qp->established = true;
	softhca_event_qp_async(qp->event, EVENT_COMM_EST);
}

/*
 * True if the message must go to another process. With wire = loop, each message goes as records.
 */
static bool
is_elsewhere(const struct run *run, const struct softhca_qp *qp)
{
	if (run->lanes->wire == NULL || run->qp == NULL)
		return false;
	return qp == NULL || run->lanes->dev->cfg->wire == SOFTHCA_WIRE_LOOP;
}

unsigned int
responder_find(struct run *run, const struct message *m)
{
	struct responder *r = &run->responder;
	struct softhca_qp *qp = find_qp(run->lanes, m->dest_qpn);

	if (is_elsewhere(run, qp)) {
		responder_hold(run, NULL);
		return MESSAGE_ELSEWHERE;
	}
	responder_hold(run, qp);
	run->use.vendor = VEN_NO_PEER;
	if (qp == NULL) {
		if (m->type == SOFTHCA_QP_UD || m->type == SOFTHCA_QP_DCI)
			elsewhere_note_message(m->dest_qpn);
		return MESSAGE_NO_PEER;
	}
	if ((run->request != NULL && !is_reached(run, m, qp)) || !accepts(qp, m)) {
		run_drop_cq(run);
		responder_release(run);
		return MESSAGE_NO_PEER;
	}
	tell_established(qp);
	if (m->type == SOFTHCA_QP_XRC_SEND)
		return find_xrc_srq(run, m);
	r->from = qp->srq;
	if (m->type == SOFTHCA_QP_RC || m->type == SOFTHCA_QP_UC)
		r->client = m->qpn;
	return SYN_OK;
}
