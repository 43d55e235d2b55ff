/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A caller's own verbs objects that hwq uses: QPs created in three ways, with and without a
 * doorbell register of their own; CQs, SRQs, work queues, device memory, PDs and address handles.
 * Also tested: objects that hwq cannot take over.
 */
#include "hwq_ah.h"
#include "hwq_own.h"
#include "hwq_wr.h"

#define HALF 16384

/* the objects of this test are created by verbs, so only context and port of the device are used */
static struct hwq_dev *dev;
static struct ibv_context *ctx;
static uint8_t mem[2 * HALF] __attribute__((aligned(4096)));
static struct ibv_mr *mr;
static uint64_t rnd = 9;

static const unsigned int access_all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

static struct ibv_qp *
two_way_qp(enum how how, struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_srq *srq,
	enum ibv_qp_type type, bool sig_all)
{
	struct ibv_qp_init_attr_ex attr = {.qp_type = type,
		.sq_sig_all = sig_all,
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.cap = {.max_send_wr = 16,
			.max_recv_wr = srq == NULL ? 16 : 0,
			.max_send_sge = 3,
			.max_recv_sge = srq == NULL ? 3 : 0,
			.max_inline_data = 64},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE};
	struct mlx5dv_qp_init_attr mlx5_attr = {0};

	if (type == IBV_QPT_UD)
		attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
	return own_create_qp(how, ctx, &attr, &mlx5_attr);
}

static void
take(struct taken *t, enum how how, struct ibv_pd *pd, struct hwq_bf *bf, bool sig_all)
{
	struct hwq_obj_qp obj = {.sq_sig_all = sig_all, .max_sge = 3, .max_inline = 64, .bf = bf};
	struct ibv_cq *cq = ibv_create_cq(ctx, 255, NULL, NULL, 0);

	if (cq == NULL)
		EMU_DIE("a CQ");
	t->ibcq = cq;
	t->ibqp = two_way_qp(how, pd, cq, NULL, IBV_QPT_RC, sig_all);
	CHECK_EQ(hwq_obj_cq(cq, &t->cq), 0, "taking a CQ");
	obj.qp = t->ibqp;
	obj.send_cq = obj.recv_cq = t->cq;
	CHECK_EQ(hwq_obj_qp(&obj, &t->qp), 0, "taking a QP");
	stock_to_init(dev, t->ibqp);
	CHECK_EQ(hwq_obj_qp_sync(t->qp), IBV_QPS_INIT, "state");
}

static void
connect_self(struct taken *t)
{
	stock_connect(dev, t->ibqp, t->ibqp->qp_num);
	CHECK_EQ(hwq_obj_qp_sync(t->qp), IBV_QPS_RTS, "state");
}

/* Posts writes and messages of random lengths, over many laps. Every fourth WQE is signalled. */
static void
work(struct taken *t, unsigned int n, bool sig_all)
{
	unsigned int i, sent = 0;
	uint64_t wr_id[8];

	for (i = 0; i < n && check_failures == 0; i++) {
		uint32_t len = 1 + (uint32_t)(check_random(&rnd) % 100), at = i % 50 * 128;
		const struct hwq_sge to[2] = {{(uintptr_t)mem + HALF + at, 30, mr->lkey},
			{(uintptr_t)mem + HALF + at + 30, 90, mr->lkey}};
		bool message = i % 2 == 0, signaled = sig_all || i % 4 == 3;
		bool is_inline = len <= 64 && i % 3 == 0;
		const struct mlx5_wqe_ctrl_seg *ctrl;
		struct hwq_cqe rec = {0};
		struct hwq_wr wr;
		uint64_t id = 0;

		memset(mem + HALF + at, 0, 128);
		if (message) {
			CHECK_EQ(hwq_rq_post_list(&t->qp->rq, 7000 + i, to, 2), 0, "posting");
			hwq_rq_ring(&t->qp->rq);
		}
		hwq_wr_start(&wr, &t->qp->sq);
		wr.wr_id = i;
		wr.wr_flags = i % 4 == 3 ? HWQ_WQE_SIGNALED : 0;
		if (message)
			hwq_wr_send(&wr);
		else
			hwq_wr_rdma_write(&wr, mr->rkey, to[0].addr);
		if (is_inline)
			hwq_wr_set_inline_data(&wr, mem + at, len);
		else
			hwq_wr_set_sge(&wr, mr->lkey, (uintptr_t)mem + at, len);
		CHECK_EQ(hwq_wr_complete(&wr), 0, "posting");
		/* The WQE has one WQEBB, so it is the WQEBB before the producer index. */
		ctrl = hwq_sq_at(&t->qp->sq, (uint16_t)(t->qp->sq.pi - 1));
		if (!is_inline)
			CHECK_EQ(ctrl->fm_ce_se, signaled ? MLX5_WQE_CTRL_CQ_UPDATE : 0,
				"flags of the control segment");
		emu_pump();
		if (message) {
			CHECK_EQ(hwq_rq_poll(&t->qp->rq, &rec, &id, 1), 1, "receives");
			CHECK_EQ(id, 7000 + i, "wr_id of a receive");
			CHECK_EQ(rec.byte_cnt, len, "bytes");
		}
		sent = hwq_wr_poll(&t->qp->sq, wr_id, 8);
		CHECK_EQ(sent, signaled, "completions");
		if (sent != 0)
			CHECK_EQ(wr_id[0], i, "wr_id");
		check_bytes(mem + HALF + at, mem + at, len, "what was moved");
	}
}

