/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues and DC targets, created by firmware commands (CREATE_RMP, CREATE_XRQ,
 * CREATE_DCT) as UCX sends them: in the program's memory, as a list or as a ring of WQEs.
 *
 * Fields are set by their bit offset in the structures of the programming manual (rmpc, xrqc, wq,
 * dctc).
 */
#include <fcntl.h>

#include "softhca_devx_side.h"
#include "softhca_node.h"

#define SRQ_N    16
#define SRQ_AT   (QP_AT + 2048)
#define SRQ_DB   (DB_AT + 128)
#define RMP_IN   272
#define XRQ_IN   336
#define DCT_IN   128
#define DC_KEY   0x1122334455667788ull
#define DATA_LEN 64

enum status {
	BAD_PARAM = 3,
	BAD_RES = 5,
	BAD_INP_LEN = 0x50
};

/*
 * How a receive queue is created. xrq: by CREATE_XRQ, otherwise by CREATE_RMP. cyclic: as a ring,
 * otherwise as a list. bare: WQEs have no link segment. own_cq: an XRQ has a CQ of its own.
 */
struct how {
	const char *name;
	bool xrq, cyclic, bare, own_cq;
};

static const struct how hows[] = {
	{"RMP, a list", false, false, false, false},
	{"RMP, a ring", false, true, false, false},
	{"RMP, a ring of bare WQEs", false, true, true, false},
	{"XRQ, a list", true, false, false, false},
	{"XRQ, a ring, with its own CQ", true, true, false, true},
};

static unsigned int
log_stride(const struct how *h)
{
	return h->bare ? 4 : 5;
}

/* Writes the command that creates the queue. Returns the command's length in bytes. */
static size_t
fill_srq(const struct side *s, const struct how *h, uint8_t in[XRQ_IN])
{
	unsigned int wq = h->xrq ? 0x480 : 0x280;

	memset(in, 0, XRQ_IN);
	devx_put(in, 0, 16, h->xrq ? 0x717 : 0x90c);
	if (h->xrq) {
		devx_put(in, 0x80 + 0x28, 24, 0x777); /* user_index */
		devx_put(in, 0x80 + 0x48, 24, h->own_cq ? s->cqn : 0);
	} else {
		devx_put(in, 0x100 + 0x08, 4, 1); /* ready */
		devx_put(in, 0x100 + 0x20, 1, h->bare);
	}
	devx_put(in, wq, 4, h->cyclic);
	devx_put(in, wq + 0x48, 24, s->pdn);
	devx_put(in, wq + 0xa0, 32, SRQ_DB); /* dbr_addr, low half */
	devx_put(in, wq + 0x10c, 4, log_stride(h));
	devx_put(in, wq + 0x11b, 5, 4);
	devx_put(in, wq + 0x140, 32, s->umem->umem_id);
	devx_put(in, wq + 0x160, 32, s->umem->umem_id);
	devx_put(in, wq + 0x1a0, 32, SRQ_AT); /* wq_umem_offset, low half */
	return h->xrq ? XRQ_IN : RMP_IN;
}

static struct mlx5dv_devx_obj *
make_srq(struct side *s, const struct how *h, uint32_t *number)
{
	uint8_t in[XRQ_IN], out[HDR];
	struct mlx5dv_devx_obj *obj = create(s, in, fill_srq(s, h, in), out);

	CHECK(obj != NULL, "%s: status 0x%x, syndrome 0x%x", h->name, out[0],
		devx_get(out, 0x20, 32));
	*number = devx_get(out, 0x48, 24);
	return obj;
}

/*
 * Writes WQE i, whose receive memory is slot i of the data's second half: 64 bytes. In a list each
 * WQE names the next WQE; in a ring the bytes for this name have no meaning.
 */
static void
write_wqes(struct side *s, const struct how *h)
{
	for (uint32_t i = 0; i < SRQ_N; i++) {
		uint8_t *wqe = s->mem + SRQ_AT + (i << log_stride(h));
		uint64_t va = htobe64((uintptr_t)s->mem + DATA_AT + 2048 + i * DATA_LEN);

		if (!h->bare) {
			memset(wqe, h->cyclic ? 0xee : 0, 16);
			if (!h->cyclic)
				devx_put(wqe, 16, 16, (i + 1) % SRQ_N);
			wqe += 16;
		}
		devx_put(wqe, 0, 32, DATA_LEN);
		devx_put(wqe, 32, 32, s->mr->lkey);
		memcpy(wqe + 8, &va, 8);
	}
}

