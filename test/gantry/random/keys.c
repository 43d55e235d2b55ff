/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that peers may invalidate, for SEND_INV. The test creates them with lib/hwq in the engine's
 * protection domain. Each key is used once; after a round, used keys are configured again.
 */
#include <infiniband/mlx5dv.h>

#include <hwq_domain.h>
#include <hwq_mkey.h>
#include <hwq_qp.h>
#include <hwq_wr.h>
#include <hwq_wr_umr.h>

#include "gantry_engine.h"
#include "gantry_mem.h"
#include "random.h"

static struct {
	struct hwq_domain *domain;
	struct hwq_cq *cq;
	struct hwq_qp *qp;
	struct hwq_mkey_pool *pool;
	struct hwq_mkey *key[MODEL_KEYS];
	struct model_keys state;
	/*
	 * true while a descriptor with this key is in flight, or if such a descriptor may have used
	 * the key
	 */
	bool drawn[MODEL_KEYS];
} keys;

/* Configures the key with a UMR. */
static void
lay_out(unsigned int i)
{
	const struct hwq_sge sge = {run.recv_range.addr, 64,
		gantry_mem_piece(run.recv_mem)->mr.lkey};
	struct hwq_cqe cqe;
	struct hwq_wr wr;

	hwq_wr_start(&wr, &keys.qp->sq);
	wr.wr_flags = HWQ_WQE_INLINE | HWQ_WQE_SIGNALED;
	hwq_wr_mr_list(&wr, keys.key[i], IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 1, &sge);
	CHECK_EQ(hwq_wr_complete(&wr), 0);
	while (hwq_cq_poll(keys.cq, &cqe, 1) == 0)
		replay_pump();
	CHECK_EQ(cqe.syndrome, 0);
	hwq_sq_complete(&keys.qp->sq, cqe.wqe_counter);
	keys.state.rkey[i] = keys.key[i]->rkey;
	keys.state.valid[i] = true;
	keys.drawn[i] = false;
}

void
keys_open(void)
{
	const struct hwq_mkey_conf key_conf = {.n = MODEL_KEYS,
		.max_entries = 4,
		.flags = HWQ_MKEY_REMOTE_INV};
	const struct hwq_qp_conf conf = {.sq_wr = 4,
		.max_inline = 64,
		.mlx5_ops = MLX5DV_QP_EX_WITH_MR_LIST};
	struct hwq_addr addr;
	unsigned int i;

	CHECK_EQ(hwq_domain_create(run.g->dev, &keys.domain), 0);
	CHECK_EQ(hwq_cq_create(keys.domain, hwq_qp_cqe_needed(&conf), &keys.cq), 0);
	CHECK_EQ(hwq_qp_create(keys.domain, keys.cq, &conf, &keys.qp), 0);
	hwq_qp_addr(keys.qp, &addr);
	CHECK_EQ(hwq_qp_connect(keys.qp, &addr), 0);
	CHECK_EQ(hwq_mkey_pool_create(keys.domain, &key_conf, &keys.pool), 0);
	for (i = 0; i < MODEL_KEYS; i++) {
		keys.key[i] = hwq_mkey_get(keys.pool);
		lay_out(i);
	}
	for (i = 0; i < run.n_sides; i++)
		run.side[i].model.keys = &keys.state;
}

void
keys_close(void)
{
	unsigned int i;

	for (i = 0; i < MODEL_KEYS; i++)
		hwq_mkey_put(keys.key[i]);
	CHECK_EQ(hwq_mkey_pool_destroy(keys.pool), 0);
	CHECK_EQ(hwq_qp_destroy(keys.qp), 0);
	CHECK_EQ(hwq_cq_destroy(keys.cq), 0);
	CHECK_EQ(hwq_domain_destroy(keys.domain), 0);
}

void
keys_mend(void)
{
	unsigned int i;

	for (i = 0; i < MODEL_KEYS; i++)
		if (!keys.state.valid[i] || keys.drawn[i])
			lay_out(i);
}

/*
 * Returns the index of a key in the array of keys, or MODEL_KEYS if the key is not in this array.
 */
static unsigned int
find(uint32_t rkey)
{
	unsigned int i = 0;

	while (i < MODEL_KEYS && keys.state.rkey[i] != rkey)
		i++;
	return i;
}

uint32_t
keys_pick(struct side *s)
{
	unsigned int i = check_random(&s->rng) % MODEL_KEYS, k;

	for (k = 0; k < MODEL_KEYS && keys.drawn[i]; k++)
		i = (i + 1) % MODEL_KEYS;
	return keys.drawn[i] ? 0 : keys.state.rkey[i];
}

void
keys_draw(const struct record *r)
{
	unsigned int i = find(r->desc.imm);

	if (i < MODEL_KEYS && r->is_message)
		keys.drawn[i] = true;
}

void
keys_use(const struct record *r, bool ran)
{
	unsigned int i = find(r->desc.imm);

	if (i == MODEL_KEYS || !r->is_message || r->is_refused_there)
		return;
	/*
	 * After a failure the state of the key is unknown: keys.drawn stays set, so the key is not
	 * drawn again.
	 */
	if (!ran)
		keys.drawn[i] = false;
	else if (r->status == GANTRY_OK)
		keys.state.valid[i] = keys.drawn[i] = false;
}
