/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Firmware commands that create keys, PSVs and reserved QP numbers, and commands on a QP that verbs
 * created: a valid command succeeds, and a command with one invalid field is refused. Fields are
 * set by their bit offset in the structures of the programming manual, not by the adapter's own
 * tables.
 */
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "devx_bits.h"
#include "raw_ioctl.h"
#include "softhca_node.h"

#define HDR     16
#define IN_LEN  276 /* length of the longest command in this file */
#define MKEY_IN 272

enum status {
	OK = 0,
	BAD_OP = 2,
	BAD_PARAM = 3,
	BAD_RES = 5,
	BAD_QP_STATE = 0x10,
	BAD_INP_LEN = 0x50,
	NOT_PASSED_ON = 0xff /* the kernel refuses the command with EINVAL */
};

struct field {
	unsigned int bit, width;
	uint32_t value;
	enum status status; /* expected answer to the command with this value in the field */
	unsigned int
		/*
		 * The field that the syndrome must name; 0: the field at `bit`. A value above
		 * 0xffff is the whole syndrome.
		 */
		named;
};

/*
 * The expected syndrome: 0x10000 plus the bit offset of the wrong field, or, if it is known, the
 * syndrome that adapters return (doc/softhca-reference.md).
 */
static uint32_t
syndrome_of(const struct field *f)
{
	if (f->named > 0xffff)
		return f->named;
	return 0x10000 + (f->named != 0 ? f->named : f->bit);
}

static uint32_t
pdn_of(struct ibv_pd *pd)
{
	struct mlx5dv_pd out;
	struct mlx5dv_obj obj = {.pd = {pd, &out}};

	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
	return out.pdn;
}

/* ---- creations */

/*
 * Sends the valid command, then the command with each of the invalid fields, then the command with
 * each length that is too short.
 */
static void
creation(struct node *n, const uint8_t *good, size_t len, const struct field *wrong, size_t n_wrong)
{
	uint8_t in[IN_LEN], out[32];
	struct mlx5dv_devx_obj *obj = mlx5dv_devx_obj_create(n->ctx, good, len, out, sizeof(out));

	CHECK(obj != NULL);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	for (size_t i = 0; i < n_wrong; i++) {
		memcpy(in, good, len);
		devx_put(in, wrong[i].bit, wrong[i].width, wrong[i].value);
		memset(out, 0, sizeof(out));
		obj = mlx5dv_devx_obj_create(n->ctx, in, len, out, sizeof(out));
		CHECK(obj == NULL);
		if (wrong[i].status == NOT_PASSED_ON) {
			CHECK_EQ(errno, EINVAL);
			continue;
		}
		CHECK_EQ(errno, EREMOTEIO);
		CHECK_EQ(out[0], wrong[i].status);
		CHECK_EQ(devx_get(out, 0x20, 32), syndrome_of(&wrong[i]));
	}
	for (size_t shorter = HDR; shorter < len; shorter += 4) {
		CHECK(mlx5dv_devx_obj_create(n->ctx, good, shorter, out, sizeof(out)) == NULL);
		CHECK_EQ(out[0], BAD_INP_LEN);
		CHECK_EQ(devx_get(out, 0x20, 32), 0x10000);
	}
}

