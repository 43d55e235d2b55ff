/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Firmware commands on the emulated adapter, through stock libmlx5: user memory, CQs and QPs whose
 * memory the program lays out itself, and fields that the firmware refuses.
 *
 * Fields are set by their bit offset in the structures of the programming manual, not by the
 * adapter's own tables.
 */
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "raw_ioctl.h"
#include "softhca_devx_side.h"

enum status {
	OK = 0,
	BAD_OP = 2,
	BAD_PARAM = 3,
	BAD_RES = 5,
	BAD_QP_STATE = 0x10,
	BAD_INP_LEN = 0x50
};

/* ---------------------------------------------------------------- refused commands */

struct wrong {
	unsigned int bit, width;
	uint32_t value;
	enum status status;
	unsigned int
		/*
		 * The field that the syndrome must name; 0: the field at `bit`. A value above
		 * 0xffff is the whole syndrome.
		 */
		named;
};

/*
 * Checks the syndrome: 0x10000 plus the bit offset of the invalid field, or, if it is known, the
 * syndrome that adapters return (doc/softhca-reference.md).
 */
static void
expect_answer(const uint8_t *out, const struct wrong *w)
{
	uint32_t syndrome =
		w->named > 0xffff ? w->named : 0x10000 + (w->named != 0 ? w->named : w->bit);

	if (devx_get(out, 0, 8) != w->status || devx_get(out, 0x20, 32) != syndrome)
		fprintf(stderr, "bit 0x%x: status 0x%x, syndrome 0x%x\n", w->bit,
			devx_get(out, 0, 8), devx_get(out, 0x20, 32));
	CHECK_EQ(devx_get(out, 0, 8), w->status);
	CHECK_EQ(devx_get(out, 0x20, 32), syndrome);
}

/* Sends a valid command with one field made invalid. */
static void
expect_refused(struct side *s, const uint8_t *good, size_t len, const struct wrong *w)
{
	uint8_t in[512], out[HDR];

	memcpy(in, good, len);
	devx_put(in, w->bit, w->width, w->value);
	CHECK(create(s, in, len, out) == NULL);
	expect_answer(out, w);
}

static void
case_refused(void)
{
	static const struct wrong cq[] = {
		{0x80 + 0x08, 3, 3, BAD_PARAM},        /* an unknown size of CQEs */
		{0x80 + 0x0b, 1, 1, BAD_PARAM},        /* the collapsed bit */
		{0x80 + 0x12, 2, 2, BAD_PARAM},        /* an unknown format of mini CQEs */
		{0x80 + 0x1e, 2, 1, BAD_PARAM},        /* another layout of compressed CQEs */
		{0x80 + 0x20, 32, 0x7fffff, BAD_RES},  /* a umem that does not exist */
		{0x80 + 0x63, 5, 31, BAD_PARAM},       /* too many CQEs */
		{0x80 + 0x63, 5, 9, BAD_PARAM, 0x2c0}, /* more CQEs than the memory holds */
		{0x80 + 0x68, 24, 0x7fffff, BAD_RES},  /* a UAR that does not exist */
		{0x80 + 0xb8, 8, 0, BAD_RES},          /* an EQ that does not exist */
		{0x80 + 0xb8, 8, 200, BAD_RES},        /* an EQ that does not exist */
		/* The doorbell record is not aligned. */
		{0x80 + 0x1e0, 32, 4, BAD_PARAM, 0x80 + 0x20},
		/* The doorbell record is beyond the end of the memory. */
		{0x80 + 0x1e0, 32, MEM_LEN, BAD_PARAM, 0x80 + 0x20},
		{0x80 + 0x1c0, 32, 0xffffffff, BAD_PARAM, 0x80 + 0x20},
		{0x280, 32, 0xffffffff, BAD_PARAM, 0x2c0},
		{0x2a0, 32, 32, BAD_PARAM, 0x2c0},
		{0x2a0, 32, MEM_LEN - 64, BAD_PARAM, 0x2c0},
		{0x2c0, 32, 0, BAD_RES},
	};
	static const struct wrong qp[] = {
		{0x80, 32, 1, BAD_PARAM},
		{0xc0 + 0x08, 8, 3, BAD_PARAM},  /* an XRC QP */
		{0xc0 + 0x08, 8, 4, BAD_PARAM},  /* a service type that does not exist */
		{0xc0 + 0x3e3, 5, 1, BAD_PARAM}, /* DCI streams on an RC QP */
		{0xc0 + 0x403, 5, 1, BAD_PARAM},
		{0xc0 + 0x28, 24, 0xffffff, BAD_RES},
		{0xc0 + 0x51, 4, 15, BAD_PARAM, 0x840}, /* more WQEBBs than the memory holds */
		{0xc0 + 0x49, 4, 15, BAD_PARAM, 0x840},
		{0xc0 + 0x4d, 3, 7, BAD_PARAM}, /* receive WQEs of 2 KiB */
		{0xc0 + 0x68, 24, 0, BAD_RES},
		{0xc0 + 0x3e8, 24, 0, BAD_RES},
		{0xc0 + 0x4e8, 24, 0, BAD_RES},
		{0xc0 + 0x520, 32, DB_AT + 4, BAD_PARAM, 0xc0 + 0x720},
		{0xc0 + 0x565, 3, 2, BAD_PARAM},             /* an rq_type that does not exist */
		{0xc0 + 0x565, 3, 1, BAD_RES, 0xc0 + 0x568}, /* an SRQ that does not exist */
		{0xc0 + 0x720, 32, 0, BAD_RES},
		{0x840, 32, 0, BAD_RES},
	};
	uint8_t out[HDR], in[CQ_IN] = {0};
	struct side s;

	side_init(&s);
	for (size_t i = 0; i < sizeof(cq) / sizeof(cq[0]); i++)
		expect_refused(&s, s.cq_in, CQ_IN, &cq[i]);
	for (size_t i = 0; i < sizeof(qp) / sizeof(qp[0]); i++)
		expect_refused(&s, s.qp_in, QP_IN, &qp[i]);
	/* The adapter writes CQEs, so their memory must be writable. */
	expect_refused(&s, s.cq_in, CQ_IN,
		&(struct wrong){0x2c0, 32, s.read_only->umem_id, BAD_RES});
	/*
	 * Sends the command with each length that is too short. The adapter may read no byte after
	 * the command.
	 */
	for (size_t len = HDR; len < CQ_IN; len++) {
		CHECK(create(&s, s.cq_in, len, out) == NULL && out[0] == BAD_INP_LEN);
		CHECK(create(&s, s.qp_in, len, out) == NULL && out[0] == BAD_INP_LEN);
	}
	CHECK(create(&s, s.cq_in, HDR - 1, out) == NULL && errno == EINVAL);
	/*
	 * An opcode that the kernel passes on but the adapter does not have, and an unknown opcode.
	 */
	devx_put(in, 0, 16, 0x900);
	CHECK(create(&s, in, CQ_IN, out) == NULL && out[0] == BAD_OP);
	devx_put(in, 0, 16, 0xfff0);
	CHECK(create(&s, in, CQ_IN, out) == NULL && errno == EINVAL && out[0] == 0);
	side_fini(&s);
}