static void
queue_pairs(void)
{
	struct ibv_td_init_attr td_attr = {0};
	struct ibv_parent_domain_init_attr pd_attr = {.pd = dev->pd};
	unsigned int how, sig_all;

	for (how = 0; how < N_HOWS; how++) {
		for (sig_all = 0; sig_all < 2; sig_all++) {
			struct hwq_bf bf = {0};
			struct ibv_td *td = ibv_alloc_td(ctx, &td_attr);
			struct ibv_pd *own;
			struct hwq_wr wr;
			struct taken t, a, b;

			/*
			 * Other queues may write to this register too, so hwq must write every
			 * doorbell to its start.
			 */
			take(&t, how, dev->pd, NULL, sig_all);
			CHECK(t.qp->sq.bf->toggle == 0 && t.qp->sq.bf->max_ds == 0,
				"a shared register alternates");
			hwq_wr_start(&wr, &t.qp->sq);
			CHECK_EQ(hwq_wr_complete(&wr), -EINVAL, "before RTS");
			connect_self(&t);
			work(&t, 300, sig_all);
			taken_release(&t);
			/*
			 * Two QPs share the register of a thread domain; both must use it, with
			 * BlueFlame.
			 */
			if (td == NULL)
				EMU_DIE("a thread domain");
			pd_attr.td = td;
			own = ibv_alloc_parent_domain(ctx, &pd_attr);
			if (own == NULL)
				EMU_DIE("a parent domain");
			take(&a, how, own, &bf, sig_all);
			take(&b, how, own, &bf, sig_all);
			CHECK(a.qp->sq.bf == &bf && b.qp->sq.bf == &bf, "another register");
			CHECK(bf.toggle != 0 && bf.max_ds != 0, "a register of one's own");
			connect_self(&a);
			connect_self(&b);
			work(&a, 50, sig_all);
			work(&b, 51, sig_all);
			work(&a, 200, sig_all);
			taken_release(&a);
			taken_release(&b);
			if (ibv_dealloc_pd(own) != 0 || ibv_dealloc_td(td) != 0)
				EMU_DIE("destroying domains");
		}
	}
}

/*
 * With MLX5_SHUT_UP_BF set to anything but "0", a single pending WQE must be announced by its first
 * 8 bytes alone.
 */
static void
shut_up_bf(void)
{
	static const char *const values[] = {NULL, "0", "1", "", "no"};
	struct ibv_td_init_attr td_attr = {0};
	struct ibv_parent_domain_init_attr pd_attr = {.pd = dev->pd};
	unsigned int i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		const char *what = values[i] != NULL ? values[i] : "not set";
		bool shut_up = i >= 2;
		struct hwq_bf bf = {0};
		struct hwq_dev *other;
		struct hwq_cqe rec;
		struct ibv_pd *own;
		struct ibv_td *td;
		struct taken t;

		if (values[i] != NULL && setenv("MLX5_SHUT_UP_BF", values[i], 1) != 0)
			EMU_DIE("setenv");
		if (hwq_dev_open(NULL, &other) != 0)
			EMU_DIE("opening the device again");
		CHECK_EQ(other->no_bf, shut_up, what);
		CHECK_EQ(hwq_dev_close(other), 0, "closing");
		td = ibv_alloc_td(ctx, &td_attr);
		pd_attr.td = td;
		own = td == NULL ? NULL : ibv_alloc_parent_domain(ctx, &pd_attr);
		if (own == NULL)
			EMU_DIE("a parent domain");
		take(&t, BY_CREATE_QP_EX, own, &bf, false);
		connect_self(&t);
		CHECK(bf.toggle != 0, "the halves of one's own register alternate");
		CHECK_EQ(hwq_wqe_inline(&t.qp->sq, MLX5_OPCODE_RDMA_WRITE, 1, 2, "data", 0,
				 HWQ_WQE_SIGNALED, 0),
			1, "WQEBBs");
		hwq_sq_ring(&t.qp->sq);
		CHECK_EQ(memcmp(bf.reg + (bf.offset ^ bf.toggle) + 8,
				 (uint8_t *)hwq_sq_at(&t.qp->sq, 0) + 8, 8) != 0,
			shut_up, what);
		CHECK(emu_wait(t.cq, &rec) && rec.syndrome == 0, "it runs");
		hwq_sq_complete(&t.qp->sq, rec.wqe_counter);
		taken_release(&t);
		if (ibv_dealloc_pd(own) != 0 || ibv_dealloc_td(td) != 0)
			EMU_DIE("destroying domains");
	}
	CHECK_EQ(unsetenv("MLX5_SHUT_UP_BF"), 0, "unsetenv");
}

/*
 * The caller moves the QP to ERR, to RESET and back to RTS; hwq_obj_qp_sync() must find each state.
 */
