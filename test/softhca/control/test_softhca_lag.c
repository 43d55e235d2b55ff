/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Link aggregation: the capabilities of a bond, the port of each queue pair, transport interfaces
 * of senders (TIS). Without the setting `lag` there is no bond.
 *
 * Expected values: mlx5dv_query_qp_lag_port(3) and mlx5dv_modify_qp_lag_port(3) of stock libmlx5;
 * mlx5_ib's get_tx_affinity_rr(), which gives the queue pairs of a context the ports alternately.
 * Fields are set by their bit offset in mlx5_ifc.h of Linux.
 */
#include <errno.h>

#include "devx_bits.h"
#include "softhca_pair.h"

enum {
	HDR = 16,
	QP_IN = 264,
	QP_OUT = 256 + 32,
	TIS_IN = 32 + 160,
	TIS_OUT = 16 + 160,
	BAD_PARAM = 3
};

static bool
bonded(void)
{
	const char *lag = getenv("SOFTHCA_LAG");

	return lag != NULL && strcmp(lag, "1") == 0;
}

/* ---- the adapter */

static void
case_adapter(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct mlx5dv_context dv = {.comp_mask = MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS};
	uint8_t in[HDR] = {0}, out[HDR], want[HDR] = {0};
	struct ibv_device_attr attr;

	CHECK_EQ(mlx5dv_query_device(ctx, &dv), 0);
	CHECK_EQ((dv.comp_mask & MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS) != 0, bonded());
	CHECK(!bonded() || dv.num_lag_ports == 2);
	CHECK_EQ(ibv_query_device(ctx, &attr), 0);
	CHECK_EQ(attr.phys_port_cnt, 1); /* number of ports that verbs report */
	devx_put(in, 0, 16, 0x842);
	if (bonded()) {
		devx_put(want, 0x40 + 0x1d, 3, 1); /* lag_state */
		devx_put(want, 0x40 + 0x34, 4, 2); /* tx_remap_affinity_2 */
		devx_put(want, 0x40 + 0x3c, 4, 1); /* tx_remap_affinity_1 */
	}
	CHECK_EQ(mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, sizeof(out)), 0);
	CHECK(check_bytes(out, want, sizeof(out), "QUERY_LAG"));
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* ---- queue pairs */

static void
expect_port(struct ibv_qp *qp, uint8_t want)
{
	uint8_t port = 0xff, active = 0xff;
	int rc = mlx5dv_query_qp_lag_port(qp, &port, &active);

	CHECK_EQ(rc, want != 0 ? 0 : EOPNOTSUPP);
	if (rc != 0)
		return;
	CHECK_EQ(port, want);
	CHECK_EQ(active, want); /* both ports of the bond are active */
}

static uint8_t
port_of(struct ibv_qp *qp)
{
	uint8_t port = 0, active;

	CHECK_EQ(mlx5dv_query_qp_lag_port(qp, &port, &active), 0);
	CHECK(port == 1 || port == 2);
	return port;
}