/* Each combination of command and field is logged once, however often the command is refused. */
static void
case_told_once(void)
{
	const struct wrong many = {0x80 + 0x63, 5, 30, BAD_PARAM},
			   other = {0x80 + 0xb9, 7, 77, BAD_RES};
	int log = memfd_create("log", MFD_CLOEXEC), saved = dup(STDERR_FILENO);
	static char text[65536];
	unsigned int lines = 0;
	struct side s;

	side_init(&s);
	CHECK(log >= 0 && saved >= 0 && dup2(log, STDERR_FILENO) == STDERR_FILENO);
	for (int i = 0; i < 3; i++) {
		uint8_t in[CQ_IN], out[HDR];

		memcpy(in, s.cq_in, CQ_IN);
		devx_put(in, many.bit, many.width, many.value);
		CHECK(create(&s, in, CQ_IN, out) == NULL);
		memcpy(in, s.cq_in, CQ_IN);
		devx_put(in, other.bit, other.width, other.value);
		CHECK(create(&s, in, CQ_IN, out) == NULL);
	}
	CHECK(dup2(saved, STDERR_FILENO) == STDERR_FILENO);
	CHECK(pread(log, text, sizeof(text) - 1, 0) >= 0);
	for (const char *at = text; (at = strstr(at, "firmware command 0x400 is refused")) != NULL;
		at++)
		lines++;
	CHECK_EQ(lines, 2);
	close(log);
	close(saved);
	side_fini(&s);
}

/*
 * The kernel passes on only commands with opcodes that its devx_is_obj_create_cmd() lists. All
 * other opcodes must be refused. The adapter's firmware has some of the listed commands.
 */
static void
case_opcodes(void)
{
	static const uint16_t makes[] = {0x200, 0x400, 0x500, 0x600, 0x700, 0x705, 0x710, 0x717,
		0x771, 0x782, 0x800, 0x806, 0x80e, 0x816, 0x827, 0x829, 0x900, 0x904, 0x908, 0x90c,
		0x912, 0x916, 0x930, 0x933, 0x936, 0x939, 0x93d, 0x940, 0xa00};
	const size_t n = sizeof(makes) / sizeof(makes[0]);
	uint8_t in[CQ_IN] = {0}, out[HDR];
	struct side s;

	side_init(&s);
	for (uint32_t opcode = 0, i = 0; opcode < 0xa80; opcode++) {
		/* Objects created by these commands are only a number. */
		bool plain =
			opcode == 0x771 || opcode == 0x800 || opcode == 0x816 || opcode == 0x939;
		bool known = opcode == 0x200 || opcode == 0x400 || opcode == 0x500 ||
			     opcode == 0x600 || opcode == 0x710 || opcode == 0x717 ||
			     opcode == 0x90c || opcode == 0x912;
		struct mlx5dv_devx_obj *obj;

		devx_put(in, 0, 16, opcode);
		if (opcode == 0xa00) { /* a general object of a type that does not exist */
			devx_put(in, 0x30, 16, 0x7777);
			CHECK(create(&s, in, CQ_IN, out) == NULL && errno == EREMOTEIO);
			CHECK_EQ(out[0], BAD_PARAM);
			CHECK_EQ(devx_get(out, 0x20, 32), 0x10030);
			devx_put(in, 0x30, 16, 0);
			i++;
			continue;
		}
		obj = create(&s, in, CQ_IN, out);
		CHECK_EQ(obj != NULL, plain);
		if (plain) {
			i++;
			CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
		} else if (i < n && opcode == makes[i]) {
			i++;
			CHECK(known || (errno == EREMOTEIO && out[0] == BAD_OP));
			CHECK(known || devx_get(out, 0x20, 32) == 0x10000);
		} else {
			CHECK_EQ(errno, EINVAL);
			CHECK_EQ(out[0], 0);
		}
	}
	side_fini(&s);
}