static void
states(void)
{
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR}, reset = {.qp_state = IBV_QPS_RESET};
	struct hwq_cqe rec = {0};
	struct taken t;
	unsigned int i;

	take(&t, BY_CREATE_QP_EX, dev->pd, NULL, false);
	for (i = 0; i < 5; i++) {
		connect_self(&t);
		work(&t, 20 + i, false);
		CHECK_EQ(hwq_rq_post(&t.qp->rq, mr->lkey, (uintptr_t)mem, 8), true, "posting");
		hwq_rq_ring(&t.qp->rq);
		stock_modify(t.ibqp, &err, IBV_QP_STATE);
		CHECK_EQ(hwq_obj_qp_sync(t.qp), IBV_QPS_ERR, "state");
		emu_pump();
		CHECK(hwq_cq_peek(t.cq, &rec), "a flush");
		stock_modify(t.ibqp, &reset, IBV_QP_STATE);
		CHECK_EQ(hwq_obj_qp_sync(t.qp), IBV_QPS_RESET, "state");
		CHECK(!hwq_cq_peek(t.cq, &rec), "a stale completion");
		CHECK_EQ(hwq_sq_used_bb(&t.qp->sq), 0, "used");
		CHECK_EQ(hwq_rq_free(&t.qp->rq), 16, "free entries");
		stock_to_init(dev, t.ibqp);
		CHECK_EQ(hwq_obj_qp_sync(t.qp), IBV_QPS_INIT, "state");
	}
	taken_release(&t);
}

static void
shared_receive_queue(void)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 10, .max_sge = 2}};
	struct ibv_srq *ibsrq = ibv_create_srq(dev->pd, &attr);
	struct ibv_cq *ibcq = ibv_create_cq(ctx, 255, NULL, NULL, 0);
	struct hwq_obj_qp obj = {.max_sge = 1};
	const struct hwq_sge sge = {(uintptr_t)mem + HALF, 128, 0};
	struct hwq_sge to = sge;
	struct hwq_srq *srq;
	struct hwq_cqe rec = {0};
	struct hwq_cq *cq;
	struct hwq_qp *qp;
	unsigned int i;
	uint64_t id = 0;

	if (ibsrq == NULL || ibcq == NULL)
		EMU_DIE("an SRQ");
	to.lkey = mr->lkey;
	obj.qp = two_way_qp(BY_CREATE_QP, dev->pd, ibcq, ibsrq, IBV_QPT_RC, false);
	stock_to_init(dev, obj.qp);
	stock_connect(dev, obj.qp, obj.qp->qp_num);
	CHECK_EQ(hwq_obj_cq(ibcq, &cq), 0, "taking a CQ");
	CHECK_EQ(hwq_obj_srq(ibsrq, NULL, &srq), 0, "taking an SRQ");
	CHECK_EQ(hwq_srq_size(srq), attr.attr.max_wr, "entries");
	obj.send_cq = obj.recv_cq = cq;
	obj.srq = srq;
	CHECK_EQ(hwq_obj_qp(&obj, &qp), 0, "taking a QP");
	CHECK_EQ(cq->reserved, hwq_sq_n_bb(&qp->sq) + hwq_srq_size(srq), "CQEs");
	CHECK_EQ(hwq_obj_srq_release(srq), -EBUSY, "releasing an SRQ in use");
	for (i = 0; i < 200 && check_failures == 0; i++) {
		CHECK_EQ(hwq_srq_post_list(srq, i, &to, 1), 0, "posting");
		hwq_srq_ring(srq);
		CHECK_EQ(hwq_wqe_one(&qp->sq, MLX5_OPCODE_SEND, 0, 0, mr->lkey, (uintptr_t)mem + i,
				 100, HWQ_WQE_SIGNALED, 0),
			1, "WQEBBs");
		hwq_sq_ring(&qp->sq);
		emu_pump();
		CHECK_EQ(hwq_srq_poll(srq, cq, &rec, &id, 1), 1, "receives");
		CHECK(id == i && rec.byte_cnt == 100, "wr_id %u", (unsigned int)id);
		check_bytes(mem + HALF, mem + i, 100, "what was received");
		CHECK_EQ(hwq_cq_poll(cq, &rec, 1), 1, "completions");
		hwq_sq_complete(&qp->sq, rec.wqe_counter);
	}
	hwq_obj_qp_release(qp);
	CHECK_EQ(hwq_obj_srq_release(srq), 0, "releasing");
	CHECK_EQ(hwq_obj_cq_release(cq), 0, "releasing");
	if (ibv_destroy_qp(obj.qp) != 0 || ibv_destroy_srq(ibsrq) != 0 || ibv_destroy_cq(ibcq) != 0)
		EMU_DIE("destroying");
}

/*
 * The emulated adapter delivers nothing to work queues, so their bytes and doorbell record are
 * compared with libmlx5's.
 */
