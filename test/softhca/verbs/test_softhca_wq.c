/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work queues of the emulated adapter, through stock libibverbs and libmlx5: how their states
 * affect receives, which calls are refused, and which objects cannot be destroyed because they are
 * used. Arguments that libmlx5 checks itself are tested by raw calls.
 */
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "raw_ioctl.h"
#include "softhca_pair.h"

/* A work queue, with the context, the PD and the CQ of a pair. */
struct wq {
	struct pair p;
	struct ibv_wq *wq;
	struct mlx5dv_rwq dv;
};

static struct ibv_wq *
make_wq(struct pair *p, uint32_t max_wr, uint32_t max_sge)
{
	struct ibv_wq_init_attr attr = {.wq_type = IBV_WQT_RQ,
		.max_wr = max_wr,
		.max_sge = max_sge,
		.pd = p->pd,
		.cq = p->client.cq};
	struct ibv_wq *wq = ibv_create_wq(p->ctx, &attr);

	CHECK(wq != NULL);
	CHECK(attr.max_wr >= max_wr && attr.max_sge >= max_sge);
	return wq;
}

static int
modify(struct ibv_wq *wq, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state};

	return ibv_modify_wq(wq, &attr);
}

static void
wq_open(struct wq *q, const struct pair_opts *opts, uint32_t max_wr)
{
	struct mlx5dv_obj obj;

	pair_init(&q->p, opts);
	q->wq = make_wq(&q->p, max_wr, 2);
	q->dv = (struct mlx5dv_rwq){0};
	obj = (struct mlx5dv_obj){.rwq = {q->wq, &q->dv}};
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_RWQ), 0);
}

static void
wq_close(struct wq *q)
{
	CHECK_EQ(ibv_destroy_wq(q->wq), 0);
	pair_fini(&q->p);
}

static void
post(struct ibv_wq *wq, const struct mlx5dv_rwq *dv, uint64_t id)
{
	struct ibv_sge sge = {0x1000, 64, 0x1234};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;

	PAIR_RELEASE(dv->dbrec);
	(void)dv;
	CHECK_EQ(ibv_post_wq_recv(wq, &wr, &bad), 0);
}

static void
expect_flushed(struct wq *q, uint64_t first, uint64_t n)
{
	for (uint64_t i = first; i < first + n; i++) {
		struct ibv_wc wc = pair_wait(&q->p.client);

		CHECK_EQ(wc.wr_id, i);
		CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
		CHECK_EQ(wc.qp_num, q->wq->wq_num);
	}
}

/* ---------------------------------------------------------------- states and receives */

static void
case_flush(void)
{
	struct wq q;

	wq_open(&q, NULL, 32);
	CHECK(q.wq->wq_num != 0 && q.wq->wq_num != q.p.client.qp->qp_num);
	CHECK_EQ(modify(q.wq, IBV_WQS_RDY), 0);
	for (uint64_t i = 0; i < 20; i++)
		post(q.wq, &q.dv, 100 + i);
	pair_expect_none(&q.p.client);
	CHECK_EQ(modify(q.wq, IBV_WQS_ERR), 0);
	expect_flushed(&q, 100, 20);
	/* In ERR, each posted receive must be flushed, over several laps of the queue. */
	for (uint64_t i = 0; i < 80; i += 16) {
		for (uint64_t n = 0; n < 16; n++)
			post(q.wq, &q.dv, 1000 + i + n);
		expect_flushed(&q, 1000 + i, 16);
	}
	pair_expect_none(&q.p.client);
	wq_close(&q);
}

/* If the doorbell record counts more WQEs than the queue can hold, no WQE may count as posted. */
static void
case_too_many(void)
{
	struct wq q;

	wq_open(&q, NULL, 32);
	CHECK_EQ(q.dv.wqe_cnt, 32);
	CHECK_EQ(modify(q.wq, IBV_WQS_RDY), 0);
	CHECK_EQ(modify(q.wq, IBV_WQS_ERR), 0);
	__atomic_store_n((uint32_t *)q.dv.dbrec, htobe32(33), __ATOMIC_RELEASE);
	pair_expect_none(&q.p.client);
	__atomic_store_n((uint32_t *)q.dv.dbrec, 0, __ATOMIC_RELEASE);
	post(q.wq, &q.dv, 7);
	expect_flushed(&q, 7, 1);
	wq_close(&q);
}