/* Sends a message through the client's QP, and receives it. */
static void
send_one(struct pair *p)
{
	struct ibv_sge sge = {(uintptr_t)p->client.buf, 64, p->client.mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 7,
				   .sg_list = &sge,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	memset(p->client.buf, 0x5a, 64);
	memset(p->server.buf, 0, 64);
	pair_post_recv(&p->server, 8, 0, 64);
	pair_publish(&p->client);
	CHECK_EQ(ibv_post_send(p->client.qp, &wr, &bad), 0);
	CHECK_EQ(pair_wait(&p->client).status, IBV_WC_SUCCESS);
	CHECK_EQ(pair_wait(&p->server).status, IBV_WC_SUCCESS);
	CHECK(memcmp(p->client.buf, p->server.buf, 64) == 0);
}

static void
to_init(struct ibv_qp *qp)
{
	const struct ibv_qp_attr attr = {.port_num = 1, .qkey = 7};

	CHECK_EQ(qp_take(qp, qp_kind(qp->qp_type), attr, IBV_QPS_INIT, IBV_QPS_INIT), 0);
}

/*
 * Queue pairs get the ports alternately. When a program moves a QP to the other port, messages
 * still arrive.
 */
static void
case_rc(void)
{
	struct pair p;
	struct ibv_qp_attr again = {.qp_state = IBV_QPS_INIT};
	uint8_t first;

	pair_init(&p, NULL);
	if (!bonded()) {
		expect_port(p.client.qp, 0);
		CHECK_EQ(mlx5dv_modify_qp_lag_port(p.client.qp, 1), EOPNOTSUPP);
		pair_fini(&p);
		return;
	}
	first = port_of(p.client.qp);
	expect_port(p.server.qp, 3 - first);
	send_one(&p);
	CHECK_EQ(mlx5dv_modify_qp_lag_port(p.client.qp, 3 - first), 0);
	expect_port(p.client.qp, 3 - first);
	expect_port(p.server.qp, 3 - first);
	send_one(&p);
	CHECK(mlx5dv_modify_qp_lag_port(p.client.qp, 3) != 0); /* the bond has two ports */
	expect_port(p.client.qp, 3 - first);
	CHECK_EQ(pair_modify(&p.client, IBV_QPS_RESET), 0);
	expect_port(p.client.qp, 0); /* the chosen port is forgotten in this state */
	pair_connect(&p, &p.client, p.server.qp->qp_num);
	expect_port(p.client.qp, first); /* the third assignment in this context */
	/* The transition INIT to INIT assigns no port. */
	CHECK_EQ(pair_modify(&p.server, IBV_QPS_RESET), 0);
	to_init(p.server.qp);
	expect_port(p.server.qp, 3 - first);
	CHECK_EQ(ibv_modify_qp(p.server.qp, &again, IBV_QP_STATE), 0);
	expect_port(p.server.qp, 3 - first);
	pair_fini(&p);
}

/* The objects for queue pairs of other types. */
struct others {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
};

static struct ibv_qp *
make_qp(struct others *o, enum ibv_qp_type type, bool dci)
{
	struct ibv_qp_init_attr_ex attr = {.qp_type = type,
		.send_cq = o->cq,
		.recv_cq = type == IBV_QPT_XRC_SEND ? NULL : o->cq,
		.cap = {.max_send_wr = 4, .max_send_sge = 1},
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = o->pd};
	struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCI}};

	return dci ? mlx5dv_create_qp(o->ctx, &attr, &dv) : ibv_create_qp_ex(o->ctx, &attr);
}

/*
 * Each type of QP for which libmlx5 can query the port must have a port from INIT on. The QPs must
 * get the ports alternately.
 */
static void
case_types(void)
{
	static const struct {
		enum ibv_qp_type type;
		bool dci;
	} types[] = {{IBV_QPT_RC, false}, {IBV_QPT_UC, false}, {IBV_QPT_UD, false},
		{IBV_QPT_XRC_SEND, false}, {IBV_QPT_DRIVER, true}, {IBV_QPT_RAW_PACKET, false}};
	struct others o = {.ctx = pair_open(0)};
	uint8_t port = 0;

	o.pd = ibv_alloc_pd(o.ctx);
	o.cq = ibv_create_cq(o.ctx, 16, NULL, NULL, 0);
	CHECK(o.pd != NULL && o.cq != NULL);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct ibv_qp *qp = make_qp(&o, types[i].type, types[i].dci);

		if (qp == NULL && types[i].type == IBV_QPT_RAW_PACKET && errno == EPERM)
			continue;
		CHECK(qp != NULL, "type %d", types[i].type);
		expect_port(qp, 0);
		to_init(qp);
		if (!bonded()) {
			expect_port(qp, 0);
		} else {
			CHECK(port == 0 || port_of(qp) == 3 - port, "type %d", types[i].type);
			port = port_of(qp);
			/* Before RTS, only a raw packet QP can be moved. */
			CHECK_EQ(mlx5dv_modify_qp_lag_port(qp, 3 - port),
				types[i].type == IBV_QPT_RAW_PACKET ? 0 : EOPNOTSUPP);
			expect_port(qp, types[i].type == IBV_QPT_RAW_PACKET ? 3 - port : port);
		}
		CHECK_EQ(ibv_destroy_qp(qp), 0);
	}
	CHECK_EQ(ibv_destroy_cq(o.cq), 0);
	CHECK_EQ(ibv_dealloc_pd(o.pd), 0);
	CHECK_EQ(ibv_close_device(o.ctx), 0);
}

