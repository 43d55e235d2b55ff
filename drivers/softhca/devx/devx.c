/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Firmware commands that come through DEVX: which there are, and how they are answered.
 *
 * A command that the firmware would fail gets its status and a syndrome in the answer and EREMOTEIO,
 * as mlx5_ib gives; one that mlx5_ib would not let pass, EINVAL.
 */
#include "devx.h"

#include <errno.h>
#include <string.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "caps.h"
#include "uverbs.h"

#define CMD_QUERY_HCA_CAP 0x100

static const struct devx_create *const creates[] = {devx_queue_creates, devx_key_creates,
	devx_qpn_creates, devx_dek_creates};
static const struct devx_command *const modifies[] = {devx_qp_modifies, devx_queue_modifies,
	devx_dek_modifies};
static const struct devx_command *const queries[] = {devx_qp_queries, devx_queue_queries,
	devx_dek_queries};

/*
 * What mlx5_ib lets pass as the creation of an object (devx_is_obj_create_cmd() of the kernel): where
 * it is not emulated, the firmware does not know it.
 */
static const uint16_t create_opcodes[] = {0x200, 0x400, 0x500, 0x600, 0x700, 0x705, 0x710, 0x717,
	0x771, 0x782, 0x800, 0x806, 0x80e, 0x816, 0x827, 0x829, 0x900, 0x904, 0x908, 0x90c, 0x912,
	0x916, 0x930, 0x933, 0x936, 0x939, 0x93d, 0x940, 0xa00};

static int
answer(struct uverbs_call *call, uint16_t attr, uint8_t *out, size_t len, int refusal)
{
	int rc;

	if (refusal < 0)
		return refusal;
	if (refusal > 0) {
		memset(out, 0, len);
		devx_set(out, 0, 8, DEVX_REFUSED_STATUS(refusal));
		devx_set(out, 0x20, 32, DEVX_REFUSED_SYNDROM(refusal));
	}
	rc = call_out(call, attr, out, len);
	return rc == 0 && refusal > 0 ? -EREMOTEIO : rc;
}

int
devx_refuse_errno(int err, uint32_t bit)
{
	switch (err) {
	case 0:
		return 0;
	case -ENOSPC:
	case -ENOMEM:
		return DEVX_REFUSE(DEVX_NO_RES, bit);
	case -EBUSY:
		return DEVX_REFUSE(DEVX_BUSY, bit);
	default:
		return DEVX_REFUSE(DEVX_BAD_PARAM, bit);
	}
}

/* ---------------------------------------------------------------- commands without an object */

static int
general_cmd(struct uverbs_call *call)
{
	const uint8_t *in = call_in(call, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN);
	uint8_t out[DEVX_HEADER + CAPS_HCA_PAGE_LEN] = {0};

	if (devx_get(in, DEVX_OPCODE, 16) != CMD_QUERY_HCA_CAP)
		return -EINVAL;
	caps_hca_page(call->ctx->dev, devx_get(in, DEVX_OP_MOD, 16) >> 1, out + DEVX_HEADER);
	return answer(call, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, out, sizeof(out), 0);
}

/* One event queue for each completion vector, counted from 1. */
static int
query_eqn(struct uverbs_call *call)
{
	uint32_t vector = call_in_u32(call, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC);
	uint32_t eqn = vector + 1;

	if (vector >= CAPS_COMP_VECTORS)
		return -EINVAL;
	return call_out(call, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, &eqn, sizeof(eqn));
}

/* Pages are known to the device by the numbers that the program has. */
static int
query_uar(struct uverbs_call *call)
{
	uint32_t page = call_in_u32(call, MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX);

	if (ctx_find_uar(call->ctx, page) == NULL)
		return -EINVAL;
	return call_out(call, MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, &page, sizeof(page));
}

/* ---------------------------------------------------------------- objects */

static int
unknown_create(uint32_t opcode)
{
	if (opcode == DEVX_CREATE_GENERAL)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEVX_OBJ_TYPE);
	for (size_t i = 0; i < ARRAY_SIZE(create_opcodes); i++)
		if (create_opcodes[i] == opcode)
			return DEVX_REFUSE(DEVX_BAD_OP, DEVX_OPCODE);
	return -EINVAL;
}