static int
devx_destroy(struct ibv_context *ctx, uint32_t handle)
{
	struct raw_ioctl c = raw_start(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY);

	raw_handle(&c, MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, handle);
	return raw_run(ctx->cmd_fd, &c);
}

/* The method that destroys objects of firmware commands refuses the handles of verbs objects. */
static void
case_not_by_command(void)
{
	struct side s;

	side_init(&s);
	CHECK_EQ(devx_destroy(s.ctx, s.pd->handle), ENOENT);
	CHECK_EQ(devx_destroy(s.ctx, s.mr->handle), ENOENT);
	CHECK_EQ(ibv_dereg_mr(s.mr), 0);
	s.mr = ibv_reg_mr(s.pd, s.mem + DATA_AT, 4096, PAIR_ALL);
	CHECK(s.mr != NULL);
	side_fini(&s);
}

/*
 * If the answer cannot be written, the object is destroyed, and the objects that it named are not
 * in use.
 */
static void
case_no_answer(void)
{
	struct raw_ioctl c = raw_start(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE);
	struct raw_ioctl reg = raw_start(MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG);
	struct side s;

	side_init(&s);
	raw_handle(&c, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, 0);
	raw_attr(&c, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, CQ_IN, (uintptr_t)s.cq_in);
	raw_attr(&c, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, HDR, 16);
	CHECK_EQ(raw_run(s.ctx->cmd_fd, &c), EFAULT);
	raw_handle(&reg, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, 0);
	raw_u64(&reg, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, (uintptr_t)s.mem);
	raw_u64(&reg, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, MEM_LEN);
	raw_attr(&reg, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, 4, 16);
	CHECK_EQ(raw_run(s.ctx->cmd_fd, &reg), EFAULT);
	/* The objects that the failed calls named can be destroyed: they are not in use. */
	side_fini(&s);
}

/*
 * The kernel refuses a query in the modify method, a modify command in the query method, and a
 * query of a QP in the query method of a CQ.
 */
static void
case_other_method(void)
{
	uint8_t in[MOD_IN] = {0}, out[MOD_IN];
	struct side s;

	side_init(&s);
	devx_put_query_qp(in, s.qpn);
	CHECK(mlx5dv_devx_obj_modify(s.qp, in, MOD_IN, out, MOD_IN) != 0 && errno == EINVAL);
	CHECK(mlx5dv_devx_obj_query(s.cq, in, MOD_IN, out, MOD_IN) != 0 && errno == EINVAL);
	devx_put(in, 0, 16, 0x507); /* 2ERR_QP */
	CHECK(mlx5dv_devx_obj_query(s.qp, in, MOD_IN, out, MOD_IN) != 0 && errno == EINVAL);
	side_fini(&s);
}

static void
expect_cq(struct side *s, struct mlx5dv_devx_obj *obj, uint32_t cqn, uint32_t size, uint32_t oi)
{
	uint8_t in[HDR] = {0}, out[(0x80 + 0x200) / 8], want[sizeof(out)] = {0};

	devx_put(in, 0, 16, 0x402); /* QUERY_CQ */
	devx_put(in, 0x48, 24, cqn);
	CHECK_EQ(mlx5dv_devx_obj_query(obj, in, HDR, out, sizeof(out)), 0);
	devx_put(want, 0x80 + 0x08, 3, size);
	devx_put(want, 0x80 + 0x0e, 1, oi);
	devx_put(want, 0x80 + 0x63, 5, 3);
	devx_put(want, 0x80 + 0x68, 24, s->uar->page_id);
	CHECK(check_bytes(out, want, sizeof(out), "QUERY_CQ"));
}

/*
 * A CQ must have the requested number of entries: with CQEs of 64 and 128 bytes, with and without
 * padding, on each event queue, and with overrun ignored.
 */
static void
case_cqs(void)
{
	uint8_t in[CQ_IN], out[HDR];
	struct side s;

	side_init(&s);
	memcpy(in, s.cq_in, CQ_IN);
	devx_put(in, 0x80 + 0x63, 5, 3);
	for (uint32_t i = 0; i < 8; i++) {
		struct mlx5dv_devx_obj *obj;

		devx_put(in, 0x80 + 0x08, 3, i % 3);
		devx_put(in, 0x80 + 0x0e, 1, i & 1);
		devx_put(in, 0x80 + 0xb8, 8, i + 1); /* EQ */
		obj = create(&s, in, CQ_IN, out);
		CHECK(obj != NULL);
		expect_cq(&s, obj, devx_get(out, 0x48, 24), i % 3, i & 1);
		CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	}
	expect_refused(&s, s.cq_in, CQ_IN, &(struct wrong){0x80 + 0xb8, 8, 9, BAD_RES});
	side_fini(&s);
}