/* The first queue pairs of two contexts must have different ports. */
static void
case_contexts(void)
{
	uint8_t port[2] = {0};

	for (int i = 0; i < 2 && bonded(); i++) {
		struct pair p;

		pair_init(&p, NULL);
		port[i] = port_of(p.client.qp);
		pair_fini(&p);
	}
	CHECK(!bonded() || port[0] != port[1]);
}

/* ---- commands */

/* Makes a transition that names a port. Returns 0, or the syndrome of the firmware's refusal. */
static uint32_t
transit(struct ibv_qp *qp, uint16_t opcode, uint32_t opt_mask, uint8_t port)
{
	uint8_t in[QP_IN + 16] = {0}, out[HDR] = {0};
	union ibv_gid gid;
	int rc;

	CHECK_EQ(ibv_query_gid(qp->context, 1, 0, &gid), 0);
	devx_put(in, 0, 16, opcode);
	devx_put(in, 0x48, 24, qp->qp_num);
	devx_put(in, 0x80, 32, opt_mask);
	devx_put(in, 0xc0 + 0x04, 4, port);
	devx_put(in, 0xc0 + 0x40, 3, IBV_MTU_1024);
	devx_put(in, 0xc0 + 0xa8, 24, qp->qp_num);
	memcpy(in + (0xc0 + 0xc0 + 0x80) / 8, gid.raw, 16);
	devx_put(in, 0xc0 + 0xc0 + 0x128, 8, 1);
	rc = mlx5dv_devx_qp_modify(qp, in, sizeof(in), out, sizeof(out));
	CHECK_EQ(rc, out[0] != 0 ? EREMOTEIO : 0);
	CHECK(out[0] == 0 || out[0] == BAD_PARAM);
	return devx_get(out, 0x20, 32);
}

/*
 * Changes the UDP source port by RTS2RTS. The command's QP context also names `port`, but the
 * optional mask does not select this field.
 */
static int
transit_sport(struct ibv_qp *qp, uint8_t port)
{
	uint8_t in[QP_IN + 16] = {0}, out[HDR] = {0};

	devx_put(in, 0, 16, 0x505);
	devx_put(in, 0x48, 24, qp->qp_num);
	devx_put(in, 0xc0 + 0x04, 4, port);
	devx_put(in, 0xc0 + 0xc0 + 0x110, 16, 0xc123);
	devx_put(in, 0x860, 32, 1 << 2);
	return mlx5dv_devx_qp_modify(qp, in, sizeof(in), out, sizeof(out));
}

static uint32_t
queried_port(struct ibv_qp *qp)
{
	uint8_t in[HDR] = {0}, out[QP_OUT] = {0};

	devx_put(in, 0, 16, 0x50b);
	devx_put(in, 0x48, 24, qp->qp_num);
	CHECK_EQ(mlx5dv_devx_qp_query(qp, in, sizeof(in), out, sizeof(out)), 0);
	return devx_get(out, 0xc0 + 0x04, 4);
}

/*
 * Connects as UCX does: RST2INIT and INIT2RTR name the port; INIT2RTR also sets a bit of the
 * optional mask.
 */
