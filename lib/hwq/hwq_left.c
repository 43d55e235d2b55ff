/* SPDX-License-Identifier: BSD-3-Clause */
/* QPs that are left over: see hwq_left.h. */
#include "hwq_left.h"

#include <stdlib.h>

#include "hwq_dev.h"
#include "hwq_log.h"
#include "hwq_verbs.h"

/* A list that any thread adds to, or takes as a whole. */
struct hwq_left {
	struct hwq_left *next;
	struct ibv_qp *qp;
};

static void
put(struct hwq_dev *dev, struct hwq_left *l)
{
	l->next = atomic_load_explicit(&dev->left, memory_order_relaxed);
	/* Pairs with the acquire in hwq_left_destroy(). */
	while (!atomic_compare_exchange_weak_explicit(&dev->left, &l->next, l, memory_order_release,
		memory_order_relaxed))
		;
}

void
hwq_left_add(struct hwq_dev *dev, struct ibv_qp *qp)
{
	struct hwq_left *l;

	if (hwq_verbs_qp_destroy(qp) == 0)
		return;
	l = malloc(sizeof(*l));
	if (l == NULL) {
		hwq_log("%s: a QP that could not be set up is left over", hwq_dev_name(dev));
		return;
	}
	l->qp = qp;
	put(dev, l);
}

void
hwq_left_destroy(struct hwq_dev *dev)
{
	/* Pairs with the release in put(). */
	struct hwq_left *l = atomic_exchange_explicit(&dev->left, NULL, memory_order_acquire),
			*next;

	for (; l != NULL; l = next) {
		next = l->next;
		if (hwq_verbs_qp_destroy(l->qp) == 0)
			free(l);
		else
			put(dev, l);
	}
}