static void
work_queue(void)
{
	struct ibv_cq *cq[2] = {ibv_create_cq(ctx, 63, NULL, NULL, 0),
		ibv_create_cq(ctx, 63, NULL, NULL, 0)};
	struct ibv_wq_init_attr attr = {.wq_type = IBV_WQT_RQ,
		.max_wr = 20,
		.max_sge = 3,
		.pd = dev->pd};
	struct mlx5dv_rwq view[2];
	struct ibv_wq *wq[2];
	struct hwq_obj_rwq *rwq;
	struct hwq_cq *hcq;
	unsigned int i, k;

	for (i = 0; i < 2; i++) {
		struct mlx5dv_obj obj;

		attr.cq = cq[i];
		wq[i] = cq[i] != NULL ? ibv_create_wq(ctx, &attr) : NULL;
		if (wq[i] == NULL)
			EMU_DIE("a work queue: %s", strerror(errno));
		obj.rwq.in = wq[i];
		obj.rwq.out = &view[i];
		if (mlx5dv_init_obj(&obj, MLX5DV_OBJ_RWQ) != 0)
			EMU_DIE("where a work queue is");
		/* libmlx5 does not clear a work queue's memory. */
		memset(view[i].buf, 0, (size_t)view[i].wqe_cnt * view[i].stride);
	}
	CHECK_EQ(hwq_obj_cq(cq[0], &hcq), 0, "taking a CQ");
	CHECK_EQ(hwq_obj_rwq(wq[0], hcq, &rwq), 0, "taking a work queue");
	for (i = 0; i < 40; i++) {
		struct hwq_sge sge[5];
		struct ibv_sge ibv_sge[5];
		struct ibv_recv_wr wr = {.wr_id = i, .sg_list = ibv_sge, .num_sge = i == 3 ? 5 : 2},
				   *bad;
		int ret, stock_ret;

		for (k = 0; k < 5; k++) {
			sge[k] = (struct hwq_sge){(uintptr_t)mem + i, (i + k) % 3, mr->lkey};
			ibv_sge[k] = (struct ibv_sge){sge[k].addr, sge[k].len, sge[k].lkey};
		}
		ret = hwq_rq_post_list(&rwq->rq, i, sge, (unsigned int)wr.num_sge);
		stock_ret = ibv_post_wq_recv(wq[1], &wr, &bad);
		CHECK_EQ(ret, -stock_ret, "errno");
	}
	hwq_rq_ring(&rwq->rq);
	check_bytes(view[0].buf, view[1].buf, (size_t)view[1].wqe_cnt * view[1].stride, "the ring");
	CHECK_EQ(*view[0].dbrec, *view[1].dbrec, "the record");
	CHECK_EQ(hwq_obj_cq_release(hcq), -EBUSY, "releasing a CQ in use");
	hwq_obj_rwq_release(rwq);
	CHECK_EQ(hwq_obj_rwq(wq[0], hcq, &rwq), -EBUSY, "a work queue with entries");
	CHECK_EQ(hwq_obj_cq_release(hcq), 0, "releasing");
	for (i = 0; i < 2; i++)
		if (ibv_destroy_wq(wq[i]) != 0 || ibv_destroy_cq(cq[i]) != 0)
			EMU_DIE("destroying");
}

/* Device memory that is written at its address must be readable through a QP. */
static void
device_memory(void)
{
	struct ibv_alloc_dm_attr attr = {.length = 4096};
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &attr);
	struct hwq_obj_dm view;
	struct ibv_mr *dm_mr;
	struct taken t;
	unsigned int i;
	uint64_t id = 0;

	if (dm == NULL)
		EMU_DIE("device memory: %s", strerror(errno));
	dm_mr = ibv_reg_dm_mr(dev->pd, dm, 0, 4096, IBV_ACCESS_ZERO_BASED | access_all);
	if (dm_mr == NULL)
		EMU_DIE("a region of device memory: %s", strerror(errno));
	CHECK_EQ(hwq_obj_dm(dm, &view), 0, "device memory");
	CHECK(view.len >= 4096 && view.addr != NULL, "%u bytes", (unsigned int)view.len);
	CHECK_EQ(view.remote_va, 0, "remote address");
	for (i = 0; i < 4096; i++)
		((volatile uint8_t *)view.addr)[i] = (uint8_t)(i * 5);
	take(&t, BY_CREATE_QP, dev->pd, NULL, false);
	connect_self(&t);
	memset(mem + HALF, 0, 4096);
	CHECK_EQ(hwq_wqe_rdma_write(&t.qp->sq, mr->rkey, (uintptr_t)mem + HALF, dm_mr->lkey, 0,
			 4096, HWQ_WQE_SIGNALED),
		1, "WQEBBs");
	hwq_sq_ring(&t.qp->sq);
	emu_pump();
	CHECK_EQ(hwq_wr_poll(&t.qp->sq, &id, 1), 1, "completions");
	for (i = 0; i < 4096; i++)
		CHECK(mem[HALF + i] == (uint8_t)(i * 5), "byte %u", i);
	taken_release(&t);
	if (ibv_dereg_mr(dm_mr) != 0 || ibv_free_dm(dm) != 0)
		EMU_DIE("freeing device memory");
}

/*
 * hwq_obj_pdn() must return the number that the device has for the PD of a QP (QUERY_QP: 24 bits at
 * 0x28 of the context).
 */
