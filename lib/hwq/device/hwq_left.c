/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores parts of QPs and keys that could not be destroyed: see hwq_left.h. */
#include "hwq_left.h"

#include <stdlib.h>

#include "hwq_dev.h"
#include "hwq_log.h"
#include "hwq_mr.h"
#include "hwq_verbs.h"

/*
 * A part that could not be destroyed. Any thread adds a part to the list of the device, or removes
 * the whole list. A part has one of: a QP; a buffer; a key, user memory, or both.
 */
struct hwq_left {
	struct hwq_left *next;
	struct ibv_qp *qp;
	struct hwq_mr mr; /* registration of buf */
	void *buf;
	struct mlx5dv_devx_obj *obj; /* a key over umem */
	struct mlx5dv_devx_umem *umem;
};

static void
put(struct hwq_dev *dev, struct hwq_left *l)
{
	l->next = hwq_load_relaxed(&dev->left);
	/* Pairs with the acquire in hwq_left_destroy(). */
	while (!__atomic_compare_exchange_n(&dev->left, &l->next, l, true, __ATOMIC_RELEASE,
		__ATOMIC_RELAXED))
		;
}

/* Returns false if the device refuses to destroy the part. */
static bool
destroy(struct hwq_left *l)
{
	if (l->qp != NULL)
		return hwq_verbs_qp_destroy(l->qp) == 0;
	if (l->obj != NULL && hwq_verbs_devx_destroy(l->obj) != 0)
		return false;
	l->obj = NULL;
	if (l->umem != NULL && hwq_verbs_umem_dereg(l->umem) != 0)
		return false;
	l->umem = NULL;
	if (l->buf == NULL)
		return true;
	if (hwq_mr_deregister(&l->mr) != 0)
		return false;
	free(l->buf);
	return true;
}

static void
add(struct hwq_dev *dev, struct hwq_left what)
{
	struct hwq_left *l;

	if (destroy(&what))
		return;
	l = malloc(sizeof(*l));
	if (l == NULL) {
		hwq_log("%s: a part of a QP or key that could not be set up is left over",
			hwq_dev_name(dev));
		return;
	}
	*l = what;
	put(dev, l);
}

void
hwq_left_add(struct hwq_dev *dev, struct ibv_qp *qp)
{
	add(dev, (struct hwq_left){.qp = qp});
}

void
hwq_left_add_buf(struct hwq_dev *dev, const struct hwq_mr *mr, void *buf)
{
	add(dev, (struct hwq_left){.mr = *mr, .buf = buf});
}

void
hwq_left_add_key(struct hwq_dev *dev, struct mlx5dv_devx_obj *obj, struct mlx5dv_devx_umem *umem)
{
	add(dev, (struct hwq_left){.obj = obj, .umem = umem});
}

void
hwq_left_destroy(struct hwq_dev *dev)
{
	/* Pairs with the release in put(). */
	struct hwq_left *l = __atomic_exchange_n(&dev->left, NULL, __ATOMIC_ACQUIRE), *next;

	for (; l != NULL; l = next) {
		next = l->next;
		if (destroy(l))
			free(l);
		else
			put(dev, l);
	}
}