static void
case_transitions(void)
{
	const uint32_t lag = 1 << 15, wrong_port = 0x10000 + 0xc4, wrong_mask = 0x10080;
	const bool is = bonded();
	struct pair p;
	struct ibv_qp *qp;

	pair_init(&p, &(struct pair_opts){.no_connect = true, .no_mmo = true});
	qp = p.client.qp;
	CHECK_EQ(transit(qp, 0x502, 0, is ? 3 : 1), wrong_port);
	CHECK_EQ(transit(qp, 0x502, lag, 0), wrong_mask);
	CHECK_EQ(transit(qp, 0x502, 0, is ? 2 : 0), 0);
	CHECK_EQ(queried_port(qp), is ? 2 : 0);
	CHECK_EQ(transit(qp, 0x503, lag, is ? 3 : 1), is ? wrong_port : wrong_mask);
	CHECK_EQ(transit(qp, 0x503, is ? lag : 0, 1), 0);
	CHECK_EQ(queried_port(qp), is ? 1 : 0);
	CHECK_EQ(transit(qp, 0x504, 0, 2), 0); /* RTR2RTS ignores the port */
	CHECK_EQ(queried_port(qp), is ? 1 : 0);
	CHECK_EQ(transit(qp, 0x505, lag, is ? 3 : 1), is ? wrong_port : wrong_mask);
	CHECK_EQ(transit(qp, 0x505, lag | 1 << 1, 2), wrong_mask);
	CHECK_EQ(transit(qp, 0x505, 0, 2), 0x10860); /* the optional mask names no field */
	/* the optional mask names another field only */
	CHECK_EQ(transit_sport(qp, 2), 0);
	CHECK_EQ(queried_port(qp), is ? 1 : 0);
	if (is) {
		CHECK_EQ(transit(qp, 0x505, lag, 2), 0);
		CHECK_EQ(queried_port(qp), 2);
		CHECK_EQ(transit(qp, 0x505, lag, 0), 0); /* port 0: the adapter chooses */
		CHECK_EQ(queried_port(qp), 0);
		CHECK_EQ(transit(qp, 0x505, lag, 1), 0);
	}
	CHECK_EQ(transit(qp, 0x50a, 0, 2), 0);
	CHECK_EQ(queried_port(qp), 0);
	/* A transition that names no port keeps the port. */
	CHECK_EQ(transit(qp, 0x502, 0, is ? 1 : 0), 0);
	CHECK_EQ(transit(qp, 0x503, 0, 2), 0);
	CHECK_EQ(queried_port(qp), is ? 1 : 0);
	pair_fini(&p);
}

/* ---- TISes */

struct tis {
	uint32_t strict, port, prio;
};

static void
put_tis(uint8_t *buf, unsigned int at, struct tis tis)
{
	devx_put(buf, at, 1, tis.strict);
	devx_put(buf, at + 0x04, 4, tis.port);
	devx_put(buf, at + 0x0c, 4, tis.prio);
}

static void
expect_tis(const uint8_t *out, struct tis want)
{
	CHECK_EQ(devx_get(out, 0x80, 1), want.strict);
	CHECK_EQ(devx_get(out, 0x84, 4), want.port);
	CHECK_EQ(devx_get(out, 0x8c, 4), want.prio);
}

static size_t
fill_modify(uint8_t in[TIS_IN], uint32_t number, uint64_t mask, struct tis tis)
{
	memset(in, 0, TIS_IN);
	devx_put(in, 0, 16, 0x913);
	devx_put(in, 0x48, 24, number);
	devx_put(in, 0x80, 32, (uint32_t)(mask >> 32));
	devx_put(in, 0xa0, 32, (uint32_t)mask);
	put_tis(in, 0x100, tis);
	return TIS_IN;
}

