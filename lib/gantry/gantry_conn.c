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
		hwq_cq_destroy(cq);
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

void
gantry_conn_close(struct gantry_conn *c)
{
	hwq_qp_destroy(c->qp);
	hwq_cq_destroy(c->cq);
	memset(c, 0, sizeof(*c));
}
