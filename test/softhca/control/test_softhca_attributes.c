/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The attributes of every call. A program of libibverbs and libmlx5 creates, queries and destroys
 * objects of every kind. Before each call reaches the adapter, copies of the call are sent, each
 * with one error in an attribute: the attribute is too short, too long, missing, present twice, or
 * of a wrong kind. Each copy must be refused. The call must also be refused on a file descriptor
 * without a context. Then the unchanged call must succeed, with inputs that are as short as
 * possible.
 *
 * Expected values: the errors of the kernel's uverbs_ioctl.c; the lengths of the types that its
 * uverbs_std_types_*.c and mlx5_ib declare, and of the structures of the ABI.
 */
#include <rdma/ib_user_ioctl_verbs.h>

#include "softhca_devx_side.h"
#include "softhca_refusals.h"

#define ANY UINT16_MAX

enum kind_of {
	IN_ = 1,
	OUT_,
	OBJ_,
	NEW_,
	FD_
};

struct row {
	uint16_t object, method, attr;
	enum kind_of kind;
	/* Lengths in bytes. max: the longest input that the call understands. ANY: no limit. */
	uint16_t min, max;
	bool optional;
};

#define U8  1, 1
#define U32 4, 4
#define U64 8, 8
/* Values of 32 bits, or of 64 bits with an upper half of zero: UVERBS_ATTR_FLAGS_IN. */
#define FLAGS              4, 8
#define NAME(o, m, a)      UVERBS_OBJECT_##o, UVERBS_METHOD_##m, UVERBS_ATTR_##a
#define MLX5(o, m, a)      MLX5_IB_OBJECT_##o, MLX5_IB_METHOD_##m, MLX5_IB_ATTR_##a
#define UHW(o, m, w)       UVERBS_OBJECT_##o, UVERBS_METHOD_##m, UVERBS_ATTR_UHW_##w
#define UNTIL(type, field) offsetof(struct type, field), sizeof(struct type)