static int
run_create(struct uverbs_call *call, const struct attr_value *v, uint8_t *out, struct object **obj)
{
	uint32_t opcode = devx_get(v->bytes, DEVX_OPCODE, 16);
	uint32_t obj_type = devx_get(v->bytes, DEVX_OBJ_TYPE, 16);

	for (size_t t = 0; t < ARRAY_SIZE(creates); t++) {
		for (const struct devx_create *c = creates[t]; c->opcode != 0; c++) {
			if (c->opcode != opcode ||
				(opcode == DEVX_CREATE_GENERAL && c->obj_type != obj_type))
				continue;
			if (v->len < c->in_len)
				return DEVX_REFUSE(DEVX_BAD_INP_LEN, 0);
			return c->run(call, v->bytes, out, obj);
		}
	}
	return unknown_create(opcode);
}

static int
create_obj(struct uverbs_call *call)
{
	const struct attr_value *v = call_attr(call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN);
	uint8_t out[DEVX_OUT_CREATE] = {0};
	struct object *obj = NULL;
	int rc = run_create(call, v, out, &obj);

	rc = answer(call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, out, sizeof(out), rc);
	if (rc != 0 && obj != NULL)
		(void)object_destroy(call->ctx, obj, NULL);
	if (rc == 0)
		call_attr(call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE)->data = obj->handle;
	return rc;
}

static int
destroy_obj(struct uverbs_call *call)
{
	struct object *obj = call_attr(call, MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE)->obj;

	return object_is_devx(obj) ? object_destroy(call->ctx, obj, NULL) : -ENOENT;
}

static int
run_command(struct uverbs_call *call, const struct devx_command *const *tables, size_t n,
	struct object *obj, const struct attr_value *v, uint8_t *out, size_t *out_len)
{
	uint32_t opcode = devx_get(v->bytes, DEVX_OPCODE, 16);

	*out_len = DEVX_HEADER;
	for (size_t t = 0; t < n; t++) {
		for (const struct devx_command *c = tables[t]; c->opcode != 0; c++) {
			if (c->opcode != opcode || c->type != obj->type)
				continue;
			if (v->len < c->in_len)
				return DEVX_REFUSE(DEVX_BAD_INP_LEN, 0);
			*out_len = c->out_len;
			return c->run(call, obj, v->bytes, out);
		}
	}
	return -EINVAL;
}

static int
modify_obj(struct uverbs_call *call)
{
	uint8_t out[DEVX_OUT_MAX] = {0};
	size_t len;
	int rc = run_command(call, modifies, ARRAY_SIZE(modifies),
		call_attr(call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE)->obj,
		call_attr(call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN), out, &len);

	return answer(call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, out, len, rc);
}

static int
query_obj(struct uverbs_call *call)
{
	uint8_t out[DEVX_OUT_MAX] = {0};
	size_t len;
	int rc = run_command(call, queries, ARRAY_SIZE(queries),
		call_attr(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE)->obj,
		call_attr(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN), out, &len);

	return answer(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, out, len, rc);
}

/* ---------------------------------------------------------------- user memory */

static int
check_umem(struct uverbs_call *call, uint64_t addr, uint64_t len, uint32_t access)
{
	enum {
		LOCAL_WRITE = 1,
		REMOTE_WRITE = 2,
		REMOTE_READ = 4
	};
	uint64_t end;

	if ((access & ~(uint32_t)(LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ)) != 0 ||
		((access & REMOTE_WRITE) != 0 && (access & LOCAL_WRITE) == 0))
		return -EINVAL;
	/* The page sizes that would do: one of at least 4 KiB must be among them. */
	if (call_has(call, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP) &&
		call_in_u64(call, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP) < CTX_PAGE)
		return -EINVAL;
	if (len == 0 || __builtin_add_overflow(addr, len, &end))
		return -EINVAL;
	return memory_is_mapped(addr, len, (access & LOCAL_WRITE) != 0) ? 0 : -EFAULT;
}

