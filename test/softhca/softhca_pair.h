/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two connected RC QPs of the emulated adapter, created and used through stock libibverbs and
 * libmlx5: a client that posts requests, and a server that responds. With SOFTHCA_THREADS=0, a wait
 * pumps the adapter. Otherwise the adapter's own threads run it.
 */
#ifndef SOFTHCA_PAIR_H
#define SOFTHCA_PAIR_H

#include <endian.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "softhca.h"
#include "check.h"
#include "qp_ready.h"

#define PAIR_BUF 65536
#define PAIR_ALL                                                                                   \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
		IBV_ACCESS_REMOTE_ATOMIC)

struct pair_end {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_cq_ex *cqx;  /* the same CQ as an extended CQ, if opts.extended is set */
	struct ibv_cq *recv_cq; /* a second CQ with opts.two_cqs, otherwise cq */
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;
	struct mlx5dv_qp_ex *dvx;
	struct ibv_td *td;
	struct ibv_pd *td_pd;
	struct ibv_mr *mr;
	uint8_t *buf;
	/* Addresses of libmlx5's queues, used only by pair_publish() and pair_observe(). */
	uint32_t *dbrec;
	uint8_t *cqes;
	uint32_t n_cqe, cqe_len, polled;
};

struct pair_opts {
	/* number of CQEs, 0: 256; access rights of the regions, 0: PAIR_ALL */
	int cqe, access;
	/* access rights of the QPs; PAIR_NONE: no remote access; 0: all access */
	unsigned int qp_access;
	uint32_t max_send_wr, max_recv_wr; /* 0 means 64 */
	/* PAIR_ZERO: the value is 0; 0: rnr_retry is 7, min_rnr_timer is 1 */
	uint8_t rnr_retry, min_rnr_timer;
	uint8_t timeout, retry_cnt;        /* 0: timeout is 14, retry_cnt is 7 */
	uint8_t rd_atomic, dest_rd_atomic; /* PAIR_ZERO: the value is 0; 0: the value is 16 */
	bool sig_all, own_uar, no_mmo, no_connect;
	bool keys;         /* the QPs support work requests that configure keys and bind windows */
	uint64_t dv_flags; /* MLX5DV_QP_CREATE_* */
	bool extended;     /* the CQs report both timestamps */
	bool two_cqs;      /* receives complete to recv_cq, which pair_wait() does not poll */
	bool padded; /* CQs with entries of 128 bytes; the adapter writes both halves of an entry */
	uint8_t compress;    /* CQs with compressed completions: enum mlx5dv_cqe_comp_res_format */
	unsigned int device; /* index of the adapter */
};

#define PAIR_ZERO 0xff
#define PAIR_NONE 0x80000000u

/*
 * The maximum time for an event that must happen: on a busy machine, a thread of the adapter may
 * wait seconds for a CPU.
 */
#define PAIR_PATIENCE_MS CHECK_PATIENCE_MS

struct pair {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct pair_opts opts;
	struct pair_end client, server;
};

/*
 * ThreadSanitizer does not see inside libmlx5. PAIR_RELEASE and PAIR_ACQUIRE tell it of the
 * accesses there: a post releases the doorbell record, and a poll acquires the owner byte of a CQE.
 */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
#define PAIR_RELEASE(p) __tsan_release(p)
#define PAIR_ACQUIRE(p) __tsan_acquire(p)
#else
#define PAIR_RELEASE(p) ((void)(p))
#define PAIR_ACQUIRE(p) ((void)(p))
#endif

/*
 * Called before every post: tells TSan that the adapter may read all bytes that the program has
 * written up to now.
 */
static inline void
pair_publish(struct pair_end *e)
{
	PAIR_RELEASE(&e->dbrec[MLX5_RCV_DBR]);
	PAIR_RELEASE(&e->dbrec[MLX5_SND_DBR]);
}

static inline void
pair_observe(struct pair_end *e)
{
	uint32_t slot = e->polled++ & (e->n_cqe - 1);

	PAIR_ACQUIRE(e->cqes + (size_t)slot * e->cqe_len + e->cqe_len - 1);
}