static const struct row rows[] = {
	/* The adapter. */
	{NAME(DEVICE, GET_CONTEXT, GET_CONTEXT_NUM_COMP_VECTORS), OUT_, U32, true},
	{NAME(DEVICE, GET_CONTEXT, GET_CONTEXT_CORE_SUPPORT), OUT_, U64, true},
	{UHW(DEVICE, GET_CONTEXT, IN), IN_, 8, sizeof(struct mlx5_ib_alloc_ucontext_req_v2)},
	{UHW(DEVICE, GET_CONTEXT, OUT), OUT_, 0, 0},
	{NAME(DEVICE, QUERY_PORT, QUERY_PORT_PORT_NUM), IN_, 1, 8},
	{NAME(DEVICE, QUERY_PORT, QUERY_PORT_RESP), OUT_, sizeof(struct ib_uverbs_query_port_resp)},
	{UVERBS_OBJECT_DEVICE, MLX5_IB_METHOD_QUERY_PORT, MLX5_IB_ATTR_QUERY_PORT_PORT_NUM, IN_,
		U32},
	{UVERBS_OBJECT_DEVICE, MLX5_IB_METHOD_QUERY_PORT, MLX5_IB_ATTR_QUERY_PORT, OUT_, 8},
	{NAME(DEVICE, QUERY_GID_ENTRY, QUERY_GID_ENTRY_PORT), IN_, U32},
	{NAME(DEVICE, QUERY_GID_ENTRY, QUERY_GID_ENTRY_GID_INDEX), IN_, U32},
	{NAME(DEVICE, QUERY_GID_ENTRY, QUERY_GID_ENTRY_FLAGS), IN_, FLAGS, true},
	{NAME(DEVICE, QUERY_GID_ENTRY, QUERY_GID_ENTRY_RESP_ENTRY), OUT_,
		sizeof(struct ib_uverbs_gid_entry)},
	{NAME(DEVICE, QUERY_GID_TABLE, QUERY_GID_TABLE_ENTRY_SIZE), IN_, U64},
	{NAME(DEVICE, QUERY_GID_TABLE, QUERY_GID_TABLE_FLAGS), IN_, FLAGS, true},
	{NAME(DEVICE, QUERY_GID_TABLE, QUERY_GID_TABLE_RESP_ENTRIES), OUT_, 0},
	{NAME(DEVICE, QUERY_GID_TABLE, QUERY_GID_TABLE_RESP_NUM_ENTRIES), OUT_, U64},
	{NAME(DEVICE, QUERY_CONTEXT, QUERY_CONTEXT_NUM_COMP_VECTORS), OUT_, U32},
	{NAME(DEVICE, QUERY_CONTEXT, QUERY_CONTEXT_CORE_SUPPORT), OUT_, U64},
	{NAME(ASYNC_EVENT, ASYNC_EVENT_ALLOC, ASYNC_EVENT_ALLOC_FD_HANDLE), NEW_},
	{NAME(DEVICE, INVOKE_WRITE, WRITE_CMD), IN_, 4, 8},
	/* Protection domains, address handles and regions. */
	{NAME(PD, PD_DESTROY, DESTROY_PD_HANDLE), OBJ_},
	{UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, MLX5_IB_ATTR_QUERY_PD_HANDLE, OBJ_},
	{UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, OUT_, U32},
	{NAME(AH, AH_DESTROY, DESTROY_AH_HANDLE), OBJ_},
	{NAME(MW, MW_DESTROY, DESTROY_MW_HANDLE), OBJ_},
	{NAME(MR, MR_DESTROY, DESTROY_MR_HANDLE), OBJ_},
	{NAME(MR, QUERY_MR, QUERY_MR_HANDLE), OBJ_},
	{NAME(MR, QUERY_MR, QUERY_MR_RESP_LKEY), OUT_, U32},
	{NAME(MR, QUERY_MR, QUERY_MR_RESP_RKEY), OUT_, U32},
	{NAME(MR, QUERY_MR, QUERY_MR_RESP_LENGTH), OUT_, U64},
	{NAME(MR, QUERY_MR, QUERY_MR_RESP_IOVA), OUT_, U64, true},
	{NAME(MR, ADVISE_MR, ADVISE_MR_PD_HANDLE), OBJ_},
	{NAME(MR, ADVISE_MR, ADVISE_MR_ADVICE), IN_, 4, 8},
	{NAME(MR, ADVISE_MR, ADVISE_MR_FLAGS), IN_, U32},
	{NAME(MR, ADVISE_MR, ADVISE_MR_SGE_LIST), IN_, sizeof(struct ib_uverbs_sge), ANY},
	{NAME(MR, DM_MR_REG, REG_DM_MR_HANDLE), NEW_},
	{NAME(MR, DM_MR_REG, REG_DM_MR_OFFSET), IN_, U64},
	{NAME(MR, DM_MR_REG, REG_DM_MR_LENGTH), IN_, U64},
	{NAME(MR, DM_MR_REG, REG_DM_MR_PD_HANDLE), OBJ_},
	{NAME(MR, DM_MR_REG, REG_DM_MR_ACCESS_FLAGS), IN_, FLAGS, true},
	{NAME(MR, DM_MR_REG, REG_DM_MR_DM_HANDLE), OBJ_},
	{NAME(MR, DM_MR_REG, REG_DM_MR_RESP_LKEY), OUT_, U32},
	{NAME(MR, DM_MR_REG, REG_DM_MR_RESP_RKEY), OUT_, U32},
	/* Device memory. */
	{NAME(DM, DM_ALLOC, ALLOC_DM_HANDLE), NEW_},
	{NAME(DM, DM_ALLOC, ALLOC_DM_LENGTH), IN_, U64},
	{NAME(DM, DM_ALLOC, ALLOC_DM_ALIGNMENT), IN_, U32},
	{UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, OUT_,
		U64},
	{UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, OUT_, 2},
	{UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, IN_, U64, true},
	{NAME(DM, DM_FREE, FREE_DM_HANDLE), OBJ_},
	{UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE, OBJ_},
	{UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET, OUT_,
		U64},
	{UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, OUT_, 2},
	{UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, OUT_, U64},
	/* Completion queues. */
	{NAME(CQ, CQ_CREATE, CREATE_CQ_HANDLE), NEW_},
	{NAME(CQ, CQ_CREATE, CREATE_CQ_CQE), IN_, U32},
	{NAME(CQ, CQ_CREATE, CREATE_CQ_USER_HANDLE), IN_, U64},
	{NAME(CQ, CQ_CREATE, CREATE_CQ_COMP_CHANNEL), FD_, .optional = true},
	{NAME(CQ, CQ_CREATE, CREATE_CQ_COMP_VECTOR), IN_, U32},
	{NAME(CQ, CQ_CREATE, CREATE_CQ_FLAGS), IN_, FLAGS, true},
	{NAME(CQ, CQ_CREATE, CREATE_CQ_RESP_CQE), OUT_, U32},
	{NAME(CQ, CQ_CREATE, CREATE_CQ_EVENT_FD), FD_, .optional = true},
	{UHW(CQ, CQ_CREATE, IN), IN_, UNTIL(mlx5_ib_create_cq, reserved1)},
	{UHW(CQ, CQ_CREATE, OUT), OUT_, U32},
	{NAME(CQ, CQ_DESTROY, DESTROY_CQ_HANDLE), OBJ_},
	{NAME(CQ, CQ_DESTROY, DESTROY_CQ_RESP), OUT_, sizeof(struct ib_uverbs_destroy_cq_resp)},
	/* Queue pairs. */
	{NAME(QP, QP_CREATE, CREATE_QP_HANDLE), NEW_},
	{NAME(QP, QP_CREATE, CREATE_QP_XRCD_HANDLE), OBJ_, .optional = true},
	{NAME(QP, QP_CREATE, CREATE_QP_PD_HANDLE), OBJ_, .optional = true},
	{NAME(QP, QP_CREATE, CREATE_QP_SRQ_HANDLE), OBJ_, .optional = true},
	{NAME(QP, QP_CREATE, CREATE_QP_SEND_CQ_HANDLE), OBJ_, .optional = true},
	{NAME(QP, QP_CREATE, CREATE_QP_RECV_CQ_HANDLE), OBJ_, .optional = true},
	{NAME(QP, QP_CREATE, CREATE_QP_USER_HANDLE), IN_, U64},
	{NAME(QP, QP_CREATE, CREATE_QP_CAP), IN_, sizeof(struct ib_uverbs_qp_cap),
		sizeof(struct ib_uverbs_qp_cap)},
	{NAME(QP, QP_CREATE, CREATE_QP_TYPE), IN_, 1, 8},
	{NAME(QP, QP_CREATE, CREATE_QP_FLAGS), IN_, FLAGS, true},
	{NAME(QP, QP_CREATE, CREATE_QP_EVENT_FD), FD_, .optional = true},
	{NAME(QP, QP_CREATE, CREATE_QP_RESP_CAP), OUT_, sizeof(struct ib_uverbs_qp_cap)},
	{NAME(QP, QP_CREATE, CREATE_QP_RESP_QP_NUM), OUT_, U32},
	{UHW(QP, QP_CREATE, IN), IN_, UNTIL(mlx5_ib_create_qp, uidx)},
	{UHW(QP, QP_CREATE, OUT), OUT_, U32},
	{NAME(QP, QP_DESTROY, DESTROY_QP_HANDLE), OBJ_},
	{NAME(QP, QP_DESTROY, DESTROY_QP_RESP), OUT_, sizeof(struct ib_uverbs_destroy_qp_resp)},
	/* Shared receive queues and XRC domains. */
	{NAME(SRQ, SRQ_CREATE, CREATE_SRQ_HANDLE), NEW_},
	{NAME(SRQ, SRQ_CREATE, CREATE_SRQ_PD_HANDLE), OBJ_},
	{NAME(SRQ, SRQ_CREATE, CREATE_SRQ_XRCD_HANDLE), OBJ_, .optional = true},
	{NAME(SRQ, SRQ_CREATE, CREATE_SRQ_CQ_HANDLE), OBJ_, .optional = true},
	{NAME(SRQ, SRQ_CREATE, CREATE_SRQ_USER_HANDLE), IN_, U64},
	{NAME(SRQ, SRQ_CREATE, CREATE_SRQ_MAX_WR), IN_, U32},
	{NAME(SRQ, SRQ_CREATE, CREATE_SRQ_MAX_SGE), IN_, U32},
	{NAME(SRQ, SRQ_CREATE, CREATE_SRQ_LIMIT), IN_, U32},
	{NAME(SRQ, SRQ_CREATE, CREATE_SRQ_TYPE), IN_, 1, 8},
	{NAME(SRQ, SRQ_CREATE, CREATE_SRQ_EVENT_FD), FD_, .optional = true},
	{NAME(SRQ, SRQ_CREATE, CREATE_SRQ_RESP_MAX_WR), OUT_, U32},
	{NAME(SRQ, SRQ_CREATE, CREATE_SRQ_RESP_MAX_SGE), OUT_, U32},
	{NAME(SRQ, SRQ_CREATE, CREATE_SRQ_RESP_SRQ_NUM), OUT_, U32, true},
	{UHW(SRQ, SRQ_CREATE, IN), IN_, UNTIL(mlx5_ib_create_srq, uidx)},
	{UHW(SRQ, SRQ_CREATE, OUT), OUT_, U32},
	{NAME(SRQ, SRQ_DESTROY, DESTROY_SRQ_HANDLE), OBJ_},
	{NAME(SRQ, SRQ_DESTROY, DESTROY_SRQ_RESP), OUT_, sizeof(struct ib_uverbs_destroy_srq_resp)},
	{NAME(XRCD, XRCD_DESTROY, DESTROY_XRCD_HANDLE), OBJ_},
	/* Work queues and their tables. */
	{NAME(WQ, WQ_CREATE, CREATE_WQ_HANDLE), NEW_},
	{NAME(WQ, WQ_CREATE, CREATE_WQ_PD_HANDLE), OBJ_},
	{NAME(WQ, WQ_CREATE, CREATE_WQ_CQ_HANDLE), OBJ_},
	{NAME(WQ, WQ_CREATE, CREATE_WQ_USER_HANDLE), IN_, U64},
	{NAME(WQ, WQ_CREATE, CREATE_WQ_TYPE), IN_, U64},
	{NAME(WQ, WQ_CREATE, CREATE_WQ_EVENT_FD), FD_, .optional = true},
	{NAME(WQ, WQ_CREATE, CREATE_WQ_MAX_WR), IN_, U32},
	{NAME(WQ, WQ_CREATE, CREATE_WQ_MAX_SGE), IN_, U32},
	{NAME(WQ, WQ_CREATE, CREATE_WQ_FLAGS), IN_, FLAGS},
	{NAME(WQ, WQ_CREATE, CREATE_WQ_RESP_MAX_WR), OUT_, U32},
	{NAME(WQ, WQ_CREATE, CREATE_WQ_RESP_MAX_SGE), OUT_, U32},
	{NAME(WQ, WQ_CREATE, CREATE_WQ_RESP_WQ_NUM), OUT_, U32, true},
	{UHW(WQ, WQ_CREATE, IN), IN_, UNTIL(mlx5_ib_create_wq, single_wqe_log_num_of_strides)},
	{UHW(WQ, WQ_CREATE, OUT), OUT_, sizeof(struct mlx5_ib_create_wq_resp), 0, true},
	{NAME(WQ, WQ_DESTROY, DESTROY_WQ_HANDLE), OBJ_},
	{NAME(WQ, WQ_DESTROY, DESTROY_WQ_RESP), OUT_, U32},
	{NAME(RWQ_IND_TBL, RWQ_IND_TBL_DESTROY, DESTROY_RWQ_IND_TBL_HANDLE), OBJ_},
	/* Doorbell pages, firmware commands and their memory. */
	{MLX5(UAR, UAR_OBJ_ALLOC, UAR_OBJ_ALLOC_HANDLE), NEW_},
	{MLX5(UAR, UAR_OBJ_ALLOC, UAR_OBJ_ALLOC_TYPE), IN_, 4, 8},
	{MLX5(UAR, UAR_OBJ_ALLOC, UAR_OBJ_ALLOC_MMAP_OFFSET), OUT_, U64},
	{MLX5(UAR, UAR_OBJ_ALLOC, UAR_OBJ_ALLOC_MMAP_LENGTH), OUT_, U32},
	{MLX5(UAR, UAR_OBJ_ALLOC, UAR_OBJ_ALLOC_PAGE_ID), OUT_, U32},
	{MLX5(UAR, UAR_OBJ_DESTROY, UAR_OBJ_DESTROY_HANDLE), OBJ_},
	{MLX5(DEVX, DEVX_OTHER, DEVX_OTHER_CMD_IN), IN_, HDR, ANY},
	{MLX5(DEVX, DEVX_OTHER, DEVX_OTHER_CMD_OUT), OUT_, HDR},
	{MLX5(DEVX, DEVX_QUERY_EQN, DEVX_QUERY_EQN_USER_VEC), IN_, U32},
	{MLX5(DEVX, DEVX_QUERY_EQN, DEVX_QUERY_EQN_DEV_EQN), OUT_, U32},
	{MLX5(DEVX, DEVX_QUERY_UAR, DEVX_QUERY_UAR_USER_IDX), IN_, U32},
	{MLX5(DEVX, DEVX_QUERY_UAR, DEVX_QUERY_UAR_DEV_IDX), OUT_, U32},
	{MLX5(DEVX_OBJ, DEVX_OBJ_CREATE, DEVX_OBJ_CREATE_HANDLE), NEW_},
	{MLX5(DEVX_OBJ, DEVX_OBJ_CREATE, DEVX_OBJ_CREATE_CMD_IN), IN_, HDR, ANY},
	{MLX5(DEVX_OBJ, DEVX_OBJ_CREATE, DEVX_OBJ_CREATE_CMD_OUT), OUT_, HDR},
	{MLX5(DEVX_OBJ, DEVX_OBJ_DESTROY, DEVX_OBJ_DESTROY_HANDLE), OBJ_},
	{MLX5(DEVX_OBJ, DEVX_OBJ_MODIFY, DEVX_OBJ_MODIFY_HANDLE), OBJ_},
	{MLX5(DEVX_OBJ, DEVX_OBJ_MODIFY, DEVX_OBJ_MODIFY_CMD_IN), IN_, HDR, ANY},
	{MLX5(DEVX_OBJ, DEVX_OBJ_MODIFY, DEVX_OBJ_MODIFY_CMD_OUT), OUT_, HDR},
	{MLX5(DEVX_OBJ, DEVX_OBJ_QUERY, DEVX_OBJ_QUERY_HANDLE), OBJ_},
	{MLX5(DEVX_OBJ, DEVX_OBJ_QUERY, DEVX_OBJ_QUERY_CMD_IN), IN_, HDR, ANY},
	{MLX5(DEVX_OBJ, DEVX_OBJ_QUERY, DEVX_OBJ_QUERY_CMD_OUT), OUT_, HDR},
	{MLX5(DEVX_UMEM, DEVX_UMEM_REG, DEVX_UMEM_REG_HANDLE), NEW_},
	{MLX5(DEVX_UMEM, DEVX_UMEM_REG, DEVX_UMEM_REG_ADDR), IN_, U64},
	{MLX5(DEVX_UMEM, DEVX_UMEM_REG, DEVX_UMEM_REG_LEN), IN_, U64},
	{MLX5(DEVX_UMEM, DEVX_UMEM_REG, DEVX_UMEM_REG_ACCESS), IN_, FLAGS, true},
	{MLX5(DEVX_UMEM, DEVX_UMEM_REG, DEVX_UMEM_REG_OUT_ID), OUT_, U32},
	{MLX5(DEVX_UMEM, DEVX_UMEM_REG, DEVX_UMEM_REG_PGSZ_BITMAP), IN_, U64, true},
	{MLX5(DEVX_UMEM, DEVX_UMEM_DEREG, DEVX_UMEM_DEREG_HANDLE), OBJ_},
};

