/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The DEVX methods: they find a firmware command in the tables of the classes, execute it, and
 * write its answer.
 *
 * If the firmware would refuse a command, the answer has a status and a syndrome, and the call
 * fails with EREMOTEIO. If mlx5_ib would not pass the command to the firmware, the call fails with
 * EINVAL.
 */
#include "devx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "caps.h"
#include "event.h"
#include "uverbs_uar.h"

/*
 * The opcodes that mlx5_ib accepts as the creation of an object (devx_is_obj_create_cmd() of the
 * kernel). If such an opcode is not emulated, the answer has the status of a firmware that does not
 * know the command.
 */
static const uint16_t create_opcodes[] = {0x200, 0x400, 0x500, 0x600, 0x700, 0x705, 0x710, 0x717,
	0x771, 0x782, 0x800, 0x806, 0x80e, 0x816, 0x827, 0x829, 0x900, 0x904, 0x908, 0x90c, 0x912,
	0x916, 0x930, 0x933, 0x936, 0x939, 0x93d, 0x940, 0xa00};

/*
 * The opcodes that mlx5_ib accepts as commands without an object (devx_is_general_cmd() of the
 * kernel); it also accepts a range of opcodes. If such an opcode is not emulated, the answer has
 * the status of a firmware that does not know the command.
 */
static const uint16_t general_opcodes[] = {0x100, 0x101, 0x10a, 0x750, 0x752, 0x754, 0x760, 0x762,
	0x76f, 0x770, 0x80a, 0x80d, 0x822, 0x824, 0x826, 0x842};

#define GENERAL_START 0xb00
#define GENERAL_END   0xd00

/* Writes the answer to a refused command, and logs the refusal. */
static void
refuse(struct uverbs_call *call, const struct attr_value *in, uint8_t *out, size_t len, int refusal)
{
	const uint32_t opcode = bits_get(in->bytes, DEVX_OPCODE, 16);
	uint32_t status, syndrome;

	devx_tell_refusal(call->ctx->dev->index, opcode, refusal);
	devx_answer(opcode, refusal, &status, &syndrome);
	memset(out, 0, len);
	bits_set(out, 0, 8, status);
	bits_set(out, 0x20, 32, syndrome);
}

static int
answer(struct uverbs_call *call, const struct attr_value *in, uint16_t attr, uint8_t *out,
	size_t len, int refusal)
{
	int rc;

	if (refusal < 0)
		return refusal;
	if (refusal > 0)
		refuse(call, in, out, len, refusal);
	rc = call_out(call, attr, out, len);
	return rc == 0 && refusal > 0 ? -EREMOTEIO : rc;
}

/* ---------------------------------------------------------------- numbers for the program */

/*
 * Returns the number of the event queue of a completion vector. Each vector has one event queue,
 * and the numbers start at 1.
 */
static int
query_eqn(struct uverbs_call *call)
{
	uint32_t vector = call_in_u32(call, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC);
	uint32_t eqn = vector + 1;

	if (vector >= CAPS_COMP_VECTORS)
		return -EINVAL;
	return call_out(call, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, &eqn, sizeof(eqn));
}

/*
 * Returns the number by which the device knows a UAR page. It equals the number by which the
 * program knows the page.
 */
