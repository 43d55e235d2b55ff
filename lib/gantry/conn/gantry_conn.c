/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and destroys the QP and CQ of a connection. */
#include "gantry_conn.h"

#include <string.h>

#include <rte_common.h>

#include "gantry_alloc.h"
#include "gantry_target.h"

/*
 * A CQ without completions. If a connection's CQ cannot be created again, code that polls the
 * connection polls this CQ instead.
 */
static struct mlx5_cqe64 no_cqe;
static struct hwq_cq no_cq = {.next = (const uint8_t *)&no_cqe, .lap = MLX5_CQE_OWNER_MASK};

/*
 * Sets the user pointer of the connection's QP and CQs to c, so that an event of the QP or of a CQ
 * finds c.
 */
static void
name_owner(struct gantry_conn *c)
{
	hwq_qp_set_user(c->qp, c);
	hwq_cq_set_user(c->cq, c);
	if (c->recv_cq != NULL)
		hwq_cq_set_user(c->recv_cq, c);
}

/*
 * Destroys the objects of c. The verbs calls return when all events of an object are acknowledged.
 * Returns 0, or a negative errno; the pointers to objects that still exist are then not NULL.
 */
static int
destroy(struct gantry_conn *c)
{
	int ret = 0;

	if (c->cq == &no_cq)
		c->cq = NULL;
	if (c->qp != NULL)
		ret = hwq_qp_destroy(c->qp);
	if (ret != 0)
		return ret;
	c->qp = NULL;
	if (c->target != NULL)
		ret = gantry_target_destroy(c->target);
	if (ret != 0)
		return ret;
	c->target = NULL;
	if (c->cq != NULL)
		ret = hwq_cq_destroy(c->cq);
	if (ret != 0)
		return ret;
	c->cq = NULL;
	if (c->recv_cq != NULL)
		ret = hwq_cq_destroy(c->recv_cq);
	if (ret != 0)
		return ret;
	c->recv_cq = NULL;
	return 0;
}

/*
 * As gantry_conn_open(), but does not set the user pointers of the objects. So events of the
 * objects do not find the connection yet.
 */
static int
create(struct gantry_conn *c, struct hwq_domain *domain, const struct hwq_qp_conf *conf,
	uint64_t max_len)
{
	struct hwq_qp_conf qp_conf = *conf;
	struct gantry_conn left;
	struct hwq_cq *cq = NULL;
	struct hwq_qp *qp;
	int ret;

	if (conf->rq_wr != 0) {
		ret = hwq_cq_create(domain, hwq_qp_recv_cqe_needed(conf), &qp_conf.recv_cq);
		if (ret != 0)
			return ret;
	}
	ret = hwq_cq_create(domain, hwq_qp_cqe_needed(&qp_conf), &cq);
	if (ret != 0)
		goto undo;
	ret = hwq_qp_create(domain, cq, &qp_conf, &qp);
	if (ret != 0)
		goto undo;
	*c = (struct gantry_conn){
		.sq = &qp->sq,
		.cq = cq,
		.recv_cq = qp_conf.recv_cq,
		.max_len = max_len,
		.max_inline = RTE_MIN(conf->max_inline, qp->sq.max_inline),
		.n_bb = hwq_sq_n_bb(&qp->sq),
		/*
		 * Each quarter of the ring ends with a WQE that makes a CQE. So the WQEBBs of a
		 * full ring become free by quarters.
		 */
		.signal_mask = RTE_MAX(hwq_sq_n_bb(&qp->sq) / 4, 1u) - 1,
		.state = GANTRY_CONN_OPEN,
		.qp = qp,
	};
	return 0;

undo:
	left = (struct gantry_conn){.cq = cq, .recv_cq = qp_conf.recv_cq};
	if (gantry_conn_close(&left) != 0)
		*c = left;
	return ret;
}

int
gantry_conn_open(struct gantry_conn *c, struct hwq_domain *domain, const struct hwq_qp_conf *conf,
	uint64_t max_len)
{
	int ret = create(c, domain, conf, max_len);

	if (ret == 0)
		name_owner(c);
	return ret;
}

int
gantry_conn_renew(struct gantry_conn *c, struct hwq_domain *domain, const struct hwq_qp_conf *conf)
{
	/*
	 * A ring without WQEs, for code that reads the send queue of a connection that has no QP.
	 */
	static struct hwq_sq none = {.full = 1};
	struct gantry_conn anew = {0};
	int ret;

	ret = destroy(c);
	if (c->qp == NULL)
		c->sq = &none;
	if (c->cq == NULL)
		c->cq = &no_cq;
	if (ret != 0)
		return ret;
	atomic_store_explicit(&c->events, 0, memory_order_relaxed);
	ret = create(&anew, domain, conf, c->max_len);
	c->cq = anew.cq != NULL ? anew.cq : &no_cq;
	c->recv_cq = anew.recv_cq;
	if (ret != 0)
		return ret;
	c->qp = anew.qp;
	c->sq = anew.sq;
	name_owner(c);
	return 0;
}

int
gantry_conn_connect(struct gantry_conn *c, const struct hwq_addr *remote)
{
	int ret = 0;

	/* An earlier call that failed may have left the QP in state RTR. */
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
	int ret;

	c->state = GANTRY_CONN_CLOSING;
	ret = destroy(c);
	if (c->qp == NULL)
		c->sq = NULL;
	if (ret != 0)
		return ret;
	gantry_free(c->txns);
	memset(c, 0, sizeof(*c));
	return 0;
}

bool
gantry_conn_is_silent(const struct gantry_conn *c)
{
	return c->qp == NULL && (c->target == NULL || c->target->dct == NULL);
}