/* As pair_publish(), for any QP, or for an SRQ if qp is NULL. */
static inline void
pair_publish_to(struct ibv_qp *qp, struct ibv_srq *srq)
{
	struct mlx5dv_qp dvqp = {0};
	struct mlx5dv_srq dvsrq = {0};
	struct mlx5dv_obj obj = {.qp = {qp, &dvqp}, .srq = {srq, &dvsrq}};

	CHECK_EQ(mlx5dv_init_obj(&obj, qp != NULL ? MLX5DV_OBJ_QP : MLX5DV_OBJ_SRQ), 0);
	PAIR_RELEASE(qp != NULL ? &dvqp.dbrec[MLX5_RCV_DBR] : dvsrq.dbrec);
	if (qp != NULL)
		PAIR_RELEASE(&dvqp.dbrec[MLX5_SND_DBR]);
}

/* As pair_observe(), for any CQ: for the CQE that was polled last. */
static inline void
pair_observe_cq(struct ibv_cq *cq)
{
	struct mlx5dv_cq dv = {0};
	struct mlx5dv_obj obj = {.cq = {cq, &dv}};
	uint32_t slot;

	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	slot = (be32toh(dv.dbrec[0]) - 1) & (dv.cqe_cnt - 1);
	PAIR_ACQUIRE((uint8_t *)dv.buf + (size_t)slot * dv.cqe_size + dv.cqe_size - 1);
	(void)slot;
}

static inline enum ibv_qp_state
pair_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

static inline uint64_t
pair_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static inline bool
pair_is_pumped(void)
{
	const char *threads = getenv("SOFTHCA_THREADS");

	return threads != NULL && strcmp(threads, "0") == 0;
}

/* True if the process's own messages go through sockets, as messages to other processes do. */
static inline bool
pair_is_loop(void)
{
	const char *wire = getenv("SOFTHCA_WIRE");

	return wire != NULL && strcmp(wire, "loop") == 0;
}

/* Lets the adapter run: if it is pumped, until it is idle; if it has threads, for a short time. */
static inline void
pair_run(void)
{
	if (!pair_is_pumped()) {
		usleep(200);
		return;
	}
	while (softhca_pump() != 0)
		;
}

/*
 * With PAIR_ON_DEMAND=1, the regions of both ends are on demand. This must not change any result.
 */
static inline int
pair_on_demand(void)
{
	return getenv("PAIR_ON_DEMAND") != NULL ? IBV_ACCESS_ON_DEMAND : 0;
}

/*
 * The name of the device, if the user of the program chooses a device, which may be of any vendor.
 * If it is NULL, pair_open() opens an emulated adapter by its number.
 */
__attribute__((weak)) const char *pair_device_name;

/*
 * Opens the device with this name. Without privilege a user may not have DEVX: then the context has
 * no DEVX.
 */
static inline struct ibv_context *
pair_open_name(struct ibv_device **list, const char *name)
{
	struct ibv_context *ctx;

	CHECK(list != NULL);
	while (*list != NULL && strcmp(ibv_get_device_name(*list), name) != 0)
		list++;
	CHECK(*list != NULL);
	ctx = mlx5dv_open_device(*list,
		&(struct mlx5dv_context_attr){.flags = MLX5DV_CONTEXT_FLAGS_DEVX});
	return ctx != NULL ? ctx : ibv_open_device(*list);
}

static inline struct ibv_context *
pair_open(unsigned int device)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;

	if (pair_device_name != NULL) {
		ctx = pair_open_name(list, pair_device_name);
		CHECK(ctx != NULL);
		ibv_free_device_list(list);
		return ctx;
	}
	if (!softhca_active()) {
		printf("skipped: the emulated adapter is not active in this process\n");
		exit(CHECK_SKIP);
	}
	CHECK(list != NULL);
	for (unsigned int i = 0; i <= device; i++)
		CHECK(list[i] != NULL);
	ctx = mlx5dv_open_device(list[device],
		&(struct mlx5dv_context_attr){.flags = MLX5DV_CONTEXT_FLAGS_DEVX});
	CHECK(ctx != NULL);
	ibv_free_device_list(list);
	return ctx;
}

static inline uint64_t
pair_send_ops(void)
{
	return IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
	       IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
	       IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
	       IBV_QP_EX_WITH_SEND_WITH_INV;
}