static int
query_uar(struct uverbs_call *call)
{
	uint32_t page = call_in_u32(call, MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX);

	if (uar_find_page(call->ctx, page) == NULL)
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

static const struct devx_create *
find_create(uint32_t opcode, uint32_t obj_type)
{
	const struct object_class *const *classes;
	uint32_t n;

	classes = object_classes(&n);
	for (uint32_t c = 0; c < n; c++) {
		for (uint32_t i = 0; i < classes[c]->n_creates; i++) {
			const struct devx_create *create = &classes[c]->creates[i];

			if (create->opcode == opcode &&
				(opcode != DEVX_CREATE_GENERAL || create->obj_type == obj_type))
				return create;
		}
	}
	return NULL;
}

size_t
devx_create_len(struct uverbs_call *call)
{
	return call_attr(call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN)->len;
}

static int
create_by_command(struct uverbs_call *call, const struct attr_value *v, uint8_t *out,
	struct object **obj)
{
	uint32_t opcode = bits_get(v->bytes, DEVX_OPCODE, 16);
	const struct devx_create *create =
		find_create(opcode, bits_get(v->bytes, DEVX_OBJ_TYPE, 16));

	if (create == NULL)
		return unknown_create(opcode);
	if (v->len < create->in_len)
		return DEVX_REFUSE(DEVX_BAD_INP_LEN, 0);
	return create->handler(call, v->bytes, out, obj);
}

static int
create_obj(struct uverbs_call *call)
{
	const struct attr_value *v = call_attr(call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN);
	uint8_t out[DEVX_OUT_CREATE] = {0};
	struct object *obj = NULL;
	int rc = create_by_command(call, v, out, &obj);

	rc = answer(call, v, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, out, sizeof(out), rc);
	if (rc != 0 && obj != NULL)
		(void)object_destroy(call->ctx, obj, NULL);
	if (rc == 0)
		call_attr(call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE)->data = obj->handle;
	return rc;
}

static int
destroy_obj(struct uverbs_call *call)
{
	struct object *obj = call_obj(call, MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE);

	return obj->cls->by_devx ? object_destroy(call->ctx, obj, NULL) : -ENOENT;
}

static const struct devx_command *
find_command(enum devx_verb verb, const struct object_class *cls, uint32_t opcode)
{
	const struct object_class *const *classes;
	uint32_t n;

	classes = object_classes(&n);
	for (uint32_t c = 0; c < n; c++) {
		for (uint32_t i = 0; i < classes[c]->n_commands; i++) {
			const struct devx_command *command = &classes[c]->commands[i];

			if (command->verb == verb && command->cls == cls &&
				command->opcode == opcode)
				return command;
		}
	}
	return NULL;
}

static int
unknown_general(uint32_t opcode)
{
	if (opcode >= GENERAL_START && opcode < GENERAL_END)
		return DEVX_REFUSE(DEVX_BAD_OP, DEVX_OPCODE);
	for (size_t i = 0; i < ARRAY_SIZE(general_opcodes); i++)
		if (general_opcodes[i] == opcode)
			return DEVX_REFUSE(DEVX_BAD_OP, DEVX_OPCODE);
	return -EINVAL;
}

static int
do_command(struct uverbs_call *call, enum devx_verb verb, struct object *obj,
	const struct attr_value *v, uint8_t *out, size_t *out_len)
{
	const struct devx_command *command = find_command(verb, obj != NULL ? obj->cls : NULL,
		bits_get(v->bytes, DEVX_OPCODE, 16));

	*out_len = DEVX_HEADER;
	if (command == NULL && verb == DEVX_GENERAL)
		return unknown_general(bits_get(v->bytes, DEVX_OPCODE, 16));
	if (command == NULL)
		return -EINVAL;
	if (v->len < command->in_len)
		return DEVX_REFUSE(DEVX_BAD_INP_LEN, 0);
	*out_len = command->out_len;
	return command->handler(call, obj, v->bytes, out);
}

/*
 * As query_obj(), but the answer is a record in an event channel of the program. Here the record is
 * in the channel when the call returns; on a card it arrives later.
 */
static int
query_obj_async(struct uverbs_call *call)
{
	const struct attr_value *v = call_attr(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN);
	uint64_t out_len = call_in_u64(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN);
	uint64_t wr_id = call_in_u64(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID);
	uint8_t out[DEVX_OUT_MAX] = {0}, *record;
	struct event_file *file;
	size_t len;
	int rc = call_event_file(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD, EVENT_ANSWERS, &file);

	if (rc == 0 && out_len > UINT16_MAX)
		rc = -EINVAL;
	if (rc == 0)
		rc = do_command(call, DEVX_QUERIES,
			call_obj(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE), v, out, &len);
	if (rc < 0)
		return rc;
	record = calloc(1, sizeof(wr_id) + out_len);
	if (record == NULL)
		return -ENOMEM;
	if (rc > 0)
		refuse(call, v, out, len, rc);
	memcpy(record, &wr_id, sizeof(wr_id));
	memcpy(record + sizeof(wr_id), out, len < out_len ? len : out_len);
	rc = event_file_answer(file, record, sizeof(wr_id) + out_len);
	free(record);
	return rc;
}

/* Executes a command without an object. */
static int
general_cmd(struct uverbs_call *call)
{
	const struct attr_value *v = call_attr(call, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN);
	uint8_t out[DEVX_OUT_MAX] = {0};
	size_t len;
	int rc = do_command(call, DEVX_GENERAL, NULL, v, out, &len);

	return answer(call, v, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, out, len, rc);
}

static int
modify_obj(struct uverbs_call *call)
{
	const struct attr_value *v = call_attr(call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN);
	uint8_t out[DEVX_OUT_MAX] = {0};
	size_t len;
	int rc = do_command(call, DEVX_MODIFIES,
		call_obj(call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE), v, out, &len);

	return answer(call, v, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, out, len, rc);
}

static int
query_obj(struct uverbs_call *call)
{
	const struct attr_value *v = call_attr(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN);
	uint8_t out[DEVX_OUT_MAX] = {0};
	size_t len;
	int rc = do_command(call, DEVX_QUERIES, call_obj(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE),
		v, out, &len);

	return answer(call, v, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, out, len, rc);
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
	{MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = NULL},
};
static const struct attr_spec modify_attrs[] = {
	{MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = NULL},
	{MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, ATTR_IN, ATTR_REQUIRED, DEVX_HEADER, ATTR_ANY_LEN},
	{MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, ATTR_OUT, ATTR_REQUIRED, DEVX_HEADER},
};
static const struct attr_spec query_attrs[] = {
	{MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = NULL},
	{MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, ATTR_IN, ATTR_REQUIRED, DEVX_HEADER, ATTR_ANY_LEN},
	{MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, ATTR_OUT, ATTR_REQUIRED, DEVX_HEADER},
};

static const struct attr_spec async_attrs[] = {
	{MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = NULL},
	{MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN, ATTR_IN, ATTR_REQUIRED, DEVX_HEADER,
		ATTR_ANY_LEN},
	{MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD, ATTR_FD, ATTR_REQUIRED},
	{MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, ATTR_IN, ATTR_REQUIRED, 8, 8},
};

/* carrier: the attribute that has the firmware command, or 0 if the method has no command. */
#define METHOD(object, method, handler, attrs, carrier)                                            \
	{                                                                                          \
		MLX5_IB_OBJECT_##object, MLX5_IB_METHOD_##method, false, handler, attrs,           \
			ARRAY_SIZE(attrs), .firmware = carrier                                     \
	}

static const struct uverbs_method methods[] = {
	METHOD(DEVX, DEVX_OTHER, general_cmd, general_attrs, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN),
	METHOD(DEVX, DEVX_QUERY_EQN, query_eqn, eqn_attrs, 0),
	METHOD(DEVX, DEVX_QUERY_UAR, query_uar, uar_attrs, 0),
	METHOD(DEVX_OBJ, DEVX_OBJ_CREATE, create_obj, create_attrs,
		MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN),
	METHOD(DEVX_OBJ, DEVX_OBJ_DESTROY, destroy_obj, destroy_attrs, 0),
	METHOD(DEVX_OBJ, DEVX_OBJ_MODIFY, modify_obj, modify_attrs,
		MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN),
	METHOD(DEVX_OBJ, DEVX_OBJ_QUERY, query_obj, query_attrs,
		MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN),
	METHOD(DEVX_OBJ, DEVX_OBJ_ASYNC_QUERY, query_obj_async, async_attrs,
		MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN),
};

const struct object_class devx_class = {.name = "DEVX", CLASS_METHODS(methods)};