static void
case_mkey(void)
{
	static const struct field wrong[] = {
		{0x48, 24, 5, BAD_PARAM},       /* a number chosen by the program */
		{0x80 + 0x03, 3, 1, BAD_PARAM}, /* an access mode that does not exist */
		{0x80 + 0x06, 2, 1, BAD_PARAM}, /* a key of another PCI function */
		{0x80 + 0x06, 2, 2, BAD_PARAM},
		/* a free key that cannot be configured by UMR */
		{0x80 + 0x10, 1, 0, BAD_PARAM},
		/* translation by pages, which the command does not give */
		{0x80 + 0x16, 2, 0, BAD_PARAM},
		{0x80 + 0x16, 2, 1, BAD_PARAM, 0x81}, /* pages are given */
		/* blocks of equal size, which UMR cannot configure */
		{0x80 + 0x16, 2, 3, BAD_PARAM, 0x90},
		{0x80 + 0x20, 24, 5, BAD_PARAM},      /* a key for one QP only */
		{0x80 + 0x68, 24, 0xfffffe, BAD_RES}, /* a PD that does not exist */
		/* octowords for a BSF, but the BSF bit is 0 */
		{0x80 + 0x100, 32, 4, BAD_PARAM},
		/* the BSF bit, but no octowords for a BSF */
		{0x80 + 0x61, 1, 1, BAD_PARAM, 0x80 + 0x100},
		/*
		 * No octowords for the translation, or too many. Adapters refuse 0 with this
		 * syndrome (linux-rdma list).
		 */
		{0x80 + 0x1a0, 32, 0, BAD_PARAM, 0x03bf6f},
		{0x80 + 0x1a0, 32, 0x10001, BAD_PARAM, 0x03bf6f},
		{0x80 + 0x1a0, 32, 0xffffffff, BAD_PARAM, 0x03bf6f},
		{0x80 + 0x1e3, 2, 1, BAD_PARAM}, /* encryption */
		{0x300, 32, 5, BAD_PARAM},       /* a list longer than the octowords allow */
	};
	static const struct field bsf[] = {
		{0x80 + 0x100, 32, 3, BAD_PARAM}, {0x80 + 0x100, 32, 5, BAD_PARAM},
		{0x80 + 0x100, 32, 8, BAD_PARAM}, /* octowords for two BSFs, without encryption */
	};
	struct node n = node_open(255);
	uint8_t in[MKEY_IN] = {0};

	devx_put(in, 0, 16, 0x200);
	devx_put(in, 0x80 + 0x01, 1, 1);
	devx_put(in, 0x80 + 0x10, 1, 1);
	devx_put(in, 0x80 + 0x16, 2, 2);
	devx_put(in, 0x80 + 0x20, 24, 0xffffff);
	devx_put(in, 0x80 + 0x68, 24, pdn_of(n.pd));
	devx_put(in, 0x80 + 0x1a0, 32, 4);
	creation(&n, in, sizeof(in), wrong, sizeof(wrong) / sizeof(wrong[0]));
	/* the greatest number of octowords for the translation */
	devx_put(in, 0x80 + 0x1a0, 32, 0x10000);
	creation(&n, in, sizeof(in), NULL, 0);
	devx_put(in, 0x80 + 0x61, 1, 1); /* with a BSF and octowords for it */
	devx_put(in, 0x80 + 0x100, 32, 4);
	creation(&n, in, sizeof(in), bsf, sizeof(bsf) / sizeof(bsf[0]));
	node_close(&n);
}

static void
case_psv(void)
{
	static const struct field wrong[] = {
		{0x40, 4, 0, NOT_PASSED_ON},
		{0x40, 4, 2, NOT_PASSED_ON}, /* one number out of a range */
		{0x48, 24, 0xfffffe, BAD_RES},
	};
	struct node n = node_open(255);
	uint8_t in[HDR] = {0};

	devx_put(in, 0, 16, 0x600);
	devx_put(in, 0x40, 4, 1);
	devx_put(in, 0x48, 24, pdn_of(n.pd));
	creation(&n, in, sizeof(in), wrong, sizeof(wrong) / sizeof(wrong[0]));
	node_close(&n);
}

/*
 * A mapping must name a QP of the adapter, in any state, and a GID of the adapter's port (struct
 * mlx5_ifc_av_qp_mapping_bits of rdma-core). Otherwise it must be refused.
 */
static void
case_av_map(void)
{
	static const struct field wrong[] = {
		{0x63, 5, 1, BAD_PARAM},
		{0xe0, 32, 0, BAD_RES},
		{0xe0, 32, 0xfffffe, BAD_RES},
		{0x1e4, 8, 200, BAD_PARAM},
	};
	struct node n = node_open(255);
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
	struct ibv_qp *qp = node_qp(&n, K_RC);
	uint32_t qpn = qp->qp_num;
	uint8_t in[80] = {0};
	struct ibv_ah *ah;

	devx_put(in, 0, 16, 0xa00);
	devx_put(in, 0x30, 16, 0x3a);
	devx_put(in, 0xe0, 32, qpn);
	creation(&n, in, sizeof(in), wrong, sizeof(wrong) / sizeof(wrong[0]));
	/*
	 * Maps through libmlx5. A second mapping of the same handle is only a hint, which the
	 * adapter ignores.
	 */
	CHECK_EQ(ibv_query_gid(n.ctx, 1, 0, &attr.grh.dgid), 0);
	ah = ibv_create_ah(n.pd, &attr);
	CHECK(ah != NULL);
	/* libmlx5 returns EINVAL for BAD_RES */
	CHECK_EQ(mlx5dv_map_ah_to_qp(ah, 0xfffffe), EINVAL);
	CHECK_EQ(mlx5dv_map_ah_to_qp(ah, qpn), 0);
	CHECK_EQ(mlx5dv_map_ah_to_qp(ah, 0xfffffe), 0);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	ah = ibv_create_ah(n.pd, &attr);
	CHECK(ah != NULL);
	CHECK_EQ(mlx5dv_map_ah_to_qp(ah, qpn), EINVAL);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	node_close(&n);
}