static inline bool
pair_has_mmo(struct ibv_context *ctx)
{
	struct mlx5dv_context dv = {.comp_mask = MLX5DV_CONTEXT_MASK_WR_MEMCPY_LENGTH};

	return mlx5dv_query_device(ctx, &dv) == 0 && dv.max_wr_memcpy_length != 0;
}

static inline void
pair_find_queues(struct pair_end *e)
{
	struct mlx5dv_qp qp = {0};
	struct mlx5dv_cq cq = {0};
	struct mlx5dv_obj obj = {.qp = {e->qp, &qp}, .cq = {e->cq, &cq}};

	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ), 0);
	e->dbrec = (uint32_t *)qp.dbrec;
	e->cqes = cq.buf;
	e->n_cqe = cq.cqe_cnt;
	e->cqe_len = cq.cqe_size;
}

static inline void
pair_create_qp(struct pair *p, struct pair_end *e)
{
	const struct pair_opts *o = &p->opts;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = e->cq,
		.recv_cq = e->recv_cq,
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = o->sig_all,
		.cap = {.max_send_wr = o->max_send_wr != 0 ? o->max_send_wr : 64,
			.max_recv_wr = o->max_recv_wr != 0 ? o->max_recv_wr : 64,
			.max_send_sge = 4,
			.max_recv_sge = 4,
			.max_inline_data = 220},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = p->pd,
		.send_ops_flags = pair_send_ops(),
	};
	const bool mmo = !o->no_mmo && pair_has_mmo(p->ctx);
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = mmo ? MLX5DV_QP_EX_WITH_MEMCPY : 0,
	};

	if (o->keys) {
		attr.cap.max_inline_data = 512;
		attr.send_ops_flags |= IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
		dv.send_ops_flags |= MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED |
				     MLX5DV_QP_EX_WITH_MKEY_CONFIGURE | MLX5DV_QP_EX_WITH_RAW_WQE;
	}
	if (o->dv_flags != 0) {
		dv.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS;
		dv.create_flags = (uint32_t)o->dv_flags;
	}

	if (o->own_uar)
		e->td = ibv_alloc_td(p->ctx, &(struct ibv_td_init_attr){0});
	/* libmlx5 cannot create a thread domain if the adapter has no BlueFlame. */
	CHECK(!o->own_uar || e->td != NULL || errno == EOPNOTSUPP);
	if (e->td != NULL) {
		struct ibv_parent_domain_init_attr pdi = {.pd = p->pd, .td = e->td};

		e->td_pd = ibv_alloc_parent_domain(p->ctx, &pdi);
		CHECK(e->td_pd != NULL);
		attr.pd = e->td_pd;
	}
	if (!mmo && !o->keys && o->dv_flags == 0)
		e->qp = ibv_create_qp_ex(p->ctx, &attr);
	else
		e->qp = mlx5dv_create_qp(p->ctx, &attr, &dv);
	CHECK(e->qp != NULL);
	e->qpx = ibv_qp_to_qp_ex(e->qp);
	e->dvx = mlx5dv_qp_ex_from_ibv_qp_ex(e->qpx);
	pair_find_queues(e);
}

static inline void
pair_create_cq(struct pair *p, struct pair_end *e)
{
	int cqe = p->opts.cqe != 0 ? p->opts.cqe : 256;
	struct ibv_cq_init_attr_ex attr = {.cqe = cqe,
		.channel = e->channel,
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK};

	struct mlx5dv_cq_init_attr dv = {.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_FLAGS |
						      MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
		.flags = MLX5DV_CQ_INIT_ATTR_FLAGS_CQE_PAD,
		.cqe_size = 128};

	if (p->opts.compress != 0) {
		dv.comp_mask |= MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE;
		dv.cqe_comp_res_format = p->opts.compress;
	}
	if (!p->opts.padded) {
		dv.flags = 0;
		dv.cqe_size = 64;
	}
	if (p->opts.padded || p->opts.compress != 0) {
		e->cqx = mlx5dv_create_cq(p->ctx, &attr, &dv);
		CHECK(e->cqx != NULL);
		e->cq = ibv_cq_ex_to_cq(e->cqx);
	} else if (p->opts.extended) {
		e->cqx = ibv_create_cq_ex(p->ctx, &attr);
		CHECK(e->cqx != NULL);
		e->cq = ibv_cq_ex_to_cq(e->cqx);
	} else {
		e->cq = ibv_create_cq(p->ctx, cqe, NULL, e->channel, 0);
	}
	CHECK(e->cq != NULL);
	e->recv_cq = p->opts.two_cqs ? ibv_create_cq(p->ctx, cqe, NULL, NULL, 0) : e->cq;
	CHECK(e->recv_cq != NULL);
}

