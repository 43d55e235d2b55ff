/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For programs that make one verbs call or allocation of lib/hwq fail in each run, until each of
 * them has failed once. The linker wraps the calls (ld(1), --wrap). FAILING_CALL() defines the
 * wrapper of one call. A test sets `calls` to 0, and fail_at to the number of the call that must
 * fail.
 *
 * This header wraps the calls for CQs and QPs. The program wraps other calls itself.
 */
#ifndef HWQ_FAILING_H
#define HWQ_FAILING_H

#include "hwq_emu.h"
#include "hwq_verbs.h"

#define REFUSAL (-ENOTRECOVERABLE) /* an errno that no call really returns */

/* calls: number of calls so far; fail_at: number of the call that fails, 0: none */
static unsigned int calls, fail_at;
static unsigned int live; /* number of objects that exist */
static int failed_by;     /* the error that the failed call returned */

/* Counts a call. Returns true if the call must fail with the error `err`. */
static inline bool
fails_by(int err)
{
	if (++calls != fail_at)
		return false;
	failed_by = err;
	return true;
}

static inline bool
fails(void)
{
	return fails_by(REFUSAL);
}

/* change: how much the call changes `live` if it succeeds */
#define FAILING_CALL(name, change, params, args)                                                   \
	int __real_##name params;                                                                  \
	int __wrap_##name params;                                                                  \
	int __wrap_##name params                                                                   \
	{                                                                                          \
		int ret = fails() ? REFUSAL : __real_##name args;                                  \
		live += ret == 0 ? (unsigned int)(change) : 0;                                     \
		return ret;                                                                        \
	}

/*
 * If the object exists, calls its destroy function; if this call is refused, calls it again.
 * *first: gets the first error of several such steps.
 */
#define FAILING_DESTROY(first, exists, call)                                                       \
	do {                                                                                       \
		if (exists) {                                                                      \
			int ret_ = (call);                                                         \
			*(first) = *(first) == 0 ? ret_ : *(first);                                \
			if (ret_ != 0)                                                             \
				CHECK_EQ((call), 0, "a second try");                               \
		}                                                                                  \
	} while (0)

FAILING_CALL(hwq_verbs_cq_create, 1,
	(struct ibv_context * ctx, uint32_t n_cqe, struct ibv_comp_channel *channel, void *user,
		struct ibv_cq **cq),
	(ctx, n_cqe, channel, user, cq))
FAILING_CALL(hwq_verbs_cq_destroy, -1, (struct ibv_cq * cq), (cq))
FAILING_CALL(hwq_verbs_cq_take, 0, (struct ibv_cq * cq, struct mlx5dv_cq *view), (cq, view))
/* If not NULL, changes what libmlx5 reports about a new QP, to imitate another version. */
static void (*change_cap)(struct ibv_qp_cap *cap);
static void (*change_view)(struct mlx5dv_qp *view);

int __real_hwq_verbs_qp_create(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
	struct mlx5dv_qp_init_attr *mlx5_attr, struct ibv_qp **qp);
int __wrap_hwq_verbs_qp_create(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
	struct mlx5dv_qp_init_attr *mlx5_attr, struct ibv_qp **qp);
int
__wrap_hwq_verbs_qp_create(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
	struct mlx5dv_qp_init_attr *mlx5_attr, struct ibv_qp **qp)
{
	int ret = fails() ? REFUSAL : __real_hwq_verbs_qp_create(ctx, attr, mlx5_attr, qp);

	live += ret == 0;
	if (ret == 0 && change_cap != NULL)
		change_cap(&attr->cap);
	return ret;
}

int __real_hwq_verbs_qp_take(struct ibv_qp *qp, struct mlx5dv_qp *view);
int __wrap_hwq_verbs_qp_take(struct ibv_qp *qp, struct mlx5dv_qp *view);
int
__wrap_hwq_verbs_qp_take(struct ibv_qp *qp, struct mlx5dv_qp *view)
{
	int ret = fails() ? REFUSAL : __real_hwq_verbs_qp_take(qp, view);

	if (ret == 0 && change_view != NULL)
		change_view(view);
	return ret;
}

FAILING_CALL(hwq_verbs_qp_destroy, -1, (struct ibv_qp * qp), (qp))
FAILING_CALL(hwq_verbs_qp_modify, 0, (struct ibv_qp * qp, struct ibv_qp_attr *attr, int mask),
	(qp, attr, mask))

#endif