/* ---- on a queue pair of verbs */

static uint32_t syndrome; /* syndrome of the last command's answer */

static uint8_t
command(struct ibv_qp *qp, uint16_t opcode, uint32_t qpn, const struct field *f, size_t n)
{
	uint8_t in[IN_LEN] = {0}, out[HDR] = {0};
	int rc;

	devx_put(in, 0, 16, opcode);
	devx_put(in, 0x48, 24, qpn);
	for (size_t i = 0; i < n; i++)
		devx_put(in, f[i].bit, f[i].width, f[i].value);
	rc = mlx5dv_devx_qp_modify(qp, in, sizeof(in), out, sizeof(out));
	CHECK(rc == 0 || rc == EREMOTEIO || rc == EINVAL);
	syndrome = devx_get(out, 0x20, 32);
	return rc == EINVAL ? NOT_PASSED_ON : out[0];
}

static void
case_init2init(void)
{
	static const struct field good[] = {{0x80, 32, 1 << 11, OK}},
				  mmo[] = {{0x40, 1, 1, OK}, {0x860, 32, 8, OK}, {0x882, 1, 1, OK}};
	static const struct field wrong[] = {{0x80, 32, 1, BAD_PARAM}, {0x860, 32, 1, BAD_PARAM},
		{0x840, 32, 1, BAD_PARAM},
		{0x860, 32, 8, BAD_PARAM, 0x40} /* the field is set without the QPC extension */};
	struct node n = node_open(255);
	struct ibv_qp *qp = node_qp(&n, K_RC);

	CHECK_EQ(command(qp, 0x50e, qp->qp_num, good, 1), BAD_QP_STATE);
	CHECK_EQ(syndrome, 0x10000 + 0xc0);
	node_ready(&n, qp, K_RC, qp->qp_num, IBV_QPS_INIT);
	CHECK_EQ(command(qp, 0x50e, qp->qp_num, good, 1), OK);
	CHECK_EQ(command(qp, 0x50e, qp->qp_num, mmo, 3), OK);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_EQ(command(qp, 0x50e, qp->qp_num, &wrong[i], 1), wrong[i].status);
		CHECK_EQ(syndrome, syndrome_of(&wrong[i]));
	}
	CHECK_EQ(command(qp, 0x50e, qp->qp_num ^ 1, good, 1), NOT_PASSED_ON);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	node_close(&n);
}

static void
case_rts2rts(void)
{
	static const struct field good[] = {{0x860, 32, 4, OK}};
	static const struct field wrong[][2] = {
		{{0x860, 32, 4, BAD_PARAM, 0x80}, {0x80, 32, 1, OK}},
		{{0x860, 32, 4, BAD_PARAM, 0x840}, {0x840, 32, 1, OK}},
		{{0x860, 32, 0, BAD_PARAM}, {0x40, 1, 1, OK}},
		{{0x860, 32, 2, BAD_PARAM}, {0x40, 1, 1, OK}},
		{{0x860, 32, 1, BAD_PARAM}, {0x40, 1, 1, OK}}, /* only a DCI can have streams */
	};
	struct node n = node_open(255);
	struct ibv_qp *qp = node_qp(&n, K_RC);

	node_ready(&n, qp, K_RC, qp->qp_num, IBV_QPS_RTR);
	CHECK_EQ(command(qp, 0x505, qp->qp_num, good, 1), BAD_QP_STATE);
	CHECK_EQ(node_move(qp, IBV_QPS_RESET), 0);
	node_ready(&n, qp, K_RC, qp->qp_num, IBV_QPS_RTS);
	CHECK_EQ(command(qp, 0x505, qp->qp_num, good, 1), OK);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_EQ(command(qp, 0x505, qp->qp_num, wrong[i], 2), wrong[i][0].status);
		CHECK_EQ(syndrome, syndrome_of(&wrong[i][0]));
	}
	CHECK_EQ(command(qp, 0x505, qp->qp_num ^ 1, good, 1), NOT_PASSED_ON);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	node_close(&n);
}