/* Replaces the side's QP by a QP that receives from the queue with this number. */
static void
use_srq(struct side *s, uint32_t number)
{
	uint8_t out[HDR];

	CHECK_EQ(mlx5dv_devx_obj_destroy(s->qp), 0);
	devx_put(s->qp_in, 0xc0 + 0x565, 3, 1);
	devx_put(s->qp_in, 0xc0 + 0x568, 24, number);
	/* the offset of the send queue does not change */
	devx_put(s->qp_in, 0x820, 32, QP_AT + RQ_LEN);
	s->qp = create(s, s->qp_in, QP_IN, out);
	CHECK(s->qp != NULL, "status 0x%x, syndrome 0x%x", out[0], devx_get(out, 0x20, 32));
	s->qpn = devx_get(out, 0x48, 24);
}

/* Connects two sides. The QP of side b receives from a queue that is created here. */
static struct mlx5dv_devx_obj *
open_sides(struct side *a, struct side *b, const struct how *h, uint32_t *number)
{
	struct mlx5dv_devx_obj *srq;

	side_init(a);
	side_init(b);
	srq = make_srq(b, h, number);
	write_wqes(b, h);
	use_srq(b, *number);
	side_connect(a, b->qpn);
	side_connect(b, a->qpn);
	return srq;
}

/*
 * Closes both sides. side_fini() destroys the QP of a side, but b's QP uses the shared queue, and
 * must be destroyed before this queue. So b first gets a new QP that does not use the queue.
 */
static void
close_sides(struct side *a, struct side *b, struct mlx5dv_devx_obj *srq)
{
	uint8_t out[HDR];

	CHECK_EQ(mlx5dv_devx_obj_destroy(b->qp), 0);
	CHECK_EQ(mlx5dv_devx_obj_destroy(srq), 0);
	devx_put(b->qp_in, 0xc0 + 0x565, 3, 3);
	b->qp = create(b, b->qp_in, QP_IN, out);
	CHECK(b->qp != NULL);
	side_fini(a);
	side_fini(b);
}

/*
 * Sends more messages than any of the queues holds. Each message has its own bytes, and must arrive
 * in its slot.
 */
static void
expect_messages(struct side *a, struct side *b, const struct how *h)
{
	for (uint32_t i = 0; i < 50; i++) {
		uint8_t *from = a->mem + DATA_AT + i % 16 * DATA_LEN;
		const uint8_t *cqe;

		for (unsigned int k = 0; k < DATA_LEN; k++)
			from[k] = (uint8_t)(i * 7 + k);
		store_be32(b, SRQ_DB, i + 1);
		post_send(a, 0xc0ffee00 + i);
		cqe = poll_one(a);
		CHECK_EQ(cqe[63] >> 4, 0);
		cqe = poll_one(b);
		CHECK_EQ(cqe[63] >> 4, 3);
		CHECK_EQ(devx_get(cqe, 36 * 8, 32), 0xc0ffee00 + i);
		/*
		 * The CQE names the queue that completes: the QP, or an XRQ that has a CQ of its
		 * own.
		 */
		CHECK_EQ(devx_get(cqe, 33 * 8, 24), h->own_cq ? 0x777 : 0xabcde);
		CHECK_EQ(devx_get(cqe, 60 * 8, 16), h->cyclic ? i : i % SRQ_N);
		CHECK(check_bytes(b->mem + DATA_AT + 2048 + i % SRQ_N * DATA_LEN, from, DATA_LEN,
			h->name));
	}
}

static void
case_messages(void)
{
	static struct side a, b;

	for (size_t i = 0; i < sizeof(hows) / sizeof(hows[0]); i++) {
		struct mlx5dv_devx_obj *srq;
		uint8_t out[MOD_IN];
		uint32_t number;

		srq = open_sides(&a, &b, &hows[i], &number);
		expect_messages(&a, &b, &hows[i]);
		/*
		 * A query of the QP returns the queue's number, and the queue cannot be destroyed.
		 */
		side_query(b.qp, b.qpn, out);
		CHECK_EQ(devx_get(out, 0xc0 + 0x565, 3), 1);
		CHECK_EQ(devx_get(out, 0xc0 + 0x568, 24), number);
		CHECK(mlx5dv_devx_obj_destroy(srq) != 0 && errno == EBUSY);
		close_sides(&a, &b, srq);
	}
}

