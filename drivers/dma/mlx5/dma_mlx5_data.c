/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data path: makes descriptors from operations, and converts their statuses to those of dmadev.
 */
#include "dma_mlx5_data.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_malloc.h>

#include "dma_mlx5_log.h"

/* Completions that are taken by one call if the status of each is needed. */
#define N_COMPS 32

static_assert(RTE_DMA_OP_FLAG_FENCE == GANTRY_DESC_FENCE, "flags are passed on");
static_assert(DMA_MLX5_MAX_SGES <= GANTRY_SGE_MAX, "each list is the engine's");

/* ------------------------------------------------------------------ enqueue */

static inline struct dma_mlx5_vchan *
vchan_of(const void *dev_private, uint16_t vchan)
{
	const struct dma_mlx5 *d = dev_private;

	return d->vchan[vchan];
}

/* Empties the stage of n operations, which were submitted or are dropped. */
static inline void
unstage(struct dma_mlx5_vchan *v, uint16_t n)
{
	uint16_t i;

	if (unlikely(v->has_args))
		for (i = 0; i < n; i++)
			v->staged[i].arg[0] = 0;
	v->has_args = false;
	v->next -= n;
	v->end -= n;
}

static void
submit(struct dma_mlx5_vchan *v)
{
	uint16_t n = v->next - v->staged;

	/*
	 * gantry_submit() accepts all n operations, because the queue has room for all that can be
	 * staged.
	 */
	(void)gantry_submit(v->q, v->staged, n);
	unstage(v, n);
	dma_mlx5_count(&v->counts.submitted, n);
}

/*
 * The operation at v->next is complete: moves `next` to the next element. Returns the operation's
 * id.
 */
static inline int
enqueued(struct dma_mlx5_vchan *v, uint64_t flags)
{
	v->next++;
	if ((flags & RTE_DMA_OP_FLAG_SUBMIT) != 0)
		submit(v);
	return v->next_id++;
}

/*
 * Writes the first bytes of a descriptor by one store, because the engine reads them by one load.
 */
static __rte_always_inline void
set_op(struct gantry_desc *d, enum gantry_op op, uint64_t flags)
{
	const struct {
		uint8_t op, zero;
		uint16_t flags, peer, layout;
	} head = {.op = op, .flags = flags & RTE_DMA_OP_FLAG_FENCE};

	static_assert(sizeof(head) == offsetof(struct gantry_desc, cookie),
		"as in struct gantry_desc, without its alignment");
	memcpy(d, &head, sizeof(head));
}

static __rte_always_inline int
put_copy(struct dma_mlx5_vchan *v, rte_iova_t src, rte_iova_t dst, uint32_t length, uint64_t flags)
{
	struct gantry_desc *d = v->next;

	if (unlikely(d == v->end))
		return -ENOSPC;
	d->src = src;
	d->dst = dst;
	d->len = length;
	set_op(d, GANTRY_OP_COPY, flags);
	return enqueued(v, flags);
}

static __rte_noinline int
copy_with_flags(void *dev_private, uint16_t vchan, rte_iova_t src, rte_iova_t dst, uint32_t length,
	uint64_t flags)
{
	return put_copy(vchan_of(dev_private, vchan), src, dst, length, flags);
}

/* Without flags, the shorter path is taken; most copies of a burst have none. */
static int
copy(void *dev_private, uint16_t vchan, rte_iova_t src, rte_iova_t dst, uint32_t length,
	uint64_t flags)
{
	if (unlikely(flags != 0))
		return copy_with_flags(dev_private, vchan, src, dst, length, flags);
	return put_copy(vchan_of(dev_private, vchan), src, dst, length, 0);
}

static int
fill(void *dev_private, uint16_t vchan, uint64_t pattern, rte_iova_t dst, uint32_t length,
	uint64_t flags)
{
	struct dma_mlx5_vchan *v = vchan_of(dev_private, vchan);
	struct gantry_desc *d = v->next;

	if (unlikely(d == v->end))
		return -ENOSPC;
	set_op(d, GANTRY_OP_FILL, flags);
	d->src = 0;
	d->dst = dst;
	d->len = length;
	d->arg[0] = pattern;
	v->has_args = true;
	return enqueued(v, flags);
}

