/* SPDX-License-Identifier: BSD-3-Clause */
/* DC targets: creates their objects, and keeps the posted receives. */
#include "gantry_target.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include <rte_common.h>
#include <rte_debug.h>

#include "gantry_alloc.h"
#include "gantry_log.h"

/* Returns the number of entries of the SRQ. One entry is never used. */
static uint32_t
n_entries(const struct gantry_target *t)
{
	return hwq_srq_size(t->srq) + 1;
}

static int
create(struct gantry_target *t, struct hwq_domain *domain, const struct hwq_path *path,
	uint32_t depth, int socket)
{
	const struct hwq_srq_conf srq = {.n_wr = RTE_MAX(depth, 1u)};
	struct hwq_dct_conf dct = {.path = *path};
	int ret;

	if (getrandom(&t->key, sizeof(t->key), 0) != sizeof(t->key))
		return -errno;
	ret = hwq_srq_create(domain->dev, &srq, &t->srq);
	if (ret != 0)
		return ret;
	t->entry = gantry_alloc("gantry_target_entry", n_entries(t) * sizeof(*t->entry), socket);
	if (t->entry == NULL)
		return -ENOMEM;
	ret = hwq_cq_create(domain, hwq_srq_size(t->srq), &t->cq);
	if (ret != 0)
		return ret;
	dct.srq = t->srq;
	dct.key = t->key;
	return hwq_dct_create(domain, t->cq, &dct, &t->dct);
}

int
gantry_target_create(struct hwq_domain *domain, const struct hwq_path *path, uint32_t depth,
	int socket, struct gantry_target **out)
{
	struct gantry_target *t = gantry_alloc("gantry_target", sizeof(*t), socket);
	int ret;

	*out = NULL;
	if (t == NULL)
		return -ENOMEM;
	ret = create(t, domain, path, depth, socket);
	if (ret != 0)
		LOG(ERR, "cannot create a DC target: %s%s", strerror(-ret),
			ret == -EOPNOTSUPP ? ": without DC, use GANTRY_TRANSPORT_RC" : "");
	if (ret == 0 || gantry_target_destroy(t) != 0)
		*out = t;
	return ret;
}

int
gantry_target_destroy(struct gantry_target *t)
{
	int ret = 0;

	if (t->dct != NULL)
		ret = hwq_dct_destroy(t->dct);
	if (ret != 0)
		return ret;
	t->dct = NULL;
	if (t->cq != NULL)
		ret = hwq_cq_destroy(t->cq);
	if (ret != 0)
		return ret;
	t->cq = NULL;
	if (t->srq != NULL)
		ret = hwq_srq_destroy(t->srq);
	if (ret != 0)
		return ret;
	gantry_free(t->entry);
	gantry_free(t);
	return 0;
}

void
gantry_target_post(struct gantry_target *t, uint64_t cookie, const struct hwq_sge *sge)
{
	uint32_t index = t->srq->head;

	RTE_VERIFY(hwq_srq_post_list(t->srq, index, sge, sge->len != 0) == 0);
	t->entry[index] = (struct gantry_target_entry){.cookie = cookie, .posted = true};
}

void
gantry_target_ring(struct gantry_target *t)
{
	hwq_srq_ring(t->srq);
}

/*
 * Marks the entry as free, because its receive is no longer posted. Returns the receive's cookie.
 */
static uint64_t
release(struct gantry_target *t, struct gantry_target_entry *e)
{
	t->n_old -= e->old;
	e->posted = false;
	e->old = false;
	return e->cookie;
}

unsigned int
gantry_target_poll(struct gantry_target *t, struct hwq_cqe *cqe, uint64_t *cookie, unsigned int n)
{
	unsigned int i;

	/* hwq_srq_poll() writes the wr_id of each entry, which is the entry's index. */
	n = hwq_srq_poll(t->srq, t->cq, cqe, cookie, n);
	for (i = 0; i < n; i++)
		cookie[i] = release(t, &t->entry[cookie[i]]);
	return n;
}

bool
gantry_target_take_back(struct gantry_target *t, uint32_t *at, uint64_t *cookie)
{
	for (; *at < n_entries(t); (*at)++)
		if (t->entry[*at].posted) {
			*cookie = release(t, &t->entry[*at]);
			return true;
		}
	return false;
}

void
gantry_target_mark(struct gantry_target *t)
{
	uint32_t i;

	t->n_old = 0;
	for (i = 0; i < n_entries(t); i++) {
		t->entry[i].old = t->entry[i].posted;
		t->n_old += t->entry[i].posted;
	}
}
