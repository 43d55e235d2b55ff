/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers of the hwq tests on the emulated adapter: settings, QPs of stock libmlx5, and QPs of hwq
 * (twins).
 */
#ifndef HWQ_EMU_H
#define HWQ_EMU_H

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "check.h"
#include "qp_ready.h"

#include "hwq_cq.h"
#include "hwq_db.h"
#include "hwq_dev.h"
#include "hwq_dump.h"
#include "hwq_qp.h"
#include "hwq_wqe.h"
#include "softhca.h"

#define EMU_DIE(...)                                                                               \
	do {                                                                                       \
		fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                    \
		fprintf(stderr, __VA_ARGS__);                                                      \
		fputc('\n', stderr);                                                               \
		exit(EXIT_FAILURE);                                                                \
	} while (0)

#define EMU_QKEY 0x1234567u /* qkey of UD QPs */

/*
 * Libraries read environment variables when they are loaded. So if this variable is missing, sets
 * it and executes the program again.
 */
static inline void
emu_setting(char **argv, const char *name, const char *value)
{
	const char *now = getenv(name);

	if (now != NULL && strcmp(now, value) == 0)
		return;
	if (setenv(name, value, 1) != 0 || getenv("HWQ_TEST_STARTED_AGAIN") != NULL)
		EMU_DIE("cannot set %s=%s", name, value);
	setenv("HWQ_TEST_STARTED_AGAIN", "1", 1);
	execv("/proc/self/exe", argv);
	EMU_DIE("starting again: %s", strerror(errno));
}

/*
 * Opens the device. Exits if that fails. Skips the test if the device is not the emulated adapter.
 */
static inline struct hwq_dev *
emu_open(void)
{
	struct hwq_dev *dev;
	int ret;

	if (!softhca_active()) {
		printf("skipped: the emulated adapter is not active in this process\n");
		exit(CHECK_SKIP);
	}
	ret = hwq_dev_open(NULL, &dev);
	if (ret != 0)
		EMU_DIE("opening the device: %s", strerror(-ret));
	return dev;
}

static inline uint64_t
emu_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* Number of hwq's log lines since the program's start. Several threads may log. */
static _Atomic unsigned int emu_log_lines;

/* For hwq_log_set(): counts the lines, and prints nothing. */
static inline void
emu_count_log(const char *text)
{
	(void)text;
	emu_log_lines++;
}

/* Runs the adapter until it reports that it is idle. Also allowed with device threads. */
static inline void
emu_pump(void)
{
	while (softhca_pump() != 0)
		;
}

/*
 * Waits for the next completion. Returns false if none comes.
 */
