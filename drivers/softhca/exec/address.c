/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the address in a WQE, which follows the control segment:
 *
 *   XRC   16 bytes: the number of an SRQ
 *   DC    48 bytes, an address vector: a DCT, its access key, and the path to its port
 *   UD    48 bytes, an address vector: a QP, its qkey, and the path to its port
 */
#include <string.h>

#include "requester.h"

#define QKEY_OWN 0x80000000u /* in a WQE's qkey: use the qkey of the sender's QP */

/* The address vector ends within the WQE's first WQEBB, so it never wraps. */
static const uint8_t *
address_vector(const struct wqe *wqe)
{
	return wqe->seg0 + WQE_SEG;
}

/*
 * Takes the source GID if the message has a global header. The address vector has the index of this
 * GID.
 */
static void
take_source(const struct softhca_qp *qp, const uint8_t *av, struct message_path *path)
{
	const struct softhca_port *port = qp_port(qp);
	uint32_t grh = get_be32(av + AV_GRH), index = grh >> 20 & 0xff;
	bool ethernet = qp->dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET;

	path->slid = (uint16_t)port->lid;
	path->flow = grh & 0xfffff;
	path->has_grh = index < port->n_gids && (ethernet || (grh >> 30 & 1) != 0);
	path->is_v2 = path->has_grh && port->gid_is_v2[index];
	if (path->has_grh)
		path->sgid = port->gid[index];
}

static void
take_vector(const struct softhca_qp *qp, const uint8_t *av, struct message *m)
{
	struct message_path *path = &m->path;

	m->dest_qpn = get_be32(av + AV_DEST_QPN) & 0xffffff;
	memcpy(path->dgid, av + AV_GID, sizeof(path->dgid));
	memcpy(path->dmac, av + AV_MAC, sizeof(path->dmac));
	path->dlid = (uint16_t)get_be16(av + AV_LID);
	path->sl = av[AV_SL] & 0xf;
	path->tclass = av[AV_TCLASS];
	path->hop_limit = av[AV_HOP_LIMIT];
	take_source(qp, av, path);
}

void
message_address(const struct run *run, const struct wqe *wqe, struct message *m)
{
	const struct softhca_qp *qp = run->qp;
	const uint8_t *av = address_vector(wqe);

	switch (qp->type) {
	case SOFTHCA_QP_XRC_SEND:
		m->srqn = get_be32(wqe_seg(run, wqe, 1) + XRC_SRQN);
		break;
	case SOFTHCA_QP_DCI:
		m->dc_key = get_be64(av + AV_DC_KEY);
		take_vector(qp, av, m);
		break;
	case SOFTHCA_QP_UD:
		m->qkey = get_be32(av + AV_QKEY);
		if ((m->qkey & QKEY_OWN) != 0)
			m->qkey = qp->attr.qkey;
		take_vector(qp, av, m);
		break;
	default:
		break;
	}
}
