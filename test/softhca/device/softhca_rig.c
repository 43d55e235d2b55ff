/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates and drives the rig of softhca_rig.h. This file replaces both the control half and the
 * program.
 */
#include "softhca_rig.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "devices.h"
#include "failure.h"
#include "log.h"
#include "softhca.h"

/* ---- replacements for the control half */

static struct softhca_dev rig_devs[2];

/* Replaces the adapter's own function. */
void
softhca_log(const char *fmt, ...)
{
	va_list ap;

	if (getenv("RIG_LOG") == NULL)
		return;
	va_start(ap, fmt);
	fputs("softhca: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

unsigned int rig_check;

void
failure_log(const struct failure *f, uint8_t vendor)
{
	(void)vendor;
	rig_check = f->why;
}

void
softhca_event_cq_comp(void *event)
{
	((struct rig_event *)event)->comp++;
}

void
softhca_event_cq_async(void *event, uint32_t type)
{
	((struct rig_event *)event)->async[type]++;
}

void
softhca_event_qp_async(void *event, uint32_t type)
{
	((struct rig_event *)event)->async[type]++;
}

void
softhca_event_dct_key(void *event)
{
}

static bool
send_event(struct softhca_dev *dev, uint32_t type, uint32_t port)
{
	return true;
}

unsigned long
rig_violations(void)
{
	return softhca_violations();
}

/* ---- set up */

static void *
rig_alloc(size_t len)
{
	void *p = aligned_alloc(4096, (len + 4095) / 4096 * 4096);

	assert(p != NULL);
	memset(p, 0, len);
	return p;
}

static void
end_create_cq(struct rig_end *e, const struct rig_opts *o)
{
	struct softhca_cq_attr attr = {0};
	int err;

	e->n_cqe = o->n_cqe != 0 ? o->n_cqe : 256;
	e->cqe_len = o->cqe_len != 0 ? o->cqe_len : 64;
	e->cq_buf = rig_alloc((size_t)e->n_cqe * e->cqe_len);
	/*
	 * An entry that the device has not written yet has an invalid opcode, as libmlx5 sets it.
	 */
	for (uint32_t i = 0; i < e->n_cqe; i++)
		e->cq_buf[i * e->cqe_len + e->cqe_len - 1] = MLX5_CQE_INVALID << 4;
	e->cq_db = rig_alloc(64);
	attr.buf = e->cq_buf;
	attr.dbrec = e->cq_db;
	attr.n_cqe = e->n_cqe;
	attr.cqe_len = e->cqe_len;
	attr.ignore_overrun = o->ignore_overrun;
	attr.compress = o->compress;
	attr.uar = e->uar;
	attr.event = &e->cq_event;
	err = softhca_cq_create(&rig_devs[0], &attr, &e->cq);
	assert(err == 0);
}

static void
end_create_qp(struct rig_end *e, const struct rig_opts *o)
{
	struct softhca_qp_init init = {.type = SOFTHCA_QP_RC, .pdn = e->pdn};
	int err;

	if (o->type != 0)
		init.type = o->type;
	e->sq_bb = o->sq_bb != 0 ? o->sq_bb : 64;
	e->rq_n = o->rq_n != 0 ? o->rq_n : 16;
	e->qp_buf = rig_alloc((size_t)e->rq_n * 64 + (size_t)e->sq_bb * 64);
	e->rq = e->qp_buf;
	e->sq = e->qp_buf + (size_t)e->rq_n * 64;
	e->qp_db = rig_alloc(64);
	init.send_cq = e->cq;
	init.recv_cq = e->cq;
	init.uar = e->uar;
	init.buf = e->qp_buf;
	init.dbrec = e->qp_db;
	init.sq_bb = e->sq_bb;
	init.rq_wqe = e->rq_n;
	init.log_rq_stride = 6;
	init.uidx = e->uidx;
	init.event = &e->qp_event;
	err = softhca_qp_create(&rig_devs[0], &init, &e->qp);
	assert(err == 0);
	e->qpn = softhca_qp_number(e->qp);
}

static void
end_init(struct rig_end *e, struct rig_end *host, const struct rig_opts *o, uint32_t uidx,
	uint32_t pdn)
{
	struct softhca_mkey_attr key = {.pdn = pdn};
	int err;

	memset(e, 0, sizeof(*e));
	e->uidx = uidx;
	e->pdn = pdn;
	if (host != NULL) {
		e->page = host->page;
		e->uar = host->uar;
	} else {
		e->page = rig_alloc(4096);
		err = softhca_uar_create(&rig_devs[0], e->page, uidx, SOFTHCA_UAR_BF, &e->uar);
		assert(err == 0);
	}
	end_create_cq(e, o);
	end_create_qp(e, o);
	e->buf = rig_alloc(RIG_BUF);
	key.access = o->access;
	key.addr = key.iova = (uintptr_t)e->buf;
	key.len = RIG_BUF;
	err = softhca_mkey_create(&rig_devs[0], &key, &e->mkey);
	assert(err == 0);
	e->key = softhca_mkey_key(e->mkey);
}

static void
end_fini(struct rig_end *e, bool owns_page)
{
	/* A test that has destroyed the QP has set it to NULL. */
	int err = e->qp != NULL ? softhca_qp_destroy(e->qp) : 0;

	assert(err == 0);
	err = softhca_cq_destroy(e->cq);
	assert(err == 0);
	err = softhca_mkey_destroy(e->mkey);
	assert(err == 0);
	free(e->qp_buf);
	free(e->cq_buf);
	free((void *)e->qp_db);
	free((void *)e->cq_db);
	free(e->buf);
	if (!owns_page)
		return;
	err = softhca_uar_destroy(e->uar);
	assert(err == 0);
	free(e->page);
}

void
rig_init(struct rig *r, const struct rig_opts *opts)
{
	static const struct rig_opts none;
	struct rig_opts o = opts != NULL ? *opts : none;
	int err;

	memset(r, 0, sizeof(*r));
	r->cfg.threads = o.threads;
	r->cfg.strict_doorbells = !o.lenient;
	r->cfg.bf_reg_size = o.bf_reg_size != 0 ? o.bf_reg_size : 512;
	r->cfg.max_memcpy = o.max_memcpy != 0 ? o.max_memcpy : UINT64_C(1) << 31;
	r->cfg.ports = 1;
	r->cfg.mmo_qp = 1;
	r->cfg.max_rd_atomic = 16;
	r->cfg.bandwidth_mbps = o.bandwidth_mbps;
	if (o.access == 0)
		o.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	rig_devs[0].cfg = &r->cfg;
	softhca_devices_set(rig_devs, 1);
	rig_devs[0].send_event = send_event;
	err = softhca_lanes_init(&rig_devs[0]);
	assert(err == 0);
	end_init(&r->a, NULL, &o, 0xaa, RIG_PDN);
	end_init(&r->b, o.shared_uar ? &r->a : NULL, &o, 0xbb, o.pdn_b != 0 ? o.pdn_b : RIG_PDN);
	if (o.no_connect)
		return;
	rig_connect(&r->a, r->b.qpn, 7, 1);
	rig_connect(&r->b, r->a.qpn, 7, 1);
}

void
rig_fini(struct rig *r)
{
	bool shared = r->a.uar == r->b.uar;

	end_fini(&r->b, !shared);
	end_fini(&r->a, true);
	softhca_lanes_fini(&rig_devs[0]);
	softhca_devices_set(rig_devs, 0);
}

int
rig_modify(struct rig_end *e, uint32_t state)
{
	struct softhca_qp_attr attr = {.state = state};

	return softhca_qp_modify(e->qp, &attr, IBV_QP_STATE);
}

void
rig_take(struct rig_end *e, enum kind kind, struct softhca_qp_attr attr)
{
	for (enum ibv_qp_state to = IBV_QPS_INIT; to <= IBV_QPS_RTS; to++) {
		int err;

		attr.state = to;
		err = softhca_qp_modify(e->qp, &attr, (uint32_t)(IBV_QP_STATE | qp_need(kind, to)));
		assert(err == 0);
		if (to == IBV_QPS_INIT && attr.mmo)
			err = softhca_qp_modify(e->qp, &attr, SOFTHCA_QP_MMO);
		assert(err == 0);
		(void)err;
	}
}

void
rig_connect(struct rig_end *e, uint32_t dest, uint8_t rnr_retry, uint8_t rnr_timer)
{
	rig_take(e, K_RC,
		(struct softhca_qp_attr){
			.port = 1,
			.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				  IBV_ACCESS_REMOTE_ATOMIC,
			.path_mtu = IBV_MTU_1024,
			.dest_qpn = dest,
			.max_dest_rd_atomic = 16,
			.max_rd_atomic = 16,
			.min_rnr_timer = rnr_timer,
			.timeout = 14,
			.retry_cnt = 7,
			.rnr_retry = rnr_retry,
			.mmo = true,
		});
}

/* ---- WQEs */

struct rig_wqe
rig_wqe(uint8_t opcode, uint8_t flags)
{
	struct rig_wqe w = {.ds = 1, .opcode = opcode, .flags = flags};

	return w;
}

static void *
wqe_more(struct rig_wqe *w, uint32_t ds)
{
	void *p = w->bytes + 16 * w->ds;

	w->ds += ds;
	return p;
}

void
rig_raddr(struct rig_wqe *w, uint64_t va, uint32_t rkey)
{
	struct mlx5_wqe_raddr_seg *seg = wqe_more(w, 1);

	seg->raddr = htobe64(va);
	seg->rkey = htobe32(rkey);
}

void
rig_sge(struct rig_wqe *w, uint64_t va, uint32_t lkey, uint32_t len)
{
	mlx5dv_set_data_seg(wqe_more(w, 1), len, lkey, va);
}

void
rig_inline(struct rig_wqe *w, const void *p, uint32_t len)
{
	uint8_t *seg = wqe_more(w, (len + 4 + 15) / 16);
	uint32_t be = htobe32(len | MLX5_INLINE_SEG);

	memcpy(seg, &be, 4);
	memcpy(seg + 4, p, len);
}

void
rig_atomic(struct rig_wqe *w, uint64_t swap_add, uint64_t compare)
{
	struct mlx5_wqe_atomic_seg *seg = wqe_more(w, 1);

	seg->swap_add = htobe64(swap_add);
	seg->compare = htobe64(compare);
}

uint8_t *
rig_sq_at(struct rig_end *e, uint16_t idx)
{
	return e->sq + (size_t)(idx & (e->sq_bb - 1)) * 64;
}

uint16_t
rig_put(struct rig_end *e, const struct rig_wqe *w)
{
	struct rig_wqe full = *w;
	uint16_t idx = e->sq_pi;

	mlx5dv_set_ctrl_seg((struct mlx5_wqe_ctrl_seg *)full.bytes, idx, w->opcode, w->opmod,
		e->qpn, w->flags, (uint8_t)w->ds, 0, htobe32(w->imm));
	for (uint32_t bb = 0; bb < (w->ds + 3) / 4; bb++)
		memcpy(rig_sq_at(e, (uint16_t)(idx + bb)), full.bytes + 64 * bb, 64);
	e->sq_pi = (uint16_t)(e->sq_pi + (w->ds + 3) / 4);
	return idx;
}

void
rig_record(struct rig_end *e)
{
	atomic_store_explicit(&e->qp_db[1], htobe32(e->sq_pi), memory_order_release);
}

_Atomic uint64_t *
rig_bf_word(struct rig_end *e, unsigned int twin, unsigned int word)
{
	return (_Atomic uint64_t *)(void *)(e->page + 0x800 + 0x100 * (twin & 1) + 8 * word);
}

static void
bf_write(struct rig_end *e, uint16_t idx, unsigned int words)
{
	for (unsigned int i = 0; i < words; i++) {
		uint64_t v;

		memcpy(&v, rig_sq_at(e, (uint16_t)(idx + i / 8)) + 8 * (i % 8), 8);
		atomic_store_explicit(rig_bf_word(e, e->bf, i), v, memory_order_release);
	}
	e->bf ^= 1;
}

void
rig_bell(struct rig_end *e, uint16_t idx)
{
	bf_write(e, idx, 1);
}

void
rig_blueflame(struct rig_end *e, uint16_t idx)
{
	uint32_t ds = be32toh(((struct mlx5_wqe_ctrl_seg *)rig_sq_at(e, idx))->qpn_ds) & 0x3f;

	bf_write(e, idx, (ds + 3) / 4 * 8);
}

void
rig_post(struct rig_end *e, const struct rig_wqe *w)
{
	uint16_t idx = rig_put(e, w);

	rig_record(e);
	rig_bell(e, idx);
}

void
rig_recv(struct rig_end *e, uint64_t va, uint32_t lkey, uint32_t len)
{
	struct mlx5_wqe_data_seg *seg = (void *)(e->rq + (size_t)(e->rq_pi & (e->rq_n - 1)) * 64);

	if (len != 0)
		mlx5dv_set_data_seg(seg++, len, lkey, va);
	mlx5dv_set_data_seg(seg, 0, MLX5_INVALID_LKEY, 0);
	e->rq_pi++;
	atomic_store_explicit(&e->qp_db[0], htobe32(e->rq_pi), memory_order_release);
}

void
rig_arm(struct rig_end *e, bool solicited)
{
	uint32_t word = (e->cq_ci & 0xffffff) | (solicited ? MLX5_CQ_DB_REQ_NOT_SOL : 0);
	uint64_t bell = htobe64((uint64_t)word << 32 | softhca_cq_number(e->cq));

	atomic_store_explicit(&e->cq_db[1], htobe32(word), memory_order_release);
	atomic_store_explicit((_Atomic uint64_t *)(void *)(e->page + MLX5_CQ_DOORBELL), bell,
		memory_order_release);
}

/* ---- running */

static uint64_t
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void
rig_run(struct rig *r)
{
	if (r->cfg.threads != 0) {
		nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
		return;
	}
	while (softhca_pump() != 0)
		;
}

const struct mlx5_cqe64 *
rig_poll(struct rig_end *e)
{
	uint8_t *p =
		e->cq_buf + (size_t)(e->cq_ci & (e->n_cqe - 1)) * e->cqe_len + (e->cqe_len - 64);
	uint8_t op_own = __atomic_load_n(&p[63], __ATOMIC_ACQUIRE);

	if (op_own >> 4 == MLX5_CQE_INVALID || (op_own & 1) != !!(e->cq_ci & e->n_cqe))
		return NULL;
	e->cq_ci++;
	return (const struct mlx5_cqe64 *)p;
}

const struct mlx5_cqe64 *
rig_wait(struct rig *r, struct rig_end *e, unsigned int ms)
{
	uint64_t end = now_ms() + ms;
	const struct mlx5_cqe64 *cqe;

	do {
		rig_run(r);
		cqe = rig_poll(e);
	} while (cqe == NULL && now_ms() < end);
	return cqe;
}

void
rig_sync_ci(struct rig_end *e)
{
	atomic_store_explicit(&e->cq_db[0], htobe32(e->cq_ci & 0xffffff), memory_order_release);
}