static void
protection_domain(void)
{
	uint8_t in[16] = {0x05, 0x0b}, out[272] = {0};
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 63, NULL, NULL, 0);
	struct ibv_qp *qp;
	uint32_t pdn = 0, other = 0;

	if (pd == NULL || cq == NULL)
		EMU_DIE("a PD");
	qp = two_way_qp(BY_CREATE_QP, pd, cq, NULL, IBV_QPT_RC, false);
	in[9] = (uint8_t)(qp->qp_num >> 16);
	in[10] = (uint8_t)(qp->qp_num >> 8);
	in[11] = (uint8_t)qp->qp_num;
	CHECK_EQ(mlx5dv_devx_qp_query(qp, in, sizeof(in), out, sizeof(out)), 0, "QUERY_QP");
	CHECK_EQ(hwq_obj_pdn(pd, &pdn), 0, "a PD");
	CHECK_EQ(hwq_obj_pdn(dev->pd, &other), 0, "another PD");
	CHECK_EQ(pdn, (uint32_t)out[29] << 16 | out[30] << 8 | out[31], "its number");
	CHECK(pdn != other, "two PDs of one number");
	if (ibv_destroy_qp(qp) != 0 || ibv_destroy_cq(cq) != 0 || ibv_dealloc_pd(pd) != 0)
		EMU_DIE("destroying");
}

/*
 * Waits for the completions of a datagram and of its receive, in any order: with wire = loop, the
 * datagram arrives after its sender has the completion.
 */
static void
poll_both(struct hwq_qp *qp, struct hwq_cqe *rec, uint64_t *id)
{
	const uint64_t end = emu_now_ns() + CHECK_PATIENCE_NS;
	unsigned int received = 0, sent = 0;
	uint64_t sent_id;

	while ((received == 0 || sent == 0) && emu_now_ns() < end) {
		emu_pump();
		received += hwq_rq_poll(&qp->rq, rec, id, 1);
		sent += hwq_wr_poll(&qp->sq, &sent_id, 1);
	}
	CHECK_EQ(received, 1, "receives");
	CHECK_EQ(sent, 1, "completions");
}

/*
 * The QP sends a datagram to itself, with the caller's QP and address handle. The datagram must
 * arrive.
 */
static void
datagrams(void)
{
	struct ibv_cq *ibcq = ibv_create_cq(ctx, 255, NULL, NULL, 0);
	struct hwq_obj_qp obj = {.max_sge = 1};
	struct ibv_ah_attr attr = {.is_global = dev->port.has_gid,
		.port_num = dev->port.port,
		.dlid = dev->port.lid,
		.grh = {.sgid_index = dev->port.gid_index, .hop_limit = 64}};
	const struct hwq_sge to = {(uintptr_t)mem + HALF, 256, mr->lkey};
	struct hwq_cqe rec = {0};
	struct hwq_cq *cq;
	struct hwq_qp *qp;
	struct ibv_ah *ibah;
	struct hwq_ah ah;
	struct hwq_wr wr;
	unsigned int i;
	uint64_t id = 0;

	memcpy(attr.grh.dgid.raw, dev->port.gid, 16);
	ibah = ibv_create_ah(dev->pd, &attr);
	obj.qp = two_way_qp(BY_CREATE_QP_EX, dev->pd, ibcq, NULL, IBV_QPT_UD, false);
	if (ibah == NULL)
		EMU_DIE("an address handle: %s", strerror(errno));
	stock_to_init(dev, obj.qp);
	stock_connect(dev, obj.qp, 0);
	CHECK_EQ(hwq_obj_cq(ibcq, &cq), 0, "taking a CQ");
	obj.send_cq = obj.recv_cq = cq;
	CHECK_EQ(hwq_obj_qp(&obj, &qp), 0, "taking a QP");
	CHECK_EQ(hwq_ah_from_verbs(ibah, &ah), 0, "taking an address handle");
	for (i = 0; i < 50 && check_failures == 0; i++) {
		struct ibv_qp_init_attr init;
		struct ibv_qp_attr qp_attr;

		if (ibv_query_qp(obj.qp, &qp_attr, IBV_QP_QKEY, &init) != 0)
			EMU_DIE("the qkey");
		CHECK_EQ(hwq_rq_post_list(&qp->rq, i, &to, 1), 0, "posting");
		hwq_rq_ring(&qp->rq);
		hwq_wr_start_ud(&wr, &qp->sq);
		wr.wr_flags = HWQ_WQE_SIGNALED;
		hwq_wr_send(&wr);
		hwq_wr_set_ud_addr(&wr, &ah, obj.qp->qp_num, qp_attr.qkey);
		hwq_wr_set_sge(&wr, mr->lkey, (uintptr_t)mem + i, 77);
		CHECK_EQ(hwq_wr_complete(&wr), 0, "posting");
		poll_both(qp, &rec, &id);
		CHECK_EQ(id, i, "wr_id");
		CHECK_EQ(rec.byte_cnt, 40 + 77, "bytes, and those of the GRH");
		CHECK(rec.recv.flags & HWQ_RECV_GRH, "no GRH");
		CHECK_EQ(rec.recv.src_qp, obj.qp->qp_num, "the sender");
		check_bytes(mem + HALF + 40, mem + i, 77, "what was received");
	}
	hwq_obj_qp_release(qp);
	CHECK_EQ(hwq_obj_cq_release(cq), 0, "releasing");
	if (ibv_destroy_qp(obj.qp) != 0 || ibv_destroy_cq(ibcq) != 0 || ibv_destroy_ah(ibah) != 0)
		EMU_DIE("destroying");
}

/* ------------------------------------------------------------------ refusals */

static unsigned int log_lines;

static void
count_line(const char *text)
{
	(void)text;
	log_lines++;
}