/* ---------------------------------------------------------------- limit, events, queries */

static uint64_t
next_cookie(struct mlx5dv_devx_event_channel *c)
{
	struct mlx5dv_devx_async_event_hdr hdr;
	uint64_t end = pair_now_ms() + CHECK_PATIENCE_MS;

	while (mlx5dv_devx_get_event(c, &hdr, sizeof(hdr)) < 0) {
		CHECK(errno == EAGAIN && pair_now_ms() < end);
		pair_run();
	}
	return hdr.cookie;
}

static void
expect_none(struct mlx5dv_devx_event_channel *c)
{
	struct mlx5dv_devx_async_event_hdr hdr;

	usleep(pair_is_pumped() ? 0 : 20000);
	pair_run();
	CHECK(mlx5dv_devx_get_event(c, &hdr, sizeof(hdr)) < 0 && errno == EAGAIN);
}

/* Sends MODIFY_RMP or ARM_XRQ. */
static void
set_limit(struct mlx5dv_devx_obj *srq, const struct how *h, uint32_t number, uint32_t limit)
{
	uint8_t in[RMP_IN] = {0}, out[HDR];

	devx_put(in, 0, 16, h->xrq ? 0x71a : 0x90d);
	devx_put(in, 0x48, 24, number);
	devx_put(in, h->xrq ? 0x70 : 0x280 + 0x30, 16, limit);
	if (!h->xrq)
		devx_put(in, 0xbf, 1, 1); /* bit of the field lwm */
	CHECK_EQ(mlx5dv_devx_obj_modify(srq, in, sizeof(in), out, sizeof(out)), 0);
}

/*
 * The limit event must be raised once, when fewer receives than the limit are left. In ERR, a QP
 * with a shared receive queue must raise the event "last WQE reached"; UCX waits for this event.
 */
static void
case_events(void)
{
	static struct side a, b;

	for (size_t i = 0; i < sizeof(hows) / sizeof(hows[0]); i += 4) {
		const uint16_t limit_type = 0x14, last_type = 0x13;
		struct mlx5dv_devx_event_channel *c;
		struct mlx5dv_devx_obj *srq;
		uint8_t in[MOD_IN] = {0};
		uint32_t number;

		srq = open_sides(&a, &b, &hows[i], &number);
		c = mlx5dv_devx_create_event_channel(b.ctx,
			MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA);
		CHECK(c != NULL && fcntl(c->fd, F_SETFL, O_NONBLOCK) == 0);
		CHECK_EQ(mlx5dv_devx_subscribe_devx_event(c, srq, 2, (uint16_t *)&limit_type, 14),
			0);
		CHECK_EQ(mlx5dv_devx_subscribe_devx_event(c, b.qp, 2, (uint16_t *)&last_type, 13),
			0);
		store_be32(&b, SRQ_DB, 5);
		set_limit(srq, &hows[i], number, 4);
		for (unsigned int n = 0; n < 3; n++) {
			post_send(&a, n);
			(void)poll_one(&a);
			(void)poll_one(&b);
			if (n == 1)
				CHECK_EQ(next_cookie(c), 14);
			else
				expect_none(c);
		}
		side_modify(&b, 0x507, in);
		CHECK_EQ(next_cookie(c), 13);
		mlx5dv_devx_destroy_event_channel(c);
		close_sides(&a, &b, srq);
	}
}

/* A query must return the values that the creating command has set. */
/*
 * The limit in the command that creates the queue is armed from the beginning: wq.lwm. The doorbell
 * record already counts more receives than the limit, so the limit is not reached.
 */
static void
expect_first_limit(struct side *s, const struct how *h)
{
	const unsigned int wq = h->xrq ? 0x480 : 0x280;
	uint8_t make[XRQ_IN], made[HDR], in[HDR] = {0}, out[XRQ_IN];
	const size_t len = fill_srq(s, h, make);
	struct mlx5dv_devx_obj *srq;

	devx_put(make, wq + 0x30, 16, 5);
	store_be32(s, SRQ_DB, 8);
	srq = create(s, make, len, made);
	CHECK(srq != NULL, "%s: status 0x%x", h->name, made[0]);
	devx_put(in, 0, 16, h->xrq ? 0x719 : 0x90f);
	devx_put(in, 0x48, 24, devx_get(made, 0x48, 24));
	CHECK_EQ(mlx5dv_devx_obj_query(srq, in, HDR, out, sizeof(out)), 0);
	CHECK_EQ(devx_get(out, wq + 0x30, 16), 5);
	CHECK_EQ(mlx5dv_devx_obj_destroy(srq), 0);
	store_be32(s, SRQ_DB, 0);
}