static void
case_umem(void)
{
	struct ibv_context *ctx = pair_open(0);
	uint8_t *mem = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct mlx5dv_devx_umem_in in = {.addr = mem, .size = 8192, .pgsz_bitmap = 1 << 11};
	struct mlx5dv_devx_umem *umem;
	uint32_t eqn;

	CHECK(mem != MAP_FAILED && mprotect(mem, 4096, PROT_READ) == 0);
	CHECK(mlx5dv_devx_umem_reg(ctx, mem, 0, 0) == NULL && errno == EINVAL);
	CHECK(mlx5dv_devx_umem_reg(ctx, (void *)(UINTPTR_MAX - 4095), 8192, 0) == NULL &&
		errno == EINVAL);
	CHECK(mlx5dv_devx_umem_reg(ctx, mem, 8192, 1 << 10) == NULL && errno == EINVAL);
	CHECK(mlx5dv_devx_umem_reg(ctx, mem, 8192, IBV_ACCESS_REMOTE_WRITE) == NULL &&
		errno == EINVAL);
	CHECK(mlx5dv_devx_umem_reg(ctx, mem, 8192, IBV_ACCESS_LOCAL_WRITE) == NULL &&
		errno == EFAULT);
	CHECK(mlx5dv_devx_umem_reg_ex(ctx, &in) == NULL && errno == EINVAL);
	in.pgsz_bitmap = 1 << 12;
	umem = mlx5dv_devx_umem_reg_ex(ctx, &in);
	CHECK(umem != NULL && umem->umem_id != 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(umem), 0);
	CHECK(mlx5dv_devx_query_eqn(ctx, 1000, &eqn) != 0);
	munmap(mem, 8192);
	CHECK(mlx5dv_devx_umem_reg(ctx, mem, 8192, 0) == NULL && errno == EFAULT);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* ---------------------------------------------------------------- states and traffic */

/* the change that modify() makes to its next command; NULL: no change */
static const struct wrong *spoil;

static enum status
modify(struct side *s, uint16_t opcode, uint8_t in[MOD_IN])
{
	uint8_t out[HDR] = {0};
	int rc;

	devx_put(in, 0, 16, opcode);
	devx_put(in, 0x48, 24, s->qpn);
	if (spoil != NULL)
		devx_put(in, spoil->bit, spoil->width, spoil->value);
	rc = mlx5dv_devx_obj_modify(s->qp, in, MOD_IN, out, HDR);
	CHECK_EQ(rc == 0, out[0] == 0);
	if (spoil != NULL && rc != 0)
		expect_answer(out, spoil);
	return (enum status)out[0];
}

static enum status
to_init(struct side *s, uint32_t port)
{
	uint8_t in[MOD_IN] = {0};

	devx_put(in, 0xc0 + 0x490, 3, 7); /* read, write, atomic */
	devx_put(in, 0xc0 + 0xc0 + 0x128, 8, port);
	return modify(s, 0x502, in);
}

static enum status
to_rtr(struct side *s, uint32_t qpn, uint32_t gid_index)
{
	uint8_t in[MOD_IN] = {0};
	union ibv_gid gid;

	CHECK_EQ(ibv_query_gid(s->ctx, 1, 1, &gid), 0);
	devx_put(in, 0xc0 + 0x40, 3, IBV_MTU_1024);
	devx_put(in, 0xc0 + 0xa8, 24, qpn);
	devx_put(in, 0xc0 + 0x4a8, 24, 0x1234);
	devx_put(in, 0xc0 + 0x4a3, 5, 12);
	devx_put(in, 0xc0 + 0x488, 3, 2);
	devx_put(in, 0xc0 + 0xc0 + 0x128, 8, 1);
	devx_put(in, 0xc0 + 0xc0 + 0x48, 8, gid_index);
	devx_put(in, 0xc0 + 0xc0 + 0x30, 16, 0x8765);  /* LID */
	devx_put(in, 0xc0 + 0xc0 + 0x58, 8, 33);       /* hop limit */
	devx_put(in, 0xc0 + 0xc0 + 0x124, 4, 5);       /* SL */
	devx_put(in, 0xc0 + 0xc0 + 0x130, 16, 0x0253); /* MAC */
	devx_put(in, 0xc0 + 0xc0 + 0x140, 32, 0x48000001);
	memcpy(in + (0xc0 + 0xc0 + 0x80) / 8, gid.raw, 16);
	return modify(s, 0x503, in);
}

static enum status
to_rts(struct side *s)
{
	uint8_t in[MOD_IN] = {0};

	devx_put(in, 0xc0 + 0xc0 + 0x40, 5, 14);
	devx_put(in, 0xc0 + 0x38d, 3, 6);
	devx_put(in, 0xc0 + 0x390, 3, 5);
	devx_put(in, 0xc0 + 0x3c8, 24, 0x4321);
	devx_put(in, 0xc0 + 0x388, 3, 3);
	return modify(s, 0x504, in);
}

/* The firmware's numbers of states: RESET 0, INIT 1, RTR 2, RTS 3, ERR 6. */
static void
expect_state(struct side *s, uint32_t state)
{
	uint8_t out[MOD_IN];

	side_query(s->qp, s->qpn, out);
	CHECK_EQ(devx_get(out, 0xc0, 4), state);
}

/*
 * In RTS the query must return each field that was set and the objects that the QP names. No other
 * bit may be set.
 */
static void
expect_context(struct side *s, bool ethernet)
{
	uint8_t out[MOD_IN], want[MOD_IN] = {0};
	union ibv_gid gid;

	CHECK_EQ(ibv_query_gid(s->ctx, 1, 1, &gid), 0);
	devx_put(want, 0xc0, 4, 3);
	devx_put(want, 0xc0 + 0x28, 24, s->pdn);
	devx_put(want, 0xc0 + 0x49, 4, 4); /* sizes of the queues, as at their creation */
	devx_put(want, 0xc0 + 0x51, 4, 4);
	devx_put(want, 0xc0 + 0x88, 24, 0xabcde);
	devx_put(want, 0xc0 + 0x40, 3, IBV_MTU_1024);
	devx_put(want, 0xc0 + 0x68, 24, s->uar->page_id);
	devx_put(want, 0xc0 + 0xa8, 24, s->qpn);
	devx_put(want, 0xc0 + 0xc0 + 0x28, 1, ethernet); /* GRH, which Ethernet always has */
	devx_put(want, 0xc0 + 0xc0 + 0x30, 16, 0x8765);
	devx_put(want, 0xc0 + 0xc0 + 0x40, 5, 14);
	devx_put(want, 0xc0 + 0xc0 + 0x48, 8, 1);
	devx_put(want, 0xc0 + 0xc0 + 0x58, 8, 33);
	memcpy(want + (0xc0 + 0xc0 + 0x80) / 8, gid.raw, 16);
	devx_put(want, 0xc0 + 0xc0 + 0x124, 4, 5);
	devx_put(want, 0xc0 + 0xc0 + 0x128, 8, 1);
	devx_put(want, 0xc0 + 0xc0 + 0x130, 16, 0x0253);
	devx_put(want, 0xc0 + 0xc0 + 0x140, 32, 0x48000001);
	devx_put(want, 0xc0 + 0x388, 3, 3);
	devx_put(want, 0xc0 + 0x38d, 3, 6);
	devx_put(want, 0xc0 + 0x390, 3, 5);
	devx_put(want, 0xc0 + 0x3c8, 24, 0x4321);
	devx_put(want, 0xc0 + 0x3e8, 24, s->cqn);
	devx_put(want, 0xc0 + 0x488, 3, 2);
	devx_put(want, 0xc0 + 0x490, 3, 7);
	devx_put(want, 0xc0 + 0x4a3, 5, 12);
	devx_put(want, 0xc0 + 0x4a8, 24, 0x1234);
	devx_put(want, 0xc0 + 0x4e8, 24, s->cqn);
	side_query(s->qp, s->qpn, out);
	CHECK(check_bytes(out, want, sizeof(out), "QUERY_QP"));
}

static void
case_states(void)
{
	uint8_t out[MOD_IN], in[MOD_IN] = {0};
	struct side s;

	side_init(&s);
	CHECK_EQ(to_rtr(&s, s.qpn, 1), BAD_QP_STATE);
	CHECK_EQ(to_rts(&s), BAD_QP_STATE);
	CHECK_EQ(to_init(&s, 0), BAD_PARAM);
	CHECK_EQ(to_init(&s, 9), BAD_PARAM);
	expect_state(&s, 0);
	CHECK_EQ(to_init(&s, 1), OK);
	CHECK_EQ(to_init(&s, 1), BAD_QP_STATE);
	CHECK_EQ(to_rtr(&s, s.qpn, 200), BAD_PARAM); /* the GID entry is empty */
	CHECK_EQ(to_rtr(&s, s.qpn, 1), OK);
	CHECK_EQ(to_rts(&s), OK);
	expect_context(&s, true);
	CHECK_EQ(modify(&s, 0x507, in), OK);
	expect_state(&s, 6);
	CHECK_EQ(modify(&s, 0x50a, in), OK);
	expect_state(&s, 0);
	/* Refused: the command names another QP than the object, or the object is a CQ. */
	devx_put(in, 0, 16, 0x50a);
	devx_put(in, 0x48, 24, s.qpn + 1);
	CHECK(mlx5dv_devx_obj_modify(s.qp, in, MOD_IN, out, HDR) != 0 && errno == EINVAL);
	CHECK(mlx5dv_devx_obj_modify(s.cq, in, MOD_IN, out, HDR) != 0 && errno == EINVAL);
	side_fini(&s);
}

static enum status
step(struct side *s, uint16_t opcode)
{
	return opcode == 0x502 ? to_init(s, 1) : opcode == 0x503 ? to_rtr(s, s->qpn, 1) : to_rts(s);
}

/*
 * Each field of a transition that has a range gets a value out of range. The command is refused,
 * and the QP keeps its state.
 */
static void
case_ranges(void)
{
	static const struct {
		uint16_t opcode;
		struct wrong field;
	} wrong[] = {
		{0x502, {0x80, 32, 1, BAD_PARAM}},                    /* an optional field */
		{0x502, {0xc0 + 0xc0 + 0x10, 16, 0x7fff, BAD_PARAM}}, /* P_Key index */
		/*
		 * A port number out of range: adapters refuse it with this syndrome (linux-rdma
		 * list).
		 */
		{0x502, {0xc0 + 0xc0 + 0x128, 8, 0xff, BAD_PARAM, 0x177405}},
		{0x503, {0x80, 32, 1, BAD_PARAM}}, /* an optional field */
		{0x502, {0xc0 + 0xc0 + 0x128, 8, 0, BAD_PARAM, 0x177405}},
		{0x503, {0xc0 + 0xc0 + 0x128, 8, 9, BAD_PARAM}},      /* port */
		{0x503, {0xc0 + 0xc0 + 0x10, 16, 0x7fff, BAD_PARAM}}, /* P_Key index */
		{0x503, {0xc0 + 0x40, 3, 0, BAD_PARAM}},              /* MTU */
		{0x503, {0xc0 + 0x40, 3, 6, BAD_PARAM}},              /* MTU */
		{0x503, {0xc0 + 0x488, 3, 5, BAD_PARAM}}, /* 32 reads and atomics as responder */
		{0x504, {0x80, 32, 1, BAD_PARAM}},        /* an optional field */
		{0x504, {0xc0 + 0x388, 3, 5, BAD_PARAM}}, /* 32 as requester */
	};
	uint8_t in[MOD_IN] = {0}, out[MOD_IN];
	struct side s;

	side_init(&s);
	for (uint16_t opcode = 0x502; opcode <= 0x504; opcode++) {
		for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			if (wrong[i].opcode != opcode)
				continue;
			spoil = &wrong[i].field;
			CHECK_EQ(step(&s, opcode), wrong[i].field.status);
			spoil = NULL;
			expect_state(&s, opcode - 0x502u);
		}
		CHECK_EQ(step(&s, opcode), OK);
	}
	/*
	 * Refused: a command that is too short, and queries that name another QP or CQ than the
	 * object.
	 */
	devx_put(in, 0, 16, 0x502);
	devx_put(in, 0x48, 24, s.qpn);
	CHECK(mlx5dv_devx_obj_modify(s.qp, in, HDR, out, HDR) != 0);
	CHECK_EQ(out[0], BAD_INP_LEN);
	devx_put_query_qp(in, s.qpn + 1);
	CHECK(mlx5dv_devx_obj_query(s.qp, in, HDR, out, MOD_IN) != 0 && errno == EINVAL);
	devx_put(in, 0, 16, 0x402);
	devx_put(in, 0x48, 24, s.cqn + 1);
	CHECK(mlx5dv_devx_obj_query(s.cq, in, HDR, out, MOD_IN) != 0 && errno == EINVAL);
	side_fini(&s);
}