/* Commands of the write() interface: the smallest length of each command and of its answer. */
struct command {
	uint64_t number;
	uint16_t in, out;
};

#define CMD(n, type)                                                                               \
	{                                                                                          \
		IB_USER_VERBS_CMD_##n, sizeof(struct ib_uverbs_##type),                            \
			sizeof(struct ib_uverbs_##type##_resp)                                     \
	}

static const struct command commands[] = {
	CMD(QUERY_DEVICE, query_device),
	CMD(CREATE_COMP_CHANNEL, create_comp_channel),
	CMD(ALLOC_PD, alloc_pd),
	CMD(REG_MR, reg_mr),
	CMD(REREG_MR, rereg_mr),
	CMD(ALLOC_MW, alloc_mw),
	CMD(CREATE_AH, create_ah),
	CMD(OPEN_XRCD, open_xrcd),
	CMD(QUERY_QP, query_qp),
	CMD(QUERY_SRQ, query_srq),
	{IB_USER_VERBS_CMD_MODIFY_QP, sizeof(struct ib_uverbs_modify_qp), 0},
	{IB_USER_VERBS_CMD_MODIFY_SRQ, sizeof(struct ib_uverbs_modify_srq), 0},
	{IB_USER_VERBS_CMD_RESIZE_CQ, sizeof(struct ib_uverbs_resize_cq), sizeof(uint32_t)},
	{EXTENDED(IB_USER_VERBS_EX_CMD_QUERY_DEVICE), sizeof(struct ib_uverbs_ex_query_device),
		offsetof(struct ib_uverbs_ex_query_device_resp, odp_caps)},
	{EXTENDED(IB_USER_VERBS_EX_CMD_MODIFY_QP), sizeof(struct ib_uverbs_ex_modify_qp),
		sizeof(struct ib_uverbs_ex_modify_qp_resp)},
	{EXTENDED(IB_USER_VERBS_EX_CMD_MODIFY_CQ), sizeof(struct ib_uverbs_ex_modify_cq), 0},
	{EXTENDED(IB_USER_VERBS_EX_CMD_MODIFY_WQ), sizeof(struct ib_uverbs_ex_modify_wq), 0},
	{EXTENDED(IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL),
		sizeof(struct ib_uverbs_ex_create_rwq_ind_table),
		sizeof(struct ib_uverbs_ex_create_rwq_ind_table_resp)},
};

static bool row_seen[N(rows)], command_seen[N(commands)];

/* ---- one error in an attribute */

static int the_fd;

static void
expect(const struct edit_call *c, int err, const struct ib_uverbs_attr *attr, const char *what)
{
	struct edit_call copy = *c;
	int got = edit_pass(the_fd, RDMA_VERBS_IOCTL, &copy) == 0 ? 0 : errno;

	if (got == err)
		return;
	fprintf(stderr, "object 0x%x, method 0x%x, attribute 0x%x %s: %d, not %d\n",
		c->hdr.object_id, c->hdr.method_id, attr->attr_id, what, got, err);
	CHECK_EQ(got, err);
}

static void
try_len(const struct edit_call *good, unsigned int at, uint16_t len, int err, const char *what)
{
	struct edit_call c = *good;

	c.attrs[at].len = len;
	expect(&c, err, &c.attrs[at], what);
}

/*
 * The input is longer than the call understands, by this number of bytes, and the last of them is
 * not zero: the call is refused.
 */
static void
try_longer(const struct edit_call *good, unsigned int at, uint16_t max, uint16_t by)
{
	struct edit_call c = *good;
	struct ib_uverbs_attr *attr = &c.attrs[at];
	uint8_t bytes[512] = {0};

	CHECK(attr->len < sizeof(bytes) && max + by < (int)sizeof(bytes));
	if (attr->len <= 8)
		memcpy(bytes, &attr->data, attr->len);
	else
		memcpy(bytes, (void *)(uintptr_t)attr->data, attr->len);
	bytes[max + by - 1] = 1;
	if (attr->len < max + by)
		attr->len = (uint16_t)(max + by);
	if (attr->len <= 8)
		memcpy(&attr->data, bytes, 8);
	else
		attr->data = (uintptr_t)bytes;
	expect(&c, EOPNOTSUPP, attr, "too long");
}

static void
try_data(const struct edit_call *good, unsigned int at, uint64_t data, int err, const char *what)
{
	struct edit_call c = *good;

	c.attrs[at].data = data;
	expect(&c, err, &c.attrs[at], what);
}

static void
try_without(const struct edit_call *good, unsigned int at)
{
	struct edit_call c = *good;
	struct ib_uverbs_attr attr = c.attrs[at];

	c.attrs[at] = c.attrs[--c.hdr.num_attrs];
	c.hdr.length -= sizeof(attr);
	expect(&c, EINVAL, &attr, "missing");
}

static void
try_twice(const struct edit_call *good, unsigned int at)
{
	struct edit_call c = *good;

	CHECK(c.hdr.num_attrs < EDIT_ATTRS);
	c.attrs[c.hdr.num_attrs++] = c.attrs[at];
	c.hdr.length += sizeof(c.attrs[0]);
	expect(&c, EINVAL, &c.attrs[at], "twice");
}

static void
try_reserved(const struct edit_call *good, unsigned int at)
{
	struct edit_call c = *good;

	c.attrs[at].attr_data.reserved = 1;
	expect(&c, EINVAL, &c.attrs[at], "with a reserved field");
}

static void
try_attr(const struct edit_call *c, unsigned int at, const struct row *row)
{
	try_reserved(c, at);
	try_twice(c, at);
	if (!row->optional)
		try_without(c, at);
	switch (row->kind) {
	case IN_:
		try_len(c, at, (uint16_t)(row->min - 1), EINVAL, "too short");
		if (row->max != ANY) {
			try_longer(c, at, row->max, 1);
			try_longer(c, at, row->max, 7);
		}
		break;
	case OUT_:
		if (row->min != 0)
			try_len(c, at, (uint16_t)(row->min - 1), EINVAL, "too short");
		break;
	case OBJ_:
		try_len(c, at, 1, EINVAL, "with bytes");
		try_data(c, at, c->attrs[at].data | UINT64_C(1) << 32, EINVAL, "too large");
		try_data(c, at, 0, ENOENT, "of no object");
		try_data(c, at, UINT32_MAX, ENOENT, "of no object");
		break;
	case NEW_:
		try_len(c, at, 1, EINVAL, "with bytes");
		break;
	case FD_:
		try_len(c, at, 1, EINVAL, "with bytes");
		try_data(c, at, UINT64_MAX, EBADF, "below zero");
		try_data(c, at, c->attrs[at].data | UINT64_C(1) << 32, EBADF, "too large");
		break;
	}
}

static void
try_command(struct edit_call *c)
{
	struct ib_uverbs_attr *number = edit_find(c, UVERBS_ATTR_WRITE_CMD);
	struct ib_uverbs_attr *in = edit_find(c, UVERBS_ATTR_CORE_IN);
	struct ib_uverbs_attr *out = edit_find(c, UVERBS_ATTR_CORE_OUT);

	for (size_t i = 0; i < N(commands); i++) {
		/*
		 * Skips commands without input and output: libibverbs sends them first, to find out
		 * which commands exist.
		 */
		if (commands[i].number != number->data || command_seen[i] || in == NULL ||
			(out == NULL && commands[i].out != 0))
			continue;
		command_seen[i] = true;
		try_len(c, (unsigned int)(in - c->attrs), (uint16_t)(commands[i].in - 1), ENOSPC,
			"too short");
		if (commands[i].out != 0)
			try_len(c, (unsigned int)(out - c->attrs), (uint16_t)(commands[i].out - 1),
				ENOSPC, "too short");
	}
}

/* Removes trailing zeros from an input, so that it is as short as possible. */
static void
shorten(struct ib_uverbs_attr *attr, const struct row *row)
{
	const uint8_t *bytes =
		attr->len <= 8 ? (uint8_t *)&attr->data : (uint8_t *)(uintptr_t)attr->data;

	/*
	 * Inputs of up to 8 bytes are stored in the attribute; longer inputs are stored at the
	 * address in the attribute.
	 */
	if (row->kind != IN_ || row->max == ANY || (attr->len <= 8) != (row->min <= 8))
		return;
	for (unsigned int i = row->min; i < attr->len; i++)
		if (bytes[i] != 0)
			return;
	if (attr->len > row->min)
		attr->len = row->min;
}

static int not_open; /* a file descriptor of the adapter without a context */

/* On a file descriptor without a context, every call except GET_CONTEXT must be refused. */
static void
try_early(const struct edit_call *c)
{
	struct edit_call copy = *c;

	if (c->hdr.object_id == UVERBS_OBJECT_DEVICE &&
		(c->hdr.method_id == UVERBS_METHOD_GET_CONTEXT ||
			(c->hdr.method_id == UVERBS_METHOD_INVOKE_WRITE &&
				edit_find(&copy, UVERBS_ATTR_CORE_IN) == NULL)))
		return;
	the_fd = not_open;
	expect(c, EINVAL, &c->attrs[0], "early");
}

/*
 * Runs these tests for each attribute and each command, on the first call that has the attribute or
 * command.
 */
static void
look(int fd, struct edit_call *c)
{
	try_early(c);
	the_fd = fd;
	for (unsigned int a = 0; a < c->hdr.num_attrs; a++) {
		for (size_t i = 0; i < N(rows); i++) {
			if (rows[i].object != c->hdr.object_id ||
				rows[i].method != c->hdr.method_id ||
				rows[i].attr != c->attrs[a].attr_id || row_seen[i])
				continue;
			row_seen[i] = true;
			try_attr(c, a, &rows[i]);
			shorten(&c->attrs[a], &rows[i]);
		}
	}
	if (c->hdr.object_id == UVERBS_OBJECT_DEVICE &&
		c->hdr.method_id == UVERBS_METHOD_INVOKE_WRITE)
		try_command(c);
}

/* ---- the program */

static void
ask_adapter(struct node *n)
{
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
	struct raw_ioctl uar = raw_start(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_UAR);
	struct raw_ioctl pd = raw_start(UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY);
	uint8_t in[HDR] = {1}, out[HDR + 4096];
	struct mlx5dv_devx_uar *page = mlx5dv_devx_alloc_uar(n->ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	struct ibv_gid_entry gids[8];
	struct ibv_device_attr_ex attr;
	struct ibv_device_attr old;
	struct ibv_port_attr port;
	struct mlx5dv_port dv;
	uint32_t number;
	uint64_t core;

	CHECK(page != NULL);
	CHECK_EQ(ibv_query_device(n->ctx, &old), 0);
	CHECK_EQ(ibv_query_device_ex(n->ctx, NULL, &attr), 0);
	CHECK_EQ(ibv_query_port(n->ctx, 1, &port), 0);
	CHECK_EQ(mlx5dv_query_port(n->ctx, 1, &dv), 0);
	CHECK_EQ(ibv_query_gid_ex(n->ctx, 1, 0, &gids[0], 0), 0);
	CHECK(ibv_query_gid_table(n->ctx, gids, 8, 0) > 0);
	CHECK_EQ(mlx5dv_devx_general_cmd(n->ctx, in, sizeof(in), out, sizeof(out)), 0);
	CHECK_EQ(mlx5dv_devx_query_eqn(n->ctx, 0, &number), 0);
	raw_out(&c, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, &number, sizeof(number));
	raw_out(&c, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, &core, sizeof(core));
	CHECK_EQ(raw_run(n->ctx->cmd_fd, &c), 0);
	raw_u32(&uar, MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, page->page_id);
	raw_out(&uar, MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, &number, sizeof(number));
	CHECK_EQ(raw_run(n->ctx->cmd_fd, &uar), 0);
	raw_handle(&pd, MLX5_IB_ATTR_QUERY_PD_HANDLE, n->pd->handle);
	raw_out(&pd, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &number, sizeof(number));
	CHECK_EQ(raw_run(n->ctx->cmd_fd, &pd), 0);
	mlx5dv_devx_free_uar(page);
}

/*
 * Makes the query by a raw call, because libibverbs queries a region only when it imports the
 * region.
 */
static void
ask_region(struct ibv_mr *mr)
{
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR);
	uint32_t lkey, rkey;
	uint64_t len, iova;

	raw_handle(&c, UVERBS_ATTR_QUERY_MR_HANDLE, mr->handle);
	raw_out(&c, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &lkey, sizeof(lkey));
	raw_out(&c, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &rkey, sizeof(rkey));
	raw_out(&c, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &len, sizeof(len));
	raw_out(&c, UVERBS_ATTR_QUERY_MR_RESP_IOVA, &iova, sizeof(iova));
	CHECK_EQ(raw_run(mr->context->cmd_fd, &c), 0);
	CHECK(lkey == mr->lkey && rkey == mr->rkey && len == mr->length);
	CHECK_EQ(iova, (uintptr_t)mr->addr);
}

static void
use_keys(struct node *n)
{
	struct ibv_qp_attr attr = node_attr(n, 0);
	struct ibv_ah *ah = ibv_create_ah(n->pd, &attr.ah_attr);
	struct ibv_mw *mw = ibv_alloc_mw(n->pd, IBV_MW_TYPE_2);
	struct ibv_dm *dm = ibv_alloc_dm(n->ctx, &(struct ibv_alloc_dm_attr){.length = PAGE});
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY);
	struct ibv_sge sge = {(uintptr_t)n->buf, 64, n->mr->lkey};
	struct ibv_mr *mr;
	uint64_t offset, len = 0;
	uint16_t page;

	CHECK(ah != NULL && mw != NULL && dm != NULL);
	CHECK_EQ(ibv_rereg_mr(n->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, PAIR_ALL), 0);
	ask_region(n->mr);
	/* Prefetching is refused, because the region is not on demand. */
	CHECK_EQ(ibv_advise_mr(n->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), ENOENT);
	mr = ibv_reg_dm_mr(n->pd, dm, 0, PAGE, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr != NULL);
	raw_handle(&c, MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE, dm->handle);
	raw_out(&c, MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET, &offset, sizeof(offset));
	raw_out(&c, MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, &page, sizeof(page));
	raw_out(&c, MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, &len, sizeof(len));
	CHECK_EQ(raw_run(n->ctx->cmd_fd, &c), 0);
	CHECK_EQ(len, PAGE);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
}