/* After RESET the queue must be empty: its receives are dropped without completions. */
static void
case_reset(void)
{
	struct wq q;

	wq_open(&q, NULL, 16);
	for (int round = 0; round < 3; round++) {
		CHECK_EQ(modify(q.wq, IBV_WQS_RDY), 0);
		CHECK_EQ(be32toh(*q.dv.dbrec), 0);
		for (uint64_t i = 0; i < 5; i++)
			post(q.wq, &q.dv, i);
		if (round != 1) {
			CHECK_EQ(modify(q.wq, IBV_WQS_ERR), 0);
			expect_flushed(&q, 0, 5);
		}
		CHECK_EQ(modify(q.wq, IBV_WQS_RESET), 0);
		pair_expect_none(&q.p.client);
	}
	wq_close(&q);
}

static void
case_states(void)
{
	struct ibv_wq_attr lie = {.attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE,
		.wq_state = IBV_WQS_ERR,
		.curr_wq_state = IBV_WQS_ERR};
	struct ibv_wq_attr strip = {.attr_mask = IBV_WQ_ATTR_FLAGS,
		.flags_mask = IBV_WQ_FLAGS_CVLAN_STRIPPING};
	struct wq q;

	wq_open(&q, NULL, 16);
	CHECK_EQ(modify(q.wq, IBV_WQS_ERR), EINVAL); /* not allowed from RESET */
	CHECK_EQ(modify(q.wq, IBV_WQS_RESET), 0);
	CHECK_EQ(modify(q.wq, IBV_WQS_RDY), 0);
	CHECK_EQ(ibv_modify_wq(q.wq, &lie), EINVAL);
	CHECK_EQ(modify(q.wq, 3), EINVAL);
	lie.curr_wq_state = 3;
	CHECK_EQ(ibv_modify_wq(q.wq, &lie), EINVAL);
	lie.attr_mask = 0;
	CHECK_EQ(ibv_modify_wq(q.wq, &lie), EINVAL);
	CHECK_EQ(ibv_modify_wq(q.wq, &strip), EOPNOTSUPP);
	/* None of these calls may have changed the state. */
	post(q.wq, &q.dv, 1);
	pair_expect_none(&q.p.client);
	lie = (struct ibv_wq_attr){.attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE,
		.wq_state = IBV_WQS_ERR,
		.curr_wq_state = IBV_WQS_RDY};
	CHECK_EQ(ibv_modify_wq(q.wq, &lie), 0);
	expect_flushed(&q, 1, 1);
	CHECK_EQ(modify(q.wq, IBV_WQS_RDY), EINVAL); /* RDY needs RESET first */
	post(q.wq, &q.dv, 2);
	expect_flushed(&q, 2, 1);
	wq_close(&q);
}

/* When a CQ is overrun, the work queues that use this CQ must fail. */
static void
case_cq_overrun(void)
{
	struct mlx5dv_rwq dv = {0};
	struct mlx5dv_obj obj;
	struct ibv_wq *other;
	bool cq_err = false, wq_fatal = false;
	struct wq q;

	wq_open(&q, &(struct pair_opts){.cqe = 3}, 16);
	other = make_wq(&q.p, 16, 1);
	obj = (struct mlx5dv_obj){.rwq = {other, &dv}};
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_RWQ), 0);
	CHECK_EQ(modify(q.wq, IBV_WQS_RDY), 0);
	CHECK_EQ(modify(other, IBV_WQS_RDY), 0);
	for (uint64_t i = 0; i < 16; i++)
		post(q.wq, &q.dv, i);
	CHECK_EQ(modify(q.wq, IBV_WQS_ERR), 0);
	for (int i = 0; i < 8 && !(cq_err && wq_fatal); i++) {
		int event = pair_async(&q.p, PAIR_PATIENCE_MS);

		CHECK(event == IBV_EVENT_CQ_ERR || event == IBV_EVENT_QP_FATAL ||
			event == IBV_EVENT_WQ_FATAL);
		cq_err |= event == IBV_EVENT_CQ_ERR;
		wq_fatal |= event == IBV_EVENT_WQ_FATAL;
	}
	CHECK(cq_err && wq_fatal);
	CHECK_EQ(modify(other, IBV_WQS_RDY), EINVAL); /* the queue is in ERR */
	CHECK_EQ(modify(other, IBV_WQS_RESET), 0);
	CHECK_EQ(ibv_destroy_wq(other), 0);
	wq_close(&q);
}