static void
connect_sides(struct side *a, struct side *b)
{
	CHECK_EQ(to_init(a, 1), OK);
	CHECK_EQ(to_rtr(a, b->qpn, 1), OK);
	CHECK_EQ(to_rts(a), OK);
}

/*
 * Sends more messages than any of the queues holds. Each message has its own bytes, and must arrive
 * unchanged.
 */
static void
case_traffic(void)
{
	static struct side a, b;
	const uint8_t *cqe;
	uint8_t in[HDR] = {0}, out[(0x80 + 0x200) / 8];

	side_init(&a);
	side_init(&b);
	connect_sides(&a, &b);
	connect_sides(&b, &a);
	for (uint32_t i = 0; i < 100; i++) {
		uint8_t *from = a.mem + DATA_AT + i % 16 * 64;

		for (unsigned int k = 0; k < 64; k++)
			from[k] = (uint8_t)(i * 7 + k);
		post_recv(&b, (uint16_t)i);
		post_send(&a, 0xc0ffee00 + i);
		cqe = poll_one(&a);
		CHECK_EQ(cqe[63] >> 4, 0);
		CHECK_EQ(devx_get(cqe, 60 * 8, 16), i);
		cqe = poll_one(&b);
		CHECK_EQ(cqe[63] >> 4, 3); /* a receive with immediate */
		CHECK_EQ(devx_get(cqe, 36 * 8, 32), 0xc0ffee00 + i);
		CHECK_EQ(devx_get(cqe, 44 * 8, 32), 64);
		CHECK_EQ(devx_get(cqe, 32 * 8 + 8, 24), 0xabcde);
		CHECK_EQ(memcmp(from, b.mem + DATA_AT + 2048 + i % 16 * 64, 64), 0);
	}
	devx_put(in, 0, 16, 0x402); /* QUERY_CQ */
	devx_put(in, 0x48, 24, b.cqn);
	CHECK_EQ(mlx5dv_devx_obj_query(b.cq, in, HDR, out, sizeof(out)), 0);
	CHECK_EQ(devx_get(out, 0x80 + 0x63, 5), 4);
	CHECK_EQ(devx_get(out, 0x80 + 0x148, 24), 100); /* consumer index */
	CHECK_EQ(devx_get(out, 0x80 + 0x168, 24), 100); /* producer index */
	side_fini(&a);
	side_fini(&b);
}