/*
 * Writes on stream 1. With bad_key, the write names a key that does not exist: the stream goes to
 * error, and later writes on the stream are flushed.
 */
static enum ibv_wc_status
stream_write(struct node *n, struct ibv_qp *dci, const struct node_to *dest, bool bad_key)
{
	return node_stream_write(n, dci, dest, n, 4096, 1, bad_key);
}

/*
 * A stream must leave the error state only by a command that sets the stream's mask bit and names
 * the stream in the QPC extension.
 */
static void
case_streams(void)
{
	static const struct field wrong[][3] = {
		{{0x860, 32, 1, OK}, {0x40, 1, 0, OK}, {0x890, 16, 1, OK}},
		{{0x860, 32, 0, OK}, {0x40, 1, 1, OK}, {0x890, 16, 1, OK}},
		{{0x860, 32, 2, OK}, {0x40, 1, 1, OK}, {0x890, 16, 1, OK}},
		{{0x860, 32, 5, OK}, {0x40, 1, 1, OK}, {0x890, 16, 1, OK}},
		{{0x860, 32, 1, OK}, {0x40, 1, 1, OK}, {0x890, 16, 2, OK}},
	};
	static const struct field good[] = {{0x860, 32, 1, OK}, {0x40, 1, 1, OK},
		{0x890, 16, 1, OK}};
	struct node n = node_open(255);
	struct ibv_qp *dci = node_stream_dci(&n, 2), *dct = node_qp(&n, K_DCT);
	struct ibv_qp_attr attr = node_attr(&n, 0);
	struct node_to dest = {.ah = ibv_create_ah(n.pd, &attr.ah_attr)};

	CHECK(dest.ah != NULL);
	node_ready(&n, dct, K_DCT, 0, IBV_QPS_RTR);
	dest.qpn = dct->qp_num;
	node_ready(&n, dci, K_DCI, 0, IBV_QPS_RTS);
	CHECK_EQ(stream_write(&n, dci, &dest, true), IBV_WC_LOC_PROT_ERR);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_EQ(command(dci, 0x505, dci->qp_num, wrong[i], 3), BAD_PARAM);
		CHECK_EQ(stream_write(&n, dci, &dest, false), IBV_WC_WR_FLUSH_ERR);
	}
	CHECK_EQ(command(dci, 0x505, dci->qp_num, good, 3), OK);
	CHECK_EQ(stream_write(&n, dci, &dest, false), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_destroy_ah(dest.ah), 0);
	CHECK_EQ(ibv_destroy_qp(dci), 0);
	CHECK_EQ(ibv_destroy_qp(dct), 0);
	node_close(&n);
}

/*
 * On an adapter without the DMA engine (SOFTHCA_MAX_MEMCPY=0), commands that enable this engine for
 * a QP must be refused.
 */
static void
case_no_mmo(void)
{
	static const struct field other[] = {{0x80, 32, 1 << 11, OK}},
				  mmo[] = {{0x40, 1, 1, OK}, {0x860, 32, 8, OK}, {0x882, 1, 1, OK}};
	struct node n = node_open(255);
	struct ibv_qp *qp = node_qp(&n, K_RC);

	node_ready(&n, qp, K_RC, qp->qp_num, IBV_QPS_INIT);
	CHECK_EQ(command(qp, 0x50e, qp->qp_num, other, 1), OK);
	CHECK_EQ(command(qp, 0x50e, qp->qp_num, mmo, 3), BAD_PARAM);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	node_close(&n);
}

/* ---- doorbell pages */

static int
query_uar(struct ibv_context *ctx, uint32_t page, uint32_t *known_as)
{
	struct raw_ioctl c = raw_start(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_UAR);

	raw_u32(&c, MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, page);
	raw_out(&c, MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, known_as, sizeof(*known_as));
	return raw_run(ctx->cmd_fd, &c);
}