static void
refusals(void)
{
	struct ibv_cq_init_attr_ex cq_attr = {.cqe = 63};
	struct mlx5dv_cq_init_attr large = {.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
		.cqe_size = 128};
	struct ibv_cq_ex *cq_ex = mlx5dv_create_cq(ctx, &cq_attr, &large);
	struct ibv_cq *ibcq = ibv_create_cq(ctx, 31, NULL, NULL, 0),
		      *polled = ibv_create_cq(ctx, 31, NULL, NULL, 0);
	struct hwq_obj_qp obj = {.max_sge = 1};
	struct hwq_bf elsewhere = {.reg = mem};
	struct ibv_recv_wr recv = {0}, *bad;
	struct hwq_qp *qp = NULL;
	struct hwq_cq *cq, *none = NULL;
	struct ibv_wc wc;
	struct ibv_qp *used;

	if (cq_ex == NULL || ibcq == NULL || polled == NULL)
		EMU_DIE("CQs");
	hwq_log_set(count_line);
	CHECK_EQ(hwq_obj_cq(ibv_cq_ex_to_cq(cq_ex), &none), -EOPNOTSUPP, "CQEs of 128 bytes");
	/* libmlx5 polls a completion from its CQ, so hwq must refuse the CQ. */
	used = two_way_qp(BY_CREATE_QP, dev->pd, polled, NULL, IBV_QPT_RC, false);
	stock_to_init(dev, used);
	CHECK_EQ(ibv_post_recv(used, &recv, &bad), 0, "posting");
	obj.qp = used;
	CHECK_EQ(hwq_obj_cq(ibcq, &cq), 0, "taking a CQ");
	obj.send_cq = obj.recv_cq = cq;
	CHECK_EQ(hwq_obj_qp(&obj, &qp), -EBUSY, "a QP that was posted to");
	stock_modify(used, &(struct ibv_qp_attr){.qp_state = IBV_QPS_ERR}, IBV_QP_STATE);
	emu_pump();
	CHECK_EQ(ibv_poll_cq(polled, 1, &wc), 1, "a completion");
	CHECK_EQ(hwq_obj_cq(polled, &none), -EBUSY, "a CQ that was polled");
	CHECK(none == NULL && qp == NULL, "out-pointers");
	if (ibv_destroy_qp(used) != 0)
		EMU_DIE("destroying");
	/*
	 * The CQ has 32 entries, fewer than the WQEBBs of the QP's send queue, so hwq must refuse
	 * the QP.
	 */
	obj.qp = two_way_qp(BY_CREATE_QP, dev->pd, ibcq, NULL, IBV_QPT_RC, false);
	CHECK_EQ(hwq_obj_qp(&obj, &qp), -ENOSPC, "a CQ that is too small");
	obj.recv_cq = NULL;
	CHECK_EQ(hwq_obj_qp(&obj, &qp), -EINVAL, "a receive queue without a CQ");
	obj.recv_cq = cq;
	obj.bf = &elsewhere;
	CHECK_EQ(hwq_obj_qp(&obj, &qp), -EINVAL, "another doorbell register");
	CHECK(qp == NULL, "out-pointer");
	CHECK(log_lines >= 6, "%u log lines", log_lines);
	hwq_log_set(NULL);
	CHECK_EQ(cq->reserved, 0, "CQEs reserved");
	CHECK_EQ(hwq_obj_cq_release(cq), 0, "releasing");
	if (ibv_destroy_qp(obj.qp) != 0 || ibv_destroy_cq(ibcq) != 0 ||
		ibv_destroy_cq(polled) != 0 || ibv_destroy_cq(ibv_cq_ex_to_cq(cq_ex)) != 0)
		EMU_DIE("destroying");
}

/* The last log line, which must name the function to use instead. */
static char last_line[256];

static void
keep_line(const char *text)
{
	snprintf(last_line, sizeof(last_line), "%s", text);
}

