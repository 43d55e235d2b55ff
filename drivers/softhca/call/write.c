/* SPDX-License-Identifier: BSD-3-Clause */
/* The method INVOKE_WRITE: commands of the write() interface, which libibverbs sends by ioctl. */
#include <errno.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>

#include "call.h"

static const struct write_command *
find_command(uint64_t number)
{
	const struct object_class *const *classes;
	uint32_t n;

	classes = object_classes(&n);
	for (uint32_t c = 0; c < n; c++)
		for (uint32_t i = 0; i < classes[c]->n_writes; i++)
			if (classes[c]->writes[i].number == number)
				return &classes[c]->writes[i];
	return NULL;
}

/*
 * Returns EINVAL if the kernel has no command with this number, or EOPNOTSUPP if the command is not
 * emulated.
 */
static int
unknown_command(uint64_t number)
{
	if (number <= IB_USER_VERBS_CMD_OPEN_QP)
		return -EOPNOTSUPP;
	if ((number & IB_USER_VERBS_CMD_FLAG_EXTENDED) != 0 &&
		(number & ~(uint64_t)IB_USER_VERBS_CMD_FLAG_EXTENDED) <=
			IB_USER_VERBS_EX_CMD_MODIFY_CQ)
		return -EOPNOTSUPP;
	return -EINVAL;
}

static int
invoke_write(struct uverbs_call *call)
{
	uint64_t number = call_in_u64(call, UVERBS_ATTR_WRITE_CMD);
	const struct write_command *cmd = find_command(number);

	if (call->ctx->dead && (cmd == NULL || !cmd->after_fork))
		return -EIO;
	if (cmd == NULL)
		return unknown_command(number);
	if (call_attr(call, UVERBS_ATTR_CORE_IN)->len < cmd->in_len ||
		call_attr(call, UVERBS_ATTR_CORE_OUT)->len < cmd->out_len)
		return -ENOSPC;
	return call->ctx->opened ? cmd->handler(call) : -EINVAL;
}

static const struct attr_spec invoke_attrs[] = {
	{UVERBS_ATTR_CORE_IN, ATTR_IN, ATTR_OPTIONAL, 0, ATTR_ANY_LEN},
	{UVERBS_ATTR_CORE_OUT, ATTR_OUT, ATTR_OPTIONAL, 0},
	{UVERBS_ATTR_WRITE_CMD, ATTR_IN, ATTR_REQUIRED, 4, 8},
	{UVERBS_ATTR_UHW_IN, ATTR_IN, ATTR_OPTIONAL, 0, ATTR_ANY_LEN},
	{UVERBS_ATTR_UHW_OUT, ATTR_OUT, ATTR_OPTIONAL, 0},
};

static const struct uverbs_method methods[] = {
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, true, invoke_write, invoke_attrs,
		ARRAY_SIZE(invoke_attrs), .after_fork = true},
};

const struct object_class write_class = {.name = "write", CLASS_METHODS(methods)};