/* Commands must accept a doorbell page only while the program has it allocated. */
static void
case_uar(void)
{
	struct node n = node_open(255);
	struct mlx5dv_devx_uar *uar = mlx5dv_devx_alloc_uar(n.ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	uint32_t known_as = 0xabcdef;

	CHECK(uar != NULL);
	CHECK_EQ(query_uar(n.ctx, 0x7ffff0, &known_as), EINVAL);
	CHECK_EQ(query_uar(n.ctx, UINT32_MAX, &known_as), EINVAL);
	CHECK_EQ(known_as, 0xabcdef);
	CHECK_EQ(query_uar(n.ctx, uar->page_id, &known_as), 0);
	CHECK_EQ(known_as, uar->page_id);
	mlx5dv_devx_free_uar(uar);
	node_close(&n);
}

/*
 * A firmware command for a QP must be refused for a DCT and for a raw packet QP, because mlx5_ib
 * does not pass it on (devx_is_valid_obj_id()).
 */
static void
case_no_queue_pair(void)
{
	static const struct field init[] = {{0xc0 + 0xc0 + 0x128, 8, 1, OK}}; /* port number */
	static const enum kind kinds[] = {K_DCT, K_RAW};
	struct node n = node_open(255);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct ibv_qp *qp = node_may(&n, kinds[i]) ? node_qp(&n, kinds[i]) : NULL;
		uint8_t in[HDR] = {0}, out[IN_LEN];

		if (qp == NULL)
			continue;
		node_ready(&n, qp, kinds[i], 0, IBV_QPS_RTR);
		CHECK_EQ(command(qp, 0x502, qp->qp_num, init, 1), NOT_PASSED_ON);
		CHECK_EQ(command(qp, 0x507, qp->qp_num, NULL, 0), NOT_PASSED_ON);
		devx_put_query_qp(in, qp->qp_num);
		CHECK_EQ(mlx5dv_devx_qp_query(qp, in, sizeof(in), out, sizeof(out)), EINVAL);
		CHECK_EQ(ibv_destroy_qp(qp), 0);
	}
	node_close(&n);
}

/*
 * A command without an object must be passed on only if it is a query, as by the kernel: all other
 * commands need a method of their own.
 */
static void
case_general(void)
{
	/* Opcodes of devx_is_general_cmd() of mlx5_ib, which also allows 0xb00 to 0xcff. */
	static const uint16_t passed_on[] = {0x100, 0x101, 0x10a, 0x750, 0x752, 0x754, 0x760, 0x762,
		0x76f, 0x770, 0x80a, 0x80d, 0x822, 0x824, 0x826, 0x842};
	const size_t n_passed = sizeof(passed_on) / sizeof(passed_on[0]);
	uint8_t in[IN_LEN] = {0}, out[HDR + 4096] = {0};
	struct node n = node_open(255);

	devx_put(in, 0, 16, 0x100); /* QUERY_HCA_CAP */
	CHECK_EQ(mlx5dv_devx_general_cmd(n.ctx, in, HDR, out, sizeof(out)), 0);
	for (uint32_t opcode = 0, i = 0; opcode < 0xd10; opcode++) {
		bool passed = opcode >= 0xb00 && opcode < 0xd00;
		int rc;

		if (i < n_passed && opcode == passed_on[i]) {
			passed = true;
			i++;
		}
		devx_put(in, 0, 16, opcode);
		rc = mlx5dv_devx_general_cmd(n.ctx, in, HDR, out, sizeof(out));
		/*
		 * A command that is passed on gets an answer, or an error if the adapter does not
		 * have the command. ALLOW_OTHER_VHCA_ACCESS is longer than a header.
		 */
		CHECK(rc == 0 || errno == (passed ? EREMOTEIO : EINVAL));
		CHECK(rc != 0 || passed);
		CHECK(rc == 0 || !passed || out[0] == (opcode == 0xb16 ? BAD_INP_LEN : BAD_OP));
	}
	node_close(&n);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"a command without an object is passed on only if it is a query", case_general},
		{"a command for a queue pair is not passed on for a DCT or a raw queue pair",
			case_no_queue_pair},
		{"an indirect key with one field wrong is refused", case_mkey},
		{"a PSV with one field wrong is refused", case_psv},
		{"an address handle is mapped to a queue pair that exists", case_av_map},
		{"INIT2INIT changes its fields of the queue pair that it names, in INIT",
			case_init2init},
		{"RTS2RTS changes its fields, in RTS", case_rts2rts},
		{"a stream leaves the error state by its own bit and number", case_streams},
		{"a doorbell page that the program does not have is refused", case_uar},
	};
	static const struct check_case no_mmo_cases[] = {
		{"without the DMA engine, no queue pair can use it", case_no_mmo},
	};
	const char *max_memcpy = getenv("SOFTHCA_MAX_MEMCPY");

	if (max_memcpy != NULL && strcmp(max_memcpy, "0") == 0)
		return check_main(no_mmo_cases, 1, argc, argv);

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