/* Copies a list. Returns its length in bytes. */
static inline uint64_t
copy_list(struct gantry_sge *to, const struct rte_dma_sge *from, uint16_t n)
{
	uint64_t len = 0;
	uint16_t i;

	for (i = 0; i < n; i++) {
		to[i] = (struct gantry_sge){.addr = from[i].addr, .len = from[i].length};
		len += from[i].length;
	}
	return len;
}

/*
 * Allocates the lists of copies, when the first list is copied. Returns 0 or -ENOMEM. After
 * -ENOMEM, it does not try again until the channel is started again, because EAL logs a line for
 * each failed allocation.
 */
static __rte_cold int
make_lists(struct dma_mlx5_vchan *v)
{
	const size_t len = v->depth * sizeof(*v->lists);

	if (v->no_lists)
		return -ENOMEM;
	v->lists = rte_malloc_socket("dma_mlx5_lists", len, RTE_CACHE_LINE_SIZE, v->socket);
	if (v->lists != NULL)
		return 0;
	v->no_lists = true;
	DMA_MLX5_LOG(ERR,
		"EAL has no %zu bytes for lists of copies: until it has them and the device is "
		"started again, rte_dma_copy_sg() returns -ENOMEM",
		len);
	return -ENOMEM;
}

static int
copy_sg(void *dev_private, uint16_t vchan, const struct rte_dma_sge *src,
	const struct rte_dma_sge *dst, uint16_t nb_src, uint16_t nb_dst, uint64_t flags)
{
	struct dma_mlx5_vchan *v = vchan_of(dev_private, vchan);
	struct gantry_desc *d = v->next;
	struct dma_mlx5_lists *lists;
	int ret;

	if (nb_src == 0 || nb_src > DMA_MLX5_MAX_SGES || nb_dst == 0 || nb_dst > DMA_MLX5_MAX_SGES)
		return -EINVAL;
	if (unlikely(d == v->end))
		return -ENOSPC;
	if (unlikely(v->lists == NULL)) {
		ret = make_lists(v);
		if (ret != 0)
			return ret;
	}
	lists = &v->lists[v->next_id & (v->depth - 1)];
	set_op(d, GANTRY_OP_COPY_SG, flags);
	d->src = (uintptr_t)lists->src;
	d->dst = (uintptr_t)lists->dst;
	d->len = copy_list(lists->src, src, nb_src);
	/* If the two lists differ in their total number of bytes, the operation fails. */
	copy_list(lists->dst, dst, nb_dst);
	d->arg[0] = nb_src | (uint64_t)nb_dst << 32;
	v->has_args = true;
	return enqueued(v, flags);
}

static int
submit_staged(void *dev_private, uint16_t vchan)
{
	struct dma_mlx5_vchan *v = vchan_of(dev_private, vchan);

	if (likely(v->next != v->staged))
		submit(v);
	return 0;
}

static uint16_t
burst_capacity(const void *dev_private, uint16_t vchan)
{
	const struct dma_mlx5_vchan *v = vchan_of(dev_private, vchan);

	return v->end - v->next;
}

/* ------------------------------------------------------------------ completions */

/*
 * Returns the status for a wrong address. The engine does not know for each failure which address
 * was wrong.
 */
static enum rte_dma_status_code
wrong_address(enum gantry_side side)
{
	switch (side) {
	case GANTRY_SIDE_SRC:
		return RTE_DMA_STATUS_INVALID_SRC_ADDR;
	case GANTRY_SIDE_DST:
		return RTE_DMA_STATUS_INVALID_DST_ADDR;
	default:
		return RTE_DMA_STATUS_INVALID_ADDR;
	}
}

static enum rte_dma_status_code
status_of(const struct gantry_comp *comp)
{
	switch (comp->status) {
	case GANTRY_OK:
		return RTE_DMA_STATUS_SUCCESSFUL;
	case GANTRY_BAD_LENGTH:
		return RTE_DMA_STATUS_INVALID_LENGTH;
	case GANTRY_OVERLAP:
		return RTE_DMA_STATUS_INVALID_ADDR;
	case GANTRY_NOT_REGISTERED:
	/* also for a copy by RDMA to the queue itself, because both ends are local memory */
	case GANTRY_LOCAL_ERROR:
		return wrong_address(comp->result);
	case GANTRY_FLUSHED:
		return RTE_DMA_STATUS_NOT_ATTEMPTED;
	default:
		return RTE_DMA_STATUS_ERROR_UNKNOWN;
	}
}