static inline bool
emu_wait(struct hwq_cq *cq, struct hwq_cqe *rec)
{
	uint64_t end = emu_now_ns() + CHECK_PATIENCE_NS;

	while (hwq_cq_poll(cq, rec, 1) == 0) {
		if (softhca_pump() == 0 && emu_now_ns() > end)
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------ stock verbs */

struct stock {
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
	struct mlx5dv_qp_ex *dv;
	struct ibv_cq *cq;
	/* addresses of the QP's ring: tests read the ring, and clear its free WQEBBs */
	struct mlx5dv_qp view;
	uint64_t at; /* WQEBB of the next WQE, counted by the test */
	uint32_t max_inline;
};

static inline void
stock_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int ret = ibv_modify_qp(qp, attr, mask);

	if (ret != 0)
		EMU_DIE("stock modify to state %d: %s", attr->qp_state, strerror(ret));
}

/* Returns the verbs type for a QP type of hwq. */
static inline enum ibv_qp_type
stock_type(enum hwq_qp_type type)
{
	static const enum ibv_qp_type types[] = {[HWQ_QP_RC] = IBV_QPT_RC,
		[HWQ_QP_UC] = IBV_QPT_UC,
		[HWQ_QP_UD] = IBV_QPT_UD,
		[HWQ_QP_XRC_SEND] = IBV_QPT_XRC_SEND,
		[HWQ_QP_DCI] = IBV_QPT_DRIVER,
		[HWQ_QP_RAW_PACKET] = IBV_QPT_RAW_PACKET};

	return types[type];
}

/*
 * Moves the QP to the state `first`, and from there to `last`. A connected type gets a QP of the
 * same port as its peer.
 */
static inline void
stock_take(const struct hwq_dev *dev, struct ibv_qp *qp, enum kind kind, uint32_t qpn,
	enum ibv_qp_state first, enum ibv_qp_state last)
{
	struct ibv_qp_attr attr = {.port_num = dev->port.port,
		.qkey = EMU_QKEY,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qpn,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 16,
		.ah_attr = {.is_global = dev->port.has_gid,
			.port_num = dev->port.port,
			.dlid = dev->port.lid,
			.grh = {.sgid_index = dev->port.gid_index, .hop_limit = 64}}};
	int ret;

	memcpy(attr.ah_attr.grh.dgid.raw, dev->port.gid, 16);
	ret = qp_take(qp, kind, attr, first, last);
	if (ret != 0)
		EMU_DIE("stock modify, after state %d: %s", qp->state, strerror(ret));
}

/* Moves the QP from RESET to INIT. */
static inline void
stock_to_init(const struct hwq_dev *dev, struct ibv_qp *qp)
{
	stock_take(dev, qp, qp_kind(qp->qp_type), 0, IBV_QPS_INIT, IBV_QPS_INIT);
}

/* Moves the QP from INIT to RTS. */
static inline void
stock_connect(const struct hwq_dev *dev, struct ibv_qp *qp, uint32_t qpn)
{
	stock_take(dev, qp, qp_kind(qp->qp_type), qpn, IBV_QPS_RTR, IBV_QPS_RTS);
}

/*
 * Creates, by stock verbs, the QP that hwq_qp_create() would create from conf, in RESET, for
 * ibv_wr_*(). Returns NULL with errno if that fails.
 */
static inline struct ibv_qp *
stock_create_qp(const struct hwq_dev *dev, const struct hwq_qp_conf *conf, struct ibv_cq *cq,
	struct ibv_qp_cap *cap)
{
	/*
	 * libmlx5 before version 45 of rdma-core counts the first segments of a UMR only for lists.
	 */
	bool configures = (conf->mlx5_ops & MLX5DV_QP_EX_WITH_MKEY_CONFIGURE) != 0;
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = stock_type(conf->type),
		.sq_sig_all = conf->sq_sig_all,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = conf->sq_wr,
			.max_send_sge = conf->max_sge,
			.max_inline_data = conf->max_inline,
			.max_recv_wr = conf->rq_wr,
			.max_recv_sge = conf->rq_wr == 0    ? 0
					: conf->rq_sge == 0 ? 1
							    : conf->rq_sge},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
			     (conf->max_tso_header != 0 ? IBV_QP_INIT_ATTR_MAX_TSO_HEADER : 0),
		.pd = dev->pd,
		.send_ops_flags = conf->send_ops,
		.max_tso_header = conf->max_tso_header,
	};
	struct mlx5dv_qp_init_attr mlx5_attr = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS |
			     MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS |
			     (conf->type == HWQ_QP_DCI ? MLX5DV_QP_INIT_ATTR_MASK_DC : 0) |
			     (conf->dci_streams ? MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS : 0),
		.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE,
		.send_ops_flags = MLX5DV_QP_EX_WITH_RAW_WQE | conf->mlx5_ops |
				  (conf->mmo ? MLX5DV_QP_EX_WITH_MEMCPY : 0) |
				  (configures ? MLX5DV_QP_EX_WITH_MR_LIST : 0),
		.dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCI,
			.dci_streams = {.log_num_concurent = conf->log_dci_streams,
				.log_num_errored = conf->log_dci_errored}},
	};
	struct ibv_qp *qp;

	if (attr.send_ops_flags == 0 && conf->type == HWQ_QP_RC)
		attr.send_ops_flags =
			IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND;
	errno = 0;
	qp = mlx5dv_create_qp(dev->ctx, &attr, &mlx5_attr);
	*cap = attr.cap;
	return qp;
}

#define STOCK_N_CQE 4096

/*
 * Creates the QP as stock_create_qp() does, on the CQ, and moves it to INIT. stock_destroy()
 * destroys both.
 */
static inline void
stock_create_on(const struct hwq_dev *dev, const struct hwq_qp_conf *conf, struct ibv_cq *cq,
	struct stock *s)
{
	struct ibv_qp_cap cap;
	struct mlx5dv_obj obj;

	memset(s, 0, sizeof(*s));
	s->cq = cq;
	if (s->cq == NULL)
		EMU_DIE("stock CQ: %s", strerror(errno));
	s->qp = stock_create_qp(dev, conf, s->cq, &cap);
	if (s->qp == NULL)
		EMU_DIE("stock QP: %s", strerror(errno));
	s->ex = ibv_qp_to_qp_ex(s->qp);
	s->dv = mlx5dv_qp_ex_from_ibv_qp_ex(s->ex);
	s->max_inline = cap.max_inline_data;
	/* Reads the QP only, not its CQ. libmlx5 still owns both. */
	obj.qp.in = s->qp;
	obj.qp.out = &s->view;
	if (mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP) != 0)
		EMU_DIE("stock QP's ring");
	stock_to_init(dev, s->qp);
}

static inline void
stock_create(const struct hwq_dev *dev, const struct hwq_qp_conf *conf, struct stock *s)
{
	stock_create_on(dev, conf, ibv_create_cq(dev->ctx, STOCK_N_CQE, NULL, NULL, 0), s);
}

