/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and destroys the QP and CQ of a connection. */
#include "gantry_conn.h"

#include <string.h>

#include <rte_common.h>

int
gantry_conn_open(struct gantry_conn *c, struct hwq_domain *domain, const struct hwq_qp_conf *conf,
	uint64_t max_len)
{
	struct hwq_cq *cq;
	struct hwq_qp *qp;
	int ret;

	ret = hwq_cq_create(domain, hwq_qp_cqe_needed(conf), &cq);
	if (ret != 0)
		return ret;
	ret = hwq_qp_create(domain, cq, conf, &qp);
	if (ret != 0) {
		if (hwq_cq_destroy(cq) != 0)
			*c = (struct gantry_conn){.cq = cq, .state = GANTRY_CONN_CLOSING};
		return ret;
	}
	*c = (struct gantry_conn){
		.sq = &qp->sq,
		.cq = cq,
		.max_len = max_len,
		.max_inline = RTE_MIN(conf->max_inline, qp->sq.max_inline),
		/* Four CQEs a lap: a full ring gets room again by quarters. */
		.signal_mask = RTE_MAX(hwq_sq_n_bb(&qp->sq) / 4, 1u) - 1,
		.state = GANTRY_CONN_OPEN,
		.qp = qp,
	};
	return 0;
}

int
gantry_conn_connect(struct gantry_conn *c, const struct hwq_addr *remote)
{
	int ret = 0;

	/* A connect that failed may have left the QP in RTR. */
	if (c->half_connected)
		ret = hwq_qp_reset(c->qp);
	c->half_connected = true;
	if (ret == 0)
		ret = hwq_qp_connect(c->qp, remote);
	if (ret != 0)
		return ret;
	c->half_connected = false;
	return 0;
}

int
gantry_conn_close(struct gantry_conn *c)
{
	int ret = 0;

	c->state = GANTRY_CONN_CLOSING;
	if (c->qp != NULL)
		ret = hwq_qp_destroy(c->qp);
	if (ret != 0)
		return ret;
	c->qp = NULL;
	c->sq = NULL;
	ret = hwq_cq_destroy(c->cq);
	if (ret != 0)
		return ret;
	memset(c, 0, sizeof(*c));
	return 0;
}