static inline void
pair_create_end(struct pair *p, struct pair_end *e)
{
	e->channel = ibv_create_comp_channel(p->ctx);
	CHECK(e->channel != NULL);
	pair_create_cq(p, e);
	pair_create_qp(p, e);
	e->buf = aligned_alloc(4096, PAIR_BUF);
	CHECK(e->buf != NULL);
	memset(e->buf, 0, PAIR_BUF);
	e->mr = ibv_reg_mr(p->pd, e->buf, PAIR_BUF,
		(p->opts.access != 0 ? p->opts.access : PAIR_ALL) | pair_on_demand());
	CHECK(e->mr != NULL);
}

static inline uint8_t
pair_or(uint8_t v, uint8_t otherwise)
{
	return v == PAIR_ZERO ? 0 : v != 0 ? v : otherwise;
}

static inline int
pair_modify(struct pair_end *e, enum ibv_qp_state state)
{
	return ibv_modify_qp(e->qp, &(struct ibv_qp_attr){.qp_state = state}, IBV_QP_STATE);
}

/* Moves the QP to the state `first` and then to RTS, connected to a QP number. */
static inline void
pair_connect_from(struct pair *p, struct pair_end *e, uint32_t dest, enum ibv_qp_state first)
{
	const struct pair_opts *o = &p->opts;
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = o->qp_access == PAIR_NONE ? 0
				   : o->qp_access != 0       ? o->qp_access
							     : PAIR_ALL,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.max_dest_rd_atomic = pair_or(o->dest_rd_atomic, 16),
		.max_rd_atomic = pair_or(o->rd_atomic, 16),
		.min_rnr_timer = pair_or(o->min_rnr_timer, 1),
		.timeout = pair_or(o->timeout, 14),
		.retry_cnt = pair_or(o->retry_cnt, 7),
		.rnr_retry = pair_or(o->rnr_retry, 7),
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 1}},
	};
	struct ibv_port_attr port;

	CHECK_EQ(ibv_query_port(p->ctx, 1, &port), 0);
	attr.ah_attr.dlid = port.lid;
	CHECK_EQ(ibv_query_gid(p->ctx, 1, 0, &attr.ah_attr.grh.dgid), 0);
	CHECK_EQ(qp_take(e->qp, K_RC, attr, first, IBV_QPS_RTS), 0);
}

/* Moves the QP from RESET to RTS, connected to a QP number. */
static inline void
pair_connect(struct pair *p, struct pair_end *e, uint32_t dest)
{
	pair_connect_from(p, e, dest, IBV_QPS_INIT);
}

static inline void
pair_init(struct pair *p, const struct pair_opts *opts)
{
	memset(p, 0, sizeof(*p));
	if (opts != NULL)
		p->opts = *opts;
	p->ctx = pair_open(p->opts.device);
	p->pd = ibv_alloc_pd(p->ctx);
	CHECK(p->pd != NULL);
	pair_create_end(p, &p->client);
	pair_create_end(p, &p->server);
	if (p->opts.no_connect)
		return;
	pair_connect(p, &p->client, p->server.qp->qp_num);
	pair_connect(p, &p->server, p->client.qp->qp_num);
}