static void
use_queues(struct node *n)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(n->ctx);
	struct ibv_modify_cq_attr moderation = {.attr_mask = IBV_CQ_ATTR_MODERATE};
	struct ibv_srq_attr limit = {.srq_limit = 1};
	struct ibv_cq *cq;

	CHECK(channel != NULL);
	cq = ibv_create_cq(n->ctx, 15, NULL, channel, 0);
	CHECK(cq != NULL);
	CHECK_EQ(ibv_resize_cq(cq, 100), 0);
	CHECK_EQ(ibv_modify_cq(cq, &moderation), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_modify_srq(n->srq, &limit, IBV_SRQ_LIMIT), 0);
	CHECK_EQ(ibv_query_srq(n->srq, &limit), 0);
	for (enum kind kind = 0; kind < N_KINDS; kind++) {
		struct ibv_qp *qp;

		if (kind == K_RAW)
			continue;
		qp = node_qp(n, kind);
		node_ready(n, qp, kind, qp->qp_num, IBV_QPS_RTS);
		CHECK(kind == K_DCT || pair_state(qp) == IBV_QPS_RTS);
		CHECK_EQ(ibv_destroy_qp(qp), 0);
	}
}

static void
use_work_queue(struct node *n)
{
	struct ibv_wq_init_attr init = {.wq_type = IBV_WQT_RQ,
		.max_wr = 16,
		.max_sge = 1,
		.pd = n->pd,
		.cq = n->rcq};
	struct ibv_wq_attr attr = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY};
	struct ibv_wq *wq = ibv_create_wq(n->ctx, &init);
	struct ibv_rwq_ind_table_init_attr table_init = {.log_ind_tbl_size = 0, .ind_tbl = &wq};
	struct ibv_rwq_ind_table *table;

	CHECK(wq != NULL);
	CHECK_EQ(ibv_modify_wq(wq, &attr), 0);
	table = ibv_create_rwq_ind_table(n->ctx, &table_init);
	CHECK(table != NULL);
	CHECK_EQ(ibv_destroy_rwq_ind_table(table), 0);
	CHECK_EQ(ibv_destroy_wq(wq), 0);
}