/*
 * Verbs objects for which libmlx5 takes no locks: a QP and a CQ that one thread uses, in a separate
 * PD. stock_destroy_alone() destroys them.
 */
struct stock_alone {
	struct stock stock;
	struct ibv_cq_ex *cq; /* equals stock.cq */
	struct ibv_td *td;
	struct ibv_pd *pd;
};

static inline void
stock_create_alone(const struct hwq_dev *dev, const struct hwq_qp_conf *conf, struct stock_alone *s)
{
	struct ibv_cq_init_attr_ex cq_attr = {.cqe = STOCK_N_CQE,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED};
	struct ibv_parent_domain_init_attr pd_attr = {.pd = dev->pd};
	struct ibv_td_init_attr td_attr = {0};
	struct hwq_dev with_td;

	s->td = pd_attr.td = ibv_alloc_td(dev->ctx, &td_attr);
	s->pd = ibv_alloc_parent_domain(dev->ctx, &pd_attr);
	if (s->td == NULL || s->pd == NULL)
		EMU_DIE("a thread domain: %s", strerror(errno));
	memcpy(&with_td, dev, sizeof(with_td));
	with_td.pd = s->pd;
	s->cq = ibv_create_cq_ex(dev->ctx, &cq_attr);
	stock_create_on(&with_td, conf, s->cq != NULL ? ibv_cq_ex_to_cq(s->cq) : NULL, &s->stock);
}

static inline void
stock_destroy(struct stock *s)
{
	if (ibv_destroy_qp(s->qp) != 0 || ibv_destroy_cq(s->cq) != 0)
		EMU_DIE("destroying a stock QP");
}

static inline void
stock_destroy_alone(struct stock_alone *s)
{
	stock_destroy(&s->stock);
	if (ibv_dealloc_pd(s->pd) != 0 || ibv_dealloc_td(s->td) != 0)
		EMU_DIE("destroying a thread domain");
}

static inline void
stock_to_err(struct stock *s)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	stock_modify(s->qp, &attr, IBV_QP_STATE);
}

/* ------------------------------------------------------------------ hwq */

struct twin {
	struct hwq_domain *domain;
	struct hwq_cq *cq;
	struct hwq_qp *qp;
};

/*
 * Returns true if the send queue is unchanged, except for what hwq_wr.h stores about free WQEBBs.
 */
static inline bool
twin_same_sq(const struct hwq_sq *sq, const struct hwq_sq *before)
{
	struct hwq_sq now = *sq;

	now.wr.limit = before->wr.limit;
	/*
	 * If `moved` is set, these fields are not compared: they are out of date, and the next
	 * batch writes them again.
	 */
	if (sq->wr.moved)
		now.wr.at = before->wr.at;
	now.wr.moved = before->wr.moved;
	return memcmp(&now, before, sizeof(now)) == 0;
}

/* Connects two QPs of hwq to each other. */
static inline void
twin_connect(struct hwq_qp *a, struct hwq_qp *b)
{
	struct hwq_addr addr_a, addr_b;

	hwq_qp_addr(a, &addr_a);
	hwq_qp_addr(b, &addr_b);
	if (hwq_qp_connect(a, &addr_b) != 0 || hwq_qp_connect(b, &addr_a) != 0)
		EMU_DIE("connecting two QPs");
}

static inline void
twin_create(struct hwq_dev *dev, const struct hwq_qp_conf *conf, struct twin *t)
{
	int ret = hwq_domain_create(dev, &t->domain);

	if (ret == 0)
		ret = hwq_cq_create(t->domain, hwq_qp_cqe_needed(conf), &t->cq);
	if (ret == 0)
		ret = hwq_qp_create(t->domain, t->cq, conf, &t->qp);
	if (ret != 0)
		EMU_DIE("hwq QP: %s", strerror(-ret));
}

static inline void
twin_connect_self(struct twin *t)
{
	struct hwq_addr addr;
	int ret;

	hwq_qp_addr(t->qp, &addr);
	ret = hwq_qp_connect(t->qp, &addr);
	if (ret != 0)
		EMU_DIE("hwq QP: connecting: %s", strerror(-ret));
}

/* Moves the QP to RTS. A QP of a connected type is connected to itself. */
static inline void
twin_ready(struct twin *t, enum hwq_qp_type type)
{
	int ret;

	if (type == HWQ_QP_RC || type == HWQ_QP_UC || type == HWQ_QP_XRC_SEND) {
		twin_connect_self(t);
		return;
	}
	ret = hwq_qp_ready(t->qp);
	if (ret != 0)
		EMU_DIE("hwq QP to RTS: %s", strerror(-ret));
}

static inline void
twin_destroy(struct twin *t)
{
	if (hwq_qp_destroy(t->qp) != 0 || hwq_cq_destroy(t->cq) != 0 ||
		hwq_domain_destroy(t->domain) != 0)
		EMU_DIE("destroying an hwq QP");
}

#endif