/* ---------------------------------------------------------------- busy objects */

static void
case_busy(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_wq_init_attr attr = {.wq_type = IBV_WQT_RQ,
		.max_wr = 4,
		.max_sge = 1,
		.pd = pd,
		.cq = cq};
	struct ibv_wq *wq[2] = {ibv_create_wq(ctx, &attr), ibv_create_wq(ctx, &attr)};
	struct ibv_wq *entries[4] = {wq[0], wq[1], wq[0], wq[0]};
	struct ibv_rwq_ind_table_init_attr init = {.log_ind_tbl_size = 2, .ind_tbl = entries};
	struct ibv_rwq_ind_table *table;

	CHECK(wq[0] != NULL && wq[1] != NULL && wq[0]->wq_num != wq[1]->wq_num);
	CHECK_EQ(ibv_destroy_cq(cq), EBUSY);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	table = ibv_create_rwq_ind_table(ctx, &init);
	CHECK(table != NULL && table->ind_tbl_num != 0);
	CHECK_EQ(ibv_destroy_wq(wq[0]), EBUSY);
	CHECK_EQ(ibv_destroy_wq(wq[1]), EBUSY);
	CHECK_EQ(ibv_destroy_rwq_ind_table(table), 0);
	CHECK_EQ(ibv_destroy_wq(wq[1]), 0);
	CHECK_EQ(ibv_destroy_wq(wq[0]), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

#define MAX_ENTRIES 8192

static int
raw_table(struct ibv_context *ctx, uint32_t log, const uint32_t *handles, uint32_t n)
{
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp = {0};
	uint32_t req[2 + MAX_ENTRIES] = {0, log};
	int rc;

	memcpy(req + 2, handles, n * sizeof(*handles));
	raw_u64(&c, UVERBS_ATTR_WRITE_CMD,
		IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL);
	if (n == 0)
		raw_u64(&c, UVERBS_ATTR_CORE_IN, (uint64_t)log << 32);
	else
		raw_attr(&c, UVERBS_ATTR_CORE_IN, (uint16_t)(8 + 4 * n), (uintptr_t)req);
	raw_out(&c, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	rc = raw_run(ctx->cmd_fd, &c);
	if (rc == 0) {
		c = raw_start(UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_METHOD_RWQ_IND_TBL_DESTROY);
		raw_handle(&c, UVERBS_ATTR_DESTROY_RWQ_IND_TBL_HANDLE, resp.ind_tbl_handle);
		CHECK_EQ(raw_run(ctx->cmd_fd, &c), 0);
	}
	return rc;
}

static void
case_tables(void)
{
	struct ibv_device_attr_ex attr;
	uint32_t handles[MAX_ENTRIES], log_max = 0;
	struct wq q;

	wq_open(&q, NULL, 4);
	CHECK_EQ(ibv_query_device_ex(q.p.ctx, NULL, &attr), 0);
	while (1u << log_max < attr.rss_caps.max_rwq_indirection_table_size)
		log_max++;
	CHECK(2u << log_max <= MAX_ENTRIES);
	for (int i = 0; i < MAX_ENTRIES; i++)
		handles[i] = q.wq->handle;
	CHECK_EQ(raw_table(q.p.ctx, 0, handles, 1), 0);
	CHECK_EQ(raw_table(q.p.ctx, 6, handles, 64), 0);
	CHECK_EQ(raw_table(q.p.ctx, 6, handles, 63), EINVAL);
	CHECK_EQ(raw_table(q.p.ctx, 0, handles, 0), EINVAL);
	CHECK_EQ(raw_table(q.p.ctx, log_max, handles, 1u << log_max), 0);
	CHECK_EQ(raw_table(q.p.ctx, log_max + 1, handles, 2u << log_max), EINVAL);
	CHECK_EQ(raw_table(q.p.ctx, 32, handles, 64), EINVAL);
	handles[5] = q.p.client.qp->handle;
	CHECK_EQ(raw_table(q.p.ctx, 6, handles, 64), EINVAL);
	/* The refused call must not keep objects in use. */
	wq_close(&q);
}

/* ---------------------------------------------------------------- creation */

static void
case_caps(void)
{
	struct ibv_qp_init_attr_ex qp = {.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH};
	uint8_t key[40] = {1};
	struct ibv_rwq_ind_table_init_attr init = {0};
	struct ibv_device_attr_ex attr;
	struct wq q;

	wq_open(&q, NULL, 4);
	CHECK_EQ(ibv_query_device_ex(q.p.ctx, NULL, &attr), 0);
	CHECK(attr.max_wq_type_rq != 0);
	CHECK(attr.rss_caps.max_rwq_indirection_tables != 0);
	/*
	 * No QP type can use an indirection table, so creating a QP with a table must be refused.
	 */
	CHECK_EQ(attr.rss_caps.supported_qpts, 0);
	init.ind_tbl = &q.wq;
	qp.pd = q.p.pd;
	qp.rwq_ind_tbl = ibv_create_rwq_ind_table(q.p.ctx, &init);
	CHECK(qp.rwq_ind_tbl != NULL);
	qp.rx_hash_conf = (struct ibv_rx_hash_conf){.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
		.rx_hash_key_len = sizeof(key),
		.rx_hash_key = key,
		.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4};
	CHECK(ibv_create_qp_ex(q.p.ctx, &qp) == NULL);
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK_EQ(ibv_destroy_rwq_ind_table(qp.rwq_ind_tbl), 0);
	wq_close(&q);
}

static int
raw_create(struct pair *p, const struct mlx5_ib_create_wq *mlx5, uint16_t mlx5_len, uint32_t max_wr,
	uint64_t type, uint64_t flags)
{
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE);
	struct ib_uverbs_attr *handle = raw_handle(&c, UVERBS_ATTR_CREATE_WQ_HANDLE, 0);
	uint32_t got_wr = 0, got_sge = 0, number = 0, events;
	int rc;

	raw_handle(&c, UVERBS_ATTR_CREATE_WQ_PD_HANDLE, p->pd->handle);
	raw_handle(&c, UVERBS_ATTR_CREATE_WQ_CQ_HANDLE, p->client.cq->handle);
	raw_u64(&c, UVERBS_ATTR_CREATE_WQ_USER_HANDLE, 1);
	raw_u64(&c, UVERBS_ATTR_CREATE_WQ_TYPE, type);
	raw_u32(&c, UVERBS_ATTR_CREATE_WQ_MAX_WR, max_wr);
	raw_u32(&c, UVERBS_ATTR_CREATE_WQ_MAX_SGE, 1);
	raw_u64(&c, UVERBS_ATTR_CREATE_WQ_FLAGS, flags);
	raw_out(&c, UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, &got_wr, 4);
	raw_out(&c, UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, &got_sge, 4);
	raw_out(&c, UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, &number, 4);
	raw_attr(&c, UVERBS_ATTR_UHW_IN, mlx5_len, (uintptr_t)mlx5);
	rc = raw_run(p->ctx->cmd_fd, &c);
	if (rc == 0) {
		uint32_t made = handle->data;

		CHECK(number != 0 && got_wr == max_wr && got_sge == 1);
		c = raw_start(UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_DESTROY);
		raw_handle(&c, UVERBS_ATTR_DESTROY_WQ_HANDLE, made);
		raw_out(&c, UVERBS_ATTR_DESTROY_WQ_RESP, &events, 4);
		CHECK_EQ(raw_run(p->ctx->cmd_fd, &c), 0);
	}
	return rc;
}

static void
case_refused(void)
{
	struct mlx5_ib_create_wq ok = {.rq_wqe_count = 16, .rq_wqe_shift = 4}, req;
	uint8_t *mem = aligned_alloc(4096, 8192);
	struct pair p;

	CHECK(mem != NULL);
	pair_init(&p, NULL);
	ok.buf_addr = (uintptr_t)mem;
	ok.db_addr = (uintptr_t)mem + 4096;
#define TRY(field, value, answer)                                                                  \
	do {                                                                                       \
		req = ok;                                                                          \
		req.field = (value);                                                               \
		CHECK_EQ(raw_create(&p, &req, sizeof(req), 16, IBV_WQT_RQ, 0), answer);            \
	} while (0)
	TRY(flags, 0, 0);
	TRY(rq_wqe_count, 0, EINVAL);
	TRY(rq_wqe_count, 12, EINVAL);
	TRY(rq_wqe_count, 65536, EINVAL);
	TRY(rq_wqe_shift, 3, EINVAL);
	TRY(rq_wqe_shift, 40, EINVAL);
	TRY(buf_addr, 0, EINVAL);
	TRY(buf_addr, ok.buf_addr + 16, EINVAL);
	TRY(buf_addr, 4096, EFAULT);
	TRY(db_addr, ok.db_addr + 4, EINVAL);
	TRY(db_addr, 4096, EFAULT);
	TRY(comp_mask, 1, EOPNOTSUPP); /* WQEs of several strides */
	TRY(comp_mask, 2, EOPNOTSUPP);
	TRY(flags, 1, EOPNOTSUPP); /* WQEs with a signature */
#undef TRY
	/*
	 * Older versions of libmlx5, which do not know strides, pass a shorter structure that ends
	 * with this field.
	 */
	CHECK_EQ(raw_create(&p, &ok, 40, 16, IBV_WQT_RQ, 0), 0);
	CHECK_EQ(raw_create(&p, &ok, 36, 16, IBV_WQT_RQ, 0), EINVAL);
	CHECK_EQ(raw_create(&p, &ok, sizeof(ok), 1 << 20, IBV_WQT_RQ, 0), EINVAL);
	CHECK_EQ(raw_create(&p, &ok, sizeof(ok), 16, 1, 0), EINVAL);
	CHECK_EQ(raw_create(&p, &ok, sizeof(ok), 16, IBV_WQT_RQ, IBV_WQ_FLAGS_DELAY_DROP),
		EOPNOTSUPP);
	CHECK_EQ(raw_create(&p, &ok, sizeof(ok), 16, IBV_WQT_RQ, IBV_WQ_FLAGS_RESERVED), EINVAL);
	pair_fini(&p);
	free(mem);
}

/* Objects that are never destroyed leak in libmlx5. These leaks are not counted. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static void
case_abandoned(void)
{
	struct wq q;

	for (int i = 0; i < 3; i++) {
		if (__lsan_disable != NULL)
			__lsan_disable();
		wq_open(&q, NULL, 8);
		if (__lsan_enable != NULL)
			__lsan_enable();
		CHECK_EQ(modify(q.wq, IBV_WQS_RDY), 0);
		post(q.wq, &q.dv, 1);
		CHECK_EQ(modify(q.wq, IBV_WQS_ERR), 0);
		CHECK_EQ(ibv_close_device(q.p.ctx), 0); /* the objects of the context end with it */
		pair_run();
	}
	wq_open(&q, NULL, 8);
	wq_close(&q);
}