static inline void
pair_fini_end(struct pair_end *e)
{
	CHECK_EQ(ibv_destroy_qp(e->qp), 0);
	if (e->td != NULL) {
		CHECK_EQ(ibv_dealloc_pd(e->td_pd), 0);
		CHECK_EQ(ibv_dealloc_td(e->td), 0);
	}
	if (e->recv_cq != e->cq)
		CHECK_EQ(ibv_destroy_cq(e->recv_cq), 0);
	CHECK_EQ(ibv_destroy_cq(e->cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(e->channel), 0);
	CHECK_EQ(ibv_dereg_mr(e->mr), 0);
	free(e->buf);
}

static inline void
pair_fini(struct pair *p)
{
	pair_fini_end(&p->client);
	pair_fini_end(&p->server);
	CHECK_EQ(ibv_dealloc_pd(p->pd), 0);
	CHECK_EQ(ibv_close_device(p->ctx), 0);
}

#define PAIR_QKEY 7

/*
 * Creates a UD QP in RTS. Its sends complete to the client's CQ, its receives to the server's CQ.
 * It takes its receives from `srq`, or from its own queue if srq is NULL.
 */
static inline struct ibv_qp *
pair_datagram_qp(const struct pair *p, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {.send_cq = p->client.cq,
		.recv_cq = p->server.cq,
		.srq = srq,
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_UD};
	const struct ibv_qp_attr attr = {.port_num = 1, .qkey = PAIR_QKEY};
	struct ibv_qp *qp = ibv_create_qp(p->pd, &init);

	CHECK(qp != NULL);
	CHECK_EQ(qp_take(qp, K_UD, attr, IBV_QPS_INIT, IBV_QPS_RTS), 0);
	return qp;
}

/* Creates an address handle for the adapter's own GID with this index. */
static inline struct ibv_ah *
pair_own_ah(const struct pair *p, uint8_t gid)
{
	struct ibv_ah_attr attr = {.is_global = 1,
		.port_num = 1,
		.grh = {.sgid_index = gid, .hop_limit = 1}};
	struct ibv_ah *ah;

	CHECK_EQ(ibv_query_gid(p->ctx, 1, gid, &attr.grh.dgid), 0);
	ah = ibv_create_ah(p->pd, &attr);
	CHECK(ah != NULL);
	return ah;
}

static inline void
pair_make_datagram(struct ibv_send_wr *wr, struct ibv_ah *ah, const struct ibv_qp *to)
{
	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = to->qp_num;
	wr->wr.ud.remote_qkey = PAIR_QKEY;
}

/* Waits up to ms milliseconds for the next completion. Returns false if there is none. */
static inline bool
pair_try_wait(struct pair_end *e, struct ibv_wc *wc, unsigned int ms)
{
	uint64_t end = pair_now_ms() + ms;

	for (;;) {
		int n = ibv_poll_cq(e->cq, 1, wc);

		CHECK(n >= 0);
		if (n == 1) {
			pair_observe(e);
			return true;
		}
		if (pair_now_ms() >= end)
			return false;
		pair_run();
	}
}

static inline struct ibv_wc
pair_wait(struct pair_end *e)
{
	struct ibv_wc wc;

	CHECK(pair_try_wait(e, &wc, PAIR_PATIENCE_MS));
	return wc;
}

/* Expects that no completion is made, after the adapter had time to run. */
static inline void
pair_expect_none(struct pair_end *e)
{
	struct ibv_wc wc;

	CHECK(!pair_try_wait(e, &wc, pair_is_pumped() ? 1 : 20));
}

static inline void
pair_post_recv(struct pair_end *e, uint64_t id, uint32_t offset, uint32_t len)
{
	struct ibv_sge sge = {(uintptr_t)e->buf + offset, len, e->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = len != 0}, *bad;

	pair_publish(e);
	CHECK_EQ(ibv_post_recv(e->qp, &wr, &bad), 0);
}

/*
 * Waits up to ms milliseconds for an asynchronous event, and acknowledges it. Returns its type, or
 * -1.
 */
static inline int
pair_async(struct pair *p, unsigned int ms)
{
	struct pollfd fd = {.fd = p->ctx->async_fd, .events = POLLIN};
	uint64_t end = pair_now_ms() + ms;
	struct ibv_async_event event;

	for (;;) {
		if (poll(&fd, 1, 0) == 1) {
			CHECK_EQ(ibv_get_async_event(p->ctx, &event), 0);
			ibv_ack_async_event(&event);
			return (int)event.event_type;
		}
		if (pair_now_ms() >= end)
			return -1;
		pair_run();
	}
}

#endif