static void
case_queries(void)
{
	struct side s;

	side_init(&s);
	for (size_t i = 0; i < sizeof(hows) / sizeof(hows[0]); i++) {
		const struct how *h = &hows[i];
		unsigned int wq = h->xrq ? 0x480 : 0x280;
		uint8_t in[HDR] = {0}, out[XRQ_IN], want[XRQ_IN] = {0};
		uint32_t number;
		struct mlx5dv_devx_obj *srq = make_srq(&s, h, &number);

		set_limit(srq, h, number, 0);
		devx_put(in, 0, 16, h->xrq ? 0x719 : 0x90f);
		devx_put(in, 0x48, 24, number);
		CHECK_EQ(mlx5dv_devx_obj_query(srq, in, HDR, out, sizeof(out)), 0);
		if (h->xrq) {
			devx_put(want, 0x80, 4, 0); /* state "good" */
			devx_put(want, 0x80 + 0x28, 24, 0x777);
			devx_put(want, 0x80 + 0x48, 24, h->own_cq ? s.cqn : 0);
		} else {
			devx_put(want, 0x100 + 0x08, 4, 1);
			devx_put(want, 0x100 + 0x20, 1, h->bare);
		}
		devx_put(want, wq, 4, h->cyclic);
		devx_put(want, wq + 0x48, 24, s.pdn);
		devx_put(want, wq + 0x10c, 4, log_stride(h));
		devx_put(want, wq + 0x11b, 5, 4);
		CHECK(check_bytes(out, want, sizeof(out), h->name));
		expect_first_limit(&s, h);
		/*
		 * Commands for the other kind of queue, and commands with another number, are not
		 * passed on.
		 */
		devx_put(in, 0, 16, h->xrq ? 0x90f : 0x719);
		CHECK(mlx5dv_devx_obj_query(srq, in, HDR, out, sizeof(out)) != 0);
		CHECK_EQ(errno, EINVAL);
		devx_put(in, 0, 16, h->xrq ? 0x719 : 0x90f);
		devx_put(in, 0x48, 24, number + 1);
		CHECK(mlx5dv_devx_obj_query(srq, in, HDR, out, sizeof(out)) != 0);
		CHECK_EQ(errno, EINVAL);
		CHECK_EQ(mlx5dv_devx_obj_destroy(srq), 0);
	}
	side_fini(&s);
}

/* ---------------------------------------------------------------- DC targets */

static void
fill_dct(const struct side *s, uint32_t srqn, uint8_t in[DCT_IN])
{
	memset(in, 0, DCT_IN);
	devx_put(in, 0, 16, 0x710);
	devx_put(in, 0x80 + 0x28, 24, 0xabcde);
	devx_put(in, 0x80 + 0x48, 24, s->cqn);
	devx_put(in, 0x80 + 0x6c, 2, 3); /* read and write */
	devx_put(in, 0x80 + 0x93, 5, 1);
	devx_put(in, 0x80 + 0xa8, 24, srqn);
	devx_put(in, 0x80 + 0xc8, 24, s->pdn);
	devx_put(in, 0x80 + 0x100, 32, DC_KEY >> 32);
	devx_put(in, 0x80 + 0x120, 32, (uint32_t)DC_KEY);
	devx_put(in, 0x80 + 0x145, 3, IBV_MTU_1024);
	devx_put(in, 0x80 + 0x168, 8, 1);
	devx_put(in, 0x80 + 0x178, 8, 33);
}

static void
expect_dct(struct side *s, struct mlx5dv_devx_obj *dct, const uint8_t *made, uint32_t number)
{
	uint8_t in[HDR] = {0}, out[80], want[80] = {0};

	devx_put(in, 0, 16, 0x713);
	devx_put(in, 0x48, 24, number);
	CHECK_EQ(mlx5dv_devx_obj_query(dct, in, HDR, out, sizeof(out)), 0);
	memcpy(want + HDR, made + HDR, 64);
	devx_put(want, 0x80 + 0x148, 8, 1); /* the port, which the command did not name */
	CHECK(check_bytes(out, want, sizeof(out), "QUERY_DCT"));
	(void)s;
}