static void
use_commands(void)
{
	uint8_t in[MOD_IN] = {0}, out[MOD_IN];
	struct side s;

	side_init(&s);
	side_modify(&s, 0x50a, in); /* 2RST_QP */
	side_query(s.qp, s.qpn, out);
	side_fini(&s);
}

/* Allocates doorbell pages by raw calls, because libmlx5 keeps the pages that it allocates. */
static void
use_uar(struct node *n)
{
	struct raw_ioctl c = raw_start(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC);
	struct raw_ioctl end = raw_start(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY);
	uint32_t len, id;
	uint64_t offset;

	raw_handle(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, 0);
	raw_u64(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC);
	raw_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));
	raw_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &len, sizeof(len));
	raw_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &id, sizeof(id));
	CHECK_EQ(raw_run(n->ctx->cmd_fd, &c), 0);
	CHECK_EQ(len, PAGE);
	raw_handle(&end, MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, (uint32_t)c.attrs[0].data);
	CHECK_EQ(raw_run(n->ctx->cmd_fd, &end), 0);
}

static void
case_all(void)
{
	struct node n;

	not_open = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
	CHECK(not_open >= 0);
	editor.look = look;
	n = node_open(255);
	ask_adapter(&n);
	use_keys(&n);
	use_queues(&n);
	use_work_queue(&n);
	use_uar(&n);
	node_close(&n);
	use_commands();
	editor.look = NULL;
	CHECK_EQ(close(not_open), 0);
	/*
	 * Attributes that the libraries never send cannot be tested. All other attributes must have
	 * occurred.
	 */
	for (size_t i = 0; i < N(rows); i++)
		if (!row_seen[i] && !rows[i].optional)
			fprintf(stderr, "never seen: object 0x%x, method 0x%x, attribute 0x%x\n",
				rows[i].object, rows[i].method, rows[i].attr);
	for (size_t i = 0; i < N(rows); i++)
		CHECK(row_seen[i] || rows[i].optional);
	for (size_t i = 0; i < N(commands); i++)
		CHECK(command_seen[i]);
}

static const struct check_case cases[] = {
	{"an attribute that is too short, too long, missing or of a wrong kind is refused",
		case_all},
};

int
main(int argc, char **argv)
{
	return check_main(cases, N(cases), argc, argv);
}