/* On InfiniBand the adapter has no Ethernet, so it must refuse work queues. */
static void
case_infiniband(void)
{
	struct ibv_wq_init_attr attr = {.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1};
	struct ibv_rwq_ind_table_init_attr init = {0};
	struct ibv_device_attr_ex dev;
	struct ibv_wq none = {0}, *entry = &none;
	struct pair p;

	pair_init(&p, &(struct pair_opts){.no_connect = true});
	attr.pd = p.pd;
	attr.cq = p.client.cq;
	CHECK(ibv_create_wq(p.ctx, &attr) == NULL && errno == EOPNOTSUPP);
	init.ind_tbl = &entry;
	CHECK(ibv_create_rwq_ind_table(p.ctx, &init) == NULL && errno == EOPNOTSUPP);
	CHECK_EQ(ibv_query_device_ex(p.ctx, NULL, &dev), 0);
	CHECK_EQ(dev.max_wq_type_rq, 0);
	CHECK_EQ(dev.rss_caps.max_rwq_indirection_tables, 0);
	pair_fini(&p);
}

static const struct check_case cases[] = {
	{"a record that counts too many work requests flushes none", case_too_many},
	{"receives wait, and are flushed in ERR", case_flush},
	{"RESET empties a queue", case_reset},
	{"only the allowed transitions succeed", case_states},
	{"an overrun CQ fails its work queues", case_cq_overrun},
	{"objects that a work queue or a table names are busy", case_busy},
	{"tables have the length that was given, and name only work queues", case_tables},
	{"the adapter reports its limits", case_caps},
	{"arguments that are invalid or not emulated are refused", case_refused},
	{"closing a context destroys its work queues", case_abandoned},
};
static const struct check_case infiniband_cases[] = {
	{"on InfiniBand there are no work queues", case_infiniband},
};

int
main(int argc, char **argv)
{
	const char *layer = getenv("SOFTHCA_LINK_LAYER");

	if (layer != NULL && strcmp(layer, "infiniband") == 0)
		return check_main(infiniband_cases, 1, argc, argv);
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