/* ---------------------------------------------------------------- limits and link layers */

/*
 * Queues that are longer than the adapter's limits (doc/softhca-reference.md) must be refused, even
 * if the program's memory is long enough.
 */
static void
case_limits(void)
{
	static const struct wrong cq = {0x80 + 0x63, 5, 5, BAD_PARAM};
	static const struct wrong qp[] = {
		{0xc0 + 0x49, 4, 5, BAD_PARAM}, /* receives */
		{0xc0 + 0x51, 4, 5, BAD_PARAM}, /* sends */
	};
	struct side s;

	side_init(&s); /* the greatest allowed sizes: 16 sends and 16 receives */
	expect_refused(&s, s.cq_in, CQ_IN, &cq);
	for (size_t i = 0; i < sizeof(qp) / sizeof(qp[0]); i++)
		expect_refused(&s, s.qp_in, QP_IN, &qp[i]);
	side_fini(&s);
}

#define MKEY_IN 272

/*
 * One object more than the adapter's limit must be refused, with the status and syndrome that real
 * adapters have returned.
 */
static void
case_too_many(void)
{
	static const struct wrong cq = {0, 16, 0x400, 8 /* EXCEED_LIM */, 0x62bbc6};
	static const struct wrong qp = {0, 16, 0x500, BAD_RES, 0x65b500};
	static const struct wrong mkey = {0, 16, 0x200, 8, 0x59c8a4};
	uint8_t in[MKEY_IN] = {0}, out[HDR];
	struct mlx5dv_devx_obj *first;
	struct side s;

	side_init(&s);
	expect_refused(&s, s.cq_in, CQ_IN, &cq);
	expect_refused(&s, s.qp_in, QP_IN, &qp);
	devx_put(in, 0, 16, 0x200);
	devx_put(in, 0x80 + 0x01, 1, 1); /* free: umr_en */
	devx_put(in, 0x80 + 0x10, 1, 1); /* for UMR */
	devx_put(in, 0x80 + 0x16, 2, 2); /* KLMs: access mode */
	devx_put(in, 0x80 + 0x20, 24, 0xffffff);
	devx_put(in, 0x80 + 0x68, 24, s.pdn);
	devx_put(in, 0x80 + 0x1a0, 32, 4); /* octowords for the translation */
	first = create(&s, in, MKEY_IN, out);
	CHECK(first != NULL);
	expect_refused(&s, in, MKEY_IN, &mkey);
	CHECK_EQ(mlx5dv_devx_obj_destroy(first), 0);
	side_fini(&s);
}