static int
reg_umem(struct uverbs_call *call)
{
	uint64_t addr = call_in_u64(call, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR);
	uint64_t len = call_in_u64(call, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN);
	uint32_t access = call_in_u32(call, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS);
	struct object_umem *umem;
	int rc = check_umem(call, addr, len, access);

	if (rc == 0)
		rc = object_create(call->ctx, OBJ_UMEM, sizeof(*umem), &umem);
	if (rc != 0)
		return rc;
	umem->addr = addr;
	umem->len = len;
	umem->writable = (access & 1) != 0;
	call_attr(call, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE)->data = umem->obj.handle;
	/* The context's own number: firmware numbers memory for each user context, too. */
	rc = call_out(call, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &umem->obj.handle,
		sizeof(umem->obj.handle));
	if (rc != 0)
		(void)object_destroy(call->ctx, &umem->obj, NULL);
	return rc;
}

static int
dereg_umem(struct uverbs_call *call)
{
	return object_destroy(call->ctx, call_attr(call, MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE)->obj,
		NULL);
}

/* ---------------------------------------------------------------- methods */

static const struct attr_spec general_attrs[] = {
	{MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, ATTR_IN, ATTR_REQUIRED, DEVX_HEADER, ATTR_ANY_LEN},
	{MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, ATTR_OUT, ATTR_REQUIRED, DEVX_HEADER},
};
static const struct attr_spec eqn_attrs[] = {
	{MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, ATTR_OUT, ATTR_REQUIRED, 4},
};
static const struct attr_spec uar_attrs[] = {
	{MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, ATTR_OUT, ATTR_REQUIRED, 4},
};
static const struct attr_spec create_attrs[] = {
	{MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, ATTR_NEW_OBJ, ATTR_REQUIRED},
	{MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, ATTR_IN, ATTR_REQUIRED, DEVX_HEADER, ATTR_ANY_LEN},
	{MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, ATTR_OUT, ATTR_REQUIRED, DEVX_HEADER},
};
static const struct attr_spec destroy_attrs[] = {
	{MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_ANY},
};
static const struct attr_spec modify_attrs[] = {
	{MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_ANY},
	{MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, ATTR_IN, ATTR_REQUIRED, DEVX_HEADER, ATTR_ANY_LEN},
	{MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, ATTR_OUT, ATTR_REQUIRED, DEVX_HEADER},
};
static const struct attr_spec query_attrs[] = {
	{MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_ANY},
	{MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, ATTR_IN, ATTR_REQUIRED, DEVX_HEADER, ATTR_ANY_LEN},
	{MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, ATTR_OUT, ATTR_REQUIRED, DEVX_HEADER},
};
static const struct attr_spec reg_umem_attrs[] = {
	{MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, ATTR_NEW_OBJ, ATTR_REQUIRED},
	{MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, ATTR_IN, ATTR_OPTIONAL, 4, 8},
	{MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, ATTR_OUT, ATTR_REQUIRED, 4},
	{MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, ATTR_IN, ATTR_OPTIONAL, 8, 8},
};
static const struct attr_spec dereg_umem_attrs[] = {
	{MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_UMEM},
};

#define METHOD(object, method, handler, attrs)                                                     \
	{                                                                                          \
		MLX5_IB_OBJECT_##object, MLX5_IB_METHOD_##method, false, handler, attrs,           \
			ARRAY_SIZE(attrs)                                                          \
	}

const struct uverbs_method devx_methods[] = {
	METHOD(DEVX, DEVX_OTHER, general_cmd, general_attrs),
	METHOD(DEVX, DEVX_QUERY_EQN, query_eqn, eqn_attrs),
	METHOD(DEVX, DEVX_QUERY_UAR, query_uar, uar_attrs),
	METHOD(DEVX_OBJ, DEVX_OBJ_CREATE, create_obj, create_attrs),
	METHOD(DEVX_OBJ, DEVX_OBJ_DESTROY, destroy_obj, destroy_attrs),
	METHOD(DEVX_OBJ, DEVX_OBJ_MODIFY, modify_obj, modify_attrs),
	METHOD(DEVX_OBJ, DEVX_OBJ_QUERY, query_obj, query_attrs),
	METHOD(DEVX_UMEM, DEVX_UMEM_REG, reg_umem, reg_umem_attrs),
	METHOD(DEVX_UMEM, DEVX_UMEM_DEREG, dereg_umem, dereg_umem_attrs),
};
const uint32_t n_devx_methods = ARRAY_SIZE(devx_methods);