#define REFUSED(call, instead)                                                                     \
	do {                                                                                       \
		last_line[0] = '\0';                                                               \
		CHECK_EQ(call, -EINVAL, #call);                                                    \
		CHECK(strstr(last_line, instead) != NULL, #call " says: %s", last_line);           \
	} while (0)

static void
taken_ones_are_not_ours(struct taken *t, struct hwq_srq *srq)
{
	struct hwq_addr addr = {.version = 1}, zeros = {0};

	REFUSED(hwq_qp_connect(t->qp, &addr), "ibv_modify_qp(3), then hwq_obj_qp_sync()");
	REFUSED(hwq_qp_ready(t->qp), "ibv_modify_qp(3), then hwq_obj_qp_sync()");
	REFUSED(hwq_qp_reset(t->qp), "ibv_modify_qp(3), then hwq_obj_qp_sync()");
	REFUSED(hwq_qp_destroy(t->qp), "hwq_obj_qp_release(), then ibv_destroy_qp(3)");
	REFUSED(hwq_cq_destroy(t->cq), "hwq_obj_cq_release(), then ibv_destroy_cq(3)");
	REFUSED(hwq_srq_destroy(srq), "hwq_obj_srq_release(), then ibv_destroy_srq(3)");
	last_line[0] = '\0';
	hwq_qp_addr(t->qp, &addr);
	CHECK(strstr(last_line, "ibv_query_qp(3)") != NULL, "hwq_qp_addr() says: %s", last_line);
	check_bytes(&addr, &zeros, sizeof(addr), "an address");
}

static void
ours_are_not_taken(void)
{
	const struct hwq_srq_conf srq_conf = {.n_wr = 8, .max_sge = 1};
	const struct hwq_qp_conf conf = {.sq_wr = 4};
	struct hwq_srq *srq = NULL;
	struct twin t;

	twin_create(dev, &conf, &t);
	CHECK_EQ(hwq_srq_create(dev, &srq_conf, &srq), 0, "an SRQ");
	REFUSED(hwq_obj_cq_release(t.cq), "hwq_cq_destroy()");
	REFUSED(hwq_obj_srq_release(srq), "hwq_srq_destroy()");
	last_line[0] = '\0';
	hwq_obj_qp_release(t.qp);
	CHECK(strstr(last_line, "hwq_qp_destroy()") != NULL, "hwq_obj_qp_release() says: %s",
		last_line);
	CHECK_EQ(hwq_srq_destroy(srq), 0, "destroying it");
	twin_destroy(&t);
}

/*
 * A function of hwq for the wrong kind of object is refused without effect: the objects keep
 * working.
 */
static void
whose_they_are(void)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 10, .max_sge = 2}};
	struct ibv_srq *ibsrq = ibv_create_srq(dev->pd, &attr);
	struct hwq_srq *srq;
	struct taken t;

	if (ibsrq == NULL)
		EMU_DIE("an SRQ");
	hwq_log_set(keep_line);
	CHECK_EQ(hwq_obj_srq(ibsrq, NULL, &srq), 0, "taking an SRQ");
	take(&t, BY_CREATE_QP_EX, dev->pd, NULL, false);
	taken_ones_are_not_ours(&t, srq);
	connect_self(&t);
	work(&t, 10, false);
	taken_ones_are_not_ours(&t, srq);
	CHECK_EQ(hwq_qp_state(t.qp), IBV_QPS_RTS, "state");
	work(&t, 20, false);
	ours_are_not_taken();
	hwq_log_set(NULL);
	taken_release(&t);
	CHECK_EQ(hwq_obj_srq_release(srq), 0, "releasing an SRQ");
	if (ibv_destroy_srq(ibsrq) != 0)
		EMU_DIE("destroying");
}

/* ------------------------------------------------------------------ room in CQs */

/*
 * A QP to take over, and the CQ entries that each of its queues needs, computed from libmlx5's
 * sizes.
 */
struct newcomer {
	struct hwq_obj_qp obj;
	uint32_t send, recv;
};

static void
newcomer_create(struct newcomer *new, struct ibv_cq *ibcq, struct ibv_srq *ibsrq)
{
	struct mlx5dv_qp view = {0};
	struct mlx5dv_obj of = {.qp.out = &view};

	*new = (struct newcomer){.obj.max_sge = 3};
	new->obj.qp = two_way_qp(BY_CREATE_QP, dev->pd, ibcq, ibsrq, IBV_QPT_RC, false);
	of.qp.in = new->obj.qp;
	if (mlx5dv_init_obj(&of, MLX5DV_OBJ_QP) != 0)
		EMU_DIE("what libmlx5 shows of a QP");
	new->send = view.sq.wqe_cnt;
	new->recv = view.rq.wqe_cnt;
}

/*
 * Takes over the QP while its CQs have exactly this many free entries; all other entries are
 * reserved. The caller releases the QP.
 */
static struct hwq_qp *
take_with_room(struct newcomer *new, uint32_t send_left, uint32_t recv_left, int ret)
{
	struct hwq_cq *send_cq = new->obj.send_cq, *recv_cq = new->obj.recv_cq;
	uint32_t send_before = send_cq->n_cqe - send_left, recv_before;
	struct hwq_qp *qp = NULL;

	send_cq->reserved = send_before;
	if (recv_cq != send_cq)
		recv_cq->reserved = recv_cq->n_cqe - recv_left;
	recv_before = recv_cq->reserved;
	last_line[0] = '\0';
	CHECK(hwq_obj_qp(&new->obj, &qp) == ret, "not %d with %u and %u entries left", ret,
		send_left, recv_left);
	CHECK((qp != NULL) == (ret == 0), "out-pointer");
	if (ret == 0) {
		CHECK_EQ(send_cq->reserved, send_cq->n_cqe, "CQEs reserved for sends");
		CHECK_EQ(recv_cq->reserved, recv_cq->n_cqe, "CQEs reserved for receives");
	} else {
		CHECK(strstr(last_line, "create the CQ with more") != NULL, "log: %s", last_line);
		CHECK_EQ(send_cq->reserved, send_before, "CQEs reserved for sends");
		CHECK_EQ(recv_cq->reserved, recv_before, "CQEs reserved for receives");
	}
	return qp;
}

/*
 * If the CQs have exactly as many free entries as the QP needs, hwq must accept the QP. With one
 * entry less, hwq must refuse the QP, and must leave no entry reserved.
 */
static void
fits_exactly(struct newcomer *new, uint32_t send, uint32_t recv)
{
	bool one_cq = new->obj.send_cq == new->obj.recv_cq;
	struct hwq_qp *qp;

	take_with_room(new, send - 1, recv, -ENOSPC);
	if (!one_cq)
		take_with_room(new, send, recv - 1, -ENOSPC);
	qp = take_with_room(new, send, recv, 0);
	if (qp != NULL)
		hwq_obj_qp_release(qp);
	CHECK_EQ(new->obj.send_cq->reserved, new->obj.send_cq->n_cqe - send,
		"CQEs reserved after the release");
	if (!one_cq)
		CHECK_EQ(new->obj.recv_cq->reserved, new->obj.recv_cq->n_cqe - recv,
			"CQEs reserved after the release");
}