#define KEY_VIOLATION 0x1d /* MLX5_EVENT_TYPE_DCT_KEY_VIOLATION of the kernel's device.h */

/*
 * A request with a wrong DC key must be counted once, however often it is retried, and must raise
 * one event.
 */
static void
wrong_dc_key(struct side *s, struct node *n, struct ibv_qp *dci, struct node_to *to,
	struct mlx5dv_devx_obj *dct, uint8_t made[DCT_IN])
{
	struct mlx5dv_devx_event_channel *c = mlx5dv_devx_create_event_channel(s->ctx, 0);
	struct ibv_sge sge = {(uintptr_t)n->buf, DATA_LEN, n->mr->lkey};
	uint16_t type = KEY_VIOLATION;
	uint8_t record[72];

	CHECK(c != NULL);
	CHECK_EQ(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event(c, dct, sizeof(type), &type, 7), 0);
	node_dc_send(dci, to, DC_KEY ^ 1, sge);
	CHECK_EQ(node_wait(n->scq).status, IBV_WC_RETRY_EXC_ERR);
	/* The query has dc_access_key_violation_count of the kernel's mlx5_ifc.h. */
	devx_put(made, 0x80 + 0x180, 32, 1);
	expect_dct(s, dct, made, to->qpn);
	CHECK_EQ(mlx5dv_devx_get_event(c, (void *)record, sizeof(record)), sizeof(record));
	CHECK_EQ(record[8 + 1], KEY_VIOLATION);
	CHECK_EQ(devx_get(record, (8 + 56) * 8, 32), to->qpn); /* struct mlx5_eqe_dct */
	CHECK(mlx5dv_devx_get_event(c, (void *)record, sizeof(record)) < 0);
	mlx5dv_devx_destroy_event_channel(c);
}

/* A DCI of verbs sends to the target, and writes and reads its memory. The DC key must be right. */
static void
case_dct(void)
{
	struct node n = node_open(255);
	struct ibv_qp *dci = node_qp(&n, K_DCI);
	struct ibv_qp_attr attr = node_attr(&n, 0);
	struct node_to to = {.ah = ibv_create_ah(n.pd, &attr.ah_attr)};
	struct ibv_sge sge = {(uintptr_t)n.buf, DATA_LEN, n.mr->lkey};
	uint8_t in[DCT_IN], out[HDR];
	struct mlx5dv_devx_obj *srq, *dct;
	const uint8_t *cqe;
	uint32_t number;
	static struct side s;

	side_init(&s);
	CHECK(to.ah != NULL);
	srq = make_srq(&s, &hows[1], &number);
	write_wqes(&s, &hows[1]);
	fill_dct(&s, number, in);
	dct = create(&s, in, DCT_IN, out);
	CHECK(dct != NULL, "status 0x%x, syndrome 0x%x", out[0], devx_get(out, 0x20, 32));
	to.qpn = devx_get(out, 0x48, 24);
	expect_dct(&s, dct, in, to.qpn);
	node_ready(&n, dci, K_DCI, 0, IBV_QPS_RTS);
	for (uint32_t i = 0; i < 40; i++) {
		memset(n.buf, (int)i + 1, DATA_LEN);
		store_be32(&s, SRQ_DB, i + 1);
		node_dc_send(dci, &to, DC_KEY, sge);
		CHECK_EQ(node_wait(n.scq).status, IBV_WC_SUCCESS);
		cqe = poll_one(&s);
		CHECK_EQ(cqe[63] >> 4, 2); /* a receive without immediate */
		CHECK_EQ(devx_get(cqe, 60 * 8, 16), i);
		CHECK_EQ(devx_get(cqe, 33 * 8, 24), 0xabcde);
		CHECK_EQ(memcmp(s.mem + DATA_AT + 2048 + i % SRQ_N * DATA_LEN, n.buf, DATA_LEN), 0);
	}
	CHECK(mlx5dv_devx_obj_destroy(srq) != 0 && errno == EBUSY);
	wrong_dc_key(&s, &n, dci, &to, dct, in);
	CHECK_EQ(mlx5dv_devx_obj_destroy(dct), 0);
	CHECK_EQ(mlx5dv_devx_obj_destroy(srq), 0);
	CHECK_EQ(ibv_destroy_ah(to.ah), 0);
	CHECK_EQ(ibv_destroy_qp(dci), 0);
	node_close(&n);
	side_fini(&s);
}

/* ---------------------------------------------------------------- refusals */