/* Queries the capabilities of another PCI function (query_hca_cap_in.other_function). */
static void
case_other_function(void)
{
	static const struct wrong other = {0x40, 1, 1, BAD_PARAM, 0x3a3846};
	uint8_t in[HDR] = {0}, out[HDR + 4096];
	struct ibv_context *ctx = pair_open(0);

	devx_put(in, 0, 16, 0x100);
	CHECK_EQ(mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, sizeof(out)), 0);
	devx_put(in, other.bit, other.width, other.value);
	CHECK(mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, sizeof(out)) != 0);
	expect_answer(out, &other);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* Receive WQEs of 16 to 512 bytes must be accepted, and all other sizes refused. */
static void
case_strides(void)
{
	uint8_t in[QP_IN], out[HDR];
	struct side s;

	side_init(&s);
	memcpy(in, s.qp_in, QP_IN);
	/* one receive, so that the memory is large enough for any size */
	devx_put(in, 0xc0 + 0x49, 4, 0);
	for (uint32_t log = 0; log < 8; log++) {
		struct wrong stride = {0xc0 + 0x4d, 3, log, BAD_PARAM};
		struct mlx5dv_devx_obj *obj;

		if (log > 5) {
			expect_refused(&s, in, QP_IN, &stride);
			continue;
		}
		devx_put(in, stride.bit, stride.width, log);
		obj = create(&s, in, QP_IN, out);
		CHECK(obj != NULL);
		CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	}
	side_fini(&s);
}

/*
 * A QP without a receive queue must need no memory for one. Here the memory has only the 1 KiB of
 * the send queue.
 */
static void
case_no_receive_queue(void)
{
	uint8_t in[QP_IN], out[HDR];
	struct mlx5dv_devx_obj *obj;
	struct side s;

	side_init(&s);
	memcpy(in, s.qp_in, QP_IN);
	devx_put(in, 0x820, 32, MEM_LEN - SQ_BB * 64);
	CHECK(create(&s, in, QP_IN, out) == NULL && devx_get(out, 0, 8) == BAD_PARAM);
	devx_put(in, 0xc0 + 0x565, 3, 3);
	obj = create(&s, in, QP_IN, out);
	CHECK(obj != NULL);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	side_fini(&s);
}