/* Each bit of the mask must change one field of the TIS, and no other field. */
static void
case_tis(void)
{
	const struct tis all = {1, bonded() ? 2 : 0, 5};
	struct ibv_context *ctx = pair_open(0);
	uint8_t in[TIS_IN] = {0}, out[TIS_OUT] = {0}, query[HDR] = {0};
	struct mlx5dv_devx_obj *td, *tis;
	uint32_t tdn, number;

	devx_put(in, 0, 16, 0x816);
	td = mlx5dv_devx_obj_create(ctx, in, HDR, out, HDR);
	CHECK(td != NULL);
	tdn = devx_get(out, 0x48, 24);
	memset(in, 0, sizeof(in));
	devx_put(in, 0, 16, 0x912);
	devx_put(in, 0x100 + 0x128, 24, tdn);
	put_tis(in, 0x100, (struct tis){0, bonded() ? 3 : 1, 0});
	CHECK(mlx5dv_devx_obj_create(ctx, in, sizeof(in), out, HDR) == NULL);
	CHECK_EQ(out[0], BAD_PARAM);
	CHECK_EQ(devx_get(out, 0x20, 32), 0x10104);
	put_tis(in, 0x100, (struct tis){1, bonded() ? 1 : 0, 9});
	tis = mlx5dv_devx_obj_create(ctx, in, sizeof(in), out, HDR);
	CHECK(tis != NULL);
	number = devx_get(out, 0x48, 24);
	devx_put(query, 0, 16, 0x915);
	devx_put(query, 0x48, 24, number);
	CHECK_EQ(mlx5dv_devx_obj_query(tis, query, HDR, out, sizeof(out)), 0);
	expect_tis(out, (struct tis){1, bonded() ? 1 : 0, 9});
	CHECK_EQ(devx_get(out, 0x80 + 0x128, 24), tdn);

	for (int bit = 0; bit < 3; bit++) {
		struct tis want = {0, 0, 0};

		fill_modify(in, number, 7, want);
		CHECK_EQ(mlx5dv_devx_obj_modify(tis, in, sizeof(in), out, HDR), 0);
		fill_modify(in, number, 1U << bit, all);
		CHECK_EQ(mlx5dv_devx_obj_modify(tis, in, sizeof(in), out, HDR), 0);
		if (bit == 0)
			want.prio = all.prio;
		else if (bit == 1)
			want.strict = all.strict;
		else
			want.port = all.port;
		CHECK_EQ(mlx5dv_devx_obj_query(tis, query, HDR, out, sizeof(out)), 0);
		expect_tis(out, want);
	}
	fill_modify(in, number, 4, (struct tis){0, bonded() ? 3 : 1, 0});
	CHECK_EQ(mlx5dv_devx_obj_modify(tis, in, sizeof(in), out, HDR), EREMOTEIO);
	CHECK_EQ(devx_get(out, 0x20, 32), 0x10104);
	fill_modify(in, number, 8, all);
	CHECK_EQ(mlx5dv_devx_obj_modify(tis, in, sizeof(in), out, HDR), EREMOTEIO);
	CHECK_EQ(devx_get(out, 0x20, 32), 0x100a0);
	fill_modify(in, number, UINT64_C(1) << 32, all);
	CHECK_EQ(mlx5dv_devx_obj_modify(tis, in, sizeof(in), out, HDR), EREMOTEIO);
	CHECK_EQ(devx_get(out, 0x20, 32), 0x10080);
	fill_modify(in, number + 1, 7, all);
	CHECK_EQ(mlx5dv_devx_obj_modify(tis, in, sizeof(in), out, HDR), EINVAL);
	CHECK_EQ(mlx5dv_devx_obj_destroy(tis), 0);
	CHECK_EQ(mlx5dv_devx_obj_destroy(td), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* Every command on a TIS is refused for a QP without a TIS, whatever TIS number the command has. */
static void
case_no_tis(void)
{
	uint8_t in[TIS_IN], out[TIS_OUT], query[HDR] = {0};
	struct pair p;

	pair_init(&p, &(struct pair_opts){.no_connect = true});
	devx_put(query, 0, 16, 0x915);
	for (uint32_t number = 0; number < 32; number++) {
		devx_put(query, 0x48, 24, number);
		CHECK_EQ(mlx5dv_devx_qp_query(p.client.qp, query, HDR, out, sizeof(out)), EINVAL);
		fill_modify(in, number, 1, (struct tis){0, 0, 1});
		CHECK_EQ(mlx5dv_devx_qp_modify(p.client.qp, in, sizeof(in), out, HDR), EINVAL);
	}
	pair_fini(&p);
}

static const struct check_case cases[] = {
	{"the adapter reports its bond", case_adapter},
	{"RC queue pairs have a port, which can be changed", case_rc},
	{"each type of queue pair has a port", case_types},
	{"contexts use the ports alternately", case_contexts},
	{"transitions by command name a port", case_transitions},
	{"a command creates, changes and queries a TIS", case_tis},
	{"only a raw queue pair has a TIS", case_no_tis},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