struct wrong {
	unsigned int bit, width;
	uint32_t value;
	enum status status;
	unsigned int named; /* the field that the syndrome must name; 0: the field at `bit` */
};

static void
expect_refused(struct side *s, const uint8_t *good, size_t len, const struct wrong *wrong, size_t n)
{
	uint8_t in[XRQ_IN], out[HDR];

	for (size_t i = 0; i < n; i++) {
		memcpy(in, good, len);
		devx_put(in, wrong[i].bit, wrong[i].width, wrong[i].value);
		CHECK(create(s, in, len, out) == NULL, "field 0x%x", wrong[i].bit);
		CHECK_EQ(out[0], wrong[i].status);
		CHECK_EQ(devx_get(out, 0x20, 32),
			0x10000 + (wrong[i].named != 0 ? wrong[i].named : wrong[i].bit));
	}
	for (size_t shorter = HDR; shorter < len; shorter += 4)
		CHECK(create(s, good, shorter, out) == NULL && out[0] == BAD_INP_LEN);
}

static void
case_refused(void)
{
#define OF_WQ(wq)                                                                                  \
	{(wq), 4, 2, BAD_PARAM}, /* the type of a striding receive queue */                        \
		{(wq) + 0x30, 16, 16, BAD_PARAM}, {(wq) + 0x48, 24, 0xffffff, BAD_RES},            \
		{(wq) + 0xa0, 32, SRQ_DB + 4, BAD_PARAM, (wq) + 0x140},                            \
		{(wq) + 0x10c, 4, 4, BAD_PARAM}, {(wq) + 0x10c, 4, 10, BAD_PARAM},                 \
		{(wq) + 0x11b, 5, 31, BAD_PARAM}, {(wq) + 0x11b, 5, 10, BAD_PARAM, (wq) + 0x160},  \
		{(wq) + 0x140, 32, 0x7fffff, BAD_RES},                                             \
	{                                                                                          \
		(wq) + 0x160, 32, 0x7fffff, BAD_RES                                                \
	}
	static const struct wrong rmp[] = {OF_WQ(0x280), {0x108, 4, 0, BAD_PARAM},
		{0x120, 1, 1, BAD_PARAM, 0x280} /* WQEs without a link segment, in a list */};
	static const struct wrong xrq[] = {OF_WQ(0x480), {0x94, 4, 1, BAD_PARAM},
		{0x9c, 4, 1, BAD_PARAM}, {0xc8, 24, 0xffffff, BAD_RES}};
	static const struct wrong dct[] = {{0x98, 4, 1, BAD_PARAM}, {0xc8, 24, 0, BAD_RES},
		{0x128, 24, 0xffffff, BAD_RES}, {0x148, 24, 0xffffff, BAD_RES},
		{0x1c5, 3, 0, BAD_PARAM}, {0x1c5, 3, 6, BAD_PARAM}, {0x1c8, 8, 9, BAD_PARAM},
		{0x1d0, 16, 0x7fff, BAD_PARAM}, {0x1e8, 8, 200, BAD_PARAM}};
	uint8_t in[XRQ_IN];
	struct mlx5dv_devx_obj *srq;
	uint32_t number;
	struct side s;

	side_init(&s);
	expect_refused(&s, in, fill_srq(&s, &hows[0], in), rmp, sizeof(rmp) / sizeof(rmp[0]));
	expect_refused(&s, in, fill_srq(&s, &hows[3], in), xrq, sizeof(xrq) / sizeof(xrq[0]));
	srq = make_srq(&s, &hows[0], &number);
	fill_dct(&s, number, in);
	expect_refused(&s, in, DCT_IN, dct, sizeof(dct) / sizeof(dct[0]));
	/* A QP that names an SRQ that does not exist is refused. */
	devx_put(s.qp_in, 0xc0 + 0x565, 3, 1);
	expect_refused(&s, s.qp_in, QP_IN, &(struct wrong){0xc0 + 0x568, 24, 0xffffff, BAD_RES}, 1);
	CHECK_EQ(mlx5dv_devx_obj_destroy(srq), 0);
	side_fini(&s);
}

static const struct check_case cases[] = {
	{"messages arrive in a shared receive queue of a command", case_messages},
	{"a shared receive queue and its queue pairs send their events", case_events},
	{"a query returns the settings of a shared receive queue", case_queries},
	{"a DC target of a command receives", case_dct},
	{"a command with one wrong field is refused", case_refused},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