/* Counts the n oldest operations as returned to the application. */
static inline void
handed_out(struct dma_mlx5_vchan *v, uint16_t n)
{
	v->end += n;
	v->next_done += n;
	dma_mlx5_count(&v->counts.completed, n);
}

/* Returns the status of the i-th held operation, in the order in which they are returned. */
static inline enum rte_dma_status_code
held(const struct dma_mlx5_vchan *v, uint32_t i)
{
	return v->held[(v->next_done + i) & (v->depth - 1)];
}

/* Takes the next held operations, up to the first that failed, at most n. Returns their number. */
static __rte_noinline uint16_t
take_held(struct dma_mlx5_vchan *v, uint16_t n)
{
	uint32_t i;

	for (i = 0; i < n && i < v->n_held && held(v, i) == RTE_DMA_STATUS_SUCCESSFUL; i++)
		;
	v->n_held -= i;
	return i;
}

static uint16_t
completed(void *dev_private, uint16_t vchan, const uint16_t nb_cpls, uint16_t *last_idx,
	bool *has_error)
{
	struct dma_mlx5_vchan *v = vchan_of(dev_private, vchan);
	uint16_t n = 0;

	if (unlikely(v->n_held != 0)) {
		n = take_held(v, nb_cpls);
		/* Held operations are returned before all other operations. */
		*has_error = n < nb_cpls && v->n_held != 0;
	}
	if (likely(v->n_held == 0))
		n += gantry_poll_good(v->q, nb_cpls - n, has_error);
	handed_out(v, n);
	*last_idx = v->next_done - 1;
	return n;
}

/* Returns at most max operations to the application, with their statuses. */
static uint16_t
take_statuses(struct dma_mlx5_vchan *v, uint16_t max, enum rte_dma_status_code *status)
{
	struct gantry_comp comp[N_COMPS];
	uint16_t n = 0, errors = 0, k, i;

	for (; n < max && v->n_held != 0; n++, v->n_held--)
		status[n] = held(v, n);
	while (n < max && (k = gantry_poll(v->q, comp, RTE_MIN(max - n, N_COMPS))) != 0)
		for (i = 0; i < k; i++)
			status[n++] = status_of(&comp[i]);
	for (i = 0; i < n; i++)
		errors += status[i] != RTE_DMA_STATUS_SUCCESSFUL;
	dma_mlx5_count(&v->counts.errors, errors);
	handed_out(v, n);
	return n;
}

static uint16_t
completed_status(void *dev_private, uint16_t vchan, const uint16_t nb_cpls, uint16_t *last_idx,
	enum rte_dma_status_code *status)
{
	struct dma_mlx5_vchan *v = vchan_of(dev_private, vchan);
	uint16_t n = take_statuses(v, nb_cpls, status);

	*last_idx = v->next_done - 1;
	return n;
}

bool
dma_mlx5_data_settle(struct dma_mlx5_vchan *v)
{
	struct gantry_comp comp[N_COMPS];
	uint16_t k, i;

	while ((k = gantry_poll(v->q, comp, N_COMPS)) != 0)
		for (i = 0; i < k; i++, v->n_held++)
			v->held[(v->next_done + v->n_held) & (v->depth - 1)] = status_of(&comp[i]);
	return gantry_in_flight(v->q) == 0;
}

bool
dma_mlx5_data_drop(struct dma_mlx5_vchan *v)
{
	enum rte_dma_status_code status[N_COMPS];

	unstage(v, v->next - v->staged);
	while (take_statuses(v, N_COMPS, status) != 0)
		;
	v->end = v->next;
	return gantry_in_flight(v->q) == 0;
}

void
dma_mlx5_data_init(struct rte_dma_fp_object *fp, struct dma_mlx5 *d)
{
	fp->dev_private = d;
	fp->copy = copy;
	fp->copy_sg = copy_sg;
	fp->fill = fill;
	fp->submit = submit_staged;
	fp->completed = completed;
	fp->completed_status = completed_status;
	fp->burst_capacity = burst_capacity;
}
