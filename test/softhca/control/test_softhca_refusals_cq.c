/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on CQs that must be refused: creation, resizing and moderation. */
#include "softhca_refusals.h"

/* ---- completion queues */

static int
make_cq(void *arg)
{
	struct world *w = arg;
	struct ibv_comp_channel *channel = ibv_create_comp_channel(w->n.ctx);
	struct ibv_cq *cq = ibv_create_cq(w->n.ctx, 63, NULL, channel, 0);
	int err = cq == NULL ? errno : 0;

	if (cq != NULL)
		CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	return err;
}

#define IN(field, value, err)                                                                      \
	SET_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_create_cq, field, value, err)

/* The bit that switches compression on, and the format in the next byte. */
#define WITH_FORMAT(format)                                                                        \
	{                                                                                          \
		SET, UVERBS_ATTR_UHW_IN, offsetof(struct mlx5_ib_create_cq, cqe_comp_en), 2,       \
			(format) << 8 | 1, EINVAL                                                  \
	}
_Static_assert(offsetof(struct mlx5_ib_create_cq, cqe_comp_res_format) ==
		       offsetof(struct mlx5_ib_create_cq, cqe_comp_en) + 1,
	"one number of 16 bits holds both");

static void
case_cq(void)
{
	struct world w = world_open();
	struct ibv_device_attr dev;

	CHECK_EQ(ibv_query_device(w.n.ctx, &dev), 0);
	{
		const struct edit edits[] = {
			PLUS_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_create_cq, buf_addr, 8, EINVAL),
			IN(buf_addr, w.none, EFAULT),
			IN(buf_addr, w.ro, EFAULT),
			IN(buf_addr, w.last, EFAULT),
			PLUS_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_create_cq, db_addr, 4, EINVAL),
			IN(db_addr, w.none, EFAULT),
			IN(db_addr, w.ro, EFAULT),
			IN(cqe_size, 32, EINVAL),
			IN(cqe_size, 256, EINVAL),
			IN(cqe_comp_en, 1, EINVAL), /* compression, without a format of mini CQEs */
			IN(cqe_comp_en, 2, EINVAL),
			WITH_FORMAT(3), /* two formats */
			WITH_FORMAT(8), /* an unknown format */
			IN(flags, MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX | 0x100, EOPNOTSUPP),
			/*
			 * Padding is refused with CQEs of 64 bytes: only CQEs of 128 bytes have two
			 * halves.
			 */
			IN(flags,
				MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX |
					MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD,
				EOPNOTSUPP),
			IN(uar_page_index, 0xffff, EINVAL),
			{SET, UVERBS_ATTR_CREATE_CQ_CQE, 0, 4, 0, EINVAL},
			{SET, UVERBS_ATTR_CREATE_CQ_CQE, 0, 4, (uint32_t)dev.max_cqe + 1, EINVAL},
			{SET, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 0, 4, 0xffff, EINVAL},
			{HAS, UVERBS_ATTR_CREATE_CQ_FLAGS, .width = 4, .value = 1u << 30,
				.err = EINVAL},
			{HAS, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, .value = 0xffff, .err = EBADF},
			{HAS, UVERBS_ATTR_CREATE_CQ_EVENT_FD, .value = 0xffff, .err = EBADF},
			{OUT, UVERBS_ATTR_CREATE_CQ_RESP_CQE, .value = w.ro, .err = EFAULT},
			{OUT, UVERBS_ATTR_UHW_OUT, .value = w.ro, .err = EFAULT},
		};

		refuses(make_cq, &w, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, 0, edits, N(edits));
	}
	world_close(&w);
}

#undef WITH_FORMAT
#undef IN

static int
resize_cq(void *arg)
{
	struct world *w = arg;

	return ibv_resize_cq(w->n.scq, w->n.scq->cqe == 255 ? 100 : 255);
}

static int
moderate_cq(void *arg)
{
	struct world *w = arg;

	return ibv_modify_cq(w->n.scq,
		&(struct ibv_modify_cq_attr){.attr_mask = IBV_CQ_ATTR_MODERATE,
			.moderate = {.cq_count = 1, .cq_period = 1}});
}

#define IN(field, value, err)                                                                      \
	SET_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_resize_cq, field, value, err)
#define EX(field, value, err)                                                                      \
	SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_ex_modify_cq, field, value, err)

static void
case_cq_calls(void)
{
	struct world w = world_open();
	const struct edit resize[] = {
		PLUS_IN(UVERBS_ATTR_UHW_IN, struct mlx5_ib_resize_cq, buf_addr, 8, EINVAL),
		IN(buf_addr, w.none, EFAULT),
		IN(buf_addr, w.ro, EFAULT),
		IN(buf_addr, w.last, EFAULT),
		IN(cqe_size, 32, EINVAL),
		IN(reserved0, 1, EINVAL),
		IN(reserved1, 1, EINVAL),
		{LEN, UVERBS_ATTR_UHW_IN, .value = 12, .err = EINVAL},
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_resize_cq, cqe, 0, EINVAL),
		SET_IN(UVERBS_ATTR_CORE_IN, struct ib_uverbs_resize_cq, cq_handle, NO_HANDLE,
			EINVAL),
	};
	const struct edit modify[] = {
		EX(cq_handle, NO_HANDLE, EINVAL),
		EX(attr_mask, 0, EINVAL),
		EX(attr_mask, 2, EOPNOTSUPP),
		EX(reserved, 1, EINVAL),
	};

	WRITE(resize_cq, &w, IB_USER_VERBS_CMD_RESIZE_CQ, resize);
	WRITE(moderate_cq, &w, EXTENDED(IB_USER_VERBS_EX_CMD_MODIFY_CQ), modify);
	world_close(&w);
}

#undef IN
#undef EX

static const struct check_case cases[] = {
	{"a completion queue's fields are each checked", case_cq},
	{"calls on completion queues are checked", case_cq_calls},
};

int
main(int argc, char **argv)
{
	return check_main(cases, N(cases), argc, argv);
}