/* A second QP with the same SRQ and CQ must need no entries for the SRQ. */
static void
shares_the_entries(struct newcomer *first, struct newcomer *second, struct hwq_cq *other_cq,
	uint32_t n_srq)
{
	struct hwq_qp *qp = take_with_room(first, first->send + n_srq, 0, 0);

	if (qp == NULL)
		return;
	fits_exactly(second, second->send, 0);
	second->obj.recv_cq = other_cq;
	fits_exactly(second, second->send, n_srq);
	first->obj.send_cq->reserved = first->send + n_srq;
	hwq_obj_qp_release(qp);
}

static void
room_in_cqs(void)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 10, .max_sge = 2}};
	struct ibv_srq *ibsrq = ibv_create_srq(dev->pd, &attr);
	struct ibv_cq *ibcq[2] = {ibv_create_cq(ctx, 255, NULL, NULL, 0),
		ibv_create_cq(ctx, 255, NULL, NULL, 0)};
	struct newcomer plain, first, second;
	struct hwq_srq *srq;
	struct hwq_cq *cq[2];

	if (ibsrq == NULL || ibcq[0] == NULL || ibcq[1] == NULL)
		EMU_DIE("an SRQ and CQs");
	newcomer_create(&plain, ibcq[0], NULL);
	newcomer_create(&first, ibcq[0], ibsrq);
	newcomer_create(&second, ibcq[0], ibsrq);
	CHECK(plain.send > 1 && plain.recv > 1 && first.recv == 0, "rings of %u, %u and %u",
		plain.send, plain.recv, first.recv);
	CHECK_EQ(hwq_obj_cq(ibcq[0], &cq[0]), 0, "taking a CQ");
	CHECK_EQ(hwq_obj_cq(ibcq[1], &cq[1]), 0, "taking a CQ");
	CHECK_EQ(hwq_obj_srq(ibsrq, NULL, &srq), 0, "taking an SRQ");
	hwq_log_set(keep_line);
	plain.obj.send_cq = plain.obj.recv_cq = cq[0];
	fits_exactly(&plain, plain.send + plain.recv, 0);
	plain.obj.recv_cq = cq[1];
	fits_exactly(&plain, plain.send, plain.recv);
	first.obj.srq = second.obj.srq = srq;
	first.obj.send_cq = first.obj.recv_cq = second.obj.send_cq = second.obj.recv_cq = cq[0];
	fits_exactly(&first, first.send + attr.attr.max_wr, 0);
	shares_the_entries(&first, &second, cq[1], attr.attr.max_wr);
	hwq_log_set(NULL);
	cq[0]->reserved = cq[1]->reserved = 0;
	CHECK_EQ(hwq_obj_srq_release(srq), 0, "releasing an SRQ");
	CHECK_EQ(hwq_obj_cq_release(cq[0]), 0, "releasing a CQ");
	CHECK_EQ(hwq_obj_cq_release(cq[1]), 0, "releasing a CQ");
	if (ibv_destroy_qp(plain.obj.qp) != 0 || ibv_destroy_qp(first.obj.qp) != 0 ||
		ibv_destroy_qp(second.obj.qp) != 0 || ibv_destroy_srq(ibsrq) != 0 ||
		ibv_destroy_cq(ibcq[0]) != 0 || ibv_destroy_cq(ibcq[1]) != 0)
		EMU_DIE("destroying");
}

int
main(int argc, char **argv)
{
	unsigned int i;

	(void)argc;
	emu_setting(argv, "SOFTHCA_THREADS", "0");
	dev = emu_open();
	ctx = dev->ctx;
	for (i = 0; i < HALF; i++)
		mem[i] = (uint8_t)(i * 7 + i / 256 + 1);
	mr = ibv_reg_mr(dev->pd, mem, sizeof(mem), access_all);
	if (mr == NULL)
		EMU_DIE("registering");
	RUN("queue pairs made in every way, with their own register and without, work",
		queue_pairs());
	RUN("MLX5_SHUT_UP_BF keeps WQEs out of a caller's own register", shut_up_bf());
	RUN("the caller moves a QP through its states", states());
	RUN("messages arrive in a caller's shared receive queue", shared_receive_queue());
	if (dev->port.link_layer == IBV_LINK_LAYER_ETHERNET)
		RUN("a work queue has libmlx5's bytes and doorbell record", work_queue());
	RUN("device memory is at its address", device_memory());
	RUN("a PD has the number that the device knows", protection_domain());
	RUN("datagrams go to the address of an address handle", datagrams());
	RUN("objects that hwq cannot take over are refused", refusals());
	RUN("a CQ must have an entry for each CQE that a QP's queues and its SRQ may have at once",
		room_in_cqs());
	RUN("a call on an object of the other owner is refused, and changes nothing",
		whose_they_are());
	if (ibv_dereg_mr(mr) != 0 || hwq_dev_close(dev) != 0)
		EMU_DIE("closing");
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