/* If a QP has no send queue, the send doorbell record must have no effect. */
static void
case_no_send_queue(void)
{
	static struct side a, b;
	uint8_t out[HDR], in[MOD_IN] = {0};
	uint64_t word = 0;

	side_init(&a);
	side_init(&b);
	CHECK_EQ(mlx5dv_devx_obj_destroy(a.qp), 0);
	devx_put(a.qp_in, 0xc0 + 0x50, 1, 1); /* no_sq */
	a.qp = create(&a, a.qp_in, QP_IN, out);
	CHECK(a.qp != NULL);
	a.qpn = devx_get(out, 0x48, 24);
	connect_sides(&a, &b);
	connect_sides(&b, &a);
	/* The QP receives. */
	post_recv(&a, 0);
	post_send(&b, 5);
	CHECK_EQ(poll_one(&b)[63] >> 4, 0);
	CHECK_EQ(poll_one(&a)[63] >> 4, 3);
	/*
	 * A valid WQE is in the memory where a send queue would be, but the QP has no send queue.
	 */
	post_send(&a, 7);
	devx_put((uint8_t *)&word, 32, 32, a.qpn << 8 | 2);
	__atomic_store_n((uint64_t *)a.uar->reg_addr, word, __ATOMIC_RELEASE);
	/*
	 * The WQE is not executed, and not flushed in ERR. Receives are executed, and flushed in
	 * ERR.
	 */
	post_recv(&a, 1);
	post_recv(&a, 2);
	post_send(&b, 6);
	CHECK_EQ(poll_one(&b)[63] >> 4, 0);
	CHECK_EQ(poll_one(&a)[63] >> 4, 3);
	expect_state(&a, 3);
	CHECK_EQ(modify(&a, 0x507, in), OK);
	CHECK_EQ(poll_one(&a)[63] >> 4, 14); /* error of a receive */
	expect_state(&a, 6);
	CHECK_EQ(a.mem[CQ_AT + a.cq_ci % CQE_N * 64 + 63] >> 4, 15); /* no completion */
	CHECK_EQ(b.mem[CQ_AT + b.cq_ci % CQE_N * 64 + 63] >> 4, 15);
	side_fini(&a);
	side_fini(&b);
}

/* On InfiniBand a path without a GRH must be accepted without a GID. */
static void
case_infiniband(void)
{
	static const struct wrong grh = {0xc0 + 0xc0 + 0x28, 1, 1, BAD_PARAM, 0xc0 + 0xc0 + 0x48};
	struct side s;

	side_init(&s);
	CHECK_EQ(to_init(&s, 1), OK);
	spoil = &grh;
	CHECK_EQ(to_rtr(&s, s.qpn, 200), BAD_PARAM);
	spoil = NULL;
	expect_state(&s, 1);
	CHECK_EQ(to_rtr(&s, s.qpn, 1), OK);
	expect_state(&s, 2);
	CHECK_EQ(to_rts(&s), OK);
	expect_context(&s, false);
	side_fini(&s);
}

/* Objects that are never destroyed leak in libmlx5. These leaks are not counted. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

/*
 * The program closes the context without destroying its objects. The objects must not exist in the
 * next context.
 */
static void
case_abandoned(void)
{
	struct ibv_context *ctx;
	struct side s;

	if (__lsan_disable != NULL)
		__lsan_disable();
	side_init(&s);
	if (__lsan_enable != NULL)
		__lsan_enable();
	CHECK_EQ(ibv_close_device(s.ctx), 0);
	/*
	 * Opening a context destroys the objects of the closed context, while their memory still
	 * exists.
	 */
	ctx = pair_open(0);
	pair_run();
	munmap(s.mem, MEM_LEN);
	pair_run();
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static const struct check_case cases[] = {
	{"each refused command is logged once", case_told_once},
	{"user memory is checked as the kernel does", case_umem},
	{"the kernel passes on only commands that it knows", case_opcodes},
	{"a command does not destroy an object of the verbs", case_not_by_command},
	{"if an answer cannot be written, the object is destroyed", case_no_answer},
	{"a query is refused by the method that modifies objects", case_other_method},
	{"a CQ has the requested number of entries", case_cqs},
	{"a command with one wrong field is refused, and the log names the field", case_refused},
	{"a transition with a field out of range does not happen", case_ranges},
	{"commands move a queue pair through its states, in their order", case_states},
	{"entries of a receive queue have a valid size", case_strides},
	{"a queue pair can have no receive queue", case_no_receive_queue},
	{"without a send queue, a send record counts nothing", case_no_send_queue},
	{"messages go between queues in the program's own memory", case_traffic},
	{"a context that is closed with its objects leaves no object", case_abandoned},
};

static const struct check_case limit_cases[] = {
	{"no queue is longer than the adapter's limits", case_limits},
	{"one object more than the adapter has is refused with a card's error", case_too_many},
	{"another PCI function's capabilities are refused", case_other_function},
};
static const struct check_case infiniband_cases[] = {
	{"a path without a GRH needs no GID", case_infiniband},
};

int
main(int argc, char **argv)
{
	const char *layer = getenv("SOFTHCA_LINK_LAYER");

	if (layer != NULL && strcmp(layer, "infiniband") == 0)
		return check_main(infiniband_cases, 1, argc, argv);
	if (getenv("SOFTHCA_MAX_CQE") != NULL)
		return check_main(limit_cases, sizeof(limit_cases) / sizeof(limit_cases[0]), argc,
			argv);
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
